"""What may be published as the index of a team: a commit, and nothing that is only on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from satchel.errors import UsageError
from satchel.index.options import BuildOptions
from satchel.index.walk import walk
from satchel.safety.sanitize import plain_name
from satchel.sources.change import ChangeOptions, read_change
from satchel.system.git import find_repository

MOST_NAMED = 3
"""Files that a message names."""


def checked_commit(root: Path, options: BuildOptions, should_stop: Callable[[], bool]) -> str:
    """Return the commit whose files are those below a root. Raises UsageError if others would be indexed, too."""
    repository = find_repository(root)
    if repository is None:
        raise UsageError(f"{root} is not in a git repository: only a commit is published")
    prefix = root.resolve().relative_to(repository.work_tree.resolve()).as_posix()
    indexed = frozenset(entry.path for entry in walk(root, options.walk, should_stop=should_stop).entries)
    place = "" if prefix == "." else f"{prefix}/"
    change = read_change(repository, ChangeOptions(root, place, indexed, options.reading.limit), "HEAD", staged=False)
    others = sorted({*(file.path for file in change.files), *change.untracked, *change.unread})
    if others:
        named = ", ".join(map(plain_name, others[:MOST_NAMED]))
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        raise UsageError(f"not in the commit: {named}{more}; publish from a clean checkout of the main branch")
    return change.base
