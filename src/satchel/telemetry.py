"""OpenTelemetry spans, for programs that collect them, by the published names for generative AI.

Satchel only writes spans where the program around it has loaded `opentelemetry` (extra `otel`): a process that traces
nothing pays a dictionary look-up, and imports nothing. What was asked and what was found is not in a span unless
`telemetry.content` says so. All names stand here, because the published ones are still in development.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, Protocol, TypeVar

from satchel import __version__
from satchel.types import Context

OPERATION = "gen_ai.operation.name"
DATA_SOURCE = "gen_ai.data_source.id"
TOP_K = "gen_ai.request.top_k"
MODEL = "gen_ai.request.model"
QUERY = "gen_ai.retrieval.query.text"
DOCUMENTS = "gen_ai.retrieval.documents"
ERROR = "error.type"

RETRIEVAL = "retrieval"
EMBEDDINGS = "embeddings"
CREATE_MEMORY = "create_memory"
SEARCH_MEMORY = "search_memory"
UPDATE_MEMORY = "update_memory"
DELETE_MEMORY = "delete_memory"

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Span(Protocol):
    """What is told about one operation."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Tell one more thing."""


class _Untold:
    """Stands in where nothing is collected."""

    def set_attribute(self, key: str, value: Any) -> None:
        pass


_UNTOLD = _Untold()


@contextmanager
def span(operation: str, target: str = "", attributes: Mapping[str, Any] | None = None) -> Iterator[Span]:
    """A span around an operation, named `operation target`; an error adds its type and never its message."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _UNTOLD
        return
    tracer = trace.get_tracer("satchel", __version__)
    told = {OPERATION: operation, **(attributes or {})}
    # Messages of errors name what was asked, so nothing but the type of one is told.
    with tracer.start_as_current_span(
        f"{operation} {target}".rstrip(), attributes=told, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute(ERROR, type(error).__qualname__)
            current.set_status(trace.StatusCode.ERROR)
            raise


def traced(operation: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Put a span around a function."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def wrapper(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
            with span(operation):
                return function(*arguments, **options)

        return wrapper

    return decorate


def tell(current: Span, context: Context, *, content: bool) -> None:
    """Add what an answer came to: its tokens and items, and with `content` also the question and what was found."""
    if isinstance(current, _Untold):
        return
    current.set_attribute("satchel.tokens.limit", context.usage.limit)
    current.set_attribute("satchel.tokens.used", context.usage.used)
    current.set_attribute("satchel.items", len(context.items))
    current.set_attribute("satchel.failures", len(context.failures))
    if content:
        import json

        found = [{"id": item.id, "score": item.relevance} for item in context.items]
        current.set_attribute(QUERY, context.query)
        current.set_attribute(DOCUMENTS, json.dumps(found, ensure_ascii=False, separators=(",", ":")))
