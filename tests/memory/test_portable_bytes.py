"""The lines of an export, letter by letter: files that are in the world must stay readable and equal."""

from __future__ import annotations

import json
from pathlib import Path

from satchel.memory.journal import Journal
from satchel.memory.memories import Memories
from satchel.memory.model import Value
from satchel.memory.portable import export_lines, put_exchanges
from satchel.memory.records import document_of
from satchel.sources.conversations import Action, Exchange
from satchel.types import Kind
from tests.memory.conftest import MakeNotebook
from tests.memory.samples import FALSIFIED, STARTED


def lines(make_notebook: MakeNotebook) -> list[str]:
    notebook = make_notebook()
    memories, journal = Memories(notebook), Journal(notebook)
    old = memories.add("The port is 8080", tags=["port", "http"], category="fact", importance=0.00001).memory
    memories.supersede(old.id, 'The "port" is\n9090 \u2013 f\u00fcr alle \U0001f600')
    memories.add("Prefer short functions", everywhere=True, importance=1, provenance="agent", origin="chat")
    journal.start(**STARTED)
    journal.update(hypothesis="The finaliser closes it")
    journal.note("seen twice")
    journal.resolve(**FALSIFIED)
    journal.start(**STARTED)
    journal.resolve(status="abandoned", result="no time", lesson="nothing")
    journal.start(**STARTED)
    journal.resolve(status="confirmed", result="two calls", auto_captured=True)
    turns = [
        Exchange("s1", "u1", 1_750_000_000.25, "Who named the server heron?", speaker="Ada", branch="main"),
        Exchange("s1", "u2", 1_750_000_001.5, "Why heron?", ("It stands still.",), (Action("Read", "a.py", "x"),)),
        Exchange("s1", "u3", 1_750_000_002.0, "before", (), (Action("Run", "x", "", failed=True),), sidechain=True),
    ]
    put_exchanges(turns, notebook, origin="test")
    value = Value(
        "val_20250601_000000_000001", "Close nothing in a finaliser", "full", "full_0a1b2c", 3, 0.9876,
        ("ghap_1", "ghap_2"), {"debugging": 2}, {"read-the-error": 2}, "words (TF-IDF)", notebook.workspace, 1.75e9,
    )  # fmt: skip
    with notebook.store.write() as writer:
        writer.put([document_of(value)])
    journal.start(**STARTED, session="night")
    journal.update(strategy="read-the-error", action="Read it", session="night")
    return list(export_lines(notebook.store))


def test_an_export_keeps_its_bytes(make_notebook: MakeNotebook) -> None:
    golden = Path(__file__).with_name("export.jsonl").read_text(encoding="utf-8")
    assert "".join(f"{line}\n" for line in lines(make_notebook)) == golden


def test_records_keep_what_the_store_holds_of_them(make_notebook: MakeNotebook) -> None:
    """Files of older versions hold these fields, so they must neither lose one nor change its form."""
    lines(make_notebook)
    store = make_notebook().store
    fields = {
        document.key: dict(document.fields)
        for kind in (Kind.MEMORY, Kind.EXPERIENCE, Kind.VALUE, Kind.CONVERSATION)
        for document in store.documents(store.document_ids(kind, store.keys(kind)).values()).values()
    }
    stored = "".join(f"{key} {json.dumps(fields[key])}\n" for key in sorted(fields))
    assert stored == Path(__file__).with_name("stored_fields.txt").read_text(encoding="utf-8")
