"""What an expression is (a class, a module or a function), and the members, bases and fields of classes.

Types, values and what calls return tell the class of an expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from satchel.search.resolve.code import (
    OUTSIDE,
    Definition,
    Entities,
    Entity,
    Module,
    SourceFile,
    area,
    declaration,
    decorator,
    is_function,
    is_property,
    name_node,
)
from satchel.search.resolve.modules import folder_of
from satchel.search.resolve.syntax import (
    CLASSES,
    DOTTED,
    FUNCTIONS,
    LEAVES,
    SCOPES,
    Binding,
    How,
    above,
    binding_of,
    home,
    owner_of,
    principal,
)
from satchel.types import EdgeType, Import

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


_SELF = frozenset({"self", "cls", "this", "Self", "static"})
_SUPER = frozenset({"super", "parent", "base"})
_PASSING = frozenset({
    "unwrap", "expect", "clone", "as_ref", "as_mut", "as_deref", "lock", "borrow", "borrow_mut", "to_owned",
    "unwrap_or_default", "ok", "into_inner", "by_ref", "unwrap_or_else", "ok_or_else", "map_err",
})  # fmt: skip
"""Methods of Rust that give back what they are called on, wrapped otherwise."""

_INNER = frozenset({
    "await_expression", "await", "parenthesized_expression", "try_expression", "unary_expression", "with_item", "yield",
    "non_null_expression", "reference_expression", "satisfies_expression", "pointer_expression", "expression_list",
})  # fmt: skip
_TYPED = frozenset({
    "as_expression", "type_assertion_expression", "type_cast_expression", "cast_expression", "composite_literal",
    "object_creation_expression", "type_conversion_expression",
})  # fmt: skip
_CHOICES = frozenset({"boolean_operator", "conditional_expression", "ternary_expression", "binary_expression"})
_CALLS = frozenset({"call", "call_expression", "method_invocation", "invocation_expression"})
_UNKNOWN = frozenset({
    "subscript", "index_expression", "subscript_expression", "lambda", "arrow_function", "closure_expression",
    "function_expression", "match_expression", "if_expression", "block",
})  # fmt: skip


class Values:
    """Resolves expressions with the help of names."""

    def __init__(self, names: Names) -> None:
        self._names, self._code, self._modules = names, names.code, names.modules

    def of(self, file: SourceFile, node: Node) -> Entities:
        """What an expression is: the class of an object, a module, or a function by itself."""
        kind = node.type
        if kind in LEAVES:
            return self._leaf(file, node)
        if kind in {"generic_type", "generic_function", "type", "type_annotation", "generic_type_with_turbofish"}:
            return self._names.value(file, node.named_children[0]) if node.named_child_count else ()
        if kind in DOTTED:
            name = node.named_children[-1]
            owner = owner_of(name)
            return self._member_values(self._names.value(file, owner), file.text(name)) if owner is not None else ()
        if kind in _CALLS:
            return self._called(file, node)
        if kind in {"new_expression", "struct_expression"}:
            made = node.child_by_field_name("constructor") or node.child_by_field_name("name")
            return self._names.value(file, made) if made is not None else ()
        if kind in _TYPED:
            written = node.child_by_field_name("type") or node.named_children[-1]
            return self.typed(file, file.text(written), written)
        if kind in _INNER:
            inner = node.child_by_field_name("operand") or node.child_by_field_name("argument")
            inner = inner or node.child_by_field_name("value")
            inner = inner or (node.named_children[0] if node.named_child_count else None)
            return self._names.value(file, inner) if inner is not None else ()
        if kind in _CHOICES:
            found = [self._names.value(file, child) for child in node.named_children]
            return next((one for one in found if any(isinstance(e, Definition | Module) for e in one)), ())
        return () if kind in _UNKNOWN else (OUTSIDE,)

    def _leaf(self, file: SourceFile, node: Node) -> Entities:
        name = file.text(node)
        if name in _SELF and (name != "self" or file.language in {"python", "rust", "ruby"}):
            if file.language == "rust" and name == "self" and node.parent is not None and "scoped" in node.parent.type:
                return (self._names.imports.rust_module(file, node),)
            return self._names.classes.enclosing(file, node)
        if name in _SUPER and file.language == "rust":
            parent = self._modules.rust_parent(self._names.imports.rust_module(file, node))
            return (parent,) if parent is not None else (OUTSIDE,)
        if name in _SUPER:
            return tuple(
                b
                for one in self._names.classes.enclosing(file, node)
                if isinstance(one, Definition)
                for b in self._names.classes.bases(one)
            )
        if name == "crate":
            return (self._modules.crate_root(file.path),)
        return self._named_value(file, name, node)

    def _named_value(self, file: SourceFile, name: str, node: Node) -> Entities:
        bound = self._names.bound(file, name, node)
        if isinstance(bound, Binding):
            return self.bound_value(file, bound)
        found = (
            self._names.imports.imported(file, bound, name)
            if isinstance(bound, Import)
            else self._names.unbound(file, name, node)
        )
        return tuple(dict.fromkeys(one for entity in found for one in self._as_value(entity)))

    def _as_value(self, entity: Entity) -> Entities:
        """A constant counts for its type; classes, functions and modules for themselves."""
        if not isinstance(entity, Definition):
            return (entity,)
        file, node = self._code.file(entity.path), name_node(self._code, entity)
        binding = binding_of(node) if node is not None else None
        if file is None or binding is None or binding.how is How.DECLARED or binding.value is None is binding.type:
            return (entity,)
        if binding.value is not None and binding.value.type in FUNCTIONS | {"object", "class"}:
            return (entity,)
        return self.bound_value(file, binding)

    def bound_value(self, file: SourceFile, bound: Binding) -> Entities:
        """What is known of a variable."""
        if bound.how is How.DECLARED:
            return self._names.at(file, file.text(bound.node), bound.node) or (OUTSIDE,)
        if bound.member is not None:
            return self._member_values(self.source(file, bound), file.text(bound.member))
        if bound.type is None and bound.value is not None and bound.value.type in FUNCTIONS | {"object", "class"}:
            return self._names.at(file, file.text(bound.node), bound.node)
        return self.source(file, bound)

    def source(self, file: SourceFile, bound: Binding) -> Entities:
        """What a variable or pattern is given: by its written type, else by its value."""
        if bound.type is not None:
            return self.typed(file, file.text(bound.type), bound.type)
        if bound.value is not None:
            return self._names.value(file, bound.value)
        is_passed = bound.how is How.PARAMETER and file.language == "python"
        return self._fixture(file, bound.node) if is_passed else ()

    def _fixture(self, file: SourceFile, node: Node) -> Entities:
        """What pytest passes under the name of a parameter: the fixture of that name in this file or a conftest."""
        name = file.text(node)
        near = [
            one
            for one in self._code.defined(name)
            if one.path == file.path
            or (one.path.endswith("conftest.py") and file.path.startswith(one.path.removesuffix("conftest.py")))
        ]
        for one in sorted(near, key=lambda one: (one.path != file.path, -len(one.path))):
            own, declared = self._code.file(one.path), declaration(self._code, one)
            if own is not None and declared is not None and "fixture" in decorator(own, declared):
                return self.returned(one)
        return ()

    def _member_values(self, owners: Entities, name: str) -> Entities:
        """What is known of a field, a property or a method without its call."""
        found: dict[Entity, None] = {}
        for owner in owners:
            for one in self._names.classes.field(owner, name) or self._properties(self._names.member(owner, name)):
                found[one] = None
        return tuple(found)

    def _properties(self, members: Entities) -> Entities:
        values: list[Entity] = []
        for one in members:
            is_read = isinstance(one, Definition) and is_property(self._code, one)
            values += self.returned(one) if is_read and isinstance(one, Definition) else self._as_value(one)
        return tuple(values)

    def _called(self, file: SourceFile, node: Node) -> Entities:
        """What a call gives back."""
        called = node.child_by_field_name("function") or node.child_by_field_name("name")
        called = called or (node.named_children[0] if node.named_child_count else None)
        while called is not None and called.type in {"generic_function", "generic_type", "index_expression"}:
            called = called.named_children[0]
        if called is None:
            return ()
        name = called
        if called.type in DOTTED:
            name = called.named_children[-1]
        elif called.type not in LEAVES:
            return ()
        text = file.text(name)
        if text == "super" and file.language == "python":
            return tuple(
                b
                for one in self._names.classes.enclosing(file, node)
                if isinstance(one, Definition)
                for b in self._names.classes.bases(one)
            )
        found: dict[Entity, None] = {}
        meant = self._names.meaning(file, name)
        if text in _PASSING and not any(isinstance(one, Definition) for one in meant):
            owner = owner_of(name)
            return self._names.value(file, owner) if owner is not None else ()
        for one in meant:
            found |= dict.fromkeys(self.result(one))
        return tuple(found)

    def result(self, entity: Entity) -> Entities:
        """What calling something gives back: an object of a class, what a function returns."""
        if isinstance(entity, Module):
            return ()
        if not isinstance(entity, Definition):
            return (OUTSIDE,)
        declared = declaration(self._code, entity)
        if declared is None:
            return ()
        if declared.type in FUNCTIONS or declared.type in {"method_elem", "function_signature", "method_signature"}:
            return self.returned(entity)
        if declared.type in SCOPES or declared.type in {"type_spec", "enum_item", "struct_item", "type_alias"}:
            return (entity,)
        return ()

    def returned(self, one: Definition) -> Entities:
        """What a function returns: by its written type, else by its first `return` that tells."""
        file, declared = self._code.file(one.path), declaration(self._code, one)
        if file is None or declared is None:
            return ()
        fields = (declared.child_by_field_name(field) for field in ("return_type", "result", "returns", "type"))
        written = next((node for node in fields if node is not None), None)
        if written is not None:
            if written.type == "parameter_list" and written.named_child_count:
                written = written.named_children[0]
                written = written.child_by_field_name("type") or written
            return self.typed(file, file.text(written), written)
        if file.language not in {"python", "javascript", "typescript", "tsx"}:
            return ()
        body = declared.child_by_field_name("body")
        if body is not None and declared.type == "arrow_function" and body.type != "statement_block":
            return self._names.value(file, body)
        for word in ("return", "yield"):
            for node in self._statements(file, word, declared):
                found = self._names.value(file, node)
                if any(entity is not OUTSIDE for entity in found):
                    return found
        return ()

    def _statements(self, file: SourceFile, word: str, declared: Node) -> Iterable[Node]:
        """The values of the `return`s of a function itself."""
        if file.root is None:
            return
        for match in re.finditer(rb"\b" + word.encode() + rb"\b", file.source[declared.start_byte : declared.end_byte]):
            start = declared.start_byte + match.start()
            leaf = file.root.descendant_for_byte_range(start, start + len(word))
            statement = leaf.parent if leaf is not None else None
            if statement is None or statement.type not in {"return_statement", "yield"}:
                continue
            if (
                statement.named_child_count
                and next((outer for outer in above(statement) if outer.type in FUNCTIONS), None) == declared
            ):
                yield statement.named_children[0]

    def typed(self, file: SourceFile, text: str, node: Node) -> Entities:
        """What a written type names."""
        name = principal(text)
        return self._names.once("type", file, node, lambda *_: self.dotted(file, name, node)) if name else (OUTSIDE,)

    def dotted(self, file: SourceFile, name: str, node: Node) -> Entities:
        """What a dotted name at a place is: each step is a field or member of the one before."""
        first, *rest = name.split(".")
        if first in _SELF:
            here = self._names.classes.enclosing(file, node)
        elif first in {"crate", "super"} and file.language == "rust":
            return self._names.imports.path(file, name.split("."), node)
        else:
            here = self._named_value(file, first, node)
        for step in rest:
            here = self._member_values(here, step)
        return here
