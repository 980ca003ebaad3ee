"""An index that follows its tree: whatever happens in between, it says what a fresh one says."""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from satchel.index import reading, run, update
from satchel.index.run import BuildOptions, ReadingOptions
from satchel.system import files
from satchel.testing import TinyRepository
from tests.index.indexing import Index, differences, fresh_contents, stopping_at
from tests.repositories import git

STEPS = 30
WORDS = ("apple", "banana", "cherry", "backoff", "Retry", "snake_case", "CamelCase")


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
    repository: TinyRepository, tmp_path: Path, seed: int
) -> None:
    author = Author(repository, seed)
    index = Index(repository.root, tmp_path / "index.db")
    history = []
    for _ in range(STEPS):
        history.append(author.act())
        index.run()
        assert index.faults() == [], history
        assert differences(index.contents(), fresh_contents(repository.root, tmp_path)) == {}, history
    index.close()


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
        read = reading.read_file

        def watched(path: str, indexed: str, options: ReadingOptions) -> tuple[reading.Reading, str | None]:
            seen.append(path)
            return read(path, indexed, options)

        monkeypatch.setattr(reading, "read_file", watched)
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

    def test_an_index_with_an_older_outline_is_read_again(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as older:
            older.setattr(run, "READING_VERSION", f"{run.READING_VERSION.rpartition('/')[0]}/8")
            index.run()
            assert index.run().is_fresh
        assert index.run().changed == 2
        assert index.run().is_fresh

    def test_with_another_limit_an_unchanged_file_is_read_in_part_or_whole(
        self, repository: TinyRepository, index: Index
    ) -> None:
        repository.commit("Data", {"data.txt": "a line of it\n" * 200})
        skipped = []
        for limit in (1_000_000, 1_000, 1_000_000):
            index.options = replace(index.options, reading=replace(index.options.reading, limit=limit))
            skipped.append(dict(index.run().skipped))
        assert skipped == [{}, {"read-in-part": 1}, {}]

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
