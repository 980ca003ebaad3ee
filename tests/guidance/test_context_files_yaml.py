from __future__ import annotations

import pytest

from satchel.errors import ContextFileError
from satchel.guidance.context_files import DEEPEST, read_yaml


def test_values_keep_their_lines() -> None:
    marked = read_yaml("a:\n  b: 1\n  c:\n    - x\n    - y: z\n", "f.yaml")
    assert marked.data == {"a": {"b": 1, "c": ["x", {"y": "z"}]}}
    assert marked.lines["a", "b"] == 2
    assert marked.lines["a", "c", 1, "y"] == 5


def test_plain_words_are_read_by_the_core_schema() -> None:
    text = "{a: no, b: true, c: 2026-01-02, d: 1.5, e: ~, f: '12', g: 0x10, h: -3}"
    values = {"a": "no", "b": True, "c": "2026-01-02", "d": 1.5, "e": None, "f": "12", "g": "0x10", "h": -3}
    assert read_yaml(text, "f").data == values


def test_an_empty_text_is_nothing() -> None:
    assert read_yaml("# only a comment\n", "f").data is None


def test_an_alias_stands_for_what_was_said() -> None:
    assert read_yaml("a: &x [1, 2]\nb: *x\n", "f").data == {"a": [1, 2], "b": [1, 2]}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: has 'a' twice, first on line 1: leave one"),
        ("a: !!python/object:os.system x\n", "f.yaml:1: has the tag"),
        ("!thing\na: 1\n", "f.yaml:1: has the tag !thing"),
        (BOMB, "stands for more than 20,000 values"),
        ("x:\n" + "".join(" " * depth + "- \n" for depth in range(1, DEEPEST + 3)), f"deeper than {DEEPEST} levels"),
        ("[" * 5000 + "]" * 5000, f"deeper than {DEEPEST} levels"),
        ("a: {b: 1\nc: 2\n", "f.yaml:"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: has a second document"),
        ("base: &b {x: 1}\nc:\n  <<: *b\n", "f.yaml:3: has a merge key"),
        ("? [a]\n: 1\n", "f.yaml:1: has a key that is not a plain text"),
        ("a: *b\n", "f.yaml:1"),
        ("a: \x01\n", "f.yaml"),
        ("a:\n\t- b\n", "f.yaml:2"),
    ],
    ids=["duplicate key", "python tag", "own tag", "alias bomb", "deep list", "deep flow", "unclosed",
         "second document", "merge key", "list as key", "unknown alias", "control character", "tab"],
)  # fmt: skip
def test_what_cannot_be_used_is_named_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ContextFileError) as raised:
        read_yaml(text, "f.yaml")
    assert message in str(raised.value)
