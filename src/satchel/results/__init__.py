"""The API of the seeds: search results from anywhere become a context, tools get that of their situation."""
