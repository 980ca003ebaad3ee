"""Every door has the same options: Python, the command line, MCP and HTTP."""

from __future__ import annotations

import inspect

import click
import pytest

from satchel import Satchel
from satchel.answer.request import QuestionOptions
from satchel.cli.application import application
from satchel.mcp.server import OPTIONS, input_schema, option_help
from satchel.operations.registry import OPERATIONS, TOOLS
from satchel.types import SEARCHED_TYPES, Kind, type_name
from satchel.web.routes import openapi
from tests.operations.conftest import Ask

COMMANDS = {
    "context_query": "context", "search": "search", "graph_context": "graph", "expand": "expand",
    "situation_context": "situation", "history": "history", "why": "why",
}  # fmt: skip


def names_of(operation: str) -> set[str]:
    return {one.name for one in OPERATIONS[operation].parameters}


@pytest.mark.parametrize("name", [one.name for one in TOOLS])
def test_a_tool_offers_every_option_itself_or_in_its_help(name: str) -> None:
    leading = {*input_schema(OPERATIONS[name])["properties"]} - {OPTIONS}
    assert leading | {line.partition(" ")[0] for line in option_help(OPERATIONS[name]).splitlines()} == names_of(name)


@pytest.mark.parametrize("name", [*OPERATIONS])
def test_the_http_interface_documents_every_option(name: str) -> None:
    body = openapi()["paths"][f"/api/{name}"]["post"]["requestBody"]["content"]["application/json"]
    assert {*body["schema"]["properties"]} == names_of(name)


@pytest.mark.parametrize("name", [*COMMANDS])
def test_the_command_offers_every_option(name: str) -> None:
    command = application.get_command(click.Context(application), COMMANDS[name])
    assert command is not None
    assert names_of(name) <= {one.name for one in command.params}


def test_python_offers_every_option_of_a_question() -> None:
    of_method = {*inspect.signature(Satchel.assemble).parameters}
    assert names_of("context_query") - of_method - {*QuestionOptions.__annotations__} == {"diff", "staged"}
    assert "change" in QuestionOptions.__annotations__, "which is what diff and staged name"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind.plural in SEARCHED_TYPES])
def test_a_type_may_be_named_as_answers_name_it(kind: Kind, ask: Ask, engine: Satchel) -> None:
    assert type_name(kind) == type_name(kind.plural) == kind.plural
    singular = ask("context_query", question="backoff", types=[str(kind)])
    assert singular.text == ask("context_query", question="backoff", types=[kind.plural]).text
    assert singular.text == engine.assemble("backoff", types=[str(kind)], purpose="find").text
    found = [hit.chunk.id for hit in engine.search("backoff", types=[str(kind)])]
    assert found == [hit.chunk.id for hit in engine.search("backoff", types=[kind.plural])]
