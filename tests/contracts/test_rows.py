"""Every row of what satchel promises has tests, and every test that a row names exists."""

from __future__ import annotations

import json
import socket
import tomllib
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.cli.application import run
from satchel.config import load_settings
from tests.contracts.rows import TESTS, node, promised, secured
from tests.e2e.sample import sample_repository
from tests.postgres import own_home

COMMANDS = ("ruff format --check", "ruff check", "mypy", "pytest")
QUESTION = "how long does backoff wait"


@pytest.mark.parametrize("rows", [promised(), secured()], ids=["promised", "security"])
def test_every_row_has_tests_that_exist(rows: dict[str, list[str]]) -> None:
    assert [row for row, tests in rows.items() if not tests] == []
    assert [f"{row}: {test}" for row, tests in rows.items() for test in tests if node(test) is None] == []
    assert [row for row, tests in rows.items() if len({*tests}) < len(tests)] == []


def test_no_row_is_missing() -> None:
    letters = {"A": 20, "B": 10, "C": 6, "D": 7, "E": 12, "F": 15, "G": 10}
    assert [*promised()] == [f"{letter}{number + 1}" for letter, count in letters.items() for number in range(count)]


def test_a_test_that_does_not_exist_has_no_node() -> None:
    assert node("contracts/test_rows.py::no_row_is_missing") == "tests/contracts/test_rows.py::test_no_row_is_missing"
    assert node("index/test_walk.py::packages_and_caches") == (
        "tests/index/test_walk.py::TestFoldersOfOthers::test_packages_and_caches"
    )
    assert node("contracts/test_rows.py::nothing") is None
    assert node("contracts/test_nothing.py::no_row_is_missing") is None


def test_one_command_checks_types_format_and_coverage() -> None:
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    make = (TESTS.parent / "Makefile").read_text(encoding="utf-8")
    assert "check: lint types base test" in make
    assert [command for command in COMMANDS if f"$(BIN)/{command}" not in make] == []
    assert "COVERAGE ?= $(if $(CI),--cov " in make
    assert project["tool"]["mypy"]["strict"] is True
    assert project["tool"]["coverage"]["run"]["branch"] is True
    assert project["tool"]["coverage"]["report"]["fail_under"] >= 90
    assert "error" in project["tool"]["pytest"]["ini_options"]["filterwarnings"]


@pytest.mark.files("a server is reached by a connection")
def test_the_first_answer_opens_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = sample_repository(tmp_path / "shop")

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        context = satchel.assemble(QUESTION)
    assert "0.1 * 2**attempt" in context.text
    assert context.failures == ()


def test_settings_of_the_user_pin_and_leave_out(tmp_path: Path) -> None:
    repository = sample_repository(tmp_path / "shop")
    settings = tmp_path / "home" / "config" / "satchel.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[context]\ninclude = ["shop/prices.py:1-2"]\nexclude = ["docs/**"]\n', encoding="utf-8")
    environ = own_home(tmp_path / "home")
    assert load_settings(None, environ).settings.context_exclude == ("docs/**",)
    with Satchel.open(repository.root, environ=environ) as satchel:
        context = satchel.assemble(QUESTION)
    assert context.items[0].spans == ((1, 2),)
    assert context.items[0].signals[0].name == "pin"
    assert not any(item.location is not None and item.location.path.startswith("docs/") for item in context.items)


def test_commands_find_and_python_reads_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = sample_repository(tmp_path / "shop")
    with Satchel.open(repository.root) as satchel:
        read, edit = satchel.assemble(QUESTION), satchel.assemble(QUESTION, purpose="edit")
        find = satchel.assemble(QUESTION, purpose="find")
    assert read.text != find.text != edit.text
    run(["context", QUESTION, "--root", str(repository.root), "--json"])
    assert json.loads(capsys.readouterr().out)["text"] == find.text
