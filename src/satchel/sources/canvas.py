"""Boards of cards (`.canvas`), read as one line for each card.

A board is a JSON file. `readable_board` gives the text that is indexed and shown in its place: each card on the line of
the file where it begins, as other programs write it, and where its arrows lead to. All else is a blank line, so line
numbers are those of the file. A board on one line gets a line for each card.

```text
1 {                                                     board:
2   "nodes": [
3     {"id": "a", "type": "text", "text": "# Launch"},  text: # Launch -> needs [[#Money]]
4     {"id": "b", "type": "file", "file": "Money.md"},  file: [[Money.md]]
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from satchel.text import pattern

BOARD = "board:"
"""The first line of a readable board."""

_CARD = pattern(r"(?:text|file|link|group): (.*)")
_KINDS = {"text": "text", "file": "file", "url": "link", "label": "group"}
_ARROW = " -> "


def readable_board(text: str) -> str:
    """Return the cards of a board, without line ends of Windows; what cannot be read as one is returned as it is."""
    try:
        board = json.loads(text)
        cards: Mapping[str, Mapping[str, Any]] = {str(card["id"]): card for card in board["nodes"]}
        arrows = [
            (str(one["fromNode"]), str(one["toNode"]), str(one.get("label") or "")) for one in board.get("edges", ())
        ]
        shown = {identity: _written(card, _arrows_of(identity, arrows, cards)) for identity, card in cards.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text
    lines = text.split("\n")
    rows = {identity: _row_of(lines, identity) for identity in cards}
    if not all(rows.values()) or len(set(rows.values())) < len(rows):
        return "\n".join([BOARD, *shown.values()])
    placed = {0: BOARD, **{row: shown[identity] for identity, row in rows.items()}}
    return "\n".join(placed.get(row, "") for row in range(len(lines)))


def cards_of(lines: Sequence[str]) -> dict[int, str]:
    """Return the names of the cards of a readable board, by row (from 0). Raises ValueError for another text."""
    if lines[:1] != [BOARD]:
        json.loads("\n".join(lines))
        raise ValueError("it has no cards")
    matches = ((row, _CARD.fullmatch(line)) for row, line in enumerate(lines))
    return {row: _name(match[1].rpartition(_ARROW)[0] or match[1]) for row, match in matches if match is not None}


def _arrows_of(
    identity: str, arrows: Sequence[tuple[str, str, str]], cards: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    ends = [(cards[end], label) for start, end, label in arrows if start == identity and end in cards]
    return [f"{label} [[#{_name(_text(card))}]]".strip() for card, label in ends]


def _text(card: Mapping[str, Any]) -> str:
    return next((str(card[key]) for key in _KINDS if card.get(key)), "")


def _written(card: Mapping[str, Any], arrows: Sequence[str]) -> str:
    key = next((key for key in _KINDS if card.get(key)), "text")
    text = " / ".join(line.strip() for line in str(card.get(key) or "").splitlines() if line.strip())
    text = f"[[{text}]]" if key == "file" else text
    return f"{_KINDS[key]}: {text}{_ARROW if arrows else ''}{', '.join(arrows)}"


def _name(text: str) -> str:
    """Return the first words of a card, or what it shows."""
    first = re.split(r" / |\n", text.strip())[0].removeprefix("[[").removesuffix("]]")
    return first.strip("# ")[:80]


def _row_of(lines: Sequence[str], identity: str) -> int:
    """Return the row of a card (from 0), 0 if it does not begin its line."""
    mark = re.compile(rf'\s*\{{\s*"id"\s*:\s*{re.escape(json.dumps(identity))}')
    return next((row for row, line in enumerate(lines) if mark.match(line)), 0)
