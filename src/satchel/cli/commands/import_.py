"""`satchel import`: bring back an export, or take over what other programs know."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.session import opened
from satchel.errors import UsageError
from satchel.vocabulary import ImportFormat, choices

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.learn.entries import ImportReport

STANDARD_INPUT = "-"
PARTLY_DONE = 3
PROBLEMS_SHOWN = 20
"""Broken lines that are named; the rest is a number, because a file of another kind has only such lines."""

TRANSCRIPTS = "~/.claude/projects"
"""Where Claude Code keeps its transcripts."""


@click.command("import", context_settings=HELP_OPTIONS)
@click.argument("sources", nargs=-1, metavar="[FILE|-]...")
@click.option(
    "--as",
    "form",
    type=click.Choice(choices(ImportFormat)),
    default=ImportFormat.SATCHEL.value,
    show_default=True,
    help="Who wrote it: satchel export, CALM or CLAMS (the journal of experiences), Claude Code (transcripts).",
)
@click.option("--here", is_flag=True, help="All of it belongs to this repository.")
@click.option("--everywhere", is_flag=True, help="All of it belongs to every folder.")
@json_option("what was imported")
@common_options
@pass_invocation
def command(
    invocation: Invocation, sources: Sequence[str], *, form: str, here: bool, everywhere: bool, as_json: bool
) -> int:
    """Import memories, experiences and conversations from JSON Lines.

    A line that cannot be used is named with its number, and all others are imported (exit code 3). What is here
    already is replaced only by a later state of it, so the same file can be imported again.

    Of Claude Code, a FILE may be a folder, by default ~/.claude/projects: what was said while working in this
    repository is taken from it.
    """
    if here and everywhere:
        raise UsageError("--here and --everywhere exclude each other: choose one")
    with opened(invocation) as satchel:
        if form == ImportFormat.CLAUDE_CODE:
            reports = _transcripts(satchel, sources, everywhere=everywhere)
        elif not sources:
            raise UsageError("there is nothing to import: name a FILE, or - for standard input")
        else:
            options = {"form": form, "here": here, "everywhere": everywhere}
            reports = {source: _imported(satchel, source, options) for source in sources}
    data = report_data(reports)
    if as_json:
        streams.write_json(data)
    else:
        _say(data, invocation.color)
    return PARTLY_DONE if data["problems"] else 0


def _transcripts(satchel: Satchel, sources: Sequence[str], *, everywhere: bool) -> dict[str, ImportReport]:
    paths = [source for source in sources if source != STANDARD_INPUT]
    options = {"form": ImportFormat.CLAUDE_CODE, "everywhere": everywhere}
    reports = {STANDARD_INPUT: _imported(satchel, STANDARD_INPUT, options)} if STANDARD_INPUT in sources else {}
    if paths or not sources:
        if everywhere:
            raise UsageError("--everywhere: conversations belong to a repository; leave it out")
        reports[""] = satchel.import_transcripts(paths or [TRANSCRIPTS])
    return reports


def _imported(satchel: Satchel, source: str, options: Mapping[str, Any]) -> ImportReport:
    if source == STANDARD_INPUT:
        if sys.stdin is None:
            raise UsageError("the lines should come from standard input (-), which is closed")
        return satchel.import_memory(sys.stdin.buffer, **options)
    with Path(source).open("rb") as file:
        return satchel.import_memory(file, **options)


def report_data(reports: Mapping[str, ImportReport]) -> dict[str, Any]:
    """Reports by source as plain JSON values; a problem names its source where there are several."""
    rows = reports.items()
    return {
        "added": sum(report.added for report in reports.values()),
        "updated": sum(report.updated for report in reports.values()),
        "unchanged": sum(report.unchanged for report in reports.values()),
        "problems": [
            {"source": source if len(reports) > 1 else "", "line": problem.line, "message": problem.message}
            for source, report in rows
            for problem in report.problems
        ],
        "passed_over": _passed_over(reports.values()),
    }


def _passed_over(reports: Iterable[ImportReport]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report.passed_over)
    return dict(sorted(counts.items()))


def _say(data: Mapping[str, Any], color: str) -> None:
    streams.say(f"imported: {data['added']} new, {data['updated']} updated, {data['unchanged']} unchanged", color=color)
    if data["passed_over"]:
        counts = ", ".join(f"{number} {reason}" for reason, number in data["passed_over"].items())
        streams.say(f"passed over: {counts}", color=color, dim=True)
    for problem in data["problems"][:PROBLEMS_SHOWN]:
        place = f"line {problem['line']}" if problem["line"] else "a file"
        streams.note(f"{problem['source']} {place}: {problem['message']}".lstrip(), color=color)
    more = len(data["problems"]) - PROBLEMS_SHOWN
    if more > 0:
        streams.note(f"and {more} more lines that cannot be used", color=color)
