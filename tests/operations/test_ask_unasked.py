"""Premortem, brief and situation through operations."""

from __future__ import annotations

import pytest

from satchel.errors import UsageError
from tests.operations.conftest import Ask, Printed, stable

FAILED = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "Stop the client from sending orders twice",
    "hypothesis": "The lock in client.py is released too early",
    "action_taken": "Release the lock after the answer",
    "prediction": "No order is sent twice in the test of client.py",
}


def fail_once(ask: Ask) -> str:
    ask("experience", action="start", **FAILED)
    done = ask(
        "experience", action="resolve", status="falsified", result="Orders were still sent twice",
        surprise="The lock was never taken", root_cause="wrong-assumption",
        root_cause_description="There are two clients, each with a lock of its own",
    )  # fmt: skip
    return str(done.envelope["id"])


def test_a_premortem_names_the_surprise_of_a_failure(ask: Ask) -> None:
    fail_once(ask)
    answered = ask("premortem", domain="debugging", strategy="read-the-error", max_tokens=900)
    assert "The lock was never taken" in answered.text


def test_a_brief_without_memories_says_so(ask: Ask) -> None:
    assert "nothing is remembered here yet" in ask("premortem", mode="brief").notes[0]


def test_a_failure_is_read_from_a_file_on_the_command_line(
    ask: Ask, printed: Printed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    said = 'File "shop/client.py", line 3, in send_order\nTimeoutError: backoff'
    log = tmp_path_factory.mktemp("logs") / "failed.txt"
    log.write_text(said)
    answered = ask("premortem", mode="after_failure", failure=said)
    assert stable(answered.envelope) == stable(printed("brief", "--after-failure", str(log)))
    assert "send_order" in answered.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "mode premortem needs domain, one of debugging"),
        ({"mode": "after_failure"}, "mode after_failure needs failure: the output of the command"),
        ({"mode": "postmortem"}, "unknown mode 'postmortem': choose from premortem, brief, after_failure"),
        ({"mode": "brief", "domain": "testing"}, "domain does not apply to mode brief: leave it out, or give mode"),
        ({"domain": "tesing"}, "unknown domain 'tesing' (did you mean testing?)"),
    ],
)
def test_what_does_not_go_together_is_refused(ask: Ask, arguments: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        ask("premortem", **arguments)
    assert said in str(refused.value)


def test_where_nothing_is_known_it_says_so(ask: Ask) -> None:
    assert "no experience of security failed here yet" in ask("premortem", domain="security").notes[0]
    fail_once(ask)
    assert "nothing fits into 9 tokens" in ask("premortem", domain="debugging", max_tokens=9).notes[0]


def test_a_situation_shows_the_rules_that_apply(ask: Ask) -> None:
    answered = ask(
        "situation_context", task="change a price", files=["shop/prices.py"], tool="edit_file",
        params={"path": "shop/prices.py"}, time=1_700_000_000, max_tokens=800,
    )  # fmt: skip
    assert "Never round prices" in answered.text


def test_a_situation_without_rules_says_so(ask: Ask, root: object) -> None:
    assert root
    answered = ask("situation_context", max_tokens=10)
    assert answered.text == ""
    assert answered.notes
