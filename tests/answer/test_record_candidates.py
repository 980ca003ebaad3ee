"""What is offered of a record: all but the trailers of a commit."""

from __future__ import annotations

from satchel.answer.record_candidates import record_candidate, without_trailers
from satchel.types import Chunk, Hit, Kind, ScoredSpan


def test_a_commit_is_shown_without_its_trailers() -> None:
    message = "Steal half of the queue\n\nFewer wake-ups.\n\n---------\n\nSigned-off-by: Ada <ada@example.org>\n"
    message += "Co-authored-by: Grace <grace@example.org>\nChange-Id: I123\n"
    chunk = Chunk("commit:1", Kind.COMMIT, "", "")
    candidate = record_candidate(Hit(chunk, 0.5, 0.0, spans=(ScoredSpan(1, 1, 0.0),)), message, 400)
    assert candidate.steps[0].text == "Steal half of the queue\n\nFewer wake-ups."


def test_prose_with_a_colon_is_no_trailer() -> None:
    assert without_trailers("Fix it\n\nNote: done by-the-book: yes") == "Fix it\n\nNote: done by-the-book: yes"
