"""Where a definition stands in the tree of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.search.resolve.code import Code, Definition, SourceFile
from satchel.search.resolve.entities import Entity
from satchel.search.resolve.syntax import FUNCTIONS, binding_of

if TYPE_CHECKING:
    from tree_sitter import Node


def name_node(code: Code, one: Definition) -> Node | None:
    """The name of a definition in its file."""
    file = code.file(one.path)
    nodes = file.occurrences(one.name) if file is not None else []
    here = [node for node in nodes if node.start_point[0] + 1 == one.line]
    return next((node for node in here if binding_of(node) is not None), here[0] if here else None)


def declaration(code: Code, one: Definition) -> Node | None:
    """The function or class that a definition names, by its body."""
    node = name_node(code, one)
    if node is None or node.parent is None:
        return None
    parent = node.parent
    value = parent.child_by_field_name("value") or parent.child_by_field_name("right")
    return value if value is not None and value.type in FUNCTIONS | {"class"} else parent


def area(code: Code, owner: Definition) -> Node | None:
    """The class in which the fields of a type are declared."""
    declared = declaration(code, owner)
    return declared.parent if declared is not None and declared.type == "decorated_definition" else declared


def is_function(code: Code, one: Entity) -> bool:
    """Whether something is a function or method."""
    declared = declaration(code, one) if isinstance(one, Definition) else None
    return declared is not None and declared.type in FUNCTIONS | {"method_elem", "method_signature"}


def is_property(code: Code, one: Definition) -> bool:
    """Whether a method is read like a field."""
    file, declared = code.file(one.path), declaration(code, one)
    if file is None or declared is None:
        return False
    if one.language == "python":
        return "property" in decorator(file, declared)
    return any(child.type == "get" for child in declared.children)


def decorator(file: SourceFile, declared: Node) -> str:
    """The first decorator of a definition in Python, empty where it has none."""
    around = declared.parent
    return file.text(around.named_children[0]) if around is not None and around.type == "decorated_definition" else ""
