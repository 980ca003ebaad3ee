"""Who calls what: call sites of a definition with their lines, what a function calls, who inherits from a class.

The index knows calls by the bare name. Which definition is meant is settled when somebody asks: the files that call
the name are parsed, and each call is resolved (`satchel.search.resolve`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from satchel.search.resolve.code import OUTSIDE, Code, Definition, Entity, SourceFile
from satchel.search.resolve.modules import folder_of, group_of, importers
from satchel.search.resolve.names import Names, is_telling
from satchel.search.resolve.syntax import binding_of, calls_base, owner_of, statement_of
from satchel.sources.roles import is_inline_test, is_secondary
from satchel.store.protocol import Store
from satchel.store.records import Bundle
from satchel.text import terms_of
from satchel.types import EdgeType, Kind

if TYPE_CHECKING:
    from tree_sitter import Node

_FILE = re.compile(r"(?:^|/)[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]{1,5}$|/")


def definitions_named(code: Code, text: str) -> list[Definition]:
    """The definitions that a name ends with, those of production code first; empty where there are none.

    The last part of a longer name is the unqualified name, what stands before it the end of the owner's name. A path,
    or the end of one, may stand before `::`.
    """
    wanted = text.strip().strip("`").removeprefix("./").removesuffix("()").partition("~")[0]
    path, symbol = "", wanted
    before, colons, after = wanted.partition("::")
    if colons and _FILE.search(before):
        path, symbol = before.removeprefix("code:"), after
    plain = re.sub(r"::|#(?=\w)|->", ".", symbol)
    found = [
        one
        for one in code.defined(plain.rpartition(".")[2])
        if f".{one.qualified}".endswith(f".{plain}") and (not path or f"/{one.path}".endswith(f"/{path}"))
    ]
    found.sort(key=lambda one: (one.qualified != plain, is_secondary(one.path), one.path, one.line))
    return found


def clear(named: Sequence[Definition], most: int) -> list[Definition]:
    """The definitions of one name, overloads once, where they are at most so many; else none.

    Those of production code hide others, implementations their declarations, functions the methods of that name.
    """
    shown = [one for one in named if not is_secondary(one.path)] or list(named)
    shown = [one for one in shown if not one.path.endswith(".d.ts")] or shown
    shown = [one for one in shown if not one.owner] or shown
    each: dict[tuple[str, str], Definition] = {}
    for one in shown:
        each.setdefault(one.key, one)
    return list(each.values()) if len(each) <= most else []


def files_named(store: Store, path: str) -> list[Bundle]:
    """The files of code and documentation at a path, or whose paths end with it."""
    wanted = path.strip().removeprefix("./")
    exact = [store.bundle(kind, wanted) for kind in (Kind.CODE, Kind.DOC)]
    found = [bundle for bundle in exact if bundle is not None]
    if found:
        return found
    name = wanted.rpartition("/")[2]
    ids = [number for number, key in store.paths_named([name], []) if key.endswith(f"/{wanted}")]
    return [one for one in store.bundles(ids).values() if one.kind in (Kind.CODE, Kind.DOC)]


MOST_FILES = 250
"""Files that call a name and are parsed for it: a second of work. Production code comes first, then what is near."""

RESOLVED, INHERITED, GUESSED = 1.0, 0.8, 0.5
"""How sure a call is: it means the definition; it means what the definition overrides; the class cannot be told, and
its file names the only class that has such a method."""

MOST_HEIRS = 100
"""Classes that inherit from one, directly or not."""

CALL, USE, IMPORT = "call", "use", "import"

_OWN = frozenset({"self", "cls", "this", "super", "base", "parent"})
"""What stands before the methods of the class itself and of its bases."""

BUILDERS = frozenset({"__init__", "__new__", "constructor", "initialize"})
"""Methods that are called by the name of their class."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call: its file and line, the document around it and its name, empty outside any definition.

    `certainty` is 0 to 1. `secondary` marks tests, docs and examples. `through` is the overridden definition that the
    call names, empty where it names the definition itself. `how` is `CALL`, or what else names the definition.
    `statement` are the first and the last line of the short statement around it.
    """

    path: str
    line: int
    row: int
    name: str
    secondary: bool
    certainty: float
    through: str = ""
    how: str = CALL
    statement: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Callers:
    """The calls of a definition, those of production code first; `unread` counts files that were too many."""

    sites: tuple[CallSite, ...]
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One thing that a document calls: the definition, the first line that does, and how sure it is."""

    definition: Definition
    line: int
    certainty: float


class Relations:
    """The relations of code in one state of a store. `gone` are definitions that were removed from it."""

    def __init__(self, store: Store, gone: Iterable[Definition] = ()) -> None:
        self.code = Code(store)
        for one in gone:
            self.code.assume(one)
        self.names = Names(self.code)
        self._callers: dict[tuple[tuple[str, str], int], Callers] = {}
        self._imports: dict[tuple[str, str], list[tuple[SourceFile, int, str]]] = {}

    def definition(self, row: int) -> Definition | None:
        """What a document defines by its own name; None for a stretch between definitions."""
        name = self.code.part(row).name
        own = [one for one in self.code.defined(name.rpartition(".")[2]) if one.row == row and one.qualified == name]
        return own[0] if own else None

    def named(self, path: str, qualified: str) -> Definition | None:
        """The definition with this qualified name in a file."""
        own = [one for one in self.code.defined(qualified.rpartition(".")[2]) if one.key == (path, qualified)]
        return own[0] if own else None

    def owner(self, one: Definition) -> Definition | None:
        """The class of a method; None for a function."""
        owner = self.named(one.path, one.owner) if one.owner else None
        if owner is not None or not one.owner:
            return owner
        last = one.owner.rpartition(".")[2]
        types = [other for other in self.code.defined(last) if other.language == one.language]
        near = [other for other in types if folder_of(other.path) == folder_of(one.path)]
        return next(iter(near or (types if len(types) == 1 else ())), None)

    # Calls of a definition

    def callers(self, target: Definition, most_files: int = MOST_FILES) -> Callers:
        """Every call of a definition, and of what it overrides."""
        key = (target.key, most_files)
        if key not in self._callers:
            self._callers[key] = self._calls_of(target, most_files)
        return self._callers[key]

    def _calls_of(self, target: Definition, most_files: int) -> Callers:
        owner = self.owner(target)
        keys = {target.key}
        names = {target.name}
        if owner is not None and target.name in BUILDERS:
            names = {owner.name}
            keys.add(owner.key)
        overridden = {one.key: one.qualified for one in self.overridden(target)}
        rows = self._calling(names, target)
        by_file: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            by_file[self.code.bundle_of(row).key].append(row)
        paths = sorted(by_file, key=lambda path: (self._is_secondary(by_file[path][0]), far(target.path, path), path))
        self.code.load_files(paths[:most_files])
        sites = [
            site
            for path in paths[:most_files]
            for row in sorted(by_file[path])
            for site in self._sites(row, rows[row], keys, overridden)
        ]
        sites.sort(
            key=lambda site: (site.secondary, -site.certainty, far(target.path, site.path), site.path, site.line)
        )
        return Callers(tuple(sites), max(len(paths) - most_files, 0))

    def _calling(self, names: Iterable[str], target: Definition) -> dict[int, set[str]]:
        """Documents that call one of the names, or what any file imports the target as, with those names."""
        store = self.code.store
        rows: dict[int, set[str]] = defaultdict(set)
        for row, _, name in store.edges_to(sorted(names), [EdgeType.CALLS]):
            rows[row].add(name)
        aliases = {bound for _, _, bound in self._imports_of(target)} - set(names)
        for row, _, name in store.edges_to(sorted(aliases), [EdgeType.CALLS]) if aliases else ():
            rows[row].add(name)
        self.code.load(rows)
        group = group_of(target.language)
        return {row: own for row, own in sorted(rows.items()) if self._is_of(row, group)}

    def _is_of(self, row: int, group: str) -> bool:
        bundle = self.code.bundle_of(row)
        return bundle.kind is Kind.CODE and group_of(bundle.language) == group

    def _imports_of(self, target: Definition) -> list[tuple[SourceFile, int, str]]:
        """(file, line, bound name) wherever a definition is imported from its own file."""
        if target.key not in self._imports:
            self._imports[target.key] = [] if target.owner else list(self._importing(target))
        return self._imports[target.key]

    def _importing(self, target: Definition) -> Iterator[tuple[SourceFile, int, str]]:
        bundle = self.code.store.bundle(Kind.CODE, target.path)
        homes = self.code.store.places([bundle.first_document] if bundle is not None else [])
        rows = [row for _, row in importers(self.code.store, list(homes.values()))]
        self.code.load(rows)
        paths = sorted({self.code.bundle_of(row).key for row in rows})
        self.code.load_files(paths)
        for path in paths:
            file = self.code.file(path)
            for one in file.imports if file is not None else ():
                for bound in one.names:
                    if file is not None and self._means(self.names.imports.imported(file, one, bound), target):
                        yield file, one.start, bound

    # Everything else that names a definition

    def uses(self, target: Definition, most_files: int = MOST_FILES) -> tuple[CallSite, ...]:
        """Where a definition is imported, passed on, or stands as a type: what names it without calling it."""
        lexicon = self.code.store.lexicon(Kind.CODE)
        (postings,) = lexicon.postings(terms_of(target.name)[:1])
        documents = np.unique(lexicon.columns.window_document[postings.body[0]])
        rows = lexicon.columns.document_row[documents[lexicon.live_document[documents]]].tolist()
        self.code.load(rows)
        group = group_of(target.language)
        rows = [row for row in rows if self._is_of(row, group)]
        distance = {path: far(target.path, path) for path in {self.code.bundle_of(row).key for row in rows}}
        rows.sort(key=lambda row: (self._is_secondary(row), distance[self.code.bundle_of(row).key], row))
        near = list(dict.fromkeys(self.code.bundle_of(row).key for row in rows))[:most_files]
        self.code.load_files(near)
        found = [site for row in rows if self.code.bundle_of(row).key in near for site in self._named_in(row, target)]
        return tuple(dict.fromkeys(found))

    def _named_in(self, row: int, target: Definition) -> Iterator[CallSite]:
        part, bundle = self.code.part(row), self.code.bundle_of(row)
        file = self.code.file(bundle.key)
        if file is None or file.root is None:
            return
        first, last = file.range(part.start, part.end)
        called = {node.start_byte for node in file.calls(part.start, part.end)}
        for node in file.occurrences(target.name):
            is_inside = first <= node.start_byte < last and node.start_byte not in called
            if is_inside and binding_of(node) is None and self._means(self.names.meaning(file, node), target):
                line = node.start_point[0] + 1
                how = IMPORT if any(one.start <= line <= one.end for one in file.imports) else USE
                secondary = bundle.secondary or is_inline_test(bundle.key, part.name)
                around = statement_of(node)
                yield CallSite(bundle.key, line, row, part.name, secondary, RESOLVED, how=how, statement=around)

    @staticmethod
    def _means(meant: Iterable[Entity], target: Definition) -> bool:
        return any(isinstance(one, Definition) and one.key == target.key for one in meant)

    def _sites(
        self, row: int, names: set[str], keys: set[tuple[str, str]], overridden: dict[tuple[str, str], str]
    ) -> Iterator[CallSite]:
        part, bundle = self.code.part(row), self.code.bundle_of(row)
        file = self.code.file(bundle.key)
        for node in file.calls(part.start, part.end) if file is not None else ():
            if file is None or file.text(node) not in names:
                continue
            meant = self.names.meaning(file, node)
            found = {one.key for one in meant if isinstance(one, Definition)}
            certainty, through = 0.0, ""
            if found & keys:
                certainty = RESOLVED
            elif found & overridden.keys() and not calls_base(node, file.source):
                certainty, through = INHERITED, overridden[min(found & overridden.keys())]
            elif self._guesses(meant, file, node) & keys:
                certainty = GUESSED
            if certainty:
                line, secondary = node.start_point[0] + 1, bundle.secondary or is_inline_test(bundle.key, part.name)
                around = statement_of(node)
                yield CallSite(bundle.key, line, row, part.name, secondary, certainty, through, statement=around)

    def _guesses(self, meant: Sequence[Entity], file: SourceFile, node: Node) -> set[tuple[str, str]]:
        """What a call may mean that syntax cannot tell: nothing is known of it, or its name is a telling one.

        A class whose base is from outside may have any method, and share the names of its own with the base.
        """
        owner = owner_of(node)
        if meant and not is_telling(file.text(node)):
            return set()
        if meant and (owner is None or file.text(owner).partition("(")[0] in _OWN or set(meant) != {OUTSIDE}):
            return set()
        guesses = self.names.guess(file, node)
        return {one.key for one in guesses if not meant or not self._has_outside_base(self.owner(one))}

    def _has_outside_base(self, one: Definition | None) -> bool:
        pending, seen = [one] if one is not None else [], set()
        while pending:
            seen.add((current := pending.pop()).key)
            if OUTSIDE in self.names.classes.bases(current):
                return True
            pending += [base for base in self.bases(current) if base.key not in seen]
        return False

    def _is_secondary(self, row: int) -> bool:
        return self.code.bundle_of(row).secondary

    # What a document calls

    def callees(self, row: int) -> list[Call]:
        """What a document calls, each once, in the order of its lines."""
        part, bundle = self.code.part(row), self.code.bundle_of(row)
        file = self.code.file(bundle.key)
        found: dict[tuple[str, str], Call] = {}
        for node in file.calls(part.start, part.end) if file is not None else ():
            if file is None:
                break
            meant = self.names.meaning(file, node)
            certainty = RESOLVED if meant else GUESSED
            for one in meant or self.names.guess(file, node):
                if isinstance(one, Definition) and (one.row, one.qualified) != (row, part.name):
                    found.setdefault(one.key, Call(one, node.start_point[0] + 1, certainty))
        return list(found.values())

    # Classes

    def bases(self, one: Definition) -> list[Definition]:
        """The classes that a class names as its bases, and the traits that are implemented for a type."""
        return [base for base in self.names.classes.bases(one) if isinstance(base, Definition)]

    def heirs(self, one: Definition) -> list[Definition]:
        """The classes that inherit from a class, directly or not; of a method the methods that override it."""
        owner = self.owner(one)
        if owner is None or owner.key == one.key:
            return self._heirs(one)
        overriding = [self._method(heir, one.name) for heir in self._heirs(owner)]
        return [method for method in overriding if method is not None]

    def _method(self, owner: Definition, name: str) -> Definition | None:
        own = [one for one in self.names.member(owner, name) if isinstance(one, Definition)]
        return next((one for one in own if one.owner.rpartition(".")[2] == owner.name), None)

    def _heirs(self, owner: Definition) -> list[Definition]:
        found: dict[tuple[str, str], Definition] = {}
        pending = [owner]
        while pending and len(found) < MOST_HEIRS:
            current = pending.pop(0)
            names = {current.name, *(bound for _, _, bound in self._imports_of(current))}
            rows = [row for row, _, _ in self.code.store.edges_to(sorted(names), [EdgeType.INHERITS])]
            self.code.load(rows)
            for row in rows:
                heir = self._class_of(row)
                if heir is None or heir.key in found or heir.key == owner.key:
                    continue
                if self._means(self.bases(heir), current):
                    found[heir.key] = heir
                    pending.append(heir)
        return sorted(found.values(), key=lambda heir: (self._is_secondary(heir.row), heir.path, heir.line))

    def _class_of(self, row: int) -> Definition | None:
        """The class that a document is; for an `impl` block of Rust the type itself."""
        own = self.definition(row)
        if own is not None and own.language != "rust":
            return own
        name = self.code.part(row).name
        types = [one for one in self.code.defined(name.rpartition(".")[2]) if one.language == "rust"] if name else []
        path = self.code.bundle_of(row).key
        return next(iter([one for one in types if one.path == path] or types), None)

    def overridden(self, target: Definition) -> list[Definition]:
        """What a method overrides in the bases of its class."""
        owner = self.owner(target)
        if owner is None or target.name in BUILDERS or owner.key == target.key:
            return []
        found: dict[tuple[str, str], Definition] = {}
        pending = self.bases(owner)
        seen: set[tuple[str, str]] = {owner.key}
        while pending:
            base = pending.pop(0)
            if base.key not in seen:
                seen.add(base.key)
                method = self._method(base, target.name)
                if method is not None:
                    found[method.key] = method
                pending += self.bases(base)
        return list(found.values())


def far(home: str, path: str) -> int:
    """Folders to go up and down from one file to the other, 0 for the file itself."""
    if home == path:
        return 0
    here, there = home.split("/"), path.split("/")
    shared = next((i for i, (one, other) in enumerate(zip(here, there, strict=False)) if one != other), 0)
    return len(here) + len(there) - 2 * shared - 1
