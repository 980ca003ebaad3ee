"""After a tool: an edit is indexed, a failure is met with what is known of it."""

from __future__ import annotations

import re

import pytest

from tests.hooks.conftest import Host
from tests.memory.samples import FALSIFIED, STARTED

OUTPUT = """Exit code 1
Traceback (most recent call last):
  File "shop/client.py", line 21, in send_order
    raise RetryError(order)
shop.errors.RetryError: the order was refused
1 failed, 3 passed in 0.12s
"""


@pytest.fixture
def experienced(host: Host) -> Host:
    """A host in a repository where an attempt has failed before."""
    with host.engine() as engine:
        engine.experiences.start(**STARTED | {"goal": "Stop the RetryError in send_order", "domain": "debugging"})
        engine.experiences.resolve(**FALSIFIED)
    return host


def failed(host: Host, output: str = OUTPUT, name: str = "claude-code/after-failure") -> str:
    """The context after a command that failed."""
    reply = host.told(name, error=output)[1]
    return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_a_failure_brings_what_is_known_of_it_and_no_premortem_while_no_work_is_named(experienced: Host) -> None:
    answer, output = experienced.told("claude-code/after-failure", error=OUTPUT)
    text = output["hookSpecificOutput"]["additionalContext"]
    assert output["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"
    assert "# Premortem" not in text
    assert "# Brief after a failure" in text
    assert "shop/client.py" in text
    assert 0 < answer.tokens <= 1_500
    assert output["systemMessage"].endswith("about this failure")


def test_no_record_is_told_twice_after_a_failure(experienced: Host) -> None:
    _, output = experienced.told("claude-code/after-failure", error=OUTPUT)
    text = output["hookSpecificOutput"]["additionalContext"]
    goals = re.findall(r"Goal\*\*: .*", text)
    assert goals
    assert len(goals) == len(set(goals)), text


def test_the_failing_test_is_shown_with_the_frames_of_its_trace(host: Host) -> None:
    """What the host writes before the output (`Exit code 1`) is not what failed."""
    output = """Exit code 1
    def test_backoff_doubles() -> None:
>       assert backoff(1) == 2 * backoff(0)

tests/test_client.py:5:
shop/client.py:30: in backoff
    return 0.1 * 2**attempt
E   OverflowError: too many attempts
FAILED tests/test_client.py::test_backoff_doubles - OverflowError: too many attempts
"""
    text = failed(host, output)
    assert text.index("return 0.1 * 2**attempt") < text.index("def test_backoff_doubles() -> None:")


def test_the_same_failure_is_met_once_and_another_one_without_the_premortem(experienced: Host) -> None:
    assert failed(experienced)
    assert failed(experienced, OUTPUT.replace("0.12s", "3.4s").replace("line 21", "line 22")) == ""
    other = 'File "shop/prices.py", line 3, in discount\nValueError: percent is negative'
    (experienced.root / "shop/prices.py").write_text("def discount(price, percent):\n    raise ValueError(percent)\n")
    with experienced.engine() as engine:
        engine.index()
    text = failed(experienced, other)
    assert "# Premortem" not in text
    assert "shop/prices.py" in text
    assert "has what is known" in experienced.tell("claude-code/after-failure", error=f"{other} or more").reason
    experienced.session = "session-2"
    assert failed(experienced)


def test_a_premortem_is_about_the_kind_of_work_that_is_under_way(experienced: Host) -> None:
    with experienced.engine() as engine:
        engine.experiences.start(**STARTED | {"domain": "performance"})
    assert "# Premortem: debugging" not in failed(experienced)


def test_the_first_failure_brings_a_premortem_of_the_work_that_is_under_way(experienced: Host) -> None:
    with experienced.engine() as engine:
        engine.experiences.start(**STARTED | {"domain": "debugging"})
    assert "# Premortem: debugging" in failed(experienced)


def test_a_failure_of_another_kind_brings_no_foreign_experience(experienced: Host) -> None:
    with experienced.engine() as engine:
        engine.memories.add("A typing error in the price list made the shop sell socks for a cent", category="error")
    text = failed(experienced, "TypeError: 'NoneType' object is not subscriptable in the invoice exporter")
    assert "RetryError" not in text
    assert "socks" not in text


def test_a_failure_that_a_pipe_hid_is_seen_in_the_output(experienced: Host) -> None:
    response = {"stdout": OUTPUT, "stderr": ""}
    output = experienced.told("claude-code/after-command", tool_response=response)[1]
    assert output["hookSpecificOutput"]["hookEventName"] == "PostToolUse"


@pytest.mark.parametrize(
    ("name", "changed", "reason"),
    [
        ("claude-code/after-command", {"tool_response": {"stdout": "3 passed in 0.1s"}}, "succeeded"),
        ("claude-code/after-failure", {"tool_input": {"command": "ls nowhere"}}, "tests and builds nothing"),
        ("claude-code/after-command", {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}, "neither edits"),
        ("claude-code/after-failure", {"error": " ", "tool_response": {"exit_code": 1}}, "said nothing"),
        ("cursor/after-shell", {}, "takes no context"),
        ("claude-code/after-failure", {"error": "zzqx qqzzx"}, "nothing like it"),
    ],
)
def test_whatever_else_a_tool_does_brings_nothing(
    host: Host, name: str, changed: dict[str, object], reason: str
) -> None:
    answer, output = host.told(name, **changed)
    assert output == {}
    assert reason in answer.reason


@pytest.mark.parametrize("name", ["claude-code/after-edit", "codex/after-patch", "cursor/after-edit"])
def test_an_edit_has_the_index_brought_up_to_date(host: Host, name: str) -> None:
    answer, output = host.told(name)
    assert (answer.outcome, output) == ("saved", {})
    assert host.started == [["refresh", str(host.root)]]


def test_an_edit_outside_of_a_project_has_nothing_indexed(new_host: Host) -> None:
    folder = new_host.root.parent / "downloads"
    folder.mkdir()
    answer = new_host.tell("claude-code/after-edit", cwd=str(folder))
    assert answer.outcome == "nothing"
    assert new_host.started == []
