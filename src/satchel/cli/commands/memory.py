"""`satchel memory` and `satchel remember`: what is remembered from one session to the next."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from satchel.cli import streams
from satchel.cli.operation_command import operation_command
from satchel.cli.options import Command, Invocation, command, group
from satchel.cli.session import ask, opened, show
from satchel.operations.json import memory_json
from satchel.operations.operation import Answered
from satchel.operations.prose import memory_text
from satchel.operations.remember import FORGET, LIST, MEMORY_ACTIONS, REMEMBER, STORE
from satchel.safety.sanitize import clean_field
from satchel.vocabulary import Provenance


@group("memory")
def memory_command() -> None:
    """Remember, find, replace and forget what is true for long.

    Memories belong to the repository they are made in, and are found in all of its work trees; with --everywhere they
    are found from any folder. They are kept in one file (`satchel config path`) that no other command removes.
    """


def _adding(name: str, parent: click.Group | None = None) -> Callable[[Any], Command]:
    return operation_command(
        REMEMBER, name, parent, shows="the memory and what it resembles", only=MEMORY_ACTIONS[STORE],
        without=("supersedes",), positional={"text": "TEXT|-"},
    )  # fmt: skip


@_adding("remember")
def remember_command(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Remember something, as `satchel memory add` does.

    TEXT is one thing in a sentence or a few; `-` reads it from standard input.
    """
    _store(invocation, {"provenance": str(Provenance.USER), **arguments})


@_adding("add", memory_command)
def add(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Remember something.

    TEXT is one thing in a sentence or a few; `-` reads it from standard input. What already says nearly the same is
    named, and both are kept.
    """
    _store(invocation, {"provenance": str(Provenance.USER), **arguments})


@operation_command(
    REMEMBER,
    "supersede",
    memory_command,
    shows="the new memory",
    only=("supersedes", "text", "importance"),
    positional={"supersedes": "ID", "text": "TEXT|-"},
)
def supersede(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Replace a memory by what is true now.

    The old one is kept and linked, and is shown only where it is asked for by its id. It matters as much as before
    unless --importance says otherwise.
    """
    _store(invocation, arguments)


def _store(invocation: Invocation, arguments: Mapping[str, Any]) -> None:
    answered = ask(invocation, REMEMBER, {**arguments, "action": STORE})
    if invocation.as_json:
        streams.write_json(answered.envelope)
        return
    streams.write_line(answered.text)
    similar = answered.subject.similar
    for match in similar:
        streams.note(f"{match.memory.id} says nearly the same ({match.score:.2f}): "
                     f"{clean_field(match.memory.content, 100)}", color=invocation.color)  # fmt: skip
    if similar:
        forget_it = f"satchel memory forget {similar[0].memory.id}"
        streams.say(f"to keep only the new one: {forget_it}", color=invocation.color, dim=True)


@operation_command(
    REMEMBER,
    "search",
    memory_command,
    shows="the memories with their relevance",
    only=("question", "category", "min_importance", "tags", "since", "until", "limit"),
    positional={"question": "QUESTION|-"},
)
def search(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """List the memories that answer a question, best first."""
    show(invocation, ask(invocation, REMEMBER, {**arguments, "action": LIST}))


@operation_command(
    REMEMBER, "list", memory_command, shows="the memories", only=MEMORY_ACTIONS[LIST], without=("question",)
)
def list_(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """List what is remembered, newest first."""
    answered = ask(invocation, REMEMBER, {**arguments, "action": LIST})
    show(invocation, Answered(answered.text, answered.envelope))
    if not answered.text and not invocation.as_json:
        streams.note("nothing is remembered here", color=invocation.color)


@command("show", memory_command, shows="the memory")
@click.argument("identity", metavar="ID")
def show_one(invocation: Invocation, *, identity: str) -> None:
    """Show one memory with everything about it, a replaced one too."""
    with opened(invocation) as satchel:
        memory = satchel.memories.get(identity)
    if invocation.as_json:
        streams.write_json(memory_json(memory))
    else:
        streams.write(memory_text(memory))


@operation_command(
    REMEMBER,
    "forget",
    memory_command,
    shows="what was forgotten, or would be",
    only=MEMORY_ACTIONS[FORGET],
    positional={"ids": "[ID]..."},
    flags={"question": ("--query",)},
)
def forget(invocation: Invocation, arguments: dict[str, Any]) -> None:
    """Remove memories for good, by id, by origin or by a question.

    The older ones that they replaced go with them, and with an origin the conversations that came from it. What an
    origin or a question chooses is listed first, and is removed after a yes, or with --yes.
    """
    selection = {**arguments, "action": FORGET}
    answered = ask(invocation, REMEMBER, selection)
    if not invocation.as_json and not answered.envelope["forgotten"] and _asked(answered, invocation.color):
        answered = ask(invocation, REMEMBER, {**selection, "confirm": True})
    if invocation.as_json:
        streams.write_json(answered.envelope)
    else:
        _say_forgotten(answered.subject, done=answered.envelope["forgotten"], color=invocation.color)


def _asked(preview: Answered, color: str) -> bool:
    """Show what would go and ask a person; where none looks, nothing goes."""
    streams.say(preview.text, color=color)
    if not streams.is_terminal(sys.stdin):
        return False
    return click.confirm(f"forget these {len(preview.subject)}?", err=True)


def _say_forgotten(ids: list[str], *, done: bool, color: str) -> None:
    if not ids:
        streams.note("nothing was chosen, nothing is forgotten", color=color)
    elif done:
        for identity in ids:
            streams.write_line(clean_field(identity))
        streams.say(f"forgot {len(ids)}", color=color)
    else:
        streams.note(f"nothing was forgotten: add --yes to forget these {len(ids)}", color=color)
