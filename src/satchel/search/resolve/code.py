"""The indexed code for resolving names: possible meanings of a name, definitions, and files as syntax trees."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from operator import itemgetter
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel.search.resolve.answers import Answers
from satchel.search.resolve.places import Binding
from satchel.search.resolve.syntax import FUNCTIONS, above, binding_of, field_of
from satchel.search.resolve.unparsed import Units
from satchel.sources.code.languages import GRAMMARS, RULES, Mark, grammar
from satchel.sources.code.parse import syntax_tree
from satchel.store.protocol import Store
from satchel.store.records import Document, StoredChunk
from satchel.store.segments import distinct
from satchel.system.cache import Cache
from satchel.system.properties import unlocked_cached_property
from satchel.text import terms_of, words
from satchel.types import Import, Kind, Range

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_GIVEN = re.compile(rb"[\s\\)]*(?::|[^\s\w]{0,3}=)")
"""What follows a name that gets a value, and perhaps others."""

_NAME_BYTES = frozenset(f"$_{digits}{ascii_letters}".encode())

_MACRO = re.compile(rb"\b[a-z_]\w*!\s*([(\[]|\{(?=\s*(?://|#\[|(?:pub|fn|async|impl|mod|use|struct|enum|trait)\b)))")


def without_macros(source: bytes) -> bytes:
    """Return Rust with calls of macros as calls of functions, and items in `cfg_io! { }` as items; offsets stay."""
    text = bytearray(source)
    for match in _MACRO.finditer(source):
        first, last = match.span()
        name = source[first : source.index(b"!", first) + 1]
        if match[1] == b"(":
            text[first + len(name) - 1] = 32
        elif match[1] == b"[":
            text[first : last - 1] = b" " * (last - 1 - first)
        else:  # the closing brace is left over, which a parser gets over
            text[first:last] = (name + b"{}" if last - first > len(name) + 1 else b"").ljust(last - first)
    return bytes(text)


_SPOKEN = re.compile("string|comment")
_LABELLED = frozenset({"argument", "keyword_argument", "value_argument", "value_argument_label"})


def _is_spoken(node: Node) -> bool:
    """Return whether a word names nothing that is defined elsewhere: a text, or the name of an argument in a call."""
    around = node.parent
    if _SPOKEN.search(node.type):
        return True
    if around is None or around.type not in _LABELLED:
        return False
    after = node.next_sibling
    is_named = after is not None and after.type in {"=", ":"}
    return around.type == "value_argument_label" or around.child_by_field_name("name") == node or is_named


_SIGNATURES = frozenset({"method_elem", "method_signature", "protocol_function_declaration"})

_AROUND_NAMES = frozenset(
    {"qualified_identifier", "user_type", "dot_index_expression", "method_index_expression", "variable_list"}
)


class CodeDefinition(Struct, frozen=True):
    """A name that a file defines. `row` is its chunk, `owner` the qualified name around it."""

    path: str
    owner: str
    name: str
    line: int
    row: int
    language: str

    @property
    def qualified(self) -> str:
        """The name with that of its owner before it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def key(self) -> tuple[str, str]:
        """Path and qualified name, which overloads of one function share."""
        return self.path, self.qualified


class Module(Struct, frozen=True):
    """The module of an import: a file, or in Go a folder. `inside` is a module written within the file."""

    path: str
    language: str
    inside: str = ""


class Outside(Enum):
    """Anything that is not in the index: the standard library, a dependency, a value that was passed in."""

    OUTSIDE = "outside"


OUTSIDE = Outside.OUTSIDE

Entity = CodeDefinition | Module | Outside
Entities = tuple[Entity, ...]
"""All possible meanings of a name; empty where syntax cannot tell."""

NodePlace = tuple[int, int, str]


def place_of(node: Node) -> NodePlace:
    """Return what tells a node from others of its file: where it begins and ends, and its type."""
    return node.start_byte, node.end_byte, node.type


def _is_in(position: Range, stretches: Sequence[Range]) -> bool:
    """Return whether a place is in one of these stretches, which are in order."""
    at = bisect_right(stretches, position[0], key=itemgetter(0)) - 1
    return at >= 0 and position[0] < stretches[at][1]


class _ParsedTree(Struct, frozen=True):
    """A tree, the parts of its text that are not in it, and the bytes of those that are."""

    tree: Tree
    unparsed: frozenset[Range]
    size: int


_trees: Cache[tuple[str, bytes], _ParsedTree] = Cache(lambda kept: 46 * kept.size)
"""The trees of languages and texts, each 22 times as large as what was parsed; the allocator keeps as much again."""


def _size_of(answer: object) -> int:
    """Return the bytes of an answer with its key: a definition or a call in it takes some 300."""
    parts = answer if isinstance(answer, (tuple, frozenset)) else ()
    return 500 + 300 * sum(len(part) if type(part) is tuple else 1 for part in parts)


def _size_of_text(read: tuple[Document, bytes]) -> int:
    return 2_000 + len(read[1])


MAX_DEFINING = 1_000
"""A name that more chunks define (`String`, `Reset` of generated code) is resolved by its own file alone."""

MAX_PARSES = 8
"""Times that a file is parsed with what is asked for; then it is without bodies, and after that as a whole."""


class SourceFile:
    """One file as a syntax tree. Lines count from 1; `imports` are those of the index.

    What may be left out is parsed when something in it is asked for: most questions are about few functions. Then the
    file has another tree, so nodes that come from different calls are compared by their place (`place_of`).
    """

    def __init__(self, document: Document, source: bytes) -> None:
        self.document, self.path, self.language = document, document.key, document.language
        self.source, self.rules = source, RULES.get(self.language, frozenset())
        self._occurrences: dict[tuple[str, int, int], list[Node]] = {}
        self.bindings: dict[str, dict[NodePlace, list[Binding]]] = {}
        self._parses = 0

    @unlocked_cached_property
    def _units(self) -> Units:
        return Units(self.source, self.document.fields)

    @unlocked_cached_property
    def _unparsed(self) -> frozenset[Range]:
        """The parts of units that nothing was asked for so far."""
        return self._units.parts

    @unlocked_cached_property
    def root(self) -> Node | None:
        """The root of the tree; None for a language without a grammar, or a text that no parser gets through."""
        if self.language not in GRAMMARS:
            return None
        kept = _trees.values.get((self.language, self.source))
        if kept is None or not kept.unparsed <= self._unparsed:
            kept = self._parsed()
        if kept is None:
            return None
        self._unparsed = kept.unparsed
        return kept.tree.root_node

    def _parsed(self) -> _ParsedTree | None:
        """Return the tree with what was asked for so far."""
        self._parses += 1
        unparsed = self._unparsed
        if self._parses > MAX_PARSES:
            unparsed &= self._units.bodies
        if self._parses > MAX_PARSES + 1:
            unparsed = frozenset()
        holes = self._units.holes(unparsed)
        source = without_macros(self.source) if self.language == "rust" else self.source
        tree = syntax_tree(source, grammar(self.language), self.language, *holes)
        if tree is None:
            return None
        kept = _ParsedTree(tree, unparsed, len(self.source) - holes.size)
        _trees.keep({(self.language, self.source): kept})
        return kept

    def parse(self, first: int, last: int) -> None:
        """Have what has a byte from one offset to before another in the tree."""
        if self._unparsed:
            self._add(self._unparsed.intersection(self._units.over(first, last)))

    def parse_bindings(self, positions: Iterable[Range]) -> None:
        """Have what may bind the names at these places for the whole file in the tree, which is parsed once for all."""
        if self._unparsed:
            self._add(self._unparsed.intersection([self._units.binding(start) for start, _ in positions]))

    def _add(self, new: frozenset[Range]) -> None:
        if new:
            self._unparsed -= new
            self.bindings = {}
            vars(self).pop("root", None)

    def _seen(self, positions: Iterable[Range]) -> list[Node]:
        """Return the nodes at those of these places that are parsed."""
        root = self.root  # first: a kept tree has more
        if root is None:
            return []
        unparsed = sorted((*(holes := self._units.holes(self._unparsed)).closed, *holes.left_out))
        return [*self._named(position for position in positions if not _is_in(position, unparsed))]

    def let_go(self) -> None:
        """Forget the tree and its nodes; the text is parsed again when they are needed."""
        self._occurrences, self.bindings = {}, {}
        vars(self).pop("root", None)
        _trees.drop([(self.language, self.source)])

    @unlocked_cached_property
    def imports(self) -> list[Import]:
        """The imports at the top, then those inside functions."""
        fields = self.document.fields
        rows = (*fields.get("imports", ()), *fields.get("inner", ()))
        return [Import(target, tuple(names), start, end) for target, names, start, end in rows]

    @unlocked_cached_property
    def line_starts(self) -> list[int]:
        """The offset of each line."""
        return [0, *(np.flatnonzero(np.frombuffer(self.source, dtype=np.uint8) == ord("\n")) + 1).tolist()]

    def text(self, node: Node | None) -> str:
        """Return the text of a node, empty for None."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""

    def lines(self, start: int, end: int) -> str:
        """Return the text of these lines."""
        first, last = self.range(start, end)
        return self.source[first:last].decode("utf-8", "replace")

    def range(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets of these lines."""
        last = self.line_starts[end] if end < len(self.line_starts) else len(self.source)
        return self.line_starts[min(start, len(self.line_starts)) - 1], last

    def line_at(self, offset: int) -> int:
        """Return the line of an offset."""
        return bisect_right(self.line_starts, offset)

    def node_at(self, offset: int) -> Node | None:
        """Return the smallest node over a byte."""
        self.parse(offset, offset + 1)
        return self.root.descendant_for_byte_range(offset, offset) if self.root is not None else None

    def occurrences(self, name: str, first: int = 0, last: int = sys.maxsize) -> list[Node]:
        """Return every node between two offsets whose text is this name, in order."""
        key = name, first, last
        if key not in self._occurrences:
            positions = [*self.places(name, first, last)]
            for position in positions if self._unparsed else ():
                self.parse(*position)
            self._occurrences[key] = [*self._named(positions)]
        return self._occurrences[key]

    def occurrences_given(self, name: str, first: int, last: int) -> list[Node]:
        """Return the nodes between two offsets whose text is this name: of functions only those that get a value."""
        positions = [*self.places(name, first, last)]
        for position in positions if self._unparsed else ():
            is_given = _GIVEN.match(self.source, position[1]) is not None
            self._add(self._unparsed.intersection(self._units.over(*position, with_functions=is_given)))
        return self._seen(positions)

    def occurrences_parsed(self, name: str) -> list[Node]:
        """Return every node whose text is this name and that is parsed, or may bind it for the whole file."""
        positions = [*self.places(name)]
        self.parse_bindings(positions)
        return self._seen(positions)

    def places(self, name: str, first: int = 0, last: int = sys.maxsize) -> Iterator[tuple[int, int]]:
        """Yield where a name is written between two offsets, in code or elsewhere."""
        written, source = name.encode(), self.source
        size = len(written)
        start = source.find(written, first, last)
        while written and start >= 0:  # a pattern that looks behind tries every byte, and takes twenty times as long
            end = start + size
            is_alone = _NAME_BYTES.isdisjoint(source[start - 1 : start] + source[end : end + (end < last)])
            if is_alone:
                yield start, end
            start = source.find(written, end if is_alone else start + 1, last)

    def _named(self, positions: Iterable[Range]) -> Iterator[Node]:
        """Yield the nodes at these places that name something."""
        root = self.root
        for position in positions if root is not None else ():
            node = root.named_descendant_for_byte_range(*position) if root is not None else None
            start, end = position
            if self.source[start - 1 : start] == self.source[end : end + 1] == b"`":  # of Kotlin, Scala and Swift
                position = start - 1, end + 1
            if node is not None and (node.start_byte, node.end_byte) == position and not _is_spoken(node):
                yield node

    def textual_calls(self, name: str, start: int, end: int) -> Iterator[int]:
        """Yield the offsets on these lines where a name and a parenthesis follow each other, as a search sees them.

        In Ruby a name after a dot is a call without it.
        """
        written = re.escape(name.encode())
        call = rb"(?<![\w$])" + written + rb"(?:(?:::)?<[^<>\n]{1,60}>)?!?\("
        if self.language == "ruby":
            call += rb"|(?<=[\w)\]}?!'\"&][.])" + written + rb"(?![\w?!]|\s*=[^=~])"
        for match in re.compile(call).finditer(self.source, *self.range(start, end)):
            yield match.start()

    def values_of(self, word: str, declared: Node) -> Iterator[Node]:
        """Yield the values of each `return` or `yield` of a function itself."""
        self.parse(declared.start_byte, declared.end_byte)
        for match in re.finditer(rb"\b" + word.encode() + rb"\b", self.source[declared.start_byte : declared.end_byte]):
            leaf = self.node_at(declared.start_byte + match.start())
            statement = leaf.parent if leaf is not None else None
            if statement is None or statement.type not in {"return_statement", "yield"} or not statement.named_children:
                continue
            around = next((outer for outer in above(statement) if outer.type in FUNCTIONS), None)
            if around is not None and place_of(around) == place_of(declared):
                yield statement.named_children[0]

    def calls(self, start: int, end: int, names: Collection[str] | None = None) -> list[Node]:
        """Return the names of what is called on these lines, in order; with `names` only these."""
        from tree_sitter import QueryCursor

        first, last = self.range(start, end)
        self.parse(first, last)
        if self.root is None:
            return []
        syntax = grammar(self.language)
        cursor = QueryCursor(syntax.query)
        called: dict[int, Node] = {}
        # To look at the few places of these names takes half the time of looking at all of the lines.
        places = (
            [(first, last)] if names is None else [each for name in names for each in self.places(name, first, last)]
        )
        for start_byte, end_byte in places:
            cursor.set_byte_range(start_byte, end_byte)
            for pattern, captures in cursor.matches(self.root):
                mark, condition = syntax.marks[pattern], syntax.conditions[pattern]
                if mark is Mark.CALL or mark is Mark.POSSIBLE_CALL:
                    for node in captures.get("call") or captures["possible_call"]:
                        fits = condition is None or condition.search(self.source[node.start_byte : node.end_byte])
                        is_call = mark is Mark.CALL or self.source[node.end_byte : node.end_byte + 1] in {b"(", b"!"}
                        if fits and is_call and start_byte <= node.start_byte < end_byte:
                            called[node.start_byte] = node
        return [called[offset] for offset in sorted(called)]


class Code:
    """The definitions and files of one state of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.answers = Answers(store.cache("answers", _size_of))
        self._texts = store.cache("texts", _size_of_text)
        self._read_parts: Cache[int, tuple[StoredChunk, Document]] = store.cache("parts", lambda _: 1_500)
        self._files: dict[str, SourceFile | None] = {}
        self._kept: set[str] = set()
        self._room = 300_000  # bytes of text whose trees are kept; a tree takes twenty times as much memory
        self._parts: dict[int, StoredChunk] = {}
        self._documents: dict[int, Document] = {}
        self._found: dict[str, list[CodeDefinition]] = {}
        self._gone: dict[str, list[CodeDefinition]] = defaultdict(list)
        self._gone_paths: dict[str, str] = {}

    def assume(self, gone: CodeDefinition) -> None:
        """Resolve names as if this removed definition still existed. Call it before all other methods."""
        self.answers = Answers(Cache(_size_of))  # those of the index are about what it still has
        self._gone[gone.name].append(gone)
        self._gone_paths[gone.path] = gone.language

    def load(self, rows: Iterable[int]) -> None:
        """Read these chunks at once."""
        found = self._read_parts.through([row for row in dict.fromkeys(rows) if row not in self._parts], self._fetched)
        self._parts |= {row: part for row, (part, _) in found.items()}
        self._documents |= {part.document: document for part, document in found.values()}

    def _fetched(self, rows: Sequence[int]) -> dict[int, tuple[StoredChunk, Document]]:
        parts = self.store.chunks(rows)
        documents = self._documents | self.store.documents(
            {part.document for part in parts.values()} - self._documents.keys()
        )
        return {row: (part, documents[part.document]) for row, part in parts.items() if part.document in documents}

    def part(self, row: int) -> StoredChunk:
        """Return a chunk of the store."""
        if row not in self._parts:
            self.load([row])
        return self._parts[row]

    def document_of(self, row: int) -> Document:
        """Return the file of a chunk."""
        return self._documents[self.part(row).document]

    def defined(self, name: str) -> tuple[CodeDefinition, ...]:
        """Return everything of this unqualified name, by path and line."""
        return self.answers.get(("defined", name), partial(self._definitions, name), ())

    def look_up(self, names: Iterable[str]) -> None:
        """Find what these names define at once, so that `defined` finds it here."""
        new = [name for name in dict.fromkeys(names) if not self.answers.has(("defined", name))]
        self.found([name for name in new if name not in self._found], MAX_DEFINING)

    def found(self, names: Sequence[str], most: int) -> dict[str, list[CodeDefinition]]:
        """Return what these names define, overloads too; nothing of a name that more chunks define."""
        found: dict[str, list[CodeDefinition]] = {name: [] for name in names}
        for row, path, language in self.store.files_defining(names, most=most):
            found[row.name].append(CodeDefinition(path, row.owner, row.name, row.line, row.row, language))
        self._found |= found if most >= MAX_DEFINING else {name: rows for name, rows in found.items() if rows}
        return found

    def _definitions(self, name: str) -> tuple[CodeDefinition, ...]:
        found = self._found[name] if name in self._found else self.found([name], MAX_DEFINING)[name]
        definitions = [*self._gone[name], *found]
        definitions.sort(key=lambda definition: (definition.path, definition.line, definition.owner))
        last = {definition.key: definition for definition in definitions}
        return tuple(
            definition
            for definition in definitions
            if definition is last[definition.key] or not self._is_overload(definition)
        )

    def _is_overload(self, definition: CodeDefinition) -> bool:
        """Return whether a definition is an `@overload` of Python, or one of TypeScript before the body."""
        ends = {"python": r"^\s*@(?:\w+\.)*overload\b", "typescript": r"[;:\w>\])]\s*$"}.get(definition.language)
        file = self.file(definition.path) if ends else None
        return (
            file is not None
            and re.search(ends or "", file.lines(max(definition.line - 1, 1), definition.line), re.M) is not None
        )

    def mentioning(self, word: str, kind: Kind = Kind.CODE) -> list[int]:
        """Return the chunks of a kind whose text contains a word, none for a word that is too long for the index.

        The index has names without their marks: `save` of `save!`.
        """
        lexicon, terms = self.store.lexicon(kind), [term for part in words(word)[:1] for term in terms_of(part)[:1]]
        if not terms:
            return []
        (postings,) = lexicon.postings(terms)
        chunks = distinct(lexicon.columns.span_chunk[postings.body[0]])
        rows: list[int] = lexicon.columns.chunk_row[chunks[lexicon.live_chunk[chunks]]].tolist()
        return rows

    def load_files(self, paths: Iterable[str]) -> None:
        """Read these files at once."""
        missing = [path for path in dict.fromkeys(paths) if path not in self._files]
        found = self._texts.through(missing, self._read_texts)
        self._files |= {path: SourceFile(*found[path]) if found.get(path) else None for path in missing}

    def _read_texts(self, paths: Sequence[str]) -> dict[str, tuple[Document, bytes]]:
        ids = self.store.document_ids(Kind.CODE, paths)
        documents, texts = self.store.documents(ids.values()), self.store.texts(ids.values())
        return {
            path: (documents[number], texts[number].encode("utf-8", "replace"))
            for path, number in ids.items()
            if number in documents
        }

    def read(self, rows: Iterable[int]) -> None:
        """Read the bodies of these chunks, so that their file is parsed once for all of them."""
        for part in map(self.part, rows):
            file = self.file(self.document_of(part.row).key)
            if file is not None:
                file.parse(*file.range(part.start, part.end))

    def let_go(self, path: str) -> None:
        """Forget the tree of a file if there is no room for it. Call it when none of its nodes is in use."""
        file = self._files[path]
        if file is not None and path not in self._kept:
            if self._room < len(file.source):
                file.let_go()
            else:
                self._kept.add(path)
                self._room -= len(file.source)

    def file(self, path: str) -> SourceFile | None:
        """Return the file at a path; None where no code is indexed there."""
        if path not in self._files:
            self.load_files([path])
        return self._files[path]

    def has(self, path: str) -> bool:
        """Return whether there is code at a path, or was before the change."""
        if path in self._gone_paths:
            return True
        if path in self._files:
            return self._files[path] is not None
        return self.answers.get(("has", path), lambda: bool(self.store.document_ids(Kind.CODE, [path])), False)

    def named(self, *names: str) -> list[str]:
        """Return the paths of files with one of these names, in order."""
        gone = {path for path in self._gone_paths if path.rpartition("/")[2] in names}
        return sorted({path for _, path in self.store.paths_named(names, [])} | gone)

    def manifests(self, name: str, pattern: re.Pattern[str]) -> dict[str, str]:
        """Return folders with the match of the pattern in their file of this name (`go.mod`, `Cargo.toml`)."""
        matches = [(path, pattern.search(text)) for path, text in self.texts_named(name)]
        return {path.rpartition("/")[0]: match[1] for path, match in matches if match is not None}

    def texts_named(self, *names: str) -> list[tuple[str, str]]:
        """Return the paths and texts of the files with one of these names, by path."""
        rows = self.store.paths_named(names, [])
        texts = self.store.texts([number for number, _ in rows])
        return sorted((path, texts.get(number, "")) for number, path in rows)

    # The tree of a definition

    def name_node(self, definition: CodeDefinition) -> Node | None:
        """Return the name of a definition in its file."""
        file = self.file(definition.path)
        if file is None:
            return None
        here = file.occurrences(definition.name, *file.range(definition.line, definition.line))
        return next((node for node in here if binding_of(node) is not None), here[0] if here else None)

    def declaration(self, definition: CodeDefinition) -> Node | None:
        """Return the function or class that a definition names, by its body."""
        node = self.name_node(definition)
        if node is None or node.parent is None:
            return None
        parent = node.parent
        while parent.parent is not None and ("declarator" in parent.type or parent.type in _AROUND_NAMES):
            if parent.type == "variable_declarator":
                break
            parent = parent.parent
        value = field_of(parent, "value", "right")
        if value is None and parent.type == "assignment_statement":
            value = field_of(parent.named_children[-1], "value")  # of Lua
        return value if value is not None and (value.type in FUNCTIONS or value.type == "class") else parent

    def is_function(self, definition: Entity) -> bool:
        """Return whether something is a function or method."""
        declared = self.declaration(definition) if isinstance(definition, CodeDefinition) else None
        return declared is not None and declared.type in FUNCTIONS | _SIGNATURES

    def is_property(self, definition: CodeDefinition) -> bool:
        """Return whether a method is read like a field."""
        if definition.language == "python":
            return "property" in self.decorator(definition)
        declared = self.declaration(definition)
        if declared is not None and definition.language == "scala":
            is_given = any(child.type == "parameters" for child in declared.children)
            return declared.type in FUNCTIONS and not is_given
        return declared is not None and any(child.type == "get" for child in declared.children)

    def is_extension(self, definition: CodeDefinition) -> bool:
        """Return whether a definition is an extension of a type of Swift, which is defined elsewhere."""
        file = self.file(definition.path) if definition.language == "swift" else None
        return (
            file is not None and re.search(r"\bextension\b", file.lines(definition.line, definition.line)) is not None
        )

    def decorator(self, definition: CodeDefinition) -> str:
        """Return the first decorator of a definition in Python, empty where it has none."""
        file, declared = self.file(definition.path), self.declaration(definition)
        around = declared.parent if declared is not None else None
        if file is None or around is None or around.type != "decorated_definition":
            return ""
        return file.text(around.named_children[0])


def rust_module(file: SourceFile, node: Node) -> Module:
    """Return the module of Rust that a place is in, with the modules written around it in its file."""
    around = [
        other for other in above(node) if other.type == "mod_item" and other.child_by_field_name("body") is not None
    ]
    inner = [file.text(other.child_by_field_name("name")) for other in around]
    return Module(file.path, "rust", ".".join(reversed(inner)))
