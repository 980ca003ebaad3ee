"""Commits read from git, with the lines that they added and deleted."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import TypedDict

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import GitError
from satchel.sources.mailmap import NONE, Mailmap
from satchel.system import git, telemetry
from satchel.system.git import Repository, head, run, shallow_boundary, stream
from satchel.types import Failure, ShouldStop, never

FILES_LIMIT = 1_000
"""Maximum paths of one commit: a larger one moves the entire tree and is irrelevant for a single file."""

MESSAGE_LIMIT = 16_384
"""Maximum bytes of one message: 200 lines, longer than a written one, shorter than that of a squash."""

LATEST_TIME = 4_102_444_800.0
"""Seconds since the epoch, 2100-01-01: later commit dates are garbage and are cut to this."""

_STAT_BATCH = 200  # commits per git call; 200 ids are 8 KB, far below every limit on arguments
_FORMAT = "--format=%H%x00%P%x00%an%x00%ae%x00%ct%x00%B%x00"
_EMPTY_BLOBS = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


class Commit(Struct, frozen=True):
    """One commit. All texts are as the author left them: the caller cleans and redacts them.

    `time` is when it was committed, 0 to `LATEST_TIME`. `message` includes the subject and ends after `MESSAGE_LIMIT`
    bytes. `files` are the paths that it touched, deleted ones included, at most `FILES_LIMIT` of `file_count`; a
    merge has none. `renames` are (old, new) paths of files that moved without a change, and after `with_edited_renames`
    with one; `may_rename` says that others were added and deleted with the same ending of their names.
    """

    sha: str
    author: str
    time: float
    subject: str
    message: str
    files: tuple[str, ...]
    file_count: int
    parents: tuple[str, ...]
    renames: tuple[tuple[str, str], ...] = ()
    may_rename: bool = False


def read_commits(
    repository: Repository,
    *,
    limit: int | None = None,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    merges: bool = False,
    mailmap: Mailmap = NONE,
    should_stop: ShouldStop = never,
) -> Iterator[Commit]:
    """Read commits, newest first as git orders them; each is yielded as soon as its output is complete.

    With `only`, exactly these in their order; else those of HEAD that no commit of `without` reaches. On a branch
    without commits there are none. `mailmap` gives the names of authors. Ends early when `should_stop` returns true.
    Raises GitError.
    """
    if head(repository) is None:
        return
    boundary = shallow_boundary(repository) if repository.shallow else frozenset()
    arguments = ["-z", "--no-renames", "--no-abbrev", _FORMAT]
    if not merges:
        arguments.append("--no-merges")
    if limit is not None:
        arguments.append(f"-n{limit}")
    reached = ["--end-of-options", "HEAD", *map("^{}".format, without), "--"]
    revisions = ["--no-walk=unsorted", "--stdin", "--"] if only else reached
    feed, count = "\n".join(only).encode("ascii"), 0
    try:
        read = partial(_stream_commits, repository, mailmap=mailmap)
        for commit in read(["--raw", *arguments, *revisions], boundary, should_stop, feed):
            if should_stop():
                return
            count += 1
            yield commit
    except GitError:
        # A clone without the folders of old commits stops at the first one that it lacks. Their messages are there.
        if not repository.partial:
            raise
        rest = islice(read([*arguments, *revisions], boundary, should_stop, feed), count, None)
        yield from takewhile(lambda _: not should_stop(), rest)


def authors(
    repository: Repository, shas: Iterable[str], mailmap: Mailmap, should_stop: ShouldStop = never
) -> dict[str, str]:
    """Return the author of each of these commits, until a stop; those that are gone are left out. Raises GitError."""
    arguments = ("-z", "--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H%x00%an%x00%ae")
    feed = "\n".join(shas).encode("ascii")
    with stream(repository, "log", *arguments, "--", should_stop=should_stop, feed=feed) as chunks:
        texts = [token.decode("utf-8", "replace") for token in chain.from_iterable(_tokens(chunks))]
    rows = zip(texts[::3], texts[1::3], texts[2::3], strict=False)
    return {sha: mailmap.name(author, email) for sha, author, email in rows}


def first_commit(repository: Repository | None, should_stop: ShouldStop = never) -> str:
    """Return the oldest commit on the first parents of HEAD, empty if there is none, it is cut off, or after a stop."""
    try:
        if repository is None or repository.shallow or head(repository) is None:
            return ""
        oldest = run(repository, "rev-list", "--first-parent", "--max-parents=0", "HEAD", "--", should_stop=should_stop)
    except GitError as error:
        telemetry.warning("first_commit_unknown", reason=str(error))
        return ""
    return oldest.decode("ascii").strip()


def visible_commits(repository: Repository, limit: int | None = None, should_stop: ShouldStop = never) -> list[str]:
    """Return the newest ancestors of HEAD, itself too, without merges, newest first, until a stop. Raises GitError."""
    if head(repository) is None:
        return []
    newest = [] if limit is None else [f"-n{limit}"]
    listed = run(repository, "rev-list", "--no-merges", *newest, "HEAD", "--", should_stop=should_stop)
    return listed.decode("ascii").split()


def new_commits(
    repository: Repository, known: str, should_stop: ShouldStop = never, mailmap: Mailmap = NONE
) -> list[Commit] | None:
    """Return the commits after `known` up to HEAD, newest first, if each is the only parent of the next one.

    Returns None if there is a merge among them, HEAD does not descend from `known`, or history is cut off.
    """
    if repository.shallow:
        return None
    commits: list[Commit] = []
    try:
        expected = head(repository)
        # At most 500: beyond that, listing all costs little more than reading them.
        news = read_commits(
            repository, limit=500, without=[known], merges=True, mailmap=mailmap, should_stop=should_stop
        )
        for commit in news:
            if commit.sha != expected or len(commit.parents) != 1:
                return None
            commits.append(commit)
            expected = commit.parents[0]
    except GitError:  # `known` is gone: the caller lists all
        return None
    return commits if commits and expected == known else None


MAX_MERGES = 200
"""Maximum merges of one path that are looked at, newest first."""

_MERGE = "--format=%x02%H%x1f%P%x1f%an%x1f%ae%x1f%ct%x1f%s"


def changing_merges(repository: Repository, path: str, mailmap: Mailmap = NONE) -> list[Commit]:
    """Return the merges that made a change of their own to a file or below a folder, newest first.

    Such a change is in no other commit. Finding them compares contents, which takes too long for a whole history, so
    they are looked for where one path is asked for. `path` is relative to the top of the work tree. Raises GitError.
    """
    if head(repository) is None:
        return []
    arguments = ("--merges", "--cc", "-p", "-U0", "--no-renames", f"-n{MAX_MERGES}", _MERGE)
    written = run(repository, "log", *arguments, "--end-of-options", "HEAD", "--", path)
    merges: list[Commit] = []
    pending: Commit | None = None
    for line in written.split(b"\n"):
        if line.startswith(b"\x02"):  # no line of a difference does
            sha, parents, author, email, when, subject = line[1:].decode("utf-8", "replace").split("\x1f", 5)
            name, parts = mailmap.name(author, email), tuple(parents.split())
            moment = min(float(_number(when.encode())), LATEST_TIME)
            pending = Commit(sha, name, moment, subject, subject, (path,), 1, parts)
        elif pending is not None and line.startswith(b"diff --cc "):
            merges.append(pending)
            pending = None
    return merges


def diff_stat(
    repository: Repository, shas: Iterable[str], *, should_stop: ShouldStop = never
) -> dict[str, tuple[int, int] | None]:
    """Return the inserted and deleted lines of each commit; None if the contents are not in this clone.

    This is much slower than reading commits (git compares the contents), so it is for the few that are shown. After a
    stop the current commit and the remaining ones stay None. Raises GitError for an id that is not a commit.
    """
    ids = list(dict.fromkeys(shas))
    unknown = shallow_boundary(repository) if repository.shallow else frozenset()
    stats: dict[str, tuple[int, int] | None] = dict.fromkeys(ids)
    countable = [sha for sha in ids if sha not in unknown]
    for start in range(0, len(countable), _STAT_BATCH):
        if should_stop():
            break
        _stat_batch(repository, countable[start : start + _STAT_BATCH], stats, should_stop)
    return stats


def _stat_batch(
    repository: Repository, shas: list[str], stats: dict[str, tuple[int, int] | None], should_stop: ShouldStop
) -> None:
    arguments = ("-z", "--numstat", "--no-renames", "--no-walk=unsorted", "--format=%x00%H", "--end-of-options")
    sha, added, removed = "", 0, 0
    try:
        with stream(repository, "log", *arguments, *shas, "--", should_stop=should_stop) as chunks:
            for token in chain.from_iterable(_tokens(chunks)):
                counts = token.lstrip(b"\n").split(b"\t", 2)
                if len(counts) == 3:
                    added += _number(counts[0])
                    removed += _number(counts[1])
                elif token:
                    if sha:
                        stats[sha] = (added, removed)
                    sha, added, removed = token.decode("ascii"), 0, 0
        if sha and not should_stop():
            stats[sha] = (added, removed)
    except GitError:
        # The commit at which git stopped, and those after it, stay None.
        if not repository.partial:
            raise


def _stream_commits(
    repository: Repository,
    arguments: Sequence[str],
    boundary: frozenset[str],
    should_stop: ShouldStop,
    feed: bytes,
    mailmap: Mailmap,
) -> Iterator[Commit]:
    """Yield each commit when the next one begins, and the last one when git has ended well."""
    pending: Commit | None = None
    with stream(repository, "log", *arguments, should_stop=should_stop, feed=feed) as chunks:
        for commit in _parse(chain.from_iterable(_tokens(chunks)), boundary, mailmap):
            if pending is not None:
                yield pending
            pending = commit
    if pending is not None:
        yield pending


def _tokens(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Split a stream at NUL, each token cut to `MESSAGE_LIMIT` bytes; what is incomplete at the end is dropped."""
    rest = b""
    for chunk in chunks:
        tokens = (rest + chunk).split(b"\0")
        rest = tokens.pop()[:MESSAGE_LIMIT]
        yield tokens


def _parse(tokens: Iterator[bytes], boundary: frozenset[str], mailmap: Mailmap) -> Iterator[Commit]:
    r"""Read the records of `_FORMAT` with or without `--raw`.

    A record is: id, parents, author, email, time and message, each ended by NUL; an empty token; then for each file
    `:modes ids status` and its path, the first preceded by a newline. No field can contain a NUL, so no
    part of a message is mistaken for a field; a path is recognised by its position.
    """
    token = next(tokens, b"")
    while token:
        sha, parents = token.decode("ascii"), next(tokens, b"")
        author, email = next(tokens, b"").decode("utf-8", "replace"), next(tokens, b"")
        time, message = next(tokens, b""), next(tokens, b"")
        next(tokens, b"")
        changes: list[tuple[bytes, bytes]] = []
        file_count = 0
        token = next(tokens, b"").removeprefix(b"\n")
        while token.startswith(b":"):
            path = next(tokens, b"")
            if file_count < FILES_LIMIT:
                changes.append((token, path))
            file_count += 1
            token = next(tokens, b"")
        if sha in boundary:
            changes, file_count = [], 0
        text = message[:MESSAGE_LIMIT].decode("utf-8", "replace")
        yield Commit(
            sha=sha,
            author=mailmap.name(author, email.decode("utf-8", "replace")) if mailmap.names else author,
            time=min(float(_number(time)), LATEST_TIME),
            subject=text.lstrip().partition("\n")[0].rstrip(),
            message=text.rstrip("\n"),
            files=tuple([path.decode("utf-8", "replace") for _, path in changes]),
            file_count=file_count,
            parents=tuple(parents.decode("ascii").split()),
            **(_renames(changes) if len(changes) > 1 else {}),
        )


class _Renames(TypedDict, total=False):
    renames: tuple[tuple[str, str], ...]
    may_rename: bool


def _renames(changes: list[tuple[bytes, bytes]]) -> _Renames:
    """Return pairs of a deleted and an added path with the same content, and whether others may be a rename.

    If several have the same content, those with the same file name belong together; the others stay unpaired.
    """
    deleted: dict[bytes, list[bytes]] = {}
    added: list[tuple[bytes, bytes]] = []
    for meta, path in changes:
        if meta.endswith((b"D", b"A")):
            _, _, old, new, status = meta.split(b" ")
            if status == b"A" and new not in _EMPTY_BLOBS:
                added.append((new, path))
            elif status == b"D":
                deleted.setdefault(old, []).append(path)
    if not (deleted and added):
        return {}
    pairs = []
    copies = {blob: sum(other == blob for other, _ in added) for blob in deleted}
    for blob, path in added:
        name = path.rpartition(b"/")[2]
        candidates = deleted.get(blob, [])
        if len(candidates) > 1 or copies.get(blob, 0) > 1:
            candidates = [old for old in candidates if old.rpartition(b"/")[2] == name]
        if len(candidates) == 1:
            pairs.append((candidates[0].decode("utf-8", "replace"), path.decode("utf-8", "replace")))
    arrived = {_ending(path) for blob, path in added if blob not in deleted}
    left = {
        _ending(path) for blob, paths in deleted.items() if blob not in copies or not copies[blob] for path in paths
    }
    return {"renames": tuple(pairs), "may_rename": not arrived.isdisjoint(left)}


def _ending(path: bytes) -> bytes:
    """Return the part of a name after its last dot, without one the entire name."""
    return path.rpartition(b"/")[2].rpartition(b".")[2]


MAX_RENAMED = 100
"""Added or deleted files of a commit up to which git compares each with each, 0.1 s; a larger one moves a tree."""


def with_edited_renames(
    repository: Repository, commits: Sequence[Commit], should_stop: ShouldStop = never
) -> list[Commit]:
    """Return commits with the renames of files that were also changed, by git's rule: half of the content is the same.

    One git process reads the contents of the few commits that may have some; in a partial clone they may be missing, so
    nothing is read there. Raises GitError.
    """
    asked = [commit.sha for commit in commits if commit.may_rename]
    if not asked or repository.partial:
        return list(commits)
    arguments = ("-z", "--name-status", "-M", f"-l{MAX_RENAMED}", "--diff-filter=R", "--no-walk=unsorted", "--stdin")
    renames: dict[str, list[tuple[str, str]]] = {sha: [] for sha in asked}
    feed = "\n".join(asked).encode("ascii")
    with stream(repository, "log", *arguments, "--format=%x00%H", "--", should_stop=should_stop, feed=feed) as chunks:
        tokens, sha = chain.from_iterable(_tokens(chunks)), ""
        for token in tokens:
            plain = token.lstrip(b"\n")
            if plain.startswith(b"R") and sha:
                old, new = next(tokens, b""), next(tokens, b"")
                renames[sha].append((old.decode("utf-8", "replace"), new.decode("utf-8", "replace")))
            elif plain:
                sha = plain.decode("ascii")
    return [_joined(commit, renames.get(commit.sha, ())) for commit in commits]


def _joined(commit: Commit, renames: Iterable[tuple[str, str]]) -> Commit:
    """Return a commit with renames added whose paths have none yet."""
    taken = {path for pair in commit.renames for path in pair}
    more = tuple(pair for pair in renames if taken.isdisjoint(pair))
    return replace(commit, renames=(*commit.renames, *more)) if more else commit


def _number(digits: bytes) -> int:
    """Return a number from git; its other values (`-` for binary files, empty for a broken date) are 0."""
    return int(digits) if digits.isdigit() and len(digits) < 20 else 0


REMEMBERED_COMMITS = 10_000
"""Maximum counts in the memory of one process, 200 bytes each: more than an index reads by default."""

PATIENCE_SECONDS = 1.0
"""Maximum wait of an answer for its counts. Twenty commits need 0.05 s; one that adds a vendored tree can need many
seconds, too long for two numbers."""

Lines = tuple[int, int]
"""Inserted and deleted lines of one commit."""


class Counted(Struct, frozen=True):
    """Lines by commit id, None if unknown, and the reasons."""

    lines: Mapping[str, Lines | None]
    failures: tuple[Failure, ...] = ()


class _Reason(Struct, frozen=True):
    """The reason for an unknown count, and what to do about it."""

    text: str
    hint: str = ""


class LineCounts:
    """The counts of one root's commits, remembered within bounds. Safe to share between threads."""

    def __init__(self, root: Path, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._root = root
        self._patience_seconds = patience_seconds
        self._counts: OrderedDict[str, Lines | None] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, shas: Iterable[str]) -> Counted:
        """Return the counts of these commits, with one git process for the missing ones. Never raises GitError."""
        ids = list(dict.fromkeys(shas))
        with self._guard:
            lines = {sha: self._counts[sha] for sha in ids if sha in self._counts}
        missing = [sha for sha in ids if sha not in lines]
        reason = self._late  # the only reason for which an unknown count is remembered
        if missing:
            counted, reason = self._count(missing)
            lines |= counted
        ordered = {sha: lines.get(sha) for sha in ids}
        unknown = sum(count is None for count in ordered.values())
        return Counted(ordered, (_failure(unknown, reason),) if unknown else ())

    @property
    def _late(self) -> _Reason:
        return _Reason(f"counting them takes longer than {self._patience_seconds:g} s")

    def _count(self, shas: Sequence[str]) -> tuple[dict[str, Lines | None], _Reason]:
        """Return the counts, and the reason why a count is None or left out."""
        deadline = time.monotonic() + self._patience_seconds
        is_late = False

        def should_stop() -> bool:
            nonlocal is_late
            is_late = is_late or time.monotonic() >= deadline
            return is_late

        repository = git.find_repository(self._root)
        if repository is None:
            return {}, _Reason("there is no repository here any more")
        try:
            lines = diff_stat(repository, shas, should_stop=should_stop)
        except GitError as error:
            telemetry.warning("changed lines not counted", commits=len(shas), error=str(error))
            return {}, _Reason(str(error), "the commits are shown as they were indexed")
        self._remember(lines, [sha for sha in shas if lines[sha] is None][: int(is_late)])
        if is_late:
            return lines, self._late
        if repository.partial:
            return lines, _Reason("this is a partial clone without their contents", "git fetch --refetch --no-filter")
        return lines, _Reason("this shallow clone was cut off there", "git fetch --unshallow")

    def _remember(self, lines: Mapping[str, Lines | None], given_up: Sequence[str]) -> None:
        """Store the counts, and the commit at which the time ran out, as it would do so each time."""
        with self._guard:
            for sha, count in lines.items():
                if count is not None or sha in given_up:
                    self._counts[sha] = count
            while len(self._counts) > REMEMBERED_COMMITS:
                self._counts.popitem(last=False)


def _failure(count: int, reason: _Reason) -> Failure:
    commits = "1 commit" if count == 1 else f"{count:,} commits"
    return Failure("commits", f"how many lines {commits} changed is unknown: {reason.text}", reason.hint)
