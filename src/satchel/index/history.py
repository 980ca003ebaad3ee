"""Compare the commits of the store with those that HEAD reaches. Reads a few small files and does not run git."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from satchel.errors import GitError
from satchel.store.protocol import Store
from satchel.system import git
from satchel.types import Failure


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """Limits on the commits read and on what is stored of each. `version` changes with the stored form."""

    limit: int
    most_files: int
    message_characters: int
    allow: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """The work to do on the history. Without `repository` and `head` there is none, and stored commits are removed.

    `is_stale` says that stored commits have to be read again, too. `notes` are shown with every answer.
    """

    options: HistoryOptions
    is_due: bool
    repository: git.Repository | None = None
    head: str | None = None
    is_stale: bool = False
    notes: tuple[Failure, ...] = ()

    @property
    def state(self) -> str:
        """The mark of a store whose commits are those of this plan. The first value is HEAD."""
        return json.dumps([self.head, self.options.limit])

    @property
    def form(self) -> str:
        """The stored form of commits: after a change, stored commits have to be read again."""
        return json.dumps([self.options.most_files, self.options.message_characters, self.options.version])


def plan_history(store: Store, root: Path, options: HistoryOptions) -> HistoryPlan:
    """Compare the store with HEAD. A folder without git, or without a commit, has no history."""
    try:
        repository = git.find_repository(root)
        head = git.head(repository) if repository is not None and options.limit else None
    except GitError as error:
        # The stored commits stay: a failure of git says nothing about the history.
        return HistoryPlan(options, is_due=False, notes=(git_failure(error),))
    noted, form = store.meta("history"), store.meta("history_form")
    if repository is None or head is None:
        return HistoryPlan(options, is_due=bool(noted or form))
    notes = []
    if repository.shallow:
        notes.append(Failure("commits", "this is a shallow clone: older history is missing", "git fetch --unshallow"))
    if repository.partial and (unknown := store.meta("history_unknown")):
        notes.append(unknown_files(int(unknown)))
    plan = HistoryPlan(options, is_due=False, repository=repository, head=head, notes=tuple(notes))
    is_stale = bool(form) and form != plan.form
    return replace(plan, is_stale=is_stale, is_due=is_stale or noted != plan.state)


def git_failure(error: GitError) -> Failure:
    """Return the note for a history that could not be read to its end."""
    return Failure("commits", str(error), "the files are indexed; the history is as far as it could be read")


def unknown_files(count: int) -> Failure:
    """Return the note for a clone without the folders of old commits."""
    message = f"this is a partial clone: which files {count:,} old commits changed is unknown"
    return Failure("commits", message, "git fetch --refetch --filter=blob:none")
