"""What rules propose from a transcript, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from satchel.memory.review import EXPERIENCE, proposed
from satchel.sources.conversations import Action, Exchange

FAILED = Action("Bash", "cd shop && pytest tests/cart -q", "E assert 19 == 20 1 failed, 2 passed in 0.1s", failed=True)
PASSED = Action("Bash", "pytest tests/cart -q", "3 passed in 0.1s")
EDITED = Action("Edit", "src/cart.py")


def said(text: str, *actions: Action, reply: str = "Done.") -> Exchange:
    """One exchange."""
    return Exchange("s", "00000001", 1_750_000_000.0, text, (reply,), actions)


@pytest.mark.parametrize(
    ("text", "kind", "proposal"),
    [
        ("From now on, always use pnpm.", "preference", "Always use pnpm."),
        ("OK, so we decided to use NATS.", "decision", "We decided to use NATS."),
        ("Remember that the lock lasts until 04:00.", "fact", "The lock lasts until 04:00."),
        ("The billing service listens on port 9411.", "fact", "The billing service listens on port 9411."),
        ("Bitte niemals direkt auf main pushen.", "preference", "Niemals direkt auf main pushen."),
        (
            "Don't edit api/gen, they come from the schema.",
            "preference",
            "Don't edit api/gen, they come from the schema.",
        ),
        ("Merk dir bitte: main ist geschützt, api/gen auch.", "fact", "Main ist geschützt, api/gen auch."),
    ],
)
def test_lasting_sentences_are_proposed_without_their_openings(text: str, kind: str, proposal: str) -> None:
    (one,) = proposed([said(text)])
    assert (one.kind, one.text, one.source) == (kind, proposal, said(text).key)


@pytest.mark.parametrize(
    "text",
    [
        "Do we always pass the tenant?",
        "If we always retried, the queue would fill up.",
        "Always use the mock this time.",
        "Never mind, I found it.",
        "The log says: `never null`, always.",
        "Summarise this:\nAlways write tests first.",
        "```\nAlways write tests first.\n```",
        "> We decided to use NATS.",
        "The server is down.",
        "Maybe we should always use NATS.",
        "Don't touch the files under api/gen.",
        "Always fails at the same place.",
        "Use a set instead of the list here.",
        "We settled on that for all new tables.",
        "The linter says: 'Prefer const. Always use strict equality.' Fix both.",
        "We decided to use NATS. Hmm, no wait, scratch that.",
    ],
)
def test_questions_conditions_quotations_and_what_is_for_now_are_left_alone(text: str) -> None:
    assert proposed([said(text)]) == []


def test_a_statement_in_a_long_prompt_describes_a_bug() -> None:
    statement = "The cache server listens on port 6380."
    assert [one.kind for one in proposed([said(statement)])] == ["fact"]
    assert proposed([said(statement + " It breaks in many ways." * 30)]) == []


def test_what_the_next_prompt_takes_back_is_not_proposed() -> None:
    chosen, taken_back = said("Let's go with Celery."), said("Actually no, forget it.")
    assert [one.kind for one in proposed([chosen, said("Go on.")])] == ["decision"]
    assert proposed([chosen, taken_back]) == []
    assert len(proposed([chosen, replace(taken_back, session="t")])) == 1


def test_a_check_that_failed_and_passed_after_a_change_is_an_experience() -> None:
    cause, reply = "The total is rounded per item, so cents are lost.", "Fixed: the total is rounded once, at the end."
    failing = replace(said("Fix the cart totals.", FAILED), replies=(cause,))
    (one,) = proposed([failing, said("Go on.", EDITED, PASSED, reply=reply)])
    fields = one.fields
    assert (one.kind, fields["goal"], fields["action"]) == (EXPERIENCE, "Fix the cart totals.", "edit src/cart.py")
    assert (fields["hypothesis"], fields["prediction"]) == (cause, "`pytest tests/cart -q` passes")
    assert fields["lesson"] == {"what_worked": "the total is rounded once, at the end."}
    assert "assert 19 == 20" in one.quote
    result = f"it failed with {one.quote}, then it passed; pytest: 3 passed"
    assert fields["outcome"] == {"status": "confirmed", "result": result}
    assert "root_cause" not in fields


def test_without_a_stated_cause_the_change_is_the_hypothesis_and_the_check_the_goal() -> None:
    (one,) = proposed([said("Run the tests.", FAILED, EDITED, PASSED, reply="The total is rounded once now.")])
    assert one.fields["goal"] == "Make `pytest tests/cart -q` pass"
    assert one.fields["hypothesis"] == "It needs a change: edit src/cart.py"


def test_days_are_dates_of_the_conversation() -> None:
    (one,) = proposed([said("We decided yesterday to use NATS.")])
    assert (one.text, one.quote) == ("We decided on 2025-06-14 to use NATS.", "We decided yesterday to use NATS.")


@pytest.mark.parametrize(
    "actions",
    [
        (FAILED, PASSED),
        (FAILED, Action("Bash", "git diff", "nothing"), PASSED),
        (FAILED, EDITED, Action("Bash", "mypy src", "ok")),
        (Action("Bash", "grep x lib", "", failed=True), EDITED, Action("Bash", "grep x src", "x")),
    ],
)
def test_a_check_that_passes_by_itself_and_a_search_teach_nothing(actions: tuple[Action, ...]) -> None:
    assert proposed([said("Look.", *actions)]) == []


@pytest.mark.parametrize(("is_summary", "is_aside"), [(True, False), (False, True)])
def test_summaries_and_side_tasks_are_not_what_the_user_said(is_summary: bool, is_aside: bool) -> None:
    assert proposed([replace(said("Always use pnpm here."), compaction=is_summary, sidechain=is_aside)]) == []
