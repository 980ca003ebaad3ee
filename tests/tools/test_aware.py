"""Tools that know where they are called, around a real engine and around assemblers that misbehave."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from satchel import ContextAssembler, Satchel, create_context_aware_tools
from satchel.errors import UsageError
from satchel.types import Context
from tests.tools.conftest import COMMIT

PATIENCE = 30.0


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
            while self.hangs:
                await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return f"for {situation['tool']}"


# Around the real engine


def test_a_tool_receives_its_context_and_its_result_says_so(engine: Satchel) -> None:
    tools = aware(engine, {"edit_file": edit}, situation={"task": COMMIT})
    result = tools["edit_file"](str(engine.places.root / "shop/client.py"))
    assert result["seen"][:3] == ["context:situation", "context:.", "context:AGENTS.md"]
    assert f"Task: {COMMIT}\nTool: edit_file" in result["text"]
    assert "Files: shop/client.py" in result["text"]
    told = used(result)
    assert [row["id"].partition(":")[0] for row in told["items"]] == ["context", "context", "commit"]
    assert 0 < told["tokens"] <= told["limit"] == 4_000
    assert told["warnings"] == []
    json.dumps(told)


@pytest.mark.parametrize("kind", [lambda engine: engine, ContextAssembler], ids=["Satchel", "ContextAssembler"])
def test_sync_and_async_tools_work_with_either(engine: Satchel, kind: Any) -> None:
    tools = aware(kind(engine), [edit, look], max_tokens=200)
    assert isinstance(tools, list)
    assert used(tools[0]("a.py"))["limit"] == 200
    result = asyncio.run(tools[1]("a.py"))
    assert result["items"] == 3
    assert used(result)["tokens"] <= 200


def test_the_deadline_of_the_settings_counts_also_behind_an_assembler(engine: Satchel) -> None:
    from satchel.tools.contexts import CallContexts

    assert CallContexts(engine, None, None, None).deadline_seconds == 60.0
    assert CallContexts(ContextAssembler(engine), None, None, None).deadline_seconds == 60.0
    assert CallContexts(ContextAssembler(), None, None, None).deadline_seconds == 2.0
    assert CallContexts(engine, None, None, 5).deadline_seconds == 5.0


def test_what_is_wrong_with_a_file_is_a_warning(engine: Satchel) -> None:
    tool = aware(ContextAssembler(engine, contexts="gone"), edit)
    assert "gone/context.yaml" in used(tool("a.py"))["warnings"][0]


# Shape


def test_a_wrapped_function_keeps_what_it_says_of_itself() -> None:
    tool = aware(Assembler(), plain)
    assert (tool.__name__, tool.__doc__, tool.__annotations__) == ("plain", plain.__doc__, plain.__annotations__)
    assert inspect.signature(tool) == inspect.signature(plain)
    assert aware(Assembler(), edit).__doc__ == "Edit a file."


def test_the_signature_does_not_ask_for_the_context() -> None:
    tool = aware(Assembler(), edit)
    assert str(inspect.signature(tool)) == "(path: 'str', more: 'str' = '') -> 'dict[str, Any]'"
    assert "_context" in inspect.signature(edit).parameters


def test_tools_stay_sync_or_async() -> None:
    class Later:
        async def __call__(self, path: str) -> dict[str, Any]:
            return {"path": path}

    tools = aware(Assembler(), (plain, look, Later(), functools.partial(look, "a")))
    assert isinstance(tools, tuple)
    assert [inspect.iscoroutinefunction(tool) for tool in tools] == [False, True, True, True]
    assert asyncio.run(tools[2]("b"))["path"] == "b"
    assert used(tools[0]("a"))


def test_a_call_that_does_not_fit_fails_as_before() -> None:
    tool = aware(Assembler(), plain)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        tool(nothing=1)


class Frozen(NamedTuple):
    name: str
    handler: Any


@dataclass(frozen=True)
class Record:
    name: str
    fn: Any


def of_mapping(params: Mapping[str, Any]) -> dict[str, Any]:
    return {"given": sorted(params), "context": params.get("_context")}


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "read", "description": "Reads.", "handler": of_mapping},
        SimpleNamespace(name="read", description="Reads.", handler=of_mapping),
        Frozen("read", of_mapping),
        Record("read", of_mapping),
    ],
    ids=["mapping", "object", "named tuple", "dataclass"],
)
def test_the_handler_of_a_tool_object_gets_it_among_its_parameters(tool: Any) -> None:
    assembler = Assembler()
    (wrapped,) = aware(assembler, [tool])
    assert type(wrapped) is type(tool)
    assert wrapped is not tool
    handler = wrapped["handler"] if isinstance(wrapped, dict) else getattr(wrapped, "handler", None) or wrapped.fn
    params = {"path": "a.py"}
    assert handler(params) == {
        "given": ["_context", "path"], "context": "a context",
        "_meta": {"contextUsed": {"items": [], "tokens": 0, "limit": 0, "warnings": [], "type": "str"}},
    }  # fmt: skip
    assert params == {"path": "a.py"}
    asked = dict(assembler.asked[0])
    assert asked.pop("time") > 0
    assert asked == {"tool": "read", "params": {"path": "a.py"}, "files": ["a.py"]}


def test_every_function_of_a_tool_object_is_wrapped() -> None:
    tool = SimpleNamespace(name="both", func=plain, coroutine=look)
    wrapped = aware(Assembler(), tool)
    assert used(wrapped.func("a"))
    assert inspect.iscoroutinefunction(wrapped.coroutine)
    assert tool.func is plain


def test_what_is_no_tool_or_no_assembler_is_refused() -> None:
    with pytest.raises(UsageError, match="tool 'x' has no function"):
        aware(Assembler(), {"x": 3})
    with pytest.raises(UsageError, match="int holds no tools"):
        aware(Assembler(), 3)
    with pytest.raises(UsageError, match="object assembles no situations"):
        aware(object(), [])
    with pytest.raises(UsageError, match="max_tokens is 0"):
        aware(Assembler(), [], max_tokens=0)
    with pytest.raises(UsageError, match="deadline_seconds is 0"):
        aware(Assembler(), [], deadline_seconds=0)

    class Closed:
        __slots__ = ()
        name = "closed"

        def handler(self) -> None:
            """Do nothing."""

    with pytest.raises(UsageError, match="tool 'closed' cannot be copied"):
        aware(Assembler(), [Closed()])


class Secretive:
    """A function that does not tell its parameters, as some of C."""

    __signature__ = 3

    def __call__(self, *, path: str) -> dict[str, Any]:
        return {"path": path}


def test_a_tool_whose_parameters_nobody_knows_is_called_as_it_is() -> None:
    assembler = Assembler()
    assert used(aware(assembler, Secretive())(path="a.py"))
    assert assembler.asked[0]["params"] == {"path": "a.py"}


# Situations


def test_a_function_may_give_the_situation() -> None:
    assembler = Assembler()
    tools = aware(
        assembler, {"plain": plain}, situation=lambda tool, params: {"intent": f"{tool} {params['path']}", "time": 1.0}
    )
    tools["plain"](path="a.py")
    assert assembler.asked == [
        {"tool": "plain", "params": {"path": "a.py"}, "files": ["a.py"], "intent": "plain a.py", "time": 1.0}
    ]


def test_a_context_that_the_caller_gives_stands() -> None:
    assembler = Assembler()
    mine = {"handler": of_mapping}
    tools = aware(assembler, {"edit": lambda _context: _context, "of": mine, "look": look})
    assert tools["edit"](_context="mine") == "mine"
    assert tools["of"]["handler"]({"_context": "mine"})["context"] == "mine"
    own = SimpleNamespace(items=())
    assert asyncio.run(tools["look"]("a", _context=own)) == {"path": "a", "items": 0}


# Results


@pytest.mark.parametrize("result", [None, 3, "text", [{"a": 1}], object(), ("a",)], ids=repr)
def test_any_other_result_is_the_same_object_and_costs_nothing(result: object) -> None:
    assembler = Assembler()
    tool = aware(assembler, lambda: result)
    assert tool() is result
    assert assembler.asked == []


def test_a_mapping_is_copied_and_keeps_its_kind_and_meta() -> None:
    own = OrderedDict(a=1, _meta={"tool": "said"})
    result = aware(Assembler(), lambda: own)()
    assert isinstance(result, OrderedDict)
    assert result["_meta"]["tool"] == "said"
    assert used(result)["type"] == "str"
    assert own == OrderedDict(a=1, _meta={"tool": "said"})
    proxied = aware(Assembler(), lambda: MappingProxyType({"a": 1}))()
    assert used(proxied)


def test_a_meta_that_is_taken_stays() -> None:
    for meta in (3, {"contextUsed": "mine"}):
        own = {"_meta": meta}
        assert aware(Assembler(), lambda own=own: own)() is own


def test_a_mapping_that_cannot_be_copied_stays() -> None:
    class Refusing(dict[str, Any]):
        def __copy__(self) -> Any:
            raise RuntimeError("no copies")

    own = Refusing(a=1)
    assert aware(Assembler(), lambda: own)() is own


# Failures


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("broken"), "RuntimeError: broken"),
        (UsageError("broken"), "broken"),
        (TimeoutError("broken"), "TimeoutError: broken"),
    ],
    ids=["any", "of ours", "an own time limit"],
)
def test_an_assembly_that_fails_is_an_empty_context_with_a_warning(error: Exception, told: str) -> None:
    result = aware(Assembler(error=error), edit, max_tokens=100)("a.py")
    assert (result["seen"], result["text"]) == ([], "")
    assert used(result) == {"items": [], "tokens": 0, "limit": 100, "warnings": [f"context: {told}"]}


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
        while not slow.asked.is_set():
            await asyncio.sleep(0)
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


def test_generators_that_take_no_context_are_left_alone() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    async def more() -> AsyncIterator[int]:
        yield 1

    assert aware(Assembler(), [numbers, more]) == [numbers, more]


def test_a_generator_with_context_is_one_still() -> None:
    def numbers(_context: Any) -> Any:
        try:
            got = yield _context
        except ValueError:
            got = "thrown"
        yield got
        return "end"

    tool = aware(Assembler(), numbers)
    assert inspect.isgeneratorfunction(tool)
    assert list(tool()) == ["a context", None]
    stream: Any = tool()
    next(stream)
    assert stream.throw(ValueError()) == "thrown"
    assert list(tool(_context="mine")) == ["mine", None]


def test_an_async_generator_with_context_is_one_still() -> None:
    closed = []

    async def numbers(_context: Any) -> Any:
        try:
            try:
                got = yield _context
            except ValueError:
                got = "thrown"
            yield got
        finally:
            closed.append(1)

    tool = aware(Assembler(), numbers)
    assert inspect.isasyncgenfunction(tool)

    async def use() -> None:
        assert [one async for one in tool()] == ["a context", None]
        assert [one async for one in tool(_context="mine")] == ["mine", None]
        stream = tool()
        await anext(stream)
        assert await stream.asend("sent") == "sent"
        await stream.aclose()
        stream = tool()
        await anext(stream)
        assert await stream.athrow(ValueError()) == "thrown"
        await stream.aclose()

        async def none(_context: Any) -> Any:
            return
            yield

        assert [one async for one in aware(Assembler(), none)()] == []

    asyncio.run(use())
    assert len(closed) == 4


def test_the_server_of_the_sdk_takes_such_a_tool() -> None:
    mcp = pytest.importorskip("mcp.server.mcpserver", reason="the extra `mcp` is not installed")
    server = mcp.MCPServer("test")
    server.tool()(aware(Assembler(), edit))
    listed = asyncio.run(server.list_tools())
    assert sorted(listed[0].input_schema["properties"]) == ["more", "path"]
