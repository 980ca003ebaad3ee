"""The meaning of a name in a file: an indexed definition or module, or something outside the index.

A name is looked up by the rules of its language: in the scopes around it, among the imports of its file, in its
package. The expression before it (`self`, a module, a variable, another call) is looked up first: see `values`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from satchel.search.resolve.code import OUTSIDE, Code, CodeDefinition, Entities, Entity, Module, SourceFile, rust_module
from satchel.search.resolve.modules import folder_of, group_of
from satchel.search.resolve.syntax import CLASSES, COMMON, DOTTED, LEAVES, Binding, How, above, binding_of, home, scopes
from satchel.search.resolve.values import IMPLICIT_SELF, ValueLookup
from satchel.sources.roles import is_secondary
from satchel.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node


_NAMESPACES = CLASSES | {"namespace_definition", "namespace_declaration", "file_scoped_namespace_declaration"}
_LOOSE = frozenset({"c", "cpp", "csharp", "ruby", "php", "bash"})
_JAVA_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_WORDS = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")

_DEFAULT_EXPORT = re.compile(
    r"export\s+default\s+(?:(?:abstract\s+)?class|(?:async\s+)?function\s*\*?)?\s*([A-Za-z_$][\w$]*)"
    r"|export\s*\{[^}]*?([A-Za-z_$][\w$]*)\s+as\s+default\b"
)


class Names(ValueLookup):
    """Resolves names in one state of the index; every answer is computed once."""

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._bound: dict[tuple[str, str], list[tuple[int, Binding]]] = {}

    def bare(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return what a name without anything before it means at a place."""
        if file.language == "rust" and file.source[node.end_byte : node.end_byte + 1] == b"!":
            return self._of_package(file, name) or (OUTSIDE,)
        bound = self.bound(file, name, node)
        if isinstance(bound, Import):
            return self.imported(file, bound, name)
        if isinstance(bound, Binding):
            here = self.at(file, bound.node)
            if here:
                return here
            if bound.value is not None and bound.value.type in LEAVES | DOTTED and bound.member is None:
                last = bound.value if bound.value.type in LEAVES else bound.value.named_children[-1]
                return self.meaning(file, last)
            if bound.member is not None:
                return self.of_members(self.source(file, bound), file.text(bound.member))
            return (OUTSIDE,)
        return self.unbound(file, name, node)

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
        near = self._of_class_around(file, name, node) or self._of_package(file, name) or self._starred(file, name)
        if not near and file.language == "rust":
            module = self.modules.rust_child(rust_module(file, node), name) or self.modules.crate(name)
            return (module or OUTSIDE,)
        if near:
            return near
        if file.language not in _LOOSE or name in {"std", "System"}:
            return (OUTSIDE,)
        # In a language without imports by name (C, Ruby, PHP) a bare name means its definitions if so few.
        loose = self._loose(file, name, node)
        return loose if 0 < len({one.key for one in loose}) <= 3 else ()

    def _of_class_around(self, file: SourceFile, name: str, node: Node) -> Entities:
        """Return the member of a class around a place that a bare name means, in languages where it may."""
        around = self.classes_around(file, node) if file.language in IMPLICIT_SELF else ()
        every = (self.of_members(owners, name) for owners in around)
        members = (tuple(one for one in each if isinstance(one, CodeDefinition)) for each in every)
        return next(filter(None, members), ())

    def _loose(self, file: SourceFile, name: str, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the definitions of a name that a file without imports by name may mean: no constructors, no tests."""
        own = [one for one in self.code.defined(name) if group_of(one.language) == group_of(file.language)]
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

    def _of_package(self, file: SourceFile, name: str) -> Entities:
        """Return what the other files of the package define, in languages where that needs no import."""
        if file.language == "go":
            return self._of_folder(file, name)
        if file.language == "java":
            package = _JAVA_PACKAGE.search(file.source.decode("utf-8", "replace"))
            return self._of_java(package[1] if package else "", name, folder_of(file.path))
        macros = [one for one in self.code.defined(name) if self._is_macro(one)] if file.language == "rust" else []
        return tuple(macros) if len({one.key for one in macros}) == 1 else ()

    def _of_folder(self, file: SourceFile, name: str) -> Entities:
        """Return what the files of a package of Go define: tests only for tests."""
        folder, is_test = folder_of(file.path), file.path.endswith("_test.go")
        same = [one for one in self.in_module(Module(folder, "go"), name) if isinstance(one, CodeDefinition)]
        return tuple(one for one in same if is_test or not one.path.endswith("_test.go"))

    def _of_java(self, package: str, name: str, folder: str | None = None) -> Entities:
        """Return the classes of a package, below any source root; those in the folder first."""
        ends = f"/{package.replace('.', '/')}"
        same = [one for one in self.code.defined(name) if one.language == "java" and not one.owner]
        near = [one for one in same if folder_of(one.path) == folder]
        return tuple(near or (one for one in same if package and f"/{folder_of(one.path)}".endswith(ends)))

    def _is_macro(self, one: CodeDefinition) -> bool:
        file = self.code.file(one.path) if one.language == "rust" else None
        return file is not None and f"macro_rules! {one.name}" in file.lines(one.line, one.line)

    def _starred(self, file: SourceFile, name: str) -> Entities:
        """Return what comes in by `import *`, `use super::*` or `import . "pkg"`."""
        for one in file.imports:
            if "*" in one.names or "." in one.names:
                members = self._starred_java(file, one, name) if file.language == "java" else ()
                members = members or self._of_star(file, one, name)
                if any(isinstance(one, CodeDefinition) for one in members):
                    return members
        return ()

    def _starred_java(self, file: SourceFile, one: Import, name: str) -> Entities:
        """Return the class of a package, or the member of a class, that `import a.b.*` brings."""
        outer = self.imported(file, one, one.target.rpartition(".")[2])
        return self._of_java(one.target, name) or self.of_members(outer, name)

    def _of_star(self, file: SourceFile, one: Import, name: str) -> Entities:
        every = self.module_of(file, one)
        own = (entity for entity in every if isinstance(entity, Module) and entity.path == file.path)
        mine = next(own, None)
        return self.in_module(mine, name) if mine is not None else self.of_members(every, name)

    def in_module(self, module: Entity, name: str) -> Entities:
        """Return what a module itself defines."""
        if not isinstance(module, Module):
            return ()
        if module.language == "go":
            return tuple(d for d in self.code.defined(name) if folder_of(d.path) == module.path and not d.owner)
        return tuple(d for d in self.code.defined(name) if d.path == module.path and d.owner == module.inside)

    def of_module(self, module: Module, name: str) -> Entities:
        """Return what a name is inside a module."""
        own, file = self.in_module(module, name), self.code.file(module.path)
        if own or file is None:
            return own or (self._submodule(module, name) or OUTSIDE,)
        if name == "default":
            return self._default(file)
        for one in file.imports:
            if name in one.names and (module.language != "rust" or one.target != f"self::{name}"):
                again = self.imported(file, one, name)
                if again and again != (OUTSIDE,):
                    return again
        child = self._submodule(module, name)
        return (child,) if child is not None else self._starred(file, name) or (OUTSIDE,)

    def _submodule(self, module: Module, name: str) -> Module | None:
        if module.language == "rust":
            return self.modules.rust_child(module, name)
        if module.language == "python" and module.path.endswith("__init__.py"):
            return self.modules.python(module.path, f".{name}")
        return None

    def _default(self, file: SourceFile) -> Entities:
        """Return what a file of JavaScript exports by default."""
        match = _DEFAULT_EXPORT.search(file.source.decode("utf-8", "replace"))
        name = (match[1] or match[2]) if match else ""
        own = tuple(d for d in self.code.defined(name) if d.path == file.path and not d.owner) if name else ()
        if own:
            return own
        for one in file.imports:
            if name and name in one.names:
                return self.imported(file, one, name)
        return (OUTSIDE,)

    def guess(self, file: SourceFile, node: Node) -> tuple[CodeDefinition, ...]:
        """Return the methods of this name, where one class alone has it and the file names that class.

        For a call on something whose class cannot be told by syntax. A telling name may be that of a function as well,
        where the file names the module.
        """
        name = file.text(node)
        imported = self._of_imported_trait(file, name) if file.language == "rust" else ()
        if imported or name in COMMON:
            return imported
        group = group_of(file.language)
        named = [one for one in self.code.defined(name) if group_of(one.language) == group]
        methods = [one for one in named if one.owner] or (named if is_telling(name) else [])
        methods = _narrowed(methods, lambda one: not is_secondary(one.path))
        owners = {one.owner.rpartition(".")[2] or PurePosixPath(one.path).stem for one in methods}
        if len(owners) != 1 or not (file.path == methods[0].path or file.mentions(owners.pop())):
            return ()
        return tuple(one for one in methods if self.code.is_function(one))

    def _of_imported_trait(self, file: SourceFile, name: str) -> tuple[CodeDefinition, ...]:
        """Return the method of an imported trait: `flush` of `AsyncWriteExt`, whatever it is called on."""
        traits = [(one, bound) for one in file.imports for bound in one.names if bound[:1].isupper()]
        found = self.of_members(tuple(e for one, bound in traits for e in self.imported(file, one, bound)), name)
        methods = tuple(one for one in found if isinstance(one, CodeDefinition) and self._is_of_trait(one))
        return methods if len(methods) == 1 else ()

    def _is_of_trait(self, one: CodeDefinition) -> bool:
        node = self.code.name_node(one)
        return node is not None and next((x.type == "trait_item" for x in above(node) if x.type in CLASSES), False)

    # Imports

    def imported(self, file: SourceFile, one: Import, name: str) -> Entities:
        """Return what an import binds to a name."""
        group = group_of(file.language)
        statement = file.lines(one.start, one.end)
        if group == "python":
            return self._python_import(file, one, name, statement)
        if group == "ecmascript":
            return self._ecmascript_import(file, one, name, statement)
        if group == "go":
            return self.module_of(file, one)
        if group == "rust":
            return self._used(file, one, name, statement)
        last = one.target.replace("\\", ".").rpartition(".")[2]
        ends = one.target.replace(".", "/").replace("\\", "/")
        definitions = [
            one
            for one in self.code.defined(last)
            if one.path.rpartition(".")[0].endswith(ends)
            or f"/{folder_of(one.path)}/{one.qualified.replace('.', '/')}".endswith(f"/{ends}")
        ]
        return tuple(definitions) or (OUTSIDE,)

    def _python_import(self, file: SourceFile, one: Import, name: str, statement: str) -> Entities:
        if statement.lstrip().startswith("import"):
            is_whole = re.search(rf"\bas\s+{re.escape(name)}\b", statement) is not None
            return (
                self.modules.python(file.path, one.target if is_whole else one.target.partition(".")[0]) or OUTSIDE,
            )
        return self._from_module(self.module_of(file, one), _original(name, statement), file, one.target)

    def _ecmascript_import(self, file: SourceFile, one: Import, name: str, statement: str) -> Entities:
        modules, written = self.module_of(file, one), re.escape(name)
        if re.search(rf"\*\s+as\s+{written}\b", statement):
            return modules
        original = _original(name, statement)
        if re.match(rf"\s*import\s+(?:type\s+)?{written}\b(?!\s*\}})", statement):
            original = "default"
        if "require" in statement:
            pair = re.search(rf"([\w$]+)\s*:\s*{written}\b", statement)
            if pair is None and not re.search(rf"\{{[^}}]*\b{written}\b", statement):
                return self.of_members(modules, "default") if modules != (OUTSIDE,) else modules
            original = pair[1] if pair else original
        return self.of_members(modules, original)

    def _from_module(self, modules: Entities, name: str, file: SourceFile, target: str) -> Entities:
        members = self.of_members(modules, name)
        if any(one is not OUTSIDE for one in members):
            return members
        module = self.modules.python(file.path, f"{target}{'' if target.endswith('.') else '.'}{name}")
        return (module,) if module is not None else members or (OUTSIDE,)

    def module_of(self, file: SourceFile, one: Import) -> Entities:
        """Return what an import names before its names."""
        group = group_of(file.language)
        if group == "rust":
            node = file.node_at(file.line_starts[min(one.start, len(file.line_starts)) - 1])
            return self.rust_path(file, one.target.split("::"), node) if node is not None else (OUTSIDE,)
        if group == "python":
            return (self.modules.python(file.path, one.target) or OUTSIDE,)
        if group == "ecmascript":
            return (self.modules.ecmascript(file.path, one.target) or OUTSIDE,)
        return ((self.modules.go(one.target) if group == "go" else None) or OUTSIDE,)

    def _used(self, file: SourceFile, one: Import, name: str, statement: str) -> Entities:
        """Return what a `use` of Rust binds: the target may end with the name, or be what the names are in."""
        segments = one.target.split("::")
        node = file.node_at(file.line_starts[one.start - 1])
        if node is None:
            return (OUTSIDE,)
        if statement.lstrip().startswith(("mod ", "pub mod", "pub(crate) mod")) and segments[0] == "self":
            child = self.modules.rust_child(rust_module(file, node), name)
            return (child or OUTSIDE,)
        whole = self.rust_path(file, segments, node)
        if segments[-1] == name or (len(one.names) == 1 and f" as {name}" in statement):
            return whole
        return self.of_members(whole, name)

    def rust_path(self, file: SourceFile, segments: Sequence[str], node: Node) -> Entities:
        """Return a path of Rust from its beginning."""
        here: Entities = ()
        for place, segment in enumerate(segments):
            if segment == "crate":
                here = (self.modules.crate_root(file.path),)
            elif segment == "self" and place == 0:
                here = (rust_module(file, node),)
            elif segment == "super":
                module = here[0] if here and isinstance(here[0], Module) else rust_module(file, node)
                parent = self.modules.rust_parent(module)
                here = (parent or OUTSIDE,)
            elif place == 0:
                crate = self.modules.crate(segment)
                module_here = rust_module(file, node)
                child = self.modules.rust_child(module_here, segment)
                root = self.modules.rust_child(self.modules.crate_root(file.path), segment) if crate is None else None
                first = child or crate or root
                here = (first,) if first is not None else self.in_module(module_here, segment) or (OUTSIDE,)
            else:
                here = self.of_members(here, segment)
        return here


def _narrowed(named: list[CodeDefinition], fits: Callable[[CodeDefinition], bool]) -> list[CodeDefinition]:
    """Return those that fit, all of them if none does."""
    return [one for one in named if fits(one)] or named


def is_telling(name: str) -> bool:
    """Return whether a name consists of several words: hardly anything from outside has the same one."""
    return len(_WORDS.findall(name)) > 1


def _original(name: str, statement: str) -> str:
    """Return the name that an import gives another one: `send` of `send as post`."""
    alias = re.search(rf"([\w$]+)\s+as\s+{re.escape(name)}\b", statement)
    return alias[1] if alias else name


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
