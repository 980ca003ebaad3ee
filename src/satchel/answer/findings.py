"""What was found for a question in each workspace, and what of it is nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from satchel.answer.bearing import evidence_of
from satchel.answer.plans import Plan, PlannedSection
from satchel.answer.render.labels import quote
from satchel.answer.resources import Resources
from satchel.answer.source_lines import Unreadable
from satchel.safety.sanitize import clean_field
from satchel.search.bm25 import rarities
from satchel.search.change_relations import Impact
from satchel.search.impact_wording import need_not_be_here, written_names
from satchel.search.mentions import absent_places
from satchel.search.query import Query
from satchel.search.searcher import SearchResult, balanced
from satchel.search.strength import (
    MAX_ABSENT,
    absent_words,
    answer_strength,
    is_pair,
    present_names,
    sure_sentences,
    words_of_tests,
)
from satchel.system.files import SkipReason
from satchel.system.properties import unlocked_cached_property
from satchel.types import LESSON_KINDS, LINE_KINDS, Failure, Hit, Kind

if TYPE_CHECKING:
    from satchel.answer.request import Asked, SearchScope
    from satchel.store.segments import Lexicon


class Gathered(Struct, frozen=True):
    """The result of one section; empty where it failed."""

    section: PlannedSection
    result: SearchResult


class Findings(Struct, frozen=True):
    """The results of the search for a question. `embedder_failures` are those of turning it into a vector."""

    query: Query
    plan: Plan
    impact: Impact | None
    sections: Sequence[Gathered]
    failures: Sequence[Failure]
    embedder_failures: Sequence[Failure]

    def missing_words(self, resources: Resources) -> tuple[str, ...]:
        """Return the distinctive words and the places of the question that are nowhere in the searched kinds."""
        kinds = dict.fromkeys(section.kind for section in self.plan.sections if section.is_searched)
        searched = [kind for kind in kinds if kind is not Kind.COMMIT or len(kinds) == 1]  # a message alone is not here
        missing = _absent(self.query, [resources.store_of(kind).lexicon(kind) for kind in searched])
        told = filterfalse(need_not_be_here(self.query.text), missing)
        files = [resources.store.lexicon(kind) for kind in searched if kind in LINE_KINDS]
        absent = absent_places(self.query, sure_sentences(self.query), resources.store, files) if files else ()
        return tuple([*absent, *told][:MAX_ABSENT])

    def words_of_tests(self, resources: Resources) -> tuple[str, ...]:
        """Return the distinctive words of the question that only tests and examples have, of all kinds here."""
        kinds = [kind for kind in resources.kinds() if kind is not Kind.COMMIT]
        return words_of_tests(self.query, [(resources.store_of(kind), kind) for kind in kinds])


def _absent(query: Query, lexicons: Sequence[Lexicon]) -> tuple[str, ...]:
    """Return what a question names and none of these lexicons has: words of its subject, and names that it changes.

    Such a name is absent although all of its pieces occur: nothing can break if it is renamed.
    """
    names = written_names(query.text) if any(lexicon.chunk_count for lexicon in lexicons) else []
    known = present_names(names, lexicons)
    return tuple(dict.fromkeys([*(name for name in names if name not in known), *absent_words(query, lexicons)]))


def _is_there(path: str, resources: Resources) -> bool:
    """Return whether a word is a place in the tree."""
    if "/" not in path and "." not in path:
        return False
    shown = resources.lines.read(path)
    return not isinstance(shown, Unreadable) or shown.reason not in (SkipReason.VANISHED, SkipReason.OUTSIDE_ROOT)


class Missing(Struct, frozen=True):
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


class Searched(Struct, frozen=True, dict=True):
    """What was searched for, and found in each workspace, the first one first."""

    asked: Asked
    scope: SearchScope
    found: tuple[tuple[Resources, Findings], ...]

    @property
    def resources(self) -> Resources:
        """The resources of the first workspace, which have those of the others."""
        resources, _ = self.found[0]
        return resources

    @property
    def findings(self) -> Findings:
        """The findings in the first workspace, with the query and the plan of all."""
        _, findings = self.found[0]
        return findings

    @unlocked_cached_property
    def sections(self) -> list[tuple[Resources, Gathered]]:
        """The sections of all workspaces, in each with code and prose on one scale."""
        return [(resources, gathered) for resources, findings in self.found for gathered in balance(findings.sections)]

    @unlocked_cached_property
    def terms(self) -> frozenset[str]:
        """The stemmed terms of the question."""
        return frozenset(term.term for term in self.findings.query.terms)

    @unlocked_cached_property
    def rarities(self) -> Mapping[str, float]:
        """What each term of the question weighs in code: its weight times its rarity there."""
        return rarities(self.resources.store.lexicon(Kind.CODE), self.findings.query.terms)

    @unlocked_cached_property
    def strength(self) -> float:
        """How well the workspace that answers best answers the question."""
        return max(
            answer_strength(
                {
                    gathered.section.kind: gathered.result.strength
                    for gathered in findings.sections
                    if gathered.section.is_searched
                }
            )
            for _, findings in self.found
        )

    @unlocked_cached_property
    def total_weight(self) -> float:
        """The weights of all sections with results."""
        every = {
            (gathered.section.kind, gathered.section.title): gathered.section.weight
            for _, gathered in self.sections
            if gathered.result.hits
        }
        return sum(every.values()) or 1.0

    @property
    def _lesson_results(self) -> list[SearchResult]:
        """The results that had to be good enough to come unasked, of all workspaces."""
        results = (gathered.result for _, findings in self.found for gathered in findings.sections)
        return [result for result in results if result.bar]

    @property
    def lessons(self) -> list[Hit]:
        """The records that bear on the request, of all workspaces, each once."""
        return [*{hit.chunk.id: hit for result in self._lesson_results for hit in result.hits}.values()]

    @property
    def lessons_told(self) -> list[dict[str, Any]]:
        """The best records that did not come unasked, each with the reason and the evidence that it bears.

        Of records that came the evidence is among their signals.
        """
        results = self._lesson_results
        told = [(hit, "better ones have the room") for result in results for hit in result.beyond]
        told += [(hit, f"needed: {result.bar}") for result in results for hit in result.below]
        return [
            {"id": hit.chunk.id, "title": hit.chunk.title, "reason": reason, "evidence": evidence_of(hit.signals)}
            for hit, reason in told
        ]

    @property
    def without_lessons(self) -> Searched:
        """What was found without the kinds of lessons, as if they had not been searched."""

        def without(findings: Findings) -> Findings:
            sections = tuple(section for section in findings.plan.sections if section.kind not in LESSON_KINDS)
            searched_sections = [
                gathered for gathered in findings.sections if gathered.section.kind not in LESSON_KINDS
            ]
            return structs.replace(
                findings, plan=structs.replace(findings.plan, sections=sections), sections=searched_sections
            )

        return structs.replace(self, found=tuple((resources, without(findings)) for resources, findings in self.found))

    @property
    def impacts(self) -> list[tuple[str, Impact]]:
        """The dependents of the change or definition in question, with the prefix of their workspace."""
        return [
            (resources.prefix, findings.impact) for resources, findings in self.found if findings.impact is not None
        ]

    @unlocked_cached_property
    def missing(self) -> Missing:
        """What the question names and no workspace has, after a look at the files that are not indexed."""
        first, *others = [findings.missing_words(resources) for resources, findings in self.found]
        words = tuple(word for word in first if all(word in missing for missing in others))
        finders = [find for resources, _ in self.found if (find := resources.left_out) is not None] if words else []
        left_out = [find(words) for find in finders]
        homes = {word: home for left in left_out for word, home in left.places.items()}
        absent = [word for word in words if word not in homes]
        # A file that is new, or that was made unreadable since it was indexed.
        absent = [word for word in absent if not any(_is_there(word, resources) for resources, _ in self.found)]
        notes = [f"{quote(clean_field(word, 40))} is in {home}" for word, home in homes.items()]
        if absent:
            notes += dict.fromkeys(filter(None, map(str, left_out)))
        names = [word for word in absent if not {"/", ".", " "} & {*word}]
        histories = [resources.store.lexicon(Kind.COMMIT) for resources, _ in self.found] if names else []
        mine, *theirs = [findings.words_of_tests(resources) for resources, findings in self.found]
        of_tests = tuple(word for word in mine if all(word in words for words in theirs))
        return Missing(tuple(absent), tuple(notes), tuple(present_names(names, histories)), of_tests)

    def nowhere(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return those of these missing words that the kinds which were not searched do not have either."""
        for resources, findings in self.found if words else ():
            kinds = (kind for kind in resources.kinds() if kind is not Kind.COMMIT)
            absent = _absent(findings.query, [resources.store_of(kind).lexicon(kind) for kind in kinds])
            words = tuple(word for word in words if word in absent)
        return tuple(words)

    @property
    def with_vectors(self) -> bool:
        """Whether any section was compared by vectors."""
        return any(gathered.result.with_vectors for _, findings in self.found for gathered in findings.sections)

    @property
    def vector_counts(self) -> dict[str, str]:
        """Numbers of records that were compared by vector, by workspace and type: `{"memories": "12/40"}`."""
        return {
            f"{resources.prefix}{gathered.section.kind.plural}": (
                f"{gathered.result.with_vectors}/{gathered.result.chunks}"
            )
            for resources, findings in self.found
            for gathered in findings.sections
            if gathered.result.with_vectors is not None
        }

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What went wrong while searching, each once."""
        every = (note for _, findings in self.found for note in (*findings.failures, *findings.embedder_failures))
        return tuple(dict.fromkeys(every))


def balance(searched_sections: Sequence[Gathered]) -> list[Gathered]:
    """Return the rows with code and prose on one scale, where both were searched for the question itself."""
    searched = {
        gathered.section.kind: gathered.result for gathered in searched_sections if gathered.section.is_searched
    }
    results = balanced(searched)
    return [
        structs.replace(gathered, result=results[gathered.section.kind])
        if gathered.section.is_searched and gathered.result is searched[gathered.section.kind]
        else gathered
        for gathered in searched_sections
    ]
