"""A full or read-only disk: what is stored is read, and the message says why nothing can be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from satchel import Satchel
from satchel.doctor import check_index, examined
from satchel.errors import StoreError
from satchel.store.sqlite import SqliteStore, connection
from tests.e2e.sample import sample_repository

QUESTION = "why is the backoff between attempts exponential"
MEMORY = "The backoff between attempts is exponential because a linear wait hammered the server."

# No file can grow or be written in this process, as on a full disk, and also for the administrator.
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from satchel import Satchel
from satchel.doctor import check_index, check_memory
from satchel.errors import StoreError
with Satchel.open(sys.argv[1]) as satchel:
    context = satchel.assemble(sys.argv[2], max_tokens=2000)
    try:
        satchel.memories.add("something new")
        refused = ""
    except StoreError as error:
        refused = str(error)
    checks = [check_index(satchel.places).fix, check_memory(satchel.places).fix]
    listed = [memory.content for memory in satchel.memories.listed()]
print(json.dumps([context.text, [str(failure) for failure in context.failures], refused, checks, listed]))
"""


def test_what_is_stored_is_read_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    root = sample_repository(tmp_path / "shop").root
    with Satchel.open(root) as satchel:
        satchel.assemble(QUESTION)
        satchel.memories.add(MEMORY)
    (root / "shop" / "later.py").write_text("def later() -> None:\n    pass\n")
    arguments = [sys.executable, "-c", CHILD, str(root), QUESTION]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=True, env={**os.environ})
    text, failures, refused, checks, listed = json.loads(ran.stdout)
    assert MEMORY in text
    assert "0.1 * 2**attempt" in text
    stale, *others = failures
    assert "the answer comes from the index as it was before" in stale
    assert all("no temporary file can be written" in failure for failure in others)  # which commits changed how much
    assert "cannot write to" in refused
    of_index, of_memory = checks
    assert of_index == ""
    assert of_memory.startswith("allow writing: chmod u+w ")
    assert listed == [MEMORY]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (SimpleNamespace(f_flag=0, f_frsize=4096, f_blocks=9, f_bfree=1, f_bavail=0, f_favail=9), "the disk is full"),
        (SimpleNamespace(f_flag=os.ST_RDONLY, f_bavail=9, f_favail=9), "its file system is read-only"),
        (SimpleNamespace(f_flag=0, f_frsize=1, f_blocks=0, f_bfree=0, f_bavail=0, f_favail=0), "keeps no files"),
    ],
)
def test_a_message_tells_a_full_disk_from_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: SimpleNamespace, reason: str
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: status)
    (tmp_path / "folder").write_text("a file where the folder has to be")
    with pytest.raises(StoreError, match=reason):
        SqliteStore(tmp_path / "folder" / "memory.db", durable=True)
    assert reason in connection.obstacle(tmp_path / "memory.db")


def test_every_folder_of_a_store_is_private(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "home" / "cache" / "index.db").close()
    assert {folder.stat().st_mode & 0o777 for folder in (tmp_path / "home", tmp_path / "home" / "cache")} == {0o700}


def test_an_index_whose_folder_may_not_be_opened_costs_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    root = sample_repository(tmp_path / "shop").root
    with Satchel.open(root) as satchel:
        satchel.index()
        satchel.memories.add(MEMORY)
        index = satchel.places.index
    exists = Path.exists

    def refused(path: Path) -> bool:
        if index in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return exists(path)

    # Root, who may run the tests, can open any folder.
    monkeypatch.setattr(Path, "exists", refused)
    monkeypatch.setattr(connection, "obstacle", lambda _: "you may not write there")
    assert connection.read_only(index / "index.db") is None
    with Satchel.open(root) as satchel:
        assert [memory.content for memory in satchel.memories.listed()] == [MEMORY]
    (found,) = examined("index", lambda: check_index(satchel.places))
    assert (found.message, found.fix) == (
        f"{index / 'index.db'}: Permission denied", f"let yourself in: chmod u+rwx {index}",
    )  # fmt: skip


@pytest.mark.parametrize("closed", ["folder", "file"])
def test_a_question_to_an_index_that_may_not_be_read_says_how_to_let_oneself_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    root = sample_repository(tmp_path / "shop").root
    with Satchel.open(root) as satchel:
        satchel.index()
        path = satchel.places.index / "index.db"
    refused = path.parent if closed == "folder" else path
    allowed = os.access

    # Root, who may run the tests, can read any file.
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != refused and allowed(place, mode))
    opened = connection._opened

    def only_others(place: Path, **options: Any) -> Any:
        if place == path:
            raise apsw.CantOpenError("unable to open database file")
        return opened(place, **options)

    monkeypatch.setattr(connection, "_opened", only_others)
    monkeypatch.setattr(connection, "read_only", lambda *_: None)
    for ask in (Satchel.assemble, Satchel.search):
        with Satchel.open(root) as satchel, pytest.raises(StoreError, match=f"let yourself in: chmod u.rwx? {refused}"):
            ask(satchel, QUESTION)
