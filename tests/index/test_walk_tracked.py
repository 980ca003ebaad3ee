"""The walk in a repository: what git tracks is read, whatever its name and whatever a rule of git says."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.index.walk import WalkOptions, walk
from satchel.system.git import find_repository
from satchel.system.git_index import tracked
from tests.index.test_walk import build, paths
from tests.repositories import commit, git, new_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "root")


def test_a_tracked_file_is_read_whatever_its_name_and_an_untracked_one_is_not(root: Path) -> None:
    names = (".zshrc", ".config/nvim/init.lua", ".storybook/main.js", "app/.server/db.ts", ".tool-versions")
    commit(root, "first", dict.fromkeys(names, "x"))
    build(root, {".cache/x.py": "", ".storybook/local.js": "", "app/.server/left.ts": "", ".bashrc": ""})
    found = walk(root)
    assert paths(found) == sorted(names)
    assert found.skipped_paths == {"hidden": (".bashrc", ".cache", ".storybook/local.js", "app/.server/left.ts")}


def test_a_tracked_file_is_read_although_gitignore_names_it(root: Path) -> None:
    build(root, {".gitignore": "build/\n*.gen.py\n", "build/tool.py": "", "build/deep/x.py": "", "a.gen.py": ""})
    git(root, "add", "-f", "build/tool.py", "a.gen.py")
    build(root, {"build/other.py": "", "b.gen.py": ""})
    found = walk(root)
    assert paths(found) == ["a.gen.py", "build/tool.py"]
    assert found.skipped_paths["ignored"] == ("b.gen.py", "build/deep", "build/other.py")


def test_a_file_of_rules_for_satchel_hides_a_tracked_file_and_is_counted_apart(root: Path) -> None:
    commit(root, "first", {"src/evil.py": "", "data/big.py": "", "a.py": ""})
    build(root, {".satchelignore": "evil.py", ".ignore": "data/", ".git/info/exclude": "a.py"})
    found = walk(root)
    assert paths(found) == ["a.py"]
    assert found.skipped_paths["ignored-tracked"] == ("data", "src/evil.py")


@pytest.mark.parametrize("mark", ["CACHEDIR.TAG", "pyvenv.cfg", ".git"])
def test_a_mark_of_a_tool_in_a_folder_hides_no_tracked_file(root: Path, mark: str) -> None:
    commit(root, "first", {"src/evil.py": "", "src/deep/more.py": ""})
    if mark == ".git":
        new_repository(root / "src")
    else:
        build(root, {f"src/{mark}": "Signature: 8a477f597d28d172789f06886806bc55"})
    build(root, {"src/untracked.py": ""})
    assert paths(walk(root)) == ["src/deep/more.py", "src/evil.py"]


def test_secrets_and_packages_of_others_are_not_read_even_if_tracked_but_such_packages_are_told(root: Path) -> None:
    commit(root, "first", {".env": "x", ".npmrc": "x", "node_modules/a/index.js": "", ".ssh/config": "", "a.py": ""})
    found = walk(root)
    assert paths(found) == ["a.py"]
    assert found.skipped == {"secret-file": 3, "vendored-tracked": 1}


def test_a_name_with_a_hidden_character_is_left_out_and_counted(root: Path) -> None:
    commit(root, "first", {"ev\u200bil.py": "", "a.py": ""})
    found = walk(root)
    assert paths(found) == ["a.py"]
    assert sum(found.skipped.values()) == 1


def test_the_ignore_file_of_the_user_counts_where_git_uses_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(root, {"private.md": "", "local.txt": "", "a.py": ""})
    home = build(tmp_path / "home", {".config/git/ignore": "private.md", "own-rules": "local.txt"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert paths(walk(root)) == ["a.py", "local.txt"]
    (home / ".gitconfig").write_text("[user]\n\tname = x\n[core]\n\texcludesFile = ~/own-rules\n")
    assert paths(walk(root)) == ["a.py", "private.md"]
    git(root, "add", "-f", "local.txt")
    assert paths(walk(root)) == ["a.py", "local.txt", "private.md"]
    assert "a.py" in paths(walk(tmp_path / "root", WalkOptions()))


def test_outside_of_a_repository_the_ignore_file_of_the_user_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = build(tmp_path / "home", {".config/git/ignore": "private.md"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert paths(walk(build(tmp_path / "plain", {"private.md": ""}))) == ["private.md"]


def test_a_root_inside_the_work_tree_knows_what_is_tracked_below_it(root: Path) -> None:
    commit(root, "first", {"sub/.hidden/a.py": "", ".hidden/b.py": ""})
    assert paths(walk(root / "sub")) == [".hidden/a.py"]


def test_a_submodule_that_is_not_checked_out_is_counted(root: Path, tmp_path: Path) -> None:
    library = new_repository(tmp_path / "library")
    commit(library, "first", {"x.py": ""})
    commit(root, "first", {"a.py": ""})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    git(root, "submodule", "deinit", "-q", "-f", "lib")
    assert walk(root).skipped_paths == {"submodule": ("lib",)}


def test_what_a_sparse_checkout_leaves_out_is_counted(root: Path) -> None:
    commit(root, "first", {"alpha/a.py": "", "beta/b.py": "", "beta/c.py": ""})
    git(root, "sparse-checkout", "set", "alpha")
    found = walk(root)
    assert paths(found) == ["alpha/a.py"]
    assert found.skipped_paths == {"not-checked-out": ("beta/b.py", "beta/c.py")}
    assert paths(walk(root / "alpha")) == ["a.py"]
    assert not walk(root / "alpha").skipped


FILES = {".hidden/deep/one.py": "", "a.py": "", "a/b.py": "", "a-b.py": "", "ü/é.py": "", f"{'long/' * 40}x.py": ""}


@pytest.mark.parametrize("form", ["version 2", "version 3", "version 4", "split", "sha256"])
def test_each_form_of_the_index_of_git_gives_the_same_paths(tmp_path: Path, form: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q", "-b", "main", f"--object-format={'sha256' if form == 'sha256' else 'sha1'}")
    build(root, FILES)
    git(root, "add", ".")
    if form == "version 4":
        git(root, "update-index", "--index-version", "4")
    elif form == "version 3":
        build(root, {"later.py": ""})
        git(root, "add", "--intent-to-add", "later.py")
    elif form == "split":
        git(root, "update-index", "--split-index")
        build(root, {"later.py": ""})
        git(root, "add", "later.py")
    repository = find_repository(root)
    assert repository is not None
    expected = sorted(filter(None, git(root, "ls-files", "-z").split("\0")))
    assert sorted(path.decode() for path in tracked(repository).paths) == expected


@pytest.mark.parametrize(
    "damage", [b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff", b"DIRC\0\0\0\4\0\0\0\1" + b"\xff" * 90]
)
def test_an_index_that_makes_no_sense_tracks_nothing(root: Path, damage: bytes) -> None:
    (root / ".git" / "index").write_bytes(damage)
    build(root, {".hidden": "", "a.py": ""})
    assert paths(walk(root)) == ["a.py"]
