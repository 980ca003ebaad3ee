r"""Jupyter notebooks, read as the source of their cells.

A notebook is a JSON file. `readable_notebook` gives the text that is indexed and shown in its place: a script with cell
marks (`# %%`, the "percent" format), in which every line of source is on the line of the file where its string is, and
all else, such as outputs, is a blank line. So line numbers are those of the file, for editors and git, too.

```text
 1 {                                      # %% [notebook python]
 2  "cells": [
 3   {"cell_type": "code", "source": [     # %%
 4     "def load(path):\n",                def load(path):
 5     "    return open(path)"                 return open(path)
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec.structs import replace

from satchel.sources.code.languages import GRAMMARS, LANGUAGES, NOTEBOOK, comment_mark
from satchel.sources.code.outline import outline as outline_code
from satchel.sources.docs import PATH_SEPARATOR, Heading, chunks, line_count, markdown
from satchel.text import pattern
from satchel.types import Import, Outline, Part, Range, Role

_CELL_MARK = pattern(r"\S+ %%(?: \[(\w+)\])?\Z")
_TOKEN = pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]|[^\s{}\[\],:"]+', re.DOTALL)
_SOURCE = ("source", "input")
"""Keys of the source of a cell; the second one is that of code in format 3."""

_MAGIC = pattern(r"[ \t]*[%!]")
_OTHER_LANGUAGE = pattern(r"%%(?!time|capture|prun)\w")
"""A line that IPython reads, and the first line of a cell in another language than that of the notebook."""

_Path = tuple[str | int, ...]


class _Cell(NamedTuple):
    """A cell: its kind and the lines of its source, and for each, after one for its mark, the line of the file."""

    kind: str
    source: list[str]
    places: list[int]


def readable_notebook(text: str) -> str:
    """Return the source of the cells in place of a notebook, without line ends of Windows.

    What cannot be read as a notebook is returned as it is. Where its strings are not each on a line of its own (the
    file is on one line, or a cell is one string), the lines are those of the cells, one after the other.
    """
    try:
        content = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
    if not isinstance(content, dict) or not ("cells" in content or "worksheets" in content):
        return text
    language = _kernel(content)
    remark = comment_mark(language)
    mark = f"{remark} %% [notebook {language}]" if language else f"{remark} %% [notebook]"
    cells = list(_cells(content, _lines_of(text)))
    shown = [_shown(cell, language, remark) for cell in cells]
    places = [0, *(place for cell in cells for place in cell.places)]
    if any(one >= other for one, other in pairwise(places)):
        return "\n".join([mark, *(line for lines in shown for line in (*lines, ""))])
    placed = dict(zip(places, [mark, *(line for lines in shown for line in lines)], strict=True))
    return "\n".join(placed.get(line, "") for line in range(text.count("\n") + 1))


def _kernel(content: dict[str, Any]) -> str:
    """Return the language of the kernel, empty where it is not one that files are recognised by."""
    metadata = content.get("metadata")
    named = [metadata.get(key) for key in ("language_info", "kernelspec")] if isinstance(metadata, dict) else []
    names = [entry.get(key) for entry in named if isinstance(entry, dict) for key in ("name", "language")]
    for name in (name.lower() for name in names if isinstance(name, str)):
        plain = {"c++": "cpp", "c#": "csharp"}.get(name, re.sub(r"^i(?=python)|[\d.]+$", "", name))
        if plain in LANGUAGES:
            return plain
    return "" if names else "python"  # format 3 did not say: it was that of IPython


def _lines_of(text: str) -> dict[_Path, int]:
    """Return the lines (from 0) where the sources in valid JSON and their strings begin, by their keys and indices."""
    lines: dict[_Path, int] = {}
    stack: list[str | int] = []  # of each open bracket the key or index that is read there
    is_key, line, counted = False, 0, 0
    for match in _TOKEN.finditer(text):
        part = match[0]
        if part in "}]":
            stack.pop()
            is_key = False
        elif part == ",":
            is_key = isinstance(stack[-1], str)
            stack[-1] = stack[-1] if isinstance(stack[-1], str) else stack[-1] + 1
        elif is_key:
            stack[-1], is_key = json.loads(part, strict=False), False
        else:
            if stack and (stack[-1] in _SOURCE or (len(stack) > 1 and stack[-2] in _SOURCE)):
                line, counted = line + text.count("\n", counted, match.start()), match.start()
                lines[tuple(stack)] = line
            if part in "{[":
                is_key = part == "{"
                stack.append("" if is_key else 0)
    return lines


def _cells(content: dict[str, Any], lines: dict[_Path, int]) -> Iterator[_Cell]:
    """Yield the cells that have a source."""
    for path, cell in _placed_cells(content):
        key = next((key for key in _SOURCE if key in cell), "")
        source = cell.get(key)
        written = [source] if isinstance(source, str) else source if isinstance(source, list) else []
        strings = [string for string in written if isinstance(string, str)]
        if not any(map(str.strip, strings)):
            continue
        begins = lines.get((*path, key), 0)
        kind, level = str(cell.get("cell_type")), cell.get("level")
        if kind == "heading":  # of format 3
            kind, strings = (
                "markdown",
                [f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {''.join(strings)}"],
            )
        if isinstance(source, list) and len(strings) == len(written):
            places = [lines.get((*path, key, number), 0) for number in range(len(strings))]
        else:
            places = [begins] * len(strings)
        source_lines = "".join(strings).replace("\r\n", "\n").removesuffix("\n").split("\n")
        if len(source_lines) != len(places):  # a string of several lines: none has a line of its own
            places = [begins] * len(source_lines)
        yield _Cell(kind, source_lines, [begins, *places])


def _placed_cells(content: dict[str, Any]) -> Iterator[tuple[_Path, dict[str, Any]]]:
    """Yield the cells with their keys and indices, in format 3 those of the worksheets."""
    groups: list[tuple[_Path, Any]] = [(("cells",), content.get("cells"))]
    if isinstance(sheets := content.get("worksheets"), list):
        groups += [
            (("worksheets", number, "cells"), sheet.get("cells"))
            for number, sheet in enumerate(sheets)
            if isinstance(sheet, dict)
        ]
    for path, cells in groups:
        for number, cell in enumerate(cells if isinstance(cells, list) else ()):
            if isinstance(cell, dict):
                yield (*path, number), cell


def _shown(cell: _Cell, language: str, remark: str) -> Iterator[str]:
    """Yield the mark of a cell and its lines: all but code is a comment, and so is what only IPython understands."""
    is_code = cell.kind == "code" and not (language == "python" and _OTHER_LANGUAGE.match(cell.source[0]))
    kind = "markdown" if cell.kind == "markdown" else "raw"
    yield f"{remark} %%" if cell.kind == "code" else f"{remark} %% [{kind}]"
    for line in cell.source:
        is_comment = not is_code or (language == "python" and _MAGIC.match(line))
        yield f"{remark} {line}".rstrip() if is_comment else line


def outline(text: str, language: str) -> Outline:
    """Return the parts of a readable notebook: code cells by the grammar of their language, Markdown by its headings.

    The path of a heading has the headings of the cells before it.
    """
    lines = text.split("\n")
    marks = [(row, match[1] or "code") for row, line in enumerate(lines) if row and (match := _CELL_MARK.match(line))]
    begins = [0, *(row for row, _ in marks[1:]), line_count(lines)]
    remark = comment_mark(language)
    path: list[Heading] = []
    parts: list[Part] = []
    imports: list[Import] = []
    comments: list[Range] = []
    is_parsed = True
    for (row, kind), (first, end) in zip(marks, pairwise(begins), strict=False):
        rows = [""] * (row + 1 - first) + lines[row + 1 : end]
        if kind == "code" and language in GRAMMARS:
            cell = _moved(outline_code("\n".join(rows), language), first)
            parts += cell.parts
            imports += cell.imports
            comments += cell.comment_lines
            is_parsed &= cell.parsed
        elif kind == "markdown":
            plain = [line.removeprefix(remark).removeprefix(" ") for line in rows]
            parts += _sections([""] * first + plain, first, path)
        else:
            parts += chunks(lines, Role.GAP if kind == "code" else Role.TEXT, first, end)
    # What follows the last line of a part is blank.
    ends = [*(part.start - 1 for part in parts[1:]), line_count(lines)]
    parts = [replace(part, end=end) for part, end in zip(parts, ends, strict=False)] or [*chunks(lines, Role.TEXT)]
    return Outline(language or NOTEBOOK, tuple(parts), tuple(imports), tuple(comments), is_parsed)


def _moved(cell: Outline, rows: int) -> Outline:
    """Return the outline of a cell that begins after so many rows."""
    return replace(
        cell,
        parts=tuple(
            replace(
                part,
                start=part.start + rows,
                end=part.end + rows,
                definitions=tuple(replace(definition, line=definition.line + rows) for definition in part.definitions),
            )
            for part in cell.parts
        ),
        imports=tuple(
            replace(imported, start=imported.start + rows, end=imported.end + rows) for imported in cell.imports
        ),
        comment_lines=tuple((first + rows, last + rows) for first, last in cell.comment_lines),
    )


def _sections(lines: Sequence[str], first: int, path: list[Heading]) -> Iterator[Part]:
    """Yield the sections of a cell that begins at row `first`. `path` are the headings above it, and changes."""
    headings = [other for other in markdown(lines) if other.row >= first]
    text_end = headings[0].row if headings else len(lines)
    if any(line.strip() for line in lines[first:text_end]):
        yield from chunks(lines, Role.TEXT, first, text_end)
        first = text_end
    for heading, follower in zip(headings, [*(other.row for other in headings[1:]), len(lines)], strict=True):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        name = PATH_SEPARATOR.join(other.title for other in path if other.title)
        yield Part(Role.SECTION if name else Role.TEXT, name, first + 1, follower, signature=heading.title)
        first = follower
