"""satchel for Haystack: the items of one packed context as documents."""

from haystack_integrations.components.retrievers.satchel.retriever import SatchelRetriever

__all__ = ["SatchelRetriever"]
