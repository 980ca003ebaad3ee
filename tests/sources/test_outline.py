"""The one door: a path and a text give a kind and an outline."""

from __future__ import annotations

import subprocess
import sys

import pytest

from satchel.sources.outline import outline_file
from satchel.types import Kind, Role
from tests.sources.code.rendering import assert_tiles


@pytest.mark.parametrize(
    ("path", "text", "kind", "language", "roles"),
    [
        ("a.py", "def f(): ...\n", Kind.CODE, "python", [Role.FUNCTION]),
        ("bin/tool", "#!/usr/bin/env python3\ndef f(): ...\n", Kind.CODE, "python", [Role.FUNCTION]),
        ("a.h", "namespace a {\nvoid f() {}\n}\n", Kind.CODE, "cpp", [Role.CLASS, Role.FUNCTION]),
        ("a.nim", "# one\nproc f() = discard\n", Kind.CODE, "nim", [Role.GAP]),
        ("a.lua", "-- one\nfunction f() end\n", Kind.CODE, "lua", [Role.FUNCTION]),
        ("Makefile", "all:\n\techo\n", Kind.CODE, "make", [Role.SECTION]),
        ("a.md", "# A\n", Kind.DOC, "markdown", [Role.SECTION]),
        ("a.toml", "[a]\n", Kind.DOC, "toml", [Role.SECTION]),
        ("LICENSE", "Do what you like.\n", Kind.DOC, "text", [Role.TEXT]),
        ("what.unknown", "Something.\n", Kind.DOC, "text", [Role.TEXT]),
        ("empty.py", "", Kind.CODE, "python", []),
        ("empty.md", "", Kind.DOC, "markdown", []),
    ],
)
def test_the_path_and_the_text_choose_the_reader(
    path: str, text: str, kind: Kind, language: str, roles: list[Role]
) -> None:
    found_kind, found = outline_file(path, text)
    assert (found_kind, found.language, [part.role for part in found.parts]) == (kind, language, roles)
    assert_tiles(found, text)


def test_code_without_a_grammar_knows_its_comment_lines() -> None:
    _, found = outline_file("a.sql", "-- one\n-- two\nselect 1\n  -- three\n")
    assert found.comment_lines == ((1, 2), (4, 4))


def test_a_long_file_without_a_grammar_is_cut_into_gaps() -> None:
    text = "let x = 1\n" * 100
    _, found = outline_file("a.nim", text)
    assert len(found.parts) == 3
    assert {part.role for part in found.parts} == {Role.GAP}
    assert_tiles(found, text)


def test_only_the_grammar_that_is_needed_is_loaded() -> None:
    program = (
        "import sys\n"
        "from satchel.sources.code.languages import grammar\n"
        "from satchel.sources.outline import outline_file\n"
        "outline_file('a.md', '# A')\n"
        "assert 'tree_sitter' not in sys.modules\n"
        "outline_file('a.go', 'package a')\n"
        "assert grammar.cache_info().currsize == 1\n"
        "assert not {'importlib.resources', 'tree_sitter_go', 'tree_sitter_python'} & {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
