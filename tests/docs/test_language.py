"""What people read is plain technical English: the phrases that read as translated are refused by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import REPOSITORY, pages

REFUSED = {
    r"(?<!there )\b(is|are|was) no (?!longer|more than)\w+": "is not a, is not",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bstands?\b(?! (in )?for\b| in the way)": "is, appears",
    r"(?<!process )\bholds\b": "contains, has, is true",
    r"\bcarr(y|ies|ied)\b": "includes, has",
    r"\bgoes (out|after|no)\b": "is shown, is removed, stops",
    r"\bone an? (root|request|day|hop|line|file|folder|session)\b": "one per ...",
    r"\b(knows?|known|comes?|came|first|worth|state|section|scan|shows|what) of it\b": "its ..., about it",
    r"\bfor whom\b": "the session, the user",
    r"\blets? in\b": "show, accept",
    r"\bthe way of\b": "how",
    r"\bwhat it (holds|carries)\b": "its contents",
    r"\btakes? (back|along)\b": "undo, cancel",
}
"""Phrases, and what to write instead."""

CASES = [
    ("the body is no JSON", True),
    ("there is no such file", False),
    ("the file is no longer there", False),
    ("mend the file", True),
    ("a handle stands for a place", False),
    ("the token stands in the state folder", True),
    ("another process holds the index", False),
    ("a budget that holds", True),
    ("all of it", False),
    ("the worth of it", True),
    ("kept one a root", True),
    ("for whom it is", True),
]


def refused(text: str) -> Iterator[str]:
    """Each refused phrase of a text, with the words around it and what to write."""
    for pattern, better in REFUSED.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            around = text[max(0, match.start() - 40) : match.end() + 40]
            yield f"{' '.join(around.split())!r}: write {better}"


def documents() -> list[Path]:
    """README, the pages, what agents are given to read, and the Makefile."""
    names = ("CONTRIBUTING.md", "llms.txt", "Makefile")
    return [*pages(), *(REPOSITORY / name for name in names), *(REPOSITORY / "plugin").rglob("*.md")]


def messages(source: str) -> Iterator[str]:
    """The help texts and messages of a module: its strings of 2 to 100 words, without docstrings and word lists."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
        if isinstance(text, str) and 0 < text.count(" ") < 100:
            yield text


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_a_phrase_is_refused(text: str, expected: bool) -> None:
    assert bool(list(refused(text))) == expected


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_documents_are_plain_english(document: Path) -> None:
    assert not list(refused(re.sub(r"\s+", " ", document.read_text(encoding="utf-8"))))


def test_messages_are_plain_english() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}: {phrase}"
        for path in sorted((REPOSITORY / "src").rglob("*.py"))
        for text in messages(path.read_text(encoding="utf-8"))
        for phrase in refused(text)
    ]
    assert not found, "\n".join(found)
