"""The syntax around a name: the expression before it, its binding, and its scope.

The tables of node types are in `satchel/words/nodes.txt`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING

from satchel.search.resolve.places import Binding, How, before, bound_by_place
from satchel.text import pattern, word_lists

if TYPE_CHECKING:
    from tree_sitter import Node

_NODES = {heading: frozenset(types) for heading, types in word_lists("nodes.txt").items()}
LEAVES, DOTTED, _MEMBERS = (_NODES[heading] for heading in ("leaves", "dotted", "members"))
FUNCTIONS, CLASSES, DECLARATORS = (_NODES[heading] for heading in ("functions", "classes", "declarators"))
SCOPES = FUNCTIONS | CLASSES | _NODES["modules"] | _NODES["function types"]

_PLACED = frozenset({"navigation_expression", "stable_identifier", "stable_type_identifier", "user_type"})
_NAME_FIELDS = ("attribute", "property", "field", "name", "method")
_OWNER_FIELDS = (
    "object",
    "operand",
    "value",
    "path",
    "package",
    "argument",
    "scope",
    "expression",
    "receiver",
    "table",
)
_PATTERN_FIELDS = ("left", "name", "pattern", "declarator", "alias", "parameter")
_DECLARED, _METHODS = SCOPES | _NODES["declared"], _NODES["methods"]
_FIELDS, _PARAMETERS, _LOOPS = (_NODES[heading] for heading in ("fields", "parameters", "loops"))
_VALUES = _NODES["values"] | _FIELDS
_PATTERNS, _SINGLE = _NODES["patterns"] | DECLARATORS, _NODES["single"] | DECLARATORS

GENERIC, WRAPPING, CAST = (_NODES[heading] for heading in ("generic", "wrapping", "cast"))
CALLS, ALIASES, NAMED = _NODES["calls"], _NODES["aliases"], LEAVES | DOTTED
RETURNING, CONSTRUCTED = FUNCTIONS | _NODES["returning"], SCOPES | _NODES["constructed"]
FIELD_PLACES = _NODES["field places"]
SCOPE_FUNCTIONS, EACH, SAME_ELEMENTS = (_NODES[heading] for heading in ("scope functions", "each", "same elements"))
PASSING, COMMON, LUA_METHODS = _NODES["passing"], _NODES["common"], _NODES["lua methods"]


def field_of(node: Node, *names: str) -> Node | None:
    """Return the first of these fields that a node has."""
    return next((child for name in names if (child := node.child_by_field_name(name)) is not None), None)


def first_child(node: Node) -> Node | None:
    """Return the first named child of a node."""
    return node.named_children[0] if node.named_child_count else None


def owner_of(node: Node) -> Node | None:
    """Return what stands before a name: `a.b` of `a.b.c`; None for a bare name."""
    parent = node.parent
    if parent is not None and parent.type == "navigation_suffix":
        parent = parent.parent
    if parent is not None and parent.type == "infix_expression":
        return parent.child_by_field_name("left") if parent.child_by_field_name("operator") == node else None
    if parent is None or parent.type not in _MEMBERS:
        return None
    if parent.type in _PLACED:
        return before(parent, node)
    if all(parent.child_by_field_name(field) != node for field in _NAME_FIELDS):
        return None
    owners = (parent.child_by_field_name(field) for field in _OWNER_FIELDS)
    return next((owner for owner in owners if owner is not None and owner != node), None)


_SELF = frozenset({"self", "cls", "this", "Self", "static", "$this"})
_SUPER = frozenset({"super", "parent", "base"})
_WORDS_OF = {"cls": "python", "static": "php", "parent": "php", "base": "csharp"}
"""Words that mean an object or its base in one language, and are names like any other elsewhere."""


def is_self(word: str, language: str, rules: frozenset[str]) -> bool:
    """Return whether a word means the object or the class around it."""
    return word in _SELF and _WORDS_OF.get(word, language) == language and (word != "self" or "self" in rules)


def is_base(word: str, language: str) -> bool:
    """Return whether a word means the base of the class around it."""
    return word in _SUPER and _WORDS_OF.get(word, language) == language


_NEAR = 12
"""Steps up to what is around a node, after which the way down to it is taken: the parser looks for each parent from
the root, so that a name below a hundred `else if` took milliseconds."""


def above(node: Node, root: Node | None = None) -> Iterator[Node]:
    """Yield the nodes around one, from the inside out; faster with the root of its own tree, where many are."""
    parent = node.parent
    for _ in repeat(None) if root is None else range(_NEAR):
        if parent is None:
            return
        yield parent
        node, parent = parent, parent.parent
    way: list[Node] = []
    while root is not None and root != node:
        way.append(root)
        root = root.child_with_descendant(node)
    yield from reversed(way)


def scopes(node: Node, root: Node | None = None) -> Iterator[Node]:
    """Yield the functions, classes and modules around a node, from the inside out, and the file, as `above` does."""
    inner, is_scope = node, True
    for outer in above(node, root):
        is_scope = outer.type in SCOPES and not is_outside(inner, outer)
        if is_scope:
            yield outer
        inner = outer
    if not is_scope:
        yield inner


_VALUES_WITH_NAMES = frozenset({"function_expression", "generator_function"})


def is_outside(child: Node, scope: Node) -> bool:
    """Return whether a child of a scope belongs to what is around it: its own name, its decorators, its bases.

    The name of a function that is a value (`a.b = function send() {}` in JavaScript) is known inside it alone.
    """
    if scope.type in _VALUES_WITH_NAMES and scope.child_by_field_name("name") == child:
        return False
    return child.type not in _PARAMETERS and any(
        scope.child_by_field_name(field) == child
        for field in ("name", "declarator", "superclasses", "type", "trait", "receiver_type")
    )


def home(node: Node, root: Node | None = None) -> Node | None:
    """Return the innermost scope around a name; `root` is that of its own tree."""
    return next(scopes(node, root), None)


def binding_of(node: Node) -> Binding | None:
    """Return how this occurrence of a name binds it; None where it only uses it."""
    parent = node.parent
    if parent is None:
        return None
    if (placed := bound_by_place(node)) is not None:
        return placed
    if parent.type in _DECLARED:
        how = How.MEMBER if parent.type in _METHODS else How.DECLARED
        return Binding(node, how) if parent.child_by_field_name("name") == node else None
    inner, in_pattern = node, False
    while parent is not None and parent.type in _PATTERNS:
        if parent.type == "pair_pattern" and parent.child_by_field_name("value") != inner:
            return None
        if parent.type == "as_pattern":
            made = parent.named_children[0]
            return Binding(node, How.VALUE, value=made) if inner != made else None
        if parent.type in {"tuple_struct_pattern", "struct_pattern"} and parent.child_by_field_name("type") == inner:
            return None
        in_pattern = in_pattern or parent.type not in _SINGLE
        inner, parent = parent, parent.parent
    return _bound(node, inner, parent, in_pattern=in_pattern) if parent is not None else None


def _bound(node: Node, inner: Node, parent: Node, *, in_pattern: bool) -> Binding | None:
    kind = parent.type
    if kind in _PARAMETERS:
        return _parameter(node, inner, parent, in_pattern=in_pattern)
    if kind in {"arrow_function", "lambda", "lambda_expression"}:
        return Binding(node, How.PARAMETER) if parent.child_by_field_name("parameter") == inner else None
    if kind == "assignment" and parent.child_by_field_name("operator") is not None:
        return None  # in Kotlin an assignment never makes a variable
    if kind == "match_pattern":
        return Binding(node, How.VALUE) if parent.child_by_field_name("condition") != inner else None
    if not any(inner in parent.children_by_field_name(field) for field in _PATTERN_FIELDS):
        return None
    if kind in _LOOPS:
        return Binding(node, How.VALUE, inner.child_by_field_name("type") if inner.type == "typed_pattern" else None)
    return _given(node, inner, parent, in_pattern=in_pattern) if kind in _VALUES else None


def _given(node: Node, inner: Node, parent: Node, *, in_pattern: bool) -> Binding:
    """Return the binding of a name by a declaration or an assignment."""
    type_, value = _written(parent), field_of(parent, "right", "value")
    if type_ is not None and type_.type == "implicit_type" and parent.named_child_count > 1:
        value = parent.named_children[-1]  # `var x = y` of C#, where the grammar has no field for it
    if in_pattern and parent.type != "let_condition":
        is_first = inner.type == "tuple_pattern" and first_child(inner) == node
        return Binding(node, How.VALUE, value=value if is_first else None)
    how = How.MEMBER if parent.type in _FIELDS else How.VALUE
    return Binding(node, how, type_, _matching(node, inner, value))


def _written(parent: Node) -> Node | None:
    """Return the type of a declaration, also of several: `Client a = x, b` has it around them."""
    around = parent.parent if parent.type in {"variable_declarator", "init_declarator"} else None
    node = parent.child_by_field_name("type")
    return around.child_by_field_name("type") if node is None and around is not None else node


def _parameter(node: Node, inner: Node, parent: Node, *, in_pattern: bool) -> Binding | None:
    type_ = parent.child_by_field_name("type")
    if inner in (type_, parent.child_by_field_name("value")):
        return None
    return Binding(node, How.VALUE) if in_pattern else Binding(node, How.PARAMETER, type_)


def _matching(node: Node, target: Node, value: Node | None) -> Node | None:
    """Return the value at the position of the name in `a, b := x, y`; a call with several results is for the first."""
    if value is None or target.type != "expression_list" or value.type != "expression_list":
        return value
    names, values = target.named_children, value.named_children
    index = names.index(node) if node in names else 0
    if len(values) == len(names):
        return values[index]
    return values[0] if index == 0 and values else None


_LEADS = pattern(
    r"^(?:[:&*?!(\s\"']|'\w+\s|(?:mut|dyn|impl|const|readonly|typeof|final|ref|out|in|keyof|any|some|inout)\b)+"
)
_HEAD = pattern(r"[\w$]+(?:(?:\.|::)[\w$]+)*")
_NOTHING = frozenset({"None", "null", "undefined", "void", "nil"})


def principal(text: str) -> str:
    """Return the one type that a written type is about, dotted: `Foo` of `&mut Option<Foo>`, `x.Y` of `*x.Y | None`."""
    plain = _LEADS.sub("", text.replace("\\", ".").lstrip("."))
    match = _HEAD.match(plain)
    if match is None:
        return ""
    name, rest = match[0].replace("::", "."), plain[match.end() :].strip()
    if name in _NOTHING:
        return principal(rest.partition("|")[2])
    if name.rpartition(".")[2] in _NODES["wrappers"] and rest[:1] in {"[", "<"}:
        return principal(rest[1:])
    return "" if rest.startswith("[]") else name


def name_of(node: Node) -> Node | None:
    """Return the name of a class, or of the variable whose value it is: `Proxy` of `class Shop::Proxy`."""
    name = node.child_by_field_name("name")
    if name is not None and name.type == "user_type":
        return name.named_children[-1] if name.named_children[-1].type == "type_identifier" else name.named_children[0]
    if name is not None and name.type == "scope_resolution":
        name = name.child_by_field_name("name")
    return name if name is not None or node.parent is None else node.parent.child_by_field_name("name")


def scope_of(function: Node) -> Node | None:
    """Return `Client` of the definition of a method outside of its class in C++: `int Client::send() {`."""
    declared = function.child_by_field_name("declarator")
    while declared is not None and declared.type != "qualified_identifier":
        declared = declared.child_by_field_name("declarator")
    return declared.child_by_field_name("scope") if declared is not None else None


_WITH_FIXTURE = pattern(rb"(?:TYPED_)?TEST_[FP]|TYPED_TEST")


def fixture_of(function: Node, source: bytes) -> Node | None:
    """Return the class that a test of GoogleTest is a member of: `Cache` of `TEST_F(Cache, Evicts) {`."""
    declared = function.child_by_field_name("declarator")
    name = declared.child_by_field_name("declarator") if declared is not None else None
    parameters = declared.child_by_field_name("parameters") if declared is not None else None
    if name is None or parameters is None or not _WITH_FIXTURE.fullmatch(source, name.start_byte, name.end_byte):
        return None
    first = first_child(parameters)
    return first.child_by_field_name("type") if first is not None else None


def table_of(function: Node) -> Node | None:
    """Return the table of Lua that a function is in: `M` of `function M:send()`."""
    name = function.child_by_field_name("name")
    return name.child_by_field_name("table") if name is not None else None


_AWAITED = frozenset({"await", "await_expression", "parenthesized_expression"})


def is_dropped(name: Node) -> bool:
    """Return whether nothing uses the result of the call of this name: the call is a statement, as in `save(order);`.

    False in languages whose grammar has no such statement: there a last expression may be the result of its block.
    """
    node, is_called = name, False
    for outer in above(name):
        if outer.type == "expression_statement":
            return is_called
        if outer.type in CALLS or outer.type in _MEMBERS:
            if is_called or node not in [outer.child_by_field_name(field) for field in ("function", *_NAME_FIELDS)]:
                return False
            is_called = outer.type in CALLS
        elif outer.type not in _AWAITED:
            return False
        node = outer
    return False


def statement_of(node: Node) -> tuple[int, int]:
    """Return the first and the last line of the largest statement or block around a node that is short."""
    while (around := node.parent) is not None and around.type not in SCOPES:
        # Lines up to which a statement is shown around a call in it.
        if around.end_point[0] - around.start_point[0] >= 8:
            break
        node = around
    return node.start_point[0] + 1, node.end_point[0] + 1
