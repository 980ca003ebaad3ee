"""What is kept in memory between two questions never hides that a fitted number has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel
from satchel.fitted import changed
from satchel.search import weights
from satchel.search.query import analyse
from satchel.search.searcher import search_kind
from satchel.types import Kind

FILES = {
    "shop/cart.py": '"""The cart."""\n\n\ndef total(items):\n    """Sum prices."""\n    return sum(items)\n',
    "shop/price.py": "def price(item):\n    return item.price\n\n\ndef prices(items):\n    return map(price, items)\n",
    "docs/cart.md": "# The cart\n\nThe total of a cart is the sum of its prices.\n",
}
QUESTION = "The total of a cart\n\n```\ntotal(items)\n```\nos 10"


@pytest.fixture
def satchel(tmp_path: Path) -> Satchel:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Satchel.open(root=tmp_path / "tree", environ={"SATCHEL_HOME": str(tmp_path / "home")})


@pytest.mark.parametrize(
    ("name", "key"),
    [("K1", None), ("B", None), ("FILE_K1", None), ("FILE_B", None), ("FIELD_WEIGHTS", 0), ("FIELD_WEIGHTS", 1),
     ("ZONE_WEIGHTS", "title"), ("ZONE_WEIGHTS", "code"), ("SHORT_TERM_FACTOR", None)],
)  # fmt: skip
def test_a_changed_number_is_seen_although_the_question_was_asked_before(
    satchel: Satchel, name: str, key: str | int | None
) -> None:
    with satchel:
        satchel.index()

        def scores() -> list[tuple[str, float]]:
            found = search_kind(satchel.store, Kind.CODE, analyse(QUESTION))
            return [(hit.chunk.id, hit.score) for hit in found.hits] + [
                (term.term, term.weight) for term in analyse(QUESTION).terms
            ]

        before = scores()
        present = getattr(weights, name)
        with changed(weights, name, (present if key is None else present[key]) / 2, key):
            assert scores() != before
        assert scores() == before
