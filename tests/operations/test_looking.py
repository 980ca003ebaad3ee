"""Operations that only look: what they say is what the command line prints."""

from __future__ import annotations

import pytest

from satchel.errors import UsageError
from tests.operations.conftest import Ask, Printed, stable

QUESTION = "where are orders sent again?"


def test_the_state_is_that_of_the_command_line(ask: Ask, printed: Printed) -> None:
    ask("search", question="backoff")
    found, same = ask("status").envelope, printed("status")
    for volatile in ("sizes",):  # the log of the database grows while it is looked at
        found, same = {**found, volatile: None}, {**same, volatile: None}
    assert stable(found) == same


def test_the_checks_are_those_of_the_command_line(ask: Ask, printed: Printed) -> None:
    def named(checks: list[dict[str, str]]) -> list[tuple[str, str]]:
        return [(check["name"], check["outcome"]) for check in checks]

    assert named(ask("doctor").envelope["checks"]) == named(printed("doctor")["checks"])


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, []),
        ({"path": "shop", "limit": 1}, ["shop", "-n", "1"]),
        ({"churn": 90, "now": "2023-11-20"}, ["--churn", "90", "--now", "2023-11-20"]),
        ({"authors": True}, ["--authors"]),
    ],
)
def test_the_history_is_that_of_the_command_line(
    ask: Ask, printed: Printed, arguments: dict[str, object], options: list[str]
) -> None:
    assert stable(ask("history", **arguments).envelope) == printed("history", *options)


def test_views_of_the_history_do_not_mix(ask: Ask) -> None:
    with pytest.raises(UsageError, match="two views"):
        ask("history", churn=9, authors=True)
    with pytest.raises(UsageError, match="give churn too"):
        ask("history", now=0)


def test_values_and_their_groups_are_those_of_the_command_line(ask: Ask, printed: Printed) -> None:
    assert ask("values").envelope == printed("values", "list") == {"values": []}
    assert ask("proposals", axis="full").envelope == printed("values", "propose", "--axis", "full")


def test_why_is_that_of_the_command_line(ask: Ask, printed: Printed) -> None:
    answered = ask("why", target="shop/prices.py", question=QUESTION, max_tokens=500)
    assert answered.envelope == printed("why", "shop/prices.py", QUESTION, "--max-tokens", "500")


def test_a_saved_answer_is_asked_again_and_what_differs_is_named(ask: Ask) -> None:
    first = ask("context_query", question=QUESTION)
    again = ask("replay", saved=stable(first.envelope))
    assert (again.text, again.notes) == (first.text, ())
    ask("remember", action="store", text="Orders are sent again at night")
    assert "differs" in ask("replay", saved=stable(first.envelope)).notes[0]
