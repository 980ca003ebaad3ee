"""What one answer is worth: the data folder's measures and the stricter ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .counting import count_tokens
from .dataset import load_scorer
from .functions import gold_function_spans

if TYPE_CHECKING:
    from pathlib import Path

    from .dataset import Instance

SEEN_FLOOR = 0.99
"""Share of claimed lines that must occur in `text`; the rest allows for a line that a renderer had to escape."""


def shown_lines(answer: dict[str, Any]) -> dict[str, set[int]]:
    """1-based line numbers that the answer claims to show, by path in order of appearance."""
    shown: dict[str, set[int]] = {}
    for item in answer.get("items", []):
        location = item.get("location") or {}
        if not location.get("path"):
            continue
        lines = shown.setdefault(location["path"], set())
        spans = location.get("spans") or [[location.get("start_line") or 0, location.get("end_line") or 0]]
        for first, last in spans:
            lines.update(range(max(first, 1), last + 1))
    return shown


def read_lines(tree: Path, path: str) -> list[str]:
    """The file's lines, empty when it cannot be read; only a line feed ends a line, as in git."""
    try:
        text = (tree / path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return []
    return text.removesuffix("\n").split("\n") if text else []


def _whole_function_share(instance: Instance, tree: Path, shown: dict[str, set[int]]) -> float | None:
    """Share of located gold functions whose non-blank lines are all shown; None when none was located."""
    whole = located = 0
    for path, spans in gold_function_spans(instance, tree).items():
        lines = read_lines(tree, path)
        for first, last in spans:
            body = range(first, min(last, len(lines)) + 1)
            needed = {number for number in body if lines[number - 1].strip()}
            located += 1
            whole += needed <= shown.get(path, set())
    return whole / located if located else None


def _source_text(tree: Path, shown: dict[str, set[int]]) -> str:
    parts = []
    for path, numbers in shown.items():
        lines = read_lines(tree, path)
        parts += [lines[number - 1] for number in sorted(numbers) if number <= len(lines)]
    return "\n".join(parts)


def measure(instance: Instance, answer: dict[str, Any], tree: Path, limit: int) -> dict[str, Any]:
    """All measures of one answer; a share that has no denominator is None.

    Beside those of `score_code.py`: `fn` whole gold functions shown, `hit` over lines really shown, `precision` share
    of the shown source tokens that lie in gold files, `used` recounted tokens, `fill` used / limit, `over` 1 when above
    it, `framing` share of the recounted tokens that are not source lines, `failure` why the answer does not count.
    """
    text = answer.get("text") or ""
    shown = shown_lines(answer)
    row: dict[str, Any] = dict(load_scorer().score(instance, answer, tree))
    gold = instance["gold_files"]
    used = count_tokens(text)
    source_tokens = count_tokens(_source_text(tree, shown))
    gold_tokens = count_tokens(_source_text(tree, {path: shown[path] for path in gold if path in shown}))
    claimed = sum(map(len, shown.values()))
    row |= {
        "fn": _whole_function_share(instance, tree, shown),
        "hit": sum(bool(shown.get(path)) for path in gold) / len(gold),
        "precision": gold_tokens / source_tokens if source_tokens else None,
        "claimed": row["used"] * (answer.get("usage") or {}).get("limit", 0),
        "used": used,
        "fill": used / limit,
        "over": float(used > limit),
        "framing": 1 - source_tokens / used if used else None,
        "lines": claimed,
        "files": sum(map(bool, shown.values())),
        "failure": None,
    }
    if claimed and not text.strip():
        row["failure"] = f"{claimed} lines claimed, no text"
    elif row["seen"] < SEEN_FLOOR:
        row["failure"] = f"only {row['seen']:.3f} of the claimed lines are in the text"
    return row
