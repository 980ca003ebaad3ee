"""Equal definitions in a list of hits, through the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.operations.json import hit_lines, search_envelope
from satchel.testing import TinyRepository

PARSE = "export function parseDate(text) {\n  const parts = text.split('-')\n  return new Date(...parts)\n}\n"
OTHER = "export function parseDate(text) {\n  return moment(text)\n}\n"
FILES = {
    "v3/date.js": PARSE,
    "v4/date.js": f"// The same as before.\n\n{PARSE}",
    "mini/date.js": OTHER,
    "v4/clock.js": "export function clock() {\n  const text = 'date parts'\n  return parseDate(text)\n}\n",
}
QUESTION = "parse a date from its parts"


@pytest.fixture
def satchel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Satchel]:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", FILES)
    with Satchel.open(repository.root) as opened:
        yield opened


def test_an_equal_definition_is_named_beside_the_best_and_not_repeated(satchel: Satchel) -> None:
    hits = satchel.search(QUESTION, types=["code"])
    (best,) = [hit for hit in hits if hit.copies]
    (copy,) = best.copies
    assert best.chunk.location is not None
    assert {best.chunk.location.path, copy.path} == {"v3/date.js", "v4/date.js"}
    assert copy.path not in {hit.chunk.location.path for hit in hits if hit.chunk.location is not None}
    assert "mini/date.js" in {hit.chunk.location.path for hit in hits if hit.chunk.location is not None}
    (line,) = [line for line in hit_lines(hits) if "also in" in line]
    assert f"(also in {copy.path}:{copy.start_line})" in line
    listed = search_envelope(QUESTION, hits, (), "")["hits"]
    assert [row["also_at"] for row in listed if "also_at" in row] == [
        [{"path": copy.path, "start_line": copy.start_line, "end_line": copy.end_line}]
    ]


def test_a_file_of_copies_takes_no_place_of_the_list(satchel: Satchel) -> None:
    hits = satchel.search(QUESTION, types=["code"], limit=2)
    paths = {hit.chunk.location.path for hit in hits if hit.chunk.location is not None}
    assert len(paths) == 2
    assert not paths >= {"v3/date.js", "v4/date.js"}


def test_what_has_changed_since_it_was_indexed_is_no_copy(satchel: Satchel, tmp_path: Path) -> None:
    satchel.index()
    (tmp_path / "shop" / "v3" / "date.js").write_text(OTHER, encoding="utf-8")
    hits = satchel.search(QUESTION, types=["code"], refresh=False)
    assert not any(hit.copies for hit in hits)
