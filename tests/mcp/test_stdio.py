"""`satchel mcp` as a process: what it says, what it does with nonsense, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from satchel.operations.registry import TOOLS
from satchel.testing import TinyRepository
from tests.mcp.serving import ERAS, EVERY_TOOL, HELLO, PATIENCE_SECONDS, Spoken, command, connected, spoken
from tests.operations.bounds import TOO_MUCH
from tests.operations.conftest import FILES

QUESTION = "where are orders sent again?"

PATIENT = """
import asyncio, sys
from satchel.cli.main import main
from satchel.mcp import stdio
wait = asyncio.wait
stdio.asyncio.wait = lambda tasks, *, timeout=None, **more: wait(tasks, timeout=timeout and 600 * timeout, **more)
sys.argv = ["satchel", "mcp"]
sys.exit(main())
"""
"""The server, which waits for its last answers for as long as a slow machine needs."""

PROCESSES = 20
"""Each with a hash seed of its own: an order that comes from a set would differ between some of them."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "shop"
    TinyRepository(folder).commit("Send orders again with backoff", FILES)
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Spoken]:
    """One process for all tests that leave it as it was."""
    with spoken(root, PYTHONHASHSEED="1") as talk:
        yield talk


@pytest.fixture(scope="module")
def hosted(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    """A process as a host starts it: somewhere, with a session and the folder of its user."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with spoken(
        elsewhere, PYTHONHASHSEED="4000000000", CLAUDE_CODE_SESSION_ID="host", CLAUDE_PROJECT_DIR=str(root)
    ) as talk:
        yield talk


def sent(*requests: tuple[str, dict[str, Any]]) -> bytes:
    """What a client that asks everything at once writes, the handshake included."""
    messages: list[dict[str, Any]] = [{"id": 1, **HELLO}, {"method": "notifications/initialized"}]
    messages += ({"id": place, "method": method, "params": asked} for place, (method, asked) in enumerate(requests, 2))
    return b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in messages)


def gone(stream: Any) -> bool:
    """Whether the process at the other end of a pipe ends by itself: then the pipe does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
        if ready and not os.read(stream.fileno(), 65_536):
            return True
    return False


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_lists_calls_and_reads_in_both_eras(root: Path, era: str) -> None:
    async def test() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), connected(root, era) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [one.name for one in TOOLS]
            told: list[float] = []

            async def heard(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
                told.append(progress)

            answer = await client.call_tool("context_query", {"question": QUESTION}, progress_callback=heard)
            assert not answer.is_error
            assert era != ERAS[0] or told, "the first question brings the index up to date"
            assert told == sorted(set(told))
            for name, arguments in EVERY_TOOL.items():
                session = {"session": era} if name == "experience" else {}
                assert not (await client.call_tool(name, {**arguments, **session})).is_error
            handle = (answer.structured_content or {})["items"][0]["handle"]
            assert not (await client.call_tool("expand", {"handles": [handle]})).is_error
            read = await client.read_resource("satchel://document/code:shop/client.py::backoff")
            assert "def backoff" in read.contents[0].text  # type: ignore[union-attr]

    asyncio.run(test())


def test_the_same_question_has_the_same_bytes_in_python_on_the_command_line_and_here(
    server: Spoken, root: Path
) -> None:
    from satchel.engine import Satchel

    said = server.call("context_query", question=QUESTION)["content"][0]["text"]
    done = subprocess.run(
        [sys.executable, "-m", "satchel", "context", QUESTION], cwd=root, capture_output=True, check=True
    )
    with Satchel.open(root) as engine:
        assert said.encode() == done.stdout == engine.assemble(QUESTION, purpose="find").text.encode()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no json", -32700),
        (b'{"jsonrpc": "2.0", "id": 1', -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b"5", -32600),
        (b"[" * 100_000, -32700),
        (b'{"id": "x", "method": "ping"}', -32600),
    ],
)
def test_what_is_no_message_is_answered_with_an_error_and_the_server_lives(
    server: Spoken, line: bytes, code: int
) -> None:
    server.write(line + b"\n\n")
    said = server.read()
    assert said["error"]["code"] == code
    assert said["id"] == ("x" if b'"x"' in line else None)
    assert "result" in server.ask("ping")


def test_a_line_of_fifty_megabytes_is_refused_and_the_server_lives(server: Spoken) -> None:
    piece = b"x" * 1_000_000
    for _ in range(50):
        server.write(piece)
    server.write(b"\n")
    assert "more than 8,000,000 bytes" in server.read()["error"]["message"]
    assert "result" in server.ask("ping")


@pytest.mark.parametrize(("arguments", "message"), TOO_MUCH)
def test_too_much_is_refused_in_one_sentence(server: Spoken, arguments: dict[str, Any], message: str) -> None:
    result = server.ask("tools/call", {"name": "context_query", "arguments": arguments})["result"]
    assert result["isError"]
    assert result["content"][0]["text"].startswith(message)


def test_an_unknown_method_and_an_unknown_tool_are_protocol_errors(server: Spoken) -> None:
    assert server.ask("tools/delete")["error"]["code"] == -32601
    unknown = server.ask("tools/call", {"name": "context_qery", "arguments": {}})["error"]
    assert unknown["code"] == -32602
    assert "choose from context_query" in unknown["message"]
    assert server.ask("tools/call", {"arguments": {}})["error"]["code"] == -32602


def test_calls_at_the_same_time_each_get_their_own_answer(server: Spoken) -> None:
    questions = {number: f"backoff {number}" for number in range(100, 112)}
    for number, question in questions.items():
        arguments = {"question": question, "limit": number}
        server.send({"id": number, "method": "tools/call", "params": {"name": "context_query", "arguments": arguments}})
    answers = {answer["id"]: answer for answer in (server.read() for _ in questions)}
    assert answers.keys() == questions.keys()
    assert all(not answer["result"]["isError"] for answer in answers.values())


def test_only_the_protocol_is_on_standard_output_whatever_a_library_does(root: Path) -> None:
    with spoken(root, [sys.executable, str(Path(__file__).with_name("noisy_server.py"))]) as talk:
        assert "shop/client.py" in talk.call("search", question="backoff")["content"][0]["text"]
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in talk.lines)


@pytest.mark.usefixtures("unmeasured")
def test_the_list_of_tools_has_the_same_bytes_in_every_process(root: Path, hosted: Spoken) -> None:
    def answer(seed: int) -> bytes:
        with spoken(root, PYTHONHASHSEED=str(seed)) as talk:
            talk.ask("tools/list")
            return talk.lines[-1]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = Counter(pool.map(answer, range(PROCESSES)))
    assert list(answers.values()) == [PROCESSES]
    listed = json.loads(next(iter(answers)))["result"]
    assert [tool["name"] for tool in listed["tools"]] == [one.name for one in TOOLS]
    assert {json.dumps(hosted.ask("tools/list")["result"]) for _ in range(2)} == {json.dumps(listed)}


def test_the_session_of_the_host_is_not_sent_the_same_twice(hosted: Spoken) -> None:
    first = hosted.call("context_query", question=QUESTION)
    again = hosted.call("context_query", question=QUESTION)
    other = hosted.call("context_query", question=QUESTION, session="another")
    assert first["content"] == other["content"] != again["content"]


def test_two_clients_without_a_session_have_an_experience_each(tmp_path: Path) -> None:
    TinyRepository(tmp_path / "shop").commit("Send orders again with backoff", FILES)
    started = {**EVERY_TOOL["experience"], "goal": "A green suite"}
    with spoken(tmp_path / "shop") as first, spoken(tmp_path / "shop") as second:
        assert not first.call("experience", **started)["isError"]
        assert not second.call("experience", **started)["isError"]
        assert "has an active experience" in first.call("experience", **started)["content"][0]["text"]
        resolved = second.call("experience", action="resolve", status="confirmed", result="green")
        assert "confirmed" in resolved["content"][0]["text"]
        assert "A green suite" in first.call("experience", action="show")["content"][0]["text"]


def test_the_folder_is_that_of_the_host_where_it_names_one(hosted: Spoken) -> None:
    assert "shop/client.py" in hosted.call("search", question="backoff")["content"][0]["text"]


def test_answers_under_way_are_given_after_the_end_of_input(root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    asked = {"name": "search", "arguments": {"question": "backoff"}}
    said, _ = process.communicate(sent(("tools/call", asked)))
    assert [json.loads(line)["id"] for line in said.splitlines()] == [1, 2]
    assert b"shop/client.py" in said
    assert process.returncode == 0


def test_it_ends_when_its_parent_is_killed_though_its_input_stays_open(root: Path) -> None:
    starter = f"import subprocess, sys, time\nchild = subprocess.Popen({command()!r})\ntime.sleep(600)\n"
    held, theirs = os.pipe(), os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", starter], cwd=root, stdin=held[0], stdout=theirs[1], stderr=subprocess.DEVNULL
    )
    os.close(held[0])
    os.close(theirs[1])
    with os.fdopen(theirs[0], "rb") as out, os.fdopen(held[1], "wb") as into:
        into.write(json.dumps({"jsonrpc": "2.0", "id": 1, **HELLO}).encode() + b"\n")
        into.flush()
        ready, _, _ = select.select([out], [], [], PATIENCE_SECONDS)
        assert ready
        assert os.read(out.fileno(), 65_536)
        parent.kill()
        parent.wait()
        assert gone(out)


def test_a_signal_ends_it_at_once_with_the_store_closed(root: Path) -> None:
    with spoken(root) as talk:
        talk.call("search", question="backoff")
        talk.process.send_signal(signal.SIGTERM)
        assert gone(talk.process.stdout)
    assert talk.process.returncode == 0


@pytest.mark.parametrize("era", ERAS)
def test_the_refresh_of_a_question_is_cancelled_and_the_next_question_does_the_rest(tmp_path: Path, era: str) -> None:
    tree = tmp_path / "tree"
    TinyRepository(tree).write({f"part{n // 50}/file{n}.py": f"def thing_{n}():\n    return {n}\n" for n in range(400)})

    async def test() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), connected(tree, era) as client:
            begun = asyncio.Event()

            async def heard(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
                begun.set()

            asking = asyncio.ensure_future(client.call_tool("search", {"question": "thing_7"}, progress_callback=heard))
            await begun.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            answer = await client.call_tool("search", {"question": "thing_399", "types": ["code"]})
            assert "file399.py" in answer.content[0].text  # type: ignore[union-attr]
            assert "failures" not in (answer.structured_content or {})

    asyncio.run(test())
