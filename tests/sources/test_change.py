from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.sources import change as change_module
from satchel.sources.change import Change, ChangeOptions, change_data, change_from, opcodes, read_change
from satchel.system.git import find_repository
from tests.repositories import commit, git, new_repository

BASE = '''import time

LIMIT = 3


class Client:
    """Sends orders."""

    def send(self, order):
        return self.post(order)

    def post(self, order):
        return order


def backoff(attempt):
    return 0.1 * 2**attempt


def unused():
    return 1
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = new_repository(tmp_path / "shop")
    commit(root, "Base", {"shop/client.py": BASE, "docs/guide.md": "# Guide\n\nText.\n", "link.txt": "plain\n"})
    return root


def changed(
    folder: Path, revision: str = "HEAD", *, staged: bool = False, prefix: str = "", limit: int = 100_000
) -> Change:
    repository = find_repository(folder)
    assert repository is not None
    root = folder / prefix if prefix else folder
    indexed = frozenset(
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and ".git" not in path.parts
    )
    return read_change(repository, ChangeOptions(root, prefix, indexed, limit), revision, staged=staged)


def write(folder: Path, text: str, path: str = "shop/client.py") -> None:
    (folder / path).write_text(text)


def test_nothing_changed_is_no_file(folder: Path) -> None:
    change = changed(folder)
    assert (change.files, change.words, change.target) == ((), "", "work tree")
    assert change.base == git(folder, "rev-parse", "HEAD").strip()


def test_a_touched_but_equal_file_is_unchanged(folder: Path) -> None:
    write(folder, BASE)
    os.utime(folder / "shop/client.py", (2_000_000_000, 2_000_000_000))
    assert changed(folder).files == ()


def test_a_file_that_differs_only_in_its_line_ends_is_unchanged(folder: Path) -> None:
    (folder / "shop/client.py").write_bytes(BASE.replace("\n", "\r\n").encode())
    assert changed(folder).files == ()


def test_a_changed_line_names_its_definition(folder: Path) -> None:
    write(folder, BASE.replace("0.1 *", "0.2 *"))
    change = changed(folder)
    file = change.files[0]
    number = BASE.split("\n").index("    return 0.1 * 2**attempt") + 1
    assert (file.path, file.status, file.names, file.removed) == ("shop/client.py", "modified", ("backoff",), ())
    assert file.ranges == ((number, number),)
    assert (file.insertions, file.deletions) == (1, 1)
    assert change.names == ("backoff",)
    assert change.words == "return 0.2 * 2**attempt\nreturn 0.1 * 2**attempt"


def test_methods_constants_and_new_functions_are_named(folder: Path) -> None:
    text = BASE.replace("LIMIT = 3", "LIMIT = 4").replace("return order\n", "return [order]\n")
    write(folder, text + "\n\ndef fresh():\n    return 2\n")
    assert changed(folder).names == ("LIMIT", "Client.post", "fresh")


def test_a_deleted_definition_is_told_apart_from_a_changed_one(folder: Path) -> None:
    write(
        folder,
        BASE.replace("\n\ndef unused():\n    return 1\n", "").replace(
            "        return self.post(order)\n", "        pass\n"
        ),
    )
    file = changed(folder).files[0]
    assert (file.names, file.removed) == (("Client.send",), ("unused",))


def test_lines_that_are_only_deleted_belong_to_what_held_them(folder: Path) -> None:
    write(folder, BASE.replace('    """Sends orders."""\n\n', ""))
    file = changed(folder).files[0]
    assert file.names == ("Client",)
    assert file.insertions == 0
    assert all(start <= end for start, end in file.ranges)


def test_a_deleted_file_and_a_new_one_are_said_so(folder: Path) -> None:
    (folder / "shop/client.py").unlink()
    write(folder, "def born():\n    return 0\n", "shop/born.py")
    git(folder, "add", "shop/born.py")
    files = {file.path: file for file in changed(folder).files}
    assert files["shop/client.py"].status == "deleted"
    assert set(files["shop/client.py"].removed) >= {"backoff", "Client.send"}
    assert files["shop/client.py"].ranges == ()
    assert (files["shop/born.py"].status, files["shop/born.py"].names) == ("added", ("born",))


def test_what_is_staged_is_told_apart_from_the_work_tree(folder: Path) -> None:
    write(folder, BASE.replace("0.1 *", "0.2 *"))
    git(folder, "add", "-A")
    write(folder, BASE.replace("return 1", "return 2"))
    assert changed(folder, staged=True).names == ("backoff",)
    assert changed(folder, staged=True).target == "staging area"
    assert changed(folder).names == ("unused",)


def test_any_revision_can_be_the_base(folder: Path) -> None:
    commit(folder, "Next", {"shop/client.py": BASE.replace("0.1 *", "0.2 *")})
    write(folder, BASE.replace("0.1 *", "0.2 *").replace("return 1", "return 2"))
    assert changed(folder).names == ("unused",)
    assert changed(folder, "HEAD~1").names == ("backoff", "unused")


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "HEAD..HEAD", "HEAD:shop"])
def test_a_revision_that_is_none_is_a_usage_error(folder: Path, revision: str) -> None:
    with pytest.raises(UsageError, match=r"revision"):
        changed(folder, revision)


def test_before_the_first_commit_everything_staged_is_new(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "young")
    (root / "a.py").write_text("def first():\n    return 1\n")
    git(root, "add", "a.py")
    change = changed(root)
    assert (change.base, change.names) == ("", ("first",))


def test_a_root_below_the_work_tree_sees_its_own_files_only(folder: Path) -> None:
    write(folder, BASE.replace("0.1 *", "0.2 *"))
    write(folder, "# Other\n", "docs/guide.md")
    change = changed(folder, prefix="shop/")
    assert [file.path for file in change.files] == ["client.py"]


def test_prose_has_changed_lines_and_no_names(folder: Path) -> None:
    write(folder, "# Guide\n\nOther text.\n", "docs/guide.md")
    file = changed(folder).files[0]
    assert (file.names, file.ranges) == ((), ((3, 3),))


def test_links_binary_files_and_huge_ones_are_not_looked_into(folder: Path) -> None:
    (folder / "link.txt").unlink()
    (folder / "link.txt").symlink_to("shop/client.py")
    (folder / "docs/guide.md").write_bytes(b"\0\1")
    change = changed(folder)
    assert [(file.path, file.status) for file in change.files] == [("link.txt", "deleted")]
    assert change.others == (
        ("link.txt", "symbolic link changed, to shop/client.py"),
        ("docs/guide.md", "modified, binary"),
    )
    write(folder, BASE * 200)
    assert ("shop/client.py", "modified, not indexed") in changed(folder, limit=500).others


def test_secret_files_are_never_read(folder: Path) -> None:
    secret = "ghp_" + "A1b2C3d4" * 4 + "E5f6"
    commit(folder, "Oops", {".env": f"TOKEN={secret}\n"})
    (folder / ".env").unlink()
    repository = find_repository(folder)
    assert repository is not None
    change = read_change(
        repository, ChangeOptions(folder, "", frozenset({"shop/client.py"}), 1000), "HEAD", staged=False
    )
    assert change.others == ((".env", "deleted, not read, because it may contain secrets"),)
    assert secret not in json.dumps(change_data(change))


def test_secrets_in_changed_lines_are_redacted(folder: Path) -> None:
    secret = "ghp_" + "A1b2C3d4" * 4 + "E5f6"
    write(folder, BASE.replace("LIMIT = 3", f'LIMIT = "{secret}"'))
    assert secret not in json.dumps(change_data(changed(folder)))


def test_a_sweep_over_too_many_files_is_cut_and_said_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_module, "MAX_FILES", 1)
    write(folder, BASE.replace("0.1 *", "0.2 *"))
    write(folder, "# Other\n", "docs/guide.md")
    change = changed(folder)
    assert len(change.files) == len(change.unread) == 1


def test_no_program_that_the_repository_names_is_started(folder: Path, tmp_path: Path) -> None:
    trap = tmp_path / "started"
    for key in ("diff.external", "filter.x.clean", "diff.x.textconv", "core.fsmonitor", "core.pager"):
        git(folder, "config", key, f"touch {trap}; cat")
    (folder / ".gitattributes").write_text("*.py filter=x diff=x\n")
    write(folder, BASE.replace("0.1 *", "0.2 *"))
    assert changed(folder).names == ("backoff",)
    assert not trap.exists()


def test_the_numbers_are_those_of_git(folder: Path) -> None:
    lines = BASE.split("\n")
    write(folder, "\n".join([*lines[:4], "NEW = 1", *lines[6:10], "# more", *lines[10:]]))
    file = changed(folder).files[0]
    told = subprocess.run(["git", "diff", "--numstat"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert told.split()[:2] == [str(file.insertions), str(file.deletions)]


def test_a_change_survives_being_written_down(folder: Path) -> None:
    write(folder, BASE.replace("0.1 *", "0.2 *"))
    change = changed(folder)
    assert change_from(json.loads(json.dumps(change_data(change)))) == change


def test_names_in_tests_count_only_where_there_are_no_others(folder: Path) -> None:
    commit(folder, "Tests", {"tests/test_client.py": "def test_backoff():\n    assert 1\n"})
    write(folder, "def test_backoff():\n    assert 2\n", "tests/test_client.py")
    assert changed(folder).names == ("test_backoff",)
    write(folder, BASE.replace("0.1 *", "0.2 *"))
    assert changed(folder).names == ("backoff",)


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_the_steps_turn_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    made = list(old)
    for tag, first, last, start, end in reversed(opcodes(old, new)):
        if tag != "equal":
            made[first:last] = new[start:end]
    assert made == new


def test_very_long_differences_count_as_one() -> None:
    old, new = (["x", *(f"{side}{number % 7}" for number in range(4_001)), "y"] for side in "ab")
    assert opcodes(old, new) == [("replace", 1, 4_002, 1, 4_002)]
