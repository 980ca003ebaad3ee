"""A session starts with what is worth knowing, once, and goes on after a compaction with what it was about."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from satchel.hooks import answers
from satchel.hooks.event_context import KEPT_SECONDS
from satchel.testing import TinyRepository
from tests.hooks.conftest import Host
from tests.memory.samples import STARTED


@pytest.fixture
def remembering(host: Host) -> Host:
    """A host in a repository where something is remembered."""
    with host.engine() as engine:
        engine.memories.add("Never deploy on Fridays", category="decision", importance=0.9)
    return host


def start(host: Host, source: str, session: str = "session-1") -> str:
    """The context at the start of a session."""
    host.session = session
    output = host.told("claude-code/session-start", source=source)[1]
    return str(output.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_a_session_starts_with_memories_commits_and_the_active_experience(remembering: Host) -> None:
    with remembering.engine() as engine:
        engine.experiences.start(**STARTED)
    answer, output = remembering.told("claude-code/session-start")
    text = output["hookSpecificOutput"]["additionalContext"]
    assert "Never deploy on Fridays" in text
    assert "## Recent Commits" in text
    assert text.startswith("## Active experience ghap_")
    assert STARTED["hypothesis"] in text
    assert 0 < answer.tokens <= 1_000
    assert output["systemMessage"].startswith("satchel: the active experience, ")


def test_the_brief_tells_what_bears_on_the_files_of_the_last_commits_in_few_tokens(host: Host) -> None:
    with host.engine() as engine:
        for number in range(20):
            engine.memories.add(f"The shelf number {number} has paint of colour {number} and a lamp", importance=0.8)
        engine.memories.add("shop/client.py sends an order at most twice", importance=0.3)
    answer, output = host.told("claude-code/session-start")
    text = output["hookSpecificOutput"]["additionalContext"]
    assert text.startswith("Remembered about the files of the last commits. ")
    assert text.index("- shop/client.py sends an order at most twice") < text.index("## Key Memories")
    assert answer.tokens <= answers.BRIEF_TOKENS


def test_each_agent_of_a_session_starts_with_the_brief_without_a_line_for_the_person(remembering: Host) -> None:
    assert "Never deploy on Fridays" in start(remembering, "startup")
    for agent in ("agent-1", "agent-2"):
        answer, output = remembering.told("claude-code/subagent-start", agent_id=agent)
        assert [*output] == ["hookSpecificOutput"]
        assert output["hookSpecificOutput"]["hookEventName"] == "SubagentStart"
        assert "Never deploy on Fridays" in output["hookSpecificOutput"]["additionalContext"]
        assert 0 < answer.tokens <= 1_000
        assert remembering.tell("claude-code/subagent-start", agent_id=agent).outcome == "nothing"


def test_the_only_experience_of_an_mcp_client_is_shown_and_of_several_none(remembering: Host) -> None:
    with remembering.engine() as engine:
        engine.experiences.start(**STARTED, session="mcp-1a2b3c4d")
    assert ", session mcp-1a2b3c4d)" in start(remembering, "startup")
    with remembering.engine() as engine:
        engine.experiences.start(**STARTED, session="mcp-5e6f7a8b")
    assert "## Active experience" not in start(remembering, "startup", "session-2")


def test_the_brief_has_no_commit_that_only_moves_versions_though_they_are_the_newest(host: Host) -> None:
    repository = TinyRepository(host.root)
    for number in range(6):
        repository.commit(f"Bump tool from 1.{number} to 1.{number + 1}", {"tool.txt": f"{number}"})
    with host.engine() as engine:
        engine.index()
    text = start(host, "startup")
    assert "## Recent Commits" in text
    assert "Bump tool" not in text


def test_a_session_that_is_resumed_or_told_twice_has_its_brief_already(remembering: Host) -> None:
    assert start(remembering, "startup")
    assert start(remembering, "resume") == start(remembering, "startup") == ""


def test_a_session_that_never_had_a_brief_gets_it_when_it_is_resumed_and_a_copy_gets_none(remembering: Host) -> None:
    assert start(remembering, "resume", "old")
    assert start(remembering, "fork", "copy") == ""
    assert start(remembering, "resume", "copy") == ""


def test_after_a_clear_everything_is_new_again(remembering: Host) -> None:
    question = "where is an order sent again when the connection drops?"
    first = remembering.ask(question), start(remembering, "startup")
    assert all(first)
    assert "def send_order" not in remembering.ask(f"{question} again")
    assert start(remembering, "clear") == first[1]
    assert start(remembering, "clear") == ""
    assert "def send_order" in remembering.ask(f"{question} so")


def test_after_a_compaction_the_session_is_told_what_it_was_about(remembering: Host) -> None:
    start(remembering, "startup")
    remembering.ask("make `send_order` wait longer\nbetween attempts")
    remembering.tell("claude-code/after-edit", tool_input={"file_path": str(remembering.root / "shop/client.py")})
    remembering.tell("claude-code/after-failure", tool_input={"command": "pytest -q tests"})
    text = start(remembering, "compact")
    assert text.startswith(answers.CHECKPOINT_TITLE)
    assert "- asked: make 'send_order' wait longer\n" in text
    assert "- changed: shop/client.py" in text
    assert "- failing: pytest -q tests" in text
    assert "Never deploy on Fridays" in text
    assert start(remembering, "compact") == ""


def test_a_check_that_succeeds_is_no_longer_failing_after_a_compaction(remembering: Host) -> None:
    remembering.tell("claude-code/after-failure", tool_input={"command": "pytest -q tests"})
    remembering.tell("claude-code/after-command", tool_response={"stdout": "3 passed in 0.1s"})
    assert "failing" not in start(remembering, "compact")


def test_what_was_asked_last_is_told_where_there_is_no_room_for_all(remembering: Host) -> None:
    for number in range(answers.CHECKPOINT_CHARACTERS // 100):
        remembering.ask(f"/x{number}" if number % 2 else f"prompt number {number} {'word ' * 60}")
    text = start(remembering, "compact")
    head = text.partition("\n\n## ")[0].partition("# Brief")[0]
    assert len(head) <= answers.CHECKPOINT_CHARACTERS + 200
    assert "prompt number 22 " in text
    assert "prompt number 0 " not in text


def test_five_sessions_at_once_each_get_one_brief(remembering: Host) -> None:
    def told(number: int) -> str:
        answer, text = remembering.told("claude-code/session-start", session_id=f"parallel-{number % 5}")
        return answer.outcome if text else "silent"

    with ThreadPoolExecutor(10) as pool:
        outcomes = [*pool.map(told, range(10))]
    assert outcomes.count("injected") == 5


def test_a_new_folder_is_indexed_and_the_person_is_told(new_host: Host) -> None:
    answer, output = new_host.told("claude-code/session-start")
    assert answer.outcome == "nothing"
    assert output == {"systemMessage": "satchel is indexing this folder; prompts get context as soon as it is done"}
    assert new_host.started == [["refresh", str(new_host.root)]]


def test_a_session_without_a_name_gets_a_brief_and_nothing_of_a_former_one(remembering: Host) -> None:
    assert start(remembering, "startup", "")
    assert answers.CHECKPOINT_TITLE not in start(remembering, "compact", "")


def test_sessions_that_are_long_over_are_forgotten(remembering: Host) -> None:
    start(remembering, "startup", "old")
    for path in (remembering.state / "hooks" / "sessions").iterdir():
        os.utime(path, (path.stat().st_mtime - KEPT_SECONDS - 10,) * 2)
    start(remembering, "startup", "new")
    assert len([*(remembering.state / "hooks" / "sessions").glob("*.json")]) == 1
