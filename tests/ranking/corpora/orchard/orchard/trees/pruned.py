"""A log of pruned branches, for the forester."""


def log_pruned(branches, book):
    for branch in branches:
        book.line(f"pruned a branch of {branch.age} winters")
