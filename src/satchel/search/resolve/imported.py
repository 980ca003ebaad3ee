"""What the imports of a file bind, and what a path of Rust names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.search.resolve.code import SourceFile
from satchel.search.resolve.entities import OUTSIDE, Entities
from satchel.search.resolve.modules import Module, group_of
from satchel.search.resolve.syntax import above
from satchel.types import Import

if TYPE_CHECKING:
    from tree_sitter import Node

    from satchel.search.resolve.names import Names


class Imports:
    """Resolves imports with the help of all other names."""

    def __init__(self, names: Names) -> None:
        self._names, self._code, self._modules = names, names.code, names.modules

    def imported(self, file: SourceFile, one: Import, name: str) -> Entities:
        """What an import binds to a name."""
        group = group_of(file.language)
        statement = file.lines(one.start, one.end)
        alias = re.search(rf"([\w$]+)\s+as\s+{re.escape(name)}\b", statement)
        original = alias[1] if alias else name
        if group == "python":
            if statement.lstrip().startswith("import"):
                is_whole = alias is not None or re.search(rf"\bas\s+{re.escape(name)}\b", statement) is not None
                module = self._modules.python(file.path, one.target if is_whole else one.target.partition(".")[0])
                return (module,) if module is not None else (OUTSIDE,)
            return self._from_module(self.module_of(file, one), original, file, one.target)
        if group == "ecmascript":
            modules = self.module_of(file, one)
            if re.search(rf"\*\s+as\s+{re.escape(name)}\b", statement):
                return modules
            pair = re.search(rf"([\w$]+)\s*:\s*{re.escape(name)}\b", statement)
            if "require" in statement and pair is None and not re.search(rf"\{{[^}}]*\b{re.escape(name)}\b", statement):
                return self._names.of_members(modules, "default") if modules != (OUTSIDE,) else modules
            if re.match(rf"\s*import\s+(?:type\s+)?{re.escape(name)}\b(?!\s*\}})", statement):
                original = "default"
            return self._names.of_members(modules, pair[1] if pair and "require" in statement else original)
        if group == "go":
            return self.module_of(file, one)
        if group == "rust":
            return self._used(file, one, name, statement)
        last = one.target.replace("\\", ".").rpartition(".")[2]
        ends = one.target.replace(".", "/").replace("\\", "/")
        meant = [d for d in self._code.defined(last) if d.path.rpartition(".")[0].endswith(ends)]
        return tuple(meant) or (OUTSIDE,)

    def _from_module(self, modules: Entities, name: str, file: SourceFile, target: str) -> Entities:
        found = self._names.of_members(modules, name)
        if any(one is not OUTSIDE for one in found):
            return found
        dot = "" if target.endswith(".") else "."
        module = self._modules.python(file.path, f"{target}{dot}{name}")
        return (module,) if module is not None else found or (OUTSIDE,)

    def module_of(self, file: SourceFile, one: Import) -> Entities:
        """What an import names before its names."""
        group = group_of(file.language)
        if group == "rust":
            line = file.line_starts[min(one.start, len(file.line_starts)) - 1]
            node = file.node_at(line)
            return self.path(file, one.target.split("::"), node) if node is not None else (OUTSIDE,)
        module: Module | None = None
        if group == "python":
            module = self._modules.python(file.path, one.target)
        elif group == "ecmascript":
            module = self._modules.ecmascript(file.path, one.target)
        elif group == "go":
            module = self._modules.go(one.target)
        return (module,) if module is not None else (OUTSIDE,)

    def _used(self, file: SourceFile, one: Import, name: str, statement: str) -> Entities:
        """What a `use` of Rust binds: the target may end with the name, or be what the names are in."""
        segments = one.target.split("::")
        node = file.node_at(file.line_starts[one.start - 1])
        if node is None:
            return (OUTSIDE,)
        if statement.lstrip().startswith(("mod ", "pub mod", "pub(crate) mod")) and segments[0] == "self":
            child = self._modules.rust_child(self.rust_module(file, node), name)
            return (child,) if child is not None else (OUTSIDE,)
        whole = self.path(file, segments, node)
        if segments[-1] == name or (len(one.names) == 1 and f" as {name}" in statement):
            return whole
        return self._names.of_members(whole, name)

    def path(self, file: SourceFile, segments: Sequence[str], node: Node) -> Entities:
        """A path of Rust from its beginning."""
        here: Entities = ()
        for place, segment in enumerate(segments):
            if segment == "crate":
                here = (self._modules.crate_root(file.path),)
            elif segment == "self" and place == 0:
                here = (self.rust_module(file, node),)
            elif segment == "super":
                module = here[0] if here and isinstance(here[0], Module) else self.rust_module(file, node)
                parent = self._modules.rust_parent(module)
                here = (parent,) if parent is not None else (OUTSIDE,)
            elif place == 0:
                crate = self._modules.crate(segment)
                module_here = self.rust_module(file, node)
                child = self._modules.rust_child(module_here, segment)
                root = self._modules.rust_child(self._modules.crate_root(file.path), segment) if crate is None else None
                first = child or crate or root
                here = (first,) if first is not None else self._names.in_module(module_here, segment) or (OUTSIDE,)
            else:
                here = self._names.of_members(here, segment)
        return here

    def rust_module(self, file: SourceFile, node: Node) -> Module:
        """The module that a place is in, with the modules written around it in its file."""
        inner = [file.text(one.child_by_field_name("name")) for one in above(node) if one.type == "mod_item"]
        return Module(file.path, "rust", ".".join(reversed(inner)))
