"""Source code: which language a file is in, and the outline of a file whose language has a grammar."""
