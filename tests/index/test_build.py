"""An index that follows its tree: whatever happens in between, it says what a fresh one says."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel import files
from satchel.index import reading, update
from satchel.index.options import BuildOptions
from satchel.store.sqlite.store import SqliteStore
from satchel.store.sqlite.writer import SqliteWriter
from satchel.testing import TinyRepository
from satchel.types import Kind
from tests.index.indexing import Index, differences, fresh_contents, look
from tests.repositories import git

STEPS = 30
WORDS = ("apple", "banana", "cherry", "backoff", "Retry", "snake_case", "CamelCase")


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "root")
    repository.commit("Begin", {"src/a.py": "def apple():\n    return banana()\n", "README.md": "# Title\n\nApples.\n"})
    return repository


@pytest.fixture
def index(repository: TinyRepository, tmp_path: Path) -> Iterator[Index]:
    index = Index(repository.root, tmp_path / "index.db")
    yield index
    index.close()


class Author:
    """Somebody who does to a repository whatever comes to their mind. Equal seeds do the same."""

    def __init__(self, repository: TinyRepository, seed: int) -> None:
        self._repository, self._random = repository, random.Random(seed)
        self._branches = ["main"]

    def act(self) -> str:
        actions = [self.edit, self.edit, self.add, self.rename, self.delete, self.commit, self.commit, self.switch]
        action = self._random.choice([*actions, self.touch, self.go_back, self.change_kind])
        action()
        return action.__name__

    def _files(self) -> list[Path]:
        root = self._repository.root
        return sorted(path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)

    def _text(self) -> str:
        name, other = self._random.choices(WORDS, k=2)
        body = "\n".join(f"    x = {self._random.choice(WORDS)}" for _ in range(self._random.randrange(40)))
        return f"import {other}\n\n\ndef {name}(x):\n    {other}(x)\n{body}\n\n\nclass {other}({name}):\n    pass\n"

    def edit(self) -> None:
        for path in self._random.sample(self._files(), k=min(2, len(self._files()))):
            path.write_text(self._text())

    def add(self) -> None:
        name = f"{self._random.choice(WORDS)}{self._random.randrange(30)}"
        folder = self._random.choice(("", "src/", "tests/", "docs/deep/"))
        self._repository.write({f"{folder}{name}{self._random.choice(('.py', '.md', '.go', '.txt'))}": self._text()})

    def rename(self) -> None:
        for path in self._random.sample(self._files(), k=min(1, len(self._files()))):
            path.rename(path.with_name(f"{self._random.choice(WORDS)}{self._random.randrange(30)}{path.suffix}"))

    def delete(self) -> None:
        for path in self._random.sample(self._files(), k=min(1, len(self._files()))):
            path.unlink()

    def touch(self) -> None:
        for path in self._files()[:3]:
            os.utime(path)

    def change_kind(self) -> None:
        """A file that was text becomes binary, or the other way round."""
        for path in self._random.sample(self._files(), k=min(1, len(self._files()))):
            is_binary = b"\0" in path.read_bytes()
            path.write_bytes(self._text().encode() if is_binary else b"\0binary")

    def commit(self) -> None:
        self._repository.commit(f"Change {self._random.choice(WORDS)}\n\n{self._random.choice(WORDS)} was wrong.")

    def switch(self) -> None:
        """Commit, and go to another branch, which may begin here."""
        self.commit()
        if len(self._branches) < 3:
            self._branches.append(f"branch{len(self._branches)}")
            git(self._repository.root, "branch", self._branches[-1])
        git(self._repository.root, "checkout", "-q", self._random.choice(self._branches))

    def go_back(self) -> None:
        self.commit()
        git(self._repository.root, "reset", "-q", "--hard", "HEAD~1")


@pytest.mark.parametrize("seed", [1, 2])
def test_after_every_step_the_index_says_what_a_fresh_one_says(
    repository: TinyRepository, index: Index, tmp_path: Path, seed: int
) -> None:
    author = Author(repository, seed)
    history = []
    for _ in range(STEPS):
        history.append(author.act())
        index.run()
        assert index.faults() == [], history
        assert differences(index.contents(), fresh_contents(repository.root, tmp_path)) == {}, history


def test_an_unchanged_tree_is_neither_read_nor_written(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    first = index.run()
    assert (first.files, first.added, first.commits_added, first.is_fresh) == (2, 2, 1, False)
    revision = index.store.revision
    monkeypatch.setattr(update, "update", None)
    report = index.run()
    assert report.is_fresh
    assert (report.unchanged, report.files, index.store.revision) == (2, 2, revision)


def test_a_report_counts_what_was_done(repository: TinyRepository, index: Index) -> None:
    index.run()
    repository.write({"src/a.py": "def cherry():\n    pass\n", "src/b.py": "x = 1\n", "src/c.py": "\0"})
    repository.remove("README.md")
    report = index.run()
    assert (report.added, report.changed, report.removed, report.files) == (1, 1, 1, 2)
    assert report.skipped["binary"] == 1
    assert not index.run().added


def test_a_file_that_cannot_be_read_is_named_each_time_and_read_when_it_can_be(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_text = files.read_text

    def fail(root: Path, path: str, **options: Any) -> files.FileText:
        if path == "src/a.py":
            raise files.Skipped(files.SkipReason.UNREADABLE, "Input/output error")
        return read_text(root, path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(files, "read_text", fail)
        first, revision = index.run(), index.store.revision
        again = index.run()
    for report in (first, again):
        assert (report.errors, report.files, report.interrupted) == (1, 1, False)
        assert [note.message for note in report.notes] == ["src/a.py: unreadable"]
    assert index.store.revision == revision
    report = index.run()
    assert (report.errors, report.added, report.notes) == (0, 1, ())


def test_rules_that_were_not_applied_are_in_the_report(repository: TinyRepository, index: Index) -> None:
    repository.write({".gitignore": "a\n" * 2_100_000})
    report = index.run()
    assert ".gitignore not applied" in report.notes[0].message
    assert index.run().notes == report.notes


class TestChangesThatHardlyShow:
    """Files that changed though size, or time, or both say that they did not."""

    def test_content_of_the_same_size_with_its_time_set_back(self, repository: TinyRepository, index: Index) -> None:
        index.run()
        path = repository.root / "src/a.py"
        before = path.stat()
        path.write_text(path.read_text().replace("apple", "peach"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert index.run().changed == 1

    def test_a_file_of_the_current_tick_is_looked_at_once_more(
        self, index: Index, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(reading, "tick", lambda: 0)
            index.run()
        seen: list[str] = []
        read = reading.Reader.read

        def watched(self: reading.Reader, path: str) -> reading.Reading:
            seen.append(path)
            return read(self, path)

        monkeypatch.setattr(reading.Reader, "read", watched)
        assert index.run().is_fresh
        assert seen == ["README.md", "src/a.py"]
        assert index.run().is_fresh
        assert seen == ["README.md", "src/a.py"]

    def test_a_skipped_file_that_changed_while_it_was_read(
        self, repository: TinyRepository, index: Index, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = repository.root / "src/b.py"
        path.write_bytes(b"\0")
        decode = files.decode

        def replace_it(raw: bytes) -> tuple[str, str, bool] | None:
            if raw == b"\0":
                path.write_text("def cherry(): pass\n")
            return decode(raw)

        with monkeypatch.context() as patch:
            patch.setattr(files, "decode", replace_it)
            assert index.run().skipped["binary"] == 1
        assert index.run().added == 1


class TestAnotherVersion:
    """An index that was read otherwise is built again, and only then carries the new version."""

    @pytest.fixture
    def other(self, index: Index) -> BuildOptions:
        return replace(index.options, reading=replace(index.options.reading, allow=("never-a-secret",)))

    def test_every_file_is_read_again(self, index: Index, other: BuildOptions) -> None:
        index.run()
        index.options = other
        report = index.run()
        assert (report.changed, report.unchanged, report.commits_added) == (2, 0, 1)
        assert index.run().is_fresh

    def test_another_key_gives_other_hashes(self, repository: TinyRepository, index: Index, tmp_path: Path) -> None:
        index.run()
        index.options = replace(index.options, reading=replace(index.options.reading, key=b"other" * 6))
        index.run()
        assert differences(index.contents(), fresh_contents(repository.root, tmp_path, index.options)) == {}

    def test_a_stopped_run_is_completed_by_the_next_one(self, index: Index, other: BuildOptions) -> None:
        index.run()
        index.options = other
        answers = iter([False] * 8)
        report = index.run(lambda: next(answers, True))
        assert report.interrupted
        report = index.run()
        assert (report.changed, report.interrupted) == (2, False)

    def test_an_index_that_was_begun_by_another_version_and_stopped(
        self, repository: TinyRepository, other: BuildOptions, tmp_path: Path
    ) -> None:
        for stop_at in itertools.count(1):
            index = Index(repository.root, tmp_path / f"begun{stop_at}.db")
            index.run(stopping_at(stop_at))
            if len(index.paths) == 1:
                break
            index.close()
        index.options = other
        assert index.run().changed == 1
        assert differences(index.contents(), fresh_contents(repository.root, tmp_path, other)) == {}
        index.close()


def stopping_at(number: int) -> Callable[[], bool]:
    """Somebody who wants to stop from the given question on, counted from 1."""
    questions = itertools.count(1)
    return lambda: next(questions) >= number


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


CALLS = ("put", "remove", "restamp", "hide", "skip", "unskip", "set_meta", "merge", "finish", "_write_segments")


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
        method = getattr(SqliteWriter, name)

        def call(self: SqliteWriter, *arguments: Any) -> Any:
            calls.step(f"before {name}")
            result = method(self, *arguments)
            calls.step(f"after {name}")
            return result

        return call

    for name in CALLS:
        monkeypatch.setattr(SqliteWriter, name, wrapped(name))
    return calls


def backup(source: Path, target: SqliteStore) -> None:
    """Copy a store the only way that is allowed."""

    def copy(connection: apsw.Connection) -> None:
        with target._connection().backup("main", connection, "main") as work:
            work.step()

    look(source, copy)
