"""One hop from what an answer shows: what its lines use, few callers, what changes with it, names of the question.

A name is followed only where import, class or type tell what it means, never by the bare name alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial, reduce
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel import text as words
from satchel.answer import weights
from satchel.answer.candidates import Candidate
from satchel.answer.packing import Packing
from satchel.answer.resources import Resources
from satchel.answer.sections import subtract
from satchel.answer.source_lines import COMMENT, IMPORT, Lines, Unreadable
from satchel.search import weights as search_weights
from satchel.search.chunks import with_former_names
from satchel.search.relations import CallSite, Relations
from satchel.search.resolve.code import CodeDefinition, SourceFile
from satchel.search.resolve.syntax import LEAVES
from satchel.sources.roles import is_secondary
from satchel.text import pattern
from satchel.types import Chunk, EdgeType, Kind, Location, Range, Role

if TYPE_CHECKING:
    from satchel.store.records import Document
    from satchel.store.segments import IntArray

VALUE_LINES = 3
"""Lines over which a value is read whose first line opens a bracket."""

RARE_LINES = 2
"""Lines of production code with a name that is nearly certain to lead to the answer."""

FOLLOWED_NAMES = 40
"""Names that are followed, the rarest first."""

COMMON_NAME = 100
"""A name in more than one span of so many is that of no one matter."""

ALIKE_NAMES = 20
"""Most definitions that share a followed name, and most spans with a rare one."""

_WORD = pattern(r"[^\W\d]\w{2,}")
NUMBER = pattern(r"(?<![\w.])\d[\d_,]{2,}\d(?![\w.])")
"""A number of at least four signs."""

_AS_CODE = r"(?<=[\w)\]][.>:]){0}|{0}(?=\(|\[|\.\w|\s*:?=[^=])"
"""A plain word where only code has one, not prose or a list of words."""

_RESULT = pattern(r"return\b|=> ")
_GIVES = pattern(r"^\s*return\b[ (]*[^\s;)]", re.MULTILINE)

Found = TypeVar("Found")

_CALLED_BY, _DROPPED_BY, _USES, _CHANGES_WITH = "called by", "result dropped by", "uses", "changes with"

COMMITS_TOGETHER = 3
"""Fewest commits that changed two files before one of them is a place of the fix of the other."""

MAX_COMMITS = 200
"""Commits of a file that are looked at, the last indexed ones."""


class Hop(Struct, frozen=True):
    """A place to look at next: why, its lines (from 1), its name, its best line (`line`) and what that says.

    One that `follows_matches` is listed after the matches by file, so only where these leave room in the list.
    """

    why: str
    path: str
    start: int
    end: int
    name: str
    line: int
    text: str
    follows_matches: bool = False

    @property
    def precedes_used(self) -> bool:
        """Whether it is listed before definitions in use: those are many, callers and names of the question few."""
        return self.why != _USES

    @property
    def is_caller(self) -> bool:
        """Whether it is the line of a call, which is listed even where the function around it is."""
        return self.why in (_CALLED_BY, _DROPPED_BY)

    @property
    def is_changed_together(self) -> bool:
        """Whether it gives a match, which `omissions.places` lists, its reason."""
        return self.why == _CHANGES_WITH


class Hops:
    """Finds places that are not shown: of the names in `named`, of definitions in use, few callers, changed together.

    `terms` are those of the question: used definitions that contain one come first, and long ones need one. Names of a
    long question, an issue or a message, are mostly not of the code that it asks for, so their places come last.
    """

    def __init__(
        self, resources: Resources, terms: AbstractSet[str], named: Sequence[str] = (), *, is_long: bool = False
    ) -> None:
        self._terms, self._named, self._is_long = terms, named, is_long
        self._homes = [(home, Relations(home.store)) for home in resources.every]

    def __call__(self, packing: Packing) -> list[Hop]:
        """Return the places for what is packed, of each line the first: by workspace, but rare names before all."""
        best = {
            candidate.chunk.id: candidate
            for candidate, _ in packing.picks
            if candidate.kind is Kind.CODE and candidate.companion_of is None
        }
        candidates = sorted(best.values(), key=lambda candidate: -candidate.value)[: weights.FOLLOWED]
        found: list[Hop] = []
        for home, relations in self._homes:
            finder = _PlaceFinder(packing, home, relations)
            rare = [replace(hop, follows_matches=self._is_long) for hop in finder.lines_of(self._named)]
            named = [
                replace(hop, follows_matches=self._is_long) for hop in finder.definitions_of(self._named, self._terms)
            ]
            shown = [
                candidate
                for candidate in candidates
                if candidate.group.startswith(finder.prefix) and finder.is_indexed(candidate)
            ]
            found = [*rare, *found, *named, *self._used(finder, shown)]
            for best_shown in shown[:1]:
                found += [*finder.callers(best_shown), *finder.changed_together(best_shown)]
        return _merged(found)

    def _used(self, finder: _PlaceFinder, shown: Sequence[Candidate]) -> list[Hop]:
        """Return the definitions that shown ones use: first those that the question is about, then others of worth.

        Those of the class of a shown definition count as well, though no word of the question is in them.
        """
        used = [(_worth(hop, self._terms), hop) for candidate in shown for hop in finder.used(candidate)]
        used.sort(key=lambda pair: -pair[0])
        first = [hop for worth, hop in used if worth][: weights.USED_PLACES]
        classes = {(candidate.group, candidate.chunk.title.rpartition(".")[0]) for candidate in shown}
        more = [hop for worth, hop in used if worth or (hop.path, hop.name.rpartition(".")[0]) in classes]
        others = [replace(hop, follows_matches=True) for hop in more if hop not in first]
        return [*first, *others[: weights.USED_PLACES]]


def _merged(found: Iterable[Hop]) -> list[Hop]:
    """Return the first hop to each line, with the lines of a definition that begins there."""
    first: dict[tuple[str, int], Hop] = {}
    for hop in found:
        known = first.setdefault((hop.path, hop.line), hop)
        if known.end < hop.end:
            first[hop.path, hop.line] = replace(hop, why=known.why, follows_matches=known.follows_matches)
    return list(first.values())


def _worth(hop: Hop, terms: AbstractSet[str]) -> int:
    """Return how many terms of the question a used definition has; one that a line tells whole counts by itself.

    An element without a value (`GOLD,`) does not tell anything.
    """
    matched = terms & _terms(f"{hop.name} {hop.text}")
    value = hop.text.partition(hop.name.rpartition(".")[2])[2].strip(" ,;:=")
    return 2 * len(matched) + (bool(value) if hop.start == hop.end else " … " in hop.text)


class _Occurrence(Struct, frozen=True):
    """A line with a name of the question."""

    path: str
    line: int
    match: re.Match[str]


class _PlaceFinder:
    """Finds places from the shown lines of one workspace."""

    def __init__(self, packing: Packing, home: Resources, relations: Relations) -> None:
        self._home, self._relations, self.prefix = home, relations, home.prefix
        self._rejected = packing.rejected
        self._shown: dict[str, list[Range]] = {}
        self._lines: dict[str, Lines] = {}
        for groups in packing.groups.values():
            for group in groups.values():
                if group.lines is not None:
                    self._shown.setdefault(group.key, []).extend(group.ranges)
                    self._lines[group.key] = group.lines

    def is_indexed(self, candidate: Candidate) -> bool:
        """Return whether the lines of a candidate are those of the index."""
        lines, location = self._lines.get(candidate.group), candidate.chunk.location
        same = lines is not None and location is not None and lines.content_hash == location.content_hash
        return same and lines is not None and not lines.marks

    def definitions_of(self, names: Iterable[str], terms: AbstractSet[str]) -> list[Hop]:
        """Return the definitions of names that the shown lines do not contain, if they are few.

        Of several definitions of a name those are meant whose class or file the question or another name speaks of.
        """
        shown = "\n".join(self._lines[path].text(*span) for path, spans in self._shown.items() for span in spans)
        missing = [name for name in names if name and name not in shown]
        self._relations.code.look_up(name.rpartition(".")[2] for name in missing)
        made = []
        for name in missing:
            candidates = self._relations.code.defined(name.rpartition(".")[2])
            definitions = [
                candidate
                for candidate in candidates
                if not is_secondary(candidate.path) and f".{candidate.qualified}".endswith(f".{name}")
            ]
            support = [
                len((_terms(f"{definition.owner} {definition.path}") - _terms(name)) & terms)
                for definition in definitions
            ]
            best = max(support, default=0) if len(definitions) > 1 else 0
            meant = [definition for definition, shared in zip(definitions, support, strict=True) if shared == best]
            if len(definitions) == 1 or (best and len(meant) <= RARE_LINES):
                made += [hop for definition in meant for hop in self._hops("named", definition)]
        return made

    def lines_of(self, names: Iterable[str]) -> list[Hop]:
        """Return the lines of names and numbers that production code has once or twice, unless they are shown."""
        spelled = {name: spellings(name.rpartition(".")[2]) for name in names}
        spans_of = self._spans_of(name for written in spelled.values() for name in written)
        found: list[Hop] = []
        for written in spelled.values():
            word = rf"(?<!\w)(?:{'|'.join(map(re.escape, written))})(?!\w)"
            spans = {span for name in written for span in spans_of[name][: ALIKE_NAMES + 1].tolist()}
            if len(spans) > ALIKE_NAMES:
                continue
            occurrences = self._occurrences(written, word, spans)
            if len(occurrences) > RARE_LINES:
                continue
            for occurrence in sorted(occurrences, key=lambda occurrence: (occurrence.path, occurrence.line)):
                if _is_code(occurrence.match, word):
                    path, line = occurrence.path, occurrence.line
                    found += self._at("named", path, (line, line), "", line, occurrence.match[0])
        return list(dict.fromkeys(found))[: weights.USED_PLACES]

    def _spans_of(self, names: Iterable[str]) -> dict[str, IntArray]:
        """Return the spans that have all words of each name, none for a name without words: an index has the parts."""
        terms_of = {name: [words.term_of(word) for word in words.words(name)] for name in names}
        terms = list(dict.fromkeys(term for parts in terms_of.values() for term in parts))
        spans_of = self._home.store.cache("spans", lambda spans: 200 + spans.nbytes).through(terms, self._with_term)
        shared = partial(np.intersect1d, assume_unique=True)
        return {
            name: reduce(shared, [spans_of[term] for term in parts]) if parts else np.empty(0, int)
            for name, parts in terms_of.items()
        }

    def _with_term(self, terms: Sequence[str]) -> dict[str, IntArray]:
        """Return the spans that have each of these terms."""
        postings = self._home.store.lexicon(Kind.CODE).postings(terms)
        return {term: posting.body[0] for term, posting in zip(terms, postings, strict=True)}

    def _occurrences(self, written: Sequence[str], word: str, spans: AbstractSet[int]) -> list[_Occurrence]:
        """Return the lines of production code with one of the spellings, comments left out, in the files of spans."""
        store = self._home.store
        lexicon = store.lexicon(Kind.CODE)
        positions = {int(lexicon.span_document[span]) for span in spans}
        production = [position for position in positions if not lexicon.columns.document_secondary[position]]
        occurrences = []
        documents = store.documents({int(lexicon.columns.document_id[position]) for position in production})
        for document in documents.values():
            read = self._read(document.key, document)
            lines = () if isinstance(read, Unreadable) else read.lines
            for line in _lines_with(written, lines):
                # Compiled for the first line that has the name: most names have none.
                match = None if COMMENT.match(lines[line - 1]) else re.search(word, lines[line - 1])
                if match is not None:
                    occurrences.append(_Occurrence(document.key, line, match))
        return occurrences

    def _read(self, path: str, document: Document | None = None) -> Lines | Unreadable:
        """Return the present lines of a file; those of an unchanged `document` are its stored text."""
        kept, lines = self._lines.get(f"{self.prefix}{path}"), self._home.lines
        if kept is not None or document is None:
            return kept or lines.read(path)
        return lines.read(path, document.content_hash, partial(self._home.store.text, document.id))

    def used(self, candidate: Candidate) -> Iterator[Hop]:
        """Yield the definitions that the shown lines of a candidate use, each once."""
        location = candidate.chunk.location
        assert location is not None
        path = location.path.removeprefix(self.prefix)
        whole = [_span(location)]
        ranges = tuple(subtract(whole, subtract(whole, sorted(self._shown.get(candidate.group, ())))))
        used = self._found(("used", path, ranges), lambda: self._definitions(path, ranges))
        self._relations.code.load(definition.row for definition in used)
        for definition in used:
            yield from self._hops(_USES, definition)

    def _found(self, key: Hashable, find: Callable[[], Iterator[Found]]) -> tuple[Found, ...]:
        """Return what was found, also by an earlier question about the same state of the index."""
        return self._relations.code.answers.get(key, lambda: (*find(),), tuple[Found, ...]())

    def _definitions(self, path: str, ranges: Sequence[Range]) -> Iterator[CodeDefinition]:
        """Yield the definitions that these lines of a file use."""
        file = self._relations.code.file(path)
        if file is None or not ranges:
            return
        spans = [file.range(*lines) for lines in ranges]
        for span in spans:
            file.parse(*span)
        followed = self._followed(file, ranges)
        file.parse_bindings(place for name in followed for place in file.places(name))
        self._relations.code.look_up(followed)
        if file.root is None:
            return
        for name in followed:
            nodes = (node for span in spans for node in file.occurrences(name, *span) if node.type in LEAVES)
            node = next(nodes, None)
            meaning = self._relations.names.meaning(file, node) if node is not None else ()
            definitions = [definition for definition in meaning if isinstance(definition, CodeDefinition)]
            if len(definitions) > 1:  # in C, headers that other files include may define the same name
                ends = [f"/{imported.target.lstrip('./')}" for imported in file.imports]
                definitions = [
                    definition
                    for definition in definitions
                    if definition.path == file.path or f"/{definition.path}".endswith((*ends,))
                ]
            if len({definition.key for definition in definitions}) == 1 and (
                file.document.secondary or not is_secondary(definitions[-1].path)
            ):
                yield definitions[-1]

    def _followed(self, file: SourceFile, ranges: Sequence[Range]) -> list[str]:
        """Return the names on these lines that the index defines, the rarest first."""
        written = list(dict.fromkeys(_WORD.findall("\n".join(file.lines(*span) for span in ranges))))
        counts = self._home.store.cache("names", lambda _: 150).through(written, self._counted)
        few = [name for name in written if counts[name]]
        return sorted(few, key=counts.__getitem__)[:FOLLOWED_NAMES]

    def _counted(self, names: Sequence[str]) -> dict[str, int]:
        """Return how many definitions each name has, 0 for one with too many and for one of no one matter."""
        found = self._relations.code.found(names, ALIKE_NAMES)
        counts = {name: len(definitions) for name, definitions in found.items()}
        defined = [name for name in names if counts[name]]
        lexicon = self._home.store.lexicon(Kind.CODE)
        postings = lexicon.postings([words.term_of(name) for name in defined])
        most = max(len(lexicon.span_document) // COMMON_NAME, ALIKE_NAMES)
        common = [name for name, posting in zip(defined, postings, strict=True) if len(posting.body[0]) > most]
        return counts | dict.fromkeys(common, 0)

    def callers(self, candidate: Candidate) -> Iterator[Hop]:
        """Yield the only call of a short function, and the few calls of a method in its class, but of no test.

        The few calls that drop the result are told where others use it.
        """
        location, chunk = candidate.chunk.location, candidate.chunk
        if location is None or chunk.role not in (Role.FUNCTION, Role.METHOD):
            return
        definition = self._relations.named(location.path.removeprefix(self.prefix), chunk.title)
        is_short = location.end_line - location.start_line < weights.SHORT_HELPER
        if definition is None or not (is_short or chunk.role is Role.METHOD):
            return
        callers = self._relations.callers(definition, weights.FEW_CALLS)
        sites = [site for site in callers.sites if not site.secondary]
        dropped = _dropped(sites) if _GIVES.search(self._lines[candidate.group].text(*_span(location))) else []
        is_only_call = is_short and len(sites) == 1 and callers.unread == 0
        if not is_only_call:
            owner, _, _ = definition.qualified.rpartition(".")
            near = [
                site for site in sites if site.path == definition.path and site.name.rpartition(".")[0] == owner != ""
            ]
            sites = (
                [site for site in near if site.name != definition.qualified] if len(near) <= weights.FEW_CALLS else []
            )
        for site in dict.fromkeys([*dropped, *sites]):
            is_dropped = site in dropped
            why = _DROPPED_BY if is_dropped else _CALLED_BY
            for hop in self._at(why, site.path, (site.line, site.line), site.name, site.line, ""):
                # Few calls drop a result, and they are a likely place of a fault.
                yield replace(hop, follows_matches=not is_only_call and not is_dropped)

    def changed_together(self, candidate: Candidate) -> Iterator[Hop]:
        """Yield the best match in each file that most commits of the file of a candidate changed, too, where one is."""
        path = candidate.group.removeprefix(self.prefix)
        for other in self._found(("together", path), lambda: self._changed_with(path)):
            best = self._best_unshown(f"{self.prefix}{other}")
            if best is not None and best.location is not None:
                span = _span(best.location)
                for hop in self._at(_CHANGES_WITH, other, span, best.title, span[0], ""):
                    yield replace(hop, follows_matches=True)

    def _changed_with(self, path: str) -> Iterator[str]:
        """Yield the files that most commits of a file changed, too, the most frequent first."""
        store = self._home.store
        commits = {row for row, _, _ in store.edges_to(with_former_names([path], store), [EdgeType.TOUCHES])}
        touched: dict[int, set[str]] = defaultdict(set)
        for row, _, other in store.edges_from(sorted(commits)[-MAX_COMMITS:], [EdgeType.TOUCHES]):
            touched[row].add(other)
        small = [files for files in touched.values() if len(files) <= search_weights.SWEEP_FILES]
        counts = Counter(chain.from_iterable(small))
        for other, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            if count < COMMITS_TOGETHER or 2 * count < len(small):
                return
            if other != path and not is_secondary(other):
                yield other

    def _best_unshown(self, group: str) -> Chunk | None:
        """Return the best match of a file that is not shown, also one that is worth less than anything shown."""
        matches = [match for candidates in self._rejected.values() for match in candidates if match.group == group]
        matches = [match for match in matches if match.companion_of is None]
        if matches:
            return max(matches, key=lambda match: match.value).chunk
        for chunk in (hit.chunk for section in self._rejected for hit in section.others):
            if chunk.location is not None and chunk.location.path == group:
                lines = self._home.lines.read(group.removeprefix(self.prefix))
                is_current = not isinstance(lines, Unreadable) and lines.content_hash == chunk.location.content_hash
                return chunk if is_current else None
        return None

    def _hops(self, why: str, definition: CodeDefinition) -> list[Hop]:
        part = self._relations.code.part(definition.row)
        span = (part.start, part.end) if part.name == definition.qualified else (definition.line, definition.line)
        document = self._relations.code.document_of(definition.row)
        return self._at(why, definition.path, span, definition.qualified, definition.line, definition.name, document)

    def _at(
        self, why: str, path: str, span: Range, name: str, line: int, word: str, document: Document | None = None
    ) -> list[Hop]:
        """Return a place in a file as it is now; none if it is shown, or if its line lacks the word."""
        key = f"{self.prefix}{path}"
        read = self._read(path, document)
        if isinstance(read, Unreadable) or span[1] > len(read.lines) or word not in read.lines[line - 1]:
            return []
        self._lines[key] = read
        if subtract([span], sorted(self._shown.get(key, ()))) != [span]:
            return []
        first, last = read.lines[line - 1].strip(), read.lines[span[1] - 1].strip()
        is_short = line < span[1] < line + weights.SHORT_HELPER and _RESULT.match(last) is not None
        text = f"{first} … {last}" if is_short else first if line < span[1] else _value(read.lines, line)
        return [Hop(why, key, *span, name, line, text)]


def _lines_with(written: Iterable[str], lines: Sequence[str]) -> list[int]:
    """Return the numbers of the lines with one of these texts, in order."""
    text, found = "\n".join(lines), set()
    for name in written:
        counted, number = 0, 1
        place = text.find(name)
        while place >= 0:
            number, counted = number + text.count("\n", counted, place), place
            found.add(number)
            end = text.find("\n", place)
            place = text.find(name, end) if end >= 0 else -1
    return sorted(found)


def _span(location: Location) -> Range:
    return location.start_line, location.end_line


def _dropped(sites: Sequence[CallSite]) -> list[CallSite]:
    """Return the calls that drop a result which at least as many others use: more would say that nobody needs it."""
    dropped = [site for site in sites if site.is_dropped]
    return dropped if 2 * len(dropped) <= len(sites) else []


def _value(lines: Sequence[str], line: int) -> str:
    """Return a line, with the next ones where it opens a bracket that they close soon: `LIMITS = { "small": 3, }`."""
    texts = [text.strip() for text in lines[line - 1 : line - 1 + VALUE_LINES]]
    is_open = texts[0].endswith(("(", "[", "{"))
    end = next((at for at, text in enumerate(texts) if is_open and text[:1] in ")]}" and text), 0)
    return " ".join(texts[: end + 1])


def _is_code(match: re.Match[str], word: str) -> bool:
    """Return whether a line is no import, and has a plain word as only code has one."""
    if IMPORT.match(match.string):
        return False
    is_plain = match[0].isalpha() and match[0].islower()
    return not is_plain or re.search(_AS_CODE.format(word), match.string) is not None


def _terms(text: str) -> AbstractSet[str]:
    return set(words.count_terms(words.words(text)))


def spellings(name: str) -> list[str]:
    """Return the ways to write a number of more than three digits, or the name: 50000, 50_000 and 50,000."""
    digits = re.sub(r"(?<=\d)[_,](?=\d{3})", "", name)
    return [name] if not digits.isdigit() or len(digits) < 4 else [digits, f"{int(digits):_}", f"{int(digits):,}"]
