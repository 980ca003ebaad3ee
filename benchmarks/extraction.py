"""Propose memories from pieces of transcripts, and count what is right.

    python benchmarks/extraction.py --out benchmarks/results/extraction.json

`extraction_pieces.txt` says what each piece must give, and it was written before the rules. The 24 of
`extraction_unseen.txt` were written after them: at first .78 of the proposals were right and .47 were found; then
rules were added for them. Those of `extraction_blind.txt` were written by somebody who had not read the rules; 60 of
them were measured once, after the rules had been changed for the other 100: 4 proposals of 27, all right. What those
of `extraction_fresh.txt` showed at first is in that file. The pieces are written as transcripts of Claude Code and read
as such.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from options import keep, output

from satchel.memory.review import Suggestion, proposed
from satchel.safety import sanitize
from satchel.sources.conversations import Exchange, read_transcript

PIECES, UNSEEN, FURTHER, BLIND, FRESH = (
    Path(__file__).with_name(f"extraction_{name}.txt") for name in ("pieces", "unseen", "further", "blind", "fresh")
)


class Piece(NamedTuple):
    """A piece, its lines with their marks, and what it must give: kind, words, and texts that must not be in it."""

    name: str
    lines: list[tuple[str, str]]
    wanted: list[tuple[str, list[str], list[str]]]


def pieces(file: Path = PIECES) -> list[Piece]:
    """Return all pieces of a file; the secret is made here."""
    found: list[Piece] = []
    for row in file.read_text("utf-8").splitlines():
        mark, text = row[:1], row[2:].replace("{secret}", "".join(("Tr0ub", "4dor", "&3x")))
        if mark == "=":
            found.append(Piece(text, [], []))
        elif mark == "+":
            kind, _, words = text.partition(": ")
            found[-1].wanted.append((kind, words.split(), []))
        elif mark == "-":
            found[-1].wanted[-1][2].append(text)
        elif row and mark != "#":
            found[-1].lines.append((mark, text))
    return found


def transcript(piece: Piece) -> Iterator[dict[str, Any]]:
    """Yield a piece as lines of a transcript; lines of the user that follow each other are one prompt."""
    said: list[str] = []
    for number, (mark, text) in enumerate([*piece.lines, ("", "")]):
        if mark == ">":
            said.append(text)
            continue
        if said:
            yield {"type": "user", "message": {"content": "\n".join(said)}}
            said = []
        if mark == "<":
            yield {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}
        elif mark:
            argument, _, result = text.partition(" => ")
            tool, name = ("Edit", "file_path") if mark == "~" else ("Bash", "command")
            use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {name: argument}}
            yield {"type": "assistant", "message": {"content": [use]}}
            given = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": mark == "!", "content": result}
            yield {"type": "user", "message": {"content": [given]}}


def exchanges(piece: Piece) -> tuple[Exchange, ...]:
    """Return a piece as it is read from a transcript."""
    lines = (
        json.dumps({**line, "uuid": f"{number:08d}", "timestamp": f"2026-05-01T10:{number:02d}:00Z"}).encode()
        for number, line in enumerate(transcript(piece))
    )
    return read_transcript(lines, piece.name, clean=sanitize.prose, line_bytes=1_000_000).exchanges


def _is_met(wanted: tuple[str, list[str], list[str]], kind: str, text: str) -> bool:
    return (
        wanted[0] == kind
        and all(word.casefold() in text for word in wanted[1])
        and not any(word.casefold() in text for word in wanted[2])
    )


def measure(propose: Callable[[Sequence[Exchange]], Sequence[Suggestion]], file: Path = PIECES) -> dict[str, Any]:
    """Return precision, recall, and every wrong or missing proposal."""
    right = wanted = given = 0
    wrong, missing = [], []
    for piece in pieces(file):
        found = propose(exchanges(piece))
        open_ = list(piece.wanted)
        wanted, given = wanted + len(open_), given + len(found)
        for one in found:
            text = f"{one.text} {json.dumps(one.fields, ensure_ascii=False)}".casefold()
            match = next((wanted for wanted in open_ if _is_met(wanted, one.kind, text)), None)
            if match is None:
                wrong.append(f"{piece.name}: {one.kind}: {one.text}")
            else:
                open_.remove(match)
                right += 1
        missing += [f"{piece.name}: {kind}: {' '.join(words)}" for kind, words, _ in open_]
    return {
        "pieces": len(pieces(file)), "wanted": wanted, "proposed": given, "right": right,
        "precision": round(right / max(given, 1), 3), "recall": round(right / wanted, 3),
        "wrong": wrong, "missing": missing,
    }  # fmt: skip


def main() -> None:
    """Measure, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=output, help="file for the result")
    out = parser.parse_args().out
    files = {"rules": PIECES, "unseen": UNSEEN, "further": FURTHER, "blind": BLIND, "fresh": FRESH}
    measured = {name: measure(proposed, file) for name, file in files.items()}
    keep(measured, out)


if __name__ == "__main__":
    main()
