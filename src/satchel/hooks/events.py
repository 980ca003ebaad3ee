"""What happened in a session, in words of our own, whichever host told it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any

TEXT_CHARACTERS = 60_000
"""Of one text that a host sends, from its end: a prompt or an output of which more matters is not read by anybody."""

SESSION_CHARACTERS = 200
"""Of the id of a session: hosts give 36."""

MOST_FILES = 50
"""Files that one tool call names."""

_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_EXIT_CODE = re.compile(r"\b(?:exit(?:ed with)?(?: code| status)?|exit_code)[:= ]+(-?\d+)\b", re.IGNORECASE)


class Event(StrEnum):
    """The events that `satchel hook` takes."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    AFTER_TOOL = "after-tool"
    BEFORE_COMPACTION = "before-compaction"
    SESSION_END = "session-end"


class Start(StrEnum):
    """Why a session starts: it is new, goes on, was emptied, was shortened, or is a copy of another."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"
    FORK = "fork"


@dataclass(frozen=True, slots=True)
class Happening:
    """One event. `name` is the host's own word for it; texts are as they came, empty where there is none.

    `session` is the host's id of the conversation, `folder` where it works. `failed` says how a tool ended, None where
    the host does not say. `injects` says whether the host takes context at this event.
    """

    event: Event
    host: str
    name: str
    session: str = ""
    folder: str = ""
    transcript: str = ""
    prompt: str = ""
    attached: tuple[str, ...] = ()
    start: str = ""
    tool: str = ""
    command: str = ""
    files: tuple[str, ...] = ()
    output: str = ""
    failed: bool | None = None
    injects: bool = False


def snake(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same with `camelCase` keys as `snake_case`; where both are there, the one that was written so wins."""
    renamed = {_CAPITAL.sub(r"_\1", key).lower(): value for key, value in given.items()}
    return renamed | {key: value for key, value in given.items() if key in renamed}


def mapping(value: object) -> dict[str, Any]:
    """A mapping, also one that was sent as JSON in a text; empty for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return snake(value) if isinstance(value, Mapping) else {}


def sound(text: str) -> str:
    """A text that can be written: hosts cut between the halves of a character beyond the first 65,536."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def session_of(given: Mapping[str, Any], *names: str) -> str:
    """The id of a session; a digest of one that is no id."""
    session = first_text(given, *names)
    if len(session) <= SESSION_CHARACTERS and session.isprintable():
        return session
    return blake2b(session.encode(), digest_size=16).hexdigest()


def first_text(given: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds a text that says something, at most its last `TEXT_CHARACTERS`."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return sound(value[-TEXT_CHARACTERS:])
    return ""


def first_path(given: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """The first of these fields that holds a path, as the only one."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value and "\0" not in value:
            return (sound(value),)
    return ()


def output_of(response: object) -> str:
    """What a tool wrote: a text, or the texts of its streams in an object, in the order they are read."""
    if isinstance(response, str):
        inner = mapping(response)
        return output_of(inner) if inner else sound(response[-TEXT_CHARACTERS:])
    if isinstance(response, list):
        return "\n".join(filter(None, map(output_of, response)))[-TEXT_CHARACTERS:]
    given = snake(response) if isinstance(response, Mapping) else {}
    names = ("stdout", "stderr", "output", "aggregated_output", "text", "error", "error_message", "content", "result")
    texts = [output_of(given[name]) for name in names if isinstance(given.get(name), str | list | Mapping)]
    return "\n".join(filter(None, dict.fromkeys(texts)))[-TEXT_CHARACTERS:]


def has_failed(response: object) -> bool | None:
    """How a tool ended, by what its response says: None where it says nothing of it."""
    given = mapping(response)
    for name in ("exit_code", "return_code", "returncode", "code", "status_code"):
        if isinstance(given.get(name), int) and not isinstance(given[name], bool):
            return bool(given[name] != 0)
    for name in ("is_error", "failed"):
        if isinstance(given.get(name), bool):
            return bool(given[name])
    if isinstance(given.get("success"), bool):
        return not given["success"]
    if isinstance(response, str):
        found = _EXIT_CODE.search(response[:200])
        return found[1] != "0" if found else None
    return None
