"""The supervisor passes on what is complete, and nothing else; here in the process of the tests."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from satchel.config import Folders
from satchel.doctor import check_hooks
from satchel.errors import StoreError
from satchel.hooks import supervise, worker
from satchel.hooks.hosts import Event
from satchel.system import resident, telemetry
from tests.hooks.conftest import Host

QUESTION = "where is an order sent again when the connection drops?"


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The signals of the test run are its own again afterwards, and a hook has more than enough time from now on."""
    monkeypatch.setattr(supervise, "_age", lambda: 0.0)
    monkeypatch.setattr(supervise, "WORKER_SECONDS", 300.0)
    monkeypatch.setattr(supervise, "DEADLINE_SECONDS", 600.0)  # at the real one this process would end
    kept = {number: signal.getsignal(number) for number in (15, 2, 1, 14)}
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in kept.items():
        signal.signal(number, handler)


def test_a_complete_answer_is_passed_on_with_what_there_is_to_say(capfd: pytest.CaptureFixture[str]) -> None:
    assert supervise.main(["prompt"], lambda _words, _raw: ("something\nto say", b'{"a": 1}' * 20_000)) == 0
    out, err = capfd.readouterr()
    assert out == '{"a": 1}' * 20_000
    assert err == "satchel hook: something to say\n"


def test_half_an_answer_is_none(new_host: Host, capfd: pytest.CaptureFixture[str]) -> None:
    for received, reason in ((b"10 \nshort", "died"), (b"", "died"), (b"junk", "died"), (b"x \n", "died")):
        supervise._pass_on(received, ["prompt"], time.monotonic())
        out, err = capfd.readouterr()
        assert out == ""
        assert reason in err
    assert [main["outcome"] for main in new_host.entries()] == ["failed"] * 4


def test_a_worker_that_takes_too_long_is_ended(
    new_host: Host, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "WORKER_SECONDS", 0.05)

    def hang(_words: Sequence[str], _raw: bytes) -> tuple[str, bytes]:
        signal.pause()
        return "", b"late"

    assert supervise.main(["prompt"], hang) == 0
    assert capfd.readouterr() == ("", "satchel hook: no answer within 0.05 s\n")
    assert new_host.entries()[-1]["reason"] == "no answer within 0.05 s"


def test_without_forks_what_libraries_print_is_held_back_too(
    new_host: Host, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "fork")

    def noisy(_words: Sequence[str], _raw: bytes) -> tuple[str, bytes]:
        os.write(1, b"noise")
        os.write(2, b"noise")
        return "said", b"{}"

    def broken(_words: Sequence[str], _raw: bytes) -> tuple[str, bytes]:
        raise SystemExit(2)

    assert supervise.main(["prompt"], noisy) == 0
    assert capfd.readouterr() == ("{}", "satchel hook: said\n")
    assert supervise.main(["prompt"], broken) == 0
    assert capfd.readouterr() == ("", "satchel hook: SystemExit: 2\n")
    assert new_host.entries()[-1]["reason"] == "SystemExit: 2"


def test_whoever_asks_the_hook_to_end_is_obeyed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def stop(child: int, _deadline: float) -> bytes:
        started.append(child)
        os.kill(os.getpid(), signal.SIGTERM)
        return b""

    monkeypatch.setattr(supervise, "_collected", stop)
    assert supervise.main(["prompt"], lambda _words, _raw: ("", b"{}")) == 0
    assert started
    assert capfd.readouterr() == ("", "")


def test_what_breaks_before_the_worker_is_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no pipe")

    monkeypatch.setattr(supervise, "_start", fail)
    assert supervise.main(["prompt"]) == 0
    assert capfd.readouterr() == ("", "satchel hook: OSError: no pipe\n")


@pytest.mark.parametrize("value", ["0", "false", "OFF", " no "])
def test_the_switch_is_looked_at_before_anything_else(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(supervise.SWITCH, value)
    monkeypatch.setattr(supervise, "_start", None)
    assert supervise.main(["prompt"]) == 0
    assert not supervise.is_off("1")
    assert not supervise.is_off(None)


@pytest.mark.parametrize(("is_busy", "seconds"), [(False, supervise.RESIDENT_SECONDS), (True, 303.0)])
def test_on_a_busy_machine_a_hook_waits_for_a_resident_to_the_end(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], is_busy: bool, seconds: float
) -> None:
    asked: list[tuple[float, float]] = []

    def ask(_place: str, *request: Any) -> list[bytes]:
        *_, deadline, patience = request
        asked.append((deadline - began, patience))
        return [b"", b'{"a": 1}']

    monkeypatch.setattr(supervise, "is_busy", lambda: is_busy)
    monkeypatch.setattr(resident, "address", lambda _root: "/socket")
    monkeypatch.setattr(resident, "ask", ask)
    began = time.monotonic()
    assert supervise.main(["prompt"]) == 0
    assert capfd.readouterr().out == '{"a": 1}'
    ((deadline, patience),) = asked
    assert deadline == pytest.approx(seconds, abs=60)
    assert (patience > resident.ACCEPT_SECONDS) is is_busy


def test_a_hook_whose_resident_had_all_its_time_is_late_and_starts_no_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path))
    monkeypatch.setattr(supervise, "_noted_late", False)
    monkeypatch.setattr(supervise, "is_busy", lambda: True)
    monkeypatch.setattr(supervise, "GRACE_SECONDS", -300.0)
    monkeypatch.setattr(resident, "address", lambda _root: "/socket")
    monkeypatch.setattr(supervise, "_start", None)
    assert supervise.main(["prompt"]) == 0
    assert "1 events of the last week" in check_hooks(Folders.from_environment()).message


def test_a_machine_is_busy_if_more_wants_to_run_than_leaves_time_for_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(supervise.is_busy(), bool)
    monkeypatch.setattr(os, "cpu_count", lambda: 10**6)
    assert not supervise.is_busy()
    monkeypatch.setattr(supervise, "BUSY", 0)
    assert supervise.is_busy()


def test_the_age_of_a_process_is_known_or_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert 0 <= supervise._age() <= supervise.WORKER_SECONDS
    monkeypatch.setattr(supervise, "WORKER_SECONDS", -1.0)
    assert supervise._age() == supervise._UNKNOWN_START
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    assert supervise._age() == supervise._UNKNOWN_START


def work(arguments: list[str], sent: object) -> tuple[str, bytes]:
    """What the worker makes of an event."""
    return worker.work(arguments, json.dumps(sent).encode())


def test_the_worker_answers_logs_and_takes_the_root_that_is_named(host: Host) -> None:
    sent = host.payload("claude-code/prompt", prompt=QUESTION, cwd=str(host.home))
    for number, arguments in enumerate((["prompt", "--root", str(host.root)], [f"--root={host.root}", "prompt"])):
        text, out = work(arguments, sent | {"session_id": f"s{number}"})
        assert text == ""
        assert "def send_order" in json.loads(out)["hookSpecificOutput"]["additionalContext"]
    assert [main["tokens"] > 0 for main in host.entries()] == [True, True]
    assert host.entries()[0]["session"] != host.entries()[1]["session"]


def test_the_worker_says_what_it_does_not_know(host: Host) -> None:
    assert "give one of session-start" in work([], {})[0]
    assert "unknown event 'nonsense'" in work(["nonsense"], {})[0]
    assert host.entries() == []


@pytest.mark.parametrize("error", [StoreError("the store is locked"), RuntimeError("a bug")])
def test_the_worker_logs_what_broke(host: Host, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(_desk: object) -> None:
        raise error

    monkeypatch.setattr(worker, "HANDLERS", {Event.PROMPT: fail})
    text, out = work(["prompt"], host.payload("claude-code/prompt"))
    assert out == b""
    assert text == host.entries()[-1]["reason"]
    assert ("test_supervise.py:" in text) is isinstance(error, RuntimeError)


def test_a_log_that_cannot_be_written_is_said_and_does_not_cost_the_answer(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_state: Path, _entry: object) -> None:
        raise PermissionError("not yours")

    monkeypatch.setattr(telemetry, "append_hook_entry", fail)
    text, out = work(["prompt"], host.payload("claude-code/prompt", prompt=QUESTION))
    assert "cannot be written" in text
    assert out


def test_the_command_line_leads_there(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from satchel.cli import main

    ended: list[int] = []
    calls: list[Sequence[str]] = []

    def end(code: int) -> None:
        ended.append(code)
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr("sys.argv", ["satchel", "hook", "prompt"])
    monkeypatch.setattr(supervise, "main", calls.append)
    with pytest.raises(SystemExit):
        main.main()
    monkeypatch.setattr(supervise, "main", None)
    with pytest.raises(SystemExit):
        main.main()
    assert (ended, calls) == ([0, 0], [["prompt"]])
    assert "TypeError" in capfd.readouterr().err


def test_an_event_that_was_not_answered_in_time_is_counted_by_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path))
    monkeypatch.setattr(supervise, "_noted_late", False)
    folders = Folders.from_environment()
    assert check_hooks(folders).outcome == "ok"
    supervise._pass_on(b"half", ["prompt"], time.monotonic() - 2 * supervise.WORKER_SECONDS)
    supervise.note_late()
    found = check_hooks(folders)
    assert found.outcome == "warn"
    assert found.message.startswith("1 events of the last week were not answered in time, the last at 2")
    assert "satchel mcp" in found.fix
    late = folders.state / "hooks" / "late"
    assert late.stat().st_mode & 0o777 == 0o600
    late.write_text("2020-01-01T00:00:00Z\n")
    assert check_hooks(folders).outcome == "ok"


def test_the_file_of_late_events_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path))
    late = tmp_path / "state" / "hooks" / "late"
    late.parent.mkdir(parents=True)
    late.write_bytes(b"x" * (supervise.LATE_BYTES + 1))
    monkeypatch.setattr(supervise, "_noted_late", False)
    supervise.note_late()
    assert late.stat().st_size == 21


def test_the_project_that_the_host_names_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[Sequence[str]] = []

    def ask(_place: str, arguments: Sequence[str], *_: object, is_patient: bool) -> list[bytes]:
        assert not is_patient
        passed.append([*arguments])
        return [b"", b""]

    monkeypatch.setattr(supervise, "is_busy", lambda: False)
    monkeypatch.setattr(supervise, "_resident_answer", ask)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/home/a/project")
    assert supervise.main(["prompt"]) == 0
    assert passed == [["prompt", "--project", "/home/a/project"]]
