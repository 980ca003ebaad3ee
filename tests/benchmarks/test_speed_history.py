"""The check of the stored history of speed."""

from __future__ import annotations

from speed_history import slower


def record(**loops: float) -> dict[str, object]:
    return {"operations": {name: {"ms": 1.0, "loops": value} for name, value in loops.items()}}


def test_what_takes_clearly_more_loops_than_in_the_last_record_is_named() -> None:
    assert slower(record(question=1.2, check=1.1), record(question=1.0, check=1.0)) == [
        "question: 1.2 loops instead of 1"
    ]


def test_an_operation_that_the_last_record_lacks_is_not_compared() -> None:
    assert slower(record(question=9.0, check=9.0), record(check=9.0)) == []
