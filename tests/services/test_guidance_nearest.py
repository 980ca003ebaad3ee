"""The current context of a call, what a call repeats, and the history of its files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from satchel import ContextAssembler, Satchel, create_context_aware_tools
from satchel.errors import UsageError
from satchel.mcp.proxy import ProxyContexts, Request
from satchel.testing import TinyRepository
from satchel.types import Context

FILES = {
    "context.yaml": "metadata: {name: Shop}\n",
    "client/context.yaml": "metadata: {name: Client}\n",
    "client/auth/context.yaml": "metadata: {name: Auth}\n",
    "client/auth/login.py": "def login():\n    return True\n",
    "client/page.py": "x = 1\n",
    "src/flask/sessions.py": "class Session:\n    pass\n",
    "src/flask/app.py": "class App:\n    pass\n",
    "src/flask/__init__.py": "",
    "src/flask/json/__init__.py": "",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("nearest")
    repository = TinyRepository(folder / "shop")
    repository.commit("Begin", FILES)
    for number in range(3):
        repository.commit(f"Sign cookies, step {number}", {"src/flask/sessions.py": f"n = {number}\n"})
        repository.commit(f"Fixed typo in src/flask/app.py, part {number}", {"src/flask/app.py": f"a = {number}\n"})
    environ = {"SATCHEL_HOME": str(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off", "SATCHEL_KEY": "07" * 32}
    with Satchel.open(root=repository.root, environ=environ, settings={"tools.deadline_s": 60.0}) as opened:
        opened.memories.add("The salt of sessions.py must not change", category="decision")
        opened.memories.add("In src/flask/app.py the order of the hooks matters", category="fact")
        opened.memories.add("To run the tests of src use py313 -m pytest", category="workflow")
        opened.memories.add("The exports of json/__init__.py are public", category="fact")
        opened.memories.add("my_sessions.py and sessions.pyc are something else", category="fact")
        work = {"domain": "debugging", "strategy": "check-assumptions", "hypothesis": "it is slow", "action": "profile"}
        cause: Any = {
            "root_cause": "wrong-assumption",
            "root_cause_description": "It was fast.",
            "surprise": "It was fast.",
        }
        opened.experiences.start(goal="Make sessions.py lazy", prediction="it is fast", **work)
        opened.experiences.resolve(status="confirmed", result="measured")
        opened.experiences.start(goal="Cache the cookies of flask/sessions.py", prediction="it is fast", **work)
        opened.experiences.resolve(status="falsified", result="measured", **cause)
        opened.index()
        yield opened


def contexts(context: Context) -> list[str]:
    return [row["path"] for row in context.meta["contexts"] if row["distance"] == 0]


@pytest.mark.parametrize(
    ("situation", "current"),
    [
        ({"files": ["client/auth/login.py"]}, "client/auth"),
        ({"files": ["client/page.py"]}, "client"),
        ({"files": ["client/auth"]}, "client/auth"),
        ({"files": ["src/flask/app.py", "client/auth/login.py"]}, "client/auth"),
        ({"files": ["src/flask/app.py"]}, ""),
        ({"tool": "x"}, ""),
        ({"files": ["client/auth/login.py"], "context": "client"}, "client"),
        ({"files": ["client/auth/login.py"], "context": "."}, ""),
        ({"files": ["client/auth/login.py"], "params": {"context": "client"}}, "client"),
        ({"files": ["client/auth/login.py"], "params": {"context": "three lines around"}}, "client/auth"),
        ({"files": ["client/auth/login.py"], "params": {"context": "../../etc"}}, "client/auth"),
        ({"params": {"context": 3, "path": "client/page.py"}}, "client"),
    ],
)
def test_the_current_context_is_the_named_one_else_the_nearest(
    engine: Satchel, situation: dict[str, Any], current: str
) -> None:
    assert contexts(engine.situation(situation, refresh=False)) == [current]


def test_a_context_is_named_for_an_object_and_for_a_call(engine: Satchel) -> None:
    seen: list[Context] = []

    def read(**given: Any) -> None:
        seen.append(given["_context"])

    create_context_aware_tools(engine, read)(path="client/auth/login.py")
    create_context_aware_tools(engine, read, context="client")(path="client/auth/login.py")
    create_context_aware_tools(engine, read, situation={"context": "client"})(path="client/auth/login.py")
    create_context_aware_tools(engine, read)(path="client/auth/login.py", context="client")
    assembler = ContextAssembler(engine, contexts="client")
    create_context_aware_tools(assembler, read, situation={"context": "client/auth"})(path="a")
    assert [contexts(one) for one in seen] == [["client/auth"], ["client"], ["client"], ["client"], ["client/auth"]]
    with pytest.raises(UsageError, match="context of the situation"):
        engine.situation({"context": 3})


def test_a_saved_situation_with_a_context_is_answered_alike(engine: Satchel) -> None:
    context, request = engine.guidance.situation_answer(
        {"files": ["client/auth/login.py"], "context": "client"}, now=1.9e9
    )
    from satchel.operations.json import context_envelope

    assert engine.replay(context_envelope(context, request)).context.text == context.text


def test_a_call_does_not_repeat_its_own_parameters(engine: Satchel) -> None:
    seen: list[str] = []

    def edit(**given: Any) -> None:
        seen.append(next(item.content for item in given["_context"].items if item.id == "context:situation"))

    create_context_aware_tools(engine, edit)(path="client/page.py", old="x = 1", task="Rename x")
    assert seen == ["Tool: edit"]
    plain = engine.situation({"tool": "edit", "params": {"path": "client/page.py", "old": "x = 1"}})
    assert 'Parameters: {"old": "x = 1", "path": "client/page.py"}' in plain.text


def shown(context: Context, source: str) -> list[str]:
    return [item.content.split("\n")[0] for item in context.items if item.source == source]


@pytest.mark.parametrize("max_tokens", [600, 4_000])
def test_the_history_of_a_file_is_that_of_the_file(engine: Satchel, max_tokens: int) -> None:
    situation = {"tool": "edit_file", "files": ["src/flask/sessions.py"]}
    context = engine.situation(situation, max_tokens=max_tokens, refresh=False)
    commits = shown(context, "commit")
    assert commits[:3] == ["Sign cookies, step 2", "Sign cookies, step 1", "Sign cookies, step 0"][: len(commits)]
    assert set(commits) <= {"Begin", *(f"Sign cookies, step {number}" for number in range(3))}
    assert shown(context, "memory") == ["The salt of sessions.py must not change"]
    goals = [item.metadata["goal"] for item in context.items if item.source == "experience"]
    assert goals[0] == "Cache the cookies of flask/sessions.py"
    assert "typo" not in context.text


def test_words_and_files_both_have_their_history(engine: Satchel) -> None:
    context = engine.situation({"task": "fix the typo", "files": ["src/flask/sessions.py"]}, refresh=False)
    commits = shown(context, "commit")
    assert commits[:3] == ["Sign cookies, step 2", "Sign cookies, step 1", "Sign cookies, step 0"]
    assert any(commit.startswith("Fixed typo") for commit in commits)


def test_a_file_of_a_common_name_is_told_by_its_folder(engine: Satchel) -> None:
    context = engine.situation({"files": ["src/flask/json/__init__.py"]}, refresh=False)
    assert shown(context, "memory") == ["The exports of json/__init__.py are public"]
    assert shown(engine.situation({"files": ["src/flask/__init__.py"]}, refresh=False), "memory") == []
    assert shown(engine.situation({"files": ["no/such.py"]}, refresh=False), "commit") == []


@pytest.mark.parametrize(("named", "current"), [("", "context:client/auth"), ("client", "context:client")])
def test_the_proxy_takes_the_nearest_context_or_its_own(engine: Satchel, named: str, current: str) -> None:
    contexts = ProxyContexts(lambda: engine, 1_000, threading.Event(), context=named)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}).encode()
    answer = json.loads(
        contexts.enriched(Request("1", "tools/call", "read_file", {"path": "client/auth/login.py"}), line)
    )
    added = answer["result"]["content"][-1]["text"]
    assert current in [row["id"] for row in answer["result"]["_meta"]["contextUsed"]["items"]]
    assert "Tool: read_file\n" in added
    assert "Parameters" not in added
    assert "Begin" in added
