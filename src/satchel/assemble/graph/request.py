"""What is asked of the graph context, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from satchel import outside
from satchel.assemble.graph.lenses import DEFAULT_LENS, LEAST_DEPTH, MOST_DEPTH, Lens, find_lens
from satchel.assemble.request import check_budget, check_session, start_of_day
from satchel.errors import UsageError
from satchel.settings import Settings
from satchel.tokens import counter
from satchel.types import Format

FORMATS = (Format.MARKDOWN, Format.JSON)

MOST_QUERIES = 8
"""Each is a walk of its own; whoever blends more topics than these wants another tool."""


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """Topics or node ids to start from, and how to walk, weigh and write. Build it with `make_graph_request`.

    `depth` is in steps. `workspace` is the name of what is asked, as answers show it. `now` is in seconds;
    `deadline_seconds`, `max_nodes` and `hub_nodes` bound the walk. `session` and `ledger` are as in `AssembleRequest`.
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
    max_nodes: int
    hub_nodes: int
    deadline_seconds: float
    session: str = ""
    ledger: str = ""

    @property
    def query(self) -> str:
        """All queries as one line."""
        return " + ".join(self.queries)


def make_graph_request(
    query: str,
    blended: Sequence[str],
    settings: Settings,
    options: Mapping[str, Any],
    *,
    lenses: Mapping[str, Any],
    workspace: str,
    origin: str = "the settings",
) -> GraphRequest:
    """A checked request; what no option says comes from the settings. Raises UsageError with the possible values."""
    given = {name: value for name, value in options.items() if value is not None}
    lens = find_lens(given.pop("lens", DEFAULT_LENS), lenses, origin)
    request = GraphRequest(
        queries=_queries([query, *blended], settings),
        lens=lens,
        depth=lens.depth(_depth(given.pop("depth", None))),
        max_tokens=check_budget(given.pop("max_tokens", settings.budget_max_tokens)),
        format=_format(given.pop("format", Format.MARKDOWN)),
        include_fields=bool(given.pop("include_fields", True)),
        tokenizer=counter(given.pop("tokenizer", settings.budget_tokenizer)).name,
        workspace=given.pop("workspace", workspace),
        now=given.pop("now", 0.0) or start_of_day(),
        max_nodes=settings.graph_max_nodes,
        hub_nodes=settings.graph_hub_nodes,
        deadline_seconds=settings.graph_deadline_s,
        session=check_session(given.pop("session", "")),
    )
    if given:
        raise UsageError(f"unknown option {', '.join(sorted(given))} of a graph context")
    return request


def _queries(queries: Sequence[str], settings: Settings) -> tuple[str, ...]:
    if not queries[0].strip():
        raise UsageError("the query is empty: give a topic, or the id of a node")
    asked = tuple(dict.fromkeys(one.strip() for one in queries if one.strip()))
    if len(asked) > MOST_QUERIES:
        raise UsageError(f"{len(asked)} queries are blended: give at most {MOST_QUERIES}")
    return tuple(outside.text(one, settings.redact_allow) for one in asked)


def _depth(depth: Any) -> int | None:
    if depth is None:
        return None
    if isinstance(depth, bool) or not isinstance(depth, int) or not LEAST_DEPTH <= depth <= MOST_DEPTH:
        raise UsageError(f"depth is {depth!r}: give {LEAST_DEPTH} to {MOST_DEPTH} steps", "depth")
    return depth


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise UsageError(f"unknown format {str(name)!r} of a graph context: choose from {', '.join(FORMATS)}")
    return Format(name)
