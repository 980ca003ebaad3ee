"""A conversation that is about to be shortened is kept, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.hooks import answers, background
from satchel.system import telemetry
from tests.hooks.conftest import Host
from tests.safety.test_sanitize_redact import TOKENS


def transcript(host: Host, text: str = "why is the order sent twice?") -> Path:
    """A transcript of Claude Code with one exchange."""
    lines = [
        {"type": "user", "uuid": "u1", "sessionId": "s", "cwd": str(host.root), "timestamp": "2026-11-20T10:00:00Z",
         "message": {"role": "user", "content": text}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s", "cwd": str(host.root),
         "timestamp": "2026-11-20T10:00:05Z",
         "message": {"role": "assistant", "content": [{"type": "text", "text": "Because send_order retries."}]}},
    ]  # fmt: skip
    path = host.root.parent / "transcript.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_conversation_is_remembered_behind_the_session_s_back_and_found_again(host: Host) -> None:
    secret = TOKENS["github-token"]
    path = transcript(host, f"why is the order sent twice with {secret}?")
    answer, output = host.told("claude-code/before-compaction", transcript_path=str(path))
    assert (answer.outcome, output) == (telemetry.SAVED, {})
    assert host.started == [["capture", "learn", str(host.root), str(path)]]
    for _ in range(2):
        assert background.run(host.started[0]) == 0
    with host.engine() as engine:
        assert len(engine.conversations.listed()) == 1
        text = engine.assemble("order sent twice", types=["conversations"], refresh=False).text
    assert "Because send_order retries" in text
    assert secret not in text


def test_a_compaction_told_twice_is_saved_once(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(transcript(host))
    host.tell("claude-code/before-compaction", transcript_path=path)
    assert host.tell("claude-code/before-compaction", transcript_path=path).outcome == telemetry.NOTHING
    assert len(host.started) == 1
    monkeypatch.setattr(answers, "DUPLICATE_SECONDS", 0.0)
    assert host.tell("claude-code/before-compaction", transcript_path=path).outcome == telemetry.SAVED


@pytest.mark.parametrize(
    ("capture", "event", "outcome"),
    [
        ("never", "before-compaction", "nothing"),
        ("compaction", "session-end", "nothing"),
        ("always", "session-end", "saved"),
    ],
)
def test_the_setting_says_when_a_conversation_is_kept(host: Host, capture: str, event: str, outcome: str) -> None:
    config = host.home / "config" / "satchel.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[hooks]\ncapture = "{capture}"\n[memory]\ncapture = "off"\n')
    assert host.tell(f"claude-code/{event}", transcript_path=str(transcript(host))).outcome == outcome
    assert host.tell(f"claude-code/{event}", transcript_path=str(transcript(host))).outcome == "nothing"


@pytest.mark.parametrize("name", ["codex", "cursor", "claude-code"])
def test_where_no_transcript_can_be_read_what_was_asked_is_kept_all_the_same(host: Host, name: str) -> None:
    assert host.tell(f"{name}/before-compaction").outcome == telemetry.SAVED
    assert host.started == []


def test_a_transcript_that_is_not_there_is_said_to_be_missing(host: Host) -> None:
    answer = host.tell("claude-code/before-compaction", transcript_path="/nonexistent/transcript.jsonl")
    assert "not there" in answer.reason


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_session_that_ends_leaves_candidates_to_review(host: Host, name: str) -> None:
    path = transcript(host, "From now on always use pnpm, never npm.")
    if name == "codex":
        said = [{"type": "input_text", "text": "From now on always use pnpm, never npm."}]
        rows: list[dict[str, object]] = [
            {"type": "session_meta", "payload": {"id": "s", "cwd": str(host.root)}},
            {"type": "response_item", "payload": {"type": "message", "role": "user", "content": said}},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = host.root.parent / (".codex/sessions" if name == "codex" else "projects")
    folder.mkdir(parents=True)
    path = path.rename(folder / "rollout.jsonl")
    answer = host.tell("claude-code/session-end", transcript_path=str(path))
    assert answer.reason == "what is worth remembering, to be reviewed"
    assert background.run(host.started[0]) == 0
    with host.engine() as engine:
        assert [one.text for one in engine.memory.review.waiting()] == ["Always use pnpm, never npm."]
        assert engine.conversations.listed() == []
        assert engine.memories.listed() == []
