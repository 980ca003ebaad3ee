"""The four homes of satchel: can they be written, and by their owner only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from satchel import config
from satchel.doctor.check import Check, fail, ok, warn

PRIVATE = 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def folders(homes: config.Folders) -> Iterator[Check]:
    """Whether each home can be written, and by its owner only."""
    for name in ("config", "data", "state", "cache"):
        folder: Path = getattr(homes, name)
        yield folder_check(f"{name} folder", folder)


def folder_check(name: str, folder: Path) -> Check:
    """Whether a folder can be written, or made, and whether others can look into it."""
    if not folder.exists():
        above = next((place for place in folder.parents if place.exists()), Path(folder.anchor))
        if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
            return fail(name, f"{folder} cannot be made: {above} is not writable", _choose_another(name))
        return ok(name, f"{folder} (made when it is needed)")
    if not folder.is_dir():
        return fail(name, f"{folder} is no folder", f"move it away: mv {folder} {folder}.old")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return fail(name, f"{folder} cannot be written", f"chmod u+rwx {folder}")
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & _OTHERS and "config" not in name:
        return warn(name, f"{folder} can be opened by others (mode {mode:o})", f"chmod {PRIVATE:o} {folder}")
    return ok(name, str(folder))


def _choose_another(name: str) -> str:
    return f"set SATCHEL_HOME, or XDG_{name.split()[0].upper()}_HOME, to a folder that you can write"
