"""What the handlers of one event work with, and what they give back."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import hook_log, outside
from satchel.config import PROJECT_FILE, Folders, LoadedSettings
from satchel.errors import LockedError, StoreError
from satchel.git import find_repository
from satchel.hooks import background, hosts
from satchel.hooks.events import Happening
from satchel.hooks.session_state import SessionState
from satchel.roots import Places
from satchel.types import Context
from satchel.wire import json_text

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.learn.entries import Experience

MOST_CHARACTERS = 9_000
"""Of all that is written: hosts cut or put aside what is longer than 10,000."""

SHRINK = 0.7
MOST_TRIES = 5
"""An answer that is too long in characters is packed again into so much less; after some tries there is none."""

INDEX_NAME = "index.db"

SESSION_CHARACTERS = 100
"""Of a session's id, as experiences know it."""

TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an event. `reason` says why nothing did, or what was done; `contexts` are what the text holds.

    `notice` is a line for the person. `deliver` is done once the text is certain to be sent: a session has it then.
    """

    outcome: str
    reason: str = ""
    text: str = ""
    notice: str = ""
    tokens: int = 0
    contexts: tuple[Context, ...] = ()
    deliver: tuple[Callable[[], object], ...] = ()

    def items(self, allow: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The ids and titles of what was injected."""
        return [
            {"id": outside.line(item.id, allow=allow), "title": outside.line(item.title, TITLE_CHARACTERS, allow),
             "tokens": item.tokens}
            for context in self.contexts
            for item in context.items
        ]  # fmt: skip


def nothing(reason: str, notice: str = "") -> Answer:
    """No context, and why."""
    return Answer(hook_log.NOTHING, reason, notice=notice)


def counted(items: int) -> str:
    """`1 item`, `3 items`."""
    return f"{items} item" if items == 1 else f"{items} items"


class Desk:
    """The root that an event is about, its settings, what its session has had, and the engine once it is needed."""

    def __init__(
        self, happening: Happening, folders: Folders, loaded: LoadedSettings, places: Places, environ: Mapping[str, str]
    ) -> None:
        self.happening = happening
        self.places = places
        self.settings = loaded.settings
        self.state = folders.state
        self.session = SessionState(folders.state, happening.session) if happening.session else None
        self.folder = Path(happening.folder) if happening.folder else places.root
        self._environ = environ
        self._engine: Satchel | None = None

    @property
    def engine(self) -> Satchel:
        """The engine, opened now. It compares words alone: a model would take longer to load than a prompt may wait."""
        if self._engine is None:
            from satchel.engine import Satchel

            root = self.places.root
            self._engine = Satchel.open(root, root=root, settings={"embed.provider": "off"}, environ=self._environ)
        return self._engine

    def close(self) -> None:
        """Close the engine if it was opened."""
        if self._engine is not None:
            self._engine.close()

    @cached_property
    def is_project(self) -> bool:
        """Whether the root is one that may be indexed unasked: a repository, or marked by a settings file."""
        root = self.places.root
        return find_repository(root) is not None or (root / PROJECT_FILE).is_file()

    @cached_property
    def active(self) -> Experience | None:
        """The active experience of the session, or of those who name none.

        None also where the memory cannot be read: what is packed beside it says so.
        """
        if not self.places.memory.exists():
            return None
        journal, session = self.engine.experiences, self.happening.session[:SESSION_CHARACTERS]
        try:
            return (journal.active(session) if session else None) or journal.active()
        except (LockedError, StoreError):
            return None

    @property
    def has_index(self) -> bool:
        """Whether there is an index to answer from."""
        return (self.places.index / INDEX_NAME).exists()

    def refresh(self) -> bool:
        """Have the index brought up to date by another process; returns whether one was started."""
        return background.refresh(self.places.root, self.state, self.places.index.name)

    def claim(self, what: str, seconds: float | None = None) -> bool:
        """Whether this session has not had this yet (or not for so long). A session without a name has had nothing."""
        return self.session is None or self.session.claim(what, seconds)

    def options(self, **options: Any) -> dict[str, Any]:
        """Options of a request, with the session that it is for."""
        return {**options, "session": self.happening.session} if self.happening.session else options

    def safe_line(self, text: str, most: int) -> str:
        """The first line of a text that says something, fit to be kept."""
        first = next((line for line in text.splitlines() if line.strip()), "")
        return outside.line(first, most, self.settings.redact_allow)

    def relative(self, path: str) -> str:
        """A path as the root names it, fit to be kept; one outside of it as it is."""
        absolute = os.path.normpath(self.folder / path)
        below = os.path.relpath(absolute, self.places.root)
        return outside.line(path if below.startswith(os.pardir) else below, 400, self.settings.redact_allow)

    def packed(self, pack: Callable[[int], Answer], tokens: int) -> Answer:
        """What `pack` makes of a budget, or of a smaller one: what is written has at most `MOST_CHARACTERS`."""
        for _ in range(MOST_TRIES):
            answer = pack(tokens)
            if self.size(answer) <= MOST_CHARACTERS:
                for deliver in answer.deliver:
                    deliver()
                return answer
            tokens = int(tokens * SHRINK)
        return nothing(f"it would not fit into {MOST_CHARACTERS:,} characters")

    def size(self, answer: Answer) -> int:
        """Characters that the answer takes as the host gets it."""
        return len(written(self.happening, answer))


def written(happening: Happening, answer: Answer) -> str:
    """The one JSON object for the host, empty where there is nothing to say."""
    told = hosts.answer(happening, answer.text if happening.injects else "", answer.notice)
    return json_text(told) if told else ""
