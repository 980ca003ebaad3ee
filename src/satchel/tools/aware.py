"""Context-aware tools: each call gets the context of its situation.

    tools = create_context_aware_tools(satchel, {"edit_file": edit_file, "search": {"handler": search, ...}})

A handler that has a parameter `_context` (or accepts any keyword) receives the assembled `Context`, and a result that
is a mapping gets `_meta.contextUsed` with a summary of it. Nothing else changes: other results are the same object,
errors are raised, and without a context in time the tool works without one.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from satchel.errors import UsageError
from satchel.tools.calls import CallContexts, Situation, context_used, with_used

CONTEXT = "_context"
"""The parameter that receives the context."""

HANDLERS = ("handler", "fn", "func", "coroutine")
"""Names of the function in a tool object; one may have several, such as a sync and an async one."""

Tools = TypeVar("Tools")
Function = Callable[..., Any]
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def create_context_aware_tools(
    assembler: object,
    tools: Tools,
    *,
    situation: Situation = None,
    max_tokens: int | None = None,
    deadline_seconds: float | None = None,
    context: str | None = None,
) -> Tools:
    """Return the same tools, each called with the context of its situation; the originals do not change.

    `assembler` is a `Satchel`, a `ContextAssembler`, or an object with their method `situation`. `tools` is a mapping
    of names, a list, or one tool; a tool is a function, sync or async, or an object or mapping with a `handler`. The
    situation of a call (the tool, its params, with a task, an intent and files) is completed by `situation`: fields, or
    a function of name and params that returns them. The current `context.yaml` is that of the folder `context`, or of
    the field `context` of `situation`, or of a parameter `context` that names one, else the nearest of the files.
    `max_tokens` is the budget of a context (default: the assembler's), `deadline_seconds` how long a call waits for it
    (default: the setting `tools.deadline_s`). Raises UsageError for an object that is not a tool or an assembler.
    """
    contexts = CallContexts(assembler, situation, max_tokens, deadline_seconds, context)
    if isinstance(tools, Mapping) and not (isinstance(tools.get("name"), str) and _handlers(tools)):
        return {name: _aware(tool, str(name), contexts) for name, tool in tools.items()}  # type: ignore[return-value]
    if callable(tools) or _handlers(tools):
        return _aware(tools, _name_of(tools), contexts)  # type: ignore[no-any-return]
    if not isinstance(tools, Iterable) or isinstance(tools, str | bytes):
        raise UsageError(f"{type(tools).__name__} has no tools: give a mapping of names, a list, or one tool")
    listed = [_aware(tool, _name_of(tool), contexts) for tool in tools]
    return tuple(listed) if isinstance(tools, tuple) else listed  # type: ignore[return-value]


def _name_of(tool: object) -> str:
    name = tool.get("name") if isinstance(tool, Mapping) else getattr(tool, "name", None)
    return str(name or getattr(tool, "__name__", "") or type(tool).__name__)


def _handlers(tool: object) -> dict[str, Function]:
    """Return the functions of a tool object by their attribute or key."""
    named = {name: tool.get(name) if isinstance(tool, Mapping) else getattr(tool, name, None) for name in HANDLERS}
    return {name: function for name, function in named.items() if callable(function)}


def _aware(tool: Any, name: str, contexts: CallContexts) -> Any:
    """Return a tool of the same shape with its functions wrapped."""
    handlers = {} if isinstance(tool, functools.partial) else _handlers(tool)  # a partial has a `func`, too
    if not handlers and callable(tool):
        return _Tool(name, tool, contexts).wrapped()
    if not handlers:
        raise UsageError(f"tool {name!r} has no function: give a function, or an object with one of {HANDLERS}")
    wrapped = {own: _Tool(name, one, contexts, is_object=True).wrapped() for own, one in handlers.items()}
    try:
        return _with_functions(tool, wrapped)
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"tool {name!r} cannot be copied with other functions ({error}): give a mapping") from error


def _with_functions(tool: Any, functions: Mapping[str, Function]) -> Any:
    """Return a copy of a tool object that has these functions."""
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


class _Tool:
    """One function and its signature. That of a tool object may accept all its parameters as one mapping."""

    def __init__(self, name: str, function: Function, contexts: CallContexts, *, is_object: bool = False) -> None:
        self.name, self.function, self.contexts, self.is_object = name, function, contexts, is_object
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # some functions of C
            self.signature = None
        rows = self.signature.parameters.values() if self.signature is not None else ()
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self.rest = next((row.name for row in rows if row.kind is row.VAR_KEYWORD), "")
        self.takes_keyword = bool(self.rest) or any(row.name == CONTEXT and row.kind in named for row in rows)

    def wrapped(self) -> Function:
        """Return the function with its context, sync or async; a generator gets its own when it is made."""
        functions = self.function, getattr(self.function, "__call__", None)  # noqa: B004 - of an object that can be called
        tool = (_async if any(map(inspect.iscoroutinefunction, functions)) else _sync)(self)
        if self.signature is not None and CONTEXT in self.signature.parameters:
            # The schema that a model gets of the tool must not contain the context.
            own = [row for row in self.signature.parameters.values() if row.name != CONTEXT]
            tool.__signature__ = self.signature.replace(parameters=own)  # type: ignore[attr-defined]
        return tool

    def wants(self, args: Args, kwargs: Kwargs) -> bool:
        """Return whether this call can get a context before it begins."""
        return CONTEXT not in kwargs and (self.takes_keyword or self._is_mapping(args, kwargs))

    def params(self, args: Args, kwargs: Kwargs) -> dict[str, Any]:
        """Return the parameters of a call by name. The tool itself raises for a wrong call."""
        if self._is_mapping(args, kwargs):
            return dict(args[0])
        bound: Mapping[str, Any] = kwargs
        if self.signature is not None:
            with suppress(TypeError):
                bound = self.signature.bind_partial(*args, **kwargs).arguments
        params: dict[str, Any] = {}
        for name, value in bound.items():
            params |= value if name == self.rest and bound is not kwargs else {name: value}
        return params

    def with_context(self, args: Args, kwargs: Kwargs, context: object) -> tuple[Args, Kwargs]:
        """Return the arguments of a call with its context."""
        if self.takes_keyword:
            return args, {**kwargs, CONTEXT: context}
        return ({**args[0], CONTEXT: context},), kwargs

    def _is_mapping(self, args: Args, kwargs: Kwargs) -> bool:
        is_one = self.is_object and len(args) == 1 and not kwargs
        return is_one and isinstance(args[0], Mapping) and CONTEXT not in args[0]


def _sync(call: _Tool) -> Function:
    function, contexts = call.function, call.contexts

    @functools.wraps(function)
    def tool(*args: Any, **kwargs: Any) -> Any:
        if CONTEXT in kwargs:
            return function(*args, **kwargs)
        context = None
        if call.wants(args, kwargs):
            context = contexts.of(call.name, call.params(args, kwargs))
            args, kwargs = call.with_context(args, kwargs, context)
        result = function(*args, **kwargs)
        if isinstance(result, Mapping):
            context = contexts.of(call.name, call.params(args, kwargs)) if context is None else context
            return with_used(result, context_used(context))
        return result

    return tool


def _async(call: _Tool) -> Function:
    function, contexts = call.function, call.contexts

    @functools.wraps(function)
    async def tool(*args: Any, **kwargs: Any) -> Any:
        if CONTEXT in kwargs:
            return await function(*args, **kwargs)
        context = None
        if call.wants(args, kwargs):
            context = await contexts.aof(call.name, call.params(args, kwargs))
            args, kwargs = call.with_context(args, kwargs, context)
        result = await function(*args, **kwargs)
        if isinstance(result, Mapping):
            context = await contexts.aof(call.name, call.params(args, kwargs)) if context is None else context
            return with_used(result, context_used(context))
        return result

    return tool
