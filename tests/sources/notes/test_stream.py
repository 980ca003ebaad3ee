"""The items of a large array are read one by one, wherever the blocks of the file end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.sources.notes import stream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=5), st.dictionaries(st.text(max_size=3), VALUES, max_size=3), st.integers(1, 9))
def test_items_are_the_same_whatever_a_block_holds(items: list[Any], others: dict[str, Any], size: int) -> None:
    others = {key: value for key, value in others.items() if key not in {"docs", "box"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK_BYTES", size)
        for indent in (None, 1):
            raw = json.dumps({**others, "docs": items, "z": 1}, ensure_ascii=False, indent=indent).encode(
                "utf-8", "replace"
            )
            expected = json.loads(raw)["docs"]
            assert list(stream.array_items(raw, "docs", "box")) == expected
            assert list(stream.array_items(b'\xef\xbb\xbf{"a": 12, "box": ' + raw + b"}", "docs", "box")) == expected


@pytest.mark.parametrize("raw", [b'{"docs": [1 2]}', b'{"docs": [1}', b'{"docs" 1}', b'{"docs": [' + b"[" * 100_000])
def test_broken_json_is_an_error_and_no_endless_loop(raw: bytes) -> None:
    with pytest.raises(UsageError):
        list(stream.array_items(raw, "docs", "box"))
