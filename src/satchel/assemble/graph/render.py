"""The text of a graph context: head, nodes, what did not fit, foot, and how they fill the budget.

All of it is counted, and the text never has more tokens than the budget. Nodes come first, but 200 tokens are kept for
the head and for the names of what did not fit. What these do not use goes to the nodes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from satchel.assemble.graph.nodes import field_lines, node_of
from satchel.assemble.items import build_items
from satchel.assemble.pack import EMPTY, REFILLS, Fitted
from satchel.assemble.packer import SMALLEST_PIECE, Frame, Packer
from satchel.assemble.references import LINES_SHARE, within_room
from satchel.assemble.render.json import dumped
from satchel.assemble.render.labels import quote
from satchel.assemble.render.layout import NOTICE, reference_lines
from satchel.assemble.render.markdown import fenced
from satchel.assemble.section import Section
from satchel.clean import clean_field
from satchel.tokens import TokenCounter
from satchel.types import ContextItem, Detail, Format, ShownBefore

HEAD_TOKENS = 250
"""What head and foot take at most, beside references alone; what is left of it stays unused."""

QUERY_SHOWN = 120
"""Characters of a query in the title."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """A node that is only named. `tags` are as it has them; `place` is where code stands, else empty."""

    id: str
    name: str
    tags: tuple[str, ...]
    score: float
    place: str = ""


@dataclass(frozen=True, slots=True)
class GraphFrame:
    """The request as the answer repeats it. `now` is in seconds; `embeddings` says whether vectors took part.

    `shown_before` names what the session has already, line by line.
    """

    query: str
    workspace: str
    lens: str
    depth: int
    budget: int
    now: float
    backend: str
    embeddings: bool
    warnings: tuple[str, ...] = ()
    shown_before: tuple[str, ...] = ()

    @property
    def assembled_at(self) -> str:
        """The time of the request: `2026-02-22T18:30:00Z`."""
        return f"{datetime.fromtimestamp(self.now, UTC):%Y-%m-%dT%H:%M:%SZ}"


def with_shown_before(
    frame: GraphFrame, known: Sequence[ShownBefore], counter: TokenCounter, *, is_all: bool
) -> GraphFrame:
    """The frame with as many references as have room beside nodes, or as there is room for where `is_all` there is."""
    room = (frame.budget - HEAD_TOKENS) if is_all else frame.budget * LINES_SHARE
    lines = within_room(known, counter, room)
    return replace(frame, shown_before=reference_lines(lines, len(known) - len(lines)))


@dataclass(frozen=True, slots=True)
class Numbers:
    """What an answer counts: its tokens, the nodes shown, and all others that were reached."""

    used: int
    included: int
    summarised: int


class Writer(Protocol):
    """One format: the text is head, nodes with `NODE_JOIN` between them, overflow, foot."""

    NODE_JOIN: str

    def head(self, frame: GraphFrame, numbers: Numbers) -> str:
        """Everything before the first node."""
        ...

    def node(self, item: ContextItem) -> str:
        """One node."""
        ...

    def tail(self, frame: GraphFrame, overflow: Sequence[Overflow], numbers: Numbers) -> str:
        """Everything after the last node."""
        ...


class MarkdownWriter:
    """A heading, a line of ours and one marked block a node."""

    NODE_JOIN = ""

    def head(self, frame: GraphFrame, numbers: Numbers) -> str:
        """Title, notice, and the request in one line."""
        lines = [
            f"# Context: {quote(clean_field(frame.query, QUERY_SHOWN))}",
            NOTICE,
            (
                f"*workspace {quote(frame.workspace)}, lens {quote(frame.lens)}, depth {frame.depth}; "
                f"{numbers.included} nodes, {numbers.summarised} summarised; {numbers.used} of {frame.budget} tokens; "
                f"{frame.assembled_at}*"
            ),
            *(f"*note: {quote(warning)}*" for warning in frame.warnings),
        ]
        return "\n".join(lines) + "\n\n"

    def node(self, item: ContextItem) -> str:
        """Name and tags, score, distance and path, then text and fields. The name is said once."""
        node = node_of(item.metadata)
        detail = "" if item.detail is Detail.FULL else " (shortened)"
        about = f"*score {node['score']:.2f}, distance {node['distance']}{_path_text(node)}{detail}{_place_text(node)}*"
        fields = field_lines(node.get("fields", {}))
        first, _, rest = item.content.partition("\n")
        content = rest if first == node["name"] else item.content
        body = "\n".join(part for part in (content, *fields) if part)
        block = f"{fenced(item, body)}\n" if body else ""
        return f"## {_titled(node['name'], node['tags'])}\n{about}\n{block}\n"

    def tail(self, frame: GraphFrame, overflow: Sequence[Overflow], numbers: Numbers) -> str:
        """What was shown before, and the names of what was not shown."""
        before = "".join(f"Shown before: {line}\n" for line in frame.shown_before)
        if not overflow:
            return before + (f"*and {numbers.summarised} more nodes*" if numbers.summarised else "---")
        lines = [f"- {_titled(one.name, one.tags)}{_place_of(one)} ({one.score:.2f})" for one in overflow]
        more = numbers.summarised - len(overflow)
        return before + "\n".join(["## Also related", *lines, *([f"- and {more} more"] if more > 0 else [])])


def _place_of(one: Overflow) -> str:
    return f", {quote(one.place)}" if one.place and one.place.rpartition(":")[0] not in one.name else ""


def _titled(name: str, tags: Sequence[str]) -> str:
    return quote(f"{name} [{', '.join(tags)}]" if tags else name)


def _path_text(node: Mapping[str, Any]) -> str:
    """`: child > Plan, then reference (in) > Budget`: how the walk came here."""
    hops = [
        f"{hop['type']}{' (in)' if hop['direction'] == 'in' else ''}{_line_text(hop)} > {quote(hop['name'])}"
        for hop in node["path"]
    ]
    return f": {', then '.join(hops)}" if hops else ""


def _line_text(hop: Mapping[str, Any]) -> str:
    return f" at line {hop['line']}" if "line" in hop else ""


def _place_text(node: Mapping[str, Any]) -> str:
    place = node.get("location")
    if place is None:
        return ""
    stale = ", stale" if "freshness" in node else ""
    return f", {quote(place['file'])}:{place['lines']}{stale}"


class JsonWriter:
    """The object of the specification: `meta`, `nodes`, `overflow`."""

    NODE_JOIN = ","

    def head(self, frame: GraphFrame, numbers: Numbers) -> str:
        """`meta`, and the beginning of `nodes`."""
        meta: dict[str, Any] = {
            "notice": NOTICE,
            "query": frame.query,
            "workspace": frame.workspace,
            "lens": frame.lens,
            "tokens": {
                "budget": frame.budget,
                "used": numbers.used,
                "utilization": round(numbers.used / frame.budget, 2),
                "nodesIncluded": numbers.included,
                "nodesSummarized": numbers.summarised,
            },
            "assembledAt": frame.assembled_at,
            "backend": frame.backend,
            "embeddings": frame.embeddings,
        }
        if frame.warnings:
            meta["warnings"] = list(frame.warnings)
        if frame.shown_before:
            meta["shownBefore"] = list(frame.shown_before)
        return f'{{"meta":{dumped(meta)},"nodes":['

    def node(self, item: ContextItem) -> str:
        """One object; `fields`, `location` and `freshness` only where there are any."""
        node = node_of(item.metadata)
        row: dict[str, Any] = {
            "id": node["id"],
            "name": node["name"],
            "content": item.content,
            "tags": node["tags"],
        }
        row |= {key: node[key] for key in ("fields", "location", "freshness") if key in node}
        if item.detail is not Detail.FULL:
            row["detail"] = item.detail.value
        return dumped(row | {key: node[key] for key in ("score", "distance", "path")})

    def tail(self, frame: GraphFrame, overflow: Sequence[Overflow], numbers: Numbers) -> str:  # noqa: ARG002 - as Markdown
        """The end of `nodes`, and `overflow`."""
        rows = [
            {"id": one.id, "name": one.name, "tags": list(one.tags), "score": one.score}
            | ({"place": one.place} if one.place else {})
            for one in overflow
        ]
        return f'],"overflow":{dumped(rows)}}}'


def writer_of(layout: Format) -> Writer:
    """The writer of a format."""
    return JsonWriter() if layout is Format.JSON else MarkdownWriter()


HEADER_RESERVE = 200
"""Tokens for head and overflow, as the specification has it."""

SUMMARY_BUDGET = 500
"""Below this budget there is no room for nodes beside a head: their names are all that is shown."""

NODE_FRAME = Frame(40, 0)
"""Heading, path and marks of a node, roughly."""

MOST_OVERFLOW = 20
"""Nodes that are named without being shown; the others are a number."""

SUMMARY_OVERFLOW = 100
"""The same where names are all that is shown."""

STABLE_TRIES = 8
"""A number inside the text that it counts settles after one or two; more would be a mistake of ours."""


@dataclass(slots=True)
class GraphPage:
    """Writes and counts what is shown. `rest` are all nodes, best first, as they are named in the overflow."""

    frame: GraphFrame
    writer: Writer
    key: bytes
    counter: TokenCounter
    rest: Sequence[Overflow]
    reached: int

    def overflow(self, items: Sequence[ContextItem], most: int) -> list[Overflow]:
        """The best nodes that are not among these items."""
        shown = {item.metadata["node"]["id"] for item in items}
        return [one for one in self.rest if one.id not in shown][:most]

    def text(self, items: Sequence[ContextItem], overflow: Sequence[Overflow]) -> tuple[str, int]:
        """The text and its tokens, which it says itself."""
        used = self.frame.budget
        for _ in range(STABLE_TRIES):
            text = self._written(items, overflow, used)
            count = self.counter.count(text)
            if count == used:
                break
            used = count
        return text, count

    def _written(self, items: Sequence[ContextItem], overflow: Sequence[Overflow], used: int) -> str:
        numbers = Numbers(used, len(items), max(self.reached - len(items), 0))
        nodes = self.writer.NODE_JOIN.join(self.writer.node(item) for item in items)
        return self.writer.head(self.frame, numbers) + nodes + self.writer.tail(self.frame, overflow, numbers)


def fitted_page(page: GraphPage, section: Section) -> tuple[Fitted, list[Overflow]]:
    """Choose the nodes that are shown and name the others; the text has at most the tokens of the frame's budget.

    All is empty where not even the frame fits.
    """
    limit = page.frame.budget
    packer = Packer([section], page.counter, NODE_FRAME, merges_twins=False, is_strict=False)
    if limit >= SUMMARY_BUDGET:
        head = page.counter.count(page.writer.head(page.frame, Numbers(limit, 0, 0)))
        packer.fill(limit - max(HEADER_RESERVE, head))
        named = page.overflow(build_items([section], page.key), MOST_OVERFLOW)
        kept = _named(page, section, named, max(HEADER_RESERVE - head, 0))
        for _ in range(REFILLS):
            spare = limit - kept - page.text(build_items([section], page.key), ())[1]
            if spare < SMALLEST_PIECE or not packer.refill(spare):
                break
    most = MOST_OVERFLOW if limit >= SUMMARY_BUDGET else SUMMARY_OVERFLOW
    while True:
        items = build_items([section], page.key)
        over = page.text(items, ())[1] - limit
        if over <= 0:
            (text, used), overflow = _written(page, items, page.overflow(items, most))
            return Fitted(text, used, tuple(items)), overflow
        if not packer.take_back(over):
            return EMPTY, []


def _named(page: GraphPage, section: Section, overflow: Sequence[Overflow], room: int) -> int:
    """The tokens that the names of the overflow take, as many of them as fit into the room kept for them."""
    items = build_items([section], page.key)
    bare = page.text(items, ())[1]
    taken = 0
    for count in range(1, len(overflow) + 1):
        more = page.text(items, overflow[:count])[1] - bare
        if more > room:
            break
        taken = more
    return taken


def _written(
    page: GraphPage, items: Sequence[ContextItem], overflow: list[Overflow]
) -> tuple[tuple[str, int], list[Overflow]]:
    """The text, which fits without them, with as many names of the overflow as fit."""
    least, most = 0, len(overflow)
    best: tuple[tuple[str, int], list[Overflow]] = page.text(items, ()), []
    while least < most:
        middle = (least + most + 1) // 2
        text = page.text(items, overflow[:middle])
        if text[1] <= page.frame.budget:
            least, best = middle, (text, overflow[:middle])
        else:
            most = middle - 1
    return best
