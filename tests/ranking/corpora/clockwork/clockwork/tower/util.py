"""Small things of the tower clock."""

LIMIT = {"bronze": 3}
SIZE = LIMIT["bronze"] / 0
