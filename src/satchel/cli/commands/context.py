"""Questions: `satchel context`, `search`, `graph`, `expand`, `why` and `replay`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from satchel.cli import streams
from satchel.cli.operation_command import operation_command
from satchel.cli.options import Invocation, strict_option
from satchel.cli.session import NOTHING_FOUND, ask, show, strict_code
from satchel.cli.tables import REASONS, explain
from satchel.errors import UsageError
from satchel.operations.ask import CONTEXT_QUERY, EXPAND, GRAPH_CONTEXT, HEAD, REPLAY, SEARCH, WHY
from satchel.safety.sanitize import clean_field

DIFFERS = 1

MOST_BYTES = 200_000_000
"""Bytes read of a saved answer: the largest budget gives less."""


@operation_command(
    CONTEXT_QUERY,
    "context",
    shows="the context with its items, signals, overflow and usage",
    positional={"question": "[QUESTION|-]"},
)
@click.option("--explain", "explained", is_flag=True, help="Say on standard error why each item is in or out.")
@strict_option
def context_command(invocation: Invocation, arguments: dict[str, Any], *, explained: bool, strict: bool) -> int:
    """Pack what matters for a question into a token budget.

    QUESTION may be an issue text, an error message or a stack trace; `-` reads it from standard input. With --diff
    [REV] the answer is what your changes since REV (HEAD by default) concern: callers, tests, commits.
    """
    revision = arguments.get("diff", "")
    if " " in revision.strip():  # revisions contain no blanks: this is the question, and the option has no value
        arguments |= {"diff": HEAD, "question": " ".join(filter(None, (revision, arguments.get("question"))))}
    if not {"question", "diff", "staged"} & arguments.keys():
        raise click.UsageError("Missing argument 'QUESTION|-'.")
    answered = ask(invocation, CONTEXT_QUERY, arguments)
    show(invocation, answered)
    if explained:
        explain(answered.subject, color=invocation.color)
    return strict_code(answered.envelope) if strict else 0


@operation_command(SEARCH, "search", shows="the matches with their signals", positional={"question": "QUESTION|-"})
def search_command(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """List the best matches for a question.

    QUESTION may be an issue text, an error message or a stack trace; `-` reads it from standard input. What a filter
    says nothing of (the category of a commit) it lets through.
    """
    show(invocation, ask(invocation, SEARCH, arguments))


@operation_command(
    GRAPH_CONTEXT,
    "graph",
    shows="the context with its nodes, signals, overflow and usage",
    positional={"query": "QUERY|ID|-"},
    without=("workspace",),
)
@strict_option
def graph_command(invocation: Invocation, arguments: dict[str, Any], *, strict: bool) -> int:
    """Walk from a topic or a node to what it is related to.

    QUERY is a topic, or the id of a node: a note, a file, a definition. What is near, relevant and new comes first.
    """
    if invocation.workspace:
        arguments["workspace"] = invocation.workspace
    answered = ask(invocation, GRAPH_CONTEXT, arguments)
    show(invocation, answered)
    return strict_code(answered.envelope) if strict else 0


@operation_command(
    EXPAND,
    "expand",
    shows="what was found, with the handles of what did not fit,",
    positional={"handles": "HANDLE..."},
)
def expand_command(invocation: Invocation, arguments: dict[str, Any]) -> int:
    """Show all of what a handle stands for.

    HANDLE is one of the 8-character names that `satchel context --json`, `--handles` or `--explain` gave. The text is
    that of the same revision: from the file if it still matches, else from git; otherwise a note says where it is now.
    Ends with 1 if nothing can be shown.
    """
    answered = ask(invocation, EXPAND, arguments)
    show(invocation, answered)
    return 0 if answered.envelope["items"] else NOTHING_FOUND


@operation_command(
    WHY,
    "why",
    shows="rank, signals and reason",
    positional={"target": "PATH|SYMBOL", "question": "QUESTION|-"},
)
def why_command(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Say how a file or a definition stands for a question, and why it is in or out.

    PATH|SYMBOL may also be the end of a path, a qualified name such as `Client.send`, or the hash of a commit.
    """
    answered = ask(invocation, WHY, arguments)
    if invocation.as_json:
        streams.write_json(answered.envelope)
        return
    streams.write("\n".join(f"{line}\n" for line in map(described, answered.envelope["standings"])))
    for failure in answered.subject:
        streams.failure(failure, color=invocation.color)


def described(row: Mapping[str, Any]) -> str:
    """Return lines about one result of `why`: its id, whether it is shown, its rank, and one line per signal."""
    noun = "files" if row["path"] else "records"
    lines = [clean_field(row["id"])]
    if row["is_shown"]:
        spans = ", ".join(f"{start}-{end}" for start, end in row["shown"])
        lines.append(f"  shown: lines {spans}" if spans else "  shown")
    else:
        lines.append(f"  not shown, {row['reason']}: {row['detail']}")
    if row["rank"]:
        place = f", {row['place']} of {row['documents']} places" if row["place"] and row["path"] else ""
        lines.append(f"  rank {row['rank']} of {row['of']} {noun} that match{place}; relevance {row['relevance']:.2f}")
    for signal in row["signals"]:
        meaning = f"  {REASONS[signal['name']]}" if signal["name"] in REASONS else ""
        lines.append(f"  {signal['name']:<16} {signal['value']:>8g} x {signal['weight']:g}{meaning}".rstrip())
    return "\n".join(lines)


@operation_command(REPLAY, "replay", shows="the whole answer as it was saved", without=("saved",))
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE|-")
def replay_command(invocation: Invocation, arguments: dict[str, Any], *, file: Path) -> int:
    """Ask a saved question again and name what differs.

    FILE is what `satchel context QUESTION --json` printed; a situation, a brief and a premortem are replayed as well.
    Prints the text of the answer, which is the same byte for byte unless something differs: the version, the index, a
    setting, a file. Ends with 1 if so.
    """
    saved, indent = read_saved(file)
    answered = ask(invocation, REPLAY, {**arguments, "saved": saved})
    if invocation.as_json:
        streams.write_line(streams.json_text(answered.envelope, indent))
    else:
        streams.write_text(answered.text)
    for note in answered.notes:
        streams.note(note, color=invocation.color)
    return DIFFERS if answered.notes else 0


def read_saved(file: Path) -> tuple[dict[str, Any], int | None]:
    """Return the object in a file and its indentation. Raises UsageError if there is none."""
    try:
        raw = sys.stdin.buffer.read(MOST_BYTES) if str(file) == "-" else _bytes(file)
        saved = json.loads(raw)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(
            f"{file} is no JSON ({error}): save an answer with `satchel context QUESTION --json`"
        ) from None
    if not isinstance(saved, dict):
        raise UsageError(f"{file} holds no saved context: save one with `satchel context QUESTION --json`")
    return saved, 2 if raw.startswith(b"{\n") else None


def _bytes(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(MOST_BYTES)
