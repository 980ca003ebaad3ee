"""The OpenAPI chunk is valid, complete, the same every time, and true: what it allows is never a fault of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from satchel.engine import Satchel
from satchel.operations.registry import OPERATIONS
from satchel.web.application import routes
from satchel.web.routes import REFUSALS, openapi
from tests.architecture.tree import ROOT
from tests.web.asking import client_of, nothing

CHUNK = openapi()

SLOW = frozenset({"doctor"})
"""Operations without arguments that take a second each."""


@pytest.fixture(scope="module")
def asking(engine: Satchel) -> Iterator[TestClient]:
    with client_of(engine) as client:
        yield client


def parts(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a chunk."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)


def resolved(reference: str) -> Any:
    """What a reference inside the chunk leads to."""
    assert reference.startswith("#/")
    found: Any = CHUNK
    for name in reference[2:].split("/"):
        found = found[name]
    return found


def test_it_is_served_and_the_same_every_time(asking: TestClient) -> None:
    first, second = asking.get("/openapi.json"), asking.get("/openapi.json")
    assert first.content == second.content
    assert first.json() == json.loads(json.dumps(CHUNK))


def test_it_has_what_version_3_1_asks_for() -> None:
    assert CHUNK["openapi"] == "3.1.0"
    assert {"title", "version"} <= set(CHUNK["info"])
    names = []
    for path, item in CHUNK["paths"].items():
        assert path.startswith("/")
        for method, operation in item.items():
            assert method in {"get", "post"}
            assert operation["responses"]["200"]["description"]
            assert operation["summary"]
            names.append(operation["operationId"])
            for code, response in operation["responses"].items():
                assert code.isdecimal()
                assert "$ref" in response or "description" in response
            for parameter in operation.get("parameters", []):
                assert {"name", "in", "schema"} <= set(parameter)
                assert parameter["in"] == "query"
    assert len(names) == len(set(names))
    assert {name for row in CHUNK["security"] for name in row} == set(CHUNK["components"]["securitySchemes"])


def test_every_reference_leads_somewhere() -> None:
    references = [part["$ref"] for part in parts(CHUNK) if "$ref" in part]
    assert references
    for reference in references:
        assert resolved(reference)


def test_every_schema_is_one() -> None:
    schemas = [part["schema"] for part in parts(CHUNK) if isinstance(part.get("schema"), dict)]
    assert len(schemas) > len(OPERATIONS)
    for schema in schemas:
        Draft202012Validator.check_schema(schema)


def test_it_names_every_route() -> None:
    served = {getattr(route, "path", "") for route in routes(nothing)} - {"/", "/page/{name}", "/api/{operation}"}
    assert served | {f"/api/{name}" for name in OPERATIONS} == set(CHUNK["paths"])


def test_the_token_is_not_in_it() -> None:
    assert "of-the-tests" not in json.dumps(CHUNK)


def test_a_refusal_is_as_it_is_described(asking: TestClient) -> None:
    schema = CHUNK["components"]["schemas"]["Error"]
    for answer in (
        asking.get("/nothing"),
        asking.post("/api/search", json={}),
        asking.get("/", headers={"Host": "evil.test"}),
        asking.get("/", headers={"Authorization": ""}),
    ):
        Draft202012Validator(schema).validate(answer.json())


TEXTS = st.text(max_size=30) | st.sampled_from(
    ["backoff", "shop/client.py", "../../etc/passwd", "~/x", "file:///etc/passwd", "\x00", "\u202e", "C:x", "now"]
)
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.lists(TEXTS, max_size=2)


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly what a schema allows, sometimes what it does not."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | TEXTS
    kind = schema.get("type")
    if kind == "integer":
        return st.integers(-1, 2_000) | st.sampled_from([0, 2**31, 2**63, 10**30])
    if kind == "number":
        return st.floats(-1, 2)
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(values(schema["items"]), max_size=3)
    if kind == "object":
        return st.dictionaries(TEXTS, ANYTHING, max_size=3)
    return TEXTS


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An operation with arguments as its schema describes them, and now and then something else."""
    name = draw(st.sampled_from(sorted(set(OPERATIONS) - SLOW)))
    schema = OPERATIONS[name].json_schema()
    properties, required = schema["properties"], set(schema.get("required", ()))
    chosen = required | set(draw(st.lists(st.sampled_from(sorted(properties)), max_size=4)) if properties else ())
    arguments = {one: draw(values(properties[one]) | ANYTHING) for one in sorted(chosen)}
    arguments |= draw(st.sampled_from([{}, {}, {}, {"nonsense": 1}]))
    return name, arguments


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request=requests())
def test_no_arguments_are_a_fault_of_ours(asking: TestClient, request: tuple[str, dict[str, Any]]) -> None:
    name, arguments = request
    body = json.dumps(arguments).encode()
    answer = asking.post(f"/api/{name}", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {200, 400}, answer.text
    schema = OPERATIONS[name].output() if answer.status_code == 200 else CHUNK["components"]["schemas"]["Error"]
    Draft202012Validator(dict(schema)).validate(answer.json())
    assert "Traceback" not in answer.text


def test_the_page_of_the_documentation_names_every_operation_and_route() -> None:
    told = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    assert not [name for name in OPERATIONS if f"`{name}`" not in told]
    assert not [
        path
        for path in (
            "/healthz",
            "/readyz",
            "/openapi.json",
            "/api/options",
            "/api/hooks",
            "/api/map",
            "/mcp",
        )
        if path not in told
    ]
    assert not [code for code in REFUSALS if code not in told]
