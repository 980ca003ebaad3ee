"""The settings in force: files, environment and defaults, and the switch of the hooks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from satchel.errors import ConfigError
from satchel.safety.sanitize import clean_field
from satchel.settings import SETTINGS, Setting, Settings, attribute
from satchel.system import state_files
from satchel.system.files import Skipped, SkipReason, read_bytes
from satchel.types import Data, Failure, Json

__all__ = ["SETTINGS", "Folders", "LoadedSettings", "Setting", "Settings", "load_settings", "user_file"]

PROJECT_FILE = ".satchel.toml"
HOME_VARIABLE = "SATCHEL_HOME"
HOOKS_VARIABLE = "SATCHEL_HOOKS"
"""Switches editor hooks off where it is 0. It is read before any setting, so it is not a setting."""

LENSES_TABLE = "lenses"
"""The table of lenses in the user's file; each lens is checked when it is used."""

_MAY_HIDE = ("context.limit", "context.weights.", "index.exclude")

PROJECT_LINE_DOTS = 100
"""Maximum dots in a line of that file: `tomllib` needs seconds for a key of 20,000 names; real ones have three."""

PROJECT_NOTES = 10
"""Maximum notes about one file of a repository; the others are counted, so that they cannot flood an answer."""

_DEEPEST_KEY = max(key.count(".") for key in SETTINGS)
_SECTIONS = frozenset(key.split(".")[0] for key in SETTINGS)
_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class Folders(Struct, frozen=True):
    """The folders for settings, memories, state (marks and logs) and derived data; none of them needs to exist."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Folders:
        """Return the folders below `SATCHEL_HOME` if it is set, else the XDG folders (on macOS as well).

        As in the XDG rules, a relative path in an XDG variable is ignored. Raises ConfigError where a home folder
        is needed and there is none, and for a relative `SATCHEL_HOME`, which would mean another folder in each place.
        """
        if own := environ.get(HOME_VARIABLE):
            base = home_of(environ) / own[2:] if own.startswith("~/") else Path(own)
            if not base.is_absolute() or base == Path(base.anchor):
                raise ConfigError(f"{HOME_VARIABLE} is {own!r}: set it to the absolute path of a folder for satchel")
            return cls(base / "config", base / "data", base / "state", base / "cache")

        def folder(variable: str, default: str) -> Path:
            path = environ.get(variable, "")
            return (Path(path) if path.startswith("/") else home_of(environ) / default) / "satchel"

        return cls(
            config=folder("XDG_CONFIG_HOME", ".config"),
            data=folder("XDG_DATA_HOME", ".local/share"),
            state=folder("XDG_STATE_HOME", ".local/state"),
            cache=folder("XDG_CACHE_HOME", ".cache"),
        )


def home_of(environ: Mapping[str, str]) -> Path:
    """Return the home folder: HOME if it is a whole path, else that of the user's account. Raises ConfigError.

    A relative HOME would put memories into the repository, and `/` is nobody's folder.
    """
    home = Path(environ.get("HOME") or _of_account())
    if home.is_absolute() and home != Path(home.anchor):
        return home
    shown = environ.get("HOME")
    raise ConfigError(
        f"{'there is no home folder' if not shown else f'HOME is {shown!r}'}: set it to the absolute path of your home "
        f"folder, or {HOME_VARIABLE} to a folder for satchel"
    )


def _of_account() -> str:
    """Return the home folder in the list of users, empty if there is none. HOME, if it is empty, is not asked."""
    if not hasattr(os, "getuid"):  # Windows
        return os.path.expanduser("~")  # noqa: PTH111 - it stays `~`, which is relative, without a home folder
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


class LoadedSettings(Struct, frozen=True):
    """The settings in force, the origin of each value, and notes about ignored values.

    An origin is `default`, the path of a file, the name of an environment variable, or `flag`. `lenses` are the tables
    below `[lenses]` in the user's file, unchecked, by name.
    """

    settings: Settings
    origins: Mapping[str, str]
    notes: tuple[Failure, ...] = ()
    lenses: Data = field(default_factory=dict)

    @property
    def hiding(self) -> tuple[Failure, ...]:
        """The note for every answer about the settings of the repository that may leave something out of it."""
        values = {key: getattr(self.settings, attribute(key)) for key in SETTINGS if key.startswith(_MAY_HIDE)}
        chosen = [f"{key} = {values[key]!r}" for key in values if self.origins[key] == PROJECT_FILE]
        if not chosen:
            return ()
        message = f"{PROJECT_FILE} of this project decides what is shown: {clean_field('; '.join(chosen), 300)}"
        return (Failure("config", message, "your own satchel.toml overrides it"),)


def user_file(folders: Folders) -> Path:
    """Return the settings file of the user, which may be missing."""
    return folders.config / "satchel.toml"


def load_settings(
    root: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    overrides: Data | None = None,
    folders: Folders | None = None,
) -> LoadedSettings:
    """Load all settings. `overrides` are values by dotted key from flags; None means that a flag is absent.

    Raises ConfigError for impossible values from the user (file, environment, flags), an unreadable file of the user,
    and an unknown key among the overrides. Every other error becomes a note.
    """
    collected = _Collected()
    lenses = collected.read_user(user_file(folders or Folders.from_environment(environ)))
    if root is not None:
        collected.read_project(root)
    collected.read_environment(environ)
    for key, value in (overrides or {}).items():
        if key not in SETTINGS:
            hint = _suggestion(key)
            raise ConfigError(f"unknown setting {key!r}{f': {hint}' if hint else ''}")
        if value is not None:
            collected.set(SETTINGS[key], value, "flag")
    values = {attribute(key): value for key, value in collected.values.items()}
    origins = {key: collected.origins.get(key, "default") for key in SETTINGS}
    return LoadedSettings(Settings(**values), origins, tuple(collected.notes), lenses)


class _Collected:
    """The values read so far; a later source overrides an earlier one."""

    def __init__(self) -> None:
        self.values: Json = {}
        self.origins: dict[str, str] = {}
        self.notes: list[Failure] = []

    def set(self, setting: Setting, value: object, origin: str) -> None:
        """Set a value of the user. Raises ConfigError if it is impossible."""
        try:
            self.values[setting.key] = setting.checked(value)
        except ValueError as error:
            raise ConfigError(f"{origin}: {setting.key} is {setting.shown(value)!r}, but must be {error}") from error
        self.origins[setting.key] = origin

    def note(self, message: str, hint: str = "") -> None:
        self.notes.append(Failure("config", message, hint))

    def read_user(self, path: Path) -> Data:
        """Set the values in the file of the user, and return its table of lenses. Raises ConfigError."""
        table = dict(_user_table(path))
        lenses = table.pop(LENSES_TABLE, {})
        if not isinstance(lenses, dict):
            raise ConfigError(f"{path}: {LENSES_TABLE} is {lenses!r}, but must be a table, as in [lenses.review]")
        for key, value in _flat(table):
            if key in SETTINGS:
                self.set(SETTINGS[key], value, str(path))
            else:
                self.note(f"{path}: unknown setting {key}", _suggestion(key))
        return lenses

    def read_project(self, root: Path) -> None:
        """Set the values that a repository may set, with notes about ignored ones."""
        first, surplus = len(self.notes), 0
        try:
            for key, value in _flat(_project_table(root)):
                if not self._took_from_project(key, value):
                    if len(self.notes) - first < PROJECT_NOTES:
                        self._explain_project(key)
                    else:
                        surplus += 1
        except ValueError as error:
            self.note(f"{PROJECT_FILE} is ignored: {error}")
        if surplus:
            self.note(f"{PROJECT_FILE}: {surplus} more settings are ignored")

    def _took_from_project(self, key: str, value: object) -> bool:
        setting = SETTINGS.get(key)
        if setting is None or not setting.safe:
            return False
        try:
            self.values[key] = setting.checked(value)
        except ValueError:
            return False
        self.origins[key] = PROJECT_FILE
        return True

    def _explain_project(self, key: str) -> None:
        setting = SETTINGS.get(key)
        if setting is None:
            self.note(f"{PROJECT_FILE}: unknown setting {clean_field(key, 60)} is ignored", _suggestion(key))
        elif setting.safe:
            self.note(f"{PROJECT_FILE}: {key} is ignored, because it must be {setting.allowed}")
        else:
            hint = f"to accept it, write it into your own satchel.toml or set {setting.variable}"
            self.note(f"{PROJECT_FILE}: {key} is ignored, because only the user may set it", hint)

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Set the values of `SATCHEL_*`; an empty variable counts as unset."""
        by_variable = {setting.variable: setting for setting in SETTINGS.values()}
        for variable in sorted(name for name in environ if name.startswith("SATCHEL_") and environ[name]):
            if setting := by_variable.get(variable):
                self.set(setting, _from_text(setting, environ[variable]), variable)
            elif variable != HOOKS_VARIABLE and variable.split("_")[1].lower() in _SECTIONS:
                self.note(f"unknown setting {variable} in the environment", _suggestion(variable, by_variable))


def _user_table(path: Path) -> Data:
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return _parsed(raw)
    except ValueError as error:
        raise ConfigError(f"{path} cannot be parsed: {error}") from error


def _project_table(root: Path) -> Data:
    """Return the table of a repository's file. Raises ValueError with the reason if it cannot be read."""
    try:
        # Maximum size of the settings file of a repository; one written by hand has 1,000 bytes.
        raw = read_bytes(root, PROJECT_FILE, limit=64_000).raw
    except Skipped as skipped:
        if skipped.reason is SkipReason.VANISHED:
            return {}
        raise ValueError(f"it is not read ({skipped.reason})") from skipped
    if any(line.count(b".") > PROJECT_LINE_DOTS for line in raw.split(b"\n")):
        raise ValueError(f"a line has more than {PROJECT_LINE_DOTS} dots")
    return _parsed(raw)


def _parsed(raw: bytes) -> Data:
    import tomllib  # here, because most runs find no file

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _flat(table: Data, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and their values. A table deeper than any setting counts as one unknown key."""
    for name, value in table.items():
        key = f"{above}{name}"
        if isinstance(value, dict) and key not in SETTINGS and key.count(".") < _DEEPEST_KEY:
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _from_text(setting: Setting, text: str) -> object:
    """Return the value of a variable, a list by commas or as in TOML; an invalid text as it is, to be checked."""
    if setting.type is bool:
        return _TRUTH.get(text.lower(), text)
    if setting.type is tuple:
        if text.startswith("["):
            try:
                return _parsed(f"list = {text}".encode())["list"]
            except ValueError:
                return text
        return [entry.strip() for entry in text.split(",") if entry.strip()]
    if setting.type in (int, float):
        try:
            return setting.type(text)
        except ValueError:
            return text
    return text


def _suggestion(key: str, names: Mapping[str, object] = SETTINGS) -> str:
    """Return a hint with the nearest name, empty if none is near."""
    from difflib import get_close_matches  # here, because nearly no run has a mistake

    near = get_close_matches(key[:100], names, n=1, cutoff=0.8)  # not the nearest of what has another meaning
    return f"did you mean {near[0]}?" if near else ""


def parsed_setting(key: str, text: str) -> Any:
    """Return the value of a setting that is written as in an environment variable. Raises ConfigError."""
    if key not in SETTINGS:
        hint = _suggestion(key)
        raise ConfigError(f"unknown setting {clean_field(key, 60)!r}{f': {hint}' if hint else ''}")
    setting = SETTINGS[key]
    try:
        return setting.checked(_from_text(setting, text))
    except ValueError as error:
        raise ConfigError(f"{key} is {setting.shown(text)!r}, but must be {error}") from error


def write_setting(path: Path, key: str, value: Any) -> Path:
    """Write a checked value into a settings file, whose comments and order stay; returns the path that was written.

    If the file is a link, its target is written. Raises ConfigError for a file that cannot be understood, OSError
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
        raise ConfigError(f"{path} cannot be parsed: {error}") from error
    *tables, name = key.split(".")
    table: Any = document
    for part in tables:
        table = table.setdefault(part, tomlkit.table())
        if not hasattr(table, "keys"):
            raise ConfigError(f"{path}: {part} is {table!r}, but must be a table")
    table[name] = list(value) if isinstance(value, tuple) else value
    after = tomlkit.dumps(document)
    if after != before:
        if not target.parent.is_dir():
            state_files.make_folder(target.parent)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        state_files.replace(target, after.encode("utf-8"), mode=mode)
    return target
