"""The lines of a text, in little more memory than the text itself."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import SupportsIndex, overload

from satchel import lazy_numpy


class TextLines(Sequence[str]):
    r"""The lines of a text without their ends, 0-based: `text.split("\n")`, cut when they are asked for.

    As strings of their own lines take three to four times the memory of the text. Immutable, and safe to share between
    threads.
    """

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = _starts(text)
        """The offset of each line; the last number is for a line behind the text."""

    def __len__(self) -> int:
        return len(self._starts) - 1

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
        number, starts = at.__index__(), self._starts
        if number < 0:
            number = range(len(self))[number]
        return self.text[starts[number] : starts[number + 1] - 1]

    def joined(self, start: int, end: int) -> str:
        """Return lines `start`..`end` (from 1, both within the text), without the last line end."""
        return self.text[self._starts[start - 1] : self._starts[end] - 1]

    def characters(self, start: int, end: int) -> int:
        """Return the characters of lines `start`..`end` (from 1) that the text has, each with its line end."""
        starts = self._starts
        count = len(starts) - 1
        return starts[min(end, count)] - starts[min(start - 1, count)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextLines) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _starts(text: str) -> array[int]:
    """Return the offset of each line, and of one behind the text; with numpy in a quarter of the time."""
    if (np := lazy_numpy.loaded()) is None:
        return array("I", accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    if text.isascii():
        signs = np.frombuffer(text.encode("ascii"), "u1")
    else:
        signs = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    ends = np.flatnonzero(signs == ord("\n"))
    return array("I", np.concatenate([[0], ends + 1, [len(text) + 1]]).astype(np.uint32).tobytes())
