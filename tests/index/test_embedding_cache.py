from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from satchel.index import embedding
from satchel.index.embedding import VectorCache

KEY = b"k" * 32


def test_what_is_saved_is_loaded_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "vectors.db"
    cache = VectorCache(path, KEY)
    key = cache.key("f", "text")
    assert cache.load([key]) == {}
    cache.save({key: b"vector"})
    cache.save({})
    cache.close()
    assert VectorCache(path, KEY).load([key, b"unknown"]) == {key: b"vector"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_depends_on_the_fingerprint_the_text_and_the_user(tmp_path: Path) -> None:
    cache, other = VectorCache(tmp_path / "a.db", KEY), VectorCache(tmp_path / "b.db", b"o" * 32)
    keys = {cache.key("f", "t"), cache.key("g", "t"), cache.key("f", "u"), other.key("f", "t")}
    assert len(keys) == 4
    assert cache.key("f", "half \ud800 pair")


def test_the_oldest_are_dropped_where_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MAX_ROWS", 20)
    cache = VectorCache(tmp_path / "vectors.db", KEY)
    keys = [cache.key("f", str(number)) for number in range(21)]
    for key in keys:
        cache.save({key: b"v"})
    assert [*cache.load(keys)] == keys[2:]


def test_a_file_that_is_no_cache_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(b"no database " * 500)
    cache = VectorCache(path, KEY)
    cache.save({b"k": b"v"})
    assert cache.load([b"k"]) == {b"k": b"v"}


def test_a_cache_that_cannot_be_opened_or_breaks_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    cache = VectorCache(tmp_path / "file" / "vectors.db", KEY)
    cache.save({b"k": b"v"})
    assert cache.load([b"k"]) == {}
    cache.close()
    for step in ("load", "save"):
        path = tmp_path / f"{step}.db"
        broken = VectorCache(path, KEY)
        apsw.Connection(str(path)).execute("DROP TABLE vectors")
        if step == "save":
            broken.save({b"k": b"v"})
        assert broken.load([b"k"]) == {}
        broken.save({b"k": b"v"})
