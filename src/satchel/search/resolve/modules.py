"""The files or folders that imports mean.

`Modules` resolves an import of a file that was parsed, as its language does. `import_targets` and `importers` compare
imports as the store keeps them (`shop.errors`, `./client`, `crate::store`) with paths, in any language and at once.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from satchel.search.resolve.code import Code, Module
from satchel.store.protocol import Store
from satchel.store.records import Place
from satchel.types import EdgeType, Kind

_ES_ENDINGS = (
    "", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts",
    "/index.ts", "/index.tsx", "/index.js", "/index.jsx", "/index.mjs", "/index.d.ts",
)  # fmt: skip
_ES_BUILT = re.compile(r"\.(?:js|mjs|cjs|jsx)$")
_ES_HOMES = ("", "src", "lib")
"""Folders with the files of a package that is imported by its own name."""

_GO_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_CRATE = re.compile(r'^\[package\][^\[]*?^name\s*=\s*"([^"]+)"', re.MULTILINE | re.DOTALL)
_PACKAGE = re.compile(r'"name"\s*:\s*"([^"]+)"')
_CRATE_FILES = ("lib.rs", "main.rs")


def folder_of(path: str) -> str:
    """Return the folder of a file, empty at the top."""
    return path.rpartition("/")[0]


def joined(*parts: str) -> str:
    """Return a path of these parts, normalised; what leads above the root keeps its dots and names nothing."""
    path = posixpath.normpath(posixpath.join(*parts))
    return "" if path == "." else path


_Find = Callable[["Modules", str, str], Module | None]


class Modules:
    """Finds modules in one state of the index."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._answers: dict[tuple[_Find, str, str], Module | None] = {}

    def python(self, importer: str, target: str) -> Module | None:
        """Return the module that a file `importer` in Python names; looked up once."""
        return self._once(Modules._python, importer, target)

    def ecmascript(self, importer: str, target: str) -> Module | None:
        """Return the module that a file `importer` in JavaScript or TypeScript names; looked up once."""
        return self._once(Modules._ecmascript, importer, target)

    def _once(self, find: _Find, importer: str, target: str) -> Module | None:
        # A cache around a bound method would refer back to this object: hundreds of syntax trees would then stay in
        # memory until the collector of a resident process finds the cycle, which is after hours.
        key = find, importer, target
        if key not in self._answers:
            self._answers[key] = find(self, importer, target)
        return self._answers[key]

    def _existing(self, paths: Iterable[str], language: str) -> Module | None:
        return next((Module(path, language) for path in paths if self._code.has(path)), None)

    def _python(self, importer: str, target: str) -> Module | None:
        """`shop.errors` or `..errors` as the file `importer` writes it."""
        name = target.lstrip(".")
        inner = name.replace(".", "/")
        dots = len(target) - len(name)
        if dots:
            base = folder_of(importer)
            for _ in range(dots - 1):
                base = folder_of(base)
            stem = joined(base, inner)
            return self._existing((f"{stem}.py", f"{stem}.pyi", f"{stem}/__init__.py"), "python")
        last = name.rpartition(".")[2]
        ends = (f"{inner}.py", f"{inner}/__init__.py")
        fitting = [
            path
            for path in (*self._code.named(f"{last}.py"), *self._packages)
            if path.endswith(ends) and f"/{path}".endswith(tuple(f"/{end}" for end in ends))
        ]
        roots = {path: path.removesuffix(ends[0]).removesuffix(ends[1]).rstrip("/") for path in fitting}
        # Below a package, a plain name means the module at the top: `copy` beside `shop/copy.py` is that of Python.
        plausible = [path for path in fitting if not roots[path] or f"{roots[path]}/__init__.py" not in self._packages]
        plausible.sort(key=lambda path: (-_shared(path, importer), len(path), path))
        return self._existing(plausible[:1], "python")

    @cached_property
    def _packages(self) -> frozenset[str]:
        return frozenset(self._code.named("__init__.py"))

    def _ecmascript(self, importer: str, target: str) -> Module | None:
        if target.startswith("."):
            return self._es_file([joined(folder_of(importer), target)])
        if target.startswith(("@/", "~/")):
            return self._es_file([joined(home, target[2:]) for home in _ES_HOMES])
        for folder, name in sorted(self._packages_by_name.items()):
            if target == name or target.startswith(f"{name}/"):
                rest = target[len(name) + 1 :]
                return self._es_file([joined(folder, home, rest or "index") for home in _ES_HOMES])
        return None

    @cached_property
    def _packages_by_name(self) -> dict[str, str]:
        return self._code.manifests("package.json", _PACKAGE)

    def _es_file(self, stems: Sequence[str]) -> Module | None:
        plain = [_ES_BUILT.sub("", stem) for stem in stems]
        tried = [f"{stem}{ending}" for stem in stems for ending in _ES_ENDINGS]
        tried += [f"{stem}{ending}" for stem in plain for ending in _ES_ENDINGS if stem not in stems]
        return self._existing(tried, "javascript")

    @cached_property
    def _go_modules(self) -> list[tuple[str, str]]:
        """(name of a module, its folder), the longest name first."""
        folders = self._code.manifests("go.mod", _GO_MODULE)
        return sorted(((name, folder) for folder, name in folders.items()), key=lambda row: (-len(row[0]), row))

    def go(self, target: str) -> Module | None:
        """Return the folder of a package; None for one that belongs to none of the modules here."""
        for name, folder in self._go_modules:
            if target == name or target.startswith(f"{name}/"):
                return Module(joined(folder, target[len(name) + 1 :]), "go")
        return None

    def go_spellings(self, path: str) -> set[str]:
        """Return the import path of the package of a file in Go."""
        if not path.endswith(".go"):
            return set()
        folder = folder_of(path)
        around = [(name, home) for name, home in self._go_modules if f"{folder}/".startswith(home)]
        return {f"{name}/{folder.removeprefix(home).strip('/')}".rstrip("/") for name, home in around}

    def crate_of(self, path: str) -> str:
        """Return the folder in which the modules of the crate of a file lie."""
        folder = folder_of(path)
        while True:
            if any(self._code.has(joined(folder, name)) for name in _CRATE_FILES):
                return folder
            if not folder or folder in self._crates:
                return folder_of(path)
            folder = folder_of(folder)

    @cached_property
    def _crates(self) -> dict[str, str]:
        return {folder: name.replace("-", "_") for folder, name in self._code.manifests("Cargo.toml", _CRATE).items()}

    def crate(self, name: str) -> Module | None:
        """Return the root of the crate of this name."""
        for folder, one in sorted(self._crates.items()):
            if one == name:
                return self._existing((joined(folder, "src/lib.rs"), joined(folder, "lib.rs")), "rust")
        return None

    def crate_root(self, path: str) -> Module:
        """Return the root of the crate of a file."""
        folder = self.crate_of(path)
        root = self._existing((joined(folder, name) for name in _CRATE_FILES), "rust")
        return root or Module(joined(folder, "lib.rs"), "rust")

    def rust_child(self, module: Module, name: str) -> Module | None:
        """Return the module of this name below another one, in a file of its own."""
        folder = self._rust_folder(module.path)
        inner = module.inside.replace(".", "/")
        return self._existing((joined(folder, inner, f"{name}.rs"), joined(folder, inner, name, "mod.rs")), "rust")

    def rust_parent(self, module: Module) -> Module | None:
        """Return the module around another one."""
        if module.inside:
            return Module(module.path, "rust", module.inside.rpartition(".")[0])
        folder = folder_of(module.path)
        if module.path.endswith("/mod.rs"):
            folder = folder_of(folder)
        names = (joined(folder, name) for name in ("mod.rs", *_CRATE_FILES))
        return self._existing((*names, f"{folder}.rs"), "rust")

    def _rust_folder(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        return folder if name in {"mod.rs", *_CRATE_FILES} else joined(folder, name[:-3])


def _shared(path: str, other: str) -> int:
    """Return how many folders two paths have in common."""
    return len(posixpath.commonprefix([path.split("/"), other.split("/")]))


def group_of(language: str) -> str:
    """Return `ecmascript` for JavaScript and TypeScript, `c` for C and C++; the language itself for others."""
    return _GROUPS.get(language, language)


_GROUPS = {"javascript": "ecmascript", "typescript": "ecmascript", "tsx": "ecmascript", "cpp": "c"}

MOST_FILES = 3
"""An import that fits more files is not followed: `utils` is everywhere."""

_SEPARATOR = re.compile(r"::|[./\\]+")
_SUFFIX = re.compile(r"\.[A-Za-z]{1,4}$")
_STANDS_FOR_FOLDER = ("__init__", "index", "mod", "lib", "main")
_FOLDER_FILES = ("doc.go", "__init__.py", "index.ts", "index.tsx", "index.js", "index.jsx", "mod.rs", "lib.rs")
_ROOTS = frozenset({"crate", "self", "super", "src"})
_LEADS = ("", "./", "../", "../../", "../../../", ".", "..")


def import_targets(store: Store, files: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Yield (row of a place, first row of a file that its file imports)."""
    firsts = store.first_rows(Kind.CODE, {place.key for place in files})
    paths = {row: path for path, row in firsts.items()}
    edges = store.edges_from(sorted(firsts.values()), [EdgeType.IMPORTS])
    paths_by_import = _resolved(store, [(paths[row], target) for row, _, target in edges])
    rows = store.first_rows(Kind.CODE, {path for targets in paths_by_import.values() for path in targets})
    of_path: dict[str, list[str]] = defaultdict(list)
    for (path, _), targets in paths_by_import.items():
        of_path[path] += targets
    for place in files:
        for path in dict.fromkeys(of_path[place.key]):
            if path in rows and path != place.key:
                yield place.row, rows[path]


def importers(store: Store, files: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Yield (row of a place, first row of a file that imports its file)."""
    modules = Modules(Code(store))
    spelled = {place.key: _spellings(place.key) | modules.go_spellings(place.key) for place in files}
    edges = store.edges_to(sorted({one for spellings in spelled.values() for one in spellings}), [EdgeType.IMPORTS])
    sources = store.places({row for row, _, _ in edges})
    paths_by_import = _resolved(store, [(sources[row].key, target) for row, _, target in edges if row in sources])
    for row, _, target in edges:
        for place in files:
            if row in sources and place.key in paths_by_import.get((sources[row].key, target), ()):
                yield place.row, row


def _parts(text: str) -> tuple[str, ...]:
    """`crate::store::lexicon`, `./store/lexicon.js` -> `("store", "lexicon")`."""
    plain = _SUFFIX.sub("", text) if "/" in text else text
    return tuple(part for part in _SEPARATOR.split(plain) if part and part not in _ROOTS)


def _module(path: str) -> tuple[str, ...]:
    """`src/shop/__init__.py` -> `("src", "shop")`."""
    folders, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    above = tuple(folders.split("/")) if folders else ()
    return above if stem in _STANDS_FOR_FOLDER and above else (*above, stem)


def _spellings(path: str) -> set[str]:
    """Return every way in which an import may write this file, from its name alone to its whole path."""
    whole = _module(path)
    module = tuple(part for part in whole if part not in _ROOTS)
    suffix = _SUFFIX.search(path)
    spellings = set()
    for tail in {one[start:] for one in (whole, module) for start in range(len(one))}:
        for joined in (".".join(tail), "/".join(tail), "::".join(tail)):
            spellings |= {f"{lead}{joined}" for lead in _LEADS} | {f"crate::{joined}"}
        if suffix is not None:
            spellings |= {f"{lead}{'/'.join(tail)}{suffix[0]}" for lead in _LEADS[:5]}
    return spellings


def _resolved(store: Store, written: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return (importing path, import as written) -> the paths that it means, none where there are too many."""
    parts_by_target = {target: _parts(target) for _, target in written}
    stems = {part for parts in parts_by_target.values() for part in parts[-2:]}
    if not stems:
        return {}
    by_module: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for _, path in store.paths_named([*_FOLDER_FILES], sorted(stems)):
        module = _module(path)
        for start in range(len(module)):
            by_module[module[start:]].append(path)
    paths_of = {}
    modules, go_files = (
        Modules(Code(store)),
        {path for paths in by_module.values() for path in paths if path.endswith(".go")},
    )
    for path, target in written:
        if path.endswith(".go"):
            package = modules.go(target)  # none for the standard library: a folder `errors` here is not meant
            name = target.rpartition("/")[2]
            homes = {joined(package.path, file) for file in (f"{name}.go", "doc.go")} if package else set()
            paths_of[path, target] = tuple(sorted(homes & go_files))
            continue
        parts = parts_by_target[target]
        # `from shop.errors import Late` may be stored as `shop.errors.Late`: then the last part is a name.
        fitting = by_module.get(parts) or (by_module.get(parts[:-1]) if len(parts) > 1 else None) or []
        near = [one for one in fitting if one.rpartition("/")[0] == path.rpartition("/")[0]]
        chosen = near if near and (len(parts) == 1 or target.startswith(".")) else fitting
        if 0 < len(chosen) <= MOST_FILES:
            paths_of[path, target] = tuple(sorted(chosen))
    return paths_of
