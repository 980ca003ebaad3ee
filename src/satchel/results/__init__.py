"""The API of the seeds: search results from anywhere become a context (`ContextAssembler`, `Searcher`)."""
