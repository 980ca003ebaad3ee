"""Texts made to hang or crash a parser: each must end soon and be tiled."""

from __future__ import annotations

import pytest

from satchel.sources.code import parse
from satchel.sources.code.languages import GRAMMARS
from satchel.sources.code.outline import outline
from tests.sources.code.rendering import assert_tiles

LANGUAGES = sorted(GRAMMARS)

DEEP = 100_000


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("bracket", ["(", "[", "{", "( ", "{\n"])
def test_open_brackets_without_end_are_cut_by_lines(language: str, bracket: str) -> None:
    text = bracket * DEEP
    found = outline(text, language)
    assert not found.parsed
    assert_tiles(found, text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_stands_before_deep_nesting_is_still_found(language: str) -> None:
    deep = DEEP // 10
    text = {
        "bash": "f() {\n  g\n}\n\necho " + "$(" * deep + "x" + ")" * deep,
        "php": "<?php\nfunction f() {\n}\n\n$x = " + "(a" * deep + ")" * deep + ";",
        "python": "def f():\n    g()\n\nx = " + "(a," * deep + "1" + ")" * deep,
        "ruby": "def f\n  g()\nend\n\nx = " + "[a," * deep + "1" + "]" * deep,
        "rust": "fn f() {\n}\n\nstatic X: u8 = " + "(a+" * deep + "1" + ")" * deep + ";",
        "go": "package p\nfunc f() {\n}\n\nvar x = " + "(a+" * deep + "1" + ")" * deep,
        "java": "class A { void f() {\n}\n\nint x = " + "(a+" * deep + "1" + ")" * deep + ";}",
        "csharp": "class A { void f() {\n}\n\nint x = " + "(a+" * deep + "1" + ")" * deep + ";}",
        "c": "int f(void) {\n}\n\nint x = " + "(a+" * deep + "1" + ")" * deep + ";",
        "cpp": "int f(void) {\n}\n\nint x = " + "(a+" * deep + "1" + ")" * deep + ";",
        "elixir": "defmodule A do\n  def f do\n  end\nend\n\nx = " + "(a+" * deep + "1" + ")" * deep,
        "terraform": 'variable "f" {\n}\n\nx = ' + "(a+" * deep + "1" + ")" * deep,
        "kotlin": "fun f() {\n}\n\nval x = " + "(a+" * deep + "1" + ")" * deep,
        "lua": "function f()\nend\n\nx = " + "(a+" * deep + "1" + ")" * deep,
        "scala": "object A {\ndef f() = {\n}\n}\n\nval x = " + "(a+" * deep + "1" + ")" * deep,
        "swift": "func f() {\n}\n\nlet x = " + "(a+" * deep + "1" + ")" * deep,
    }.get(language, "function f() {\n}\n\nconst x = " + "(a+" * deep + "1" + ")" * deep)
    found = outline(text, language)
    assert_tiles(found, text)
    if found.parsed:
        assert "f" in {one.name for part in found.parts for one in part.definitions}


@pytest.mark.parametrize("language", ["python", "javascript", "go", "rust", "java", "ruby"])
def test_a_sum_without_end_is_no_problem(language: str) -> None:
    text = ("<?php $x = " if language == "php" else "x = ") + "a + " * DEEP + "a\n"
    assert_tiles(outline(text, language), text)


def test_functions_in_functions_without_end_keep_their_names_short() -> None:
    text = "".join(f"{' ' * depth}def function_{depth}():\n" for depth in range(600)) + " " * 600 + "pass\n"
    found = outline(text, "python")
    assert_tiles(found, text)
    assert max(len(one.owner) for part in found.parts for one in part.definitions) < 500


def test_a_parser_that_does_not_come_to_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "TICKS", 10)
    monkeypatch.setattr(parse, "TICKS_PER_KILOBYTE", 0)
    text = "def f():\n    pass\n" * 2_000
    found = outline(text, "python")
    assert not found.parsed
    assert_tiles(found, text)


def test_a_parser_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "PARSE_SECONDS", -1.0)
    assert not outline("def f():\n    pass\n" * 2_000, "python").parsed


def test_many_broken_blocks_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = 0
    original = parse._Budget.is_spent

    def counted(self: parse._Budget, offset: int, has_error: bool) -> bool:
        nonlocal reports
        reports += 1
        return original(self, offset, has_error)

    monkeypatch.setattr(parse._Budget, "is_spent", counted)
    text = "\n".join("int f(x {{ ;\n  a => b => c =>\n}\n" for _ in range(2_000))
    assert_tiles(outline(text, "c"), text)
    assert reports <= 2 * (parse.TICKS + parse.TICKS_PER_KILOBYTE * len(text) // 1_000) + 2_000


def test_the_limits_leave_room_for_large_ordinary_files() -> None:
    text = "class A:\n" + "".join(
        f"    def f{index}(self, a=(1, [2, {{3: 4}}])):\n        g(a)\n" for index in range(5_000)
    )
    found = outline(text, "python")
    assert found.parsed
    assert len(found.parts) == 5_001
