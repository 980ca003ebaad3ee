"""Questions: `satchel context`, `search`, `graph`, `expand`, `why`, `replay`, `premortem`, `brief` and `situation`.

Also what guides agents: `rules` and `trust`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command, group, operation_command, strict_option
from satchel.cli.session import NOTHING_FOUND, ask, opened, report, show
from satchel.cli.streams import day
from satchel.codec import Field, iso_time, many, record
from satchel.errors import UsageError
from satchel.operations.ask import (
    AFTER_FAILURE,
    BRIEF,
    CONTEXT_QUERY,
    EXPAND,
    GRAPH_CONTEXT,
    GRAPH_EXPORT,
    HEAD,
    PREMORTEM,
    PREMORTEM_OPERATION,
    REPLAY,
    SEARCH,
    SITUATION_CONTEXT,
    WHY,
    lesson_lines,
)
from satchel.operations.json import COUNT, FAILURES, SWITCH, TEXT, TEXTS
from satchel.safety.sanitize import clean_field
from satchel.system.files import escape_name
from satchel.types import Context, ContextItem, Data, Json, Omission, Signal

if TYPE_CHECKING:
    from satchel.guidance.instructions import Applied
    from satchel.safety.trust import TrustMark


@operation_command(
    CONTEXT_QUERY, "context", shows="the context with its items, signals, overflow and usage",
    positional={"question": "[QUESTION|-]"}, without=("workspace",),
)  # fmt: skip
@click.option("--explain", "explained", is_flag=True, help="Say on standard error why each item is in or out.")
@strict_option
def context_command(invocation: Invocation, arguments: Json, *, explained: bool, strict: bool) -> int:
    """Pack what matters for a question into a token budget.

    QUESTION may be an issue text, an error message or a stack trace; `-` reads it from standard input. With --diff
    [REV] the answer shows what your changes since REV (HEAD by default) affect: callers, tests, commits.
    With --tests it is only the tests that cover them: pytest $(satchel context --diff --tests).
    """
    revision = arguments.get("diff", "")
    if " " in revision.strip():  # revisions contain no blanks: this is the question, and the option has no value
        arguments |= {"diff": HEAD, "question": " ".join(filter(None, (revision, arguments.get("question"))))}
    if not {"question", "diff", "staged", "tests", "include"} & arguments.keys():
        raise click.UsageError("Missing argument 'QUESTION|-'.")
    answered = ask(invocation, CONTEXT_QUERY, arguments)
    code = show(invocation, answered, strict=strict)
    if explained:
        explain(answered.subject)
    return code


TITLE_CHARACTERS = 72

REASONS: Mapping[str, str] = {
    "best part": "one place matches well",
    "top three parts": "several places match",
    "whole file": "the file as a whole matches",
    "name": "its names match",
    "file name": "the file is called so",
    "path mention": "the question names its path",
    "symbol mention": "the question names what it defines",
    "trace": "a stack trace or a named line leads here",
    "traced file": "a stack trace or a named line leads to this file",
    "history": "commits about this changed it",
    "calls": "tied by calls to what matches",
    "words": "its words match",
    "likeness": "it means something like the question",
    "change": "the change concerns it",
    "bears": "it bears on what is about to be done",
}
"""Signal -> its meaning. Signals that only restate the rank are missing."""

BOOSTS = frozenset({"tier", "importance", "recency", "vectors", "no cause", "routine"})
"""Signals of a record beside the match: they are shown with their numbers, and are no reason of their own."""


def explain(context: Context) -> None:
    """Write what is in, what stayed out, and the budget to standard error."""
    usage = context.usage
    if context.items:
        streams.say("\n".join(["What is in", *streams.table(ITEM_HEADINGS, item_rows(context.items))]))
    if context.overflow:
        shown = sorted(context.overflow, key=lambda omission: (omission.budget, omission.id))[:12]
        hidden = len(context.overflow) - len(shown)
        title = "What stayed out, and the budget that would admit it" + (f" ({hidden} more)" if hidden else "")
        streams.say("\n".join([title, *streams.table(OMISSION_HEADINGS, omission_rows(shown))]))
    if lines := lesson_lines(context):
        streams.say("\n".join(["What is remembered about such work", *lines]))
    kind = "exact" if usage.exact else "an estimate"
    streams.say(f"{usage.used:,} of {usage.limit:,} tokens ({usage.utilization:.1%}) by {usage.tokenizer}, {kind}")


ITEM_HEADINGS = (">#", "item", "detail", ">tokens", ">relevance", "why", "signals (value x weight)", "handle")
OMISSION_HEADINGS = ("item", ">relevance", "reason", ">budget", "handle")


def item_rows(items: Sequence[ContextItem]) -> list[list[str]]:
    """Return one row an item, in the order of the answer."""
    return [
        [
            str(rank),
            item_place(item),
            item.detail.value,
            f"{item.tokens:,}",
            f"{item.relevance:.2f}",
            why(item.signals),
            ", ".join(f"{s.name} {s.value:g} x {s.weight:g}" for s in strongest(item.signals)),
            item.handle,
        ]
        for rank, item in enumerate(items, 1)
    ]


def omission_rows(omissions: Iterable[Omission]) -> list[list[str]]:
    """Return one row each, in the order given."""
    return [
        [omission_place(omission), f"{omission.relevance:.2f}", omission.reason, budget(omission), omission.handle]
        for omission in omissions
    ]


def budget(omission: Omission) -> str:
    """Return the approximate budget that includes it: `~1,801`, `-` if none does."""
    return f"~{omission.budget:,}" if omission.budget else "-"


def item_place(item: ContextItem) -> str:
    """`src/a.py:10-20,31-40` for a file, kind and title for a record."""
    if item.location is None:
        return f"{item.source} {clean_field(item.title, TITLE_CHARACTERS)}".rstrip()
    spans = ",".join(f"{start}-{end}" for start, end in item.spans)
    return clean_field(item.location.path) + (f":{spans}" if spans else "")


def omission_place(omission: Omission) -> str:
    """`src/a.py:10-20 C.m` for lines of a file, kind and title for a record."""
    title = clean_field(omission.title, TITLE_CHARACTERS)
    if not omission.path:
        return f"{omission.source} {title}".rstrip()
    place = f"{clean_field(omission.path)}:{omission.start}-{omission.end}" if omission.start else omission.path
    return place if title in {"", omission.path} else f"{place} {title}"


def strongest(signals: Sequence[Signal]) -> list[Signal]:
    """Return the strongest signals with a reason, largest contribution first, then the boosts of a record."""
    boosts = [signal for signal in signals if signal.name in BOOSTS]
    counted = [signal for signal in signals if signal.name in REASONS] or ([] if boosts else list(signals))
    counted.sort(key=lambda signal: (-signal.value * signal.weight, signal.name))
    # Signals shown per item, strongest first: the others change little and make the table unreadable.
    return [*counted[:3], *boosts]


def why(signals: Sequence[Signal]) -> str:
    """Return the two strongest reasons in words."""
    reasons = [signal for signal in signals if signal.name not in BOOSTS] or signals
    return ", ".join(dict.fromkeys(REASONS.get(signal.name, signal.name) for signal in strongest(reasons)[:2]))


@operation_command(
    SEARCH, "search", shows="the matches with their signals", positional={"question": "[QUESTION|-]"},
    without=("workspace",),
)  # fmt: skip
def search_command(invocation: Invocation, arguments: Json) -> None:
    """List the best matches for a question.

    QUESTION may be an issue text, an error message or a stack trace; `-` reads it from standard input. A filter leaves
    out only records that have its field: --category removes no commits.

    With --pattern all matching lines of the files as they are now are counted. The best are shown with their numbers,
    grouped by definition, within --max-tokens: those about QUESTION first, production code before tests.
    """
    show(invocation, ask(invocation, SEARCH, arguments))


@operation_command(
    GRAPH_CONTEXT, "graph", shows="the context with its nodes, signals, overflow and usage",
    positional={"query": "QUERY|ID|-"}, without=("workspace",),
)  # fmt: skip
@strict_option
@click.option("--to", metavar="ID", help="Show the shortest path of calls and imports to this file or definition.")
@click.option("--export", type=click.Choice(["mermaid", "graphml"]), help="Write the nodes and edges in this format.")
def graph_command(invocation: Invocation, arguments: Json, *, strict: bool, to: str | None, export: str | None) -> int:
    """Show what a topic, file or symbol is connected to, or how it reaches another.

    QUERY is a topic, or the id of a node: a note, a file, a definition. What is near, relevant and new comes first.
    With --to the ends are files or definitions, and the other options have no meaning. Exits with status 1 if there is
    no path.
    """
    if to is not None or export is not None:
        names = ("query", "depth", "lens", "refresh")
        chosen: Json = {name: arguments[name] for name in names if name in arguments}
        drawn = ask(invocation, GRAPH_EXPORT, chosen | {"to": to, "export": export})
        show(invocation, drawn)
        return 0 if drawn.envelope["edges"] or to is None else NOTHING_FOUND
    return show(invocation, ask(invocation, GRAPH_CONTEXT, arguments), strict=strict)


@operation_command(
    EXPAND, "expand", shows="what was found, with the handles of what did not fit,", positional={"handles": "HANDLE..."}
)
def expand_command(invocation: Invocation, arguments: Json) -> int:
    """Show what a handle stands for, or lines, a definition or the outline of a file.

    HANDLE is an 8-character name from `satchel context --json`, `--handles` or `--explain`. The text is that of the
    same revision: from the file if it still matches, else from git; otherwise a note says where it is now.
    A place such as `src/app.py:10-20` or `src/app.py:Reader.read` shows these lines as they are now, with their
    numbers; a path alone lists the definitions of its file with their lines.
    Exits with status 1 if nothing can be shown.
    """
    answered = ask(invocation, EXPAND, arguments)
    show(invocation, answered)
    return 0 if answered.envelope["items"] else NOTHING_FOUND


@operation_command(
    WHY, "why", shows="rank, signals and reason", positional={"target": "PATH|SYMBOL", "question": "QUESTION|-"}
)
def why_command(invocation: Invocation, arguments: Json) -> None:
    """Explain how a file or symbol ranks for a question, and why it is in or out.

    PATH|SYMBOL may also be the end of a path, a qualified name such as `Client.send`, or the hash of a commit.
    """
    answered = ask(invocation, WHY, arguments)
    rows = [row for standing in answered.envelope["standings"] for row in ("", *described(standing))]
    report(invocation, answered.envelope, rows[1:], failures=answered.subject)


def described(row: Data) -> list[str]:
    """Return lines about one result of `why`: its id, whether it is shown, its rank, and one line per signal."""
    noun = "files" if row["path"] else "records"
    lines = [clean_field(row["id"])]
    if row["is_shown"]:
        spans = ", ".join(f"{start}-{end}" for start, end in row["shown"])
        lines.append(f"  shown: lines {spans}" if spans else "  shown")
    else:
        lines.append(f"  not shown, {row['reason']}: {row['detail']}")
    if row["rank"]:
        place = f", {row['place']} of {row['chunks']} places" if row["place"] and row["path"] else ""
        lines.append(f"  rank {row['rank']} of {row['of']} {noun} that match{place}; relevance {row['relevance']:.2f}")
    for signal in row["signals"]:
        meaning = f"  {REASONS[signal['name']]}" if signal["name"] in REASONS else ""
        lines.append(f"  {signal['name']:<16} {signal['value']:>8g} x {signal['weight']:g}{meaning}".rstrip())
    return lines


@operation_command(REPLAY, "replay", shows="the whole answer as it was saved", without=("saved",))
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), metavar="FILE|-")
def replay_command(invocation: Invocation, arguments: Json, *, file: Path) -> int:
    """Ask a saved question again and name what differs.

    FILE is what `satchel context QUESTION --json` printed; a situation, a brief and a premortem are replayed as well.
    Prints the text of the answer, which is the same byte for byte unless something differs: the version, the index, a
    setting, a file. Exits with status 1 if so.
    """
    saved, indent = read_saved(file)
    answered = ask(invocation, REPLAY, {**arguments, "saved": saved})
    if invocation.as_json:
        streams.write_line(streams.json_text(answered.envelope, indent))
    else:
        streams.write_text(answered.text)
    for note in answered.notes:
        streams.note(note, color=invocation.color)
    return 1 if answered.notes else 0  # differs


def read_saved(file: Path) -> tuple[Json, int | None]:
    """Return the object in a file and its indentation. Raises UsageError if there is none."""
    try:
        with click.open_file(str(file), "rb") as stream:
            raw = stream.read(200_000_000)  # bytes read of a saved answer: the largest budget gives less
        saved = json.loads(raw)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(
            f"{file} is not JSON ({error}): save an answer with `satchel context QUESTION --json`"
        ) from None
    if not isinstance(saved, dict):
        raise UsageError(f"{file} does not contain a saved context: save one with `satchel context QUESTION --json`")
    return saved, 2 if raw.startswith(b"{\n") else None


@operation_command(
    PREMORTEM_OPERATION, "premortem", shows="the premortem with its items, signals, overflow and usage",
    without=("mode", "failure", "refresh"), needed=("domain",),
)  # fmt: skip
@strict_option
def premortem_command(invocation: Invocation, arguments: Json, *, strict: bool) -> int:
    """Show what went wrong before in this kind of work.

    Past failures, results of the strategy, surprises, root causes and principles, from the experiences that are
    remembered here; each is shown once. The budget is 1,500 tokens.
    """
    return show(invocation, ask(invocation, PREMORTEM_OPERATION, {**arguments, "mode": PREMORTEM}), strict=strict)


@operation_command(
    PREMORTEM_OPERATION, "brief", shows="the brief with its items, signals, overflow and usage",
    without=("mode", "domain", "strategy", "failure"),
)  # fmt: skip
@click.option("--after-failure", "failed", metavar="FILE|-", help="The output of the command that failed.")
@strict_option
def brief_command(invocation: Invocation, arguments: Json, *, failed: str | None, strict: bool) -> int:
    """Show what to know when a session starts, or after a failure.

    At a start: what is remembered about the files that the branch and the last experiences touched, the values that
    experience taught, recent events and the memories that matter most, in 300 tokens. With --after-failure: what failed
    like this before, and where in the code it happened, in 2,000 tokens. The failure's error, names and files are taken
    from its output.
    """
    mode = {"mode": BRIEF}
    if failed is not None:
        read = (
            streams.read_question([failed], color=invocation.color)
            if failed == "-"
            else streams.read_file(failed, color=invocation.color)
        )
        mode = {"mode": AFTER_FAILURE, "failure": read}
    return show(invocation, ask(invocation, PREMORTEM_OPERATION, {**arguments, **mode}), strict=strict)


@operation_command(
    SITUATION_CONTEXT, "situation", shows="the context with its items, the rules with their verdicts, and usage"
)
@click.option("--explain", "explained", is_flag=True, help="Say on standard error what applies and why.")
@strict_option
def situation_command(invocation: Invocation, arguments: Json, *, explained: bool, strict: bool) -> int:
    """Show the instructions and history that apply to a task, file or tool call.

    The current context.yaml with what it inherits and injects, the instruction files that apply (AGENTS.md, CLAUDE.md
    and similar files), then memories, experiences and commits. Instruction files are shown as data, after `satchel
    trust` as guidance.
    """
    answered = ask(invocation, SITUATION_CONTEXT, arguments)
    code = show(invocation, answered, strict=strict)
    for line in why_lines(answered.subject) if explained else ():
        streams.say(line, color=invocation.color)
    return code


def why_lines(context: Context) -> list[str]:
    """Return what applies and what does not, each with its reason."""
    lines = [
        f"context {row['path'] or '.'}: {row['wanted_by']}, priority {row['priority']:g}"
        for row in context.meta["contexts"]
    ]
    lines += [
        f"rule {row['rule']} ({row['place']}): {row['verdict']}, {row['reason']}" for row in context.meta["rules"]
    ]
    lines += [
        f"{row['path']}: {'applies' if row['applies'] else 'does not apply'}, {row['reason']}"
        for row in context.meta["instructions"]
    ]
    return lines + [line.strip() for line in lesson_lines(context)]


@group("rules")
def rules_command() -> None:
    """List the instruction files of a folder.

    It knows context.yaml, AGENTS.md, and the files of Claude Code (CLAUDE.md, CLAUDE.local.md, .claude/rules,
    .claude/skills), Copilot (.github/copilot-instructions.md, .github/instructions), Cursor (.cursorrules,
    .cursor/rules), Windsurf (.windsurfrules) and Gemini (GEMINI.md).
    """


@command("list", rules_command, shows="every instruction file and every context")
def listed(invocation: Invocation) -> None:
    """List every instruction file and every context, and when each applies."""
    with opened(invocation) as satchel:
        rows, contexts, notes = satchel.guidance.list_rules()
        trusted = satchel.trusted
    data = {
        "trusted": trusted,
        "instructions": many(_INSTRUCTION).data(rows),
        "contexts": many(_CONTEXT).data(contexts),
        "failures": FAILURES.data(notes),
    }
    lines = [f"{row.instruction.path}: {row.reason}{_twin(row)}" for row in rows]
    lines += [
        f"{found.context.path or '.'}/context.yaml: {found.context.name}, "
        f"{len(found.context.behavior)} behavior rules, {len(found.context.injection)} injection rules"
        for found in contexts
    ]
    nothing = "there is no instruction file and no context.yaml here"
    report(invocation, data, map(escape_name, lines), nothing=nothing, failures=notes)


def _twin(row: Applied) -> str:
    return f" (stands for {row.instruction.stands_for})" if row.instruction.stands_for else ""


_INSTRUCTION = record(
    **{name: TEXT.of(f"instruction.{name}") for name in ("path", "form", "folder")},
    globs=Field(TEXTS.schema, list).of("instruction.globs"), description=TEXT.of("instruction.description"),
    stands_for=TEXT.of("instruction.stands_for"), imports=Field(TEXTS.schema, list).of("instruction.imports"),
    applies=SWITCH, rank=COUNT, reason=TEXT,
)  # fmt: skip
_CONTEXT = record(
    path=TEXT.of("context.path"), name=TEXT.of("context.name"), type=TEXT.of("context.type"),
    extends=TEXTS.of(lambda found: found.context.chain[:-1]),
    behavior_rules=COUNT.of(lambda found: len(found.context.behavior)),
    injection_rules=COUNT.of(lambda found: len(found.context.injection)),
)  # fmt: skip


@command("trust", shows="the trusted folders, or what was changed,")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listed", is_flag=True, help="Show the folders that are trusted, and change nothing.")
@click.option("--remove", is_flag=True, help="Stop trusting the folder; PATH may be one that no longer exists.")
def trust_command(invocation: Invocation, *, path: Path | None, listed: bool, remove: bool) -> None:
    """Trust the instruction files of a folder.

    PATH is by default the root that questions are about. Its instruction files (AGENTS.md, CLAUDE.md and the like) are
    then shown to agents as guidance to follow; all other text stays data. The decision is kept in your state folder:
    no file in the folder itself can grant it.
    """
    from satchel import config
    from satchel.safety import trust

    state = config.Folders.from_environment(os.environ).state
    if listed:
        _list_trusted(invocation, trust.trusted_roots(state), is_alone=not remove and path is None)
        return
    root = _root(path, invocation.root, must_exist=not remove)
    if remove:
        gone = trust.distrust(root, state)
        name = escape_name(gone[0].root if gone else str(root.resolve()))
        lines = [f"{escape_name(mark.root)}: no longer trusted" for mark in gone[:1]]
        nothing = f"{name} was not trusted; `satchel trust --list` shows what is"
        report(invocation, {"removed": list(map(mark_data, gone))}, lines, message="" if gone else nothing)
        return
    is_new = not trust.is_trusted(root, state)
    if is_new:
        streams.say(trust.MEANING, color=invocation.color)
    mark = trust.trust(root, state)
    ending = "trusted now; `satchel trust --remove` undoes it" if is_new else f"trusted since {day(mark.since)}"
    report(invocation, {"trusted": mark_data(mark), "is_new": is_new}, [f"{escape_name(mark.root)}: {ending}"])


def _list_trusted(invocation: Invocation, marks: Sequence[TrustMark], *, is_alone: bool) -> None:
    if not is_alone:
        raise UsageError("--list shows all folders: give it neither PATH nor --remove")
    lines = [f"{escape_name(mark.root)}  since {day(mark.since)}" for mark in marks]
    nothing = "no folder is trusted: `satchel trust PATH` trusts one"
    report(invocation, {"trusted": list(map(mark_data, marks))}, lines, message="" if marks else nothing)


def _root(path: Path | None, explicit: Path | None, *, must_exist: bool) -> Path:
    """Return the root around PATH or the current folder, or PATH itself if it no longer exists."""
    from satchel.system.locations import find_root

    if path is not None and explicit is not None:
        raise UsageError("PATH and --root both name the folder: give one of them")
    if path is not None and not must_exist and not path.exists():
        return path
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file: name the folder that you want to trust")
    return find_root(path or Path(), explicit)


def mark_data(mark: TrustMark) -> Json:
    """Return a mark as plain JSON values; `repository` is None without git."""
    return {"root": mark.root, "repository": mark.repository or None, "since": f"{iso_time(mark.since)[:19]}Z"}
