"""Tools that know where they are called, around a real engine."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from satchel import ContextAssembler, Satchel
from satchel.errors import UsageError
from tests.results.assemblers import Assembler, aware, edit, look, plain, used
from tests.results.conftest import COMMIT

# Around the real engine


def test_a_tool_receives_its_context_and_its_result_says_so(engine: Satchel) -> None:
    tools = aware(engine, {"edit_file": edit}, situation={"task": COMMIT})
    result = tools["edit_file"](str(engine.places.root / "shop/client.py"))
    assert result["seen"][:3] == ["context:situation", "context:.", "context:AGENTS.md"]
    assert f"Task: {COMMIT}\nTool: edit_file" in result["text"]
    assert "Files: shop/client.py" in result["text"]
    output = used(result)
    assert [row["id"].partition(":")[0] for row in output["items"]] == ["context", "context", "code", "commit"]
    assert (output["items"][2]["path"], output["items"][2]["lines"]) == ("shop/client.py", [[1, 2]])
    assert 0 < output["tokens"] <= output["limit"] == 4_000
    assert output["warnings"] == []
    json.dumps(output)


@pytest.mark.parametrize("kind", [lambda engine: engine, ContextAssembler], ids=["Satchel", "ContextAssembler"])
def test_sync_and_async_tools_work_with_either(engine: Satchel, kind: Any) -> None:
    tools = aware(kind(engine), [edit, look], max_tokens=200)
    assert isinstance(tools, list)
    assert used(tools[0]("a.py"))["limit"] == 200
    result = asyncio.run(tools[1]("a.py"))
    assert result["items"] == 3
    assert used(result)["tokens"] <= 200


def test_the_deadline_of_the_settings_counts_also_behind_an_assembler(engine: Satchel) -> None:
    from satchel.results.tools import CallContexts

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
    for tool in (plain, edit):
        with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
            aware(Assembler(), tool)(nothing=1)


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
    calls = dict(assembler.asked[0])
    assert calls.pop("time") > 0
    assert calls == {"tool": "read", "params": {"path": "a.py"}, "files": ["a.py"]}


def test_every_function_of_a_tool_object_is_wrapped() -> None:
    tool = SimpleNamespace(name="both", func=plain, coroutine=look)
    wrapped = aware(Assembler(), tool)
    assert used(wrapped.func("a"))
    assert inspect.iscoroutinefunction(wrapped.coroutine)
    assert tool.func is plain


def test_what_is_no_tool_or_no_assembler_is_refused() -> None:
    with pytest.raises(UsageError, match="tool 'x' has no function"):
        aware(Assembler(), {"x": 3})
    with pytest.raises(UsageError, match="int has no tools"):
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


@pytest.mark.parametrize("result", [None, 3, "text", [{"a": 1}], object(), ("a",)], ids=lambda one: type(one).__name__)
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


def test_the_server_of_the_sdk_takes_such_a_tool() -> None:
    mcp = pytest.importorskip("mcp.server.mcpserver", reason="the extra `mcp` is not installed")
    server = mcp.MCPServer("test")
    server.tool()(aware(Assembler(), edit))
    listed = asyncio.run(server.list_tools())
    assert sorted(listed[0].input_schema["properties"]) == ["more", "path"]


def test_one_tool_may_be_a_mapping_itself() -> None:
    """A mapping with a name and a handler is a tool; one of functions alone is several, whatever they are called."""
    tool: Any = aware(Assembler(), {"name": "look", "handler": lambda _context: {"seen": _context}})
    assert tool["name"] == "look"
    assert set(tool["handler"]()) == {"seen", "_meta"}
    several: Any = aware(Assembler(), {"handler": dict, "name": dict})
    assert set(several["handler"]()) == set(several["name"]()) == {"_meta"}
