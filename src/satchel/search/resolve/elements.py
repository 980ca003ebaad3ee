"""What is in a collection, by the type that is written for it: `Foo` of `List<Foo>`, `[Foo]` and `array<int, Foo>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from satchel.search.resolve.code import CodeDefinition, Entities, SourceFile
from satchel.search.resolve.places import Binding, expression_of, last_name, result_type
from satchel.search.resolve.resolver import Resolver
from satchel.search.resolve.syntax import (
    CALLS,
    DOTTED,
    FUNCTIONS,
    LEAVES,
    SAME_ELEMENTS,
    WRAPPING,
    above,
    binding_of,
    field_of,
    first_child,
    owner_of,
    principal,
)
from satchel.text import pattern

if TYPE_CHECKING:
    from tree_sitter import Node


LANGUAGES = frozenset({"kotlin", "php", "scala", "swift"})

_MAX_DEPTH = 4
"""Variables and calls that are followed to the one with a written type."""

_OUTERMOST = pattern(r"^[\w.:\\ ]+[<\[](.*)[>\]]\??$", re.DOTALL)
_TYPE_IN_COMMENT = r"\s+([\w\\$|?]+(?:<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>)?(?:\[\])*)"


def elements(names: Resolver, file: SourceFile, node: Node | None) -> Entities:
    """Return what the elements of a collection are; of a mapping its values."""
    for home, name_node, written in _written(names, file, node, 0):
        inner = principal(element_of(written))
        if inner and (found := names.dotted(home, inner, name_node)):
            return found
    return ()


def looped(node: Node) -> Node | None:
    """Return the collection whose elements a name stands for in a loop: `xs` of `for (x in xs)`."""
    inner = node
    for outer in above(node):
        children, is_first = outer.named_children, outer.named_children[0] == inner
        if outer.type == "for_statement" and outer.child_by_field_name("item") == inner:
            return outer.child_by_field_name("collection")
        if outer.type == "enumerator" or (outer.type == "for_statement" and inner.type == "variable_declaration"):
            return children[1] if is_first and len(children) > 1 else None
        if outer.type == "foreach_statement":
            is_value = inner.type != "pair" or inner.named_children[-1] == node
            return children[0] if children[1] == inner and is_value else None
        if outer.type not in {"pattern", "variable_declaration", "pair"}:
            return None
        inner = outer
    return None


def element_of(written: str) -> str:
    """Return the type of the elements of a written type, empty for one that is no collection."""
    if written.endswith("*"):  # `Item*` of Scala
        return written[:-1]
    plain = next((part for part in _parts(written, "|") if re.search(r"[<\[]", part)), "").strip()
    if plain.endswith("[]"):
        return plain[:-2]
    if plain.startswith("["):
        return _parts(plain.rstrip("?")[1:-1], ":")[-1].strip()
    match = _OUTERMOST.search(plain)
    return re.sub(r"^(?:out|in)\s", "", _parts(match[1], ",")[-1].strip()) if match is not None else ""


def _parts(text: str, separator: str) -> list[str]:
    """Return a text split at a separator that is in no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<[(") - (sign in ">])")
        if sign == separator and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _written(
    names: Resolver, file: SourceFile, node: Node | None, depth: int
) -> Iterator[tuple[SourceFile, Node, str]]:
    """Yield the types that are written for an expression, each with its file and a node there."""
    if node is None or depth > _MAX_DEPTH:
        return
    if node.type in CALLS:
        called = field_of(node, "function", "name") or first_child(node)
        name = last_name(called) if called is not None and called.type in DOTTED else called
        if name is not None and name.type in LEAVES:
            if file.text(name) in SAME_ELEMENTS and owner_of(name) is not None:
                yield from _written(names, file, owner_of(name), depth + 1)
            else:
                yield from _of_definitions(names, names.meaning(file, name), depth)
    elif node.type in LEAVES and owner_of(node) is None:
        bound = names.bound(file, file.text(node), node)
        if isinstance(bound, Binding):
            yield from _of_binding(names, file, bound, depth)
        else:
            yield from _of_fields(names, names.classes_around(file, node), file.text(node), depth)
    elif node.type in DOTTED or node.type.endswith("member_access_expression"):
        name = last_name(node)
        if file.text(name) in SAME_ELEMENTS:
            yield from _written(names, file, owner_of(name), depth + 1)
        owners = names.value(file, owner_of(name))
        yield from _of_definitions(names, names.of_members(owners, file.text(name)), depth)
        yield from _of_fields(names, iter([owners]), file.text(name), depth)
    elif node.type in WRAPPING:
        inner = field_of(node, "operand", "argument", "value", "expr", "target") or first_child(node)
        yield from _written(names, file, inner, depth + 1)


def _of_binding(
    names: Resolver, file: SourceFile, bound: Binding, depth: int
) -> Iterator[tuple[SourceFile, Node, str]]:
    if bound.type is not None and file.text(bound.type) != "array":
        yield file, bound.node, file.text(bound.type)
    elif file.language == "php" and (told := _told(file, bound.node)):
        yield file, bound.node, told
    else:
        yield from _written(names, file, bound.value, depth + 1)


def _of_fields(
    names: Resolver, around: Iterator[Entities], name: str, depth: int
) -> Iterator[tuple[SourceFile, Node, str]]:
    """Yield the types of a field of the classes around a place."""
    for owner in (entity for owners in around for entity in owners if isinstance(entity, CodeDefinition)):
        home, declared = names.code.file(owner.path), names.code.declaration(owner)
        if home is None or declared is None:
            continue
        for node in home.occurrences(f"${name}" if home.language == "php" else name):
            if declared.start_byte <= node.start_byte < declared.end_byte and (bound := binding_of(node)) is not None:
                yield from _of_binding(names, home, bound, depth + 1)


def _of_definitions(names: Resolver, entities: Entities, depth: int) -> Iterator[tuple[SourceFile, Node, str]]:
    for entity in entities:
        if not isinstance(entity, CodeDefinition):
            continue
        file, declared, node = (
            names.code.file(entity.path),
            names.code.declaration(entity),
            names.code.name_node(entity),
        )
        if file is None or declared is None or node is None:
            continue
        if declared.type in FUNCTIONS:
            result = field_of(declared, "return_type", "result", "returns", "type") or result_type(declared)
            told = _in_comment(file, declared, "@return", "") if file.language == "php" else ""
            if told or result is not None:
                yield file, node, told or file.text(result)
            else:
                yield from _written(names, file, expression_of(declared), depth + 1)
        elif (bound := binding_of(node)) is not None:
            yield from _of_binding(names, file, bound, depth)


def _told(file: SourceFile, node: Node) -> str:
    """Return the type in the comment of a property, a parameter or an assignment of PHP."""
    for outer in above(node):
        if outer.type in {"function_definition", "method_declaration"}:
            return _in_comment(file, outer, "@param", file.text(node))
        if outer.type in {"property_declaration", "expression_statement"}:
            told = _in_comment(file, outer, "@var", "")
            if told or outer.type == "property_declaration":
                return told
    return ""


def _in_comment(file: SourceFile, declared: Node, tag: str, name: str) -> str:
    comment = declared.prev_named_sibling
    if comment is None or comment.type != "comment":
        return ""
    match = re.search(rf"{tag}{_TYPE_IN_COMMENT}[^\n]*{re.escape(name)}(?!\w)", file.text(comment))
    return match[1] if match is not None else ""
