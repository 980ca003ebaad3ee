"""Memories and experiences through operations: stored, changed, listed and forgotten."""

from __future__ import annotations

import pytest

from satchel.errors import UsageError
from tests.operations.conftest import Ask
from tests.operations.test_ask_unasked import FAILED, fail_once


def test_a_memory_is_stored_listed_and_found(ask: Ask) -> None:
    kept = ask("remember", action="store", text="Prices are never rounded", category="decision", tags=["prices"])
    assert kept.envelope["memory"]["provenance"] == "agent"
    assert kept.text == kept.envelope["memory"]["id"]
    assert ask("remember", action="list").envelope["memories"] == [kept.envelope["memory"]]
    assert ask("memories", question="prices").envelope["memories"][0]["id"] == kept.text
    assert ask("memories", category="fact").notes == ("nothing that is remembered here matches",)


def test_what_says_nearly_the_same_is_pointed_out(ask: Ask) -> None:
    ask("remember", action="store", text="Prices are never rounded in this shop")
    again = ask("remember", action="store", text="Prices are never rounded in this shop.")
    assert "says nearly the same" in again.notes[0]
    assert again.envelope["similar"][0]["score"] > 0.9


def test_filters_of_a_list_go_together(ask: Ask) -> None:
    ask("remember", action="store", text="One thing", tags=["a", "b"], importance=0.9)
    ask("remember", action="store", text="Another matter", tags=["a"], importance=0.2)
    assert len(ask("memories", tags=["a"]).envelope["memories"]) == 2
    assert len(ask("memories", tags=["a", "b"]).envelope["memories"]) == 1
    assert len(ask("memories", min_importance=0.5).envelope["memories"]) == 1
    assert ask("memories", until=1).envelope["memories"] == []
    assert len(ask("memories", limit=1).envelope["memories"]) == 1
    with pytest.raises(UsageError, match="limit is 0"):
        ask("memories", limit=0)
    assert ask("memories", question="thing", origin="x").envelope["memories"] == []
    with pytest.raises(UsageError, match="superseded does not apply to a question"):
        ask("memories", question="thing", superseded=True)


def test_a_memory_that_is_no_longer_true_is_replaced(ask: Ask) -> None:
    old = ask("remember", action="store", text="Prices are rounded").text
    new = ask("remember", action="store", text="Prices are never rounded", supersedes=old)
    assert new.envelope["memory"]["supersedes"] == old
    with pytest.raises(UsageError, match="tags stays as it was"):
        ask("remember", action="store", text="x", supersedes=new.text, tags=["a"])


def test_ids_are_forgotten_at_once_and_what_matches_after_a_preview(ask: Ask) -> None:
    one = ask("remember", action="store", text="Prices are never rounded", origin="notes").text
    two = ask("remember", action="store", text="Orders are sent again").text
    preview = ask("remember", action="forget", question="prices")
    assert preview.envelope["forgotten"] is False
    assert "confirm true forgets these 1" in preview.notes[0]
    assert ask("remember", action="forget", origin="notes", confirm=True).envelope["memories"][0]["id"] == one
    assert ask("remember", action="forget", ids=[two]).envelope["forgotten"] is True
    assert ask("memories").envelope["memories"] == []


def test_conversations_of_an_origin_are_forgotten_with_it(ask: Ask, engine: object) -> None:
    from satchel.engine import Satchel
    from satchel.sources.conversations import Exchange

    assert isinstance(engine, Satchel)
    engine.memory.remember_exchanges([Exchange("s", "1", 1.0, "How are orders sent?", ("Twice.",))], origin="chat")
    gone = ask("remember", action="forget", origin="chat", confirm=True)
    assert len(gone.envelope["conversations"]) == 1
    assert engine.conversations.listed(origin="chat") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "keep"}, "unknown action 'keep': choose from store, share, pin, unpin, restore, forget, list"),
        ({"action": "store"}, "there is nothing to store: give text"),
        (
            {"action": "store", "text": "x", "ids": ["m"]},
            "ids does not apply to store, only to share and",
        ),
        ({"action": "forget"}, "give what to forget: ids, origin or question, one of them"),
        ({"action": "forget", "ids": ["mem_1"]}, "there is no memory 'mem_1'"),
        ({"action": "store", "text": "x", "category": "fat"}, "unknown category 'fat' (did you mean fact?)"),
    ],
)
def test_what_cannot_be_remembered_is_refused(ask: Ask, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        ask("remember", **arguments)
    assert said in str(refused.value)


def test_an_experience_is_started_updated_noted_and_resolved(ask: Ask) -> None:
    assert ask("experience", action="start", **FAILED).text.endswith("active")
    assert ask("experience", action="update", hypothesis="There are two locks in client.py").envelope["history"]
    assert ask("experience", action="note", note="Seen at night").envelope["notes"] == ["Seen at night"]
    assert "Seen at night" in ask("experience", action="show").text
    done = ask("experience", action="resolve", status="confirmed", result="No order is sent twice")
    assert ask("experience", action="list").envelope["experiences"] == [done.envelope]
    assert ask("experience", action="show", id=done.envelope["id"]).envelope["status"] == "confirmed"


def test_a_cause_is_added_to_an_ended_experience_and_it_is_corrected(ask: Ask) -> None:
    done = fail_once(ask)
    cause = {"root_cause": "timing-issue", "root_cause_description": "The clock was frozen"}
    added = ask("experience", action="correct", id=done, **cause, lesson="Thaw the clock", note="Seen twice")
    assert added.envelope["root_cause"] == {"category": "timing-issue", "description": "The clock was frozen"}
    assert added.envelope["notes"] == ["Seen twice"]
    assert added.envelope["goal"] == FAILED["goal"]
    assert done in ask("search", query="frozen clock", types=["experiences"]).text
    wrong = ask("experience", action="correct", id=done, status="confirmed", domain="security", goal="Another goal")
    assert (wrong.envelope["status"], wrong.envelope["domain"]) == ("confirmed", "security")
    assert wrong.envelope["root_cause"] == added.envelope["root_cause"]
    assert len(ask("experience", action="list").envelope["experiences"]) == 1
    with pytest.raises(UsageError, match="nothing cannot be corrected"):
        ask("experience", action="correct", id=done)
    with pytest.raises(UsageError, match="unknown root cause 'bad luck'"):
        ask("experience", action="correct", id=done, root_cause="bad luck")


def test_an_active_experience_is_updated_and_not_corrected(ask: Ask) -> None:
    active = ask("experience", action="start", **FAILED).envelope["id"]
    with pytest.raises(UsageError, match="is active: `update` changes it"):
        ask("experience", action="correct", id=active, surprise="none")


def test_experiences_are_forgotten_with_memories_by_id(ask: Ask) -> None:
    done, active = fail_once(ask), ask("experience", action="start", **FAILED).envelope["id"]
    memory = ask("remember", action="store", text="Prices are never rounded").text
    with pytest.raises(UsageError, match="there is no experience 'ghap_1'"):
        ask("remember", action="forget", ids=[done, "ghap_1"])
    gone = ask("remember", action="forget", ids=[done, active, memory])
    assert [one["id"] for one in gone.envelope["experiences"]] == [done, active]
    assert ask("experiences").envelope["experiences"] == []
    assert ask("memories").envelope["memories"] == []


def test_what_was_begun_in_another_session_is_pointed_out(ask: Ask) -> None:
    ask("experience", action="start", session="yesterday", **FAILED)
    assert "of session 'yesterday' is still active" in ask("experience", action="start", **FAILED).notes[0]
    assert ask("experiences", session="yesterday").envelope["orphans"]


def test_an_empty_list_of_experiences_says_so(ask: Ask) -> None:
    assert ask("experiences", domain="security").notes == ("no experience of this kind is recorded here",)
    fail_once(ask)
    assert ask("experiences", outcome="falsified", tier="silver", limit=5).text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "begin"}, "unknown action 'begin'"),
        ({"action": "start", "domain": "testing"}, "start needs strategy, goal, hypothesis, action_taken, prediction"),
        ({"action": "note"}, "note needs note"),
        ({"action": "resolve", "status": "confirmed"}, "resolve needs result"),
        ({"action": "list", "goal": "x"}, "goal does not apply to list, only to start"),
        ({"action": "show"}, "has no active experience"),
    ],
)
def test_what_an_experience_lacks_is_named(ask: Ask, arguments: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        ask("experience", **arguments)
    assert said in str(refused.value)


def test_a_list_says_that_it_stops(ask: Ask) -> None:
    for number in range(3):
        ask("remember", action="store", text=f"Order number {number} was late", category="event")
        fail_once(ask)
    assert ask("experience", action="list", limit=2).notes == ("2 of 3 are listed: limit 3 lists all",)
    assert ask("memories", limit=2).notes == ("2 of 3 are listed: limit 3 lists all",)
    assert ask("memories", limit=3).notes == ask("experiences", limit=3).notes == ()


def test_records_are_bound_to_files(ask: Ask) -> None:
    kept = ask("remember", action="store", text="Prices are never rounded", files=["shop/{a,b}.py"])
    assert kept.envelope["memory"]["files"] == ["shop/{a,b}.py"]
    started = {"domain": "debugging", "strategy": "ask-user", "goal": "G", "hypothesis": "H", "prediction": "P"}
    begun = ask("experience", action="start", action_taken="A", files=["shop/pool.py"], **started)
    assert begun.envelope["files"] == ["shop/pool.py"]
    done = ask("experience", action="resolve", status="confirmed", result="R", files=["tests/"])
    assert done.envelope["files"] == ["shop/pool.py", "tests/"]
    with pytest.raises(UsageError, match="files stays as it was"):
        ask("remember", action="store", text="Prices are rounded", supersedes=kept.text, files=["shop/"])
    with pytest.raises(UsageError, match="files does not apply to list"):
        ask("remember", action="list", files=["shop/"])
