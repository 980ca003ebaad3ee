"""Lessons in one root: what is remembered about files that are about to be edited.

It is apart from the other guidance because a hook asks it before every edit: contexts and rules need not be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Unpack

from satchel.answer.lessons import lessons_context
from satchel.answer.request import PackingOptions, make_request
from satchel.guidance.bound import bound_records
from satchel.open_root import OpenRoot, attempts, bench_of
from satchel.receipts.service import ReceiptService, handles_of
from satchel.types import Context, Hit, Kind
from satchel.vocabulary import LESSON_KINDS, OutcomeStatus

MOST_FILES = 20
"""Most files of one edit whose lessons are told."""

FAILURE_WEIGHT = 0.8
"""Importance that a failed experience has among memories."""

EXPERIENCE_WEIGHT = 0.5
"""Importance that any other experience has among memories."""


class LessonService:
    """The lessons of one opened root."""

    def __init__(self, root: OpenRoot, receipts: ReceiptService) -> None:
        self._root, self._receipts = root, receipts

    def told(self, files: Sequence[str], **options: Unpack[PackingOptions]) -> tuple[Context, Callable[[], object]]:
        """Return the lessons bound to these files (relative to the root), and what records that they were sent.

        The most important come first, then the newest. Options as in `Satchel.situation`; a `session` gets each lesson
        once.
        """
        request = make_request("", self._root.settings, options)
        account = self._receipts.account(request.session, request.ledger)
        named = files[:MOST_FILES]
        for attempt in attempts(self._root):
            with attempt as states:
                bench = bench_of(states, (), account)
                kinds = LESSON_KINDS if bench.memory is not None else ()
                bound = (bound_records(bench.store_of(kind), kind, named, bench.store, request.now) for kind in kinds)
                hits = sorted(chain.from_iterable(bound), key=_order)
                context = lessons_context(request, bench, hits, named, {"revision": bench.revision})
        return context, partial(self._receipts.keep, context, account, request.session, handles_of(context))


def _order(hit: Hit) -> tuple[float, float, str]:
    chunk = hit.chunk
    has_failed = chunk.fields.get("outcome_status") == OutcomeStatus.FALSIFIED
    weight = FAILURE_WEIGHT if has_failed else EXPERIENCE_WEIGHT
    return -(chunk.importance or 0.0) if chunk.kind is Kind.MEMORY else -weight, -chunk.created, chunk.id
