"""The comment that is the same at the top of every file is not shown."""

from __future__ import annotations

from pathlib import Path

from satchel import Satchel
from satchel.testing import TinyRepository

LICENCE = "# Copyright 2024 The Shop authors.\n# Licensed under the MIT licence, see LICENSE.\n\n"
CODE = '"""Waits between attempts to send an order."""\n\nLONGEST_WAIT = 30.0\n'


def test_a_licence_at_the_top_of_a_file_is_left_out(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "shop")
    repository.write({"src/waits.py": LICENCE + CODE, "src/plain.py": "# How long to wait for an order.\nWAIT = 1.0\n"})
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        text = satchel.assemble("longest wait for an order", types=["code"], fill=True).text
    assert "LONGEST_WAIT = 30.0" in text
    assert "Copyright" not in text
    assert "# How long to wait for an order." in text


def test_documentation_that_speaks_of_a_licence_is_shown(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "shop")
    repository.write({"README.md": "# Licence of the shop\n\nThe shop is free software.\n"})
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        assert "free software" in satchel.assemble("licence of the shop", fill=True).text


def test_no_question_finds_a_file_by_its_licence(tmp_path: Path) -> None:
    licence = " * Copyright 2024 The Shop authors.\n *\n * Without warranties of any kind.\n"
    head = f"/*\n * Waits between attempts.\n *\n{licence} */\n\n"
    repository = TinyRepository(tmp_path / "shop")
    repository.write({"waits.c": f"{head}int longest(void) {{ return 30; }}\n", "a.c": "int a(void) { return 1; }\n"})
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        found = {
            word: [hit.chunk.title for hit in satchel.search(word, types=["code"], min_score=0)]
            for word in ("authors", "kind", "attempts")
        }
    assert found == {"authors": [], "kind": [], "attempts": ["waits.c"]}
