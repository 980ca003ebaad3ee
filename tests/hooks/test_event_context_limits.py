"""What is written has at most 9,000 characters, whatever is found."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from satchel.hooks import answers, event_context
from satchel.hooks.event_context import MAX_CHARACTERS, Answer, AnsweringProcess, EventContext, written
from satchel.hooks.hosts import Event, HookEvent
from tests.hooks.conftest import Host

TEXTS = some.text(alphabet=some.sampled_from('a \n"\\\x01é😀`-'), max_size=60)


class FakePacker:
    """Packs a text of so many characters a token, as engines do whose tokens are long."""

    def __init__(self, unit: str, times: int) -> None:
        self.unit, self.times = unit or "x", times
        self.asked: list[int] = []

    def __call__(self, tokens: int) -> Answer:
        self.asked.append(tokens)
        return Answer("injected", "", self.unit * (tokens * self.times // len(self.unit)), "a line for people")


@given(TEXTS, some.integers(0, 400), some.integers(1, 4_000), some.sampled_from(["claude-code", "codex", "cursor"]))
def test_an_answer_is_packed_smaller_until_it_fits(unit: str, times: int, tokens: int, host: str) -> None:
    event = HookEvent(Event.SESSION_START, host, "SessionStart", injects=True)
    hook = EventContext.__new__(EventContext)
    hook.event, hook._process = event, AnsweringProcess()
    packer = FakePacker(unit, times)
    answer = hook.packed(packer, tokens)
    text = written(event, answer)
    assert len(text) <= MAX_CHARACTERS
    assert packer.asked == sorted(packer.asked, reverse=True)
    if text:
        assert isinstance(json.loads(text), dict)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(some.text(max_size=400), min_size=1, max_size=3), some.integers(0, 60_000))
def test_a_session_of_any_prompts_and_outputs_stays_within_the_limit(host: Host, message: list[str], size: int) -> None:
    for number, text in enumerate(message):
        prompt = f"why does send_order fail? {text * (size // max(len(text), 1) // 12)} {number}"
        for name, field in (("claude-code/prompt", "prompt"), ("claude-code/after-failure", "error")):
            output = host.told(name, **{field: prompt})[1]
            assert len(json.dumps(output, ensure_ascii=False)) <= MAX_CHARACTERS
    output = host.told("claude-code/session-start", source="compact", session_id=f"{message[0]}{size}")[1]
    assert len(json.dumps(output, ensure_ascii=False)) <= MAX_CHARACTERS


def test_what_did_not_fit_does_not_count_as_sent(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    config = host.home / "config" / "satchel.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[hooks]\nmin_relevance = 0.0\n")
    monkeypatch.setattr(answers, "PROMPT_TOKENS", 100_000)
    question = "where is an order sent again when the connection drops?"
    whole = host.ask(question, session_id="another")
    with monkeypatch.context() as smaller:
        smaller.setattr(event_context, "MAX_CHARACTERS", 700)
        smaller.setattr(event_context, "SHRINK", 0.002)
        answer, output = host.told("claude-code/prompt", prompt=question)
    assert answer.tokens <= 200
    assert len(json.dumps(output, ensure_ascii=False)) <= 700
    rest = host.ask(f"{question} all of it")
    assert "- docs/guide.md:" in whole
    assert "- docs/guide.md:" not in json.dumps(output)
    assert "- docs/guide.md:" in rest
