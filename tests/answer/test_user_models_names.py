"""Likely names from a model that the user has configured, asked at a local endpoint that behaves like a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer.user_models import MOST_GUESSES, names_in
from satchel.testing import TinyRepository
from tests.guidance.judge_server import JudgeServer, judge_server

FILES = {
    "port/harbour_master.py": "def moor_vessel(vessel):\n    return vessel.rope.fasten()\n",
    "port/weather.py": "def forecast(day):\n    return day.wind > 8\n",
}
QUESTION = "how does a boat get attached to the quay"


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as fake:
        fake.answer = lambda _: "1. `moor_vessel`\n2. fasten, dock, a long sentence about nothing"
        yield fake


def opened(folder: Path, **settings: Any) -> Satchel:
    repository = TinyRepository(folder / "port")
    repository.commit("Moor", FILES)
    return Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}, settings=settings)


def test_the_model_is_asked_once_and_its_names_lead_to_the_code(server: JudgeServer, tmp_path: Path) -> None:
    with opened(tmp_path, **{"names.endpoint": server.url, "names.model": "tiny"}) as satchel:
        satchel.index()
        first, second = (satchel.assemble(QUESTION, purpose="find") for _ in range(2))
        assert "moor_vessel" in first.text
        assert (first.text, first.failures) == (second.text, ())
        (request,) = server.requests
        assert request["path"] == "/v1/chat/completions"
        assert QUESTION in request["messages"][1]["content"]
        satchel.assemble(QUESTION, names=["forecast"])  # whoever asks knows better
        assert len(server.requests) == 1
    with opened(tmp_path / "other") as satchel:
        satchel.index()
        assert "moor_vessel" not in satchel.assemble(QUESTION, purpose="find").text
        assert len(server.requests) == 1  # off by default


def test_a_fault_is_told_and_words_decide(server: JudgeServer, tmp_path: Path) -> None:
    server.status = 500
    with opened(tmp_path, **{"names.endpoint": server.url, "names.model": "tiny"}) as satchel:
        satchel.index()
        context = satchel.assemble("moor_vessel of a rope")
        assert "def moor_vessel" in context.text
        (failure,) = context.failures
        assert (failure.source, failure.hint) == ("names", "only the words of the question are used")
        assert "answered 500" in failure.message


def test_settings_that_lack_a_model_are_told(tmp_path: Path) -> None:
    with opened(tmp_path, **{"names.endpoint": "http://127.0.0.1:9/v1"}) as satchel:
        satchel.index()
        (failure,) = satchel.assemble("moor_vessel").failures
        assert failure.message == "names.model is not set: an endpoint that guesses names needs the name of its model"


def test_a_repository_cannot_set_the_endpoint(server: JudgeServer, tmp_path: Path) -> None:
    with opened(tmp_path):
        (tmp_path / "port/.satchel.toml").write_text(f'[names]\nendpoint = "{server.url}"\nmodel = "tiny"\n')
    with Satchel.open(root=tmp_path / "port", environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        satchel.assemble(QUESTION)
    assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("a_b, C.d\n- `e()`", ["a_b", "C.d", "e()"]),
        ("I do not know what you mean.", []),
        ("", []),
        (", ".join(f"n{number}x" for number in range(20)), [f"n{number}x" for number in range(MOST_GUESSES)]),
    ],
)
def test_names_of_an_answer(answer: str, names: list[str]) -> None:
    assert names_in(answer) == names
