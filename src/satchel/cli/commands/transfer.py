"""What is remembered as files: `satchel export` and `import`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command
from satchel.cli.session import PARTLY_DONE, opened
from satchel.cli.streams import STANDARD_INPUT
from satchel.errors import UsageError
from satchel.system import state_files
from satchel.vocabulary import COLUMNS, LINE_FORMATS, ImportFormat, choices

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.memory.model import ImportReport

STANDARD_OUTPUT = "-"


@command("export")
@click.argument("target", metavar="[FILE|-]", default=STANDARD_OUTPUT)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@click.option(
    "--as", "form", type=click.Choice([str(ImportFormat.SATCHEL), str(ImportFormat.MEM0), str(ImportFormat.CSV)]),
    default=str(ImportFormat.SATCHEL), show_default=True,
    help="The program that reads it: satchel, mem0 (JSON), or a spreadsheet (CSV).",
)  # fmt: skip
def export_command(invocation: Invocation, target: str, *, force: bool, form: str) -> int:
    """Write everything that is remembered as JSON Lines.

    Memories, experiences, values and conversations of all repositories, replaced and active ones too: enough to bring
    everything back with `satchel import`. FILE is written completely or not at all. For other programs, only memories
    of this repository and those for every repository are written.
    """
    path = Path(target)
    if target != STANDARD_OUTPUT and path.exists() and not force:
        raise UsageError(f"{target} exists: name another file, or overwrite it with --force")
    with opened(invocation) as satchel:
        is_own = form == ImportFormat.SATCHEL
        lines = list(satchel.export_memory()) if is_own else []
        text = "".join(f"{line}\n" for line in lines) if is_own else satchel.memory.export_memories(form)
    if target == STANDARD_OUTPUT:
        streams.write(text)
        return 0
    state_files.replace(path, text.encode())
    count = len(lines) - 1
    written = f"{count:,} record{'' if count == 1 else 's'} to {target}" if lines else target
    streams.say(f"wrote {written}", color=invocation.color)
    return 0


PROBLEMS_SHOWN = 20
"""Most broken lines that are named; the rest are counted, because a file of another format has only such lines."""

TRANSCRIPTS = "~/.claude/projects"
"""Where Claude Code keeps its transcripts."""


@command("import", shows="what was imported")
@click.argument("sources", nargs=-1, metavar="[FILE|-]...")
@click.option(
    "--as", "form", type=click.Choice(choices(ImportFormat)), default=str(ImportFormat.SATCHEL), show_default=True,
    help="The program that wrote it: satchel export, CALM or CLAMS (the journal of experiences), Claude Code "
    "(transcripts), or another one.",
)  # fmt: skip
@click.option("--map", "mapped", multiple=True, metavar="FIELD=COLUMN", help="Column of a field in a CSV file.")
@click.option("--here", is_flag=True, help="All of it belongs to this repository.")
@click.option("--everywhere", is_flag=True, help="All of it belongs to every folder.")
def import_command(
    invocation: Invocation, sources: Sequence[str], *, form: str, mapped: Sequence[str], here: bool, everywhere: bool
) -> int:
    """Import memories, experiences and conversations from JSON Lines.

    A line that cannot be used is named with its number, and all others are imported (exit code 3). What is here
    already is replaced only by a newer version, so the same file can be imported again.

    For Claude Code, FILE may be a folder, by default ~/.claude/projects: conversations that took place in this
    repository are imported.

    Other programs: memories of mem0 (JSON), facts of Graphiti or Zep (JSON), blocks of a Letta agent file, the database
    of claude-mem, conversations.json of ChatGPT, chats that Cursor exported, and CSV (--map content=Note). All records
    of the file are imported. They belong to this repository, unless --everywhere is given.
    """
    if here and everywhere:
        raise UsageError("--here and --everywhere exclude each other: choose one")
    with opened(invocation) as satchel:
        if form == ImportFormat.CLAUDE_CODE:
            reports = _transcripts(satchel, sources, everywhere=everywhere)
        elif not sources:
            raise UsageError("there is nothing to import: name a FILE, or - for standard input")
        else:
            options = {"form": form, "here": here, "everywhere": everywhere, "columns": _columns(mapped)}
            reports = {source: _imported(satchel, source, options) for source in sources}
    data = _import_data(reports)
    if invocation.as_json:
        streams.write_json(data)
    else:
        _say(data, invocation.color)
    return PARTLY_DONE if data["problems"] else 0


def _columns(mapped: Sequence[str]) -> dict[str, str]:
    """Return the columns of a CSV file by field. Raises UsageError."""
    pairs = {pair.partition("=")[0].strip(): pair.partition("=")[2] for pair in mapped}
    for field, column in pairs.items():
        if field not in COLUMNS or not column.strip():
            raise UsageError(f"--map {field}={column}: write FIELD=COLUMN, with a field of {', '.join(COLUMNS)}")
    return pairs


def _transcripts(satchel: Satchel, sources: Sequence[str], *, everywhere: bool) -> dict[str, ImportReport]:
    paths = [source for source in sources if source != STANDARD_INPUT]
    options = {"form": ImportFormat.CLAUDE_CODE, "everywhere": everywhere}
    reports = {STANDARD_INPUT: _imported(satchel, STANDARD_INPUT, options)} if STANDARD_INPUT in sources else {}
    if paths or not sources:
        if everywhere:
            raise UsageError("--everywhere: conversations belong to a repository; leave it out")
        reports[""] = satchel.memory.import_transcripts(paths or [TRANSCRIPTS])
    return reports


LONGEST_FOREIGN = 1 << 30
"""Bytes of the largest file of another program: it may be one line of JSON, which is read as a whole."""


def _imported(satchel: Satchel, source: str, options: Mapping[str, Any]) -> ImportReport:
    is_whole = options["form"] not in LINE_FORMATS
    longest, most = (
        (LONGEST_FOREIGN, LONGEST_FOREIGN) if is_whole else (streams.LONGEST_LINE, streams.MAX_IMPORTED_BYTES)
    )
    if source == STANDARD_INPUT:
        if sys.stdin is None:
            raise UsageError("the lines should come from standard input (-), which is closed")
        return satchel.import_memory(streams.lines_of(sys.stdin.buffer, "the input", longest, most), **options)
    if Path(source).is_char_device() or Path(source).is_block_device():
        raise UsageError(f"{source} is a device: give a file, or - for standard input")
    if Path(source).is_fifo():
        return satchel.import_memory(streams.lines_of_pipe(source, longest=longest, most=most), **options)
    with Path(source).open("rb") as file:
        return satchel.import_memory(streams.lines_of(file, source, longest, most), **options)


def _import_data(reports: Mapping[str, ImportReport]) -> dict[str, Any]:
    """Return the reports by source as plain JSON values; a problem names its source if there are several."""
    counts: Counter[str] = Counter()
    for report in reports.values():
        counts.update(report.passed_over)
    problems = [
        {"source": source if len(reports) > 1 else "", "line": problem.line, "message": problem.message}
        for source, report in reports.items()
        for problem in report.problems
    ]
    sums = {
        name: sum(getattr(report, name) for report in reports.values()) for name in ("added", "updated", "unchanged")
    }
    return {**sums, "problems": problems, "passed_over": dict(sorted(counts.items()))}


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
