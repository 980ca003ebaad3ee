"""The change that is under way in a root, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from satchel.assemble.request import AssembleRequest
from satchel.errors import UsageError
from satchel.git import find_repository
from satchel.sources.change import Change, ChangeOptions, read_change
from satchel.store.protocol import Store
from satchel.types import Failure, Kind

NAMED = 5
"""Files named in a note; the others are a number."""


def current_change(
    root: Path, store: Store, limit: int, allow: Sequence[str], revision: str, *, staged: bool
) -> Change:
    """What differs between a revision and the work tree or the staging area. Raises UsageError outside a repository."""
    repository = find_repository(root)
    if repository is None:
        raise UsageError(f"{root} is in no git repository: there is nothing to compare it with")
    prefix = root.resolve().relative_to(repository.work_tree.resolve()).as_posix()
    indexed = frozenset(store.stamps(Kind.CODE)) | frozenset(store.stamps(Kind.DOC))
    options = ChangeOptions(root, "" if prefix == "." else f"{prefix}/", indexed, limit, tuple(allow))
    return read_change(repository, options, revision, staged=staged)


def about(request: AssembleRequest, change: Change, revision: str, *, is_asked: bool) -> AssembleRequest:
    """The request about a change. Raises UsageError where there is neither a question nor a change."""
    if not change.files and not is_asked:
        since = f"since {revision}" if change.base else "yet"
        unseen = f" ({len(change.untracked)} untracked files aside)" if change.untracked else ""
        raise UsageError(
            f"nothing changed in the {change.target} {since}{unseen}: name another revision, or ask a question"
        )
    return replace(request, query=request.query if is_asked else question_of(change), change=change)


def question_of(change: Change) -> str:
    """What a change asks when nobody asks anything: its definitions by name, else its files."""
    names = [f"`{name}`" for name in change.names]
    return " ".join(names or [file.path for file in change.files]) or f"no change in the {change.target}"


def notes_of(change: Change) -> list[Failure]:
    """What an answer about a change has to say besides."""
    notes = []
    if change.untracked:
        hint = "`git add` makes them part of it"
        notes.append(Failure("change", f"{_listed(change.untracked, 'untracked file')} not part of the change", hint))
    if change.unread:
        notes.append(
            Failure("change", f"{_listed(change.unread, 'changed file')} not looked into", "they are not indexed")
        )
    return notes


def _listed(paths: Sequence[str], noun: str) -> str:
    shown = ", ".join(paths[:NAMED])
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return f"{len(paths)} {noun}{'s' if len(paths) > 1 else ''} ({shown}{more}) {'are' if len(paths) > 1 else 'is'}"
