"""Counting by a file with the ranks of the tokens of o200k_base, which takes a tenth of the memory of the tokenizer.

The tokenizer takes 50 ms to load, and 28 MB as long as the process lives; `tokens.py` loads it for what this module
cannot count, and writes the file. A text is cut as the tokenizer cuts it.
A piece with a rank is one token, the bytes of another one are merged, the pair of the lowest rank first.
"""

from __future__ import annotations

import os
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from satchel import lazy_numpy as np
from satchel.system import state_files
from satchel.text import pattern

_FORM = f"satchel o200k ranks 2 {sys.byteorder}\n".encode()
_SALT_BYTES = 16

_PLAIN = pattern(r"[\t\n\r -~]*")

_PIECES = pattern(
    r"[^\r\nA-Za-z0-9\1]?[A-Z\1\2]*[a-z\1\2]+(?:'(?i:s|t|re|ve|m|ll|d))?"
    r"|[^\r\nA-Za-z0-9\1]?[A-Z\1\2]+[a-z\1\2]*(?:'(?i:s|t|re|ve|m|ll|d))?"
    r"|[0-9]{1,3}| ?[^\sA-Za-z0-9\1]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The expression of the tokenizer, for a text with a character of `_classes` in place of each that is not plain."""

LONGEST_MERGED = 512
"""Maximum bytes of a piece that is merged here: the time grows with the square, 3 ms for these."""

MAX_PIECES = 10_000
"""Pieces whose counts are kept, about 1.5 MB; one more, and the others are forgotten."""

RANKS_KEPT = 4_096
"""Pairs of parts whose rank is kept, about .6 MB: four of five that are looked for."""

_NO_RANK = 1 << 32
TOKENS = 199_998
"""Tokens of o200k_base without the special ones; the number of each is its rank."""


class _NotKnownError(Exception):
    """A piece whose tokens only the tokenizer can count."""


class _Classes(dict[int, str]):
    """A plain character that `_PIECES` treats like the one with a number. Raises _NotKnownError for an unassigned one.

    Two are beside the plain ones: 1 is a letter without case, 2 is a mark, and a word of either case goes on with both.
    """

    def __missing__(self, code: int) -> str:
        import unicodedata  # here, because few texts need it

        character = chr(code)
        category = unicodedata.category(character)
        if category in {"Cn", "Cs"}:
            raise _NotKnownError
        if _PLAIN.fullmatch(character):
            like = character
        elif character == "\u017f":
            like = "s"  # it ends a word like `it's` as well
        elif category.startswith("Z") or character in "\v\f\x85":
            like = "\t"
        else:
            like = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": "\1", "Lo": "\1"}.get(category, "!")
            like = {"M": "\2", "N": "0"}.get(category[0], like)
        self[code] = like
        return like


_classes = _Classes()


def _pieces(text: str) -> list[str]:
    if _PLAIN.fullmatch(text):
        return _PIECES.findall(text)
    return [text[match.start() : match.end()] for match in _PIECES.finditer(text.translate(_classes))]


class Ranks:
    """Counts the tokens of texts. Threads may share it: two may look for the same piece."""

    def __init__(self, salt: bytes, keys: Sequence[int], ranks: Sequence[int]) -> None:
        """Take the keys of the tokens in ascending order, and the rank of each."""
        self._salt, self._keys, self._ranks = salt, keys, ranks
        self._counts: dict[str, int] = {}
        self._rank = lru_cache(RANKS_KEPT)(self._found_rank)

    def count(self, text: str) -> int | None:
        """Return the number of tokens, None for a text that only the tokenizer can count."""
        counts = self._counts
        try:
            pieces = _pieces(text)
            missing = {*pieces}.difference(counts)
            if not missing:
                return sum(map(counts.__getitem__, pieces))
            new = {piece: self._count(piece.encode()) for piece in missing}
        except _NotKnownError:
            return None
        total = sum(counts[piece] if piece in counts else new[piece] for piece in pieces)
        if len(counts) + len(new) > MAX_PIECES:
            self._counts = new
        else:
            counts |= new
        return total

    def _count(self, piece: bytes) -> int:
        if self._rank(piece) < _NO_RANK:
            return 1
        if len(piece) > LONGEST_MERGED:
            raise _NotKnownError
        parts = [piece[at : at + 1] for at in range(len(piece))]
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

    def _found_rank(self, token: bytes) -> int:
        key = int.from_bytes(_key(token, self._salt), "little")
        place = bisect_left(self._keys, key)
        return self._ranks[place] if place < len(self._keys) and self._keys[place] == key else _NO_RANK


def _key(token: bytes, salt: bytes) -> bytes:
    """Return 8 bytes: a short token with its length, of a longer one a digest that nobody can foresee."""
    if len(token) < 8:  # bytes of a key
        return token.ljust(7, b"\0") + bytes((len(token),))
    return blake2b(token, digest_size=8, key=salt).digest()


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


def write(path: Path, decode: Callable[[list[int]], bytes]) -> None:
    """Write the file, with the function of the tokenizer that returns the bytes of some tokens."""
    salt = os.urandom(_SALT_BYTES)
    keys = np.frombuffer(b"".join([_key(decode([rank]), salt) for rank in range(TOKENS)]), dtype="<u8")
    order = np.argsort(keys)
    body = salt + keys[order].astype(np.uint64).tobytes() + order.astype(np.uint32).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    state_files.replace(path, _FORM + zlib.crc32(body).to_bytes(4, "little") + body)
