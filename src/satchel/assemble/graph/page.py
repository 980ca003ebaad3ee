"""Filling the budget of a graph context, by the law that holds for every other: the text is counted, and never over.

Nodes come first, but 200 tokens are kept for the head and for the names of what did not fit. What of these is not used
goes to the nodes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile

from satchel.assemble.candidates import Candidate
from satchel.assemble.fit import Fitter
from satchel.assemble.graph.frame import Frame, Numbers, Overflow, Writer
from satchel.assemble.items import build_item, build_items
from satchel.assemble.pack import Fitted
from satchel.assemble.section import Section
from satchel.assemble.shown import Group
from satchel.tokens import TokenCounter
from satchel.types import ContextItem

HEADER_RESERVE = 200
"""Tokens for head and overflow, as the specification has it."""

SUMMARY_BUDGET = 500
"""Below this budget there is no room for nodes beside a head: their names are all that is shown."""

NODE_FRAME_TOKENS = 40
"""Heading, path and marks of a node, roughly."""

MOST_OVERFLOW = 20
"""Nodes that are named without being shown; the others are a number."""

SUMMARY_OVERFLOW = 100
"""The same where names are all that is shown."""

STABLE_TRIES = 8
"""A number inside the text that it counts settles after one or two; more would be a mistake of ours."""


class _NoTwins:
    """Two nodes that say the same are two nodes: where they stand is what differs."""

    def is_duplicate(self, section: Section, candidate: Candidate) -> bool:  # noqa: ARG002 - the protocol
        return False

    def forget(self, candidate: Candidate) -> None:
        pass


@dataclass(slots=True)
class GraphPage:
    """Writes and counts what is shown. `rest` are all nodes, best first, as they are named in the overflow."""

    frame: Frame
    writer: Writer
    key: bytes
    counter: TokenCounter
    rest: Sequence[Overflow]
    reached: int
    _nodes: dict[int, tuple[ContextItem, str, int]] = field(default_factory=dict)
    """Each node as it is written, with its tokens, by the identity of its item: a changed item is another one."""

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
        nodes = self.writer.NODE_JOIN.join(self._node(item)[1] for item in items)
        return self.writer.head(self.frame, numbers) + nodes + self.writer.tail(self.frame, overflow, numbers)

    def _node(self, item: ContextItem) -> tuple[ContextItem, str, int]:
        known = self._nodes.get(id(item))
        if known is None or known[0] is not item:
            text = self.writer.node(item)
            known = self._nodes[id(item)] = (item, text, self.counter.count(text))
        return known

    def tokens(self, sections: Sequence[Section]) -> int:
        """Tokens with the nodes of these sections and no overflow, as the sum over its parts."""
        items = build_items(sections, self.key)
        numbers = Numbers(self.frame.budget, len(items), max(self.reached - len(items), 0))
        frame = self.writer.head(self.frame, numbers) + self.writer.tail(self.frame, (), numbers)
        joins = max(len(items) - 1, 0) if self.writer.NODE_JOIN else 0
        return self.counter.count(frame) + joins + sum(self._node(item)[2] for item in items)

    def exact_tokens(self, sections: Sequence[Section]) -> int:
        """The same, counted on the whole text."""
        return self.counter.count(self._written(build_items(sections, self.key), (), self.frame.budget))

    def item_tokens(self, group: Group) -> int:
        """Tokens of one node."""
        return self._node(build_item(group, self.key))[2]


def fitted_page(page: GraphPage, section: Section) -> tuple[Fitted, list[Overflow]]:
    """Choose the nodes that are shown and name the others; the text has at most the tokens of the frame's budget.

    All is empty where not even the frame fits.
    """
    limit = page.frame.budget
    fitters: list[Fitter] = []
    if limit >= SUMMARY_BUDGET:
        head = page.counter.count(page.writer.head(page.frame, Numbers(limit, 0, 0)))
        reserved = max(HEADER_RESERVE - head, 0)
        every, section.candidates = section.candidates, _first(page, section.candidates)
        fitters.append(_fill(page, section, limit - reserved))
        section.candidates = every
        named = page.overflow(build_items([section], page.key), MOST_OVERFLOW)
        kept = _named(page, section, named, reserved)
        fitters.append(_fill(page, section, limit - kept))
    most = MOST_OVERFLOW if fitters else SUMMARY_OVERFLOW
    while True:
        items = build_items([section], page.key)
        result = _written(page, items, page.overflow(items, most))
        if result is not None:
            (text, used), overflow = result
            return Fitted(text, used, tuple(items)), overflow
        if not any(fitter.take_back() for fitter in reversed(fitters)):
            return Fitted("", 0, ()), []


def _first(page: GraphPage, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best nodes, as many as roughly fit: to fill with more and take them back one by one costs 20 ms."""
    costs = accumulate(
        NODE_FRAME_TOKENS + page.counter.count(one.steps[0].text if one.steps else "") for one in candidates
    )
    return [one for one, _ in takewhile(lambda row: row[1] <= page.frame.budget, zip(candidates, costs, strict=False))]


def _fill(page: GraphPage, section: Section, limit: int) -> Fitter:
    fitter = Fitter(page.counter, limit, page.tokens, page.exact_tokens, page.item_tokens, _NoTwins())
    fitter.fit([section])
    return fitter


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
) -> tuple[tuple[str, int], list[Overflow]] | None:
    """The text with as many names of the overflow as fit, None where it is over the budget without any."""
    least, most = 0, len(overflow)
    bare = page.text(items, ())
    if bare[1] > page.frame.budget:
        return None
    best: tuple[tuple[str, int], list[Overflow]] = bare, []
    while least < most:
        middle = (least + most + 1) // 2
        text = page.text(items, overflow[:middle])
        if text[1] <= page.frame.budget:
            least, best = middle, (text, overflow[:middle])
        else:
            most = middle - 1
    return best
