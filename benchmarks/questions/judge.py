"""What one answer is worth: which deciding lines it shows, how much of it is on the topic, and what it says is missing.

Only what is really shown counts: a line must be among the lines that the items claim and must occur in the text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from localization.counting import count_tokens
from localization.measures import read_lines, shown_lines

from .dataset import Question

Row = dict[str, Any]

NOT_FOUND = "Not found here:"
"""What begins the line in which an answer lists the words of the question that it knows nothing of."""


def judge(question: Question, answer: dict[str, Any], tree: Path, budget: int) -> Row:
    """The measures of one answer.

    `deciding` lines that decide, `shown` how many of them are in the answer, `relevant` share of the shown tokens that
    are in files that matter (None when nothing is shown), `used` recounted tokens of the text, `over` whether they
    exceed the budget, `named` share of the absent words that the text calls not found (None without such words).
    """
    text = answer.get("text") or ""
    used = count_tokens(text)
    return {
        "deciding": len(question.deciding),
        "shown": _deciding_shown(question, answer, tree),
        "relevant": _relevant_share(question, answer, tree),
        "used": used,
        "over": used > budget,
        "named": _named_share(question, text),
        "failure": None,
    }


def _deciding_shown(question: Question, answer: dict[str, Any], tree: Path) -> int:
    text = answer.get("text") or ""
    claimed = shown_lines(answer)
    count = 0
    for entry in question.deciding:
        lines = read_lines(tree, entry.path)
        numbers = entry.numbers(lines) & claimed.get(entry.path, set())
        count += any(lines[number - 1].strip() in text for number in numbers)
    return count


def _relevant_share(question: Question, answer: dict[str, Any], tree: Path) -> float | None:
    """Source lines belong to their file; a record without a file (a commit) matters if it changed one that does."""
    relevant = total = 0
    for path, numbers in shown_lines(answer).items():
        lines = read_lines(tree, path)
        tokens = count_tokens("\n".join(lines[number - 1] for number in sorted(numbers) if number <= len(lines)))
        total += tokens
        relevant += tokens * question.matters(path)
    for item in answer.get("items", []):
        if not (item.get("location") or {}).get("path"):
            tokens = count_tokens(item.get("content") or "")
            total += tokens
            changed = (item.get("metadata") or {}).get("files_changed") or []
            relevant += tokens * any(map(question.matters, changed))
    return relevant / total if total else None


def _named_share(question: Question, text: str) -> float | None:
    if not question.absent:
        return None
    noted = " ".join(line for line in text.splitlines() if NOT_FOUND in line).lower()
    return sum(word.lower() in noted for word in question.absent) / len(question.absent)
