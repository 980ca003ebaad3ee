"""Hosts tell the same things in their own words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from satchel.hooks import hosts
from satchel.hooks.edits import is_edit, is_look
from satchel.hooks.hosts import TEXT_CHARACTERS, Event, HookEvent, has_failed, output_of
from tests.hooks.recorded import RECORDED, event_word, recorded

ROOT = "/home/me/shop"


def read(name: str, **changed: Any) -> HookEvent:
    """A recorded event in our words."""
    kind = hosts.event_of(event_word(name))
    assert kind is not None
    return hosts.read(recorded(name, **changed), kind)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_event_says_which_host_session_and_folder_it_is_about(name: str) -> None:
    event = read(name)
    assert event.host == name.partition("/")[0]
    assert event.folder == ROOT
    assert event.session.startswith(("7b0f3c1e", "019a2b3c", "conv-91", "agent-4f"))
    assert event.kind == event_word(name)


@pytest.mark.parametrize("name", [name for name in RECORDED if "/prompt" in name])
def test_a_prompt_is_read_under_each_of_its_names(name: str) -> None:
    assert read(name).prompt.startswith("where are retries handled?")


@pytest.mark.parametrize(
    ("name", "command", "failed", "text"),
    [
        ("claude-code/after-command", "pytest -q | tail -3", None, "1 failed, 3 passed"),
        ("claude-code/after-failure", "cargo test", True, "borrow of moved value"),
        ("claude-code/after-command-renamed", "go test ./...", None, "--- FAIL: TestRetry"),
        ("codex/after-failure", "npm test", True, "1 failed, 5 passed"),
        ("cursor/after-shell", "make test", None, "Error 1"),
        ("cursor/after-failure", "pytest", True, "1 failed in 0.1s"),
        ("gemini/after-failure", "npm test", None, "1 failed, 5 passed"),
        ("copilot/after-command", "npm test", None, "1 failed, 5 passed"),
        ("qwen/after-failure", "npm test", True, "1 failed, 5 passed"),
    ],
)
def test_a_command_is_read_with_its_end_and_its_output(name: str, command: str, failed: bool | None, text: str) -> None:
    event = read(name)
    assert (event.command, event.failed) == (command, failed)
    assert text in event.output


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("claude-code/after-edit", (f"{ROOT}/src/shop/client.py",)),
        ("codex/after-patch", ("src/shop/client.py", "src/shop/new.py")),
        ("cursor/after-edit", (f"{ROOT}/src/shop/client.py",)),
        ("claude-code/before-tool", (f"{ROOT}/src/shop/client.py",)),
        ("codex/before-tool", ("src/shop/client.py", "src/shop/new.py")),
        ("gemini/after-edit", (f"{ROOT}/src/shop/client.py",)),
        ("copilot/before-tool", (f"{ROOT}/src/shop/client.py",)),
        ("vscode/before-tool", (f"{ROOT}/src/shop/client.py",)),
        ("vscode/before-tool-files", ("src/shop/client.py",)),
        ("qwen/after-edit", (f"{ROOT}/src/shop/client.py",)),
        ("droid/after-patch", ("src/shop/client.py",)),
    ],
)
def test_an_edit_names_its_files(name: str, files: tuple[str, ...]) -> None:
    event = read(name)
    assert event.files == files
    assert event.tool
    assert not event.command


def test_files_attached_to_a_prompt_are_known() -> None:
    assert read("cursor/prompt").attached == ("src/shop/client.py",)


@pytest.mark.parametrize("name", RECORDED)
def test_an_answer_has_the_shape_of_its_host_and_the_name_of_its_event(name: str) -> None:
    event = read(name)
    output = hosts.answer(event, "context" if event.injects else "", "")
    if not event.injects:
        assert output == {}
    elif event.host == "cursor":
        assert output == {"additional_context": "context"}
    else:
        named = recorded(name).get("hook_event_name") or recorded(name)["hookEventName"]
        plain = {"additionalContext": "context"} if event.host == "copilot" else {}
        assert output == {"hookSpecificOutput": {"hookEventName": named, "additionalContext": "context"}} | plain


def test_only_events_that_take_context_get_any() -> None:
    injecting = {name for name in RECORDED if read(name).injects}
    assert not {name for name in injecting if "compaction" in name or "session-end" in name}
    assert injecting.isdisjoint({"cursor/prompt", "cursor/before-tool", "gemini/before-tool", "copilot/prompt"})
    assert injecting.isdisjoint({"copilot/before-tool", "qwen/before-tool", "vscode/prompt"})
    assert {"vscode/before-tool", "copilot/after-look", "qwen/prompt", "droid/prompt", "droid/after-look"} <= injecting
    assert {"claude-code/before-tool", "codex/before-tool", "cursor/after-look", "gemini/after-look"} <= injecting
    assert {"claude-code/prompt", "codex/prompt", "codex/after-failure", "cursor/session-start"} <= injecting


def test_a_line_for_people_stands_beside_the_context_and_not_in_it() -> None:
    output = hosts.answer(read("claude-code/session-start"), "context", "satchel: 3 items")
    assert output["systemMessage"] == "satchel: 3 items"
    assert hosts.answer(read("cursor/session-start"), "", "satchel: 3 items") == {}


def test_an_edit_of_several_files_names_them_all() -> None:
    event = read("claude-code/before-tool", tool_name="editFiles", tool_input={"files": ["a.py", "b.py", "\0", 3]})
    assert event.files == ("a.py", "b.py")


def test_an_event_is_known_by_our_word_and_by_the_host_s() -> None:
    assert hosts.event_of("prompt") is hosts.event_of("UserPromptSubmit") is hosts.event_of("beforeSubmitPrompt")
    assert hosts.event_of("PreCompact") is Event.BEFORE_COMPACTION
    assert hosts.event_of("PreToolUse") is hosts.event_of("BeforeTool") is Event.BEFORE_TOOL
    assert hosts.event_of("nonsense") is None


@pytest.mark.parametrize("name", [name for name in RECORDED if "before-tool" in name or "after-edit" in name])
def test_an_edit_of_every_host_is_one_for_the_lessons(name: str) -> None:
    assert is_edit(read(name))


@pytest.mark.parametrize("name", [name for name in RECORDED if "after-look" in name])
def test_a_host_without_context_before_an_edit_shows_when_a_file_is_read(name: str) -> None:
    event = read(name)
    assert is_look(event)
    assert (event.injects, event.injects_before_edits) == (True, False)


def test_cursor_that_runs_a_hook_of_claude_code_is_answered_in_its_words() -> None:
    sent = recorded("claude-code/prompt") | {"conversation_id": "c", "cursor_version": "2.6.0"}
    assert hosts.read(sent, Event.PROMPT).host == "claude-code"


@pytest.mark.parametrize(
    ("response", "failed"),
    [
        ({"exit_code": 0}, False),
        ({"exitCode": 2}, True),
        ({"is_error": True}, True),
        ({"success": False}, True),
        ({"exit_code": True}, None),
        ("Process exited with code 3\nOutput: x", True),
        ("exit code 0", False),
        ("all fine", None),
        (None, None),
    ],
)
def test_how_a_tool_ended_is_read_where_it_is_said(response: object, failed: bool | None) -> None:
    assert has_failed(response) is failed


def test_an_output_is_the_text_of_its_streams_and_no_longer_than_anybody_reads() -> None:
    assert output_of({"stdout": "a", "stderr": "b"}) == "a\nb"
    assert output_of([{"type": "text", "text": "a"}, {"type": "image"}, 3]) == "a"
    assert output_of({"content": [{"text": "a"}]}) == "a"
    assert len(output_of("x" * (TEXT_CHARACTERS + 1))) == TEXT_CHARACTERS


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({key for name in RECORDED for key in recorded(name)})


@given(
    some.dictionaries(some.sampled_from(FIELDS) | some.text(), JSON, max_size=8),
    some.sampled_from(Event),
)
def test_whatever_is_sent_is_read_as_texts_and_answered_as_json(sent: dict[str, Any], kind: Event) -> None:
    event = hosts.read(sent, kind)
    for value in (event.session, event.folder, event.prompt, event.command, event.output):
        assert isinstance(value, str)
        assert len(value) <= 3 * TEXT_CHARACTERS
    assert all(isinstance(path, str) and "\0" not in path for path in event.files)
    json.dumps(hosts.answer(event, "context", "notice"))


@pytest.mark.parametrize("raw", [b"", b"[]", b"3", b"null", b"{", b"[" * 100_000, b"\xff", b'{"a": ' + b"9" * 5_000])
def test_what_is_no_object_is_read_as_an_empty_one(raw: bytes) -> None:
    assert hosts.parse(raw) == {}


def test_an_object_with_a_byte_order_mark_is_read() -> None:
    assert hosts.parse(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
