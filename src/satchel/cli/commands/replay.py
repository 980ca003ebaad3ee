"""`satchel replay`: a saved question asked again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.errors import UsageError

DIFFERS = 1

MOST_BYTES = 200_000_000
"""Of a saved answer: the largest budget there is gives less."""


@click.command("replay", context_settings=HELP_OPTIONS)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE|-")
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@json_option("the whole answer as it was saved")
@common_options
@pass_invocation
def command(invocation: Invocation, file: Path, *, refresh: bool, as_json: bool) -> int:
    """Ask a saved question again and name what differs.

    FILE is what `satchel context QUESTION --json` printed; a situation, a brief and a premortem are replayed as well.
    Prints the text of the answer, which is the same byte for byte unless something differs: the version, the index, a
    setting, a file. Ends with 1 if so.
    """
    saved, indent = read_saved(file)
    with Interrupt() as interrupt, opened(invocation) as satchel:
        if refresh and satchel.replays_tree(saved):
            refresh_first(satchel, interrupt, invocation.color)
        if interrupt.requested():
            return interrupt.exit_code
        replay = satchel.replay(saved, refresh=refresh)
        if as_json:
            from satchel.envelope import replayed_envelope

            streams.write_line(streams.json_text(replayed_envelope(replay.context, replay.request, saved), indent))
        else:
            streams.write_text(replay.context.text)
    for line in replay.differences:
        streams.note(f"differs: {line}", color=invocation.color)
    return DIFFERS if replay.differences else 0


def read_saved(file: Path) -> tuple[dict[str, Any], int | None]:
    """The object in a file, and how it is indented. Raises UsageError where there is none."""
    raw = sys.stdin.buffer.read(MOST_BYTES) if str(file) == "-" else _bytes(file)
    try:
        saved = json.loads(raw)
    except ValueError as error:
        raise UsageError(
            f"{file} is no JSON ({error}): save an answer with `satchel context QUESTION --json`"
        ) from None
    if not isinstance(saved, dict):
        raise UsageError(f"{file} holds no saved context: save one with `satchel context QUESTION --json`")
    return saved, 2 if raw.startswith(b"{\n") else None


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None
