"""The root that satchel is asked about, its settings and its store files."""

from __future__ import annotations

from collections.abc import Iterator

from satchel import config
from satchel.doctor.check import Check, fail, ok, warn
from satchel.engine import INDEX_NAME
from satchel.index.lock import holder
from satchel.roots import Places
from satchel.store.sqlite.connection import damage
from satchel.trust import FOLDER, is_trusted


def root(places: Places) -> Check:
    """The root that questions are about."""
    return ok("root", str(places.root))


def store(places: Places) -> Check:
    """Whether the index is whole."""
    path = places.index / INDEX_NAME
    if not path.exists():
        return ok("index", "not built yet: the first question does it")
    found = damage(path)
    if found:
        return fail("index", f"{path} is damaged: {found[0]}", "build it again: satchel clean && satchel index")
    return ok("index", f"{path} is whole")


def memory(places: Places) -> Check:
    """Whether the memory file is whole."""
    if not places.memory.exists():
        return ok("memory", "nothing is remembered yet")
    found = damage(places.memory)
    if found:
        message = f"{places.memory} is damaged: {found[0]}"
        return fail("memory", message, "keep a copy of it, then put a backup of it in its place")
    return ok("memory", f"{places.memory} is whole")


def lock(places: Places) -> Check:
    """Whether somebody builds the index right now."""
    busy = holder(places.index / "index.lock")
    return (
        warn("lock", busy, "wait for it; questions are answered from the index as it was before")
        if busy
        else ok("lock", "nobody builds the index right now")
    )


def trusted(places: Places) -> Check:
    """Whether instruction files of this root guide agents; either way is in order."""
    if is_trusted(places.root, places.state):
        return ok("trust", f"instruction files are guidance (marked in {places.state / FOLDER})")
    return ok("trust", "instruction files are data; `satchel trust` makes them guidance")


def settings(loaded: config.LoadedSettings, homes: config.Folders) -> Iterator[Check]:
    """What is wrong with the settings, one finding each."""
    if not loaded.notes:
        changed = sum(origin != "default" for origin in loaded.origins.values())
        yield ok("settings", f"{changed} differ from their defaults; yours are in {config.user_file(homes)}")
    for note in loaded.notes:
        yield warn("settings", note.message, note.hint or "satchel config show --origin")
