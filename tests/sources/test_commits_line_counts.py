"""The changed lines of shown commits: counted once, never at the price of an answer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from satchel.sources import commits
from satchel.sources.commits import Counted, LineCounts, diff_stat
from satchel.system import git as git_module
from satchel.types import ShouldStop, never
from tests.repositories import commit, git, new_repository


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "tree")


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository that can be cloned in part."""
    origin = new_repository(tmp_path / "origin")
    git(origin, "config", "uploadpack.allowFilter", "true")
    for number in range(3):
        commit(origin, f"number {number}", {"a.py": f"{number}\n"})
    return origin


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commits that git was asked about, one list a process."""
    asked: list[list[str]] = []

    def noted(
        repository: git_module.Repository, shas: Iterable[str], *, should_stop: ShouldStop = never
    ) -> dict[str, tuple[int, int] | None]:
        asked.append(list(shas))
        return diff_stat(repository, asked[-1], should_stop=should_stop)

    monkeypatch.setattr(commits, "diff_stat", noted)
    return asked


def test_one_process_counts_all_that_are_new_and_none_what_is_known(tree: Path, processes: list[list[str]]) -> None:
    first = commit(tree, "first", {"a.py": "1\n2\n"})
    second = commit(tree, "second", {"a.py": "1\nx\n"})
    counts = LineCounts(tree)
    assert counts.of([first]) == Counted({first: (2, 0)})
    assert counts.of([second, first, second]) == Counted({second: (1, 1), first: (2, 0)})
    assert counts.of([first, second]).lines == {first: (2, 0), second: (1, 1)}
    assert processes == [[first], [second]]


def test_what_is_remembered_is_bounded(tree: Path, processes: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "REMEMBERED_COMMITS", 1)
    shas = [commit(tree, "more", {"a.py": "x\n" * number}) for number in (1, 2)]
    counts = LineCounts(tree)
    for sha in (*shas, shas[0], shas[0]):
        assert counts.of([sha]).lines == {sha: (1, 0)}
    assert processes == [[shas[0]], [shas[1]], [shas[0]]]


def test_a_commit_at_the_edge_of_a_shallow_clone_is_named(origin: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), "clone")
    head = git(origin, "rev-parse", "HEAD").strip()
    counts = LineCounts(tmp_path / "clone")
    counted = counts.of([head])
    assert counted.lines == {head: None}
    (failure,) = counted.failures
    assert "1 commit changed is unknown: this shallow clone" in failure.message
    git(tmp_path / "clone", "fetch", "-q", "--unshallow")
    assert counts.of([head]) == Counted({head: (1, 1)})


def test_a_clone_without_contents_is_named_and_nothing_is_fetched(origin: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", origin.as_uri(), "clone")
    shas = git(origin, "log", "--format=%H").split()
    objects = sorted((tmp_path / "clone" / ".git" / "objects").rglob("*"))
    counted = LineCounts(tmp_path / "clone").of(shas)
    assert counted.lines == dict.fromkeys(shas)
    (failure,) = counted.failures
    assert "3 commits changed is unknown: this is a partial clone" in failure.message
    assert sorted((tmp_path / "clone" / ".git" / "objects").rglob("*")) == objects


def test_the_advice_for_a_clone_without_contents_helps(origin: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", origin.as_uri(), "clone")
    shas = git(origin, "log", "--format=%H").split()
    counts = LineCounts(tmp_path / "clone")
    (failure,) = counts.of(shas).failures
    git(tmp_path / "clone", *failure.hint.split()[1:], "-q")
    assert counts.of(shas) == Counted({shas[0]: (1, 1), shas[1]: (1, 1), shas[2]: (1, 0)})


def test_a_commit_that_git_does_not_know_is_a_note(tree: Path) -> None:
    commit(tree, "first", {"a.py": "1\n"})
    counted = LineCounts(tree).of(["0" * 40])
    assert counted.lines == {"0" * 40: None}
    assert "bad object" in counted.failures[0].message


def test_a_folder_that_lost_its_repository_is_a_note(tmp_path: Path) -> None:
    counted = LineCounts(tmp_path).of(["0" * 40])
    assert counted.lines == {"0" * 40: None}
    assert "no repository here" in counted.failures[0].message


def test_an_answer_does_not_wait_for_a_huge_commit_twice(tree: Path, processes: list[list[str]]) -> None:
    sha = commit(tree, "first", {"a.py": "1\n"})
    counts = LineCounts(tree, patience_seconds=0.0)
    counted = counts.of([sha])
    assert counted.lines == {sha: None}
    assert "takes longer than 0 s" in counted.failures[0].message
    assert counts.of([sha]) == counted
    assert processes == [[sha]]
