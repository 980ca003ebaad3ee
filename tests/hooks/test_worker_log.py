"""`satchel hook log`, `on` and `off`, for people; and the doctor, who looks at the log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from satchel.cli.application import run
from satchel.cli.commands.connect import EVENTS
from satchel.cli.main import hook_event
from satchel.config import write_setting
from satchel.errors import ConfigError
from satchel.hooks.hosts import Event
from satchel.hooks.worker import log_failure
from tests.hooks.conftest import Host

QUESTION = "where is an order sent again when the connection drops?"


def log(host: Host, name: str, **changed: object) -> None:
    """An event that is answered and logged, as the worker does it."""
    from satchel.hooks import hosts, worker

    kind = hosts.event_of(Event(name.partition("/")[2]))
    assert kind is not None
    event = hosts.read(host.payload(name, **changed), kind)
    answer, text = worker.answered(event, None, {"SATCHEL_HOME": str(host.home), "HOME": str(host.home)})
    assert worker._log(event, answer, len(text), 0.0) == ""


def test_the_log_shows_what_was_injected_and_what_it_cost(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    log(host, "claude-code/prompt", prompt=QUESTION)
    log(host, "claude-code/prompt", prompt="thanks")
    assert run(["hook", "log"]) == 0
    shown = capsys.readouterr()
    assert "code:shop/client.py" in shown.out
    assert "relevant to the prompt" in shown.out
    assert "def send_order" not in shown.out
    assert "1 more had no effect" in shown.err
    assert run(["hook", "log", "--all"]) == 0
    assert "names nothing to look for" in capsys.readouterr().out
    assert run(["hook", "log", "--json", "-n", "1"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert (entry["event"], entry["outcome"], entry["tokens"]) == ("prompt", "nothing", 0)


def test_the_log_has_the_id_of_an_injected_memory_and_none_of_its_words(host: Host) -> None:
    with host.engine() as engine:
        stored = engine.memory.memories.add("Quokka deploys need the lighthouse key.", importance=1.0).memory
    log(host, "claude-code/session-start")
    (entry,) = host.entries()
    assert f"memory:{stored.id}" in {item["id"] for item in entry["items"]}
    assert not re.search("quokka|lighthouse", json.dumps(entry), re.IGNORECASE)


def test_a_log_without_entries_says_how_to_get_some(new_host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert new_host.entries() == []
    assert run(["hook", "log"]) == 0
    assert "--with-hooks" in capsys.readouterr().err


def test_hooks_are_switched_off_and_on_again_by_a_setting(host: Host) -> None:
    assert run(["config", "set", "hooks.enabled", "false"]) == 0
    answer, output = host.told("claude-code/prompt", prompt=QUESTION)
    assert output == {}
    assert "switched off" in answer.reason
    assert run(["config", "set", "hooks.enabled", "true"]) == 0
    assert host.ask(QUESTION)


def test_the_switch_keeps_everything_else_in_the_file(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "satchel.toml"
    real.write_text("# mine\n[budget]\nmax_tokens = 900 # few\n\n[hooks]\nprompt_tokens=5\n")
    real.chmod(0o640)
    link.symlink_to(real)
    write_setting(link, "hooks.enabled", value=False)
    text = "# mine\n[budget]\nmax_tokens = 900 # few\n\n[hooks]\nprompt_tokens=5\nenabled = false\n"
    assert real.read_text() == text
    assert real.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    write_setting(link, "hooks.enabled", value=False)
    assert real.read_text() == text
    assert [path.name for path in tmp_path.iterdir() if path.is_file()].count("real.toml") == 1


@pytest.mark.parametrize("text", ["[hooks", "hooks = 3", "\xff"])
def test_a_file_that_cannot_be_understood_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "satchel.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"satchel\.toml"):
        write_setting(path, "hooks.enabled", value=True)
    assert path.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    ("arguments", "event"),
    [
        (["hook", "prompt"], ["prompt"]),
        (["--root", "/x", "hook", "prompt"], ["prompt", "--root", "/x"]),
        (["--root=/x", "hook", "prompt"], ["prompt", "--root=/x"]),
        (["hook"], []),
        (["hook", "nonsense", "--bad"], ["nonsense", "--bad"]),
        (["hook", "log"], None),
        (["hook", "off"], ["off"]),
        (["hook", "--help"], None),
        (["context", "hook"], None),
        ([], None),
        (["--root"], None),
    ],
)
def test_an_event_is_known_before_the_command_line_is_parsed(arguments: list[str], event: list[str] | None) -> None:
    assert hook_event(arguments) == event


def test_help_names_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(Event) == EVENTS
    assert run(["hook", "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    assert all(event in shown for event in EVENTS)
    assert run(["hook"]) == 0
    assert capsys.readouterr().out == ""


def test_the_doctor_tells_of_hooks_that_broke(new_host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--root", str(new_host.root), "--json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["hooks"]["outcome"] == "ok"
    log_failure(["prompt"], "ImportError: apsw is broken", 12.0)
    run(["doctor", "--root", str(new_host.root), "--json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["hooks"]["outcome"] == "warn"
    assert "apsw is broken" in checks["hooks"]["message"]
    assert "satchel hook log" in checks["hooks"]["fix"]
