"""What a transcript suggests waits for a decision, and counts only when it is accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.memory.review import EXPERIENCE, Suggestion
from satchel.operations.operation import Answered
from satchel.operations.registry import OPERATIONS
from satchel.sources.conversations import Exchange
from satchel.testing import TinyRepository
from tests.guidance.judge_server import JudgeServer, judge_server
from tests.memory.test_review_candidates import EDITED, FAILED, PASSED, said
from tests.postgres import environment, server_url

RULE = "Always use pnpm, never npm."
FACT = "The billing service listens on port 9411."


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Begin", {"README.md": "# Shop\n"})
    return made


def opened(repository: TinyRepository, home: Path, **settings: Any) -> Satchel:
    return Satchel.open(repository.root, environ=environment(home), settings=settings)


@pytest.fixture(params=["file", "server"])
def engine(request: pytest.FixtureRequest, repository: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    """A root whose memory is in a file, or on a server."""
    server = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path)} if request.param == "server" else {}
    with Satchel.open(repository.root, environ=environment(tmp_path / "home", **server)) as satchel:
        yield satchel


def review(engine: Satchel, **arguments: Any) -> Answered:
    return OPERATIONS["remember"].run(engine, {"action": "review", **arguments})


def conversation(*texts: str) -> list[Exchange]:
    return [Exchange("s1", f"{number:08d}", 1_750_000_000.0 + number, text) for number, text in enumerate(texts)]


def waiting(engine: Satchel) -> list[str]:
    return sorted(one.text for one in engine.memory.review.waiting())


def test_nothing_counts_before_it_is_accepted(engine: Satchel) -> None:
    assert engine.memory.learn(conversation(RULE, FACT)) == (2, [])
    assert waiting(engine) == [RULE, FACT]
    assert engine.memories.listed() == []
    assert engine.memories.search("pnpm") == []
    listed = review(engine)
    assert listed.text.count("\n") == 1
    chosen = {row["text"]: row["id"] for row in listed.envelope["candidates"]}
    accepted = review(engine, verdict="accept", ids=[chosen[RULE]])
    assert accepted.notes == ("remembered 1",)
    (memory,) = engine.memories.listed()
    assert (memory.content, memory.category, memory.provenance) == (RULE, "preference", "agent")
    assert memory.origin == "transcript s1"
    said_at = {RULE: 1_750_000_000.0, FACT: 1_750_000_001.0}
    assert memory.created == said_at[RULE], "it is as old as the conversation"
    assert waiting(engine) == [FACT]
    assert review(engine, verdict="reject", ids=[chosen[FACT]]).notes == ("rejected 1",)
    assert review(engine).notes == ("no candidate waits: they come from conversations that end",)
    assert engine.memory.learn(conversation(RULE, FACT)) == (0, []), "what was decided is not proposed again"
    assert FACT not in "".join(engine.memory_store.metas("candidate:").values())


def test_a_candidate_is_corrected_while_it_is_accepted(engine: Satchel) -> None:
    engine.memory.learn(conversation(RULE, FACT))
    ids = [one.id for one in engine.memory.review.waiting()]
    with pytest.raises(UsageError, match="accept that one by itself"):
        review(engine, verdict="accept", ids=ids, text="Both")
    rule = next(one.id for one in engine.memory.review.waiting() if one.text == RULE)
    review(engine, verdict="accept", ids=[rule], text="Use pnpm 9", category="decision")
    assert [(one.content, one.category) for one in engine.memories.listed()] == [("Use pnpm 9", "decision")]
    engine.memory.learn(conversation(RULE))
    assert waiting(engine) == [FACT]


def test_what_is_remembered_or_waits_already_is_not_proposed(engine: Satchel) -> None:
    engine.memories.add("always use pnpm, never npm")
    assert engine.memory.learn(conversation(RULE, FACT, FACT, "By the way, " + FACT[0].lower() + FACT[1:]))[0] == 1
    assert waiting(engine) == [FACT]


def test_an_experience_is_stored_as_a_finished_one(engine: Satchel) -> None:
    story = [said("Fix the cart.", FAILED, EDITED, PASSED, reply="The total is rounded once, at the end.")]
    assert engine.memory.learn(story)[0] == 1
    (one,) = engine.memory.review.waiting()
    assert one.kind == EXPERIENCE
    with pytest.raises(UsageError, match="change a single memory"):
        engine.memory.review.accept([one.id], text="Another")
    engine.memory.review.accept([one.id])
    (experience,) = engine.experiences.listed()
    assert (experience.status, experience.goal, experience.session_id) == ("confirmed", "Fix the cart.", "s")
    assert experience.created == story[0].time
    assert engine.memory.learn(story)[0] == 0
    assert "The total is rounded once" in engine.brief("E assert 19 == 20\ntests/cart failed").text
    found = engine.assemble("cart total rounded", types=["experiences"], refresh=False)
    assert "The total is rounded once" in found.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": ["cand_1"]}, "ids needs a verdict: accept or reject"),
        ({"verdict": "accept"}, "give the ids of candidates"),
        ({"verdict": "accept", "ids": ["cand_1"]}, "no candidate 'cand_1' waits here"),
        ({"question": "pnpm"}, "question does not apply to review"),
    ],
)
def test_what_a_review_cannot_do_is_said(engine: Satchel, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        review(engine, **arguments)


def test_an_unknown_id_among_others_changes_nothing(engine: Satchel) -> None:
    engine.memory.learn(conversation(RULE))
    (one,) = engine.memory.review.waiting()
    with pytest.raises(UsageError, match="'cand_2' waits here"):
        engine.memory.review.accept([one.id, "cand_2"])
    assert waiting(engine) == [RULE]


def test_secrets_are_removed_from_candidates(engine: Satchel) -> None:
    secret = "".join(("Tr0ub", "4dor", "&3x"))
    engine.memory.review.propose([Suggestion("fact", f"The build password is {secret}", f"password: {secret}", "s/1")])
    assert secret not in "".join(engine.memory_store.metas("candidate:").values())


@pytest.mark.parametrize(("capture", "stored", "waits"), [("off", 0, 0), ("suggest", 0, 1), ("accept", 1, 0)])
def test_the_setting_says_what_becomes_of_candidates(
    repository: TinyRepository, tmp_path: Path, capture: str, stored: int, waits: int
) -> None:
    with opened(repository, tmp_path, **{"memory.capture": capture}) as engine:
        engine.memory.learn(conversation(RULE))
        assert (len(engine.memories.listed()), len(engine.memory.review.waiting())) == (stored, waits)


def answering(*rows: dict[str, Any]) -> str:
    return "Here is it:\n```json\n" + json.dumps({"candidates": rows}) + "\n```"


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as fake:
        yield fake


def by_model(repository: TinyRepository, home: Path, server: JudgeServer, texts: Sequence[str]) -> tuple[Any, Any]:
    with opened(repository, home, **{"memory.endpoint": server.url, "memory.model": "tiny"}) as engine:
        _, failures = engine.memory.learn(conversation(*texts))
        return [(one.kind, one.text) for one in engine.memory.review.waiting()], failures


def test_a_model_is_asked_once_for_a_session_and_every_candidate_needs_its_quote(
    server: JudgeServer, repository: TinyRepository, tmp_path: Path
) -> None:
    right = {"kind": "decision", "text": "Orders go through NATS.", "exchange": 2, "quote": "take NATS  for orders"}
    server.answer = lambda _: answering(
        right,
        {**right, "text": "Nobody said this.", "quote": "take Kafka for orders"},
        {**right, "text": "Of another exchange.", "exchange": 1},
        {**right, "text": "Of no exchange.", "exchange": 9},
        {**right, "text": "Of an unknown kind.", "kind": "rumour"},
        {"kind": "fact"},
    )
    rows, failures = by_model(repository, tmp_path, server, ["Hello there", "Hm, then we take NATS for orders."])
    assert (rows, failures) == ([("decision", "Orders go through NATS.")], [])
    (request,) = server.requests
    assert "we take NATS for orders" in request["messages"][1]["content"]


def test_rules_propose_where_the_model_fails(server: JudgeServer, repository: TinyRepository, tmp_path: Path) -> None:
    server.answer = lambda _: "I found nothing."
    rows, failures = by_model(repository, tmp_path, server, [RULE])
    assert rows == [("preference", RULE)]
    assert [(one.source, one.hint) for one in failures] == [("memory", "rules alone proposed memories")]
    with opened(repository, tmp_path / "b", **{"memory.endpoint": server.url}) as engine:
        assert "memory.model is not set" in engine.memory.learn(conversation(RULE))[1][0].message
