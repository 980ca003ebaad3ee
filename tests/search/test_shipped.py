"""Production code in folders that are called after documentation, examples or tests, in a real index."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.shipped import shipped
from satchel.testing import TinyRepository
from satchel.types import Kind


def production(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> set[str]:
    """The files that are production code although their folder has another name."""
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", files)
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        lexicon = satchel.store.lexicon(Kind.CODE)
        mask = shipped(satchel.store, lexicon)
        ids = satchel.store.document_ids(Kind.CODE, files)
        positions = lexicon.document_positions(ids.values()).tolist()
        return {path for path, position in zip(ids, positions, strict=True) if mask[position]}


def test_code_of_documentation_with_tests_beside_it_is_production_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "doc/pages.go": "package doc\n\nfunc Pages() {}\n",
        "doc/pages_test.go": "package doc\n",
        "docs/conf.py": "project = 'shop'\n",
        "examples/one/main.go": "package main\n",
        "examples/one/main_test.go": "package main\n",
    }
    assert production(tmp_path, monkeypatch, files) == {"doc/pages.go"}


@pytest.mark.parametrize(
    ("folder", "importer", "statement", "is_production"),
    [
        ("shop/testing", "shop/app.py", "from shop.testing.client import fake", True),
        ("shop/testing", "shop/app.py", "from .testing.client import fake", True),
        ("shop/testing", "shop/app.py", "import json", False),
        ("shop/testing", "shop/sub/app.py", "from .testing.client import fake", False),
        ("shop/testing", "tests/test_app.py", "from shop.testing.client import fake", False),
        ("shop/examples", "shop/app.py", "from shop.examples.client import fake", True),
        ("shop/tests", "shop/app.py", "from shop.tests.client import fake", False),
    ],
    ids=["absolute", "relative", "not imported", "another folder", "by tests", "examples", "a folder of tests"],
)
def test_what_production_code_imports_is_production_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    importer: str,
    statement: str,
    is_production: bool,
) -> None:
    files = {f"{folder}/client.py": "def fake():\n    return 1\n", importer: f"{statement}\n\n\ndef app(): ...\n"}
    assert production(tmp_path, monkeypatch, files) == ({f"{folder}/client.py"} if is_production else set())


def test_a_module_of_javascript_is_imported_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "lib/testing/fake.js": "export function fake() {}\n",
        "examples/shop/fake.js": "export function fake() {}\n",
        "server/app.js": "import { fake } from '../examples/shop/fake.js'\n\nexport const app = fake()\n",
    }
    assert production(tmp_path, monkeypatch, files) == {"examples/shop/fake.js"}
