from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Any

import apsw
import pytest

from satchel.doctor import machine
from satchel.doctor.check import Outcome
from tests import oracle


@pytest.mark.parametrize("check", [machine.python, machine.sqlite, machine.git, machine.tokenizer, machine.guards])
def test_all_is_well_where_the_tests_run(check: Callable[[], Any]) -> None:
    found = check()
    assert found.outcome is Outcome.OK
    assert found.fix == ""


def test_the_probe_was_counted_with_the_reference() -> None:
    probe = machine.TOKENIZER_PROBE
    assert {"o200k_base": oracle.o200k(probe), "cl100k_base": oracle.cl100k(probe)} == machine.PROBE_TOKENS


def test_a_tokenizer_that_counts_wrong_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "TOKENIZER_PROBE", machine.TOKENIZER_PROBE + " and more")
    found = machine.tokenizer()
    assert found.outcome is Outcome.FAIL
    assert "budgets would not hold" in found.message


@pytest.mark.parametrize(
    ("version", "outcome"), [("3.51.2", Outcome.FAIL), ("3.51.3", Outcome.OK), ("4.0.0", Outcome.OK)]
)
def test_a_sqlite_that_can_damage_stores_is_a_failure(
    version: str, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    assert machine.sqlite().outcome is outcome


def test_without_git_answers_lose_their_history_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    found = machine.git()
    assert found.outcome is Outcome.WARN
    assert found.fix == "install git"


@pytest.mark.parametrize(
    ("printed", "outcome"),
    [("git version 2.24.9", Outcome.WARN), ("git version 2.39.5 (Apple Git-154)", Outcome.OK), ("hm", Outcome.WARN)],
)
def test_an_old_git_is_a_warning(printed: str, outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess(["git"], 0, printed.encode(), b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert machine.git().outcome is outcome


def test_a_system_without_guards_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_NOFOLLOW")
    found = machine.guards()
    assert found.outcome is Outcome.WARN
    assert "O_NOFOLLOW" in found.message


@pytest.mark.parametrize(
    ("text", "numbers"), [("2.39.5 (Apple Git-154)", (2, 39, 5)), ("3.51.3", (3, 51, 3)), ("none", ()), ("v2", (2,))]
)
def test_versions_are_compared_as_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert machine.numbers(text) == numbers
