"""Trees are pruned in winter."""

from orchard.trees.branch import Branch
from orchard.trees.pruning import prune


class Tree:
    winters = 9
    branches = (Branch(9), Branch(3))


def test_old_branches_are_pruned_in_winter():
    assert [branch.age for branch in prune(Tree(), 1)] == [9]


def test_nothing_is_pruned_in_summer():
    assert prune(Tree(), 7) == []
