"""What an expression is, a class, a module or a function, told by types, by values, and by what calls return."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from satchel.search.resolve.code import Definition, SourceFile
from satchel.search.resolve.declared import declaration, decorator, is_property, name_node
from satchel.search.resolve.entities import OUTSIDE, Entities, Entity
from satchel.search.resolve.modules import Module
from satchel.search.resolve.syntax import (
    DOTTED,
    FUNCTIONS,
    LEAVES,
    SCOPES,
    Binding,
    How,
    above,
    binding_of,
    owner_of,
    principal,
)
from satchel.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

    from satchel.search.resolve.names import Names

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
