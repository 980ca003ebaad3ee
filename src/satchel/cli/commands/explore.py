"""State: `satchel history`, `status`, `doctor` and `eval`."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command, operation_command
from satchel.cli.session import NOTHING_FOUND, Interrupt, Watch, ask, asking, label_styles, opened, report
from satchel.cli.streams import age_text, counts_text, day, size_text, table
from satchel.errors import NoIndexError, UsageError
from satchel.operations.json import CHECK, NOTICE
from satchel.operations.registry import HISTORY, STATS, STATUS
from satchel.safety.sanitize import clean_field, inert, plain_name
from satchel.system.locations import as_listed
from satchel.types import Failure
from satchel.vocabulary import parse_moment

if TYPE_CHECKING:
    from satchel.doctor import Check
    from satchel.evaluation.run import EvaluationResult
    from satchel.index.build import IndexFreshness, Status
    from satchel.index.run import VectorReport
    from satchel.search.changes import Author, FileChurn, FileHistory
    from satchel.services.stats import DeliveredLesson, DeliveryStats


@operation_command(HISTORY, "history", shows="the rows", positional={"path": "[PATH]"})
def history_command(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Show the commits that touched a file, which files change most, or who changed them.

    PATH is a file or a folder, even a deleted one; by default everything counts. The index has the commits that HEAD
    reaches, without merges (those with changes of their own are added for a PATH); files that moved unchanged have
    their present names. With --churn (90 days by default) write PATH first, or `--` before it.
    """
    checked = HISTORY.checked(arguments)
    with asking(invocation) as (satchel, terminal):
        checked["path"] = below_root(checked.get("path", ""), satchel.places.root, invocation.folder or Path.cwd())
        answered = HISTORY.run(satchel, checked, terminal)
    write = churn_lines if "churn" in checked else author_lines if checked.get("authors") else history_lines
    failures = [Failure(**row) for row in answered.envelope["failures"]]
    nothing = "no commit of that time and place is indexed"
    report(invocation, answered.envelope, write(answered.subject), nothing=nothing, failures=failures)


def below_root(path: str, root: Path, folder: Path) -> str:
    """Return a path below the root; a path that exists in the current folder is relative to that folder."""
    here = as_listed(Path(os.path.normpath(folder / path)))
    if path and os.path.lexists(here) and here.is_relative_to(root):
        return here.relative_to(root).as_posix()
    return path


def history_lines(history: FileHistory) -> list[str]:
    """`1a2b3c4  2024-05-01  Ada  Wait between attempts`, newest first; then what else there is to know."""
    lines = [
        f"{change.sha[:7]}  {day(change.time)}  {inert(plain_name(change.author))}  {inert(change.subject)}"
        for change in history.changes
    ]
    if lines:
        lines.insert(0, NOTICE)
    if history.total > len(history.changes):
        lines.append(f"{history.total - len(history.changes):,} more: raise --limit to see them")
    if history.former:
        lines.append(f"before it moved: {', '.join(history.former)}")
    return lines


def churn_lines(rows: list[FileChurn]) -> list[str]:
    """Return one file a line, most commits first."""
    cells = [[inert(row.path), f"{row.commits:,}", f"{row.authors:,}", day(row.last)] for row in rows]
    return table(("file", ">commits", ">authors", "last"), cells) if cells else []


def author_lines(rows: list[Author]) -> list[str]:
    """Return one person a line, most commits first."""
    cells = [[inert(plain_name(row.name)), f"{row.commits:,}", day(row.first), day(row.last)] for row in rows]
    return table(("author", ">commits", "first", "last"), cells) if cells else []


HEAD_CHARACTERS = 10
"""Characters of a commit id: unique in any usual repository."""


@operation_command(STATUS, "status", shows="the state")
def status_command(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Show what is indexed, how fresh it is and what was left out.

    Looks at the folder, but reads no file and changes nothing.
    """
    answered = ask(invocation, STATUS, arguments)
    status, vectors = answered.subject
    meaning = vector_line(vectors, answered.envelope["vectors"]["embedder"])
    trust = trust_line(trusted=answered.envelope["trusted"])
    lines = (*status_lines(status, time.time()), meaning, trust)
    report(invocation, answered.envelope, lines, styles=label_styles)
    for failure in (*status.failures, *((vectors.failure,) if vectors.failure is not None else ())):
        streams.failure(failure, color=invocation.color)


@operation_command(STATS, "stats", shows="the figures")
def stats_command(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Show what agents received: tokens, lessons, and what came too late.

    Reads the log of the hooks, and which lines sessions received: by hooks, over MCP, or with --session. Beside
    their tokens are those of the same files, each read whole once per session. That is not a saving: an agent may
    have read less of them, or all of them anyway.
    """
    answered = ask(invocation, STATS, arguments)
    report(invocation, answered.envelope, stats_lines(answered.subject), styles=label_styles)


_LATE_HINT = "; while `satchel mcp` or `satchel serve` runs here, hooks answer faster"


def stats_lines(stats: DeliveryStats) -> list[str]:
    """Return the figures as lines of a label and values, then a line for each lesson, the most frequent first."""
    read, tokens = stats.read, sum(stats.tokens.values())
    share = f", of which {read.shown_tokens / read.whole_tokens:.0%} was shown" if read.whole_tokens else ""
    gone = f"; {read.gone:,} more are gone" if read.gone else ""
    distinct, times = len({lesson.id for lesson in stats.lessons}), len(stats.lessons)
    often = f"{times:,} {'time' if times == 1 else 'times'} (--json has each with its session)"
    lessons = f"{distinct:,}, delivered {often}" if times else "none"
    rows = [
        ("days", f"the last {stats.days:,}"),
        ("hooks", f"{sum(stats.events.values()):,} events: {_counts(stats.events)}" if stats.events else "no events"),
        ("delivered", f"{tokens:,} tokens by hooks: {_counts(stats.tokens)}" if tokens else "nothing by hooks"),
        ("lines shown", f"{read.shown_tokens:,} tokens in {read.files:,} files of {read.sessions:,} sessions{gone}"),
        ("files whole", f"{read.whole_tokens:,} tokens, each once per session{share}" if read.files else ""),
        ("not in time", f"{stats.late:,} events, in any folder{_LATE_HINT}" if stats.late else ""),
        ("lessons", lessons),
    ]
    return [*(f"{label:<13} {value}" for label, value in rows if value), *_lesson_lines(stats.lessons)]


def _lesson_lines(lessons: Sequence[DeliveredLesson]) -> Iterator[str]:
    """Yield a line for each lesson that was delivered: how often, when last, at which events, and its title."""
    every: dict[str, list[DeliveredLesson]] = defaultdict(list)
    for lesson in lessons:
        every[lesson.id].append(lesson)
    for own in sorted(every.values(), key=lambda own: (-len(own), own[-1].id)):
        times = "time" if len(own) == 1 else "times"
        events = _counts(Counter(lesson.event for lesson in own))
        yield f"  {len(own):>4} {times}, last {own[-1].at} ({events})  {own[-1].title or own[-1].id}"


def status_lines(status: Status, now: float) -> list[str]:
    """Return the state as lines of a label and values, largest first."""
    statistics = status.statistics
    rows = [
        ("root", str(status.root)),
        ("index", f"{status.index} (revision {status.revision})"),
        ("sizes", ", ".join(f"{name} {size_text(size)}" for name, size in status.sizes.items() if size)),
        ("fresh", freshness_text(status.freshness, now)),
        ("building", status.building),
        ("chunks", _counts(statistics.chunks)),
        ("files", _counts(statistics.languages)),
        ("edges", _counts(statistics.edges)),
        ("broken links", broken_text(status)),
        ("spans", _counts(statistics.spans)),
        ("out of sight", _counts(statistics.hidden)),
        ("left out", _counts(status.skipped)),
        ("removed", removed_text(statistics.redacted, statistics.cleaned)),
    ]
    return [f"{label:<13} {value}" for label, value in rows if value]


def broken_text(status: Status) -> str:
    """Return the number of links without a note, and the first of them."""
    if not status.broken_links:
        return ""
    # Most broken links named in the text; `--json` has more.
    named = [f"{note} -> {clean_field(link)}" for note, link in status.broken_examples[:3]]
    more = ", ..." if status.broken_links > len(named) else ""
    return f"{status.broken_links:,}: {', '.join(named)}{more}"


def removed_text(redacted: int, cleaned: int) -> str:
    """Return what was removed from texts before storing them, or an empty text."""
    counts = (("secrets", redacted), ("hidden characters", cleaned))
    return ", ".join(f"{name} {count:,}" for name, count in counts if count)


def vector_line(vectors: VectorReport, embedder: str | None) -> str:
    """`vectors  docs 12 of 40, memories 3 of 3, by all-MiniLM-L6-v2-int8@1; `satchel index` makes the rest`."""
    if embedder is None:
        return f"{'vectors':<13} none: keyword search only, `satchel doctor` says why"
    counts = vectors.counts
    rows = [f"{kind.plural} {done:,} of {total:,}" for kind, (done, total) in counts.kinds.items()]
    rest = "" if counts.is_complete else "; `satchel index` makes the rest"
    return f"{'vectors':<13} {', '.join(rows) or 'nothing to embed yet'}, by {clean_field(embedder)}{rest}"


def trust_line(*, trusted: bool) -> str:
    """Return whether instruction files of this root guide agents."""
    says = "instruction files are guidance" if trusted else "no: instruction files are data, `satchel trust` changes it"
    return f"{'trusted':<13} {says}"


def freshness_text(fresh: IndexFreshness, now: float) -> str:
    """Return whether the index is up to date, and the changes since."""
    if fresh.checked is None:
        return "never indexed: the first question or `satchel index` does that"
    ago = f"checked {age_text(now - fresh.checked)} ago"
    moved = ""
    if fresh.head != fresh.indexed_head:
        was, now_at = (head[:HEAD_CHARACTERS] or "none" for head in (fresh.indexed_head, fresh.head))
        moved = f"HEAD moved from {was} to {now_at}" if fresh.indexed_head else "the history is not in the index yet"
    changes = [counts_text((("new", fresh.new), ("changed", fresh.changed), ("gone", fresh.gone))), moved]
    if any(changes):
        return f"{ago}; since then: {', '.join(filter(None, changes))}"
    at = f", HEAD is {fresh.head[:HEAD_CHARACTERS]}" if fresh.head else ""
    return f"up to date, {ago}{at}"


def _counts(counts: Mapping[Any, int]) -> str:
    ordered = sorted(counts.items(), key=lambda row: (-row[1], str(row[0])))
    return ", ".join(f"{name} {count:,}" for name, count in ordered if count)


COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@command("doctor", shows="the checks")
@click.option("--fix", is_flag=True, help="Repair what can be repaired safely: modes of folders, a damaged index.")
def doctor_command(invocation: Invocation, *, fix: bool) -> int:
    """Check that everything satchel needs works, and fix what can be fixed safely.

    Without --fix it changes nothing. Exits with status 1 if a check fails; after a warning, answers are still right.
    """
    from satchel.doctor import examine, examined

    for check in examine(Path(), invocation.root) if fix else ():
        if check.repair is not None:
            check.repair()
            streams.say(f"repaired {check.name}: {check.message}", color=invocation.color)
    checks = []
    for check in chain(examine(Path(), invocation.root), examined("clients", lambda: client_check(invocation))):
        checks.append(check)
        if not invocation.as_json:
            streams.write_line(check_text(check, colored=streams.wants_color(sys.stdout, invocation.color)))
    if invocation.as_json:
        streams.write_json({"checks": [CHECK.data(check) for check in checks]})
    return int(any(check.outcome == "fail" for check in checks))


def client_check(invocation: Invocation) -> Check:
    """Report which clients are installed, and in which of them satchel is set up; an unsafe entry is a failure."""
    from satchel.cli.commands.connect import places_of
    from satchel.clients.edits import display
    from satchel.clients.setup import is_set_up, unguarded
    from satchel.clients.targets import installed
    from satchel.doctor import fail, ok
    from satchel.system.locations import find_root

    try:
        find_root(Path(), invocation.root)
    except NoIndexError:
        places = places_of(invocation, needs_root=False)
    else:
        places = places_of(invocation, needs_root=True)
    if entries := unguarded(places):
        files = ", ".join(sorted({display(file) for _, file in entries}))
        clients = " and ".join(sorted({f"`satchel setup {client}`" for client, _ in entries}))
        return fail(
            "clients",
            f"{files}: Python without -P runs a satchel.py of the folder that the client opens",
            f"run {clients} again, with the scope and the hooks of before, or write -P before -m",
        )
    shown = [
        f"{client} ({'set up' if is_set_up(client, places) else f'not set up: satchel setup {client}'})"
        for client in installed(places)
    ]
    return ok("clients", ", ".join(shown) or "none is installed here")


def check_text(check: Check, *, colored: bool = False) -> str:
    """`ok    python: Python 3.12.1`; the fix is on its own line."""
    label = f"{check.outcome.value:<5}"
    if colored:
        label = click.style(label, fg=COLORS[check.outcome.value], bold=check.outcome.value == "fail")
    line = f"{label} {check.name}: {check.message}"
    return f"{line}\n      fix: {check.fix}" if check.fix else line


@command("eval", shows="the measures and the fixes")
@click.option("-n", "--limit", type=int, default=100, show_default=True, metavar="N", help="At most this many fixes.")
@click.option("--max-tokens", type=int, metavar="N", help="The budget of each answer; by default that of the settings.")
@click.option("--since", metavar="TIME", help="Only fixes since then: a date, a date with time, or epoch seconds.")
@click.option("--fresh", is_flag=True, help="Ask again instead of using the answers of earlier runs.")
@click.option(
    "--questions",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help='Your questions in place of fixes: {"question": "...", "files": ["src/a.py:10-20"]} on each line.',
)
@click.option("--against", multiple=True, metavar="KEY=VALUE", help="Measure again with this setting, and compare.")
def eval_command(
    invocation: Invocation,
    /,
    *,
    limit: int,
    max_tokens: int | None,
    since: str | None,
    fresh: bool,
    questions: Path | None,
    against: Sequence[str],
) -> int:
    """Measure satchel on the fixes of this repository's own history.

    The message of each small fix is asked at the state before it, and the lines that it changed are the right answer.
    Work tree, index and memories are not touched, and nothing leaves this machine. Answers are kept, so a second run
    asks only about what is new; Ctrl-C keeps what is done. Exits with status 1 if the history has no usable fix.
    """
    from satchel.evaluation.fixes import own_questions
    from satchel.evaluation.run import evaluate, report_data

    own, changed = own_questions(questions) if questions is not None else [], dict(map(_assigned, against))
    other = None
    moment = parse_moment(since, "since") if since is not None else 0.0
    with Interrupt() as interrupt, opened(invocation) as satchel, Watch() as progress:
        options: Any = {"limit": limit, "max_tokens": max_tokens, "since": moment, "fresh": fresh, "questions": own}
        options |= {"progress": progress, "should_stop": interrupt.requested}
        outcome = evaluate(satchel, **options)
        other = evaluate(satchel, changed=changed, **options) if changed else None
    if invocation.as_json:
        streams.write_json(report_data(outcome) | ({"against": report_data(other)} if other is not None else {}))
    elif outcome.answers:
        streams.write_line("\n".join([*report_lines(outcome), *compared_lines(outcome, other, against)]))
    if not outcome.answers:
        streams.note(why_empty(outcome), color=invocation.color)
    return interrupt.exit_code or (0 if outcome.answers else NOTHING_FOUND)


def report_lines(outcome: EvaluationResult) -> list[str]:
    """Return the report as text: what was asked, and the table."""
    from satchel.evaluation.run import measures, named_share

    answers, fixes = outcome.answers, outcome.fixes
    rows = [
        (row.name, f"{row.value.mean:.3f}", f"{row.value.low:.3f} to {row.value.high:.3f}", row.meaning)
        for row in measures(answers, outcome.max_tokens)
    ]
    asked = (
        f"{len(answers):,} small {'fix' if len(answers) == 1 else 'fixes'} of {outcome.mined.commits:,} commits, "
        f"{day(fixes[0].time)} to {day(fixes[-1].time)}, asked at the state before each"
    )
    mined = bool(fixes[0].parent)
    asked = asked if mined else f"{len(answers):,} of your questions, asked as the files are now"
    failed = [(fix, answer.needed) for fix, answer in zip(fixes, answers, strict=True) if answer.needed]
    newest = ", the last 20 of them" if len(failed) > 20 else ""
    named = f"{named_share(fixes):.0%} of the messages name a changed file: people's questions are harder"
    missed = f"not shown, {len(failed)} of {len(answers)}{newest}, and what the best right file would need:"
    return [
        asked + (" (stopped)" if outcome.is_stopped else ""),
        f"left out: {_counts(outcome.mined.left_out) or 'none'}",
        *[named] * mined,
        "",
        *table(("measure", ">mean", "95 % interval", "share of"), rows),
        *["", missed] * bool(failed),
        *(f"  {fix.sha[:10]} {fix.subject}: {needed}" for fix, needed in failed[-20:]),
    ]


def compared_lines(outcome: EvaluationResult, other: EvaluationResult | None, against: Sequence[str]) -> list[str]:
    """Return the means of a second run with other settings beside those of the first, and which questions moved."""
    from satchel.evaluation.run import measures, paired

    if other is None:
        return []
    pairs = paired(outcome.answers, other.answers)
    first, second = (measures([pair[side] for pair in pairs], outcome.max_tokens) for side in (0, 1))
    rows = [
        (
            measure.name,
            f"{measure.value.mean:.3f}",
            f"{two.value.mean:.3f}",
            f"{two.value.mean - measure.value.mean:+.3f}",
        )
        for measure, two in zip(first, second, strict=True)
    ]
    more = sum(two.file_share > answer.file_share for answer, two in pairs)
    fewer = sum(two.file_share < answer.file_share for answer, two in pairs)
    head = f"against {', '.join(against)}: {more} questions show more of the right files, {fewer} fewer"
    lost = len(outcome.answers) - len(pairs)
    head += f"; {lost} not compared, because not all of their right files are in both indexes" if lost else ""
    return ["", head, "", *table(("measure", ">now", ">against", ">difference"), rows)]


def _assigned(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--against {text!r}: write KEY=VALUE, as in context.min_score=0.1")
    return key, value


def why_empty(outcome: EvaluationResult) -> str:
    """Return why nothing could be measured."""
    if outcome.is_stopped:
        return "stopped before the first fix was asked about"
    if outcome.mined.fixes and not outcome.mined.commits:
        return "none of your questions names a file that is in the index"
    reasons = _counts(outcome.mined.left_out)
    return f"none of {outcome.mined.commits:,} commits is a usable fix" + (f" ({reasons})" if reasons else "")
