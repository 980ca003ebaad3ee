"""Keep the commits of the store equal to the ancestors of HEAD.

Only the commits that `git log HEAD` lists may influence an answer. When HEAD moves back, later commits stay in the
file but are hidden with all their words; when it comes back they are shown again without being read twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from satchel.errors import GitError
from satchel.index.difference import HistoryPlan, git_failure, unknown_files
from satchel.index.options import IndexReport
from satchel.safety import sanitize
from satchel.sources.commits import Commit, first_commit, read_commits, visible_commits
from satchel.store.extract import extract_records
from satchel.store.protocol import FIRST_COMMIT, Store
from satchel.store.records import NewDocument
from satchel.system import git
from satchel.types import EdgeType, Failure, Kind, Reference

if TYPE_CHECKING:
    from satchel.store.writer import Writer

COMMIT_LANGUAGE = "commit"

MOST_HIDDEN = 50_000
"""Hidden commits kept until HEAD comes back; each takes 1 KB on disk."""

PATIENCE_SECONDS, RETRY_SECONDS = 5.0, 1_800.0
"""A history that failed after more seconds than the first is not tried again for the second, also after a new commit:
every question would wait for it."""


def update_history(
    store: Store,
    writer: Writer,
    plan: HistoryPlan,
    report: IndexReport,
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
    # Without a complete run the next one has to compare again, even if HEAD has gone back by then.
    writer.set_meta("history", "")
    writer.set_meta("history_form", plan.form)
    if not store.meta(FIRST_COMMIT):
        writer.set_meta(FIRST_COMMIT, first_commit(plan.repository, should_stop))
    log = _Log(plan.repository, plan.options.commits, stored)
    notes: list[Failure] = []
    is_complete = False
    began = time.time()
    try:
        for commits in _lots(log.commits(should_stop)):
            commits = _fit(commits)
            writer.put(commit_documents(commits, plan))
            # Renames stored of one commit: enough for a moved source tree, not for a vendored drop.
            renames |= {commit.sha: commit.renames[:2_000] for commit in commits if commit.renames}
            report.commits_added += len(commits)
            advance(len(commits))
        is_complete = not should_stop()
    except GitError as error:
        notes.append(git_failure(error))
        if (now := time.time()) - began > PATIENCE_SECONDS:
            writer.set_meta("history_failed", json.dumps([plan.form, now + RETRY_SECONDS, str(error)]))
    if log.is_visible_known:
        report.commits_hidden = _hide(writer, stored.difference(log.visible))
    writer.set_meta("renames_by_commit", json.dumps(renames))
    writer.set_meta("renames", json.dumps(_current_paths(renames, log.visible)))
    if is_complete:
        writer.set_meta("history", plan.state)
    if plan.repository.partial and log.without_files:
        writer.set_meta("history_unknown", str(log.without_files))
        notes.append(unknown_files(log.without_files))
    return notes


class _Log:
    """The commits that HEAD reaches and the store lacks. For an empty store, one stream of git is enough."""

    def __init__(self, repository: git.Repository, limit: int, stored: set[str]) -> None:
        self._repository, self._limit, self._stored = repository, limit, stored
        self.visible: list[str] = []
        """Ids of the commits that HEAD reaches, newest first; complete if `is_visible_known`."""
        self.is_visible_known = False
        self.without_files = 0
        """Number of the oldest commits without file names; only counted when all were read."""

    def commits(self, should_stop: Callable[[], bool]) -> Iterator[Commit]:
        """Yield the missing commits, newest first. Raises GitError."""
        if self._stored:
            yield from self._missing(should_stop)
            return
        for commit in read_commits(self._repository, limit=self._limit, should_stop=should_stop):
            self.visible.append(commit.sha)
            self.without_files = 0 if commit.file_count else self.without_files + 1
            yield commit

    def _missing(self, should_stop: Callable[[], bool]) -> Iterator[Commit]:
        self.visible = visible_commits(self._repository, self._limit, should_stop)
        if should_stop():
            return
        self.is_visible_known = True
        missing = set(self.visible) - self._stored
        if not missing:
            return
        for commit in read_commits(self._repository, limit=self._limit, should_stop=should_stop):
            if commit.sha in missing:
                missing.discard(commit.sha)
                yield commit
            if not missing:
                return


def _clear(writer: Writer, stored: Iterable[str]) -> None:
    writer.remove(Kind.COMMIT, stored)
    for key in ("history", "history_form", "history_unknown", "renames", "renames_by_commit", FIRST_COMMIT):
        writer.set_meta(key, "")


def _hide(writer: Writer, hidden: set[str]) -> int:
    """Hide these commits, or remove them where they are too many. Returns the number of hidden ones."""
    if len(hidden) > MOST_HIDDEN:
        writer.remove(Kind.COMMIT, hidden)
        hidden = set()
    writer.hide(Kind.COMMIT, sorted(hidden))
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


def commit_documents(commits: Sequence[Commit], plan: HistoryPlan) -> list[NewDocument]:
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
        commit._replace(
            files=tuple(path for path in commit.files if path not in unfit),
            renames=tuple(pair for pair in commit.renames if unfit.keys().isdisjoint(pair)),
        )
        for commit in commits
    ]
