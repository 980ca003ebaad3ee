"""satchel for LangChain: the items of one packed context as documents."""

from langchain_satchel.retrievers import SatchelRetriever

__all__ = ["SatchelRetriever"]
