"""Call sites that were judged by reading, and what the resolver makes of them."""
