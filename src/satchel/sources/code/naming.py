"""Names as people write them when they talk about code: with dots, whatever the language."""

from __future__ import annotations

import re

MAX_NAME = 120
"""Longest name in characters; a longer one is generated or no name at all."""

_GENERIC = re.compile(r"<[^<>]*>")
_GENERIC_ROUNDS = 10
_OPERATOR = re.compile(r"(?P<owner>.*::)?(?P<name>operator\b.*)", re.DOTALL)
_PATH = re.compile(r"[\w$#~?!=.-]+")
_IDENTIFIER = re.compile(r"[A-Za-z_$#][\w$]*")
_SILENT = frozenset({"prototype", "exports", "module", "this", "self", "window", "globalThis"})
_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx"})


def dotted(text: str, language: str) -> str:
    """A name from the source, with dots and without generics, quotes and what only says where it is attached.

    `ns::Box<T>::size` -> `ns.Box.size`, `Store.prototype.remove` -> `Store.remove`, `exports.create` -> `create`,
    `&'a super::Shape<T>` -> `Shape` (Rust), `[Symbol.iterator]` -> `iterator`.
    """
    if text.isidentifier():
        return text[:MAX_NAME]
    name = text.strip().strip("'\"`")
    if language == "cpp" and (operator := _OPERATOR.fullmatch(name)):
        return (_path(operator["owner"] or "") + "".join(operator["name"].split()))[:MAX_NAME]
    name = _path(name)
    if not _PATH.fullmatch(name):
        name = next(reversed(_IDENTIFIER.findall(name)), "") or text.strip()
    if language == "rust":
        name = name.rpartition(".")[2]
    elif language in _ECMASCRIPT and "." in name:
        parts = name.split(".")
        name = ".".join(part for part in parts if part not in _SILENT) or parts[-1]
    return name.strip(".")[:MAX_NAME] or text.strip()[:MAX_NAME]


def _path(text: str) -> str:
    """The text without generics, its separators turned into dots."""
    for _ in range(_GENERIC_ROUNDS):
        text, count = _GENERIC.subn("", text)
        if not count:
            break
    return text.replace("::", ".").replace("\\", ".").removeprefix(":")
