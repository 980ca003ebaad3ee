from __future__ import annotations

from pathlib import Path

import pytest

from satchel import text
from satchel.embed.static import StaticTable
from satchel.engine import Satchel
from satchel.index import leftovers
from satchel.store import extract
from tests.postgres import own_home


def indexed(folder: Path) -> None:
    tree = folder / "tree"
    tree.mkdir()
    for number in range(3):
        (tree / f"part{number}.py").write_text(f"def settle_{number}(ledger):\n    return ledger.balances\n")
    with Satchel.open(root=tree, environ=own_home(folder / "home")) as satchel:
        satchel.index()


def test_a_run_of_many_files_keeps_nothing_of_their_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "MANY_FILES", 3)
    indexed(tmp_path)
    assert not text._memo
    assert len(extract._table) == 1  # the end of a piece


def test_a_run_of_few_files_keeps_their_words_for_the_next_one(tmp_path: Path) -> None:
    leftovers.give_back(None)
    indexed(tmp_path)
    assert len(extract._table) > 1


def test_what_was_given_back_is_found_again() -> None:
    table = StaticTable()
    before, terms = table.embed_query("cancel a running download").tobytes(), text.terms_of("parseHTTPHeader")
    leftovers.give_back(table)
    assert table.embed_query("cancel a running download").tobytes() == before
    assert text.terms_of("parseHTTPHeader") == terms
