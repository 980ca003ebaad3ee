from __future__ import annotations

import json

from satchel.memory import weights
from satchel.text import shingles, similarity
from tests.eval_data import data_file


def test_near_duplicates_of_prose_are_told_from_other_paragraphs() -> None:
    """F1 of at least .98 on 400 labelled pairs of paragraphs."""
    rows = [json.loads(line) for line in data_file("neardup.jsonl").read_text(encoding="utf-8").splitlines()]
    outcomes = [
        (similarity(shingles(row["a"]), shingles(row["b"])) >= weights.SAME_PROSE, row["label"] == 1) for row in rows
    ]
    hits = sum(said and true for said, true in outcomes)
    wrong = sum(said != true for said, true in outcomes)
    assert 2 * hits / (2 * hits + wrong) >= 0.98


def test_similarity_is_one_for_equal_and_zero_for_unrelated_texts() -> None:
    assert similarity(shingles("Same  text here"), shingles("same text here")) == 1.0
    assert similarity(shingles("alpha beta gamma"), shingles("0123456789")) == 0.0
