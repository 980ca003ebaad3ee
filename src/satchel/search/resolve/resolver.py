"""What resolves names, for the modules that it uses itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from satchel.search.resolve.code import Code, Entities, SourceFile
from satchel.search.resolve.places import Binding
from satchel.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node


class Resolver(Protocol):
    """Values, types and meanings of names; `Names` says what each of them returns."""

    code: Code

    def value(self, file: SourceFile, node: Node | None) -> Entities:
        """Return what an expression is."""

    def typed(self, file: SourceFile, node: Node | None) -> Entities:
        """Return what a written type names."""

    def dotted(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return what a dotted name at a place is."""

    def meaning(self, file: SourceFile, node: Node) -> Entities:
        """Return what a name means where it is used."""

    def bound(self, file: SourceFile, name: str, node: Node) -> Binding | Import | None:
        """Return the innermost binding of a name around a place."""

    def of_members(self, owners: Entities, name: str) -> Entities:
        """Return what a name is inside any of these."""

    def classes_around(self, file: SourceFile, node: Node, *, with_heads: bool = True) -> Iterator[Entities]:
        """Yield the classes around a place, from the inside out."""
