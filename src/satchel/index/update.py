"""Read the changed files and the new commits of a run, and publish them.

Only the commits that `git log HEAD` lists may influence an answer. When HEAD moves back, later commits stay in the
file but are hidden with all their words; when it comes back they are shown again without being read twice.

Each step is one transaction with words and file hashes, so a reader never sees half a file, and a killed run leaves a
valid store that the next run completes.
"""

from __future__ import annotations

import gc
import json
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from satchel import text as words
from satchel.errors import GitError
from satchel.index import run
from satchel.index.reading import Lanes, Reading
from satchel.index.readings_cache import MIN_FILES, NAME, ReadingsCache
from satchel.index.walk import FileEntry
from satchel.safety import sanitize
from satchel.safety.sanitize import plain_name
from satchel.sources.code.imports import INNER_IMPORTS
from satchel.sources.commits import (
    Commit,
    authors,
    first_commit,
    new_commits,
    read_commits,
    visible_commits,
    with_edited_renames,
)
from satchel.sources.roles import is_secondary
from satchel.sources.vault import stored_fields
from satchel.store.extract import LARGEST_COUNT, extract_records
from satchel.store.protocol import FIRST_COMMIT, Store
from satchel.store.records import Extraction, NewDocument, SkippedFile, Stamp
from satchel.system.files import SkipReason
from satchel.types import FILE_KINDS, EdgeType, Failure, Kind, Reference, Role

if TYPE_CHECKING:
    from satchel.store.writer import Writer


COMMIT_LANGUAGE = "commit"

MAX_HIDDEN = 50_000
"""Hidden commits kept until HEAD comes back, each takes 1 KB on disk; also the longest history whose order is kept."""

PATIENCE_SECONDS, RETRY_SECONDS = 5.0, 1_800.0
"""A history that failed after more seconds than the first is not tried again for the second, also after a new commit:
every question would wait for it."""


def update_history(
    store: Store,
    writer: Writer,
    plan: run.HistoryPlan,
    report: run.IndexReport,
    advance: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> list[Failure]:
    """Bring the commits in line with HEAD in a transaction, as far as git gives them. Returns notes on failures."""
    stored = store.keys(Kind.COMMIT)
    if plan.repository is None:
        _clear(writer, stored)
        return []
    renames: dict[str, Sequence[Sequence[str]]] = json.loads(store.meta("renames_by_commit") or "{}")
    if plan.is_stale:
        writer.remove(Kind.COMMIT, stored)
        stored, renames = set(), {}
    before = _visible_before(store, plan)
    writer.set_meta("history_form", plan.form)
    if not store.meta(FIRST_COMMIT):
        writer.set_meta(FIRST_COMMIT, first_commit(plan.repository, should_stop))
    log = _Log(plan, stored, before)
    notes: list[Failure] = []
    is_complete = False
    began = time.time()
    try:
        stored -= _named_otherwise(store, writer, plan, stored, should_stop)
        for commits in _lots(log.commits(should_stop)):
            commits = _fit(with_edited_renames(plan.repository, commits, should_stop))
            writer.put(commit_documents(commits, plan))
            # Renames stored of one commit: enough for a moved source tree, not for a vendored drop.
            renames |= {commit.sha: commit.renames[:2_000] for commit in commits if commit.renames}
            report.commits_added += len(commits)
            advance(len(commits))
        is_complete = not should_stop()
    except GitError as error:
        notes.append(run.git_failure(error))
        if (now := time.time()) - began > PATIENCE_SECONDS:
            writer.set_meta("history_failed", json.dumps([plan.form, now + RETRY_SECONDS, str(error)]))
    if log.is_visible_known:
        report.commits_hidden = _hide(writer, stored, before[1], log.visible)
    writer.set_meta("renames_by_commit", json.dumps(renames))
    writer.set_meta("renames", json.dumps(_current_paths(renames, log.visible)))
    # Without a complete run the next one has to compare again, even if HEAD has gone back by then.
    for key, value in (("history", plan.state), ("visible_commits", " ".join(log.to_remember))):
        writer.set_meta(key, value if is_complete else "")
    if plan.repository.partial and log.without_files:
        writer.set_meta("history_unknown", str(log.without_files))
        notes.append(run.unknown_files(log.without_files))
    return notes


def _named_otherwise(
    store: Store, writer: Writer, plan: run.HistoryPlan, stored: set[str], should_stop: Callable[[], bool]
) -> set[str]:
    """Give stored commits the names of their authors by another `.mailmap`, all or, after a stop, none of them.

    Returns those that are gone from the repository, which are removed: what they would be called is unknown. Raises
    GitError.
    """
    assert plan.repository is not None
    named: dict[str, str] = {}
    if stored and plan.is_renamed:
        named = authors(plan.repository, stored, plan.mailmap, should_stop)
    if should_stop() or (stored and not plan.is_renamed):
        return set()
    gone = stored - named.keys()
    writer.remove(Kind.COMMIT, gone)
    clean = {name: sanitize.line(name, allow=plan.options.reading.allow) for name in {*named.values()}}
    documents = store.documents(store.document_ids(Kind.COMMIT, named).values())
    new = {identity: clean[named[document.key]] for identity, document in documents.items()}
    writer.set_fields(
        {
            identity: {**document.fields, "author": new[identity]}
            for identity, document in documents.items()
            if document.fields.get("author") != new[identity]
        }
    )
    writer.set_meta(run.MAILMAP, plan.mailmap.digest)
    return gone


def _visible_before(store: Store, plan: run.HistoryPlan) -> tuple[str, list[str]]:
    """Return the HEAD of the last complete run with the same limit and the commits that it reached, newest first."""
    head, limit = json.loads(store.meta("history") or '["", 0]')
    visible = (store.meta("visible_commits") or "").split() if limit == plan.options.commits else []
    return head, visible


class _Log:
    """The commits that HEAD reaches and the store lacks. For an empty store, one stream of git is enough."""

    def __init__(self, plan: run.HistoryPlan, stored: set[str], before: tuple[str, list[str]]) -> None:
        assert plan.repository is not None
        self._repository, self._limit, self._stored = plan.repository, plan.options.commits, stored
        self._mailmap, self._head = plan.mailmap, plan.head
        self._head_before, self._visible_before = before
        self.visible: list[str] = []
        """Ids of the commits that HEAD reaches, newest first; complete if `is_visible_known`."""
        self.is_visible_known = False
        self.without_files = 0
        """Number of the oldest commits without file names; only counted when all were read."""

    @property
    def to_remember(self) -> Sequence[str]:
        """The visible commits for the next run; none where it could not build upon them."""
        return () if self._repository.shallow or len(self.visible) > MAX_HIDDEN else self.visible

    def commits(self, should_stop: Callable[[], bool]) -> Iterator[Commit]:
        """Yield the missing commits, newest first. Raises GitError."""
        if self._stored:
            missing = self._missing(should_stop)
            self.is_visible_known = not should_stop()
            yield from missing if self.is_visible_known else ()
            return
        read = partial(read_commits, self._repository, mailmap=self._mailmap, should_stop=should_stop)
        for commit in read(limit=self._limit):
            self.visible.append(commit.sha)
            self.without_files = 0 if commit.file_count else self.without_files + 1
            yield commit

    def _missing(self, should_stop: Callable[[], bool]) -> Iterable[Commit]:
        before, is_same = self._visible_before, self._head == self._head_before
        if before and self._head not in before:
            # Most often HEAD has moved a few commits further: git need not list the whole history again.
            added = new_commits(self._repository, self._head_before, should_stop, self._mailmap)
            if added is not None:
                self.visible = [*(commit.sha for commit in added), *before][: self._limit]
                return [commit for commit in added[: self._limit] if commit.sha not in self._stored]
        self.visible = before if before and is_same else visible_commits(self._repository, self._limit, should_stop)
        missing = [sha for sha in self.visible if sha not in self._stored]
        if not missing:
            return ()
        return read_commits(self._repository, only=missing, mailmap=self._mailmap, should_stop=should_stop)


_HISTORY_KEYS = (
    "history", "history_form", "history_unknown", "visible_commits", "renames", "renames_by_commit", FIRST_COMMIT,
    run.MAILMAP,
)  # fmt: skip


def _clear(writer: Writer, stored: Iterable[str]) -> None:
    writer.remove(Kind.COMMIT, stored)
    for key in _HISTORY_KEYS:
        writer.set_meta(key, "")


def _hide(writer: Writer, stored: set[str], visible_before: Sequence[str], visible: Sequence[str]) -> int:
    """Hide the stored commits that are not visible, or remove them where they are too many. Returns the hidden ones.

    Where those `visible_before` are known, only the others are touched.
    """
    hidden = stored.difference(visible)
    hidden_before = stored.difference(visible_before) if visible_before else set()
    if len(hidden) > MAX_HIDDEN:
        writer.remove(Kind.COMMIT, hidden)
        hidden = set()
    writer.hide(Kind.COMMIT, hidden - hidden_before, hidden_before - hidden if visible_before else None)
    return len(hidden)


def _lots(commits: Iterator[Commit]) -> Iterator[list[Commit]]:
    """Yield the commits by lots, the last one also before a failure is raised."""
    lot: list[Commit] = []
    try:
        for commit in commits:
            lot.append(commit)
            if len(lot) == 500:  # commits written together: often enough to see progress, rare enough to cost nothing
                yield lot
                lot = []
    except GitError:
        yield lot
        raise
    yield lot


def _current_paths(renames: dict[str, Sequence[Sequence[str]]], visible: Sequence[str]) -> dict[str, str]:
    """Return the current path of each renamed path of the visible history."""
    current: dict[str, str] = {}
    for sha in visible:
        for old, new in renames.get(sha, ()):
            current.setdefault(old, current.get(new, new))
    return current


def commit_documents(commits: Sequence[Commit], plan: run.HistoryPlan) -> list[NewDocument]:
    """Return commits as documents, their messages and subjects clean and without secrets."""
    options, allow = plan.options, plan.options.reading.allow
    # Shortened afterwards: half of a secret is not recognised.
    read = sanitize.counted_texts([commit.message for commit in commits], allow)
    messages = [message[: options.message_characters] for message, _ in read]
    # Characters of a title; a longer first line is a message without line breaks.
    subjects = sanitize.lines([commit.subject for commit in commits], 400, allow)
    authors = {name: sanitize.line(name, allow=allow) for name in {commit.author for commit in commits}}
    searched = [
        # Characters of a message that are searched after the subject; trailers and pasted logs follow.
        message[: len(subject) + 600]
        for message, subject in zip(messages, subjects, strict=True)
    ]
    extractions = extract_records(searched, COMMIT_LANGUAGE)
    documents = []
    for commit, (_, removed), message, title, extraction in zip(
        commits, read, messages, subjects, extractions, strict=True
    ):
        fields = {"author": authors[commit.author], "files": list(commit.files), "file_count": commit.file_count}
        touched = commit.files[: options.commit_files] if commit.file_count <= options.commit_files else ()
        documents.append(
            NewDocument(
                kind=Kind.COMMIT,
                key=commit.sha,
                text=message,
                extraction=extraction,
                path_terms={},
                title=title,
                fields=fields | removed,
                references=tuple(Reference(EdgeType.TOUCHES, path) for path in touched),
                created=commit.time,
                updated=commit.time,
                origin="git",
            )
        )
    return documents


def _fit(commits: Sequence[Commit]) -> list[Commit]:
    """Return the commits without paths that have secrets or hidden characters; `file_count` includes them."""
    unfit = sanitize.unfit_paths({path for commit in commits for path in commit.files})
    if not unfit:
        return list(commits)
    return [
        replace(
            commit,
            files=tuple(path for path in commit.files if path not in unfit),
            renames=tuple(pair for pair in commit.renames if unfit.keys().isdisjoint(pair)),
        )
        for commit in commits
    ]


MAX_NOTES = 20
"""Unreadable files that a report names; the others are only counted."""


class Task(NamedTuple):
    """The work of one run, `began` before the tree was walked, with its report; `failed` counts files by reason."""

    began: int
    difference: run.Difference
    entries: Mapping[str, FileEntry]
    history: run.HistoryPlan
    options: run.BuildOptions
    progress: run.Progress
    should_stop: Callable[[], bool]
    report: run.IndexReport
    failed: Counter[str]


def update(store: Store, task: Task) -> None:
    """Publish the changes in one or more transactions, and merge segments. The caller holds the index lock."""
    difference, options = task.difference, task.options
    with _collector_off(), closing(_readings_cache(task)) as cache:
        wanted = [(entry.path, difference.indexed_hash(entry.path)) for entry in difference.read]
        known = cache.take(wanted, task.should_stop)
        unread = {entry.path for entry in difference.read}.difference(
            reading.path for batch in known for reading in batch
        )
        wanted = [file for file in wanted if file[0] in unread]
        # Bytes that are read of a file, at most.
        sizes = [min(entry.size, 4 * options.reading.limit) for entry in difference.read if entry.path in unread]
        with Lanes(wanted, sizes, options.reading, options.workers, task.should_stop) as lanes:
            _publish_all(store, task, chain(known, cache.keeping(lanes)))
    with store.write() as writer:
        writer.merge(task.should_stop)


def _readings_cache(task: Task) -> ReadingsCache:
    """Return the cache for a switch of branches, an empty one for other runs: a first one, a rebuild, an edit."""
    difference, options = task.difference, task.options
    is_switch = bool(difference.stored) and not difference.is_rebuild and len(difference.read) >= MIN_FILES
    folder = options.readings_folder
    return ReadingsCache(folder / NAME if folder is not None and is_switch else None, options.reading)


@contextmanager
def _collector_off() -> Iterator[None]:
    """Switch off the collector of reference cycles, of which a run makes hardly any: it takes 8 % of a first run."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _publish_all(store: Store, task: Task, readings: Iterator[list[Reading]]) -> None:
    """Publish in transactions until all is read. The history comes first: the workers read meanwhile."""
    is_begun = is_done = False
    report = task.report
    notes: list[Failure] = []
    while not is_done:
        with store.write() as writer:
            if not is_begun:
                notes = _begin(store, writer, task)
                is_begun = True
            is_done = _publish_some(writer, task, readings)
            if is_done:
                report.interrupted = task.should_stop()
                if not report.interrupted and store.meta(run.LINKS_DUE):
                    _relink(store, writer, task)
            _mark(writer, task.difference, is_all=is_done and not report.interrupted)
    report.notes += tuple(notes)


def _relink(store: Store, writer: Writer, task: Task) -> None:
    """Resolve the links of a vault again, or clear those of a folder that is not a vault any more."""
    if task.options.reading.vault:
        from satchel.index.notes import relink

        relink(store, writer, run.BROKEN_LINKS)
    else:
        writer.set_meta(run.BROKEN_LINKS, "")
    writer.set_meta(run.LINKS_DUE, "")


def _mark(writer: Writer, difference: run.Difference, *, is_all: bool) -> None:
    """Store the version that read the files: at once for a new index, after the last file for a rebuild."""
    if not difference.is_marked and (is_all or not difference.is_rebuild):
        writer.set_meta("reading_version", difference.version)


def _begin(store: Store, writer: Writer, task: Task) -> list[Failure]:
    """Remove missing files, and update the history. Returns the notes on it."""
    notes: list[Failure] = []
    difference = task.difference
    if difference.is_any and (task.options.reading.vault or store.meta(run.BROKEN_LINKS)):
        writer.set_meta(run.LINKS_DUE, "1")
    for kind in FILE_KINDS:
        writer.remove(kind, [path for path in difference.gone if difference.stored[path][0] is kind])
    task.report.removed += len(difference.gone)
    writer.unskip(difference.unskipped)
    if task.history.is_due:
        task.progress.phase("history", 0)
        notes = update_history(store, writer, task.history, task.report, task.progress.advance, task.should_stop)
        writer.write_words()  # while the workers read: at the end nobody works beside this process
    task.progress.phase("files", len(difference.read))
    return notes


def _publish_some(writer: Writer, task: Task, readings: Iterator[list[Reading]]) -> bool:
    """Write readings up to the size of one transaction. Returns whether these were all."""
    deadline = time.monotonic() + 8.0  # a slow run publishes at least this often, so that a killed one loses little
    count = size = 0
    for batch in readings:
        new = [reading for reading in batch if not (reading.skipped or reading.unchanged)]
        _write(writer, task, batch, new)
        count += len(new)
        size += sum(reading.size for reading in new)
        task.progress.advance(len(batch))
        # Source bytes published at once. Their words take 0.7 s to write, the longest time that Ctrl-C waits; much
        # less would cost many segments.
        # Small files published at once: their rows take as long.
        if size >= 16_000_000 or count >= 4_000 or time.monotonic() > deadline:
            return False
    return True


def _write(writer: Writer, task: Task, batch: Sequence[Reading], new: Sequence[Reading]) -> None:
    """Write a batch: new files, files with only another time, and files that can no longer be indexed."""
    difference = task.difference
    skipped = [reading for reading in batch if reading.skipped]
    stored = difference.stored
    replaced = [(stored[r.path][0], r) for r in batch if r.path in stored and not r.unchanged]
    for kind in FILE_KINDS:
        # Skipped now, or of another kind now: `put` replaces within one kind only.
        writer.remove(kind, [r.path for before, r in replaced if before is kind and r.kind != kind])
    writer.unskip([reading.path for reading in batch if reading.path in difference.skipped])
    counted = [r for r in batch if (r.skipped or r.in_part) and not r.failed]
    writer.skip([_skipped_file(reading, task) for reading in counted])
    writer.restamp([_stamp(r, stored[r.path][1]) for r in batch if r.unchanged])
    writer.put(list(map(new_document, new)))
    _count(task, new, skipped)


def _count(task: Task, new: Sequence[Reading], skipped: Sequence[Reading]) -> None:
    """Add what was written of a batch to the report of the run."""
    report, stored = task.report, task.difference.stored
    known = sum(reading.path in stored for reading in new)
    report.removed += sum(reading.path in stored for reading in skipped)
    report.added += len(new) - known
    report.changed += known
    report.redacted += sum(reading.redacted for reading in new)
    report.cleaned += sum(reading.cleaned for reading in new)
    failed = [reading for reading in skipped if reading.failed]
    named = failed[: max(MAX_NOTES - task.failed.total(), 0)]
    report.notes += tuple(unreadable(reading.path, reading.skipped) for reading in named)
    report.errors += len(failed)
    task.failed.update(reading.skipped for reading in failed)


def unreadable(path: str, reason: str) -> Failure:
    """Return the note for a file that could not be read."""
    return Failure("index", f"{plain_name(path)}: {reason}", "the rest of the index is complete")


def _skipped_file(reading: Reading, task: Task) -> SkippedFile:
    """Return the file with its times before it was opened, so that a later change is noticed.

    One that was read in part is in the index, too.
    """
    entry = task.entries[reading.path]
    changed_ns = entry.changed_ns if entry.changed_ns < task.began else 0
    return SkippedFile(reading.path, reading.skipped or SkipReason.IN_PART, entry.size, entry.mtime_ns, changed_ns)


def _stamp(reading: Reading, before: Stamp) -> Stamp:
    return Stamp(before.document, before.content_hash, reading.size, reading.mtime_ns, reading.changed_ns)


def new_document(reading: Reading) -> NewDocument:
    """Return the document of a file that was read."""
    kind, extraction = Kind(reading.kind), reading.extraction
    assert extraction is not None  # the file was not skipped
    title, tags, facts = (reading.path, (), {}) if not reading.facts else stored_fields(reading.facts)
    return NewDocument(
        kind=kind,
        key=reading.path,
        text="",
        packed=reading.text,
        extraction=extraction,
        path_terms=words.count_terms(words.words(f"{words.composed(reading.path)}\n{reading.title}")),
        stem_terms=stem_terms(reading.path),
        content_hash=reading.content_hash,
        size=reading.size,
        mtime_ns=reading.mtime_ns,
        changed_ns=reading.changed_ns,
        secondary=kind is Kind.CODE and (reading.generated or is_secondary(reading.path)),
        title=title,
        tags=tags,
        fields=_fields(reading, extraction) | facts,
        updated=reading.mtime_ns / 1e9,
        origin="file",
    )


_NAMED_BY_FOLDER = frozenset({"__init__", "index", "init", "lib", "main", "mod"})
"""Stems that occur in every folder: such a file is called what its folder is called."""


def stem_terms(path: str) -> dict[str, int]:
    """Return the terms of what a file is called, each with the number of all of them.

    `a/Builders.common.kt` is called `Builders`, `auth/mod.rs` is called `auth`.
    """
    folder, _, name = path.rpartition("/")
    stem = name.lstrip(".").partition(".")[0]
    if folder and stem.lower() in _NAMED_BY_FOLDER:
        stem = folder.rpartition("/")[2]
    terms = [term for term in words.count_terms(words.words(words.composed(stem))) if term[0] != words.EXACT_MARK]
    return dict.fromkeys(terms, min(len(terms), LARGEST_COUNT))


_INNER = frozenset({Role.FUNCTION, Role.METHOD})


def _fields(reading: Reading, extraction: Extraction) -> dict[str, Any]:
    """Return the stored facts of a file: its imports as (target, names, first line, last line), and what is deferrable.

    `inner` are the imports inside of functions. The offsets of `functions`, `classes` and `statements` are each the
    distance from the one before.
    """
    parts = extraction.parts  # in order, and they tile the file
    starts = [part.start for part in parts] if extraction.imports else []
    owned = ((imported, parts[bisect_left(starts, imported.start) - 1]) for imported in extraction.imports)
    imports: list[list[Any]] = []
    inner: list[list[Any]] = []
    for imported, part in owned:
        is_inner = part.role in _INNER and part.start < imported.start <= part.end
        (inner if is_inner else imports).append([imported.target, list(imported.names), imported.start, imported.end])
    facts = {
        "functions": _distances(extraction.functions),
        "classes": _distances(extraction.classes),
        "statements": _distances(extraction.statements),
        "lossy": reading.lossy,
        "imports": imports,
        "inner": inner if extraction.language in INNER_IMPORTS else (),
        "redacted": reading.redacted,
        "cleaned": reading.cleaned,
        "title": reading.title,
    }
    return {name: value for name, value in facts.items() if value}


def _distances(places: Iterable[tuple[int, ...]]) -> list[int]:
    """Return the offsets of these places in their order, each as the distance from the one before."""
    return [after - before for before, after in pairwise([0, *chain.from_iterable(places)])]
