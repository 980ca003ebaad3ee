"""What a kind of record and a language cost, in a copy of the package that has one more: every room knows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
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


OTHERS = {
    "types.py": (('    PLAIN = "plain"\n', '    COMPACT = "compact"\n'),),
    "answer/packing.py": (("    Format.PLAIN: TextFrame(21, 8),\n", "    Format.COMPACT: TextFrame(21, 8),\n"),),
    "answer/request.py": (("    callers: bool = False\n", "    is_loud: bool = False\n"),),
    "operations/ask.py": (
        (
            'Parameter("fill", Shape.SWITCH, "Use the whole budget, even for weak matches.", default=False),\n',
            '    Parameter("is_loud", Shape.SWITCH, "In capital letters.", default=False, flags=("--loud",)),\n',
        ),
    ),
    "graph/request.py": (
        (
            '        Lens("code", ("contains", "calls", "imports", "inherits"), max_depth=3),\n',
            '        Lens("near", ("contains", "calls"), max_depth=1),\n',
        ),
    ),
    "clients/targets.py": (
        (
            '                   "in a shell: gemini mcp list"),\n',
            '    "quill": _Row("quill", {"project": ".quill.json"}, "servers", "in Quill: Servers"),\n',
        ),
    ),
    "cli/commands/connect.py": (('"gemini", "opencode", "cline")\n', 'CLIENTS += ("quill",)\n'),),
}

OTHERS_PROGRAM = """
import json
import os
import pathlib
import subprocess
import sys
from satchel import Satchel

QUESTION = "when do retries stop?"
with Satchel.open(sys.argv[1], environ={"SATCHEL_HOME": sys.argv[2], "PATH": ""}) as satchel:
    satchel.index()
    assert "after a minute" in satchel.assemble(QUESTION, format="compact").text
    assert satchel.request(QUESTION, is_loud=True).is_loud
    assert satchel.graph("README.md", lens="near").text
environment = {**os.environ, "SATCHEL_HOME": sys.argv[2]}
for command in (["context", QUESTION, "--loud", "--format", "compact"], ["setup", "quill", "--scope", "project"]):
    words = [sys.executable, "-m", "satchel", *command, "--root", sys.argv[1]]
    subprocess.run(words, env=environment, check=True)
assert "satchel" in json.loads(pathlib.Path(sys.argv[1], ".quill.json").read_text())["servers"]
"""


LANGUAGE = """
snake
  files snake
  comment #
  grammar tree_sitter_python language snake
  sample def probe(): pass\\n
"""

LANGUAGE_PROGRAM = """
import sys
from satchel import Satchel

with Satchel.open(sys.argv[1], environ={"SATCHEL_HOME": sys.argv[2], "PATH": ""}) as satchel:
    satchel.index()
    hits = satchel.search("retry after a minute", types=["code"])
    assert [hit.chunk.title for hit in hits][:1] == ["retry_later"], hits
    assert "shop.snake" in satchel.assemble("who calls `retry_later`?", related=True).text
"""


def run(program: str, folder: Path, files: Mapping[str, str]) -> None:
    """Run a program with the package in `folder` on a repository of these files."""
    repository = TinyRepository(folder / "shop")
    repository.commit("Begin", files)
    done = subprocess.run(
        [sys.executable, "-c", program, str(repository.root), str(folder / "home")],
        env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def copied(folder: Path) -> Path:
    """Copy the package into a folder; returns the copy."""
    return shutil.copytree(ROOT / "src" / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))


def declare(package: Path, additions: Mapping[str, tuple[tuple[str, str], ...]]) -> None:
    """Add lines behind others of a copied package."""
    for name, lines in additions.items():
        text = (package / name).read_text(encoding="utf-8")
        for line, added in lines:
            assert text.count(line) == 1, (name, line)
            text = text.replace(line, line + added)
        (package / name).write_text(text, encoding="utf-8")


def test_a_new_kind_is_stored_searched_packed_explained_and_expanded(tmp_path: Path) -> None:
    declare(copied(tmp_path), DECLARED)
    run(PROGRAM, tmp_path, {"README.md": "# Shop\n"})


def test_a_format_and_an_option_a_lens_and_a_client_are_a_line_where_they_are_listed(tmp_path: Path) -> None:
    package = copied(tmp_path)
    declare(package, OTHERS)
    shutil.copy(package / "answer" / "render" / "plain.py", package / "answer" / "render" / "compact.py")
    run(OTHERS_PROGRAM, tmp_path, {"README.md": "# Retries\n\nRetries stop after a minute.\n"})


def test_a_new_language_is_one_entry_and_its_query(tmp_path: Path) -> None:
    code = copied(tmp_path) / "sources" / "code"
    table = code / "languages.txt"
    table.write_text(
        table.read_text(encoding="utf-8").replace("\n[code]\n", f"\n[code]{LANGUAGE}", 1), encoding="utf-8"
    )
    shutil.copy(code / "queries" / "python.scm", code / "queries" / "snake.scm")
    source = "def retry_later():\n    # after a minute\n    return 60\n\n\ndef work():\n    return retry_later()\n"
    run(LANGUAGE_PROGRAM, tmp_path, {"shop.snake": source})
