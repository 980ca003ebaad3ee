"""One branch."""


class Branch:
    """A branch of a tree, with its age in winters and the branches that grow from it."""

    def __init__(self, age, children=()):
        self.age = age
        self.children = list(children)

    def weight(self):
        """Return the weight of a branch with all that grows from it."""
        return self.age * 0.8 + sum(child.weight() for child in self.children)

    def bears(self, season):
        """Return whether it bears fruit."""
        return self.age >= 2 and season != "winter"
