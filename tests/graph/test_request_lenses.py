"""Lenses are data: those of the specification, those of code, and those of the user's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.errors import ConfigError, UsageError
from satchel.graph.request import LENSES, Direction, find_lens, parse_lens
from satchel.types import EdgeType
from satchel.vocabulary import LENS_NAMES
from tests.graph.workspaces import Export


def test_the_lenses_of_the_specification_have_its_values() -> None:
    assert tuple(LENSES) == LENS_NAMES
    assert LENSES["coding"].edges == ("reference", "field")
    assert LENSES["coding"].boost_tags == ("spec", "architecture", "code", "decision")
    assert LENSES["planning"].include_fields == ("due", "status", "blocked-by")
    assert [LENSES[name].max_depth for name in ("general", "writing", "coding", "planning", "meeting-prep")] == [
        3, 2, 3, 4, 2,
    ]  # fmt: skip


def test_every_relation_is_followed_in_both_directions_unless_one_is_named() -> None:
    moves = {(move.type, move.direction) for move in LENSES["writing"].moves}
    assert {(EdgeType.CHILD, Direction.OUT), (EdgeType.CHILD, Direction.IN)} <= moves
    assert {direction for _, direction in ((m.type, m.direction) for m in LENSES["impact"].moves)} == {Direction.IN}


def test_a_lens_of_the_user_may_change_one_of_ours_in_part() -> None:
    lens = parse_lens("coding", {"boost_tags": ["#Review"]}, "x")
    assert lens.boost_tags == ("review",)
    assert lens.edges == LENSES["coding"].edges


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("all", "must be a table"),
        ({"edges": ["child"], "boost": []}, "did you mean boost_tags"),
        ({"edges": ["child"], "zzz": []}, "choose from edges"),
        ({}, "no edges"),
        ({"edges": ["sibling"]}, "'sibling' does not exist: choose from child"),
        ({"edges": ["calls:sideways"]}, "with `:in` or `:out`"),
        ({"edges": "child"}, "list of texts"),
        ({"edges": ["child"], "max_depth": 9}, "1 to 5"),
        ({"edges": ["child"], "max_depth": True}, "1 to 5"),
    ],
)
def test_an_impossible_lens_says_what_is_wrong(table: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_lens("review", table, "satchel.toml")


def test_an_unknown_lens_is_answered_with_all_that_exist() -> None:
    with pytest.raises(UsageError, match="meeting-prep, code, impact, implementations, review"):
        find_lens("nope", {"review": {"edges": ["child"]}})


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "config"
    folder.mkdir(parents=True)
    return folder / "satchel.toml"


def test_a_lens_in_the_settings_is_used_with_its_depth(settings_file: Path, tmp_path: Path) -> None:
    settings_file.write_text('[lenses.review]\nedges = ["child:out"]\nboost_tags = ["bug"]\nmax_depth = 1\n')
    export = Export().node("a", "Alpha").node("b", "Beta", owner="a", tags=["bug"]).node("c", "Gamma", owner="b")
    with export.open(tmp_path) as satchel:
        context = satchel.graph("a", lens="review", refresh=False)
        assert [item.metadata["node"]["id"] for item in context.items] == ["a", "b"]
        assert "tag" in {signal.name for signal in context.items[1].signals}
        assert [item.metadata["node"]["id"] for item in satchel.graph("b", lens="review", refresh=False).items] == [
            "b",
            "c",
        ]


def test_a_broken_lens_stops_only_those_who_ask_for_it(settings_file: Path, tmp_path: Path) -> None:
    settings_file.write_text('[lenses.review]\nedges = ["sibling"]\n')
    with Export().node("a", "Alpha").open(tmp_path) as satchel:
        assert satchel.graph("a", refresh=False).items
        with pytest.raises(ConfigError, match=r"satchel.toml: lens 'review'"):
            satchel.graph("a", lens="review", refresh=False)


def test_lenses_that_are_no_table_are_an_error_of_the_settings(settings_file: Path, tmp_path: Path) -> None:
    settings_file.write_text("lenses = 3\n")
    with pytest.raises(ConfigError, match="lenses is 3"):
        Satchel.open(root=tmp_path)
