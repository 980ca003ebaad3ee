"""Conversations and their transcripts, read into exchanges."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from satchel import text as words
from satchel.codec import Clean, json_object, read_time
from satchel.errors import UsageError

SAID_CHARACTERS = 16_384
"""Maximum characters of one prompt or one reply: a longer one contains a pasted file."""

MAX_ACTIONS = 40
"""Maximum tool calls listed for one exchange; a longer run repeats itself."""

TITLE_CHARACTERS = 80

ASKS = "?asks"
"""The term that marks an exchange which ends with a question; no word of a text is spelled like this."""


@dataclass(frozen=True, slots=True)
class Action:
    """One use of a tool: its name, its argument and its result, shortened."""

    tool: str
    argument: str
    result: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt with its replies and actions; or, with a `speaker`, one turn of a conversation between people.

    `session` names the conversation and `id` the exchange in it; `time` is in seconds (UTC). `compaction` marks a
    summary of the conversation before, written by a program. `branch` is the branch that was checked out, `folder` the
    working folder.
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
        """True if it ends with a question that is not answered in it."""
        return not self.replies and without_pictures(self.said).rstrip().endswith("?")


def time_of(key: str) -> float:
    """Return the time in the key of an exchange in seconds (UTC), 0 if it has none."""
    try:
        return datetime.strptime(f"{key.rpartition('/')[2][:19]}000+0000", "%Y%m%dT%H%M%S.%f%z").timestamp()
    except ValueError:
        return 0.0


ID_CHARACTERS = 8
"""Characters of an exchange's id in its key: unique in a session, together with the millisecond before them."""


def without_pictures(text: str) -> str:
    """Return a text without the notes on pictures in square brackets at its end."""
    text = text.rstrip()
    while text.endswith("]") and "[" in text:
        text = text[: text.rindex("[")].rstrip()
    return text


def shown_text(exchange: Exchange) -> str:
    """Return an exchange as text: each turn with its speaker, then the tools, one per line."""
    who = exchange.speaker or ("Summary of what was said before" if exchange.compaction else "User")
    blocks = [f"{who}: {shortened(exchange.said.strip(), SAID_CHARACTERS)}"] if exchange.said.strip() else []
    reply = "\n\n".join(reply.strip() for reply in exchange.replies if reply.strip())
    if reply:
        blocks.append(f"Assistant: {shortened(reply, SAID_CHARACTERS)}")
    if exchange.actions:
        lines = [_action_line(action) for action in exchange.actions[:MAX_ACTIONS]]
        if len(exchange.actions) > MAX_ACTIONS:
            lines.append(f"- [{len(exchange.actions) - MAX_ACTIONS} more]")
        blocks.append("\n".join(["Tools:", *lines]))
    return "\n\n".join(blocks)


def _action_line(action: Action) -> str:
    called = f"- {action.tool}" + (f" {action.argument}" if action.argument else "")
    if not action.result and not action.failed:
        return called
    outcome = "failed" if action.failed else "gave"
    return f"{called}\n  {outcome}: {action.result}" if action.result else f"{called}\n  {outcome}"


def shortened(text: str, limit: int) -> str:
    """Return a text of about `limit` characters at most: its beginning and its end, with a note of the omission."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head].rstrip()} [... {len(text) - head - tail:,} characters left out ...] {text[-tail:].lstrip()}"


def title_of(exchange: Exchange) -> str:
    """Return the beginning of the prompt, on one line."""
    text = " ".join(exchange.said.split())
    return text if len(text) <= TITLE_CHARACTERS else text[: TITLE_CHARACTERS - 1].rstrip() + "…"


def searched_terms(time: float, branch: str, *, asks: bool) -> dict[str, int]:
    """Return the terms of an exchange besides its text: the date in words, its branch, and `ASKS`."""
    moment = datetime.fromtimestamp(time, UTC)
    terms = words.count_terms(words.words(f"{moment.day} {moment:%B %Y} {branch}"))
    return terms | {ASKS: 1} if asks else terms


RESULT_CHARACTERS = 300
FAILURE_CHARACTERS = 1_000
"""Maximum characters of the argument and result of a tool call; a failure is longer, as it is searched for later."""

COMPACTED = "This session is being continued from a previous conversation"
"""The beginning of the turn that the program writes after a compaction."""

_NOT_SAID = re.compile(
    r"<(system-reminder|command-message|local-command-caveat|local-command-stdout|local-command-stderr)>.*?</\1>\s*",
    re.DOTALL,
)
_COMMAND = re.compile(r"<command-(?:name|args)>(.*?)</command-(?:name|args)>", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"
_TELLING_ARGUMENTS = ("command", "file_path", "path", "pattern", "query", "url", "description", "prompt", "skill")
"""The most informative arguments of a tool, in this order."""

_SAFE_SESSION = re.compile(r"[^\w.-]+", re.ASCII)
Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Transcript:
    """The exchanges of one file in order, ignored lines by type, and number and error of broken lines."""

    exchanges: tuple[Exchange, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)
    broken: tuple[tuple[int, str], ...] = ()


def read_transcript(lines: Iterable[bytes], name: str, *, clean: Clean, line_bytes: int) -> Transcript:
    """Read a transcript line by line. `name` is the session of lines without one.

    `clean` is applied to every text before it is shortened, because half of a secret is not recognised. A line
    longer than `line_bytes` is reported as broken, without being parsed.
    """
    reading = _Reading(name, clean)
    broken = []
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            reading.take(json_object(raw, line_bytes))
        except UsageError as error:
            broken.append((number, str(error)))
    return Transcript(reading.finished(), dict(sorted(reading.passed_over.items())), tuple(broken))


@dataclass(slots=True)
class _Open:
    """An unfinished exchange."""

    begun: Exchange
    replies: list[str] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    """Tool call id -> its place among the actions."""

    def finished(self) -> Exchange:
        return replace(self.begun, replies=tuple(self.replies), actions=tuple(self.actions))


class _Reading:
    """The state of reading one file: the open exchange of each session, and the chains of side lines."""

    def __init__(self, name: str, clean: Clean) -> None:
        self._name, self._clean = name, clean
        self._seen: set[str] = set()
        self._chain: dict[str, str] = {}
        self._open: dict[str, _Open] = {}
        self._done: list[Exchange] = []
        self._about: Mapping[str, Any] = {}
        self.passed_over: Counter[str] = Counter()

    def take(self, line: Line) -> None:
        """Process one line, of Claude Code or of a rollout of Codex."""
        kind = _text(line.get("type")) or "without type"
        if payload := _object(line.get("payload")):
            if kind == "session_meta":
                branch = _object(payload.get("git")).get("branch")
                self._about = {"sessionId": payload.get("id"), "cwd": payload.get("cwd"), "gitBranch": branch}
            line = {**self._about, **codex_line(line, payload)}
            kind = _text(line.get("type"))
        message = line.get("message")
        if kind not in {"user", "assistant"} or not isinstance(message, Mapping):
            self.passed_over[kind] += 1
            return
        uuid = _text(line.get("uuid"))
        if uuid in self._seen:
            self.passed_over["repeated"] += 1
            return
        if uuid:
            self._seen.add(uuid)
        session = self._session(line, uuid)
        blocks = _blocks(message.get("content"))
        if kind == "assistant":
            self._answer(session, line, blocks)
        else:
            self._hear(session, line, blocks, uuid)

    def finished(self) -> tuple[Exchange, ...]:
        """Return all exchanges, by session and time."""
        done = [*self._done, *(running.finished() for running in self._open.values())]
        return tuple(sorted(done, key=lambda exchange: exchange.key))

    def _session(self, line: Line, uuid: str) -> str:
        session = _safe(_text(line.get("sessionId")) or self._name)
        if line.get("isSidechain") is not True:
            return session
        parent = _text(line.get("parentUuid"))
        root = _text(line.get("agentId")) or self._chain.get(parent) or uuid[:ID_CHARACTERS] or "unknown"
        if uuid:
            self._chain[uuid] = root
        return f"{session}/side-{_safe(root)}"

    def _hear(self, session: str, line: Line, blocks: list[Line], uuid: str) -> None:
        """Process a line of the user: results of tools, or a prompt that begins an exchange."""
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            self._result(session, block)
        if line.get("isMeta") is True:
            self.passed_over["meta"] += 1
            return
        prompt = self._clean(_block_text(blocks))
        if not prompt:
            if not results:
                self.passed_over["user without text"] += 1
            return
        if prompt.startswith(_INTERRUPTED) and session in self._open:
            self._open[session].replies.append(prompt)
            return
        self._begin(session, line, prompt, uuid)

    def _begin(self, session: str, line: Line, prompt: str, uuid: str) -> None:
        earlier = self._open.pop(session, None)
        if earlier is not None:
            self._done.append(earlier.finished())
        time = _time(line.get("timestamp"))
        if earlier is not None:  # lines without a time, or of one moment, stay in the order of the file
            time = max(time, earlier.begun.time + 0.001)  # tick
        identity = uuid or hashlib.blake2b(f"{session} {time} {prompt}".encode(), digest_size=8).hexdigest()
        compaction = line.get("isCompactSummary") is True or prompt.startswith(COMPACTED)
        self._open[session] = _Open(
            Exchange(
                session=session,
                id=_safe(identity),
                time=time,
                said=prompt,
                branch=_text(line.get("gitBranch")),
                folder=_text(line.get("cwd")),
                compaction=compaction,
                sidechain=line.get("isSidechain") is True,
            )
        )

    def _answer(self, session: str, line: Line, blocks: list[Line]) -> None:
        running = self._open.get(session)
        if running is None:  # the file begins in the middle, or a sub-agent speaks first
            self._begin(session, line, "", _text(line.get("uuid")))
            running = self._open[session]
        for block in blocks:
            if block.get("type") == "text" and _text(block.get("text")).strip():
                running.replies.append(self._clean(_text(block.get("text"))))
            elif block.get("type") == "tool_use":
                running.places[_text(block.get("id"))] = len(running.actions)
                argument = shortened(self._clean(_argument(block.get("input"))), 200)
                running.actions.append(Action(_text(block.get("name")) or "tool", argument))

    def _result(self, session: str, block: Line) -> None:
        running = self._open.get(session)
        place = running.places.get(_text(block.get("tool_use_id"))) if running is not None else None
        if running is None or place is None:
            self.passed_over["result without its call"] += 1
            return
        failed = block.get("is_error") is True
        result = " ".join(self._clean(_block_text(_blocks(block.get("content")))).split())
        kept = shortened(result, FAILURE_CHARACTERS if failed else RESULT_CHARACTERS)
        running.actions[place] = replace(running.actions[place], result=kept, failed=failed)


def codex_line(line: Line, payload: Line) -> Line:
    """Return a line of a rollout of Codex as Claude Code writes it; one without a turn has no message."""
    kind = _text(payload.get("type"))
    content = next((read(payload) for end, read in _CODEX if kind.endswith(end)), [])
    if not content:
        return {"type": f"{_text(line.get('type'))} {kind}".strip()}
    is_said = payload.get("role") == "user" or kind.endswith("_output")
    is_meta = _text(content[0].get("text")).lstrip().startswith(_CODEX_META)
    return {"type": "user" if is_said else "assistant", "timestamp": line.get("timestamp"), "isMeta": is_meta,
            "message": {"content": content}}  # fmt: skip


def _codex_message(payload: Line) -> list[Line]:
    is_said = payload.get("role") in {"user", "assistant"}
    return [{**block, "type": "text"} for block in _blocks(payload.get("content"))] if is_said else []


def _codex_call(payload: Line) -> list[Line]:
    written = payload.get("arguments") or payload.get("input") or payload.get("action")
    command = _object(written).get("command") or _object(written).get("cmd") or written
    if isinstance(command, list):
        command = " ".join(map(str, command[-1:] if command[:1] in (["bash"], ["sh"], ["zsh"]) else command))
    use = {"type": "tool_use", "id": payload.get("call_id"), "name": payload.get("name") or "shell"}
    return [{**use, "input": {"command": _text(command)}}]


def _codex_result(payload: Line) -> list[Line]:
    given = _object(payload.get("output"))
    text = _text(given.get("output")) or _text(payload.get("output"))
    failed = bool(_object(given.get("metadata")).get("exit_code") or _EXIT.search(text))
    return [{"type": "tool_result", "tool_use_id": payload.get("call_id"), "is_error": failed, "content": text}]


_CODEX = (("_call_output", _codex_result), ("_call", _codex_call), ("message", _codex_message))
_EXIT = re.compile(r"(?:Exit code|exited with code):? [1-9]")
_CODEX_META = ("<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions")
"""Beginnings of texts that Codex writes itself with the role of the user."""


def _object(value: object) -> Line:
    """Return an object that may be written as JSON; empty for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _safe(name: str) -> str:
    """Return a name that can be part of a key."""
    return _SAFE_SESSION.sub("_", name)[:64] or "_"


def _blocks(content: object) -> list[Line]:
    """Return the blocks of a message's content, which may be plain text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _block_text(blocks: Iterable[Line]) -> str:
    """Return the text of blocks, without insertions of the program; pictures and files are named."""
    pieces = []
    for block in blocks:
        if block.get("type") == "text":
            text = _NOT_SAID.sub("", _text(block.get("text")))
            command = _COMMAND.findall(text)
            pieces.append(" ".join(command) if command else text)
        elif block.get("type") in {"image", "document"}:
            pieces.append(f"[{block['type']}]")
    return "\n".join(piece.strip() for piece in pieces if piece.strip())


def _argument(arguments: object) -> str:
    """Return the most informative argument of a tool call, else all of them."""
    if not isinstance(arguments, Mapping) or not arguments:
        return ""
    telling = (
        arguments[name] for name in _TELLING_ARGUMENTS if isinstance(arguments.get(name), str) and arguments[name]
    )
    text = next(telling, None) or json.dumps(arguments, ensure_ascii=False, sort_keys=True)
    return " ".join(text.split())


def _time(stamp: object) -> float:
    """Return seconds since the epoch of an ISO time, 0 if there is none."""
    try:
        return max(read_time(stamp), 0.0) if isinstance(stamp, str) else 0.0
    except ValueError:
        return 0.0
