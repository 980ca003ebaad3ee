from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import lazy_numpy
from satchel.answer.text_lines import TextLines

TEXTS = st.text(st.sampled_from("a \n\x0c\u2028é"), max_size=30)


@given(TEXTS, st.integers(-40, 40), st.integers(-40, 40), st.sampled_from([None, 1, 2, -1]))
def test_lines_are_those_of_the_text(text: str, first: int, behind: int, step: int | None) -> None:
    lines, plain = TextLines(text), text.split("\n")
    assert (len(lines), [*lines]) == (len(plain), plain)
    assert lines[first:behind:step] == plain[first:behind:step]
    if -len(plain) <= first < len(plain):
        assert lines[first] == plain[first]
    else:
        with pytest.raises(IndexError):
            lines[first]


@given(TEXTS, st.integers(1, 40), st.integers(0, 40))
def test_characters_are_those_of_the_lines_with_their_ends(text: str, start: int, more: int) -> None:
    lines, end = TextLines(text), start + more
    shown = text.split("\n")[start - 1 : end]
    assert lines.characters(start, end) == sum(map(len, shown)) + len(shown)
    if end <= len(lines):
        assert lines.joined(start, end) == "\n".join(shown)


@given(TEXTS)
def test_lines_are_the_same_without_numpy(text: str) -> None:
    lines = TextLines(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy_numpy, "loaded", lambda: None)
        bare = TextLines(text)
    ranges = [(start, end) for start in range(1, len(lines) + 1) for end in range(start, len(lines) + 2)]
    assert [*lines] == [bare[at] for at in range(len(bare))]
    assert [lines.characters(*shown) for shown in ranges] == [bare.characters(*shown) for shown in ranges]


def test_equal_texts_have_equal_lines() -> None:
    assert {TextLines("a\nb"), TextLines("a\nb"), TextLines("a")} == {TextLines("a\nb"), TextLines("a")}
    assert TextLines("a") != ["a"]
