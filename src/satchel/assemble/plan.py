"""The plan of a request: which kinds are asked, each with which weight. A plan is data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satchel.assemble.render.request import DEFAULT_TITLE
from satchel.assemble.request import DEFAULT_WEIGHTS, AssembleRequest
from satchel.search.filters import Filters
from satchel.types import CONTEXT_TYPES, Kind, Role
from satchel.vocabulary import Axis

if TYPE_CHECKING:
    from satchel.search.rank_without_query import Standing

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


ROLE_KINDS: Mapping[Role, tuple[Kind, ...]] = {
    Role.FUNCTION: (Kind.CODE,),
    Role.METHOD: (Kind.CODE,),
    Role.CLASS: (Kind.CODE,),
    Role.SECTION: (Kind.DOC, Kind.NOTE),
}
"""The kinds that have documents of a role that can be asked for."""


def role_is_asked(kind: Kind, role: Role, roles: Sequence[Role]) -> bool:
    """Whether documents of a role are wanted: roles say which documents of their own kinds, and nothing of others."""
    concerned = [one for one in roles if kind in ROLE_KINDS.get(one, tuple(Kind))]
    return not concerned or role in concerned


def make_plan(request: AssembleRequest, available: Mapping[Kind, int]) -> tuple[PlannedSection, ...]:
    """Sections in the order of the context: the kinds asked for, else every kind that has documents.

    Each may give all items of the answer. A kind without weight is not asked.
    """
    asked = request.kinds or tuple(kind for kind in CONTEXT_TYPES.values() if available.get(kind))
    weighted = ((kind, _weight(kind, request)) for kind in asked)
    return tuple(PlannedSection(kind, weight, request.limit) for kind, weight in weighted if weight > 0)


def _weight(kind: Kind, request: AssembleRequest) -> float:
    weight = request.weights.get(kind, DEFAULT_WEIGHTS[kind])
    return weight * CHANGE_FACTOR if request.change is not None and kind is Kind.CODE else weight
