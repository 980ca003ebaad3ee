"""What contradicts an older statement, and how it is placed before it."""

from __future__ import annotations

from pathlib import Path

import pytest
from contradictions import SUCCESSORS, measure, measure_memory, pairs  # benchmarks/ is on the path

from satchel import Satchel
from satchel.errors import UsageError
from satchel.search.contradictions import contradicts, differs_in_fact, is_binding
from satchel.testing import TinyRepository
from tests.postgres import environment


@pytest.mark.parametrize(("mark", "older", "newer"), pairs(), ids=[f"{mark} {new}" for mark, _, new in pairs()])
def test_another_value_or_a_negation_contradicts_and_nothing_else(mark: str, older: str, newer: str) -> None:
    assert contradicts(older, newer) is (mark == "x")


@pytest.mark.parametrize(("mark", "older", "newer"), pairs(SUCCESSORS), ids=[new for _, _, new in pairs(SUCCESSORS)])
def test_successors_are_told_and_what_can_be_true_beside_an_older_fact_is_not(
    mark: str, older: str, newer: str
) -> None:
    assert contradicts(older, newer) is (mark != "-")
    assert is_binding("fact", older) or mark != "!"


@pytest.mark.parametrize("text", ["", "word " * 100])
def test_an_empty_text_and_a_long_one_contradict_nothing(text: str) -> None:
    assert not contradicts(text, f"{text} 2")


def test_the_stored_pairs_are_told_apart_in_one_memory(tmp_path: Path) -> None:
    assert measure()["precision"] == 1.0
    assert measure_memory(tmp_path)["recall"] >= 0.9


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Begin", {"README.md": "# Shop\n"})
    return made


def test_the_newer_fact_comes_first_and_the_older_is_marked(repository: TinyRepository, tmp_path: Path) -> None:
    with Satchel.open(repository.root, environ=environment(tmp_path / "home")) as engine:
        old = engine.memories.add("The upload quota is 5 GB", since="2024-01-01").memory
        stored = engine.memories.add("The upload quota is 50 GB")
        assert stored.contradicts == (old,)
        assert stored.similar == ()
        text = engine.assemble("what is the upload quota", refresh=False).text
        assert text.index("is 50 GB") < text.index("is 5 GB")
        assert f"2024-01-01, newer: {stored.memory.id}" in text
        first, second = engine.memories.search("upload quota")
        assert (first.memory.id, second.memory.id) == (stored.memory.id, old.id)
        assert first.score > second.score


def test_a_prohibition_or_a_decision_stays_before_a_plain_later_fact(
    repository: TinyRepository, tmp_path: Path
) -> None:
    with Satchel.open(repository.root, environ=environment(tmp_path / "home")) as engine:
        never = engine.memories.add("Never deploy on Friday", importance=0.9).memory
        plain = engine.memories.add("Deploy on Friday").memory
        first, second = engine.memories.search("may I deploy on friday")
        assert (first.memory.id, second.memory.id) == (never.id, plain.id)
        assert (first.newer, second.against) == ("", never.id)
        assert f"against the older {never.id}" in engine.assemble("deploy on friday", refresh=False).text
        assert not [row for row in engine.memories.untidy({}) if row.memory.id == never.id]
        lifted = engine.memories.add("Deploy on Friday is allowed", category="decision").memory
        found = {one.memory.id: one for one in engine.memories.search("may I deploy on friday")}
        assert found[never.id].newer == lifted.id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys need Ann's approval on Mondays", "Deploys need Ben's approval on Mondays"),
        ("Keep 30 backups of the shop database", "Keep 40 backups of the shop database"),
        ("The importer reads the price list twice", "The importer never reads the price list twice"),
    ],
)
def test_what_differs_in_a_name_a_number_or_a_negation_repeats_nothing(one: str, other: str) -> None:
    assert differs_in_fact(one, other)
    assert not differs_in_fact(one, f"{one}, really")


def test_a_fact_is_asked_for_as_it_was(repository: TinyRepository, tmp_path: Path) -> None:
    with Satchel.open(repository.root, environ=environment(tmp_path / "home")) as engine:
        old = engine.memories.add("The upload quota is 5 GB", since="2024-01-01").memory
        new = engine.memories.add("The upload quota is 50 GB", since="2025-01-01").memory
        sale = engine.memories.add("The sale is on", since="2025-06-01", until="2025-07-01").memory
        linked = engine.memories.supersede(old.id, new.id).memory
        assert (linked.id, linked.supersedes, engine.memories.get(old.id).superseded_by) == (new.id, old.id, new.id)
        then = {
            moment: {one.id for one in engine.memories.listed(as_of=moment)}
            for moment in ("2023-01-01", "2024-06-01", "2025-06-15", "2025-07-01")
        }
        assert list(then.values()) == [set(), {old.id}, {new.id, sale.id}, {new.id}]
        (found,) = engine.memories.search("upload quota", as_of="2024-06-01")
        assert found.memory.id == old.id
        assert [one.id for one in engine.memories.listed()] == [sale.id, new.id]
        lines = [line.encode() for line in engine.export_memory()]
    with Satchel.open(repository.root, environ=environment(tmp_path / "other")) as engine:
        assert engine.import_memory(lines).problems == ()
        assert [line.encode() for line in engine.export_memory()] == lines


def test_a_link_that_cannot_be_is_refused(repository: TinyRepository, tmp_path: Path) -> None:
    with Satchel.open(repository.root, environ=environment(tmp_path / "home")) as engine:
        one, two, three = (engine.memories.add(f"The port is {number}").memory.id for number in (80, 81, 82))
        engine.memories.supersede(one, two)
        for old, new in ((one, three), (three, one), (three, two), (three, three)):
            with pytest.raises(UsageError, match="cannot replace"):
                engine.memories.supersede(old, new)
        with pytest.raises(UsageError, match="before it begins"):
            engine.memories.add("Never true", since="2025-01-02", until="2025-01-01")


def test_a_newer_memory_that_shares_no_word_with_the_request_comes_with_the_older_one(
    repository: TinyRepository, tmp_path: Path
) -> None:
    with Satchel.open(repository.root, environ=environment(tmp_path / "home")) as engine:
        old = engine.memories.add("Contractors get the team licence of the diagram editor", since="2024-01-01").memory
        newer = engine.memories.add("The team licence of the diagram editor expired, take the free edition").memory
        first, second = engine.memories.search("contractors")
        assert (first.memory.id, second.memory.id) == (newer.id, old.id)
        assert second.newer == newer.id
