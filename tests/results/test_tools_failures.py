"""Assemblies that fail, hang and are cancelled; and generators, which are tools as well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from satchel.errors import UsageError
from tests.results.assemblers import PATIENCE, Assembler, Coroutines, Slow, aware, edit, look, used


@pytest.mark.parametrize(
    ("error", "output"),
    [
        (RuntimeError("broken"), "RuntimeError: broken"),
        (UsageError("broken"), "broken"),
        (TimeoutError("broken"), "TimeoutError: broken"),
    ],
    ids=["any", "of ours", "an own time limit"],
)
def test_an_assembly_that_fails_is_an_empty_context_with_a_warning(error: Exception, output: str) -> None:
    result = aware(Assembler(error=error), edit, max_tokens=100)("a.py")
    assert (result["seen"], result["text"]) == ([], "")
    assert used(result) == {"items": [], "tokens": 0, "limit": 100, "warnings": [f"context: {output}"]}


def test_an_assembly_that_fails_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    aware(Assembler(error=RuntimeError("broken")), {"edit_file": edit})["edit_file"]("a.py")
    logged = capfd.readouterr().err
    assert "context of a tool failed" in logged
    assert "edit_file" in logged


def test_a_slow_assembly_does_not_hold_the_tool_up() -> None:
    slow = Slow()
    tools = aware(slow, {"edit": edit, "look": look}, deadline_seconds=0.02)
    warning = ["context: not assembled within 0.02 s"]
    assert used(tools["edit"]("a.py"))["warnings"] == warning
    assert used(asyncio.run(tools["look"]("a.py")))["warnings"] == warning
    slow.go.set()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync tool", "async tool"])
def test_an_assembler_of_coroutines_works_with_both(is_async: bool) -> None:
    def call(assembler: object) -> Any:
        def tool(_context: Any) -> Any:
            return _context if isinstance(_context, str) else _context.failures[0].message

        async def later(_context: Any) -> Any:
            return tool(_context)

        wrapped = aware(assembler, {"t": later if is_async else tool}, deadline_seconds=PATIENCE)
        result = wrapped["t"]()
        return asyncio.run(result) if is_async else result

    assert call(Coroutines()) == "for t"
    assert call(Coroutines(ValueError("broken"))) == "ValueError: broken"


@pytest.mark.parametrize("assembler", [Assembler(), Coroutines()], ids=["sync", "coroutines"])
def test_a_situation_that_fails_breaks_neither_kind_of_tool(assembler: object) -> None:
    def broken(*_: object) -> Mapping[str, Any]:
        raise KeyError("mine")

    tools = aware(assembler, {"edit": edit, "look": look}, situation=broken, deadline_seconds=PATIENCE)
    assert used(tools["edit"]("a.py"))["warnings"] == ["context: KeyError: 'mine'"]
    assert used(asyncio.run(tools["look"]("a.py")))["warnings"] == ["context: KeyError: 'mine'"]


def test_coroutines_that_hang_are_cancelled_at_the_deadline() -> None:
    assembler = Coroutines(hangs=True)
    tool = aware(assembler, look, deadline_seconds=0.02)
    assert used(asyncio.run(tool("a.py")))["warnings"] == ["context: not assembled within 0.02 s"]
    assert assembler.cancelled


def test_an_assembler_that_cancels_itself_breaks_nothing() -> None:
    class Cancelling:
        async def situation(self, _: Mapping[str, Any]) -> None:
            raise asyncio.CancelledError

    tool = aware(Cancelling(), look, deadline_seconds=PATIENCE)
    assert "CancelledError" in used(asyncio.run(tool("a.py")))["warnings"][0]


def test_cancelling_a_tool_passes_also_while_its_context_is_assembled() -> None:
    slow = Slow()

    async def cancelled() -> None:
        task = asyncio.ensure_future(aware(slow, look, deadline_seconds=PATIENCE)("a.py"))
        assert await asyncio.to_thread(slow.asked.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    slow.go.set()


def test_errors_of_the_tool_pass_unchanged() -> None:
    error = KeyError("mine")

    def failing(_context: Any) -> None:
        raise error

    async def later(_context: Any) -> None:
        raise error

    tools = aware(Assembler(), [failing, later])
    with pytest.raises(KeyError) as caught:
        tools[0]()
    assert caught.value is error
    with pytest.raises(KeyError) as caught:
        asyncio.run(tools[1]())
    assert caught.value is error


# Generators


def test_a_generator_gets_its_context_when_it_is_made() -> None:
    def numbers(_context: Any) -> Any:
        yield _context
        yield 1

    async def more(_context: Any) -> Any:
        yield _context

    async def collected(stream: Any) -> list[Any]:
        return [one async for one in stream]

    assert list(aware(Assembler(), numbers)()) == ["a context", 1]
    assert list(aware(Assembler(), numbers)(_context="mine")) == ["mine", 1]
    assert asyncio.run(collected(aware(Assembler(), more)())) == ["a context"]


def test_a_generator_without_context_is_left_alone() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    assert list(aware(Assembler(), numbers)()) == [1]
