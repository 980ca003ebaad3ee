"""Bringing an index up to date with its root: what changed is read again, what is gone is removed.

Everything of one step is published in one transaction, words together with the row that says which bytes they came
from, so a reader never sees half a file and a killed run leaves a valid store that the next run completes.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from satchel import text as words
from satchel.index.extract import load
from satchel.index.history import HistoryChange, update_history
from satchel.index.lanes import read_files
from satchel.index.reading import READING_VERSION, Reader, Reading, ReadingOptions
from satchel.index.report import IndexReport, Progress
from satchel.index.walk import FileEntry, Walk, WalkOptions, walk
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.store.records import NewBundle, SkippedFile, Stamp
from satchel.types import Failure, Kind

FILE_KINDS = (Kind.CODE, Kind.DOC)
PUBLISH_FILES = 5_000
"""Files published at once. Fewer would cost a segment each; more would lose more work when the run is killed."""

PUBLISH_SECONDS = 8.0
"""A slow run publishes at least this often, for the same reason."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Plain values that one run needs; the engine fills them from the settings."""

    walk: WalkOptions
    reading: ReadingOptions
    workers: int = 0
    commits: int = 6000
    commit_files: int = 40
    message_characters: int = 5000


@dataclass(slots=True)
class _Run:
    """Counts of a run in progress."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    redacted: int = 0
    cleaned: int = 0
    errors: int = 0
    interrupted: bool = False
    notes: list[Failure] = field(default_factory=list)


@dataclass(slots=True)
class _Difference:
    """How the tree differs from the store."""

    read: list[FileEntry]
    gone: dict[Kind, list[str]]
    known: set[str]
    unchanged: int
    unskipped: list[str]


def build(
    store: Store, root: Path, options: BuildOptions, progress: Progress, should_stop: Callable[[], bool]
) -> IndexReport:
    """Update the store from the files and the history of `root`. The caller holds the index lock."""
    started = time.monotonic()
    found = walk(root, options.walk, should_stop=should_stop)
    run = _Run(interrupted=should_stop())
    difference = _compare(store, found)
    if not run.interrupted:
        _update_files(store, difference, options, run, progress, should_stop)
    history = HistoryChange()
    if not run.interrupted:
        progress.phase("history", 0)
        history = update_history(
            store,
            root,
            options.commits,
            options.commit_files,
            options.message_characters,
            options.reading.allow,
            should_stop,
        )
    if run.added or run.changed or run.removed or history.added:
        with store.write() as writer:
            writer.merge(should_stop)
            if not run.interrupted:
                writer.set_meta("reading_version", READING_VERSION)
    skipped = Counter(found.skipped) + Counter(store.skipped_reasons())
    return IndexReport(
        files=len(found.entries) - len(store.skipped_stamps()),
        added=run.added,
        changed=run.changed,
        removed=run.removed,
        unchanged=difference.unchanged,
        commits_added=history.added,
        commits_hidden=history.hidden,
        skipped=dict(sorted(skipped.items())),
        errors=run.errors + found.errors,
        redacted=run.redacted,
        cleaned=run.cleaned,
        interrupted=run.interrupted,
        notes=(*run.notes, *history.notes),
        seconds=time.monotonic() - started,
    )


def _compare(store: Store, found: Walk) -> _Difference:
    stamps = {kind: store.stamps(kind) for kind in FILE_KINDS}
    rebuild = store.meta("reading_version") not in {None, READING_VERSION}
    skipped = store.skipped_stamps()
    present = {entry.path for entry in found.entries}
    read: list[FileEntry] = []
    unchanged = 0
    merged: dict[str, Stamp] = {path: stamp for kind in FILE_KINDS for path, stamp in stamps[kind].items()}
    for entry in found.entries:
        known = merged.get(entry.path)
        now = (entry.size, entry.mtime_ns, entry.changed_ns)
        same = known is not None and (known.size, known.mtime_ns, known.changed_ns) == now
        if not rebuild and (same or skipped.get(entry.path) == now):
            unchanged += 1
        else:
            read.append(entry)
    gone = {kind: [path for path in stamps[kind] if path not in present] for kind in FILE_KINDS}
    return _Difference(read, gone, set(merged), unchanged, [path for path in skipped if path not in present])


def _update_files(
    store: Store,
    difference: _Difference,
    options: BuildOptions,
    run: _Run,
    progress: Progress,
    should_stop: Callable[[], bool],
) -> None:
    progress.phase("files", len(difference.read))
    reader = Reader(options.reading)
    pending: list[Reading] = []
    published = time.monotonic()
    gone: dict[Kind, list[str]] | None = difference.gone
    paths = [(entry.path, entry.size) for entry in difference.read]
    for reading in read_files(paths, options.reading, options.workers, should_stop):
        pending.append(reading)
        progress.advance(1)
        if len(pending) >= PUBLISH_FILES or time.monotonic() - published > PUBLISH_SECONDS:
            _publish(store, pending, gone or {}, difference, run)
            reader.remember(pending)
            pending, gone, published = [], None, time.monotonic()
    run.interrupted = should_stop()
    if pending or (gone and any(gone.values())) or difference.unskipped:
        _publish(store, pending, gone or {}, difference, run)
        reader.remember(pending)


def _publish(
    store: Store, readings: Sequence[Reading], gone: dict[Kind, list[str]], difference: _Difference, run: _Run
) -> None:
    """One transaction: the new state of these files, and the removal of those that are gone."""
    stamps = {kind: store.stamps(kind) for kind in FILE_KINDS}
    skipped = [reading for reading in readings if reading.skipped]
    restamped: list[Stamp] = []
    fresh: list[Reading] = []
    for reading in sorted((r for r in readings if not r.skipped), key=lambda r: r.path):
        known = stamps[Kind(reading.kind)].get(reading.path)
        if known is not None and known.content_hash == reading.content_hash and not _rebuilding(store):
            restamped.append(
                Stamp(known.bundle, known.content_hash, reading.size, reading.mtime_ns, reading.changed_ns)
            )
        else:
            fresh.append(reading)
    bundles = [new_bundle(reading) for reading in fresh]
    changed_kind = {kind: [r.path for r in readings if r.skipped or r.kind != kind] for kind in FILE_KINDS}
    with store.write() as writer:
        for kind in FILE_KINDS:
            known_paths = stamps[kind]
            leaving = gone.get(kind, []) + [path for path in changed_kind[kind] if path in known_paths]
            writer.remove(kind, leaving)
            run.removed += len(gone.get(kind, [])) + sum(path in known_paths for path in (r.path for r in skipped))
        writer.unskip([*difference.unskipped, *(reading.path for reading in readings)])
        writer.skip([SkippedFile(r.path, r.skipped, r.size, r.mtime_ns, r.changed_ns) for r in skipped if not r.failed])
        writer.restamp(restamped)
        writer.put(bundles)
    run.added += sum(reading.path not in difference.known for reading in fresh)
    run.changed += sum(reading.path in difference.known for reading in fresh)
    run.redacted += sum(reading.redacted for reading in fresh)
    run.cleaned += sum(reading.cleaned for reading in fresh)
    for reading in skipped:
        if reading.failed:
            run.errors += 1
            run.notes.append(
                Failure("index", f"{reading.path}: {reading.skipped}", "the rest of the index is complete")
            )


def _rebuilding(store: Store) -> bool:
    return store.meta("reading_version") not in {None, READING_VERSION}


def new_bundle(reading: Reading) -> NewBundle:
    """The bundle of a file that was read."""
    kind = Kind(reading.kind)
    return NewBundle(
        kind=kind,
        key=reading.path,
        text=zlib.decompress(reading.text).decode(),
        extraction=load(reading.extraction),
        path_terms=words.count_terms(words.words(reading.path)),
        content_hash=reading.content_hash,
        size=reading.size,
        mtime_ns=reading.mtime_ns,
        changed_ns=reading.changed_ns,
        secondary=kind is Kind.CODE and is_secondary(reading.path),
        title=reading.path,
        fields={"lossy": True} if reading.lossy else {},
        updated=reading.mtime_ns / 1e9,
        origin="file",
    )
