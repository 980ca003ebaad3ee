"""From what a walk reached to candidates for the budget: name, text, fields and path of each node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from satchel import outside
from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Step
from satchel.assemble.graph.fields import shown_fields, without_fields
from satchel.assemble.graph.lenses import Direction
from satchel.assemble.graph.request import GraphRequest
from satchel.assemble.graph.score import Rating
from satchel.assemble.graph.walk import Walk
from satchel.assemble.source_lines import FileLines, Lines, Unreadable
from satchel.keys import handle
from satchel.search.documents import document_id, document_of
from satchel.store.protocol import Store
from satchel.store.records import Bundle, StoredPart
from satchel.types import Detail, Document, Failure, Freshness, Hit, Kind, Role

MIN_NODE_TOKENS = 50
"""A node is shown whole, or with so many tokens of its text: less of it says no more than its name in the overflow."""

NODE_SHARE = 0.25
"""Of the budget, one node takes at most this much, so that a long note does not hide what stands around it."""

WHOLE_NODE_TOKENS = 400
"""A node up to this size is shown whole in any budget: what people write in one note is mostly shorter."""

RANK_SCALE = 10.0
"""A node's score (0 to 1) times this is its value on the log scale: its rank decides, hardly its size."""

SHORTENINGS = 4
"""Each half as long as the one before, so that what is left of a budget is filled."""

_NODE = "node"
"""The field of a document that holds what the graph knows of it."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A node with its score, and the walk that it was reached on."""

    row: int
    rating: Rating
    walk: Walk


class Nodes:
    """The stored documents of a walk, each bundle read once."""

    def __init__(self, store: Store, lines: FileLines, request: GraphRequest, allow: Sequence[str]) -> None:
        self._store, self._lines, self._request, self._allow = store, lines, request, allow
        self._parts: dict[int, StoredPart] = {}
        self._bundles: dict[int, Bundle] = {}
        self._texts: dict[int, str] = {}
        self._known_lines: dict[str, str] = {}
        self.notes: list[Failure] = []
        self.shown_files: dict[str, str] = {}
        self.cap = max(WHOLE_NODE_TOKENS, int(request.max_tokens * NODE_SHARE))

    def load(self, rows: Iterable[int]) -> None:
        """Read these documents at once."""
        missing = [row for row in dict.fromkeys(rows) if row not in self._parts]
        parts = self._store.parts(missing)
        self._parts |= parts
        wanted = {part.bundle for part in parts.values()} - self._bundles.keys()
        self._bundles |= self._store.bundles(wanted)

    def load_texts(self, rows: Iterable[int]) -> None:
        """Read the texts of these documents at once; they are loaded already."""
        self._texts |= self._store.texts(dict.fromkeys(self._parts[row].bundle for row in rows))

    def name(self, row: int) -> str:
        """What a node is called: the title of a note, the name of a definition, the path of a file."""
        part, bundle = self._parts[row], self._bundles[self._parts[row].bundle]
        if part.name and bundle.kind is not Kind.COMMIT:
            return self._line(part.name)
        if bundle.kind in (Kind.CODE, Kind.DOC) and row != bundle.first_document:
            return self._line(f"{bundle.key}:{part.start}-{part.end}")
        title = bundle.key if bundle.kind in (Kind.CODE, Kind.DOC) else bundle.title
        return self._line(title or bundle.key)

    def _line(self, text: str) -> str:
        known = self._known_lines.get(text)
        if known is None:
            known = self._known_lines[text] = outside.line(text, allow=self._allow)
        return known

    def identity(self, row: int) -> str:
        """The id by which a node is asked for: the key of a note as it stands in its export, else the document's id."""
        part = self._parts[row]
        bundle = self._bundles[part.bundle]
        if bundle.kind is Kind.NOTE and not part.name:
            return bundle.key
        identity = document_id(bundle.kind, bundle.key, part.name, part.twin, part.start, part.end)
        return identity.partition(":")[2] if bundle.kind is Kind.NOTE else identity

    def tags(self, row: int) -> list[str]:
        """The tags of a node."""
        tags = self._bundles[self._parts[row].bundle].tags
        return [self._line(tag) for tag in tags]

    def candidate(self, rated: Rated) -> Candidate:
        """A node as something that may be shown."""
        row, reached = rated.row, rated.walk.reached[rated.row]
        part, bundle = self._parts[row], self._bundles[self._parts[row].bundle]
        document = document_of(bundle, part)
        info: dict[str, Any] = {
            "id": self.identity(row),
            "name": self.name(row),
            "tags": self.tags(row),
            "score": round(rated.rating.total, 4),
            "distance": reached.distance,
            "path": self.path(rated),
        }
        if self._request.include_fields and row == bundle.first_document:
            fields = shown_fields(bundle.fields, self._request.lens.include_fields, self._allow)
            info |= {"fields": fields} if fields else {}
        if document.location is not None:
            info["location"] = {"file": bundle.key, "lines": f"{part.start}-{part.end}"}
            if self._is_stale(bundle):
                info["freshness"] = "stale"
        shown = replace(
            document, title=info["name"], location=None, role=Role.RECORD, fields={_NODE: info, "bundle": bundle.id}
        )
        total = rated.rating.total
        hit = Hit(shown, total, total, signals=rated.rating.signals)
        body = self._body(part, bundle, has_file=document.location is not None)
        candidate = Candidate(
            hit, RANK_SCALE * total, len(body) / CHARACTERS_PER_TOKEN, 0, lambda: self._steps(body, shown)
        )
        candidate.body = body
        return candidate

    def path(self, rated: Rated) -> list[dict[str, Any]]:
        """The way to a node as in the answer: one entry a hop, each with the node that it leads to."""
        return [
            {
                "id": self.identity(hop.row),
                "name": self.name(hop.row),
                "type": hop.type.value,
                "direction": hop.direction.value,
                **({"line": hop.line} if hop.line else {}),
            }
            for hop in rated.walk.path(rated.row)
        ]

    def place(self, rated: Rated) -> str:
        """Where a node of code stands, `src/client.py:12`: the line of its call, if that led here; else empty."""
        part, bundle = self._parts[rated.row], self._bundles[self._parts[rated.row].bundle]
        if bundle.kind not in (Kind.CODE, Kind.DOC):
            return ""
        hop = rated.walk.reached[rated.row].hop
        is_call = hop is not None and hop.line and hop.direction is Direction.IN
        return self._line(f"{bundle.key}:{hop.line if hop is not None and is_call else part.start}")

    def lines(self, row: int) -> tuple[Lines, tuple[int, int]] | None:
        """The lines of the file of a node as they were indexed, and which of them it is; None for a note or record."""
        part, bundle = self._parts[row], self._bundles[self._parts[row].bundle]
        if bundle.kind not in (Kind.CODE, Kind.DOC):
            return None
        text = tuple(self._texts[bundle.id].split("\n"))
        marks = (Freshness.STALE,) * len(text) if self._is_stale(bundle) else ()
        return Lines(bundle.key, text, bundle.content_hash, marks), (part.start, part.end)

    def _body(self, part: StoredPart, bundle: Bundle, *, has_file: bool) -> str:
        text = self._texts[bundle.id]
        if has_file:
            text = "\n".join(text.split("\n")[part.start - 1 : part.end])
        if bundle.kind is Kind.NOTE and has_file:
            text = without_fields(text, is_first=part.row == bundle.first_document)
        return outside.text(text, self._allow).strip("\n")

    def _is_stale(self, bundle: Bundle) -> bool:
        """Whether the file of a node is not as it was indexed; said once a file."""
        if bundle.key in self.shown_files:
            return self.shown_files[bundle.key] != bundle.content_hash
        found = self._lines.read(bundle.key, bundle.content_hash, lambda: self._texts[bundle.id])
        now = "" if isinstance(found, Unreadable) else found.content_hash
        self.shown_files[bundle.key] = now
        if now != bundle.content_hash:
            self._lines.note_mismatch()
            reason = found.reason if isinstance(found, Unreadable) else "changed"
            self.notes.append(Failure("files", f"{bundle.key} is not as indexed ({reason})", "it is shown as it was"))
        return now != bundle.content_hash

    def _steps(self, body: str, document: Document) -> list[Step]:
        cap = self.cap
        size = len(body) / CHARACTERS_PER_TOKEN
        steps = [Step(Detail.FULL, text=body)] if size <= cap else []
        note = f"… (shortened; handle {handle(document.id, '', ())} gives all of it)"
        most = min(cap, size / 2) if steps else cap
        for _ in range(SHORTENINGS):
            if most < MIN_NODE_TOKENS:
                break
            steps.append(Step(Detail.WINDOW, text=f"{_beginning(body, int(most * CHARACTERS_PER_TOKEN))}\n{note}"))
            most /= 2
        return steps


def _beginning(body: str, characters: int) -> str:
    """The beginning of a text, to the end of a line or word near the limit."""
    head = body[:characters]
    for mark in ("\n", " "):
        place = head.rfind(mark)
        if place > characters // 2:
            return head[:place].rstrip()
    return head.rstrip()


def node_of(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the graph knows of a shown document, from its fields."""
    node = fields[_NODE]
    assert isinstance(node, Mapping)
    return node
