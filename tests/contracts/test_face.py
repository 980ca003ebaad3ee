"""The face of the first specification over everything: `Searcher` and `ContextAssembler`, with own searchers too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import satchel.results.assembler
from satchel import (
    AssemblyOptions,
    ContextAssembler,
    ContextAssemblyError,
    Finding,
    InvalidContextTypeError,
    Satchel,
    Searcher,
)
from satchel.errors import UsageError
from satchel.testing import HashEmbedder
from satchel.types import CONTEXT_TYPES, SEARCHED_TYPES
from tests.contracts.five import QUESTION, TYPES, remember, repository
from tests.memory.samples import FALSIFIED, STARTED
from tests.oracle import o200k
from tests.postgres import move_home, own_home


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """An engine that knows something of all five kinds. Tests only ask it."""
    folder = tmp_path_factory.mktemp("five")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, folder / "home")
        with Satchel.open(repository(folder / "shop").root) as opened:
            opened.index()
            remember(opened)
            yield opened


def test_case_7_an_unknown_type_is_an_error_that_names_all(engine: Satchel) -> None:
    with pytest.raises(InvalidContextTypeError) as caught:
        asyncio.run(ContextAssembler(engine).assemble_context(QUESTION, ["memories", "recipes"]))
    assert isinstance(caught.value, ContextAssemblyError)
    assert all(name in str(caught.value) for name in CONTEXT_TYPES)


def test_the_face_of_the_specification_gives_the_answer_of_the_engine(engine: Satchel) -> None:
    expected = engine.assemble(QUESTION, types=TYPES, limit=20, max_tokens=2000)
    for searcher in (engine, Searcher(engine)):
        assembler = ContextAssembler(searcher)
        answer = asyncio.run(assembler.assemble_context(QUESTION, TYPES))
        assert answer.markdown == expected.text
        assert answer.token_count == expected.usage.used
        assert (answer.items, dict(answer.sources_used)) == (expected.items, dict(expected.sources_used))
        assert assembler.format(answer) == answer.text


def test_without_a_searcher_the_current_folder_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path / "shop").root)
    move_home(monkeypatch, tmp_path / "home")
    options = AssemblyOptions(format="xml", include_sources=False)
    with ContextAssembler(options=options) as assembler:
        answer = asyncio.run(assembler.assemble_context("take_connection", ["code"], max_tokens=500))
        empty = asyncio.run(assembler.get_premortem_context("debugging"))
    assert answer.text.startswith("<context>")
    assert "take_connection" in answer.text
    assert (empty.text, empty.items, empty.failures) == ("", (), ())
    searcher = Searcher()
    assert asyncio.run(searcher.search_code("take_connection"))[0].file_path == "shop/pool.py"
    searcher.close()


def test_findings_hold_the_content_and_the_metadata_of_their_kind(engine: Satchel) -> None:
    searcher = Searcher(engine)

    async def ask() -> Mapping[str, Sequence[Finding]]:
        return {type_: await getattr(searcher, f"search_{type_}")(QUESTION) for type_ in SEARCHED_TYPES}

    assert asyncio.run(searcher.search_contexts(QUESTION)) == []
    found = asyncio.run(ask())
    assert [type_ for type_, rows in found.items() if rows] == TYPES
    assert "nine connections" in " ".join(row.content for row in found["memories"])
    code = next(row for row in found["code"] if row.name == "take_connection")
    assert code.content.startswith("def take_connection")
    assert (code.type, code.file_path, code.start_line) == ("function", "shop/pool.py", 4)
    assert found["experiences"][0].content.startswith("- **Outcome**: ")
    assert found["commits"][0].metadata["files_changed"]
    assert found["values"][0].metadata["axis"] == "full"
    assert all(0 < row.score <= 1 for rows in found.values() for row in rows)


def test_filters_and_limits_of_the_searches_hold(engine: Satchel) -> None:
    searcher = Searcher(engine)

    async def ask() -> None:
        assert await searcher.search_memories(QUESTION, category="decision") == []
        assert len(await searcher.search_memories(QUESTION, limit=2, category="fact", min_importance=0.5)) == 2
        assert await searcher.search_memories("  ") == []
        assert {row.type for row in await searcher.search_code(QUESTION, unit_type="function", language="python")} == {
            "function"
        }
        assert await searcher.search_code(QUESTION, language="rust") == []
        wrong = await searcher.search_experiences(QUESTION, axis="surprise", domain="debugging", outcome="falsified")
        assert wrong
        assert all(row.id.endswith("::surprise") for row in wrong)
        assert await searcher.search_experiences(QUESTION, strategy="ask-user") == []
        assert await searcher.search_values(QUESTION, axis="surprise") == []
        assert await searcher.search_commits(QUESTION, author="ada", since=0.0, until=1_800_000_000.0)
        assert await searcher.search_commits(QUESTION, author="Grace") == []

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search_mode": "fuzzy"}, "choose from semantic, keyword, hybrid"),
        ({"limit": 0}, "limit is 0"),
        ({"category": "idea"}, "unknown category"),
    ],
)
def test_an_impossible_search_is_an_error(engine: Satchel, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        asyncio.run(Searcher(engine).search_memories("pool", **arguments))


def test_search_goes_by_meaning_by_words_or_by_both(tmp_path: Path) -> None:
    embedder = HashEmbedder(synonyms={"automobile": "car"})
    with Satchel.open(
        repository(tmp_path / "shop").root, environ=own_home(tmp_path / "home"), embedder=embedder
    ) as opened:
        opened.memories.add("car keys")
        opened.memories.add("Bread is baked at five")
        opened.embed()
        searcher = Searcher(opened)
        found = {
            mode: [row.content for row in asyncio.run(searcher.search_memories("automobile", search_mode=mode))]
            for mode in ("semantic", "keyword", "hybrid")
        }
    assert found["semantic"][0] == found["hybrid"][0] == "car keys"
    assert found["keyword"] == []


class Own:
    """Somebody's own searcher, some of it async: the names of the first specification as mappings and objects."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def search_memories(self, query: str, limit: int) -> list[dict[str, Any]]:
        self.calls.append((query, {"limit": limit}))
        return [
            {"id": "m1", "content": "The pool holds nine", "category": "fact", "importance": 0.5, "score": 0.8},
            {"id": "m2", "content": "", "score": 0.7},
        ]

    async def search_experiences(self, query: str, axis: str, limit: int, **filters: str) -> list[dict[str, Any]]:
        self.calls.append((query, {"axis": axis, "limit": limit, **filters}))
        told = {"id": "ghap_1", "score": 0.6, **{name: STARTED[name] for name in STARTED}}
        return [
            told
            | {
                "outcome_status": "falsified",
                "outcome_result": FALSIFIED["result"],
                "surprise": FALSIFIED["surprise"],
                "root_cause": {"category": "oversight", "description": "Nobody looked"},
                "lesson": {"what_worked": "Looking", "takeaway": "Look first"},
                "confidence_tier": "silver",
            }
        ]

    def search_commits(self, query: str, limit: int) -> list[dict[str, Any]]:
        self.calls.append((query, {"limit": limit}))
        metadata = {"sha": "0123456789abcdef", "author": "Ada", "timestamp": "2025-05-01", "files_changed": ["a.py"]}
        return [{"content": "Close the pool", "score": 0.5, "metadata": metadata}]

    def search_code(self, query: str, limit: int) -> list[dict[str, Any]]:
        self.calls.append((query, {"limit": limit}))
        return [
            {
                "name": "take",
                "type": "function",
                "file_path": "shop/pool.py",
                "start_line": 4,
                "end_line": 8,
                "score": 1,
            }
        ]

    def search_values(self, query: str, limit: int) -> list[dict[str, Any]]:
        raise RuntimeError(f"the values are away, asked for {limit} of {query}")


def test_somebody_elses_searcher_is_asked_sync_or_async_and_a_failure_is_a_note(engine: Satchel) -> None:
    own = Own()
    options = AssemblyOptions(project_root=engine.places.root, include_sources=False)
    assembler = ContextAssembler(own, options=options)
    context = asyncio.run(assembler.assemble_context("pool", [*TYPES, "docs"], limit=7, max_tokens=1500))
    assert dict(context.sources_used) == {"memories": 1, "code": 1, "experiences": 1, "commits": 1}
    assert "**Memory** Category: fact, Importance: 0.5\n" in context.text
    assert "**Experience** debugging | root-cause-analysis\n" in context.text
    assert "- **Root cause**: oversight - Nobody looked\n" in context.text
    assert "**Commit** `0123456` by Ada on 2025-05-01\n" in context.text
    assert "Files: a.py\n" in context.text
    assert "while not pool:" in context.text
    assert context.usage.used == o200k(context.text) <= 1500
    assert [failure.source for failure in context.failures] == ["values", "docs", "memories"]
    assert "the values are away" in context.failures[0].message
    assert ("pool", {"axis": "full", "limit": 7}) in own.calls
    every = asyncio.run(assembler.assemble_context("pool"))
    assert "docs" not in [failure.source for failure in every.failures]


def test_a_premortem_from_somebody_elses_searcher_tells_an_experience_once() -> None:
    own = Own()
    context = asyncio.run(ContextAssembler(own).get_premortem_context("debugging", "root-cause-analysis"))
    assert context.text.startswith("# Premortem: debugging with root-cause-analysis\n")
    assert context.text.count("**Experience**") == 1
    assert "## Common Failures\n" in context.text
    assert "*Based on 1 past experience;" in context.text
    asked = dict(own.calls)
    assert asked["failures and issues in debugging"] == {
        "axis": "full", "limit": 10, "domain": "debugging", "outcome": "falsified",
    }  # fmt: skip
    assert asked["outcomes using root-cause-analysis strategy"]["axis"] == "strategy"
    assert asked["unexpected outcomes in debugging"]["axis"] == "surprise"
    assert asked["why hypotheses fail in debugging"]["axis"] == "root_cause"


def test_a_slow_source_is_a_note_and_the_others_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Own):
        async def search_commits(self, query: str, limit: int) -> list[dict[str, Any]]:  # type: ignore[override]
            await asyncio.Event().wait()
            return self.search_code(query, limit)

    monkeypatch.setattr(satchel.results.assembler, "SEARCH_SECONDS", 0.05)
    context = asyncio.run(ContextAssembler(Slow()).assemble_context("pool", ["memories", "commits"]))
    assert list(context.sources_used) == ["memories"]
    assert next((failure.source, failure.message) for failure in context.failures) == (
        "commits", "no answer within 0.05 s",
    )  # fmt: skip


def test_our_findings_go_through_somebody_elses_searcher_unchanged(engine: Satchel) -> None:
    class Wrapped:
        def __init__(self) -> None:
            self.search_memories = Searcher(engine).search_memories
            self.search_experiences = Searcher(engine).search_experiences

    context = asyncio.run(ContextAssembler(Wrapped()).assemble_context(QUESTION, ["memories", "experiences"]))
    assert "**Memory** Category: fact, Importance: 0.8, 20" in context.text  # and the rest of its day
    assert "**Experience** debugging | root-cause-analysis\n" in context.text
    assert context.failures == ()


def test_nothing_found_is_an_answer_without_items_and_an_empty_question_an_error(engine: Satchel) -> None:
    class Empty:
        def search_memories(self, query: str, limit: int) -> list[str]:
            return [query][limit:]

    for searcher in (engine, Empty()):
        assembler = ContextAssembler(searcher)
        context = asyncio.run(assembler.assemble_context("zyzzyva quux", ["memories"]))
        assert (context.items, context.failures, dict(context.sources_used)) == ((), (), {})
        assert "Not found here: zyzzyva, quux." in context.text or isinstance(searcher, Empty)
        with pytest.raises(UsageError, match="the question is empty"):
            asyncio.run(assembler.assemble_context(" ", ["memories"]))
        with pytest.raises(UsageError, match="limit is 0"):
            asyncio.run(assembler.assemble_context("pool", ["memories"], limit=0))


def test_a_situation_is_guided_by_the_rules_of_a_folder_and_by_the_judge_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = repository(tmp_path / "shop")
    made.write({"AGENTS.md": "# Rules\n\nReturn each connection to the pool.\n"})
    monkeypatch.chdir(made.root)
    move_home(monkeypatch, tmp_path / "home")
    doing = {"task": "return the connection to the pool", "files": ["shop/pool.py"]}
    with Satchel.open(".") as opened:
        expected = opened.situation(doing, max_tokens=900)
        same = asyncio.run(ContextAssembler(opened).assemble_situation(doing, max_tokens=900))
    assert same.text == expected.text
    with ContextAssembler(Own()) as assembler:
        other = asyncio.run(assembler.assemble_situation(doing, max_tokens=900))
    assert "Return each connection to the pool." in other.text
    assert other.usage.used <= 900
