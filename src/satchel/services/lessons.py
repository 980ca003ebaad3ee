"""Lessons in one root: what is remembered about files that are about to be edited.

It is apart from the other guidance because a hook asks it before every edit: contexts and rules need not be loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Unpack

from satchel.answer.lessons import lessons_context
from satchel.answer.request import PackingOptions, make_request
from satchel.errors import GitError
from satchel.guidance.bound import bound_records
from satchel.safety.sanitize import clean_field
from satchel.services.open_root import OpenRoot, attempts, bench_of
from satchel.services.receipts import ReceiptService, handles_of
from satchel.system.git import find_repository, head, run
from satchel.types import Context, Failure, Hit, Kind
from satchel.vocabulary import LESSON_KINDS, OutcomeStatus

MOST_FILES = 20
"""Most files of one edit whose lessons are told."""

NAMED_FILES = 3
"""Most files of an edit that are named above its lessons."""

LAST_FILES = "the files of the last commits"
"""Words above the lessons of files that were worked on lately: these are many, and few of them have lessons."""

RECENT_COMMITS = 5
"""Last commits whose files count as what was worked on lately."""

FAILURE_WEIGHT = 0.8
"""Importance that a failed experience has among memories."""

EXPERIENCE_WEIGHT = 0.5
"""Importance that any other experience has among memories."""


class LessonService:
    """The lessons of one opened root."""

    def __init__(self, root: OpenRoot, receipts: ReceiptService) -> None:
        self._root, self._receipts = root, receipts

    def told(
        self, files: Sequence[str] | None, **options: Unpack[PackingOptions]
    ) -> tuple[Context, Callable[[], object]]:
        """Return the lessons bound to these files (relative to the root), and what records that they were sent.

        Without files they are those that were worked on lately. The most important come first, then the newest. Options
        as in `Satchel.situation`; a `session` gets each lesson once.
        """
        request = make_request("", self._root.settings, options)
        account = self._receipts.account(request.session, request.ledger)
        recent, failures = recent_files(self._root.places.root) if files is None else (files, [])
        named = recent[:MOST_FILES]
        about = LAST_FILES if files is None else ", ".join(clean_field(path) for path in named[:NAMED_FILES])
        for attempt in attempts(self._root):
            with attempt as states:
                bench = bench_of(states, failures, account)
                kinds = LESSON_KINDS if bench.memory is not None else ()
                bound = (bound_records(bench.store_of(kind), kind, named, bench.store, request.now) for kind in kinds)
                hits = sorted(chain.from_iterable(bound), key=_order)
                context = lessons_context(request, bench, hits, about, {"revision": bench.revision})
        return context, partial(self._receipts.keep, context, account, request.session, handles_of(context))


def recent_files(root: Path) -> tuple[list[str], list[Failure]]:
    """Return the files below a root that the last commits of the branch touched, the newest first, and failures."""
    repository = find_repository(root)
    if repository is None:
        return [], []
    below = root.resolve().relative_to(repository.work_tree.resolve()).as_posix()
    prefix = "" if below == "." else f"{below}/"
    try:
        if head(repository) is None:
            return [], []
        options = ("--no-merges", "--name-only", "-z", "--no-renames", "--format=")
        listed = run(repository, "log", f"-n{RECENT_COMMITS}", *options, "HEAD", "--")
    except GitError as error:
        return [], [Failure("git", str(error), "what was worked on lately is unknown")]
    paths = (os.fsdecode(path.strip(b"\n")) for path in listed.split(b"\0"))
    return list(dict.fromkeys(path.removeprefix(prefix) for path in paths if path and path.startswith(prefix))), []


def _order(hit: Hit) -> tuple[float, float, str]:
    chunk = hit.chunk
    has_failed = chunk.fields.get("outcome_status") == OutcomeStatus.FALSIFIED
    weight = FAILURE_WEIGHT if has_failed else EXPERIENCE_WEIGHT
    return -(chunk.importance or 0.0) if chunk.kind is Kind.MEMORY else -weight, -chunk.created, chunk.id
