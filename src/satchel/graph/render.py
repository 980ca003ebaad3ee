"""The text of a graph context: head, nodes, names of nodes that did not fit, foot, and how they fill the budget.

The text never has more tokens than the budget. Nodes come first, but 200 tokens are reserved for the head and the names
of nodes that did not fit; the unused part is given to nodes. Numbers that depend on the count are tried until stable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from satchel.answer.candidates import Step
from satchel.answer.fitting import cut, refilled
from satchel.answer.items import build_items
from satchel.answer.packing import REFILLS, SMALLEST_PIECE, Inputs, Packing, TextFrame
from satchel.answer.render.frame import NOTICE, reference_lines
from satchel.answer.render.json import dumped
from satchel.answer.render.labels import quote
from satchel.answer.render.markdown import fenced
from satchel.answer.sections import Section
from satchel.answer.truncation import CHARACTERS_PER_TOKEN
from satchel.answer.write import SENT_SHARE, Fitted, within_room
from satchel.codec import iso_time
from satchel.graph.nodes import Overflow, field_lines, node_of
from satchel.graph.request import GraphRequest
from satchel.safety.sanitize import clean_field
from satchel.tokens import TokenCounter, count_within
from satchel.types import ContextItem, Detail, Format, ShownBefore

HEADER_RESERVE = 200
"""Tokens for head and overflow, as the specification has it."""

SUMMARY_BUDGET = 500
"""Below this budget there is no room for nodes beside a head: only their names are shown."""

NODE_FRAME = TextFrame(40, 0)
"""Estimated tokens of the heading, path and marks of a node."""

MAX_OVERFLOW, SUMMARY_OVERFLOW = 20, 100
"""Nodes that are named without being shown, and the same where only names are shown. The others are only counted."""

QUERY_SHOWN = 120
"""Largest number of characters of a query in the title."""


class Numbers(NamedTuple):
    """Counts in an answer: its tokens, the nodes shown, and the other nodes reached."""

    used: int
    included: int
    summarised: int


class GraphPage(NamedTuple):
    """Writes and counts the text. `rest` are all nodes, best first, as they are named in the overflow.

    `embeddings` says whether vectors were used; `shown_before` are lines naming the nodes that the session has had.
    """

    request: GraphRequest
    key: bytes
    counter: TokenCounter
    rest: Sequence[Overflow]
    reached: int
    embeddings: bool
    warnings: Sequence[str]
    shown_before: tuple[str, ...]

    def overflow(self, items: Sequence[ContextItem], limit: int) -> list[Overflow]:
        """Return the best nodes that are not among these items."""
        shown = {item.metadata["node"]["id"] for item in items}
        return [overflow for overflow in self.rest if overflow.id not in shown][:limit]

    def head(self, numbers: Numbers) -> str:
        """Return everything before the first node."""
        return _json_head(self, numbers) if self.request.format is Format.JSON else _markdown_head(self, numbers)

    def text(self, items: Sequence[ContextItem], overflow: Sequence[Overflow]) -> tuple[str, int]:
        """Return the text and its tokens, which it says itself."""
        used = self.request.max_tokens
        # A count inside the text that it counts is stable after one or two tries; more would be a bug.
        for _ in range(8):
            text = self._written(items, overflow, Numbers(used, len(items), max(self.reached - len(items), 0)))
            count = self.counter.count(text)
            if count == used:
                break
            used = count
        return text, count

    def _written(self, items: Sequence[ContextItem], overflow: Sequence[Overflow], numbers: Numbers) -> str:
        if self.request.format is Format.JSON:
            named = [other._asdict() for other in overflow]
            rows = [{name: value for name, value in row.items() if name != "place" or value} for row in named]
            return f'{self.head(numbers)}{",".join(map(_json_node, items))}],"overflow":{dumped(rows)}}}'
        nodes = "".join(map(_markdown_node, items))
        return self.head(numbers) + nodes + _markdown_tail(self.shown_before, overflow, numbers.summarised)


def references(before: Sequence[ShownBefore], counter: TokenCounter, budget: int, *, is_all: bool) -> tuple[str, ...]:
    """Return lines for the references that fit beside nodes, or into the whole budget with `is_all`."""
    # Tokens reserved for head and foot where an answer has only references; the rest of them stays unused.
    lines = within_room(before, counter, budget - 250 if is_all else budget * SENT_SHARE)
    return reference_lines(lines, len(before) - len(lines))


# Markdown: a heading, a line about the node and one marked block for each node


def _markdown_head(page: GraphPage, numbers: Numbers) -> str:
    request = page.request
    lines = [
        f"# Context: {quote(clean_field(request.query, QUERY_SHOWN))}",
        NOTICE,
        (
            f"*workspace {quote(request.workspace)}, lens {quote(request.lens.name)}, depth {request.depth}; "
            f"{numbers.included} nodes, {numbers.summarised} summarised; "
            f"{numbers.used} of {request.max_tokens} tokens; {iso_time(request.now)[:19]}Z*"
        ),
        *(f"*note: {quote(warning)}*" for warning in page.warnings),
    ]
    return "\n".join(lines) + "\n\n"


def _markdown_node(item: ContextItem) -> str:
    """Write name and tags, score, distance and path, then text and fields. The name is written once."""
    node = node_of(item.metadata)
    detail = "" if item.detail is Detail.FULL else " (shortened)"
    about = f"*score {node['score']:.2f}, distance {node['distance']}{_path_text(node)}{detail}{_place_text(node)}*"
    first, _, rest = item.content.partition("\n")
    content = rest.lstrip("\n") if first.lstrip("# ") == node["name"] else item.content
    body = "\n".join(part for part in (content, *field_lines(node.get("fields", {}))) if part)
    block = f"{fenced(item, body)}\n" if body else ""
    return f"## {_titled(node['name'], node['tags'])}\n{about}\n{block}\n"


def _markdown_tail(shown_before: Sequence[str], overflow: Sequence[Overflow], summarised: int) -> str:
    before = "".join(f"Shown before: {line}\n" for line in shown_before)
    if not overflow:
        return before + (f"*and {summarised} more nodes*" if summarised else "---")
    lines = [f"- {_titled(other.name, other.tags)}{_place_of(other)} ({other.score:.2f})" for other in overflow]
    more = summarised - len(overflow)
    return before + "\n".join(["## Also related", *lines, *([f"- and {more} more"] if more > 0 else [])])


def _place_of(overflow: Overflow) -> str:
    return (
        f", {quote(overflow.place)}"
        if overflow.place and overflow.place.rpartition(":")[0] not in overflow.name
        else ""
    )


def _titled(name: str, tags: Sequence[str]) -> str:
    return quote(f"{name} [{', '.join(tags)}]" if tags else name)


def _path_text(node: Mapping[str, Any]) -> str:
    """Return the path to a node: `: child > Plan, then reference (in) > Budget`."""
    hops = [
        f"{hop['type']}{' (in)' if hop['direction'] == 'in' else ''}"
        f"{' at line ' + str(hop['line']) if 'line' in hop else ''} > {quote(hop['name'])}"
        for hop in node["path"]
    ]
    return f": {', then '.join(hops)}" if hops else ""


def _place_text(node: Mapping[str, Any]) -> str:
    place = node.get("location")
    stale = ", stale" if "freshness" in node else ""
    return f", {quote(place['file'])}:{place['lines']}{stale}" if place is not None else ""


# JSON: the object of the specification, `meta`, `nodes`, `overflow`


def _json_head(page: GraphPage, numbers: Numbers) -> str:
    request = page.request
    meta: dict[str, Any] = {
        "notice": NOTICE,
        "query": request.query,
        "workspace": request.workspace,
        "lens": request.lens.name,
        "tokens": {
            "budget": request.max_tokens,
            "used": numbers.used,
            "utilization": round(numbers.used / request.max_tokens, 2),
            "nodesIncluded": numbers.included,
            "nodesSummarized": numbers.summarised,
        },
        "assembledAt": f"{iso_time(request.now)[:19]}Z",
        "backend": "sqlite",  # the specification requires the name of the store
        "embeddings": page.embeddings,
    }
    more = {"warnings": list(page.warnings), "shownBefore": list(page.shown_before)}
    return f'{{"meta":{dumped(meta | {name: lines for name, lines in more.items() if lines})},"nodes":['


def _json_node(item: ContextItem) -> str:
    """Return one object; `fields`, `location` and `freshness` only where there are any."""
    node = node_of(item.metadata)
    row: dict[str, Any] = {"id": node["id"], "name": node["name"], "content": item.content, "tags": node["tags"]}
    row |= {key: node[key] for key in ("fields", "location", "freshness") if key in node}
    if item.detail is not Detail.FULL:
        row["detail"] = item.detail.value
    return dumped(row | {key: node[key] for key in ("score", "distance", "path")})


# Filling the budget


def fitted_page(page: GraphPage, section: Section, uncap: Callable[[], None]) -> tuple[Fitted, list[Overflow]]:
    """Choose the nodes that are shown and name the others; the text has at most the tokens of the budget.

    `uncap` lets one node use all the room: what the others leave is for the shortened ones. Both results are empty
    where not even head and foot fit.
    """
    limit = page.request.max_tokens
    head = page.counter.count(page.head(Numbers(limit, 0, 0)))
    # Difference in value (a score of .05) from which a node is only named once a better one had no room: a tiny one
    # two steps away filled the last tokens beside the names of nearer ones.
    inputs = Inputs([section], page.counter, NODE_FRAME, merges_twins=False, clearly_less=0.5)
    packing = Packing(inputs, limit - max(HEADER_RESERVE, head))

    def write() -> Fitted:
        items = build_items(packing, page.key)
        return Fitted(packing, *page.text(items, ()), tuple(items))

    maximum = SUMMARY_OVERFLOW
    if limit >= SUMMARY_BUDGET:
        maximum = MAX_OVERFLOW
        packing.fit()
        bare = write()
        kept = limit - _overflow_tokens(page, bare, max(HEADER_RESERVE - head, 0))
        refilled(bare, write, lambda fitted: kept - fitted.used)
        uncap()
        _grow(page, section, packing, lambda: kept - write().used)
    fitted = cut(write(), limit, lambda _, over: write() if packing.take_back(over) else None)
    if fitted.used > limit:
        return Fitted(packing), []
    overflow = page.overflow(fitted.items, maximum)
    named = overflow[: count_within(len(overflow), limit, lambda count: page.text(fitted.items, overflow[:count])[1])]
    text, used = page.text(fitted.items, named)
    return replace(fitted, text=text, used=used), named


def _grow(page: GraphPage, section: Section, packing: Packing, spare_room: Callable[[], int]) -> None:
    """Show more of the shortened nodes, the best first, while there is room."""
    picks = [group.picks[-1] for group in packing.groups[section].values()]
    for candidate, step in sorted(picks, key=lambda pick: (-pick[0].value, pick[0].chunk.id)):
        shrink = candidate.shrink
        if shrink is None or step.detail is Detail.FULL:
            continue
        for _ in range(REFILLS):
            spare = spare_room()
            if spare < SMALLEST_PIECE:
                return
            text = packing.groups[section][candidate.group].picks[-1][1].text
            characters = len(text) * (1 + spare / max(page.counter.count(text), 1))
            longer = [Step(Detail.FULL, text=candidate.body), *shrink(characters / CHARACTERS_PER_TOKEN)]
            longer = [longest for longest in longer if len(longest.text) > len(text)]
            if not packing.offer(section, candidate.offering(longer), spare):
                break


def _overflow_tokens(page: GraphPage, bare: Fitted, room: int) -> int:
    """Return the tokens of as many names of the overflow as fit into the room reserved for them."""
    overflow = page.overflow(bare.items, MAX_OVERFLOW)

    def tokens_with(count: int) -> int:
        return page.text(bare.items, overflow[:count])[1] - bare.used

    count = count_within(len(overflow), room, tokens_with)
    return tokens_with(count) if count else 0
