"""The context of a call behind the proxy: from the engine of one root, which is opened when it is first needed.

The engine ends with the process: a thread that hangs in it must not hold the end up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from satchel import outside
from satchel.mcp.proxy_messages import Request, with_context
from satchel.settings import SETTINGS
from satchel.tools.calls import SITUATION_ITEM, call_situation, context_used

if TYPE_CHECKING:
    from satchel.engine import Satchel

LONGEST_PARAMETER = 300
"""Characters of a parameter in the situation: the client has just written them, and needs no copy."""

MARK = "_meta"
MARKED: Mapping[str, Any] = {"satchel/context": True}
"""What tells the added item from those of the server."""


class ProxyContexts:
    """Adds contexts to results. `is_ending` stops an index that is being built.

    What a `session` has received is not sent to it again; without one every context is whole.
    """

    def __init__(
        self, open_engine: Callable[[], Satchel], max_tokens: int, is_ending: threading.Event, session: str = ""
    ) -> None:
        self._open, self._max_tokens, self._is_ending = open_engine, max_tokens, is_ending
        self._options = {"session": session} if session else {}
        self._engine: Satchel | None = None

    def deadline_seconds(self) -> float:
        """How long a result may wait for its context: the setting, its default until the engine is open."""
        row = SETTINGS["tools.deadline_s"]
        return float(row.default if self._engine is None else self._engine.settings.tools_deadline_s)

    def prepare(self) -> None:
        """Open the engine and bring its index up to date. Raises what that raises."""
        self._opened().refresh(should_stop=self._is_ending.is_set)

    def enriched(self, request: Request, line: bytes) -> bytes:
        """The line of a result with the context of its call. Called by one thread at a time."""
        engine = self._opened()
        situation = call_situation(request.tool, request.arguments, engine.places.root) | {"time": time.time()}
        situation["params"] = {name: _short(value) for name, value in situation["params"].items()}
        head = f"Context that satchel adds for {outside.line(request.tool, 100)}:\n\n"
        room = self._max_tokens - self._count(head)
        notes = engine.refresh(should_stop=self._is_ending.is_set)
        asked: dict[str, Any] = {"max_tokens": max(room, 1), **self._options}
        context, _ = engine.situation_answer(situation, refresh=False, notes=notes, **asked)
        used = context_used(context)
        has_news = any(item.id != SITUATION_ITEM for item in context.items)
        text = head + context.text
        used["tokens"] = self._count(text) if has_news else 0
        used["limit"] = self._max_tokens
        if not has_news or used["tokens"] > self._max_tokens:
            return with_context(line, None, {**used, "items": [], "tokens": 0})
        return with_context(line, {"type": "text", "text": text, MARK: MARKED}, used)

    def _opened(self) -> Satchel:
        if self._engine is None:
            self._engine = self._open()
        return self._engine

    def _count(self, text: str) -> int:
        from satchel.tokens import counter

        return counter(self._opened().settings.budget_tokenizer).count(text)


def _short(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > LONGEST_PARAMETER
    return f"{value[:LONGEST_PARAMETER]}…" if is_long else value
