"""What all operations have in common: names, schemas that are true, and choices that are checked."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from satchel.engine import Satchel
from satchel.errors import UsageError
from satchel.operations.operation import Caller, Operation, Parameter, Shape, StoppedError
from satchel.operations.registry import OPERATIONS, TOOLS
from tests.operations.conftest import Ask, stable
from tests.operations.test_ask_unasked import FAILED

MANY = {
    "context_query": {"question": "backoff"},
    "graph_context": {"query": "backoff"},
    "premortem": {"domain": "debugging"},
    "situation_context": {"task": "change a price"},
    "search": {"question": "backoff"},
    "remember": {"action": "store", "text": "x is y"},
    "experience": {"action": "start", **FAILED},
    "document": {"id": "code:shop/client.py"},
    "why": {"target": "shop/client.py", "question": "backoff"},
    "status": {},
    "doctor": {},
    "stats": {},
    "graph_export": {"query": "backoff"},
    "memories": {},
    "experiences": {},
    "values": {},
    "proposals": {},
    "history": {},
}
"""Arguments that each operation answers; `expand` and `replay` need an answer first."""

ALL = [pytest.param(operation, id=name) for name, operation in OPERATIONS.items()]


def test_there_are_eight_tools_with_the_names_that_agents_know() -> None:
    names = "context_query graph_context premortem situation_context search expand remember experience"
    assert [one.name for one in TOOLS] == names.split()


@pytest.mark.parametrize("operation", ALL)
def test_schemas_are_valid_and_say_what_each_argument_means(operation: Operation) -> None:
    Draft202012Validator.check_schema(operation.json_schema())
    Draft202012Validator.check_schema(dict(operation.output()))
    assert all(one.meaning for one in operation.parameters)
    names = [name for one in operation.parameters for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", [*MANY])
def test_an_envelope_is_as_its_schema_says(engine: Satchel, name: str) -> None:
    engine.index()
    envelope = OPERATIONS[name].run(engine, MANY[name]).envelope
    Draft202012Validator(dict(OPERATIONS[name].output())).validate(stable(envelope))


def test_the_envelopes_that_need_an_answer_first_are_as_their_schemas_say(ask: Ask) -> None:
    first = ask("context_query", question="backoff").envelope
    for name, arguments in (("expand", {"handles": [first["items"][0]["handle"]]}), ("replay", {"saved": first})):
        Draft202012Validator(dict(OPERATIONS[name].output())).validate(stable(ask(name, **arguments).envelope))


def choices() -> list[Any]:
    return [
        pytest.param(operation, one, id=f"{operation.name}-{one.name}")
        for operation in OPERATIONS.values()
        for one in operation.parameters
        if one.choices and operation.name in MANY and one.name not in {"action", "mode", "types"}
    ]


@pytest.mark.parametrize(("operation", "parameter"), choices())
def test_a_choice_that_does_not_exist_is_refused_and_all_that_do_are_named(
    engine: Satchel, operation: Operation, parameter: Parameter
) -> None:
    wrong: Any = ["zebra"] if parameter.shape is Shape.TEXTS else "zebra"
    base = _taking(operation.name, parameter.name)
    with pytest.raises(UsageError) as refused:
        operation.run(engine, {**base, parameter.name: wrong})
    assert "zebra" in str(refused.value)
    assert all(choice in str(refused.value) for choice in parameter.choices)


def _taking(name: str, parameter: str) -> dict[str, Any]:
    """Arguments of an operation that a parameter goes with."""
    if name == "experience":
        resolving = {"action": "resolve", "status": "falsified", "result": "r", "root_cause_description": "d"}
        listing = {"action": "list"}
        return listing if parameter in {"outcome", "tier"} else resolving if parameter in {
            "status", "root_cause"
        } else dict(MANY[name])  # fmt: skip
    if name == "remember" and parameter == "scope":
        return {"action": "list"}
    if parameter == "verdict":
        return {"action": "review", "ids": ["can_1"]}
    if name == "premortem" and parameter == "domain":
        return {}
    return dict(MANY[name])


def test_an_operation_that_is_stopped_says_so_and_keeps_nothing_locked(engine: Satchel) -> None:
    with pytest.raises(StoppedError, match="the call was cancelled"):
        OPERATIONS["context_query"].run(engine, {"question": "backoff"}, Caller(should_stop=lambda: True))
    assert OPERATIONS["context_query"].run(engine, {"question": "backoff"}).text


def test_progress_of_the_refresh_is_told(engine: Satchel) -> None:
    told: list[str] = []

    class Watching:
        def phase(self, name: str, total: int) -> None:
            told.append(f"{name} {total}")

        def advance(self, count: int) -> None:
            assert count

    OPERATIONS["search"].run(engine, {"question": "backoff"}, Caller(Watching()))
    assert told
