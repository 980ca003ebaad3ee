"""Exact look-ups of names in a question: files, symbols, and the frames of a pasted trace.

A line of a trace is mostly that of another version, so the function of a frame decides: the line counts where that
function contains it, else the function in that file, else the only function of that name anywhere.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel import text as words
from satchel.search import weights
from satchel.search.bm25 import FloatArray, idf, largest
from satchel.search.named import NamedDefinition, asked_definitions, definition_values, named_definitions
from satchel.search.query import PLACE, SENTENCES, Mention, Query, everyday_names
from satchel.search.strength import is_long, title_of
from satchel.search.trace import Frame, Trace, is_vendored, name_of
from satchel.sources.code.languages import language_of
from satchel.store.protocol import Store
from satchel.store.segments import IntArray, Lexicon
from satchel.text import pattern
from satchel.types import LINE_KINDS, Kind

LITERAL_SPANS = 12
"""Spans whose text is compared with the words of an error."""

MAX_FRAMES = 200
"""Most frames that are looked up, the innermost first."""

_WORDS = pattern(r"\w+")

_IN_FOLDER = pattern(r"\b(?:in|under|below|inside|within|of|at|folder|directory)(?: the)? [`'\"]?$", re.IGNORECASE)

_COMPILED = pattern(r"\.[cm]?js$")
"""A file that may have been compiled from one of the same stem (`dist/compose.js` from `src/compose.ts`)."""


class TracedPlace(Struct, frozen=True):
    """A chunk of the lexicon that a trace leads to, the 1-based line in its file, and how strongly (0 to 1).

    With `drifted` the line is the first one of its function. `end` is the last line of a range.
    """

    chunk: int
    line: int
    strength: float = 1.0
    drifted: bool = False
    end: int = 0


class _Defined(Struct, frozen=True):
    """A definition of a name that a frame may mean."""

    chunk: int
    owner: str
    line: int


class _Sources:
    """The files and definitions that the frames of one trace name, read from the store at once."""

    def __init__(self, frames: Sequence[Frame], store: Store, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._files: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._defined: dict[str, list[_Defined]] = defaultdict(list)
        names = sorted({frame.path.rpartition("/")[2] for frame in frames if frame.path})
        rows = store.paths_named(names, sorted({name.rpartition(".")[0] for name in names if _COMPILED.search(name)}))
        for (_, path), document in zip(rows, lexicon.document_positions(row for row, _ in rows).tolist(), strict=True):
            if document >= 0 and lexicon.live_document[document]:
                name = path.rpartition("/")[2]
                self._files[name if name in names else name.rpartition(".")[0]].append((document, path))
        functions = sorted({name_of(frame.function)[0] for frame in frames} - {""})
        definitions = store.definitions(functions, most=200)  # a name that more chunks define is not looked up
        chunks = lexicon.chunk_positions(definition.row for definition in definitions).tolist()
        for row, chunk in zip(definitions, chunks, strict=True):
            if chunk >= 0 and lexicon.live_chunk[chunk]:
                self._defined[row.name].append(_Defined(chunk, row.owner.rpartition(".")[2], row.line))
        documents = {self.document(row.chunk) for rows in self._defined.values() for row in rows}
        ids = {int(lexicon.columns.document_id[document]): document for document in documents}
        self.paths = {ids[identity]: document.key for identity, document in store.documents(ids).items()}

    def document(self, chunk: int) -> int:
        return int(self._lexicon.columns.chunk_document[chunk])

    def defined(self, function: str) -> list[_Defined]:
        return self._defined.get(name_of(function)[0], [])

    def files(self, path: str) -> tuple[list[int], int, bool]:
        """Return files that share most last segments with a path, their number, and whether all segments are shared."""
        written = _segments(path)
        name = path.rpartition("/")[2]
        named = self._files.get(name) or self._files.get(name.rpartition(".")[0], [])
        shared = [
            (_shared(written, [*_segments(key)[:-1], name]), key.count("/") + 1, document) for document, key in named
        ]
        limit = max((count for count, _, _ in shared), default=0)
        best = [(length, document) for count, length, document in shared if count == limit]
        exact = [document for length, document in best if length == limit]
        return exact or [document for _, document in best], limit, bool(exact) or limit == len(written)

    def chunk_at(self, document: int, line: int) -> int | None:
        """Return the chunk of a file that contains a line."""
        return next(iter(self.chunks_at(document, line, line)), None)

    def chunks_at(self, document: int, start: int, end: int) -> dict[int, int]:
        """Return the chunks of a file with any of these lines, each with the first of them that it has."""
        first, last = _spans_of(self._lexicon, document)
        columns = self._lexicon.columns
        starts = columns.span_start[first:last]
        inside = np.flatnonzero((starts <= end) & (start <= columns.span_end[first:last]))
        chunks: dict[int, int] = {}
        for position in inside.tolist():
            chunks.setdefault(int(columns.span_chunk[first + position]), max(start, int(starts[position])))
        return chunks

    def own_files(self, path: str) -> list[int]:
        """Return the files that a written path means: a name alone means any of that name, a longer one not."""
        files, shared, is_whole = self.files(path)
        return files if shared > 1 or is_whole else []

    def last_line(self, document: int) -> int:
        first, last = _spans_of(self._lexicon, document)
        return int(self._lexicon.columns.span_end[first:last].max(initial=0))


def traced_places(query: Query, store: Store, lexicon: Lexicon) -> tuple[list[TracedPlace], list[TracedPlace]]:
    """Return the places that a question leads to by lines, the best first, each chunk once; then those only mentioned.

    A line that a sentence asks about leads there. One in a log, or far down in an issue, is mostly of another version.
    """
    trace, pasted = query.trace, "\n".join(line for zone, line in query.zones if zone not in SENTENCES)
    frames = [*trace.frames[:MAX_FRAMES], *trace.tests[:MAX_FRAMES]]
    mentions = trace.mentions[:MAX_FRAMES]
    if not (frames or mentions or trace.errors):
        return [], []
    spoken = (title_of(query) if is_long(query) else query.text).replace("\\", "/")
    asked = [frame for frame in mentions if frame.path in spoken and frame.path not in pasted.replace("\\", "/")]
    sources = _Sources([*frames, *mentions], store, lexicon)
    secondary = lexicon.columns.document_secondary > 0
    traced: dict[int, TracedPlace] = {}
    tests: set[int] = set()
    failed = set(trace.tests)
    for frame in frames:
        found_line = _place(frame, sources)
        if found_line is not None:
            traced.setdefault(found_line.chunk, found_line)
            if frame in failed or secondary[sources.document(found_line.chunk)]:
                tests.add(found_line.chunk)
    for found_line in _raising(trace, store, lexicon):
        if found_line.chunk not in traced or traced[found_line.chunk].drifted:
            traced[found_line.chunk] = found_line
    order = list(traced)
    ranks = [rank for rank, chunk in enumerate(order) if chunk in tests]
    if ranks and ranks[0] > weights.TRACE_TEST_RANK:
        order.insert(weights.TRACE_TEST_RANK, order.pop(ranks[-1]))
    written = {found_line.chunk: found_line for frame in asked for found_line in _written(frame, sources)}
    order += [chunk for chunk in written if chunk not in traced]
    traced = written | traced
    framed = [
        replace(traced[chunk], strength=max(1.0 - weights.TRACE_STEP * rank, weights.TRACE_LEAST))
        for rank, chunk in enumerate(order[: weights.TRACE_PLACES])
    ]
    others = (_place(frame, sources) for frame in mentions if frame not in asked)
    return framed, [found_line for found_line in others if found_line is not None]


def _written(frame: Frame, sources: _Sources) -> Iterator[TracedPlace]:
    """Yield the chunks with the lines that a sentence names, in one file or in a few of the same name."""
    files = sources.own_files(frame.path)
    for document in files if len(files) <= weights.TRACE_FILES else ():
        for chunk, line in sources.chunks_at(document, frame.line, max(frame.end, frame.line)).items():
            yield TracedPlace(chunk, line, end=frame.end)


def _place(frame: Frame, sources: _Sources) -> TracedPlace | None:
    """Return the place of a frame: by its function in the file, by its function anywhere, else by its line."""
    files, shared, is_whole = sources.files(frame.path)
    vendored = is_vendored(frame.path)
    name, qualifier = name_of(frame.function)
    defined = sources.defined(frame.function)
    inside = [other for other in defined if sources.document(other.chunk) in files]
    named = [other for other in inside if qualifier and other.owner == qualifier]
    is_own = shared > 1 or (is_whole and not vendored)
    if inside and (is_own or named or not vendored):
        return _nearest(frame, named or inside, sources)
    if vendored and name:
        return None
    clear = _clear(name, qualifier, defined, sources) if not vendored else None
    if clear is not None:
        return TracedPlace(clear.chunk, clear.line, drifted=True)
    at = [sources.chunk_at(document, frame.line) for document in files] if is_own and frame.line else []
    by_line = [chunk for chunk in at if chunk is not None]
    return TracedPlace(by_line[0], frame.line) if 0 < len(by_line) <= (1 if vendored else weights.TRACE_FILES) else None


def _nearest(frame: Frame, defined: Sequence[_Defined], sources: _Sources) -> TracedPlace:
    """Return the line itself where it is in one of these definitions, else the definition that is nearest to it."""
    for definition in defined:
        if (
            frame.line >= definition.line
            and sources.chunk_at(sources.document(definition.chunk), frame.line) == definition.chunk
        ):
            return TracedPlace(definition.chunk, frame.line)
    definition = min(defined, key=lambda other: (abs(other.line - frame.line), other.chunk))
    return TracedPlace(definition.chunk, definition.line, drifted=True)


def _clear(name: str, qualifier: str, defined: Sequence[_Defined], sources: _Sources) -> _Defined | None:
    """Return the only definition that a name may mean: that of its owner or module, or the one of a compound name."""
    if qualifier:
        defined = [other for other in defined if other.owner == qualifier] or [
            other for other in defined if qualifier in _WORDS.findall(sources.paths[sources.document(other.chunk)])
        ]
    elif not words.is_compound(name):
        return None
    return defined[0] if len({other.chunk for other in defined}) == 1 else None


def _raising(trace: Trace, store: Store, lexicon: Lexicon) -> list[TracedPlace]:
    """Return places with the words of the errors, then of the tests whose name is a sentence."""
    spoken = [(text.partition(": ")[2] or text, False) for text in trace.errors[: weights.TRACE_LITERALS]]
    spoken += [(test.function, True) for test in trace.tests[: weights.TRACE_LITERALS] if " " in test.function]
    fitted = LITERAL_SPANS, weights.LITERAL_ERROR_SHARE, weights.LITERAL_TEST_SHARE
    name = (_literal, *fitted, weights.LITERAL_RUN_WORDS, weights.LITERAL_RUN_LETTERS)
    found = lexicon.fetched(name, spoken, lambda new: {key: [*_literal(*key, store, lexicon)] for key in new})
    return [traced for traced_chunks in found.values() for traced in traced_chunks]


def _literal(text: str, is_test: bool, store: Store, lexicon: Lexicon) -> Iterator[TracedPlace]:
    """Yield the span that shares most runs of words with an error or the name of a test, among its best matches."""
    spoken = [word.lower() for word in words.words(text)]
    runs = set(_runs(spoken))
    terms = sorted({term for word in spoken if words.is_meaningful(word) for term in words.terms_of(word)})
    if not runs or not terms:
        return
    scores = np.zeros(len(lexicon.columns.span_chunk))
    for postings in lexicon.postings(terms):
        units = postings.body[0]
        scores[units] += idf(lexicon.span_count, len(units))
    scores[(lexicon.columns.document_secondary[lexicon.span_document] > 0) != is_test] = 0.0
    spans = [span for span in largest(scores, LITERAL_SPANS).tolist() if scores[span] > 0]
    columns = lexicon.columns
    chunks = [int(columns.span_chunk[span]) for span in spans]
    stored = lexicon.stored(_text_of, chunks, partial(_text_of, store), lambda part: len(part[1]) + 200)
    best: tuple[int, TracedPlace] | None = None
    minimum = (weights.LITERAL_TEST_SHARE if is_test else weights.LITERAL_ERROR_SHARE) * len(runs)
    for span, chunk in zip(spans, chunks, strict=True):
        start, end = int(columns.span_start[span]), int(columns.span_end[span])
        first, text = stored[int(columns.chunk_row[chunk])]
        lines = text.split("\n")[start - first : end - first + 1]
        shared = [len(runs.intersection(_runs([word.lower() for word in words.words(line)]))) for line in lines]
        if sum(shared) >= minimum and any(shared) and (best is None or sum(shared) > best[0]):
            best = sum(shared), TracedPlace(chunk, start + shared.index(max(shared)))
    if best is not None:
        yield best[1]


def _text_of(store: Store, rows: Sequence[int]) -> dict[int, tuple[int, str]]:
    """Return the first line of each chunk, and its text."""
    parts = store.chunks(rows)
    texts = {number: text.split("\n") for number, text in store.texts({p.document for p in parts.values()}).items()}
    lines = {row: texts.get(part.document, [])[part.start - 1 : part.end] for row, part in parts.items()}
    return {row: (part.start, "\n".join(lines[row])) for row, part in parts.items()}


def _runs(text_words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield every run of some words (two of a text of two) that is long enough to be part of a message."""
    count = min(weights.LITERAL_RUN_WORDS, max(len(text_words), 2))
    for start in range(len(text_words) - count + 1):
        run = tuple(text_words[start : start + count])
        if sum(map(len, run)) >= weights.LITERAL_RUN_LETTERS:
            yield run


def _segments(path: str) -> list[str]:
    return [piece for piece in path.split("/") if piece not in {"", ".", ".."}]


def _shared(sequence: Sequence[str], other: Sequence[str]) -> int:
    """Return how many segments two paths share at their ends."""
    return len(posixpath.commonprefix([list(reversed(sequence)), list(reversed(other))]))


def _spans_of(lexicon: Lexicon, document: int) -> tuple[int, int]:
    first = int(lexicon.document_first_span[document])
    return first, first + int(lexicon.document_span_count[document])


BARE_NAMES = frozenset({"__init__.py", "mod.rs", "index.js", "index.ts", "index.tsx", "main.rs", "lib.rs", "index.jsx"})
"""File names that occur in every folder."""


class Mentions(Struct, frozen=True):
    """Exact look-ups: `path` by document; `symbol` and `trace` by chunk (positions in the lexicon).

    `places` are those of the frames of a pasted trace and of the lines that a sentence asks about, the best first;
    `trace` is the strength of each chunk that the question names by a line, wherever. `asked` are definitions that are
    named and that words do not find; `is_named` is whether an everyday word that is written as a name has a definition.
    """

    path: FloatArray
    symbol: FloatArray
    trace: FloatArray
    places: tuple[TracedPlace, ...] = ()
    asked: tuple[NamedDefinition, ...] = ()
    is_named: bool = False


def look_up(query: Query, store: Store, lexicon: Lexicon) -> Mentions:
    """Resolve what the query names against the store."""
    values = _path_values(query, store, lexicon)
    path = _placed(lexicon.document_positions(values), values, len(lexicon.columns.document_id))
    defined = named_definitions(query, store, lexicon)
    symbol = definition_values(query, defined, len(lexicon.columns.chunk_row))
    traced_chunks, mentioned = traced_places(query, store, lexicon)
    trace = np.zeros(len(symbol))
    for traced in (*mentioned, *reversed(traced_chunks)):
        trace[traced.chunk] = traced.strength
    path[~lexicon.live_document] = 0.0
    asked = asked_definitions(query, defined, store, lexicon, path)
    is_named = any(defined[name] for name in everyday_names(query))
    return Mentions(path, symbol, trace, tuple(traced_chunks), tuple(dict.fromkeys(asked)), is_named)


def _placed(positions: IntArray, values: Mapping[int, float], total: int) -> FloatArray:
    """Return the values at their positions; those at -1 are left out."""
    column = np.zeros(total)
    inside = positions >= 0
    column[positions[inside]] = np.fromiter(values.values(), dtype=np.float64)[inside]
    return column


def _path_values(query: Query, store: Store, lexicon: Lexicon) -> dict[int, float]:
    """Return document ids with the weight of the best mention by path or module name."""
    values: dict[int, float] = defaultdict(float)
    names = {mention.text.rpartition("/")[2] for mention in query.paths}
    stems = {mention.text: mention for mention in query.symbols}
    by_name = lexicon.fetched("files by name", names, lambda new: _by_name(new, store.paths_named(new, [])))
    unknown = {name for name in names if "." in name and not by_name.get(name)} - _plain_names(query)  # not `and/or`
    by_name |= lexicon.fetched("files by spelling", unknown, lambda new: _spelled_otherwise(new, store))
    by_stem = lexicon.fetched("files by stem", stems, lambda new: _by_name(new, store.paths_named([], new)))
    for mention in query.paths:
        name = mention.text.rpartition("/")[2]
        matches, by_name_only = _path_matches(mention.text, by_name.get(name, []))
        worth = weights.FILE_NAME_WEIGHT if by_name_only else weights.PATH_WEIGHT
        if not matches or (by_name_only and (name in BARE_NAMES or is_vendored(mention.text))):
            continue
        for document in matches:
            values[document] = max(values[document], worth / len(matches) * weights.MENTION_ZONES[mention.zone])
    folders = {mention.text: mention for mention in query.paths if _may_be_folder(mention, by_name)}
    inside = lexicon.fetched("files by folder", folders, partial(_files_inside, store))
    for folder, mention in folders.items():  # all of its files are meant
        for document in inside[folder]:
            values[document] = max(values[document], weights.PATH_WEIGHT * weights.MENTION_ZONES[mention.zone])
    for stem, mention in stems.items():
        matches = [document for document, path in by_stem.get(stem, []) if path.rpartition("/")[2] not in BARE_NAMES]
        form = "compound" if mention.form == "dotted" else mention.form
        for document in matches:
            worth = weights.STEM_WEIGHTS[form] / len(matches) * weights.MENTION_ZONES[mention.zone]
            values[document] = max(values[document], worth)
    return values


def _may_be_folder(mention: Mention, by_name: Mapping[str, object]) -> bool:
    return mention.form == "folder" or ("/" in mention.text and not by_name.get(mention.text.rpartition("/")[2]))


def _folded_paths(store: Store, kind: Kind) -> str:
    """Return the paths of a kind in the form for comparison, each after a slash and on a line of its own."""
    return store.lexicon(kind).derived(
        _folded_paths, lambda: words.folded("".join([f"/{key}\n" for key in store.iterate_keys(kind)]))
    )


def _files_inside(store: Store, folders: Iterable[str]) -> dict[str, list[int]]:
    """Return the files and documents below each folder that ends with these segments, anywhere in the tree."""
    found: dict[str, list[int]] = {}
    for folder in folders:
        part = words.folded(f"/{'/'.join(_segments(folder))}/")
        found[folder] = []
        for kind in LINE_KINDS:
            if part in _folded_paths(store, kind):
                below = [key for key in store.iterate_keys(kind) if part in words.folded(f"/{key}")]
                found[folder] += store.document_ids(kind, below).values()
    return found


def _by_name(names: Iterable[str], files: Iterable[tuple[int, str]]) -> dict[str, list[tuple[int, str]]]:
    """Return the files with each of these names, or of these stems, in order."""
    groups: dict[str, list[tuple[int, str]]] = {name: [] for name in names}
    for document, path in files:
        name = path.rpartition("/")[2]
        stem = name.rpartition(".")[0] or name
        groups[name if name in groups else stem].append((document, path))
    return groups


def _plain_names(query: Query) -> set[str]:
    """Return mentions that may be the name of a product (`Vue.js`): their case has to be that of the file."""
    return {mention.text for mention in query.paths if "/" not in mention.text and mention.text.isascii()}


def _spelled_otherwise(names: Iterable[str], store: Store) -> dict[str, list[tuple[int, str]]]:
    """Return the files with each of these names in another case, or with accents apart from their letters."""
    asked = {name: words.folded(f"/{name}") for name in names}
    kinds = [kind for kind in LINE_KINDS if any(f"{key}\n" in _folded_paths(store, kind) for key in asked.values())]
    file_names = {key.rpartition("/")[2] for kind in kinds for key in store.iterate_keys(kind)}
    rows = store.paths_named([name for name in sorted(file_names) if words.folded(f"/{name}") in asked.values()], [])
    return {name: [row for row in rows if words.folded(f"/{row[1]}").endswith(key)] for name, key in asked.items()}


def _path_matches(mention: str, candidates: Sequence[tuple[int, str]]) -> tuple[list[int], bool]:
    """Return files with the longest suffix of the mentioned path, and whether that is the name of the file alone."""
    pieces = _segments(mention)
    for spelled in (str, words.folded):
        for length in range(len(pieces), 1, -1):
            suffix = spelled("/" + "/".join(pieces[-length:]))
            matches = [document for document, path in candidates if spelled(f"/{path}").endswith(suffix)]
            if matches:
                return matches, False
    named = [row for row, path in candidates if words.composed(path).rpartition("/")[2] == mention.rpartition("/")[2]]
    return named, True


def absent_places(query: Query, spoken: str, store: Store, lexicons: Sequence[Lexicon]) -> Iterator[str]:
    """Yield the files, lines and folders that the sentences `spoken` name and that are not in the index, as written."""
    spoken = spoken.replace("\\", "/")
    written = [mention.text for mention in query.paths if mention.zone in SENTENCES and mention.text in spoken]
    frames = [Frame(path, 0) for path in written if PLACE.fullmatch(path)]
    frames += [
        mention for mention in query.trace.mentions if "/" in mention.path or language_of(mention.path) is not None
    ]
    frames = [frame for frame in frames if frame.path.rpartition("/")[2] in spoken]
    every = [_Sources(frames, store, lexicon) for lexicon in lexicons] if frames else []
    absent: dict[str, None] = {}
    for frame in frames:
        last = [sources.last_line(document) for sources in every for document in sources.own_files(frame.path)]
        if not last:
            absent[frame.path] = None
        elif frame.line > max(last):
            absent[f"{frame.path}:{frame.line}"] = None
    folders = [path for path in written if "/" in path and _IN_FOLDER.search(spoken[: spoken.index(path)])]
    folders = [other for other in folders if "." not in other.rpartition("/")[2]]
    inside = (
        _files_inside(store, {part for path in folders for part in (path, path.partition("/")[0])}) if folders else {}
    )
    for folder in folders:
        if not inside[folder] and (folder.count("/") > 1 or inside[folder.partition("/")[0]]):
            absent[folder] = None
    yield from absent
