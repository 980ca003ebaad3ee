"""When and how trees are cut."""

from orchard.trees.age import is_young

KEPT_SIDES = 3


def prune(tree, month):
    """Prune the branches of a tree in winter; a young tree keeps its leader and three side branches."""
    if month not in (12, 1, 2):
        return []
    branches = sorted(tree.branches, key=lambda branch: branch.age, reverse=True)
    if is_young(tree):
        return branches[KEPT_SIDES:]
    return [branch for branch in branches if branch.age > 7]


def seal(cut):
    """Close a cut with wax."""
    cut.cover("wax")
