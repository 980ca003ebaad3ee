"""What a name in a file means: a definition here, a module here, or something outside of what is indexed.

A name is looked up as its language does: in the scopes around it, among the imports of its file, in its package. What
stands before it (`self`, a module, a variable, another call) is looked up first, by its declared type, by the value
that it was given, or by what the called function returns. An empty answer means that nobody can tell by syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from satchel.search.resolve.code import Code, Definition, SourceFile
from satchel.search.resolve.modules import Module, Modules, folder_of, group_of
from satchel.search.resolve.syntax import (
    CLASSES,
    FUNCTIONS,
    SCOPES,
    Binding,
    How,
    above,
    binding_of,
    home,
    owner_of,
    principal,
    scopes,
    tokens_before,
)
from satchel.sources.roles import is_secondary
from satchel.types import EdgeType, Import

if TYPE_CHECKING:
    from tree_sitter import Node


class Outside(Enum):
    """What is not in the index: the standard library, a dependency, a value that was passed in."""

    OUTSIDE = "outside"


OUTSIDE = Outside.OUTSIDE

Entity = Definition | Module | Outside
Entities = tuple[Entity, ...]
Work = Callable[[SourceFile, "Node"], Entities]

MOST_STEPS = 12
"""How many lookups may hang on each other: `a().b.c().d` needs 8. What needs more is given up."""

MOST_CLEAR = 3
"""In a language without imports by name (C, Ruby, PHP) a bare name means its definitions where they are so few."""

_SELF = frozenset({"self", "cls", "this", "Self", "static"})
_SUPER = frozenset({"super", "parent", "base"})
_IMPLICIT_SELF = frozenset({"java", "csharp", "cpp", "ruby"})
_LOOSE = frozenset({"c", "cpp", "csharp", "ruby", "php", "bash"})
_PASSING = frozenset({
    "unwrap", "expect", "clone", "as_ref", "as_mut", "as_deref", "lock", "borrow", "borrow_mut", "to_owned",
    "unwrap_or_default", "ok", "into_inner", "by_ref", "unwrap_or_else", "ok_or_else", "map_err",
})  # fmt: skip
"""Methods of Rust that give back what they are called on, wrapped otherwise."""

_INNER = frozenset({
    "await_expression", "await", "parenthesized_expression", "try_expression", "unary_expression", "with_item", "yield",
    "non_null_expression", "reference_expression", "satisfies_expression", "pointer_expression", "expression_list",
})  # fmt: skip
_TYPED = frozenset({
    "as_expression", "type_assertion_expression", "type_cast_expression", "cast_expression", "composite_literal",
    "object_creation_expression", "type_conversion_expression",
})  # fmt: skip
_CHOICES = frozenset({"boolean_operator", "conditional_expression", "ternary_expression", "binary_expression"})
_CALLS = frozenset({"call", "call_expression", "method_invocation", "invocation_expression"})
_LEAVES = frozenset({
    "identifier", "type_identifier", "this", "self", "super", "crate", "package_identifier", "constant", "metavariable",
    "property_identifier", "field_identifier", "private_property_identifier", "namespace_identifier",
})  # fmt: skip
_MEMBER_TYPES = frozenset({
    "attribute", "member_expression", "nested_identifier", "selector_expression", "qualified_type", "field_expression",
    "scoped_identifier", "scoped_type_identifier", "field_access", "member_access_expression", "generic_type",
    "nested_type_identifier", "generic_function", "generic_type_with_turbofish", "type", "type_annotation",
})  # fmt: skip
_UNKNOWN = frozenset({
    "subscript", "index_expression", "subscript_expression", "lambda", "arrow_function", "closure_expression",
    "function_expression", "match_expression", "if_expression", "block",
})  # fmt: skip
_DEFAULT_EXPORT = re.compile(
    r"export\s+default\s+(?:(?:abstract\s+)?class|(?:async\s+)?function\s*\*?)?\s*([A-Za-z_$][\w$]*)"
    r"|export\s*\{[^}]*?([A-Za-z_$][\w$]*)\s+as\s+default\b"
)


class Names:
    """Resolves names in one state of the index; every answer is worked out once."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.modules = Modules(code)
        self._known: dict[tuple[str, str, int, int], Entities] = {}
        self._members: dict[tuple[Entity, str], Entities] = {}
        self._bases: dict[tuple[str, str], Entities] = {}
        self._steps = 0

    def meaning(self, file: SourceFile, node: Node) -> Entities:
        """What a name means where it is used, called or inherited from."""
        return self._once("meaning", file, node, self._meaning)

    def value(self, file: SourceFile, node: Node) -> Entities:
        """What an expression is: the class of an object, a module, or a function by itself."""
        return self._once("value", file, node, self._value)

    def _once(self, what: str, file: SourceFile, node: Node, work: Work) -> Entities:
        key = (what, file.path, node.start_byte, node.end_byte)
        if key not in self._known:
            if self._steps >= MOST_STEPS:
                return ()
            self._known[key] = ()  # what depends on itself cannot be told
            self._steps += 1
            try:
                self._known[key] = work(file, node)
            finally:
                self._steps -= 1
        return self._known[key]

    def _meaning(self, file: SourceFile, node: Node) -> Entities:
        name = file.text(node)
        owner = owner_of(node)
        if owner is not None:
            return self._of_members(self.value(file, owner), name)
        before = tokens_before(node, file.source)
        if before:
            return self._of_members(self._dotted(file, before, node), name)
        return self.bare(file, name, node)

    def _of_members(self, owners: Entities, name: str) -> Entities:
        return tuple(dict.fromkeys(one for owner in owners for one in self.member(owner, name)))

    # Bare names

    def bare(self, file: SourceFile, name: str, node: Node) -> Entities:
        """What a name without anything before it means at a place."""
        bound = self._bound(file, name, node)
        if isinstance(bound, Import):
            return self.imported(file, bound, name)
        if isinstance(bound, Binding):
            here = self._at(file, name, bound.node)
            if here:
                return here
            if bound.value is not None and bound.value.type in _LEAVES | _MEMBER_TYPES and bound.member is None:
                last = bound.value if bound.value.type in _LEAVES else bound.value.named_children[-1]
                return self.meaning(file, last)
            if bound.member is not None:
                return self._of_members(self._source(file, bound), file.text(bound.member))
            return (OUTSIDE,)
        return self._unbound(file, name, node)

    def _bound(self, file: SourceFile, name: str, node: Node) -> Binding | Import | tuple[()]:
        """The innermost binding of a name around a place."""
        around = list(scopes(node))
        places: list[tuple[int, bool, int, Binding | Import]] = []
        for occurrence in file.occurrences(name):
            binding = binding_of(occurrence) if occurrence != node else None
            if binding is not None and binding.how is not How.MEMBER and not _is_inside(node, binding.value):
                own = home(occurrence)
                depth = around.index(own) if own in around else -1
                if depth >= 0 and own is not None and own.type not in CLASSES:
                    places.append((-depth, occurrence.start_byte < node.start_byte, occurrence.start_byte, binding))
        for one in file.imports:
            if name in one.names:
                start = file.range(one.start, one.end)[0]
                own = next((scope for scope in around if scope.start_byte <= start < scope.end_byte), None)
                depth = around.index(own) if own is not None else len(around) - 1
                places.append((-depth, start < node.start_byte, start, one))
        if not places:
            return ()
        deepest = max(places, key=lambda place: place[0])[0]
        inner = [place for place in places if place[0] == deepest]
        before = [place for place in inner if place[1]]
        best = max(before, key=lambda place: place[2]) if before else min(inner, key=lambda place: place[2])
        return best[3]

    def _at(self, file: SourceFile, name: str, node: Node) -> Entities:
        """The definition that the index has where a name is bound."""
        line = node.start_point[0] + 1
        return tuple(one for one in self.code.defined(name) if one.path == file.path and one.line == line)

    def _unbound(self, file: SourceFile, name: str, node: Node) -> Entities:
        """A name that nothing around it binds: of the class, the package, a star import, or from outside."""
        language = file.language
        if language in _IMPLICIT_SELF:
            for owner in self.enclosing(file, node):
                members = [one for one in self.member(owner, name) if isinstance(one, Definition)]
                if members:
                    return tuple(members)
        found = self._of_package(file, name) or self._starred(file, name)
        if found:
            return found
        if language == "rust":
            module = self.modules.rust_child(self._rust_module(file, node), name) or self.modules.crate(name)
            return (module,) if module is not None else (OUTSIDE,)
        if language in _LOOSE:
            own = [one for one in self.code.defined(name) if group_of(one.language) == group_of(language)]
            near = [one for one in own if one.path == file.path] or own
            return tuple(near) if 0 < len({one.key for one in near}) <= MOST_CLEAR else ()
        return (OUTSIDE,)

    def _of_package(self, file: SourceFile, name: str) -> Entities:
        """What the other files of the package define, in languages where that needs no import."""
        if file.language in {"go", "java"}:
            folder = folder_of(file.path)
            same = [one for one in self.code.defined(name) if folder_of(one.path) == folder and not one.owner]
            tests = file.path.endswith("_test.go")
            return tuple(one for one in same if tests or not one.path.endswith("_test.go"))
        if file.language == "rust":
            macros = [one for one in self.code.defined(name) if one.language == "rust" and self._is_macro(one)]
            return tuple(macros) if len({one.key for one in macros}) == 1 else ()
        return ()

    def _is_macro(self, one: Definition) -> bool:
        file = self.code.file(one.path)
        return file is not None and f"macro_rules! {one.name}" in file.lines(one.line, one.line)

    def _starred(self, file: SourceFile, name: str) -> Entities:
        """What comes in by `import *`, `use super::*` or `import . "pkg"`."""
        for one in file.imports:
            for entity in self._module_of(file, one) if "*" in one.names or "." in one.names else ():
                is_own = isinstance(entity, Module) and entity.path == file.path
                found = self._in_module(entity, name) if is_own and isinstance(entity, Module) else ()
                found = found or (() if is_own else self.member(entity, name))
                if any(isinstance(one, Definition) for one in found):
                    return found
        return ()

    # Imports

    def imported(self, file: SourceFile, one: Import, name: str) -> Entities:
        """What an import binds to a name."""
        group = group_of(file.language)
        statement = file.lines(one.start, one.end)
        alias = re.search(rf"([\w$]+)\s+as\s+{re.escape(name)}\b", statement)
        original = alias[1] if alias else name
        if group == "python":
            if statement.lstrip().startswith("import"):
                is_whole = alias is not None or re.search(rf"\bas\s+{re.escape(name)}\b", statement) is not None
                module = self.modules.python(file.path, one.target if is_whole else one.target.partition(".")[0])
                return (module,) if module is not None else (OUTSIDE,)
            return self._from_module(self._module_of(file, one), original, file, one.target)
        if group == "ecmascript":
            modules = self._module_of(file, one)
            if re.search(rf"\*\s+as\s+{re.escape(name)}\b", statement):
                return modules
            pair = re.search(rf"([\w$]+)\s*:\s*{re.escape(name)}\b", statement)
            if "require" in statement and pair is None and not re.search(rf"\{{[^}}]*\b{re.escape(name)}\b", statement):
                return self._of_members(modules, "default") if modules != (OUTSIDE,) else modules
            if re.match(rf"\s*import\s+(?:type\s+)?{re.escape(name)}\b(?!\s*\}})", statement):
                original = "default"
            return self._of_members(modules, pair[1] if pair and "require" in statement else original)
        if group == "go":
            return self._module_of(file, one)
        if group == "rust":
            return self._used(file, one, name, statement)
        last = one.target.replace("\\", ".").rpartition(".")[2]
        ends = one.target.replace(".", "/").replace("\\", "/")
        meant = [d for d in self.code.defined(last) if d.path.rpartition(".")[0].endswith(ends)]
        return tuple(meant) or (OUTSIDE,)

    def _from_module(self, modules: Entities, name: str, file: SourceFile, target: str) -> Entities:
        found = self._of_members(modules, name)
        if any(one is not OUTSIDE for one in found):
            return found
        dot = "" if target.endswith(".") else "."
        module = self.modules.python(file.path, f"{target}{dot}{name}")
        return (module,) if module is not None else found or (OUTSIDE,)

    def _module_of(self, file: SourceFile, one: Import) -> Entities:
        group = group_of(file.language)
        if group == "rust":
            line = file.line_starts[min(one.start, len(file.line_starts)) - 1]
            node = file.node_at(line)
            return self._path(file, one.target.split("::"), node) if node is not None else (OUTSIDE,)
        module: Module | None = None
        if group == "python":
            module = self.modules.python(file.path, one.target)
        elif group == "ecmascript":
            module = self.modules.ecmascript(file.path, one.target)
        elif group == "go":
            module = self.modules.go(one.target)
        return (module,) if module is not None else (OUTSIDE,)

    def _used(self, file: SourceFile, one: Import, name: str, statement: str) -> Entities:
        """What a `use` of Rust binds: the target may end with the name, or be what the names are in."""
        segments = one.target.split("::")
        node = file.node_at(file.line_starts[one.start - 1])
        if node is None:
            return (OUTSIDE,)
        if statement.lstrip().startswith(("mod ", "pub mod", "pub(crate) mod")) and segments[0] == "self":
            child = self.modules.rust_child(self._rust_module(file, node), name)
            return (child,) if child is not None else (OUTSIDE,)
        whole = self._path(file, segments, node)
        if segments[-1] == name or (len(one.names) == 1 and f" as {name}" in statement):
            return whole
        return self._of_members(whole, name)

    def _path(self, file: SourceFile, segments: Sequence[str], node: Node) -> Entities:
        """A path of Rust from its beginning."""
        here: Entities = ()
        for place, segment in enumerate(segments):
            if segment == "crate":
                here = (self.modules.crate_root(file.path),)
            elif segment == "self" and place == 0:
                here = (self._rust_module(file, node),)
            elif segment == "super":
                module = here[0] if here and isinstance(here[0], Module) else self._rust_module(file, node)
                parent = self.modules.rust_parent(module)
                here = (parent,) if parent is not None else (OUTSIDE,)
            elif place == 0:
                crate = self.modules.crate(segment)
                module_here = self._rust_module(file, node)
                child = self.modules.rust_child(module_here, segment)
                root = self.modules.rust_child(self.modules.crate_root(file.path), segment) if crate is None else None
                first = child or crate or root
                here = (first,) if first is not None else self._in_module(module_here, segment) or (OUTSIDE,)
            else:
                here = self._of_members(here, segment)
        return here

    def _rust_module(self, file: SourceFile, node: Node) -> Module:
        """The module that a place is in, with the modules written around it in its file."""
        inner = [file.text(one.child_by_field_name("name")) for one in above(node) if one.type == "mod_item"]
        return Module(file.path, "rust", ".".join(reversed(inner)))

    # Members

    def member(self, owner: Entity, name: str) -> Entities:
        """What `name` is inside a class, a module or a function."""
        if isinstance(owner, Outside):
            return (OUTSIDE,)
        key = (owner, name)
        if key not in self._members:
            self._members[key] = ()
            found = self._of_module(owner, name) if isinstance(owner, Module) else self._of_class(owner, name)
            self._members[key] = found
        return self._members[key]

    def _in_module(self, module: Module, name: str) -> Entities:
        if module.language == "go":
            return tuple(d for d in self.code.defined(name) if folder_of(d.path) == module.path and not d.owner)
        return tuple(d for d in self.code.defined(name) if d.path == module.path and d.owner == module.inside)

    def _of_module(self, module: Module, name: str) -> Entities:
        found: Entities = self._in_module(module, name)
        file = self.code.file(module.path)
        if found or file is None:
            child = self._submodule(module, name)
            return found or ((child,) if child is not None else (OUTSIDE,))
        if name == "default":
            return self._default(file)
        for one in file.imports:
            if name in one.names and (module.language != "rust" or not one.target.startswith("self::")):
                again = self.imported(file, one, name)
                if again and again != (OUTSIDE,):
                    return again
        child = self._submodule(module, name)
        if child is not None:
            return (child,)
        return self._starred(file, name) or (OUTSIDE,)

    def _submodule(self, module: Module, name: str) -> Module | None:
        if module.language == "rust":
            return self.modules.rust_child(module, name)
        if module.language == "python" and module.path.endswith("__init__.py"):
            return self.modules.python(module.path, f".{name}")
        return None

    def _default(self, file: SourceFile) -> Entities:
        """What a file of JavaScript exports by default."""
        match = _DEFAULT_EXPORT.search(file.source.decode("utf-8", "replace"))
        name = (match[1] or match[2]) if match else ""
        own = tuple(d for d in self.code.defined(name) if d.path == file.path and not d.owner) if name else ()
        if own:
            return own
        for one in file.imports:
            if name and name in one.names:
                return self.imported(file, one, name)
        return (OUTSIDE,)

    def _of_class(self, owner: Definition, name: str) -> Entities:
        own = self._own_members(owner, name)
        if own:
            return own
        is_open = False
        for base in self.bases(owner):
            if isinstance(base, Definition) and base.name == name:
                return (base,)
            found = self.member(base, name)
            if any(isinstance(one, Definition) for one in found):
                return found
            is_open = is_open or OUTSIDE in found
        target = self._aliased(owner)
        if target:
            return self._of_members(target, name)
        return () if not is_open and owner.language in {"javascript", "typescript", "tsx"} else (OUTSIDE,)

    def _own_members(self, owner: Definition, name: str) -> Entities:
        candidates = [one for one in self.code.defined(name) if one.owner and one.language == owner.language]
        here = [one for one in candidates if one.path == owner.path and one.owner == owner.qualified]
        if here or owner.language not in {"go", "rust", "cpp", "csharp", "ruby", "php"}:
            return tuple(here)
        last = [one for one in candidates if one.owner.rpartition(".")[2] == owner.name]
        if owner.language == "go":
            return tuple(one for one in last if folder_of(one.path) == folder_of(owner.path))
        if owner.language == "rust":
            near = [one for one in last if one.path == owner.path]
            crate = self.modules.crate_of(owner.path)
            return tuple(near or (one for one in last if self.modules.crate_of(one.path) == crate))
        return tuple(last)

    def bases(self, owner: Definition) -> Entities:
        """The classes that a class names as its bases; for Rust the traits that are implemented for it."""
        if owner.key not in self._bases:
            self._bases[owner.key] = ()
            if owner.row < 0:
                return ()
            rows = {owner.row}
            if owner.language == "rust":
                rows |= {one.row for one in self.code.defined(owner.name) if one.language == "rust"}
                rows |= self._implementations(owner)
            found: dict[Entity, None] = {}
            for row, _, name in self.code.store.edges_from(sorted(rows), [EdgeType.INHERITS]):
                part, bundle = self.code.part(row), self.code.bundle_of(row)
                file = self.code.file(bundle.key)
                if file is None or (owner.language == "rust" and part.name.rpartition(".")[2] != owner.name):
                    continue
                first, last = file.range(part.start, part.end)
                for node in file.occurrences(name):
                    if first <= node.start_byte < last and self._is_base_of(file, node, owner):
                        found |= dict.fromkeys(self.meaning(file, node))
                        break
            self._bases[owner.key] = tuple(one for one in found if one != owner)
        return self._bases[owner.key]

    def _implementations(self, owner: Definition) -> set[int]:
        """The documents of a file of Rust that are `impl` blocks of a type."""
        bundle = self.code.bundle_of(owner.row)
        rows = range(bundle.first_document, bundle.last_document + 1)
        self.code.load(rows)
        return {row for row in rows if self.code.part(row).name.rpartition(".")[2] == owner.name}

    def _is_base_of(self, file: SourceFile, node: Node, owner: Definition) -> bool:
        if binding_of(node) is not None:
            return False
        inner = node
        for outer in above(node):
            if outer.type in CLASSES or outer.type in {"type_spec", "type_declaration"}:
                name = outer.child_by_field_name("type" if outer.type == "impl_item" else "name")
                if outer.type == "type_declaration":
                    return True
                return name is None or inner == name or owner.name in file.text(name)
            inner = outer
        return True

    def _aliased(self, owner: Definition) -> Entities:
        """What a type alias stands for."""
        file = self.code.file(owner.path)
        node = self._node_of(owner)
        if file is None or node is None or node.parent is None:
            return ()
        if node.parent.type not in {"type_alias", "type_alias_declaration", "type_item", "type_spec"}:
            return ()
        target = node.parent.child_by_field_name("type") or node.parent.child_by_field_name("value")
        if target is None or target.type in {"struct_type", "interface_type", "object_type", "function_type"}:
            return ()
        return self.typed(file, file.text(target), target)

    # Values

    def _value(self, file: SourceFile, node: Node) -> Entities:
        kind = node.type
        if kind in _LEAVES:
            return self._leaf(file, node)
        if kind in {"generic_type", "generic_function", "type", "type_annotation", "generic_type_with_turbofish"}:
            return self.value(file, node.named_children[0]) if node.named_child_count else ()
        if kind in _MEMBER_TYPES:
            name = node.named_children[-1]
            owner = owner_of(name)
            return self._member_values(self.value(file, owner), file.text(name)) if owner is not None else ()
        if kind in _CALLS:
            return self._called(file, node)
        if kind in {"new_expression", "struct_expression"}:
            made = node.child_by_field_name("constructor") or node.child_by_field_name("name")
            return self.value(file, made) if made is not None else ()
        if kind in _TYPED:
            written = node.child_by_field_name("type") or node.named_children[-1]
            return self.typed(file, file.text(written), written)
        if kind in _INNER:
            inner = node.child_by_field_name("operand") or node.child_by_field_name("argument")
            inner = inner or node.child_by_field_name("value")
            inner = inner or (node.named_children[0] if node.named_child_count else None)
            return self.value(file, inner) if inner is not None else ()
        if kind in _CHOICES:
            found = [self.value(file, child) for child in node.named_children]
            return next((one for one in found if any(isinstance(e, Definition | Module) for e in one)), ())
        return () if kind in _UNKNOWN else (OUTSIDE,)

    def _leaf(self, file: SourceFile, node: Node) -> Entities:
        name = file.text(node)
        if name in _SELF and (name != "self" or file.language in {"python", "rust", "ruby"}):
            if file.language == "rust" and name == "self" and node.parent is not None and "scoped" in node.parent.type:
                return (self._rust_module(file, node),)
            return self.enclosing(file, node)
        if name in _SUPER and file.language == "rust":
            parent = self.modules.rust_parent(self._rust_module(file, node))
            return (parent,) if parent is not None else (OUTSIDE,)
        if name in _SUPER:
            return tuple(
                b for one in self.enclosing(file, node) if isinstance(one, Definition) for b in self.bases(one)
            )
        if name == "crate":
            return (self.modules.crate_root(file.path),)
        return self._named_value(file, name, node)

    def _named_value(self, file: SourceFile, name: str, node: Node) -> Entities:
        bound = self._bound(file, name, node)
        if isinstance(bound, Binding):
            return self._bound_value(file, bound)
        found = self.imported(file, bound, name) if isinstance(bound, Import) else self._unbound(file, name, node)
        return tuple(dict.fromkeys(one for entity in found for one in self._as_value(entity)))

    def _as_value(self, entity: Entity) -> Entities:
        """A constant counts for its type; classes, functions and modules for themselves."""
        if not isinstance(entity, Definition):
            return (entity,)
        file, node = self.code.file(entity.path), self._node_of(entity)
        binding = binding_of(node) if node is not None else None
        if file is None or binding is None or binding.how is How.DECLARED or binding.value is None is binding.type:
            return (entity,)
        if binding.value is not None and binding.value.type in FUNCTIONS | {"object", "class"}:
            return (entity,)
        return self._bound_value(file, binding)

    def _bound_value(self, file: SourceFile, bound: Binding) -> Entities:
        """What is known of a variable."""
        if bound.how is How.DECLARED:
            return self._at(file, file.text(bound.node), bound.node) or (OUTSIDE,)
        if bound.member is not None:
            return self._member_values(self._source(file, bound), file.text(bound.member))
        if bound.type is None and bound.value is not None and bound.value.type in FUNCTIONS | {"object", "class"}:
            return self._at(file, file.text(bound.node), bound.node)
        return self._source(file, bound)

    def _source(self, file: SourceFile, bound: Binding) -> Entities:
        """What a variable or pattern is given: by its written type, else by its value."""
        if bound.type is not None:
            return self.typed(file, file.text(bound.type), bound.type)
        if bound.value is not None:
            return self.value(file, bound.value)
        is_passed = bound.how is How.PARAMETER and file.language == "python"
        return self._fixture(file, bound.node) if is_passed else ()

    def _fixture(self, file: SourceFile, node: Node) -> Entities:
        """What pytest passes under the name of a parameter: the fixture of that name in this file or a conftest."""
        name = file.text(node)
        near = [
            one
            for one in self.code.defined(name)
            if one.path == file.path
            or (one.path.endswith("conftest.py") and file.path.startswith(one.path.removesuffix("conftest.py")))
        ]
        for one in sorted(near, key=lambda one: (one.path != file.path, -len(one.path))):
            declared = self._declaration(one)
            around = declared.parent if declared is not None else None
            if around is not None and around.type == "decorated_definition":
                home_file = self.code.file(one.path)
                if home_file is not None and "fixture" in home_file.text(around.named_children[0]):
                    return self.returned(one)
        return ()

    def _member_values(self, owners: Entities, name: str) -> Entities:
        """What is known of a field, a property or a method without its call."""
        found: dict[Entity, None] = {}
        for owner in owners:
            for one in self._field(owner, name) or self._properties(self.member(owner, name)):
                found[one] = None
        return tuple(found)

    def _properties(self, members: Entities) -> Entities:
        values: list[Entity] = []
        for one in members:
            declared = self._declaration(one) if isinstance(one, Definition) else None
            is_property = declared is not None and declared.type in FUNCTIONS and isinstance(one, Definition)
            if is_property and isinstance(one, Definition) and self._is_property(one):
                values += self.returned(one)
            else:
                values += self._as_value(one)
        return tuple(values)

    def _is_property(self, one: Definition) -> bool:
        file, declared = self.code.file(one.path), self._declaration(one)
        if file is None or declared is None:
            return False
        if one.language == "python":
            around = declared.parent
            return (
                around is not None
                and around.type == "decorated_definition"
                and "property" in file.text(around.named_children[0])
            )
        return any(child.type == "get" for child in declared.children)

    def _field(self, owner: Entity, name: str, depth: int = 0) -> Entities:
        """The type of a field by its declaration or by what is assigned to it in its class."""
        if not isinstance(owner, Definition) or depth > MOST_STEPS:
            return ()
        if any(one for one in self._own_members(owner, name) if self._is_function(one)):
            return ()
        file = self.code.file(owner.path)
        area = self._area(owner)
        if file is not None and area is not None:
            for node in file.occurrences(name):
                if area.start_byte <= node.start_byte < area.end_byte:
                    found = self._field_here(file, node, area)
                    if found:
                        return found
        for base in self.bases(owner):
            found = self._field(base, name, depth + 1)
            if found:
                return found
        return ()

    def _field_here(self, file: SourceFile, node: Node, area: Node) -> Entities:
        parent = node.parent
        if parent is None:
            return ()
        owner = owner_of(node)
        if owner is not None:
            place = parent.parent
            if file.text(owner) not in {"self", "this"} or place is None or place.child_by_field_name("left") != parent:
                return ()
            written = place.child_by_field_name("type")
            if written is not None:
                return self.typed(file, file.text(written), written)
            value = place.child_by_field_name("right")
            return self.value(file, value) if value is not None else ()
        binding = binding_of(node)
        own = home(node)
        is_field = own == area or parent.type in {"field_declaration", "required_parameter", "public_field_definition"}
        if binding is None or not is_field or binding.how is How.DECLARED:
            return ()
        if parent.type == "required_parameter" and not any("modifier" in one.type for one in parent.children):
            return ()
        return self._bound_value(file, binding)

    def _called(self, file: SourceFile, node: Node) -> Entities:
        """What a call gives back."""
        called = node.child_by_field_name("function") or node.child_by_field_name("name")
        called = called or (node.named_children[0] if node.named_child_count else None)
        while called is not None and called.type in {"generic_function", "generic_type", "index_expression"}:
            called = called.named_children[0]
        if called is None:
            return ()
        name = called
        if called.type in _MEMBER_TYPES:
            name = called.named_children[-1]
        elif called.type not in _LEAVES:
            return ()
        text = file.text(name)
        if text == "super" and file.language == "python":
            return tuple(
                b for one in self.enclosing(file, node) if isinstance(one, Definition) for b in self.bases(one)
            )
        found: dict[Entity, None] = {}
        meant = self.meaning(file, name)
        if text in _PASSING and not any(isinstance(one, Definition) for one in meant):
            owner = owner_of(name)
            return self.value(file, owner) if owner is not None else ()
        for one in meant:
            found |= dict.fromkeys(self.result(one))
        return tuple(found)

    def result(self, entity: Entity) -> Entities:
        """What calling something gives back: an object of a class, what a function returns."""
        if isinstance(entity, Module):
            return ()
        if not isinstance(entity, Definition):
            return (OUTSIDE,)
        declared = self._declaration(entity)
        if declared is None:
            return ()
        if declared.type in FUNCTIONS or declared.type in {"method_elem", "function_signature", "method_signature"}:
            return self.returned(entity)
        if declared.type in SCOPES or declared.type in {"type_spec", "enum_item", "struct_item", "type_alias"}:
            return (entity,)
        return ()

    def returned(self, one: Definition) -> Entities:
        """What a function returns: by its written type, else by its first `return` that tells."""
        file, declared = self.code.file(one.path), self._declaration(one)
        if file is None or declared is None:
            return ()
        fields = (declared.child_by_field_name(field) for field in ("return_type", "result", "returns", "type"))
        written = next((node for node in fields if node is not None), None)
        if written is not None:
            if written.type == "parameter_list" and written.named_child_count:
                written = written.named_children[0]
                written = written.child_by_field_name("type") or written
            return self.typed(file, file.text(written), written)
        if file.language not in {"python", "javascript", "typescript", "tsx"}:
            return ()
        body = declared.child_by_field_name("body")
        if body is not None and declared.type == "arrow_function" and body.type != "statement_block":
            return self.value(file, body)
        for word in ("return", "yield"):
            for node in self._statements(file, word, declared):
                found = self.value(file, node)
                if any(entity is not OUTSIDE for entity in found):
                    return found
        return ()

    def _statements(self, file: SourceFile, word: str, declared: Node) -> Iterable[Node]:
        """The values of the `return`s of a function itself."""
        if file.root is None:
            return
        for match in re.finditer(rb"\b" + word.encode() + rb"\b", file.source[declared.start_byte : declared.end_byte]):
            start = declared.start_byte + match.start()
            leaf = file.root.descendant_for_byte_range(start, start + len(word))
            statement = leaf.parent if leaf is not None else None
            if statement is None or statement.type not in {"return_statement", "yield"}:
                continue
            if (
                statement.named_child_count
                and next((outer for outer in above(statement) if outer.type in FUNCTIONS), None) == declared
            ):
                yield statement.named_children[0]

    def typed(self, file: SourceFile, text: str, node: Node) -> Entities:
        """What a written type names."""
        name = principal(text)
        return self._once("type", file, node, lambda *_: self._dotted(file, name, node)) if name else (OUTSIDE,)

    def _dotted(self, file: SourceFile, name: str, node: Node) -> Entities:
        first, *rest = name.split(".")
        if first in _SELF:
            here = self.enclosing(file, node)
        elif first in {"crate", "super"} and file.language == "rust":
            return self._path(file, name.split("."), node)
        else:
            here = self._named_value(file, first, node)
        for step in rest:
            here = self._member_values(here, step)
        return here

    # Guesses

    def guess(self, file: SourceFile, node: Node) -> tuple[Definition, ...]:
        """The methods of this name, where one class alone has it and the file names that class.

        For a call on something whose class cannot be told by syntax.
        """
        name = file.text(node)
        group = group_of(file.language)
        methods = [one for one in self.code.defined(name) if one.owner and group_of(one.language) == group]
        methods = [one for one in methods if not is_secondary(one.path)] or methods
        owners = {one.owner.rpartition(".")[2] for one in methods}
        if len(owners) != 1 or not (file.path == methods[0].path or file.mentions(owners.pop())):
            return ()
        return tuple(one for one in methods if self._is_function(one))

    # Where things are declared

    def enclosing(self, file: SourceFile, node: Node) -> Entities:
        """The class around a place."""
        for outer in above(node):
            if outer.type == "impl_item":
                written = outer.child_by_field_name("type")
                return self.typed(file, file.text(written), written) if written is not None else ()
            if outer.type in CLASSES:
                name = outer.child_by_field_name("name")
                if name is None and outer.parent is not None:
                    name = outer.parent.child_by_field_name("name")
                return self._at(file, file.text(name), name) if name is not None else ()
            if outer.type == "object" and outer.parent is not None and outer.parent.type == "variable_declarator":
                name = outer.parent.child_by_field_name("name")
                return self._at(file, file.text(name), name) if name is not None else ()
        return ()

    def _node_of(self, one: Definition) -> Node | None:
        """The name of a definition in its file."""
        file = self.code.file(one.path)
        nodes = file.occurrences(one.name) if file is not None else []
        here = [node for node in nodes if node.start_point[0] + 1 == one.line]
        return next((node for node in here if binding_of(node) is not None), here[0] if here else None)

    def _declaration(self, one: Definition) -> Node | None:
        """The function or class that a definition names, by its body."""
        node = self._node_of(one)
        if node is None or node.parent is None:
            return None
        parent = node.parent
        value = parent.child_by_field_name("value") or parent.child_by_field_name("right")
        return value if value is not None and value.type in FUNCTIONS | {"class"} else parent

    def _area(self, owner: Definition) -> Node | None:
        """The class in which the fields of a type are declared."""
        declared = self._declaration(owner)
        return declared.parent if declared is not None and declared.type == "decorated_definition" else declared

    def _is_function(self, one: Entity) -> bool:
        declared = self._declaration(one) if isinstance(one, Definition) else None
        return declared is not None and declared.type in FUNCTIONS | {"method_elem", "method_signature"}


def _is_inside(node: Node, other: Node | None) -> bool:
    return other is not None and other.start_byte <= node.start_byte and node.end_byte <= other.end_byte
