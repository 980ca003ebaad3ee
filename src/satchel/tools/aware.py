"""Tools that know where they are called: each call comes with the context of its situation.

    tools = create_context_aware_tools(satchel, {"edit_file": edit_file, "search": {"handler": search, ...}})

A handler that has a parameter `_context` (or takes any keyword) receives the assembled `Context`, and a result that is
a mapping says in `_meta.contextUsed` what was in it. Nothing else changes: other results are the same object, errors
pass, and where a context cannot be assembled in time the tool works without one.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from satchel.errors import UsageError
from satchel.tools.contexts import CallContexts, Situation
from satchel.tools.used import context_used, with_used

CONTEXT = "_context"
"""The parameter that receives the context."""

HANDLERS = ("handler", "fn", "func", "coroutine")
"""What a tool object calls the function behind it; one may have several, such as a sync and an async one."""

Tools = TypeVar("Tools")
Function = Callable[..., Any]


def create_context_aware_tools(
    assembler: object,
    tools: Tools,
    *,
    situation: Situation = None,
    max_tokens: int | None = None,
    deadline_seconds: float | None = None,
) -> Tools:
    """The same tools, each called with the context of its situation; those given stay as they are.

    `assembler` is a `Satchel`, a `ContextAssembler`, or an object with their method `situation`. `tools` is a mapping
    of names, a list, or one tool; a tool is a function, sync or async, or an object or mapping with a `handler`. What
    a call says (the tool, its params, a task, an intent and files among them) is completed by `situation`: fields,
    or a function of name and params that gives them. `max_tokens` is the budget of a context (default: the
    assembler's), `deadline_seconds` how long a call waits for it (default: the setting `tools.deadline_s`). Raises
    UsageError for what is no tool or no assembler.
    """
    contexts = CallContexts(assembler, situation, max_tokens, deadline_seconds)
    if isinstance(tools, Mapping) and not (isinstance(tools.get("name"), str) and _handlers(tools)):
        return {name: _aware(tool, str(name), contexts) for name, tool in tools.items()}  # type: ignore[return-value]
    if callable(tools) or _handlers(tools):
        return _aware(tools, _name_of(tools), contexts)  # type: ignore[no-any-return]
    if not isinstance(tools, Iterable) or isinstance(tools, str | bytes):
        raise UsageError(f"{type(tools).__name__} holds no tools: give a mapping of names, a list, or one tool")
    listed = [_aware(tool, _name_of(tool), contexts) for tool in tools]
    return tuple(listed) if isinstance(tools, tuple) else listed  # type: ignore[return-value]


def _name_of(tool: object) -> str:
    name = tool.get("name") if isinstance(tool, Mapping) else getattr(tool, "name", None)
    return str(name or getattr(tool, "__name__", "") or type(tool).__name__)


def _handlers(tool: object) -> dict[str, Function]:
    """The functions behind a tool object, by the name that it has for them."""
    get = tool.get if isinstance(tool, Mapping) else functools.partial(_attribute, tool)
    found = {name: get(name) for name in HANDLERS}
    return {name: function for name, function in found.items() if callable(function)}


def _attribute(tool: object, name: str) -> Any:
    return getattr(tool, name, None)


def _aware(tool: Any, name: str, contexts: CallContexts) -> Any:
    """A tool of the same shape with its functions wrapped."""
    handlers = {} if isinstance(tool, functools.partial) else _handlers(tool)  # a partial has a `func`, too
    wrapped = {own: _wrapped(_Call(name, function, is_object=True), contexts) for own, function in handlers.items()}
    if not handlers and callable(tool):
        return _wrapped(_Call(name, tool), contexts)
    if not handlers:
        raise UsageError(f"tool {name!r} has no function: give a function, or an object with one of {HANDLERS}")
    try:
        return _with_functions(tool, wrapped)
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"tool {name!r} cannot be copied with other functions ({error}): give a mapping") from error


def _with_functions(tool: Any, functions: Mapping[str, Function]) -> Any:
    """A copy of a tool object that has these functions."""
    if isinstance(tool, Mapping):
        return {**tool, **functions}
    if dataclasses.is_dataclass(tool):
        return dataclasses.replace(tool, **functions)  # type: ignore[type-var]
    if hasattr(tool, "_replace"):
        return tool._replace(**functions)
    copied = copy.copy(tool)
    for own, function in functions.items():
        setattr(copied, own, function)
    return copied


@dataclass(frozen=True, slots=True)
class _Call:
    """How one function is called. That of a tool object may take all its parameters as one mapping."""

    tool: str
    function: Function
    is_object: bool = False

    @property
    def signature(self) -> inspect.Signature | None:
        """Its parameters, None where it does not tell (some of C)."""
        try:
            return inspect.signature(self.function)
        except (TypeError, ValueError):
            return None

    @property
    def takes_keyword(self) -> bool:
        """Whether it takes the context as a keyword: by name, or with all others."""
        known = self.signature.parameters.values() if self.signature is not None else ()
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return any(one.kind is one.VAR_KEYWORD or (one.name == CONTEXT and one.kind in named) for one in known)


class _Caller:
    """What the wrappers of one function share."""

    def __init__(self, call: _Call, contexts: CallContexts) -> None:
        self.tool, self.function, self.contexts = call.tool, call.function, contexts
        self._is_object, self._signature, self._takes_keyword = call.is_object, call.signature, call.takes_keyword

    def wants(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
        """Whether this call can be given a context before it begins."""
        return CONTEXT not in named and (self._takes_keyword or self._is_mapping(given, named))

    def params(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a call by name. A call that does not fit is left to the tool to refuse."""
        if self._is_mapping(given, named):
            return dict(given[0])
        try:
            bound = self._signature.bind_partial(*given, **named).arguments if self._signature is not None else named
        except TypeError:
            bound = named
        found: dict[str, Any] = {}
        for name, value in bound.items():
            found |= value if self._is_rest(name) else {name: value}
        return found

    def with_context(
        self, given: tuple[Any, ...], named: dict[str, Any], context: object
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call with its context."""
        if self._takes_keyword:
            return given, {**named, CONTEXT: context}
        return ({**given[0], CONTEXT: context},), named

    def _is_mapping(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
        is_one = self._is_object and len(given) == 1 and not named
        return is_one and isinstance(given[0], Mapping) and CONTEXT not in given[0]

    def _is_rest(self, name: str) -> bool:
        known = self._signature.parameters.get(name) if self._signature is not None else None
        return known is not None and known.kind is inspect.Parameter.VAR_KEYWORD


def _wrapped(call: _Call, contexts: CallContexts) -> Function:
    """The function with its context, of the same kind: sync, async, or a generator of either kind."""
    function = call.function
    inner = getattr(function, "__call__", None)  # noqa: B004 - of an object that can be called, this is the function
    caller = _Caller(call, contexts)
    if _is(inspect.isgeneratorfunction, function, inner):
        tool = _generator(caller) if call.takes_keyword else function
    elif _is(inspect.isasyncgenfunction, function, inner):
        tool = _async_generator(caller) if call.takes_keyword else function
    elif _is(inspect.iscoroutinefunction, function, inner):
        tool = _async(caller)
    else:
        tool = _sync(caller)
    signature = call.signature
    if tool is not function and signature is not None and CONTEXT in signature.parameters:
        # Whoever offers the tool to a model must not offer it what only we give.
        own = [one for one in signature.parameters.values() if one.name != CONTEXT]
        tool.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    return tool


def _is(kind: Callable[[object], bool], function: object, inner: object) -> bool:
    return kind(function) or kind(inner)


def _sync(caller: _Caller) -> Function:
    function, contexts = caller.function, caller.contexts

    @functools.wraps(function)
    def tool(*given: Any, **named: Any) -> Any:
        if CONTEXT in named:
            return function(*given, **named)
        context = None
        if caller.wants(given, named):
            context = contexts.of(caller.tool, caller.params(given, named))
            given, named = caller.with_context(given, named, context)
        result = function(*given, **named)
        if isinstance(result, Mapping):
            context = contexts.of(caller.tool, caller.params(given, named)) if context is None else context
            return with_used(result, context_used(context))
        return result

    return tool


def _async(caller: _Caller) -> Function:
    function, contexts = caller.function, caller.contexts

    @functools.wraps(function)
    async def tool(*given: Any, **named: Any) -> Any:
        if CONTEXT in named:
            return await function(*given, **named)
        context = None
        if caller.wants(given, named):
            context = await contexts.aof(caller.tool, caller.params(given, named))
            given, named = caller.with_context(given, named, context)
        result = await function(*given, **named)
        if isinstance(result, Mapping):
            context = await contexts.aof(caller.tool, caller.params(given, named)) if context is None else context
            return with_used(result, context_used(context))
        return result

    return tool


def _generator(caller: _Caller) -> Function:
    @functools.wraps(caller.function)
    def tool(*given: Any, **named: Any) -> Any:
        if CONTEXT not in named:
            context = caller.contexts.of(caller.tool, caller.params(given, named))
            given, named = caller.with_context(given, named, context)
        return (yield from caller.function(*given, **named))

    return tool


def _async_generator(caller: _Caller) -> Function:
    @functools.wraps(caller.function)
    async def tool(*given: Any, **named: Any) -> Any:
        if CONTEXT not in named:
            context = await caller.contexts.aof(caller.tool, caller.params(given, named))
            given, named = caller.with_context(given, named, context)
        async with aclosing(caller.function(*given, **named)) as stream:
            try:
                value = await anext(stream)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # noqa: BLE001 - thrown in from outside, it belongs to the tool
                        value = await stream.athrow(error)
                    else:
                        value = await stream.asend(sent)
            except StopAsyncIteration:
                return

    return tool
