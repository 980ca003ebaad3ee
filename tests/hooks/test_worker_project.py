"""The folder of the project that a host names, wherever its session has gone since."""

from __future__ import annotations

from pathlib import Path

from satchel.hooks import hosts, worker
from satchel.hooks.hosts import Event
from tests.hooks.conftest import Host


def test_an_event_from_another_folder_belongs_to_the_project_that_the_host_names(host: Host, tmp_path: Path) -> None:
    environ = {"SATCHEL_HOME": str(host.home), "HOME": str(host.home)}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def ask(session: str, project: str) -> str:
        question = "where is an order sent again when the connection drops?"
        sent = host.payload("claude-code/prompt", prompt=question, cwd=str(elsewhere), session_id=session)
        return worker.answered(hosts.read(sent, Event.PROMPT), None, environ, project=project)[1]

    assert ask("one", "") == ""
    assert "shop/client.py" in ask("two", str(host.root))
    assert ask("three", str(tmp_path / "gone")) == ""


def test_the_option_of_the_project_is_not_the_event() -> None:
    assert worker._words(["--project", "/home/a", "prompt"]) == ("prompt", None)
