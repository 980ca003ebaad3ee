"""The structured part of an answer: ids, handles, usage and failures, bounded, and never the text again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from satchel.operations.operation import Answered, without_home
from satchel.tokens import counter

MOST_TOKENS = 300
"""Of the structured content as it is sent. The text is what was asked for; this is what it costs beside it."""

SPARE_TOKENS = 20
"""Kept free for the numbers that are written last, so that they never lead over the limit."""

SAID_TOKENS = 150
"""Up to here failures and notes may fill it: half stays for ids and handles."""

LINE_CHARACTERS = 160
"""Of a failure or a note: what happened stands at its beginning."""

MOST_CUTS = 3
"""Handles of the parts of one item: one long file must not take the room of the others."""

_USAGE = ("limit", "used", "tokenizer", "exact", "stopped")


def structured(answered: Answered) -> dict[str, Any]:
    """What a program wants of an answer. `more` counts the items that did not fit in here; the text shows them all."""
    envelope = answered.envelope
    found: dict[str, Any] = {"items": [], "more": 0}
    if "usage" in envelope:
        found["usage"] = {name: envelope["usage"][name] for name in _USAGE}
    failures = [f"{one['source']}: {one['message']}" for one in envelope.get("failures", ())]
    for name, lines in (("failures", failures), ("notes", answered.notes)):
        if lines:
            found[name] = []
            _fill(found, found[name], [_short(line) for line in lines], SAID_TOKENS)
    overflow = envelope.get("overflow", ())
    if overflow:
        found["left_out"] = {"count": len(overflow), "handles": []}
    rows = _rows(envelope)
    found["more"] = len(rows) - _fill(found, found["items"], rows, MOST_TOKENS - SPARE_TOKENS)
    if overflow:
        handles = [row["handle"] for row in overflow]
        _fill(found, found["left_out"]["handles"], handles, MOST_TOKENS - SPARE_TOKENS)
    return found


def cost(found: Mapping[str, Any]) -> int:
    """Tokens of a value as it is sent."""
    return counter().count(json.dumps(found, ensure_ascii=False, separators=(",", ":")))


def _fill(found: Mapping[str, Any], into: list[Any], rows: Sequence[Any], most: int) -> int:
    """Put in as many rows as there is room for while all of it has `most` tokens; returns how many that are."""
    for count, row in enumerate(rows):
        into.append(row)
        if cost(found) > most:
            into.pop()
            return count
    return len(rows)


def _short(line: str) -> str:
    said = without_home(line)
    return said if len(said) <= LINE_CHARACTERS else f"{said[: LINE_CHARACTERS - 1]}…"


def _rows(envelope: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an envelope lists, each by its id and what else leads on from there."""
    for name in ("items", "hits", "memories", "experiences"):
        if name in envelope:
            return [_row(one) for one in envelope[name]]
    return [_row(envelope.get("memory", envelope))]


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: one[name] for name in ("id", "handle", "status") if one.get(name)}
    cuts = [cut["handle"] for cut in one.get("cuts", ())[:MOST_CUTS]]
    return kept | ({"cuts": cuts} if cuts else {})
