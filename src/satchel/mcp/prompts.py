"""Prompts and resources over MCP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from mcp import types

from satchel.errors import UsageError
from satchel.operations.ask import CONTEXT_QUERY, DOCUMENT, EXPAND
from satchel.operations.operation import Answered, Operation
from satchel.operations.situations import AFTER_FAILURE, PREMORTEM, PREMORTEM_OPERATION
from satchel.vocabulary import Domain, Strategy, choices

MIME_TYPE = "text/markdown"

LONGEST_URI = 4_000
"""Characters of a URI: a path has at most 4,096 bytes, and hardly any comes near that."""

TEMPLATES = types.ListResourceTemplatesResult(
    resource_templates=[
        types.ResourceTemplate(
            name="document",
            title="A document",
            uri_template="satchel://document/{+id}",
            description="All of a file, definition, commit, memory, experience or note, by the id that `search` gives.",
            mime_type=MIME_TYPE,
        ),
        types.ResourceTemplate(
            name="handle",
            title="What a handle stands for",
            uri_template="satchel://handle/{handle}",
            description="All of what an answer showed in part or left out, by its 8-character handle.",
            mime_type=MIME_TYPE,
        ),
    ]
)

RESOURCE_TOKENS = 20_000
"""Largest resource: below the limit of hosts. Longer ones are cut, with a handle for the rest."""

_URI = re.compile(r"satchel://(document|handle)/(.+)", re.DOTALL)


def parsed(uri: str) -> tuple[Operation, Mapping[str, Any]] | None:
    """Return the operation that reads a URI, with its arguments; None for an unknown URI."""
    match = _URI.fullmatch(uri) if len(uri) <= LONGEST_URI else None
    if match is None:
        return None
    named = unquote(match[2])
    operation, arguments = (DOCUMENT, {"id": named}) if match[1] == "document" else (EXPAND, {"handles": [named]})
    return operation, {**arguments, "max_tokens": RESOURCE_TOKENS}


def not_found(uri: str) -> str:
    """Return the message for missing, forbidden and unknown URIs, which must not differ."""
    shown = uri if len(uri) <= 100 else f"{uri[:100]}..."
    return f"there is no resource {shown!r}: `search` gives ids for satchel://document/ID, answers give handles"


def contents(uri: str, text: str) -> types.ReadResourceResult:
    """Return the text of a resource."""
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=MIME_TYPE, text=text)], ttl_ms=0, cache_scope="private"
    )


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: its operation, the fixed arguments, and the arguments that a person fills in (name, meaning).

    Only the first argument is required. `lead` precedes the text of the answer.
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
    """Return all prompts."""
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


def arguments_of(prompt: Prompt, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of the operation. Raises UsageError for one that is unknown or missing."""
    names = [name for name, _ in prompt.arguments]
    for name in values:
        if name not in names:
            raise UsageError(f"prompt {prompt.name} has no argument {name!r}: choose from {', '.join(names)}")
    filled = {name: text for name, text in values.items() if text.strip()}
    if names[0] not in filled:
        raise UsageError(f"prompt {prompt.name} needs {names[0]}: {prompt.arguments[0][1]}")
    return {**prompt.fixed, **filled}


def message_of(prompt: Prompt, values: Mapping[str, str], answered: Answered) -> types.GetPromptResult:
    """Return the prompt with the text of the answer, or its notes if the text is empty."""
    text = "\n\n".join([prompt.lead.format(**values), answered.text or "; ".join(answered.notes)])
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=prompt.description, messages=[message])
