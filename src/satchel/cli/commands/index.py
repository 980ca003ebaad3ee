"""`satchel index`: bring the index up to date and say what changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.progress import watch
from satchel.cli.session import opened

if TYPE_CHECKING:
    from satchel.index.report import IndexReport

PARTLY_DONE = 3


@click.command("index", context_settings=HELP_OPTIONS)
@click.argument("path", default=".")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@json_option("what was done")
@common_options
@pass_invocation
def command(invocation: Invocation, path: str, *, quiet: bool, as_json: bool) -> int:
    """Bring the index of a folder up to date.

    PATH is any place in the folder to index; its root is the git work tree around it. Only what changed is read.
    Ctrl-C keeps what is done. Ends with 3 when files could not be read.
    """
    with Interrupt() as interrupt, opened(invocation, path, quiet=quiet) as satchel:
        with watch(quiet=quiet, color=invocation.color) as progress:
            report = satchel.index(progress=progress, should_stop=interrupt.requested)
        if as_json:
            streams.write_json(report_data(report))
        elif not quiet:
            streams.say(summary(report))
        if not quiet:
            for failure in report.notes:
                streams.failure(failure, color=invocation.color)
    return interrupt.exit_code or (PARTLY_DONE if report.errors else 0)


def report_data(report: IndexReport) -> Mapping[str, Any]:
    """The report as JSON."""
    return {
        "files": report.files,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "commits_added": report.commits_added,
        "commits_hidden": report.commits_hidden,
        "skipped": dict(report.skipped),
        "errors": report.errors,
        "redacted": report.redacted,
        "cleaned": report.cleaned,
        "interrupted": report.interrupted,
        "notes": [{"source": n.source, "message": n.message, "hint": n.hint} for n in report.notes],
        "seconds": round(report.seconds, 3),
    }


def summary(report: IndexReport) -> str:
    """One line: `indexed 281 files in 2.31 s: 281 new, 5,950 commits; left out 12 (binary 8, huge 4)`."""
    changes = [
        f"{count:,} {what}"
        for count, what in (
            (report.added, "new"),
            (report.changed, "changed"),
            (report.removed, "removed"),
            (report.commits_added, "commits"),
        )
        if count
    ]
    if report.interrupted:
        return f"stopped after {report.seconds:.2f} s; kept: {', '.join(changes) or 'what was there'}"
    did = "indexed" if changes else "up to date:"
    line = f"{did} {report.files:,} files in {report.seconds:.2f} s" + (f": {', '.join(changes)}" if changes else "")
    if report.skipped:
        reasons = sorted(report.skipped.items(), key=lambda row: (-row[1], row[0]))
        listed = ", ".join(f"{reason} {count:,}" for reason, count in reasons)
        line += f"; left out {sum(report.skipped.values()):,} ({listed})"
    if report.redacted:
        line += f"; redacted {report.redacted:,} secrets"
    return line
