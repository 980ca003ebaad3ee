"""Runs that do not come to their end: stopped by somebody, or dead at any step."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.index import update
from satchel.store.sqlite import SqliteStore
from satchel.store.writer import Writer
from satchel.testing import TinyRepository
from satchel.types import Kind
from tests.index.indexing import Index, differences, fresh_contents, look, stopping_at
from tests.repositories import git


class TestStopping:
    """Whenever somebody wants to stop: what was read is kept, nothing is half there, and the next run goes on."""

    def test_at_every_question_whether_to_stop(self, repository: TinyRepository, tmp_path: Path) -> None:
        repository.commit("More", {f"src/f{number}.py": f"def f{number}(): pass\n" for number in range(6)})
        expected = fresh_contents(repository.root, tmp_path)
        kept = []
        for stop_at in range(1, 200):
            index = Index(repository.root, tmp_path / f"stopped{stop_at}.db")
            report = index.run(stopping_at(stop_at))
            assert index.faults() == []
            assert report.files == len(index.paths)
            kept.append(len(index.paths))
            is_complete = not report.interrupted
            index.run()
            assert differences(index.contents(), expected) == {}, stop_at
            index.close()
            if is_complete:
                break
        assert not report.interrupted
        assert kept == sorted(kept)
        assert set(kept) == set(range(9))

    def test_a_change_of_head_that_was_stopped_is_seen_even_if_head_goes_back(
        self, repository: TinyRepository, index: Index
    ) -> None:
        index.run()
        first = git(repository.root, "rev-parse", "HEAD").strip()
        repository.commit("Second", {"src/b.py": "x = 1\n"})
        for stop_at in range(1, 40):
            git(repository.root, "checkout", "-q", "main")
            index.run(stopping_at(stop_at))
            git(repository.root, "checkout", "-q", first)
            index.run()
            assert set(index.store.iterate_keys(Kind.COMMIT)) == {first}, stop_at


class Crash(Exception):  # noqa: N818 - what happens, not what is wrong
    """The program dies here."""


class TestCrashing:
    """Whichever step fails: nothing of its transaction is there, and the next run completes the work."""

    @pytest.fixture
    def changed(self, repository: TinyRepository, index: Index) -> dict[str, Any]:
        """A repository that moved on since it was indexed, in every way; returns what the index said before."""
        repository.commit("More", {f"src/f{number}.py": f"def f{number}(): pass\n" for number in range(4)})
        index.run()
        repository.commit("Change", {"src/f0.py": "class Cherry: pass\n", "src/g.py": "x = 1\n", "b.py": "\0"})
        repository.remove("src/f1.py")
        (repository.root / "src/f2.py").rename(repository.root / "src/h.py")
        os.utime(repository.root / "src/f3.py")
        return index.contents()

    def test_at_every_call_of_the_writer(
        self,
        repository: TinyRepository,
        index: Index,
        changed: dict[str, Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        expected = fresh_contents(repository.root, tmp_path)
        calls = crash_at_calls(monkeypatch)
        for number in range(1, 100):
            calls.limit, calls.count = number, 0
            try:
                index.run()
            except Crash:
                assert index.faults() == []
                after = index.contents()
                # The last transaction only merges segments, which changes nothing that can be seen.
                assert not differences(after, changed) or not differences(after, expected), calls.name
            else:
                break
        calls.limit = 0
        index.run()
        assert number > len(CALLS)
        assert differences(index.contents(), expected) == {}

    @pytest.mark.parametrize("phase", range(5))
    def test_at_every_statement(
        self, repository: TinyRepository, index: Index, changed: dict[str, Any], tmp_path: Path, phase: int
    ) -> None:
        """Every fifth one, in five tests."""
        expected = fresh_contents(repository.root, tmp_path)
        for limit in range(phase + 1, 1000, 5):
            copy = Index(repository.root, tmp_path / f"copy{limit}.db")
            backup(index.path, copy.store)
            statements = iter(range(1, 10_000))

            def crash(*_: Any, statements: Iterator[int] = statements, limit: int = limit) -> bool:
                if next(statements) == limit:
                    raise Crash
                return True

            connection = copy.store._connection()
            connection.exec_trace = crash
            try:
                copy.run()
            except Crash:
                connection.exec_trace = None
                assert copy.faults() == []
                after = copy.contents()
                assert not differences(after, changed) or not differences(after, expected)
                copy.run()
                assert differences(copy.contents(), expected) == {}
                copy.close()
            else:
                copy.close()
                break
        assert limit > 50


CALLS = ("put", "remove", "restamp", "hide", "skip", "unskip", "set_meta", "merge", "finish", "write_words")


@dataclass
class Calls:
    """Counts calls of the writer; the one whose number is the limit fails before or after its work."""

    limit: int = 0
    count: int = 0
    name: str = ""

    def step(self, name: str) -> None:
        self.count += 1
        if self.count == self.limit:
            self.name = name
            raise Crash


def crash_at_calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls()

    def wrapped(name: str) -> Callable[..., Any]:
        method = getattr(Writer, name)

        def call(self: Writer, *arguments: Any) -> Any:
            calls.step(f"before {name}")
            result = method(self, *arguments)
            calls.step(f"after {name}")
            return result

        return call

    for name in CALLS:
        monkeypatch.setattr(Writer, name, wrapped(name))
    return calls


def backup(source: Path, target: SqliteStore) -> None:
    """Copy a store the only way that is allowed."""

    def copy(connection: apsw.Connection) -> None:
        with target._connection().backup("main", connection, "main") as work:
            work.step()

    look(source, copy)


def test_the_collector_of_cycles_is_on_again_after_a_run_that_failed(
    repository: TinyRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def fail(*_: object) -> None:
        seen.append(gc.isenabled())
        raise RuntimeError("stop")

    monkeypatch.setattr(update, "_publish_some", fail)
    with pytest.raises(RuntimeError, match="stop"):
        Index(repository.root, tmp_path / "store.db").run()
    assert seen == [False]
    assert gc.isenabled()
