"""The change above the items of an answer: its hunks with line numbers, who uses what changed, the tests to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.answer import weights
from satchel.answer.render.frame import counted
from satchel.answer.render.labels import GAP, quote
from satchel.safety.sanitize import plain_name
from satchel.sources.roles import is_secondary
from satchel.tokens import TokenCounter

if TYPE_CHECKING:
    from satchel.search.affected import AffectedCode, AffectedTest
    from satchel.sources.change import Change, ChangedFile

REST_TOKENS = 8
"""Tokens of a line that counts what has no room."""

TESTS_OF_FILE = 12
"""Tests of one file that are named; with more of them the file is named with their number."""


class ChangeText(Struct, frozen=True):
    """The text of a change: `hunks` are lines for one block, each with a mark of ours before it, `notes` lines."""

    hunks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def change_text(change: Change, affected: AffectedCode | None, counter: TokenCounter, max_tokens: int) -> ChangeText:
    """Return the hunks of a change, its users and its tests, each within its share of the budget."""
    if max_tokens < weights.MIN_NAMED:
        # The lines of a changed definition as they are now follow below; in little room they are not written twice.
        change = replace(change, files=tuple(map(_without_shown, change.files)))
        return ChangeText(hunk_lines(change, counter, max_tokens * weights.HUNKS_SHARE))
    hunks = hunk_lines(change, counter, max_tokens * weights.HUNKS_SHARE)
    if affected is None:
        return ChangeText(hunks)
    room = max_tokens * weights.CALL_LINES_SHARE
    tests = _fitted(test_lines(affected.tests), counter, room)
    return ChangeText(hunks, (*tests, *_fitted(_user_lines(affected), counter, room)))


def _without_shown(file: ChangedFile) -> ChangedFile:
    hunks = tuple(hunk._replace(added=()) for hunk in file.hunks if hunk.removed)
    return replace(file, hunks=hunks) if file.names else file


def hunk_lines(change: Change, counter: TokenCounter, room: float) -> tuple[str, ...]:
    """Return a line for each changed file, below it its changed lines as far as they fit, production code first.

    A changed line is `-12` or `+12`, a tab, and its text: `-` with its number before the change, `+` with that now. Of
    a file without room for all the rest is counted. Files without a line of their own are counted at the end.
    """
    files = sorted(change.files, key=lambda file: (is_secondary(file.path), file.path))
    heads = [*map(_head, files), *(f"{quote(path)}: {what}" for path, what in change.others)]
    heads += [f"{quote(path)}: changed, not examined" for path in change.unread]
    fitting: list[str] = []
    for head in heads:
        room -= counter.count(head) + 1
        if room < 0:
            break
        fitting.append(head)
    if not fitting:
        return ()
    shown = _shared([list(_changed_lines(file)) for file in files[: len(fitting)]], counter, room)
    lines: list[str] = []
    for number, head in enumerate(fitting):
        lines += [head, *(shown[number] if number < len(shown) else ())]
    left = len(heads) - len(fitting)
    return (*lines, *([f"and {counted(left, 'file')} more"] if left else ()))


def _head(file: ChangedFile) -> str:
    what = f"renamed from {quote(file.former)}" if file.former else file.status
    counts = [f"+{file.insertions}"] * bool(file.insertions) + [f"-{file.deletions}"] * bool(file.deletions)
    return f"{quote(file.path)}: {' '.join([what, *counts])}"


def _changed_lines(file: ChangedFile) -> Iterator[str]:
    for hunk in file.hunks:
        yield from (f"-{hunk.old + index}\t{line}" for index, line in enumerate(hunk.removed))
        yield from (f"+{hunk.new + index}\t{line}" for index, line in enumerate(hunk.added))


def _shared(files: Sequence[list[str]], counter: TokenCounter, room: float) -> list[list[str]]:
    """Return the lines of each file that fit: the smallest change first, what it does not need is for the others."""
    sizes = [[counter.count(line) + 1 for line in lines] for lines in files]
    shown: list[list[str]] = [[] for _ in files]
    order = sorted(range(len(files)), key=lambda number: (sum(sizes[number]), number))
    for index, number in enumerate(order):
        share = room / (len(order) - index)
        lines = files[number]
        if sum(sizes[number]) <= share:
            shown[number] = lines
            room -= sum(sizes[number])
            continue
        used: float = REST_TOKENS
        for line, size in zip(lines, sizes[number], strict=True):
            if used + size > share:
                break
            used += size
            shown[number].append(line)
        shown[number].append(f"{GAP} {counted(len(lines) - len(shown[number]), 'changed line')} more")
        room -= used
    return shown


def test_lines(tests: Sequence[AffectedTest]) -> list[str]:
    """Return a line with the number of tests, then one for each file, the surest and nearest first."""
    if not tests:
        return ["Tests to run: none found that reach this change"]
    possible = sum(test.is_possible for test in tests)
    told = f", {possible} of them only by name" if possible else ""
    files: dict[str, list[AffectedTest]] = {}
    for test in tests:
        files.setdefault(test.path, []).append(test)
    lines = [f"Tests to run: {len(tests)} in {counted(len(files), 'file')}{told}"]
    for path, tests_of_file in files.items():
        names = [plain_name(test.name) for test in tests_of_file if test.name]
        shown = f": {', '.join(map(quote, names[:TESTS_OF_FILE]))}" if names else ""
        more = f" and {len(names) - TESTS_OF_FILE} more" if len(names) > TESTS_OF_FILE else ""
        lines.append(f"- {quote(path)}{shown}{more}")
    return lines


def tests_alone(tests: Sequence[AffectedTest], counter: TokenCounter, max_tokens: int) -> str:
    """Return the tests to run, one per line; within the budget whole files instead of tests, the later ones first.

    No test is left out unless even the files have no room; then a last line counts them.
    """
    every = list(dict.fromkeys(plain_name(test.identity) for test in tests))
    paths = list(dict.fromkeys(test.path for test in tests))
    for whole in range(len(paths) + 1):
        as_files = set(paths[len(paths) - whole :])
        names = dict.fromkeys(plain_name(test.path if test.path in as_files else test.identity) for test in tests)
        text = "\n".join(names)
        if counter.count(text) <= max_tokens:
            return text
    kept = _fitted(list(dict.fromkeys(map(plain_name, paths))), counter, max_tokens - 10)
    return "\n".join(kept) if kept else f"{counted(len(every), 'test')}: no room"


def _user_lines(affected: AffectedCode) -> list[str]:
    """Return for each step a line with the number of uses, and one for each file."""
    lines: list[str] = []
    for step, users in groupby(sorted(affected.users, key=lambda user: user.step), key=lambda user: user.step):
        users_of_step = list(users)
        files: dict[str, list[str]] = {}
        for user in users_of_step:
            mark = " (possible)" if user.site.certainty < 1.0 else ""
            name = f" {quote(plain_name(user.site.name))}" if user.site.name else ""
            files.setdefault(user.site.path, []).append(f"{user.site.line}{name}{mark}")
        steps = "1 step" if step == 1 else f"{step} steps"
        lines.append(f"Used in {steps}: {len(users_of_step)} in {counted(len(files), 'file')}")
        for path, places in files.items():
            more = f" and {len(places) - TESTS_OF_FILE} more" if len(places) > TESTS_OF_FILE else ""
            lines.append(f"- {quote(path)}: {', '.join(places[:TESTS_OF_FILE])}{more}")
    return lines


def _fitted(lines: Sequence[str], counter: TokenCounter, room: float) -> tuple[str, ...]:
    """Return the first lines that fit; a last one counts the others."""
    kept: list[str] = []
    for index, line in enumerate(lines):
        size = counter.count(line) + 4  # as those of other lists: XML has more tokens a line
        if size + (REST_TOKENS if index + 1 < len(lines) else 0) > room:
            left = len(lines) - index
            return (*kept, f"and {left} more lines") if kept else ()
        room -= size
        kept.append(line)
    return tuple(kept)
