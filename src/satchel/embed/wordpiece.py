"""The WordPiece tokenizer of BERT and its relatives."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

LONGEST_WORD = 100
"""Characters above which a word is unknown, as in training."""

_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ranges whose characters are words of their own."""


class WordRules(NamedTuple):
    """How a model reads words: in lower case, without accents, and its marks for begin, end and unknown words."""

    lower_case: bool = True
    without_accents: bool = True
    marks: tuple[str, str, str] = ("[CLS]", "[SEP]", "[UNK]")


RULES = WordRules()


def read_vocabulary(path: Path) -> dict[str, int]:
    """Return the pieces of a vocabulary file, one in each line, with their ids."""
    return {piece: number for number, piece in enumerate(path.read_text(encoding="utf-8").splitlines())}


class WordPiece:
    """The WordPiece tokenizer with a vocabulary. KeyError for one without the marks."""

    def __init__(self, vocabulary: Mapping[str, int], rules: WordRules = RULES) -> None:
        self._ids, self._rules = vocabulary, rules
        self._first, self._last, self._unknown = (vocabulary[mark] for mark in rules.marks)
        self._pieces = lru_cache(maxsize=20_000)(self._cut)

    def ids(self, text: str, most: int) -> list[int]:
        """Return the ids of a text with the marks of its beginning and end, at most `most`."""
        numbers: list[int] = []
        # Characters per token at which a text is cut first: hardly any text has longer words.
        for word in words(text[: most * 16], self._rules):
            numbers += self._pieces(word)
            if len(numbers) >= most - 2:
                break
        return [self._first, *numbers[: most - 2], self._last]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut a word into the longest pieces from its start; a word without such pieces is unknown."""
        if len(word) > LONGEST_WORD:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(number)
            start = end
        return tuple(pieces)


def words(text: str, rules: WordRules = RULES) -> Iterator[str]:
    """Yield the words of a text; each punctuation mark and each Chinese character is one."""
    for chunk in _spaced(text, rules).split():
        start = 0
        for place, character in enumerate(chunk):
            if _is_punctuation(character):
                if place > start:
                    yield chunk[start:place]
                yield character
                start = place + 1
        if start < len(chunk):
            yield chunk[start:]


def _spaced(text: str, rules: WordRules) -> str:
    if text.isascii():
        shown = "".join(c if c.isprintable() else " " if c in "\t\n\r" else "" for c in text)
        return shown.lower() if rules.lower_case else shown
    shown = "".join(map(_shown, text))
    if rules.without_accents:
        shown = "".join(c for c in unicodedata.normalize("NFD", shown) if unicodedata.category(c) != "Mn")
    # One by one: the tokenizer knows no final sigma.
    return "".join(c.lower() for c in shown) if rules.lower_case else shown


def _shown(character: str) -> str:
    """Return a space for white space, nothing for a control, spaces around a Chinese character."""
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category.startswith("C") or character == "\ufffd":
        return ""
    code = ord(character)
    if any(first <= code <= last for first, last in _CJK):
        return f" {character} "
    return character


def _is_punctuation(character: str) -> bool:
    """Return whether a character is punctuation in ASCII (with `$`, `+`, `~` ...) or in Unicode."""
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")
