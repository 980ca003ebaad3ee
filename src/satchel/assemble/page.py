"""The text of what is shown so far, and its tokens, counted part by part."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.assemble.items import build_item, build_items, draft_item
from satchel.assemble.render import RenderRequest, render_item, render_parts
from satchel.assemble.section import Section
from satchel.assemble.shown import Group
from satchel.tokens import TokenCounter
from satchel.types import ContextItem, Format, View


class Page:
    """Renders sections for one request. Parts that did not change since the last count are not counted again."""

    def __init__(self, request: RenderRequest, layout: Format, key: bytes, counter: TokenCounter) -> None:
        self._request = request
        self._layout = layout
        self._key = key
        self._counter = counter
        self._known: dict[str, int] = {}
        self._written: dict[int, tuple[ContextItem, str]] = {}
        self._weights: dict[tuple[object, ...], int] = {}
        self._made: dict[tuple[object, ...], ContextItem] = {}

    def text(self, sections: Sequence[Section]) -> tuple[str, list[ContextItem]]:
        """The rendered text and its items; both empty when nothing is shown."""
        items = self._items(sections)
        return ("".join(self._parts(items)) if items else ""), items

    def tokens(self, sections: Sequence[Section]) -> int:
        """Tokens of the text as the sum over its parts: the exact count up to a token where two parts meet."""
        return sum(self._count(part) for part in self._parts(self._items(sections)))

    def item_tokens(self, group: Group) -> int:
        """Tokens of the item made of one group, with its frame."""
        if group.item is not None or self._request.view is not View.SECTIONS:
            return self._count(self._write(self._item(group)))
        state = (group.kind, group.key, group.title, group.steps())
        known = self._weights.get(state)
        if known is None:
            text = render_item(draft_item(group, self._key), self._layout, show_code=self._request.show_code)
            known = self._weights[state] = self._count(text)
        return known

    def item_content_tokens(self, group: Group) -> int:
        """Tokens of what the item made of one group shows."""
        return self._count(self._item(group).content)

    def exact_tokens(self, sections: Sequence[Section]) -> int:
        """Tokens of the text as a whole."""
        return self._counter.count(self.text(sections)[0])

    def shown_tokens(self, sections: Sequence[Section]) -> int:
        """Tokens of what the items show, without any frame: what a soft budget is about."""
        return sum(self._count(item.content) for item in self._items(sections))

    def _items(self, sections: Sequence[Section]) -> list[ContextItem]:
        for section in sections:
            for group in section.groups.values():
                self._item(group)
        return build_items(sections, self._key)

    def _item(self, group: Group) -> ContextItem:
        """The item of a group. What it shows it may have shown before, when another budget was tried."""
        if group.item is None:
            state = _state(group)
            group.item = self._made.get(state)
            if group.item is None:
                self._made[state] = build_item(group, self._key)
        return build_item(group, self._key)

    def _parts(self, items: Sequence[ContextItem]) -> list[str]:
        return list(render_parts(self._request, items, self._layout, self._write))

    def _write(self, item: ContextItem) -> str:
        """The item's text. Items are made anew when they change, so the object itself is the key."""
        known = self._written.get(id(item))
        if known is None or known[0] is not item:
            text = render_item(item, self._layout, show_code=self._request.show_code, view=self._request.view)
            known = self._written[id(item)] = (item, text)
        return known[1]

    def _count(self, part: str) -> int:
        known = self._known.get(part)
        if known is None:
            known = self._known[part] = self._counter.count(part)
        return known


def _state(group: Group) -> tuple[object, ...]:
    """What is shown of a group, as long as its candidates live."""
    return (
        group.kind,
        group.key,
        group.title,
        *[(id(one), id(step), *map(id, one.twins)) for one, step in group.picks],
    )
