"""A searcher of the user: what it is asked for, how its results rank, and what their items say."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from satchel import ContextAssembler, Satchel
from satchel.errors import UsageError
from satchel.results.searcher import AssemblyOptions, Searcher
from satchel.types import Context


class Own:
    """A searcher whose results all have the same score."""

    def __init__(self) -> None:
        self.limits: dict[str, int] = {}

    def _asked(self, kind: str, limit: int, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.limits[kind] = limit
        return [{"score": 0.5, **result} for result in results]

    def search_memories(self, _query: str, limit: int = 10) -> list[dict[str, Any]]:
        rows = [(0.1, "2026-01-01"), (0.9, "2020-01-01T00:00:00Z"), (0.5, 1.77e9), (0.5, "2026-03-01")]
        return self._asked("memories", limit, [
            {"id": f"m{number}", "content": f"Memory {number} of {'abcd'[number] * 4}", "importance": importance,
             "created_at": moment} for number, (importance, moment) in enumerate(rows)
        ])  # fmt: skip

    def search_experiences(self, _query: str, axis: str = "full", limit: int = 10) -> list[dict[str, Any]]:
        tiers = ("abandoned", "bronze", "gold", "silver")
        return self._asked("experiences", limit, [
            {"id": tier, "goal": f"reach {tier}", "hypothesis": axis, "confidence_tier": tier,
             "created_at": "2026-01-01"} for tier in tiers
        ])  # fmt: skip

    def search_commits(self, _query: str, limit: int = 10) -> list[dict[str, Any]]:
        return self._asked("commits", limit, [
            {"sha": f"{number:040x}", "message": f"Commit {number} {'xyz'[number % 3] * 4}"} for number in range(20)
        ])  # fmt: skip

    def search_values(self, _query: str, limit: int = 10) -> list[dict[str, Any]]:
        return self._asked("values", limit, [{"id": str(n), "content": f"Value {n} {n * 77}"} for n in range(20)])

    def search_code(self, _query: str, limit: int = 10) -> list[dict[str, Any]]:
        place = {"file_path": "a.py", "start_line": 4, "end_line": 5}
        return self._asked("code", limit, [{"id": "c", "name": "pool", "type": "function", **place}])

    async def search_contexts(self, _query: str, limit: int = 10) -> list[dict[str, Any]]:
        return self._asked("contexts", limit, [{"id": "x", "name": "client", "content": "The rules of the client"}])


def asked(own: Own, root: Path, **options: Any) -> Context:
    (root / "a.py").write_text("import os\n\n\ndef pool():\n    return os.sep\n")
    assembler = ContextAssembler(own, options=AssemblyOptions(project_root=root, context_lines=0))
    return asyncio.run(assembler.assemble_context("pool", limit=50, max_tokens=20_000, **options))


def test_it_is_asked_for_the_wanted_limit_and_all_is_shown(tmp_path: Path) -> None:
    own = Own()
    context = asked(own, tmp_path)
    assert set(own.limits.values()) == {50}
    assert context.sources_used == {
        "memories": 4, "code": 1, "experiences": 4, "values": 20, "commits": 20, "contexts": 1
    }  # fmt: skip


def test_tier_importance_and_recency_order_results_and_are_in_the_explanation(tmp_path: Path) -> None:
    items = asked(Own(), tmp_path).items
    assert [item.id for item in items if item.source == "experience"] == [
        "experience:gold", "experience:silver", "experience:bronze", "experience:abandoned"
    ]  # fmt: skip
    memories = [item for item in items if item.source == "memory"]
    assert [item.metadata["id"] for item in memories] == ["m1", "m3", "m2", "m0"]
    assert {signal.name: signal.value for signal in memories[0].signals}["importance"] == 0.9
    assert {signal.name for item in items for signal in item.signals} >= {"given", "tier", "importance", "recency"}


def test_times_and_lines_are_those_of_the_result(tmp_path: Path) -> None:
    items = {item.id: item for item in asked(Own(), tmp_path).items}
    assert items["memory:m0"].metadata["timestamp"] == datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert items["memory:m2"].metadata["timestamp"] == 1.77e9
    assert (items["code:a.py"].metadata["start_line"], items["code:a.py"].metadata["end_line"]) == (4, 5)
    assert items["code:a.py"].spans[0][0] == 1


def test_records_are_named_in_lists_by_their_goal_or_first_line(tmp_path: Path) -> None:
    text = asked(Own(), tmp_path).text
    listed = next(line for line in text.split("\n") if line.startswith("Sources: "))
    assert "Memory Memory 1 of bbbb" in listed
    assert "pool (a.py:4)" in listed
    assert "Experience reach gold" in listed


def test_a_search_that_returns_no_list_is_named(tmp_path: Path) -> None:
    class Nothing(Own):
        def search_memories(self, _query: str, limit: int = 10) -> Any:
            self._asked("memories", limit, [])

    (failure,) = asked(Nothing(), tmp_path).failures
    assert (failure.source, failure.message) == ("memories", "TypeError: it returned None, not a list of results")


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    (tmp_path / "root").mkdir()
    (tmp_path / "root/context.yaml").write_text("metadata: {name: Passwords}\n")
    (tmp_path / "root/a.py").write_text("def password():\n    return 1\n")
    return Satchel.open(root=tmp_path / "root")


def test_our_own_contexts_are_found_as_those_of_a_task(engine: Satchel) -> None:
    with engine:
        answer = engine.assemble("password", types=["contexts", "code"])
        assert [(item.source, item.title) for item in answer.items] == [("code", "a.py"), ("context", "Passwords")]
        (found,) = asyncio.run(Searcher(engine).search_contexts("password"))
        assert found.metadata["file"] == "context.yaml"


@pytest.mark.parametrize("since", ["2020-01-01", "1577836800", 1577836800, datetime(2020, 1, 1)])
def test_times_have_the_same_forms_everywhere(engine: Satchel, since: Any) -> None:
    with engine:
        engine.memories.add("The password is rotated", category="fact")
        later = datetime(2099, 1, 1, tzinfo=UTC)
        assert len(engine.memories.listed(since=since)) == 1
        assert engine.memories.listed(since=later) == []
        assert len(engine.memories.search("password", since=since)) == 1
        assert engine.memories.search("password", since=later) == []
        assert engine.experiences.listed(since=since) == []
        assert len(engine.search("password", types=["memories"], filters={"since": since}, now=since)) == 1
        assert len(asyncio.run(Searcher(engine, now=since).search_memories("password", since=since))) == 1
        assert asyncio.run(Searcher(engine).search_commits("password", since=since)) == []
        assert engine.assemble("password", now=since).text == engine.assemble("password", now=1577836800.0).text
        assert engine.situation({"task": "password", "time": since}, now=since).items
        with pytest.raises(UsageError, match="since is 'soon': give a date"):
            engine.memories.listed(since="soon")
        with pytest.raises(UsageError, match="now is 'soon': give a date"):
            engine.assemble("password", now="soon")


def test_wrong_arguments_are_named(engine: Satchel) -> None:
    with engine, ContextAssembler(engine) as assembler:
        assert asyncio.run(assembler.assemble_context("password", "code")).sources_used == {"code": 1}
        every = asyncio.run(assembler.assemble_context("password", None))  # type: ignore[arg-type]
        assert every.sources_used == {"code": 1, "docs": 1}
        with pytest.raises(UsageError, match="the question is None: give a text"):
            engine.assemble(None)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="the question is 3: give a text"):
            engine.search(3)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="unknown domain None: choose from debugging"):
            engine.premortem(None)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="tags is 'abc': give a list"):
            engine.memories.add("The password is rotated", category="fact", tags="abc")
