from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.sources.mailmap import read_mailmap
from satchel.system.git import find_repository
from tests.repositories import commit, git, new_repository

MAP = """# people
Ann Smith <ann@a.org> <ANN@old.org>
Bob <bob@b.org>
<carl@c.org> <carl@old.org>
Eve Jones <eve@e.org> shared <root@host>
"""


@pytest.mark.parametrize(
    ("name", "email", "expected"),
    [("asmith", "ann@OLD.org", "Ann Smith"), ("bobby", "bob@b.org", "Bob"), ("carl", "carl@old.org", "carl"),
     ("Shared", "root@host", "Eve Jones"), ("other", "root@host", "other"), ("x", "y@z", "x")],
)  # fmt: skip
def test_each_form_of_a_line_names_people_as_git_does(tmp_path: Path, name: str, email: str, expected: str) -> None:
    root = new_repository(tmp_path)
    (root / ".mailmap").write_text(MAP)
    repository = find_repository(root)
    assert repository is not None
    assert read_mailmap(repository).name(name, email) == expected
    assert git(root, "check-mailmap", f"{name} <{email}>").split(" <")[0] == expected


@pytest.mark.parametrize("kind", ["pipe", "link", "huge", "binary"])
def test_a_mailmap_that_is_not_a_small_text_names_nobody(tmp_path: Path, kind: str) -> None:
    root = new_repository(tmp_path / "root")
    place = root / ".mailmap"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        (tmp_path / "outside").write_text(MAP)
        place.symlink_to(tmp_path / "outside")
    else:
        place.write_bytes(MAP.encode() * 10_000 if kind == "huge" else b"\0" * 100)
    repository = find_repository(root)
    assert repository is not None
    assert not read_mailmap(repository).names


def test_one_person_is_counted_once_and_a_new_mailmap_counts_at_once(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "root")
    commit(root, "one", {"a.py": "x = 1\n"}, GIT_AUTHOR_NAME="asmith", GIT_AUTHOR_EMAIL="ann@old.org")
    commit(root, "two", {"a.py": "x = 2\n"}, GIT_AUTHOR_NAME="Ann Smith", GIT_AUTHOR_EMAIL="ann@a.org")
    with Satchel.open(root) as satchel:
        assert [(row.name, row.commits) for row in satchel.authors()] == [("Ann Smith", 1), ("asmith", 1)]
        (root / ".mailmap").write_text(MAP)
        satchel.index()
        assert [(row.name, row.commits) for row in satchel.authors()] == [("Ann Smith", 2)]
        commit(root, "three", {"a.py": "x = 3\n"}, GIT_AUTHOR_NAME="asmith", GIT_AUTHOR_EMAIL="ann@old.org")
        satchel.index()
        assert [(row.name, row.commits) for row in satchel.authors()] == [("Ann Smith", 3)]
