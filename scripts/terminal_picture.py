"""A picture of a terminal, docs/terminal.svg: real commands, run in a pseudo-terminal, with their colours.

    python scripts/terminal_picture.py REPOSITORY docs/terminal.svg 'satchel search "..."' 'satchel context "..."'

The commands run one after the other in the repository, whose index is built first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

COLUMNS = 100
CELL, LINE, MARGIN, BAR = 7.8, 18, 16, 30
"""Width of a character, height of a line, margin and title bar, in pixels; `textLength` keeps columns in any font."""

BACKGROUND, FOREGROUND = "#14191a", "#d9e0df"
COLOURS = {"31": "#f08a8a", "32": "#8fd18a", "33": "#e9b872", "34": "#7fb2f0", "35": "#c9a5f0", "36": "#7fccbf"}
_CODE = re.compile(r"\x1b\[([\d;]*)m")


def printed(command: str, folder: Path) -> str:
    """Return what a command prints on a terminal, with its control sequences."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with subprocess.Popen(shlex.split(command), cwd=folder, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        raw = b""
        with contextlib.suppress(OSError):  # the terminal of a process that has ended
            while chunk := os.read(master, 65_536):
                raw += chunk
    if process.returncode:
        message = f"{command!r} failed: {raw!r}"
        raise RuntimeError(message)
    return raw.decode("utf-8", "replace").replace("\r\n", "\n")


def spans(line: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the runs of a line with their control codes."""
    codes: set[str] = set()
    for number, part in enumerate(_CODE.split(line)):
        if number % 2:
            codes = set() if part in ("", "0") else codes | set(part.split(";"))
        elif part:
            yield part, codes


def drawn(lines: list[str]) -> str:
    """Return the lines as SVG."""
    width, height = round(COLUMNS * CELL + 2 * MARGIN), len(lines) * LINE + BAR + 2 * MARGIN
    rows = []
    for row, line in enumerate(lines):
        column = 0
        for run, codes in spans(line[: COLUMNS + 40]):
            text = run[: max(COLUMNS - column, 0)]
            if text.strip():
                colour = next((COLOURS[code] for code in codes if code in COLOURS), FOREGROUND)
                style = f'fill="{colour}"' + (' font-weight="bold"' if "1" in codes else "")
                style += ' opacity=".6"' if "2" in codes else ""
                start = column + len(text) - len(text.lstrip())
                text = text.strip().replace(" ", "\N{NO-BREAK SPACE}")  # plain blanks would be joined
                x, y = MARGIN + start * CELL, BAR + MARGIN + (row + 0.75) * LINE
                size = f'textLength="{len(text) * CELL:.1f}"'
                rows.append(f'<text x="{x:.1f}" y="{y:.1f}" {size} {style}>{escape(text)}</text>')
            column += len(run)
    dots = "".join(f'<circle cx="{20 + 18 * at}" cy="16" r="5" fill="#4a5453"/>' for at in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="13">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>{dots}\n' + "\n".join(rows) + "\n</svg>\n"
    )


def main() -> None:
    """Run the commands and write the picture."""
    folder, out, *commands = sys.argv[1:]
    subprocess.run(["satchel", "index", "--quiet"], cwd=folder, check=True)
    lines: list[str] = []
    for command in commands:
        shown = printed(command, Path(folder)).rstrip("\n").split("\n")
        lines += ["", *shown] if lines else shown
        lines.insert(len(lines) - len(shown), f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m")
    Path(out).write_text(drawn(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
