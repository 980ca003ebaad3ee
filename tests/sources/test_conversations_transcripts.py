from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.sources.conversations import COMPACTED, FAILURE_CHARACTERS, RESULT_CHARACTERS, Transcript, read_transcript

LINE_BYTES = 100_000


def line(kind: str, content: Any, **options: Any) -> dict[str, Any]:
    """A line as Claude Code writes it."""
    values = {"sessionId": "s1", "timestamp": "2026-05-01T10:30:00.250Z", "cwd": "/home/ada/shop", "gitBranch": "main"}
    return {"type": kind, "message": {"role": kind, "content": content}} | values | options


def call(identity: str, name: str, **given: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def result(identity: str, content: Any, *, failed: bool = False) -> dict[str, Any]:
    """A block with what a tool gave."""
    return {"type": "tool_result", "tool_use_id": identity, "content": content, "is_error": failed}


def said(text: str) -> dict[str, str]:
    """A block of text."""
    return {"type": "text", "text": text}


def read(*lines: Any, clean: Callable[[str], str] = str) -> Transcript:
    """What is read of these lines; bytes stand for themselves."""
    raw = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in lines]
    return read_transcript(raw, "file", clean=clean, line_bytes=LINE_BYTES)


def test_a_prompt_its_replies_and_its_tools_are_one_exchange() -> None:
    transcript = read(
        line("user", "Why is the build red?", uuid="u1"),
        line(
            "assistant", [{"type": "thinking", "thinking": "hm"}, said("Looking."), call("t1", "Bash", command="make")]
        ),
        line("user", [result("t1", [said("3 failed")], failed=True)], uuid="u2"),
        line("assistant", [said("A typo.")], uuid="a2"),
        line("user", [said("Thanks")], uuid="u3", timestamp="2026-05-01T10:31:00Z"),
    )
    first, second = transcript.exchanges
    assert (first.said, first.replies, first.branch) == ("Why is the build red?", ("Looking.", "A typo."), "main")
    assert [(action.tool, action.argument, action.result, action.failed) for action in first.actions] == [
        ("Bash", "make", "3 failed", True)
    ]
    assert second.said == "Thanks"
    assert first.key == "s1/20260501T103000.250-u1"


def test_lines_of_unknown_types_and_of_the_program_are_passed_over_and_counted() -> None:
    transcript = read(
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "summary", "summary": "Red build"},
        {"kind": "odd"},
        line("user", "Caveat: these lines are the program's", isMeta=True),
        line("user", "<system-reminder>be nice</system-reminder>"),
        line("user", [result("t9", "nobody called")]),
        line("user", [7, {"type": "unheard-of"}]),
        {"type": "user", "message": "no mapping"},
    )
    assert transcript.exchanges == ()
    assert transcript.passed_over == {
        "file-history-snapshot": 1,
        "meta": 1,
        "result without its call": 1,
        "summary": 1,
        "user": 1,
        "user without text": 2,
        "without type": 1,
    }


def test_broken_lines_are_named_by_number_and_the_rest_is_read() -> None:
    transcript = read(b"{half", b"[1]", b"  ", b"x" * (LINE_BYTES + 1), line("user", "Hello"))
    assert [(number, message.split(":")[0]) for number, message in transcript.broken] == [
        (1, "not JSON"),
        (2, "not a JSON object but list"),
        (4, "the line has 100,001 bytes"),
    ]
    assert [exchange.said for exchange in transcript.exchanges] == ["Hello"]


def test_lines_without_uuid_session_or_time_are_kept_in_their_order() -> None:
    bare = [{"type": "user", "message": {"content": text}} for text in ("zebra", "apple", "mango")]
    exchanges = read(*bare).exchanges
    assert [exchange.said for exchange in exchanges] == ["zebra", "apple", "mango"]
    assert {exchange.session for exchange in exchanges} == {"file"}
    assert [exchange.key for exchange in exchanges] == [exchange.key for exchange in read(*bare).exchanges]


def test_a_line_that_was_copied_counts_once() -> None:
    transcript = read(line("user", "Hello", uuid="u1"), line("user", "Hello", uuid="u1"))
    assert len(transcript.exchanges) == 1
    assert transcript.passed_over == {"repeated": 1}


@pytest.mark.parametrize("mark", [{"isCompactSummary": True}, {}], ids=["marked", "by its first sentence"])
def test_a_compaction_is_recognised(mark: dict[str, bool]) -> None:
    text = f"{COMPACTED} that ran out of context. The user wants green."
    (exchange,) = read(line("user", text, **mark)).exchanges
    assert exchange.compaction


def test_side_conversations_are_sessions_of_their_own() -> None:
    transcript = read(
        line("user", "Main prompt", uuid="m1"),
        line("user", "Side task", uuid="side-one-1", parentUuid=None, isSidechain=True),
        line("assistant", [said("Main reply")], uuid="m2"),
        line("assistant", [said("Side reply")], uuid="x2", parentUuid="side-one-1", isSidechain=True),
        line("user", "Other side", uuid="x9", isSidechain=True, agentId="agent7"),
    )
    assert {exchange.session: exchange.replies for exchange in transcript.exchanges} == {
        "s1": ("Main reply",),
        "s1/side-agent7": (),
        "s1/side-side-one": ("Side reply",),
    }
    assert [exchange.sidechain for exchange in transcript.exchanges] == [False, True, True]


def test_huge_results_are_cut_with_a_note_and_failures_keep_more() -> None:
    (exchange,) = read(
        line("user", "Run it"),
        line("assistant", [call("t1", "Bash", command="a"), call("t2", "Bash", command="b")]),
        line("user", [result("t1", "x" * 5_000), result("t2", "y" * 5_000, failed=True)]),
    ).exchanges
    given, failed = exchange.actions
    assert RESULT_CHARACTERS < len(given.result) < RESULT_CHARACTERS + 50
    assert FAILURE_CHARACTERS < len(failed.result) < FAILURE_CHARACTERS + 50
    assert "[... 4,700 characters left out ...]" in given.result


def test_a_text_is_cleaned_before_it_is_cut() -> None:
    secret = "k" * 200

    def clean(text: str) -> str:
        return text.replace(secret, "[gone]")

    (exchange,) = read(
        line("user", f"Use {secret}"),
        line("assistant", [said(f"I use {secret}"), call("t1", "Bash", command="a" * 90 + secret)]),
        line("user", [result("t1", "b" * 150 + secret + "c" * 500)]),
        clean=clean,
    ).exchanges
    assert "kk" not in repr(exchange)
    assert repr(exchange).count("[gone]") == 4


def test_an_interruption_belongs_to_what_was_interrupted() -> None:
    (exchange,) = read(line("user", "Go on"), line("user", [said("[Request interrupted by user]")])).exchanges
    assert exchange.replies == ("[Request interrupted by user]",)


def test_a_command_and_a_picture_are_named() -> None:
    command = "<command-message>x</command-message><command-name>/review</command-name><command-args>42</command-args>"
    exchanges = read(line("user", command), line("user", [said("See"), {"type": "image", "source": {}}])).exchanges
    assert [exchange.said for exchange in exchanges] == ["/review 42", "See\n[image]"]


def test_a_transcript_that_begins_with_a_reply_is_read() -> None:
    (exchange,) = read(line("assistant", [said("As I said"), call("t1", "Agent", a=1, b=[2])], uuid="a1")).exchanges
    assert (exchange.said, exchange.replies) == ("", ("As I said",))
    assert exchange.actions[0].argument == '{"a": 1, "b": [2]}'


def test_a_strange_session_name_cannot_leave_its_place_in_the_key() -> None:
    (exchange,) = read(line("user", "Hi", sessionId="../a b/c", timestamp="long ago")).exchanges
    assert exchange.session == ".._a_b_c"
    assert exchange.time == 0


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "text", "content", "message", "id", "name", "input", "tool_use_id", "uuid", "isSidechain", "timestamp"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), _JSON, _JSON), max_size=6))
def test_no_line_whatever_it_holds_stops_the_reading(rows: list[tuple[str, Any, Any]]) -> None:
    read(
        *(
            {"type": kind, "message": {"content": content}, "uuid": extra, "timestamp": extra}
            for kind, content, extra in rows
        )
    )
    read(*({"type": kind, "message": content} for kind, content, _ in rows))


def rollout(kind: str, **payload: Any) -> dict[str, Any]:
    """A line as Codex writes it."""
    return {"type": "response_item", "timestamp": "2026-05-01T10:30:00Z", "payload": {"type": kind, **payload}}


def test_a_rollout_of_codex_is_read_as_a_transcript() -> None:
    about = {"id": "c1", "cwd": "/home/ada/shop", "git": {"branch": "main"}}
    context = [{"type": "input_text", "text": "<environment_context>zsh</environment_context>"}]
    shell = json.dumps({"command": ["bash", "-lc", "pytest -q"]})
    transcript = read(
        {"type": "session_meta", "payload": about},
        rollout("message", role="user", content=context),
        rollout("message", role="user", content=[{"type": "input_text", "text": "Fix the cart."}]),
        rollout("reasoning", summary=[]),
        rollout("function_call", name="shell", arguments=shell, call_id="t1"),
        rollout(
            "function_call_output",
            call_id="t1",
            output=json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}}),
        ),
        rollout("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="t2"),
        rollout("custom_tool_call_output", call_id="t2", output="Exit code: 0\nOutput:\nSuccess"),
        rollout("local_shell_call", action={"command": ["pytest", "-q"]}, call_id="t3"),
        rollout("function_call_output", call_id="t3", output="Exit code: 2\nOutput:\nno"),
        rollout("message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
        {"type": "event_msg", "payload": {"type": "token_count"}},
    )
    (exchange,) = transcript.exchanges
    assert (exchange.session, exchange.folder, exchange.branch) == ("c1", "/home/ada/shop", "main")
    assert (exchange.said, exchange.replies) == ("Fix the cart.", ("Done.",))
    assert [(one.tool, one.argument, one.failed) for one in exchange.actions] == [
        ("shell", "pytest -q", True),
        ("apply_patch", "*** Begin Patch", False),
        ("shell", "pytest -q", True),
    ]
    assert transcript.broken == ()
