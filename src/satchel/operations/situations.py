"""Operations without a question: premortem, brief, and the guidance for a situation."""

from __future__ import annotations

import time
from typing import Any

from satchel.errors import UsageError
from satchel.operations import json
from satchel.operations.ask import FORMAT, LIMIT_EACH, MAX_TOKENS, NOW, REFRESH, SESSION, SHOW_HANDLES, TOKENIZER
from satchel.operations.operation import Answered, Operation, OperationCall, Parameter, Shape, text
from satchel.operations.prose import NO_GUIDE, no_items
from satchel.vocabulary import Domain, Strategy, choices

PREMORTEM, BRIEF, AFTER_FAILURE = MODES = ("premortem", "brief", "after_failure")

_NEEDED = {PREMORTEM: "domain", AFTER_FAILURE: "failure"}
"""Mode -> its required argument."""

_MODE_OF_ARGUMENT = {"domain": PREMORTEM, "strategy": PREMORTEM, "failure": AFTER_FAILURE}

_PACKING = (MAX_TOKENS, LIMIT_EACH, FORMAT, SESSION, SHOW_HANDLES, TOKENIZER, NOW)

_SITUATION = (
    text("task", "What is to be done."),
    Parameter("files", Shape.TEXTS, "The files that it is about, relative to the root."),
    text("tool", "The tool that is about to run, as in edit_file."),
    Parameter("params", Shape.OBJECT, "Its parameters."),
    text("intent", "What it is done for."),
    text("error", "The error that came up."),
    text("language", "By default that of the files."),
    text("agent", "Who does it."),
    Parameter("tags", Shape.TEXTS, "Words that rules may ask for.", flags=("--tag",)),
)
_GUIDED_PACKING = (MAX_TOKENS, LIMIT_EACH, FORMAT, SESSION, TOKENIZER, NOW)


def _premortem(call: OperationCall) -> Answered:
    engine, arguments, spelling = call.engine, call.arguments, call.caller.spelling
    mode = _mode(arguments)
    options = call.chosen([one.name for one in _PACKING])
    if mode == PREMORTEM:
        request, notes = engine.premortem_request(arguments["domain"], arguments.get("strategy"), **options), []
    else:
        request = engine.brief_request(arguments.get("failure"), **options)
        notes = call.refreshed() if mode == AFTER_FAILURE else []
    context = engine.answer(request, notes)
    nothing = {
        PREMORTEM: f"no experience of {arguments.get('domain')} failed here yet: keep them with {spelling.experience}",
        BRIEF: f"nothing is remembered here yet: {spelling.remember} keeps what should be known",
        AFTER_FAILURE: "nothing here failed like this before, and the failure names no code of this folder",
    }
    why_empty = no_items(context, nothing[mode], spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


def _mode(arguments: dict[str, Any]) -> str:
    """Return the mode. Raises UsageError for an unknown one, and for arguments of another mode."""
    mode: str = arguments.get("mode", PREMORTEM)
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose from {', '.join(MODES)}")
    needed = _NEEDED.get(mode)
    if needed is not None and needed not in arguments:
        values = f", one of {', '.join(choices(Domain))}" if needed == "domain" else ": the output of the command"
        raise UsageError(f"mode {mode} needs {needed}{values}")
    for name, owner in _MODE_OF_ARGUMENT.items():
        if name in arguments and owner != mode:
            raise UsageError(f"{name} says nothing to mode {mode}: leave it out, or give mode {owner}", name)
    return mode


def _situation_context(call: OperationCall) -> Answered:
    arguments = call.arguments
    situation = call.chosen([one.name for one in _SITUATION]) | {"time": arguments.get("time", time.time())}
    context, request = call.engine.situation_answer(
        situation, context=arguments.get("context"), refresh=False, notes=call.refreshed(),
        **call.chosen([one.name for one in _GUIDED_PACKING]),
    )  # fmt: skip
    why_empty = no_items(context, NO_GUIDE, call.caller.spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


PREMORTEM_OPERATION = Operation(
    "premortem",
    "Premortem, brief, after a failure",
    "Recall what went wrong before: before work (premortem), at a session's start (brief), or after a failed test or "
    "command.",
    (
        text("mode", "premortem needs domain, after_failure needs failure.", MODES, default=PREMORTEM),
        text("domain", "The kind of work.", choices(Domain)),
        text("strategy", "How it is gone about.", choices(Strategy)),
        text("failure", "The output of the command that failed.", flags=("--after-failure",)),
        *_PACKING,
        REFRESH,
    ),
    _premortem,
    json.CONTEXT.schema,
)

SITUATION_CONTEXT = Operation(
    "situation_context",
    "Rules and history for a situation",
    "Pack the project's instructions, rules and history that apply to what you are about to do: a tool call, files, "
    "an error.",
    (
        *_SITUATION,
        text("context", "The folder of the current context.yaml."),
        Parameter("time", Shape.MOMENT, "The moment, for rules about the time of day (now).", is_rare=True),
        *_GUIDED_PACKING,
        REFRESH,
    ),
    _situation_context,
    json.CONTEXT.schema,
)
