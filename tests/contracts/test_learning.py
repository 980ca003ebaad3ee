"""What is remembered reaches the text: the real writer, store, search and assembler, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from satchel.types import Format, Kind
from satchel.vocabulary import Axis, Domain, MemoryCategory, RootCauseCategory, Strategy
from tests.e2e.sample import sample_repository
from tests.memory.samples import CONFIRMED, FALSIFIED, STARTED, calm_line
from tests.postgres import move_home


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Satchel]:
    """An engine over a small repository, with a memory file of its own."""
    move_home(monkeypatch, tmp_path / "home")
    with Satchel.open(sample_repository(tmp_path / "shop").root) as opened:
        yield opened


SIDES = {
    Axis.FULL: "trace every call of close",
    Axis.STRATEGY: "which strategy worked after one iteration",
    Axis.SURPRISE: "garbage collector finalised a forgotten handle",
    Axis.ROOT_CAUSE: "nobody knew that a finaliser closes as well",
}


@pytest.mark.parametrize("axis", Axis)
def test_an_experience_is_found_by_each_of_its_sides_and_shown_once(engine: Satchel, axis: Axis) -> None:
    engine.experiences.start(**STARTED)
    done = engine.experiences.resolve(**FALSIFIED)
    hits = engine.search(SIDES[axis], types=["experiences"])
    assert hits[0].chunk.id == f"experience:{done.id}::{axis}"
    context = engine.assemble(SIDES[axis], types=["experiences"], max_tokens=1000)
    assert context.text.count("**Experience** debugging | root-cause-analysis\n") == 1
    for part in ("goal", "hypothesis", "action", "prediction"):
        assert f"- **{part.capitalize()}**: {STARTED[part]}\n" in context.text
    assert f"- **Outcome**: falsified - {FALSIFIED['result']}\n" in context.text
    assert f"- **Surprise**: {FALSIFIED['surprise']}\n" in context.text
    assert f"- **Root cause**: wrong-assumption - {FALSIFIED['root_cause_description']}\n" in context.text
    assert f"- **Lesson**: {FALSIFIED['lesson']}\n- **Takeaway**: {FALSIFIED['takeaway']}\n" in context.text


def test_the_items_carry_the_metadata_of_their_kind(engine: Satchel) -> None:
    memory = engine.memories.add("The pool closes sessions after nine days", category="fact", importance=0.7).memory
    engine.experiences.start(**STARTED)
    done = engine.experiences.resolve(**CONFIRMED)
    context = engine.assemble("when does the pool close a session", types=["memories", "experiences"])
    metadata = {item.source: item.metadata for item in context.items}
    remembered: dict[str, Any] = {"id": memory.id, "category": "fact", "importance": 0.7}
    assert metadata["memory"].items() >= remembered.items()
    assert metadata["memory"]["created_at"].endswith("Z")
    lived: dict[str, Any] = {
        "id": done.id, "domain": "debugging", "strategy": "root-cause-analysis", "outcome_status": "confirmed",
        "confidence_tier": "silver", "iteration_count": 1,
    }  # fmt: skip
    assert metadata["experience"].items() >= lived.items()


@pytest.mark.parametrize("format_", Format)
def test_both_kinds_are_in_the_text_of_every_format(engine: Satchel, format_: Format) -> None:
    engine.memories.add("The pool closes sessions after nine days", category="decision", importance=0.7)
    engine.experiences.start(**STARTED)
    engine.experiences.resolve(**FALSIFIED)
    context = engine.assemble(
        "when does the pool close a session", types=["memories", "experiences"], format=format_.value
    )
    assert "The pool closes sessions after nine days" in context.text
    assert "Category: decision, Importance: 0.7" in context.text
    assert "Only one call came from the pool" in context.text
    assert context.sources_used == {"memories": 1, "experiences": 1}
    assert context.usage.used <= context.usage.limit


@pytest.mark.parametrize("category", MemoryCategory)
def test_a_memory_of_every_category_reaches_the_text(engine: Satchel, category: MemoryCategory) -> None:
    engine.memories.add("The heron server restarts at dawn", category=category)
    context = engine.assemble("when does heron restart", types=["memories"])
    assert f"**Memory** Category: {category}, Importance: 0.5, " in context.text


@pytest.mark.parametrize("number", range(9))
def test_an_experience_of_every_domain_strategy_and_root_cause_reaches_the_text(engine: Satchel, number: int) -> None:
    domain, strategy, cause = ([*kind][number] for kind in (Domain, Strategy, RootCauseCategory))
    engine.experiences.start(**(STARTED | {"domain": domain, "strategy": strategy}))
    engine.experiences.resolve(**(FALSIFIED | {"root_cause": cause}))
    context = engine.assemble("why is the session closed twice", types=["experiences"])
    assert f"**Experience** {domain} | {strategy}\n" in context.text
    assert f"- **Root cause**: {cause} - " in context.text


def test_an_imported_falsified_experience_without_reason_reaches_the_text(engine: Satchel) -> None:
    import json

    line = calm_line(surprise=None, root_cause=None, lesson=None)
    assert engine.import_memory([json.dumps(line).encode()], form="calm-ghap").added == 1
    context = engine.assemble("the fixture shares one database between workers", types=["experiences"])
    assert "\n- **Outcome**: falsified - Rows of another worker still showed up\n- **Goal**: " in context.text


def test_an_experience_longer_than_the_room_is_cut_and_says_so(engine: Satchel) -> None:
    long = "the pool closes the session " * 30
    engine.memories.add("The pool closes sessions after nine days")
    engine.experiences.start(**(STARTED | {"hypothesis": long, "action": long}))
    engine.experiences.resolve(**(CONFIRMED | {"result": long}))
    context = engine.assemble("when does the pool close a session", types=["memories", "experiences"], max_tokens=450)
    assert context.usage.used <= 450
    assert "**Experience** debugging | root-cause-analysis (window)\n" in context.text
    assert "**Memory**" in context.text


def test_what_was_forgotten_or_replaced_or_is_still_active_is_in_no_text(engine: Satchel) -> None:
    old = engine.memories.add("The pool closes sessions after nine days").memory
    new = engine.memories.supersede(old.id, "The pool closes sessions after ten days").memory
    engine.experiences.start(**STARTED)
    question = "when does the pool close a session"
    text = engine.assemble(question, types=["memories", "experiences"], min_score=0.0).text
    assert ("nine days" in text, "ten days" in text, "Experience" in text) == (False, True, False)
    engine.memories.forget([new.id])
    assert engine.assemble(question, types=["memories", "experiences"], min_score=0.0).text == ""


def test_the_memory_file_says_nothing_of_other_roots(engine: Satchel, tmp_path: Path) -> None:
    engine.memories.add("The heron server restarts at dawn")
    bank = TinyRepository(tmp_path / "bank")
    bank.commit("Open the bank", {"bank.py": "open = True\n"})  # with another first commit, by which a server knows it
    with Satchel.open(bank.root) as other:
        assert other.search("when does heron restart", types=["memories"]) == []
        assert other.memory_store.kinds().get(Kind.MEMORY) is None
        other.memories.add("The heron server is blue")
        assert [hit.chunk.title for hit in other.search("heron", types=["memories"])] == ["The heron server is blue"]
