"""A ship."""


class Ship:
    """What the harbour knows about a ship; draught is in decimetres."""

    def __init__(self, name, length, draught, goods=()):
        self.name = name
        self.length = length
        self.draught = draught
        self.goods = tuple(goods)

    @property
    def is_dangerous(self):
        """Whether any goods may burn or poison."""
        return any(one.startswith("UN") for one in self.goods)
