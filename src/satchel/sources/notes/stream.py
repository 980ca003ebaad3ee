"""Reading the objects of one array of a large JSON file, one after the other, without ever holding all of them.

An export of 300,000 nodes is 150 MB of text and would be a gigabyte of Python objects. Here only the value that is
being read exists; the caller keeps what it needs of it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Generator, Iterator
from typing import Any

from satchel.errors import UsageError

BLOCK_BYTES = 1 << 20
"""Decoded at once. Text with one emoji takes four bytes a character in Python, so the whole file must never be one."""

_SPACE = re.compile(r"[ \t\r\n]*")
_DELIMITERS = frozenset(',]}: \t\r\n"')
_SELF_DELIMITED = frozenset('}]"')
_decode = json.JSONDecoder().raw_decode


class _Text:
    """The rest of the file as text that grows when a value goes on behind its end."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._done = raw, 0
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._held, self._place = "", 0

    def peek(self) -> str:
        """The next character that is not blank, empty at the end."""
        while True:
            match = _SPACE.match(self._held, self._place)
            assert match is not None
            self._place = match.end()
            if self._place < len(self._held):
                return self._held[self._place]
            if not self._grow(BLOCK_BYTES):
                return ""

    def take(self, expected: str) -> None:
        """Pass one character. Raises UsageError where another one stands."""
        found = self.peek()
        if found != expected:
            raise UsageError(
                f"this is no JSON: {expected!r} expected near byte {self._done}, not {found or 'the end'!r}"
            )
        self._place += 1

    def value(self) -> Any:
        """The next value. Raises UsageError for what is no JSON."""
        self.peek()
        step = BLOCK_BYTES
        while True:
            reason = "the file ends inside a value"
            try:
                found, end = _decode(self._held, self._place)
                # A number at the end of what was decoded may go on in the next block.
                if self._held[end - 1] in _SELF_DELIMITED or self._held[end : end + 1] in _DELIMITERS:
                    self._place = end
                    return found
            except json.JSONDecodeError as error:
                reason = error.msg
            except RecursionError as error:
                raise UsageError("this is no export: its values are nested too deep") from error
            if not self._grow(step):
                raise UsageError(f"this is no JSON: {reason} near byte {self._done}")
            step *= 2  # a value of many blocks is not tried again at each of them

    def _grow(self, size: int) -> bool:
        if self._done >= len(self._raw):
            return False
        block = self._raw[self._done : self._done + size]
        self._done += len(block)
        more = self._decoder.decode(block, final=self._done >= len(self._raw))
        self._held, self._place = self._held[self._place :] + more, 0
        return True


def array_items(raw: bytes, name: str, wrapper: str) -> Iterator[Any]:
    """The items of the array `name` of an object, which may be the value of `wrapper` in another one.

    Other keys are read over. Raises UsageError where the bytes are no JSON or hold no such array.
    """
    text = _Text(raw)
    if not (yield from _members(text, name, wrapper)):
        raise UsageError(f"there is no list {name!r} in it: this is no export that satchel knows")


def _members(text: _Text, name: str, wrapper: str) -> Generator[Any, None, bool]:
    """The items of the array; returns whether there is one."""
    text.take("{")
    is_found = False
    while text.peek() not in {"}", ""}:
        key = text.value()
        text.take(":")
        if key == name and text.peek() == "[":
            is_found = True
            yield from _items(text)
        elif key == wrapper and text.peek() == "{":
            is_found = (yield from _members(text, name, "")) or is_found
        else:
            text.value()
        if text.peek() == ",":
            text.take(",")
    text.take("}")
    return is_found


def _items(text: _Text) -> Iterator[Any]:
    text.take("[")
    while text.peek() != "]":
        yield text.value()
        if text.peek() != "]":
            text.take(",")
    text.take("]")
