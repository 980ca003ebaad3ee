"""Search all sections of a plan at once; one that fails or is late becomes a note."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from satchel.answer.bearing import fitting, gives_lessons, in_order
from satchel.answer.findings import Findings, Gathered, Searched
from satchel.answer.plans import PlannedSection, own_files, plan_of
from satchel.answer.resources import OpenExecutor, Resources
from satchel.errors import SatchelError, UsageError
from satchel.intent import Intent
from satchel.search.change_relations import Impact, impact_of_question, with_callers, with_impact
from satchel.search.dense import Meaning, scores
from satchel.search.filters import silent
from satchel.search.named import with_defined_names
from satchel.search.query import Query, analyse, recipe_nouns, with_names
from satchel.search.references import with_commits
from satchel.search.searcher import CANDIDATE_SPANS, SearchResult, search_kind
from satchel.search.strength import present_names, without_own_names
from satchel.search.votes import Votes
from satchel.store.protocol import Store
from satchel.system import telemetry
from satchel.system.properties import unlocked_cached_property
from satchel.text import pattern
from satchel.types import LESSON_KINDS, LINE_KINDS, MEMORY_KINDS, Failure, Hit, Kind

if TYPE_CHECKING:
    from satchel.answer.request import Asked, SearchScope
    from satchel.answer.source_lines import FileLines

MIN_PROSE = 0.08
"""Least relevance of prose in parts of the best before kinds are balanced: a stronger answer (at most odds of .85)
lifts nothing below it over `RELATIVE_FLOOR`, because odds are lifted alike and .08 * 1.85 is less than that."""

SPARE_RECORDS = 4
"""Records that a section gets beyond its limit: some turn out too large or have the text of another. Each takes a third
of a millisecond to prepare."""

MIN_CANDIDATES = 100
"""Spans that are searched for the smallest budget."""

LARGE_CANDIDATE_TOKENS = 20
"""Tokens for each candidate of a large budget, so that there are enough candidates to fill it."""

CANDIDATE_TOKENS = 10
"""Below 4,000 tokens there is one candidate for so many tokens: each is read, cleaned and compared before it turns out
not to fit, and a useful span has thirty tokens or more."""


Search = Callable[[PlannedSection], SearchResult]


def search(
    asked: Asked,
    scope: SearchScope,
    max_tokens: int,
    resources: Resources,
    *,
    with_impact: bool = True,
    files: Sequence[str] = (),
) -> Searched:
    """Search all workspaces for all sections of the plan of a question, for an answer of `max_tokens`.

    `with_impact` adds dependents of the change, or of the definition that the question names. Lessons follow from the
    `files` of a situation, else from those that are found.
    """
    found = [
        (workspace, _findings(asked, scope, max_tokens, workspace, files, with_impact=with_impact))
        for workspace in resources.every
    ]
    return Searched(asked, scope, tuple(found))


def _findings(
    asked: Asked, scope: SearchScope, max_tokens: int, resources: Resources, files: Sequence[str], *, with_impact: bool
) -> Findings:
    query, impact = with_guesses(analyse(asked.query), asked.names, resources), None
    if asked.change is not None and with_impact:
        from satchel.search.change_impact import blended, impact_of_change

        query = blended(query, asked.change)
        impact = impact_of_change(asked.change, resources.store)
    elif with_impact:
        impact = impact_of_question(query, resources.store)
    meaning = resources.meaning(asked.query)
    plan = plan_of(asked, scope, resources.kinds())
    searched_sections, failures = _WorkspaceSearch(
        asked, scope, max_tokens, resources, query, meaning, impact
    ).gathered(plan.sections, files)
    searched_sections = _at_places(query, searched_sections) if query.only_places else searched_sections
    embedder_failures = [meaning.failure] if meaning is not None and meaning.failure is not None else []
    return Findings(
        query,
        plan,
        impact,
        round_robin(searched_sections) if plan.unique else searched_sections,
        failures,
        embedder_failures,
    )


class _WorkspaceSearch(Struct, frozen=True, dict=True):
    """The search of one workspace for one question, section by section."""

    asked: Asked
    scope: SearchScope
    max_tokens: int
    resources: Resources
    query: Query
    meaning: Meaning | None
    impact: Impact | None

    def gathered(
        self, sections: Sequence[PlannedSection], files: Sequence[str]
    ) -> tuple[list[Gathered], list[Failure]]:
        """Return the results of all sections. Lessons follow from the `files` of a situation, else from those found."""
        deferred = [section for section in sections if gives_lessons(self.asked, self.scope, self.query, section.kind)]
        searched_sections, failures = self._gather([section for section in sections if section not in deferred])
        if deferred:
            question_files, unsearched = (list(files), []) if files else self._files_of_question(searched_sections)
            found, more = self._gather(deferred, question_files)
            bearing = [_with_texts(gathered, self.resources.store_of(gathered.section.kind)) for gathered in found]
            searched_sections = [*searched_sections, *_best_lessons(bearing, self.max_tokens)]
            searched_sections.sort(key=lambda gathered: sections.index(gathered.section))
            failures += [*unsearched, *more]
        return searched_sections, failures

    def _gather(
        self, sections: Sequence[PlannedSection], question_files: Sequence[str] | None = None
    ) -> tuple[list[Gathered], list[Failure]]:
        """Return the results of these sections; `question_files` as in `search_records`."""
        search = partial(self._section, question_files=question_files)
        return gather(sections, search, self.resources.open_executor, self.scope.deadline_seconds)

    def _files_of_question(self, searched_sections: Sequence[Gathered]) -> tuple[list[str], list[Failure]]:
        """Return the files the question leads to, best first; code and documents are searched if they were not yet."""
        failures: list[Failure] = []
        if all(gathered.section.kind not in LINE_KINDS for gathered in searched_sections):
            plan = plan_of(self.asked, replace(self.scope, kinds=LINE_KINDS), self.resources.kinds())
            searched_sections, failures = self._gather(plan.sections)
        paths = [
            hit.chunk.location.path
            for gathered in searched_sections
            for hit in gathered.result.hits
            if hit.chunk.location is not None
        ]
        return list(dict.fromkeys(paths)), failures

    def _section(self, section: PlannedSection, question_files: Sequence[str] | None) -> SearchResult:
        asked, scope, query, kind = self.asked, self.scope, self.query, section.kind
        store = self.resources.store_of(kind)
        filters = scope.filters if section.filters is None else section.filters
        if section.ranked_by is not None:
            from satchel.search.rank_without_query import known_records

            # Sections of a plan that may match the same records: each gets enough records to keep some of its own.
            limit = scope.limit * 3
            return known_records(store, kind, section.ranked_by, limit=limit, filters=filters, now=asked.now)
        has_floor = scope.min_score is None and asked.change is None and kind is not Kind.CODE
        # What a change or a definition concerns is found by relations, not by meaning.
        worded = query if self.impact is None else None
        ask = partial(
            search_kind, store, kind, candidates=candidate_count(self.max_tokens), silent=silent(scope.searches),
            filters=filters, min_share=MIN_PROSE if has_floor else 0.0,
            likeness=scores(store, kind, self.meaning, worded), now=asked.now, question_files=question_files,
        )  # fmt: skip
        if section.question and kind in LESSON_KINDS:  # after a failure
            ask = partial(ask, question_files=own_files(query), intent=Intent.FAILS)
        result = ask(analyse(section.question)) if section.question else ask(query, votes=self._votes)
        if asked.change is not None and kind in MEMORY_KINDS:
            from satchel.search.change_impact import with_past

            return with_past(result, analyse(asked.query), asked.change, store, ask)
        return self._with_related(result, kind, store)

    @unlocked_cached_property
    def _votes(self) -> Votes:
        return Votes(self.query, self.resources.store)

    def _with_related(self, result: SearchResult, kind: Kind, store: Store) -> SearchResult:
        """Return the result with dependents of the change or definition in question, or with the callers."""
        asked, impact = self.asked, self.impact
        if impact is None:
            if kind is Kind.CODE and (nouns := recipe_nouns(asked.query)):
                from satchel.search.siblings import with_siblings

                return with_siblings(result, nouns, store)
            return with_callers(result, store) if self.scope.callers and kind is Kind.CODE else result
        if asked.change is not None:
            from satchel.search.change_impact import with_change

            is_asked = asked.query != asked.change.question
            return with_change(result, asked.change, store, kind, impact, is_asked=is_asked)
        return with_impact(result, impact, store) if kind is Kind.CODE else result


def _at_places(query: Query, searched_sections: list[Gathered]) -> list[Gathered]:
    """Return only the spans with the lines that the question names, where there are any."""
    lines = [(frame.line, max(frame.line, frame.end)) for frame in query.trace.places]

    def within(hit: Hit) -> Hit:
        spans = (span for span in hit.spans if any(span.start <= last and span.end >= first for first, last in lines))
        return structs.replace(hit, spans=tuple(spans))

    led = [[within(hit) for hit in gathered.result.hits if hit.file_score > 1.0] for gathered in searched_sections]
    kept = [tuple(hit for hit in hits if hit.spans) for hits in led]
    if not any(kept):
        return searched_sections
    return [
        structs.replace(gathered, result=structs.replace(gathered.result, hits=hits))
        for gathered, hits in zip(searched_sections, kept, strict=True)
    ]


def _with_texts(gathered: Gathered, store: Store) -> Gathered:
    """Return lessons with their texts, which tell whether one rules something out, and how long it is."""
    texts = store.texts(hit.chunk.document for hit in gathered.result.hits)
    hits = [
        structs.replace(hit, chunk=replace(hit.chunk, body=texts.get(hit.chunk.document, "")))
        for hit in gathered.result.hits
    ]
    return structs.replace(gathered, result=structs.replace(gathered.result, hits=tuple(hits)))


def _best_lessons(searched_sections: Sequence[Gathered], max_tokens: int) -> list[Gathered]:
    """Return the sections with their best records, as many as the share of lessons has room for."""
    kept = {
        hit.chunk.id
        for hit in fitting([hit for gathered in searched_sections for hit in gathered.result.hits], max_tokens)
    }
    chosen = []
    for gathered in searched_sections:
        shown = tuple(hit for hit in gathered.result.hits if hit.chunk.id in kept)
        beyond = in_order([hit for hit in gathered.result.hits if hit.chunk.id not in kept])[
            : len(gathered.result.below)
        ]
        chosen.append(
            structs.replace(gathered, result=structs.replace(gathered.result, hits=shown, beyond=tuple(beyond)))
        )
    return chosen


def with_guesses(query: Query, names: Sequence[str], resources: Resources) -> Query:
    """Return the question with the likely names that occur anywhere, and its everyday words that name a definition.

    It has the commits that it refers to. The name of the repository itself is left out.
    """
    code = resources.store.lexicon(Kind.CODE)
    query = with_commits(query, resources.store)
    query = without_own_names(query, code.derived("own names", lambda: own_names(resources.lines)))
    if names:
        lexicons = (resources.store_of(kind).lexicon(kind) for kind in resources.kinds())
        query = with_names(query, present) if (present := present_names(names, lexicons)) else query
    return with_defined_names(query, resources.store)


_MANIFESTS = ("package.json", "pyproject.toml", "setup.cfg", "setup.py", "Cargo.toml", "go.mod", "composer.json")
_PACKAGE_NAME = pattern(
    r"^(?:\[(?:project|package|tool\.poetry|metadata)\]\n(?:[^\[\n].*\n|\n)*?|(?=module|\s+(?:\"name\"|name=)))"
    r"\s*(?:module\s+|\"?name\"?\s*[:=]\s*[\"']?)(?:[\w@.-]+/)*(?P<name>[^\W\d]\w*)[\"']?,?\s*$",
    re.MULTILINE,
)
"""The name in a manifest: at the margin only of its own table, where other tables have names, too."""


def own_names(lines: FileLines) -> frozenset[str]:
    """Return the names of a repository, in lower case: of its package, as its manifests say, else of its folder."""
    found = map(_PACKAGE_NAME.search, map(lines.unredacted, _MANIFESTS))
    named = frozenset(match["name"].lower() for match in found if match is not None)
    return named or frozenset({lines.root_name.lower()})


def kind_search(resources: Resources, query: Query, **options: Any) -> Callable[[Kind], SearchResult]:
    """Return a search of one kind for one question, by words and, where there are vectors, by meaning.

    `options` (candidates, filters, now) are those of `search_kind`.
    """
    meaning = resources.meaning(query.text)

    def search(kind: Kind) -> SearchResult:
        store = resources.store_of(kind)
        return search_kind(store, kind, query, likeness=scores(store, kind, meaning, query), **options)

    return search


def candidate_count(max_tokens: int) -> int:
    """Return the number of spans to search for a budget."""
    few = min(CANDIDATE_SPANS, max_tokens // CANDIDATE_TOKENS)
    return max(few, max_tokens // LARGE_CANDIDATE_TOKENS, MIN_CANDIDATES)


def gather(
    sections: Sequence[PlannedSection], search: Search, open_executor: OpenExecutor | None, deadline_seconds: float
) -> tuple[list[Gathered], list[Failure]]:
    """Return results in the order of the sections, and a failure for every section without one.

    The deadline counts where an executor searches several sections, because one of them may wait for a model or a
    server. Else they are searched one after the other in this thread: none is left out because another took long.
    """
    started = time.monotonic()
    executor = open_executor() if open_executor is not None and len(sections) > 1 else None
    futures = [executor.submit(search, section) for section in sections] if executor is not None else []
    gathered, failures = [], []
    for index, section in enumerate(sections):
        result = SearchResult(())
        try:
            remaining = max(deadline_seconds - (time.monotonic() - started), 0.0)
            result = futures[index].result(timeout=remaining) if futures else search(section)
        except TimeoutError:
            failures.append(Failure(section.kind.plural, f"no answer within {deadline_seconds:g} s"))
        except Exception as error:  # noqa: BLE001 - one source must not take the others down; it is noted and logged
            is_bug = not isinstance(error, SatchelError)
            telemetry.warning("source failed", source=section.kind.plural, error=repr(error), exc_info=is_bug)
            name = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
            failures.append(Failure(section.kind.plural, f"{name}{error}"))
        gathered.append(Gathered(section, result))
    return gathered, failures


def round_robin(searched_sections: Sequence[Gathered]) -> list[Gathered]:
    """Return the sections with each record in one of them.

    The sections choose in turn, in their order, each the best remaining hit of its result. So every section gets its
    best record, and a shared record is in the first section that chooses it. Files stay in their sections.
    """
    waiting = [list(reversed(gathered.result.hits)) for gathered in searched_sections]
    chosen: list[list[Hit]] = [[] for _ in searched_sections]
    taken: set[tuple[str, int]] = set()
    while any(waiting):
        for gathered, hits, own_hits in zip(searched_sections, waiting, chosen, strict=True):
            if len(own_hits) == gathered.section.limit + SPARE_RECORDS and own_hits[0].chunk.location is None:
                hits.clear()
            while hits:
                hit = hits.pop()
                if hit.chunk.location is not None:
                    own_hits.append(hit)
                    break
                identity = (hit.chunk.kind.value, hit.chunk.document)  # equal for all of its sides
                if identity not in taken:
                    own_hits.append(hit)
                    taken.add(identity)
                    break
    return [
        structs.replace(gathered, result=structs.replace(gathered.result, hits=tuple(own_hits)))
        for gathered, own_hits in zip(searched_sections, chosen, strict=True)
    ]
