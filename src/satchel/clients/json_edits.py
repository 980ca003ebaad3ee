"""Edits of JSON text that put one value in, take it out or change it, and touch nothing else.

What is put in takes the indentation, the line ends, the spacing and the trailing commas of what stands around it.
Comments stay where they are. An edit list can be undone: that gives the very bytes of before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from satchel.clients.json_text import Node, parse

EMPTY_FILE = "{}"
"""What a settings file without any text stands for."""

_DEFAULT_UNIT = "  "


class StructureError(ValueError):
    """A value is not the mapping or list that it has to be; `path` are the keys that lead to it."""

    def __init__(self, path: Sequence[str | int], wanted: str) -> None:
        super().__init__(f"{'.'.join(map(str, path)) or 'the file'} is not {wanted}")


@dataclass(frozen=True, slots=True)
class Edit:
    """At `offset`, `removed` gives way to `added`."""

    offset: int
    removed: str
    added: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after its edits, in the order in which they were made; each offset counts in the text of its moment.

    `created` are the paths of mappings and lists that had to be made.
    """

    text: str
    edits: tuple[Edit, ...] = ()
    created: tuple[tuple[str, ...], ...] = ()

    def then(self, after: Edited) -> Edited:
        """These edits and those made of their outcome."""
        return Edited(after.text, (*self.edits, *after.edits), (*self.created, *after.created))


def undo(text: str, edits: Sequence[Edit]) -> str | None:
    """The text before these edits, None where it is not the one that they gave."""
    for edit in reversed(edits):
        end = edit.offset + len(edit.added)
        if text[edit.offset : end] != edit.added:
            return None
        text = text[: edit.offset] + edit.removed + text[end:]
    return text


def put(text: str, path: Sequence[str], value: Any, *, append: bool = False) -> Edited:
    """Put a value below these keys, or with `append` at the end of the list there; what is missing is made.

    Raises JsonTextError, and StructureError where a key on the way holds no mapping.
    """
    if not text.strip("\ufeff \t\r\n"):
        start = len(text) - len(text.lstrip("\ufeff"))
        made = _edited(text, [(start, start, f"{EMPTY_FILE}{'' if text[start:] else chr(10)}")])
        return made.then(put(made.text, path, value, append=append))
    root = parse(text)
    node, at = _deepest(root, path)
    created = tuple(tuple(path[:end]) for end in range(at + 1, len(path) + (1 if append else 0)))
    if append and at == len(path):
        if not node.is_array:
            raise StructureError(path, "a list")
        return _inserted(text, root, node, "", value)
    for key in reversed(path[at + 1 :]):
        value, append = {key: [value] if append else value}, False
    made = _inserted(text, root, node, path[at], [value] if append else value)
    return Edited(made.text, made.edits, created)


def change(text: str, path: Sequence[str | int], value: Any) -> Edited:
    """Put another value in the place of the one below these keys and numbers."""
    root = parse(text)
    node = root.get(path)
    if node is None:
        raise StructureError(path, "there")
    is_flat = "\n" not in text[root.start : root.end]
    indent = _indent_of_line(text, node.start)
    written = _written(value, "", ":" if is_flat else ": ", indent, _unit(text, root), _line_end(text), flat=is_flat)
    return _edited(text, [(node.start, node.end, written)])


def take(text: str, path: Sequence[str | int]) -> Edited:
    """Take out the value below these keys and numbers, with its comma and its line."""
    parent = parse(text).get(path[:-1])
    position = parent.position(path[-1]) if parent is not None else None
    if parent is None or position is None:
        raise StructureError(path, "there")
    child, is_last = parent.children[position], position == len(parent.children) - 1
    end = child.node.end if child.comma is None else child.comma + 1
    around = text[parent.start + 1 : child.start] + text[end : parent.end - 1]
    if len(parent.children) == 1 and not around.strip():
        return _edited(text, [(parent.start + 1, parent.end - 1, "")])
    if not is_last:
        following = parent.children[position + 1]
        if following.lead == end and "\n" not in text[child.lead : following.start]:
            return _edited(text, [(child.start, following.start, "")])
    cuts = [(child.lead, end, "")]
    if is_last and child.comma is None and position > 0:
        comma = parent.children[position - 1].comma
        if comma is not None:
            cuts.append((comma, comma + 1, ""))
    return _edited(text, _merged(cuts))


def _merged(cuts: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Stretches to remove, those that touch each other as one."""
    ordered = sorted(cuts)
    merged = ordered[:1]
    for start, end, _ in ordered[1:]:
        if start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), "")
        else:
            merged.append((start, end, ""))
    return merged


def _deepest(root: Node, path: Sequence[str]) -> tuple[Node, int]:
    """The last value on the way that exists, and how many keys lead to it."""
    node = root
    for at, key in enumerate(path):
        if not node.is_object:
            raise StructureError(path[:at], "a mapping in braces")
        position = node.find(key)
        if position is None:
            return node, at
        node = node.children[position].node
    return node, len(path)


def _inserted(text: str, root: Node, container: Node, key: str, value: Any) -> Edited:
    """The value as the last child of a container."""
    children, last = container.children, container.children[-1] if container.children else None
    if last is not None and "\n" not in text[container.start : container.end]:
        return _inserted_inline(text, container, key, value)
    unit, line_end = _unit(text, root), _line_end(text)
    outer = _indent_of_line(text, container.start)
    indent = _indent_of_child(text, children[0].start) if children else None
    inner = outer + unit if indent is None else indent
    written = _written(value, key, ": ", inner, unit, line_end, flat=False)
    added = f"{line_end}{inner}{written}"
    if last is None:
        has_break = "\n" in text[container.close : container.end]
        return _edited(text, [(container.close, container.close, added if has_break else f"{added}{line_end}{outer}")])
    if last.comma is not None:
        return _edited(text, [(container.close, container.close, f"{added},")])
    if container.close == last.node.end:
        return _edited(text, [(container.close, container.close, f",{added}")])
    return _edited(text, [(last.node.end, last.node.end, ","), (container.close, container.close, added)])


def _inserted_inline(text: str, container: Node, key: str, value: Any) -> Edited:
    """The value behind the others of a container that stands on one line."""
    last = container.children[-1]
    inside = text[container.start : container.end]
    is_tight = ", " not in inside and ": " not in inside
    written = _written(value, key, ":" if is_tight else ": ", "", "", "", flat=True)
    gap = "" if is_tight else " "
    if last.comma is not None:
        return _edited(text, [(last.comma + 1, last.comma + 1, f"{gap}{written},")])
    return _edited(text, [(last.node.end, last.node.end, f",{gap}{written}")])


def _written(value: Any, key: str, colon: str, indent: str, unit: str, line_end: str, *, flat: bool) -> str:
    """A member, or an element where there is no key, as it stands behind its indentation."""
    separators = (",", ":") if colon == ":" else (", ", ": ")
    text = json.dumps(
        value, ensure_ascii=False, indent=None if flat else unit, separators=separators if flat else (",", ": ")
    )
    name = f"{json.dumps(key, ensure_ascii=False)}{colon}" if key else ""
    return name + text.replace("\n", f"{line_end}{indent}")


def _edited(text: str, changes: Sequence[tuple[int, int, str]]) -> Edited:
    """Make changes that are given as stretches of the one text, the last one first."""
    edits = []
    for start, end, added in sorted(changes, reverse=True):
        edits.append(Edit(start, text[start:end], added))
        text = text[:start] + added + text[end:]
    return Edited(text, tuple(edits))


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_of_line(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_of_child(text: str, offset: int) -> str | None:
    """The indentation of a child that begins its line, None for one that does not."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line if not line.strip(" \t") and "\n" in text[:offset] else None


def _unit(text: str, root: Node) -> str:
    """By how much one level is indented: what the first child of the file shows."""
    for child in root.children:
        indent = _indent_of_child(text, child.start)
        if indent:
            return indent
    return _DEFAULT_UNIT
