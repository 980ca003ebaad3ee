"""Roots: the project around the current folder, never the whole machine, and a place of its own for each."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from satchel.config import Folders
from satchel.errors import NoIndexError
from satchel.system.locations import as_listed, find_root, index_path, memory_path, repository_name


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def below(folder: Path, *names: str) -> Path:
    inside = folder.joinpath(*names)
    inside.mkdir(parents=True, exist_ok=True)
    return inside


def test_the_root_is_the_work_tree_around_the_current_folder(home: Path) -> None:
    project = repository(home / "project")
    assert find_root(below(project, "src", "deep")) == project
    assert find_root(project) == project
    assert find_root(project / ".git") == project


def test_a_file_stands_for_its_folder(home: Path) -> None:
    project = repository(home / "project")
    (project / "a.py").touch()
    assert find_root(project / "a.py") == project


def test_the_innermost_work_tree_wins(home: Path) -> None:
    inner = repository(repository(home / "outer") / "inner")
    assert find_root(below(inner, "src")) == inner


def test_a_worktree_or_submodule_has_a_file_instead_of_a_folder(home: Path) -> None:
    tree = below(home, "tree")
    (tree / ".git").write_text("gitdir: /elsewhere/.git/worktrees/tree\n")
    assert find_root(below(tree, "src")) == tree


def test_an_empty_git_folder_is_no_repository(home: Path) -> None:
    project = repository(home / "project")
    assert find_root(below(project, "src", ".git").parent) == project


def test_a_work_tree_wins_over_a_nearer_settings_file(home: Path) -> None:
    project = repository(home / "project")
    package = below(project, "package")
    (package / ".satchel.toml").touch()
    assert find_root(package) == project


def test_without_git_the_nearest_settings_file_marks_the_root(home: Path) -> None:
    notes = below(home, "notes")
    (notes / ".satchel.toml").touch()
    assert find_root(below(notes, "a", "b")) == notes


def test_without_any_mark_the_root_is_the_current_folder(home: Path) -> None:
    assert find_root(below(home, "plain", "folder")) == home / "plain" / "folder"


def test_a_repository_of_dotfiles_is_not_the_root_of_everything_below(home: Path) -> None:
    repository(home)
    (home / ".satchel.toml").touch()
    repository(home.parent)
    assert find_root(below(home, "plain")) == home / "plain"


def test_an_explicit_root_is_taken_as_it_is(home: Path) -> None:
    inside = below(repository(home / "project"), "src")
    assert find_root(home, inside) == inside
    assert find_root(home, Path("~/project/src")) == inside


def test_a_root_is_absolute_and_without_links(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = repository(home / "project")
    (home / "link").symlink_to(project)
    assert find_root(home / "link") == project
    monkeypatch.chdir(project)
    assert find_root(Path()) == project


@pytest.mark.parametrize("explicit", [True, False])
def test_the_whole_machine_and_the_home_folder_are_refused(home: Path, *, explicit: bool) -> None:
    (home.parent / "link").symlink_to(home)
    for folder in (Path("/"), home, home.parent / "link"):
        with pytest.raises(NoIndexError, match=r"too much to index.*--root") as caught:
            find_root(folder, folder if explicit else None)
        assert caught.value.exit_code == 10


def test_a_missing_folder_is_refused_with_its_name(home: Path) -> None:
    with pytest.raises(NoIndexError, match=r"nowhere cannot be used as a root: No such file"):
        find_root(home, home / "nowhere")


def test_a_loop_of_links_is_refused(home: Path) -> None:
    (home / "a").symlink_to(home / "b")
    (home / "b").symlink_to(home / "a")
    with pytest.raises(NoIndexError, match="cannot be used as a root"):
        find_root(home / "a")


def test_a_file_as_explicit_root_is_refused(home: Path) -> None:
    (home / "a.py").touch()
    with pytest.raises(NoIndexError, match="is not a folder"):
        find_root(home, home / "a.py")


def test_a_bare_repository_is_refused(home: Path) -> None:
    bare = below(home, "bare.git")
    (bare / "HEAD").touch()
    below(bare, "objects")
    below(bare, "refs")
    with pytest.raises(NoIndexError, match="git repository without files"):
        find_root(bare)


def test_each_root_has_an_index_folder_of_its_own_that_tells_its_name(home: Path) -> None:
    folders = Folders.from_environment({"SATCHEL_HOME": str(home / "s")})
    one, other = below(home, "a", "my project!"), below(home, "b", "my project!")
    path = index_path(one, folders)
    assert path.parent == home / "s" / "cache" / "index"
    assert path.name.startswith("my-project-")
    assert len(path.name) == len("my-project-") + 16
    assert path == index_path(one, folders)
    assert path != index_path(other, folders)
    assert not path.exists()


def test_a_root_of_any_name_has_an_index_folder(home: Path) -> None:
    folders = Folders.from_environment({"SATCHEL_HOME": str(home / "s")})
    for name in ("x" * 250, "...", os.fsdecode(b"\xff"), "日本"):
        path = index_path(home / name, folders)
        assert path.parent == folders.cache / "index"
        assert 16 <= len(path.name) <= 57
        assert path.name.isascii()


def test_worktrees_of_one_repository_share_its_name(home: Path) -> None:
    assert repository_name(home / "project" / ".git").startswith("project-")


def test_memories_lie_with_the_users_data(home: Path) -> None:
    folders = Folders.from_environment({"SATCHEL_HOME": str(home / "s")})
    assert memory_path(folders) == home / "s" / "data" / "memory.db"


def test_a_root_has_the_name_that_its_folder_lists_on_a_disk_that_ignores_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = os.path.lexists
    composed, apart = unicodedata.normalize("NFC", "Käse"), unicodedata.normalize("NFD", "Käse")
    made = tmp_path / "Shop" / apart
    made.mkdir(parents=True)
    assert as_listed(tmp_path / "shop") == tmp_path / "shop"  # another folder, on this disk
    monkeypatch.setattr(os.path, "lexists", lambda path: exists(path) or Path(path).name.lower() == "shop")
    assert as_listed(tmp_path / "SHOP" / composed) == made
    assert as_listed(made) == made
    (tmp_path / "sHOP").mkdir()
    assert as_listed(tmp_path / "sHOP") == tmp_path / "sHOP"
