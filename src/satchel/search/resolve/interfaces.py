"""Interfaces of Go, which a type implements by having their methods, without naming them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from satchel.search.resolve.code import Code, CodeDefinition

if TYPE_CHECKING:
    from satchel.search.resolve.names import Names


def implemented(names: Names, owner: CodeDefinition, method: str) -> Iterator[CodeDefinition]:
    """Yield this method of each interface that a type has all methods of."""
    if owner.language != "go" or _methods_of(names.code, owner):
        return
    declared = [
        definition for definition in names.code.defined(method) if definition.owner and definition.language == "go"
    ]
    for definition in _only_of_interfaces(names.code, declared)[:60]:  # `Close` stands in hundreds
        interface = _type_of(names.code, definition)
        if interface is not None and _has_all(names, owner, _methods_of(names.code, interface)):
            yield definition


def implementers(names: Names, interface: CodeDefinition) -> Iterator[CodeDefinition]:
    """Yield the types that have all methods of an interface, by path and line."""
    methods = _methods_of(names.code, interface) if interface.language == "go" else {}
    if not methods:
        return
    rarest = min(methods, key=lambda name: (len(names.code.defined(name)), name))
    types = (_type_of(names.code, definition) for definition in names.code.defined(rarest))
    for type_name in dict.fromkeys(filter(None, types)):
        if (
            type_name.key != interface.key
            and not _methods_of(names.code, type_name)
            and _has_all(names, type_name, methods)
        ):
            yield type_name


def _has_all(names: Names, owner: CodeDefinition, methods: dict[str, int]) -> bool:
    for name, count in methods.items():
        definitions = [definition for definition in names.member(owner, name) if isinstance(definition, CodeDefinition)]
        if not any(_parameters_of(names.code, definition) == count for definition in definitions):
            return False
    return bool(methods)


def _type_of(code: Code, method: CodeDefinition) -> CodeDefinition | None:
    """Return the type in Go that a method belongs to."""
    folder, name = method.path.rpartition("/")[0], method.owner.rpartition(".")[2]
    types = (
        definition
        for definition in code.defined(name)
        if definition.language == "go" and definition.path.rpartition("/")[0] == folder
    )
    return next((type_name for type_name in types if not type_name.owner), None)


def _only_of_interfaces(code: Code, methods: list[CodeDefinition]) -> list[CodeDefinition]:
    """Return those that have no receiver: `Take(key string) error` in an interface, by their lines alone."""
    code.load_files(method.path for method in methods)
    files = {method.path: code.file(method.path) for method in methods}
    lines = (
        (method, file.lines(method.line, method.line)) for method in methods if (file := files[method.path]) is not None
    )
    return [definition for definition, line in lines if not line.startswith("func ")]


def _methods_of(code: Code, owner: CodeDefinition) -> dict[str, int]:
    """Return the methods that an interface declares itself, with their numbers of parameters; none of another type."""
    declared = code.declaration(owner)
    written = declared.child_by_field_name("type") if declared is not None else None
    file = code.file(owner.path)
    named = written.named_children if written is not None and written.type == "interface_type" else []
    inside = [node for node in named if node.type != "comment"]
    elements = [node for node in inside if node.type == "method_elem"]
    if file is None or len(elements) < min(len(inside), 2):
        return {}  # a constraint, or little beside what it embeds
    return {
        file.text(element.child_by_field_name("name")): _count(element.child_by_field_name("parameters"))
        for element in elements
    }


def _parameters_of(code: Code, method: CodeDefinition) -> int:
    """Return the number of parameters of a method, -1 for none that can be read."""
    declared = code.declaration(method)
    return _count(declared.child_by_field_name("parameters")) if declared is not None else -1


def _count(parameters: object) -> int:
    """Return the number of parameters: `(a, b int, c string)` has three, `(int, string)` two."""
    declared = getattr(parameters, "named_children", [])
    return sum(
        max(len(parameter.children_by_field_name("name")), 1) for parameter in declared if "parameter" in parameter.type
    )
