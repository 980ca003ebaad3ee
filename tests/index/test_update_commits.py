"""Commits of an index: exactly those that HEAD reaches, and said so where they cannot all be known."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from satchel.index import update
from satchel.index.update import COMMIT_LANGUAGE
from satchel.store.extract import extract, extract_record, extract_records
from satchel.store.records import Extraction
from satchel.system import git as git_module
from satchel.testing import TinyRepository
from satchel.types import Kind, Outline, Part, Role
from tests.index.indexing import Index, differences, fresh_contents, stopping_at
from tests.repositories import commit, git, new_repository


def subjects(index: Index) -> list[str]:
    """Titles of the commits that search can see."""
    found = (index.store.document(Kind.COMMIT, key) for key in index.store.iterate_keys(Kind.COMMIT))
    return sorted(document.title for document in found if document is not None)


def words_of(index: Index, term: str) -> int:
    """In how many visible commits a term occurs."""
    units, _ = index.store.lexicon(Kind.COMMIT).postings([term])[0].body
    return len(units)


@pytest.fixture
def no_git_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, no git may be started."""
    return lambda: monkeypatch.setattr(git_module, "_command", None)


def test_after_head_moved_back_nothing_of_later_commits_shows(repository: TinyRepository, index: Index) -> None:
    repository.commit("Second zebra", {"zebra.py": "x = 1\n"})
    index.run()
    assert (subjects(index), words_of(index, "zebra")) == (["Begin", "Second zebra"], 1)
    repository.checkout("HEAD~1")
    report = index.run()
    assert (report.commits_added, report.commits_hidden) == (0, 1)
    assert (subjects(index), words_of(index, "zebra")) == (["Begin"], 0)
    assert index.faults() == []


def test_when_head_comes_back_commits_are_not_read_again(
    repository: TinyRepository, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("Second zebra")
    index.run()
    repository.checkout("HEAD~1")
    index.run()
    repository.checkout("main")
    monkeypatch.setattr(update, "read_commits", None)
    assert index.run().commits_added == 0
    assert (subjects(index), words_of(index, "zebra")) == (["Begin", "Second zebra"], 1)


def test_an_unchanged_head_starts_no_git(index: Index, no_git_process: Callable[[], None]) -> None:
    index.run()
    no_git_process()
    assert index.run().is_fresh


def test_new_commits_do_not_list_the_whole_history_again(
    repository: TinyRepository, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.run()
    for subject in ("Second", "Third"):
        repository.commit(subject)
    with monkeypatch.context() as patch:
        patch.setattr(update, "visible_commits", None)
        assert index.run().commits_added == 2
    assert subjects(index) == ["Begin", "Second", "Third"]
    # No chain: a commit gave way to another one, then HEAD is a merge.
    git(repository.root, "commit", "-q", "--amend", "--allow-empty", "-m", "Other third")
    assert (index.run().commits_hidden, subjects(index)) == (1, ["Begin", "Other third", "Second"])
    git(repository.root, "checkout", "-q", "-b", "side", "HEAD~1")
    repository.commit("Beside")
    git(repository.root, "merge", "-q", "--no-edit", "main")
    index.run()
    assert subjects(index) == ["Begin", "Beside", "Other third", "Second"]
    assert index.faults() == []


def test_the_window_moves_with_new_commits_as_git_moves_it(repository: TinyRepository, index: Index) -> None:
    index.options = replace(index.options, commits=3)
    for number in range(5):
        repository.commit(f"Number {number}")
        index.run()
    assert subjects(index) == ["Number 2", "Number 3", "Number 4"]
    repository.checkout("HEAD~1")
    index.run()
    assert subjects(index) == ["Number 1", "Number 2", "Number 3"]
    repository.checkout("main")
    repository.commit("Last")
    index.run()
    assert (subjects(index), index.faults()) == (["Last", "Number 3", "Number 4"], [])


def test_only_as_many_commits_as_wanted(repository: TinyRepository, index: Index) -> None:
    for number in range(3):
        repository.commit(f"Number {number}")
    index.options = replace(index.options, commits=2)
    index.run()
    assert subjects(index) == ["Number 1", "Number 2"]
    index.options = replace(index.options, commits=3)
    index.run()
    assert subjects(index) == ["Number 0", "Number 1", "Number 2"]
    index.options = replace(index.options, commits=0)
    index.run()
    assert subjects(index) == []


def test_commits_are_read_again_when_they_would_be_stored_otherwise(
    repository: TinyRepository, index: Index, tmp_path: Path
) -> None:
    repository.commit("Second", {f"f{number}.py": "x\n" for number in range(5)})
    index.run()
    index.options = replace(index.options, commit_files=3, message_characters=4)
    index.run()
    assert differences(index.contents(), fresh_contents(repository.root, tmp_path, index.options)) == {}


def test_a_rewritten_history_leaves_no_trace_that_shows(repository: TinyRepository, index: Index) -> None:
    repository.commit("Second zebra")
    index.run()
    git(repository.root, "commit", "-q", "--amend", "--allow-empty", "-m", "Second horse")
    git(repository.root, "reflog", "expire", "--expire=now", "--all")
    git(repository.root, "gc", "-q", "--prune=now")
    index.run()
    assert (subjects(index), words_of(index, "zebra")) == (["Begin", "Second horse"], 0)


def test_commits_out_of_sight_do_not_pile_up(
    repository: TinyRepository, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "MAX_HIDDEN", 1)
    for number in range(3):
        repository.commit(f"Number {number}")
    index.run()
    repository.checkout("HEAD~1")
    index.run()
    assert len(index.store.keys(Kind.COMMIT)) == 4
    repository.checkout("HEAD~1")
    index.run()
    assert len(index.store.keys(Kind.COMMIT)) == 2
    repository.checkout("main")
    index.run()
    assert subjects(index) == ["Begin", "Number 0", "Number 1", "Number 2"]
    assert index.faults() == []


class TestFoldersWithLittleOrNoHistory:
    def test_a_folder_without_git(self, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "root" / "a.py").write_text("x = 1\n")
        index = Index(tmp_path / "root", tmp_path / "index.db")
        report = index.run()
        assert (report.files, report.commits_added, report.notes) == (1, 0, ())
        assert index.run().is_fresh
        index.close()

    def test_an_unborn_head(self, tmp_path: Path) -> None:
        root = new_repository(tmp_path / "root")
        (root / "a.py").write_text("x = 1\n")
        index = Index(root, tmp_path / "index.db")
        report = index.run()
        assert (report.files, report.commits_added, report.notes) == (1, 0, ())
        commit(root, "First")
        assert index.run().commits_added == 1
        git(root, "checkout", "-q", "--orphan", "fresh")
        index.run()
        assert subjects(index) == []
        index.close()

    def test_a_repository_that_is_removed(self, repository: TinyRepository, index: Index) -> None:
        index.run()
        (repository.root / ".git").rename(repository.root.with_name("elsewhere"))
        index.run()
        assert subjects(index) == []
        assert index.run().is_fresh


class TestClonesThatLackSomething:
    """What is missing is said by every run, so that equal questions have equal answers."""

    @pytest.fixture
    def origin(self, tmp_path: Path) -> Path:
        origin = new_repository(tmp_path / "origin")
        for number in range(4):
            commit(origin, f"Number {number}", {f"src/f{number}.py": f"x = {number}\n"})
        git(origin, "config", "uploadpack.allowFilter", "true")
        return origin

    def clone(self, origin: Path, *arguments: str) -> Index:
        root = origin.with_name("clone")
        git(origin.parent, "clone", "-q", *arguments, f"file://{origin}", str(root))
        origin.rename(origin.with_name("unreachable"))
        return Index(root, origin.with_name("index.db"))

    def test_a_shallow_clone(self, origin: Path) -> None:
        index = self.clone(origin, "--depth", "2")
        report = index.run()
        assert subjects(index) == ["Number 2", "Number 3"]
        assert [note.message for note in report.notes] == ["this is a shallow clone: older history is missing"]
        again = index.run()
        assert (again.notes, again.is_fresh) == (report.notes, True)
        index.close()

    def test_a_clone_without_old_contents_has_its_whole_history(self, origin: Path) -> None:
        index = self.clone(origin, "--filter=blob:none")
        report = index.run()
        assert (report.commits_added, report.files, report.notes) == (4, 4, ())
        index.close()

    def test_a_clone_without_old_folders_has_only_messages(self, origin: Path) -> None:
        index = self.clone(origin, "--filter=tree:0")
        report = index.run()
        assert len(subjects(index)) == 4
        assert "which files" in report.notes[0].message
        again = index.run()
        assert (again.notes, again.is_fresh) == (report.notes, True)
        index.close()


class TestGitThatFails:
    def break_history(self, repository: TinyRepository) -> None:
        """Take away the commit in the middle of three."""
        middle = repository.commit("Middle")
        repository.commit("Last", {"b.py": "x = 1\n"})
        (repository.root / ".git" / "objects" / middle[:2] / middle[2:]).unlink()

    def test_what_could_be_read_is_kept_and_the_failure_noted(self, repository: TinyRepository, index: Index) -> None:
        self.break_history(repository)
        for _ in range(2):
            report = index.run()
            assert [note.source for note in report.notes] == ["commits"]
            assert (
                "git log ended with exit code" in report.notes[0].message or "git rev-list" in report.notes[0].message
            )
            assert report.files == 3
        assert index.faults() == []

    def test_a_missing_git_leaves_files_and_known_commits(
        self, repository: TinyRepository, index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        index.run()
        repository.commit("Second", {"b.py": "x = 1\n"})
        monkeypatch.setenv("PATH", str(tmp_path))
        report = index.run()
        assert "git cannot be started" in report.notes[0].message
        assert (report.files, subjects(index)) == (3, ["Begin"])
        monkeypatch.undo()
        assert index.run().commits_added == 1

    @pytest.mark.skipif(os.name != "posix", reason="a script stands in for git")
    def test_a_git_that_says_nothing_does_not_keep_anybody_who_wants_to_stop(
        self, index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        silent = tmp_path / "bin" / "git"
        silent.parent.mkdir()
        silent.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
        silent.chmod(0o755)
        monkeypatch.setenv("PATH", f"{silent.parent}:{os.environ['PATH']}")
        questions = itertools.count()
        report = index.run(lambda: next(questions) > 3)
        assert report.interrupted
        assert index.faults() == []


messages = st.text(st.sampled_from("ab_AB (.\n") | st.characters(exclude_categories=["Cs"]), max_size=300)


@given(st.lists(messages, max_size=4))
def test_many_messages_counted_at_once_have_the_words_of_each(texts: list[str]) -> None:
    for text, extraction in zip(texts, extract_records(texts, COMMIT_LANGUAGE), strict=True):
        outline = Outline(COMMIT_LANGUAGE, (Part(Role.RECORD, "", 1, text.count("\n") + 1),))
        alone = extract(text, outline)
        assert counted_words(extraction) == counted_words(alone)
        assert extraction.span_columns == alone.span_columns


def counted_words(extraction: Extraction) -> dict[tuple[int, str], int]:
    """(span, term) -> count."""
    body = extraction.body
    terms = [extraction.vocabulary[number] for number in memoryview(body.terms).cast("I")]
    return dict(zip(zip(memoryview(body.units).cast("I"), terms, strict=True), body.counts, strict=True))


@given(messages)
def test_the_quick_way_counts_the_words_of_a_message_like_the_long_one(message: str) -> None:
    outline = Outline(COMMIT_LANGUAGE, (Part(Role.RECORD, "", 1, message.count("\n") + 1),))
    assert extract_record(message, COMMIT_LANGUAGE) == extract(message, outline)


def test_a_configuration_that_includes_others_since_the_last_index_is_named_and_the_history_stays(
    repository: TinyRepository, index: Index
) -> None:
    index.run()
    config = repository.root / ".git" / "config"
    before = config.read_text()
    config.write_text(f"{before}[include]\n\tpath = ../other\n")
    repository.write({"new.py": "x = 1\n"})
    for _ in range(2):
        (note,) = index.run().notes
        assert (note.source, note.message) == ("commits", "config in .git includes other files, which are not read")
        assert subjects(index) == ["Begin"]
    config.write_text(before)
    repository.commit("Second zebra")
    assert index.run().notes == ()
    assert subjects(index) == ["Begin", "Second zebra"]


PEOPLE = "Ann Smith <ann@a.org> <ann@old.org>\nBob Ray <bob@b.org>\n"


def test_another_mailmap_names_the_authors_of_all_commits_without_reading_them_again(
    repository: TinyRepository, index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit(repository.root, "One", {"a.py": "x = 1\n"}, GIT_AUTHOR_NAME="asmith", GIT_AUTHOR_EMAIL="ann@old.org")
    commit(repository.root, "Two", {"b.py": "x = 1\n"}, GIT_AUTHOR_NAME="bob", GIT_AUTHOR_EMAIL="bob@b.org")
    index.run()
    repository.checkout("HEAD~1")
    index.run()
    (repository.root / ".mailmap").write_text(PEOPLE)
    with monkeypatch.context() as patch:
        patch.setattr(update, "new_commits", None)
        patch.setattr(update, "visible_commits", None)
        report = index.run()
    assert (report.commits_added, report.commits_hidden) == (0, 1)
    assert index.faults() == []
    repository.checkout("main")
    index.run()
    assert differences(index.contents(), fresh_contents(repository.root, tmp_path)) == {}
    assert authors_of(index) == {"Begin": "Ada", "One": "Ann Smith", "Two": "Bob Ray"}
    (repository.root / ".mailmap").unlink()
    index.run()
    assert authors_of(index) == {"Begin": "Ada", "One": "asmith", "Two": "bob"}


def test_a_commit_that_is_gone_cannot_be_named_by_another_mailmap(repository: TinyRepository, index: Index) -> None:
    repository.commit("Second")
    index.run()
    git(repository.root, "commit", "-q", "--amend", "--allow-empty", "-m", "Third")
    index.run()
    git(repository.root, "reflog", "expire", "--expire=now", "--all")
    git(repository.root, "gc", "-q", "--prune=now")
    (repository.root / ".mailmap").write_text(PEOPLE)
    report = index.run()
    assert (report.notes, subjects(index), index.store.hidden_keys(Kind.COMMIT)) == ((), ["Begin", "Third"], set())
    assert index.run().is_fresh


def test_authors_keep_their_names_until_another_mailmap_is_read_to_its_end(
    repository: TinyRepository, index: Index
) -> None:
    index.run()
    (repository.root / ".mailmap").write_text("Best Person <ada@example.org>\n")
    for number in range(1, 12):
        index.run(stopping_at(number))
        assert index.faults() == []
    index.run()
    assert authors_of(index) == {"Begin": "Best Person"}


def authors_of(index: Index) -> dict[str, str]:
    """The author of each visible commit by title."""
    found = (index.store.document(Kind.COMMIT, key) for key in index.store.iterate_keys(Kind.COMMIT))
    return {document.title: document.fields["author"] for document in found if document is not None}
