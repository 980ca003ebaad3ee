"""The brief: what to know when a session starts, before anything was asked."""

from __future__ import annotations

from satchel.assemble.plan import Plan, PlannedSection
from satchel.assemble.request import AssembleRequest
from satchel.search.filters import NO_FILTERS, Filters
from satchel.search.rank_without_query import Standing
from satchel.types import Kind
from satchel.vocabulary import Axis, MemoryCategory

PLAN = "brief"

MAX_TOKENS = 1000
"""It is paid for at the start of every session, whether it is needed or not: two thirds of a premortem."""

LIMIT = 8
"""Items of a section."""

MOST_VALUES = 5

MOST_COMMITS = 5
"""They say what the work was about lately; more of them would be the history, which can be asked for."""

TITLE = "Brief"
VALUES, EVENTS, MEMORIES, COMMITS = "Top Values", "Recent Events", "Key Memories", "Recent Commits"

VALUE_WEIGHTS = {"support": 0.7, "recency": 0.3}
EVENT_WEIGHTS = {"recency": 0.8, "importance": 0.2, "tier": 0.2}
MEMORY_WEIGHTS = {"importance": 0.65, "recency": 0.35}
COMMIT_WEIGHTS = {"recency": 1.0}
"""An event counts by when it was; what is to be remembered by how much it matters, and a little by its age."""


def plan(request: AssembleRequest) -> Plan:
    """Top values, recent events (memories of that category, and experiences), key memories, and the last commits."""
    limit = request.limit
    events = Standing(EVENT_WEIGHTS)
    return Plan(
        (
            PlannedSection(Kind.VALUE, 1.0, min(limit, MOST_VALUES), VALUES, NO_FILTERS, Standing(VALUE_WEIGHTS)),
            PlannedSection(Kind.MEMORY, 1.0, limit, EVENTS, Filters(category=MemoryCategory.EVENT), events),
            PlannedSection(Kind.EXPERIENCE, 1.5, limit, EVENTS, NO_FILTERS, events, side=Axis.STRATEGY),
            PlannedSection(Kind.MEMORY, 2.0, limit, MEMORIES, NO_FILTERS, Standing(MEMORY_WEIGHTS)),
            PlannedSection(
                Kind.COMMIT, 1.0, min(limit, MOST_COMMITS), COMMITS, NO_FILTERS, Standing(COMMIT_WEIGHTS, last=True)
            ),
        ),
        TITLE,
        once=True,
    )
