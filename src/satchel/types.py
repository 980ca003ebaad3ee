"""The values that modules pass to each other: frozen, slotted, without behaviour that needs another module.

This module imports nothing of satchel. Lines are 1-based and inclusive everywhere, paths are relative to
the workspace root with forward slashes, times are seconds since the epoch (UTC), scores are floats where higher
is better.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self

from msgspec import Struct

AnyPath = str | os.PathLike[str]

Data = Mapping[str, Any]
Json = dict[str, Any]
"""An object of JSON or YAML: `Data` that is read, `Json` that is made."""

ShouldStop = Callable[[], bool]
"""Returns whether a long work ends now. What is done so far is kept."""


def never() -> bool:
    """Return False: the work is not stopped."""
    return False


class Role(StrEnum):
    """The role of a part of a file."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    GAP = "gap"
    SECTION = "section"
    TEXT = "text"
    RECORD = "record"


class KindTraits(Struct, frozen=True):
    """What a kind is in every room.

    `plural` is its context type, `weight` its default share of the budget: rich records get more than one-line ones.
    `is_file` says that its documents are files of the tree, `is_record` that they are records; notes may be either, and
    a kind that is neither is made for an answer and never stored. `is_prose` are files that people read beside code:
    they are ranked by file as code is, and are of less use at the same relevance. `is_remembered` are the kinds of the
    memory file, all others are derived again from files and history. `is_lesson` are told without being asked for.
    `is_embedded` is whether its texts get vectors by default. `filters` are the filters of a search that apply to it
    besides those of all records, `roles` the entity types that its parts have.
    """

    plural: str
    weight: float
    is_file: bool = False
    is_record: bool = True
    is_prose: bool = False
    is_remembered: bool = False
    is_lesson: bool = False
    is_embedded: bool = True
    filters: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()


class Kind(StrEnum):
    """The kind of a chunk, with its traits. The value is the name used in ids and in the `source` of an item.

    The order is that of the sections of a context.
    """

    traits: KindTraits

    def __new__(cls, value: str, *traits: KindTraits) -> Self:
        """Return a member that is its name; a look-up by name comes without the traits."""
        member = str.__new__(cls, value)
        member._value_ = value
        (member.traits,) = traits
        return member

    MEMORY = "memory", KindTraits(
        "memories", 1.0, is_remembered=True, is_lesson=True,
        filters=("category", "scope", "provenance", "origin", "min_importance", "author"),
    )  # fmt: skip
    CODE = "code", KindTraits(
        "code", 2.0, is_file=True, is_record=False, is_embedded=False,
        roles=(Role.FUNCTION, Role.METHOD, Role.CLASS),
    )  # fmt: skip
    EXPERIENCE = "experience", KindTraits(
        "experiences", 3.0, is_remembered=True, is_lesson=True,
        filters=("domain", "strategy", "outcome", "axis", "author"),
    )  # fmt: skip
    VALUE = "value", KindTraits("values", 1.0, is_remembered=True, filters=("domain", "strategy", "axis", "author"))
    COMMIT = "commit", KindTraits("commits", 2.0, is_embedded=False, filters=("author",))
    DOC = "doc", KindTraits("docs", 2.0, is_file=True, is_record=False, is_prose=True, roles=(Role.SECTION,))
    NOTE = "note", KindTraits("notes", 2.0, is_file=True, roles=(Role.SECTION,))
    CONVERSATION = "conversation", KindTraits("conversations", 1.0, is_remembered=True, filters=("origin",))
    CONTEXT = "context", KindTraits("contexts", 1.0, is_record=False)

    @property
    def plural(self) -> str:
        """The context type that asks for this kind, as used in calls: `memories`, `code`, `docs`."""
        return self.traits.plural

    @property
    def heading(self) -> str:
        """The section title in a rendered context."""
        return self.plural.capitalize()


DEFAULT_WEIGHTS: Mapping[Kind, float] = {kind: kind.traits.weight for kind in Kind}

RECORD_KINDS = frozenset(kind for kind in Kind if kind.traits.is_record)
"""Kinds whose chunks are records, or sides of one, rather than parts of files. Notes may be either."""

FILE_KINDS = tuple(kind for kind in Kind if kind.traits.is_file)
"""Kinds whose documents are files of the tree: their keys are paths. Notes may be either."""

LINE_KINDS = tuple(kind for kind in FILE_KINDS if kind not in RECORD_KINDS)
"""Kinds whose chunks are always lines of a file. They are ranked by file."""

PROSE_KINDS = tuple(kind for kind in LINE_KINDS if kind.traits.is_prose)
"""Kinds of files that people read beside code."""

MEMORY_KINDS = tuple(kind for kind in Kind if kind.traits.is_remembered)
"""Kinds in the durable memory file; all others are derived from files and kept in the index."""

LESSON_KINDS = tuple(kind for kind in Kind if kind.traits.is_lesson)
"""Kinds that are told unasked: values rest on experiences, and commits tell what was done, not what to do."""

INDEX_KINDS = tuple(
    kind for kind in Kind if (kind.traits.is_file or kind.traits.is_record) and not kind.traits.is_remembered
)
"""Kinds of the index. They have relations, so their chunks are the nodes of a graph."""

CONTEXT_TYPES: Mapping[str, Kind] = {kind.plural: kind for kind in Kind}
"""Context type -> kind, in the order in which sections appear in a context."""

SEARCHED_TYPES = tuple(kind.plural for kind in Kind if kind.traits.is_file or kind.traits.is_record)
"""The types that are searched. Contexts apply to a task instead, unless a searcher of the user has some."""


def type_name(name: str) -> str:
    """Return the context type for the name of a kind, as answers show it: `memories` for `memory`; others unchanged."""
    return Kind(name).plural if name in frozenset(Kind) else name


class EdgeType(StrEnum):
    """The type of a relation between two chunks."""

    CHILD = "child"
    PARENT = "parent"
    REFERENCE = "reference"
    FIELD = "field"
    MENTION = "mention"
    CONTAINS = "contains"
    IMPORTS = "imports"
    CALLS = "calls"
    INHERITS = "inherits"
    RENAMES = "renames"
    TOUCHES = "touches"
    EVIDENCE = "evidence"
    BOUND = "bound"


ENTITY_TYPES: Mapping[str, Role] = {
    "function": Role.FUNCTION,
    "method": Role.METHOD,
    "class": Role.CLASS,
    "section": Role.SECTION,
}
"""Name of an entity type, as a query asks for it, -> its role."""


class Format(StrEnum):
    """The output format of a context."""

    MARKDOWN = "markdown"
    XML = "xml"
    PLAIN = "plain"
    JSON = "json"


class View(StrEnum):
    """The layout of a context: by file, one heading per entity, or one block per entity."""

    SECTIONS = "sections"
    ENTITIES = "entities"
    BLOCKS = "blocks"


class Detail(StrEnum):
    """How much of an item is shown, from most to least."""

    FULL = "full"
    SPAN = "window"
    SIGNATURE = "signature"
    LINE = "line"


class Freshness(StrEnum):
    """Shown text beside the indexed one: moved (same text), changed (same definition), stale (gone)."""

    MOVED = "moved"
    CHANGED = "changed"
    STALE = "stale"


class Trust(StrEnum):
    """The trust level of a text. No text can raise its own level."""

    SATCHEL = "satchel"
    GUIDANCE = "guidance"
    DATA = "data"


class Definition(Struct, frozen=True, array_like=True):
    """A name that a file defines. `owner` is the qualified name of its container, empty at the top level."""

    name: str
    owner: str
    line: int


Range = tuple[int, int]
"""First and last line, 1-based and inclusive."""


class Import(Struct, frozen=True, array_like=True):
    """One import: the module or path as written, the names it binds, and the lines of the statement."""

    target: str
    names: tuple[str, ...]
    start: int
    end: int


class Reference(Struct, frozen=True, array_like=True):
    """A relation to something known only by name or path: `target` as written (`parse`, `Base`, `src/a.py`)."""

    type: EdgeType
    target: str


class Part(Struct, frozen=True, array_like=True):
    """A line range of a file that is one chunk: a function, a class header, a section, a gap between them.

    The parts of a file tile it: the first starts at line 1, each starts where the one before ended, the last ends
    at the last line. `name` is qualified with dots and empty for a gap; `signature` is the declaration without its
    body, on one or more lines; `summary` is the first sentence of its doc comment.
    """

    role: Role
    name: str
    start: int
    end: int
    signature: str = ""
    summary: str = ""
    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()


class Outline(Struct, frozen=True):
    """The result of parsing one file. `comment_lines` are line ranges with only comments or doc strings.

    `functions` are the long ones, not those inside of them, in order: the offsets in bytes where each begins, where its
    body does, and where it ends. One without which the text around it is no code begins with its body. `classes` are
    those that may be left out as well, `statements` the beginnings and ends of what may be left out beside them.
    """

    language: str
    parts: tuple[Part, ...]
    imports: tuple[Import, ...] = ()
    comment_lines: tuple[tuple[int, int], ...] = ()
    parsed: bool = True
    functions: tuple[tuple[int, int, int], ...] = ()
    classes: tuple[tuple[int, int, int], ...] = ()
    statements: tuple[tuple[int, int], ...] = ()


class Location(NamedTuple):
    """The location of a chunk. `content_hash` is a keyed hash of the raw file, empty where there is no file."""

    path: str
    start_line: int
    end_line: int
    content_hash: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One stored unit of knowledge.

    `importance` is 0 to 1 or None where the kind has none. `fields` are the values that the kind defines (author,
    category, language ...), as plain JSON. `document` is the number of its document in the store, 0 for none.
    """

    id: str
    kind: Kind
    title: str
    body: str
    location: Location | None = None
    role: Role = Role.RECORD
    signature: str = ""
    tags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    created: float = 0.0
    updated: float = 0.0
    importance: float | None = None
    origin: str = ""
    document: int = 0


class Signal(Struct, frozen=True):
    """One reason for a score: the name of the measure, its value and its weight."""

    name: str
    value: float
    weight: float


class ScoredSpan(Struct, frozen=True):
    """A line range with its value (log scale, ranks only) inside its chunk."""

    start: int
    end: int
    value: float


IN_STEPS = "/8bit"
"""Ends the fingerprint of vectors that are stored in 8 bits a number: those of a table, which are many."""


class Hit(Struct, frozen=True):
    """A chunk that answers a query.

    `relevance` is the probability that the chunk is needed for the answer, 0 to .46
    (`satchel.search.strength.relevance_of`); without a query a mean of the record's own signals, 0 to 1. `score` ranks
    within one request and kind only. `spans` are the spans that matched, best first. `file_score` ranks the file of the
    chunk among the files, 0 to 1 (0 for records), more than 1 for files in a pasted trace and for commits that the
    question names. In a `partial` hit only the spans answer the query: a call, not the function around it. `also` are
    ids of other matching chunks of its record. `best_line` is the line of the best span that matches best, with its
    number, where the file was read. `copies` are the places of equal definitions in other files, which are not hits of
    the list themselves.
    """

    chunk: Chunk
    relevance: float
    score: float
    spans: tuple[ScoredSpan, ...] = ()
    signals: tuple[Signal, ...] = ()
    file_score: float = 0.0
    partial: bool = False
    also: tuple[str, ...] = ()
    best_line: tuple[int, str] | None = None
    copies: tuple[Location, ...] = ()


NO_REVISION = "0"
"""Revision of a store before anything was published."""

UNFINISHED = "unfinished index"
"""Source of the failure that an answer comes from an index that another process is still writing: it is said first."""


class Failure(Struct, frozen=True):
    """An error as data: the part that failed, what happened, and what to do about it."""

    source: str
    message: str
    hint: str = ""


class Piece(Struct, frozen=True):
    """A shown line range of one item (0, 0 for a record), its name and text; `freshness` is None for indexed text."""

    start: int
    end: int
    name: str
    text: str
    detail: Detail = Detail.FULL
    freshness: Freshness | None = None


class Cut(Struct, frozen=True):
    """A definition that an item shows only in part: `handle` requests all of its lines, `start` to `end`.

    Of a long function it requests only the `rest`: the ranges that are not shown, best first.
    """

    handle: str
    start: int
    end: int
    name: str = ""
    rest: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One file or one record in an answer. The pieces are in line order.

    `source` is the kind in the singular (`code`); `content` the shown text without any frame; `relevance` that
    of its best chunk; `tokens` what the item costs in the rendered text; `nonce` marks its block as ours. `section` is
    its section title, empty for the title of its kind.
    """

    id: str
    source: str
    title: str
    content: str
    relevance: float
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tokens: int = 0
    detail: Detail = Detail.FULL
    location: Location | None = None
    spans: tuple[tuple[int, int], ...] = ()
    pieces: tuple[Piece, ...] = ()
    signals: tuple[Signal, ...] = ()
    handle: str = ""
    nonce: str = ""
    trust: Trust = Trust.DATA
    origins: tuple[str, ...] = ()
    language: str = ""
    cuts: tuple[Cut, ...] = ()
    section: str = ""


class LeftOut(Struct, frozen=True):
    """What a question leads to in files that are not indexed.

    `places` are by word where it is found (`gen/parser.lock:12 (generated)`); `unread` counts the files and folders by
    reason that were not searched for what is still missing.
    """

    places: Mapping[str, str]
    unread: Mapping[str, int]

    def __str__(self) -> str:
        """Return the note on what was not searched, empty if there is nothing."""
        listed = ", ".join(f"{reason} {count:,}" for reason, count in self.unread.items())
        return f"not searched: {listed} (`satchel doctor` names them)" if listed else ""


class Omission(Struct, frozen=True):
    """A candidate that is not shown: the reason, and the approximate budget (tokens) to show it, 0 where none helps.

    `reason` is "budget" (no room), "value" (not worth its tokens beside the best; `fill` shows it if there is room),
    "limit" (its kind has all its items) or "duplicate" (an item with the same text names it). `rest` are all lines
    that `handle` requests of a long function that is shown in part, best first; it is empty for any other candidate.
    """

    id: str
    source: str
    title: str
    relevance: float
    reason: str
    budget: int
    path: str = ""
    start: int = 0
    end: int = 0
    handle: str = ""
    content_hash: str = ""
    rest: tuple[Range, ...] = ()


class HandleTarget(Struct, frozen=True):
    """The target of a handle: lines of a file in one revision, the full file (no `ranges`), or a record (no `path`).

    Several `ranges` are shown as far as they fit, the first ones first. `name` is the qualified name of the definition
    that the lines belong to, empty if there is none. `workspace` is that of an answer from several, empty for the
    root itself; path and id are those that it has there.
    """

    handle: str
    kind: Kind
    id: str
    path: str = ""
    name: str = ""
    content_hash: str = ""
    ranges: tuple[Range, ...] = ()
    workspace: str = ""


class ShownBefore(Struct, frozen=True):
    """An item that a session has received before and is not sent again, with its present location and its handle.

    `spans` are the lines that the session has of the file at `path`; a record has only a `title`, kind first.
    """

    id: str
    source: str
    title: str
    path: str = ""
    spans: tuple[tuple[int, int], ...] = ()
    handle: str = ""
    content_hash: str = ""


class Usage(Struct, frozen=True):
    """The tokens of one answer, and why it ends.

    `stopped` is "budget", "places" (the best of the rest are named), "value" (the rest is not worth its tokens),
    "limit" (of items), "weak" (kept short: a weak match), "unfinished index", or empty: everything relevant is shown.
    """

    limit: int
    used: int
    tokenizer: str
    exact: bool
    stopped: str = ""

    @property
    def utilization(self) -> float:
        """Share of the limit that was used, 0 to 1 (0 for a limit of 0)."""
        return self.used / self.limit if self.limit > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Context:
    """The answer: `text` is the counted text; the other fields describe its contents and the reasons.

    `shown_before` are items that the session has already; the text names some of them and counts the others.
    """

    query: str
    text: str
    format: Format
    items: tuple[ContextItem, ...]
    usage: Usage
    overflow: tuple[Omission, ...] = ()
    sources_used: Mapping[str, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    shown_before: tuple[ShownBefore, ...] = ()

    @property
    def markdown(self) -> str:
        """The rendered text (the name that the first specification gave it)."""
        return self.text

    @property
    def token_count(self) -> int:
        """Tokens of `text`."""
        return self.usage.used


class GuideEntry(Struct, frozen=True):
    """One part of a guide that is shown or left out as a whole: a rule, a paragraph.

    The entries with a larger `value` are shown first. `heads` are the places of the headings above it, which are shown
    only with it; a heading has no value. A lead is infinitely valuable, and cut if it is long.
    """

    text: str
    value: float | None = 0.0
    heads: tuple[int, ...] = ()
