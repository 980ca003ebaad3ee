"""Settings of others as they may be shown: cleaned, without secrets, and never wider than a screen can bear."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import Any

from satchel import outside

LINE_CHARACTERS = 240
"""A settings file on one line would otherwise be printed whole, twice."""

_ENTRY_LINES = 20

_HIDDEN = frozenset({"env", "headers", "http_headers"})


def entry_text(value: Any) -> str:
    """An entry as indented JSON of a few lines. What it hands on as variables and headers is named, not shown."""
    if isinstance(value, dict):
        value = {key: dict.fromkeys(inner, "…") if key in _HIDDEN and isinstance(inner, dict) else inner
                 for key, inner in value.items()}  # fmt: skip
    lines = json.dumps(outside.value(value), ensure_ascii=False, indent=2).split("\n")
    shown = lines[:_ENTRY_LINES] + (["…"] if len(lines) > _ENTRY_LINES else [])
    return "\n".join(_shortened(line, "") for line in shown)


def diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """A unified diff of two contents, None being no file. Empty where they are equal."""
    old, new = _lines(before), _lines(after)
    heads = ("/dev/null" if before is None else name), ("/dev/null" if after is None else name)
    rows = [row.rstrip("\r\n") for row in unified_diff(old, new, *heads, n=2)]
    # Secrets first: half of one is not recognised any more.
    return "\n".join(_cut_rows(outside.text("\n".join(rows)).split("\n")))


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace").removeprefix("\ufeff")
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []


def _cut_rows(rows: list[str]) -> list[str]:
    """Each row within the width; of two long ones that replace each other, the part that differs."""
    shown = []
    for at, row in enumerate(rows):
        other = rows[at + 1] if row[:1] == "-" and at + 1 < len(rows) else rows[at - 1] if row[:1] == "+" else ""
        shown.append(_shortened(row, other))
    return shown


def _shortened(row: str, other: str) -> str:
    if len(row) <= LINE_CHARACTERS:
        return row
    start = next((at for at, (a, b) in enumerate(zip(row[1:], other[1:], strict=False), 1) if a != b), 1)
    begin = max(1, start - LINE_CHARACTERS // 4)
    part = row[begin : begin + LINE_CHARACTERS]
    return f"{row[:1]}{'… ' if begin > 1 else ''}{part}{' …' if begin + LINE_CHARACTERS < len(row) else ''}"
