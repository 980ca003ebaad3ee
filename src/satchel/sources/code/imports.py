"""Import statements, read from the syntax tree, one reader per language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from satchel.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

    from satchel.sources.code.syntax import SyntaxFindings

Binding = tuple[str, tuple[str, ...]]
Reader = Callable[["Node", "ImportSource"], Iterator[Binding]]


def read_imports(findings: SyntaxFindings) -> list[Import]:
    """Return the imports of a file in line order; a statement that names several modules gives one for each.

    A language whose statements nothing here reads has none.
    """
    reader = _READERS.get(findings.language)
    if reader is None:
        return []
    source = ImportSource(findings.source)
    imports = []
    for _, node in sorted(findings.imports.items()):
        start, end = node.start_point[0] + 1, node.end_point[0] + (1 if node.end_point[1] else 0)
        for target, names in reader(node, source):
            imports.append(Import(target, names[:200], start, end))  # most names of one import
    return imports


class ImportSource:
    """The text behind the nodes of one file."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def text(self, node: Node | None) -> str:
        """Return the text of a node, empty for None."""
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""

    def unquoted(self, node: Node | None) -> str:
        """Return the text of a node without the quotes around it."""
        return self.text(node).strip("'\"`")

    def bound(self, node: Node) -> str:
        """Return the name that `a` or `a as b` binds."""
        return self.text(_field(node, "alias") or _field(node, "name") or node)


def _field(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def _python(node: Node, source: ImportSource) -> Iterator[Binding]:
    names = node.children_by_field_name("name")
    if node.type == "import_statement":
        for name in names:
            target = source.text(_field(name, "name") or name)
            alias = _field(name, "alias")
            yield target, (source.text(alias) if alias else target.partition(".")[0],)
        return
    target = "__future__" if node.type == "future_import_statement" else source.text(_field(node, "module_name"))
    star = any(child.type == "wildcard_import" for child in node.named_children)
    yield target, ("*",) if star else tuple(map(source.bound, names))


def _ecmascript(node: Node, source: ImportSource) -> Iterator[Binding]:
    if node.type in {"variable_declarator", "call_expression"}:
        call = _field(node, "value") if node.type == "variable_declarator" else node
        arguments = _field(call, "arguments") if call else None
        if arguments is not None and arguments.named_child_count:
            yield source.unquoted(arguments.named_children[0]), tuple(_pattern_names(_field(node, "name"), source))
        return
    names: list[str] = []
    origin = _field(node, "source")
    for child in node.named_children:
        if child.type == "import_clause":
            names += _clause_names(child, source)
        elif child.type == "export_clause":
            names += map(source.bound, child.named_children)
        elif child.type in {"namespace_import", "namespace_export"}:
            names += map(source.text, child.named_children)
        elif child.type == "import_require_clause":
            names.append(source.text(child.named_children[0]))
            origin = _field(child, "source")
    if node.type == "export_statement" and not names:
        names = ["*"]
    if origin is not None:
        yield source.unquoted(origin), tuple(names)


def _clause_names(clause: Node, source: ImportSource) -> Iterator[str]:
    for child in clause.named_children:
        if child.type == "named_imports":
            yield from (source.bound(node) for node in child.named_children if node.type == "import_specifier")
        else:
            yield source.text(child.named_children[0] if child.named_child_count else child)


def _pattern_names(pattern: Node | None, source: ImportSource) -> Iterator[str]:
    """Yield the names that `a`, `{ a, b: c }` bind; what nests deeper is left out."""
    if pattern is None:
        return
    if pattern.type == "identifier":
        yield source.text(pattern)
    for child in pattern.named_children:
        bound = _field(child, "value") if child.type == "pair_pattern" else child
        if bound is not None and bound.type in {"identifier", "shorthand_property_identifier_pattern"}:
            yield source.text(bound)


def _go(node: Node, source: ImportSource) -> Iterator[Binding]:
    target = source.unquoted(_field(node, "path"))
    name = _field(node, "name")
    parts = [part for part in target.split("/") if part]
    if len(parts) > 1 and parts[-1][0] == "v" and parts[-1][1:].isdigit():
        parts.pop()
    yield target, (source.text(name) if name else parts[-1] if parts else "",)


def _rust(node: Node, source: ImportSource) -> Iterator[Binding]:
    if node.type == "mod_item":
        name = source.text(_field(node, "name"))
        yield f"self::{name}", (name,)
    elif node.type == "extern_crate_declaration":
        yield source.text(_field(node, "name")), (source.bound(node),)
    else:
        argument = _field(node, "argument")
        if argument is not None:
            yield from _rust_tree(argument, source)


def _rust_tree(argument: Node, source: ImportSource) -> Iterator[Binding]:
    """`a::{b, c::{d, e as f}}` -> (`a`, b), (`a::c`, d f)."""
    pending = [("", argument)]
    while pending:
        prefix, node = pending.pop(0)
        if node.type == "scoped_use_list":
            path = source.text(_field(node, "path"))
            inner = _field(node, "list")
            pending[:0] = [(f"{prefix}{path}::" if path else prefix, inner)] if inner is not None else []
        elif node.type == "use_list":
            leaves = [child for child in node.named_children if child.type in _RUST_LEAVES]
            if leaves:
                yield prefix.removesuffix("::"), tuple(_rust_name(leaf, prefix, source) for leaf in leaves)
            pending[:0] = [(prefix, child) for child in node.named_children if child.type in _RUST_BRANCHES]
        elif node.type == "use_as_clause":
            yield prefix + source.text(_field(node, "path")), (source.text(_field(node, "alias")),)
        elif node.type == "use_wildcard":
            yield (prefix + source.text(node).removesuffix("*")).removesuffix("::"), ("*",)
        elif node.is_named:
            path = prefix + source.text(node)
            yield path, (path.rpartition("::")[2],)


_RUST_LEAVES = frozenset({"identifier", "self", "crate", "super"})
_RUST_BRANCHES = frozenset({"scoped_use_list", "use_list", "scoped_identifier", "use_as_clause", "use_wildcard"})


def _rust_name(leaf: Node, prefix: str, source: ImportSource) -> str:
    """`self` in a list binds the name of the module before it."""
    name = source.text(leaf)
    return prefix.removesuffix("::").rpartition("::")[2] if name == "self" else name


def _java(node: Node, source: ImportSource) -> Iterator[Binding]:
    children = [child for child in node.named_children if child.type in {"scoped_identifier", "identifier", "asterisk"}]
    if not children:
        return
    target = source.text(children[0])
    yield target, ("*",) if children[-1].type == "asterisk" else (target.rpartition(".")[2],)


def _c(node: Node, source: ImportSource) -> Iterator[Binding]:
    path = source.text(_field(node, "path"))
    yield path if path.startswith("<") else path.strip('"'), ()


def _csharp(node: Node, source: ImportSource) -> Iterator[Binding]:
    alias = _field(node, "name")
    targets = [child for child in node.named_children if child != alias]
    if targets:
        yield source.text(targets[-1]), (source.text(alias),) if alias else ()


def _ruby(node: Node, source: ImportSource) -> Iterator[Binding]:
    arguments = _field(node, "arguments")
    strings = [child for child in arguments.named_children if child.type == "string"] if arguments else []
    method = source.text(_field(node, "method"))
    for string in strings:
        target = source.unquoted(string)
        if method == "require_relative" and not target.startswith("."):
            target = f"./{target}"
        first = arguments.named_children[0] if arguments else None
        yield target, (source.text(first).lstrip(":"),) if method == "autoload" else ()


def _php(node: Node, source: ImportSource) -> Iterator[Binding]:
    if node.type != "namespace_use_declaration":
        strings = [
            descendant
            for descendant in _descendants(node, "string_content", "encapsed_string")
            if descendant.named_child_count == 0
        ]
        if strings:
            yield source.text(strings[-1]).lstrip("/"), ()
        return
    prefix = next((f"{source.text(child)}\\" for child in node.named_children if child.type == "namespace_name"), "")
    for clause in _descendants(node, "namespace_use_clause"):
        alias = _field(clause, "alias")
        target = prefix + (source.text(clause.named_children[0]) if clause.named_child_count else "")
        yield target, (source.text(alias) if alias else target.rpartition("\\")[2],)


def _descendants(node: Node, *types: str) -> list[Node]:
    """Return the descendants of some types in document order, without nested ones."""
    nodes, pending = [], [node]
    while pending:
        current = pending.pop()
        if current.type in types:
            nodes.append(current)
        else:
            pending.extend(reversed(current.named_children))
    return nodes


def _bash(node: Node, source: ImportSource) -> Iterator[Binding]:
    arguments = node.children_by_field_name("argument")
    if arguments:
        yield source.unquoted(arguments[0]), ()


def _kotlin(node: Node, source: ImportSource) -> Iterator[Binding]:
    path, *alias = [child for child in node.named_children if child.type in {"qualified_identifier", "identifier"}]
    target = source.text(path)
    if source.text(node).rstrip().endswith(".*"):
        yield target, ("*",)
    else:
        yield target, (source.text(alias[0]) if alias else target.rpartition(".")[2],)


def _scala(node: Node, source: ImportSource) -> Iterator[Binding]:
    """`a.b, c.{d, e => f}, g._` -> (`a.b`, b), (`c.d`, d), (`c.e`, f), (`g`, *)."""
    path: list[str] = []
    for child in node.children[1:]:
        if child.type == "," and path:
            yield ".".join(path), (path[-1],)
        if child.type in {"identifier", "operator_identifier"}:
            path.append(source.text(child))
        elif child.type != ".":
            selected = child.named_children if child.type == "namespace_selectors" else [child]
            yield from (found for other in selected for found in _scala_selected(".".join(path), other, source))
            path = []
    if path:
        yield ".".join(path), (path[-1],)


def _scala_selected(path: str, node: Node, source: ImportSource) -> Iterator[Binding]:
    """Yield what one selector binds; `Hidden => _` binds nothing."""
    name, alias = source.text(_field(node, "name") or node), _field(node, "alias")
    if node.type == "namespace_wildcard":
        yield path, ("*",)
    elif node.is_named and (alias is None or alias.type != "wildcard"):
        yield f"{path}.{name}", (source.text(alias) if alias is not None else name,)


def _swift(node: Node, source: ImportSource) -> Iterator[Binding]:
    target = next((source.text(child) for child in node.named_children if child.type == "identifier"), "")
    yield target, ()


def _lua(node: Node, source: ImportSource) -> Iterator[Binding]:
    """`local a, b = require("x"), require("y")` -> (`x`, a), (`y`, b)."""
    arguments, values = _field(node, "arguments"), node.parent
    if arguments is None or not arguments.named_child_count:
        return
    statement = values.parent if values is not None and values.type == "expression_list" else None
    names: tuple[str, ...] = ()
    if statement is not None and values is not None and statement.type == "assignment_statement":
        index = values.named_children.index(node)
        targets = statement.named_children[0].named_children
        names = (source.text(targets[index]),) if index < len(targets) else ()
    yield source.unquoted(arguments.named_children[0]).strip("[]"), names


def _elixir(node: Node, source: ImportSource) -> Iterator[Binding]:
    target = source.text(_descendants(node, "alias")[0])
    aliases = [
        descendant
        for descendant in _descendants(node, "pair")
        if source.text(_field(descendant, "key")).startswith("as:")
    ]
    yield target, (source.text(_field(aliases[0], "value")) if aliases else target.rpartition(".")[2],)


_READERS: dict[str, Reader] = {
    "bash": _bash,
    "c": _c,
    "cpp": _c,
    "csharp": _csharp,
    "elixir": _elixir,
    "go": _go,
    "java": _java,
    "javascript": _ecmascript,
    "kotlin": _kotlin,
    "lua": _lua,
    "php": _php,
    "python": _python,
    "ruby": _ruby,
    "rust": _rust,
    "scala": _scala,
    "swift": _swift,
    "tsx": _ecmascript,
    "typescript": _ecmascript,
}

INNER_IMPORTS = frozenset({"python", "rust"})
"""Languages in which an import inside of a function binds names there."""

WITH_IMPORTS = frozenset(_READERS)
"""The languages whose import statements are read."""
