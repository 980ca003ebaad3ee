"""The context of a call from an assembler, within a deadline; errors of the assembler do not fail the call."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.errors import SatchelError, UsageError
from satchel.safety import sanitize
from satchel.settings import SETTINGS
from satchel.system import telemetry
from satchel.system.threads import Threads
from satchel.tools.calls import call_situation
from satchel.types import Context, Failure, Format, Usage

if TYPE_CHECKING:
    pass

METHODS = ("situation", "assemble_situation")
"""Names of the method of an assembler, in `Satchel` and in `ContextAssembler`."""

MOST_AT_ONCE = 4
"""Limit of contexts that are assembled at once; others wait until their deadline."""

Answer = TypeVar("Answer")

Situation = Mapping[str, Any] | Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None] | None
"""Additional fields of a situation, or a function of the tool and its parameters that returns them."""


class CallContexts:
    """Assembles contexts for calls of tools. One that fails or is late is an empty context with the reason."""

    def __init__(
        self, assembler: object, situation: Situation, max_tokens: int | None, deadline_seconds: float | None
    ) -> None:
        self._assembler, self._situation = assembler, situation
        self._method = _method_of(assembler)
        self._options = {} if max_tokens is None else {"max_tokens": _checked_budget(max_tokens)}
        self._deadline = _checked_deadline(deadline_seconds)
        self._threads = Threads(MOST_AT_ONCE)

    def of(self, tool: str, params: Mapping[str, Any]) -> Any:
        """Return the context of a call; waits no longer than the deadline."""
        context = copy_context()
        job = self._threads.submit(context.run, self._assembled, tool, params)
        seconds = self.deadline_seconds
        try:
            return job.result(seconds)
        except TimeoutError as error:
            if job.done():  # the assembler raised it
                return self._failed(tool, error)
            job.cancel()
            return self._late(tool, seconds)
        except Exception as error:  # noqa: BLE001 - the tool must answer in spite of the assembler
            return self._failed(tool, error)

    async def aof(self, tool: str, params: Mapping[str, Any]) -> Any:
        """`of` as a coroutine. An async assembler is awaited here, any other one runs in a thread."""
        import asyncio

        if inspect.iscoroutinefunction(self._method):
            task: asyncio.Future[Any] = asyncio.ensure_future(self._awaited(tool, params))
        else:
            context = copy_context()
            task = asyncio.wrap_future(self._threads.submit(context.run, self._assembled, tool, params))
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
        """The deadline of this wrapper, else the setting of the engine."""
        if self._deadline is not None:
            return self._deadline
        settings = getattr(self._engine, "settings", None)
        return float(getattr(settings, "tools_deadline_s", SETTINGS["tools.deadline_s"].default))

    @property
    def _engine(self) -> object:
        """The engine of the assembler, else the assembler itself."""
        return getattr(self._assembler, "engine", None) or self._assembler

    def _assembled(self, tool: str, params: Mapping[str, Any]) -> Any:
        answer = self._answer(tool, params)
        if not inspect.isawaitable(answer):
            return answer
        import asyncio

        return asyncio.run(_await(answer))

    async def _awaited(self, tool: str, params: Mapping[str, Any]) -> Any:
        return await self._answer(tool, params)

    def _answer(self, tool: str, params: Mapping[str, Any]) -> Any:
        """Return the answer of the assembler, which may be a coroutine, to the call and the additional fields."""
        root = getattr(getattr(self._engine, "places", None), "root", None)
        call = call_situation(tool, params, root if isinstance(root, Path) else None)
        around = self._situation(tool, params) if callable(self._situation) else self._situation
        return self._method({**call, "time": time.time(), **(around or {})}, **self._options)

    def _late(self, tool: str, seconds: float) -> Any:
        telemetry.warning("context of a tool is late", tool=tool, deadline_s=seconds)
        hint = "`tools.deadline_s` is how long a tool waits for it"
        return self._empty(Failure("context", f"not assembled within {seconds:g} s", hint))

    def _failed(self, tool: str, error: BaseException) -> Any:
        is_ours = isinstance(error, SatchelError)
        telemetry.warning(
            "context of a tool failed", tool=tool, error=repr(error), exc_info=False if is_ours else error
        )
        message = str(error) if is_ours else f"{type(error).__name__}: {error}"
        return self._empty(Failure("context", sanitize.line(message, sanitize.NOTE_LIMIT)))

    def _empty(self, failure: Failure) -> Context:
        """Return an empty context with the reason."""
        usage = Usage(int(self._options.get("max_tokens", 0)), 0, "", exact=True)
        return Context("", "", Format.MARKDOWN, (), usage, failures=(failure,))


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
    """Cancel a task, and ignore its later errors."""
    task.cancel()
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _await(answer: Awaitable[Any]) -> Any:
    return await answer
