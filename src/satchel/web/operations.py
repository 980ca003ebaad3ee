"""POST /api/{operation}: the arguments are the body, the answer is what the command line prints with `--json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import Response

from satchel import logs
from satchel.calls.faults import without_home
from satchel.calls.operation import Operation, StoppedError
from satchel.calls.registry import OPERATIONS
from satchel.errors import SatchelError, UsageError
from satchel.web.error_responses import INTERNAL, STOPPING, Refusal, refusal_of
from satchel.web.middleware import JSON, answer
from satchel.web.request_queue import ClientGoneError, RefusedError, ShouldStop
from satchel.web.state import ServerState
from satchel.wire import json_text

LOOKING = frozenset({"status", "doctor", "memories", "experiences", "values", "proposals", "remember", "experience"})
"""Operations that need no index: they are answered while the first one is being built."""

PLACES = frozenset({"status", "doctor"})
"""Operations that tell folders of this machine: those below the home folder are shown from `~`."""

SHOWN_NAME = 60
"""Characters of an unknown name in a message."""


async def operate(request: Request) -> Response:
    """Run the operation that the path names."""
    name = request.path_params["operation"]
    operation = OPERATIONS.get(name)
    if operation is None:
        return answer(_unknown(name))
    body = await request.body()
    return await performed(request, operation, lambda: parsed(body))


async def performed(
    request: Request,
    operation: Operation,
    arguments: Callable[[], Mapping[str, Any]],
    more: Callable[[], Mapping[str, Any]] = dict,
) -> Response:
    """The answer of an operation, in a turn of its own. `more` is added to what it says.

    Reading the arguments and writing the answer is part of the turn: both may be large.
    """
    shared: ServerState = request.app.state.served
    is_looking = operation.name in LOOKING
    turns = shared.looking if is_looking else shared.asking

    def work(should_stop: ShouldStop) -> bytes:
        answered = operation.run(shared.engine, arguments(), shared.indexing, should_stop)
        found = {**answered.envelope, **more()}
        return f"{json_text(_without_places(found) if operation.name in PLACES else found)}\n".encode()

    try:
        with turns.admitted():
            body = await turns.run(work, request.receive, None if is_looking else shared.first)
    except RefusedError as refused:
        return answer(refused.refusal)
    except (ClientGoneError, StoppedError):  # nobody reads it, unless the whole server ends
        return answer(STOPPING)
    except (SatchelError, OSError) as error:
        return answer(refusal_of(error))
    except Exception:  # noqa: BLE001 - a fault of ours: it is logged, and what is inside stays inside
        logs.warning("an operation failed", operation=operation.name, exc_info=True)
        return answer(INTERNAL)
    return Response(body, media_type=JSON)


def parsed(body: bytes) -> Mapping[str, Any]:
    """The arguments in a body; an empty one has none. Raises UsageError for what is no JSON object."""
    if not body:
        return {}
    try:
        given = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is no JSON: {error}") from error
    given = _whole(given)
    if not isinstance(given, dict):
        raise UsageError('the body is no JSON object: send the arguments as in {"question": "where is ..."}')
    return given


def _whole(given: Any) -> Any:
    """The same values where an escape was half a character: no file and no store can hold that."""
    text = json.dumps(given, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    return given


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _without_places(found: Any) -> Any:
    if isinstance(found, str):
        return without_home(found)
    if isinstance(found, Mapping):
        return {key: _without_places(value) for key, value in found.items()}
    return [_without_places(value) for value in found] if isinstance(found, list | tuple) else found


def _unknown(name: str) -> Refusal:
    shown = name if len(name) <= SHOWN_NAME else f"{name[:SHOWN_NAME]}..."
    return Refusal(
        404, "UnknownOperation", f"there is no operation {shown!r}", f"the operations are {', '.join(OPERATIONS)}"
    )
