"""Small things of the pocket clock."""

LIMIT = {"gong": 3}
SIZE = LIMIT["gong"] / 0
