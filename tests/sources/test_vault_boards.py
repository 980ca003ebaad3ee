"""Boards of a vault: a part for each card, with links to what it shows and where its arrows lead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from satchel.sources.canvas import readable_board
from satchel.sources.vault import read_note, stored_fields, stored_links
from satchel.types import EdgeType
from tests.graph.workspaces import open_vault

CARDS: list[dict[str, Any]] = [
    {"id": "a1", "type": "text", "text": "# Launch\nwith [[Plan#Goals|the plan]]", "x": 0, "y": 0},
    {"id": "b1", "type": "file", "file": "work/Budget.md", "x": 0, "y": 0},
    {"id": "c1", "type": "group", "label": "Later", "x": 0, "y": 0},
]
ARROWS = [{"id": "e1", "fromNode": "a1", "toNode": "c1"}, {"id": "e2", "fromNode": "a1", "toNode": "gone"}]


def board() -> str:
    """The board as the program writes it, a card on each line."""
    cards, arrows = (",\n".join("\t\t" + json.dumps(one) for one in rows) for rows in (CARDS, ARROWS))
    return f'{{\n\t"nodes":[\n{cards}\n\t],\n\t"edges":[\n{arrows}\n\t]\n}}\n'


def test_each_card_is_a_part_with_its_links() -> None:
    outline, facts = read_note("boards/Launch.canvas", board())
    assert [(part.name, part.start) for part in outline.parts] == [
        ("", 1),
        ("Launch", 3),
        ("work/Budget.md", 4),
        ("Later", 5),
    ]
    links = {(link.part, link.target, link.line) for link in facts.links}
    assert links == {(1, "Plan#Goals", 3), (1, "#Later", 3), (2, "work/Budget.md", 4)}
    assert (facts.title, facts.problem) == ("Launch", "")
    title, _, fields = stored_fields(facts.dump())
    assert (title, stored_links(fields)) == ("Launch", facts.links)
    assert {link.type for link in facts.links} == {EdgeType.REFERENCE}


def test_a_board_is_shown_as_its_cards_on_the_lines_where_they_begin() -> None:
    assert readable_board(board()).split("\n")[:5] == [
        "board:", "", "text: # Launch / with [[Plan#Goals|the plan]] -> [[#Later]]", "file: [[work/Budget.md]]",
        "group: Later",
    ]  # fmt: skip
    assert readable_board(readable_board(board())) == readable_board(board())


def test_an_arrow_has_its_label_and_a_link_its_address() -> None:
    cards = [{"id": "a", "type": "text", "text": "Go"}, {"id": "b", "type": "link", "url": "https://example.org"}]
    arrows = [{"id": "e", "fromNode": "a", "toNode": "b", "label": "reads"}]
    shown = readable_board(json.dumps({"nodes": cards, "edges": arrows}))
    assert shown == "board:\ntext: Go -> reads [[#https://example.org]]\nlink: https://example.org"


def test_a_board_on_one_line_gets_a_line_for_each_card() -> None:
    outline, facts = read_note("b.canvas", json.dumps({"nodes": CARDS, "edges": ARROWS}))
    assert [(part.start, part.end) for part in outline.parts] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert {link.target for link in facts.links} == {"Plan#Goals", "#Later", "work/Budget.md"}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nodes": 3}', '{"nodes": [{}]}', "[" * 100_000])
def test_a_broken_board_is_named_and_kept(text: str) -> None:
    outline, facts = read_note("b.canvas", text)
    assert facts.problem.startswith("canvas: ")
    assert len(outline.parts) == 1


def test_a_walk_goes_from_a_note_over_a_board_to_another_and_names_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    notes = {
        "Plan.md": "# Plan\n\n## Goals\n\nRockets.\n",
        "work/Budget.md": "Money.\n",
        "Launch.canvas": board(),
        "Log.md": "first\n\nsee [[Budget]] and [[Launch.canvas]]\n",
    }
    with open_vault(tmp_path / "vault", notes) as engine:
        context = engine.graph("work/Budget.md", depth=2)
    ways = {item.metadata["node"]["name"]: item.metadata["node"]["path"] for item in context.items}
    assert [(hop["type"], hop["direction"], hop["line"]) for hop in ways["work/Budget.md"]] == [("reference", "in", 4)]
    assert [(hop["type"], hop["direction"], hop["line"]) for hop in ways["Log"]] == [("reference", "in", 3)]
    assert "reference (in) at line 3" in context.text
