"""What the shop has on its shelves."""


class Shelf:
    """Goods by name."""

    def __init__(self):
        self.goods = {}

    def put(self, name, count):
        self.goods[name] = self.goods.get(name, 0) + count

    def take(self, name, count):
        """Take goods off the shelf. Raises KeyError when there are not enough."""
        if self.goods.get(name, 0) < count:
            raise KeyError(name)
        self.goods[name] -= count
