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
    from satchel.index.report import IndexReport, VectorReport

PARTLY_DONE = 3


@click.command("index", context_settings=HELP_OPTIONS)
@click.argument("path", default=".")
@click.option("--vectors/--no-vectors", default=True, help="Give documents their vectors too (the default).")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@json_option("what was done")
@common_options
@pass_invocation
def command(invocation: Invocation, path: str, *, vectors: bool, quiet: bool, as_json: bool) -> int:
    """Bring the index of a folder up to date.

    PATH is any place in the folder to index; its root is the git work tree around it. Only what changed is read.
    Vectors come after the words, where something that makes them is installed or configured. Ctrl-C keeps what is
    done. Ends with 3 when files could not be read.
    """
    with Interrupt() as interrupt, opened(invocation, path, quiet=quiet) as satchel:
        with watch(quiet=quiet, color=invocation.color) as progress:
            report = satchel.index(progress=progress, should_stop=interrupt.requested)
            wants_vectors = vectors and not interrupt.requested()
            filled = satchel.embed(progress=progress, should_stop=interrupt.requested) if wants_vectors else None
        if as_json:
            streams.write_json({**report_data(report), "vectors": vector_data(filled)})
        elif not quiet:
            streams.say(summary(report) + vector_summary(filled))
        if not quiet:
            failures = (filled.failure,) if filled is not None and filled.failure is not None else ()
            for failure in (*report.notes, *failures):
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


def vector_data(filled: VectorReport | None) -> Mapping[str, Any] | None:
    """The vectors as JSON: how many are new, and `{"docs": "12/40"}`; None where none were asked for."""
    if filled is None:
        return None
    failure = filled.failure
    return {
        "made": filled.made,
        "kinds": {kind.plural: f"{done}/{total}" for kind, (done, total) in filled.counts.kinds.items()},
        "failure": None if failure is None else {"message": failure.message, "hint": failure.hint},
    }


def vector_summary(filled: VectorReport | None) -> str:
    """`; vectors 12 of 40`, empty where nothing makes vectors or all had theirs."""
    if filled is None or (not filled.made and filled.counts.is_complete):
        return ""
    return f"; vectors {filled.counts.done:,} of {filled.counts.total:,}"


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
