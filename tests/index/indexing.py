"""What the tests of the index share: one root with its store, indexed as the engine does it, and looked into."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from msgspec.structs import replace

from satchel.index.build import build
from satchel.index.run import BuildOptions, IndexReport, Quiet, ReadingOptions
from satchel.index.walk import WalkOptions
from satchel.store.sqlite import SqliteStore
from satchel.store.sqlite.connection import open_connection
from tests.soundness import contents, faults

KEY = b"k" * 32


def never() -> bool:
    return False


def build_options(root: Path, **changes: Any) -> BuildOptions:
    """Options as the settings have them, with one process."""
    reading = ReadingOptions(str(root), KEY, 1_000_000)
    return replace(BuildOptions(WalkOptions(), reading, workers=1), **changes)


def stopping_at(number: int) -> Callable[[], bool]:
    """Somebody who wants to stop from the given question on, counted from 1."""
    questions = itertools.count(1)
    return lambda: next(questions) >= number


class Index:
    """The index of a root in a file of its own. `options` may be replaced between two runs."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.store = SqliteStore(path, disposable=True)
        self.options = build_options(root)

    def run(self, should_stop: Callable[[], bool] = never) -> IndexReport:
        return build(self.store, self.root, self.options, Quiet(), should_stop)

    @property
    def paths(self) -> set[str]:
        """Paths of the files that are indexed."""
        return {key for kind in self.store.kinds() if kind in {"code", "doc"} for key in self.store.keys(kind)}

    def close(self) -> None:
        self.store.close()

    def faults(self) -> list[str]:
        return list(look(self.path, faults))

    def contents(self) -> dict[str, Any]:
        return dict(look(self.path, contents))


def look(path: Path, function: Callable[[apsw.Connection], Any]) -> Any:
    """Ask something of a store file over a connection of its own."""
    connection = open_connection(path, durable=False)
    try:
        return function(connection)
    finally:
        connection.close()


def fresh_contents(root: Path, folder: Path, options: BuildOptions | None = None) -> dict[str, Any]:
    """What an index says that is built from nothing."""
    path = folder / "fresh.db"
    for old in folder.glob("fresh.db*"):
        old.unlink()
    index = Index(root, path)
    index.options = options or index.options
    try:
        index.run()
        assert index.faults() == []
        return index.contents()
    finally:
        index.close()


def differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The parts in which two contents differ, made short enough to read."""
    return {name: _short(one[name], other[name]) for name in one if one[name] != other[name]}


def _short(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        keys = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
        return [(key, one.get(key), other.get(key)) for key in keys[:3]]
    return [row for row in one if row not in other][:3], [row for row in other if row not in one][:3]
