"""The layouts of other specifications over the same items: one heading an entity (`entities`), one block (`blocks`).

A writer of a view is that of its format with another way to write an item: an item becomes as many entities as the
names of its pieces tell, in line order, all with the nonce of the item; lines without a name belong to the entity
beside them. `parse` puts the entities together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType

from satchel.assemble.render.layout import Writer
from satchel.assemble.render.request import RenderRequest
from satchel.types import ContextItem, Format, View


@dataclass(slots=True)
class ViewWriter:
    """One view in one format. `base` writes everything but the items, and stands between them what it always does."""

    base: Writer
    items: ModuleType
    view: View
    ITEM_JOIN: str = field(init=False)
    SECTION_JOIN: str = field(init=False)

    def __post_init__(self) -> None:
        self.ITEM_JOIN, self.SECTION_JOIN = self.base.ITEM_JOIN, self.base.SECTION_JOIN

    def head(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Everything before the first section."""
        return self.base.head(request, items)

    def section(self, title: str, *, grouped: bool) -> tuple[str, str]:
        """Opening and closing of a section; a section without a title has neither."""
        return self.base.section(title, grouped=grouped) if title else ("", "")

    def item(self, item: ContextItem, *, show_code: bool) -> str:
        """All entities of one item."""
        write = self.items.entity if self.view is View.ENTITIES else self.items.block
        return str(write(item, show_code=show_code))

    def tail(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Everything after the last section."""
        return self.base.tail(request, items)


def view_writer(base: Writer, format: Format, view: View) -> ViewWriter:  # noqa: A002 - the name of the option
    """The writer of a view in the format that `base` writes."""
    return ViewWriter(base, import_module(f"{__name__}.{format.value}"), view)
