"""The meaning of a name in a file: an indexed definition or module, or something outside the index.

A name is looked up by the rules of its language: in the scopes around it, among the imports of its file, in its
package. The expression before it (`self`, a module, a variable, another call) is looked up first: see `values`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from satchel.search.resolve.code import OUTSIDE, Code, CodeDefinition, Entities, SourceFile, rust_module
from satchel.search.resolve.modules import folder_of
from satchel.search.resolve.syntax import CLASSES, COMMON, Binding, How, above, binding_of, home, scopes
from satchel.search.resolve.values import ValueLookup
from satchel.sources.code.languages import FAMILIES
from satchel.sources.roles import is_secondary
from satchel.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node


_NAMESPACES = CLASSES | {"namespace_definition", "namespace_declaration", "file_scoped_namespace_declaration"}
_WORDS = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")


class Names(ValueLookup):
    """Resolves names in one state of the index; every answer is computed once."""

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._bound: dict[tuple[str, str], list[tuple[int, Binding]]] = {}

    def bound(self, file: SourceFile, name: str, node: Node) -> Binding | Import | None:
        """Return the innermost binding of a name around a place."""
        around = list(scopes(node))
        depths = {scope.id: -place for place, scope in enumerate(around)}
        places: list[tuple[int, bool, int, Binding | Import]] = []
        imports = [one for one in file.imports if name in one.names]
        for scope, binding in self._bindings(file, name):
            start, line = binding.node.start_byte, binding.node.start_point[0] + 1
            is_import = any(one.start <= line <= one.end for one in imports)
            if scope in depths and not is_import and not _is_inside(node, binding.value) and binding.node != node:
                places.append((depths[scope], start < node.start_byte, start, binding))
        for one in imports:
            start = file.range(one.start, one.end)[0]
            own = next((scope for scope in around if scope.start_byte <= start < scope.end_byte), around[-1])
            places.append((depths[own.id], start < node.start_byte, start, one))
        if not places:
            return None
        deepest = max(places, key=lambda place: place[0])[0]
        inner = [place for place in places if place[0] == deepest]
        before = [place for place in inner if place[1]]
        best = max(before, key=lambda place: place[2]) if before else min(inner, key=lambda place: place[2])
        return best[3]

    def _bindings(self, file: SourceFile, name: str) -> list[tuple[int, Binding]]:
        """Return every binding of a name in a file that can be seen without what it belongs to, each with its scope."""
        key = (file.path, name)
        if key not in self._bound:
            self._bound[key] = [
                (scope.id, binding)
                for scope, binding in ((home(node), binding_of(node)) for node in file.occurrences(name))
                if scope is not None and scope.type not in CLASSES and binding is not None
                if binding.how is not How.MEMBER
            ]
        return self._bound[key]

    def unbound(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return a name that nothing around it binds: of the class, the package, a star import, or from outside."""
        near = self._of_class_around(file, name, node) or self.of_package(file, name) or self.starred(file, name)
        if not near and file.language == "rust":
            module = self.modules.child(rust_module(file, node), name) or self.modules.crate(name)
            return (module or OUTSIDE,)
        if near:
            return near
        if "loose" not in file.rules or name in {"std", "System"}:
            return (OUTSIDE,)
        # In a language without imports by name (C, Ruby, PHP) a bare name means its definitions if so few.
        loose = self._loose(file, name, node)
        return loose if 0 < len({one.key for one in loose}) <= 3 else ()

    def _of_class_around(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return the member of a class around a place that a bare name means, in languages where it may."""
        around = self.classes_around(file, node) if "member" in file.rules else ()
        every = (self.of_members(owners, name) for owners in around)
        members = (tuple(one for one in each if isinstance(one, CodeDefinition)) for each in every)
        return next(filter(None, members), ())

    def _loose(self, file: SourceFile, name: str, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the definitions of a name that a file without imports by name may mean: no constructors, no tests."""
        own = [one for one in self.code.defined(name) if FAMILIES[one.language] == FAMILIES[file.language]]
        own = _narrowed(own, lambda one: one.owner.rpartition(".")[2] != name)
        if not file.document.secondary:
            own = _narrowed(own, lambda one: not is_secondary(one.path))
        if file.language in {"cpp", "csharp"}:
            own = self._in_reach(file, node, own) or own
        return tuple(_narrowed(own, lambda one: one.path == file.path))

    def _in_reach(self, file: SourceFile, node: Node, named: list[CodeDefinition]) -> list[CodeDefinition]:
        """Return those in the namespaces and classes around a place or imported there; failing them no members."""
        names = (file.text(outer.child_by_field_name("name")) for outer in above(node) if outer.type in _NAMESPACES)
        parts = ".".join(filter(None, reversed([*names]))).replace("::", ".").split(".")
        reach = [{".".join(parts[:end])} for end in range(len(parts), -1, -1)]
        imported = {one.target.replace("::", ".") for one in file.imports}
        near = ([one for one in named if one.owner in owners] for owners in (*reach, imported))
        return next(filter(None, near), [one for one in named if not self._is_member(one)])

    def _is_member(self, one: CodeDefinition) -> bool:
        """Return whether the owner of a definition is a class, not a namespace."""
        return any(owner.qualified == one.owner for owner in self.code.defined(one.owner.rpartition(".")[2]))

    def guess(self, file: SourceFile, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the methods of this name, where one class alone has it and the file names that class.

        For a call on something whose class cannot be told by syntax.
        """
        name = file.text(node)
        if name in COMMON:
            return ()
        named = (one for one in self.code.defined(name) if FAMILIES[one.language] == FAMILIES[file.language])
        methods = [one for one in named if one.owner]
        methods = _narrowed(methods, lambda one: not is_secondary(one.path))
        owners = {one.owner.rpartition(".")[2] for one in methods}
        if len(owners) != 1 or not (file.path == methods[0].path or file.mentions(owners.pop())):
            return ()
        return tuple(one for one in methods if self.code.is_function(one))


def _narrowed(named: list[CodeDefinition], fits: Callable[[CodeDefinition], bool]) -> list[CodeDefinition]:
    """Return those that fit, all of them if none does."""
    return [one for one in named if fits(one)] or named


def is_telling(name: str) -> bool:
    """Return whether a name consists of several words: hardly anything from outside has the same one."""
    return len(_WORDS.findall(name)) > 1


def _is_inside(node: Node, other: Node | None) -> bool:
    return other is not None and other.start_byte <= node.start_byte and node.end_byte <= other.end_byte


# Interfaces of Go, which a type implements by having their methods, without naming them


def implemented(names: Names, owner: CodeDefinition, method: str) -> Iterator[CodeDefinition]:
    """Yield this method of each interface that a type has all methods of."""
    if owner.language != "go" or _methods(names.code, owner):
        return
    declared = [one for one in names.code.defined(method) if one.owner and one.language == "go"]
    for one in _only_of_interfaces(names.code, declared)[:60]:  # `Close` stands in hundreds
        interface = _type_of(names.code, one)
        if interface is not None and _has_all(names, owner, _methods(names.code, interface)):
            yield one


def implementers(names: Names, interface: CodeDefinition) -> Iterator[CodeDefinition]:
    """Yield the types that have all methods of an interface, by path and line."""
    methods = _methods(names.code, interface) if interface.language == "go" else {}
    if not methods:
        return
    rarest = min(methods, key=lambda name: (len(names.code.defined(name)), name))
    types = (_type_of(names.code, one) for one in names.code.defined(rarest))
    for one in dict.fromkeys(filter(None, types)):
        if one.key != interface.key and not _methods(names.code, one) and _has_all(names, one, methods):
            yield one


def _has_all(names: Names, owner: CodeDefinition, methods: dict[str, int]) -> bool:
    for name, count in methods.items():
        own = [one for one in names.member(owner, name) if isinstance(one, CodeDefinition)]
        if not any(_parameters(names.code, one) == count for one in own):
            return False
    return bool(methods)


def _type_of(code: Code, method: CodeDefinition) -> CodeDefinition | None:
    folder, name = folder_of(method.path), method.owner.rpartition(".")[2]
    types = (one for one in code.defined(name) if one.language == "go" and folder_of(one.path) == folder)
    return next((one for one in types if not one.owner), None)


def _only_of_interfaces(code: Code, methods: list[CodeDefinition]) -> list[CodeDefinition]:
    """Return those that have no receiver: `Take(key string) error` in an interface, by their lines alone."""
    code.load_files(one.path for one in methods)
    files = {one.path: code.file(one.path) for one in methods}
    lines = ((one, file.lines(one.line, one.line)) for one in methods if (file := files[one.path]) is not None)
    return [one for one, line in lines if not line.startswith("func ")]


def _methods(code: Code, owner: CodeDefinition) -> dict[str, int]:
    """Return the methods that an interface declares itself, with their numbers of parameters; none of another type."""
    declared = code.declaration(owner)
    written = declared.child_by_field_name("type") if declared is not None else None
    file = code.file(owner.path)
    inside = written.named_children if written is not None and written.type == "interface_type" else []
    elements = [one for one in inside if one.type == "method_elem"]
    if file is None or len(elements) < min(len(inside), 2):
        return {}  # a constraint, or little beside what it embeds
    return {
        file.text(one.child_by_field_name("name")): _count(one.child_by_field_name("parameters")) for one in elements
    }


def _parameters(code: Code, method: CodeDefinition) -> int:
    declared = code.declaration(method)
    return _count(declared.child_by_field_name("parameters")) if declared is not None else -1


def _count(parameters: object) -> int:
    """Return the number of parameters: `(a, b int, c string)` has three, `(int, string)` two."""
    declared = getattr(parameters, "named_children", [])
    return sum(max(len(one.children_by_field_name("name")), 1) for one in declared if "parameter" in one.type)
