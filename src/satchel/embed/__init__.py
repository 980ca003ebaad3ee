"""Texts as vectors: the seam for embedders, one that runs here and one that asks an endpoint."""
