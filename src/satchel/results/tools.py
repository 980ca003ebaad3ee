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
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import copy_context
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from satchel.errors import SatchelError, UsageError
from satchel.safety import sanitize
from satchel.settings import SETTINGS
from satchel.system import telemetry
from satchel.system.threads import Threads, outside_loop
from satchel.types import Context, ContextItem, Data, Failure, Format, Json, Usage
from satchel.vocabulary import check_count

META, USED = "_meta", "contextUsed"

CONTEXT = "_context"
"""The parameter that receives the context."""

SITUATION_ITEM = "context:situation"
"""The id of the item that shows the situation itself, which the caller knows."""

LONGEST_VALUE = 4_000
"""Length limit of a text among the parameters, more than is shown."""

MAX_VALUES = 200
"""Limit of the values of all parameters, including those in lists and mappings."""

TASK_PARAMETERS = ("task", "query", "question", "prompt", "goal", "description")
"""Parameters that state the purpose of a call, the plainest first."""

WORD_PARAMETERS = ("intent", "error", "language", "agent")
"""Parameters that are also fields of a situation."""

FILE_PARAMETERS = (
    "path", "file", "file_path", "filePath", "filename", "notebook_path", "source", "destination", "uri",
    "paths", "files", "file_paths", "filePaths",
)  # fmt: skip
"""Parameters that name the files of a call, one or several."""


def call_situation(tool: str, params: Data, root: Path | None = None) -> Json:
    """Return the fields of the situation of a call: tool, params, and the task, words and files in them.

    Values without a JSON form are replaced by their type. Paths below `root` become relative to it; others are only
    among the params.
    """
    room, given = [MAX_VALUES], dict(params)
    given.pop(CONTEXT, None)
    plain = {str(name): _plain(value, room) for name, value in given.items()}
    texts = {name: value for name, value in plain.items() if isinstance(value, str)}
    paths = chain.from_iterable(map(_texts, map(plain.get, FILE_PARAMETERS)))
    fields: Json = {
        "task": next(filter(str.strip, (texts.get(name, "") for name in TASK_PARAMETERS)), ""),
        **{name: texts.get(name, "") for name in WORD_PARAMETERS},
        "files": [*filter(None, dict.fromkeys(_relative(path, root) for path in paths))],
        "tags": _texts(plain["tags"]) if isinstance(plain.get("tags"), list) else [],
    }
    return {"tool": tool, "params": plain} | {name: value for name, value in fields.items() if value}


def _plain(value: object, room: list[int]) -> Any:
    """Return a value as plain JSON, shortened. `room` counts down the values that are still allowed."""
    room[0] -= 1
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value[:LONGEST_VALUE] + "…" * (len(value) > LONGEST_VALUE)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner, room) for name, inner in value.items() if room[0] > 0}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, room) for inner in value if room[0] > 0]
    return f"<{type(value).__name__}>"


def _texts(value: object) -> list[str]:
    """Return the texts of a parameter: itself, or those of its list."""
    if isinstance(value, str):
        return [value]
    return [text for text in value if isinstance(text, str)] if isinstance(value, Iterable) else []


def _relative(path: str, root: Path | None) -> str:
    """Return a path relative to the root, empty for the root itself and for a path that a situation cannot have."""
    path = unquote(path.removeprefix("file://")) if path.startswith("file://") else path
    if "\n" in path or "://" in path or "\0" in path:
        return ""
    if root is None or not os.path.isabs(path):  # noqa: PTH117 - a text, which may be too long for a path
        return path
    for top in dict.fromkeys((str(root), os.path.realpath(root))):
        inside = os.path.relpath(os.path.normpath(path), top)
        if not inside.startswith(".."):
            return "" if inside == "." else Path(inside).as_posix()
    return ""


def context_used(context: object) -> Json:
    """Return items, tokens and failures of a context as plain JSON; of an object from elsewhere only its type."""
    if not isinstance(context, Context):
        return {"items": [], "tokens": 0, "limit": 0, "warnings": [], "type": type(context).__name__}
    return {
        "items": [_item(item) for item in context.items if item.id != SITUATION_ITEM],
        "tokens": context.usage.used,
        "limit": context.usage.limit,
        "warnings": [f"{failure.source}: {failure.message}" for failure in context.failures],
    }


def with_used(result: object, used: Data) -> object:
    """Return a copy of a mapping with `_meta.contextUsed`; another result, or one that has it already, as it is."""
    if not isinstance(result, Mapping):
        return result
    try:
        own = result.get(META, {})
        if not isinstance(own, Mapping) or USED in own:
            return result
        copied = copy.copy(result) if isinstance(result, dict) else dict(result)
        copied[META] = {**own, USED: dict(used)}
    except Exception:  # noqa: BLE001 - a foreign mapping may raise anything, and the tool has answered
        telemetry.warning("a result takes no contextUsed", type=type(result).__name__, exc_info=True)
        return result
    return copied


def _item(item: ContextItem) -> Json:
    shown: Json = {"id": item.id, "tokens": item.tokens}
    if item.location is not None:
        shown |= {"path": item.location.path, "lines": [list(span) for span in item.spans]}
    return shown


METHODS = ("situation", "assemble_situation")
"""Names of the method of an assembler, in `Satchel` and in `ContextAssembler`."""


Situation = Data | Callable[[str, Data], Data | None] | None
"""Additional fields of a situation, or a function of the tool and its parameters that returns them."""


class CallContexts:
    """Assembles contexts for calls of tools. One that fails or is late is an empty context with the reason."""

    def __init__(
        self,
        assembler: object,
        situation: Situation,
        max_tokens: int | None,
        deadline_seconds: float | None,
        context: str | None = None,
    ) -> None:
        self._assembler, self._situation = assembler, situation
        self._fixed = {} if context is None else {"context": context}
        self._method = _method_of(assembler)
        self._options = {} if max_tokens is None else {"max_tokens": check_count(max_tokens, "max_tokens")}
        self._deadline = _checked_deadline(deadline_seconds)
        self._threads = Threads(4)  # limit of contexts that are assembled at once; others wait until their deadline

    def of(self, tool: str, params: Data) -> Any:
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

    async def aof(self, tool: str, params: Data) -> Any:
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

    def _assembled(self, tool: str, params: Data) -> Any:
        answer = self._answer(tool, params)
        return outside_loop(answer) if inspect.isawaitable(answer) else answer

    async def _awaited(self, tool: str, params: Data) -> Any:
        return await self._answer(tool, params)

    def _answer(self, tool: str, params: Data) -> Any:
        """Return the answer of the assembler, which may be a coroutine, to the call and the additional fields."""
        root = getattr(getattr(self._engine, "places", None), "root", None)
        is_ours = isinstance(root, Path)  # another assembler may not know the field
        call = call_situation(tool, params, root if is_ours else None) | ({"is_call": True} if is_ours else {})
        around = self._situation(tool, params) if callable(self._situation) else self._situation
        return self._method({**call, "time": time.time(), **self._fixed, **(around or {})}, **self._options)

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


HANDLERS = ("handler", "fn", "func", "coroutine")
"""Names of the function in a tool object; one may have several, such as a sync and an async one."""

Tools = TypeVar("Tools")
Function = Callable[..., Any]
Args = tuple[Any, ...]
Kwargs = Json


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
        return {name: _aware(tool, contexts, str(name)) for name, tool in tools.items()}  # type: ignore[return-value]
    if callable(tools) or _handlers(tools):
        return _aware(tools, contexts)  # type: ignore[no-any-return]
    if not isinstance(tools, Iterable) or isinstance(tools, str | bytes):
        raise UsageError(f"{type(tools).__name__} has no tools: give a mapping of names, a list, or one tool")
    listed = [*map(functools.partial(_aware, contexts=contexts), tools)]
    return tuple(listed) if isinstance(tools, tuple) else listed  # type: ignore[return-value]


def _name_of(tool: object) -> str:
    name = tool.get("name") if isinstance(tool, Mapping) else getattr(tool, "name", None)
    return str(name or getattr(tool, "__name__", "") or type(tool).__name__)


def _handlers(tool: object) -> dict[str, Function]:
    """Return the functions of a tool object by their attribute or key."""
    named = {name: tool.get(name) if isinstance(tool, Mapping) else getattr(tool, name, None) for name in HANDLERS}
    return {name: function for name, function in named.items() if callable(function)}


def _aware(tool: Any, contexts: CallContexts, name: str | None = None) -> Any:
    """Return a tool of the same shape with its functions wrapped; its own name is the default of `name`."""
    name = _name_of(tool) if name is None else name
    handlers = {} if isinstance(tool, functools.partial) else _handlers(tool)  # a partial has a `func`, too
    if not handlers and callable(tool):
        return _Tool(name, tool, contexts).wrapped()
    if not handlers:
        raise UsageError(f"tool {name!r} has no function: give a function, or an object with one of {HANDLERS}")
    wrapped = {own: _Tool(name, handler, contexts, is_object=True).wrapped() for own, handler in handlers.items()}
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

    def params(self, args: Args, kwargs: Kwargs) -> Json:
        """Return the parameters of a call by name. The tool itself raises for a wrong call."""
        if self._is_mapping(args, kwargs):
            return dict(args[0])
        bound: Data = kwargs
        if self.signature is not None:
            with suppress(TypeError):
                bound = self.signature.bind_partial(*args, **kwargs).arguments
        params: Json = {}
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
