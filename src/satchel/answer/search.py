"""Search all sections of a plan at once; one that fails or is late becomes a note. The least relevance of hits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from satchel.answer import weights
from satchel.answer.bearing import evidence_of, fitting, gives_lessons, in_order
from satchel.answer.plans import Plan, PlannedSection, own_files, plan_of
from satchel.answer.render.labels import quote
from satchel.answer.source_lines import Unreadable
from satchel.errors import SatchelError, UsageError
from satchel.intent import Intent
from satchel.safety.sanitize import clean_field
from satchel.search import weights as search_weights
from satchel.search.bm25 import rarities
from satchel.search.change_relations import Impact, impact_of_question, with_callers, with_impact
from satchel.search.dense import Meaning, scores
from satchel.search.filters import silent
from satchel.search.impact_wording import is_wording, speaks_of_impact, written_names
from satchel.search.mentions import absent_places
from satchel.search.named import with_defined_names
from satchel.search.query import Query, analyse, recipe_nouns, with_names
from satchel.search.references import with_commits
from satchel.search.searcher import CANDIDATE_SPANS, SearchResult, balanced, search_kind
from satchel.search.strength import (
    MAX_ABSENT,
    absent_words,
    answer_strength,
    is_pair,
    present_names,
    relevance_of,
    sure_sentences,
    without_own_names,
    words_of_tests,
)
from satchel.search.votes import Votes
from satchel.store.protocol import Store
from satchel.system import telemetry
from satchel.system.files import SkipReason
from satchel.text import pattern
from satchel.types import LESSON_KINDS, LINE_KINDS, MEMORY_KINDS, RECORD_KINDS, Failure, Hit, Kind, LeftOut

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from satchel.answer.freshness import ListChanged
    from satchel.answer.items import CountLines
    from satchel.answer.request import Asked, SearchScope
    from satchel.answer.session import Account
    from satchel.answer.source_lines import FileLines
    from satchel.embed import Embedder
    from satchel.store.segments import Lexicon

LEAST_PROSE = 0.08
"""Least relevance of prose in parts of the best before kinds are balanced: a stronger answer (at most odds of .85)
lifts nothing below it over `RELATIVE_FLOOR`, because odds are lifted alike and .08 * 1.85 is less than that."""

SPARE_RECORDS = 4
"""Records that a section gets beyond its limit: some turn out too large or have the text of another. Each takes a third
of a millisecond to prepare."""

LEAST_CANDIDATES = 100
"""Spans that are searched for the smallest budget."""

LARGE_CANDIDATE_TOKENS = 20
"""Tokens for each candidate of a large budget, so that there are enough candidates to fill it."""

CANDIDATE_TOKENS = 10
"""Below 4,000 tokens there is one candidate for so many tokens: each is read, cleaned and compared before it turns out
not to fit, and a useful span has thirty tokens or more."""


OpenExecutor = Callable[[], "Executor"]
"""Returns the executor to search in; called only if several sections are searched at once."""


class Workbench(NamedTuple):
    """Stores and services of the pipeline; all else is in the request. `memory` is None while nothing is remembered.

    `count_lines` counts the changed lines of the commits that are shown; without it they are not counted.
    `changed_files` lists what is new or changed in the tree; without it a renamed file counts as gone.
    `embedder` turns the question into a vector, to compare with those of records; without it only words count.
    `account` records what the session has received; without it everything is new. `prefix` is the workspace as it is
    before paths (`web/`), empty unless several are asked; `others` are the benches of the others. `notes` are failures
    so far, such as files that could not be indexed. `models` order code anew, where one is configured. `left_out` looks
    for words in files that are not indexed.
    """

    store: Store
    lines: FileLines
    key: bytes
    open_executor: OpenExecutor | None = None
    allow: tuple[str, ...] = ()
    memory: Store | None = None
    count_lines: CountLines | None = None
    changed_files: ListChanged | None = None
    embedder: Embedder | None = None
    account: Account | None = None
    prefix: str = ""
    others: tuple[Workbench, ...] = ()
    notes: tuple[Failure, ...] = ()
    left_out: Callable[[Sequence[str]], LeftOut] | None = None

    @property
    def every(self) -> tuple[Workbench, ...]:
        """Those of all workspaces of the question, with this one."""
        return (self, *self.others)

    def store_of(self, kind: Kind) -> Store:
        """Return the store of a kind: records that cannot be derived again are in the memory file."""
        return self.memory if kind in MEMORY_KINDS and self.memory is not None else self.store

    def kinds(self) -> dict[Kind, int]:
        """Return how many chunks there are of each kind."""
        counts = dict(self.store.kinds())
        if self.memory is not None:
            counts |= {kind: count for kind, count in self.memory.kinds().items() if kind in MEMORY_KINDS}
        return counts

    @property
    def revision(self) -> str:
        """A value that changes with every published write to a store."""
        stores = [store for bench in self.every for store in (bench.store, bench.memory)]
        return "+".join(store.revision for store in stores if store is not None)

    def meaning(self, question: str) -> Meaning | None:
        """Return the question as a vector, worked out when first needed; None without an embedder."""
        return Meaning(self.embedder, question) if self.embedder is not None else None


class Gathered(NamedTuple):
    """The result of one section; empty where it failed."""

    section: PlannedSection
    result: SearchResult


Search = Callable[[PlannedSection], SearchResult]


class _Search(Protocol):
    """Searches for one section; `led_to` as in `search_records`."""

    def __call__(self, section: PlannedSection, led_to: Sequence[str] | None = None) -> SearchResult: ...


class Findings(NamedTuple):
    """The results of the search for a question. `embedder_failures` are those of turning it into a vector."""

    query: Query
    plan: Plan
    impact: Impact | None
    rows: Sequence[Gathered]
    failures: Sequence[Failure]
    embedder_failures: Sequence[Failure]

    def missing_words(self, bench: Workbench) -> tuple[str, ...]:
        """Return the telling words and the places of the question that are nowhere in the searched kinds."""
        kinds = dict.fromkeys(section.kind for section in self.plan.sections if section.is_searched)
        searched = [kind for kind in kinds if kind is not Kind.COMMIT or len(kinds) == 1]  # a message alone is not here
        missing = _absent(self.query, [bench.store_of(kind).lexicon(kind) for kind in searched])
        told = tuple(filterfalse(is_wording, missing)) if speaks_of_impact(self.query.text) else missing
        files = [bench.store.lexicon(kind) for kind in searched if kind in LINE_KINDS]
        absent = absent_places(self.query, sure_sentences(self.query), bench.store, files) if files else ()
        return tuple([*absent, *told][:MAX_ABSENT])

    def words_of_tests(self, bench: Workbench) -> tuple[str, ...]:
        """Return the telling words of the question that only tests and examples have, of all kinds here."""
        kinds = [kind for kind in bench.kinds() if kind is not Kind.COMMIT]
        return words_of_tests(self.query, [(bench.store_of(kind), kind) for kind in kinds])


def _absent(query: Query, lexicons: Sequence[Lexicon]) -> tuple[str, ...]:
    """Return what a question names and none of these lexicons has: words of its subject, and names that it changes.

    Such a name is absent although all of its pieces occur: nothing can break if it is renamed.
    """
    names = written_names(query.text) if any(lexicon.chunk_count for lexicon in lexicons) else []
    known = present_names(names, lexicons)
    return tuple(dict.fromkeys([*(name for name in names if name not in known), *absent_words(query, lexicons)]))


def _is_there(place: str, bench: Workbench) -> bool:
    """Return whether a word is a place in the tree."""
    if "/" not in place and "." not in place:
        return False
    shown = bench.lines.read(place)
    return not isinstance(shown, Unreadable) or shown.reason not in (SkipReason.VANISHED, SkipReason.OUTSIDE_ROOT)


class Missing(NamedTuple):
    """What a question names and the files lack: `words` are in none, `notes` are about files that are left out.

    `past` are those of the words that a commit has. `of_tests` are words that only tests and examples have.
    """

    words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    of_tests: tuple[str, ...] = ()

    @property
    def lacks_feature(self) -> bool:
        """Whether a feature that was asked for by two words is absent."""
        return any(map(is_pair, self.words))


@dataclass(frozen=True)
class Searched:
    """What was searched for, and found on each bench, that of the first workspace first."""

    asked: Asked
    scope: SearchScope
    found: tuple[tuple[Workbench, Findings], ...]

    @property
    def bench(self) -> Workbench:
        """The bench of the first workspace, which has those of the others."""
        return self.found[0][0]

    @property
    def findings(self) -> Findings:
        """The findings in the first workspace, with the query and the plan of all."""
        return self.found[0][1]

    @cached_property
    def rows(self) -> list[tuple[Workbench, Gathered]]:
        """The sections of all workspaces, in each with code and prose on one scale."""
        return [(bench, row) for bench, findings in self.found for row in balance(findings.rows)]

    @cached_property
    def terms(self) -> frozenset[str]:
        """The stemmed terms of the question."""
        return frozenset(term.term for term in self.findings.query.terms)

    @cached_property
    def rarities(self) -> Mapping[str, float]:
        """What each term of the question weighs in code: its weight times its rarity there."""
        return rarities(self.bench.store.lexicon(Kind.CODE), self.findings.query.terms)

    @cached_property
    def strength(self) -> float:
        """How well the workspace that answers best answers the question."""
        return max(
            answer_strength({row.section.kind: row.result.strength for row in findings.rows if row.section.is_searched})
            for _, findings in self.found
        )

    @cached_property
    def total_weight(self) -> float:
        """The weights of all sections with results."""
        every = {(row.section.kind, row.section.title): row.section.weight for _, row in self.rows if row.result.hits}
        return sum(every.values()) or 1.0

    @property
    def lessons(self) -> list[Hit]:
        """The records that bear on the request, of all workspaces, each once."""
        rows = (row for _, findings in self.found for row in findings.rows if row.result.bar)
        return [*{hit.chunk.id: hit for row in rows for hit in row.result.hits}.values()]

    @property
    def lessons_told(self) -> list[dict[str, Any]]:
        """The best records that did not come unasked, each with the reason and the evidence that it bears.

        Of records that came the evidence is among their signals.
        """
        rows = [row.result for _, findings in self.found for row in findings.rows if row.result.bar]
        told = [(hit, "better ones have the room") for result in rows for hit in result.beyond]
        told += [(hit, f"needed: {result.bar}") for result in rows for hit in result.below]
        return [
            {"id": hit.chunk.id, "title": hit.chunk.title, "reason": reason, "evidence": evidence_of(hit.signals)}
            for hit, reason in told
        ]

    @property
    def without_lessons(self) -> Searched:
        """What was found without the kinds of lessons, as if they had not been searched."""

        def without(findings: Findings) -> Findings:
            sections = tuple(section for section in findings.plan.sections if section.kind not in LESSON_KINDS)
            rows = [row for row in findings.rows if row.section.kind not in LESSON_KINDS]
            return findings._replace(plan=findings.plan._replace(sections=sections), rows=rows)

        return replace(self, found=tuple((bench, without(findings)) for bench, findings in self.found))

    @property
    def impacts(self) -> list[tuple[str, Impact]]:
        """The dependents of the change or definition in question, with the prefix of their workspace."""
        return [(bench.prefix, findings.impact) for bench, findings in self.found if findings.impact is not None]

    @cached_property
    def missing(self) -> Missing:
        """What the question names and no workspace has, after a look at the files that are not indexed."""
        first, *others = [findings.missing_words(bench) for bench, findings in self.found]
        words = tuple(word for word in first if all(word in missing for missing in others))
        looks = [look for bench, _ in self.found if (look := bench.left_out) is not None] if words else []
        looked = [look(words) for look in looks]
        places = {word: place for left in looked for word, place in left.places.items()}
        absent = [word for word in words if word not in places]
        # A file that is new, or that was made unreadable since it was indexed.
        absent = [word for word in absent if not any(_is_there(word, bench) for bench, _ in self.found)]
        notes = [f"{quote(clean_field(word, 40))} is in {place}" for word, place in places.items()]
        if absent:
            notes += dict.fromkeys(filter(None, map(str, looked)))
        names = [word for word in absent if not {"/", ".", " "} & {*word}]
        histories = [bench.store.lexicon(Kind.COMMIT) for bench, _ in self.found] if names else []
        mine, *theirs = [findings.words_of_tests(bench) for bench, findings in self.found]
        of_tests = tuple(word for word in mine if all(word in words for words in theirs))
        return Missing(tuple(absent), tuple(notes), tuple(present_names(names, histories)), of_tests)

    def nowhere(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return those of these missing words that the kinds which were not searched do not have either."""
        for bench, findings in self.found if words else ():
            kinds = (kind for kind in bench.kinds() if kind is not Kind.COMMIT)
            absent = _absent(findings.query, [bench.store_of(kind).lexicon(kind) for kind in kinds])
            words = tuple(word for word in words if word in absent)
        return tuple(words)

    @property
    def with_vectors(self) -> bool:
        """Whether any section was compared by vectors."""
        return any(row.result.with_vectors for _, findings in self.found for row in findings.rows)

    @property
    def vector_counts(self) -> dict[str, str]:
        """Numbers of records that were compared by vector, by workspace and type: `{"memories": "12/40"}`."""
        return {
            f"{bench.prefix}{row.section.kind.plural}": f"{row.result.with_vectors}/{row.result.chunks}"
            for bench, findings in self.found
            for row in findings.rows
            if row.result.with_vectors is not None
        }

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What went wrong while searching, each once."""
        every = (note for _, findings in self.found for note in (*findings.failures, *findings.embedder_failures))
        return tuple(dict.fromkeys(every))


def search(
    asked: Asked,
    scope: SearchScope,
    max_tokens: int,
    bench: Workbench,
    *,
    with_impact: bool = True,
    files: Sequence[str] = (),
) -> Searched:
    """Search all workspaces of a bench for all sections of the plan of a question, for an answer of `max_tokens`.

    `with_impact` adds dependents of the change, or of the definition that the question names. Lessons follow from the
    `files` of a situation, else from those that are found.
    """
    found = (_search_plan(asked, scope, max_tokens, own, files, with_impact=with_impact) for own in bench.every)
    return Searched(asked, scope, tuple(zip(bench.every, found, strict=True)))


def _search_plan(
    asked: Asked, scope: SearchScope, max_tokens: int, bench: Workbench, files: Sequence[str], *, with_impact: bool
) -> Findings:
    query, impact = with_guesses(analyse(asked.query), asked.names, bench), None
    if asked.change is not None and with_impact:
        from satchel.search.change_impact import blended, impact_of_change

        query = blended(query, asked.change)
        impact = impact_of_change(asked.change, bench.store)
    elif with_impact:
        impact = impact_of_question(query, bench.store)
    plan = plan_of(asked, scope, bench.kinds())
    meaning = bench.meaning(asked.query)
    search = _section_search(asked, scope, candidate_count(max_tokens), bench, query, meaning, impact)
    rows, failures = _gathered(asked, scope, max_tokens, plan.sections, query, search, bench, files)
    rows = _at_places(query, rows) if query.only_places else rows
    embedder_failures = [meaning.failure] if meaning is not None and meaning.failure is not None else []
    return Findings(query, plan, impact, round_robin(rows) if plan.unique else rows, failures, embedder_failures)


def _at_places(query: Query, rows: list[Gathered]) -> list[Gathered]:
    """Return only the spans with the lines that the question names, where there are any."""
    lines = [(frame.line, max(frame.line, frame.end)) for frame in query.trace.places]

    def within(hit: Hit) -> Hit:
        spans = (one for one in hit.spans if any(one.start <= last and one.end >= first for first, last in lines))
        return hit._replace(spans=tuple(spans))

    led = [[within(hit) for hit in row.result.hits if hit.file_score > 1.0] for row in rows]
    kept = [tuple(hit for hit in hits if hit.spans) for hits in led]
    if not any(kept):
        return rows
    return [row._replace(result=row.result._replace(hits=hits)) for row, hits in zip(rows, kept, strict=True)]


def _gathered(
    asked: Asked,
    scope: SearchScope,
    max_tokens: int,
    sections: Sequence[PlannedSection],
    query: Query,
    search: _Search,
    bench: Workbench,
    files: Sequence[str],
) -> tuple[list[Gathered], list[Failure]]:
    """Return the results of all sections. Lessons follow from the `files` of a situation, else from those found."""
    late = [section for section in sections if gives_lessons(asked, scope, query, section.kind)]
    first = [section for section in sections if section not in late]
    rows, failures = gather(first, search, bench.open_executor, scope.deadline_seconds)
    if late:
        led_to, unsearched = (list(files), []) if files else _led_to(asked, scope, rows, search, bench)
        found, more = gather(late, partial(search, led_to=led_to), bench.open_executor, scope.deadline_seconds)
        bearing = [_with_texts(row, bench.store_of(row.section.kind)) for row in found]
        rows = sorted([*rows, *_best_lessons(bearing, max_tokens)], key=lambda row: sections.index(row.section))
        failures += [*unsearched, *more]
    return rows, failures


def _led_to(
    asked: Asked, scope: SearchScope, rows: Sequence[Gathered], search: _Search, bench: Workbench
) -> tuple[list[str], list[Failure]]:
    """Return the files that a question leads to, best first; code and documents are searched if they were not yet."""
    failures: list[Failure] = []
    if all(row.section.kind not in LINE_KINDS for row in rows):
        sections = plan_of(asked, replace(scope, kinds=LINE_KINDS), bench.kinds()).sections
        rows, failures = gather(sections, search, bench.open_executor, scope.deadline_seconds)
    paths = [hit.chunk.location.path for row in rows for hit in row.result.hits if hit.chunk.location is not None]
    return list(dict.fromkeys(paths)), failures


def _with_texts(row: Gathered, store: Store) -> Gathered:
    """Return lessons with their texts, which tell whether one rules something out, and how long it is."""
    texts = store.texts(hit.chunk.document for hit in row.result.hits)
    hits = [hit._replace(chunk=replace(hit.chunk, body=texts.get(hit.chunk.document, ""))) for hit in row.result.hits]
    return row._replace(result=row.result._replace(hits=tuple(hits)))


def _best_lessons(rows: Sequence[Gathered], max_tokens: int) -> list[Gathered]:
    """Return the sections with their best records, as many as the share of lessons has room for."""
    kept = {hit.chunk.id for hit in fitting([hit for row in rows for hit in row.result.hits], max_tokens)}
    chosen = []
    for row in rows:
        shown = tuple(hit for hit in row.result.hits if hit.chunk.id in kept)
        beyond = in_order([hit for hit in row.result.hits if hit.chunk.id not in kept])[: len(row.result.below)]
        chosen.append(row._replace(result=row.result._replace(hits=shown, beyond=tuple(beyond))))
    return chosen


def with_guesses(query: Query, names: Sequence[str], bench: Workbench) -> Query:
    """Return the question with the likely names that occur anywhere, and its everyday words that name a definition.

    It has the commits that it refers to. The name of the repository itself is left out.
    """
    code = bench.store.lexicon(Kind.CODE)
    query = with_commits(query, bench.store)
    query = without_own_names(query, code.derived("own names", lambda: own_names(bench.lines)))
    if names:
        lexicons = (bench.store_of(kind).lexicon(kind) for kind in bench.kinds())
        query = with_names(query, present) if (present := present_names(names, lexicons)) else query
    return with_defined_names(query, bench.store)


_MANIFESTS = ("package.json", "pyproject.toml", "setup.cfg", "setup.py", "Cargo.toml", "go.mod", "composer.json")
_PACKAGE_NAME = pattern(
    r"^(?:\[(?:project|package|tool\.poetry|metadata)\]\n(?:[^\[\n].*\n|\n)*?|(?=module|\s+(?:\"name\"|name=)))"
    r"\s*(?:module\s+|\"?name\"?\s*[:=]\s*[\"']?)(?:[\w@.-]+/)*(?P<name>[^\W\d]\w*)[\"']?,?\s*$",
    re.MULTILINE,
)
"""The name in a manifest: at the margin only of its own table, where other tables have names, too."""


def own_names(lines: FileLines) -> frozenset[str]:
    """Return the names of a repository, in lower case: of its package, as its manifests say, else of its folder."""
    read = (lines.read(name) for name in _MANIFESTS)
    texts = ("\n".join(other.lines) for other in read if not isinstance(other, Unreadable))
    named = frozenset(match["name"].lower() for text in texts if (match := _PACKAGE_NAME.search(text)))
    return named or frozenset({lines.root_name.lower()})


def _section_search(
    asked: Asked,
    scope: SearchScope,
    candidates: int,
    bench: Workbench,
    query: Query,
    meaning: Meaning | None,
    impact: Impact | None,
) -> _Search:
    votes = Votes(query, bench.store)
    off = silent(scope.searches)
    # What a change or a definition concerns is found by relations, not by meaning.
    worded = query if impact is None else None

    def search(section: PlannedSection, led_to: Sequence[str] | None = None) -> SearchResult:
        store = bench.store_of(section.kind)
        filters = scope.filters if section.filters is None else section.filters
        if section.ranked_by is not None:
            # Sections of a plan that may match the same records: each gets enough records to keep some of its own.
            most = scope.limit * 3
            from satchel.search.rank_without_query import known_records

            return known_records(store, section.kind, section.ranked_by, most=most, filters=filters, now=asked.now)
        has_floor = scope.min_score is None and asked.change is None and section.kind is not Kind.CODE
        ask = partial(
            search_kind, store, section.kind, candidates=candidates, silent=off, filters=filters,
            least_share=LEAST_PROSE if has_floor else 0.0,
            likeness=scores(store, section.kind, meaning, worded), now=asked.now, led_to=led_to,
        )  # fmt: skip
        if section.question and section.kind in LESSON_KINDS:  # after a failure
            ask = partial(ask, led_to=own_files(query), intent=Intent.FAILS)
        result = ask(analyse(section.question)) if section.question else ask(query, votes=votes)
        if asked.change is not None and section.kind in MEMORY_KINDS:
            from satchel.search.change_impact import with_past

            return with_past(result, analyse(asked.query), asked.change, store, ask)
        return _with_related(result, section.kind, asked, store, impact, callers=scope.callers)

    return search


def _with_related(
    result: SearchResult, kind: Kind, asked: Asked, store: Store, impact: Impact | None, *, callers: bool
) -> SearchResult:
    """Return the result with dependents of the change or definition in question, or with the callers."""
    if impact is None:
        if kind is Kind.CODE and (nouns := recipe_nouns(asked.query)):
            from satchel.search.siblings import with_siblings

            return with_siblings(result, nouns, store)
        return with_callers(result, store) if callers and kind is Kind.CODE else result
    if asked.change is not None:
        from satchel.search.change_impact import with_change

        is_asked = asked.query != asked.change.question
        return with_change(result, asked.change, store, kind, impact, is_asked=is_asked)
    if kind is Kind.CODE:
        return with_impact(result, impact, store)
    return result


def kind_search(bench: Workbench, query: Query, **options: Any) -> Callable[[Kind], SearchResult]:
    """Return a search of one kind for one question, by words and, where there are vectors, by meaning.

    `options` (candidates, filters, now) are those of `search_kind`.
    """
    meaning = bench.meaning(query.text)

    def search(kind: Kind) -> SearchResult:
        store = bench.store_of(kind)
        return search_kind(store, kind, query, likeness=scores(store, kind, meaning, query), **options)

    return search


def candidate_count(max_tokens: int) -> int:
    """Return the number of spans to search for a budget."""
    few = min(CANDIDATE_SPANS, max_tokens // CANDIDATE_TOKENS)
    return max(few, max_tokens // LARGE_CANDIDATE_TOKENS, LEAST_CANDIDATES)


def gather(
    sections: Sequence[PlannedSection], search: Search, open_executor: OpenExecutor | None, deadline_seconds: float
) -> tuple[list[Gathered], list[Failure]]:
    """Return results in the order of the sections, and a failure for every section without one.

    Without an executor, or for a single section, the sections are searched one after the other in this thread, and
    those that would begin after the deadline are left out.
    """
    started = time.monotonic()
    executor = open_executor() if open_executor is not None and len(sections) > 1 else None
    futures = [executor.submit(search, section) for section in sections] if executor is not None else []
    gathered, failures = [], []
    for index, section in enumerate(sections):
        result = SearchResult(())
        try:
            remaining = max(deadline_seconds - (time.monotonic() - started), 0.0)
            if not (futures or remaining):
                raise TimeoutError
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


def round_robin(rows: Sequence[Gathered]) -> list[Gathered]:
    """Return the sections with each record in one of them.

    The sections choose in turn, in their order, each the best remaining hit of its result. So every section gets its
    best record, and a shared record is in the first section that chooses it. Files stay in their sections.
    """
    waiting = [list(reversed(row.result.hits)) for row in rows]
    chosen: list[list[Hit]] = [[] for _ in rows]
    taken: set[tuple[str, int]] = set()
    while any(waiting):
        for row, hits, own in zip(rows, waiting, chosen, strict=True):
            if len(own) == row.section.limit + SPARE_RECORDS and own[0].chunk.location is None:
                hits.clear()
            while hits:
                hit = hits.pop()
                if hit.chunk.location is not None:
                    own.append(hit)
                    break
                identity = (hit.chunk.kind.value, hit.chunk.document)  # equal for all of its sides
                if identity not in taken:
                    own.append(hit)
                    taken.add(identity)
                    break
    return [row._replace(result=row.result._replace(hits=tuple(own))) for row, own in zip(rows, chosen, strict=True)]


def balance(rows: Sequence[Gathered]) -> list[Gathered]:
    """Return the rows with code and prose on one scale, where both were searched for the question itself."""
    searched = {row.section.kind: row.result for row in rows if row.section.is_searched}
    results = balanced(searched)
    return [
        row._replace(result=results[row.section.kind])
        if row.section.is_searched and row.result is searched[row.section.kind]
        else row
        for row in rows
    ]


def is_weak(strength: float, min_score: float | None) -> bool:
    """Return whether an answer is a weak match: by its strength, unless the caller has a floor of their own."""
    return min_score is None and strength < search_weights.WEAK_FLOOR


def floor_of(kind: Kind, best: float, strength: float, min_score: float | None) -> float | None:
    """Return the least relevance of a hit of a kind whose best has `best`; None where the kind does not answer.

    `strength` is that of the whole answer (`answer_strength`). A `min_score` is absolute and replaces all other
    floors. Beside a kind that matches well, one that hardly does is left out. A weak answer shows the hits near its
    best, so that it is never empty.
    """
    if min_score is not None:
        return min_score
    of_all = relevance_of(strength)
    bar = min(relevance_of(search_weights.WEAK_FLOOR), weights.KIND_FLOOR * of_all)
    if best <= 0 or (best < bar and not is_weak(strength, min_score)):
        return None
    least = 0.0 if kind is Kind.CODE else min(weights.ITEM_FLOOR, weights.RELATIVE_FLOOR * of_all)
    return max(least, _relative_floor(kind) * best)


def _relative_floor(kind: Kind) -> float:
    if kind is Kind.CODE:
        return 0.0
    return weights.COMMIT_FLOOR if kind is Kind.COMMIT else weights.RELATIVE_FLOOR


def admitted(results: Mapping[Kind, SearchResult], limit: int, min_score: float | None) -> list[Hit]:
    """Return the best hits of each kind: at most `limit` records, or parts of `limit` files; of a weak answer a few.

    A hit is not left out because another is better.
    """
    strength = answer_strength({kind: result.strength for kind, result in results.items()})
    hits: list[Hit] = []
    for kind, result in results.items():
        best = max((hit.relevance for hit in result.hits), default=0.0)
        least = floor_of(kind, best, strength, min_score)
        if least is not None:
            lowest = least if min_score is not None else min(least, search_weights.LEAST_LISTED)
            good = [hit for hit in result.hits if hit.relevance >= lowest]
            hits += good[:limit] if kind in RECORD_KINDS else by_file(good, limit)
    if not is_weak(strength, min_score):
        return hits
    kept = sorted(hits, key=lambda hit: -hit.relevance)[: search_weights.WEAK_ITEMS]
    return [hit for hit in hits if hit in kept]


def by_file(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the best parts of the best files: file by file, the best first, and so the parts of each.

    `limit` counts files; those of a pasted trace come first, in the order of its frames. The relevances of files
    keep their places, so the first has the largest; a part has at most that of its file.
    """
    files: dict[int, list[Hit]] = {}
    for hit in hits:
        files.setdefault(hit.chunk.document, []).append(hit)
    best = sorted(files.values(), key=lambda parts: -min(parts[0].file_score, 1.0) - _is_framed(parts[0]))[:limit]
    relevances = sorted((parts[0].relevance for parts in best), reverse=True)
    return [
        hit._replace(relevance=relevance if hit is parts[0] else min(hit.relevance, relevance))
        for parts, relevance in zip(best, relevances, strict=True)
        for hit in _listed_parts(parts)
    ]


def _is_framed(hit: Hit) -> bool:
    return hit.file_score > 1.0


def _listed_parts(parts: Sequence[Hit]) -> list[Hit]:
    """Return the parts of a file that are listed: frames of a trace, and a few that are nearly as good."""
    least = parts[0].score - search_weights.LISTED_DROP
    others = [part for part in parts if not _is_framed(part) and part.score >= least]
    return [*filter(_is_framed, parts), *others[: search_weights.LISTED_PARTS]]


def section_floor(row: Gathered, min_score: float | None, strength: float) -> float | None:
    """Return the least relevance of hits of a section: None if it does not answer, 0 if it is not searched.

    Of a section with a question of its own, a weak match is no answer.
    """
    if row.section.ranked_by is not None:
        return 0.0
    best = max((hit.relevance for hit in row.result.hits), default=0.0)
    if row.section.question and min_score is None:
        is_answer = best >= relevance_of(search_weights.WEAK_FLOOR)
        return max(weights.ITEM_FLOOR, _relative_floor(row.section.kind) * best) if is_answer else None
    return floor_of(row.section.kind, best, strength, min_score)
