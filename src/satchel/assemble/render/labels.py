r"""Names, paths and line ranges on one line, so that they can be read back: `@@40-52 Reader.read`.

A label line stands above every shown piece of a file. It is the mark, the range, and what is shown there:

    @@10-24                      lines without a name
    @@10-24 Reader.read          a whole unit
    @@10-24 of Reader.read       lines of it; of a class or section: several of its parts
    @@10-11 signature of R.read  its declaration only; `line of` is one line about it
    @@10-24 moved Reader.read    not as it was indexed: `moved`, `changed` or `stale` stands before the name
    @@10-24=2                    a range shown on another number of lines than it spans

The range tells how many lines follow, so a line of the file that looks like a label is content.

A field that could be misread (line breaks, a leading quote, one of the words above) is written as a JSON string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from satchel.types import Detail, Freshness, Piece

MARK = "@@"
"""Opens a label, as in a diff, where it says lines and name as well. A space behind it would cost each label a token;
`L10-24` costs the same and looks like code."""

SECTION_SEPARATOR = " > "
"""Between the headings that lead to a section of a document."""

_LINE_END = "\n"

# C1 controls and the separators would break lines for some readers, a lone surrogate cannot be written as UTF-8.
_UNSAFE = "\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSAFE_CHARACTER = re.compile(f"[{_UNSAFE}]")
_MISREADABLE = re.compile(
    f"[\x00-\x1f{_UNSAFE}]"
    r"|\A(?:\Z|[\"`\s]|(?:of|signature|line|moved|changed|stale)(?: |\Z))"  # a quote, a code span, a word of ours
    r"|(?:\s|\ #+|\ ?\((?:window|signature|line)\))\Z"  # a closing heading mark, a detail mark
)

_RANGE = r"\d+(?:-\d+)?(?:=\d+)?"
_LABEL_LINE = re.compile(rf"{MARK}({_RANGE})(?: (.+))?", re.ASCII | re.DOTALL)
_FRESHNESS = re.compile(r"(moved|changed|stale)(?: |\Z)")
_DETAIL = re.compile(r"(of|signature|line)(?: |\Z)(?:of )?(.*)", re.DOTALL)
_RELATIONS = {Detail.FULL: "", Detail.WINDOW: "of", Detail.SIGNATURE: "signature of", Detail.LINE: "line of"}
_DETAILS = {"of": Detail.WINDOW, "signature": Detail.SIGNATURE, "line": Detail.LINE}
_LONG = frozenset({Detail.FULL, Detail.WINDOW})


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


def label_line(piece: Piece, *, shown: bool) -> str:
    """The label of one piece. `shown`: its text follows."""
    lines = shown_range(piece) if shown else line_range(piece)
    name = quote(piece.name) if piece.name else ""
    relation = _RELATIONS[piece.detail] if name else _RELATIONS[piece.detail].removesuffix("of").rstrip()
    return " ".join(part for part in (f"{MARK}{lines}", piece.freshness or "", relation, name) if part)


def labelled(pieces: Iterable[Piece], *, shown: bool) -> str:
    """The pieces of a file, each below its label; pieces that touch are one where one label says enough."""
    rows: list[str] = []
    for piece in joined_pieces(pieces) if shown else pieces:
        rows.append(label_line(piece, shown=shown))
        if shown:
            rows.append(piece.text)
    return "\n".join(rows)


def joined_pieces(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces, with one for all that touch and differ in nothing but their names.

    It is named after what contains them all. Lines of no file and pieces shown on another number of lines stay alone.
    """
    runs: list[list[Piece]] = []
    for piece in pieces:
        if runs and _continues(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [_joined(run) if len(run) > 1 else run[0] for run in runs]


def _continues(last: Piece, piece: Piece) -> bool:
    if not (last.start and touches(last, piece) and _is_exact(last) and _is_exact(piece)):
        return False
    if last.freshness is not piece.freshness:
        return False
    return _LONG.issuperset((last.detail, piece.detail)) or (last.detail, last.name) == (piece.detail, piece.name)


def _joined(run: Sequence[Piece]) -> Piece:
    first, last = run[0], run[-1]
    named = [piece for piece in run if piece.name]
    if not named:
        name, detail = "", Detail.FULL
    else:
        name, detail = named[0].name, named[0].detail
        if any(piece.detail is Detail.WINDOW for piece in named):
            detail = Detail.WINDOW
        if any(piece.name != name for piece in named):
            container = _container([piece.name for piece in named])
            detail = Detail.WINDOW if container else detail
            name = container or f"{name} … {named[-1].name}"
    text = "\n".join(piece.text for piece in run)
    return Piece(first.start, last.end, name, text, detail, first.freshness)


def _container(names: Sequence[str]) -> str:
    """The class or section that contains all of them, empty if there is none."""
    separator = SECTION_SEPARATOR if SECTION_SEPARATOR in names[0] else "."
    levels = zip(*(name.split(separator) for name in names), strict=False)
    return separator.join(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))


def read_ranges(written: str) -> list[LineRange]:
    """The ranges of `10-24,30=2`."""
    ranges = []
    for part in written.split(","):
        lines, _, count = part.partition("=")
        start, _, end = lines.partition("-")
        first, last = int(start), int(end or start)
        ranges.append(LineRange(first, last, int(count) if count else last - first + 1))
    return ranges


def read_labelled(body: Sequence[str], *, shown: bool) -> Iterator[Piece]:
    """`labelled` backwards. Raises ValueError where a label should stand and does not."""
    position = 0
    while position < len(body):
        match = _LABEL_LINE.fullmatch(body[position])
        if match is None:
            raise ValueError(f"{body[position]!r} is not a label")
        (lines,) = read_ranges(match[1])
        position += 1
        end = position + lines.shown if shown else position
        yield _read_piece(lines, match[2] or "", "\n".join(body[position:end]))
        position = end


def is_label(line: str) -> bool:
    """Whether a line outside of any block is a label."""
    return _LABEL_LINE.fullmatch(line) is not None


def _read_piece(lines: LineRange, label: str, text: str) -> Piece:
    freshness, detail = None, Detail.FULL
    if match := _FRESHNESS.match(label):
        freshness, label = Freshness(match[1]), label[match.end() :]
    if match := _DETAIL.fullmatch(label):
        detail, label = _DETAILS[match[1]], match[2]
    return Piece(lines.start, lines.end, unquote(label), text, detail, freshness)
