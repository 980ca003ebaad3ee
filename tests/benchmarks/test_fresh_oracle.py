"""What counts as a passage of a long line."""

from __future__ import annotations

import pytest

from benchmarks.fresh_oracle import is_excerpt

LINE = "The gate opens at nine. It closes at five. Nobody is let in later."


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("The gate opens at nine. …", True),
        ("… It closes at five. …", True),
        ("… Nobody is let in later.", True),
        (LINE, False),
        ("It closes at five. …", False),
        ("… It closes at five.", False),
        ("… It closes at six. …", False),
    ],
)
def test_a_passage_has_an_ellipsis_at_each_end_that_is_cut(shown: str, expected: bool) -> None:
    assert is_excerpt([shown], [LINE]) is expected
    assert not is_excerpt([shown, shown], [LINE, LINE])
