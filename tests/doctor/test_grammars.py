from __future__ import annotations

import pytest

from satchel.doctor import grammars
from satchel.doctor.check import Outcome
from satchel.sources.code.grammar import GRAMMARS


def test_every_grammar_finds_the_definition_in_its_sample() -> None:
    found = grammars.grammars()
    assert found.outcome is Outcome.OK
    assert found.message.startswith(f"{len(GRAMMARS)} languages")


def test_every_grammar_has_a_sample_and_no_sample_is_left_over() -> None:
    assert set(grammars.SAMPLES) == GRAMMARS


def test_a_grammar_that_finds_nothing_fails_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "SAMPLES", {**grammars.SAMPLES, "go": "package a\n"})
    found = grammars.grammars()
    assert found.outcome is Outcome.FAIL
    assert "go finds no definition" in found.message


def test_a_grammar_that_does_not_load_is_named_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ImportError("no module")

    monkeypatch.setattr(grammars, "outline", broken)
    assert grammars.problem_of("rust") == "does not load (ImportError: no module)"


def test_a_grammar_without_a_sample_is_not_taken_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "SAMPLES", {})
    assert grammars.problem_of("rust") == "has no sample"
