"""Readers of files, histories and exports as chunks. A source does not depend on search, store or budget."""
