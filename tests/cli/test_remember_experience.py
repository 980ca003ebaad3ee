from __future__ import annotations

import re
import sys

import pytest

from satchel.cli.session import Interrupt
from tests.cli.conftest import Ran, Satchel

pytestmark = pytest.mark.usefixtures("shop")

START = (
    *("experience", "start", "--domain", "debugging", "--strategy", "root-cause-analysis"),
    *("--goal", "Stop the session from being closed twice"),
    *("--hypothesis", "The connection pool closes the session after the client did"),
    *("--action", "Trace every call of close", "--prediction", "The trace shows two calls"),
)
FALSIFIED = (
    *("experience", "resolve", "--status", "falsified", "--result", "Only one call came from the pool"),
    *("--surprise", "The garbage collector finalised a forgotten handle"),
    *("--root-cause", "wrong-assumption", "--root-cause-description", "Nobody knew that a finaliser closes"),
    *("--lesson", "Tracing with a stack", "--takeaway", "Never close inside a finaliser"),
)


def captured(satchel: Satchel, code: str, *options: str) -> Ran:
    """What capturing a little program does."""
    return satchel("experience", "capture", *options, "--", sys.executable, "-c", code)


def test_an_experience_is_started_changed_noted_and_resolved(satchel: Satchel) -> None:
    started = satchel(*START)
    identity = started.out.split()[0]
    assert started.out == f"{identity}  active\n"
    assert (
        satchel("experience", "update", "--hypothesis", "A finaliser of the handle closes it").out
        == f"{identity}  active\n"
    )
    satchel("experience", "note", "only", "when", "the pool is full")
    active = satchel("experience", "show").out
    assert "attempt 1   The connection pool closes the session after the client did\n" in active
    assert "note        only when the pool is full\n" in active
    assert satchel(*FALSIFIED).out == f"{identity}  falsified  silver\n"
    shown = satchel("experience", "show", identity).out
    for line in (
        "result      Only one call came from the pool",
        "root cause  wrong-assumption: Nobody knew that a finaliser closes",
        "takeaway    Never close inside a finaliser",
    ):
        assert f"{line}\n" in shown
    data = satchel("experience", "show", identity, "--json").json
    assert (data["status"], data["iteration_count"], data["outcome"]["auto_captured"]) == ("falsified", 2, False)


def test_a_resolved_experience_is_shown_in_a_context(satchel: Satchel) -> None:
    satchel(*START)
    satchel(*FALSIFIED)
    shown = satchel("context", "which finaliser closes a forgotten handle", "--types", "experiences").out
    assert "## Experiences\n\n**Experience** debugging | root-cause-analysis\n" in shown
    assert "- **Root cause**: wrong-assumption - Nobody knew that a finaliser closes\n" in shown
    assert shown.count("**Experience**") == 1, "its sides are one item"


def test_a_second_start_says_what_is_active_and_another_session_sees_the_orphan(satchel: Satchel) -> None:
    identity = satchel(*START).out.split()[0]
    again = satchel(*START)
    assert again.code == 2
    assert f"session 'default' has an active experience, {identity}" in again.err
    other = satchel(*START, "--session", "night")
    assert other.code == 0
    assert f"{identity} of session 'default' is still active" in other.err
    listed = satchel("experience", "list", "--json").json
    assert (len(listed["experiences"]), len(listed["orphans"])) == (2, 1)
    assert "of session 'night' is still active" in satchel("experience", "list").err


def test_experiences_are_listed_by_filters(satchel: Satchel) -> None:
    satchel(*START)
    satchel(*FALSIFIED)
    line = satchel("experience", "list", "--domain", "debugging", "--tier", "silver").out
    assert line.endswith(
        "  falsified silver  debugging | root-cause-analysis  Stop the session from being closed twice\n"
    )
    for nothing in (("--outcome", "confirmed"), ("--strategy", "ask-user"), ("--since", "2100-01-01")):
        assert "no experience of this kind is recorded here" in satchel("experience", "list", *nothing).err


def test_capture_passes_output_and_exit_code_through_and_resolves_as_gold(satchel: Satchel) -> None:
    identity = satchel(*START).out.split()[0]
    ran = captured(
        satchel, "import sys; print('== 1 failed, 5 passed in 0.1s =='); print('oh', file=sys.stderr); sys.exit(3)"
    )
    assert ran.code == 3
    assert ran.out == "== 1 failed, 5 passed in 0.1s ==\n"
    assert ran.err.startswith("oh\n")
    assert f"{identity} falsified (gold): " in ran.err
    shown = satchel("experience", "show", identity).out
    assert "ended with 3; pytest: 1 failed, 5 passed" in shown
    assert "captured    from a command that was run" in shown


def test_capture_knows_what_was_predicted(satchel: Satchel) -> None:
    satchel(*START)
    assert "confirmed (gold)" in captured(satchel, "print('4 passed in 0.1s')").err
    satchel(*START)
    assert "confirmed (gold)" in captured(satchel, "raise SystemExit(1)", "--expect", "failure").err
    satchel(*START)
    assert "falsified (gold)" in captured(satchel, "pass", "--expect", "failure", "--surprise", "it passed").err
    assert satchel("experience", "list", "--json").json["experiences"][0]["surprise"] == "it passed"


def test_capture_runs_nothing_without_an_active_experience(satchel: Satchel) -> None:
    ran = captured(satchel, "print('ran')")
    assert (ran.code, ran.out) == (2, "")
    assert "has no active experience" in ran.err
    satchel(*START)
    missing = satchel("experience", "capture", "--", "no-such-program-anywhere")
    assert (missing.code, missing.out) == (2, "")
    assert "cannot run 'no-such-program-anywhere'" in missing.err
    assert satchel("experience", "capture").code == 2
    assert satchel("experience", "show").code == 0, "it is still active"


def test_a_run_that_was_interrupted_resolves_nothing(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    satchel(*START)
    monkeypatch.setattr(Interrupt, "requested", lambda _: True)
    assert "still active" in captured(satchel, "pass").err
    monkeypatch.setattr(Interrupt, "requested", lambda _: False)
    killed = captured(satchel, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert killed.code == 143
    assert "still active" in killed.err
    assert satchel("experience", "show").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("experience", "resolve", "--status", "won", "--result", "x"), "choose from confirmed, falsified, abandoned"),
        (("experience", "resolve", "--status", "falsified", "--result", "x"), "--surprise"),
        (("experience", "resolve", "--status", "confirmed", "--result", " "), "the result is empty"),
        (("experience", "resolve", "--status", "confirmed", "--result", "x", "--root-cause", "luck"), "timing-issue"),
        (("experience", "update"), "nothing to update"),
        (("experience", "update", "--strategy", "luck"), "unknown strategy 'luck'"),
        (("experience", "note", "x" * 2001), "at most 2,000"),
        (("experience", "list", "--tier", "tin"), "choose from gold, silver, bronze, abandoned"),
        (("experience", "list", "--domain", "cooking"), "unknown domain 'cooking'"),
        (("experience", "show", "ghap_zzz"), "there is no experience 'ghap_zzz'"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, tuple) else "",
)
def test_a_wrong_call_says_what_is_possible(satchel: Satchel, arguments: tuple[str, ...], said: str) -> None:
    satchel(*START)
    ran = satchel(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize("command", [("resolve", "--status", "confirmed", "--result", "x"), ("note", "x"), ("show",)])
def test_without_an_active_experience_the_next_step_is_named(satchel: Satchel, command: tuple[str, ...]) -> None:
    ran = satchel("experience", *command)
    assert ran.code == 2
    assert "start one with `satchel experience start`" in ran.err


def test_an_unknown_domain_at_the_start_lists_them_all(satchel: Satchel) -> None:
    ran = satchel(*[word if word != "debugging" else "optimization" for word in START])
    assert ran.code == 2
    assert "choose from debugging, refactoring, feature, testing, configuration, documentation, performance" in ran.err


def test_a_captured_failure_asks_once_for_its_cause_and_takes_it_later(satchel: Satchel) -> None:
    satchel(*START)
    failed = satchel("experience", "capture", "--", "false")
    asked = re.search(r"satchel (experience correct (ghap_\S+)) --root-cause CATEGORY", failed.err)
    assert asked
    added = satchel(*asked[1].split(), "--root-cause", "oversight", "--root-cause-description", "No lock was taken")
    assert added.out == f"{asked[2]}  falsified  gold\n"
    assert "No lock was taken" in satchel("premortem", "--domain", "debugging").out
    satchel(*START)
    explained = ("--root-cause", "oversight", "--root-cause-description", "The same lock")
    assert "correct" not in satchel("experience", "capture", *explained, "--", "false").err


def test_failures_without_a_cause_come_after_those_with_one(satchel: Satchel) -> None:
    for cause in (("--root-cause", "oversight", "--root-cause-description", "No lock was taken"), ()):
        satchel(*START)
        satchel("experience", "capture", *cause, "--", "false", "now" if cause else "and then")
    shown = satchel("premortem", "--domain", "debugging").out
    assert 0 < shown.index("false now") < shown.index("false 'and then'")
    hits = satchel("search", "false ended with 1", "--types", "experiences", "--json").json["hits"]
    assert "no cause" not in str(hits[0]["signals"])
    assert "no cause" in str(hits[1]["signals"])


def test_an_experience_is_forgotten_on_the_command_line(satchel: Satchel) -> None:
    satchel(*START)
    identity = satchel("experience", "show", "--json").json["id"]
    assert satchel("experience", "forget", identity).err.startswith(f"forgotten: {identity}")
    assert satchel("experience", "list", "--json").json["experiences"] == []
