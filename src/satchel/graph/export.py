"""Graphs as nodes and edges for other programs, and the shortest path between two definitions.

A path follows what one definition uses: calls, inheritance and members first, and imports of files only where these do
not lead to the other end. If the first end does not reach the second, the path from the second to the first is shown.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from satchel.answer.resources import Resources
from satchel.graph.nodes import Nodes, Rated
from satchel.graph.request import Direction, GraphRequest, Move
from satchel.graph.walk import WalkEdge, related
from satchel.search.relations import Relations
from satchel.types import EdgeType

MAX_NODES = 200
"""Nodes of an exported neighbourhood, the best first: more cannot be read in a picture."""

MAX_STEPS, MAX_SEEN = 12, 5_000
"""Length limit of a path, and of the nodes that one search looks at."""

PATH_SECONDS = 10.0
"""Least time that a path may take: every definition on the way is parsed, and whoever asks for one waits for it."""

_USES = tuple(Move(edge, Direction.OUT, rank) for rank, edge in enumerate(
    (EdgeType.CALLS, EdgeType.INHERITS, EdgeType.CONTAINS)))  # fmt: skip
_IMPORTS = (*_USES, Move(EdgeType.IMPORTS, Direction.OUT, len(_USES)))


class DrawnNode(NamedTuple):
    """A node: its id for `satchel graph`, its name, kind and place (`src/client.py:12`), empty for a record."""

    id: str
    name: str
    kind: str
    place: str


class DrawnEdge(NamedTuple):
    """A relation from `source` to `target`, both ids of nodes; `line` is that of a call in its source, 0 if unknown."""

    source: str
    target: str
    relation: str
    line: int


class GraphDrawing(NamedTuple):
    """Nodes and edges; of a path in its order. `is_reversed`: the path leads from the second end to the first."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    warnings: tuple[str, ...] = ()
    is_reversed: bool = False


def neighbourhood(request: GraphRequest, rated: Sequence[Rated], resources: Resources) -> GraphDrawing:
    """Return the best nodes that a walk reached, and every relation between them."""
    rows = [other.row for other in rated[:MAX_NODES]]
    steps = related(Relations(resources.store), resources.store.places(rows), request.lens.moves)
    left = len(rated) - len(rows)
    warnings = [*(rated[0].walk.warnings if rated else ()), *([f"{left:,} more nodes were reached"] if left else ())]
    return _drawn(request, resources, rows, [step for step in steps if step.target in set(rows)], warnings)


def path_between(
    request: GraphRequest, first: Sequence[int], last: Sequence[int], resources: Resources
) -> GraphDrawing:
    """Return the shortest path from one of the `first` nodes to one of the `last`; without edges if there is none."""
    relations = Relations(resources.store)
    ends = {side: _with_members(relations, rows) for side, rows in (("first", first), ("last", last))}
    seconds = max(request.deadline_seconds, PATH_SECONDS)
    until = time.monotonic() + seconds
    for moves in (_USES, _IMPORTS):
        for starts, goals, is_reversed in ((first, ends["last"], False), (last, ends["first"], True)):
            steps = _shortest(relations, starts, goals, moves, until)
            if steps is not None:
                rows = [steps[0].source, *(step.target for step in steps)] if steps else starts[:1]
                return _drawn(request, resources, rows, steps, ())._replace(is_reversed=is_reversed)
    late = time.monotonic() >= until
    why = f"the search ended after {seconds:g} s" if late else "neither reaches the other"
    return _drawn(request, resources, [first[0], last[0]], [], (f"no path of calls, inheritance or imports: {why}",))


def _with_members(relations: Relations, rows: Sequence[int]) -> set[int]:
    """Return definitions with what they contain: who calls a method of a class uses the class."""
    places = relations.code.store.places(rows)
    return {*rows, *(step.target for step in related(relations, places, [_USES[-1]]))}


def _shortest(
    relations: Relations, starts: Sequence[int], goals: Collection[int], moves: Sequence[Move], until: float
) -> list[WalkEdge] | None:
    """Return the steps from one of `starts` to one of `goals`, breadth first; None if there is no path."""
    came: dict[int, WalkEdge | None] = dict.fromkeys(starts)
    frontier, found = [*starts], next((row for row in starts if row in goals), 0)
    for _ in range(MAX_STEPS):
        if found or not frontier or len(came) > MAX_SEEN or time.monotonic() >= until:
            break
        steps = related(relations, relations.code.store.places(frontier), moves)
        new = {step.target: step for step in reversed(steps) if step.target not in came}
        came |= new
        frontier = sorted(new)
        found = next((row for row in frontier if row in goals), 0)
    if not found:
        return None
    path = []
    while (step := came[found]) is not None:
        path.append(step)
        found = step.source
    return path[::-1]


def _drawn(
    request: GraphRequest, resources: Resources, rows: Sequence[int], steps: Iterable[WalkEdge], warnings: Sequence[str]
) -> GraphDrawing:
    nodes = Nodes(resources.store, resources.lines, request, resources.allow, resources.prefix)
    nodes.load_rows(rows)
    drawn = {
        row: DrawnNode(nodes.identity(row), nodes.name(row), str(nodes.kind(row)), nodes.start(row)) for row in rows
    }
    edges: dict[DrawnEdge, None] = {}
    for step in steps:
        source, target = drawn[step.source].id, drawn[step.target].id
        if step.move.direction is Direction.IN:
            source, target = target, source
        edges[DrawnEdge(source, target, str(step.move.type), step.line)] = None
    return GraphDrawing(tuple(dict.fromkeys(drawn.values())), tuple(edges), tuple(warnings))


def as_text(drawing: GraphDrawing) -> str:
    """Return a path as lines: each end of a step with its place, and the relation with its line."""
    if not drawing.edges:
        return "".join(f"{_named(node)}\n" for node in drawing.nodes)
    by_id = {node.id: node for node in drawing.nodes}
    count, first, last = len(drawing.edges), drawing.nodes[0].name, drawing.nodes[-1].name
    way = ", not the other way" if drawing.is_reversed else ""
    lines = [f"{count} step{'s' if count > 1 else ''} from {first} to {last}{way}", _named(drawing.nodes[0])]
    for edge in drawing.edges:
        at = f", line {edge.line}" if edge.line else ""
        lines.append(f"  {edge.relation}{at}: {_named(by_id[edge.target])}")
    return "\n".join(lines) + "\n"


def _named(node: DrawnNode) -> str:
    return f"{node.name}  {node.place}" if node.place and node.place.rpartition(":")[0] != node.name else node.name


def as_mermaid(drawing: GraphDrawing) -> str:
    """Return a flow chart for Mermaid."""
    names = {node.id: f"n{number}" for number, node in enumerate(drawing.nodes)}
    lines = ["flowchart LR"]
    lines += [f'    {names[node.id]}["{_entities(_named(node))}"]' for node in drawing.nodes]
    lines += [
        f'    {names[edge.source]} -->|"{_entities(_labelled(edge))}"| {names[edge.target]}' for edge in drawing.edges
    ]
    return "\n".join(lines) + "\n"


def _labelled(edge: DrawnEdge) -> str:
    return f"{edge.relation}, line {edge.line}" if edge.line else edge.relation


def _entities(text: str) -> str:
    """Return a text in which nothing is a mark of Mermaid, HTML or Markdown."""
    return "".join(one if one.isalnum() or one in " ._-/:,()" else f"#{ord(one)};" for one in text)


def as_graphml(drawing: GraphDrawing) -> str:
    """Return a document of GraphML, which Gephi, yEd and NetworkX read."""
    keys = [("node", name) for name in DrawnNode._fields[1:]] + [("edge", "relation"), ("edge", "line")]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [
        f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{"int" if name == "line" else "string"}"/>'
        for of, name in keys
    ]
    lines.append('  <graph edgedefault="directed">')
    for node in drawing.nodes:
        lines.append(
            f"    <node id={quoteattr(node.id)}>{_data(dict(zip(node._fields[1:], node[1:], strict=True)))}</node>"
        )
    for edge in drawing.edges:
        data = _data({"relation": edge.relation, "line": edge.line or ""})
        lines.append(f"    <edge source={quoteattr(edge.source)} target={quoteattr(edge.target)}>{data}</edge>")
    return "\n".join([*lines, "  </graph>", "</graphml>"]) + "\n"


def _data(values: Mapping[str, object]) -> str:
    return "".join(f'<data key="{key}">{escape(str(value))}</data>' for key, value in values.items() if value)


EXPORTS = {"mermaid": as_mermaid, "graphml": as_graphml}
"""Format -> its writer."""
