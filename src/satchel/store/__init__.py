"""Chunks, relations and words on disk: one protocol, several databases."""
