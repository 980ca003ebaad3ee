"""Lambdas as arguments: which call they are given to, and the types that its function declares for their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.search.resolve.places import last_name
from satchel.search.resolve.syntax import CALLS, DOTTED, LEAVES, above, field_of

if TYPE_CHECKING:
    from tree_sitter import Node

LAMBDAS = frozenset({"arrow_function", "case_block", "lambda_expression", "lambda_literal"})
_AROUND = frozenset(
    {"annotated_lambda", "argument", "arguments", "block", "call_suffix", "value_argument", "value_arguments"}
)
"""What is between a lambda and the call that it is an argument of."""

_PARAMETERS = frozenset({"lambda_parameters", "lambda_function_type_parameters"})
_LISTS = frozenset({"formal_parameters", "function_value_parameters", "parameters"})
_INNER = frozenset({"function_type_parameters", "tuple_type", "parameter_types", "formal_parameters"})
_WRAPPERS = frozenset({"tuple_type_item", "required_parameter", "type_annotation", "parameter"})


class Given(Struct, frozen=True):
    """The types that a function declares for a lambda: of the object around its body, if any, and by position."""

    receiver: Node | None
    parameters: tuple[Node, ...]


def place_in_lambda(node: Node) -> tuple[Node, int] | None:
    """Return the lambda that a name is a parameter of, and its position from 0; None for another name."""
    inner = node
    if node.parent is not None and node.parent.type == "case_clause" and node.parent.parent is not None:
        return (node.parent.parent, 0) if node.parent.child_by_field_name("pattern") == node else None
    for outer in above(node):
        if outer.type in LAMBDAS:
            single = field_of(outer, "parameters", "parameter")
            return (outer, 0) if single == node else None
        if outer.type in _PARAMETERS or (outer.type in _LISTS and outer.parent is not None):
            home = next((other for other in above(outer) if other.type in LAMBDAS), None)
            is_own = (
                home is not None and outer.parent is not None and (outer.parent == home or outer.type in _PARAMETERS)
            )
            return (home, outer.named_children.index(inner)) if home is not None and is_own else None
        inner = outer
    return None


def has_parameters(node: Node) -> bool:
    """Return whether a lambda names its parameters."""
    return any(child.type in {"lambda_parameters", "lambda_function_type"} for child in node.named_children)


def call_around(node: Node) -> tuple[Node, Node] | None:
    """Return the call that a lambda is an argument of, and the name that is called; None for a lambda elsewhere."""
    outer = node.parent
    while outer is not None and outer.type in _AROUND:
        outer = outer.parent
    if outer is not None and outer.type == "infix_expression":
        operator = outer.child_by_field_name("operator")
        return (outer, operator) if operator is not None and operator.type in LEAVES else None
    if outer is None or outer.type not in CALLS:
        return None
    called = field_of(outer, "function", "name") or outer.named_children[0]
    while called.type in CALLS or called.type == "generic_function":
        called = field_of(called, "function", "name") or called.named_children[0]
    if called.type == "prefix_expression":  # `.name(...)` of Swift
        called = called.named_children[-1]
    if called.type in DOTTED:
        called = last_name(called)
    return (outer, called) if called.type in LEAVES else None


def given(declared: Node) -> Given | None:
    """Return the types that the last function among the parameters of a function has; None where there is none."""
    return next((types for each in reversed(_parameters(declared)) if (types := of_type(each)) is not None), None)


def last_type(declared: Node) -> Node | None:
    """Return the written type of the last parameter of a function, which may be the alias of a function type."""
    last = _parameters(declared)[-1:]
    inner = [child for child in last[0].named_children if child.type == "user_type"] if last else []
    return inner[-1] if inner else None


def of_type(node: Node) -> Given | None:
    """Return the types of a function type, or of the first one in a declaration; None where there is none."""
    function = _function_type(node)
    return _types_of(function) if function is not None else None


def _parameters(declared: Node) -> list[Node]:
    lists = [child for child in declared.named_children if child.type in _LISTS] or [declared]
    return [child for each in lists for child in each.named_children if child.type.endswith("parameter")]


def _function_type(node: Node) -> Node | None:
    """Return the function type in a written type, also where it may be missing."""
    if node.type == "function_type":
        return node
    return next((inner for child in node.named_children if (inner := _function_type(child)) is not None), None)


def _types_of(function: Node) -> Given:
    inner = next((child for child in function.named_children if child.type in _INNER), None)
    first = function.named_children[0] if function.named_child_count else None
    receiver = first if inner is not None and first != inner and first is not None else None
    parameters = inner.named_children if inner is not None else ()
    return Given(receiver, tuple(map(_plain, parameters)))


def _plain(node: Node) -> Node:
    """Return the type in a parameter of a function type."""
    while node.type in _WRAPPERS and node.named_child_count:
        node = field_of(node, "type", "name") or node.named_children[-1]
    return node
