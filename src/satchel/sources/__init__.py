"""What turns files, histories and exports into documents. A source knows nothing of search, store or budget."""
