"""`satchel status`: what is indexed, how fresh it is, what was left out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from satchel.calls.state import status_data, vector_state
from satchel.clean import clean_field
from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.session import opened
from satchel.cli.sizes import age_text, size_text

if TYPE_CHECKING:
    from satchel.index.report import VectorReport
    from satchel.index.status import Freshness, Status

MOST_BROKEN = 3
"""Broken links named in the text; `--json` has more."""

HEAD_CHARACTERS = 10
"""Of a commit id: unique in any repository that a person works on."""


@click.command("status", context_settings=HELP_OPTIONS)
@json_option("the state")
@common_options
@pass_invocation
def command(invocation: Invocation, *, as_json: bool) -> int:
    """Show what is indexed, how fresh it is and what was left out.

    Looks at the tree, but reads no file and changes nothing.
    """
    with Interrupt() as interrupt, opened(invocation) as satchel:
        status = satchel.status(should_stop=interrupt.requested)
        trusted = satchel.trusted
        vectors, embedder = satchel.vectors.state(), satchel.embedder
        if interrupt.requested():
            return interrupt.exit_code
    if as_json:
        found = {"vectors": vector_state(vectors, embedder.id if embedder is not None else None), "trusted": trusted}
        streams.write_json(status_data(status) | found)
    else:
        meaning = vector_line(vectors, embedder.id if embedder is not None else None)
        streams.write_line("\n".join((*status_lines(status, time.time()), meaning, trust_line(trusted=trusted))))
    for failure in (*status.failures, *((vectors.failure,) if vectors.failure is not None else ())):
        streams.failure(failure, color=invocation.color)
    return 0


def status_lines(status: Status, now: float) -> list[str]:
    """The state as lines: a label, then the values, most first."""
    held = status.statistics
    rows = [
        ("root", str(status.root)),
        ("index", f"{status.index} (revision {status.revision})"),
        ("sizes", ", ".join(f"{name} {size_text(size)}" for name, size in status.sizes.items() if size)),
        ("fresh", freshness_text(status.freshness, now)),
        ("building", status.building),
        ("documents", _counts(held.documents)),
        ("files", _counts(held.languages)),
        ("edges", _counts(held.edges)),
        ("broken links", broken_text(status)),
        ("windows", _counts(held.windows)),
        ("out of sight", _counts(held.hidden)),
        ("left out", _counts(status.skipped)),
        ("removed", removed_text(held.redacted, held.cleaned)),
    ]
    return [f"{label:<13} {value}" for label, value in rows if value]


def broken_text(status: Status) -> str:
    """How many links of a vault lead to no note, and the first of them."""
    if not status.broken_links:
        return ""
    named = [f"{note} -> {clean_field(link)}" for note, link in status.broken_examples[:MOST_BROKEN]]
    more = ", ..." if status.broken_links > len(named) else ""
    return f"{status.broken_links:,}: {', '.join(named)}{more}"


def removed_text(redacted: int, cleaned: int) -> str:
    """What was taken out of texts before they were stored, empty if nothing was."""
    found = (("secrets", redacted), ("hidden characters", cleaned))
    return ", ".join(f"{name} {count:,}" for name, count in found if count)


def vector_line(vectors: VectorReport, embedder: str | None) -> str:
    """`vectors  docs 12 of 40, memories 3 of 3, by all-MiniLM-L6-v2-int8@1; `satchel index` makes the rest`."""
    if embedder is None:
        return f"{'vectors':<13} none: words alone answer, `satchel doctor` says why"
    counts = vectors.counts
    rows = [f"{kind.plural} {done:,} of {total:,}" for kind, (done, total) in counts.kinds.items()]
    rest = "" if counts.is_complete else "; `satchel index` makes the rest"
    return f"{'vectors':<13} {', '.join(rows) or 'nothing to embed yet'}, by {clean_field(embedder)}{rest}"


def trust_line(*, trusted: bool) -> str:
    """Whether instruction files of this root guide agents."""
    says = "instruction files are guidance" if trusted else "no: instruction files are data, `satchel trust` changes it"
    return f"{'trusted':<13} {says}"


def freshness_text(fresh: Freshness, now: float) -> str:
    """Whether the index is up to date, and what has happened since."""
    if fresh.checked is None:
        return "never indexed: the first question does it, or `satchel index`"
    ago = f"checked {age_text(now - fresh.checked)} ago"
    changes = [
        f"{count:,} {what}"
        for count, what in ((fresh.new, "new"), (fresh.changed, "changed"), (fresh.gone, "gone"))
        if count
    ]
    if fresh.head != fresh.indexed_head:
        was, now_at = (head[:HEAD_CHARACTERS] or "none" for head in (fresh.indexed_head, fresh.head))
        changes.append(f"HEAD moved from {was} to {now_at}")
    if changes:
        return f"{ago}; since then: {', '.join(changes)}"
    at = f", HEAD is {fresh.head[:HEAD_CHARACTERS]}" if fresh.head else ""
    return f"up to date, {ago}{at}"


def _counts(counts: Mapping[Any, int]) -> str:
    ordered = sorted(counts.items(), key=lambda row: (-row[1], str(row[0])))
    return ", ".join(f"{name} {count:,}" for name, count in ordered if count)
