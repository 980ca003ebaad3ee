"""Cutting a text into the word pieces of a BERT vocabulary (uncased), as the model's own tokenizer does.

Written out here because the package that does it brings a client for a model hub with it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

LONGEST_WORD = 100
"""Characters above which a word is unknown as a whole, as when the model was trained."""

CHARACTERS_A_TOKEN = 16
"""A text is cut at so many characters a token before it is looked at: hardly any text has longer words."""

_CACHED_WORDS = 20_000

_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ranges whose characters are words of their own."""


class WordPiece:
    """A vocabulary, and the ids of a text in it."""

    def __init__(self, vocabulary: Path) -> None:
        lines = vocabulary.read_text(encoding="utf-8").splitlines()
        self._ids = {piece: number for number, piece in enumerate(lines)}
        self._first, self._last, self._unknown = (self._ids[mark] for mark in ("[CLS]", "[SEP]", "[UNK]"))
        self._pieces = lru_cache(maxsize=_CACHED_WORDS)(self._cut)

    def ids(self, text: str, most: int) -> list[int]:
        """The ids of a text between the marks of its beginning and end, at most `most` with these."""
        found: list[int] = []
        for word in words(text[: most * CHARACTERS_A_TOKEN]):
            found += self._pieces(word)
            if len(found) >= most - 2:
                break
        return [self._first, *found[: most - 2], self._last]

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest piece that fits, again and again; a word that cannot be cut so is unknown."""
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


def words(text: str) -> Iterator[str]:
    """Lower-case words without accents; each punctuation mark and each Chinese character is one."""
    for chunk in _spaced(text).split():
        start = 0
        for place, character in enumerate(chunk):
            if _is_punctuation(character):
                if place > start:
                    yield chunk[start:place]
                yield character
                start = place + 1
        if start < len(chunk):
            yield chunk[start:]


def _spaced(text: str) -> str:
    if text.isascii():
        return "".join(c if c.isprintable() else " " if c in "\t\n\r" else "" for c in text).lower()
    shown = "".join(map(_shown, text))
    plain = (c for c in unicodedata.normalize("NFD", shown) if unicodedata.category(c) != "Mn")
    return "".join(c.lower() for c in plain)  # one by one: the tokenizer knows no final sigma


def _shown(character: str) -> str:
    """A space for white space, nothing for a control, spaces around a Chinese character."""
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
    """Whether it stands alone: what ASCII counts as punctuation (with `$`, `+`, `~` ...) and what Unicode does."""
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")
