"""The history of files from the index alone: who changed what, when, and how often.

Only indexed commits that HEAD reaches count, which are the newest ones. Files that moved unchanged keep their history:
a commit is listed under the present paths of its files. Merges are not in the index; those that made a change of their
own are added where the history of a path is asked for.
"""

from __future__ import annotations

import difflib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, TypeVar

from satchel.errors import GitError, UnsafePathError, UsageError
from satchel.safety.sanitize import clean_field, redact
from satchel.search.overview import HOT_DAYS, Overview, imports_map, overview
from satchel.sources.commits import changing_merges
from satchel.sources.mailmap import read_mailmap
from satchel.sources.roles import is_routine_commit
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.system import git, telemetry
from satchel.text import composed, folded
from satchel.types import LINE_KINDS, AnyPath, Kind
from satchel.vocabulary import DAY_SECONDS, FEW_ROWS, Moment, check_count, parse_moment

View = TypeVar("View")

NEAR_NAMES = 3
"""Most paths suggested for an unknown one."""


@dataclass(frozen=True, slots=True)
class CommitChange:
    """One commit. `paths` are the requested paths that it touched, by their present names.

    `time` is when it was committed; `file_count` counts all files that it touched.
    """

    sha: str
    author: str
    time: float
    subject: str
    paths: tuple[str, ...]
    file_count: int


@dataclass(frozen=True, slots=True)
class FileHistory:
    """The commits that touched a file or a folder, newest first; `total` counts also those beyond the limit.

    `path` is the present path, empty for the root; `former` are earlier paths of the same file.
    """

    path: str
    former: tuple[str, ...]
    total: int
    changes: tuple[CommitChange, ...]


@dataclass(frozen=True, slots=True)
class FileChurn:
    """How often one file changed: its commits, how many people made them, and the time of the last one."""

    path: str
    commits: int
    authors: int
    last: float


@dataclass(frozen=True, slots=True)
class Author:
    """One person: commits, and the times of the first and the last one."""

    name: str
    commits: int
    first: float
    last: float


def read_changes(store: Store, root: Path, allow: Sequence[str] = ()) -> Changes:
    """Return the commits of the index of a root, which may lie anywhere in its repository."""
    repository = git.find_repository(root)
    inside = root.resolve().relative_to(repository.work_tree).as_posix() if repository is not None else "."
    return Changes(store, prefix="" if inside == "." else f"{inside}/", allow=allow)


def relative_path(path: AnyPath, root: Path) -> str:
    """Return a path as the index names it: relative to the root, empty for the root itself. Raises UnsafePathError."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"the path is {path!r:.60}: give a text or a Path")
    relative = os.path.relpath(os.path.normpath(root / path), root)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        raise UnsafePathError(f"{os.fspath(path)!r} is outside the root {root}: give a path below it")
    return "" if relative == os.curdir else PurePath(relative).as_posix()


class Changes:
    """The commits of one state of the index, read once, newest first.

    `prefix` is the folder of the root in its repository (`packages/app/`, empty for the top): only paths below it are
    listed, relative to it. Texts are cleaned and redacted; `allow` are secrets that may be shown.
    """

    def __init__(self, store: Store, *, prefix: str = "", allow: Sequence[str] = ()) -> None:
        self._store, self._prefix, self._allow = store, prefix, allow
        self._former: dict[str, str] = {}
        self._changes = list(self._read())

    def history(self, path: str, limit: int) -> FileHistory:
        """Return the commits that touched a file, or any file below a folder. Raises UsageError for an unknown path."""
        path = self._present(path)
        changes = self._of(path)
        former = sorted(old for old, new in self._former.items() if new == path and old != path)
        shown = tuple(map(self._cleaned, changes[:limit]))
        return FileHistory(self._safe(path), tuple(map(self._safe, former)), len(changes), shown)

    def churn(self, path: str, days: int, now: float, limit: int) -> list[FileChurn]:
        """Return the files below a path that changed most often on the day (UTC) of `now` and `days` before it."""
        check_count(days, "days")
        since = now // DAY_SECONDS * DAY_SECONDS - days * DAY_SECONDS
        counts: dict[str, list[CommitChange]] = {}
        for change in self._of(self._present(path)):
            if change.time >= since:
                for touched in change.paths:
                    counts.setdefault(touched, []).append(change)
        churned = [
            FileChurn(
                self._safe(name),
                len(churned),
                len({commit.author for commit in churned}),
                max(commit.time for commit in churned),
            )
            for name, churned in counts.items()
        ]
        return sorted(churned, key=lambda commit: (-commit.commits, -commit.authors, commit.path))[:limit]

    def authors(self, path: str, limit: int) -> list[Author]:
        """Return the authors of changes below a path, most commits first."""
        times: dict[str, list[float]] = {}
        for change in self._of(self._present(path)):
            times.setdefault(self._safe(change.author), []).append(change.time)
        authors = [Author(name, len(when), min(when), max(when)) for name, when in times.items()]
        return sorted(authors, key=lambda author: (-author.commits, author.name))[:limit]

    def overview(self, path: str) -> Overview:
        """Return a map of a folder: its contents by size, how often they changed, and examples of questions."""
        path = self._present(path)
        changes = self._of(path)
        since = changes[0].time - HOT_DAYS * DAY_SECONDS if changes else 0.0
        recent = [change for change in changes if change.time >= since]
        commits = [
            ("" if is_routine_commit(change.subject, change.author) else change.subject, change.paths)
            for change in recent
        ]
        return overview(self._store, path, since, commits, self._allow)

    def _read(self) -> Iterator[CommitChange]:
        """Yield the visible commits under present paths.

        They come from the newest on, so each move is known before the commits that it renames, and a path that was
        used again after a move keeps its own commits.
        """
        renames: Mapping[str, Sequence[Sequence[str]]] = json.loads(self._store.meta("renames_by_commit") or "{}")
        for document in _visible(self._store):
            for old, new in renames.get(document.key, ()):
                if (inside := self._inside(old)) is not None and (target := self._inside(new)) is not None:
                    self._former[inside] = self._former.get(target, target)
            touched = [path for name in document.fields.get("files", ()) if (path := self._inside(name)) is not None]
            if touched or not self._prefix:
                yield CommitChange(
                    sha=document.key,
                    author=str(document.fields.get("author", "")),
                    time=document.created,
                    subject=document.title,
                    paths=tuple(dict.fromkeys(self._former.get(path, path) for path in touched)),
                    file_count=int(document.fields.get("file_count", len(touched))),
                )

    def _inside(self, path: str) -> str | None:
        return path[len(self._prefix) :] if path.startswith(self._prefix) else None

    def _of(self, path: str) -> list[CommitChange]:
        """Return the changes below a path, each with those of its paths; all of them for the root."""
        if not path:
            return self._changes
        changes = []
        below = composed(f"{path}/")  # git and the disk may spell one name differently
        for change in self._changes:
            touched = tuple(name for name in change.paths if composed(f"{name}/").startswith(below))
            if touched:
                changes.append(replace(change, paths=touched))
        return changes

    def _present(self, path: str) -> str:
        """Return the path itself if it is indexed, else its present name. Raises UsageError for an unknown one."""
        path = path.strip("/")
        if not path or any(name == path or name.startswith(f"{path}/") for name in self._names()):
            return path
        if path in self._former:
            return self._former[path]
        if other := next((name for name in self._names() if folded(name) == folded(path)), None):
            return other
        raise UsageError(self._unknown(path))

    def _names(self) -> Iterable[str]:
        """Yield every path of a commit or of the index, in order, with repetitions."""
        for change in self._changes:
            yield from change.paths
        for kind in LINE_KINDS:
            yield from self._store.iterate_keys(kind)

    def _unknown(self, path: str) -> str:
        if not self._changes:
            return f"there is no history of {path!r}: no commit is indexed here"
        names = dict.fromkeys([*self._names(), *self._former])
        last = path.rpartition("/")[2]
        same = [name for name in names if name.rpartition("/")[2] == last]
        near = dict.fromkeys([*same, *difflib.get_close_matches(path, names, NEAR_NAMES, 0.6)])  # near enough
        listed = ", ".join([self._safe(name) for name in near][:NEAR_NAMES])
        hint = f"did you mean {listed}?" if listed else "paths are relative to the root, as `satchel search` shows them"
        return f"no indexed file or commit knows {path!r}: {hint}"

    def _cleaned(self, change: CommitChange) -> CommitChange:
        return replace(
            change,
            author=self._safe(change.author),
            subject=self._safe(change.subject),
            paths=tuple(map(self._safe, change.paths)),
        )

    def _safe(self, text: str) -> str:
        return redact(clean_field(text, 400), self._allow)[0]  # field characters


def _visible(store: Store) -> list[Document]:
    """Return visible commits, newest first. In the same second, the lower id is newer, as git lists them."""
    ids = store.document_ids(Kind.COMMIT, store.iterate_keys(Kind.COMMIT))
    return sorted(store.documents(ids.values()).values(), key=lambda document: (-document.created, document.id))


class GitViews:
    """The history of one root. `read` runs a function on a published state of its index, `refresh` updates it first."""

    def __init__(
        self,
        root: Path,
        allow: Sequence[str],
        read: Callable[[Callable[[Store], Any]], Any],
        refresh: Callable[[], Any],
    ) -> None:
        self._root, self._allow, self._read, self._refresh = root, allow, read, refresh

    def file_history(self, path: AnyPath, limit: int, *, refresh: bool) -> FileHistory:
        """As `Satchel.file_history`."""
        history: FileHistory = self._view(lambda changes, below: changes.history(below, limit), path, limit, refresh)
        merges = self._merges(history.path) if history.path else []
        if not merges:
            return history
        every = sorted([*history.changes, *merges], key=lambda change: (-change.time, change.sha))
        return replace(history, total=history.total + len(merges), changes=tuple(every[:limit]))

    def _merges(self, path: str) -> list[CommitChange]:
        """Return the merges with changes of their own to a path, which are not in the index."""
        repository = git.find_repository(self._root)
        if repository is None or repository.refusal or repository.partial:
            return []
        inside = (self._root.resolve().relative_to(repository.work_tree) / path).as_posix()
        try:
            found = changing_merges(repository, inside, read_mailmap(repository))
        except GitError as error:  # the commits of the index are the answer; git said the same when it was read
            telemetry.warning("merges_unknown", reason=str(error))
            return []
        return [
            CommitChange(
                commit.sha,
                self._safe(commit.author),
                commit.time,
                self._safe(commit.subject),
                (path,),
                commit.file_count,
            )
            for commit in found
        ]

    def _safe(self, text: str) -> str:
        return redact(clean_field(text, 400), self._allow)[0]  # field characters

    def churn(self, days: int, path: AnyPath, limit: int, now: Moment | None, *, refresh: bool) -> list[FileChurn]:
        """As `Satchel.churn`."""
        moment = time.time() if now is None else parse_moment(now)
        return self._view(lambda changes, below: changes.churn(below, days, moment, limit), path, limit, refresh)

    def authors(self, path: AnyPath, limit: int, *, refresh: bool) -> list[Author]:
        """As `Satchel.authors`."""
        return self._view(lambda changes, below: changes.authors(below, limit), path, limit, refresh)

    def overview(self, path: AnyPath = "") -> Overview:
        """Return a map of a folder, without an update of the index before. Raises as `file_history`."""
        return self._view(lambda changes, below: changes.overview(below), path, FEW_ROWS, refresh=False)

    def imports(self) -> Mapping[str, Sequence[object]]:
        """Return the files of code and which imports which, as `/api/map?links=true` does."""
        found: Mapping[str, Sequence[object]] = self._read(lambda store: imports_map(store, self._allow))
        return found

    def _view(self, view: Callable[[Changes, str], View], path: AnyPath, limit: int, refresh: bool) -> View:
        check_count(limit, "limit")
        below = relative_path(path, self._root)
        if refresh:
            self._refresh()
        viewed: View = self._read(lambda store: view(read_changes(store, self._root, self._allow), below))
        return viewed
