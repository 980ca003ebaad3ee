"""A first answer that does not wait for a long history, and the same index as one that did, once it is in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from satchel import Satchel
from satchel.cli.application import run
from satchel.index.build import build, scan_files
from satchel.index.run import HISTORY_LATER, IndexReport, Quiet
from satchel.mcp.running import EngineRunner
from satchel.operations.ask import CONTEXT_QUERY
from satchel.types import Kind
from tests.index.indexing import Index, differences, fresh_contents, never, stopping_at
from tests.repositories import commit, git, long_history

QUESTION = "where is the total of step 7"
OPEN = {"SATCHEL_EMBED_PROVIDER": "off"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a history just long enough to come later; only read."""
    return long_history(tmp_path_factory.mktemp("long") / "root")


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Iterator[Index]:
    index = Index(root, tmp_path / "index.db")
    yield index
    index.close()


def files_first(index: Index) -> IndexReport:
    seen = scan_files(index.store, index.root, index.options, never)
    return build(index.store, index.root, index.options, Quiet(), never, seen)


def test_the_history_comes_with_the_next_run_and_the_index_is_that_of_one_run(index: Index, tmp_path: Path) -> None:
    report = files_first(index)
    assert (report.added, report.commits_added, report.interrupted) == (10, 0, False)
    assert HISTORY_LATER in report.notes
    assert (index.store.keys(Kind.COMMIT), index.faults()) == (set(), [])
    report = index.run()
    assert (report.added, report.changed, report.unchanged, report.commits_added) == (0, 0, 10, 2_000)
    assert HISTORY_LATER not in report.notes
    assert index.faults() == []
    assert differences(index.contents(), fresh_contents(index.root, tmp_path)) == {}


def test_a_run_that_is_stopped_in_the_history_is_completed_by_the_next(index: Index, tmp_path: Path) -> None:
    files_first(index)
    assert index.run(stopping_at(3)).interrupted
    assert index.faults() == []
    assert len(index.store.keys(Kind.COMMIT)) < 2_000
    index.run()
    assert differences(index.contents(), fresh_contents(index.root, tmp_path)) == {}


def test_a_history_below_the_limit_is_read_at_once(tmp_path: Path) -> None:
    short = Index(long_history(tmp_path / "short", 1_999), tmp_path / "short.db")
    report = files_first(short)
    assert (report.commits_added, HISTORY_LATER in report.notes) == (1_999, False)
    short.close()


def test_a_setting_that_reads_few_commits_makes_every_history_short(index: Index) -> None:
    index.options = replace(index.options, commits=100)
    assert files_first(index).commits_added == 100


def test_the_command_line_says_that_the_history_is_missing_and_then_answers_as_after_an_index(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(home: str, *words: str) -> str:
        monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / home))
        assert run([*words, "--root", str(root)]) == 0
        return capsys.readouterr().out

    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "off")
    monkeypatch.setenv("SATCHEL_KEY", "7" * 64)  # the marks around what is shown come from it
    note = {"source": HISTORY_LATER.source, "message": HISTORY_LATER.message, "hint": HISTORY_LATER.hint}
    first = json.loads(answer("early", "context", QUESTION, "--json"))
    assert (first["failures"], "commits" in first["sources_used"]) == ([note], False)
    assert "the history is not in the index yet" in answer("early", "status")
    second = answer("early", "context", QUESTION)
    assert HISTORY_LATER.message not in second
    answer("complete", "index")
    assert answer("complete", "context", QUESTION) == second


@pytest.mark.parametrize(
    "words", [("search", QUESTION), ("search", "--pattern", "step_[0-9]+"), ("search", "step", "--pattern", "step_7")]
)
def test_a_first_search_does_not_wait_for_the_history(
    words: tuple[str, ...], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "off")

    def answer() -> str:
        assert run([*words, "--root", str(root), "--json"]) == 0
        return capsys.readouterr().out

    first, second = answer(), answer()
    assert (HISTORY_LATER.message in first, HISTORY_LATER.message in second) == (True, False)
    assert answer() == second


@pytest.mark.parametrize(
    "words",
    [
        ("context", "why was step 7 changed"),
        ("context", QUESTION, "--types", "commits"),
        ("context", QUESTION, "--searches", "history"),
        ("context", QUESTION, "--diff", "HEAD~1"),
        ("search", "why was step 7 changed"),
        ("search", QUESTION, "--types", "commits"),
        ("search", QUESTION, "--searches", "history"),
        ("history",),
        ("index",),
    ],
    ids=" ".join,
)
def test_what_is_about_the_history_waits_for_it(
    words: tuple[str, ...], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "off")
    assert run([*words, "--root", str(root)]) == 0
    assert HISTORY_LATER.message not in capsys.readouterr().out
    with Satchel.open(root) as opened:
        assert len(opened.store.keys(Kind.COMMIT)) == 2_000


def test_a_server_reads_the_history_after_its_first_answer(root: Path, tmp_path: Path) -> None:
    environ = OPEN | {"SATCHEL_HOME": str(tmp_path / "home")}
    runner = EngineRunner(lambda: Satchel.open(root, environ=environ))

    async def answered() -> list[str]:
        first = await runner.run(None, CONTEXT_QUERY, {"question": QUESTION})
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
        second = await runner.run(None, CONTEXT_QUERY, {"question": QUESTION, "refresh": False})
        return [first.text, second.text]

    first, second = asyncio.run(answered())
    assert (HISTORY_LATER.message in first, HISTORY_LATER.message in second) == (True, False)
    assert len(runner.engine().store.keys(Kind.COMMIT)) == 2_000
    assert runner.close(30.0)


def test_a_commit_after_the_files_comes_with_the_history(tmp_path: Path) -> None:
    index = Index(long_history(tmp_path / "root"), tmp_path / "index.db")
    files_first(index)
    commit(index.root, "Add a step", {"src/step_11.py": "x = 1\n"})
    report = index.run()
    assert (report.added, report.commits_added) == (1, 2_001)
    assert git(index.root, "rev-parse", "HEAD").strip() in index.store.keys(Kind.COMMIT)
    assert differences(index.contents(), fresh_contents(index.root, tmp_path)) == {}
    index.close()
