"""The plan of a request: which kinds are asked, each with which weight. A plan is data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satchel.assemble.render.request import DEFAULT_TITLE
from satchel.assemble.request import DEFAULT_WEIGHTS, AssembleRequest
from satchel.search.filters import Filters
from satchel.types import CONTEXT_TYPES, Kind
from satchel.vocabulary import Axis

if TYPE_CHECKING:
    from satchel.search.known import Standing

MOST_BESIDE_OTHERS: Mapping[Kind, int] = {Kind.COMMIT: 8}
"""Items of a kind while other kinds are asked too. Commits are short: twenty of them, each with a frame as long as its
subject, took the place of the code they touched. Eight is a judgement from reading answers, not a measured optimum."""

CHANGE_FACTOR = 3.0
"""Of the share of code where a change is asked about: callers and tests are what one looks for then. With an even share
commits and docs took two thirds, and the callers of a changed function stayed out. Read on five changes of flask."""


@dataclass(frozen=True, slots=True)
class PlannedSection:
    """One kind to ask, its share of the budget by weight, and how many items it may give.

    `title` stands above its items, empty for the one of the kind. `filters` say which records are meant, None for those
    of the request. With a `standing` nothing is searched: records are ranked by what is known of them. `question` is
    asked in place of that of the request. `floor` is the least relevance, None for the calibrated one. With a `side`
    experiences show that side of themselves, or in less space why they failed.
    """

    kind: Kind
    weight: float
    limit: int
    title: str = ""
    filters: Filters | None = None
    standing: Standing | None = None
    question: str = ""
    floor: float | None = None
    side: Axis | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask for, and what the answer is called.

    With `once` a record that several sections found stands in one of them. With `based_on` the footer counts only what
    is shown of that kind.
    """

    sections: tuple[PlannedSection, ...]
    title: str = DEFAULT_TITLE
    once: bool = False
    based_on: Kind | None = None


PLAIN = Plan(())
"""What an answer is called whose sections were not planned here."""


def make_plan(request: AssembleRequest, available: Mapping[Kind, int]) -> tuple[PlannedSection, ...]:
    """Sections in the order of the context: the kinds asked for, else every kind that has documents."""
    asked = request.kinds or tuple(kind for kind in CONTEXT_TYPES.values() if available.get(kind))
    return tuple(
        PlannedSection(kind, _weight(kind, request), _limit(kind, request.limit, len(asked))) for kind in asked
    )


def _weight(kind: Kind, request: AssembleRequest) -> float:
    weight = request.weights.get(kind, DEFAULT_WEIGHTS[kind])
    return weight * CHANGE_FACTOR if request.change is not None and kind is Kind.CODE else weight


def _limit(kind: Kind, limit: int, sections: int) -> int:
    return min(limit, MOST_BESIDE_OTHERS.get(kind, limit)) if sections > 1 else limit
