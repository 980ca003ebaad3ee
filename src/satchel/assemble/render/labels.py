r"""Names, paths and line ranges on one line, so that they can be read back: `40-52,60-71 in Reader`.

A range line is one or more ranges and what they share:

    10-24                      a whole unit whose name the lines themselves show, or a gap without a name
    10-24 in Reader            the same inside `Reader`: the lines show the last part of the name
    10-24 Reader.read          a whole unit
    10-24 of Reader.read       lines of it
    10-11 signature of R.read  its declaration only; `line of` is one line about it
    10-24 moved in Reader      not as it was indexed: `moved`, `changed` or `stale` stands before any label
    10-24=2                    a range shown on another number of lines than it spans

Pieces that touch are one range where one label says enough (`40-71 in Reader` may be two methods).

A field that could be misread (line breaks, a leading quote, one of the words above) is written as a JSON string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from satchel.assemble.render.declaration import declared_name
from satchel.types import Detail, Freshness, Piece

_LINE_END = "\n"

# C1 controls and the separators would break lines for some readers, a lone surrogate cannot be written as UTF-8.
_UNSAFE = "\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSAFE_CHARACTER = re.compile(f"[{_UNSAFE}]")
_MISREADABLE = re.compile(
    f"[\x00-\x1f{_UNSAFE}]"
    r"|\A(?:\Z|[\"`\s]|(?:in|of|signature|line|moved|changed|stale) |(?:moved|changed|stale)\Z)"
    # (above: a quote, a code span, a word of ours)
    r"|(?:\s|\ #+|\ ?\((?:window|signature|line)\))\Z"  # a closing heading mark, a detail mark
)

_RANGE = r"\d+(?:-\d+)?(?:=\d+)?"
RANGE_LINE = re.compile(rf"({_RANGE}(?:,{_RANGE})*)(?: (.*))?", re.ASCII | re.DOTALL)
"""A range line: the ranges, and what they share."""

BETWEEN_LINES = 4
"""A nameless piece of so many lines at most goes with the unit that it touches: another range costs six tokens."""

_FRESHNESS = re.compile(r"(moved|changed|stale)(?: |\Z)")
_LABEL = re.compile(r"(in|of|signature of|line of) (.+)", re.DOTALL)
_DETAILS = {"in": Detail.FULL, "of": Detail.WINDOW, "signature of": Detail.SIGNATURE, "line of": Detail.LINE}


class LineRange(NamedTuple):
    """Lines `start` to `end` of a file, shown on `shown` lines of the text."""

    start: int
    end: int
    shown: int


def quote(text: str) -> str:
    """The text on one line: itself if it can be read back as it is, else a JSON string."""
    return text if _MISREADABLE.search(text) is None else quoted(text)


def quoted(text: str) -> str:
    """The text as a JSON string on one line."""
    return _UNSAFE_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def unquote(written: str) -> str:
    """The text that `quote` wrote. Raises ValueError if a quoted one is damaged."""
    return str(json.loads(written)) if written.startswith('"') else written


def line_range(piece: Piece) -> str:
    """The lines of a piece: `10-24`, or `12` for one line."""
    return f"{piece.start}-{piece.end}" if piece.end != piece.start else str(piece.start)


def shown_range(piece: Piece) -> str:
    """The lines of a piece whose text follows: `10-24=2` if that text has another number of lines."""
    return line_range(piece) if _is_exact(piece) else f"{line_range(piece)}={piece.text.count(_LINE_END) + 1}"


def _is_exact(piece: Piece) -> bool:
    """Whether each line is shown as one line."""
    return piece.text.count(_LINE_END) == piece.end - piece.start


def touches(earlier: Piece, later: Piece) -> bool:
    """Whether no line is missing between two neighbouring pieces."""
    return later.start == earlier.end + 1


def name_label(piece: Piece) -> str:
    """What follows the range where the text is not shown, or where names are always written."""
    return _marked(piece, _name_label(piece))


def short_name_label(piece: Piece) -> str:
    """What follows the range where the text is shown below: without the part of the name that the text declares."""
    return _marked(piece, _short_name_label(piece))


def _marked(piece: Piece, label: str) -> str:
    """The label after the word that says how the piece differs from what was indexed."""
    return " ".join(part for part in (piece.freshness or "", label) if part)


def _name_label(piece: Piece) -> str:
    if piece.detail is Detail.FULL:
        return quote(piece.name) if piece.name else ""
    if piece.detail is Detail.WINDOW:
        return f"of {quote(piece.name)}" if piece.name else ""
    return f"{piece.detail} of {quote(piece.name)}"


def _short_name_label(piece: Piece) -> str:
    label = _name_label(piece)
    is_whole = label == "" or piece.detail is Detail.FULL
    if not is_whole or not (declared := declared_name(piece.text)):
        return label
    if not piece.name:
        return quote("")
    owner, dot, last = piece.name.rpartition(".")
    # Several names in one label ("Reader.read, Reader.close") have no single owner.
    if last != declared or (dot and not owner) or " " in owner:
        return label
    return f"in {quote(owner)}" if owner else ""


def joined_pieces(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces, with one for all that touch and need no label of their own: named after the first that has a name.

    That is so for the same label (two methods of `Reader`), for a unit inside the one before (a method after the
    header of its class), and for the few lines between two units. Lines of no file and pieces shown on another number
    of lines stay alone.
    """
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is None or not _continues(last, piece):
            joined.append(piece)
            continue
        named = last if last.name else piece
        joined[-1] = Piece(
            last.start, piece.end, named.name, f"{last.text}\n{piece.text}", named.detail, last.freshness
        )
    return joined


def _continues(last: Piece, piece: Piece) -> bool:
    if not (last.start and touches(last, piece) and _is_exact(last) and _is_exact(piece)):
        return False
    if last.freshness is not piece.freshness:
        return False
    if last.detail is piece.detail is Detail.FULL:
        if last.name and piece.name.startswith(f"{last.name}."):
            return True
        if _is_between(last) or _is_between(piece):
            return True
    return short_name_label(last) == short_name_label(piece)


def _is_between(piece: Piece) -> bool:
    """Whether it is a comment or a few statements between two units, not worth a range of its own."""
    return not piece.name and piece.end - piece.start < BETWEEN_LINES


def range_lines(pieces: Iterable[Piece], *, shown: bool) -> Iterator[str]:
    """The range lines of one file, neighbours with the same label on one line. `shown`: the text follows."""
    label_of, range_of = (short_name_label, shown_range) if shown else (name_label, line_range)
    for label, group in groupby(pieces, key=label_of):
        ranges = ",".join(map(range_of, group))
        yield f"{ranges} {label}" if label else ranges


def read_ranges(written: str) -> list[LineRange]:
    """The ranges of `10-24,30=2`."""
    ranges = []
    for part in written.split(","):
        lines, _, count = part.partition("=")
        start, _, end = lines.partition("-")
        first, last = int(start), int(end or start)
        ranges.append(LineRange(first, last, int(count) if count else last - first + 1))
    return ranges


def read_freshness(label: str) -> tuple[Freshness | None, str]:
    """The word that says how a piece differs from what was indexed, and the rest of its label."""
    found = _FRESHNESS.match(label)
    return (Freshness(found[1]), label[found.end() :]) if found is not None else (None, label)


def read_piece(lines: LineRange, label: str, text: str) -> Piece:
    """The piece with this range, label and text: `short_name_label` and `name_label` backwards."""
    freshness, label = read_freshness(label)
    found = _LABEL.fullmatch(label)
    if found is None:
        return Piece(
            lines.start, lines.end, unquote(label) if label else declared_name(text), text, freshness=freshness
        )
    relation, name = found[1], unquote(found[2])
    if relation == "in":
        name = f"{name}.{declared_name(text)}"
    return Piece(lines.start, lines.end, name, text, _DETAILS[relation], freshness)
