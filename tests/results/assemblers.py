"""Assemblers that misbehave, and tools to call with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from satchel import create_context_aware_tools
from satchel.types import Context

PATIENCE = 300.0


def edit(path: str, more: str = "", *, _context: Context | None = None) -> dict[str, Any]:
    """Edit a file."""
    assert _context is not None
    return {"path": path + more, "seen": [item.id for item in _context.items], "text": _context.text}


async def look(path: str, **rest: Any) -> dict[str, Any]:
    """Look at a file."""
    return {"path": path, "items": len(rest["_context"].items)}


def plain(path: str) -> dict[str, Any]:
    return {"path": path}


def aware(assembler: object, tools: object, **options: Any) -> Any:
    """The tools with context: what each of them takes now, no type says."""
    return create_context_aware_tools(assembler, tools, **options)


def used(result: Any) -> Any:
    return result["_meta"]["contextUsed"]


class Assembler:
    """An assembler that answers as it is told."""

    def __init__(self, answer: Any = "a context", error: BaseException | None = None) -> None:
        self.answer, self.error = answer, error
        self.asked: list[Mapping[str, Any]] = []

    def situation(self, situation: Mapping[str, Any], **_: Any) -> Any:
        self.asked.append(situation)
        if self.error is not None:
            raise self.error
        return self.answer


class Slow:
    """An assembler that does not answer until it is let go."""

    def __init__(self) -> None:
        self.go, self.asked = threading.Event(), threading.Event()

    def situation(self, _: Mapping[str, Any]) -> str:
        self.asked.set()
        assert self.go.wait(PATIENCE)
        return "late"


class Coroutines:
    """An assembler of coroutines, as `ContextAssembler` is one."""

    def __init__(self, error: Exception | None = None, *, hangs: bool = False) -> None:
        self.error, self.hangs, self.cancelled = error, hangs, False

    async def assemble_situation(self, situation: Mapping[str, Any]) -> str:
        if self.error is not None:
            raise self.error
        try:
            if self.hangs:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return f"for {situation['tool']}"
