"""`satchel memory`: what is remembered from one session to the next."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from satchel.calls.records import (
    forgotten_data,
    found_json,
    memory_json,
    memory_line,
    memory_text,
    remark_line,
    stored_data,
)
from satchel.clean import clean_field
from satchel.cli import streams
from satchel.cli.filters import MEMORY_FILTERS, filter_options, given_filters
from satchel.cli.moment import parse_moment
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.question import read_question
from satchel.cli.session import opened
from satchel.errors import UsageError
from satchel.vocabulary import DEFAULT_IMPORTANCE, MemoryCategory, Provenance

if TYPE_CHECKING:
    from satchel.learn.entries import Memory, Remark, Remembered

DEFAULT_LIMIT = 20
"""Rows: what fits on a screen."""

DEFAULT_MATCHES = 10

Function = TypeVar("Function", bound=Callable[..., Any])


@click.group("memory", context_settings=HELP_OPTIONS)
@common_options
def command() -> None:
    """Remember, find, replace and forget what is true for long.

    Memories belong to the repository they are made in, and are found in all of its work trees; with --everywhere they
    are found from any folder. They are kept in one file (`satchel config path`) that no other command removes.
    """


def add_options(function: Function) -> Function:
    """The options of a new memory, for `memory add` and `remember`."""
    for option in reversed(
        (
            click.argument("text", nargs=-1, required=True, metavar="TEXT|-"),
            click.option("--category", default="fact", metavar="C", help=f"One of {', '.join(MemoryCategory)}."),
            click.option("--importance", type=float, default=DEFAULT_IMPORTANCE, show_default=True, metavar="0..1",
                         help="How much it matters."),
            click.option("--tag", "tags", multiple=True, metavar="T", help="A word to find it by; may be repeated."),
            click.option("--provenance", default="user", metavar="P",
                         help=f"Who says it: one of {', '.join(Provenance)}."),
            click.option("--origin", default="", metavar="O", help="Where it comes from, to forget all of it at once."),
            click.option("--everywhere", is_flag=True, help="For every folder, not only for this repository."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


@command.command("add")
@add_options
@json_option("the memory and what it resembles")
@common_options
@pass_invocation
def add(invocation: Invocation, /, text: Sequence[str], *, as_json: bool, **options: Any) -> int:
    """Remember something.

    TEXT is one thing in a sentence or a few; `-` reads it from standard input. What already says nearly the same is
    named, and both are kept.
    """
    return remember(invocation, text, as_json=as_json, **options)


def remember(invocation: Invocation, text: Sequence[str], *, as_json: bool, **options: Any) -> int:
    """Store a memory and say so."""
    content = read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        stored = satchel.memories.add(content, **options)
    _say_stored(stored, as_json=as_json, color=invocation.color)
    return 0


def _say_stored(stored: Remembered, *, as_json: bool, color: str) -> None:
    if as_json:
        streams.write_json(stored_data(stored))
        return
    streams.write_line(stored.memory.id)
    for found in stored.similar:
        streams.note(f"{found.memory.id} says nearly the same ({found.score:.2f}): "
                     f"{clean_field(found.memory.content, 100)}", color=color)  # fmt: skip
    if stored.similar:
        streams.say(
            f"to keep only the new one: satchel memory forget {stored.similar[0].memory.id}", color=color, dim=True
        )


@command.command("search")
@click.argument("question", nargs=-1, required=True, metavar="QUESTION|-")
@filter_options(MEMORY_FILTERS)
@click.option("-n", "--limit", type=int, default=DEFAULT_MATCHES, metavar="N", help="At most so many.")
@json_option("the memories with their relevance")
@common_options
@pass_invocation
def search(invocation: Invocation, /, question: Sequence[str], *, limit: int, as_json: bool, **options: Any) -> int:
    """List the memories that answer a question, best first."""
    text = read_question(question, color=invocation.color)
    filters = given_filters(options)
    with opened(invocation) as satchel:
        found = satchel.memories.search(text, limit=limit, **filters)
    if as_json:
        streams.write_json({"memories": [found_json(row) for row in found]})
        return 0
    for row in found:
        streams.write_line(memory_line(row.memory, f"{row.score:.2f}"))
    if not found:
        streams.note("nothing that is remembered here matches", color=invocation.color)
    return 0


@command.command("list")
@click.option("--category", metavar="C", help=f"Only of one category: {', '.join(MemoryCategory)}.")
@click.option("--tag", metavar="T", help="Only with this tag.")
@click.option("--provenance", metavar="P", help=f"Only from one of {', '.join(Provenance)}.")
@click.option("--origin", metavar="O", help="Only from this origin.")
@click.option("--since", metavar="TIME", help="Only newer ones: a date, a date with time, or epoch seconds.")
@click.option("--superseded", is_flag=True, help="Also those that were replaced.")
@click.option("-n", "--limit", type=int, default=DEFAULT_LIMIT, metavar="N", help="At most so many.")
@json_option("the memories")
@common_options
@pass_invocation
def list_(invocation: Invocation, /, *, since: str | None, as_json: bool, **filters: Any) -> int:
    """List what is remembered, newest first."""
    moment = parse_moment(since, "--since") if since is not None else None
    with opened(invocation) as satchel:
        memories = satchel.memories.listed(since=moment, **filters)
    if as_json:
        streams.write_json({"memories": [memory_json(memory) for memory in memories]})
        return 0
    for memory in memories:
        streams.write_line(memory_line(memory))
    if not memories:
        streams.note("nothing is remembered here", color=invocation.color)
    return 0


@command.command("show")
@click.argument("identity", metavar="ID")
@json_option("the memory")
@common_options
@pass_invocation
def show(invocation: Invocation, identity: str, *, as_json: bool) -> int:
    """Show one memory with everything about it, a replaced one too."""
    with opened(invocation) as satchel:
        memory = satchel.memories.get(identity)
    if as_json:
        streams.write_json(memory_json(memory))
    else:
        streams.write(memory_text(memory))
    return 0


@command.command("supersede")
@click.argument("identity", metavar="ID")
@click.argument("text", nargs=-1, required=True, metavar="TEXT|-")
@click.option("--importance", type=float, metavar="0..1", help="How much it matters; by default as much as before.")
@json_option("the new memory")
@common_options
@pass_invocation
def supersede(
    invocation: Invocation, identity: str, text: Sequence[str], *, importance: float | None, as_json: bool
) -> int:
    """Replace a memory by what is true now.

    The old one is kept and linked, and is shown only where it is asked for by its id.
    """
    content = read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        stored = satchel.memories.supersede(identity, content, importance=importance)
    _say_stored(stored, as_json=as_json, color=invocation.color)
    return 0


@command.command("forget")
@click.argument("identities", nargs=-1, metavar="[ID]...")
@click.option("--origin", metavar="O", help="Everything here from this origin, conversations too.")
@click.option("--query", metavar="QUESTION", help="What matches a question, after a preview.")
@click.option("-n", "--limit", type=int, default=DEFAULT_MATCHES, metavar="N", help="Of a --query at most so many.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option("what was forgotten, or would be")
@common_options
@pass_invocation
def forget(
    invocation: Invocation,
    identities: Sequence[str],
    *,
    origin: str | None,
    query: str | None,
    limit: int,
    yes: bool,
    as_json: bool,
) -> int:
    """Remove memories for good, by id, by origin or by a question.

    The older ones that they replaced go with them, and with an origin the conversations that came from it. What an
    origin or a question chooses is listed first, and is removed after a yes, or with --yes.
    """
    if sum((bool(identities), origin is not None, query is not None)) != 1:
        raise UsageError("say what to forget: ids, --origin or --query, one of them")
    said: Sequence[Remark] = ()
    with opened(invocation) as satchel:
        memories = satchel.memories
        if origin is not None:
            identities = [memory.id for memory in memories.listed(origin=origin, superseded=True)]
            said = satchel.conversations.listed(origin=origin)
        elif query is not None:
            identities = [found.memory.id for found in memories.search(query, limit=limit)]
        chosen = memories.with_replaced(identities)
        is_agreed = not (chosen or said) or yes or (origin is None and query is None)
        if not is_agreed:
            is_agreed = not as_json and _asked(chosen, said, invocation.color)
        if is_agreed and chosen:
            memories.forget([memory.id for memory in chosen])
        if is_agreed and said:
            satchel.conversations.forget([remark.id for remark in said])
    _say_forgotten(chosen, said, done=is_agreed, as_json=as_json, color=invocation.color)
    return 0


def _asked(chosen: Sequence[Memory], said: Sequence[Remark], color: str) -> bool:
    """Show what would go and ask a person; where none looks, nothing goes."""
    for line in (*map(memory_line, chosen), *map(remark_line, said)):
        streams.say(line, color=color)
    if not streams.is_terminal(sys.stdin):
        return False
    return click.confirm(f"forget these {len(chosen) + len(said)}?", err=True)


def _say_forgotten(chosen: Sequence[Memory], said: Sequence[Remark], *, done: bool, as_json: bool, color: str) -> None:
    ids = [*(memory.id for memory in chosen), *(remark.id for remark in said)]
    if as_json:
        streams.write_json(forgotten_data(chosen, said, done=done))
    elif not ids:
        streams.note("nothing was chosen, nothing is forgotten", color=color)
    elif done:
        for identity in ids:
            streams.write_line(clean_field(identity))
        streams.say(f"forgot {len(ids)}", color=color)
    else:
        streams.note(f"nothing was forgotten: add --yes to forget these {len(ids)}", color=color)
