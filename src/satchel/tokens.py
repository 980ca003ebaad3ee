"""Counting tokens without a network.

Two tokenizers are exact (their rank tables are part of an installed package), two are upper estimates and labelled
so: a text within a budget by their count is within it in fact. Text that imitates a special token (`<|endoftext|>`)
is counted as plain text.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from satchel import token_ranks
from satchel.errors import UsageError
from satchel.text import pattern

CLAUDE_FACTOR = (7, 4)
"""Claude tokens per o200k token, as a fraction (1.75) so that the ceiling is exact.

There is no offline tokenizer for current Claude models. 1.75 is the 95th percentile over 300 Python snippets for the
newest family (median 1.53, English prose 1.61); the older families lie at 1.35, so the factor is safe for them too.
"""

DEFAULT_TOKENIZER = "o200k_base"


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    @property
    def name(self) -> str:
        """The name that `counter` takes and that answers report."""
        ...

    @property
    def exact(self) -> bool:
        """True if `count` equals the count of the tokenizer of this name, false for an upper estimate."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens, 0 for the empty text. Never raises: a lone surrogate counts as U+FFFD."""
        ...


def count_within(count: int, limit: int, tokens_with: Callable[[int], int]) -> int:
    """Return how many of `count` parts a text of at most `limit` tokens has room for, found by halving.

    `tokens_with` returns the tokens of the text with so many of the first parts, from 1; more parts are more tokens.
    """
    return bisect_right(range(1, count + 1), limit, key=tokens_with)


def first_within(sizes: Iterable[float], room: float) -> int:
    """Return how many of the first texts of these sizes fit into a room (tokens)."""
    return sum(1 for _ in takewhile(lambda used: used <= room, accumulate(sizes)))


class _Bytes(Protocol):
    """The part of a byte pair encoding of `rs_bpe` that is used."""

    def decode_tokens(self, tokens: list[int], /) -> bytes: ...


class _Tokenizer(Protocol):
    """The part of an `rs_bpe` tokenizer that is used: `count` raises UnicodeEncodeError on a lone surrogate."""

    def count(self, text: str, /) -> int: ...

    def bpe(self) -> _Bytes: ...


@cache
def _tokenizer(name: str) -> _Tokenizer:
    """Return the tokenizer of this name; the first call of a process takes 20 to 70 ms."""
    # The submodule, not the package: the package prints to standard error instead of raising when it is broken.
    from rs_bpe.bpe import openai

    tables: Mapping[str, Callable[[], _Tokenizer]] = {
        "o200k_base": openai.o200k_base,
        "cl100k_base": openai.cl100k_base,
    }
    table = tables[name]()
    _let_go_of(str(Path(sys.modules["rs_bpe.bpe"].__file__ or "").resolve()))
    return table


def _let_go_of(library: str) -> None:
    """Give the memory back that a library's constants take, half of what its table does. They are read when needed."""
    with suppress(OSError, ValueError, ImportError):  # no `/proc`, or another form of it
        import ctypes  # here, because it takes as long as all of this file

        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        bounds = [line.split()[0].split("-") for line in maps if line.endswith(library) and " r--p " in line]
        size, start = max((int(end, 16) - int(start, 16), int(start, 16)) for start, end in bounds)
        if size > 1 << 24:  # bytes; what the loader has written to is far smaller
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), 4)  # MADV_DONTNEED


FILE_NAME = "o200k.ranks"


class _O200k:
    """Counts by o200k_base: by the file of `token_ranks.py` if there is one, else by the tokenizer.

    The file spares a process the loading of the tokenizer, whose memory it could not give back.
    """

    def __init__(self) -> None:
        self._file: Path | None = None
        self._ranks: token_ranks.Ranks | None = None
        self.is_file_wanted = False
        """Whether this process had to load the tokenizer, because there is no file that would have spared it."""

    def use(self, folder: Path) -> None:
        """Take the file of ranks in this folder, from the first text on."""
        self._file = self._file or folder / FILE_NAME

    def count(self, text: str) -> int:
        """Return the tokens of a text. Raises UnicodeEncodeError on a lone surrogate."""
        if self._ranks is None and self._file is not None and not self.is_file_wanted:
            self._ranks = token_ranks.read(self._file)
            self.is_file_wanted = self._ranks is None
        counted = self._ranks.count(text) if self._ranks is not None else None
        return counted if counted is not None else _tokenizer(DEFAULT_TOKENIZER).count(text)

    def keep(self) -> None:
        """Write the file."""
        if self._file is not None:
            with suppress(OSError):  # in a folder that cannot be written each process loads the tokenizer
                token_ranks.write(self._file, _tokenizer(DEFAULT_TOKENIZER).bpe().decode_tokens)
                self.is_file_wanted = False


o200k = _O200k()

MAX_LINES, LONGEST_LINE = 5_000, 1_000
"""Lines whose counts are kept, above which all are forgotten, and characters of the longest of them."""

_LINE_START = pattern(r"\n(?!/)(?=[^\S\n]*+\S)")
"""The line feed before a line that shares no token with the one before it."""


class _LineTokens(dict[str, int]):
    """The tokens of lines, each with its line end, counted on first use.

    A key is a line and those after it that may share a token with it: blank ones, and those that begin with a slash. No
    token of either table reaches over a line feed into any other line, so the tokens of a text without carriage returns
    are the sum of those of its lines. Threads may share this: two may count the same line.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count

    def __missing__(self, line: str) -> int:
        tokens = self._count(f"{line}\n")
        if len(self) >= MAX_LINES:
            self.clear()
        if len(line) <= LONGEST_LINE:
            self[line] = tokens
        return tokens

    def of(self, text: str) -> int:
        """Return the tokens of a text. Raises UnicodeEncodeError on a lone surrogate."""
        if "\r" in text:
            return self._count(text)
        *lines, last = _LINE_START.split(text)  # the last one is without a line end of its own
        return sum(map(self.__getitem__, lines)) + (self[last[:-1]] if last.endswith("\n") else self._count(last))


@cache
def _line_tokens(name: str) -> _LineTokens:
    return _LineTokens(o200k.count if name == DEFAULT_TOKENIZER else _tokenizer(name).count)


def _without_lone_surrogates(text: str) -> str:
    """Return the text after a round trip through UTF-16: paired surrogates joined, lone ones replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class ExactCounter(Struct, frozen=True):
    """Exact byte pair counting, line by line. The tokenizer or its file of ranks is loaded at the first count."""

    name: str
    exact: bool = True

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        try:
            return _line_tokens(self.name).of(text)
        except UnicodeEncodeError:
            return _line_tokens(self.name).of(_without_lone_surrogates(text))


class ClaudeEstimate(Struct, frozen=True):
    """An upper estimate for Claude: o200k tokens times `CLAUDE_FACTOR`, high enough for 95 of 100 code snippets."""

    name: str = "claude"
    exact: bool = False

    def count(self, text: str) -> int:
        """Return the number of tokens, an upper estimate."""
        numerator, denominator = CLAUDE_FACTOR
        return -(-ExactCounter("o200k_base").count(text) * numerator // denominator)


class CharacterEstimate(Struct, frozen=True):
    """The estimate for an unknown tokenizer: one token per UTF-8 byte (per character in ASCII text).

    Every token of a byte-level tokenizer covers at least one byte, so this is never too low. It is loose: ordinary code
    has 0.23 tokens a byte. Tighter rules were tried and were too low for real files of repositories: base64 needs
    0.79 tokens a byte, random ASCII 0.87, Arabic letters 0.97 and control characters 1.00 (cl100k).
    """

    name: str = "chars"
    exact: bool = False

    def count(self, text: str) -> int:
        """Return the number of bytes in UTF-8."""
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_COUNTERS: Mapping[str, TokenCounter] = {
    counter.name: counter
    for counter in (
        ExactCounter("o200k_base"),
        ExactCounter("cl100k_base"),
        ClaudeEstimate(),
        CharacterEstimate(),
    )
}

TOKENIZERS: tuple[str, ...] = tuple(_COUNTERS)
"""The names that `counter` accepts."""


def counter(name: str = DEFAULT_TOKENIZER) -> TokenCounter:
    """Return the counter of this name, whose tables are loaded at the first count. Raises UsageError."""
    try:
        return _COUNTERS[name]
    except KeyError:
        raise UsageError(f"unknown tokenizer {name!r}: use one of {', '.join(TOKENIZERS)}") from None
