"""A secret in any argument of any door is in no answer, no error, no log and no file afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from satchel import Satchel
from satchel.cli import application
from satchel.errors import SatchelError
from satchel.operations.operation import Caller, Operation, Shape
from satchel.operations.registry import OPERATIONS, TOOLS
from satchel.testing import TinyRepository
from satchel.web.mcp_app import mcp_app
from satchel.web.middleware import own_origins
from tests.mcp.test_server_http import post, running
from tests.postgres import move_home
from tests.safety.test_sanitize_redact import TOKENS
from tests.web.asking import client_of

KEY = TOKENS["github-token"]
WORD = "marmalade"
EXCLUDED = frozenset({"serve", "mcp", "setup", "remove", "proxy", "hook", "capture", "eval"})
"""Commands that do not end, write settings of other programs, or start other programs."""

EVERYWHERE = frozenset(
    {"--root", "--workspace", "--color", "--max-tokens", "--tokenizer", "--format", "--now", "--limit"}
)
"""Options that many commands have and all read in the same way: tried with `context` only."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    move_home(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "off")
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Add marmalade", {"a.py": "def marmalade(): ...\n"})
    monkeypatch.chdir(repository.root)
    return repository.root


@pytest.fixture
def engine(root: Path) -> Iterator[Satchel]:
    with Satchel.open(root) as opened:
        opened.index()
        yield opened


def files_with_the_secret(folder: Path) -> list[str]:
    """Files of satchel and of the root: names, which the caller chose, do not count."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def arguments_of(operation: Operation) -> Iterator[dict[str, Any]]:
    """The secret as the value of each argument, beside harmless ones that are needed."""
    needed = {
        one.name: one.choices[0] if one.choices else [WORD] if one.shape is Shape.TEXTS else WORD
        for one in operation.parameters if one.is_required
    }  # fmt: skip
    for parameter in operation.parameters:
        yield {**needed, parameter.name: [KEY] if parameter.shape is Shape.TEXTS else KEY}
    for action in next((one.choices for one in operation.parameters if one.name == "action"), ()):
        for parameter in operation.parameters:
            yield {"action": action, parameter.name: [KEY] if parameter.shape is Shape.TEXTS else KEY}


CASES = [(name, arguments) for name, operation in OPERATIONS.items() for arguments in arguments_of(operation)]


def test_python_errors_and_answers_show_no_secret(engine: Satchel, tmp_path: Path) -> None:
    for name, arguments in CASES:
        operation = OPERATIONS[name]
        try:
            answered = operation.run(engine, operation.checked(arguments), Caller())
            shown = repr((answered.text, answered.envelope, answered.notes))
        except SatchelError as error:
            shown = f"{error} {error!r}"
        assert KEY not in shown, (name, arguments)
    assert files_with_the_secret(tmp_path) == []


def test_http_answers_show_no_secret(engine: Satchel, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with client_of(engine) as client:
        for name, arguments in CASES:
            answer = client.post(f"/api/{name}", json=arguments)
            assert KEY not in answer.text, (name, arguments)
            assert KEY not in str(answer.headers), (name, arguments)
        assert KEY not in client.post(f"/api/{KEY}", json={}).text
        assert KEY not in client.post("/api/why", json={KEY: KEY}).text
        assert KEY not in client.get(f"/api/status?{KEY}={KEY}").text
    assert KEY not in "".join(capfd.readouterr())
    assert files_with_the_secret(tmp_path) == []


def test_mcp_answers_show_no_secret(engine: Satchel, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tools = {tool.name for tool in TOOLS}

    async def test() -> None:
        async with running(mcp_app(engine, own_origins("127.0.0.1", 80))) as app:
            for name, arguments in CASES:
                if name in tools:
                    _, body = await post(app, "tools/call", {"name": name, "arguments": arguments})
                    assert KEY.encode() not in body, (name, arguments, body)

    asyncio.run(test())
    assert KEY not in "".join(capfd.readouterr())
    assert files_with_the_secret(tmp_path) == []


def commands(command: click.Command, path: Sequence[str] = ()) -> Iterator[tuple[list[str], click.Command]]:
    if not isinstance(command, click.Group):
        yield [*path], command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if name not in EXCLUDED and inner is not None:
            yield from commands(inner, [*path, name])


def lines() -> Iterator[list[str]]:
    """Command lines with the secret in one place."""
    for path, command in commands(application.application):
        words = [one for one in command.params if isinstance(one, click.Argument)]
        for extra in ([], ["--json"]):
            for place in range(max(len(words), 1)):
                yield [*path, *[KEY if place == number else WORD for number in range(len(words))], *extra]
            yield [*path, *[KEY for _ in words], *extra]
        for option in command.params:
            has_value = isinstance(option, click.Option) and not (option.is_flag or option.count)
            if has_value and (path == ["context"] or option.opts[-1] not in EVERYWHERE):
                yield [*path, *[WORD for _ in words], option.opts[-1], KEY]


@pytest.mark.usefixtures("root")
def test_no_command_shows_a_secret(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert application.run(["index", "--no-vectors"]) == 0
    seen = 0
    for line in lines():
        application.run(line)
        out, err = capfd.readouterr()
        assert KEY not in out + err, line
        assert "Traceback" not in err, line
        seen += 1
    assert seen > 150
    assert [path for path in files_with_the_secret(tmp_path) if Path(path).name != KEY] == []
