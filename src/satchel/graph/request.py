"""A checked graph request and its lens: the relations that a walk follows, the most important first.

The first five lenses are those of the specification; users define their own in their settings:

    [lenses.review]
    edges = ["calls:in", "touches", "reference"]
    boost_tags = ["test"]
    include_fields = ["status"]
    max_depth = 3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypedDict, TypeGuard

from satchel import vocabulary
from satchel.answer.request import check_budget, check_now, check_session
from satchel.errors import ConfigError, UsageError
from satchel.safety import sanitize
from satchel.settings import Settings
from satchel.tokens import counter
from satchel.types import Data, EdgeType, Format


class Direction(StrEnum):
    """Whether a relation was followed from its source to its target, or back."""

    OUT = "out"
    IN = "in"


class Move(NamedTuple):
    """One relation, followed in one direction. `rank` is its place among those of the lens, from 0."""

    type: EdgeType
    direction: Direction
    rank: int


class Lens(NamedTuple):
    """`edges` are `type` or `type:direction`, the most important first. Tags and fields are compared in lower case.

    A node with one of `boost_tags` scores higher; `include_fields` are always shown. `max_depth` bounds a walk
    without an explicit depth.
    """

    name: str
    edges: tuple[str, ...]
    boost_tags: tuple[str, ...] = ()
    include_fields: tuple[str, ...] = ()
    max_depth: int = 3

    @property
    def moves(self) -> tuple[Move, ...]:
        """Every relation and direction that a walk follows, the most important first.

        The relations of notes have counterparts in code: a child is a contained definition, a reference is an import,
        a call or an inheritance. So the same lens works on both.
        """
        moves_by_edge: dict[tuple[EdgeType, Direction], Move] = {}
        for rank, edge in enumerate(self.edges):
            name, _, side = edge.partition(":")
            sides = (Direction(side),) if side else tuple(Direction)
            for one in sides:
                moves_by_edge.setdefault((EdgeType(name), one), Move(EdgeType(name), one, rank))
            for like, direction in _ALIKE.get(EdgeType(name), ()):
                if not side or side == direction:
                    moves_by_edge.setdefault((like, direction), Move(like, direction, rank))
        return tuple(moves_by_edge.values())

    @property
    def is_about_code(self) -> bool:
        """Whether the lens follows relations of code only."""
        return all(EdgeType(edge.partition(":")[0]) in CODE_EDGES for edge in self.edges)


NOTE_EDGES = frozenset({EdgeType.CHILD, EdgeType.PARENT, EdgeType.REFERENCE, EdgeType.FIELD})
CODE_EDGES = frozenset({EdgeType.CONTAINS, EdgeType.IMPORTS, EdgeType.CALLS, EdgeType.INHERITS, EdgeType.TOUCHES})

_ALIKE: Mapping[EdgeType, tuple[tuple[EdgeType, Direction], ...]] = {
    EdgeType.CHILD: ((EdgeType.CONTAINS, Direction.OUT),),
    EdgeType.PARENT: ((EdgeType.CONTAINS, Direction.IN),),
    EdgeType.REFERENCE: (
        *((type_, side) for type_ in (EdgeType.CALLS, EdgeType.IMPORTS, EdgeType.INHERITS) for side in Direction),
        (EdgeType.MENTION, Direction.OUT),
    ),
}

LENSES: Mapping[str, Lens] = {
    lens.name: lens
    for lens in (
        Lens("general", ("child", "parent", "reference", "field"), max_depth=3),
        Lens("writing", ("child", "reference"), ("note", "draft", "writing", "article"), max_depth=2),
        Lens(
            "coding", ("reference", "field"), ("spec", "architecture", "code", "decision"),
            ("status", "priority", "assignee"), 3,
        ),
        Lens(
            "planning", ("child", "field"), ("goal", "milestone", "task", "project"),
            ("due", "status", "blocked-by"), 4,
        ),
        Lens(
            "meeting-prep", ("reference", "child"), ("person", "meeting", "action", "agenda"),
            ("attendees", "date", "status"), 2,
        ),
        Lens("code", ("contains", "calls", "imports", "inherits"), max_depth=3),
        Lens("impact", ("calls:in", "inherits:in", "imports:in"), max_depth=3),
        Lens("implementations", ("inherits:in",), max_depth=3),
    )
}  # fmt: skip
"""The five lenses of the specification, then those of code: its surroundings, its dependents, its implementations."""

_KEYS = ("edges", "boost_tags", "include_fields", "max_depth")


def find_lens(name: str, own: Data, origin: str = "the settings") -> Lens:
    """Return a lens by name; one of the user hides a built-in one.

    `own` are the tables below `[lenses]`, `origin` is their file. Raises UsageError that lists all names, ConfigError
    for an impossible lens.
    """
    if name in own:
        return parse_lens(name, own[name], origin)
    if name in LENSES:
        return LENSES[name]
    raise UsageError(f"unknown lens {name!r}: choose from {', '.join(dict.fromkeys((*LENSES, *sorted(own))))}")


def parse_lens(name: str, table: Any, origin: str) -> Lens:
    """Return the lens that a table of the settings describes.

    Missing keys have the values of the built-in lens of that name, if any. Raises ConfigError that says what is wrong
    and what is allowed.
    """
    place = f"{origin}: lens {name!r}"
    _check_table(table, place)
    base = LENSES.get(name)
    if base is None and not table.get("edges"):
        raise ConfigError(f"{place} has no edges: list at least one of {', '.join(_edge_names())}")
    usual = base or Lens(name, ())
    edges = _texts(table, "edges", usual.edges, place)
    for edge in edges:
        _check_edge(edge, place)
    depth = table.get("max_depth", usual.max_depth)
    if not _is_depth(depth):
        raise ConfigError(
            f"{place}: max_depth is {depth!r}, but must be {vocabulary.MIN_DEPTH} to {vocabulary.MAX_DEPTH}"
        )
    tags = tuple(tag.lower().lstrip("#") for tag in _texts(table, "boost_tags", usual.boost_tags, place))
    fields = tuple(map(str.lower, _texts(table, "include_fields", usual.include_fields, place)))
    return Lens(name, edges, tags, fields, depth)


def _check_table(table: Any, place: str) -> None:
    if not isinstance(table, Mapping):
        raise ConfigError(f"{place} is {table!r}, but must be a table with {', '.join(_KEYS)}")
    for key in table:
        if key not in _KEYS:
            from difflib import get_close_matches  # here, because only errors need it

            near = get_close_matches(str(key), _KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(_KEYS)}"
            raise ConfigError(f"{place} has an unknown key {key!r}: {hint}")


def _is_depth(depth: object) -> TypeGuard[int]:
    return vocabulary.is_whole(depth) and vocabulary.MIN_DEPTH <= depth <= vocabulary.MAX_DEPTH


def _edge_names() -> list[str]:
    return [str(kind_name) for kind_name in EdgeType if kind_name in NOTE_EDGES | CODE_EDGES]


def _check_edge(edge: str, place: str) -> None:
    name, colon, side = edge.partition(":")
    if name not in _edge_names() or (colon and side not in list(Direction)):
        raise ConfigError(
            f"{place}: edge {edge!r} does not exist: choose from {', '.join(_edge_names())}, "
            "each alone or with `:in` or `:out`"
        )


def _texts(table: Data, key: str, usual: tuple[str, ...], place: str) -> tuple[str, ...]:
    value = table.get(key, usual)
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) and text.strip() for text in value):
        raise ConfigError(f"{place}: {key} is {value!r}, but must be a list of texts")
    return tuple(text.strip() for text in value)


FORMATS = (Format.MARKDOWN, Format.JSON)

MAX_QUERIES = 8
"""Most queries in one request; each needs a walk of its own."""


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """Topics or node ids to start from, and the options of walk, score and text. Build it with `make_graph_request`.

    `depth` is in steps. `workspace` is the name of the workspace as answers show it, `workspaces` those that are walked
    together. `now` is in seconds;
    `deadline_seconds` and `max_nodes` bound the walk. `session` and `ledger` are as in `AssembleRequest`.
    """

    queries: tuple[str, ...]
    lens: Lens
    depth: int
    max_tokens: int
    format: Format
    include_fields: bool
    tokenizer: str
    workspace: str
    now: float
    deadline_seconds: float
    max_nodes: int = 1_000  # twenty times what a usual budget shows
    session: str = ""
    ledger: str = ""
    workspaces: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """All queries as one line."""
        return " + ".join(self.queries)


class GraphOptions(TypedDict, total=False):
    """Options of a graph request, as `Satchel.graph` explains them."""

    depth: int
    lens: str
    max_tokens: int
    format: str
    include_fields: bool
    workspace: str | Sequence[str]
    tokenizer: str
    session: str
    now: vocabulary.Moment


def make_graph_request(
    query: str,
    blended: Sequence[str],
    settings: Settings,
    options: Data,
    *,
    lenses: Data,
    workspace: str,
    origin: str = "the settings",
) -> GraphRequest:
    """Return a checked request; defaults come from the settings. Raises UsageError with the possible values."""
    remaining = {name: value for name, value in options.items() if value is not None}
    workspaces = vocabulary.workspace_names(remaining.pop("workspace", ()))
    lens = find_lens(remaining.pop("lens", vocabulary.DEFAULT_LENS), lenses, origin)
    request = GraphRequest(
        queries=_queries([query, *blended], settings),
        lens=lens,
        depth=_depth(remaining.pop("depth", None), lens),
        max_tokens=check_budget(remaining.pop("max_tokens", settings.budget_max_tokens)),
        format=_format(remaining.pop("format", Format.MARKDOWN)),
        include_fields=bool(remaining.pop("include_fields", True)),
        tokenizer=counter(remaining.pop("tokenizer", settings.budget_tokenizer)).name,
        workspace=", ".join(workspaces) or workspace,
        workspaces=workspaces,
        now=check_now(remaining.pop("now", None)),
        deadline_seconds=settings.graph_deadline_s,
        session=check_session(remaining.pop("session", "")),
    )
    if remaining:
        raise UsageError(f"unknown option {', '.join(sorted(remaining))} of a graph context")
    return request


def _queries(queries: Sequence[str], settings: Settings) -> tuple[str, ...]:
    stripped = [vocabulary.checked_text("the query", query).strip() for query in queries]
    if not stripped[0]:
        raise UsageError("the query is empty: give a topic, or the id of a node")
    distinct = tuple(dict.fromkeys(filter(None, stripped)))
    if len(distinct) > MAX_QUERIES:
        raise UsageError(f"{len(distinct)} queries are blended: give at most {MAX_QUERIES}")
    return tuple(sanitize.text(query, settings.redact_allow) for query in distinct)


def _depth(depth: Any, lens: Lens) -> int:
    if depth is None:
        return min(vocabulary.DEFAULT_DEPTH, lens.max_depth)
    if not _is_depth(depth):
        raise UsageError(f"depth is {depth!r}: give {vocabulary.MIN_DEPTH} to {vocabulary.MAX_DEPTH} steps", "depth")
    return depth


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise UsageError(f"unknown format {str(name)!r} of a graph context: choose from {', '.join(FORMATS)}")
    return Format(name)
