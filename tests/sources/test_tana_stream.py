"""The items of a large array are read one by one, wherever the blocks of the file end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.sources.tana import items_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=5), st.dictionaries(st.text(max_size=3), VALUES, max_size=3))
def test_the_items_of_an_export_are_those_of_its_list(items: list[Any], others: dict[str, Any]) -> None:
    others = {key: value for key, value in others.items() if key not in {"docs", "storeData"}}
    for indent in (None, 1):
        raw = json.dumps({**others, "docs": items, "z": 1}, ensure_ascii=False, indent=indent).encode(
            "utf-8", "replace"
        )
        expected = json.loads(raw)["docs"]
        assert list(items_of(raw)) == expected
        assert list(items_of(b'\xef\xbb\xbf{"a": 12, "storeData": ' + raw + b"}")) == expected


def test_a_lone_surrogate_or_a_broken_character_in_a_node_does_not_stop_the_export() -> None:
    assert list(items_of(b'{"docs": [1, "\\ud800", "a"]}')) == [1, "\ud800", "a"]
    assert list(items_of(b'{"docs": ["\xff"]}')) == ["\ufffd"]


@pytest.mark.parametrize("raw", [b"[1]", b'{"a": 1}', b'{"docs": 3}'])
def test_what_has_no_list_of_nodes_is_not_an_export(raw: bytes) -> None:
    with pytest.raises(UsageError, match="there is no list 'docs'"):
        list(items_of(raw))


@pytest.mark.parametrize("raw", [b'{"docs": [1 2]}', b'{"docs": [1}', b'{"docs" 1}', b'{"docs": [' + b"[" * 100_000])
def test_broken_json_is_an_error(raw: bytes) -> None:
    with pytest.raises(UsageError):
        list(items_of(raw))
