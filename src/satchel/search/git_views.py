"""Views of the commits of a root: who changed what, when, and how much."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from satchel.errors import UsageError
from satchel.open_root import AnyPath, OpenRoot
from satchel.search.changes import Author, Changes, FileChurn, FileHistory, read_changes, relative_path

View = TypeVar("View")

FEW_ROWS = 20
"""Rows of a view by default, as many as fit on a screen."""


class GitViews:
    """The history of one opened root."""

    def __init__(self, root: OpenRoot) -> None:
        self._root = root

    def file_history(self, path: AnyPath = "", *, limit: int = FEW_ROWS, refresh: bool = True) -> FileHistory:
        """Return the commits that touched a file or a folder (the whole root by default), newest first, moves followed.

        Raises UsageError for a path that neither a file nor a commit knows, UnsafePathError for one outside the root.
        """
        return self._view(lambda changes, below: changes.history(below, limit), path, limit, refresh)

    def churn(
        self,
        days: int = 90,
        *,
        path: AnyPath = "",
        limit: int = FEW_ROWS,
        now: float | None = None,
        refresh: bool = True,
    ) -> list[FileChurn]:
        """Return the files that changed most often in the days before `now` (default: today), most commits first."""
        moment = time.time() if now is None else now
        return self._view(lambda changes, below: changes.churn(below, days, moment, limit), path, limit, refresh)

    def authors(self, path: AnyPath | None = None, *, limit: int = FEW_ROWS, refresh: bool = True) -> list[Author]:
        """Return the authors of a file, a folder or (by default) everything, most commits first."""
        return self._view(lambda changes, below: changes.authors(below, limit), path or "", limit, refresh)

    def _view(self, view: Callable[[Changes, str], View], path: AnyPath, limit: int, refresh: bool) -> View:
        if limit < 1:
            raise UsageError(f"limit is {limit}: give at least 1", "limit")
        root, allow = self._root.places.root, self._root.settings.redact_allow
        below = relative_path(path, root)
        if refresh:
            self._root.refresh()
        return self._root.read(lambda store: view(read_changes(store, root, allow), below))
