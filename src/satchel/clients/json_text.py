"""JSON as people write it into settings: with comments and trailing commas, and with the place of every value.

A value is a `Node`, which knows where it stands in the text, so that an edit can leave every other byte alone.
Offsets are 0-based characters; `end` is behind the last one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DEEPEST = 200
"""Brackets inside each other: no settings file has a tenth of it, and Python follows no more than a thousand."""

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\ufeff]+)
  | (?P<comment>//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)
  | (?P<text>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")
  | (?P<scalar>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b)
  | (?P<mark>[{}\[\],:])
    """,
    re.VERBOSE,
)


class JsonTextError(ValueError):
    """The text is no JSON: what is wrong, and where (1-based)."""

    def __init__(self, message: str, text: str, offset: int) -> None:
        super().__init__(message)
        before = text[:offset]
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1


@dataclass(frozen=True, slots=True)
class Node:
    """A value: a mapping (`is_object`), a list (`is_array`) or a single `scalar`.

    `close` is where the last token or comment before the closing bracket ends, so that what is put there comes last.
    """

    start: int
    end: int
    scalar: Any = None
    children: tuple[Child, ...] = ()
    bracket: str = ""
    close: int = 0

    @property
    def is_object(self) -> bool:
        """Whether it is a mapping."""
        return self.bracket == "{"

    @property
    def is_array(self) -> bool:
        """Whether it is a list."""
        return self.bracket == "["

    @property
    def data(self) -> Any:
        """The value as Python has it; of keys that occur twice the last one counts, as everywhere."""
        if self.is_object:
            return {child.key: child.node.data for child in self.children}
        return [child.node.data for child in self.children] if self.is_array else self.scalar

    def find(self, key: str) -> int | None:
        """The position of the child with this key, None where there is none."""
        return next((at for at in reversed(range(len(self.children))) if self.children[at].key == key), None)

    def position(self, step: str | int) -> int | None:
        """Where the child of this key (of a mapping) or number (of a list) stands, None where there is none."""
        if isinstance(step, str):
            return self.find(step) if self.is_object else None
        return step if self.is_array and step < len(self.children) else None

    def get(self, path: Sequence[str | int]) -> Node | None:
        """The value below these keys and numbers, None where there is none."""
        node = self
        for step in path:
            at = node.position(step)
            if at is None:
                return None
            node = node.children[at].node
        return node


@dataclass(frozen=True, slots=True)
class Child:
    """A member or an element. `lead` is where the token or comment before it ends, `comma` where its comma stands."""

    node: Node
    start: int
    lead: int
    key: str = ""
    comma: int | None = None


def parse(text: str) -> Node:
    """The one value that the text holds. Raises JsonTextError."""
    return _Parser(text).document()


class _Parser:
    """Reads a text once, token by token; `before` is where the token or comment before the present one ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0
        self.kind = ""
        self.piece = ""
        self.start = 0
        self.before = 0
        self._next()

    def document(self) -> Node:
        node = self._value(0)
        if self.kind != "end":
            raise self._error("nothing may follow the value that began the file")
        return node

    def _next(self) -> None:
        """Go to the next token, over blanks and comments."""
        self.before = self.offset
        while self.offset < len(self.text):
            found = _TOKEN.match(self.text, self.offset)
            if found is None:
                self.start = self.offset
                raise self._error(f"there is no value that begins with {self.text[self.offset]!r}")
            self.kind, self.piece, self.start = found.lastgroup or "", found.group(), self.offset
            self.offset = found.end()
            if self.kind == "comment":
                self.before = self.offset
            elif self.kind != "space":
                return
        self.kind, self.piece, self.start = "end", "", len(self.text)

    def _value(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._error(f"there are more than {DEEPEST} brackets inside each other")
        start, piece = self.start, self.piece
        if self.kind in {"text", "scalar"}:
            scalar = self._decoded()
            self._next()
            return Node(start, start + len(piece), scalar)
        if piece in {"{", "["}:
            return self._container(piece, depth)
        raise self._error("the file ends where a value is missing" if self.kind == "end" else f"{piece!r} is no value")

    def _decoded(self) -> Any:
        try:
            return json.loads(self.piece)
        except ValueError:
            raise self._error("this text has a wrong escape") from None

    def _container(self, bracket: str, depth: int) -> Node:
        start, closing, children = self.start, "}" if bracket == "{" else "]", list[Child]()
        self._next()
        while self.piece != closing or self.kind != "mark":
            children.append(self._child(bracket, depth))
            if children[-1].comma is None and self.piece != closing:
                wanted = f"',' or '{closing}'"
                missing = f"the file ends where {wanted} is missing" if self.kind == "end" else f"expected {wanted}"
                raise self._error(missing)
        close, end = self.before, self.offset
        self._next()
        return Node(start, end, None, tuple(children), bracket, close)

    def _child(self, bracket: str, depth: int) -> Child:
        start, lead, key = self.start, self.before, ""
        if bracket == "{":
            if self.kind != "text":
                raise self._error("the file ends inside '{'" if self.kind == "end" else "expected a key in quotes")
            key = self._decoded()
            self._next()
            if self.piece != ":" or self.kind != "mark":
                raise self._error("expected ':' behind the key")
            self._next()
        node = self._value(depth + 1)
        if self.piece != "," or self.kind != "mark":
            return Child(node, start, lead, key)
        comma = self.start
        self._next()
        return Child(node, start, lead, key, comma)

    def _error(self, message: str) -> JsonTextError:
        return JsonTextError(message, self.text, self.start)
