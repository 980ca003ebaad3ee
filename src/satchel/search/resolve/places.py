"""Parts of syntax that grammars do not name, by their place: bindings, types and owners in Kotlin, Swift and Lua."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from tree_sitter import Node


class How(Enum):
    """How a name is bound: declared with a body, as a member of a type, as a parameter, by a value or in a pattern."""

    DECLARED = "declared"
    MEMBER = "member"
    PARAMETER = "parameter"
    VALUE = "value"


class Binding(Struct, frozen=True):
    """Where a name is bound: its node, how, and the nodes of its type and value where the syntax shows them.

    A name in a pattern, a part of the value, has neither.
    """

    node: Node
    how: How
    type: Node | None = None
    value: Node | None = None


_KOTLIN_TYPES = frozenset({"user_type", "nullable_type", "function_type", "parenthesized_type", "non_nullable_type"})
_NO_VALUES = _KOTLIN_TYPES | {"getter", "setter", "type_parameters", "type_constraints", "modifiers"}
_NAMES = frozenset({"identifier", "simple_identifier", "type_identifier", "name"})
_CHAINS = frozenset({"user_type", "stable_identifier", "stable_type_identifier"})


def before(parent: Node, node: Node) -> Node | None:
    """Return what stands before a name where no field says so: `a` of `a.b`, `b` of `a.b.c` in the name of a type."""
    named = [child for child in parent.named_children if child.type != "type_arguments"]
    if parent.type == "navigation_expression":
        return named[0] if named[0] != node else None
    index = named.index(node) if parent.type in _CHAINS and node in named else 0
    return named[index - 1] if index else None


def last_name(node: Node) -> Node:
    """Return the last part of a name of several parts: `c` of `a.b.c` and of `a.b.c<T>`."""
    last = next((child for child in reversed(node.named_children) if child.type != "type_arguments"), node)
    return last.named_children[-1] if last.type == "navigation_suffix" and last.named_child_count else last


def bound_by_place(node: Node) -> Binding | None:
    """Return how a name is bound by its place among its siblings; None where it is not, or where a field says so."""
    parent = node.parent
    read = _READERS.get(parent.type) if parent is not None else None
    return read(node, parent) if read is not None and parent is not None else None


def _following(node: Node) -> Node | None:
    return node.next_named_sibling


def _typed(node: Node, how: How) -> Binding:
    """Return the binding of `x: T`, where the type follows the name."""
    after = _following(node)
    return Binding(node, how, after if after is not None and after.type in _KOTLIN_TYPES else None)


def _variable(node: Node, parent: Node) -> Binding | None:
    """`val x: T = y`, and the parameters of a lambda or a loop in Kotlin."""
    statement = parent.parent
    if node.type != "identifier" or statement is None or parent.named_children[0] != node:
        return None
    if parent.child_by_field_name("type") is not None:  # of C#
        return None
    typed = _typed(node, How.VALUE)
    value = parent.next_named_sibling if statement.type == "property_declaration" else None
    if value is not None and value.type == "property_delegate":
        value = _last_of_lambda(value)
    return replace(typed, value=value if value is not None and value.type not in _NO_VALUES else None)


def _last_of_lambda(node: Node) -> Node | None:
    """Return the value of `lazy { y }`."""
    while node.type != "lambda_literal" and node.named_child_count:
        node = node.named_children[-1]
    return node.named_children[-1] if node.named_child_count else None


def _parameter(node: Node, parent: Node) -> Binding | None:
    """`x: T` in Kotlin, `label x: T` in Swift."""
    names = parent.children_by_field_name("name")
    if parent.type == "lambda_parameter" and names == [node]:  # of a closure in Swift without a type
        return Binding(node, How.PARAMETER)
    if names:
        is_swift = len(names) > 1 and node.type == "simple_identifier"
        return Binding(node, How.PARAMETER, names[1]) if is_swift and names[0] == node else None
    first = next((child for child in parent.named_children if child.type == "identifier"), None)
    is_kotlin = first == node and parent.child_by_field_name("pattern") is None
    return _typed(node, How.PARAMETER) if is_kotlin else None


def _pattern(node: Node, parent: Node) -> Binding | None:
    """`let x: T = y` in Swift, and `case let x as T`."""
    if parent.child_by_field_name("bound_identifier") != node:
        return None
    outer = parent
    while outer.parent is not None and outer.parent.type == "pattern":
        outer = outer.parent
    statement = outer.parent
    if statement is None or statement.type not in {"property_declaration", "protocol_property_declaration"}:
        return Binding(node, How.VALUE, outer.child_by_field_name("name"))
    written = next((child for child in statement.named_children if child.type == "type_annotation"), None)
    written = written.child_by_field_name("name") if written is not None else None
    return Binding(node, How.VALUE, written, statement.child_by_field_name("value"))


def _condition(node: Node, parent: Node) -> Binding | None:
    """`if let x = y`; `if let x` is about the `x` outside."""
    if node not in parent.children_by_field_name("bound_identifier"):
        return None
    index = parent.children.index(node)
    after = parent.children[index + 1 : index + 3]
    return Binding(node, How.VALUE, value=after[1]) if len(after) > 1 and after[0].type == "=" else None


def _of_each(node: Node, parent: Node) -> Binding | None:
    """`foreach (xs as x)` and `foreach (xs as k => x)` in PHP."""
    around = parent.parent if parent.type == "pair" else parent
    is_loop = around is not None and around.type == "foreach_statement" and around.named_children[0] != node
    return Binding(node, How.VALUE) if is_loop and node.type == "variable_name" else None


def _first(node: Node, parent: Node) -> Binding | None:
    """`x <- y` in Scala, `catch (x: T)` in Kotlin."""
    is_first = parent.named_children[0] == node and parent.child_by_field_name("name") is None
    return _typed(node, How.VALUE) if is_first else None


def _alias(node: Node, parent: Node) -> Binding | None:
    return Binding(node, How.DECLARED) if parent.child_by_field_name("type") == node else None


def _entry(node: Node, parent: Node) -> Binding | None:
    return Binding(node, How.MEMBER) if parent.named_children[0] == node or node in _names(parent) else None


def _names(parent: Node) -> list[Node]:
    return parent.children_by_field_name("name")


def assigned_to(node: Node) -> Node | None:
    """Return the value at the position of a variable in an assignment of Lua: `y` for `b` in `a, b = x, y`."""
    names = node.parent
    statement = names.parent if names is not None else None
    if names is None or statement is None or statement.type != "assignment_statement":
        return None
    values = statement.named_children[-1].named_children
    index = names.named_children.index(node)
    return values[index] if index < len(values) else None


def _assigned(node: Node, parent: Node) -> Binding | None:
    """`local a, b = x, y` in Lua, and the names of a loop."""
    statement = parent.parent
    if statement is None or node.type != "identifier":
        return None
    if statement.type != "assignment_statement":
        return Binding(node, How.VALUE)
    values = statement.named_children[-1].named_children if statement.named_child_count > 1 else []
    index = parent.named_children.index(node)
    return Binding(node, How.VALUE, value=values[index] if index < len(values) else None)


def _property(node: Node, parent: Node) -> Binding | None:
    """`private T $x = y;` in PHP, where the type is around the name and its value."""
    around = parent.parent
    if around is None or parent.child_by_field_name("name") != node:
        return None
    written = around.child_by_field_name("type")
    return Binding(node, How.VALUE, written, None if written else parent.child_by_field_name("default_value"))


def _lambda(node: Node, parent: Node) -> Binding | None:
    """`x => y` in Scala."""
    return Binding(node, How.PARAMETER) if parent.child_by_field_name("parameters") == node else None


_READERS: dict[str, Callable[[Node, Node], Binding | None]] = {
    "catch_block": _first,
    "class_parameter": _parameter,
    "enum_entry": _entry,
    "enumerator": _first,
    "foreach_statement": _of_each,
    "guard_statement": _condition,
    "if_statement": _condition,
    "lambda_expression": _lambda,
    "lambda_parameter": _parameter,
    "pair": _of_each,
    "parameter": _parameter,
    "pattern": _pattern,
    "property_element": _property,
    "type_alias": _alias,
    "variable_declaration": _variable,
    "variable_list": _assigned,
    "while_statement": _condition,
}


def result_type(declared: Node) -> Node | None:
    """Return the written type of what a function returns: in Kotlin after its parameters, in Swift its second name."""
    names = declared.children_by_field_name("name")
    if len(names) > 1:
        return names[1]
    parameters = next((child for child in declared.named_children if child.type == "function_value_parameters"), None)
    after = _following(parameters) if parameters is not None else None
    return after if after is not None and after.type in _KOTLIN_TYPES else None


def argument_type(source: bytes, declared: Node, label: str, index: int) -> Node | None:
    """Return the written type of the parameter of a function of Swift that an argument is for, by label or position."""
    if declared.type == "enum_entry":
        contents = declared.child_by_field_name("data_contents")
        types = (
            [child for child in contents.named_children if child.type in _KOTLIN_TYPES] if contents is not None else []
        )
        return types[index] if index < len(types) else None
    parameters = [child for child in declared.named_children if child.type == "parameter"]
    for position, parameter in enumerate(parameters):
        names = parameter.children_by_field_name("name")
        outer = parameter.child_by_field_name("external_name") or (names[0] if names else None)
        written = source[outer.start_byte : outer.end_byte].decode() if outer is not None else ""
        if len(names) > 1 and (written == label if label else position == index):
            return names[1]
    return None


def expression_of(declared: Node) -> Node | None:
    """Return the value of a function that is one expression: `y` of `fun x() = y`, the last line of one in Scala."""
    body = declared.child_by_field_name("body")
    if declared.type == "function_definition" and body is not None:
        return body.named_children[-1] if body.type == "block" and body.named_child_count else body
    body = next((child for child in declared.named_children if child.type == "function_body"), None)
    inner = body.named_children[0] if body is not None and body.named_child_count else None
    return inner if inner is not None and inner.type != "block" else None


def receiver_of(function: Node) -> Node | None:
    """Return the written type before the name of a function of Kotlin: `Buffer` of `fun Buffer.size()`."""
    name = function.child_by_field_name("name")
    inside = function.named_children
    index = inside.index(name) if function.type == "function_declaration" and name in inside else 0
    return inside[index - 1] if index and inside[index - 1].type in _KOTLIN_TYPES else None


def aliased_type(declared: Node) -> Node | None:
    """Return what a type alias stands for."""
    if declared.type == "type_alias" and declared.named_child_count > 1:
        return declared.named_children[-1]
    names = declared.children_by_field_name("name")
    return names[1] if declared.type == "typealias_declaration" and len(names) > 1 else None
