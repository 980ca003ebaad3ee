from __future__ import annotations

from pathlib import Path

import pytest

from satchel.errors import GitError
from satchel.sources.change import blob, earlier_blobs, resolve, staged_entries, tree_entries
from satchel.system.git import Repository, find_repository
from tests.repositories import commit, git, new_repository

ODD = "folder/näme with\nline 'quote'.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = new_repository(tmp_path / "shop")
    commit(root, "One", {"a.py": "one\n", ODD: "odd\n", "-x": "dash\n"})
    commit(root, "Two", {"a.py": "two\n"})
    return root


def opened(folder: Path) -> Repository:
    repository = find_repository(folder)
    assert repository is not None
    return repository


def test_a_tree_and_the_staging_area_list_the_same_files(folder: Path) -> None:
    repository = opened(folder)
    tree, staged = tree_entries(repository, "HEAD"), staged_entries(repository)
    assert set(tree) == set(staged) == {"a.py", ODD, "-x"}
    assert {path: entry.blob for path, entry in tree.items()} == {path: entry.blob for path, entry in staged.items()}
    assert tree["a.py"].stamp is None


def test_a_staged_file_knows_its_size_and_time(folder: Path) -> None:
    status = (folder / ODD).stat()
    assert staged_entries(opened(folder))[ODD].stamp == (4, status.st_mtime_ns)


def test_of_a_conflict_our_side_counts(folder: Path) -> None:
    repository = opened(folder)
    ours, theirs = (tree_entries(repository, name)["a.py"].blob for name in ("HEAD", "HEAD~1"))
    lines = "".join(f"100644 {one} {stage}\ta.py\n" for stage, one in ((1, theirs), (2, ours), (3, theirs)))
    git(folder, "rm", "-q", "--cached", "a.py")
    git(folder, "update-index", "--index-info", stdin=lines.encode())
    assert staged_entries(repository)["a.py"].blob == ours


def test_an_empty_staging_area_has_no_files(tmp_path: Path) -> None:
    assert staged_entries(opened(new_repository(tmp_path / "empty"))) == {}


def test_a_blob_is_its_bytes_unless_it_is_too_large_or_missing(folder: Path) -> None:
    repository = opened(folder)
    identity = tree_entries(repository, "HEAD")["a.py"].blob
    assert blob(repository, identity, 100) == b"two\n"
    assert blob(repository, identity, 3) is None
    assert blob(repository, "0" * 40, 100) is None


def test_earlier_contents_of_a_path_come_newest_first(folder: Path) -> None:
    commit(folder, "Three", {"a.py": None})
    repository = opened(folder)
    assert [blob(repository, one, 100) for one in earlier_blobs(repository, "a.py", 10)] == [b"two\n", b"one\n"]
    assert len(list(earlier_blobs(repository, ODD, 10))) == 1
    assert list(earlier_blobs(repository, "*", 10)) == []


def test_a_revision_is_resolved_and_never_an_option(folder: Path) -> None:
    repository = opened(folder)
    assert resolve(repository, "HEAD~1") == git(folder, "rev-parse", "HEAD~1").strip()
    for wrong in ("nowhere", "--all", "HEAD:a.py"):
        with pytest.raises(GitError):
            resolve(repository, wrong)
