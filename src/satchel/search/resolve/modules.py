"""The files that imports mean, and what imports bind to names.

`Modules` finds the file, or in Go the folder, that an import of a file means. `import_targets` and `importers` do so
for many files at once, without their syntax trees. `Imports` looks up names in modules.
"""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from satchel.search.resolve.code import OUTSIDE, Code, CodeDefinition, Entities, Entity, Module, SourceFile, rust_module
from satchel.search.resolve.packages import CONFIGURATIONS, Alias, extended, package_of, paths_of
from satchel.sources.code.languages import FAMILIES, MODULES
from satchel.store.protocol import Store
from satchel.store.records import Document, Place
from satchel.system.properties import unlocked_cached_property
from satchel.text import pattern
from satchel.types import Import, Kind

if TYPE_CHECKING:
    from tree_sitter import Node

_ES_BUILT = pattern(r"\.(?:js|mjs|cjs|jsx)$")
_ROOT_ALIASES = tuple(Alias("", f"{sign}/*", ("*", "src/*", "lib/*")) for sign in "@~")
"""What `@/` and `~/` mean by custom, where no manifest says so."""

_GO_MODULE = pattern(r"^module\s+(\S+)", re.MULTILINE)
_CRATE = pattern(r'^\[package\][^\[]*?^name\s*=\s*"([^"]+)"', re.MULTILINE | re.DOTALL)
_CRATE_FILES = ("lib.rs", "main.rs")
_JAVA_PACKAGE = pattern(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_PACKAGE_OBJECT = pattern(r"^[ \t]*package[ \t]+object[ \t]+(\w+)", re.MULTILINE)
_PACKAGE_CLAUSE = pattern(r"^[ \t]*package[ \t]+(?!object\b)([\w.`]+)", re.MULTILINE)
_PHP_NAMESPACE = pattern(r"^[ \t]*(?:<\?php\s+)?namespace[ \t]+([\w\\]+)[ \t]*[;{]", re.MULTILINE)
_RETURNED = pattern(r"^return\s+(?:setmetatable\s*\(\s*)?(\w+)", re.MULTILINE)
_LOADS = pattern(rb"\brequire\s*(?:,|\(\s*[^'\"\s\[])")
_PACKAGED = frozenset({"java", "kotlin", "scala"})
"""Languages whose names begin with the package that a file names in its text."""

_DEFAULT_EXPORT = pattern(
    r"export\s+default\s+(?:(?:abstract\s+)?class|(?:async\s+)?function\s*\*?)?\s*([A-Za-z_$][\w$]*)"
    r"|export\s*\{[^}]*?([A-Za-z_$][\w$]*)\s+as\s+default\b"
)


_MAX_EXTENDED = 4
"""Configurations that extend each other and are followed; more are a circle."""


def folder_of(path: str) -> str:
    """Return the folder of a file, empty at the top."""
    return path.rpartition("/")[0]


def joined(*parts: str) -> str:
    """Return a path of these parts, normalised; what leads above the root keeps its dots and names nothing."""
    path = posixpath.normpath(posixpath.join(*parts))
    return "" if path == "." else path


class Modules:
    """Finds modules in one state of the index."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._ends: dict[tuple[str, ...], list[str]] = {}

    def find(self, importer: str, target: str, family: str) -> Module | None:
        """Return what an import of a file means, by the rules of its family of languages; looked up once."""
        # A cache around a bound method would refer back to this object: hundreds of syntax trees would then stay in
        # memory until the collector of a resident process finds the cycle, which is after hours.
        return self._code.answers.get(
            ("module", importer, target, family), lambda: self._searched(importer, target, family), None
        )

    def _searched(self, importer: str, target: str, family: str) -> Module | None:
        stems = self._stems(importer, target, family)
        return self._go(target) if family == "go" else self._below(stems, family)

    def _below(self, stems: Iterable[str], family: str) -> Module | None:
        endings = ("", *MODULES.get(family, ()))
        return self._existing((f"{stem}{ending}" for stem in stems for ending in endings), family)

    def _existing(self, paths: Iterable[str], family: str) -> Module | None:
        return next((Module(path, family) for path in paths if self._code.has(path)), None)

    def _stems(self, importer: str, target: str, family: str) -> list[str]:
        """Return the paths that an import may mean, without their endings."""
        if family == "python":
            name = target.lstrip(".")
            inner, dots = name.replace(".", "/"), len(target) - len(name)
            return [joined(folder_of(importer), *[".."] * (dots - 1), inner)] if dots else self._rooted(importer, inner)
        if family == "lua":
            return self._lua(importer, target.replace(".", "/"))
        stems = [joined(folder_of(importer), target)] if target.startswith(".") else []
        for alias in () if stems or family != "ecmascript" else self._aliases:
            if importer.startswith(alias.scope):
                stems += alias.stems(target)
        return [*stems, *(_ES_BUILT.sub("", stem) for stem in stems)]

    def _rooted(self, importer: str, inner: str) -> list[str]:
        """Return the path of a module of Python below the nearest folder that may be its root."""
        ends = (f"{inner}.py", f"{inner}/__init__.py")
        named = (*self._code.named(f"{inner.rpartition('/')[2]}.py"), *self._packages)
        roots = {path[: -len(end)] for path in named for end in ends if f"/{path}".endswith(f"/{end}")}
        # Below a package, a plain name means the module at the top: `copy` beside `shop/copy.py` is that of Python.
        plausible = [root for root in roots if f"{root}__init__.py" not in self._packages]
        return [f"{root}{inner}" for root in sorted(plausible, key=lambda path: (-_shared(path, importer), path))[:1]]

    def _lua(self, importer: str, inner: str) -> list[str]:
        """Return the path of a module of Lua below the folder on the path of modules that is nearest to its user."""
        ends = tuple(f"/{inner}{ending}" for ending in MODULES["lua"])
        last = inner.rpartition("/")[2]
        paths = [f"/{path}" for path in self._code.named(f"{last}.lua", "init.lua")]
        fitting = [path[1:].removesuffix(".lua").removesuffix("/init") for path in paths if path.endswith(ends)]
        return sorted(fitting, key=lambda path: (-_shared(path, importer), len(path), path))

    @unlocked_cached_property
    def _packages(self) -> frozenset[str]:
        return frozenset(self._code.named("__init__.py"))

    @unlocked_cached_property
    def _aliases(self) -> list[Alias]:
        """What manifests of JavaScript say about imports, those of the innermost folders first."""
        files = self._code.texts_named(*CONFIGURATIONS)
        configured = [alias for path, text in files for alias in self._configured(path, text, path)]
        packages = [alias for path, text in self._code.texts_named("package.json") for alias in package_of(path, text)]
        every = [*sorted(configured, key=lambda alias: -alias.scope.count("/")), *packages]
        return [*every, *_ROOT_ALIASES]

    def _configured(self, path: str, text: str, user: str, depth: int = 0) -> Iterator[Alias]:
        """Yield the aliases of a tsconfig and of those that it extends, for the files of its user."""
        yield from paths_of(path, text, user)
        for target in extended(path, text) if depth < _MAX_EXTENDED else ():
            named = self._code.texts_named(posixpath.basename(target))
            for home, inner in (row for row in named if row[0] == target):
                yield from self._configured(home, inner, user, depth + 1)

    @unlocked_cached_property
    def _go_modules(self) -> list[tuple[str, str]]:
        """(name of a module, its folder), the longest name first."""
        folders = self._code.manifests("go.mod", _GO_MODULE)
        return sorted(((name, folder) for folder, name in folders.items()), key=lambda row: (-len(row[0]), row))

    def _go(self, target: str) -> Module | None:
        """Return the folder of a package; None for one that belongs to none of the modules here."""
        fitting = ((name, folder) for name, folder in self._go_modules if f"{target}/".startswith(f"{name}/"))
        return next((Module(joined(folder, target[len(name) + 1 :]), "go") for name, folder in fitting), None)

    def crate_of(self, path: str) -> str:
        """Return the folder in which the modules of the crate of a file lie."""
        folder = folder_of(path)
        while not any(self._code.has(joined(folder, name)) for name in _CRATE_FILES):
            if not folder or folder in self._crates.values():
                return folder_of(path)
            folder = folder_of(folder)
        return folder

    @unlocked_cached_property
    def _crates(self) -> dict[str, str]:
        folders = self._code.manifests("Cargo.toml", _CRATE)
        return {name.replace("-", "_"): folder for folder, name in sorted(folders.items(), reverse=True)}

    def crate(self, name: str) -> Module | None:
        """Return the root of the crate of this name."""
        folder = self._crates.get(name)
        paths = (joined(folder, "src/lib.rs"), joined(folder, "lib.rs")) if folder is not None else ()
        return self._existing(paths, "rust")

    def crate_root(self, path: str) -> Module:
        """Return the root of the crate of a file."""
        folder = self.crate_of(path)
        root = self._existing((joined(folder, name) for name in _CRATE_FILES), "rust")
        return root or Module(joined(folder, "lib.rs"), "rust")

    def child(self, module: Module, name: str) -> Module | None:
        """Return the module of this name below another one, in a file of its own."""
        folder, _, file = module.path.rpartition("/")
        if module.language == "python":
            return self.find(module.path, f".{name}", "python") if file == "__init__.py" else None
        if module.language != "rust":
            return None
        home = folder if file in {"mod.rs", *_CRATE_FILES} else joined(folder, file[:-3])
        return self._below([joined(home, module.inside.replace(".", "/"), name)], "rust")

    def parent(self, module: Module) -> Module | None:
        """Return the module of Rust around another one."""
        if module.inside:
            return Module(module.path, "rust", module.inside.rpartition(".")[0])
        folder = folder_of(module.path)
        folder = folder_of(folder) if module.path.endswith("/mod.rs") else folder
        return self._existing((*(joined(folder, name) for name in ("mod.rs", *_CRATE_FILES)), f"{folder}.rs"), "rust")

    # Files and the files that they import

    def files(self, importer: str, target: str, family: str) -> tuple[str, ...]:
        """Return the files that an import means, by its last words where the rules of its language find none."""
        module = self.find(importer, target, family)
        if family == "go":
            homes = (f"{target.rpartition('/')[2]}.go", "doc.go") if module is not None else ()
            return tuple(path for home in homes if module and self._code.has(path := joined(module.path, home)))
        if module is not None or family == "python":
            return (module.path,) if module is not None else ()
        parts = tuple(part for part in _SEPARATOR.split(_SUFFIX.sub("", target)) if part and part not in _ROOTS)
        # `use crate::errors::Late` names what is in a file: then the last part is a name.
        fitting = self._ending(parts) or self._ending(parts[:-1])
        near = [path for path in fitting if folder_of(path) == folder_of(importer)] or fitting
        crate = self.crate(parts[0]) if family == "rust" and parts and not near else None
        return (crate.path,) if crate is not None else tuple(near) if len(near) <= MAX_FILES else ()

    def _ending(self, parts: tuple[str, ...]) -> list[str]:
        """Return the files whose path ends with these words."""
        if parts and parts not in self._ends:
            named = self._code.store.paths_named(["mod.rs", "lib.rs"], parts[-1:])
            self._ends[parts] = [path for _, path in named if words_of(path)[-len(parts) :] == parts]
        return self._ends.get(parts, [])


MAX_FILES = 3
"""An import that fits more files is not followed: `utils` is everywhere."""

_SEPARATOR = pattern(r"::|[./\\]+")

_RENAMED = pattern(r"(?<![\w$])(?=([\w$]+)(?:\s+as\s+|\s*:\s*)([\w$]+))")
_STARRED = pattern(r"\*\s+as\s+([\w$]+)")
_BRACED, _WORDS = pattern(r"\{[^}]*"), pattern(r"[\w$]+")
_SUFFIX = pattern(r"(?<=\w)\.[A-Za-z]{1,3}$")
_ROOTS = frozenset({"crate", "self", "super", "src"})
_STAND_FOR_FOLDERS = frozenset({"__init__", "index", "mod", "lib", "main", "doc"})


def words_of(path: str) -> tuple[str, ...]:
    """Return the words by which imports name a file: `("shop",)` of `src/shop/__init__.py`."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    return tuple(part for part in (*folders, *(() if stem in _STAND_FOR_FOLDERS else (stem,))) if part not in _ROOTS)


def _shared(path: str, other: str) -> int:
    """Return how many folders two paths have in common."""
    return len(posixpath.commonprefix([path.split("/"), other.split("/")]))


def import_targets(store: Store, files: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Yield (row of a place, first row of a file that its file imports)."""
    code = Code(store)
    modules = Modules(code)
    code.load(place.row for place in files)
    for place in files:
        found = _imported_files(modules, code.document_of(place.row))
        rows = store.first_rows(Kind.CODE, set(found) - {place.key})
        yield from ((place.row, rows[path]) for path in dict.fromkeys(found) if path in rows)


def importers(store: Store, files: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Yield (row of a place, first row of a file that imports its file)."""
    code = Code(store)
    modules = Modules(code)
    for place in files:
        words = {*words_of(place.key)[-1:], folder_of(place.key).rpartition("/")[2]} - {""}
        rows = {row for word in words for row in code.mentioning(word)}
        code.load(rows)
        documents = {document.key: document for document in map(code.document_of, rows)}
        for path in sorted(documents):
            if path != place.key and place.key in _imported_files(modules, documents[path], words):
                yield place.row, documents[path].first_chunk


def imports_between(store: Store, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (path, path of a file that it imports), in Go (path, folder of a package)."""
    code = Code(store)
    modules = Modules(code)
    code.load_files(paths)
    for document in (file.document for file in map(code.file, paths) if file is not None):
        if FAMILIES[document.language] == "go":
            found = (modules.find(document.key, row[0], "go") for row in document.fields.get("imports", ()))
            yield from ((document.key, module.path) for module in found if module is not None)
        else:
            yield from ((document.key, path) for path in _imported_files(modules, document) if path != document.key)


def _imported_files(modules: Modules, document: Document, words: Iterable[str] = ("",)) -> list[str]:
    """Return the files that a file imports with one of these words."""
    targets = [field[0] for field in document.fields.get("imports", ()) if any(word in field[0] for word in words)]
    return [file for target in targets for file in modules.files(document.key, target, FAMILIES[document.language])]


# An import binds many names, and each of them is looked up: its text is read once, and not by a pattern for each name.
@lru_cache(maxsize=64)
def _renamed(statement: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return those of these names that an import gives to what has another name: the first it is written beside.

    The lines of an import may have much else, which is not kept.
    """
    bound = frozenset(names)
    return {found[2]: found[1] for found in reversed([*_RENAMED.finditer(statement)]) if found[2] in bound}


@lru_cache(maxsize=64)
def _braced(statement: str, names: tuple[str, ...]) -> frozenset[str]:
    """Return those of these names that are within the braces of an import."""
    return frozenset(names).intersection(
        name for braced in _BRACED.findall(statement) for name in _WORDS.findall(braced)
    )


class Imports(ABC):
    """Looks up names in modules: what a module defines, exports again, and what an import binds."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.modules = Modules(code)
        self._packages: dict[str, tuple[str, ...]] = {}
        self._objects: dict[str, tuple[str, ...]] = {}

    @abstractmethod
    def member(self, owner: Entity, name: str) -> Entities:
        """Return what `name` is inside a class, a module or a function."""

    def of_members(self, owners: Entities, name: str) -> Entities:
        """Return what a name is inside any of these."""
        return tuple(dict.fromkeys(entity for owner in owners for entity in self.member(owner, name)))

    def in_module(self, module: Module, name: str) -> Entities:
        """Return what a module itself defines."""
        if module.language == "go":
            return tuple(d for d in self.code.defined(name) if folder_of(d.path) == module.path and not d.owner)
        return tuple(d for d in self.code.defined(name) if d.path == module.path and d.owner == module.inside)

    def of_module(self, module: Module, name: str) -> Entities:
        """Return what a name is inside a module."""
        if module.language == "lua":
            return self._of_table(module, name)
        if targets := self.in_module(module, name):
            return targets
        file = self.code.file(module.path)
        if file is None:
            return (self.modules.child(module, name) or OUTSIDE,)
        if name == "default":
            match = _DEFAULT_EXPORT.search(file.source.decode("utf-8", "replace"))
            return (self.in_module(module, match[1] or match[2]) if match else ()) or (OUTSIDE,)
        for imported in file.imports:
            if name in imported.names:
                again = self.imported(file, imported, name)
                if again and again != (OUTSIDE,):
                    return again
        child = self.modules.child(module, name)
        return (child,) if child is not None else self.starred(file, name) or (OUTSIDE,)

    def _of_table(self, module: Module, name: str) -> Entities:
        """Return a member of the table that a module of Lua returns."""
        file = self.code.file(module.path)
        returned = self._returned(module.path)
        definitions = [definition for definition in self.code.defined(name) if definition.path == module.path]
        table = [definition for definition in definitions if returned and definition.owner == returned]
        # A class that is returned has its own members; a table that is written out names local functions.
        found = tuple(table or (definition for definition in definitions if not returned and not definition.owner))
        return found or self._loaded(file, name) or (OUTSIDE,)

    def _loaded(self, file: SourceFile | None, name: str) -> Entities:
        """Return what a module of Lua gets from the modules below its folder, which it loads by computed names."""
        if file is None or _LOADS.search(file.source) is None:
            return ()
        folder = f"{file.path.removesuffix('.lua').removesuffix('/init')}/"
        below = [definition for definition in self.code.defined(name) if definition.path.startswith(folder)]
        tables = {path: self._returned(path) for path in {definition.path for definition in below}}
        return tuple(definition for definition in below if definition.owner == tables[definition.path])

    def _returned(self, path: str) -> str:
        """Return the name of the table that a module of Lua returns, empty where it has none."""
        file = self.code.file(path)
        return next(reversed(_RETURNED.findall(file.source.decode("utf-8", "replace"))), "") if file is not None else ""

    def of_package(self, file: SourceFile, name: str) -> Entities:
        """Return what the other files of the package define, in languages where that needs no import."""
        if file.language == "go":
            return self.in_module(Module(folder_of(file.path), "go"), name)
        if file.language == "java":
            package = _JAVA_PACKAGE.search(file.source.decode("utf-8", "replace"))
            return self._of_java(package[1], name) if package else ()
        if file.language in _PACKAGED:
            return self._of_packages(self._packages_in_reach(file), name)
        if file.language == "php":
            namespace = self.namespace_of(file)
            return tuple(
                definition
                for definition in self.code.defined(name)
                if definition.language == "php" and definition.owner == namespace
            )
        macros = (
            [definition for definition in self.code.defined(name) if self._is_macro(definition)]
            if file.language == "rust"
            else []
        )
        return tuple(macros) if len({macro.key for macro in macros}) == 1 else ()

    def _of_java(self, package: str, name: str) -> Entities:
        """Return the classes of a package, below any source root."""
        ends = f"/{package.replace('.', '/')}"
        same = [
            definition
            for definition in self.code.defined(name)
            if definition.language == "java" and not definition.owner
        ]
        return tuple(definition for definition in same if f"/{folder_of(definition.path)}".endswith(ends))

    def packages_of(self, file: SourceFile) -> tuple[str, ...]:
        """Return the packages that a file is in, the innermost first: `a.b` and `a` of two clauses in Scala."""
        if file.path not in self._packages:
            clauses = _PACKAGE_CLAUSE.findall(file.source.decode("utf-8", "replace"))
            clauses = [clause.replace("`", "") for clause in (clauses if file.language == "scala" else clauses[:1])]
            self._packages[file.path] = tuple(".".join(clauses[:end]) for end in range(len(clauses), 0, -1)) or ("",)
        return self._packages[file.path]

    def _packages_in_reach(self, file: SourceFile) -> tuple[str, ...]:
        """Return the packages whose names need no import in a file: those that it is in, and its package object's."""
        packages = self.packages_of(file)
        return (*(f"{packages[0]}.{name}".lstrip(".") for name in self._package_objects(file)), *packages)

    def _package_objects(self, file: SourceFile) -> tuple[str, ...]:
        """Return the names of the package objects of a file of Scala."""
        if file.language != "scala":
            return ()
        if file.path not in self._objects:
            self._objects[file.path] = tuple(_PACKAGE_OBJECT.findall(file.source.decode("utf-8", "replace")))
        return self._objects[file.path]

    def namespace_of(self, file: SourceFile) -> str:
        """Return the first namespace of a file of PHP, with dots."""
        match = _PHP_NAMESPACE.search(file.source.decode("utf-8", "replace"))
        return match[1].replace("\\", ".") if match is not None else ""

    def _of_packages(self, packages: Sequence[str], name: str) -> Entities:
        """Return what the innermost of these packages defines of a name, extensions of classes included."""
        top = [(definition, package) for definition, package, written in self._packaged(name) if "." not in written]
        every = ([definition for definition, package in top if package == wanted] for wanted in packages)
        return tuple(next(filter(None, every), ()))

    def _packaged(self, name: str) -> list[tuple[CodeDefinition, str, str]]:
        """Return the definitions of a name in languages with packages, with their package and their name in it."""
        named = [definition for definition in self.code.defined(name) if definition.language in _PACKAGED]
        self.code.load_files(definition.path for definition in named)
        files = ((definition, self.code.file(definition.path)) for definition in named)
        return [(definition, *self._place_of(definition, file)) for definition, file in files if file is not None]

    def _place_of(self, definition: CodeDefinition, file: SourceFile) -> tuple[str, str]:
        """Return the package of a definition and its name there; what a package object of Scala defines is in both."""
        package, written = self.packages_of(file)[0], self._written(definition)
        first, _, rest = written.partition(".")
        if rest and first in self._package_objects(file):
            return f"{package}.{first}".lstrip("."), rest
        return package, written

    def is_extension(self, definition: CodeDefinition) -> bool:
        """Return whether the owner of a definition of Kotlin is the type that it extends, not a class around it."""
        file = self.code.file(definition.path) if definition.owner and definition.language == "kotlin" else None
        match = (
            re.search(rf"(\.)?`?\b{re.escape(definition.name)}\b", file.lines(definition.line, definition.line))
            if file
            else None
        )
        return match is not None and match[1] is not None

    def _written(self, definition: CodeDefinition) -> str:
        """Return the name by which an import calls a definition: an extension is imported without what it extends."""
        around = definition.owner.rpartition(".")[0] if self.is_extension(definition) else definition.owner
        return f"{around}.{definition.name}" if around else definition.name

    def imported_name(self, target: str) -> Entities:
        """Return what the whole name of an import means in languages with packages, or the end of one in Scala."""
        plain = target.replace(".Companion", "").replace("`", "")
        found = []
        for definition, package, written in self._packaged(plain.rpartition(".")[2]):
            full = f".{package}.{written}" if package else f".{written}"
            if full == f".{plain}" or (definition.language == "scala" and full.endswith(f".{plain}")):
                found.append(definition)
        return tuple(found)

    def _is_macro(self, definition: CodeDefinition) -> bool:
        file = self.code.file(definition.path) if definition.language == "rust" else None
        return file is not None and f"macro_rules! {definition.name}" in file.lines(definition.line, definition.line)

    def starred(self, file: SourceFile, name: str) -> Entities:
        """Return what comes in by `import *`, `use super::*` or `import . "pkg"`."""
        for imported in file.imports:
            if "*" in imported.names or "." in imported.names:
                of_java = self._of_java(imported.target, name) if file.language == "java" else ()
                if file.language in {"kotlin", "scala"}:
                    of_java = self._of_packages([imported.target], name) or self.of_members(
                        self.imported_name(imported.target), name
                    )
                members = of_java or self.of_members(self.module_of(file, imported), name)
                if any(isinstance(member, CodeDefinition) for member in members):
                    return members
        return ()

    def imported(self, file: SourceFile, imported: Import, name: str) -> Entities:
        """Return what an import binds to a name."""
        family, statement = FAMILIES[file.language], file.lines(imported.start, imported.end)
        alias = _renamed(statement, imported.names).get(name)
        if family == "rust":
            whole, last = self.module_of(file, imported), imported.target.rpartition("::")[2]
            return whole if last in (name, alias) else self.of_members(whole, name)
        if family == "python" and statement.lstrip().startswith("import"):
            target = imported.target if alias else imported.target.partition(".")[0]
            return (self.modules.find(file.path, target, family) or OUTSIDE,)
        if family == "ecmascript" and name not in _braced(statement, imported.names):
            modules = self.module_of(file, imported)
            return modules if name in _STARRED.findall(statement) else self.of_members(modules, "default")
        if family in {"python", "ecmascript"}:
            return self.of_members(self.module_of(file, imported), alias or name)
        if family in {"go", "lua"}:
            return self.module_of(file, imported)
        if family in {"kotlin", "scala"}:
            return self.imported_name(imported.target) or (OUTSIDE,)
        path = _SEPARATOR.sub("/", imported.target)
        named = [
            (definition, definition.qualified.replace(".", "/"))
            for definition in self.code.defined(path.rpartition("/")[2])
        ]
        ends = [
            (definition, (definition.path.rpartition(".")[0], f"{folder_of(definition.path)}/{inner}"))
            for definition, inner in named
        ]
        return tuple(definition for definition, homes in ends if any(home.endswith(path) for home in homes)) or (
            OUTSIDE,
        )

    def module_of(self, file: SourceFile, imported: Import) -> Entities:
        """Return what an import names before its names."""
        if file.language != "rust":
            return (self.modules.find(file.path, imported.target, FAMILIES[file.language]) or OUTSIDE,)
        node = file.node_at(file.line_starts[imported.start - 1])
        return self.rust_path(file, imported.target.split("::"), node) if node is not None else (OUTSIDE,)

    def rust_path(self, file: SourceFile, segments: Sequence[str], node: Node) -> Entities:
        """Return a path of Rust from its beginning."""
        module = rust_module(file, node)
        here: Entities = (module,)
        for index, segment in enumerate(segments):
            if segment == "crate":
                here = (self.modules.crate_root(file.path),)
            elif segment == "super":
                around = here[0] if here and isinstance(here[0], Module) else module
                here = (self.modules.parent(around) or OUTSIDE,)
            elif index == 0 and segment != "self":
                first = self.modules.child(module, segment) or self.modules.crate(segment)
                here = (first,) if first is not None else self.in_module(module, segment) or (OUTSIDE,)
            elif segment != "self":
                here = self.of_members(here, segment)
        return here
