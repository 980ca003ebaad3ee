"""The part of the engine that looks back: who changed what, when, and how much."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from satchel import config
from satchel.assemble.line_counts import counted_hits
from satchel.errors import UsageError
from satchel.roots import Places
from satchel.sources.line_counts import LineCounts
from satchel.store.protocol import Store
from satchel.types import Failure, Hit

if TYPE_CHECKING:
    from satchel.search.changes import Author, Changes, FileChurn, FileHistory

Answer = TypeVar("Answer")
AnyPath = str | os.PathLike[str]

FEW_ROWS = 20
"""Rows of a view by default: what fits on a screen."""


class Chronicle:
    """What the history of one root says. `Satchel` is the way to get one."""

    places: Places
    loaded: config.LoadedSettings
    _line_counts: LineCounts

    if TYPE_CHECKING:  # what `Satchel` brings; at run time nothing here hides it

        def refresh(self) -> Any:
            """Bring the index up to date."""
            ...

        def _read(self, work: Callable[[Store, Sequence[Failure]], Answer]) -> Answer:
            """What `work` makes of one published state of the index."""
            ...

    def count_lines(self, hits: Sequence[Hit]) -> tuple[list[Hit], list[Failure]]:
        """The hits with `insertions` and `deletions` among the fields of commits, and what could not be counted."""
        return counted_hits(hits, self._line_counts.of)

    def file_history(self, path: AnyPath = "", *, limit: int = FEW_ROWS, refresh: bool = True) -> FileHistory:
        """The commits that touched a file or a folder (the whole root by default), newest first, moves followed.

        Raises UsageError for a path that neither a file nor a commit knows, UnsafePathError for one outside the root.
        """
        return self._look_back(lambda seen, below: seen.history(below, limit), path, limit, refresh=refresh)

    def churn(
        self,
        days: int = 90,
        *,
        path: AnyPath = "",
        limit: int = FEW_ROWS,
        now: float | None = None,
        refresh: bool = True,
    ) -> list[FileChurn]:
        """The files that changed most often in the days before `now` (default: today), most commits first."""
        moment = time.time() if now is None else now
        return self._look_back(lambda seen, below: seen.churn(below, days, moment, limit), path, limit, refresh=refresh)

    def authors(self, path: AnyPath | None = None, *, limit: int = FEW_ROWS, refresh: bool = True) -> list[Author]:
        """Who changed a file, a folder or (by default) anything, most commits first."""
        return self._look_back(lambda seen, below: seen.authors(below, limit), path or "", limit, refresh=refresh)

    async def afile_history(self, path: AnyPath = "", **options: Any) -> FileHistory:
        """`file_history` as a coroutine."""
        return await _in_thread(lambda: self.file_history(path, **options))

    async def achurn(self, days: int = 90, **options: Any) -> list[FileChurn]:
        """`churn` as a coroutine."""
        return await _in_thread(lambda: self.churn(days, **options))

    async def aauthors(self, path: AnyPath | None = None, **options: Any) -> list[Author]:
        """`authors` as a coroutine."""
        return await _in_thread(lambda: self.authors(path, **options))

    def _look_back(self, view: Callable[[Changes, str], Answer], path: AnyPath, limit: int, *, refresh: bool) -> Answer:
        from satchel.search.changes import read_changes, relative_path

        if limit < 1:
            raise UsageError(f"limit is {limit}: give at least 1", "limit")
        root, allow = self.places.root, self.loaded.settings.redact_allow
        below = relative_path(path, root)
        if refresh:
            self.refresh()
        return self._read(lambda store, _: view(read_changes(store, root, allow), below))


async def _in_thread(function: Callable[[], Answer]) -> Answer:
    import asyncio  # here, because it takes 0.05 s that no synchronous use needs

    return await asyncio.to_thread(function)
