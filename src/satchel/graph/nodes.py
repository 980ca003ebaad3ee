"""Candidates for the budget from the nodes of a walk: score, name, text, fields and path of each node.

    score = 0.40 nearness + 0.35 relevance + 0.25 recency, + 0.10 for a tag that the lens looks for, at most 1
    score = 0.60 nearness + 0.40 recency                   for a node id without any words to be relevant to

One of the two formulas applies to a whole request. Nearness is 1 / (distance + 1) times the relevance of the source
relative to the best one, times the worth of the relations on the way. Recency halves every 30 days.

A field is shown once, beside the text. In the files of a vault it is part of the text as well and is removed from it,
so that it does not cost tokens twice and `include_fields=False` hides it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

from satchel.answer.candidates import SHRINK_SHARES, Candidate, Step
from satchel.answer.source_lines import FileLines, Lines, Unreadable
from satchel.answer.text_lines import TextLines
from satchel.answer.truncation import CHARACTERS_PER_TOKEN
from satchel.graph.request import Direction, GraphRequest, Lens
from satchel.graph.walk import GraphWalk, Reached, WalkEdge
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.safety.trust import handle
from satchel.search.chunks import REVISION, chunk_of, identity_of, in_workspace
from satchel.search.rank_records import halved
from satchel.search.resolve.code import Code
from satchel.sources.notes import value_text, without_suffix
from satchel.sources.roles import file_role, is_inline_test
from satchel.store.protocol import Store
from satchel.store.records import Document, StoredChunk
from satchel.text import folded
from satchel.types import LINE_KINDS, Chunk, Data, Detail, EdgeType, Failure, Freshness, Hit, Json, Kind, Role, Signal

MAX_VALUES = 8
"""Values shown of one field; the others are only counted."""

VALUE_CHARACTERS = 200
"""Characters shown of one value, because a field is one line."""

_SENTENCE_END = re.compile(r"[.!?]+(?=\s)|[。！？]|\n")  # noqa: RUF001 - the marks of Chinese and Japanese

_NODE = "node"
"""The field of a chunk with its data as a node of the graph."""

DISTANCE_WEIGHT, RELEVANCE_WEIGHT, RECENCY_WEIGHT = 0.40, 0.35, 0.25
"""The weights of the specification for a request with words."""

BARE_DISTANCE_WEIGHT, BARE_RECENCY_WEIGHT = 0.60, 0.40
"""The weights for a node id alone."""

TAG_BOOST = 0.10
"""Added to the score for a tag of the lens; a relevance higher by 0.29 adds as much."""

UNDATED = 0.5
"""Recency of a node without a date: neither new nor old."""


class Rating(NamedTuple):
    """The score of a node, 0 to 1, and its parts."""

    total: float
    signals: tuple[Signal, ...]


def recency(moment: float, now: float) -> float:
    """Return 1 for now or later, 0.5 a half-life ago, `UNDATED` without a time. Both are in seconds."""
    if moment <= 0:
        return UNDATED
    return halved(now - moment)


def rate(reached: Reached, relevance: float, lens: Lens, now: float, *, has_words: bool) -> Rating:
    """Return the score of one node. `has_words` is the same for all nodes of a request."""
    place = reached.place
    signals = [
        Signal("distance", 1 / (reached.distance + 1), DISTANCE_WEIGHT if has_words else BARE_DISTANCE_WEIGHT),
        Signal("source", reached.source_factor, 0.0),
        Signal("edges", reached.edge_factor, 0.0),
        Signal("recency", recency(place.updated, now), RECENCY_WEIGHT if has_words else BARE_RECENCY_WEIGHT),
    ]
    is_faded = lens.is_about_code and (place.secondary or is_inline_test(place.key, place.name))
    # Factor of tests, examples and benchmarks relative to production code at the same distance, in a lens on code.
    nearness = reached.nearness * (0.8 if is_faded else 1.0)
    total = signals[0].weight * nearness + signals[3].weight * signals[3].value
    if has_words:
        signals.append(Signal("relevance", relevance, RELEVANCE_WEIGHT))
        total += RELEVANCE_WEIGHT * relevance
    if is_boosted(reached, lens):
        signals.append(Signal("tag", 1.0, TAG_BOOST))
        total += TAG_BOOST
    return Rating(min(total, 1.0), tuple(signals))


def is_boosted(reached: Reached, lens: Lens) -> bool:
    """Return whether a node has a tag that the lens looks for; a test file counts as tagged `test`."""
    tags = {tag.lower().lstrip("#") for tag in reached.place.tags}
    if reached.place.secondary:
        tags.add("test")
    return not tags.isdisjoint(lens.boost_tags)


FieldValue = str | list[str]


def shown_fields(stored: Data, always: Sequence[str], allow: Sequence[str]) -> dict[str, FieldValue]:
    """Return the fields of a note by name, those in `always` first: a text or a list, references by their names."""
    preferred = frozenset(name.lower() for name in always)
    note_fields = stored.get("fields")
    if not isinstance(note_fields, Mapping):
        return {}
    first = [name for name in note_fields if name.lower() in preferred]
    # Fields shown of a node beside those of its lens: enough for any template that people fill in by hand.
    rest = [name for name in note_fields if name.lower() not in preferred][:12]
    return {sanitize.line(name, allow=allow): _shown(note_fields[name], allow) for name in (*first, *rest)}


def _shown(values: Any, allow: Sequence[str]) -> FieldValue:
    listed = values if isinstance(values, list | tuple) else [values]
    texts = [sanitize.line(value_text(value), VALUE_CHARACTERS, allow) for value in listed[:MAX_VALUES]]
    if len(listed) > MAX_VALUES:
        texts.append(f"and {len(listed) - MAX_VALUES} more")
    return texts[0] if len(texts) == 1 else texts


def field_lines(fields: Mapping[str, FieldValue]) -> list[str]:
    """Return one line for each field, `status: active`."""
    return [
        f"{clean_field(name)}: {value if isinstance(value, str) else ', '.join(value)}"
        for name, value in fields.items()
    ]


def without_fields(text: str, fields: Mapping[str, FieldValue]) -> str:
    """Return the first chunk of a vault's file without front matter and lines that are only a field of `fields`."""
    from satchel.sources.front_matter import front_matter_lines
    from satchel.sources.vault import is_only_field, look_through

    lines = text.split("\n")
    begin = front_matter_lines(lines)
    written = look_through(lines, begin).fields if "::" in text else ()
    shown = {name: [value] if isinstance(value, str) else value for name, value in fields.items()}
    # Of many fields and values, and of a long one, only some are shown beside the text: the others stay in it.
    kept = {field.row for field in written if not {*field.values} <= {*shown.get(field.name, ())}}
    gone = {field.row for field in written if is_only_field(lines[field.row])} - kept
    return "\n".join(line for row, line in enumerate(lines[begin:], begin) if row not in gone).strip("\n")


class Rated(NamedTuple):
    """A node with its score and the walk that reached it."""

    row: int
    rating: Rating
    walk: GraphWalk


BLEND_RANK = 10.0
"""How slowly the score of a blend falls with the rank: the first of every query, then the second of every query."""


def blended(walks: Sequence[Sequence[Rated]]) -> tuple[Rated, ...]:
    """Merge several walks by their ranks, each with the same share; scores are 0 to 1.

    The best rank of a node decides, then its ranks in the other walks. It keeps the path of the walk that rates it
    best, and shows its rank in each as a signal.
    """
    ranks: dict[int, dict[int, int]] = {}
    best: dict[int, Rated] = {}
    for number, rated in enumerate(walks):
        for rank, node in enumerate(rated, 1):
            ranks.setdefault(node.row, {})[number] = rank
            if node.row not in best or node.rating.total > best[node.row].rating.total:
                best[node.row] = node
    fused = []
    for row, own in ranks.items():
        first, *others = sorted(own.values())
        shared = sum(1 / rank for rank in others) / len(walks)
        total = (BLEND_RANK + 1) / (BLEND_RANK + 1 + first - shared)
        signals = tuple(Signal(f"rank {number + 1}", float(rank), 0.0) for number, rank in sorted(own.items()))
        fused.append(best[row]._replace(rating=Rating(total, (*best[row].rating.signals, *signals))))
    fused.sort(key=lambda other: (-other.rating.total, -best[other.row].rating.total, other.row))
    return tuple(fused)


class Overflow(NamedTuple):
    """A node that is only named. `place` is the path and line of code, else empty."""

    id: str
    name: str
    tags: tuple[str, ...]
    score: float
    place: str = ""


class Nodes:
    """The stored chunks of a walk; each document is read once."""

    def __init__(
        self, store: Store, lines: FileLines, request: GraphRequest, allow: Sequence[str], prefix: str = ""
    ) -> None:
        """`prefix` is the workspace before paths and ids (`web/`), empty for the root itself."""
        self._lines, self._request, self._allow, self.prefix = lines, request, allow, prefix
        self._code = Code(store)
        self._texts: dict[int, str] = {}
        self._line: Callable[[str], str] = cache(lambda text: sanitize.line(text, allow=allow))
        self.notes: list[Failure] = []
        self.shown_files: dict[str, str] = {}
        # Largest share of the budget for one node, so that a long note does not hide its neighbours.
        # A node up to this size is shown in full in any budget: most notes are shorter.
        self.cap = max(400, int(request.max_tokens * 0.25))

    def uncap(self) -> None:
        """Let one node have all the room that is left."""
        self.cap = self._request.max_tokens

    def load(self, nodes: Sequence[Rated]) -> None:
        """Read these nodes with their texts, and the nodes on the way to them, at once."""
        paths = [(node.row, node.walk.path(node.row)) for node in nodes]
        self._code.load(
            row
            for end, path in paths
            for row in (end, *(step.source for step in path), *(step.target for step in path))
        )
        self._texts |= self._code.store.texts(dict.fromkeys(self._code.document_of(node.row).id for node in nodes))

    def load_rows(self, rows: Iterable[int]) -> None:
        """Read these nodes without their texts, at once."""
        self._code.load(rows)

    def kind(self, row: int) -> Kind:
        """Return the kind of a node."""
        return self._code.document_of(row).kind

    def start(self, row: int) -> str:
        """Return the place where a part of a file begins, `src/client.py:12`; empty for any other."""
        part, document = self._code.part(row), self._code.document_of(row)
        if document.kind not in LINE_KINDS:
            return ""
        return self._line(f"{self.prefix}{document.key}:{part.start}")

    def name(self, row: int) -> str:
        """Return the name of a node: the title of a note, the name of a definition, the path of a file."""
        part, document = self._code.part(row), self._code.document_of(row)
        if part.name and document.kind is not Kind.COMMIT:
            return self._line(part.name)
        if document.kind in LINE_KINDS and row != document.first_chunk:
            return self._line(f"{self.prefix}{document.key}:{part.start}-{part.end}")
        title = f"{self.prefix}{document.key}" if document.kind in LINE_KINDS else document.title
        return self._line(title or document.key)

    def identity(self, row: int) -> str:
        """Return the id of a node in queries: the key of a note as in its export, else the chunk's id."""
        part, document = self._code.part(row), self._code.document_of(row)
        if document.kind is Kind.NOTE and not part.name:
            return f"{self.prefix}{document.key}"
        kind, _, rest = identity_of(document, part).partition(":")
        identity = f"{kind}:{self.prefix}{rest}"
        return identity.partition(":")[2] if document.kind is Kind.NOTE else identity

    def tags(self, row: int) -> list[str]:
        """Return the tags of a node."""
        return [self._line(tag) for tag in self._code.document_of(row).tags]

    def candidate(self, rated: Rated) -> Candidate:
        """Return a node as a candidate for the budget."""
        row, reached = rated.row, rated.walk.reached[rated.row]
        part, document = self._code.part(row), self._code.document_of(row)
        chunk = in_workspace(Hit(chunk_of(document, part), 0.0, 0.0), self.prefix).chunk
        info: Json = {
            "id": self.identity(row),
            "name": self.name(row),
            "tags": self.tags(row),
            "score": round(rated.rating.total, 4),
            "distance": reached.distance,
            "path": self.path(rated),
        }
        if reached.step is not None:
            first = rated.walk.path(row)[0].source
            info["start"] = {"id": self.identity(first), "name": self.name(first)}
        if self._request.include_fields and row == document.first_chunk:
            fields = self._fields(document)
            info |= {"fields": fields} if fields else {}
        lines = ((part.start, part.end),) if chunk.location is not None else ()
        own: Json = {_NODE: info, REVISION: (document.content_hash, lines)}
        if chunk.location is not None:
            info["location"] = {"file": chunk.location.path, "lines": f"{part.start}-{part.end}"}
            info["role"] = "test" if is_inline_test(document.key, part.name) else file_role(document.key)
            if self._is_stale(document):
                info["freshness"] = "stale"
        shown = replace(chunk, title=info["name"], location=None, role=Role.RECORD, fields=own)
        total = rated.rating.total
        hit = Hit(shown, total, total, signals=rated.rating.signals)
        body = self._body(part, document, has_file=chunk.location is not None)
        size = len(body) / CHARACTERS_PER_TOKEN

        def steps() -> list[Step]:
            return [Step(Detail.FULL, text=body)] if size <= self.cap else []

        shrink = partial(self._shortened, body, shown)
        # A node's score (0 to 1) times this is its value on the log scale: its rank decides, hardly its size.
        return Candidate(hit, 10.0 * total, size, 0, steps, shrink, body=body)

    def path(self, rated: Rated) -> list[Json]:
        """Return the path to a node as in the answer: one entry for each step, with the node that it leads to."""
        return [
            {
                "id": self.identity(step.target),
                "name": self.name(step.target),
                "type": step.move.type.value,
                "direction": step.move.direction.value,
                **({"line": line} if (line := step.line or self._link_line(step)) else {}),
            }
            for step in rated.walk.path(rated.row)
        ]

    def _link_line(self, step: WalkEdge) -> int:
        """Return the line of a link between two notes of a vault; 0 for any other relation."""
        ends = (step.source, step.target) if step.move.direction is Direction.OUT else (step.target, step.source)
        holder, linked = map(self._code.document_of, ends)
        if step.move.type not in (EdgeType.REFERENCE, EdgeType.FIELD) or holder.kind is not Kind.NOTE:
            return 0
        from satchel.sources.vault import stored_links  # here, because code has none of them

        names = {folded(field) for field in (linked.title, *linked.fields.get("aliases", ()), _bare(linked.key))}
        part = self._code.part(ends[0])
        lines = (
            link.line
            for link in stored_links(holder.fields)
            if holder.rows[link.part] == part.row
            and {folded(_bare(link.target.partition("#")[0])), folded(link.target)} & names
        )
        return next(lines, 0)

    def place(self, rated: Rated) -> str:
        """Return the place of a node of code, `src/client.py:12`, at the call that led to it; else empty."""
        part, document = self._code.part(rated.row), self._code.document_of(rated.row)
        if document.kind not in LINE_KINDS:
            return ""
        step = rated.walk.reached[rated.row].step
        is_call = step is not None and step.line and step.move.direction is Direction.IN
        return self._line(f"{self.prefix}{document.key}:{step.line if step is not None and is_call else part.start}")

    def overflow(self, rated: Rated) -> Overflow:
        """Return a node as it is named in the overflow."""
        row, score = rated.row, round(rated.rating.total, 4)
        return Overflow(self.identity(row), self.name(row), tuple(self.tags(row)), score, self.place(rated))

    def lines(self, row: int) -> tuple[Lines, tuple[int, int]] | None:
        """Return the indexed lines of the file of a node and the range of the node; None for a note or record."""
        part, document = self._code.part(row), self._code.document_of(row)
        if document.kind not in LINE_KINDS:
            return None
        text = TextLines(self._texts[document.id])
        marks = (Freshness.STALE,) * len(text) if self._is_stale(document) else ()
        return Lines(f"{self.prefix}{document.key}", text, document.content_hash, marks), (part.start, part.end)

    def _fields(self, document: Document) -> dict[str, FieldValue]:
        return shown_fields(document.fields, self._request.lens.include_fields, self._allow)

    def _body(self, part: StoredChunk, document: Document, *, has_file: bool) -> str:
        text = self._texts[document.id]
        if has_file:
            text = "\n".join(text.split("\n")[part.start - 1 : part.end])
        if document.kind is Kind.NOTE and has_file and part.row == document.first_chunk:
            text = without_fields(text, self._fields(document))
        return sanitize.text(text, self._allow).strip("\n")

    def _is_stale(self, document: Document) -> bool:
        """Return whether the file of a node has changed since it was indexed; noted once for each file."""
        if document.key in self.shown_files:
            return self.shown_files[document.key] != document.content_hash
        read = self._lines.read(document.key, document.content_hash, lambda: self._texts[document.id])
        now = "" if isinstance(read, Unreadable) else read.content_hash
        self.shown_files[document.key] = now
        if now != document.content_hash:
            self._lines.note_mismatch(document.key)
            reason = read.reason if isinstance(read, Unreadable) else "changed"
            self.notes.append(
                Failure("files", f"{self.prefix}{document.key} is not as indexed ({reason})", "it is shown as it was")
            )
        return now != document.content_hash

    def _shortened(self, body: str, chunk: Chunk, room: float) -> Iterator[Step]:
        """Yield shortened versions of a node for about so many tokens, the longest first."""
        note = f"… (shortened; handle {handle(chunk.id, *chunk.fields[REVISION])} gives all of it)"
        for share in SHRINK_SHARES:
            characters = int(min(room * share, self.cap) * CHARACTERS_PER_TOKEN)
            # A shortened node has at least so many tokens of text: less says no more than its name in the overflow.
            if 50 * CHARACTERS_PER_TOKEN <= characters < len(body):
                yield Step(Detail.SPAN, text=f"{_beginning(body, characters)}\n{note}")


def _bare(path: str) -> str:
    """Return the name of a note without its folder and suffix."""
    return without_suffix(path.strip().rpartition("/")[2])


def _beginning(body: str, characters: int) -> str:
    """Return the beginning of a text, to the end of a sentence, line or word near the limit."""
    head = body[:characters]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    # Least share of the room that a text cut at a sentence fills; else it is cut at a word.
    index = ends[-1] if ends and ends[-1] > characters * 0.7 else head.rfind(" ")
    return (head[:index] if index > characters // 2 else head).rstrip()


def node_of(fields: Data) -> Data:
    """Return the data of a shown chunk as a node, from its fields."""
    node = fields[_NODE]
    assert isinstance(node, Mapping)
    return node
