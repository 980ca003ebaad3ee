"""`satchel stats` after sessions that went through the hooks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from satchel.cli.application import run
from satchel.tokens import counter
from tests.hooks.conftest import Host
from tests.hooks.test_worker_log import QUESTION, log

LESSON = "Ask Ruben before the retries of the client change"


def stats(host: Host, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The figures of the root of a host."""
    capsys.readouterr()
    assert run(["stats", "--root", str(host.root), "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def worked(host: Host) -> Host:
    """Two sessions: a question and an edit of a file with a lesson, then the same question again."""
    with host.engine() as engine:
        engine.memory.memories.add(LESSON, files=("shop/client.py",))
    log(host, "claude-code/prompt", prompt=QUESTION)
    log(host, "claude-code/before-tool", tool_input={"file_path": str(host.root / "shop/client.py")})
    log(host, "claude-code/prompt", prompt="thanks")
    host.session = "session-2"
    log(host, "claude-code/prompt", prompt=QUESTION)
    return host


def test_tokens_delivered_are_beside_those_of_the_whole_files(worked: Host, capsys: pytest.CaptureFixture[str]) -> None:
    told = stats(worked, capsys)
    entries = worked.entries()
    delivered = sum(entry["tokens"] for entry in entries if entry["event"] == "prompt")
    assert told["tokens"]["prompt"] == delivered > 0
    assert told["events"] == {"injected": 3, "nothing": 1}
    read = told["read"]
    shown = {item["id"] for entry in entries for item in entry["items"] if item["id"].startswith(("code:", "doc:"))}
    whole = sum(counter().count((worked.root / one.partition(":")[2]).read_text()) for one in shown)
    assert (read["sessions"], read["files"], read["gone"]) == (2, 2 * len(shown), 0)
    assert read["whole_tokens"] == 2 * whole, "each session would have read the file"
    assert 0 < read["shown_tokens"] < read["whole_tokens"]


def test_a_lesson_is_told_with_its_moment_its_session_and_its_title(
    worked: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    (lesson,) = [one for one in stats(worked, capsys)["lessons"] if one["event"] == "before-tool"]
    (entry,) = [entry for entry in worked.entries() if entry["event"] == "before-tool"]
    assert (lesson["at"], lesson["host"], lesson["session"]) == (entry["at"], "claude-code", entry["session"])
    assert lesson["title"].startswith("Ask Ruben before")
    assert run(["stats", "--root", str(worked.root)]) == 0
    shown = capsys.readouterr().out
    assert f"1 time, last {lesson['at']} (before-tool 1)  {lesson['title']}\n" in shown
    assert "lessons       1, delivered 1 time (--json has each with its session)\n" in shown
    assert "tokens, each once per session, of which " in shown
    with worked.engine() as engine:
        engine.memory.memories.forget([lesson["id"].partition(":")[2]])
    titles = {one["id"]: one["title"] for one in stats(worked, capsys)["lessons"]}
    assert titles[lesson["id"]] == ""


def test_what_is_older_elsewhere_or_gone_is_not_counted(worked: Host, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = Host(worked.root.parent / "other", worked.home)
    elsewhere.root.mkdir()
    log(elsewhere, "claude-code/prompt", prompt="thanks")
    assert sum(stats(worked, capsys)["events"].values()) == 4
    (worked.state / "hooks" / "late").write_text("2020-01-01T00:00:00Z\n2999-01-01T00:00:00Z\n")
    assert stats(worked, capsys)["late"] == 1
    (worked.root / "shop/client.py").unlink()
    assert stats(worked, capsys)["read"]["gone"] == 2
    later = stats(worked, capsys, "--days", "1", "--now", "2999-01-01")
    assert (later["events"], later["lessons"], later["read"]["files"]) == ({}, [], 0)


def test_nothing_delivered_is_told_as_such(new_host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stats", "--root", str(new_host.root)]) == 0
    assert "no events" in capsys.readouterr().out
    assert run(["stats", "--root", str(new_host.root), "--days", "0"]) == 2
