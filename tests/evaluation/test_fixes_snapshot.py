"""An earlier commit in a folder of its own: the files of then, the history until then, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.evaluation.fixes import Snapshot, contents
from satchel.sources.commits import visible_commits
from satchel.system.git import repository_at, run
from tests.evaluation.conftest import History
from tests.repositories import commit, git, git_allowing_failure, new_repository


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def expected(root: Path, revision: str, tmp_path: Path) -> dict[str, bytes]:
    clone = tmp_path / f"clone-{revision[:8]}"
    git(tmp_path, "clone", "-q", "--no-checkout", str(root), str(clone))
    git(clone, "checkout", "-q", "--detach", revision)
    return files(clone)


def test_a_snapshot_goes_from_commit_to_commit_and_knows_only_what_came_before(
    history: History, tmp_path: Path
) -> None:
    repository = repository_at(history.root)
    assert repository is not None
    before = files(history.root)
    snapshot = Snapshot(tmp_path / "past", repository, max_bytes=1_000_000)
    for revision in (history.fixes[3], history.others["moves"], history.fixes[0], history.others["revert"]):
        snapshot.move_to(revision)
        assert files(tmp_path / "past") == expected(history.root, revision, tmp_path)
        past = repository_at(tmp_path / "past")
        assert past is not None
        visible = visible_commits(past)
        assert visible[0] == revision
        later = set(history.fixes) - set(run(repository, "rev-list", revision, "--").decode().split())
        assert later.isdisjoint(visible)
    assert files(history.root) == before
    assert git(history.root, "status", "--porcelain") == ""


def test_files_that_take_the_place_of_folders_and_large_files(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    first = commit(root, "one", {"a/b": "1", "c": "2", "big": "x" * 50})
    second = commit(root, "two", {"a/b": None, "c": None, "big": "x" * 200})
    (root / "a").rmdir()
    second = commit(root, "three", {"a": "file", "c/d": "folder"})
    (root / "link").symlink_to("a")
    third = commit(root, "link")
    repository = repository_at(root)
    assert repository is not None
    snapshot = Snapshot(tmp_path / "past", repository, max_bytes=100)
    for revision, target in (
        (first, {"a/b": b"1", "c": b"2", "big": b"x" * 50}),
        (second, {"a": b"file", "c/d": b"folder"}),
        (first, {"a/b": b"1", "c": b"2", "big": b"x" * 50}),
        (third, {"a": b"file", "c/d": b"folder"}),
    ):
        snapshot.move_to(revision)
        assert files(tmp_path / "past") == target
    assert not (tmp_path / "past" / "link").exists()


def test_names_that_no_work_tree_has_are_not_written(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    blob = git(root, "hash-object", "-w", "--stdin", stdin=b"evil\n").strip()
    inner = _tree(root, [f"100644 blob {blob}\tconfig"])
    top = _tree(root, [f"040000 tree {inner}\t.GIT", f"040000 tree {inner}\t..", f"100644 blob {blob}\tgood"])
    sha = git(root, "commit-tree", "-m", "odd", top).strip()
    repository = repository_at(root)
    assert repository is not None
    snapshot = Snapshot(tmp_path / "past", repository, max_bytes=100)
    snapshot.move_to(sha)
    assert files(tmp_path / "past") == {"good": b"evil\n"}
    assert not (tmp_path / "config").exists()


def _tree(root: Path, rows: list[str]) -> str:
    """A tree object with names that git itself would refuse."""
    listed = b""
    for row in sorted(rows, key=lambda row: row.partition("\t")[2]):
        meta, _, name = row.partition("\t")
        mode, _, sha = meta.split()
        listed += mode.lstrip("0").encode() + b" " + name.encode() + b"\0" + bytes.fromhex(sha)
    return git(root, "hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=listed).strip()


def test_contents_come_in_one_stream_and_missing_ones_are_left_out(history: History) -> None:
    repository = repository_at(history.root)
    assert repository is not None
    blob = git(history.root, "rev-parse", "HEAD:README.md").strip()
    assert dict(contents(repository, [blob, "0" * 40, blob])) == {blob: b"# The shop\n"}
    assert list(contents(repository, [])) == []


def test_a_repository_with_longer_ids(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    if git_allowing_failure(root, "init", "-q", "-b", "main", "--object-format=sha256"):
        pytest.skip("this git has no SHA-256 repositories: install a newer one")
    sha = commit(root, "one", {"a": "1"})
    repository = repository_at(root)
    assert repository is not None
    snapshot = Snapshot(tmp_path / "past", repository, max_bytes=100)
    snapshot.move_to(sha)
    past = repository_at(tmp_path / "past")
    assert past is not None
    assert visible_commits(past) == [sha]
