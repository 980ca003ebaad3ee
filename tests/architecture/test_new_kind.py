"""A kind of record costs two declarations: in a copy of the package with one more kind, every room knows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from satchel.testing import TinyRepository
from tests.architecture.tree import PACKAGE, ROOT

DECLARED = {
    "types.py": (
        ('    CONTEXT = "context"\n', '    TICKET = "ticket"\n'),
        (
            '    Kind.CONTEXT: _Declared("contexts", 1.0, is_record=False),\n',
            '    Kind.TICKET: _Declared("tickets", 2.0),\n',
        ),
    ),
    "settings.py": (
        (
            "    context_weights_contexts: float = _weight(Kind.CONTEXT)\n",
            "    context_weights_tickets: float = _weight(Kind.TICKET)\n",
        ),
    ),
}
"""File -> the lines of it that stay, each with the new line behind it."""

PROGRAM = """
import sys
from satchel import Satchel
from satchel.store.extract import extract_record
from satchel.store.records import NewDocument
from satchel.types import Kind

QUESTION = "when do retries stop?"
texts = {"T-7": "Retries must stop after a minute", "T-8": "The login page shows two buttons"}
with Satchel.open(sys.argv[1], environ={"SATCHEL_HOME": sys.argv[2], "PATH": ""}) as satchel:
    satchel.index()
    with satchel.store.write() as writer:
        writer.put(
            NewDocument(Kind.TICKET, key, text, extract_record(text, Kind.TICKET), {}, title=text, created=1.0)
            for key, text in texts.items()
        )
    satchel.index()
    assert [hit.chunk.id for hit in satchel.search(QUESTION, types=["tickets"])] == ["ticket:T-7"]
    assert satchel.search(QUESTION, types=["tickets"], filters={"since": "2020-01-01"}) == []
    context = satchel.assemble(QUESTION)
    assert "## Tickets" in context.text, context.text
    assert texts["T-7"] in satchel.expand([item.handle for item in context.items]).text
    assert satchel.why("ticket:T-7", QUESTION)[0].is_shown
    assert satchel.settings.context_weights_tickets == 2.0
"""


def test_a_new_kind_is_stored_searched_packed_explained_and_expanded(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    for name, additions in DECLARED.items():
        file = tmp_path / PACKAGE / name
        text = file.read_text(encoding="utf-8")
        for line, added in additions:
            assert text.count(line) == 1
            text = text.replace(line, line + added)
        file.write_text(text, encoding="utf-8")
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", {"README.md": "# Shop\n"})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(repository.root), str(tmp_path / "home")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
