"""The lines of a text, in little more memory than the text itself."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import SupportsIndex, overload


class TextLines(Sequence[str]):
    r"""The lines of a text without their ends, 0-based: `text.split("\n")`, cut when they are asked for.

    As strings of their own lines take three to four times the memory of the text. Immutable, and safe to share between
    threads.
    """

    __slots__ = ("_lengths", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lengths = array("I", accumulate(map(len, text.split("\n")), initial=0))
        """Characters before each line, without line ends; the last number is for the whole text."""

    def __len__(self) -> int:
        return len(self._lengths) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.text.split("\n"))

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> str | list[str]:
        if isinstance(at, slice):
            first, behind, step = at.indices(len(self))
            found = self.joined(first + 1, behind).split("\n") if first < behind and step > 0 else []
            return found if step == 1 else self.text.split("\n")[at]
        number, lengths = at.__index__(), self._lengths
        if number < 0:
            number = range(len(self))[number]
        return self.text[lengths[number] + number : lengths[number + 1] + number]

    def joined(self, start: int, end: int) -> str:
        """Return lines `start`..`end` (from 1, both within the text), without the last line end."""
        return self.text[self._lengths[start - 1] + start - 1 : self._lengths[end] + end - 1]

    def characters(self, start: int, end: int) -> int:
        """Return the characters of lines `start`..`end` (from 1) that the text has, each with its line end."""
        lengths = self._lengths
        count = len(lengths) - 1
        first, last = min(start - 1, count), min(end, count)
        return lengths[last] - lengths[first] + last - first

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextLines) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)
