"""The folders of a tree that may hold context and instruction files, for lists and checks of all of them."""

from __future__ import annotations

import os
from pathlib import Path

from satchel.types import Failure

MOST_FOLDERS = 20_000
"""Folders that are looked into; a tree with more is a home folder or a disk."""

_PASSED_OVER = frozenset(
    {"node_modules", "venv", "__pycache__", "site-packages", "dist", "build", "target", "vendor", "third_party"}
)
"""Folders of what others wrote or machines made: their instructions are not about this work."""


def folders_below(root: Path) -> tuple[list[str], list[Failure]]:
    """Every folder of a tree, the root ("") first; hidden ones, nested repositories and `_PASSED_OVER` are left out."""
    found = [""]
    for place, names, _ in os.walk(root, followlinks=False):
        names[:] = sorted(name for name in names if not _is_passed_over(Path(place) / name, name))
        relative = Path(place).relative_to(root).as_posix()
        found += [name if relative == "." else f"{relative}/{name}" for name in names]
        if len(found) > MOST_FOLDERS:
            return found[:MOST_FOLDERS], [
                Failure("rules", f"there are more than {MOST_FOLDERS:,} folders", "the others were not looked into")
            ]
    return sorted(found), []


def _is_passed_over(path: Path, name: str) -> bool:
    return name.startswith(".") or name in _PASSED_OVER or os.path.lexists(path / ".git")
