"""What was said reaches the text: transcript, real writer, store, search and assembler, in every format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.sources.conversations import Exchange
from satchel.types import Format, Kind
from tests.e2e.sample import sample_repository
from tests.postgres import move_home
from tests.sources.test_conversations_transcripts import call, line, result, said

ANSWER = "The pool closes them after nine minutes, see IDLE_MINUTES."


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Satchel]:
    """An engine over a small repository that has two exchanges of a transcript."""
    move_home(monkeypatch, tmp_path / "home")
    rows = [
        line("user", "Why are idle sessions closed?", uuid="u1"),
        line("assistant", [said(ANSWER), call("t1", "Grep", pattern="IDLE_MINUTES")]),
        line("user", [result("t1", "pool.py:12")]),
        line("user", "Write a haiku about rain", uuid="u2", timestamp="2026-05-02T08:00:00Z"),
    ]
    with Satchel.open(sample_repository(tmp_path / "shop").root) as opened:
        report = opened.import_memory([json.dumps(row).encode() for row in rows], form="claude-code")
        assert report.added == 2
        yield opened


@pytest.mark.parametrize("form", Format)
def test_an_exchange_is_shown_in_every_format(engine: Satchel, form: Format) -> None:
    context = engine.assemble("idle sessions closed", types=["conversations"], format=form.value, max_tokens=1000)
    assert "after nine minutes" in context.text
    assert "haiku" not in context.items[0].pieces[0].text
    assert [item.source for item in context.items] == [Kind.CONVERSATION]
    assert context.items[0].metadata["tools"] == {"Grep": 1}


def test_an_exchange_is_titled_by_its_day(engine: Satchel) -> None:
    text = engine.assemble("idle sessions closed", types=["conversations"]).text
    assert "**Conversation** on 2026-05-01 on branch main\n" in text
    assert "- Grep IDLE_MINUTES\n  gave: pool.py:12" in text


def test_a_day_is_found_by_its_name(engine: Satchel) -> None:
    hits = engine.search("what did we write on 2 May", types=["conversations"])
    assert hits[0].chunk.title == "Write a haiku about rain"


def test_filters_reach_the_search_and_the_context(engine: Satchel) -> None:
    first = engine.search("idle sessions haiku", types=["conversations"], filters={"until": 1_777_670_000.0})
    assert [hit.chunk.title for hit in first] == ["Why are idle sessions closed?"]
    context = engine.assemble("idle sessions haiku", types=["conversations"], filters={"since": 1_777_670_000.0})
    assert "haiku" in context.text
    assert "nine minutes" not in context.text
    with pytest.raises(UsageError, match="unknown filter 'sinse'"):
        engine.assemble("idle", filters={"sinse": 1.0})


def test_turns_of_people_are_remembered_from_python(engine: Satchel) -> None:
    turns = [Exchange("talk", str(place), 1_700_000_000.0 + place, text, speaker=name) for place, (name, text) in
             enumerate([("Ada", "Where is the parrot?"), ("Bob", "On the roof of the barn.")])]  # fmt: skip
    assert engine.memory.remember_exchanges(turns, origin="talk").added == 2
    hits = engine.search("parrot", types=["conversations"])
    assert {hit.chunk.fields["speaker"] for hit in hits} == {"Ada", "Bob"}


def test_a_folder_of_transcripts_is_imported_for_this_root(engine: Satchel, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    row = line("user", "Rename the cart", uuid="u9", sessionId="s9", cwd=str(engine.places.root))
    (tmp_path / "logs" / "s9.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert engine.memory.import_transcripts([tmp_path / "logs"]).added == 1


def test_the_time_of_the_request_is_what_recency_is_measured_from(engine: Satchel) -> None:
    thirty_days_later = 1_777_593_600.0 + 30 * 86_400
    (hit, *_) = engine.search("idle sessions closed", types=["conversations"], now=thirty_days_later)
    values = {signal.name: signal.value for signal in hit.signals}
    assert 0.5 <= values["recency"] < 0.52
