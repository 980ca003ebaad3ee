"""Options that say which records are meant: one for each filter of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from satchel.calls.record_filters import check_filters
from satchel.cli.moment import parse_moment
from satchel.vocabulary import ACTIVE, Axis, Domain, MemoryCategory, OutcomeStatus, Strategy

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = {
    "category": click.option("--category", metavar="C", help=f"Memories of one of {', '.join(MemoryCategory)}."),
    "min_importance": click.option(
        "--min-importance", type=float, metavar="0..1", help="Memories that matter at least so much."
    ),
    "domain": click.option("--domain", metavar="D", help=f"Experiences and values of one of {', '.join(Domain)}."),
    "strategy": click.option(
        "--strategy", metavar="S", help=f"Experiences and values with one of {', '.join(Strategy)}."
    ),
    "outcome": click.option(
        "--outcome", metavar="O", help=f"Experiences that are one of {', '.join([*OutcomeStatus, ACTIVE])}."
    ),
    "axis": click.option("--axis", metavar="A", help=f"One side of experiences and values: {', '.join(Axis)}."),
    "author": click.option("--author", metavar="NAME", help="Commits whose author's name has this in it."),
    "since": click.option(
        "--since", metavar="TIME", help="Records from then on: a date, a date with time, or epoch seconds."
    ),
    "until": click.option("--until", metavar="TIME", help="Records before then."),
    "tags": click.option("--tag", "tags", multiple=True, metavar="T", help="Records with this tag; may be repeated."),
}
FILTER_NAMES = tuple(_OPTIONS)
MEMORY_FILTERS = ("category", "min_importance", "tags", "since", "until")
"""Those that say something of memories."""


def filter_options(names: Iterable[str] = FILTER_NAMES) -> Callable[[Function], Function]:
    """The options of these filters; they arrive under the names of the filters, unset ones as None or ()."""

    def add(function: Function) -> Function:
        for name in reversed(list(names)):
            function = _OPTIONS[name](function)
        return function

    return add


def given_filters(options: Mapping[str, Any], types: Iterable[str] = ()) -> dict[str, Any]:
    """The filters that were set, as a search takes them.

    Raises UsageError for a time that is none, and for a filter that says nothing of any of the types asked for.
    """
    given = {name: value for name, value in options.items() if name in _OPTIONS and value not in (None, ())}
    for name in ("since", "until"):
        if name in given:
            given[name] = parse_moment(given[name], f"--{name}")
    check_filters(given, types, _option)
    return given


def _option(name: str) -> str:
    return "--tag" if name == "tags" else f"--{name.replace('_', '-')}"
