"""Edits of JSON touch one value; on any document they can be undone, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.clients.json_edits import StructureError, change, put, take, undo
from satchel.clients.json_text import parse

BLANKS = st.sampled_from(["", " ", "\n", "\r\n", "\t", "  \n  ", "\n// a, } note\n", "/* [ * / */", " // x\r\n\t"])
KEYS = st.sampled_from(["a", "b", "hooks", 'q"', "ü", "with space"])
SCALARS = st.sampled_from(["1", "-2.5e3", "true", "null", '"text, }"', '"\\u00e4\\""', "0"])


@st.composite
def values(draw: st.DrawFn, depth: int = 3) -> str:
    """A value as a person with a bad day would write it."""
    shape = draw(st.sampled_from(["scalar", "object", "array"])) if depth else "scalar"
    if shape == "scalar":
        return draw(SCALARS)
    children = []
    names = draw(st.lists(KEYS, max_size=3, unique=True))
    for name in names:
        before, after = draw(BLANKS), draw(BLANKS)
        key = f"{json.dumps(name)}{draw(BLANKS)}:{draw(BLANKS)}" if shape == "object" else ""
        children.append(before + key + draw(values(depth - 1)) + after)
    ending: str = draw(BLANKS)
    is_trailing: bool = draw(st.booleans())
    inside = ",".join(children) + (ending if not children else f",{ending}" if is_trailing else "")
    return "{" + inside + "}" if shape == "object" else "[" + inside + "]"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file: an object with blanks and comments around it, perhaps with a byte order mark."""
    value = draw(values().filter(lambda text: text.startswith("{")))
    return draw(st.sampled_from(["", "\ufeff"])) + draw(BLANKS) + value + draw(BLANKS)


ENTRY = {"command": "satchel", "args": ["mcp"], "env": {}}


@given(documents(), st.lists(st.sampled_from(["a", "b", "new", "hooks"]), min_size=1, max_size=3))
def test_a_value_is_put_in_changed_and_taken_out_with_nothing_else_touched(text: str, keys: list[str]) -> None:
    path = [*keys, "satchel"]
    before = parse(text).data
    try:
        made = put(text, path, ENTRY)
    except StructureError:
        return
    expected: Any = json.loads(json.dumps(before))
    inner = expected
    for key in keys:
        inner = inner.setdefault(key, {})
    inner["satchel"] = ENTRY
    assert parse(made.text).data == expected
    assert undo(made.text, made.edits) == text

    changed = change(made.text, path, [1])
    assert parse(changed.text).get([*path, 0]) is not None
    assert undo(changed.text, changed.edits) == made.text

    gone = take(made.text, path)
    assert undo(gone.text, gone.edits) == made.text
    del inner["satchel"]
    assert parse(gone.text).data == expected
    assert _comments(gone.text) == _comments(text)


@given(documents(), st.lists(st.integers(0, 9), min_size=1, max_size=3))
def test_elements_go_to_the_end_of_a_list_and_can_be_taken_out(text: str, numbers: list[int]) -> None:
    path = ["list of satchel"]
    made = put(text, path, numbers[0], append=True)
    for number in numbers[1:]:
        made = made.then(put(made.text, path, number, append=True))
    assert parse(made.text).data["list of satchel"] == numbers
    assert undo(made.text, made.edits) == text
    gone = take(made.text, [*path, 0])
    assert parse(gone.text).data["list of satchel"] == numbers[1:]


def _comments(text: str) -> list[str]:
    import re

    found = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return [piece for piece in found if not piece.startswith('"')]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":1,"k":{"x":1}}'),
        ('{ "a": 1 }', '{ "a": 1, "k": {"x": 1} }'),
        ("{}", '{\n  "k": {\n    "x": 1\n  }\n}'),
        ("", '{\n  "k": {\n    "x": 1\n  }\n}\n'),
        ("\ufeff", '\ufeff{\n  "k": {\n    "x": 1\n  }\n}\n'),
        ("\n", '{\n  "k": {\n    "x": 1\n  }\n}\n'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": {\n\t\t"x": 1\n\t}\n}'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": {\r\n        "x": 1\r\n    }\r\n}'),
        ('{\n  "a": 1, // one\n}', '{\n  "a": 1, // one\n  "k": {\n    "x": 1\n  },\n}'),
        ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "k": {\n    "x": 1\n  }\n}'),
        ('{ "a": 1,\n  "b": 2 }', '{ "a": 1,\n  "b": 2,\n  "k": {\n    "x": 1\n  } }'),
        ('{\n  // nothing\n}', '{\n  // nothing\n  "k": {\n    "x": 1\n  }\n}'),
    ],
)  # fmt: skip
def test_what_is_put_in_looks_like_what_stands_around_it(before: str, after: str) -> None:
    made = put(before, ["k"], {"x": 1})
    assert made.text == after
    assert undo(made.text, made.edits) == before


def test_an_edit_that_was_not_made_here_cannot_be_undone() -> None:
    made = put("{}", ["k"], 1)
    assert undo("{}", made.edits) is None


@pytest.mark.parametrize("path", [["x"], ["a", 3], ["b", "c"]])
def test_what_is_not_there_cannot_be_taken_out_or_changed(path: list[str | int]) -> None:
    text = '{"a": [1], "b": 1}'
    with pytest.raises(StructureError, match="is not there"):
        take(text, path)
    with pytest.raises(StructureError, match="is not there"):
        change(text, path, 1)


def test_of_keys_that_occur_twice_the_last_one_counts() -> None:
    text = '{"k": {"old": 1}, "k": {"new": 1}}'
    assert parse(put(text, ["k", "satchel"], 1).text).data == {"k": {"new": 1, "satchel": 1}}
