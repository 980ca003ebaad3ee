"""Prompts: what a person picks in a client, each the text of one operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp import types

from satchel.errors import UsageError
from satchel.operations.ask import CONTEXT_QUERY
from satchel.operations.operation import Answered, Operation
from satchel.operations.situations import AFTER_FAILURE, PREMORTEM, PREMORTEM_OPERATION
from satchel.vocabulary import Domain, Strategy, choices


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: the operation behind it, what it always says to it, and what a person fills in (name, meaning).

    The first argument is needed, the others are not. `lead` stands before the text.
    """

    name: str
    title: str
    description: str
    operation: Operation
    fixed: Mapping[str, Any]
    arguments: tuple[tuple[str, str], ...]
    lead: str


PROMPTS: Mapping[str, Prompt] = {
    one.name: one
    for one in (
        Prompt(
            "context",
            "Context for a task",
            "Put the code, docs, commits and memories that matter for a task into the conversation.",
            CONTEXT_QUERY,
            {},
            (("question", "The task or question."),),
            "Work on this with the context below: {question}",
        ),
        Prompt(
            "premortem",
            "What went wrong before",
            "Recall what went wrong before in this kind of work, before it begins.",
            PREMORTEM_OPERATION,
            {"mode": PREMORTEM},
            (
                ("domain", f"One of {', '.join(choices(Domain))}."),
                ("strategy", f"One of {', '.join(choices(Strategy))}."),
            ),
            "Keep in mind what went wrong before in {domain}, and say how you avoid it this time.",
        ),
        Prompt(
            "after_failure",
            "After a failure",
            "Recall what failed like this before, and where in the code it happened.",
            PREMORTEM_OPERATION,
            {"mode": AFTER_FAILURE},
            (("failure", "The output of the command that failed."),),
            "A command failed. Use what is known of failures like this one to find the cause.",
        ),
    )
}


def listed() -> types.ListPromptsResult:
    """All prompts."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=one.name,
                title=one.title,
                description=one.description,
                arguments=[
                    types.PromptArgument(name=name, description=meaning, required=number == 0)
                    for number, (name, meaning) in enumerate(one.arguments)
                ],
            )
            for one in PROMPTS.values()
        ]
    )


def arguments_of(prompt: Prompt, given: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of the operation. Raises UsageError for one that is unknown or missing."""
    known = [name for name, _ in prompt.arguments]
    for name in given:
        if name not in known:
            raise UsageError(f"prompt {prompt.name} has no argument {name!r}: choose from {', '.join(known)}")
    filled = {name: text for name, text in given.items() if text.strip()}
    if known[0] not in filled:
        raise UsageError(f"prompt {prompt.name} needs {known[0]}: {prompt.arguments[0][1]}")
    return {**prompt.fixed, **filled}


def message_of(prompt: Prompt, given: Mapping[str, str], answered: Answered) -> types.GetPromptResult:
    """The prompt with the text of the answer, or with the reason why there is none."""
    text = "\n\n".join([prompt.lead.format(**given), answered.text or "; ".join(answered.notes)])
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=prompt.description, messages=[message])
