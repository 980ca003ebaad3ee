"""What one more kind of records or files, or one more language, costs: a copy of the package has it in every room."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from satchel.testing import TinyRepository
from tests.architecture.tree import PACKAGE, ROOT

DECLARED = {
    "types.py": (("Kind", 'TICKET = "ticket", KindTraits("tickets", 2.0, filters=("author",))'),),
    "settings.py": (("Settings", "context_weights_tickets: float = _weight(Kind.TICKET)"),),
}
"""File -> the classes and collections of it, by name, each with what is added at its end."""

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
    assert [hit.chunk.id for hit in satchel.search(QUESTION, types=["tickets"], filters={"author": "Ada"})] == []
    assert "T-7" in satchel.graph("ticket:T-7").text
    assert satchel.settings.context_weights_tickets == 2.0
    with satchel.store.write() as writer:
        writer.remove(Kind.TICKET, ["T-7"])
    assert satchel.search(QUESTION, types=["tickets"]) == []
"""

FILES_DECLARED = {
    "types.py": (
        (
            "Kind",
            'LEAFLET = "leaflet", KindTraits("leaflets", 2.0, is_file=True, is_record=False, is_prose=True)',
        ),
    ),
    "settings.py": (("Settings", "context_weights_leaflets: float = _weight(Kind.LEAFLET)"),),
}
LEAFLETS = "\n[leaflet]\nleaflet\n  files leaflet\n"
"""What is added to the languages by which files are recognised."""

FILES_PROGRAM = """
import sys
from pathlib import Path
from satchel import Satchel, UsageError

QUESTION = "when do retries stop?"
first = Path(sys.argv[1], "leaflets", "1.leaflet")
with Satchel.open(sys.argv[1], environ={"SATCHEL_HOME": sys.argv[2], "PATH": ""}) as satchel:
    satchel.index()
    assert [hit.chunk.location.path for hit in satchel.search(QUESTION, types=["leaflets"])] == ["leaflets/1.leaflet"]
    context = satchel.assemble(QUESTION)
    assert "## Leaflets" in context.text, context.text
    assert [failure.message for failure in context.failures] == []
    assert "after a minute" in satchel.expand([item.handle for item in context.items]).text
    assert "after a minute" in satchel.expand(["leaflets/1.leaflet:1-3"]).text
    assert satchel.why("leaflets/1.leaflet", QUESTION)[0].is_shown
    assert satchel.why("leaflet:leaflets/1.leaflet", QUESTION)[0].rank == 1
    try:
        satchel.why("leaflets/2.leafle", QUESTION)
    except UsageError as error:
        assert "did you mean leaflets/2.leaflet" in str(error), error
    assert satchel.search_pattern("stop after").matches[0].path == "leaflets/1.leaflet"
    pinned = satchel.assemble("buttons", include=["leaflets/1.leaflet"])
    assert [failure.message for failure in pinned.failures] == []
    item = pinned.items[0]
    assert (item.id, item.source) == ("leaflet:leaflets/1.leaflet", "leaflet"), pinned.items
    assert "leaflets/2.leaflet" in satchel.graph("leaflets/2.leaflet").text
    first.write_text("Subject: shop\\n\\nThe weather is fine.\\n")
    satchel.index()
    changed = satchel.assemble(QUESTION)
    assert "after a minute" not in changed.text, changed.text
    first.unlink()
    assert satchel.index().removed == 1
    gone = satchel.assemble("weather")
    assert "leaflets/1.leaflet" not in gone.text, gone.text
    assert satchel.search_pattern("weather").matches == ()
"""

PROSE_PROGRAM = """
import json
import sys
from pathlib import Path
from satchel import Satchel

QUESTIONS = (
    "when do retries stop?", "why did the retries change from two minutes?", "how do I add a new retry rule?",
    "what calls `retry_later`?", "when was the pause removed?", "are retries like zeppelins?",
)
with Satchel.open(sys.argv[1], environ={"SATCHEL_HOME": sys.argv[2], "PATH": ""}) as satchel:
    satchel.index()
    answers = [satchel.assemble(question, max_tokens=tokens) for question in QUESTIONS for tokens in (150, 1500)]
    Path(sys.argv[1], "shop.py").write_text("def retry_later(): return 90")
    satchel.index()
    answers.append(satchel.assemble("", change=satchel.change()))
    answers.append(satchel.assemble("why", change=satchel.change()))
    print([(hit.chunk.id, hit.score) for hit in satchel.search("retry a minute", limit=9)])
    for answer in answers:
        items = [(item.id, item.relevance, item.spans) for item in answer.items]
        print(json.dumps([items, answer.meta["missing_terms"], answer.meta["left_out"]]))
"""

OTHERS = {
    "types.py": (("Format", 'COMPACT = "compact"'),),
    "answer/packing.py": (("FRAMES", "Format.COMPACT: TextFrame(21, 8)"),),
    "answer/request.py": (("TextForm", "is_loud: bool = False"),),
    "operations/ask.py": (
        ("_REQUEST", 'Parameter("is_loud", Shape.SWITCH, "In capital letters.", default=False, flags=("--loud",))'),
    ),
    "graph/request.py": (("LENSES", 'Lens("near", ("contains", "calls"), max_depth=1)'),),
    "clients/records.py": (
        ("CLIENTS", '"quill": Client("Quill", "quill", {"project": ".quill.json"}, "servers", ("in Quill: Servers",))'),
    ),
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
    assert satchel.request(QUESTION, is_loud=True).form.is_loud
    assert satchel.graph("README.md", lens="near").text
environment = {**os.environ, "SATCHEL_HOME": sys.argv[2]}
offered = subprocess.run([sys.executable, "-m", "satchel", "setup"], env=environment, capture_output=True, text=True)
assert "setup quill" not in offered.stdout, "a client without settings of a user is not found by a folder"
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


LANGUAGE_FILES = ("sources/code/languages.txt", "sources/code/queries/")

STEPS: Mapping[str, Iterable[str]] = {
    "a kind of records": DECLARED,
    "a kind of files": (*FILES_DECLARED, "sources/code/languages.txt"),
    "an option of a question": ("answer/request.py", "operations/ask.py"),
    "a ranking constant": ("weights.py", "tests/ranking", "benchmarks/results/rank_table.json"),
    "a client of": ("clients/records.py", "tests/clients/test_setup_golden.py"),
    "a lens of": ("graph/request.py",),
    "a format of": ("types.py", "answer/packing.py", "answer/render/"),
    "a language |": LANGUAGE_FILES,
}
"""The beginning of a row of docs/architecture.md -> the files that are changed here for it."""


def run(program: str, folder: Path, files: Mapping[str, str], name: str = "shop") -> str:
    """Run a program with the package in `folder` on a repository of these files; returns what it prints."""
    repository = TinyRepository(folder / name)
    repository.commit("Begin", files)
    done = subprocess.run(
        [sys.executable, "-c", program, str(repository.root), str(folder / f"{name}-home")],
        env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def copied(folder: Path) -> Path:
    """Copy the package into a folder; returns the copy."""
    return shutil.copytree(ROOT / "src" / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))


def with_addition(source: str, name: str, addition: str) -> str:
    """Return a module with one more field in a class, or entry in the collection that a name is set to, at its end.

    A collection is the first dictionary, tuple or list in the value, so also the one that a comprehension goes through.
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            fields = [part for part in node.body if isinstance(part, ast.Assign | ast.AnnAssign)]
            return _inserted(source, fields[-1], f"\n{' ' * fields[-1].col_offset}{addition}")
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and name in _targets(node):
            collections = (part for part in ast.walk(node.value) if isinstance(part, ast.Dict | ast.Tuple | ast.List))
            collection = next(collections)
            entries = collection.values if isinstance(collection, ast.Dict) else collection.elts
            return _inserted(source, entries[-1], f", {addition}")
    raise AssertionError(f"there is no class or collection {name!r}")


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _inserted(source: str, node: ast.expr | ast.stmt, addition: str) -> str:
    """Insert text behind a node. The parser counts columns in bytes."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = source.encode().splitlines(keepends=True)
    line = lines[node.end_lineno - 1]
    lines[node.end_lineno - 1] = line[: node.end_col_offset] + addition.encode() + line[node.end_col_offset :]
    return b"".join(lines).decode()


def declare(package: Path, additions: Mapping[str, tuple[tuple[str, str], ...]]) -> None:
    """Add fields and entries to modules of a copied package."""
    for file, parts in additions.items():
        text = (package / file).read_text(encoding="utf-8")
        for name, addition in parts:
            text = with_addition(text, name, addition)
        (package / file).write_text(text, encoding="utf-8")


def test_an_addition_needs_no_certain_layout_of_the_source() -> None:
    source = "class Row:\n    a: int = 1\n\n    def b(self) -> None: ...\n"
    source += 'ROWS = {\n    "ä": (1, 2)  # two\n}\nNAMES = ("a", "b")\n'
    source = with_addition(source, "Row", "c: int = 3")
    source = with_addition(source, "ROWS", '"d": (3,)')
    source = with_addition(source, "NAMES", '"e"')
    values: dict[str, Any] = {}
    exec(source, values)
    assert values["Row"].c == 3
    assert (values["ROWS"], values["NAMES"]) == ({"ä": (1, 2), "d": (3,)}, ("a", "b", "e"))


@pytest.mark.parametrize("start", STEPS)
def test_the_page_names_every_file_that_an_addition_needs_and_nothing_that_is_gone(start: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {start}")]
    assert [file for file in STEPS[start] if f"`{file}`" not in row] == []
    for names, file in re.findall(r"((?:`[A-Z_]{4,}`(?:, | and )?)+)[^`.;]*`([\w/]+\.py)`", row):
        source = (ROOT / "src" / PACKAGE / file).read_text(encoding="utf-8")
        assert [name for name in re.findall(r"\w+", names) if not re.search(rf"^{name}\b", source, re.M)] == []


def test_what_the_page_names_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Where do I change")[2]
    named = re.findall(r"`([\w./]+/|[\w./]+\.(?:py|txt|md|json|toml|js))`", page)
    package = ROOT / "src" / PACKAGE
    gone = [name for name in named if not ((ROOT / name).exists() or any(package.rglob(name)))]
    assert gone == []
    tests = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in re.findall(r"`(test_\w+)`", page) if f"def {name}(" not in tests] == []


def test_what_is_added_here_is_what_the_page_says() -> None:
    tried = {*DECLARED, *FILES_DECLARED, *OTHERS, *LANGUAGE_FILES}
    assert tried <= {file for files in STEPS.values() for file in files}


def test_a_new_kind_is_stored_searched_packed_explained_and_expanded(tmp_path: Path) -> None:
    declare(copied(tmp_path), DECLARED)
    run(PROGRAM, tmp_path, {"README.md": "# Shop\n"})


def test_a_new_kind_of_files_is_shown_kept_fresh_pinned_explained_and_found_by_a_pattern(tmp_path: Path) -> None:
    package = copied(tmp_path)
    _declare_leaflets(package)
    run(
        FILES_PROGRAM, tmp_path,
        {
            "README.md": "# Shop\n",
            "leaflets/1.leaflet": "Subject: retries\n\nThe retries stop after a minute.\n",
            "leaflets/2.leaflet": "Subject: login\n\nThe page of the login shows two buttons.\n",
        },
    )  # fmt: skip


def _declare_leaflets(package: Path) -> None:
    declare(package, FILES_DECLARED)
    with (package / "sources" / "code" / "languages.txt").open("a", encoding="utf-8") as table:
        table.write(LEAFLETS)


def test_a_new_kind_of_prose_is_ranked_and_shown_beside_code_as_documents_are(tmp_path: Path) -> None:
    package = copied(tmp_path)
    _declare_leaflets(package)
    letters = {
        "pause": "Subject: pause\n\nThe retries changed from two minutes, because the shop waited too long.\n",
        "login": "Subject: login\n\nThe page of the login shows two buttons, and retry_later is not asked there.\n",
        "retries": "Subject: retries\n\nThe retries stop after a minute. Add a new retry rule in shop.py.\n",
    }
    shop = "def retry_later():\n    # retries stop after a minute\n    return 60\n\n\nvalue = retry_later()\n"
    answers = {
        ending: run(
            PROSE_PROGRAM, tmp_path,
            {"shop.py": shop, **{f"letters/{name}.{ending}": text for name, text in letters.items()}}, name=ending,
        )
        for ending in ("leaflet", "md")
    }  # fmt: skip
    assert "leaflet" in answers["leaflet"]
    assert answers["leaflet"].replace(".leaflet", ".md").replace("leaflet", "doc") == answers["md"]


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
