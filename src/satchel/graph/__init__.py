"""Contexts that walk a graph of notes or code from a topic or a node."""
