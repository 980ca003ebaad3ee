"""A small world with something of several kinds, and what was wrong with the answers of a session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from satchel import Satchel
from satchel.tokens import counter
from satchel.types import Context, ContextItem, Detail
from tests.contracts.five import ATTEMPTS, repository
from tests.memory.samples import STARTED
from tests.rendered import parse_references

QUESTIONS = (
    "return the connection to the exhausted pool",
    "convert UTC times after midnight in the report",
    "invalidate the stale cache price",
    "raise the limit of the pool",
    "which price is in the cache",
    "the day that a report shows",
)

STALE = """A stale price may stay in the cache for one second, not longer
and the report never reads it: it asks the shop itself, because a day is closed only once and nobody would look at its
sum a second time"""

GUIDE = """# Guide

## Pool

A connection of the pool is given back when the work is done, also after an error, because an exhausted pool waits.

## Report

Times of the report are converted from UTC before the day is taken, or midnight moves it.
"""


def opened(folder: Path) -> Satchel:
    """The engine for a repository of three files, a guide and four commits, with memories and experiences."""
    made = repository(folder / "shop")
    made.commit("Write the guide", {"docs/guide.md": GUIDE})
    engine = Satchel.open(made.root, environ={"SATCHEL_HOME": str(folder / "home")})
    engine.index()
    for text in (
        "The connection pool holds nine connections and is exhausted above that",
        "Report times are stored in UTC, so the day is wrong until they are converted after midnight",
        STALE,
    ):
        engine.memories.add(text, category="fact", importance=0.8)
    for goal, belief, deed in ATTEMPTS:
        engine.experiences.start(**(STARTED | {"goal": goal, "hypothesis": belief, "action": deed}))
        engine.experiences.resolve(status="confirmed", result=f"{deed} was enough")
    return engine


@dataclass(slots=True)
class Seen:
    """What a session has been shown: lines of files as they read, and the texts of records."""

    lines: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    said: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    records: dict[str, str] = field(default_factory=dict)
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    whole: set[str] = field(default_factory=set)

    def faults(self, context: Context) -> Iterator[str]:
        """What is wrong with the next answer, which counts as seen afterwards."""
        if context.usage.used != counter(context.usage.tokenizer).count(context.text):
            yield "the count is wrong"
        if context.usage.used > context.usage.limit:
            yield f"{context.usage.used} tokens are over {context.usage.limit}"
        yield from self._references(context)
        for item in context.items:
            yield from self._lines(item) if item.spans else self._record(item)

    def move(self, path: str, by: int) -> None:
        """Lines were put in front of a file: what was shown of it in ranges of several lines stands elsewhere now."""
        self.spans[path] = [(start + by, end + by) for start, end in self.spans[path]]
        known = self.lines[path]
        kept = {number for start, end in self.spans[path] if end - start >= 2 for number in range(start, end + 1)}
        self.lines[path] = {number: known[number - by] for number in kept if number - by in known}

    def _lines(self, item: ContextItem) -> Iterator[str]:
        self.spans[item.title] += [(piece.start, piece.end) for piece in item.pieces]
        for piece in item.pieces:
            for number, line in enumerate(piece.text.split("\n"), piece.start):
                if line.strip() and self.lines[item.title].get(number) == line:
                    yield f"{item.title}:{number} is shown twice"
                self.lines[item.title][number] = line
                self.said[item.title].add(line)

    def _record(self, item: ContextItem) -> Iterator[str]:
        if item.id in self.whole and self.records[item.id] == item.content:
            yield f"{item.id} is shown twice"
        if len(item.content) < len(self.records.get(item.id, "")):
            yield f"{item.id} is shown again, and less of it"
        self.records[item.id] = item.content
        if item.detail is Detail.FULL:
            self.whole.add(item.id)

    def _references(self, context: Context) -> Iterator[str]:
        for one in context.shown_before:
            if not one.path and one.id not in self.records:
                yield f"{one.id} was never shown"
            if one.path and not one.spans:
                yield f"{one.path} is named without lines"
        named = parse_references(context.text, context.format)
        listed = context.shown_before[: len(named)]
        if [(one.path, one.ranges, one.title, one.handle) for one in named] != [
            (one.path, one.spans, "" if one.path else one.title, one.handle) for one in listed
        ]:
            yield "the references read back otherwise"

    def unread(self, context: Context, root: Path) -> Iterator[str]:
        """Lines that are named as shown before, and were not."""
        for one in context.shown_before:
            if one.path:
                lines = (root / one.path).read_text().split("\n")
                for start, end in one.spans:
                    for line in lines[start - 1 : end]:
                        if line.strip() and line not in self.said[one.path]:
                            yield f"{one.path}: {line!r} was never shown"
