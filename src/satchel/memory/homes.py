"""The folder of each workspace, so that a moved folder gets its records back.

A workspace is named by its path. The memory file notes the path and the first commit of every workspace that has
written to it. Records of a folder that is gone are offered to a folder without records that has the same first commit.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.errors import UsageError
from satchel.memory.scope import workspace_of
from satchel.safety.sanitize import clean_field
from satchel.store.protocol import Store
from satchel.system.locations import Places, home_of, workspaces_at
from satchel.vocabulary import Axis

if TYPE_CHECKING:
    from satchel.store.writer import Writer

HOMES_KEY = "homes"
"""The `meta` key of the memory file: workspace -> its folder and its first commit, as JSON."""

FirstCommit = Callable[[], str]
"""Returns the first commit of a root, empty if there is none; called only where it decides."""


def note_home(store: Store, writer: Writer, places: Places, first_commit: FirstCommit) -> None:
    """Note the folder of a workspace that writes, once its first commit is known."""
    homes, workspace, home = _read(store), workspace_of(places), str(home_of(places))
    if all(homes.get(workspace, ("", ""))):
        return
    entry = [home, first_commit()]
    if homes.get(workspace) != entry:
        _write(writer, {**homes, workspace: entry})


def lost_records(store: Store, places: Places, first_commit: FirstCommit) -> Iterator[tuple[int, str]]:
    """Yield number and old folder of records that probably belong to this root, which has none of its own.

    The old folder is this one where git was added or removed, else it is gone.
    """
    workspace, home = workspace_of(places), str(home_of(places))
    for other, (path, commit) in sorted(_read(store).items()):
        is_here = path == home
        if other == workspace or not (is_here or (commit and not os.path.lexists(path))):
            continue
        if store.records_of(workspace):
            return
        if (is_here or commit == first_commit()) and (count := store.records_of(other)):
            yield count, path


def lost_note(count: int, path: str, places: Places) -> str:
    """Return the note about records of another folder, with the command that moves them."""
    memories = "1 memory belongs" if count == 1 else f"{count:,} memories belong"
    it = "it" if count == 1 else "them"
    shown = clean_field(path, 300)  # shown path
    where = f"{shown}, which is gone"
    if path == str(home_of(places)):
        where = "this folder as it was before git was added or removed"
    return f"{memories} to {where}: `satchel memory move {shlex.quote(shown)}` brings {it} here"


def move_records(store: Store, writer: Writer, places: Places, old: Path) -> int:
    """Give all records of a folder that is gone to the workspace of a root; returns their number.

    Raises UsageError for a folder that exists, unless it is that of the root, and for one without records.
    """
    from satchel.memory.journal import read_active, write_active  # both here, because `remember` notes its home only
    from satchel.memory.trash import move_discarded
    from satchel.memory.values import groups_key

    workspace = workspace_of(places)
    old = Path(os.path.abspath(old.expanduser()))  # noqa: PTH100 - `absolute` keeps `..`, and the folder is gone
    if old.exists() and old.resolve() != home_of(places):
        raise UsageError(f"{old} still exists, so its memories stay there: name the folder that was moved")
    others = workspaces_at(old) - {workspace}
    active = read_active(store)
    sessions = {one.session_id for one in active if one.workspace == workspace}
    for one in active:
        if one.workspace in others and one.session_id in sessions:
            raise UsageError(
                f"session {one.session_id!r} has an active experience here and in {old}: resolve the one here "
                "(`satchel experience resolve`), then move the others"
            )
    moved = writer.move(sorted(others), workspace) + sum(one.workspace in others for one in active)
    if not moved:
        raise UsageError(f"no memories belong to {old}: give the path that the folder had before it was moved")
    write_active(writer, [replace(one, workspace=workspace) if one.workspace in others else one for one in active])
    move_discarded(store, writer, others, workspace)
    for axis in Axis:
        noted = [store.meta(groups_key(other, axis)) for other in sorted(others)]
        if not store.meta(groups_key(workspace, axis)) and any(noted):
            writer.set_meta(groups_key(workspace, axis), next(filter(None, noted)))
    _write(writer, {name: entry for name, entry in _read(store).items() if name not in others})
    return moved


def _read(store: Store) -> Mapping[str, list[str]]:
    homes: Mapping[str, list[str]] = json.loads(store.meta(HOMES_KEY) or "{}")
    return homes


def _write(writer: Writer, homes: Mapping[str, list[str]]) -> None:
    writer.set_meta(HOMES_KEY, json.dumps(homes))
