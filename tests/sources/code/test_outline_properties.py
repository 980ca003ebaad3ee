"""Laws that hold for any text: the parts tile it, whatever is cut off and whatever is thrown in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.sources.code.languages import GRAMMARS
from satchel.sources.code.outline import outline
from satchel.types import Outline
from tests.sources.code.rendering import assert_tiles, sample

LANGUAGES = sorted(GRAMMARS)

STEP = 97
"""Bytes between two truncations: prime, so that cuts fall into every kind of token."""

PIECES = st.sampled_from(
    [
        *(
            "def f():",
            "class A:",
            "class A {",
            "fn f() {",
            "func (a *A) f() {",
            "function f() {",
            "}",
            "end",
            "mod m {",
        ),
        *("namespace n {", "impl A for B {", "\n", "\n\n", "    ", "\t", "# c", "// c", "/* c", "*/", '"""', "'"),
        "`",
        *("@a", "#[a]", "#if X", "#else", "#endif", "<?php ", "<<EOF\n", "x = 1", "return", "(", ")", "é", "😀"),
        "\r",
        *("cfg! {", "export ", "template <T>", "\x00", "\x0c", "\u2028", "import a", "require('a')"),
    ]
)


def assert_sound(found: Outline, text: str) -> None:
    """Everything that an outline says is about lines that exist and parts that hold it."""
    assert_tiles(found, text)
    last = found.parts[-1].end if found.parts else 0
    for part in found.parts:
        assert all(part.start <= one.line <= part.end for one in part.definitions)
        assert len({(one.type, one.target) for one in part.references}) == len(part.references)
    assert all(1 <= one.start <= one.end <= last for one in found.imports)
    assert list(found.comment_lines) == sorted(found.comment_lines)
    assert all(1 <= start <= end <= last for start, end in found.comment_lines)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sample_cut_anywhere_is_tiled(language: str) -> None:
    data = sample(language).encode()
    for size in range(0, len(data), STEP):
        text = data[:size].decode("utf-8", "ignore")
        assert_sound(outline(text, language), text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_half_a_sample_keeps_the_names_of_its_first_half(language: str) -> None:
    whole = sample(language)
    lines = whole.split("\n")
    half = len(lines) // 2
    names = {part.name for part in outline(whole, language).parts if part.end < half and part.name}
    found = outline("\n".join(lines[:half]), language)
    kept = {part.name for part in found.parts} | {
        f"{one.owner}.{one.name}".lstrip(".") for part in found.parts for one in part.definitions
    }
    assert names <= kept


@pytest.mark.parametrize("language", LANGUAGES)
def test_merge_markers_do_not_hide_the_functions_around_them(language: str) -> None:
    lines = sample(language).split("\n")
    half = len(lines) // 2
    text = "\n".join([*lines[:half], "<<<<<<< ours", "=======", ">>>>>>> theirs", *lines[half:]])
    assert_sound(outline(text, language), text)


@pytest.mark.parametrize("language", LANGUAGES)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_pieces_of_programs_in_any_order_are_tiled(language: str, text: str) -> None:
    assert_sound(outline(text, language), text)


@given(st.sampled_from(LANGUAGES), st.text(max_size=200))
def test_any_text_is_tiled(language: str, text: str) -> None:
    assert_sound(outline(text, language), text)


@given(st.sampled_from(LANGUAGES))
def test_the_same_text_gives_the_same_outline(language: str) -> None:
    assert outline(sample(language), language) == outline(sample(language), language)
