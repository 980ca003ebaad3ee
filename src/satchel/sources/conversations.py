"""Conversations as exchanges: what somebody said, what was answered, and in short what was done.

An exchange is the unit that is stored: short enough to be found for one thing, long enough to be understood alone.
Everything here is text from outside; the caller cleans and redacts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from satchel import text as words

SAID_CHARACTERS = 16_384
"""Kept of one prompt or one reply: what is longer is a pasted file, not something that somebody said."""

MOST_ACTIONS = 40
"""Tool calls listed for one exchange; a longer run repeats itself."""

TITLE_CHARACTERS = 80

ASKS = "?asks"
"""The term that marks an exchange which ends with a question; no word of a text is spelled like this."""


@dataclass(frozen=True, slots=True)
class Action:
    """One use of a tool, in short: what was called with what, and what came back."""

    tool: str
    argument: str
    result: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """Something said and what came of it; or, with a `speaker`, one turn of a conversation between people.

    `session` names the conversation and `id` the exchange in it; `time` is in seconds (UTC). `compaction` marks a
    summary of what was said before, written by a program. `branch` is the branch that was checked out, `folder` the
    folder that was worked in.
    """

    session: str
    id: str
    time: float
    said: str
    replies: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    speaker: str = ""
    branch: str = ""
    folder: str = ""
    compaction: bool = False
    sidechain: bool = False

    @property
    def key(self) -> str:
        """`SESSION/20260501T103000.250-1a2b3c4d`: the keys of a session sort by time."""
        seconds, milliseconds = divmod(round(self.time * 1000), 1000)
        moment = datetime.fromtimestamp(seconds, UTC)
        return f"{self.session}/{moment:%Y%m%dT%H%M%S}.{milliseconds:03d}-{self.id[:ID_CHARACTERS]}"

    @property
    def asks(self) -> bool:
        """Whether it ends with a question that is not answered in it."""
        return not self.replies and without_pictures(self.said).rstrip().endswith("?")


ID_CHARACTERS = 8
"""Of an exchange's id in its key: with the millisecond before it, enough to be unique in a session."""


def without_pictures(said: str) -> str:
    """What was said without the notes on pictures in square brackets at its end."""
    said = said.rstrip()
    while said.endswith("]") and "[" in said:
        said = said[: said.rindex("[")].rstrip()
    return said


def shown_text(exchange: Exchange) -> str:
    """An exchange as text: who said what, then the tools that were used, one a line."""
    who = exchange.speaker or ("Summary of what was said before" if exchange.compaction else "User")
    blocks = [f"{who}: {shortened(exchange.said.strip(), SAID_CHARACTERS)}"] if exchange.said.strip() else []
    reply = "\n\n".join(reply.strip() for reply in exchange.replies if reply.strip())
    if reply:
        blocks.append(f"Assistant: {shortened(reply, SAID_CHARACTERS)}")
    if exchange.actions:
        lines = [_action_line(action) for action in exchange.actions[:MOST_ACTIONS]]
        if len(exchange.actions) > MOST_ACTIONS:
            lines.append(f"- [{len(exchange.actions) - MOST_ACTIONS} more]")
        blocks.append("\n".join(["Tools:", *lines]))
    return "\n\n".join(blocks)


def _action_line(action: Action) -> str:
    called = f"- {action.tool}" + (f" {action.argument}" if action.argument else "")
    if not action.result and not action.failed:
        return called
    outcome = "failed" if action.failed else "gave"
    return f"{called}\n  {outcome}: {action.result}" if action.result else f"{called}\n  {outcome}"


def shortened(text: str, limit: int) -> str:
    """A text of about `limit` characters at most: its beginning and its end, with a note of what is left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head].rstrip()} [... {len(text) - head - tail:,} characters left out ...] {text[-tail:].lstrip()}"


def title_of(exchange: Exchange) -> str:
    """The beginning of what was said, on one line."""
    said = " ".join(exchange.said.split())
    return said if len(said) <= TITLE_CHARACTERS else said[: TITLE_CHARACTERS - 1].rstrip() + "…"


def searched_terms(time: float, branch: str, *, asks: bool) -> dict[str, int]:
    """Terms by which an exchange is found beside its text: the date in words, its branch, and whether it asks."""
    moment = datetime.fromtimestamp(time, UTC)
    terms = words.count_terms(words.words(f"{moment.day} {moment:%B %Y} {branch}"))
    return terms | {ASKS: 1} if asks else terms
