"""Hooks and servers are recognised by what they start, whatever else stands in the file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.clients.edits import (
    MISSING,
    data_of,
    display,
    inside,
    is_own_server,
    own_elements,
    put_json,
    refilled,
    take_json,
    value_at,
)
from satchel.clients.targets import ClientFile, Want
from satchel.errors import ClientFileError

OURS = {"command": "satchel hook prompt", "timeout": 10}
WANT = Want(("hooks", "p"), OURS, is_element=True)


def target(*wants: Want) -> ClientFile:
    return ClientFile(Path("hooks.json"), "hooks", wants)


@pytest.mark.parametrize(
    "element",
    [
        None, "satchel hook prompt", {}, {"hooks": []}, {"hooks": "satchel hook prompt"}, {"command": 7},
        {"command": "satchel hook"}, {"command": "satchel hook session-end"}, {"command": "echo 'satchel hook prompt"},
        {"hooks": [OURS, {"command": "echo"}]}, {"hooks": [None]}, {"command": "hook prompt"},
    ],
    ids=repr,
)  # fmt: skip
def test_what_does_not_start_the_same_hook_is_not_ours(element: Any) -> None:
    assert own_elements([element], WANT) == []


@pytest.mark.parametrize(
    "element",
    [
        {"command": "satchel hook prompt"},
        {"command": "'/a b/satchel' hook prompt", "timeout": 3},
        {
            "hooks": [
                {"command": "uvx --from x satchel hook prompt"},
                {"command": "satchel", "args": ["hook", "prompt"]},
            ]
        },
    ],
    ids=repr,
)
def test_what_starts_the_same_hook_is_ours(element: Any) -> None:
    assert own_elements([{}, element], WANT) == [1]


def test_a_list_that_is_none_and_a_value_that_is_no_hook_hold_nothing_of_ours() -> None:
    assert own_elements({"0": OURS}, WANT) == []
    assert own_elements([OURS], Want(("version",), 1)) == []


def test_values_after_set_up_replace_what_is_ours_and_keep_what_is_there() -> None:
    before = json.dumps({"version": 7, "hooks": {"p": [{"command": "/old/satchel hook prompt"}, {"command": "echo"}]}})
    after = json.dumps({"version": 7, "hooks": {"p": [OURS, {"command": "echo"}]}})
    assert put_json(target(), before, WANT) == after
    assert put_json(target(), after, WANT) == after
    assert json.loads(put_json(target(), "{}", WANT)) == {"hooks": {"p": [OURS]}}


BLANKS = st.sampled_from(["", " ", "\n", "\r\n", "\t", "  \n  "])
KEYS = st.sampled_from(["a", "b", "hooks", 'q"', "ü", "with space"])
SCALARS = st.sampled_from(["1", "-2.5e3", "1.50", "true", "null", '"text, }"', '"\\u00e4\\""', "0", "{ }", "[]"])


@st.composite
def values(draw: st.DrawFn, depth: int = 3) -> str:
    """A value of JSON as a person with a bad day would write it."""
    shape = draw(st.sampled_from(["scalar", "object", "array"])) if depth else "scalar"
    if shape == "scalar":
        return draw(SCALARS)
    children = []
    for name in draw(st.lists(KEYS, max_size=3, unique=True)):
        key = f"{json.dumps(name)}{draw(BLANKS)}:{draw(BLANKS)}" if shape == "object" else ""
        children.append(draw(BLANKS) + key + draw(values(depth - 1)) + draw(BLANKS))
    return ("{%s}" if shape == "object" else "[%s]") % ",".join(children)


@given(
    st.sampled_from(["", "\ufeff"]), BLANKS, values().filter(lambda text: text[0] == "{"), BLANKS,
    st.lists(st.sampled_from(["a", "b", "new", "hooks"]), min_size=1, max_size=3),
)  # fmt: skip
def test_a_value_is_put_in_changed_and_removed_with_nothing_else_touched(
    mark: str, before: str, value: str, behind: str, keys: list[str]
) -> None:
    text = mark + before + value + behind
    path = (*keys, "satchel")
    try:
        added = put_json(target(), text, Want(path, {"command": "x", "args": [1]}))
    except ClientFileError:
        return
    changed = put_json(target(), added, Want(path, {"command": "y"}))
    expected = data_of(target(), text)
    inner = expected
    for key in keys:
        inner = inner.setdefault(key, {})
    inner["satchel"] = {"command": "y"}
    assert data_of(target(), changed) == expected
    data, gone = data_of(target(), text), take_json(changed, path)
    for end in range(len(keys), 0, -1):
        if value_at(data, keys[:end]) is MISSING:
            gone = take_json(gone, keys[:end])
    assert "".join(gone.split()) == "".join(text.split())
    if "{ }" not in text and not re.search(r"[{\[]\s+[}\]]", text):
        assert gone == text


NOTES = st.sampled_from(
    [" ", "\n", "\r\n  ", " // c }, //\n", '/* "x", */', "\n  // ]\n\n  ", " /* a\n b */ ", "// */ \n"]
)


@st.composite
def commented(draw: st.DrawFn, depth: int = 2) -> str:
    """An object with comments and trailing commas in any place."""
    children = []
    for name in draw(st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True)):
        value = draw(commented(depth - 1)) if depth and draw(st.booleans()) else draw(SCALARS)
        children.append(f"{draw(NOTES)}{json.dumps(name)}{draw(NOTES)}:{draw(NOTES)}{value}{draw(NOTES)}")
    last = f",{draw(NOTES)}" if draw(st.booleans()) and children else ""
    return "{" + (",".join(children) + last or draw(NOTES)) + "}"


@given(NOTES, commented(), NOTES, st.lists(st.sampled_from(["a", "b", "new"]), max_size=2))
def test_comments_and_trailing_commas_are_the_same_after_a_value_came_and_went(
    before: str, value: str, behind: str, keys: list[str]
) -> None:
    text, path = before + value + behind + "\n", (*keys, "satchel")
    want = Want(path, {"command": "x", "args": [1]})
    try:
        added, empty = put_json(target(), text, want), inside(target(), text, path)
    except ClientFileError:
        return
    data = data_of(target(), text)
    expected = json.loads(json.dumps(data))
    inner = expected
    for key in keys:
        inner = inner.setdefault(key, {})
    inner["satchel"] = want.value
    assert data_of(target(), added) == expected
    gone = take_json(added, path)
    for end in range(len(keys), 0, -1):
        if value_at(data, keys[:end]) is MISSING:
            gone = take_json(gone, keys[:end])
    assert (refilled(gone, *empty) if empty else gone) == text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('{ // c\n "satchel": 1, "a": 2 }', '{ // c\n "a": 2 }'),
        ('{ "a": 2, // c\n "satchel": 1 }', '{ "a": 2 // c\n  }'),
        ('{ "satchel": 1 /* c */ , "a": 2 }', '{ /* c */  "a": 2 }'),
        ('{\n  // c\n  "satchel": 1,\n  "a": 2,\n}', '{\n  // c\n  "a": 2,\n}'),
    ],
)
def test_a_value_that_a_person_moved_between_comments_is_removed_alone(text: str, rest: str) -> None:
    assert take_json(text, ["satchel"]) == rest
    assert data_of(target(), rest) == {"a": 2}


def test_an_empty_mapping_with_a_new_comment_is_not_filled_with_the_old_one() -> None:
    assert refilled("{ /* new */ }", (), " ") == "{ /* new */ }"
    assert refilled('{"a": {}}', ("a",), " /* c */ ") == '{"a": {}}'
    assert refilled('{"a": {}}', ("a",), "\n") == '{"a": {\n}}'


def test_a_file_without_text_holds_nothing() -> None:
    assert data_of(target(), "\ufeff \n") == {}


@pytest.mark.parametrize("value", [None, "satchel mcp", {"command": "satchel"}, {"command": "satchel", "args": "mcp"}])
def test_what_does_not_start_the_server_is_not_ours(value: Any) -> None:
    assert not is_own_server(value)


def test_paths_are_shown_from_the_nearest_known_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert display(tmp_path / "work" / ".mcp.json") == ".mcp.json"
    assert display(tmp_path / ".claude.json") == "~/.claude.json"
    assert display(Path("/etc/x")) == "/etc/x"
