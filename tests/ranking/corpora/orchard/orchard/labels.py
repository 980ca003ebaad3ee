"""Labels for the shop."""


class CiderLabel:
    """The label on a bottle."""

    def __init__(self, year, sort):
        self.year = year
        self.sort = sort

    def text(self):
        return f"{self.sort} {self.year}"
