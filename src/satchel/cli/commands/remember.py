"""`satchel memory`, `remember`, `experience` and `values`: what is kept from one session to the next."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

import click
from msgspec.structs import replace

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, command, group, operation_command, options_of
from satchel.cli.session import Interrupt, Watch, ask, opened, report, show
from satchel.codec import many
from satchel.errors import UsageError
from satchel.operations import remember as actions
from satchel.operations.json import line, minute, safe
from satchel.operations.operation import Answered, Operation
from satchel.operations.records import ACCEPTED, GROUPING, MEMBER, MEMORY, VALIDATION, memory_text
from satchel.operations.remember import (
    EXPERIENCE,
    EXPERIENCE_ACTIONS,
    FORGET,
    LIST,
    MEMORY_ACTIONS,
    PROPOSALS,
    REMEMBER,
    STORE,
    VALUES,
)
from satchel.safety.sanitize import clean_field
from satchel.types import Json, Kind
from satchel.vocabulary import Axis, OutcomeStatus, Provenance

if TYPE_CHECKING:
    from satchel.memory.model import Grouping, Validation, Value


def action_command(
    operation: Operation, action: str, parent: click.Group, help_text: str, *, name: str = "", **options: Any
) -> None:
    """Add the command of an action that shows its answer; `name` is by default that of the action."""

    def run(invocation: Invocation, arguments: Json) -> None:
        show(invocation, ask(invocation, operation, {**arguments, "action": action}))

    run.__doc__ = help_text
    operation_command(operation, name or action, parent, **options)(run)


@group("memory")
def memory_command() -> None:
    """Store, find, replace and delete long-term facts.

    Memories belong to the repository they are made in, and are found in all of its work trees; with --everywhere they
    are found from any folder. They are kept in one file (`satchel config path`) that no other command removes.
    """


NOTHING_REPLACED = (
    "nothing was replaced: no memory gives another value to the same thing; "
    "`satchel memory supersede ID TEXT` replaces the one that you name"
)


@operation_command(
    REMEMBER, "remember", shows="the memory and what it resembles", only=MEMORY_ACTIONS[STORE],
    without=("supersedes",), positional={"text": "TEXT|-"},
)  # fmt: skip
@click.option("--supersede", is_flag=True, help="Replace the newest memory from which it differs.")
def remember_command(invocation: Invocation, arguments: Json, *, supersede: bool) -> None:
    """Store a fact, decision, preference or error.

    TEXT is one thing, in a sentence or a few; `-` reads it from standard input. Memories that say nearly the same, or
    from which it differs, are named; all are kept.
    """
    answered = ask(invocation, REMEMBER, {"provenance": str(Provenance.USER), **arguments, "action": STORE})
    opposed = answered.subject.contradicts if supersede else ()
    if opposed:
        link = {"action": STORE, "supersedes": opposed[0].id, "text": answered.text}
        answered = ask(invocation, REMEMBER, link)
    elif supersede:
        answered = replace(answered, notes=(*answered.notes, NOTHING_REPLACED))
    show(invocation, answered)


memory_command.add_command(remember_command, "add")
action_command(
    REMEMBER, STORE, memory_command,
    """Replace a memory with what is true now.

    The old one is kept and linked, and is shown only if you ask for its id. The new one is as important as the old one
    unless --importance is given.
    """,
    name="supersede", shows="the new memory", only=("supersedes", "text", "importance"),
    positional={"supersedes": "ID", "text": "TEXT|-"},
)  # fmt: skip
action_command(
    REMEMBER, LIST, memory_command, "List the memories that answer a question, best first.", name="search",
    shows="the memories with their relevance", positional={"question": "QUESTION|-"},
    only=("question", *actions.OF_SEARCH, "limit"),
)  # fmt: skip


@operation_command(
    REMEMBER, "list", memory_command, shows="the memories", only=MEMORY_ACTIONS[LIST], without=("question",)
)
def list_(invocation: Invocation, arguments: Json) -> None:
    """List what is remembered, newest first."""
    answered = ask(invocation, REMEMBER, {**arguments, "action": LIST})
    report(invocation, answered.envelope, filter(None, [answered.text]), nothing="nothing is remembered here")
    for note in answered.notes if answered.text else answered.notes[1:]:  # the first says that nothing matches
        streams.note(note, color=invocation.color)


_MARKS: Mapping[str, tuple[str, str]] = {
    actions.SHARE: (
        "what is shared now",
        """Let your team find memories from now on, where it shares a store.

        The older ones that they replaced are shared with them. What was read cannot be taken back: `satchel memory
        forget` only removes it for later questions.
        """,
    ),
    actions.PIN: (
        "what is pinned now",
        "Show memories first in every brief, at most five of them. They get the tag `pinned`.",
    ),
    actions.UNPIN: ("what was unpinned", "Unpin memories: a brief ranks them by importance and age again."),
}
for _mark, (_shows, _help) in _MARKS.items():
    action_command(REMEMBER, _mark, memory_command, _help, shows=_shows, only=("ids",), positional={"ids": "ID..."})


@operation_command(
    REMEMBER, "review", memory_command, shows="the candidates, or what became of them",
    only=("ids", "text", "category", "limit"), positional={"ids": "[ID]..."},
)  # fmt: skip
@click.option("--accept", is_flag=True, help="Remember these.")
@click.option("--reject", is_flag=True, help="Never propose these again.")
@click.option("--all", "every", is_flag=True, help="All candidates that wait.")
@click.option("--from", "paths", multiple=True, metavar="PATH", help="First propose from these transcripts or folders.")
def review(
    invocation: Invocation, arguments: Json, *, accept: bool, reject: bool, every: bool, paths: Sequence[str]
) -> None:
    """List candidates for memories from conversations; accept (--text corrects them) or reject them.

    They come from conversations that ended (`memory.capture`), by rules and by the model of `memory.endpoint`, each
    with its evidence. None is used before you accept it.
    """
    if accept and reject:
        raise UsageError("--accept and --reject exclude each other: choose one")
    with opened(invocation) as satchel:
        count, failures = satchel.memory.learn_from(paths) if paths else (0, [])
        if every:
            arguments["ids"] = [waiting.id for waiting in satchel.memory.review.waiting()]
    for note in [f"{count} new"] * bool(paths) + [failure.message for failure in failures]:
        streams.note(note, color=invocation.color)
    verdict = actions.ACCEPT if accept else actions.REJECT if reject else None
    show(invocation, ask(invocation, REMEMBER, {**arguments, "verdict": verdict, "action": actions.REVIEW}))


action_command(
    REMEMBER, actions.TIDY, memory_command,
    """List the memories to clean up, each with the reasons; nothing is changed.

    They have expired, a newer one differs from them or repeats them, they were in no answer for a month, or were not
    changed for a year. `satchel memory supersede` links what differs, `forget` removes.
    """,
    shows="the memories with their reasons", only=("limit",),
)  # fmt: skip


@command("show", memory_command, shows="the memory")
@click.argument("identity", metavar="ID")
def show_one(invocation: Invocation, *, identity: str) -> None:
    """Show one memory with everything about it, a replaced one too."""
    with opened(invocation) as satchel:
        memory = satchel.memories.get(identity)
        shown = satchel.receipts.handles.shown(Kind.MEMORY)[memory.id]
    report(invocation, {**MEMORY.data(memory), "shown": shown}, [memory_text(memory, shown).removesuffix("\n")])


@command("repair", memory_command, shows="what came back, and what was removed")
def repair(invocation: Invocation) -> None:
    """Bring back the records that cannot be read, and remove those that no backup and no change has.

    Answers leave such records out and name them. All others stay. Stop running servers before.
    """
    with opened(invocation) as satchel:
        done = satchel.memory.repair()
    lines = [f"brought back {name}" for name in done.restored] + [f"removed {name}" for name in done.removed]
    report(invocation, done._asdict(), map(clean_field, lines), nothing="every record can be read")


@command("move", memory_command, shows="how many were moved")
@click.argument("old", metavar="OLD", type=click.Path(path_type=Path))
def move(invocation: Invocation, *, old: Path) -> None:
    """Bring the memories of a folder that was moved or renamed to this one.

    OLD is its former path. Experiences, values and conversations move, too. `satchel memory list` names such folders.
    """
    with opened(invocation) as satchel:
        moved = satchel.memory.move(old)
    report(invocation, {"moved": moved, "from": str(old)}, [], message=f"moved {moved} from {clean_field(str(old))}")


@command("restore", memory_command, shows="what came back, or the files")
@click.argument("identities", nargs=-1, metavar="[ID]...")
@click.option("--to-backup", is_flag=True, help="Go back to the newest backup, though the memory file is sound.")
def restore(invocation: Invocation, identities: Sequence[str], *, to_backup: bool) -> None:
    """Bring back what was forgotten, by id; without ID make a damaged memory file again.

    What is forgotten can be brought back for 30 days; `satchel memory list --forgotten` lists it. A backup is made once
    a day, at the first change, and after many changes; three are kept. A file that is damaged or missing becomes the
    newest backup with the changes since and with what can be read of the file. A sound file is left alone; with
    --to-backup it becomes the newest backup, and what was written since is only in the former file, which is kept
    beside it. Stop running servers before.
    """
    if identities:
        show(invocation, ask(invocation, REMEMBER, {"action": actions.RESTORE, "ids": list(identities)}))
        return
    with opened(invocation) as satchel:
        done = satchel.memory.restore(to_backup=to_backup)
    data = {
        "restored": str(done.copy or ""),
        "aside": str(done.aside),
        "changes": done.changes,
        "salvaged": done.salvaged,
    }
    former = [f"the former file: {done.aside}"] * done.aside.exists()
    report(invocation, data, [f"restored from {done.text}", *former])


@operation_command(
    REMEMBER, "forget", memory_command, shows="what was forgotten, or would be", only=MEMORY_ACTIONS[FORGET],
    positional={"ids": "[ID]..."}, flags={"question": ("--query",)},
)  # fmt: skip
def forget(invocation: Invocation, arguments: Json) -> None:
    """Forget memories, by id, by origin or by a question.

    The older ones that they replaced are forgotten too, and with an origin also the conversations from it. What an
    origin or a question selects is listed first, and forgotten once you confirm, or with --yes. `satchel memory
    restore` brings it back within 30 days; with --for-good it is removed from the file and its backups at once.
    """
    selection = {**arguments, "action": FORGET}
    answered = ask(invocation, REMEMBER, selection)
    if not invocation.as_json and not answered.envelope["forgotten"] and _asked(answered, invocation.color):
        answered = ask(invocation, REMEMBER, {**selection, "confirm": True})
    ids, is_done = answered.subject, answered.envelope["forgotten"]
    nothing = f"nothing was forgotten: add --yes to forget these {len(ids)}"
    report(
        invocation,
        answered.envelope,
        map(clean_field, ids if is_done else ()),
        nothing=nothing if ids else "nothing was chosen, nothing is forgotten",
        message="; ".join((f"forgot {len(ids)}", *answered.notes)) if ids and is_done else "",
    )


def _asked(preview: Answered, color: str) -> bool:
    """Show what would go and ask a person; where none looks, nothing goes."""
    streams.say(preview.text, color=color)
    return streams.is_terminal(sys.stdin) and click.confirm(f"forget these {len(preview.subject)}?", err=True)


_POSITIONAL = {actions.NOTE: {"note": "TEXT|-"}, actions.SHOW: {"id": "[ID]"}, actions.CORRECT: {"id": "ID"}}


@group("experience")
def experience_command() -> None:
    """Record what was tried, what was expected, and how it ended.

    Start with a hypothesis, update it as it changes, and resolve it: a session has one active experience at a time.
    Resolved ones are found by questions, in contexts and before similar work.
    """


def _add(action: str, help_text: str) -> None:
    action_command(
        EXPERIENCE, action, experience_command, help_text, shows=f"the experience{'s' * (action == LIST)}",
        only=EXPERIENCE_ACTIONS[action], needed=actions.NEEDED.get(action, ()), positional=_POSITIONAL.get(action),
    )  # fmt: skip


_add(actions.START, "Start an experience.")
_add(actions.UPDATE, "Change what is believed, done or expected; the earlier attempt stays in the history.")
_add(actions.NOTE, "Add a note to the active experience.")
_add(
    actions.RESOLVE,
    """End the active experience by hand.

    A falsified one needs its surprise and its root cause, with a description: that is what is learned from it.
    """,
)


@command(
    "capture", experience_command, context_settings={**HELP_OPTIONS, "ignore_unknown_options": True},
    params=options_of(EXPERIENCE, ("surprise", "root_cause", "root_cause_description", "lesson", "takeaway")),
)  # fmt: skip
@click.option(
    "--expect", type=click.Choice(["success", "failure"]), default="success", show_default=True,
    help="What the hypothesis predicts for the command.",
)  # fmt: skip
@click.option("--session", default="default", metavar="TEXT", help="Your session id: each has one active experience.")
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def capture(
    invocation: Invocation, *, arguments: Sequence[str], expect: str, session: str, **lesson: str | None
) -> int:
    """Run a command, and resolve the active experience by its result.

    The command runs as without satchel: its output passes through and its exit code is kept. When it ends as expected,
    the hypothesis is confirmed, else it is falsified. Test counts of pytest, unittest, cargo, go, jest and make are
    noted. An interrupted run resolves nothing.
    """
    from satchel.memory.capture import run_captured

    with Interrupt() as interrupt, opened(invocation) as satchel:
        satchel.experiences.require_active(session)
        captured = run_captured(arguments, _bytes_of(sys.stdout), _bytes_of(sys.stderr))
        if interrupt.requested() or captured.is_interrupted:
            streams.note("the run was interrupted, the experience is still active", color=invocation.color)
            return interrupt.exit_code or captured.exit_code
        is_expected = captured.is_success == (expect == "success")
        status = OutcomeStatus.CONFIRMED if is_expected else OutcomeStatus.FALSIFIED
        done = satchel.experiences.resolve(
            status=status, result=captured.result, session=session, auto_captured=True, files=(), **lesson
        )
    streams.say(f"{done.id} {done.status} ({done.confidence_tier}): {captured.result}", color=invocation.color)
    if status is OutcomeStatus.FALSIFIED and done.root_cause is None:
        streams.say(
            "why was the hypothesis wrong? Once you know, keep it: "
            f"satchel experience correct {done.id} --root-cause CATEGORY --root-cause-description TEXT",
            color=invocation.color,
        )
    return captured.exit_code


_add(
    actions.CORRECT,
    """Add to an ended experience, or correct it, by its ID: a cause, a lesson, a note, any of its fields.

    Fields that are not given stay as they are.
    """,
)


def forget_command(parent: click.Group, help_text: str) -> None:
    """Add the command that forgets records by their ids."""

    def run(invocation: Invocation, arguments: Json) -> None:
        answered = ask(invocation, REMEMBER, {**arguments, "action": FORGET})
        report(invocation, answered.envelope, [], message=answered.text)

    run.__doc__, ids = help_text, {"ids": "ID..."}
    operation_command(REMEMBER, FORGET, parent, shows="what was forgotten", only=("ids", "for_good"), positional=ids)(
        run
    )


forget_command(experience_command, "Forget experiences, active ones too. Values that rest on them lose this evidence.")
_add(
    LIST,
    """List experiences, newest first, active ones too.

    Active ones of other sessions than --session are marked: they were started and never resolved.
    """,
)
_add(actions.SHOW, "Show one experience with its history and notes; without ID the active one.")


SHOWN_MEMBERS = 10
"""Members of a group shown in the text; `--json` has all."""


@group("values")
def values_command() -> None:
    """Find and keep the lessons that several experiences share.

    `cluster` groups the experiences of an axis, `propose` names a lesson for each group, `accept` keeps one as a value.
    A value is rejected if it is further from the centre of its group than the lessons of the members are.
    """


@command("cluster", values_command, shows="the groups")
@click.option("--axis", metavar="A", help=f"Only one axis: {', '.join(Axis)}.")
def cluster(invocation: Invocation, *, axis: str | None) -> int:
    """Group the experiences again; groups that persist keep their ids.

    Experiences are grouped by meaning if there are vectors, else by the words that they share, and the answer says
    which. "Not enough structure" is an answer too.
    """
    with Interrupt() as interrupt, opened(invocation) as satchel:
        with Watch() as progress:
            filled = satchel.embed(progress=progress, should_stop=interrupt.requested)
        if interrupt.requested():
            return interrupt.exit_code
        groupings = satchel.values.cluster(axis)
    if filled.failure is not None:
        streams.failure(filled.failure, color=invocation.color)
    lines = (line for grouping in groupings for line in grouping_lines(grouping))
    report(invocation, {"axes": many(GROUPING).data(groupings)}, lines)
    return 0


@command("show", values_command, shows="the group with its members, or the value")
@click.argument("identity", metavar="ID")
def show_value(invocation: Invocation, identity: str) -> None:
    """Show a group with its members, the most central first, or a value with its evidence."""
    with opened(invocation) as satchel:
        values = satchel.values
        if values.is_value(identity):
            value = values.get(identity)
            report(invocation, ACCEPTED.data(value), value_lines(value))
            return
        group, members = values.find(identity), values.members(identity)
    rows = many(MEMBER).data(members)
    lines = [f"  {member.id}  {member.similarity:.2f}  {line(member.text)}" for member in members[:SHOWN_MEMBERS]]
    data = {"cluster": {"id": group.id, "axis": group.axis, "size": len(rows), "members": rows}}
    report(invocation, data, [f"{group.id}  {len(members)} experiences", *lines])
    if len(members) > SHOWN_MEMBERS and not invocation.as_json:
        streams.note(f"{len(members) - SHOWN_MEMBERS} more members: --json shows all", color=invocation.color)


@operation_command(PROPOSALS, "propose", values_command, shows="the proposals")
def propose(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Propose a value for each group: what most members say, in the words of one of them or of a model."""
    answered = ask(invocation, PROPOSALS, arguments)
    lines = (
        f"{proposal.cluster.id}  {len(proposal.cluster.members)}  "
        f"{line(proposal.shown or '(mixed: no three members say the same)')}"
        for proposal in answered.subject
    )
    nothing = "there are no groups yet: `satchel values cluster` finds them"
    report(invocation, answered.envelope, lines, nothing=nothing)


@command("validate", values_command, shows="the distances")
@click.argument("text", nargs=-1, required=True, metavar="TEXT|-")
@click.option("--cluster", "cluster_id", required=True, metavar="ID", help="The group that it is measured against.")
def validate(invocation: Invocation, text: Sequence[str], *, cluster_id: str) -> int:
    """Measure a text against a group. Exits with status 1 if it would be rejected."""
    content = streams.read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        validation = satchel.values.validate(content, cluster_id)
    report(invocation, VALIDATION.data(validation), [validation_line(validation)])
    return 0 if validation.is_inside else 1


@command("accept", values_command, shows="the value")
@click.argument("text", nargs=-1, required=True, metavar="TEXT|-")
@click.option("--cluster", "cluster_id", required=True, metavar="ID", help="The group that is its evidence.")
def accept(invocation: Invocation, text: Sequence[str], *, cluster_id: str) -> None:
    """Keep a text as a value of a group, with the members that say it as its evidence."""
    content = streams.read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        value = satchel.values.accept(content, cluster_id)
        satchel.vectors.fill_quickly()
    report(invocation, ACCEPTED.data(value), [value.id])


@operation_command(VALUES, "list", values_command, shows="the values")
def list_values(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """List the values, newest first."""
    answered = ask(invocation, VALUES, arguments)
    lines = (f"{value.id}  {value.cluster_id}  {value.cluster_size}  {line(value.text)}" for value in answered.subject)
    report(invocation, answered.envelope, lines, nothing="there are no values yet: `satchel values propose` names some")


forget_command(values_command, "Forget values. Their groups and their evidence stay.")


def grouping_lines(grouping: Grouping) -> list[str]:
    """Return an axis and its groups, one per line."""
    if grouping.reason:
        return [f"{grouping.axis}: {grouping.reason}"]
    head = f"{grouping.axis}: {len(grouping.clusters)} groups of {grouping.entries} experiences, by {grouping.label}"
    return [head, *(f"  {cluster.id}  {len(cluster.members)}" for cluster in grouping.clusters)]


def validation_line(validation: Validation) -> str:
    """`inside: distance 0.236, at most 0.452 (mean 0.380 + half of 0.144)`."""
    verdict = "inside" if validation.is_inside else "outside"
    return (
        f"{verdict}: distance {validation.distance:.3f}, at most {validation.threshold:.3f} "
        f"(mean {validation.mean:.3f} + half of {validation.deviation:.3f})"
    )


def value_lines(value: Value) -> list[str]:
    """Return all fields of a value, one per line, then its text."""
    rows = [
        ("id", value.id),
        ("group", f"{value.cluster_id} ({value.cluster_size} experiences, by {value.label})"),
        ("similarity", f"{value.similarity_to_centroid:.2f} to the centre"),
        ("domains", _counts(value.domains)),
        ("strategies", _counts(value.strategies)),
        ("evidence", ", ".join(value.member_ids)),
        ("accepted", minute(value.created)),
    ]
    return [*(f"{label:<11} {text}" for label, text in rows if text), "", safe(value.text)]


def _counts(counts: Any) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if name)


def _bytes_of(stream: TextIO | None) -> IO[bytes]:
    """Return the bytes of a standard stream, or nowhere if it is closed."""
    return stream.buffer if stream is not None else Path(os.devnull).open("wb")
