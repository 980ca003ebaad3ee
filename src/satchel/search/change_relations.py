"""The dependents of a definition: its call sites, implementations, overrides, and the tests that reach it.

They answer a change of the work tree and questions such as "what breaks if I rename `Client.send`". An answer for
editing also has the calls of the functions that a search ranks first.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from satchel.search import weights
from satchel.search.chunks import chunks_of
from satchel.search.impact_wording import CALLEES, CALLS, HEIRS, names_asked_for, speaks_of_impact
from satchel.search.strength import relevance_of
from satchel.sources.code.languages import GRAMMARS, RULES
from satchel.sources.roles import is_secondary
from satchel.store.records import StoredChunk
from satchel.text import is_compound
from satchel.types import Hit, Role, ScoredSpan, Signal

if TYPE_CHECKING:
    from satchel.search.affected import AffectedCode
    from satchel.search.query import Query
    from satchel.search.relations import Callers, CallSite, Heads, Relations, TextualCalls
    from satchel.search.resolve.code import CodeDefinition, SourceFile
    from satchel.search.searcher import SearchResult
    from satchel.store.protocol import Store

CALL_STEP = 0.02
"""Subtracted from the value of each further call of one chunk."""

IMPACT_OF_EACH = 12
"""Most dependents of a change among tests, and among production code of each nearness."""

IMPACT_IN_TEXT = 5
"""First changed definitions whose calls are searched in the text, too."""

IMPACT_DEFINITIONS = 3
"""Most definitions of a name that a question about an impact may mean."""

IMPACT_CHUNKS = 80
"""Most chunks found by relation that the packer gets, the nearest first."""

FIRST_LINES = 24
"""First lines of a long definition, which come first."""

EDIT_SUBJECTS = 3
"""Functions ranked first whose calls belong to an answer for editing."""

EDIT_CALLS = 3
"""First calls in such a chunk whose lines are shown, each with one line around it."""

CALLS_OF_CHUNK = 20
"""Most calls of one chunk that are shown; the listing has all of them."""

SIGNAL = "change"

CHANGED = 1.0
"""Nearness of the changed definition itself, the unit of the others (`weights.NEAR_CALLER` ...)."""

MAX_TARGETS = 200
"""Most definitions of a change that are examined: a larger one is a sweep with callers everywhere."""

MAX_FILES, FEWEST_FILES = 250, 10
"""Files parsed for the callers of one definition; several definitions share them, each with the latter at least."""

MAX_BETWEEN, FURTHER_FILES = 8, 40
"""Callers whose own callers are searched for tests, the nearest first, and files parsed for each."""


class Related(Struct, frozen=True):
    """A chunk that depends on a definition: how near it is, 0 to 1, and the lines that show it; none for all lines."""

    weight: float
    lines: tuple[tuple[int, int], ...] = ()


class _Textual(NamedTuple):
    """A name without a known definition: the lines by file that call it, mostly in `language`, and the `unread` files.

    The lines contain `form`; unless `is_named` a parenthesis follows it.
    """

    name: str
    form: str
    language: str
    lines: Mapping[str, list[int]]
    unread: int
    is_named: bool


class Impact(Struct, frozen=True):
    """The dependents of some definitions: chunks by row, and the call sites of each definition.

    Where a question asks for them instead, `heads` are the heirs or callees of each, as `told` names them. `elsewhere`
    are lines with its name in files of other languages, by path, and `affected` is what a change reaches.
    """

    related: Mapping[int, Related]
    callers: tuple[tuple[CodeDefinition, Callers], ...] = ()
    uses: Mapping[CodeDefinition, tuple[CallSite, ...]] = {}
    is_question: bool = False
    unresolved: Mapping[CodeDefinition, TextualCalls] = {}
    heads: Mapping[CodeDefinition, Heads] = {}
    told: str = ""
    by_text: tuple[_Textual, ...] = ()
    elsewhere: Mapping[CodeDefinition, Mapping[str, list[int]]] = {}
    affected: AffectedCode | None = None

    @property
    def is_sure(self) -> bool:
        """Whether calls and uses answer a question, so that hits which only share its words are not needed."""
        found = any(self.uses.values()) or any(head.heads for head in self.heads.values())
        return self.is_question and bool(found or any(callers.sites for _, callers in self.callers))

    def listing(self, prefix: str = "") -> list[dict[str, Any]]:
        """Return every call site and use, file by file: those of production code first, then those of tests.

        `prefix` is before every path. Where a question asks for them, the heirs or callees of each definition.
        """
        return [
            {**_listed_heads(target, heads, self.told, prefix), "elsewhere": self._elsewhere(target, prefix)}
            for target, heads in self.heads.items()
        ] + [
            {
                "name": target.qualified,
                "path": f"{prefix}{target.path}",
                "line": target.line,
                "calls": sum(not site.is_possible for site in callers.sites),
                "possible": sum(site.is_possible for site in callers.sites),
                "files": _listed([*callers.sites, *self.uses.get(target, ())], prefix),
                "unread_files": max(callers.unread, textual.unread if textual else 0),
                "unresolved": [
                    {"path": f"{prefix}{path}", "lines": lines}
                    for path, lines in (textual.lines if textual else {}).items()
                ],
                "named": bool(textual and textual.is_named),
                "by_text": target.language if "named" in RULES.get(target.language, ()) else "",
                "elsewhere": self._elsewhere(target, prefix),
            }
            for target, callers in self.callers
            for textual in [self.unresolved.get(target)]
        ] + [
            {
                "name": each.name, "form": each.form, "path": f"{prefix}{next(iter(each.lines))}", "line": 0,
                "calls": 0, "exact": 0, "files": [], "unread_files": each.unread, "named": each.is_named,
                "by_text": each.language,
                "unresolved": [{"path": f"{prefix}{path}", "lines": numbers} for path, numbers in each.lines.items()],
            }
            for each in self.by_text
        ]  # fmt: skip

    def _elsewhere(self, target: CodeDefinition, prefix: str) -> list[dict[str, Any]]:
        return [
            {"path": f"{prefix}{path}", "lines": numbers} for path, numbers in self.elsewhere.get(target, {}).items()
        ]


def _listed_heads(target: CodeDefinition, found: Heads, told: str, prefix: str) -> dict[str, Any]:
    files: dict[str, list[CodeDefinition]] = defaultdict(list)
    for head in found.heads:
        files[head.path].append(head)
    listed = [
        {
            "path": f"{prefix}{path}", "lines": [definition.line for definition in definitions], "uses": [],
            "definitions": [(definition.line, definition.qualified) for definition in definitions],
            "test": is_secondary(path),
        }
        for path, definitions in files.items()
    ]  # fmt: skip
    unresolved = [{"path": f"{prefix}{path}", "lines": lines} for path, lines in found.unresolved.items()]
    location = {"name": target.qualified, "path": f"{prefix}{target.path}", "line": target.line}
    counts = {"told": told, "definitions": len(found.heads), "at_least": found.is_cut, "calls": 0}
    return {**location, **counts, "files": listed, "unread_files": 0, "unresolved": unresolved}


def _listed(sites: Sequence[CallSite], prefix: str) -> list[dict[str, Any]]:
    """Return for each file the lines that call a definition, that possibly do, that name it, and what is around.

    A call on a value whose class syntax cannot tell is only possible.
    """
    files: dict[str, list[CallSite]] = {}
    for site in sorted(sites, key=lambda site: site.secondary):
        files.setdefault(site.path, []).append(site)
    listed = []
    for path, own_sites in files.items():
        every = {site.line for site in own_sites if site.how == "call"}
        calls = sorted({site.line for site in own_sites if site.how == "call" and not site.is_possible})
        possible = sorted(every - {*calls})
        uses = sorted({site.line for site in own_sites if site.how != "call"} - every)
        names = list(dict.fromkeys(site.name for site in own_sites if site.name))
        is_test = all(call_site.secondary for call_site in own_sites)
        lines = {"lines": calls, "possible": possible, "uses": uses}
        listed.append({"path": f"{prefix}{path}", **lines, "names": names, "test": is_test})
    return listed


def impact_of_question(query: Query, store: Store) -> Impact | None:
    """Return the dependents of the definition that a question names, if it asks for them; else None."""
    if not speaks_of_impact(query.text):
        return None
    from satchel.search.relations import Relations  # here, because parsing is only for such questions

    relations = Relations(store)
    targets = impact_targets(query.text, relations)
    if not targets:
        by_text = tuple(_by_text(query.text, relations))
        return Impact({}, by_text=by_text) if by_text else None
    dependents = _Dependents(relations)
    for wording, told, found in (
        (HEIRS, "Implementations", dependents.heirs), (CALLEES, "Callees", dependents.callees_told),
    ):  # fmt: skip
        if wording.search(query.text):
            heads = {target: found(target) for target in targets}
            elsewhere = {target: relations.elsewhere(target) for target in targets if wording is HEIRS}
            return Impact(dependents.rows, is_question=True, heads=heads, told=told, elsewhere=elsewhere)
    between = 0 if CALLS.search(query.text) else MAX_BETWEEN  # who asks for calls asks for no tests beyond them
    callers = [(target, dependents.depend_on(target, MAX_FILES, between)) for target in targets]
    uses = {target: dependents.uses(target) for target in targets}
    used = [site for sites in uses.values() for site in sites]
    unresolved = {
        target: relations.unresolved(target, (*found.sites, *used), has_uses=True) for target, found in callers
    }
    elsewhere = {target: relations.elsewhere(target) for target in targets}
    return Impact(dependents.rows, tuple(callers), uses, is_question=True, unresolved=unresolved, elsewhere=elsewhere)


def _by_text(text: str, relations: Relations) -> Iterator[_Textual]:
    """Yield the names asked for that no file is known to define, with the lines that call them by text."""
    for name in dict.fromkeys(name for name, _ in names_asked_for(text)):
        word = re.split(r"\.|::|#", name)[-1]
        if relations.code.defined(word):
            continue
        rows: dict[str, list[int]] = defaultdict(list)
        for row in relations.code.mentioning(word):
            rows[relations.code.document_of(row).key].append(row)
        paths = sorted(rows, key=lambda path: (is_secondary(path), path))[:MAX_FILES]
        relations.code.load_files(paths)
        files = {file: rows[path] for path in paths if (file := relations.code.file(path)) is not None}
        # A plain word has other meanings: without what is before it, as `new` of `Builder.new`, and in languages with a
        # grammar without a parenthesis. Others may call so, as Haskell does.
        is_sure = is_compound(word) or not any(file.language in GRAMMARS for file in files)
        forms = [(name, False), *([(word, False), (word, True)] if is_sure else [])]
        for form, is_named in forms:
            lines = {file: _lines_of(file, rows, relations, form, is_named) for file, rows in files.items()}
            found = {file.path: numbers for file, numbers in lines.items() if numbers}
            if found:
                languages = [file.language for file, numbers in lines.items() for _ in numbers]
                language = max(languages, key=languages.count)
                yield _Textual(name, form, language, found, len(rows) - len(paths), is_named)
                break


def _lines_of(file: SourceFile, rows: Iterable[int], relations: Relations, name: str, is_named: bool) -> list[int]:
    """Return the lines of some chunks that call a name by text, with `is_named` those that contain it."""
    parts = map(relations.code.part, rows)
    if is_named:
        offsets = (start for part in parts for start, _ in file.places(name, *file.range(part.start, part.end)))
    else:
        offsets = (start for part in parts for start in file.textual_calls(name, part.start, part.end))
    return sorted({file.line_at(offset) for offset in offsets})


def impact_targets(text: str, relations: Relations) -> list[CodeDefinition]:
    """Return the definitions that a question about an impact names: those of its longest clear name, then the first."""
    from satchel.search.relations import clear, definitions_named, last_of

    rated: list[tuple[int, int, list[CodeDefinition]]] = []
    for name, start in names_asked_for(text):
        named = definitions_named(relations.code, name)
        # Names of Ruby may end with a mark that looks like the end of the sentence.
        marked = (f"{name}{mark}" for mark in "?!" if f"{name}{mark}" in text and not named)
        named = named or [definition for form in marked for definition in definitions_named(relations.code, form)]
        # A constructor has its class for an owner, which the name itself would name.
        members = [
            definition for definition in named if definition.owner and last_of(definition.owner) != definition.name
        ]
        owned = [member for member in members if re.search(rf"\b{re.escape(last_of(member.owner))}\b", text)]
        subject = clear(owned or named, IMPACT_DEFINITIONS)
        if subject:
            rated.append((-len(name.split(".")) if not owned else -2, start, subject))
    return min(rated, key=lambda row: row[:2])[2] if rated else []


def impact_of_definitions(
    relations: Relations, targets: Sequence[CodeDefinition], related: Mapping[int, Related]
) -> Impact:
    """Return the dependents of changed definitions; `related` are the chunks of the change itself, by row."""
    dependents = _Dependents(relations, related)
    limit = max(MAX_FILES // max(len(targets), 1), FEWEST_FILES)
    callers = [(target, dependents.depend_on(target, limit)) for target in targets[:MAX_TARGETS]]
    for target in targets[:MAX_TARGETS]:
        if target.row in related and related[target.row].weight == CHANGED:
            dependents.uses(target, min(limit, FURTHER_FILES), imports=False)
            dependents.callees(target, weights.NEAR_CALLEE)
    told = [(target, found) for target, found in callers if not is_secondary(target.path)][:IMPACT_IN_TEXT]
    unresolved = {target: relations.unresolved(target, found.sites, FURTHER_FILES) for target, found in told}
    elsewhere = {target: relations.elsewhere(target) for target, _ in told}
    # A removed definition is still imported, or passed on without a call.
    uses = {target: relations.uses(target, FURTHER_FILES) for target, _ in told if target.row < 0}
    return Impact(_capped(dependents.rows, relations), tuple(callers), uses, unresolved=unresolved, elsewhere=elsewhere)


def _capped(related_by_row: Mapping[int, Related], relations: Relations) -> dict[int, Related]:
    """Return the nearest dependents of a change: so many tests, and of production code so many of each nearness."""
    kept: dict[int, Related] = {}
    counts: Counter[float] = Counter()
    relations.code.load(related_by_row)
    for row in sorted(related_by_row, key=lambda row: (-related_by_row[row].weight, row)):
        group = weights.NEAR_TEST if relations.code.document_of(row).secondary else related_by_row[row].weight
        counts[group] += 1
        if related_by_row[row].weight == CHANGED or counts[group] <= IMPACT_OF_EACH:
            kept[row] = related_by_row[row]
    return kept


class _Dependents:
    """Related chunks by row; of several relations the nearest counts."""

    def __init__(self, relations: Relations, related: Mapping[int, Related] | None = None) -> None:
        self._relations, self._own = relations, related
        self.rows: dict[int, Related] = dict(related or {})

    def _add(self, row: int, weight: float, lines: Iterable[tuple[int, int]] = ()) -> None:
        if row < 0 or (self._own is not None and row in self._own):
            return
        before = self.rows.get(row, Related(0.0))
        if weight > before.weight:
            self.rows[row] = Related(weight, tuple(lines) or before.lines)
        elif weight == before.weight and before.lines:
            self.rows[row] = Related(weight, (*before.lines, *lines))

    def depend_on(self, target: CodeDefinition, max_files: int, max_between: int = MAX_BETWEEN) -> Callers:
        """Add a definition, its callers, its heirs, and the tests of both; return the callers."""
        self._add(target.row, CHANGED)
        callers = self._relations.callers(target, max_files)
        for site in callers.sites:
            nearness = weights.NEAR_TEST if site.secondary else weights.NEAR_CALLER
            self._add(site.row, nearness * site.certainty, [around(site)])
        for heir in self._relations.heirs(target):
            self._add(heir.row, weights.NEAR_HEIR)
        between = dict.fromkeys(site.row for site in callers.sites if not site.secondary and site.row != target.row)
        for row in list(between)[:max_between]:
            middle = self._relations.definition(row)
            for site in self._relations.callers(middle, FURTHER_FILES).sites if middle is not None else ():
                if site.secondary:
                    self._add(site.row, weights.NEAR_FURTHER_TEST * site.certainty, [around(site)])
        return callers

    def heirs(self, target: CodeDefinition) -> Heads:
        """Add a definition and its heirs, and return these."""
        self._add(target.row, CHANGED)
        found = self._relations.told_heirs(target)
        for head in found.heads:
            nearness = weights.NEAR_TEST if is_secondary(head.path) else weights.NEAR_CALLER
            self._add(head.row, nearness, [(head.line, head.line + 2)])
        return found

    def callees_told(self, target: CodeDefinition) -> Heads:
        """Add a definition and what it calls, and return the callees and the lines of calls that are not resolved."""
        from satchel.search.relations import Heads  # here, as above: parsing is only for such questions

        self._add(target.row, CHANGED)
        called, relations = self.callees(target, weights.NEAR_CALLER), self._relations
        file, part = relations.code.file(target.path), relations.code.part(target.row)
        calls = file.calls(part.start, part.end) if file is not None else []
        lines = sorted(
            {
                node.start_point[0] + 1
                for node in calls
                if file is not None and not (relations.names.meaning(file, node) or relations.names.guess(file, node))
            }
        )
        return Heads(tuple(dict.fromkeys(called)), {target.path: lines} if lines else {})

    def uses(self, target: CodeDefinition, max_files: int = MAX_FILES, *, imports: bool = True) -> tuple[CallSite, ...]:
        """Add and return the uses of a definition other than calls: passed, defaulted, registered, named as a type."""
        uses = self._relations.uses(target, max_files)
        for site in uses if imports else [site for site in uses if site.how == "use"]:
            nearness = weights.NEAR_FURTHER_TEST if site.secondary else weights.NEAR_USER
            self._add(site.row, nearness if site.how == "use" else weights.NEAR_IMPORTER, [around(site)])
        return uses

    def callees(self, target: CodeDefinition, weight: float) -> list[CodeDefinition]:
        """Add and return the definitions that one calls."""
        calls = self._relations.callees(target.row)
        for call in calls:
            self._add(call.definition.row, weight * call.certainty)
        return [call.definition for call in calls]


def around(site: CallSite, limit: int | None = None) -> tuple[int, int]:
    """Return the lines that show a call: the statement around it, and `limit` before and after it, one in a test.

    By default so many as a hit shows (`weights.CALL_LINES_AROUND`).
    """
    limit = weights.CALL_LINES_AROUND if limit is None else limit
    count = min(1, limit) if site.secondary else limit
    return min(site.statement[0], site.line - count), max(site.statement[1], site.line + count)


def with_impact(result: SearchResult, impact: Impact, store: Store) -> SearchResult:
    """Return the hits of a search and the chunks of the impact, best first."""
    factor = weights.IMPACT_ALIKE if impact.is_sure else weights.IMPACT_UNSURE
    rest = [faded(hit, factor) if impact.is_question else hit for hit in result.hits]
    return replace(result, hits=merged(rest, _hits(result.hits, impact, store)))


def merged(hits: Iterable[Hit], related: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return the hits of a search, best first; those found by relation replace those of the same chunk."""
    by_id = {hit.chunk.id: hit for hit in (*hits, *related)}
    return tuple(sorted(by_id.values(), key=lambda hit: (-hit.score, hit.chunk.id)))


def faded(hit: Hit, factor: float) -> Hit:
    """Return a hit whose values are multiplied by a factor."""
    spans = tuple(replace(span, value=span.value + math.log(factor)) for span in hit.spans)
    return replace(hit, score=hit.score + math.log(factor), spans=spans)


def _hits(searched: Sequence[Hit], impact: Impact, store: Store) -> list[Hit]:
    related = impact.related
    by_id = {hit.chunk.id: hit for hit in searched}
    ceiling = max((hit.score for hit in searched), default=0.0)
    top = max((hit.file_score for hit in searched), default=1.0)
    hits = []
    nearest = sorted(related, key=lambda row: (-related[row].weight, row))[:IMPACT_CHUNKS]
    for row, (part, chunk) in chunks_of(store, nearest).items():
        relation = related[row]
        hit = by_id.get(chunk.id) or Hit(chunk, 0.0, -math.inf)
        value = ceiling + math.log(relation.weight) * (weights.IMPACT_EXPONENT if impact.is_question else 1.0)
        if not impact.is_question:
            value = max(hit.score, value)
        elif relation.weight == CHANGED and impact.is_sure:
            value += weights.IMPACT_SUBJECT
        hits.append(
            replace(
                hit,
                relevance=max(hit.relevance, relevance_of(relation.weight)),
                score=value,
                spans=spans_of(part, relation, value),
                signals=(*hit.signals, Signal(SIGNAL, round(relation.weight, 4), 1.0)),
                file_score=max(hit.file_score, top * relation.weight),
                # A single line is not left out as a bare header either.
                partial=impact.is_question and bool(relation.lines or part.start == part.end),
            )
        )
    return hits


def spans_of(part: StoredChunk, relation: Related, value: float) -> tuple[ScoredSpan, ...]:
    """Return the lines of a chunk to show: all of a small one, the lines around each call of a large one."""
    if part.end - part.start < weights.DEPENDENT_LINES:
        return (ScoredSpan(part.start, part.end, value),)
    if not relation.lines:
        first = min(part.start + FIRST_LINES - 1, part.end)
        later = ScoredSpan(first + 1, part.end, value)
        return (ScoredSpan(part.start, first, value), *((later,) if first < part.end else ()))
    spans: list[ScoredSpan] = []
    for first, last in sorted(set(relation.lines)):
        start, end = max(first, part.start), min(last, part.end)
        if spans and start <= spans[-1].end + 1:
            spans[-1] = replace(spans[-1], end=max(end, spans[-1].end))
        elif len(spans) < CALLS_OF_CHUNK:
            spans.append(ScoredSpan(start, end, value - CALL_STEP * len(spans)))
    return tuple(spans)


def with_callers(result: SearchResult, store: Store) -> SearchResult:
    """Return the hits of a search for code, and the calls of the functions ranked first, if near the best hit."""
    minimum = result.hits[0].score - weights.EDIT_REACH if result.hits else 0.0
    functions = [hit for hit in result.hits if hit.chunk.role in (Role.FUNCTION, Role.METHOD)]
    subjects = [hit for hit in functions if hit.score >= minimum][:EDIT_SUBJECTS]
    if not subjects:
        return result
    from satchel.search.relations import Relations  # here, because parsing is only for those who edit

    relations = Relations(store)
    relations.code.look_up(name for subject in subjects for name in subject.chunk.title.split("."))
    calls: dict[int, Hit] = {}
    for subject in subjects:
        assert subject.chunk.location is not None
        target = relations.named(subject.chunk.location.path, subject.chunk.title)
        if target is None:
            continue
        sites: dict[int, list[CallSite]] = defaultdict(list)
        # Files parsed for the calls of one function: some thirty in all, less than a tenth of a second.
        for site in relations.first_callers(target, 10, weights.EDIT_CALLERS):
            if site.row != target.row and (site.row in sites or len(sites) < weights.EDIT_CALLERS):
                sites[site.row].append(site)
        calls = dict(_call_hits(subject, sites, store)) | calls
    hits = sorted((*result.hits, *calls.values()), key=lambda hit: (-hit.score, hit.chunk.id))
    return replace(result, hits=tuple(hits))


def _call_hits(subject: Hit, sites: dict[int, list[CallSite]], store: Store) -> list[tuple[int, Hit]]:
    """Return one hit for each chunk that calls the subject, with the lines of its first calls, worth less than it."""
    hits = []
    for row, (part, chunk) in chunks_of(store, sites).items():
        own_sites = sites[row]
        value = subject.score - (weights.EDIT_TEST_DROP if own_sites[0].secondary else weights.EDIT_CALL_DROP)
        lines = tuple(around(site, 1) for site in own_sites[:EDIT_CALLS])
        spans = spans_of(part, Related(1.0, lines), value)
        hit = Hit(chunk, subject.relevance, value, spans, (Signal("calls", 1.0, 0.0),), partial=True)
        hits.append((row, hit))
    return hits
