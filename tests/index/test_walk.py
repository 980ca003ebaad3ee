"""The walk: what it finds, what it leaves out and counts, and trees made to break it."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import NoIndexError
from satchel.index import ignore
from satchel.index import walk as walk_module
from satchel.index.run import build_options
from satchel.index.walk import FileEntry, TreeWalk, WalkOptions, walk
from satchel.system.files import Skipped, read_text, stamp
from tests.repositories import commit, git, new_repository

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def build(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below a root; a path that ends in `/` is an empty folder."""
    root.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return root


def paths(found: TreeWalk) -> list[str]:
    return [entry.path for entry in found.entries]


def test_files_come_sorted_with_size_and_times(tmp_path: Path) -> None:
    root = build(tmp_path / "root", {"b.py": "12345", "a/z.py": "", "a.py": "1", "a/b/c.py": "", "empty/": ""})
    found = walk(root)
    assert paths(found) == ["a.py", "a/b/c.py", "a/z.py", "b.py"]
    assert found.entries[-1] == FileEntry("b.py", *(stamp(root, "b.py") or (0, 0, 0)))
    assert found.entries[-1].size == 5
    assert (found.skipped, found.errors, found.stopped, found.notes) == ({}, 0, False, ())


def test_the_same_tree_gives_the_same_answer(tmp_path: Path) -> None:
    names = {f"{letter}/{number}.{end}": "" for letter in "zay" for number in range(9) for end in ("py", "png")}
    root = build(tmp_path / "root", names)
    assert walk(root) == walk(root)
    assert walk(root).skipped_paths["binary"][:2] == ("a/0.png", "a/1.png")


class TestRules:
    """Which files of rules count, and which of them wins."""

    def test_gitignore_counts_only_inside_a_repository(self, tmp_path: Path) -> None:
        root = build(tmp_path / "root", {".gitignore": "b.py", "a.py": "", "b.py": ""})
        assert paths(walk(root)) == ["a.py", "b.py"]
        new_repository(root)
        assert paths(walk(root)) == ["a.py"]
        assert walk(root).skipped == {"hidden": 1, "ignored": 1}

    def test_ignore_and_satchelignore_count_everywhere(self, tmp_path: Path) -> None:
        files = {".ignore": "a.py", ".satchelignore": "b.py", "a.py": "", "b.py": "", "c.py": ""}
        assert paths(walk(build(tmp_path / "root", files))) == ["c.py"]

    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            ({".gitignore": "x.py", ".ignore": "!x.py"}, True),
            ({".ignore": "x.py", ".satchelignore": "!x.py"}, True),
            ({".gitignore": "!x.py", ".satchelignore": "x.py"}, False),
            ({".gitignore": "x.py", "d/.gitignore": "!x.py"}, True),
            ({".gitignore": "!x.py", "d/.gitignore": "x.py"}, False),
            ({".ignore": "!x.py", "d/.gitignore": "x.py"}, True),
            ({".gitignore": "!x.py", ".git/info/exclude": "x.py"}, True),
            ({".git/info/exclude": "x.py"}, False),
            ({".gitignore": "d", "d/.gitignore": "!x.py"}, False),
        ],
    )
    def test_the_stronger_and_the_deeper_file_wins(self, tmp_path: Path, files: dict[str, str], expected: bool) -> None:
        root = build(new_repository(tmp_path / "root"), {"d/x.py": "", **files})
        assert paths(walk(root)) == (["d/x.py"] if expected else [])

    def test_rules_above_a_root_inside_the_repository_count(self, tmp_path: Path) -> None:
        top = new_repository(tmp_path / "top")
        build(top, {".gitignore": "sub/a.py\n*.log", "sub/.ignore": "/inner/b.py", "sub/inner/c.py": ""})
        build(top, {"sub/a.py": "", "sub/x.log": "", "sub/inner/a.py": "", "sub/inner/b.py": ""})
        assert paths(walk(top / "sub")) == ["inner/a.py", "inner/c.py"]
        assert paths(walk(top / "sub" / "inner")) == ["a.py", "c.py"]

    def test_a_hidden_file_is_shown_when_a_rule_of_ours_takes_it_in(self, tmp_path: Path) -> None:
        files = {".satchelignore": "!.notes\n!.env", ".gitignore": "!.other", ".notes/a.md": "", ".other/b.md": ""}
        root = build(new_repository(tmp_path / "root"), {**files, ".env": "", ".github/workflows/ci.yml": ""})
        found = walk(root)
        assert paths(found) == [".github/workflows/ci.yml", ".notes/a.md"]
        assert found.skipped == {"hidden": 3, "secret-file": 1}

    def test_rules_in_a_link_or_a_pipe_are_not_read(self, tmp_path: Path) -> None:
        root = build(new_repository(tmp_path / "root"), {"a.py": "", "b.py": "", "rules": "a.py"})
        (root / ".gitignore").symlink_to("rules")
        os.mkfifo(root / ".ignore")
        assert paths(walk(root)) == ["a.py", "b.py", "rules"]

    def test_rules_beyond_a_limit_are_said_to_be_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = build(tmp_path / "root", {".ignore": "*a*b\n*a*c\n*a*d", "sub/.ignore": "x" * 100, "a.py": ""})
        monkeypatch.setattr(ignore, "WILDCARD_LIMIT", 2)
        monkeypatch.setattr(walk_module, "RULE_BYTES", 50)
        assert walk(root).notes == (
            "rules of .ignore: 1 patterns over the limit not applied",
            "rules of sub/.ignore not applied: too-large",
        )


class TestOptions:
    """Globs and limits that the caller sets."""

    FILES = {"a.py": "", "b.md": "", "src/c.py": "", "src/d.md": "", "src/deep/e.py": ""}  # noqa: RUF012 - never changed
    IGNORED = {  # noqa: RUF012 - never changed
        ".ignore": "build/\n*.log.py", "a.py": "", "src/b.md": "", "src/noise.log.py": "", "build/out.py": "",
        "build/sub/deep.py": "", ".notes/n.md": "",
    }  # fmt: skip

    @pytest.mark.parametrize(
        ("include", "exclude", "expected"),
        [
            (("build/**",), (), ["a.py", "build/out.py", "build/sub/deep.py", "src/b.md"]),
            (("build/sub/",), (), ["a.py", "build/sub/deep.py", "src/b.md"]),
            (("/build/*/deep.py",), (), ["a.py", "build/sub/deep.py", "src/b.md"]),
            (("*.py",), (), ["a.py", "src/b.md", "src/noise.log.py"]),
            ((".notes/**",), (), [".notes/n.md", "a.py", "src/b.md"]),
            (("build/**",), ("build/sub",), ["a.py", "build/out.py", "src/b.md"]),
            ((), ("src/",), ["a.py"]),
        ],
    )
    def test_include_adds_what_is_ignored_or_hidden_and_takes_nothing_away(
        self, tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], expected: list[str]
    ) -> None:
        root = build(tmp_path / "root", self.IGNORED)
        assert paths(walk(root, WalkOptions(include=include, exclude=exclude))) == expected

    def test_files_over_the_number_are_counted(self, tmp_path: Path) -> None:
        found = walk(build(tmp_path / "root", self.FILES), WalkOptions(max_files=2))
        assert (paths(found), found.skipped) == (["a.py", "b.md"], {"too-many": 3})

    def test_folders_over_the_depth_are_counted(self, tmp_path: Path) -> None:
        found = walk(build(tmp_path / "root", self.FILES), WalkOptions(max_depth=1))
        assert (paths(found)[-1], found.skipped_paths) == ("src/d.md", {"too-deep": ("src/deep",)})

    def test_only_the_first_paths_of_a_reason_are_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(walk_module, "MAX_SKIPPED", 10)
        found = walk(build(tmp_path / "root", {f"{number:03}.png": "" for number in range(50)}))
        assert found.skipped == {"binary": 50}
        assert found.skipped_paths["binary"] == tuple(f"{number:03}.png" for number in range(10))

    def test_another_file_system_is_not_entered(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = build(tmp_path / "root", {"a.py": "", "mount/b.py": ""})
        mounted = (root / "mount").stat().st_ino
        real = os.fstat

        def elsewhere(descriptor: int) -> os.stat_result:
            status = real(descriptor)
            return status if status.st_ino != mounted else os.stat_result([*status[:2], status.st_dev + 1, *status[3:]])

        monkeypatch.setattr(os, "fstat", elsewhere)
        found = walk(root)
        assert (paths(found), found.skipped_paths) == (["a.py"], {"other-file-system": ("mount",)})
        assert paths(walk(root, WalkOptions(one_file_system=False))) == ["a.py", "mount/b.py"]


class TestFoldersOfOthers:
    """Folders that are left out as a whole and count once."""

    @pytest.mark.parametrize(
        ("files", "folder"),
        [
            ({"node_modules/x/index.js": ""}, "node_modules"),
            ({"a/__pycache__/x.py": ""}, "a/__pycache__"),
            ({"env/pyvenv.cfg": "", "env/lib/x.py": ""}, "env"),
            ({"vendor/modules.txt": "", "vendor/x/y.go": ""}, "vendor"),
            ({"target/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n", "target/x.rs": ""}, "target"),
        ],
    )
    def test_packages_and_caches(self, tmp_path: Path, files: dict[str, str], folder: str) -> None:
        found = walk(build(tmp_path / "root", {"main.py": "", **files}))
        assert (paths(found), found.skipped_paths) == (["main.py"], {"vendored": (folder,)})

    def test_a_folder_that_only_sounds_like_one_is_kept(self, tmp_path: Path) -> None:
        root = build(tmp_path / "root", {"target/CACHEDIR.TAG": "none", "vendor/own.go": "", "lib/x.py": ""})
        assert paths(walk(root)) == ["lib/x.py", "target/CACHEDIR.TAG", "vendor/own.go"]

    def test_a_root_may_look_like_any_of_them(self, tmp_path: Path) -> None:
        assert paths(walk(build(tmp_path / "node_modules", {"pyvenv.cfg": "", "x.py": ""}))) == ["pyvenv.cfg", "x.py"]

    def test_nested_repositories_and_submodules(self, tmp_path: Path) -> None:
        root, library = new_repository(tmp_path / "root"), new_repository(tmp_path / "library")
        commit(library, "first", {"x.py": ""})
        commit(root, "first", {"a.py": ""})
        git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib/module")
        new_repository(root / "nested" / "inner")
        git(root, "worktree", "add", "-q", str(root / "trees" / "other"))
        git(root, "clone", "-q", "--bare", str(library), str(root / "bare.git"))
        build(root, {"nested/inner/x.py": "", "nested/b.py": ""})
        build(root, {"fake/.git/HEAD": "", "fake/c.py": "", "odd/.git": "nothing", "odd/d.py": ""})
        found = walk(root)
        assert paths(found) == [".gitmodules", "a.py", "fake/c.py", "nested/b.py", "odd/d.py"]
        assert found.skipped_paths["submodule"] == ("lib/module",)
        assert found.skipped_paths["nested-repository"] == ("bare.git", "nested/inner", "trees/other")


class TestStores:
    """Files of satchel inside the tree."""

    def test_they_are_known_under_every_name_and_never_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = build(tmp_path / "root", {"a.py": "", "index.txt": "", "index.txt-wal": "", "kept/x.txt": ""})
        os.link(root / "index.txt", root / "other name.py")
        opened: list[str] = []
        real = os.open

        def record(path: str, *arguments: int, **options: int) -> int:
            opened.append(str(path))
            return real(path, *arguments, **options)

        monkeypatch.setattr(os, "open", record)
        found = walk(root, WalkOptions(stores=(root / "index.txt", root / "kept", root / "missing")))
        assert paths(found) == ["a.py"]
        assert found.skipped_paths == {"store": ("index.txt", "index.txt-wal", "kept", "other name.py")}
        assert not [path for path in opened if "index" in path or "kept" in path or "other" in path]

    def test_index_memory_and_state_of_a_root_are_known(self, tmp_path: Path) -> None:
        root = build(tmp_path / "root", {"a.py": ""})
        environ = {"SATCHEL_HOME": str(root / "own"), "SATCHEL_EMBED_PROVIDER": "off"}
        with Satchel.open(root, root=root, environ=environ) as satchel:
            satchel.memories.add("Prices are kept in cents.")
            satchel.index()
            os.link(satchel.places.index / "index.db", root / "index.py")
            os.link(satchel.places.memory, root / "memory.py")
            places = satchel.places
            options = build_options(satchel.settings, places, b"k" * 32, vault=False)
        skipped = walk(root, options.walk).skipped_paths["store"]
        assert {"index.py", "memory.py", "own/data/memory.db", "own/state"} <= {*skipped}


class TestErrors:
    """What the system withholds is counted apart."""

    def test_a_folder_that_cannot_be_listed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = build(tmp_path / "root", {"a.py": "", "closed/b.py": "", "gone/c.py": "", "link/d.py": ""})
        codes = {"closed": errno.EACCES, "gone": errno.ENOENT, "link": errno.ELOOP}
        real = os.open

        def refuse(path: str, *arguments: int, **options: int) -> int:
            code = codes.get(str(path).rpartition("/")[2])
            if code is not None:
                raise OSError(code, os.strerror(code))
            return real(path, *arguments, **options)

        monkeypatch.setattr(os, "open", refuse)
        found = walk(root)
        assert paths(found) == ["a.py"]
        assert found.skipped_paths == {"symlink": ("link",), "unreadable": ("closed",), "vanished": ("gone",)}
        assert found.errors == 1

    def test_a_file_that_goes_away_between_listing_and_measuring(self, tmp_path: Path) -> None:
        root = build(tmp_path / "root", {"a.py": "", "b.py": ""})

        def remove_meanwhile() -> bool:
            (root / "a.py").unlink(missing_ok=True)
            return False

        found = walk(root, should_stop=remove_meanwhile)
        assert (paths(found), found.skipped, found.errors) == (["b.py"], {"vanished": 1}, 0)

    @pytest.mark.parametrize("root", ["missing", "file.txt", "loop"])
    def test_a_root_that_is_no_folder(self, tmp_path: Path, root: str) -> None:
        (tmp_path / "file.txt").touch()
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(NoIndexError, match=root):
            walk(tmp_path / root)


def test_names_that_differ_in_case_or_normal_form_are_different_files(tmp_path: Path) -> None:
    names = {"A.py", "a.py", "caf\u00e9.py", "cafe\u0301.py"}
    try:
        root = build(tmp_path / "root", dict.fromkeys(names, ""))
    except OSError:
        pytest.skip("this file system takes one name for another")
    if len(list(root.iterdir())) < len(names):
        pytest.skip("this file system takes one name for another")
    assert {entry.path for entry in walk(root).entries} == names


class TestStopping:
    """The walk asks whether to stop often enough, also inside one huge folder."""

    def test_a_huge_folder_is_left_in_the_middle(self, tmp_path: Path) -> None:
        root = build(tmp_path / "root", {f"{number:05}.py": "" for number in range(3_500)})
        questions: list[None] = []

        def should_stop() -> bool:
            questions.append(None)
            return len(questions) == 3

        found = walk(root, should_stop=should_stop)
        assert found.stopped
        assert len(found.entries) == 2_000

    def test_each_folder_asks(self, tmp_path: Path) -> None:
        root = build(tmp_path / "root", {f"{number}/x.py": "" for number in range(30)})
        questions: list[None] = []
        assert not walk(root, should_stop=lambda: bool(questions.append(None))).stopped  # type: ignore[func-returns-value]
        assert len(questions) == 31


@posix_only
class TestHostileTree:
    """Trees that somebody prepared."""

    def test_everything_at_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        canary = "a word that must never be read"
        build(tmp_path, {"outside/secret.txt": canary, "root-evil/secret.txt": canary})
        root = new_repository(tmp_path / "root")
        build(root, {"good.py": "x = 1\n", "sub/good.py": "y = 2\n", "key.pem": canary, ".env": canary})
        os.mkfifo(root / "pipe.py")
        os.mkfifo(root / "sub" / ".gitattributes")
        monkeypatch.chdir(root)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.py")
        for name, target in {"zero.py": "/dev/zero", "one": "two", "two": "one", "self": ".", "up": "..",
                             "secret.py": "../outside/secret.txt", "folder": "../outside"}.items():  # fmt: skip
            (root / name).symlink_to(target)
        (root / "huge.py").touch()
        os.truncate(root / "huge.py", 200_000_000)
        (root / "line.py").write_bytes(b"x" * 900_000)
        (root / "latin.py").write_bytes(b"# caf\xe9\n")
        (root / "wide.py").write_bytes("z = 3\n".encode("utf-16"))
        (root / "noise.py").write_bytes(bytes(range(256)) * 10)
        for odd in (b"bad\xff.py", b"new\nline.py", b"esc\x1b[31m.py"):
            Path(os.fsdecode(bytes(root) + b"/" + odd)).touch()
        (root / ("n" * 250 + ".py")).touch()
        (root / "a|b.py").touch()
        build(root, {"A.py": "", "a.py": "", "n\u0303.py": "", "\u00f1.py": ""})
        commit(new_repository(root / "nested"), "first", {"x.py": canary})

        found = walk(root)
        assert paths(found) == sorted(
            ["A.py", "a.py", "a|b.py", "good.py", "huge.py", "latin.py", "line.py", "n\u0303.py", "\u00f1.py",
             "n" * 250 + ".py", "noise.py", "sub/good.py", "wide.py"]
        )  # fmt: skip
        assert found.skipped == {
            "nested-repository": 1, "odd-name": 3, "secret-file": 2, "special-file": 3, "symlink": 7
        }  # fmt: skip
        assert found.skipped_paths["odd-name"] == (r"bad\xff.py", r"esc\x1b[31m.py", r"new\nline.py")
        json.dumps(found.skipped_paths).encode("utf-8")
        outcomes = {}
        for entry in found.entries:
            try:
                text = read_text(root, entry.path, key=b"", limit=1_000_000).text
                assert canary not in text
                outcomes[entry.path] = text[:5]
            except Skipped as skipped:
                outcomes[entry.path] = skipped.reason
        assert (outcomes["noise.py"], outcomes["wide.py"], outcomes["latin.py"]) == ("binary", "z = 3", "# caf")

    def test_three_hundred_folders_inside_each_other(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        (root / "/".join(["d"] * 300)).mkdir(parents=True)
        assert walk(root).skipped == {"too-deep": 1}
        assert walk(root, WalkOptions(max_depth=300)).skipped == {}

    def test_a_path_too_long_for_the_system_is_an_error_and_no_crash(self, tmp_path: Path) -> None:
        root = build(tmp_path / "root", {"z.py": ""})
        folder = os.open(root, os.O_RDONLY)
        for _ in range(25):
            os.mkdir("d" * 200, dir_fd=folder)
            deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = deeper
        os.close(folder)
        found = walk(root)
        assert (paths(found), found.skipped, found.errors) == (["z.py"], {"unreadable": 1}, 1)

    def test_a_link_that_replaces_a_folder_after_it_was_listed_is_not_entered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        build(tmp_path, {"outside/secret.py": "", "root/folder/x.py": ""})
        root = tmp_path / "root"
        real = walk_module._Walker._visit

        def swap_then_visit(self: object, folder: object) -> None:
            if getattr(folder, "prefix", "") == "folder/":
                (root / "folder").rename(root / "was")
                (root / "folder").symlink_to("../outside")
            real(self, folder)  # type: ignore[arg-type]

        monkeypatch.setattr(walk_module._Walker, "_visit", swap_then_visit)
        found = walk(root)
        assert (paths(found), found.skipped) == ([], {"symlink": 1})
