"""What satchel tells about its runs: a log, the log of editor hooks, and spans for OpenTelemetry if it is installed."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from satchel import __version__
from satchel.config import Folders
from satchel.errors import SatchelError
from satchel.safety import sanitize
from satchel.system import state_files
from satchel.types import Context, Data, Json


def warning(event: str, **fields: Any) -> None:
    """Write one line to the log. `exc_info=True` adds the exception that is being handled."""
    import structlog

    # Unconfigured, structlog writes to standard output, which is for the answer, and shows the values of all variables
    # with an exception, which may be private.
    logger = (
        structlog.get_logger()
        if structlog.is_configured()
        else structlog.wrap_logger(
            structlog.PrintLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=True),
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
                ),
            ],
        )
    )
    logger.warning(event, **fields)


OPERATION = "gen_ai.operation.name"
DATA_SOURCE = "gen_ai.data_source.id"
TOP_K = "gen_ai.request.top_k"
MODEL = "gen_ai.request.model"
QUERY = "gen_ai.retrieval.query.text"
CHUNKS = "gen_ai.retrieval.documents"
ERROR = "error.type"

RETRIEVAL = "retrieval"
EMBEDDINGS = "embeddings"
CREATE_MEMORY = "create_memory"
SEARCH_MEMORY = "search_memory"
UPDATE_MEMORY = "update_memory"
DELETE_MEMORY = "delete_memory"

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class TraceSpan(Protocol):
    """The methods of an OpenTelemetry span that satchel uses."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Add one attribute."""


class _NoSpan:
    """The span of a process that collects none."""

    def set_attribute(self, key: str, value: Any) -> None:
        pass


_NO_SPAN = _NoSpan()


@contextmanager
def span(operation: str, target: str = "", attributes: Mapping[str, Any] | None = None) -> Iterator[TraceSpan]:
    """Open a span around an operation, named `operation target`; an error adds its type and never its message."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _NO_SPAN
        return
    tracer = trace.get_tracer("satchel", __version__)
    every = {OPERATION: operation, **(attributes or {})}
    # Messages of errors quote the question, so a span has only the type of an error.
    with tracer.start_as_current_span(
        f"{operation} {target}".rstrip(), attributes=every, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute(ERROR, type(error).__qualname__)
            current.set_status(trace.StatusCode.ERROR)
            raise


def traced(operation: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return a decorator that opens a span around each call of a function."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def wrapper(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
            with span(operation):
                return function(*arguments, **options)

        return wrapper

    return decorate


@contextmanager
def retrieval(source: str, *, content: bool, limit: int | None = None) -> Iterator[Callable[[Context], None]]:
    """Open a span around one answer, and yield what describes it there, with its question if `content`."""
    attributes = {DATA_SOURCE: source} if limit is None else {DATA_SOURCE: source, TOP_K: limit}
    with span(RETRIEVAL, source, attributes) as current:
        yield lambda context: _describe(current, context, content=content)


def _describe(current: TraceSpan, context: Context, *, content: bool) -> None:
    """Add tokens and items of an answer, and with `content` also the question and the scores."""
    if isinstance(current, _NoSpan):
        return
    current.set_attribute("satchel.tokens.limit", context.usage.limit)
    current.set_attribute("satchel.tokens.used", context.usage.used)
    current.set_attribute("satchel.items", len(context.items))
    current.set_attribute("satchel.failures", len(context.failures))
    if content:
        chunks = [{"id": item.id, "score": item.relevance} for item in context.items]
        current.set_attribute(QUERY, context.query)
        current.set_attribute(CHUNKS, json.dumps(chunks, ensure_ascii=False, separators=(",", ":")))


HOOK_LOG_BYTES = 1_000_000
"""Size of the log of hooks above which its older half is deleted: about two thousand events, some weeks of work."""

REASON_CHARACTERS = 300

LOCK_SECONDS = 0.1
"""Maximum wait for another hook that writes: an entry needs less than a millisecond."""

INJECTED, NOTHING, SAVED, FAILED = "injected", "nothing", "saved", "failed"
"""Outcomes of an event: text for the model, no text, something saved, or an error."""


def hook_log_file(state: Path) -> Path:
    """Return the path of the log of hooks below the state folder: one line of JSON per event."""
    return state / "hooks" / "log.jsonl"


def append_hook_entry(state: Path, entry: Data) -> None:
    """Add one entry. Raises OSError where the state folder cannot be written."""
    line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"
    raw = line.encode("ascii")
    state_files.append(hook_log_file(state), raw, most=HOOK_LOG_BYTES, wait_seconds=LOCK_SECONDS)


def record_hook(event: str, outcome: str, reason: str, milliseconds: float, details: Json | None = None) -> str:
    """Add the entry of an event to the log of the user, and return an error message if that fails, else empty.

    An entry has the time, event, outcome, reason and cost; `details` are host, session, folder, tokens, characters, and
    the ids of injected items, neither title nor text. The command line, the page and the doctor read it.
    """
    entry = {
        "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "event": sanitize.line(event),
        **dict.fromkeys(("host", "session", "folder"), ""),
        "outcome": outcome,
        "reason": sanitize.line(reason, REASON_CHARACTERS),
        **dict.fromkeys(("tokens", "characters"), 0),
        "ms": round(milliseconds),
        "items": [],
    } | (details or {})
    try:
        append_hook_entry(Folders.from_environment().state, entry)
    except (OSError, SatchelError) as error:
        return f"the hook log cannot be written: {error}"
    return ""


TOO_LATE = "no answer within"
"""How the reason of an event begins that was not answered in time."""


def late_events(state: Path) -> list[str]:
    """Return the times of events that were not answered in time, as `supervise.note_late` kept them, oldest first."""
    try:
        return (state / "hooks" / "late").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return []


def hook_entries(state: Path, most: int | None = None) -> list[Json]:
    """Return the newest `most` entries (all by default), oldest first. Broken lines are left out."""
    try:
        raw = hook_log_file(state).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    rows: list[Json] = []
    for line in reversed(raw.split(b"\n")):
        if most is not None and len(rows) == most:
            break
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                rows.append(entry)
    return rows[::-1]
