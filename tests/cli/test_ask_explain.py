from __future__ import annotations

import pytest

from satchel.cli.commands.ask import (
    budget,
    explain,
    item_place,
    item_rows,
    omission_place,
    strongest,
    why,
)
from satchel.types import Context, ContextItem, Detail, Format, Location, Omission, Signal, Usage

FILE = ContextItem(
    id="code:src/a.py",
    source="code",
    title="src/a.py",
    content="x",
    relevance=0.8,
    tokens=1234,
    detail=Detail.SPAN,
    location=Location("src/a.py", 3, 20),
    spans=((3, 9), (15, 20)),
    signals=(
        Signal("best part", 0.9, 1.0),
        Signal("history", 0.5, 0.75),
        Signal("name", 1.0, 0.5),
        Signal("file rank", 1.0, -0.3),
        Signal("whole file", 0.1, 0.5),
    ),
    handle="a2b3c4d5",
)
RECORD = ContextItem(
    id="commit:abc",
    source="commit",
    title="Fix the \x1b[31m parser",
    content="y",
    relevance=0.5,
    tokens=20,
    signals=(Signal("words", 3.2, 1.0),),
)
OUT = Omission("code:b.py", "code", "B.run", 0.3, "budget", 4321, "b.py", 1, 30, "e6f7g2h3")


def answer(*items: ContextItem, overflow: tuple[Omission, ...] = ()) -> Context:
    """A context with these items."""
    return Context("q", "text", Format.MARKDOWN, items, Usage(4000, 3000, "o200k_base", exact=True), overflow)


def test_a_row_says_where_how_much_and_why() -> None:
    assert item_rows([FILE]) == [
        [
            "1",
            "src/a.py:3-9,15-20",
            "window",
            "1,234",
            "0.80",
            "one place matches well, its names match",
            "best part 0.9 x 1, name 1 x 0.5, history 0.5 x 0.75",
            "a2b3c4d5",
        ]
    ]


def test_a_record_has_its_kind_and_no_control_characters() -> None:
    assert item_place(RECORD) == "commit Fix the [31m parser"


def test_an_unknown_signal_is_its_own_reason() -> None:
    assert why((Signal("moon", 1.0, 1.0),)) == "moon"
    assert why(()) == ""


@pytest.mark.parametrize(
    ("omission", "place"),
    [
        (OUT, "b.py:1-30 B.run"),
        (Omission("doc:r", "doc", "r.md", 0.1, "budget", 9, "r.md"), "r.md"),
        (Omission("commit:1", "commit", "Fix", 0.1, "budget", 9), "commit Fix"),
    ],
)
def test_what_stayed_out_is_named_by_its_place(omission: Omission, place: str) -> None:
    assert omission_place(omission) == place


def test_the_explanation_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    explain(answer(FILE, RECORD, overflow=(OUT,)))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "What is in\n" in shown.err
    assert "b.py:1-30 B.run       0.30  budget  ~4,321  e6f7g2h3" in shown.err
    assert shown.err.endswith("3,000 of 4,000 tokens (75.0%) by o200k_base, exact\n")


def test_what_would_come_in_next_stands_first_and_the_list_ends(capsys: pytest.CaptureFixture[str]) -> None:
    many = tuple(Omission(f"code:{n}", "code", f"f{n}", 0.1, "budget", 5000 - n, f"{n}.py", 1, 2) for n in range(15))
    explain(answer(overflow=many))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "What stayed out, and the budget that would admit it (3 more)"
    assert lines[2].startswith("14.py:1-2")


def test_a_budget_is_an_estimate_or_none_helps() -> None:
    assert budget(OUT) == "~4,321"
    assert budget(Omission("code:b.py", "code", "B", 0.3, "limit", 0)) == "-"


def test_the_boosts_of_a_record_are_shown_with_their_numbers_and_are_no_reason() -> None:
    signals = [Signal("words", 1.1, 1.0), Signal("tier", 0.8, 0.12), Signal("recency", 1.0, 0.08)]
    assert [signal.name for signal in strongest(signals)] == ["words", "tier", "recency"]
    assert why(signals) == "its words match"
