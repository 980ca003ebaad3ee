"""Relations of code: call sites of a definition with their lines, callees of a function, heirs of a class.

The index has calls by their bare names. The definition is resolved on demand: the files that call the name are parsed,
and each call is resolved (`satchel.search.resolve`).
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from satchel.search.resolve.code import OUTSIDE, Code, CodeDefinition, Entity, SourceFile
from satchel.search.resolve.interfaces import implemented, implementers
from satchel.search.resolve.modules import folder_of, words_of
from satchel.search.resolve.names import Names, base_of_unnamed
from satchel.search.resolve.syntax import (
    CLASSES,
    above,
    binding_of,
    is_base,
    is_dropped,
    is_self,
    owner_of,
    statement_of,
)
from satchel.sources.code.languages import FAMILIES, PROSE, RULES
from satchel.sources.roles import is_inline_test, is_secondary
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.text import pattern
from satchel.types import LINE_KINDS, EdgeType, Kind, Role

if TYPE_CHECKING:
    from tree_sitter import Node

CALL_INHERITED = 0.8
"""Certainty of a call that resolves to a definition which the definition overrides; of one that resolves to it 1."""

CALL_GUESSED = 0.5
"""Certainty of a call whose class is unknown, in a file that names the only class with such a method."""

_PROSE = PROSE | {"diff", "po", "tex", "text"}
"""Languages of documents that only speak of code."""

_MACHINE = frozenset({"java", "kotlin", "scala", "groovy", "clojure"})
"""Languages of one virtual machine, which call each other by the same names."""

_WORDS = pattern(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")
_FILE = pattern(r"(?:^|/)[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]{1,5}$|/")


def definitions_named(code: Code, text: str) -> list[CodeDefinition]:
    """Return the definitions that a name ends with, those of production code first; empty where there are none.

    The last part of a dotted name is the unqualified name, the rest is the end of the owner's name. A path, or the end
    of one, may precede `::`.
    """
    path, symbol = "", text.strip().strip("`").removeprefix("./").removesuffix("()").partition("~")[0]
    before, colons, after = symbol.partition("::")
    if colons and _FILE.search(before):
        path, symbol = before.removeprefix("code:"), after
    plain = re.sub(r"::|#(?=\w)|->", ".", symbol)
    every = [
        definition
        for definition in code.defined(last_of(plain))
        if f"/{definition.path}".endswith(f"/{path}" if path else "")
    ]
    named = [definition for definition in every if f".{definition.qualified}".endswith(f".{plain}")]
    named = named or [
        definition for definition in every if f".{_home(definition)}.{definition.qualified}".endswith(f".{plain}")
    ]
    return sorted(
        named,
        key=lambda definition: (
            definition.qualified != plain,
            is_secondary(definition.path),
            definition.path,
            definition.line,
        ),
    )


def _home(definition: CodeDefinition) -> str:
    """Return the package or module that may be written before a definition: `api` of `api.Client`."""
    folders, _, name = definition.path.rpartition("/")
    stem = name.partition(".")[0]
    is_package = definition.language in {"go", "java", "csharp", "cpp", "c"} or stem in {
        "__init__",
        "mod",
        "lib",
        "index",
    }
    return (folders if is_package else f"{folders}/{stem}").replace("/", ".")


def clear(named: Sequence[CodeDefinition], limit: int) -> list[CodeDefinition]:
    """Return the definitions of one name, overloads once, where they are at most so many; else none.

    Those of production code hide others, implementations their declarations, functions the methods of that name.
    """
    shown = [definition for definition in named if not is_secondary(definition.path)] or list(named)
    shown = [definition for definition in shown if not definition.path.endswith(".d.ts")] or shown
    shown = [definition for definition in shown if not definition.owner] or shown
    each = {definition.key: definition for definition in reversed(shown)}
    return [definition for definition in shown if each[definition.key] is definition] if len(each) <= limit else []


def files_named(store: Store, path: str) -> list[Document]:
    """Return the files of code and documentation at a path, or whose paths end with it."""
    path = path.strip().removeprefix("./")
    exact = [document for kind in LINE_KINDS if (document := store.document(kind, path)) is not None]
    if exact:
        return exact
    ids = [number for number, key in store.paths_named([path.rpartition("/")[2]], []) if key.endswith(f"/{path}")]
    return [other for other in store.documents(ids).values() if other.kind in LINE_KINDS]


MAX_FILES, MAX_HEIRS = 250, 100
"""Most files parsed for the callers of a name, a second of work: production code first, then the nearest files. Heirs
of heirs are searched until there are so many."""

RESOLVED = 1.0
"""Certainty of a call that resolves to the definition, the unit of the others (`CALL_INHERITED` ...)."""

CALL, USE, IMPORT = "call", "use", "import"

_BLOCKS = frozenset({"rust", "swift"})
"""Languages in which a type gets its bases in blocks of their own: `impl A for B`, `extension B: A`."""

_WITHOUT_NAMES = frozenset({"java", "kotlin", "scala"})
"""Languages in which an object may have a class of its own without a name: `new Plug() { ... }`."""

BUILDERS = frozenset({"__construct", "__init__", "__new__", "constructor", "init", "initialize"})
"""Methods that are called by the name of their class."""


class CallSite(Struct, frozen=True):
    """One call: its file and line, the chunk around it and its name, empty outside any definition.

    `certainty` is 0 to 1. `secondary` marks tests, docs and examples. `through` is the overridden definition that the
    call names, empty where it names the definition itself. `how` is `CALL`, `USE` or `IMPORT`.
    `statement` are the first and the last line of the short statement around it; the call `is_dropped` if that is all
    of a statement, so that nothing uses its result.
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
    is_dropped: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether syntax cannot tell the class of the value that the call is on."""
        return self.certainty <= CALL_GUESSED


class Callers(Struct, frozen=True):
    """The calls of a definition, those of production code first; `unread` counts files beyond the limit."""

    sites: tuple[CallSite, ...]
    unread: int = 0


class TextualCalls(NamedTuple):
    """Lines by file that call (`is_named`: name) a name by text and mean nothing known, and how many are `unread`."""

    lines: Mapping[str, list[int]]
    unread: int
    is_named: bool = False


class Heads(Struct, frozen=True):
    """Heirs of a definition by head (class, method, `impl` block), or callees, and unresolved lines by file."""

    heads: tuple[CodeDefinition, ...]
    unresolved: Mapping[str, list[int]]
    is_cut: bool = False


class Call(Struct, frozen=True):
    """One callee of a chunk: the definition, the first line that calls it, and the certainty."""

    definition: CodeDefinition
    line: int
    certainty: float


class Relations:
    """The relations of code in one state of a store. `gone` are definitions that were removed from it."""

    def __init__(self, store: Store, gone: Iterable[CodeDefinition] = ()) -> None:
        self.code = Code(store)
        for definition in gone:
            self.code.assume(definition)
        self.names = Names(self.code)

    def definition(self, row: int) -> CodeDefinition | None:
        """Return what a chunk defines by its own name; None for a stretch between definitions."""
        name = self.code.part(row).name
        return next(
            (
                definition
                for definition in self.code.defined(last_of(name))
                if definition.row == row and definition.qualified == name
            ),
            None,
        )

    def named(self, path: str, qualified: str) -> CodeDefinition | None:
        """Return the definition with this qualified name in a file."""
        return next(
            (definition for definition in self.code.defined(last_of(qualified)) if definition.key == (path, qualified)),
            None,
        )

    def owner(self, definition: CodeDefinition) -> CodeDefinition | None:
        """Return the class of a method; None for a function."""
        if not definition.owner:
            return None
        owner = self.named(definition.path, definition.owner)
        if owner is not None:
            return owner
        types = [
            other for other in self.code.defined(last_of(definition.owner)) if other.language == definition.language
        ]
        near = [other for other in types if folder_of(other.path) == folder_of(definition.path)]
        return next(iter(near or (types if len(types) == 1 else ())), None)

    # Calls of a definition

    def callers(self, target: CodeDefinition, max_files: int = MAX_FILES) -> Callers:
        """Return every call of a definition, and of what it overrides."""
        key = ("callers", target.key, max_files)
        return self.code.answers.get(key, partial(self._calls_of, target, max_files), Callers(()))

    def first_callers(self, target: CodeDefinition, max_files: int, chunks: int) -> tuple[CallSite, ...]:
        """Return the calls of a definition as `callers` does, at least those in the first other chunks, so many."""
        key = ("callers", target.key, max_files, chunks)
        return self.code.answers.get(key, lambda: self._calls_of(target, max_files, chunks).sites, ())

    def _calls_of(self, target: CodeDefinition, max_files: int, chunks: int = sys.maxsize) -> Callers:
        owner = self.owner(target)
        keys, names = {target.key}, {target.name}
        if owner is not None and target.name in BUILDERS:
            keys, names = {target.key, owner.key}, {owner.name}
        overridden = {definition.key: definition.qualified for definition in self.overridden(target)}
        calling = self._calling(names, target)
        paths = self._nearest(calling, target)
        self.code.load_files(paths[:max_files])
        by_file: dict[str, list[int]] = defaultdict(list)
        for row in calling:
            by_file[self.code.document_of(row).key].append(row)
        sites: list[CallSite] = []

        def order(site: CallSite) -> tuple[bool, float, int, str]:
            return site.secondary, -site.certainty, far(target.path, site.path), site.path

        for path in paths[:max_files]:
            first = self.code.document_of(by_file[path][0]).secondary, -RESOLVED, far(target.path, path), path
            if len(sites) >= chunks <= len({site.row for site in sites if order(site) < first} - {target.row}):
                break  # no call in this file or a later one comes before those
            self.code.read(by_file[path])
            sites += [site for row in by_file[path] for site in self._sites(row, calling[row], keys, overridden, owner)]
            self.code.let_go(path)
        sites.sort(key=lambda site: (order(site), site.line))
        return Callers(tuple(sites), max(len(paths) - max_files, 0))

    def _calling(self, names: set[str], target: CodeDefinition) -> dict[int, set[str]]:
        """Return chunks that call one of the names, or an alias of the target in any file, with those names."""
        spellings = names | self._aliases(target)
        rows: dict[int, set[str]] = defaultdict(set)
        for row, _, name in self.code.store.edges_to(sorted(spellings), [EdgeType.CALLS]):
            rows[row].add(name)
        return {row: rows[row] for row in self._of_group(rows, target)}

    def calling_rows(self, name: str, target: CodeDefinition) -> list[int]:
        """Return the chunks that call anything of this name and are code which may mean the target."""
        rows = {row for row, _, _ in self.code.store.edges_to([name], [EdgeType.CALLS])}
        return self._of_group(rows, target)

    def _of_group(self, rows: Iterable[int], target: CodeDefinition) -> list[int]:
        """Return those of these chunks that are code which may name the target, in order."""
        listed, family = sorted(rows), FAMILIES[target.language]
        self.code.load(listed)
        documents = {row: self.code.document_of(row) for row in listed}
        return [
            row for row in listed if documents[row].kind is Kind.CODE and FAMILIES[documents[row].language] == family
        ]

    def _nearest(self, rows: Iterable[int], target: CodeDefinition) -> list[str]:
        """Return the files of these chunks: production code first, then what is near the target."""
        documents = {document.key: document for document in map(self.code.document_of, rows)}
        return sorted(documents, key=lambda path: (documents[path].secondary, far(target.path, path), path))

    def _aliases(self, target: CodeDefinition) -> frozenset[str]:
        """Return the names other than its own by which files import a definition."""
        return self.code.answers.get(("aliases", target.key), partial(self._aliases_of, target), frozenset())

    def _aliases_of(self, target: CodeDefinition) -> frozenset[str]:
        can_rename = "alias" in RULES.get(target.language, ()) and not self.names.is_member(target)
        names = self._imported_as(target) - {target.name} if can_rename else set()
        if target.language == "csharp" and target.name.endswith("Attribute"):
            names.add(target.name.removesuffix("Attribute"))
        return frozenset(names)

    def _imported_as(self, target: CodeDefinition) -> set[str]:
        if target.language == "python":
            return self._renamed_to(target)
        # A default import of JavaScript names the file alone; elsewhere an import says which name it replaces.
        is_named = FAMILIES[target.language] != "ecmascript"
        words = (target.name, *(() if is_named else words_of(target.path)[-1:]))
        rows = self._of_group({row for word in words for row in self.code.mentioning(word)}, target)
        # Most files that name a definition and are read for its aliases, the nearest first.
        paths = self._nearest(rows, target)[:1_000]
        self.code.load_files(paths)
        names, every = {target.name}, [target.name]
        for name in every:  # and for the new names that it gets
            renamed = re.compile(rb"\b%b[\s\\]+as\s|\busing\s+\w+\s*=" % re.escape(name.encode()) if is_named else b"")
            for file in map(self.code.file, paths):
                new = self._bound_to(target, file, names) if file is not None and renamed.search(file.source) else set()
                every += new if is_named else ()
                names |= new
        return names

    def _renamed_to(self, target: CodeDefinition) -> set[str]:
        """Return the names that imports of files give a definition, where the index has which ones they replace."""
        names, every = {target.name}, [target.name]
        for name in every:
            rows = {row for row, _, _ in self.code.store.edges_to([name], [EdgeType.RENAMES])}
            paths = self._nearest(self._of_group(rows, target), target)
            self.code.load_files(paths)
            new = {
                new_name
                for file in map(self.code.file, paths)
                if file is not None
                for new_name in self._bound_to(target, file, names)
            }
            every += sorted(new)
            names |= new
        return names

    def _bound_to(self, target: CodeDefinition, file: SourceFile, names: set[str]) -> set[str]:
        """Return the names beside these that imports of a file bind to a definition."""
        every = ((imported, bound) for imported in file.imports for bound in imported.names if bound not in names)
        return {bound for imported, bound in every if self._means(self.names.imported(file, imported, bound), target)}

    # Other uses of a definition

    def uses(self, target: CodeDefinition, max_files: int = MAX_FILES) -> tuple[CallSite, ...]:
        """Return the uses of a definition other than calls: imports, references, and types."""
        sites: dict[CallSite, None] = {}
        names = {target.name} | self._aliases(target)
        every = self._naming(target, names, max_files)[0]
        for path, grouped in groupby(every, lambda row: self.code.document_of(row).key):
            rows = [*grouped]
            self.code.read(rows)
            sites |= dict.fromkeys(site for row in rows for site in self._named_in(row, target, names))
            self.code.let_go(path)
        return tuple(sites)

    def _naming(self, target: CodeDefinition, names: Iterable[str], max_files: int) -> tuple[list[int], int]:
        """Return the chunks that contain a name of a definition, nearest first, and the number of files left out.

        Their files are loaded.
        """
        rows = {row for name in names for row in self.code.mentioning(name)}
        files = {row: self.code.document_of(row) for row in self._of_group(rows, target)}
        distances = {path: far(target.path, path) for path in {document.key for document in files.values()}}
        order = sorted(files, key=lambda row: (files[row].secondary, distances[files[row].key], row))
        every = list(dict.fromkeys(files[row].key for row in order))
        paths = every[:max_files]
        self.code.load_files(paths)
        return [row for row in order if files[row].key in paths], len(every) - len(paths)

    def unresolved(
        self, target: CodeDefinition, sites: Iterable[CallSite], max_files: int = MAX_FILES, *, has_uses: bool = False
    ) -> TextualCalls:
        """Return the lines that contain a call of this name by text, and mean neither `sites` nor another definition.

        Of a class whose uses are among the sites, all lines with its name. Nearest files first: with them a list
        misses nothing that a search of the read files would find.
        """
        owner = self.owner(target) if target.name in BUILDERS else None
        name = owner.name if owner is not None else target.name
        is_named = has_uses and self.code.part(target.row).role == Role.CLASS
        told = {(site.path, site.line) for site in sites} | {
            (definition.path, definition.line) for definition in self.code.defined(name)
        }
        lines: dict[str, list[int]] = defaultdict(list)
        rows, unread = self._naming(target, [name], max_files)
        for row in rows:
            part, file = self.code.part(row), self.code.file(self.code.document_of(row).key)
            if file is None:
                continue
            every = (start for start, _ in file.places(name, *file.range(part.start, part.end)))
            for offset in every if is_named else file.textual_calls(name, part.start, part.end):
                location = (file.path, file.line_at(offset))
                if location not in told and not self._is_another(file, offset, target):
                    told.add(location)
                    lines[file.path].append(location[1])
        return TextualCalls(lines, unread, is_named or target.language == "ruby")

    def elsewhere(self, target: CodeDefinition, sites: Iterable[CallSite] = ()) -> dict[str, list[int]]:
        """Return the lines of files in other languages that contain the name of a definition, by path.

        These are code, templates, queries and configuration that nothing resolves; prose is not among them, and neither
        is a language that defines the name itself. A name of one everyday word counts only before a parenthesis.
        """
        name = target.name
        if name in BUILDERS and (owner := self.owner(target)) is not None:
            name = owner.name
        is_plain = not _is_distinctive(name) and not name.isupper() and "_" not in name
        form = re.compile(rf"(?<![\w$-]){re.escape(name)}" + (r"\s?[(]" if is_plain else r"(?![\w-])"))
        told, family = {(site.path, site.line) for site in sites}, FAMILIES.get(target.language)
        homes = {FAMILIES.get(definition.language) for definition in self.code.defined(name)} | {family}
        homes -= _MACHINE - {family} if family in _MACHINE else set()
        found: dict[str, list[int]] = {}
        rows = [row for kind in LINE_KINDS for row in self.code.mentioning(name, kind)]
        self.code.load(rows)
        numbers: dict[int, Document] = {
            self.code.part(row).document: document
            for row in rows
            if (document := self.code.document_of(row)).language not in _PROSE
            and (document.kind is not Kind.CODE or FAMILIES.get(document.language) not in homes)
        }
        texts = self.code.store.texts(list(numbers)[:MAX_FILES])
        for number, text in texts.items():
            path = numbers[number].key
            lines = [
                index
                for index, line in enumerate(text.split("\n"), 1)
                if name in line and (path, index) not in told and form.search(line)
            ]
            if lines:
                found[path] = lines
        order = sorted(found, key=lambda path: (is_secondary(path), far(target.path, path), path))
        return {path: found[path] for path in order}

    def _is_another(self, file: SourceFile, offset: int, target: CodeDefinition) -> bool:
        """Return whether a name in a text is no call, or one of another definition here."""
        node = file.node_at(offset)
        if node is None or any(outer.type == "ERROR" for outer in above(node)):
            return False
        if re.search("comment|string", node.type):
            return "comment" in node.type or not _is_written_out(file, offset, target)
        if binding_of(node) is not None or _is_declared(node):
            return True
        meant = [definition for definition in self.names.meaning(file, node) if isinstance(definition, CodeDefinition)]
        return bool(meant) and not self._means(meant, target)

    def _named_in(self, row: int, target: CodeDefinition, names: Collection[str]) -> Iterator[CallSite]:
        part, file = self.code.part(row), self.code.file(self.code.document_of(row).key)
        if file is None:
            return
        first, last = file.range(part.start, part.end)
        here = [name for name in sorted(names) if any(file.places(name, first, last))]
        if not here or file.root is None:
            return
        called = {node.start_byte for node in file.calls(part.start, part.end)}
        for node in (node for name in here for node in file.occurrences(name, first, last)):
            is_other = node.start_byte in called or binding_of(node) is not None or _is_declared(node)
            if not is_other and self._means(self.names.meaning(file, node), target):
                line = node.start_point[0] + 1
                how = IMPORT if any(imported.start <= line <= imported.end for imported in file.imports) else USE
                yield self._site(row, node, RESOLVED, how=how)

    def _site(self, row: int, node: Node, certainty: float, through: str = "", how: str = CALL) -> CallSite:
        name, document, line = self.code.part(row).name, self.code.document_of(row), node.start_point[0] + 1
        secondary = document.secondary or is_inline_test(document.key, name)
        around, dropped = statement_of(node), how == CALL and is_dropped(node)
        return CallSite(document.key, line, row, name, secondary, certainty, through, how, around, dropped)

    @staticmethod
    def _means(entities: Iterable[Entity], target: CodeDefinition) -> bool:
        return any(isinstance(entity, CodeDefinition) and entity.key == target.key for entity in entities)

    def _sites(
        self,
        row: int,
        names: set[str],
        keys: set[tuple[str, str]],
        overridden: dict[tuple[str, str], str],
        owner: CodeDefinition | None,
    ) -> Iterator[CallSite]:
        part, file = self.code.part(row), self.code.file(self.code.document_of(row).key)
        if file is None:
            return
        for node in file.calls(part.start, part.end, names):
            if file.text(node) not in names:
                continue  # only a part of a longer name
            entities = self.names.meaning(file, node)
            definitions = {entity.key for entity in entities if isinstance(entity, CodeDefinition)}
            inherited = definitions & overridden.keys()
            if definitions & keys:
                yield self._site(row, node, RESOLVED)
            elif inherited and not is_base(_receiver(file, node), file.language):
                if owner is not None and self._is_of_sibling(file, node, owner):
                    continue
                yield self._site(row, node, CALL_INHERITED, overridden[min(inherited)])
            elif any(guess.key in keys for guess in self.possible(entities, file, node)):
                yield self._site(row, node, CALL_GUESSED)

    def _is_of_sibling(self, file: SourceFile, node: Node, owner: CodeDefinition) -> bool:
        """Return whether an object calls an inherited method of its own, and can be no object of this other class."""
        entities = self.names.meaning(file, node)
        if owner_of(node) is not None and not _is_own(file, node):
            return False
        around = next(
            (definition for definition in self.names.enclosing(file, node) if isinstance(definition, CodeDefinition)),
            None,
        )
        if around is None:
            return False
        bases = {base.key for base in self._all_bases(around)}
        # A module that is mixed in has no bases here: what it calls may be a method of any class.
        homes = {home.key for entity in entities if isinstance(entity, CodeDefinition) and (home := self.owner(entity))}
        related = {around.key, *bases} & {owner.key} or {base.key for base in self._all_bases(owner)} & {around.key}
        return bool(homes & bases) and not related

    def possible(self, entities: Sequence[Entity], file: SourceFile, node: Node) -> tuple[CodeDefinition, ...]:
        """Return possible targets of a call that syntax cannot resolve: it has no result, or a name of several words.

        A class whose base is from outside may have any method, and share the names of its own with the base.
        """
        owner = owner_of(node)
        if entities and not _is_distinctive(file.text(node)):
            return ()
        if entities and (owner is None or _is_own(file, node) or set(entities) != {OUTSIDE}):
            return ()
        guesses = self.names.guess(file, node)
        return tuple(guess for guess in guesses if not entities or not self._has_outside_base(self.owner(guess)))

    def _has_outside_base(self, definition: CodeDefinition | None) -> bool:
        if definition is None or self.code.is_function(definition):
            return definition is not None  # an object without a name inside of a function, which may have any base
        return any(OUTSIDE in self.names.bases(each) for each in (definition, *self._all_bases(definition)))

    # What a chunk calls

    def callees(self, row: int) -> list[Call]:
        """Return what a chunk calls, each once, in the order of its lines."""
        part, file = self.code.part(row), self.code.file(self.code.document_of(row).key)
        if file is None:
            return []
        calls: dict[tuple[str, str], Call] = {}
        for node in file.calls(part.start, part.end):
            entities = self.names.meaning(file, node)
            certainty = RESOLVED if entities else CALL_GUESSED
            for entity in entities or self.names.guess(file, node):
                if isinstance(entity, CodeDefinition) and (entity.row, entity.qualified) != (row, part.name):
                    calls.setdefault(entity.key, Call(entity, node.start_point[0] + 1, certainty))
        return list(calls.values())

    # Classes

    def bases(self, definition: CodeDefinition) -> list[CodeDefinition]:
        """Return the classes that a class names as its bases, and the traits that are implemented for a type."""
        named = (base for base in self.names.bases(definition) if isinstance(base, CodeDefinition))
        return list(dict.fromkeys(named))

    def heirs(self, definition: CodeDefinition) -> list[CodeDefinition]:
        """Return the classes that inherit from a class, directly or not; of a method the methods that override it."""
        owner = self.owner(definition)
        if owner is None or owner.key == definition.key or self._is_class(definition):
            return self._heirs(definition)
        overriding = (self._method(heir, definition.name) for heir in self._heirs(owner))
        return list(dict.fromkeys(method for method in overriding if method is not None))

    def _is_class(self, definition: CodeDefinition) -> bool:
        """Return whether a definition is a class, which may have an owner: `class Base` in `module Shop`."""
        part = self.code.part(definition.row) if definition.row >= 0 else None
        declared = self.code.declaration(definition)
        is_class = part is not None and part.role == Role.CLASS and part.name == definition.qualified
        return is_class or (declared is not None and declared.type in CLASSES)

    def told_heirs(self, target: CodeDefinition) -> Heads:
        """Return the heirs of a definition for a list that is complete or says what it lacks."""
        names, heirs = {target.name} | self._aliases(target), self.heirs(target)
        rows = {row for row, _, _ in self.code.store.edges_to(sorted(names), [EdgeType.INHERITS])}
        unnamed = self._unnamed_heirs([target, *heirs]) if self._is_class(target) else []
        rows -= {heir.row for heir in unnamed}
        heads = tuple(self._head(heir, rows) for heir in heirs)
        if unnamed:
            heads = tuple(sorted((*heads, *unnamed), key=self._place_of))
        unresolved: dict[str, list[int]] = defaultdict(list)
        for row in self._of_group(rows, target):
            every = self._classes_of(row, names)
            if not any(heir in heirs or any(base.name in names for base in self.bases(heir)) for heir in every):
                unresolved[self.code.document_of(row).key].append(self.code.part(row).start)
        return Heads(heads, unresolved, len(heirs) >= MAX_HEIRS)

    def _unnamed_heirs(self, bases: Sequence[CodeDefinition]) -> list[CodeDefinition]:
        """Return an heir for each object of a class without a name that has one of these bases, with its line."""
        heirs: dict[tuple[str, int], CodeDefinition] = {}
        for base in (base for base in bases if base.language in _WITHOUT_NAMES):
            rows, _ = self._naming(base, [base.name], MAX_FILES)
            written = re.compile(rb"\bnew\s[\w\s.]*\b%b\b|\bobject\s*:" % re.escape(base.name.encode()))
            files = {row: self.code.file(self.code.document_of(row).key) for row in rows}
            having = {file for file in {*files.values()} if file is not None and written.search(file.source)}
            for row, file in files.items():
                part = self.code.part(row)
                if file is None or file not in having:
                    continue
                for node in file.occurrences(base.name, *file.range(part.start, part.end)):
                    if self._means(self.names.typed(file, base_of_unnamed(node)), base):
                        line = node.start_point[0] + 1
                        heir = CodeDefinition(file.path, part.name, "(anonymous)", line, row, file.language)
                        heirs.setdefault((file.path, line), heir)
        return [*heirs.values()]

    def _place_of(self, heir: CodeDefinition) -> tuple[bool, str, int]:
        return self.code.document_of(heir.row).secondary, heir.path, heir.line

    def _head(self, heir: CodeDefinition, rows: Collection[int]) -> CodeDefinition:
        """Return where an heir names its base: in Rust and Swift one of these blocks, elsewhere the heir itself."""
        blocks = self.code.defined(heir.name) if heir.language in _BLOCKS else ()
        of_heir = (block for block in blocks if block.row in rows and self._class_of(block.row) == heir)
        return next(of_heir, heir)  # types of one name in several files have blocks of their own

    def _method(self, owner: CodeDefinition, name: str) -> CodeDefinition | None:
        definitions = (
            definition for definition in self.names.member(owner, name) if isinstance(definition, CodeDefinition)
        )
        return next((definition for definition in definitions if last_of(definition.owner) == owner.name), None)

    def _heirs(self, owner: CodeDefinition) -> list[CodeDefinition]:
        heirs: dict[tuple[str, str], CodeDefinition] = {}
        pending = [owner]
        while pending and len(heirs) < MAX_HEIRS:
            current = pending.pop(0)
            names = {current.name} | self._aliases(current)
            rows = [row for row, _, _ in self.code.store.edges_to(sorted(names), [EdgeType.INHERITS])]
            self.code.load(rows)
            classes = [heir for row in self._of_group(set(rows), current) for heir in self._classes_of(row, names)]
            for heir in classes:
                is_new = heir.key not in heirs and heir.key != owner.key
                if is_new and self._means(self.bases(heir), current):
                    heirs[heir.key] = heir
                    pending.append(heir)
        heirs |= {implementer.key: implementer for implementer in implementers(self.names, owner)}
        return sorted(heirs.values(), key=self._place_of)

    def _classes_of(self, row: int, names: Iterable[str]) -> list[CodeDefinition]:
        """Return the classes of a chunk that may name one of these bases: its own, and those that it has inside."""
        own_definition, part = self._class_of(row), self.code.part(row)
        found = dict.fromkeys([own_definition] if own_definition is not None else [])
        file = self.code.file(self.code.document_of(row).key)
        if file is not None and file.language != "rust":
            first, last = file.range(part.start, part.end)
            nodes = (node for name in names for node in file.occurrences(name, first, last))
            around = (
                target for node in nodes if binding_of(node) is None for target in self.names.enclosing(file, node)
            )
            found |= dict.fromkeys(definition for definition in around if isinstance(definition, CodeDefinition))
        return [*found]

    def _class_of(self, row: int) -> CodeDefinition | None:
        """Return the class that a chunk defines; for an `impl` block or an extension the type itself."""
        own_definition = self.definition(row)
        if own_definition is not None and own_definition.language not in _BLOCKS:
            return own_definition
        name, language = self.code.part(row).name, self.code.document_of(row).language
        types = (
            [definition for definition in self.code.defined(last_of(name)) if definition.language == language]
            if name
            else []
        )
        types = [type_name for type_name in types if not self.code.is_extension(type_name)] or types
        path = self.code.document_of(row).key
        return next((type_name for type_name in types if type_name.path == path), types[0] if types else None)

    def overridden(self, target: CodeDefinition) -> list[CodeDefinition]:
        """Return what a method overrides in the bases of its class."""
        owner = self.owner(target)
        if owner is None or target.name in BUILDERS or owner.key == target.key:
            return []
        methods = [self._method(base, target.name) for base in self._all_bases(owner)]
        methods += implemented(self.names, owner, target.name)
        return list({method.key: method for method in methods if method is not None}.values())

    def _all_bases(self, owner: CodeDefinition) -> Iterator[CodeDefinition]:
        """Yield the bases of a class, and theirs, the nearest first."""
        pending, seen = self.bases(owner), {owner.key}
        while pending:
            base = pending.pop(0)
            if base.key not in seen:
                seen.add(base.key)
                yield base
                pending += self.bases(base)


def _is_declared(node: Node) -> bool:
    """Return whether a name is that of a function which is only declared, as in a header of C."""
    outer = next((other for other in above(node) if other.type not in {"qualified_identifier", "template_type"}), None)
    return outer is not None and outer.type == "function_declarator"


def _receiver(file: SourceFile, node: Node) -> str:
    """Return the text before a name, without brackets: `super` of `super().flush`; empty for a bare name."""
    return file.text(owner_of(node)).partition("(")[0]


def _is_own(file: SourceFile, node: Node) -> bool:
    """Return whether a method is asked of the object around it or of its base."""
    receiver = _receiver(file, node)
    return is_self(receiver, file.language, file.rules) or is_base(receiver, file.language)


def _is_written_out(file: SourceFile, offset: int, target: CodeDefinition) -> bool:
    """Return whether a name in a string follows that of its class: code that is put together from text."""
    owner = last_of(target.owner).encode()
    return bool(owner) and file.source[:offset].rstrip(b".:#").endswith(owner)


def _is_distinctive(name: str) -> bool:
    """Return whether a name consists of several words: hardly anything from outside has the same one."""
    return len(_WORDS.findall(name)) > 1


def last_of(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rpartition(".")[2]


def far(home: str, path: str) -> int:
    """Return the number of folders up and down from one file to the other, 0 for the file itself."""
    if home == path:
        return 0
    here, there = home.split("/"), path.split("/")
    shared = next((i for i, (first, other) in enumerate(zip(here, there, strict=False)) if first != other), 0)
    return len(here) + len(there) - 2 * shared - 1
