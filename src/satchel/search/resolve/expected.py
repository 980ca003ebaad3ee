"""What `.name` means in Swift: a member of the type that is expected where it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.search.resolve import syntax
from satchel.search.resolve.code import CodeDefinition, Entities, SourceFile
from satchel.search.resolve.given import called_definitions
from satchel.search.resolve.lambdas import call_around
from satchel.search.resolve.places import argument_type, result_type
from satchel.search.resolve.resolver import Resolver
from satchel.search.resolve.syntax import above, first_child

if TYPE_CHECKING:
    from tree_sitter import Node


def implicit(names: Resolver, file: SourceFile, node: Node) -> Entities:
    """Return what `.name(...)` means in Swift: a member of the type that is expected there."""
    if file.language != "swift" or node.parent is None or node.parent.type != "prefix_expression":
        return ()
    members = names.of_members(_expected(names, file, node), file.text(node))
    return members if any(isinstance(member, CodeDefinition) for member in members) else ()


def _expected(names: Resolver, file: SourceFile, node: Node) -> Entities:
    """Return the type that is expected of an expression of Swift, by its argument, variable or function."""
    inner = node
    for outer in above(node):
        if outer.type == "value_argument" and outer.parent is not None and (call := call_around(outer)) is not None:
            label = file.text(outer.child_by_field_name("name"))
            return _of_argument(names, file, call[1], label, outer.parent.named_children.index(outer))
        if outer.type == "attribute":
            before, name = inner.prev_named_sibling, first_child(outer)
            label = file.text(before) if before != name else ""
            return _of_argument(names, file, first_child(name), label, 0) if name is not None else ()
        if outer.type == "assignment":
            target = outer.child_by_field_name("target")
            return names.value(file, first_child(target)) if target is not None and inner != target else ()
        if outer.type == "property_declaration":
            written = next((child for child in outer.named_children if child.type == "type_annotation"), None)
            return names.typed(file, written.child_by_field_name("name")) if written is not None else ()
        if outer.type == "control_transfer_statement":
            function = next((other for other in above(outer) if other.type in syntax.FUNCTIONS), None)
            return names.typed(file, result_type(function)) if function is not None else ()
        if outer.type in syntax.SCOPES or outer.type == "statements":
            return ()
        inner = outer
    return ()


def _of_argument(names: Resolver, file: SourceFile, called: Node | None, label: str, index: int) -> Entities:
    """Return the type of the parameter of a function or an initializer of Swift that an argument is for."""
    for definition in called_definitions(names, file, called) if called is not None else ():
        declared = names.code.declaration(definition)
        is_class = declared is not None and declared.type in syntax.CLASSES
        for maker in names.of_members((definition,), "init") if is_class else (definition,):
            home = names.code.file(maker.path) if isinstance(maker, CodeDefinition) else None
            made = _declared_at(names, maker) if isinstance(maker, CodeDefinition) else None
            written = argument_type(home.source, made, label, index) if home and made else None
            if home is not None and written is not None:
                return names.typed(home, written)
    return ()


def _declared_at(names: Resolver, maker: CodeDefinition) -> Node | None:
    """Return the declaration of a function; that of an initializer of Swift has no node for its name."""
    file = names.code.file(maker.path)
    if maker.name != "init" or file is None:
        return names.code.declaration(maker)
    node = file.node_at(file.range(maker.line, maker.line)[1] - 2)
    return next((outer for outer in above(node) if outer.type == "init_declaration"), None) if node else None
