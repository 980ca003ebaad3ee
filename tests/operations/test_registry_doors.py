"""Every door offers the same options: the command line, MCP, HTTP and Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import click
import pytest

from satchel.answer.request import QuestionOptions
from satchel.cli.application import application, run
from satchel.engine import Satchel
from satchel.errors import UsageError
from satchel.mcp.server import tool
from satchel.memory.journal import Journal
from satchel.memory.memories import Memories
from satchel.memory.values import Values
from satchel.operations.operation import OPTIONS, Operation, Shape, option_help
from satchel.operations.registry import OPERATIONS, TOOLS
from satchel.services.graph import GraphService
from satchel.services.receipts import ReceiptService
from satchel.web.routes import openapi

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "context_query": ("context",),
    "graph_context": ("graph",),
    "premortem": ("premortem", "brief"),
    "situation_context": ("situation",),
    "search": ("search",),
    "expand": ("expand",),
    "remember": ("remember", *(f"memory {one}" for one in ("add", "supersede", "search", "list", "forget", "review"))),
    "experience": tuple(f"experience {one}" for one in ("start", "update", "note", "resolve", "list", "show")),
    "why": ("why",),
    "status": ("status",),
    "doctor": ("doctor",),
    "stats": ("stats",),
    "graph_export": ("graph",),
    "memories": ("memory list", "memory search"),
    "experiences": ("experience list",),
    "values": ("values list",),
    "proposals": ("values propose",),
    "history": ("history",),
    "replay": ("replay",),
}
"""Operation -> the commands that run it. `chunk` has none: `search` and `expand` lead to chunks."""

TERMINAL_ONLY = frozenset(
    {
        "as_json",
        "color",
        "every",
        "explained",
        "fix",
        "given_root",
        "paths",
        "reject",
        "strict",
        "supersede",
        "workspace",
    }
)
"""How the terminal prints, which root is meant, what only a person may start, and what saves typing ids."""

SPELLED_BY_THE_TERMINAL = {
    "action": "command",
    "mode": "command",
    "saved": "file",
    "failure": "failed",
    "verdict": "accept",
}
"""An argument that is a sub-command there, the text of a file, or a switch for each of its choices."""

REQUEST, WALK = "request", GraphService.graph_request

METHODS: Mapping[str, tuple[Callable[..., Any] | str, ...]] = {
    "context_query": ("assemble", REQUEST),
    "graph_context": ("graph", WALK),
    "premortem": ("premortem", "brief", REQUEST),
    "situation_context": ("situation", REQUEST),
    "search": ("search", "search_pattern", REQUEST),
    "expand": ("expand",),
    "document": (ReceiptService.document, "expand", "assemble"),
    "remember": (Memories.prepared, Memories.supersede, Memories.search, Memories.listed),
    "experience": (Journal.start, Journal.update, Journal.note, Journal.resolve, Journal.listed, Journal.get),
    "why": ("why", REQUEST),
    "memories": (Memories.search, Memories.listed),
    "experiences": (Journal.listed, Journal.orphans),
    "values": (Values.listed,),
    "proposals": (Values.propose,),
    "history": ("file_history", "churn", "authors"),
    "replay": ("replay",),
}
"""Operation -> the methods that do the same, those of the engine by name; a request takes what they pass on to it.

`Memories.add` takes what `prepared` does.
"""

SPELLED_IN_PYTHON: Mapping[str, Mapping[str, str]] = {
    "context_query": {"diff": "change", "staged": "change", "tests": "change"},
    "premortem": {"mode": "a method each", "failure": "after_failure"},
    "situation_context": dict.fromkeys(
        ("task", "files", "tool", "params", "intent", "error", "language", "agent", "tags", "time"), "situation"
    ),
    "search": dict.fromkeys(
        ("category", "min_importance", "domain", "strategy", "outcome", "axis", "author", "since", "until", "tags",
         "scope", "provenance", "origin"),
        "filters",
    ),
    "remember": {
        "action": "a method each", "text": "content", "supersedes": "a method", "ids": "forget", "confirm": "forget",
        "category": "a filter too", "min_importance": "filters", "tags": "filters", "since": "filters",
        "until": "filters", "for_good": "purge", "forgotten": "trash", "verdict": "accept, reject",
        "author": "filters", "scope": "filters",
    },
    "memories": dict.fromkeys(
        ("category", "min_importance", "tags", "since", "until", "author", "scope", "provenance", "origin"), "filters"
    ),
    "experience": {"action": "a method each", "action_taken": "action", "note": "text", "id": "identity"},
    "proposals": {"cluster": "cluster_id"},
    "history": {"churn": "days", "authors": "a method each"},
    "document": {"id": "identity"},
}  # fmt: skip
"""What a keyword of that name cannot say in Python, and what says it instead."""

SAMPLES: Mapping[Shape, Any] = {
    Shape.TEXTS: (), Shape.COUNT: 1, Shape.NUMBER: 0.5, Shape.SWITCH: True, Shape.COUNTS: {}, Shape.MOMENT: 1.0,
}  # fmt: skip


def terminal_options(path: str) -> set[str]:
    """The names of all options and arguments of a command."""
    command: Any = application
    for name in path.split():
        command = command.get_command(click.Context(command), name)
        assert command is not None, path
    return {parameter.name for parameter in command.params}


def names(operation: Operation) -> set[str]:
    return {one.name for one in operation.parameters}


@pytest.mark.parametrize("name", [*COMMANDS])
def test_the_command_line_offers_the_options_of_an_operation_and_only_those(name: str) -> None:
    offered = set().union(*map(terminal_options, COMMANDS[name]))
    wanted = {SPELLED_BY_THE_TERMINAL.get(one, one) for one in names(OPERATIONS[name])} - {"command"}
    if name == "graph_context":
        assert "workspace" in offered
    assert offered - TERMINAL_ONLY - _others(name) == wanted - TERMINAL_ONLY


def _others(name: str) -> set[str]:
    """Options of the same commands that belong to another operation."""
    other = {"memories": "remember", "graph_context": "graph_export", "graph_export": "graph_context"}.get(name)
    return names(OPERATIONS[other]) - names(OPERATIONS[name]) if other is not None else set()


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=[*OPERATIONS])
def test_http_offers_the_options_of_an_operation(operation: Operation) -> None:
    body = openapi()["paths"][f"/api/{operation.name}"]["post"]["requestBody"]
    assert set(body["content"]["application/json"]["schema"]["properties"]) == names(operation)


@pytest.mark.parametrize("operation", TOOLS, ids=[one.name for one in TOOLS])
def test_mcp_lists_the_leading_arguments_of_an_operation_and_explains_the_others(operation: Operation) -> None:
    listed = set(tool(operation)["inputSchema"]["properties"]) - {OPTIONS}
    assert listed == set(operation.leading)
    explained = {line.partition(" ")[0] for line in option_help(operation).split("\n")}
    assert listed | explained == names(operation)
    assert listed.isdisjoint(explained)


@pytest.mark.parametrize("name", [*METHODS])
def test_python_takes_the_options_of_an_operation_under_the_same_names(engine: Satchel, name: str) -> None:
    operation, spelled = OPERATIONS[name], SPELLED_IN_PYTHON.get(name, {})
    methods = [getattr(engine, one) if isinstance(one, str) else one for one in METHODS[name]]
    explicit = {one for method in methods for one in inspect.signature(method).parameters}
    for one in operation.parameters:
        if one.name in explicit or one.name in spelled:
            continue
        value: Any = one.choices[0] if one.choices and one.shape is Shape.TEXT else SAMPLES.get(one.shape, "x")
        value = engine.opened.alias if one.name == "workspace" else value
        if REQUEST in METHODS[name]:
            engine.request("backoff", **{one.name: value})
        elif WALK in METHODS[name]:
            engine.graphs.graph_request("backoff", **{one.name: value})
        else:
            pytest.fail(f"{name} has no {one.name} in Python")
    assert not set(spelled) - names(operation)


def test_type_checkers_know_every_option_of_a_question() -> None:
    asked = names(OPERATIONS["context_query"]) - {"question", "refresh"} - SPELLED_IN_PYTHON["context_query"].keys()
    assert asked - QuestionOptions.__annotations__.keys() == set()


@pytest.mark.parametrize(
    ("arguments", "command", "said"),
    [
        ({"question": "x", "max_tokens": 0}, ("context", "x", "--max-tokens", "0"), "{} is 0: give 1 to 10,000,000"),
        ({"question": "x", "min_score": 7}, ("context", "x", "--min-score", "7"), "{} is 7.0: it is a probability"),
        ({"question": "x", "context_lines": -1}, ("context", "x", "--context-lines", "-1"), "{} is -1: give 0"),
        ({"question": "x", "now": "soon"}, ("context", "x", "--now", "soon"), "{} is 'soon': give a date"),
    ],
)
def test_an_error_names_an_argument_as_the_door_writes_it(
    engine: Satchel,
    capsys: pytest.CaptureFixture[str],
    arguments: dict[str, Any],
    command: tuple[str, ...],
    said: str,
) -> None:
    name = [*arguments][-1]
    with pytest.raises(UsageError) as refused:
        OPERATIONS["context_query"].run(engine, arguments)
    assert str(refused.value).startswith(said.format(name))
    assert run(command) == 2
    assert capsys.readouterr().err.startswith(f"error: {said.format('--' + name.replace('_', '-'))}")
