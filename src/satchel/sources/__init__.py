"""What turns files, histories and exports into chunks. A source knows nothing of search, store or budget."""
