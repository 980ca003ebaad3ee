"""Keeping the commits of the store equal to the ancestors of HEAD.

Exactly the commits that `git log HEAD` lists may touch an answer. When HEAD moves back, later commits stay in the
file but are hidden with all their words; when it comes back they are shown again without being read twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel import git
from satchel.clean import clean_field, clean_text
from satchel.errors import GitError
from satchel.index.extract import extract
from satchel.redact import redact
from satchel.sources.commits import Commit, read_commits, visible_commits
from satchel.store.protocol import Store
from satchel.store.records import NewBundle
from satchel.types import EdgeType, Failure, Kind, Outline, Part, Reference, Role

COMMIT_OUTLINE_LANGUAGE = "commit"

SUBJECT_CHARACTERS = 400
"""A longer first line is a message without line breaks; its beginning serves as the title."""

MOST_RENAMES = 2_000
"""Renames remembered of one commit: a moved source tree counts, a vendored drop of everything does not have to."""

SEARCHED_CHARACTERS = 600
"""Only the subject and this much of a message is searched: behind it stand trailers and pasted logs."""


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """What an update did: commits read, commits now out of sight, and what could not be read."""

    added: int = 0
    hidden: int = 0
    notes: tuple[Failure, ...] = ()


def update_history(
    store: Store,
    root: Path,
    limit: int,
    most_files: int,
    message_characters: int,
    allow: Sequence[str],
    should_stop: Callable[[], bool],
) -> HistoryChange:
    """Bring the commits of the store in line with HEAD. A folder without git, or without a commit, has no history."""
    repository = git.find_repository(root)
    head = git.head(repository) if repository is not None else None
    if repository is None or head is None:
        return _clear(store)
    settings = json.dumps([head, limit, most_files, message_characters])
    if store.meta("history") == settings:
        return HistoryChange()
    notes: list[Failure] = []
    if repository.shallow:
        notes.append(Failure("commits", "this is a shallow clone: older history is missing", "git fetch --unshallow"))
    try:
        visible = visible_commits(repository, limit)
        known = store.keys(Kind.COMMIT)
        missing = [sha for sha in visible if sha not in known]
        commits = _read(repository, missing, limit, should_stop)
    except GitError as error:
        return HistoryChange(notes=(*notes, Failure("commits", str(error), "the files are indexed without history")))
    if should_stop():
        return HistoryChange(notes=tuple(notes))
    shown = set(visible)
    hidden = sorted(known - shown)
    bundles = [commit_bundle(commit, most_files, message_characters, allow) for commit in commits]
    by_commit, current = _renames(store, commits, visible)
    with store.write() as writer:
        writer.put(bundles)
        writer.hide(Kind.COMMIT, hidden)
        writer.set_meta("renames_by_commit", by_commit)
        writer.set_meta("renames", current)
        writer.set_meta("history", settings)
    return HistoryChange(len(bundles), len(hidden), tuple(notes))


def _clear(store: Store) -> HistoryChange:
    known = store.keys(Kind.COMMIT)
    if known:
        with store.write() as writer:
            writer.remove(Kind.COMMIT, known)
            writer.set_meta("history", "")
    return HistoryChange()


def _read(repository: git.Repository, missing: list[str], limit: int, should_stop: Callable[[], bool]) -> list[Commit]:
    """The missing commits, read in one stream from HEAD that ends as soon as all were seen."""
    wanted = set(missing)
    found: list[Commit] = []
    if not wanted:
        return found
    for commit in read_commits(repository, revision_range=("HEAD",), limit=limit, should_stop=should_stop):
        if commit.sha in wanted:
            found.append(commit)
            wanted.discard(commit.sha)
        if not wanted:
            break
    return found


def _renames(store: Store, commits: Sequence[Commit], visible: Sequence[str]) -> tuple[str, str]:
    """Two values to remember: the renames by commit, and where each renamed path of the visible history is now."""
    by_commit = json.loads(store.meta("renames_by_commit") or "{}")
    by_commit |= {commit.sha: commit.renames[:MOST_RENAMES] for commit in commits if commit.renames}
    current: dict[str, str] = {}
    for sha in visible:
        for old, new in by_commit.get(sha, ()):
            current.setdefault(old, current.get(new, new))
    return json.dumps(by_commit), json.dumps(current)


def commit_bundle(commit: Commit, most_files: int, message_characters: int, allow: Sequence[str] = ()) -> NewBundle:
    """One commit as a bundle: its subject is the name, its message the body, its files are edges."""
    message, _ = clean_text(commit.message[:message_characters])
    message, _ = redact(message, allow)
    subject, _ = redact(clean_field(commit.subject, SUBJECT_CHARACTERS), allow)
    searched = message[: len(subject) + SEARCHED_CHARACTERS]
    part = Part(Role.RECORD, "", 1, searched.count("\n") + 1)
    files = commit.files[:most_files] if commit.file_count <= most_files else ()
    return NewBundle(
        kind=Kind.COMMIT,
        key=commit.sha,
        text=message,
        extraction=extract(searched, Outline(COMMIT_OUTLINE_LANGUAGE, (part,))),
        path_terms={},
        title=subject,
        fields={"author": clean_field(commit.author), "files": list(commit.files), "file_count": commit.file_count},
        references=tuple(Reference(EdgeType.TOUCHES, path) for path in files),
        created=commit.time,
        updated=commit.time,
        origin="git",
    )
