"""Tables on standard error, in plain columns, and `--explain`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from satchel.cli import streams
from satchel.safety.sanitize import clean_field
from satchel.types import Context, ContextItem, Omission, Signal

TITLE_CHARACTERS = 72

REASONS: Mapping[str, str] = {
    "best part": "one place matches well",
    "top three parts": "several places match",
    "whole file": "the file as a whole matches",
    "name": "its names match",
    "path mention": "the question names its path",
    "symbol mention": "the question names what it defines",
    "trace": "the stack trace leads here",
    "traced file": "the stack trace leads to this file",
    "history": "commits about this changed it",
    "calls": "tied by calls to what matches",
    "words": "its words match",
    "change": "the change concerns it",
}
"""Signal -> its meaning. Signals that only restate the rank are missing."""

BOOSTS = frozenset({"tier", "importance", "recency", "vectors", "no cause", "routine"})
"""Signals of a record beside the match: they are shown with their numbers, and are no reason of their own."""


_GAP = "  "


class Column(NamedTuple):
    """A heading; numbers are aligned right."""

    title: str
    is_number: bool = False


def show(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, title: str) -> None:
    """Write a table to standard error."""
    streams.say("\n".join([title, *plain_lines(columns, rows)]))


def plain_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return headings and rows in columns as wide as their widest cell; no line ends with blanks."""
    lines = [[column.title for column in columns], *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return [
        _GAP.join(
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]


def explain(context: Context) -> None:
    """Write both tables and the budget to standard error."""
    usage = context.usage
    if context.items:
        show(ITEM_COLUMNS, item_rows(context.items), title="What is in")
    if context.overflow:
        shown = sorted(context.overflow, key=lambda omission: (omission.budget, omission.id))[:12]
        hidden = len(context.overflow) - len(shown)
        title = "What stayed out, and the budget that would admit it" + (f" ({hidden} more)" if hidden else "")
        show(OMISSION_COLUMNS, omission_rows(shown), title=title)
    kind = "exact" if usage.exact else "an estimate"
    streams.say(f"{usage.used:,} of {usage.limit:,} tokens ({usage.utilization:.1%}) by {usage.tokenizer}, {kind}")


ITEM_COLUMNS = (
    Column("#", is_number=True),
    Column("item"),
    Column("detail"),
    Column("tokens", is_number=True),
    Column("relevance", is_number=True),
    Column("why"),
    Column("signals (value x weight)"),
    Column("handle"),
)
OMISSION_COLUMNS = (
    Column("item"),
    Column("relevance", is_number=True),
    Column("reason"),
    Column("budget", is_number=True),
    Column("handle"),
)


def item_rows(items: Sequence[ContextItem]) -> list[list[str]]:
    """Return one row an item, in the order of the answer."""
    return [
        [
            str(rank),
            item_place(item),
            item.detail.value,
            f"{item.tokens:,}",
            f"{item.relevance:.2f}",
            why(item.signals),
            ", ".join(f"{s.name} {s.value:g} x {s.weight:g}" for s in strongest(item.signals)),
            item.handle,
        ]
        for rank, item in enumerate(items, 1)
    ]


def omission_rows(omissions: Iterable[Omission]) -> list[list[str]]:
    """Return one row each, in the order given."""
    return [
        [omission_place(omission), f"{omission.relevance:.2f}", omission.reason, budget(omission), omission.handle]
        for omission in omissions
    ]


def budget(omission: Omission) -> str:
    """Return the approximate budget that includes it: `~1,801`, `-` if none does."""
    return f"~{omission.budget:,}" if omission.budget else "-"


def item_place(item: ContextItem) -> str:
    """`src/a.py:10-20,31-40` for a file, kind and title for a record."""
    if item.location is None:
        return f"{item.source} {clean_field(item.title, TITLE_CHARACTERS)}".rstrip()
    spans = ",".join(f"{start}-{end}" for start, end in item.spans)
    return clean_field(item.location.path) + (f":{spans}" if spans else "")


def omission_place(omission: Omission) -> str:
    """`src/a.py:10-20 C.m` for lines of a file, kind and title for a record."""
    title = clean_field(omission.title, TITLE_CHARACTERS)
    if not omission.path:
        return f"{omission.source} {title}".rstrip()
    place = f"{clean_field(omission.path)}:{omission.start}-{omission.end}" if omission.start else omission.path
    return place if title in {"", omission.path} else f"{place} {title}"


def strongest(signals: Sequence[Signal]) -> list[Signal]:
    """Return the strongest signals with a reason, largest contribution first, then the boosts of a record."""
    boosts = [signal for signal in signals if signal.name in BOOSTS]
    counted = [signal for signal in signals if signal.name in REASONS] or ([] if boosts else list(signals))
    counted.sort(key=lambda signal: (-signal.value * signal.weight, signal.name))
    # Signals shown per item, strongest first: the others change little and make the table unreadable.
    return [*counted[:3], *boosts]


def why(signals: Sequence[Signal]) -> str:
    """Return the two strongest reasons in words."""
    reasons = [signal for signal in signals if signal.name not in BOOSTS] or signals
    return ", ".join(dict.fromkeys(REASONS.get(signal.name, signal.name) for signal in strongest(reasons)[:2]))
