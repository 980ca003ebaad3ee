"""What is written as the command that starts satchel."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from satchel.clients.targets import find_launch, parse_command, runs_satchel
from satchel.errors import UsageError


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "bin" / "satchel"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def launched(
    script: Path | str, path: Path | str = "", *, is_shared: bool = False, prefix: str = "/"
) -> tuple[str, ...]:
    return find_launch(is_shared=is_shared, started_as=str(script), prefix=prefix, environ={"PATH": str(path)}).words


def test_a_file_of_the_user_gets_the_whole_path(script: Path) -> None:
    assert launched(script) == (str(script),)
    assert launched(script, script.parent) == (str(script),)


def test_the_path_that_people_use_is_kept_when_it_is_a_link(script: Path, tmp_path: Path) -> None:
    link = tmp_path / "local" / "satchel"
    link.parent.mkdir()
    link.symlink_to(script)
    assert launched(script, link.parent) == (str(link),)


def test_a_shared_file_gets_the_name_where_that_finds_it(script: Path) -> None:
    assert launched(script, script.parent, is_shared=True) == ("satchel",)
    own = find_launch(is_shared=True, started_as=str(script), prefix="/", environ={"PATH": ""})
    assert own.words == (str(script),)
    assert any("--command names one that works for all" in note for note in own.notes)


class Installed:
    """What an environment records of the package: the address that it was installed from."""

    def __init__(self, record: str | None) -> None:
        self.record = record

    def read_text(self, _name: str) -> str | None:
        return self.record


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("file:///home/me/my%20satchel", "/home/me/my satchel"),
        ("git+https://example.org/x", "git+https://example.org/x"),
    ],
)
def test_a_run_without_installation_starts_from_where_the_package_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, origin: str
) -> None:
    monkeypatch.setattr("satchel.system.installed.distribution", lambda _name: Installed(json.dumps({"url": url})))
    prefix = str(tmp_path / "uv" / "archive-v0" / "x1")
    result = find_launch(is_shared=True, started_as="satchel", prefix=prefix, environ={"PATH": ""})
    assert result.words == ("uvx", "--from", origin, "satchel")
    assert "uvx is not found on the PATH here" in result.notes
    assert any("--command names one that works for all" in note for note in result.notes)


def test_a_run_by_the_bare_name_of_the_package_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.system.installed.distribution", lambda _name: Installed(None))
    with pytest.raises(UsageError, match="give --command"):
        find_launch(is_shared=False, started_as="satchel", prefix=str(tmp_path / "archive-v0"), environ={"PATH": ""})


def test_a_module_is_started_by_its_interpreter(tmp_path: Path) -> None:
    assert launched(tmp_path / "__main__.py") == (sys.executable, "-m", "satchel")
    assert launched(tmp_path / "nowhere" / "satchel") == (sys.executable, "-m", "satchel")


def test_a_command_is_split_as_a_shell_does() -> None:
    assert parse_command("uvx --from './satchel[mcp]' satchel").words == ("uvx", "--from", "./satchel[mcp]", "satchel")


@pytest.mark.parametrize(
    ("words", "is_own"),
    [
        (["satchel", "mcp"], True),
        (["C:\\tools\\satchel.exe", "mcp", "--root", "x"], True),
        (["uvx", "--from", "satchel[mcp]", "satchel", "mcp"], True),
        (["python3", "-m", "satchel", "mcp"], True),
        (["satchel", "context", "mcp"], False),
        (["mcp", "satchel"], False),
        ([], False),
    ],
)
def test_ways_to_start_the_server_are_recognised(words: list[str], is_own: bool) -> None:
    assert runs_satchel(words, "mcp") is is_own
