"""Operations that only read: doctor, history and replay."""

from __future__ import annotations

import pytest

from satchel.errors import UsageError
from tests.operations.conftest import Ask, Printed, stable

QUESTION = "where are orders sent again?"


def test_the_checks_are_those_of_the_command_line(ask: Ask, printed: Printed) -> None:
    def named(checks: list[dict[str, str]]) -> list[tuple[str, str]]:
        return [(check["name"], check["outcome"]) for check in checks]

    checks = named(printed("doctor")["checks"])
    assert checks.pop() == ("clients", "ok"), "what is installed for a person is of no interest to a program"
    assert named(ask("doctor").envelope["checks"]) == checks


def test_views_of_the_history_do_not_mix(ask: Ask) -> None:
    with pytest.raises(UsageError, match="two views"):
        ask("history", churn=9, authors=True)
    with pytest.raises(UsageError, match="give churn too"):
        ask("history", now=0)


def test_a_saved_answer_is_asked_again_and_what_differs_is_named(ask: Ask) -> None:
    first = ask("context_query", question=QUESTION)
    again = ask("replay", saved=stable(first.envelope))
    assert (again.text, again.notes) == (first.text, ())
    ask("remember", action="store", text="Orders are sent again at night")
    assert "differs" in ask("replay", saved=stable(first.envelope)).notes[0]
