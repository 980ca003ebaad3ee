"""Changes besides lines, renames, untracked files, and the hunks of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.sources import change as change_module
from satchel.sources.change import Change, ChangedFile, ChangeOptions, Hunk, change_data, change_from, read_change
from satchel.system.git import find_repository
from tests.repositories import commit, git, new_repository

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = new_repository(tmp_path / "shop")
    commit(root, "Base", {"a.py": "one = 1\ntwo = 2\nthree = 3\n", "notes.md": TEXT, "run.sh": "echo run\n"})
    return root


def changed(folder: Path, revision: str = "HEAD", *, staged: bool = False) -> Change:
    repository = find_repository(folder)
    assert repository is not None
    files = (path for path in folder.rglob("*") if path.is_file() and not {".git", "sub"} & {*path.parts})
    indexed = frozenset(path.relative_to(folder).as_posix() for path in files if b"\0" not in path.read_bytes())
    return read_change(repository, ChangeOptions(folder, "", indexed, 100_000), revision, staged=staged)


def only(change: Change) -> ChangedFile:
    (file,) = change.files
    return file


def test_hunks_have_the_old_and_the_new_lines_with_their_numbers(folder: Path) -> None:
    (folder / "a.py").write_text("zero = 0\none = 1\ntwo = 22\n")
    hunks = only(changed(folder)).hunks
    assert hunks == (Hunk(1, 1, (), ("zero = 0",)), Hunk(2, 3, ("two = 2", "three = 3"), ("two = 22",)))


def test_a_document_has_hunks_like_code(folder: Path) -> None:
    (folder / "notes.md").write_text(TEXT.replace("line 7\n", "line seven\n"))
    assert only(changed(folder)).hunks == (Hunk(7, 7, ("line 7",), ("line seven",)),)


def test_hunks_survive_being_written_down(folder: Path) -> None:
    (folder / "a.py").write_text("one = 11\n")
    (folder / "run.sh").chmod(0o755)
    change = changed(folder)
    assert change_from(json.loads(json.dumps(change_data(change)))) == change


def test_a_renamed_file_is_one_change_with_the_lines_that_differ(folder: Path) -> None:
    git(folder, "mv", "notes.md", "guide.md")
    (folder / "guide.md").write_text(TEXT.replace("line 7\n", "line seven\n"))
    for file in (only(changed(folder)), only(changed(folder, "HEAD"))):
        assert (file.path, file.status, file.former) == ("guide.md", "renamed", "notes.md")
        assert (file.insertions, file.deletions) == (1, 1)


def test_a_file_that_only_moves_is_renamed_without_lines(folder: Path) -> None:
    git(folder, "mv", "notes.md", "guide.md")
    file = only(changed(folder, staged=True))
    assert (file.status, file.former, file.hunks) == ("renamed", "notes.md", ())


def test_a_file_that_shares_few_lines_with_a_deleted_one_is_a_new_one(folder: Path) -> None:
    (folder / "notes.md").unlink()
    (folder / "other.md").write_text("nothing\nof the kind\n")
    assert {file.path: file.status for file in changed(folder).files} == {
        "notes.md": "deleted",
        "other.md": "untracked",
    }


def test_an_untracked_file_is_part_of_a_change_of_the_work_tree_but_not_of_what_is_staged(folder: Path) -> None:
    (folder / "new.py").write_text("def born():\n    return 0\n")
    file = only(changed(folder))
    assert (file.status, file.names, file.insertions) == ("untracked", ("born",), 2)
    assert changed(folder, staged=True).files == ()
    assert changed(folder, staged=True).untracked == ("new.py",)


def test_with_very_many_untracked_files_these_are_only_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_module, "MAX_UNTRACKED", 1)
    for name in ("x.py", "y.py"):
        (folder / name).write_text("x = 1\n")
    change = changed(folder)
    assert (change.files, change.untracked) == ((), ("x.py", "y.py"))


def test_a_changed_mode_is_told(folder: Path) -> None:
    (folder / "run.sh").chmod(0o755)
    assert changed(folder).others == (("run.sh", "mode 100644 to 100755"),)
    git(folder, "add", "run.sh")
    assert changed(folder, staged=True).others == (("run.sh", "mode 100644 to 100755"),)
    assert not changed(folder).is_empty


def test_binary_files_that_come_change_and_go_are_told(folder: Path) -> None:
    commit(folder, "Pictures", {})
    (folder / "a.png").write_bytes(b"\0one")
    (folder / "b.png").write_bytes(b"\0two")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Pictures")
    (folder / "a.png").write_bytes(b"\0other")
    (folder / "b.png").unlink()
    (folder / "c.png").write_bytes(b"\0three")
    git(folder, "add", "c.png")
    told = dict(changed(folder).others)
    assert {path: what.partition(",")[0] for path, what in told.items()} == {
        "a.png": "modified", "b.png": "deleted", "c.png": "added",
    }  # fmt: skip
    assert "binary" in told["a.png"]
    assert "c.png" in dict(changed(folder, staged=True).others)


def test_a_link_that_points_elsewhere_is_told_and_an_unchanged_one_is_not(folder: Path) -> None:
    (folder / "docs").symlink_to("old/")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Link")
    assert changed(folder).is_empty
    (folder / "docs").unlink()
    (folder / "docs").symlink_to("new")
    assert changed(folder).others == (("docs", "symbolic link changed, to new"),)


def test_another_commit_of_a_submodule_is_told(folder: Path, tmp_path: Path) -> None:
    inner = new_repository(tmp_path / "inner")
    commit(inner, "First", {"x.txt": "1\n"})
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(folder, "commit", "-qm", "Submodule")
    assert changed(folder).is_empty
    commit(folder / "sub", "Second", {"x.txt": "2\n"})
    ((path, what),) = changed(folder).others
    assert path == "sub"
    assert what.startswith("submodule ")
    assert "submodule added to" in dict(changed(folder, "HEAD~1").others)["sub"]


def test_the_lines_of_a_very_large_change_are_cut_and_their_numbers_are_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_module, "MAX_LINES", 5)
    (folder / "notes.md").write_text("all new\n" * 30)
    file = only(changed(folder))
    assert sum(len(hunk.removed) + len(hunk.added) for hunk in file.hunks) <= 5
    assert (file.insertions, file.deletions) == (30, 20)
