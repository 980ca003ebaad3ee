"""Natural experiences are grouped by their words, in the default install."""

from __future__ import annotations

from pathlib import Path

from values import PURE, measure  # benchmarks/ is on the path


def test_groups_of_three_themes_hardly_mix_and_values_last(tmp_path: Path) -> None:
    result = measure(tmp_path)
    for groups in (result["groups"], result["groups_later"]):
        assert {group["theme"] for group in groups} == {"flaky", "slowsql", "encoding"}
        sizes = [group["size"] for group in groups]
        assert sum(group["purity"] * group["size"] for group in groups) >= PURE * sum(sizes)
        assert sum(sizes) >= 0.6 * result["experiences"]
    assert set(result["proposed"]) == {"flaky", "slowsql", "encoding"}
    assert result["kept_ids"] == len(result["groups"])
    assert sum(result["overlap"]) >= PURE * len(result["overlap"])
    assert result["same_sentence_is_refused"]
    assert result["values_with_a_group"] == result["values"] < len(result["groups"]), "a mixed group has no value"
