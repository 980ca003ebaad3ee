"""The context of a call, from somebody's assembler, within a deadline and without ever failing the call."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from pathlib import Path
from typing import Any

from satchel import logs, outside
from satchel.errors import SatchelError, UsageError
from satchel.settings import SETTINGS
from satchel.tools.daemons import Daemons
from satchel.tools.situation import call_situation
from satchel.tools.used import no_context
from satchel.types import Failure

METHODS = ("situation", "assemble_situation")
"""What an assembler is asked by: the name that `Satchel` has, then that of `ContextAssembler`."""

MOST_AT_ONCE = 4
"""Contexts that are assembled at once; the next ones wait their turn, as long as their deadline admits."""

SOURCE = "context"
"""The source that failures of the assembly name."""

Situation = Mapping[str, Any] | Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None] | None
"""What is known of the situation beside a call: its fields, or what gives them for a tool and its parameters."""


class CallContexts:
    """Assembles contexts for calls of tools. What fails or takes too long is an empty context that says so."""

    def __init__(
        self, assembler: object, situation: Situation, max_tokens: int | None, deadline_seconds: float | None
    ) -> None:
        self._assembler, self._situation = assembler, situation
        self._method = _method_of(assembler)
        self._options = {} if max_tokens is None else {"max_tokens": _checked_budget(max_tokens)}
        self._deadline = _checked_deadline(deadline_seconds)
        self._threads = Daemons(MOST_AT_ONCE)

    def of(self, tool: str, params: Mapping[str, Any]) -> Any:
        """The context of a call; waits no longer than the deadline."""
        context = copy_context()
        job = self._threads.start(lambda: context.run(self._assembled, tool, params))
        seconds = self.deadline_seconds
        try:
            return job.result(seconds)
        except TimeoutError as error:
            if job.done():  # it is the assembler that gave up
                return self._failed(tool, error)
            job.cancel()
            return self._late(tool, seconds)
        except Exception as error:  # noqa: BLE001 - whatever an assembler raises, the tool must answer
            return self._failed(tool, error)

    async def aof(self, tool: str, params: Mapping[str, Any]) -> Any:
        """`of` as a coroutine. An assembler of coroutines is awaited here, any other one works in a thread."""
        import asyncio

        if inspect.iscoroutinefunction(self._method):
            task: asyncio.Future[Any] = asyncio.ensure_future(self._asked(tool, params))
        else:
            context = copy_context()
            task = asyncio.wrap_future(self._threads.start(lambda: context.run(self._assembled, tool, params)))
        seconds = self.deadline_seconds
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            _give_up(task)
            raise
        if not done:
            _give_up(task)
            return self._late(tool, seconds)
        problem = task.exception() if not task.cancelled() else asyncio.CancelledError()
        return task.result() if problem is None else self._failed(tool, problem)

    @property
    def deadline_seconds(self) -> float:
        """What was given, else the setting of the engine that is asked."""
        if self._deadline is not None:
            return self._deadline
        settings = getattr(self._engine, "settings", None)
        return float(getattr(settings, "tools_deadline_s", SETTINGS["tools.deadline_s"].default))

    @property
    def _engine(self) -> object:
        """The engine behind the assembler, as far as there is one."""
        return getattr(self._assembler, "engine", None) or self._assembler

    def _assembled(self, tool: str, params: Mapping[str, Any]) -> Any:
        answer = self._method(self._situation_of(tool, params), **self._options)
        if not inspect.isawaitable(answer):
            return answer
        import asyncio

        return asyncio.run(_awaited(answer))

    async def _asked(self, tool: str, params: Mapping[str, Any]) -> Any:
        return await self._method(self._situation_of(tool, params), **self._options)

    def _situation_of(self, tool: str, params: Mapping[str, Any]) -> dict[str, Any]:
        root = getattr(getattr(self._engine, "places", None), "root", None)
        found = call_situation(tool, params, root if isinstance(root, Path) else None)
        known = self._situation(tool, params) if callable(self._situation) else self._situation
        return {**found, "time": time.time(), **(known or {})}

    def _late(self, tool: str, seconds: float) -> Any:
        logs.warning("context of a tool is late", tool=tool, deadline_s=seconds)
        hint = "`tools.deadline_s` is how long a tool waits for it"
        return no_context(Failure(SOURCE, f"not assembled within {seconds:g} s", hint), self._limit)

    def _failed(self, tool: str, error: BaseException) -> Any:
        is_ours = isinstance(error, SatchelError)
        logs.warning("context of a tool failed", tool=tool, error=repr(error), exc_info=False if is_ours else error)
        told = str(error) if is_ours else f"{type(error).__name__}: {error}"
        return no_context(Failure(SOURCE, outside.line(told, outside.NOTE_LIMIT)), self._limit)

    @property
    def _limit(self) -> int:
        return int(self._options.get("max_tokens", 0))


def _method_of(assembler: object) -> Callable[..., Any]:
    for name in METHODS:
        method = getattr(assembler, name, None)
        if callable(method):
            return method  # type: ignore[no-any-return]
    raise UsageError(
        f"{type(assembler).__name__} assembles no situations: give a Satchel, a ContextAssembler, or an object with "
        f"the method {METHODS[0]}"
    )


def _checked_budget(max_tokens: int) -> int:
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise UsageError(f"max_tokens is {max_tokens!r}: give a whole number of tokens, 1 or more")
    return max_tokens


def _checked_deadline(seconds: float | None) -> float | None:
    row = SETTINGS["tools.deadline_s"]
    try:
        return None if seconds is None else float(row.checked(seconds))
    except ValueError:
        raise UsageError(f"deadline_seconds is {seconds!r}: give {row.allowed}") from None


def _give_up(task: Any) -> None:
    """Nobody waits for it any more: what it still raises is nobody's concern."""
    task.cancel()
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer
