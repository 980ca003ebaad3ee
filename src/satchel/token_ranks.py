"""The ranks of the tokens of o200k_base in a file, for a process that counts few texts.

To build the table of the tokenizer takes 50 ms, a tenth of a process that answers one question, whose texts have a
thousand different pieces. A text is cut as the tokenizer cuts it. A piece with a rank is one token, the characters of
another one are merged, the pair of the lowest rank first. Only ASCII and a few signs are counted: a character of
several bytes may share one of them with a token before it, whose rank is not known.
"""

from __future__ import annotations

import os
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from satchel.system import state_files
from satchel.text import pattern

_FORM = f"satchel o200k ranks 1 {sys.byteorder}\n".encode()
_SALT_BYTES = 16

_PLAIN = pattern(r"[\t\n -~\u2018\u2019\u201c\u2013\u2014\u2026\u00b7\u2022\u00d7\u2192\u2502\u251c]*")
"""ASCII, and signs whose bytes are always merged with each other first; those of a closing quotation mark are not."""

_PIECES = pattern(
    r"[^\r\nA-Za-z0-9]?(?:[A-Z]*[a-z]+|[A-Z]+)(?:'(?i:s|t|re|ve|m|ll|d))?|[0-9]{1,3}| ?[^\sA-Za-z0-9]+[\r\n/]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The expression of the tokenizer, with the letters and digits of ASCII in place of those of Unicode."""

LONGEST_MERGED = 64
"""Maximum characters of a piece that is merged here: the time grows with the square."""

_NO_RANK = 1 << 32
TOKENS = 199_998
"""Tokens of o200k_base without the special ones; the number of each is its rank."""


class _NotKnownError(Exception):
    """A piece whose tokens need the table."""


class Ranks:
    """Counts the tokens of texts. Threads may share it: two may look for the same piece."""

    def __init__(self, salt: bytes, keys: Sequence[int], ranks: Sequence[int]) -> None:
        """Take the keys of the tokens in ascending order, and the rank of each."""
        self._salt, self._keys, self._ranks = salt, keys, ranks
        self._counts: dict[str, int] = {}

    def count(self, text: str) -> int | None:
        """Return the number of tokens, None for a text that only the table can count."""
        if _PLAIN.fullmatch(text) is None:
            return None
        pieces = _PIECES.findall(text)
        try:
            for piece in pieces:
                if piece not in self._counts:
                    self._counts[piece] = self._count(piece)
        except _NotKnownError:
            return None
        return sum(map(self._counts.__getitem__, pieces))

    def _count(self, piece: str) -> int:
        if self._rank(piece.encode()) < _NO_RANK:
            return 1
        if len(piece) > LONGEST_MERGED:
            raise _NotKnownError
        parts = [character.encode() for character in piece]
        ranks = [self._rank(first + second) for first, second in pairwise(parts)]
        while ranks and (lowest := min(ranks)) < _NO_RANK:
            at = ranks.index(lowest)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del ranks[at]
            if at:
                ranks[at - 1] = self._rank(parts[at - 1] + parts[at])
            if at < len(ranks):
                ranks[at] = self._rank(parts[at] + parts[at + 1])
        return len(parts)

    def _rank(self, token: bytes) -> int:
        key = _key(token, self._salt)
        place = bisect_left(self._keys, key)
        return self._ranks[place] if place < len(self._keys) and self._keys[place] == key else _NO_RANK


def _key(token: bytes, salt: bytes) -> int:
    """Return the bytes of a short token as a number, of a longer one those of a digest that nobody can foresee."""
    short = token if len(token) <= 8 else blake2b(token, digest_size=8, key=salt).digest()  # bytes of a key
    return int.from_bytes(short, "little")


def read(path: Path) -> Ranks | None:
    """Return the ranks of a file, None if it is missing, damaged or of another version."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    head, body = raw[: len(_FORM) + 4], raw[len(_FORM) + 4 :]
    if head != _FORM + zlib.crc32(body).to_bytes(4, "little"):
        return None
    keys, ranks = array("Q"), array("I")
    end = _SALT_BYTES + (len(body) - _SALT_BYTES) * keys.itemsize // (keys.itemsize + ranks.itemsize)
    keys.frombytes(body[_SALT_BYTES:end])
    ranks.frombytes(body[end:])
    return Ranks(body[:_SALT_BYTES], keys, ranks)


def write(path: Path, decode: Callable[[list[list[int]]], list[str | None]]) -> None:
    """Write the file, with the function of the tokenizer that returns the text of each list of tokens."""
    salt = os.urandom(_SALT_BYTES)
    texts = decode([[rank] for rank in range(TOKENS)])
    plain = ((text, rank) for rank, text in enumerate(texts) if text and (text.isascii() or _PLAIN.fullmatch(text)))
    rows = sorted((_key(text.encode(), salt), rank) for text, rank in plain)
    keys, ranks = (array(form, column) for form, column in zip("QI", zip(*rows, strict=True), strict=True))
    body = salt + keys.tobytes() + ranks.tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    state_files.replace(path, _FORM + zlib.crc32(body).to_bytes(4, "little") + body)
