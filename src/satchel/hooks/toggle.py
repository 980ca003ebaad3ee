"""The user's switch for hooks: one line in their settings file, everything else in it stays as it is."""

from __future__ import annotations

from pathlib import Path

from satchel import state_files
from satchel.errors import ConfigError

TABLE, KEY = "hooks", "enabled"


def toggle(path: Path, *, is_on: bool) -> Path:
    """Write `enabled` in the table `hooks` of the settings file; returns the file that was written.

    A file that is a link is written where it leads. Raises ConfigError for a file that cannot be understood, OSError
    for one that cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    target = path.resolve()
    try:
        before = target.read_bytes().decode("utf-8")
        document = tomlkit.parse(before)
    except FileNotFoundError:
        before, document = "", tomlkit.document()
    except (UnicodeDecodeError, TOMLKitError) as error:
        raise ConfigError(f"{path} cannot be understood: {error}") from error
    table = document.setdefault(TABLE, tomlkit.table())
    if not hasattr(table, "keys"):
        raise ConfigError(f"{path}: {TABLE} is {table!r}, but must be a table")
    table[KEY] = is_on
    after = tomlkit.dumps(document)
    if after != before:
        state_files.make_folder(target.parent)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        state_files.replace(target, after.encode("utf-8"), mode=mode)
    return target
