"""`satchel values`: find and keep the lessons that several experiences share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.commands.remember import forget_command
from satchel.cli.options import Invocation, command, group, operation_command
from satchel.cli.session import Interrupt, Watch, ask, opened, report
from satchel.codec import many
from satchel.operations.json import line, minute, safe
from satchel.operations.records import ACCEPTED, GROUPING, MEMBER, VALIDATION
from satchel.operations.remember import PROPOSALS, VALUES
from satchel.vocabulary import Axis

if TYPE_CHECKING:
    from satchel.memory.model import Grouping, Validation, Value

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
    """Propose a value for each group: the lesson of a member that is nearest to the centre."""
    answered = ask(invocation, PROPOSALS, arguments)
    lines = (
        f"{one.cluster.id}  {len(one.cluster.members)}  {line(one.text or '(mixed: no lesson fits three members)')}"
        for one in answered.subject
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
    """Keep a text as a value of a group, with the members of the group as its evidence."""
    content = streams.read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        value = satchel.values.accept(content, cluster_id)
        satchel.vectors.fill_quickly()
    report(invocation, ACCEPTED.data(value), [value.id])


@operation_command(VALUES, "list", values_command, shows="the values")
def list_values(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """List the values, newest first."""
    answered = ask(invocation, VALUES, arguments)
    lines = (f"{one.id}  {one.cluster_id}  {one.cluster_size}  {line(one.text)}" for one in answered.subject)
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
