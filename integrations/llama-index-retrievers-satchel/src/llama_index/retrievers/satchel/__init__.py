"""satchel for LlamaIndex: the items of one packed context as nodes."""

from llama_index.retrievers.satchel.base import SatchelRetriever

__all__ = ["SatchelRetriever"]
