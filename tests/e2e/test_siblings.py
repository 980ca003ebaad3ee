"""The first index of a second work tree starts from that of the first one, and says what one from nothing says."""

from __future__ import annotations

import sqlite3
import sys
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Ran, Satchel
from tests.repositories import commit, git, new_repository

COUNTING = """
import sys
from satchel.index import reading
outlined = reading.outline_file
def listing(path, text):
    print("PARSED", path, file=sys.stderr)
    return outlined(path, text)
reading.outline_file = listing
from satchel.cli.main import main
sys.exit(main())
"""
"""The command, which names the files that it parses."""

STOPPED = """
import os, signal, sys
from satchel.store.writer import Writer
restamp = Writer.restamp
def stopped(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    return restamp(*arguments)
Writer.restamp = stopped
from satchel.cli.main import main
sys.exit(main())
"""

ONLY_FIRST = "zebra_crossing"

pytestmark = pytest.mark.files("a second work tree starts from the file of the first")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """The first work tree, indexed after an edit and with a file that git does not have."""
    first = new_repository(tmp_path / "first")
    commit(first, "Add parts", {f"src/part{n}.py": f"def part_{n}():\n    return {n}\n" * (n + 1) for n in range(4)})
    commit(first, "Add a picture", {"picture.py": b"\0"})
    git(first, "branch", "side")
    commit(first, "Only on the main branch", {"src/part3.py": "def later():\n    return 3\n"})
    (first / "private.py").write_text(f"def {ONLY_FIRST}():\n    pass\n")
    (first / "src/part0.py").write_text(f"def part_0():\n    return '{ONLY_FIRST}'\n")
    assert Satchel(first, tmp_path / "home")("index").code == 0
    return first


@pytest.fixture
def second(first: Path, tmp_path: Path) -> Satchel:
    """A second work tree of another branch with an edit of its own, before its first index."""
    git(first, "worktree", "add", "-q", str(tmp_path / "second"), "side")
    (tmp_path / "second/own.py").write_text("def own():\n    pass\n")
    return Satchel(tmp_path / "second", tmp_path / "home")


def fresh(satchel: Satchel) -> dict[str, Any]:
    alone = Satchel(satchel.root, satchel.home.with_name("fresh"))
    assert alone("index").code == 0
    return alone.contents()


def indexed(satchel: Satchel, *options: str, program: str = COUNTING, **variables: str) -> Ran:
    return satchel("index", *options, program=(sys.executable, "-P", "-c", program), **variables)


def parsed(ran: Ran) -> list[str]:
    assert ran.code == 0
    return [line.split()[1] for line in ran.err.splitlines() if line.startswith("PARSED")]


ALL = ["own.py", *(f"src/part{number}.py" for number in range(4))]


def test_only_other_files_are_parsed_and_the_index_is_that_from_nothing(second: Satchel) -> None:
    ran = indexed(second)
    assert parsed(ran) == ["own.py", "src/part0.py", "src/part3.py"]
    assert second.contents() == fresh(second)
    assert second.faults() == []
    alone = Satchel(second.root, second.home.with_name("fresh"))
    for question in ("own", "part_0", "part_1", "part_3", "Add a picture", "Only on the main branch", ONLY_FIRST):
        hits, expected = (one("search", question, "--json").json["hits"] for one in (second, alone))
        # Equal scores are in the order of the rows, as after any update.
        assert sorted(hits, key=itemgetter("id")) == sorted(expected, key=itemgetter("id"))
    assert parsed(indexed(second)) == []


def test_files_have_the_dates_of_their_own_tree(second: Satchel) -> None:
    assert indexed(second).code == 0
    with sqlite3.connect(second.index) as connection:
        rows = connection.execute("SELECT key, updated, mtime_ns FROM documents WHERE origin = 'file'").fetchall()
    assert {key: updated for key, updated, _ in rows} == {
        key: (second.root / key).stat().st_mtime_ns / 1e9 for key, _, _ in rows
    }


def test_nothing_of_the_other_tree_is_left(second: Satchel) -> None:
    assert indexed(second).code == 0
    path = second.index
    assert {one.name for one in path.parent.glob("sibling.db*")} == set()
    stored = b"".join(one.read_bytes() for one in path.parent.glob("index.db*"))
    assert ONLY_FIRST.encode() not in stored
    assert b"private.py" not in stored
    assert "private.py" not in second("search", ONLY_FIRST.replace("_", " ")).out


@pytest.mark.parametrize(
    "variables", [{"SATCHEL_KEY": "08" * 32}, {"SATCHEL_REDACT_ALLOW": "x{9}"}], ids=["key", "allowed secrets"]
)
def test_an_index_with_another_key_or_other_settings_is_not_used(second: Satchel, variables: dict[str, str]) -> None:
    assert parsed(indexed(second, **variables)) == ALL


@pytest.mark.parametrize("change", ["PRAGMA user_version = 1", "DELETE FROM meta"])
def test_an_index_of_another_version_is_not_used(first: Path, second: Satchel, change: str) -> None:
    with sqlite3.connect(Satchel(first, second.home).index) as connection:
        connection.execute(change)
    assert set(parsed(indexed(second))) == set(ALL)


def test_a_damaged_index_is_not_used(first: Path, second: Satchel) -> None:
    path = Satchel(first, second.home).index
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(path.stat().st_size - 4096))
    assert set(parsed(indexed(second))) == set(ALL)
    assert second.contents() == fresh(second)


def test_a_tree_that_only_claims_to_be_one_of_the_repository_is_not_used(first: Path, tmp_path: Path) -> None:
    stranger = new_repository(tmp_path / "stranger")
    commit(stranger, "Mine", {"src/part1.py": "def part_1():\n    return 1\n"})
    entry = stranger / ".git/worktrees/first"
    entry.mkdir(parents=True)
    (entry / "gitdir").write_text(f"{first}/.git\n")
    assert parsed(indexed(Satchel(stranger, tmp_path / "home"))) == ["src/part1.py"]


def test_a_run_that_is_stopped_publishes_nothing_and_the_next_one_starts_again(second: Satchel) -> None:
    assert indexed(second, program=STOPPED).code == 130
    with sqlite3.connect(second.index) as connection:
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (0,)
    assert parsed(indexed(second)) == ["own.py", "src/part0.py", "src/part3.py"]
    assert second.contents() == fresh(second)
