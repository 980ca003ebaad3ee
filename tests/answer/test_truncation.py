"""What a truncation strategy leaves out is whole statements, said in the language of the file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.answer import truncation
from satchel.answer.text_lines import TextLines
from satchel.answer.truncation import OmissionRemark, Shortened, SourceText, shortenings, strategy
from satchel.errors import UsageError
from satchel.sources.code.languages import GRAMMARS, comment
from satchel.sources.code.runs import faults, tree_of
from satchel.sources.outline import outline_file

SAMPLES = Path(__file__).parents[1] / "sources" / "code" / "samples"
NAMED = ("signature-first", "bookend")

FUNCTIONS: Mapping[str, tuple[str, str, list[str]]] = {
    "bash": (
        "work() {", "}",
        ["  echo one", "  if true; then\n    echo two\n  fi", "  # note", "  x=$((x + 1))"],
    ),
    "c": (
        "int work(int a) {", "}",
        ["  a += 1;", "  if (a) {\n    a--;\n  }", "  // note", "  call(a,\n       2);"],
    ),
    "cpp": (
        "int work(int a) {", "}",
        ["  a += 1;", "  for (auto x : y) {\n    z(x);\n  }", "  /* note */", "  f();"],
    ),
    "csharp": (
        "class A {\n  int Work(int a) {", "  }\n}",
        ["    a++;", "    if (a > 1) {\n      a--;\n    }", "    // n"],
    ),
    "elixir": (
        "defmodule A do\n  def work(a) do", "    a\n  end\nend",
        ["    b(a)", "    if a do\n      c()\n    end", "    # note"],
    ),
    "go": (
        "func work(a int) int {", "\treturn a\n}",
        ["\ta++", "\tif a > 1 {\n\t\ta--\n\t}", "\t// note", "\tf(\n\t\ta,\n\t)"],
    ),
    "java": (
        "class A {\n  int work(int a) {", "    return a;\n  }\n}",
        ["    a++;", "    if (a > 1) {\n      a--;\n    }"],
    ),
    "javascript": (
        "function work(a) {", "}",
        ["  a++;", "  if (a) {\n    b();\n  } else {\n    c();\n  }", "  // note"],
    ),
    "kotlin": (
        "fun work(a: Int): Int {", "  return a\n}",
        ["  b(a)", "  if (a > 1) {\n    c()\n  }", "  // note", "  val x =\n    d()"],
    ),
    "lua": (
        "function work(a)", "end",
        ["  a = a + 1", "  if a then\n    b()\n  end", "  -- note", "  f(\n    1)"],
    ),
    "php": (
        "<?php\nfunction work($a) {", "}",
        ["  $a++;", "  if ($a) {\n    b();\n  }", "  // note"],
    ),
    "python": (
        "def work(a):", "",
        ["    a += 1", "    if a:\n        b()\n    else:\n        c()", "    # note", "    f(\n        1)"],
    ),
    "ruby": (
        "def work(a)", "end",
        ["  a += 1", "  if a\n    b\n  else\n    c\n  end", "  # note", "  x.each do |y|\n    z y\n  end"],
    ),
    "rust": (
        "fn work(a: i32) -> i32 {", "    a\n}",
        ["    a += 1;", "    if a > 1 {\n        b();\n    }", "    // note"],
    ),
    "scala": (
        "object A {\n  def work(a: Int): Int = {", "    a\n  }\n}",
        ["    b(a)", "    if (a > 1) {\n      c()\n    }", "    // note"],
    ),
    "swift": (
        "func work(_ a: Int) -> Int {", "  return a\n}",
        ["  b(a)", "  if a > 1 {\n    c()\n  }", "  // note", "  let x =\n    d()"],
    ),
    "terraform": (
        'resource "a" "work" {', "}",
        ["  a = 1", "  b {\n    c = 2\n  }", "  # note"],
    ),
    "tsx": (
        "function Work(a: number) {", "  return <b>{a}</b>;\n}",
        ["  a++;", "  if (a) {\n    b();\n  }", "  // note"],
    ),
    "typescript": (
        "function work(a: number): void {", "}",
        ["  a++;", "  const x = {\n    y: 1,\n  };", "  // note"],
    ),
}  # fmt: skip
"""Opening, closing and statements of a function in each language."""


def _shortened(language: str, text: str, name: str, budget: float) -> tuple[SourceText, Shortened | None]:
    source = SourceText(TextLines(text), language)
    chosen = strategy(name)
    assert chosen is not None
    return source, chosen.shorten(source, 1, len(source.lines), budget)


def _faults(text: str, language: str) -> int:
    tree = tree_of(text, language)
    assert tree is not None
    return faults(tree)


def test_every_language_has_an_example() -> None:
    assert set(FUNCTIONS) == GRAMMARS


@pytest.mark.parametrize("language", sorted(GRAMMARS))
@given(data=st.data(), name=st.sampled_from(NAMED), share=st.floats(0.1, 0.9))
def test_a_shortened_function_has_no_fault_that_the_whole_has_not(
    language: str, data: st.DataObject, name: str, share: float
) -> None:
    opening, closing, statements = FUNCTIONS[language]
    body = data.draw(st.lists(st.sampled_from(statements), min_size=1, max_size=20))
    text = "\n".join(part for part in (opening, *body, closing) if part)
    source, made = _shortened(language, text, name, share * len(text) / 3.6)
    if made is None:
        return
    short = made.text(source)
    assert _faults(short + "\n", language) <= _faults(text + "\n", language)
    assert short.startswith(opening.partition("\n")[0])
    assert len(short) < len(text) + 60
    _check_lines(source, made)


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_the_statements_of_a_function_are_found_in_every_language(language: str) -> None:
    opening, closing, statements = FUNCTIONS[language]
    text = "\n".join(part for part in (opening, *([statements[0]] * 30), closing) if part)
    source, made = _shortened(language, text, "bookend", len(text) / 8)
    assert made is not None
    assert len(made.text(source)) < len(text) / 2


def _check_lines(source: SourceText, made: Shortened) -> None:
    """Ranges and remarks tile the text: every line is kept or stands in exactly one remark."""
    rows = sorted([*made.ranges, *((remark.start, remark.end) for remark in made.remarks)])
    assert rows[0][0] == 1
    assert rows[-1][1] == len(source.lines)
    assert all(later[0] == earlier[1] + 1 for earlier, later in pairwise(rows))
    for remark in made.remarks:
        assert f"{remark.end - remark.start + 1} lines left out ({remark.start}-{remark.end})" in remark.text


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_parts_of_real_files_stay_sound_in_their_place(language: str, name: str) -> None:
    text = (SAMPLES / f"{language}.txt").read_text(encoding="utf-8")
    source = SourceText(TextLines(text), language)
    chosen = strategy(name)
    assert chosen is not None
    whole = _faults(text, language)
    _, outline = outline_file(f"a.{language}", text)
    for start, end in [(part.start, part.end) for part in outline.parts] + [(1, len(source.lines))]:
        for made in shortenings(chosen, source, start, end, sum(map(len, source.lines[start - 1 : end])) / 8):
            lines = [*source.lines[: start - 1], *made.text(source).split("\n"), *source.lines[end:]]
            assert _faults("\n".join(lines), language) <= whole


def test_signature_first_keeps_the_declaration_and_its_doc() -> None:
    body = "\n".join(f"    step_{number}(a)" for number in range(30))
    text = f'@cached\ndef work(a):\n    """What it does.\n\n    More.\n    """\n{body}'
    source, made = _shortened("python", text, "signature-first", 60)
    assert made is not None
    short = made.text(source).split("\n")
    assert short[:7] == [*text.split("\n")[:6], "    step_0(a)"]
    assert short[-1].startswith("    # ")
    assert short[-1].endswith("lines left out (17-36)") or "lines left out" in short[-1]


def test_signature_first_shows_every_method_of_a_class() -> None:
    methods = "\n".join(
        f"    def m{n}(self):\n        a = {n}\n        b = a\n        c = b\n        return c\n" for n in range(8)
    )
    source, made = _shortened("python", f"class A:\n{methods}", "signature-first", 170)
    assert made is not None
    short = made.text(source)
    assert all(f"def m{number}(self):" in short for number in range(8))
    assert "        ...  # 4 lines left out" in short


def test_an_emptied_block_says_nothing_in_its_language() -> None:
    for language, filler in (("python", "    ...  # "), ("bash", "  :  # ")):
        opening, closing, statements = FUNCTIONS[language]
        text = "\n".join(part for part in (opening, *([statements[0]] * 9), closing) if part)
        source, made = _shortened(language, text, "signature-first", 1)
        assert made is not None
        assert f"{filler}9 lines left out" in made.text(source)


def test_bookend_keeps_the_beginning_and_the_end() -> None:
    body = "\n".join(f"    step_{number}(a);" for number in range(40))
    source, made = _shortened("rust", f"fn work(a: i32) {{\n{body}\n}}", "bookend", 120)
    assert made is not None
    (remark,) = made.remarks
    short = made.text(source)
    assert "step_0(a)" in short
    assert "step_39(a)" in short
    assert remark.text.startswith("    // ")


@pytest.mark.parametrize("name", NAMED)
def test_without_a_grammar_the_units_are_lines(name: str) -> None:
    text = "\n".join(f"line {number} of a longer text" for number in range(60))
    source, made = _shortened("text", text, name, 100)
    assert made is not None
    assert made.ranges[0][0] == 1
    assert made.remarks[0].text.startswith("[")
    assert len(made.text(source)) < len(text) / 2


def test_what_fits_or_cannot_be_cut_is_not_shortened() -> None:
    assert _shortened("python", "def f():\n    return 1", "bookend", 100)[1] is None
    assert _shortened("python", 'X = """\n' + "word " * 300 + '\n"""', "bookend", 10)[1] is None


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("python", "# x"), ("bash", "# x"), ("ruby", "# x"), ("go", "// x"), ("json", "// x"), ("css", "/* x */"),
        ("sql", "-- x"), ("markdown", "<!-- x -->"), ("yaml", "# x"), ("text", "[x]"), ("", "[x]"), ("batch", "rem x"),
    ],
)  # fmt: skip
def test_a_remark_is_a_comment_of_its_language(language: str, written: str) -> None:
    assert comment(language, "x") == written


def test_an_unknown_strategy_is_answered_with_all_names() -> None:
    with pytest.raises(UsageError, match="unknown strategy 'half': choose from ladder, signature-first, bookend"):
        strategy("half")


def test_a_strategy_of_ones_own_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class FirstLine:
        name = "first-line"

        def shorten(self, source: SourceText, start: int, end: int, budget_tokens: float) -> Shortened | None:
            del source, budget_tokens
            return Shortened(((start, start),), (OmissionRemark(start + 1, end, "..."),)) if end > start else None

    monkeypatch.setattr(truncation, "_STRATEGIES", dict(truncation._STRATEGIES))
    truncation.register(FirstLine())
    chosen = strategy("first-line")
    assert chosen is not None
    (made,) = shortenings(chosen, SourceText(TextLines("a\nb\nc"), ""), 1, 3, 10)
    assert made.ranges == ((1, 1),)
    with pytest.raises(UsageError, match="already"):
        truncation.register(FirstLine())
