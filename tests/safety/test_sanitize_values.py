"""Text from outside is made fit in one place, whatever shape it has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.safety import sanitize
from satchel.system.files import SkipReason
from satchel.types import Chunk, Kind
from tests.safety.test_sanitize_redact import TOKENS

KEY = TOKENS["github-token"]
MARK = "[REDACTED:github-token]"

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10) | st.just(f"\u202e{KEY}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_text_loses_secrets_and_hidden_characters_and_keeps_its_lines() -> None:
    assert sanitize.text(f"a\u200b\n{KEY}\n") == f"a\n{MARK}\n"
    assert sanitize.counted_text(f"a\u200b\n{KEY}\n") == (f"a\n{MARK}\n", {"redacted": 1, "cleaned": 1})
    assert sanitize.counted_text("a") == ("a", {})
    assert sanitize.text(KEY, allow=["^ghp_"]) == KEY


def test_a_line_is_redacted_before_it_is_cut() -> None:
    cut = sanitize.line(f"{'x' * 20} {KEY}", limit=40)
    assert cut == f"{'x' * 20} [REDACTED:github-t…"
    assert sanitize.line("a\nb\u202e") == "a b"
    assert sanitize.line("") == ""


@given(json_values)
def test_every_text_inside_a_value_is_made_fit(given_value: Any) -> None:
    fit = sanitize.value(given_value)
    assert KEY not in repr(fit)
    assert "\u202e" not in str(fit)
    assert sanitize.value(fit) == fit


def test_a_value_that_is_nested_too_deeply_becomes_text() -> None:
    deep: Any = KEY
    for _ in range(20):
        deep = [deep]
    assert KEY not in repr(sanitize.value(deep))
    assert MARK in repr(sanitize.value(deep))
    assert KEY not in repr(sanitize.chunk(Chunk("memory:1", Kind.MEMORY, "t", "", fields={"a": deep})))


@pytest.mark.parametrize("levels", [sanitize.VALUE_DEPTH, sanitize.VALUE_DEPTH + 1])
def test_a_value_that_is_nested_less_deeply_stays_as_it_is(levels: int) -> None:
    nested: Any = "x"
    for _ in range(levels):
        nested = {"a": nested}
    assert (sanitize.value(nested) == nested) is (levels == sanitize.VALUE_DEPTH)


def test_a_chunk_that_is_fit_is_returned_as_it_is() -> None:
    chunk = Chunk("memory:1", Kind.MEMORY, "t", "", tags=("a",), fields={"author": "Ada", "files": ["a.py"]})
    assert sanitize.chunk(chunk) is chunk


@pytest.mark.parametrize("field", ["title", "body", "signature", "origin", "tags", "fields"])
def test_every_field_of_a_chunk_is_made_fit(field: str) -> None:
    said = f"by {KEY}\u202e"
    values: dict[str, Any] = {"title": "t", "body": "", field: said}
    values |= {"tags": (said,)} if field == "tags" else {"fields": {"author": [said]}} if field == "fields" else {}
    fit = sanitize.chunk(Chunk("memory:1", Kind.MEMORY, **values))
    assert KEY not in repr(fit)
    assert MARK in repr(fit)
    assert "\u202e" not in repr(fit)


def test_paths_that_must_not_be_read_are_named_with_their_reason() -> None:
    paths = ["src/a.py", f"fixtures/{KEY}.json", "src/\u202eb.py", "src/é.py", "docs/👩\u200d👩.md"]
    assert sanitize.unfit_paths(paths) == {
        f"fixtures/{KEY}.json": SkipReason.SECRET_FILE,
        "src/\u202eb.py": SkipReason.ODD_NAME,
    }
    assert sanitize.unfit_path(".env") is SkipReason.SECRET_FILE
    assert sanitize.unfit_path("src/a.py") is None
