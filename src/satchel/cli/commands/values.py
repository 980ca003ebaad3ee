"""`satchel values`: what experiences teach together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from satchel.calls.records import minute, safe
from satchel.calls.value_data import grouping_json, member_json, proposal_json, validation_json, value_json
from satchel.clean import clean_field
from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.progress import watch
from satchel.cli.question import read_question
from satchel.cli.session import opened
from satchel.vocabulary import Axis

if TYPE_CHECKING:
    from satchel.learn.entries import Grouping, Validation, Value

SHOWN_MEMBERS = 10
"""Of a group, on a screen; `--json` gives all."""

LINE_CHARACTERS = 100

AXIS_HELP = f"Only one axis: {', '.join(Axis)}."


@click.group("values", context_settings=HELP_OPTIONS)
@common_options
def command() -> None:
    """Find what experiences teach together, and keep it.

    `cluster` groups the experiences of an axis, `propose` names a lesson for each group, `accept` keeps one as a value.
    A value is refused where it lies further from the centre of its group than the lessons of the members do.
    """


@command.command("cluster")
@click.option("--axis", metavar="A", help=AXIS_HELP)
@json_option("the groups")
@common_options
@pass_invocation
def cluster(invocation: Invocation, *, axis: str | None, as_json: bool) -> int:
    """Group the experiences anew; groups that go on keep their ids.

    Experiences are grouped by meaning where vectors are made, else by the words that they share, and the answer says
    which. "Not enough structure" is an answer too.
    """
    with Interrupt() as interrupt, opened(invocation) as satchel:
        with watch(color=invocation.color) as progress:
            filled = satchel.embed(progress=progress, should_stop=interrupt.requested)
        if interrupt.requested():
            return interrupt.exit_code
        groupings = satchel.values.cluster(axis)
    if filled.failure is not None:
        streams.failure(filled.failure, color=invocation.color)
    if as_json:
        streams.write_json({"axes": [grouping_json(grouping) for grouping in groupings]})
        return 0
    for grouping in groupings:
        streams.write_line("\n".join(grouping_lines(grouping)))
    return 0


@command.command("show")
@click.argument("identity", metavar="ID")
@json_option("the group with its members, or the value")
@common_options
@pass_invocation
def show(invocation: Invocation, identity: str, *, as_json: bool) -> int:
    """Show a group with its members, the most central first, or a value with its evidence."""
    with opened(invocation) as satchel:
        values = satchel.values
        if values.is_value(identity):
            value = values.get(identity)
            if as_json:
                streams.write_json({"value": value_json(value)})
            else:
                streams.write_line("\n".join(value_lines(value)))
            return 0
        group, members = values.find(identity), values.members(identity)
    if as_json:
        rows = [member_json(member) for member in members]
        streams.write_json({"cluster": {"id": group.id, "axis": group.axis, "size": len(rows), "members": rows}})
        return 0
    streams.write_line(f"{group.id}  {len(members)} experiences")
    for member in members[:SHOWN_MEMBERS]:
        streams.write_line(f"  {member.id}  {member.similarity:.2f}  {_line(member.text)}")
    if len(members) > SHOWN_MEMBERS:
        streams.note(f"{len(members) - SHOWN_MEMBERS} more members: --json shows all", color=invocation.color)
    return 0


@command.command("propose")
@click.option("--cluster", "cluster_id", metavar="ID", help="Only for one group.")
@click.option("--axis", metavar="A", help=AXIS_HELP)
@json_option("the proposals")
@common_options
@pass_invocation
def propose(invocation: Invocation, *, cluster_id: str | None, axis: str | None, as_json: bool) -> int:
    """Propose a value for each group: the lesson of its most central member that fits."""
    with opened(invocation) as satchel:
        proposals = satchel.values.propose(cluster_id, axis)
    if as_json:
        streams.write_json({"proposals": [proposal_json(proposal) for proposal in proposals]})
        return 0
    for proposal in proposals:
        shown = _line(proposal.text) if proposal.text else "(no member says what it teaches)"
        streams.write_line(f"{proposal.cluster.id}  {len(proposal.cluster.members)}  {shown}")
    if not proposals:
        streams.note("there are no groups yet: `satchel values cluster` finds them", color=invocation.color)
    return 0


@command.command("validate")
@click.argument("text", nargs=-1, required=True, metavar="TEXT|-")
@click.option("--cluster", "cluster_id", required=True, metavar="ID", help="The group that it is measured against.")
@json_option("the distances")
@common_options
@pass_invocation
def validate(invocation: Invocation, text: Sequence[str], *, cluster_id: str, as_json: bool) -> int:
    """Measure a text against a group. Ends with 1 where it would be refused."""
    content = read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        found = satchel.values.validate(content, cluster_id)
    if as_json:
        streams.write_json(validation_json(found))
    else:
        streams.write_line(validation_line(found))
    return 0 if found.is_inside else 1


@command.command("accept")
@click.argument("text", nargs=-1, required=True, metavar="TEXT|-")
@click.option("--cluster", "cluster_id", required=True, metavar="ID", help="The group that the value rests on.")
@json_option("the value")
@common_options
@pass_invocation
def accept(invocation: Invocation, text: Sequence[str], *, cluster_id: str, as_json: bool) -> int:
    """Keep a text as a value of a group, with the members of the group as its evidence."""
    content = read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        value = satchel.values.accept(content, cluster_id)
        satchel.vectors.fill_quickly()
    if as_json:
        streams.write_json({"value": value_json(value)})
    else:
        streams.write_line(value.id)
    return 0


@command.command("list")
@click.option("--axis", metavar="A", help=AXIS_HELP)
@json_option("the values")
@common_options
@pass_invocation
def list_(invocation: Invocation, *, axis: str | None, as_json: bool) -> int:
    """List the values, newest first."""
    with opened(invocation) as satchel:
        values = satchel.values.listed(axis)
    if as_json:
        streams.write_json({"values": [value_json(value) for value in values]})
        return 0
    for value in values:
        streams.write_line(f"{value.id}  {value.cluster_id}  {value.cluster_size}  {_line(value.text)}")
    if not values:
        streams.note("there are no values yet: `satchel values propose` names candidates", color=invocation.color)
    return 0


@command.command("forget")
@click.argument("identity", metavar="ID")
@common_options
@pass_invocation
def forget(invocation: Invocation, identity: str) -> int:
    """Delete a value. Its group and its evidence stay."""
    with opened(invocation) as satchel:
        value = satchel.values.forget(identity)
    streams.say(f"forgotten: {_line(value.text)}", color=invocation.color)
    return 0


def _line(text: str) -> str:
    return clean_field(safe(text), LINE_CHARACTERS)


def grouping_lines(grouping: Grouping) -> list[str]:
    """An axis and its groups, one a line."""
    if grouping.reason:
        return [f"{grouping.axis}: {grouping.reason}"]
    head = f"{grouping.axis}: {len(grouping.clusters)} groups of {grouping.entries} experiences, by {grouping.label}"
    return [head, *(f"  {found.id}  {len(found.members)}" for found in grouping.clusters)]


def validation_line(found: Validation) -> str:
    """`inside: distance 0.236, at most 0.452 (mean 0.380 + half of 0.144)`."""
    verdict = "inside" if found.is_inside else "outside"
    return (
        f"{verdict}: distance {found.distance:.3f}, at most {found.threshold:.3f} "
        f"(mean {found.mean:.3f} + half of {found.deviation:.3f})"
    )


def value_lines(value: Value) -> list[str]:
    """A value with everything about it, one fact a line, then what it says."""
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
