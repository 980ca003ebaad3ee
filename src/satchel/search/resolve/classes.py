"""Classes: their members, bases and fields, and the class around a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.search.resolve.code import Definition, SourceFile
from satchel.search.resolve.declared import area, is_function, name_node
from satchel.search.resolve.entities import OUTSIDE, Entities, Entity
from satchel.search.resolve.modules import folder_of
from satchel.search.resolve.syntax import CLASSES, How, above, binding_of, home, owner_of
from satchel.types import EdgeType

if TYPE_CHECKING:
    from tree_sitter import Node

    from satchel.search.resolve.names import Names

MOST_BASES = 12
"""Classes over which a field is looked for."""


_PARAMETER_TYPES = frozenset({"required_parameter", "optional_parameter"})
_FIELD_TYPES = _PARAMETER_TYPES | {"field_declaration", "public_field_definition"}


class Classes:
    """Resolves members of classes with the help of all other names."""

    def __init__(self, names: Names) -> None:
        self._names, self._code, self._modules = names, names.code, names.modules
        self._bases: dict[tuple[str, str], Entities] = {}

    def member_of(self, owner: Definition, name: str) -> Entities:
        """What a name is inside a class or function: its own member, that of a base, or of what an alias stands for."""
        own = self._own_members(owner, name)
        if own:
            return own
        is_open = False
        for base in self.bases(owner):
            if isinstance(base, Definition) and base.name == name:
                return (base,)
            found = self._names.member(base, name)
            if any(isinstance(one, Definition) for one in found):
                return found
            is_open = is_open or OUTSIDE in found
        target = self._aliased(owner)
        if target:
            return self._names.of_members(target, name)
        return () if not is_open and owner.language in {"javascript", "typescript", "tsx"} else (OUTSIDE,)

    def _own_members(self, owner: Definition, name: str) -> Entities:
        candidates = [one for one in self._code.defined(name) if one.owner and one.language == owner.language]
        here = [one for one in candidates if one.path == owner.path and one.owner == owner.qualified]
        if here or owner.language not in {"go", "rust", "cpp", "csharp", "ruby", "php"}:
            return tuple(here)
        last = [one for one in candidates if one.owner.rpartition(".")[2] == owner.name]
        if owner.language == "go":
            return tuple(one for one in last if folder_of(one.path) == folder_of(owner.path))
        if owner.language == "rust":
            near = [one for one in last if one.path == owner.path]
            crate = self._modules.crate_of(owner.path)
            return tuple(near or (one for one in last if self._modules.crate_of(one.path) == crate))
        return tuple(last)

    def bases(self, owner: Definition) -> Entities:
        """The classes that a class names as its bases; for Rust the traits that are implemented for it."""
        if owner.key not in self._bases:
            self._bases[owner.key] = ()
            if owner.row < 0:
                return ()
            rows = {owner.row}
            if owner.language == "rust":
                rows |= {one.row for one in self._code.defined(owner.name) if one.language == "rust"}
                rows |= self._implementations(owner)
            found: dict[Entity, None] = {}
            for row, _, name in self._code.store.edges_from(sorted(rows), [EdgeType.INHERITS]):
                part, bundle = self._code.part(row), self._code.bundle_of(row)
                file = self._code.file(bundle.key)
                if file is None or (owner.language == "rust" and part.name.rpartition(".")[2] != owner.name):
                    continue
                first, last = file.range(part.start, part.end)
                for node in file.occurrences(name):
                    if first <= node.start_byte < last and self._is_base_of(file, node, owner):
                        found |= dict.fromkeys(self._names.meaning(file, node))
                        break
            self._bases[owner.key] = tuple(one for one in found if one != owner)
        return self._bases[owner.key]

    def _implementations(self, owner: Definition) -> set[int]:
        """The documents of a file of Rust that are `impl` blocks of a type."""
        bundle = self._code.bundle_of(owner.row)
        rows = range(bundle.first_document, bundle.last_document + 1)
        self._code.load(rows)
        return {row for row in rows if self._code.part(row).name.rpartition(".")[2] == owner.name}

    def _is_base_of(self, file: SourceFile, node: Node, owner: Definition) -> bool:
        if binding_of(node) is not None:
            return False
        inner = node
        for outer in above(node):
            if outer.type in CLASSES or outer.type in {"type_spec", "type_declaration"}:
                name = outer.child_by_field_name("type" if outer.type == "impl_item" else "name")
                if outer.type == "type_declaration":
                    return True
                return name is None or inner == name or owner.name in file.text(name)
            inner = outer
        return True

    def _aliased(self, owner: Definition) -> Entities:
        """What a type alias stands for."""
        file = self._code.file(owner.path)
        node = name_node(self._code, owner)
        if file is None or node is None or node.parent is None:
            return ()
        if node.parent.type not in {"type_alias", "type_alias_declaration", "type_item", "type_spec"}:
            return ()
        target = node.parent.child_by_field_name("type") or node.parent.child_by_field_name("value")
        if target is None or target.type in {"struct_type", "interface_type", "object_type", "function_type"}:
            return ()
        return self._names.values.typed(file, file.text(target), target)

    def enclosing(self, file: SourceFile, node: Node) -> Entities:
        """The class around a place."""
        for outer in above(node):
            if outer.type == "impl_item":
                written = outer.child_by_field_name("type")
                return self._names.values.typed(file, file.text(written), written) if written is not None else ()
            if outer.type in CLASSES:
                name = outer.child_by_field_name("name")
                if name is None and outer.parent is not None:
                    name = outer.parent.child_by_field_name("name")
                return self._names.at(file, file.text(name), name) if name is not None else ()
            if outer.type == "object" and outer.parent is not None and outer.parent.type == "variable_declarator":
                name = outer.parent.child_by_field_name("name")
                return self._names.at(file, file.text(name), name) if name is not None else ()
        return ()

    def field(self, owner: Entity, name: str, depth: int = 0) -> Entities:
        """The type of a field by its declaration or by what is assigned to it in its class."""
        if not isinstance(owner, Definition) or depth > MOST_BASES:
            return ()
        if any(one for one in self._own_members(owner, name) if is_function(self._code, one)):
            return ()
        file = self._code.file(owner.path)
        around = area(self._code, owner)
        if file is not None and around is not None:
            for node in file.occurrences(name):
                if around.start_byte <= node.start_byte < around.end_byte:
                    found = self._field_here(file, node, around)
                    if found:
                        return found
        for base in self.bases(owner):
            found = self.field(base, name, depth + 1)
            if found:
                return found
        return ()

    def _field_here(self, file: SourceFile, node: Node, around: Node) -> Entities:
        parent = node.parent
        if parent is None:
            return ()
        owner = owner_of(node)
        if owner is not None:
            place = parent.parent
            if file.text(owner) not in {"self", "this"} or place is None or place.child_by_field_name("left") != parent:
                return ()
            written = place.child_by_field_name("type")
            if written is not None:
                return self._names.values.typed(file, file.text(written), written)
            value = place.child_by_field_name("right")
            return self._names.value(file, value) if value is not None else ()
        binding = binding_of(node)
        own = home(node)
        is_field = own == around or parent.type in _FIELD_TYPES
        if binding is None or not is_field or binding.how is How.DECLARED:
            return ()
        if parent.type in _PARAMETER_TYPES and not any("modifier" in one.type for one in parent.children):
            return ()
        return self._names.values.bound_value(file, binding)
