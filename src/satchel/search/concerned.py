"""What a change concerns: callers of what is being changed, its tests, what it calls, and who changed it before.

Found by the relations of the store, not by words. A hit found this way ranks with the best of its kind, by how near
it is to the change. Weights are judgements from reading answers about real changes, not measured optima.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from satchel.search.query import Mention, Query, QueryTerm, Zone, analyse
from satchel.search.searcher import SearchResult, document_of
from satchel.sources.change import Change, ChangedFile
from satchel.store.protocol import Store
from satchel.store.records import Bundle, StoredPart
from satchel.types import EdgeType, Hit, Kind, Role, Signal, Span

SIGNAL = "change"

CHANGED = 1.0
CHANGED_TEST = 0.3
CALLER = 0.9
TEST = 0.8
HEIR = 0.7
CALLEE = 0.45
COMMIT = 0.6
"""How near something is to the change: what is changed itself (a test or an example less, it says little), who calls
it, tests of it, who inherits from it, what it calls, commits that touched all of its files."""

ANOTHER_OWNER = 0.5
"""Of a caller in a file that does not import the changed one: it may call something else of the same name."""

MOST_DEFINITIONS = 4
"""A name that more documents than this define is ambiguous: its calls are followed only from files that import it."""

MOST_RELATED = 80
"""Documents found by relation that go on to the packer, the nearest first."""

MOST_COMMITS = 40
MOST_FILES = 40
"""Commits found by their files, and the files of a commit up to which it says something about one of them."""

MOST_TOUCHED_ONLY = 3
"""Commits that only touched the files and share no word with the question: the last few say what is going on there."""

TOUCHED_ONLY = 0.2
"""Of the value of a commit that touched the changed files and shares no word with the question."""

HALF_LIFE_SECONDS = 3 * 365.25 * 86_400
"""A commit of three years before the newest counts half."""

WORD_FACTOR = 0.25
"""Of the words of a change beside those of a question."""

WINDOW_LINES = 12
"""What is shown of a caller too large to be shown whole: so many lines around each call."""

OWN_FILE = 0.4
"""Of the value of what a changed file holds besides: it shares all words with the change, and is open anyway."""

SMALL_LINES = 24
"""A part of so many lines is one window."""


def blended(query: Query, change: Change) -> Query:
    """The question with what the change names and, at low weight, with the words of the changed lines."""
    names = " ".join(f"`{name}`" for name in change.names)
    own = analyse(names)
    known = {term.term for term in query.terms}
    lines = analyse("\n".join(["", *(f"    {line}" for line in change.words.split("\n"))]))
    extra: dict[str, float] = {}
    for source in (own, lines):
        for term in source.terms:
            extra[term.term] = max(extra.get(term.term, 0.0), term.weight)
    factor = WORD_FACTOR if query.terms else 1.0
    terms = [QueryTerm(term, weight * factor, 0.0) for term, weight in extra.items() if term not in known]
    symbols = [Mention(one.text, one.form, Zone.PROSE, one.qualifier) for one in own.symbols]
    return replace(query, terms=(*query.terms, *terms), symbols=(*query.symbols, *symbols))


@dataclass(frozen=True, slots=True)
class Related:
    """A document that a change concerns: how near it is, 0 to 1, and the names by which it refers to the change."""

    weight: float
    names: frozenset[str] = frozenset()


def with_change(result: SearchResult, change: Change, store: Store, kind: Kind) -> SearchResult:
    """The hits of a search and those that the change concerns, best first."""
    if kind is Kind.CODE:
        rest = [_own_file(hit, change) for hit in result.hits]
        return replace(result, hits=_merged(rest, _code_hits(result.hits, change, store)))
    if kind is Kind.COMMIT:
        return replace(result, hits=_merged(result.hits, _commit_hits(result.hits, change, store)))
    return result


def _merged(found: Sequence[Hit], related: Sequence[Hit]) -> tuple[Hit, ...]:
    by_id = {hit.document.id: hit for hit in found}
    by_id |= {hit.document.id: hit for hit in related}
    return tuple(sorted(by_id.values(), key=lambda hit: (-hit.score, hit.document.id)))


def _own_file(hit: Hit, change: Change) -> Hit:
    location = hit.document.location
    if location is None or change.file(location.path) is None:
        return hit
    faded = tuple(replace(span, value=span.value + math.log(OWN_FILE)) for span in hit.spans)
    return replace(hit, score=hit.score + math.log(OWN_FILE), spans=faded)


def is_changed(change: Change, hit: Hit, start: int, end: int) -> bool:
    """Whether the change itself touches these lines of a document: a definition by its name, all else by its lines."""
    location = hit.document.location
    file = change.file(location.path) if location is not None else None
    if file is None:
        return False
    if hit.document.role in (Role.FUNCTION, Role.METHOD, Role.CLASS):
        return hit.document.title in file.names
    return any(first <= end and start <= last for first, last in file.ranges)


def _code_hits(found: Sequence[Hit], change: Change, store: Store) -> list[Hit]:
    related = relations(change, store)
    rows = sorted(related, key=lambda row: (-related[row].weight, row))[:MOST_RELATED]
    parts = store.parts(rows)
    bundles = store.bundles({part.bundle for part in parts.values()})
    known = {hit.document.id: hit for hit in found}
    ceiling = max((hit.score for hit in found), default=0.0)
    top = max((hit.file_score for hit in found), default=1.0)
    hits = []
    for row in rows:
        part, relation = parts[row], related[row]
        document = document_of(bundles[part.bundle], part)
        hit = known.get(document.id) or Hit(document, 0.0, -math.inf)
        value = max(hit.score, ceiling + math.log(relation.weight))
        hits.append(
            replace(
                hit,
                relevance=max(hit.relevance, relation.weight),
                score=value,
                spans=_spans(part, relation, store, value),
                signals=(*hit.signals, Signal(SIGNAL, round(relation.weight, 4), 1.0)),
                file_score=max(hit.file_score, top * relation.weight),
            )
        )
    return hits


def _spans(part: StoredPart, relation: Related, store: Store, value: float) -> tuple[Span, ...]:
    """The whole of a part as windows, first those that name what is changed."""
    if part.end - part.start < SMALL_LINES or not relation.names:
        return (Span(part.start, part.end, value),)
    lines = store.text(part.bundle).split("\n")[part.start - 1 : part.end]
    calls = [part.start + i for i, line in enumerate(lines) if any(name in line for name in relation.names)]
    spans: list[Span] = []
    for line in calls:
        if not spans or line > spans[-1].end:
            start = max(line - WINDOW_LINES // 2, part.start, spans[-1].end + 1 if spans else 1)
            end = min(start + WINDOW_LINES - 1, part.end)
            spans.append(Span(start, end, value - 0.1 * len(spans)))
    return tuple(spans) or (Span(part.start, min(part.start + WINDOW_LINES - 1, part.end), value),)


def relations(change: Change, store: Store) -> dict[int, Related]:
    """Document row -> how it is related to the change; the nearest relation counts."""
    found: dict[int, Related] = {}

    def add(row: int, weight: float, name: str = "") -> None:
        known = found.get(row, Related(0.0))
        names = known.names | {name} if name else known.names
        found[row] = Related(max(known.weight, weight), names)

    own = _changed_rows(change, store)
    for row, weight in own.items():
        add(row, weight)
    for row, weight, name in _dependents(change, store):
        if row not in own:
            add(row, weight, name)
    for row, weight in _callees([row for row, nearness in own.items() if nearness == CHANGED], store):
        if row not in own:
            add(row, weight)
    return found


def _changed_rows(change: Change, store: Store) -> dict[int, float]:
    rows: dict[int, float] = {}
    for file in change.files:
        bundle = store.bundle(Kind.CODE, file.path) if file.names else None
        if bundle is not None:
            parts = store.parts(range(bundle.first_document, bundle.last_document + 1))
            weight = CHANGED_TEST if bundle.secondary else CHANGED
            rows |= {row: weight for row, part in parts.items() if part.name in file.names}
    return rows


def _dependents(change: Change, store: Store) -> Iterable[tuple[int, float, str]]:
    """Who calls or inherits from what is changed: (row, weight, name)."""
    files_of: dict[str, list[ChangedFile]] = defaultdict(list)
    for file in change.files:
        for name in (*file.names, *file.removed):
            files_of[_called(name)].append(file)
    counts = _definition_counts(files_of, store)
    edges = store.edges_to(sorted(files_of), [EdgeType.CALLS, EdgeType.INHERITS])
    parts = store.parts({row for row, _, _ in edges})
    bundles = store.bundles({part.bundle for part in parts.values()})
    imports = _imports({part.bundle: bundles[part.bundle] for part in parts.values()}, store)
    for row, type_, name in edges:
        bundle = bundles[parts[row].bundle]
        tied = any(file.path == bundle.key or _stem(file.path) in imports[bundle.id] for file in files_of[name])
        if not tied and counts[name] > MOST_DEFINITIONS:
            continue
        certainty = 1.0 if tied else ANOTHER_OWNER / max(counts[name], 1)
        nearness = HEIR if type_ is EdgeType.INHERITS else TEST if bundle.secondary else CALLER
        yield row, nearness * certainty, name


def _called(name: str) -> str:
    """How a call names a definition: the last part of its name, a constructor by its class."""
    owner, _, last = name.rpartition(".")
    return owner.rpartition(".")[2] if owner and last in {"__init__", "constructor", "new"} else last


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _stem(path: str) -> str:
    """What an import calls a file: `errors` for `shop/errors.py`, the folder for a file that stands for it."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return folder.rpartition("/")[2] or stem if stem in {"__init__", "index", "mod", "lib", "main"} else stem


def _definition_counts(names: Iterable[str], store: Store) -> dict[str, int]:
    counts: dict[str, set[int]] = defaultdict(set)
    for definition in store.definitions(sorted(names)):
        counts[definition.name].add(definition.row)
    return defaultdict(int, {name: len(rows) for name, rows in counts.items()})


def _imports(bundles: dict[int, Bundle], store: Store) -> dict[int, set[str]]:
    """Bundle id -> the words of everything that it imports."""
    owner = {
        row: bundle.id for bundle in bundles.values() for row in range(bundle.first_document, bundle.last_document + 1)
    }
    words: dict[int, set[str]] = defaultdict(set)
    for row, _, target in store.edges_from(sorted(owner), [EdgeType.IMPORTS]):
        words[owner[row]] |= set(target.replace("/", ".").replace("::", ".").replace("\\", ".").split("."))
    return words


def _callees(rows: Iterable[int], store: Store) -> Iterable[tuple[int, float]]:
    names = {target for _, _, target in store.edges_from(sorted(rows), [EdgeType.CALLS])}
    definitions = store.definitions(sorted(names), most=MOST_DEFINITIONS)
    parts = store.parts({definition.row for definition in definitions})
    found: dict[str, list[int]] = defaultdict(list)
    for definition in definitions:
        # A function inside another one cannot be called from outside: `keys.extend` is not its local `extend`.
        if _last(parts[definition.row].name) == definition.name:
            found[definition.name].append(definition.row)
    for members in found.values():
        for row in members:
            yield row, CALLEE / len(members)


def _commit_hits(found: Sequence[Hit], change: Change, store: Store) -> list[Hit]:
    """Commits that touched the changed files: the more of them and the later, the nearer."""
    paths = [file.path for file in change.files]
    touched: dict[int, set[str]] = defaultdict(set)
    for row, _, path in store.edges_to(_with_former_names(paths, store), [EdgeType.TOUCHES]):
        touched[row].add(path)
    parts = store.parts(touched)
    bundles = store.bundles({part.bundle for part in parts.values()})
    visible = set(store.iterate_keys(Kind.COMMIT)) if parts else set()
    known = {hit.document.id: hit for hit in found}
    ceiling = max((hit.score for hit in found), default=0.0)
    weights = _path_weights(paths, touched, store)
    newest = max((bundle.created for bundle in bundles.values()), default=0.0)
    rated = []
    for row, part in parts.items():
        bundle = bundles[part.bundle]
        size = int(bundle.fields.get("file_count", 0)) or len(touched[row])
        if bundle.key in visible and size <= MOST_FILES:
            fade = 0.5 ** (max(newest - bundle.created, 0.0) / HALF_LIFE_SECONDS)
            share = sum(weights[path] for path in touched[row]) / sum(weights[path] for path in paths)
            rated.append((min(share, 1.0) * (0.5 + 0.5 * fade), bundle, part))
    rated.sort(key=lambda row: (-row[0], row[1].key))
    hits = []
    unasked = 0
    for share, bundle, part in rated[:MOST_COMMITS]:
        document = document_of(bundle, part)
        hit = known.get(document.id)
        if hit is None:
            unasked += 1
            if unasked > MOST_TOUCHED_ONLY:
                continue
        weight = COMMIT * share
        # A commit that also says what the question says stands before those that only touched the file.
        value = hit.score + math.log1p(share) if hit is not None else ceiling + math.log(weight * TOUCHED_ONLY)
        signal = Signal(SIGNAL, round(weight, 4), 1.0)
        base = hit or Hit(document, 0.0, value, (Span(part.start, part.end, value),))
        score = max(base.score, value)
        hits.append(replace(base, relevance=max(base.relevance, weight), score=score, signals=(*base.signals, signal)))
    return hits


def _path_weights(paths: Sequence[str], touched: Mapping[int, set[str]], store: Store) -> dict[str, float]:
    """What touching a path says: little for one that every third commit touches, such as a change log."""
    former = json.loads(store.meta("renames") or "{}")
    total = max(store.kinds().get(Kind.COMMIT, 0), 1)
    counts = Counter(path for files in touched.values() for path in files)
    weights = {path: math.log1p(total / (1 + count)) for path, count in counts.items()}
    return {path: weights.get(path, math.log1p(total)) for path in {*paths, *former, *weights}}


def _with_former_names(paths: Sequence[str], store: Store) -> list[str]:
    renames = json.loads(store.meta("renames") or "{}")
    now = frozenset(paths)
    return sorted({*paths, *(old for old, new in renames.items() if new in now)})
