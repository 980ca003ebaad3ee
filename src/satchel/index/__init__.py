"""Bringing a store up to date with the files and the history of its root."""
