"""What an answer says besides its nodes, and the two ways to write both: Markdown, and the JSON of the specification.

Everything here is counted. Numbers that depend on the count come in as arguments and are tried until they are stable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from satchel.assemble.graph.fields import field_lines
from satchel.assemble.graph.nodes import node_of
from satchel.assemble.pack import LINES_SHARE, within_room
from satchel.assemble.render.frame import NOTICE, reference_lines
from satchel.assemble.render.json import dumped
from satchel.assemble.render.labels import quote
from satchel.assemble.render.markdown import fenced
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
class Frame:
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


def with_shown_before(frame: Frame, known: Sequence[ShownBefore], counter: TokenCounter, *, is_all: bool) -> Frame:
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

    def head(self, frame: Frame, numbers: Numbers) -> str:
        """Everything before the first node."""
        ...

    def node(self, item: ContextItem) -> str:
        """One node."""
        ...

    def tail(self, frame: Frame, overflow: Sequence[Overflow], numbers: Numbers) -> str:
        """Everything after the last node."""
        ...


class MarkdownWriter:
    """A heading, a line of ours and one marked block a node."""

    NODE_JOIN = ""

    def head(self, frame: Frame, numbers: Numbers) -> str:
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

    def tail(self, frame: Frame, overflow: Sequence[Overflow], numbers: Numbers) -> str:
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

    def head(self, frame: Frame, numbers: Numbers) -> str:
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

    def tail(self, frame: Frame, overflow: Sequence[Overflow], numbers: Numbers) -> str:  # noqa: ARG002 - as Markdown
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
