"""All checks, in the order in which one fault explains another.

What a check needs is imported when it runs: an installation that is broken must still be examined.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from satchel import config
from satchel.doctor import file_system, folders, machine
from satchel.doctor.check import Check, fail, warn
from satchel.doctor.hooks import hooks
from satchel.errors import ConfigError, NoIndexError

REPORT_IT = "install it again; if that does not help, report the output of `satchel doctor --json`"


def examine(path: Path, root: Path | None = None, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Check the machine, the folders, and the root around `path` (or exactly `root`). Changes nothing."""
    yield from _one("python", machine.python)
    yield from _one("sqlite", machine.sqlite)
    yield from _one("git", machine.git)
    yield from _one("tokenizer", machine.tokenizer)
    yield from _one("grammars", _grammars)
    yield from _one("guards", machine.guards)
    try:
        homes = config.Folders.from_environment(environ)
    except ConfigError as error:
        yield fail("folders", str(error), f"set {config.HOME_VARIABLE} to a folder that you can write")
        return
    yield from _run("folders", lambda: folders.folders(homes))
    yield from _one("file system", lambda: file_system.network(homes.cache))
    yield from _one("hooks", lambda: hooks(homes))
    yield from _run("root", lambda: _of_root(path, root, homes, environ))


def _grammars() -> Check:
    from satchel.doctor.grammars import grammars

    return grammars()


def _vectors(loaded: config.LoadedSettings, homes: config.Folders, environ: Mapping[str, str]) -> Check:
    from satchel.doctor.embedding import vectors

    return vectors(loaded, homes, environ)


def _of_root(path: Path, root: Path | None, homes: config.Folders, environ: Mapping[str, str]) -> Iterator[Check]:
    from satchel.doctor import places
    from satchel.roots import locate

    try:
        found = locate(path, root, homes)
    except NoIndexError as error:
        yield warn("root", str(error), "change into a project, or name one with --root")
        return
    yield places.root(found)
    yield from _one("trust", lambda: places.trusted(found))
    try:
        loaded = config.load_settings(found.root, environ, {}, homes)
    except ConfigError as error:
        yield fail("settings", str(error), "correct it, or remove it")
    else:
        yield from places.settings(loaded, homes)
        yield from _one("vectors", lambda: _vectors(loaded, homes, environ))
    yield from _one("index", lambda: places.store(found))
    yield from _one("memory", lambda: places.memory(found))
    yield from _one("lock", lambda: places.lock(found))


def _one(name: str, check: Callable[[], Check]) -> Iterable[Check]:
    return _run(name, lambda: [check()])


def _run(name: str, check: Callable[[], Iterable[Check]]) -> Iterable[Check]:
    """The findings of a check; one that breaks is a finding itself."""
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001 - what broke is what a doctor is asked for, and it is shown
        return [fail(name, f"the check itself broke: {type(error).__name__}: {error}", REPORT_IT)]
