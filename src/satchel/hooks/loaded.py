"""What a host has put before the model by itself, so that it is not sent a second time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

HOST_FILES = (
    "CLAUDE.md", "*/CLAUDE.md", "CLAUDE.local.md", "*/CLAUDE.local.md", ".claude/*", "*/.claude/*",
    "AGENTS.md", "*/AGENTS.md", "AGENTS.override.md", ".codex/*", "*/.codex/*",
    ".cursor/*", "*/.cursor/*", ".cursorrules", "*/.cursorrules", ".windsurf/*",
    "GEMINI.md", "*/GEMINI.md", ".github/copilot-instructions.md", ".github/instructions/*",
    "MEMORY.md", "*/MEMORY.md",
)  # fmt: skip
"""Globs of the instruction files that hosts read when a session starts or a folder is entered, and of their memory."""

MOST_MENTIONS = 100

_MENTION = re.compile(r"""(?:^|(?<=[\s(\["'`]))@(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'`()\[\],;]+))""")
_LINES = re.compile(r"(?:#L?\d+(?:-L?\d+)?|:\d+(?:-\d+)?)$")


def mentioned(prompt: str) -> list[str]:
    """The paths that a prompt attaches with `@`, as they are written, without line numbers."""
    found = (double or single or plain for double, single, plain in _MENTION.findall(prompt))
    stripped = (_LINES.sub("", path.rstrip(".:!?")) for path in found)
    return list(dict.fromkeys(path for path in stripped if path))[:MOST_MENTIONS]


def without_mentions(prompt: str) -> str:
    """The prompt as it is asked: a mention counts as the name of what it mentions."""
    return _MENTION.sub(lambda found: next(filter(None, found.groups())), prompt)


def excluded(root: Path, folder: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Globs of what is not to be shown: what hosts load, and these paths (of files or folders, below the root)."""
    globs = [*HOST_FILES]
    for path in paths:
        for base in (folder, root):
            relative = _below(root, base / path) if not path.startswith("~") else None
            if relative is not None:
                literal = re.sub(r"([*?\[])", r"[\1]", relative)
                globs += [literal, f"{literal}/*"]
    return tuple(dict.fromkeys(globs))


def _below(root: Path, path: Path) -> str | None:
    """The path relative to the root, None outside it and for the root itself."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if len(parts) > 1:
                parts.pop()
        elif part != ".":
            parts.append(part)
    try:
        relative = PurePosixPath(*parts).relative_to(root.as_posix()).as_posix() if parts else "."
    except ValueError:
        return None
    return None if relative == "." else relative
