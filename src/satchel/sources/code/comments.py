"""What a doc comment says in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_SUMMARY = 200
"""Longest summary in characters."""

_MARKER = re.compile(r"\s*(?:/\*+!?|\*+/|\*(?!\*)|//[/!]*|#+(?!!)|--+)?[ \t]?")
_CLOSING = re.compile(r"\s*\*+/\s*\Z")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_QUOTES = re.compile(r"\A[A-Za-z]{0,2}(\"\"\"|'''|\"|')(.*?)(?:\1)?\Z", re.DOTALL)
_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=\s|\Z)")
_PRAGMA = re.compile(
    r"(?:eslint|prettier|tslint|jshint|istanbul|c8|v8|noqa|nosec|type:|mypy:|pylint|ruff|nolint|NOLINT|clang-format|rubocop"
    r"|phpcs|shellcheck|go:|\+build|pragma|region|endregion|#?!)"
)
"""Comments for tools: they say nothing about the code."""

_PARAGRAPH_END = re.compile(r"[@:\\][A-Za-z]+\b|(?:Args|Parameters|Returns|Raises|Example)s?:\s*\Z|[-=~*]{3,}\s*\Z")


def of_comment(lines: Iterable[str]) -> str:
    """First sentence of comment lines, their marks and tags removed; empty if they say nothing."""
    return _first_sentence(_TAG.sub("", _CLOSING.sub("", _MARKER.sub("", line, count=1))) for line in lines)


def of_docstring(literal: str) -> str:
    """First sentence of a string literal as written in the source, prefix and quotes included."""
    match = _QUOTES.match(literal)
    return _first_sentence((match[2] if match else literal).split("\n"))


def _first_sentence(lines: Iterable[str]) -> str:
    words: list[str] = []
    for line in lines:
        text = line.strip()
        if not text or _PARAGRAPH_END.match(text):
            if words:
                break
            continue
        if not words and (_PRAGMA.match(text) or not any(character.isalnum() for character in text)):
            continue
        words.append(text)
        if _SENTENCE.search(text):
            break
    text = " ".join(words)
    end = _SENTENCE.search(text)
    text = text[: end.end()] if end else text
    if len(text) <= MAX_SUMMARY:
        return text
    return text[: MAX_SUMMARY - 3].rsplit(" ", 1)[0] + "..."
