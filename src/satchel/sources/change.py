"""The change under way: the difference between a revision and the work tree or the staging area."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any, NamedTuple

from satchel.codec import plain
from satchel.errors import GitError, UsageError
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field, clean_text, redact
from satchel.sources.outline import outline_file, readable
from satchel.sources.roles import is_secondary
from satchel.system import files
from satchel.system.git import Repository, head, repository_at, run, stream
from satchel.types import Part, Range, Role

SUBMODULE = "160000"
"""The mode of an entry that is another repository."""

MAX_ENTRIES = 1_000_000
"""Maximum files of a tree. A few objects can describe billions, and each takes 500 bytes here."""

MAX_COMPARED_LINES = 4_000
"""Maximum differing lines that are compared; beyond it the file counts as changed throughout (quadratic time)."""

_ENTRY = re.compile(rb"(\d{6}) (?:blob |commit )?([0-9a-f]{40}(?:[0-9a-f]{24})?)(?: (\d))?")
_MODIFIED = re.compile(rb"\s+mtime: (\d+):(\d+)\n")
_SIZE = re.compile(rb"\s+size: (\d+)\t")
_LOGGED = re.compile(rb"commit ([0-9a-f]{40,64})|:\d{6} \d{6} ([0-9a-f]+) ([0-9a-f]+) [A-Z]")
_RAW = re.compile(rb":\d{6} \d{6} ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree or of the staging area. `stamp` is (size, mtime_ns) when it was staged, None for a tree."""

    mode: str
    blob: str
    stamp: tuple[int, int] | None = None


def tree_entries(repository: Repository, tree: str) -> dict[str, Entry]:
    """Return all files of a tree or commit, by path. Raises GitError for anything else, and for too many files."""
    listed = run(repository, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree)
    if listed.count(b"\0") > MAX_ENTRIES:
        raise GitError(f"{tree} has more than {MAX_ENTRIES:,} files")
    entries = {}
    for record in listed.split(b"\0"):
        meta, _, path = record.partition(b"\t")
        match = _ENTRY.match(meta)
        if match is not None:
            entries[os.fsdecode(path)] = Entry(match[1].decode(), match[2].decode())
    return entries


def staged_entries(repository: Repository) -> dict[str, Entry]:
    """Return all files of the staging area, by path; our side of a path in conflict. Raises GitError."""
    listed = run(repository, "ls-files", "--stage", "--debug", "-z", "--full-name")
    entries: dict[str, Entry] = {}
    # An entry is `MODE SHA STAGE TAB PATH NUL`, and lines about the file as it was when it was staged.
    position = 0
    while (match := _ENTRY.match(listed, position)) is not None:
        end = listed.index(b"\0", match.end())
        path = os.fsdecode(listed[match.end() + 1 : end])
        following = listed.find(b"\0", end + 1)
        details = listed[end + 1 : following if following >= 0 else len(listed)]
        position = end + 1 + _debug_length(details)
        if match[3] in (b"0", b"2") or path not in entries:
            entries[path] = Entry(match[1].decode(), match[2].decode(), _stamp(details))
    return entries


def _debug_length(details: bytes) -> int:
    """Return the length in bytes of the indented lines at the beginning."""
    length = 0
    while details.startswith(b"  ", length):
        length = details.index(b"\n", length) + 1
    return length


def _stamp(details: bytes) -> tuple[int, int] | None:
    modified, size = _MODIFIED.search(details), _SIZE.search(details)
    if modified is None or size is None:
        return None
    return int(size[1]), int(modified[1]) * 1_000_000_000 + int(modified[2])


def blob(repository: Repository, identity: str, limit: int) -> bytes | None:
    """Return the contents of a blob; None if it has more than `limit` bytes or is not in this clone."""
    parts: list[bytes] = []
    size = 0
    try:
        with stream(repository, "cat-file", "blob", identity) as chunks:
            for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    return None
    except GitError:  # a partial clone lacks it, and nothing is fetched
        return None
    return b"".join(parts)


def earlier_blobs(repository: Repository, path: str, most: int) -> Iterator[str]:
    """Yield the earlier blobs of a path, from HEAD backwards, each once, in at most `most` commits. Raises GitError."""
    arguments = ("--raw", "-z", "--no-renames", "--no-abbrev", "--format=", f"-n{most}", "--end-of-options", "HEAD")
    listed = run(repository, "log", *arguments, "--", path)
    seen: set[str] = set()
    for match in _RAW.finditer(listed):
        for identity in (match[2].decode(), match[1].decode()):
            if identity not in seen and identity.strip("0"):
                seen.add(identity)
                yield identity


def resolve(repository: Repository, revision: str) -> str:
    """Return the commit id of a revision. Raises GitError if there is none."""
    if "\0" in revision:  # no argument of a process can contain it
        raise GitError("a revision must not contain a NUL character")
    return run(repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().split()[-1]


MAX_FILES = 200
"""Maximum files of a change that are read: a larger change has callers everywhere."""

MAX_UNTRACKED = 50
"""Maximum untracked files that are part of a change; with more of them all are only named."""

MAX_LINES, LONGEST_LINE = 2_000, 400
"""Changed lines of a change that are kept, and characters of each; the numbers of lines are always complete."""

MAX_MOVED, ALIKE = 40, 0.5
"""Deleted and added files that are compared for a rename, and the share of equal lines that makes it one."""

MAX_TRACED, MAX_TRACED_COMMITS = 8, 25
"""Changed files whose lines are followed into the history, and commits to each that are looked at."""

LINK = "120000"

UNTRACKED = Entry("100644", "")
"""The entry of a file that git does not know."""

_GONE = frozenset({files.SkipReason.VANISHED, files.SkipReason.SYMLINK, files.SkipReason.SPECIAL_FILE})
"""Reasons for which an unreadable tracked file counts as deleted: it is missing or not a regular file."""

_DECLARED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})

Opcode = tuple[str, int, int, int, int]


class Hunk(NamedTuple):
    """Neighbouring changed lines: their first line (1-based) in both texts, and those that went and came."""

    old: int
    new: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a change. `status` is added, untracked, modified, renamed (from `former`) or deleted.

    `hunks` are the changed lines, cleaned and redacted, the first `MAX_LINES` of a change.

    `ranges` are the changed lines in the present file; for deleted lines, the line before the gap. `names` are the
    qualified names of the changed definitions, `removed` those of the deleted ones. `commits` are the ids of those that
    wrote the lines which were changed, newest first.
    """

    path: str
    status: str
    ranges: tuple[Range, ...] = ()
    names: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    commits: tuple[str, ...] = ()
    former: str = ""
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between a commit (`base`) and the work tree or the staging area (`target`).

    `words` are changed lines, cleaned and redacted. `untracked` files are indexed and unknown to git: they are part of
    a change of the work tree unless there are too many. `unread` are the paths of changed files that were not read.
    `others` are changes without lines, each a path and what changed there: binary files, modes, links, submodules.
    """

    base: str
    target: str
    files: tuple[ChangedFile, ...] = ()
    words: str = ""
    untracked: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    @property
    def question(self) -> str:
        """The question of a change that comes without one: its definitions by name, else its files."""
        names = [f"`{name}`" for name in self.names]
        return " ".join(names or [file.path for file in self.files]) or f"no change in the {self.target}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs that could be told."""
        return not (self.files or self.others or self.unread)

    def file(self, path: str) -> ChangedFile | None:
        """Return the changed file with this path."""
        return next((file for file in self.files if file.path == path), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Qualified names of the changed and removed definitions; those in tests only if there are no others."""
        primary = [file for file in self.files if not is_secondary(file.path)]
        named = [name for file in primary for name in (*file.names, *file.removed)]
        named = named or [name for file in self.files for name in (*file.names, *file.removed)]
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """The options for reading a change. `prefix` is the root inside the repository, with a slash, empty at its top.

    `indexed` are the paths that may be read: the change leaves out the same files as the index.
    """

    root: Path
    prefix: str
    indexed: frozenset[str]
    limit: int
    allow: tuple[str, ...] = ()


def change_data(change: Change) -> dict[str, Any]:
    """Return a change as plain JSON values; `change_from` reads it back."""
    data: dict[str, Any] = plain(change)
    return data


def change_from(data: Mapping[str, Any]) -> Change:
    """Return the change from `change_data`. Raises TypeError or ValueError for anything else."""
    changed = [
        ChangedFile(
            **{
                **file,
                "ranges": tuple((int(start), int(end)) for start, end in file["ranges"]),
                "names": tuple(file["names"]),
                "removed": tuple(file["removed"]),
                "commits": tuple(file.get("commits", ())),
                "hunks": tuple(
                    Hunk(int(old), int(new), tuple(removed), tuple(added))
                    for old, new, removed, added in file.get("hunks", ())
                ),
            }
        )
        for file in data["files"]
    ]
    lists = {
        "files": tuple(changed), "untracked": tuple(data["untracked"]), "unread": tuple(data["unread"]),
        "others": tuple((str(path), str(what)) for path, what in data.get("others", ())),
    }  # fmt: skip
    return Change(**{**data, **lists})


def read_change(repository: Repository, options: ChangeOptions, revision: str, *, staged: bool) -> Change:
    """Return the change since a revision, in the work tree or `staged`. Raises UsageError and GitError."""
    if ".." in revision:
        raise UsageError(f"{clean_field(revision)!r} is a range: give one revision, and its difference to now is taken")
    base, old = _base(repository, revision)
    new = staged_entries(repository)
    reader = _Reader(repository, options, staged=staged)
    untracked = sorted(path for path in options.indexed if options.prefix + path not in new)
    if not staged and len(untracked) <= MAX_UNTRACKED:
        new |= {options.prefix + path: UNTRACKED for path in untracked}
    changed: list[ChangedFile] = []
    unread: list[str] = []
    others: list[tuple[str, str]] = []
    words: list[str] = []
    paths = sorted(path.removeprefix(options.prefix) for path in {*old, *new} if path.startswith(options.prefix))
    sides = {path: (old.get(options.prefix + path), new.get(options.prefix + path)) for path in paths}
    others += [(clean_field(path), what) for path in paths if (what := reader.without_lines(path, *sides[path]))]
    differing = [path for path in paths if reader.differs(path, *sides[path])]
    moved = reader.renamed({path: sides[path] for path in differing})
    for path in (path for path in differing if path not in moved.values()):
        before, now = sides[path]
        former = moved.get(path, "")
        if len(changed) >= MAX_FILES:
            unread.append(clean_field(path))
            continue
        if not reader.may_read(path, now is not None):
            others.append((clean_field(path), f"{reader.status(path, before, now)}, {reader.why_unread(path)}"))
            continue
        comparison = reader.compare(path, sides[former][0] if former else before, now, former)
        if comparison is None:
            reason = reader.why_unread(path) if not staged else "binary or too large"
            others.append((clean_field(path), f"{reader.status(path, before, now)}, {reason}"))
        elif comparison[0] is not None:
            changed.append(comparison[0])
            words += comparison[1]
        elif former:  # the same text at another place
            changed.append(ChangedFile(clean_field(path), "renamed", former=clean_field(former)))
    return Change(
        base=base,
        target="staging area" if staged else "work tree",
        files=_with_fewer_lines(changed),
        # Maximum characters of changed lines that add words to the search: they only rank what is related anyway.
        words="\n".join(words)[:4_000],
        untracked=tuple(untracked),
        unread=tuple(unread),
        others=tuple(others),
    )


def _with_fewer_lines(changed: Iterable[ChangedFile]) -> tuple[ChangedFile, ...]:
    """Return the files with the first `MAX_LINES` changed lines of all, those of production code first."""
    room, kept = MAX_LINES, {}
    for file in sorted(changed, key=lambda file: is_secondary(file.path)):
        hunks: list[Hunk] = []
        for hunk in file.hunks:
            removed, added = hunk.removed[:room], hunk.added[: max(room - len(hunk.removed), 0)]
            room -= len(removed) + len(added)
            hunks += [hunk._replace(removed=removed, added=added)] if removed or added else []
        kept[file.path] = replace(file, hunks=tuple(hunks))
    return tuple(kept[path] for path in sorted(kept))


def _base(repository: Repository, revision: str) -> tuple[str, dict[str, Entry]]:
    """Return the commit to compare with, and its files; both empty for HEAD of a branch without commits."""
    if revision == "HEAD" and head(repository) is None:
        return "", {}
    try:
        commit = resolve(repository, revision)
    except GitError:
        named = f"there is no revision {clean_field(revision)!r} here"
        if repository.shallow:
            raise UsageError(
                f"{named}: this is a shallow clone, which lacks older commits and other branches\n"
                "fetch them with `git fetch --unshallow`; in a workflow give actions/checkout `fetch-depth: 0`"
            ) from None
        raise UsageError(f"{named}: name a commit, a branch or a tag of this repository") from None
    return commit, tree_entries(repository, commit)


class _Reader:
    """Reads both sides of each file of one change."""

    def __init__(self, repository: Repository, options: ChangeOptions, *, staged: bool) -> None:
        self._repository, self._options, self._staged = repository, options, staged
        self._live: dict[str, bytes | None] = {}
        self._unreadable: set[str] = set()
        self._traced = 0
        self._staged_at = (files.stamp(repository.git_dir, "index") or (0, 0, 0))[1]

    def differs(self, path: str, old: Entry | None, new: Entry | None) -> bool:
        """Return whether the two sides may have different bytes; always false for links and submodules."""
        if any(entry is not None and entry.mode in (LINK, SUBMODULE) for entry in (old, new)):
            return False
        if new is UNTRACKED:
            return True
        if new is None or old is None or self._staged:
            return (old.blob if old is not None else "") != (new.blob if new is not None else "")
        return self._blob_now(path, new) != old.blob

    def without_lines(self, path: str, old: Entry | None, new: Entry | None) -> str:
        """Return what changed besides lines: a mode, a link, a submodule; empty if nothing did."""
        before, now = (old.mode if old is not None else ""), (new.mode if new is not None else "")
        if SUBMODULE in (before, now):
            commit = new.blob if new is not None else ""
            if not self._staged and new is not None and (inner := repository_at(self._options.root / path)) is not None:
                commit = head(inner) or commit
            was = old.blob if old is not None else ""
            return f"submodule {was[:7] or 'added'} to {commit[:7] or 'removed'}" if was != commit else ""
        live = self._live_mode(path) if new is not None and not self._staged else now
        if LINK in (before, now, live):
            target = self._link(path, live) if not self._staged and new is not None else ""
            is_equal = before == live and (
                not target or (old is not None and old.blob == _blob_id(target.encode(), old.blob))
            )
            if is_equal and (old is None or new is None or old.blob == new.blob):
                return ""
            kinds = ("added" if old is None else "removed") if LINK not in (before, live) or not live else "changed"
            return f"symbolic link {kinds}{f', to {clean_field(target)}' if target else ''}"
        is_mode = old is not None and new is not None and live and before != live
        return f"mode {before} to {live}" if is_mode else ""

    def _live_mode(self, path: str) -> str:
        """Return the mode of a file on disk as git writes it, empty where there is none."""
        try:
            mode = os.lstat(self._options.root / path).st_mode
        except OSError:
            return ""
        if stat.S_ISLNK(mode):
            return LINK
        return ("100755" if mode & stat.S_IXUSR else "100644") if stat.S_ISREG(mode) else ""

    def _link(self, path: str, live: str) -> str:
        if live != LINK:
            return ""
        try:
            return os.readlink(self._options.root / path)  # noqa: PTH115 - a Path has no slash at its end
        except OSError:  # it is gone since
            return ""

    def status(self, path: str, old: Entry | None, new: Entry | None) -> str:
        """Return what happened to a file that is not a renamed one."""
        if new is UNTRACKED:
            return "untracked"
        return "added" if old is None else "deleted" if self._is_gone(path, new) else "modified"

    def why_unread(self, path: str) -> str:
        """Return why a changed file is not read."""
        if sanitize.unfit_path(path) is not None:
            return "not read, because it may contain secrets"
        raw = self._read(path) if not self._staged else None
        if raw is not None and files.decode(raw) is None:
            return "binary"
        return "not indexed"

    def renamed(self, sides: Mapping[str, tuple[Entry | None, Entry | None]]) -> dict[str, str]:
        """Return the new paths of renamed files with their former paths: equal bytes first, then most equal lines."""
        gone = [path for path, (old, new) in sides.items() if old is not None and self._is_gone(path, new)]
        come = [path for path, (old, new) in sides.items() if old is None and new is not None]
        moved: dict[str, str] = {}
        if not gone or not come or max(len(gone), len(come)) > MAX_MOVED:
            return moved
        pairs: list[tuple[float, str, str]] = []
        texts = {path: self._lines_of(path, *sides[path]) for path in (*gone, *come)}
        for path in come:
            for former in gone:
                (_, now), (was, _) = sides[path], sides[former]
                is_same = was is not None and now is not None and self._blob_of(path, now) == was.blob
                pairs.append((2.0 if is_same else _likeness(texts[former], texts[path]), path, former))
        for likeness, path, former in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
            if likeness >= ALIKE and path not in moved and former not in moved.values():
                moved[path] = former
        return moved

    def _is_gone(self, path: str, new: Entry | None) -> bool:
        return new is None or (not self._staged and self._read(path) is None and path not in self._unreadable)

    def _blob_of(self, path: str, new: Entry) -> str:
        return new.blob if self._staged else self._blob_now(path, new)

    def _lines_of(self, path: str, old: Entry | None, new: Entry | None) -> Counter[str]:
        if not self.may_read(path, new is not None):
            return Counter()
        is_old = old is not None
        text = self._text(path, blob(self._repository, old.blob, self._options.limit)) if old is not None else None
        text = text if is_old else self._now(path, new)[0]
        return Counter(line.strip() for line in (text or "").split("\n") if line.strip())

    def _blob_now(self, path: str, new: Entry) -> str:
        """Return the blob id of the file on disk; the staged one if the file was not modified since."""
        stamp = files.stamp(self._options.root, path)
        # A file written in the same instant as the staging area may have changed unnoticed since.
        if stamp is not None and new.stamp == stamp[:2] and stamp[1] < self._staged_at:
            return new.blob
        raw = self._read(path)
        if raw is None:
            return ""
        return _blob_id(raw, new.blob)

    def _read(self, path: str) -> bytes | None:
        if path not in self._live:
            try:
                self._live[path] = files.read_bytes(self._options.root, path, limit=self._options.limit).raw
            except files.Skipped as skip:
                self._live[path] = None
                if skip.reason not in _GONE:
                    self._unreadable.add(path)
        return self._live[path]

    def may_read(self, path: str, is_tracked: bool) -> bool:
        """Return whether the contents may be read: an indexed file, or a deleted one that is not for secrets."""
        if path in self._unreadable:
            return False
        if path in self._options.indexed:
            return True
        gone = not is_tracked or files.stamp(self._options.root, path) is None
        return gone and sanitize.unfit_path(path) is None

    def compare(
        self, path: str, old: Entry | None, new: Entry | None, former: str = ""
    ) -> tuple[ChangedFile | None, list[str]] | None:
        """Return the changed file and its changed lines: (None, []) if none differs, None if a side is unreadable."""
        source = former or path
        before = "" if old is None else self._text(source, blob(self._repository, old.blob, self._options.limit))
        after, is_gone = self._now(path, new)
        if before is None or after is None:
            return None
        status = "deleted" if is_gone else "renamed" if former else self.status(path, old, new)
        changed, lines, were_there = _compared(clean_field(path), status, before, after)
        if changed is not None and status in ("modified", "renamed") and self._traced < MAX_TRACED:
            self._traced += 1
            commits = writers(self._repository, self._options.prefix + source, were_there, self._options.limit)
            changed = replace(changed, commits=tuple(commits), former=clean_field(former))
        return changed, lines

    def _now(self, path: str, new: Entry | None) -> tuple[str | None, bool]:
        """Return the text of the new side (None if it cannot be read), and whether the file is gone."""
        if new is None:
            return "", True
        if self._staged:
            return self._text(path, blob(self._repository, new.blob, self._options.limit)), False
        raw = self._read(path)
        return ("", True) if raw is None else (self._text(path, raw), False)

    def _text(self, path: str, raw: bytes | None) -> str | None:
        decoded = files.decode(raw) if raw is not None else None
        if decoded is None:
            return None
        return redact(clean_text(readable(path, decoded[0]))[0], allow=self._options.allow)[0]


def _blob_id(raw: bytes, like: str) -> str:
    """Return the id of a blob, by the hash function of another id."""
    made = sha256 if len(like) == 64 else sha1
    return made(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def _likeness(before: Counter[str], after: Counter[str]) -> float:
    """Return the share of equal lines in two texts, 0 to 1."""
    return 2 * (before & after).total() / max(before.total() + after.total(), 1)


def writers(repository: Repository, path: str, lines: Iterable[str], limit: int) -> Iterator[str]:
    """Yield the commits, newest first, that wrote any of these lines of a file: it has the line, its parent has not."""
    wanted, commit = {line.strip() for line in lines} - {""}, ""
    arguments = ("--raw", "-z", "--no-renames", "--no-abbrev", "--format=commit %H", f"-n{MAX_TRACED_COMMITS}")
    try:
        listed = run(repository, "log", *arguments, "--end-of-options", "HEAD", "--", path)
    except GitError:  # a shallow or partial clone
        return
    for match in _LOGGED.finditer(listed):
        commit = match[1].decode() if match[1] else commit
        if match[1] or not wanted:
            continue
        sides = ((blob(repository, match[side].decode(), limit) or b"").decode("utf-8", "replace") for side in (2, 3))
        old, new = ({line.strip() for line in text.split("\n")} for text in sides)
        written = (wanted & new) - old
        wanted -= written
        if written:
            yield commit


def _compared(path: str, status: str, before: str, after: str) -> tuple[ChangedFile | None, list[str], list[str]]:
    """Return what changed, the lines that came and went, and those that were there: replaced, or around new ones."""
    old, new = before.split("\n"), after.split("\n")
    steps = [step for step in opcodes(old, new) if step[0] != "equal"]
    if not steps:
        return None, [], []
    gone_lines = [(first + 1, last) for _, first, last, _, _ in steps if last > first]
    come_lines = [(first + 1, last) for _, _, _, first, last in steps if last > first]
    # Deleted lines have the range of the line before the gap.
    ranges = tuple((first + 1, last) if last > first else (max(first, 1), max(first, 1)) for *_, first, last in steps)
    names_before = touched_names(path, before, _written(old, gone_lines))
    names = dict.fromkeys(touched_names(path, after, _written(new, come_lines)))
    still = frozenset(_all_names(path, after))
    names |= dict.fromkeys(name for name in names_before if name in still)
    changed = ChangedFile(
        path=path,
        status=status,
        ranges=ranges if status != "deleted" else (),
        names=tuple(names),
        removed=tuple(name for name in names_before if name not in still),
        hunks=tuple(
            Hunk(first + 1, other + 1, _short(old[first:last]), _short(new[other:end]))
            for _, first, last, other, end in steps
        ),
        insertions=sum(end - start + 1 for start, end in come_lines),
        deletions=sum(end - start + 1 for start, end in gone_lines),
    )
    lines = [line for start, end in come_lines for line in new[start - 1 : end]]
    lines += [line for start, end in gone_lines for line in old[start - 1 : end]]
    beside = ((first - 1, last + 1) if first == last else (first, last) for _, first, last, *_ in steps)
    former = [line for first, last in beside for line in old[max(first, 0) : last]]
    return changed, [line.strip() for line in lines if line.strip()], former


def _short(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines[:MAX_LINES])


def _written(lines: Sequence[str], ranges: Iterable[Range]) -> list[Range]:
    """Return the ranges without blank lines at their ends: those do not change the definition above."""
    kept = []
    for start, end in ranges:
        while start <= end and not lines[start - 1].strip():
            start += 1
        while start <= end and not lines[end - 1].strip():
            end -= 1
        if start <= end:
            kept.append((start, end))
    return kept


def _equal_lines(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of first lines that are equal."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Return the steps from one list of lines to the other, as in difflib (0-based, ends exclusive)."""
    first = _equal_lines(old, new)
    last = _equal_lines(old[first:][::-1], new[first:][::-1])
    old_middle, new_middle = old[first : len(old) - last], new[first : len(new) - last]
    if not old_middle and not new_middle:
        return []
    if max(len(old_middle), len(new_middle)) > MAX_COMPARED_LINES or not old_middle or not new_middle:
        return [("replace", first, first + len(old_middle), first, first + len(new_middle))]
    from difflib import SequenceMatcher  # here, because only an edited file needs it

    steps = SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_opcodes()
    return [(tag, a + first, b + first, c + first, d + first) for tag, a, b, c, d in steps]


def touched_names(path: str, text: str, ranges: Iterable[Range]) -> list[str]:
    """Return the qualified names of the definitions with any of these lines, in file order."""
    spans = list(ranges)
    if not spans:
        return []
    names = []
    for part in _parts(path, text):
        inside = [(start, end) for start, end in spans if start <= part.end and part.start <= end]
        if not inside:
            continue
        if part.name and part.role in _DECLARED:
            names.append(part.name)
        names += [name for name, line in _constants(part) if any(start <= line <= end for start, end in inside)]
    return list(dict.fromkeys(names))


def _all_names(path: str, text: str) -> list[str]:
    parts = _parts(path, text)
    declared = [part.name for part in parts if part.role in _DECLARED]
    return declared + [name for part in parts for name, _ in _constants(part)]


def _constants(part: Part) -> list[tuple[str, int]]:
    """Return the names that a gap defines, with their lines: constants, type aliases."""
    if part.name:
        return []
    return [
        (f"{definition.owner}.{definition.name}" if definition.owner else definition.name, definition.line)
        for definition in part.definitions
    ]


def _parts(path: str, text: str) -> tuple[Part, ...]:
    return outline_file(path, text)[1].parts
