"""Grafting: a scion of a good sort on the stock of a strong one."""

WARMEST = 14


def graft_scion(stock, scion, degrees):
    """Join a scion to a stock. Too warm a day dries the cut."""
    if degrees > WARMEST:
        raise ValueError("too warm for grafting")
    joint = match_bark(stock, scion)
    joint.bind("raffia")
    return joint


def match_bark(lower, upper):
    """Lay the green layers of two cuts on each other."""
    return lower.join(upper, min(lower.width, upper.width))
