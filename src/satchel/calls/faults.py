"""What is said of an error: one sentence or two, without stacks and without the home folder of the user."""

from __future__ import annotations

from pathlib import Path

from satchel.errors import SatchelError


def fault_text(error: SatchelError | OSError) -> str:
    """The message on one line, as an outsider may read it."""
    said = str(error) if isinstance(error, SatchelError) else f"{error.strerror or type(error).__name__}"
    return without_home("; ".join(line.strip() for line in said.splitlines() if line.strip()))


def without_home(text: str) -> str:
    """The text with `~` for the home folder of the user, which an answer has no need to name."""
    try:
        home = str(Path.home())
    except RuntimeError:  # no home folder, nothing to hide
        return text
    return text if home == "/" else text.replace(home, "~")
