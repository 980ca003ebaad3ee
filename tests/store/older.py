"""Memory files of older schemas, each with the same records of every kind.

`released/memory-N.sql` is the dump of a file of schema N. A file that users have is never made again: a new schema adds
a fixture. Schema 1 is schema 2 without its last column.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from satchel.store.protocol import Store
from satchel.types import Kind
from tests.search.remembered import ask

RELEASED = Path(__file__).with_name("released")
DUMPS = {int(path.stem[-1]): path.read_text(encoding="utf-8") for path in RELEASED.glob("memory-*.sql")}
DUMPS |= {1: f"{DUMPS[2]}ALTER TABLE bundles DROP COLUMN workspace; PRAGMA user_version = 1;"}
NEWEST = max(DUMPS)
QUESTIONS = {
    Kind.MEMORY: "which port", Kind.EXPERIENCE: "session closed twice", Kind.VALUE: "read the error",
    Kind.CONVERSATION: "who named the server heron",
}  # fmt: skip

_EXPORT = (Path(__file__).parents[1] / "memory" / "export.jsonl").read_text(encoding="utf-8").splitlines()
_SHOP = '"workspace":"shop-0123456789abcdef"'


def exported(version: int) -> list[str]:
    """The export of such a file. Records of schema 1 have no workspace; an open experience is not one of them."""
    return _EXPORT if version > 1 else [*(line.replace(_SHOP, '"workspace":""') for line in _EXPORT[:-1]), _EXPORT[-1]]


def unpacked(path: Path, version: int) -> Path:
    """Write the file of a user who has not upgraded yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.executescript(DUMPS[version])
    database.close()
    return path


def answers(store: Store) -> list[tuple[str, float, str]]:
    """The hits of a question for each kind, with their texts."""
    hits = [hit for kind, question in QUESTIONS.items() for hit in ask(store, kind, question).hits]
    return [(hit.chunk.id, hit.score, store.text(hit.chunk.document)) for hit in hits]
