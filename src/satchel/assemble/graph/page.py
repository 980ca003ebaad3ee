"""Filling the budget of a graph context, by the law that holds for every other: the text is counted, and never over.

Nodes come first, but 200 tokens are kept for the head and for the names of what did not fit. What of these is not used
goes to the nodes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from satchel.assemble.graph.frame import Frame as GraphFrame
from satchel.assemble.graph.frame import Numbers, Overflow, Writer
from satchel.assemble.items import build_items
from satchel.assemble.packer import REFILLS, SMALLEST_PIECE, Fitted, Frame, Packer
from satchel.assemble.section import Section
from satchel.tokens import TokenCounter
from satchel.types import ContextItem

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
            return Fitted(), []


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
