"""Operations that need no question: premortem and brief, and what guides a situation."""

from __future__ import annotations

import time
from typing import Any

from satchel.calls import shapes
from satchel.calls.empty import NO_GUIDE, no_items
from satchel.calls.operation import Answered, Call, Operation
from satchel.calls.packing import (
    FORMAT,
    LIMIT_EACH,
    MAX_TOKENS,
    NOW,
    REFRESH,
    SESSION,
    SHOW_HANDLES,
    TOKENIZER,
)
from satchel.calls.parameters import Parameter, Shape
from satchel.envelope import context_envelope
from satchel.errors import UsageError
from satchel.types import Context
from satchel.vocabulary import Domain, Strategy, choices

PREMORTEM, BRIEF, AFTER_FAILURE = MODES = ("premortem", "brief", "after_failure")

_PACKING = ("max_tokens", "limit", "format", "tokenizer", "show_handles", "now", "session")

_SITUATION = ("tool", "params", "task", "intent", "files", "language", "error", "agent", "tags")

_NOTHING = {
    BRIEF: "nothing is remembered here yet: `remember` keeps what should be known",
    AFTER_FAILURE: "nothing here failed like this before, and the failure names no code of this folder",
}

_NEEDED = {PREMORTEM: "domain", AFTER_FAILURE: "failure"}
"""Mode -> the argument that it cannot do without."""

_MEANT_FOR = {"domain": PREMORTEM, "strategy": PREMORTEM, "failure": AFTER_FAILURE}


def _premortem(call: Call) -> Answered:
    engine, given = call.engine, call.given
    mode = _mode(given)
    options = call.chosen(*_PACKING)
    if mode == PREMORTEM:
        request, notes = engine.premortem_request(given["domain"], given.get("strategy"), **options), []
    else:
        request = engine.brief_request(given.get("failure"), **options)
        notes = call.refreshed() if mode == AFTER_FAILURE else []
    context = engine.answer(request, notes)
    kept = f"no experience of {given.get('domain')} failed here yet: keep them with `experience`"
    return Answered(context.text, context_envelope(context, request), _why_empty(context, _NOTHING.get(mode, kept)))


def _mode(given: dict[str, Any]) -> str:
    """The mode that was given. Raises UsageError for another one, and for what does not go with it."""
    mode: str = given.get("mode", PREMORTEM)
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose from {', '.join(MODES)}")
    needed = _NEEDED.get(mode)
    if needed is not None and needed not in given:
        known = f", one of {', '.join(choices(Domain))}" if needed == "domain" else ": the output of the command"
        raise UsageError(f"mode {mode} needs {needed}{known}")
    for name, meant in _MEANT_FOR.items():
        if name in given and meant != mode:
            raise UsageError(f"{name} says nothing to mode {mode}: leave it out, or give mode {meant}")
    return mode


def _why_empty(context: Context, nothing: str) -> tuple[str, ...]:
    return () if context.items else (no_items(context, nothing),)


def _situation_context(call: Call) -> Answered:
    given = call.given
    situation = call.chosen(*_SITUATION) | {"time": given.get("time", time.time())}
    context, request = call.engine.situation_answer(
        situation, context=given.get("context"), refresh=False, notes=call.refreshed(),
        **call.chosen("max_tokens", "limit", "format", "tokenizer", "now"),
    )  # fmt: skip
    return Answered(context.text, context_envelope(context, request), _why_empty(context, NO_GUIDE))


PREMORTEM_OPERATION = Operation(
    "premortem",
    "Premortem, brief, after a failure",
    "Recall what went wrong before: before work (premortem), at a session's start (brief), or after a failed test or "
    "command.",
    (
        Parameter("mode", Shape.TEXT, "premortem needs domain, after_failure needs failure.", choices=MODES,
                  default=PREMORTEM),
        Parameter("domain", Shape.TEXT, "The kind of work.", choices=tuple(choices(Domain))),
        Parameter("strategy", Shape.TEXT, "How it is gone about.", choices=tuple(choices(Strategy))),
        Parameter("failure", Shape.TEXT, "The output of the command that failed."),
        MAX_TOKENS,
        LIMIT_EACH,
        FORMAT,
        SESSION,
        SHOW_HANDLES,
        TOKENIZER,
        NOW,
        REFRESH,
    ),
    _premortem,
    shapes.CONTEXT,
)  # fmt: skip

SITUATION_CONTEXT = Operation(
    "situation_context",
    "Rules and history for a situation",
    "Pack the project's instructions, rules and history that apply to what you are about to do: a tool call, files, "
    "an error.",
    (
        Parameter("task", Shape.TEXT, "What is to be done."),
        Parameter("files", Shape.TEXTS, "The files that it is about, relative to the root."),
        Parameter("tool", Shape.TEXT, "The tool that is about to run, as in edit_file."),
        Parameter("params", Shape.OBJECT, "Its parameters."),
        Parameter("intent", Shape.TEXT, "What it is done for."),
        Parameter("error", Shape.TEXT, "The error that came up."),
        Parameter("language", Shape.TEXT, "By default that of the files."),
        Parameter("agent", Shape.TEXT, "Who does it."),
        Parameter("tags", Shape.TEXTS, "Words that rules may ask for."),
        Parameter("context", Shape.TEXT, "The folder of the current context.yaml."),
        Parameter("time", Shape.MOMENT, "The moment, for rules about the time of day (now).", is_rare=True),
        MAX_TOKENS,
        LIMIT_EACH,
        FORMAT,
        TOKENIZER,
        NOW,
        REFRESH,
    ),
    _situation_context,
    shapes.CONTEXT,
)
