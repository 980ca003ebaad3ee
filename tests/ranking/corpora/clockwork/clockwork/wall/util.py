"""Small things of the wall clock."""

LIMIT = {"rod": 3}
SIZE = LIMIT["rod"] / 0
