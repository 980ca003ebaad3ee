"""Commands that run an operation: their options are made from its parameters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from satchel.cli.options import Command, Invocation, Run, command
from satchel.cli.streams import read_question
from satchel.errors import UsageError
from satchel.operations.operation import Operation, Parameter, Shape

CHECKED_BY_PARSER = frozenset({"format", "view", "purpose", "tokenizer"})
"""Arguments whose choices the parser checks; the engine checks all others and suggests near ones."""

_METAVARS = {Shape.COUNT: "N", Shape.NUMBER: "X", Shape.MOMENT: "TIME", Shape.OBJECT: "JSON", Shape.COUNTS: "TYPE=N"}
_TYPES: Mapping[Shape, Any] = {Shape.COUNT: int, Shape.NUMBER: float}


def operation_command(
    operation: Operation,
    name: str,
    parent: click.Group | None = None,
    *,
    shows: str,
    positional: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    needed: Sequence[str] = (),
    flags: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Run], Command]:
    """Return a decorator for a command with an option per parameter, limited by `only` and `without`.

    The function gets the present arguments, in the types of `operation.run`, and its own options. `positional` maps
    a name to its metavar: with `|-` its words become one text, which `-` reads from standard input; brackets make it
    optional. `needed` names further required parameters, `flags` other option names.
    """
    places, flags = positional or {}, flags or {}
    offered = [one for one in operation.parameters if one.name not in without and (only is None or one.name in only)]
    arguments = [_argument(one, places[one.name]) for one in sorted(
        (one for one in offered if one.name in places), key=lambda one: [*places].index(one.name))]  # fmt: skip
    options = [
        _option(one, flags.get(one.name, one.flags), is_needed=one.name in needed or one.is_required)
        for one in offered
        if one.name not in places
    ]

    def decorate(function: Run) -> Command:
        def run(invocation: Invocation, **values: Any) -> int | None:
            texts = {one.name for one in offered if places.get(one.name, "").rstrip("]").endswith("|-")}
            option_values = {one.name: values.pop(one.name) for one in offered}
            taken = {
                one.name: read_question(option_values[one.name], color=invocation.color)
                if one.name in texts
                else _value(one, option_values[one.name], is_listed=not flags.get(one.name, one.flags))
                for one in offered
                if option_values[one.name] not in (None, ())
            }
            return function(invocation, taken, **values)

        run.__doc__ = function.__doc__
        run.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        return command(name, parent, shows=shows, params=[*arguments, *options])(run)

    return decorate


def _argument(parameter: Parameter, metavar: str) -> click.Argument:
    is_list = parameter.shape is Shape.TEXTS or metavar.rstrip("]").endswith("|-")
    return click.Argument(
        [parameter.name], nargs=-1 if is_list else 1, required=not metavar.startswith("["), metavar=metavar
    )


def _option(parameter: Parameter, flags: Sequence[str], *, is_needed: bool) -> click.Option:
    shape, written = parameter.shape, list(flags) or [f"--{parameter.name.replace('_', '-')}"]
    help_text = _help(parameter)
    if shape is Shape.SWITCH:
        is_pair = parameter.default is not False
        spelled = [f"{flag}/--no-{flag[2:]}" for flag in written] if is_pair else written
        shown = f"{help_text[:-1]} (the default)." if parameter.default is True else help_text
        return click.Option([*spelled, parameter.name], is_flag=True, default=None, help=shown)
    is_chosen = bool(parameter.choices) and parameter.name in CHECKED_BY_PARSER
    kind = click.Choice(parameter.choices) if is_chosen else _TYPES.get(shape, str)
    metavar = _METAVARS.get(shape, "TEXT,..." if shape is Shape.TEXTS and not flags else "TEXT")
    bare: dict[str, Any] = {} if parameter.bare is None else {"is_flag": False, "flag_value": parameter.bare}
    return click.Option(
        [*written, parameter.name], type=kind, required=is_needed, help=help_text,
        metavar=None if is_chosen else f"[{metavar}]" if bare else metavar,
        multiple=shape in (Shape.TEXTS, Shape.COUNTS), **bare,
    )  # fmt: skip


def _help(parameter: Parameter) -> str:
    """Return the meaning without its action, and the choices unless the parser lists them."""
    head, _, rest = parameter.meaning.partition(": ")
    is_of_action = bool(rest) and head.split(", ")[0].islower() and parameter.meaning[0].islower()
    meaning = f"{rest[0].upper()}{rest[1:]}" if is_of_action else parameter.meaning
    if not parameter.choices or parameter.name in CHECKED_BY_PARSER:
        return meaning
    return f"{meaning} One of {', '.join(parameter.choices)}."


def _value(parameter: Parameter, value: Any, *, is_listed: bool) -> Any:
    """Return the argument of the operation for the text of an option."""
    if parameter.shape is Shape.TEXTS:
        return [name for text in value for name in text.split(",")] if is_listed else list(value)
    if parameter.shape is Shape.COUNTS:
        return dict(_count(parameter.name, text) for text in value)
    if parameter.shape is not Shape.OBJECT:
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        example = '{"path": "src/a.py"}'
        raise UsageError(f"{parameter.name} is no JSON ({error}): write it as '{example}'", parameter.name) from None


def _count(option: str, text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    if not count.strip().isdecimal():
        raise UsageError(f"{option} {text!r} says no number of tokens: write it as memories=300", option)
    return name.strip(), int(count)
