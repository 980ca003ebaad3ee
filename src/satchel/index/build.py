"""Bring an index up to date with its root: changed files are read again, missing ones removed.

Most runs have nothing to do, so the modules that read and write are imported only if needed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from satchel.index.difference import Difference, HistoryPlan, compare, plan_history, tick
from satchel.index.options import LINKS_DUE, BuildOptions, IndexReport, Progress
from satchel.index.walk import TreeWalk, walk
from satchel.safety.sanitize import plain_name
from satchel.store.protocol import SET_ASIDE, Store
from satchel.system.files import SkipReason
from satchel.types import Failure


class TreeState(NamedTuple):
    """The tree and the history beside one revision of the store. `began` is the tick before the walk."""

    revision: str
    began: int
    tree: TreeWalk
    difference: Difference
    history: HistoryPlan
    notes: tuple[Failure, ...]
    is_due: bool
    """Whether there is anything to write."""


def look(store: Store, root: Path, options: BuildOptions, should_stop: Callable[[], bool]) -> TreeState:
    """Compare the store with the files and the history of `root`. Nothing is written, so no lock is needed."""
    began, revision = tick(), store.revision
    tree = walk(root, options.walk, should_stop=should_stop)
    difference = compare(store, tree, options.reading.version, vault=options.reading.vault)
    history = plan_history(store, root, options)
    is_due = difference.is_any or history.is_due or bool(store.meta(LINKS_DUE))
    return TreeState(revision, began, tree, difference, history, (*_notes(store, tree), *history.notes), is_due)


def build(
    store: Store,
    root: Path,
    options: BuildOptions,
    progress: Progress,
    should_stop: Callable[[], bool],
    seen: TreeState | None = None,
) -> IndexReport:
    """Update the store from the files and the history of `root`. The caller holds the index lock.

    What was `seen` before it was locked is used if nothing has been published since.
    """
    if root.is_file():
        from satchel.index.notes import build_export

        return build_export(store, root, options, progress, should_stop)
    started = time.monotonic()
    now = seen if seen is not None and seen.revision == store.revision else look(store, root, options, should_stop)
    difference = now.difference
    report = IndexReport(
        files=len(difference.stored),
        unchanged=difference.unchanged,
        errors=now.tree.errors,
        interrupted=now.tree.stopped or should_stop(),
        notes=now.notes,
    )
    failed = Counter[str]()
    if not report.interrupted and now.is_due:
        from satchel.index.update import Task, update

        entries = {entry.path: entry for entry in difference.read}
        task = Task(now.began, difference, entries, now.history, options, progress, should_stop, report, failed)
        update(store, task)
        if not report.interrupted and store.meta(SET_ASIDE):
            with store.write() as writer:
                writer.set_meta(SET_ASIDE, "")
    report.files += report.added - report.removed
    report.skipped = dict(sorted((failed + Counter(now.tree.skipped) + Counter(store.skipped_reasons())).items()))
    report.seconds = time.monotonic() - started
    return report


def _notes(store: Store, tree: TreeWalk) -> list[Failure]:
    """Return the notes on the store and the walk for an answer."""
    notes = [Failure("index", note) for note in tree.notes]
    unreadable = tree.skipped_paths.get(SkipReason.UNREADABLE, ())
    notes += [Failure("index", f"{plain_name(path)}: {SkipReason.UNREADABLE}") for path in unreadable]
    if aside := store.meta(SET_ASIDE):
        message = f"the index was damaged: it was put aside as {aside} and built again"
        notes.append(Failure("index", message))
    return notes
