"""Natural experiences are grouped by their words, in the default install."""

from __future__ import annotations

from pathlib import Path

from values import PURE, measure  # benchmarks/ is on the path


def test_each_of_three_themes_gets_a_pure_group_and_a_value_that_lasts(tmp_path: Path) -> None:
    result = measure(tmp_path)
    for groups in (result["groups"], result["groups_later"]):
        assert {group["theme"] for group in groups} == {"flaky", "slowsql", "encoding"}
        assert all(group["purity"] >= PURE for group in groups)
    assert set(result["proposed"]) == {"flaky", "slowsql", "encoding"}
    assert result["kept_ids"] == len(result["groups"])
    assert min(result["overlap"]) >= PURE
    assert result["same_sentence_is_refused"]
    assert result["values_with_a_group"] == result["values"] == 3
