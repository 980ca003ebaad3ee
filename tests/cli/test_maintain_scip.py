"""What `satchel index --scip` does."""

from __future__ import annotations

from pathlib import Path

from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel
from tests.index.test_scip import field, occurrence


def test_an_index_of_a_language_server_is_read_and_a_bad_one_refused(
    shop: TinyRepository, satchel: Satchel, tmp_path: Path
) -> None:
    symbol = "py shop 1 client/backoff()."
    path, text = tmp_path / "index.scip", (shop.root / "shop/client.py").read_text().split("\n")
    line = next(number for number, one in enumerate(text) if one.startswith("def backoff"))
    path.write_bytes(field(2, field(1, "shop/client.py") + occurrence(symbol, line, 4, 11, roles=1)))
    assert satchel("index", "--scip", str(path), "--json").json["scip"] == {"files": 1, "references": 0, "stale": 0}
    assert "; exact references: 0 in 1 file\n" in satchel("index", "--scip", str(path)).err
    path.write_bytes(path.read_bytes()[:-1])
    ran = satchel("index", "--scip", str(path))
    assert (ran.code, "is not a whole index of SCIP (it ends within a field)" in ran.err) == (2, True)
