"""The plan of a request: the kinds to search, each with its weight. A request names its plan, so it can be replayed.

Without a name every kind is searched for the question. Three plans have sections of their own:

- `premortem`: what failed before in this kind of work. Records are selected by domain, strategy and outcome, and ranked
  by tier, age, and how well their words match domain and strategy.
- `brief`: what to know when a session starts, before any question.
- `failure`: what failed like this log before, and where in the code. A log is mostly noise, so past attempts are
  searched for its errors, names and files; code is searched for the full text, because its frames lead to lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from satchel.answer import weights
from satchel.answer.render.frame import DEFAULT_TITLE
from satchel.answer.request import Asked, AssembleRequest, SearchScope, make_request
from satchel.errors import UsageError
from satchel.safety import sanitize
from satchel.search import weights as search_weights
from satchel.search.filters import NO_FILTERS, Filters, SearchStrategy, make_filters
from satchel.search.query import Query, analyse
from satchel.search.references import refers_to_commits
from satchel.search.trace import is_vendored
from satchel.settings import Settings
from satchel.text import pattern, wording
from satchel.types import CONTEXT_TYPES, DEFAULT_WEIGHTS, ENTITY_TYPES, Kind, Role, type_name
from satchel.vocabulary import (
    PINNED_TAG,
    Axis,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    Strategy,
    checked_text,
    parse_choice,
)

if TYPE_CHECKING:
    from satchel.search.rank_without_query import FieldRanking

FAILURE_NAMES = 12
"""Names to which a log is reduced."""

FAILURE_FILES = 6
"""Files to which a log is reduced."""

FAILURE_ERRORS = 3
"""Errors to which a log is reduced."""

HISTORY_WORDS = 40
"""Words of a question that may ask about history: a longer text is an issue, in which a "why" asks something else."""

FAILURE_PLACES = 2
"""Files of code after a failure, if its trace names no more: the first is mostly the right one."""

PINNED_ITEMS = 5
"""Most pinned memories of a brief: few, because what is always shown is paid for in every session."""

PLAN_VALUES = 5
"""Most values of a plan."""

BRIEF_COMMITS = 5
"""Most commits of a brief. They show the latest work; more would be the history, which has views of its own."""

_ASKS_OF_HISTORY = wording("asks of history")

ROLE_KINDS: Mapping[Role, tuple[Kind, ...]] = {
    role: tuple(kind for kind in Kind if role in kind.traits.roles) for role in ENTITY_TYPES.values()
}
"""Role that a request can name -> the kinds that have chunks with it."""


def types_of(names: Iterable[str]) -> list[str]:
    """Return the named context types, and the types of the named entities.

    An unknown name is kept so that the request refuses it: without it every type would be searched.
    """
    names = list(map(type_name, names))
    named = {CONTEXT_TYPES[name] for name in names if name in CONTEXT_TYPES}
    roles = [ENTITY_TYPES[name] for name in names if name in ENTITY_TYPES]
    kinds_of_roles = [ROLE_KINDS[role] for role in roles if named.isdisjoint(ROLE_KINDS[role])]
    kinds = named.union(*kinds_of_roles)
    unknown = [name for name in names if name not in CONTEXT_TYPES and name not in ENTITY_TYPES]
    return [*(plural for plural, kind in CONTEXT_TYPES.items() if kind in kinds), *unknown]


PREMORTEM, BRIEF, FAILURE = "premortem", "brief", "failure"

PREMORTEM_TOKENS, PREMORTEM_LIMIT = 1500, 10
"""Default budget and items per section, as the first specification has them."""

BRIEF_TOKENS, BRIEF_LIMIT = 300, 8
"""Every session pays for the brief, whether it is needed or not."""

FAILURE_TOKENS, FAILURE_LIMIT = 2000, 10

FAILURES, PERFORMANCE, SURPRISES, CAUSES, PRINCIPLES = (
    "Common Failures",
    "Strategy Performance",
    "Unexpected Outcomes",
    "Root Causes to Watch",
    "Relevant Principles",
)

PREMORTEM_QUESTIONS = {
    FAILURES: "failures and issues in {domain}",
    PERFORMANCE: "outcomes using {strategy} strategy",
    SURPRISES: "unexpected outcomes in {domain}",
    CAUSES: "why hypotheses fail in {domain}",
    PRINCIPLES: "principles for {domain}",
}
"""Questions for a foreign searcher that needs one, as the first specification has them."""

VALUES, EVENTS, MEMORIES, COMMITS = "Top Values", "Recent Events", "Key Memories", "Recent Commits"
PINNED = "Pinned"


ATTEMPTS, PLACES = "What failed like this before", "Where in the code"

FAILURE_TITLE = "Brief after a failure"

_WENT_WELL = pattern(r"\b(?:ok(?:ay)?|all good|pass(?:ed|es)|succe\w+|done|completed?|finished)\b", re.IGNORECASE)
_WENT_WRONG = pattern(r"\b(?:fail\w*|errors?|wrong|broken?|not|never|no|crash\w*|hangs?|timed?.?out)\b", re.IGNORECASE)
"""Words of a log without any error, file or name: then there is nothing to look for."""


class PlannedSection(Struct, frozen=True):
    """One kind to search, its share of the budget by weight, and its most items.

    `title` is the heading above its items, empty for the one of the kind. `filters` select its records, None for the
    filters of the request. With `ranked_by` nothing is searched: records are ranked by their own fields. `question`
    replaces that of the request; if it is hardly answered, the section is left out. With a `side`, experiences show
    that side, or in less space their root cause.
    """

    kind: Kind
    weight: float
    limit: int
    title: str = ""
    filters: Filters | None = None
    ranked_by: FieldRanking | None = None
    question: str = ""
    side: Axis | None = None

    @property
    def is_searched(self) -> bool:
        """Whether the section is searched for the question of the request."""
        return self.ranked_by is None and not self.question


class Plan(Struct, frozen=True):
    """The sections of an answer and its title.

    With `unique`, a record that several sections match is in one of them only. With `based_on` the footer counts only
    the items of that kind.
    """

    sections: tuple[PlannedSection, ...]
    title: str = DEFAULT_TITLE
    unique: bool = False
    based_on: Kind | None = None


def plan_of(asked: Asked, scope: SearchScope, available: Mapping[Kind, int]) -> Plan:
    """Return the plan of a question; `available` counts the chunks of each kind. Raises UsageError if it is unknown.

    Our contexts are not searched: which of them apply does not depend on the words of the question alone.
    """
    if not scope.plan:
        sections = make_plan(asked, scope, available)
        return Plan(tuple(section for section in sections if section.kind is not Kind.CONTEXT))
    if scope.plan not in PLANS:
        raise UsageError(f"unknown plan {scope.plan!r}: choose from {', '.join(PLANS)}")
    if scope.plan == FAILURE:
        return failure_plan(asked, scope)
    return brief_plan(scope) if scope.plan == BRIEF else premortem_plan(scope)


def make_plan(asked: Asked, scope: SearchScope, available: Mapping[Kind, int]) -> tuple[PlannedSection, ...]:
    """Return sections in the order of the context: the kinds asked for, else every kind that has chunks.

    Each may have all items of the answer. A kind without weight is not searched.
    """
    kinds = scope.kinds or tuple(kind for kind in CONTEXT_TYPES.values() if available.get(kind))
    of_kind = {kind: scope.weights.get(kind, DEFAULT_WEIGHTS[kind]) for kind in kinds}
    if asked.change is not None and Kind.CODE in of_kind:
        of_kind[Kind.CODE] *= weights.CHANGE_CODE_FACTOR
    if len(asked.query.split()) <= HISTORY_WORDS and _asks_of_history(asked.query):
        for kind in of_kind:
            if kind is Kind.COMMIT or kind.traits.is_prose:
                of_kind[kind] *= weights.HISTORY_FACTOR if kind is Kind.COMMIT else weights.NOTES_FACTOR
    return tuple(PlannedSection(kind, weight, scope.limit) for kind, weight in of_kind.items() if weight > 0)


def needs_history(asked: Asked, scope: SearchScope, since: str | None = None) -> bool:
    """Return whether a question is about commits, or a change `since` one: without them there is no answer."""
    is_named = Kind.COMMIT in scope.kinds or SearchStrategy.HISTORY in scope.searches
    return is_named or bool(since) or _asks_of_history(asked.query)


def _asks_of_history(question: str) -> bool:
    return _ASKS_OF_HISTORY.search(question) is not None or refers_to_commits(question)


def role_is_asked(kind: Kind, role: Role, roles: Sequence[Role]) -> bool:
    """Return whether the roles of a request admit a chunk; roles only restrict the kinds that have them."""
    relevant = [other for other in roles if kind in ROLE_KINDS.get(other, tuple(Kind))]
    return not relevant or role in relevant


def premortem_plan(scope: SearchScope) -> Plan:
    """Return the sections of a premortem for the domain and the optional strategy in the filters."""
    from satchel.search.rank_without_query import FieldRanking  # here, as below: most requests name no plan

    domain, strategy = scope.filters.domain or "", scope.filters.strategy or ""
    words = f"{domain} {strategy}".strip()
    by_match = FieldRanking(weights.PREMORTEM_WEIGHTS, words)

    def experiences(title: str, weight: float, filters: Filters, ranked_by: FieldRanking = by_match) -> PlannedSection:
        side = Axis(filters.axis or Axis.FULL)
        return PlannedSection(Kind.EXPERIENCE, weight, scope.limit, title, filters, ranked_by, side=side)

    of_section = weights.PREMORTEM_SECTIONS
    sections = [experiences(FAILURES, of_section["failures"], Filters(domain=domain, outcome=OutcomeStatus.FALSIFIED))]
    if strategy:
        of_strategy = Filters(strategy=strategy, axis=Axis.STRATEGY)
        ranked_by = FieldRanking(weights.STRATEGY_WEIGHTS, words)
        sections.append(experiences(PERFORMANCE, of_section["performance"], of_strategy, ranked_by))
    sections.append(experiences(SURPRISES, of_section["surprises"], Filters(domain=domain, axis=Axis.SURPRISE)))
    sections.append(experiences(CAUSES, of_section["causes"], Filters(domain=domain, axis=Axis.ROOT_CAUSE)))
    by_kind_of_work = FieldRanking(weights.PRINCIPLE_WEIGHTS, domain=domain, strategy=strategy)
    limit = min(scope.limit, PLAN_VALUES)
    weight, of_domain = of_section["principles"], Filters(domain=domain)
    sections.append(PlannedSection(Kind.VALUE, weight, limit, PRINCIPLES, of_domain, by_kind_of_work))
    title = f"Premortem: {domain}" + (f" with {strategy}" if strategy else "")
    return Plan(tuple(sections), title, unique=True, based_on=Kind.EXPERIENCE)


def brief_plan(scope: SearchScope) -> Plan:
    """Return what is pinned, top values, recent events (memories and experiences), key memories, and last commits."""
    from satchel.search.rank_without_query import FieldRanking

    limit, weight = scope.limit, weights.BRIEF_SECTIONS
    pinned, of_events = Filters(tags=(PINNED_TAG,)), Filters(category=MemoryCategory.EVENT)
    values, memories = FieldRanking(weights.VALUE_WEIGHTS), FieldRanking(weights.MEMORY_WEIGHTS)
    events, commits = FieldRanking(weights.EVENT_WEIGHTS), FieldRanking({"recency": 1.0}, last=True)
    few_values, few_commits = min(limit, PLAN_VALUES), min(limit, BRIEF_COMMITS)
    return Plan(
        (
            PlannedSection(Kind.MEMORY, weight["pinned"], PINNED_ITEMS, PINNED, pinned, memories),
            PlannedSection(Kind.VALUE, weight["values"], few_values, VALUES, NO_FILTERS, values),
            PlannedSection(Kind.MEMORY, weight["remembered events"], limit, EVENTS, of_events, events),
            PlannedSection(
                Kind.EXPERIENCE, weight["experiences"], limit, EVENTS, NO_FILTERS, events, side=Axis.STRATEGY
            ),
            PlannedSection(Kind.MEMORY, weight["memories"], limit, MEMORIES, NO_FILTERS, memories),
            PlannedSection(Kind.COMMIT, weight["commits"], few_commits, COMMITS, NO_FILTERS, commits),
        ),
        "Brief",
        unique=True,
    )


def failure_plan(asked: Asked, scope: SearchScope) -> Plan:
    """Return failed attempts, repairs and remembered errors for the names in a failure, and code for its full text."""
    query = analyse(asked.query)
    if _reports_success(query):
        return Plan((), FAILURE_TITLE, unique=True)
    question = question_of_failure(query)
    falsified, errors = Filters(outcome=OutcomeStatus.FALSIFIED), Filters(category=MemoryCategory.ERROR)
    # Repairs in transcripts are of this kind: they tell what failed before it passed.
    repaired = Filters(outcome=OutcomeStatus.CONFIRMED, domain=Domain.DEBUGGING, strategy=Strategy.READ_THE_ERROR)
    limit, weight = scope.limit, weights.FAILURE_SECTIONS
    attempts = PlannedSection(
        Kind.EXPERIENCE, weight["attempts"], limit, ATTEMPTS, falsified, question=question, side=Axis.FULL
    )
    repairs = PlannedSection(
        Kind.EXPERIENCE, weight["attempts"], limit, ATTEMPTS, repaired, question=question, side=Axis.FULL
    )
    memories = PlannedSection(Kind.MEMORY, weight["memories"], limit, ATTEMPTS, errors, question=question)
    # The first line of a question counts most, but the first line of a log is not telling.
    text = "\n".join((*reported_errors(query)[:1], asked.query))
    named = max(len(own_files(query)), FAILURE_PLACES)
    places = PlannedSection(Kind.CODE, weight["places"], min(limit, named), PLACES, question=text)
    return Plan((attempts, repairs, memories, places), FAILURE_TITLE, unique=True)


def _reports_success(query: Query) -> bool:
    """Return whether a log says that all went well, and names no error, file or symbol."""
    is_plain = not (query.trace.errors or query.trace.places or query.paths or written_names(query))
    return is_plain and _WENT_WELL.search(query.text) is not None and _WENT_WRONG.search(query.text) is None


def question_of_failure(query: Query) -> str:
    """Return the question for past attempts: errors, then names and files; the full text if it has none."""
    lines = [" ".join(part) for part in (reported_errors(query), written_names(query), own_files(query))]
    return "\n".join(filter(None, lines)) or query.text


def reported_errors(query: Query) -> list[str]:
    """Return the errors that a log reports, the most specific one first."""
    return list(query.trace.errors[:FAILURE_ERRORS])


def written_names(query: Query) -> list[str]:
    """Return the names that are written as names, the most distinctive form first, in the order of the text."""
    mentions = [mention for mention in query.symbols if mention.form not in {"plain", "capitalised"}]
    mentions.sort(key=lambda mention: -search_weights.FORM_WEIGHTS[mention.form])
    return list(dict.fromkeys(mention.text for mention in mentions))[:FAILURE_NAMES]


def own_files(query: Query) -> list[str]:
    """Return the file names of the trace without those of other people's packages, the innermost frame first."""
    paths = [*(frame.path for frame in query.trace.places if frame.path), *(mention.text for mention in query.paths)]
    names = (path.rpartition("/")[2] for path in paths if not is_vendored(path))
    return list(dict.fromkeys(names))[:FAILURE_FILES]


PLANS = (PREMORTEM, BRIEF, FAILURE)
"""Names of plans."""


def premortem_request(settings: Settings, domain: str, strategy: str | None, **options: Any) -> AssembleRequest:
    """Return the checked request of a premortem. Raises UsageError for an unknown domain or strategy; it lists all."""
    defaults = {"max_tokens": PREMORTEM_TOKENS, "limit": PREMORTEM_LIMIT}
    filters = make_filters(domain=str(parse_choice(Domain, domain, "domain")), strategy=strategy)
    return make_request("", settings, {**defaults, **options, "filters": filters, "plan": PREMORTEM})


def brief_request(settings: Settings, after_failure: str | None, **options: Any) -> AssembleRequest:
    """Return the checked request of a brief. Raises UsageError for an empty failure."""
    if after_failure is None:
        defaults = {"max_tokens": BRIEF_TOKENS, "limit": BRIEF_LIMIT}
        return make_request("", settings, {**defaults, **options, "plan": BRIEF})
    if not checked_text("the failure", after_failure).strip():
        raise UsageError("the failure is empty: give the output of the command that failed")
    # Characters of a log that are read, from its end, which states the failure
    text = sanitize.text(after_failure, settings.redact_allow)[-20_000:]
    defaults = {"max_tokens": FAILURE_TOKENS, "limit": FAILURE_LIMIT}
    return make_request(text, settings, {**defaults, **options, "plan": FAILURE})
