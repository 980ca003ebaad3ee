"""What is remembered is found by other forms of its words, also in a memory file that an earlier version wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel import text
from satchel.engine import Satchel
from satchel.errors import LockedError, ReadOnlyStoreError, SatchelError
from satchel.store import extract
from satchel.store.protocol import WORDS_VERSION
from satchel.store.sqlite import SqliteStore
from satchel.testing import HashEmbedder

TABLES = ("documents", "texts", "chunks", "edges", "vectors")
WHERE = ("documents", "segment", "position")
STARTED = {"domain": "debugging", "strategy": "research-first", "goal": "show zombies once", "hypothesis": "a hoodie"}


def _earlier_stem(word: str) -> str:
    """Stem as version 1 did: `cookies` as `cooky`, `cookie` as `cooki`."""
    return word[:-3] + "y" if word.endswith("ies") else word[:-1] if word.endswith(("s", "e")) else word


def _rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    columns = {row[1]: row[1] not in WHERE for row in connection.execute("PRAGMA table_info(documents)")}
    shown = {"documents": ", ".join(name for name, is_kept in columns.items() if is_kept)}
    tables = {
        name: list(connection.execute(f"SELECT {shown.get(name, '*')} FROM {name} ORDER BY 1")) for name in TABLES
    }
    connection.close()
    return tables


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory file of version 1, with a memory, one that it replaced, an experience and vectors."""
    monkeypatch.setattr(text, "stem", _earlier_stem)
    monkeypatch.setattr(text, "_memo", {})
    monkeypatch.setattr(extract, "_table", extract._Table())
    monkeypatch.setattr(text, "ANALYSIS_VERSION", "1")
    with Satchel.open(tmp_path, embedder=HashEmbedder()) as satchel:
        old = satchel.memories.add("Sessions need no signature", tags=["cookies"]).memory
        satchel.memories.supersede(old.id, "Cookies must be signed with the rotating key")
        satchel.memories.add("Elsewhere as well: selfies are cut", everywhere=True)
        satchel.experiences.start(**STARTED, action="count", prediction="one")
        satchel.experiences.resolve(
            status="falsified",
            result="it failed",
            surprise="movies came twice",
            root_cause="oversight",
            root_cause_description="the list was joined twice",
        )
        satchel.embed()
        path = satchel.places.memory
    monkeypatch.undo()
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM meta WHERE key = ?", (WORDS_VERSION,))
    assert connection.execute("SELECT count(*) FROM postings WHERE term = 'cooky'").get
    connection.close()
    return path


def test_words_of_an_earlier_version_are_made_anew_and_nothing_is_lost(tmp_path: Path, earlier: Path) -> None:
    before = _rows(earlier)
    with Satchel.open(tmp_path) as satchel:
        assert [row.memory.content[:7] for row in satchel.memories.search("cookie")] == ["Cookies"]
        assert [row.memory.content[:9] for row in satchel.memories.search("selfie")] == ["Elsewhere"]
        for question in ("zombie", "movie", "hoodies", "debugging"):
            assert satchel.search(question, types=["experiences"]), question
        assert len(satchel.memories.listed(superseded=True)) == 3
    assert _rows(earlier) == before
    assert any(before.values())
    assert before["vectors"]


@pytest.mark.usefixtures("earlier")
def test_words_are_made_anew_once(tmp_path: Path) -> None:
    revisions = []
    for _ in range(2):
        with Satchel.open(tmp_path) as satchel:
            satchel.memories.search("cookie")
            revisions.append(satchel.memories._store.revision)
    assert revisions[0] == revisions[1]


@pytest.mark.usefixtures("earlier")
@pytest.mark.parametrize(
    ("error", "is_told"), [(LockedError("another process writes"), True), (ReadOnlyStoreError("a reader"), False)]
)
def test_a_memory_file_that_cannot_be_written_is_read_with_its_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: SatchelError,
    is_told: bool,
) -> None:
    def refuse(_: SqliteStore) -> None:
        raise error

    monkeypatch.setattr(SqliteStore, "write", refuse)
    with Satchel.open(tmp_path) as satchel:
        assert satchel.memories.search("key")
    assert ("memory_words_not_renewed" in capsys.readouterr().err) is is_told
