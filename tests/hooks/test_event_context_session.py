"""What a session has had is remembered for it alone, whatever happens to the file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from satchel.hooks import event_context
from satchel.hooks.event_context import BusyError, SessionState, session_mark
from satchel.system.state_files import locked


@pytest.fixture
def state(tmp_path: Path) -> SessionState:
    """The state of one session."""
    return SessionState(tmp_path, "session")


def path_of(tmp_path: Path) -> Path:
    """Its file."""
    return tmp_path / "hooks" / "sessions" / f"{session_mark('session')}.json"


def test_something_is_claimed_once_by_each_session(state: SessionState, tmp_path: Path) -> None:
    assert state.claim("brief")
    assert not state.claim("brief")
    assert state.claim("other")
    assert SessionState(tmp_path, "another").claim("brief")
    state.forget("bri")
    assert state.claim("brief")
    assert not state.claim("other")


def test_a_claim_for_a_while_can_be_made_again_after_it(state: SessionState) -> None:
    assert state.claim("prompt", 60.0)
    assert not state.claim("prompt", 60.0)
    assert state.claim("prompt", 0.0)


def test_one_of_many_at_once_gets_a_claim(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = [*pool.map(lambda _: SessionState(tmp_path, "session").claim("failure:1"), range(16))]
    assert won.count(True) == 1


def test_only_the_newest_of_everything_is_kept(state: SessionState) -> None:
    for number in range(event_context.MAX_FILES + 3):
        state.note_files([f"{number}.py"])
        state.note_prompt(f"prompt {number}")
    for number in range(event_context.MAX_CLAIMS + 1):
        state.claim(f"claim {number}")
    state.note_files(["5.py"])
    kept = state.read()
    assert len(kept["files"]) == event_context.MAX_FILES
    assert kept["files"][-1] == "5.py"
    assert len(kept["prompts"]) == event_context.MAX_PROMPTS
    assert state.claim("claim 0")
    assert not state.claim(f"claim {event_context.MAX_CLAIMS}")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"claims": [], "prompts": 3, "files": [1]}', b"\xff", b"[" * 99])
def test_a_damaged_file_is_begun_anew(state: SessionState, tmp_path: Path, raw: bytes) -> None:
    state.note_prompt("before")
    path_of(tmp_path).write_bytes(raw)
    assert state.read() == {"claims": {}, "prompts": [], "files": [], "failure": ""}
    assert state.claim("brief")


def test_its_files_are_for_the_user_alone_and_do_not_tell_the_session(state: SessionState, tmp_path: Path) -> None:
    state.claim("brief")
    folder = path_of(tmp_path).parent
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    assert not [path for path in folder.iterdir() if "session" in path.name]


def test_a_session_that_is_held_too_long_is_busy(
    state: SessionState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_context, "LOCK_SECONDS", 0.02)
    state.claim("brief")
    with locked(path_of(tmp_path).with_suffix(".lock")), pytest.raises(BusyError):
        state.claim("other")
