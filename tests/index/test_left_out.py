from __future__ import annotations

from pathlib import Path

import pytest

from satchel.index.left_out import Skips, look_for
from satchel.system.files import SkipReason

GENERATED = Skips({SkipReason.GENERATED: ["api.ts"]})


def place_of(word: str, raw: bytes, root: Path) -> str:
    (root / "api.ts").write_bytes(raw)
    return look_for([word], GENERATED, root).places.get(word, "")


@pytest.mark.parametrize(
    "raw",
    [
        b"one\ngenerate limits\nRATE LIMIT\n",
        b"one\r\ngenerate limits\r\nRATE LIMIT\r\n",
        "one\nérate limit, rate limité\nRate Limit\n".encode(),
        "one\n\nRate Limit é\n".encode("latin-1"),
        "one\r\n\r\nRate Limit é\r\n".encode("latin-1"),
        "one\ngenerate limits\nrate limit\n".encode("utf-16"),
    ],
    ids=["plain", "line ends of Windows", "letters beside it", "latin-1", "latin-1 of Windows", "utf-16"],
)
def test_a_word_is_found_whole_in_any_case_and_encoding(raw: bytes, tmp_path: Path) -> None:
    assert place_of("rate limit", raw, tmp_path) == "api.ts:3 (generated)"


@pytest.mark.parametrize("raw", [b"generate limits\n", "rate limité\n".encode(), b"\0rate limit\1\2", b""])
def test_a_part_of_a_word_and_a_binary_file_are_not_a_find(raw: bytes, tmp_path: Path) -> None:
    assert place_of("rate limit", raw, tmp_path) == ""


def test_a_text_that_was_searched_is_not_counted_as_unread(tmp_path: Path) -> None:
    (tmp_path / "api.ts").write_bytes(b"nothing\n")
    assert look_for(["zebra"], GENERATED, tmp_path).unread == {}
    assert look_for(["zebra"], Skips({SkipReason.GENERATED: ["gone.ts"]}), tmp_path).unread == {"generated": 1}
