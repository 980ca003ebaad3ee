"""What the handlers of an event share: its root, settings, session and engine, and the answers that they return."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from satchel.codec import json_text
from satchel.config import PROJECT_FILE, Folders, LoadedSettings
from satchel.errors import LockedError, StoreError
from satchel.hooks import background, hosts
from satchel.hooks.hosts import HookEvent
from satchel.safety import sanitize
from satchel.system import state_files, telemetry
from satchel.system.git import find_repository
from satchel.system.locations import Places
from satchel.types import Context, Json
from satchel.vocabulary import CLIENT_SESSION, DAY_SECONDS

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.memory.model import Experience

MAX_PROMPTS = 12
MAX_FILES = 40
MAX_CLAIMS = 200
"""Limits of the prompts, changed files and answered events of a session; the newest are kept."""

LOCK_SECONDS = 0.3
"""Time to wait for another hook of the session."""

KEPT_SECONDS = 30 * DAY_SECONDS
"""Age from which the state of a session is deleted: a month."""

Result = TypeVar("Result")
State = Json


def session_mark(session: str) -> str:
    """Return the file name of a session: 16 hexadecimal digits that do not reveal its id."""
    return blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class BusyError(OSError):
    """Another hook of the session keeps its file locked for too long."""


class SessionState:
    """The file of one session. Methods raise OSError where the state folder cannot be used."""

    def __init__(self, state: Path, session: str) -> None:
        self._path = state / "hooks" / "sessions" / f"{session_mark(session)}.json"

    def claim(self, what: str, seconds: float | None = None) -> bool:
        """Return true if nobody has claimed this in the session before, or not for so many seconds."""

        def change(state: State) -> bool:
            claims: dict[str, float] = state["claims"]
            now = time.time()
            before = claims.get(what)
            if before is not None and (seconds is None or 0 <= now - before < seconds):
                return False
            claims.pop(what, None)
            claims[what] = now
            for surplus in [*claims][:-MAX_CLAIMS]:
                del claims[surplus]
            return True

        return self._change(change)

    def forget(self, prefix: str) -> None:
        """Release the claims with this prefix."""
        self._change(
            lambda state: state.update(
                claims={name: at for name, at in state["claims"].items() if not name.startswith(prefix)}
            )
        )

    def restart(self) -> None:
        """Forget prompts, files and the failure; claims remain."""
        self._change(lambda state: state.update(prompts=[], files=[], failure=""))

    def note_prompt(self, line: str) -> None:
        """Add the first line of a prompt."""
        self._change(lambda state: _keep(state["prompts"], MAX_PROMPTS, line))

    def note_files(self, paths: list[str]) -> None:
        """Add the paths of changed files."""
        self._change(lambda state: _keep(state["files"], MAX_FILES, *paths))

    def note_failure(self, line: str) -> None:
        """Set the last failed command; empty after a success."""
        self._change(lambda state: state.update(failure=line))

    def read(self) -> State:
        """Return `prompts`, `files` (oldest first) and `failure`, whatever the file contains."""
        value = None
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(state_files.read(self._path) or b"null")
        return _usable(value)

    def prune(self) -> None:
        """Delete the files of sessions that ended long ago."""
        state_files.prune_older(self._path.parent, KEPT_SECONDS)

    def _change(self, change: Callable[[State], Result]) -> Result:
        """Read, change and write the state under its lock."""
        state_files.make_folder(self._path.parent)
        with state_files.locked(self._path.with_suffix(".lock"), LOCK_SECONDS) as is_ours:
            if not is_ours:
                raise BusyError("another hook of this session is running")
            state = self.read()
            result = change(state)
            state_files.replace(self._path, json.dumps(state, separators=(",", ":")).encode())
        return result


def _usable(value: object) -> State:
    """Return a complete state, whatever the file contained."""
    fields = value if isinstance(value, dict) else {}
    claims = fields["claims"] if isinstance(fields.get("claims"), dict) else {}
    return {
        "claims": {name: float(at) for name, at in claims.items() if isinstance(at, int | float)},
        "prompts": hosts.texts(fields, "prompts"),
        "files": hosts.texts(fields, "files"),
        "failure": str(fields.get("failure") or ""),
    }


def _keep(lines: list[str], most: int, *new: str) -> None:
    """Put lines at the end, each once, and drop the oldest."""
    lines[:] = [*dict.fromkeys(line for line in lines if line not in new), *reversed(dict.fromkeys(reversed(new)))]
    del lines[:-most]


MAX_CHARACTERS = 9_000
"""Length limit of an answer: hosts cut or drop more than 10,000 characters."""

SHRINK = 0.7

INDEX_NAME = "index.db"


class Answer(Struct, frozen=True):
    """The result of an event: `notice` is for the person, `deliver` is called when the text fits the limit."""

    outcome: str
    reason: str = ""
    text: str = ""
    notice: str = ""
    tokens: int = 0
    contexts: tuple[Context, ...] = ()
    deliver: tuple[Callable[[], object], ...] = ()

    def items(self) -> list[Json]:
        """Return ids and tokens of the injected items. The title of a short memory would be its text."""
        items = chain.from_iterable(context.items for context in self.contexts)
        return [{"id": sanitize.line(item.id), "tokens": item.tokens} for item in items]


def injected(hook: EventContext, reason: str, pairs: Sequence[tuple[Any, Context]], notice: str = "") -> Answer:
    """Return an answer of these contexts, each with its request; they are delivered once the text fits."""
    contexts = tuple(context for _, context in pairs)
    return Answer(
        telemetry.INJECTED,
        reason,
        "\n\n".join(context.text for context in contexts),
        notice,
        sum(context.usage.used for context in contexts),
        contexts,
        tuple(partial(hook.engine.answers.deliver, request, context) for request, context in pairs),
    )


def nothing(reason: str, notice: str = "") -> Answer:
    """Return an answer without context, and the reason."""
    return Answer(telemetry.NOTHING, reason, notice=notice)


def counted(items: int) -> str:
    """Return a number with its noun: `1 item`, `3 items`."""
    return f"{items} item" if items == 1 else f"{items} items"


class AnsweringProcess(Struct, frozen=True):
    """The process that answers an event: that of the hook, or a resident one.

    `folder` is the current one of the hook. `engine_for` returns the engine that stays open for a root with these
    settings, None for one of its own, or raises an error if this process cannot answer. `is_gone` says whether the hook
    that a resident process answers has given up.
    """

    folder: Path = Path()
    engine_for: Callable[[Places, LoadedSettings], Satchel | None] = lambda *_: None
    is_gone: Callable[[], bool] = lambda: False

    def check_wanted(self) -> None:
        """Raise ConnectionAbortedError if nobody waits for the answer any more."""
        if self.is_gone():
            raise ConnectionAbortedError


class EventContext:
    """The root of an event, its settings, the state of its session, and the engine, opened on first use."""

    def __init__(
        self,
        event: HookEvent,
        folders: Folders,
        loaded: LoadedSettings,
        places: Places,
        environ: Mapping[str, str],
        process: AnsweringProcess,
    ) -> None:
        self.event = event
        self.places = places
        self.settings = loaded.settings
        self.folders, self._loaded = folders, loaded
        self.session = SessionState(folders.state, event.session) if event.session else None
        self.folder = Path(event.folder) if event.folder else places.root
        self._environ = environ
        self._process = process
        self._resident = process.engine_for(places, loaded)
        self._engine: Satchel | None = None
        process.check_wanted()  # before anything is claimed for a hook that works by itself by now

    @property
    def engine(self) -> Satchel:
        """The engine, opened on first use."""
        if self._resident is not None:
            return self._resident
        if self._engine is None:
            from satchel.engine import Satchel

            self._engine = Satchel.open_at(self.places, self._loaded, self.folders, self._environ)
        return self._engine

    def close(self) -> None:
        """Close the engine if it was opened."""
        if self._engine is not None:
            self._engine.close()

    @cached_property
    def is_project(self) -> bool:
        """True if the root may be indexed unasked: it is a repository, or has a settings file."""
        root = self.places.root
        return find_repository(root) is not None or (root / PROJECT_FILE).is_file()

    @cached_property
    def active(self) -> Experience | None:
        """The active experience of the session, of no session, or the only one of MCP clients; None if unreadable."""
        if not self.has_memory:
            return None
        # Length of a session id in an experience.
        journal, session = self.engine.experiences, self.event.session[:100]
        try:
            own = (journal.active(session) if session else None) or journal.active()
            others = [orphan for orphan in journal.orphans() if orphan.session_id.startswith(CLIENT_SESSION)]
            return own or (others[0] if len(others) == 1 else None)
        except (LockedError, StoreError):
            return None

    @property
    def has_index(self) -> bool:
        """True if there is an index to answer from. A first run that is under way has published none yet."""
        has_store = bool(self.settings.store_url) or (self.places.index / INDEX_NAME).exists()
        return has_store and self.engine.store.is_published

    @property
    def has_memory(self) -> bool:
        """True if something may be remembered, be it in a file that is made again from its copies."""
        return bool(self.settings.store_url) or any(self.places.memory.parent.glob(f"{self.places.memory.stem}.*"))

    def refresh(self) -> bool:
        """Update the index in another process; returns whether one was started."""
        return background.refresh(self.places.root, self.folders.state, self.places.index.name)

    def note_failure(self, command: str) -> None:
        """Set the last failed command of the session; empty after a success."""
        if self.session is not None:
            self.session.note_failure(self.safe_line(command, 120))

    def claim(self, what: str, seconds: float | None = None) -> bool:
        """Return true once per session (or once in so many seconds); always for a session without a name."""
        return self.session is None or self.session.claim(what, seconds)

    def options(self, **options: Any) -> Json:
        """Add the session to the options of a request."""
        return {**options, "session": self.event.session} if self.event.session else options

    def safe_line(self, text: str, most: int) -> str:
        """Return the first line of a text that is not blank, cleaned and redacted."""
        first = next((line for line in text.splitlines() if line.strip()), "")
        return sanitize.line(first, most, self.settings.redact_allow)

    def relative(self, path: str) -> str:
        """Return a path relative to the root, or as it is outside the root; cleaned and redacted."""
        absolute = os.path.normpath(self.folder / path)
        below = os.path.relpath(absolute, self.places.root)
        return sanitize.line(path if below.startswith(os.pardir) else below, 400, self.settings.redact_allow)

    def packed(self, pack: Callable[[int], Answer], tokens: int) -> Answer:
        """Pack with this budget, or with smaller ones until the answer has at most `MAX_CHARACTERS`."""
        for _ in range(5):  # tries, each with a smaller budget
            answer = pack(tokens)
            if len(written(self.event, answer)) <= MAX_CHARACTERS:
                self._process.check_wanted()
                for deliver in answer.deliver:
                    deliver()
                return answer
            tokens = int(tokens * SHRINK)
        return nothing(f"it would not fit into {MAX_CHARACTERS:,} characters")


def written(event: HookEvent, answer: Answer) -> str:
    """Return the JSON object for the host, or an empty text if there is nothing to say."""
    output = hosts.answer(event, answer.text if event.injects else "", answer.notice)
    return json_text(output) if output else ""
