"""The premortem: what went wrong before in this kind of work, asked before it goes wrong again.

Five queries over the sides of past experiences and the values that they taught. There is no question: records come by
their domain, strategy and outcome, and are ranked by how far they can be relied on, how new they are, and how well
their words match domain and strategy.
"""

from __future__ import annotations

from satchel.assemble.plan import Plan, PlannedSection
from satchel.assemble.request import AssembleRequest
from satchel.search.filters import Filters
from satchel.search.rank_without_query import Standing
from satchel.types import Kind
from satchel.vocabulary import Axis, OutcomeStatus

PLAN = "premortem"

MAX_TOKENS = 1500
LIMIT = 10
"""The budget and the items of a section where nobody says otherwise, as the first specification has them."""

MOST_VALUES = 5

WEIGHTS = {"tier": 0.4, "recency": 0.3, "match": 0.3}
"""How far to rely on it comes first; recency and match order what is equally reliable."""

STRATEGY_WEIGHTS = {"failed": 0.3, "tier": 0.3, "recency": 0.2, "match": 0.2}
"""How a strategy went is worth knowing either way, but a premortem is about what failed."""

VALUE_WEIGHTS = {"domain": 0.5, "strategy": 0.2, "support": 0.2, "recency": 0.1}
"""A principle counts as far as the experiences under it are of this kind of work."""

FAILURES, PERFORMANCE, SURPRISES, CAUSES, PRINCIPLES = (
    "Common Failures",
    "Strategy Performance",
    "Unexpected Outcomes",
    "Root Causes to Watch",
    "Relevant Principles",
)

QUESTIONS = {
    FAILURES: "failures and issues in {domain}",
    PERFORMANCE: "outcomes using {strategy} strategy",
    SURPRISES: "unexpected outcomes in {domain}",
    CAUSES: "why hypotheses fail in {domain}",
    PRINCIPLES: "principles for {domain}",
}
"""What a searcher is asked that needs a question, as the first specification has it."""


def plan(request: AssembleRequest) -> Plan:
    """The sections of a premortem for the domain, and the strategy if there is one, in the filters of the request."""
    domain, strategy = request.filters.domain or "", request.filters.strategy or ""
    words = f"{domain} {strategy}".strip()
    by_match = Standing(WEIGHTS, words)
    sections = [_experiences(FAILURES, 3.0, request, Filters(domain=domain, outcome=OutcomeStatus.FALSIFIED), by_match)]
    if strategy:
        of_strategy = Filters(strategy=strategy, axis=Axis.STRATEGY)
        sections.append(_experiences(PERFORMANCE, 2.0, request, of_strategy, Standing(STRATEGY_WEIGHTS, words)))
    sections += [
        _experiences(SURPRISES, 2.0, request, Filters(domain=domain, axis=Axis.SURPRISE), by_match),
        _experiences(CAUSES, 2.0, request, Filters(domain=domain, axis=Axis.ROOT_CAUSE), by_match),
        PlannedSection(
            Kind.VALUE,
            1.0,
            min(request.limit, MOST_VALUES),
            PRINCIPLES,
            Filters(domain=domain),
            Standing(VALUE_WEIGHTS, domain=domain, strategy=strategy),
        ),
    ]
    title = f"Premortem: {domain}" + (f" with {strategy}" if strategy else "")
    return Plan(tuple(sections), title, once=True, based_on=Kind.EXPERIENCE)


def _experiences(
    title: str, weight: float, request: AssembleRequest, filters: Filters, standing: Standing
) -> PlannedSection:
    side = Axis(filters.axis or Axis.FULL)
    return PlannedSection(Kind.EXPERIENCE, weight, request.limit, title, filters, standing, side=side)
