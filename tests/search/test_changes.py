"""What the history says of files, told from a real index of a real repository."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UnsafePathError, UsageError
from satchel.search.changes import FileHistory
from tests.repositories import commit, git, new_repository

DAY = 86_400
NOW = 1_700_000_000.0

Open = Callable[..., Satchel]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens roots with folders of their own, and closes them."""
    satchels: list[Satchel] = []

    def open_root(root: Path, **settings: object) -> Satchel:
        environ = {"SATCHEL_HOME": str(tmp_path / "home")}
        satchels.append(Satchel.open(root, root=root, settings=settings, environ=environ))
        return satchels[-1]

    yield open_root
    for satchel in satchels:
        satchel.close()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "tree")


def change(tree: Path, message: str, files: dict[str, str | bytes | None], *, days: float, author: str = "Ada") -> str:
    """A commit so many days before `NOW`."""
    when = f"{int(NOW - days * DAY)} +0000"
    return commit(tree, message, files, GIT_COMMITTER_DATE=when, GIT_AUTHOR_DATE=when, GIT_AUTHOR_NAME=author)


def subjects(history: FileHistory) -> list[str]:
    return [change.subject for change in history.changes]


def test_the_history_of_a_file_is_newest_first_and_bounded(tree: Path, opened: Open) -> None:
    for number in range(4):
        change(tree, f"number {number}", {"src/a.py": f"x = {number}\n", f"{number}.py": "\n"}, days=9 - number)
    change(tree, "elsewhere", {"b.py": "\n"}, days=1)
    history = opened(tree).file_history("src/a.py", limit=3)
    assert subjects(history) == ["number 3", "number 2", "number 1"]
    assert (history.path, history.total, history.former) == ("src/a.py", 4, ())
    first = history.changes[0]
    assert (first.author, first.time, first.paths, first.file_count) == ("Ada", NOW - 6 * DAY, ("src/a.py",), 2)
    assert len(first.sha) == 40


def test_the_history_of_a_folder_and_of_everything(tree: Path, opened: Open) -> None:
    change(tree, "one", {"src/a.py": "1\n", "src/b.py": "1\n", "c.py": "1\n"}, days=3)
    change(tree, "two", {"src/b.py": "2\n"}, days=2)
    change(tree, "three", {"srcs.py": "3\n"}, days=1)
    satchel = opened(tree)
    folder = satchel.file_history("src/")
    assert [(row.subject, row.paths) for row in folder.changes] == [
        ("two", ("src/b.py",)),
        ("one", ("src/a.py", "src/b.py")),
    ]
    assert subjects(satchel.file_history()) == subjects(satchel.file_history(tree)) == ["three", "two", "one"]


def test_a_moved_file_keeps_its_history_under_both_names(tree: Path, opened: Open) -> None:
    change(tree, "begin", {"old.py": "x = 1\ny = 2\n"}, days=5)
    change(tree, "first move", {"old.py": None, "mid.py": "x = 1\ny = 2\n"}, days=4)
    change(tree, "second move", {"mid.py": None, "new.py": "x = 1\ny = 2\n"}, days=3)
    change(tree, "go on", {"new.py": "x = 1\ny = 3\n"}, days=2)
    satchel = opened(tree)
    history = satchel.file_history("new.py")
    assert subjects(history) == ["go on", "second move", "first move", "begin"]
    assert history.former == ("mid.py", "old.py")
    assert {row.paths for row in history.changes} == {("new.py",)}
    assert satchel.file_history("old.py") == history


def test_a_name_that_is_used_again_has_its_own_history(tree: Path, opened: Open) -> None:
    change(tree, "begin", {"a.py": "x = 1\ny = 2\n"}, days=5)
    change(tree, "move", {"a.py": None, "b.py": "x = 1\ny = 2\n"}, days=4)
    change(tree, "another file", {"a.py": "z = 1\n"}, days=3)
    satchel = opened(tree)
    assert subjects(satchel.file_history("a.py")) == ["another file"]
    assert subjects(satchel.file_history("b.py")) == ["move", "begin"]


def test_a_file_that_is_gone_has_a_history(tree: Path, opened: Open) -> None:
    change(tree, "begin", {"a.py": "x = 1\n", "b.py": "\n"}, days=5)
    change(tree, "remove it", {"a.py": None}, days=4)
    assert subjects(opened(tree).file_history("a.py")) == ["remove it", "begin"]


def test_a_file_without_commits_has_an_empty_history(tree: Path, opened: Open) -> None:
    change(tree, "begin", {"a.py": "x = 1\n"}, days=5)
    (tree / "new.py").write_text("y = 2\n")
    assert opened(tree).file_history("new.py") == FileHistory("new.py", (), 0, ())


def test_only_what_head_reaches_is_told(tree: Path, opened: Open) -> None:
    change(tree, "begin", {"a.py": "x = 1\ny = 2\n"}, days=5)
    change(tree, "move", {"a.py": None, "b.py": "x = 1\ny = 2\n"}, days=4, author="Eve")
    satchel = opened(tree)
    assert subjects(satchel.file_history("b.py")) == ["move", "begin"]
    git(tree, "checkout", "-q", "HEAD~1")
    satchel.index()
    assert subjects(satchel.file_history("a.py")) == ["begin"]
    assert [row.name for row in satchel.authors()] == ["Ada"]
    assert [row.path for row in satchel.churn(now=NOW)] == ["a.py"]


def test_commits_of_the_same_second_come_as_git_tells_them(tree: Path, opened: Open) -> None:
    for number in range(6):
        change(tree, f"number {number}", {"a.py": f"x = {number}\n"}, days=1)
    assert subjects(opened(tree).file_history("a.py")) == [f"number {number}" for number in reversed(range(6))]


def test_an_unknown_path_names_what_may_be_meant(tree: Path, opened: Open) -> None:
    change(tree, "begin", {"src/client.py": "x = 1\n", "src/prices.py": "y = 1\n"}, days=5)
    satchel = opened(tree)
    for wrong in ("client.py", "src/clinet.py"):
        with pytest.raises(UsageError, match=r"knows '.*': did you mean src/client\.py"):
            satchel.file_history(wrong)
    with pytest.raises(UsageError, match="paths are relative to the root"):
        satchel.churn(path="0123456789")
    with pytest.raises(UnsafePathError, match="outside the root"):
        satchel.authors("../elsewhere")


def test_without_commits_that_is_said(tmp_path: Path, opened: Open) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    satchel = opened(folder)
    assert satchel.file_history().total == 0
    assert satchel.churn() == []
    with pytest.raises(UsageError, match="no commit is indexed here"):
        satchel.authors("b.py")


def test_churn_counts_the_last_days_only(tree: Path, opened: Open) -> None:
    change(tree, "old", {"a.py": "0\n", "b.py": "0\n"}, days=100)
    change(tree, "two", {"a.py": "1\n", "b.py": "1\n"}, days=20)
    change(tree, "three", {"a.py": "2\n"}, days=10, author="Eve")
    satchel = opened(tree)
    rows = satchel.churn(90, now=NOW)
    assert [(row.path, row.commits, row.authors) for row in rows] == [("a.py", 2, 2), ("b.py", 1, 1)]
    assert rows[0].last == NOW - 10 * DAY
    assert [row.path for row in satchel.churn(200, now=NOW, limit=1)] == ["a.py"]
    assert [row.commits for row in satchel.churn(200, now=NOW, path="b.py")] == [2]
    assert satchel.churn(5, now=NOW) == []


def test_authors_are_counted_over_a_path_or_over_everything(tree: Path, opened: Open) -> None:
    change(tree, "one", {"a.py": "1\n"}, days=3, author="Eve")
    change(tree, "two", {"a.py": "2\n"}, days=2)
    change(tree, "three", {"b.py": "3\n"}, days=1)
    satchel = opened(tree)
    assert [(row.name, row.commits) for row in satchel.authors()] == [("Ada", 2), ("Eve", 1)]
    (ada, eve) = satchel.authors("a.py")
    assert (ada.first, ada.last, eve.first) == (NOW - 2 * DAY, NOW - 2 * DAY, NOW - 3 * DAY)
    assert len(satchel.authors(limit=1)) == 1


def test_the_views_are_coroutines_too(tree: Path, opened: Open) -> None:
    change(tree, "one", {"a.py": "1\n"}, days=3)
    satchel = opened(tree)
    assert asyncio.run(satchel.afile_history("a.py")) == satchel.file_history("a.py")
    assert asyncio.run(satchel.achurn(9, now=NOW)) == satchel.churn(9, now=NOW)
    assert asyncio.run(satchel.aauthors()) == satchel.authors()


def test_impossible_numbers_are_refused(tree: Path, opened: Open) -> None:
    change(tree, "one", {"a.py": "1\n"}, days=3)
    satchel = opened(tree)
    with pytest.raises(UsageError, match="limit is 0: give a whole number, at least 1"):
        satchel.churn(limit=0)
    with pytest.raises(UsageError, match="days is 0: give a whole number, at least 1"):
        satchel.churn(0)


def test_a_root_inside_a_repository_sees_what_is_below_it(tree: Path, opened: Open) -> None:
    change(tree, "outside", {"top.py": "1\n"}, days=4)
    change(tree, "inside", {"app/old.py": "x = 1\ny = 2\n", "top.py": "2\n"}, days=3)
    change(tree, "move", {"app/old.py": None, "app/new.py": "x = 1\ny = 2\n"}, days=2)
    satchel = opened(tree / "app")
    history = satchel.file_history("new.py")
    assert subjects(history) == ["move", "inside"]
    assert history.former == ("old.py",)
    assert subjects(satchel.file_history()) == ["move", "inside"]
    assert [row.path for row in satchel.churn(now=NOW)] == ["new.py"]


def test_what_is_told_is_cleaned_and_redacted(tree: Path, opened: Open) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    change(tree, f"use {secret}", {"a\u202eb.py": "1\n"}, days=3, author=f"Eve {secret}")
    satchel = opened(tree)
    (commit,) = satchel.file_history().changes
    shown = f"{commit.subject} {commit.author} {commit.paths} {satchel.authors()} {satchel.churn(now=NOW)}"
    assert secret not in shown
    assert "\u202e" not in shown


def test_a_path_in_another_spelling_is_that_of_the_only_file_like_it(tree: Path, opened: Open) -> None:
    change(tree, "both", {"Src/App.py": "x = 1\n", "src/käse.py": "y = 1\n"}, days=2)
    satchel = opened(tree)
    assert satchel.file_history("src/app.py", limit=3).path == "Src/App.py"
    assert satchel.file_history(unicodedata.normalize("NFD", "src/käse.py"), limit=3).path == "src/käse.py"
    change(tree, "another", {"src/app.py": "x = 1\n"}, days=1)
    satchel.index()
    assert subjects(satchel.file_history("src/app.py", limit=3)) == ["another"]
