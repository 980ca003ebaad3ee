"""Decides which files of a tree are read into the index, and which are left out, counted by reason.

What git tracks is read, whatever its name and whatever `.gitignore` says: git itself never ignores a tracked file. For
the rest the habits of ripgrep count: symbolic links are not followed; `.gitignore` counts inside a git repository,
`.ignore` and `.satchelignore` everywhere, for tracked files too; deeper files of rules win over those above,
`.satchelignore` over `.ignore` over `.gitignore` over `.git/info/exclude` over the user's ignore file of git; hidden
names are left out unless `.ignore` or `.satchelignore` include them by a `!` pattern. Only these files of rules and the
index of git are opened. Folders are visited in the order of their names, so equal trees give equal results, skipped
paths included.
"""

from __future__ import annotations

import errno
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import NoIndexError
from satchel.index.ignore import Rules, is_hidden, is_vendored, parse_rules, reason_of_name
from satchel.safety import sanitize
from satchel.system import git
from satchel.system.files import Skipped, SkipReason, escape_name, is_odd_name, is_secret_file, read_bytes
from satchel.system.git_index import Tracked, global_ignore_file, tracked
from satchel.text import composed
from satchel.types import ShouldStop, never

TAG_BYTES = 1_000_000
"""A larger file `CACHEDIR.TAG` is not one."""

MAX_SKIPPED = 100_000
"""Skipped paths of one reason that are known by name."""

RULE_BYTES = 4_000_000
"""A larger file of rules is not read, and a note says so."""

_CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"  # bford.info/cachedir
_BARE_REPOSITORY = frozenset(("HEAD", "objects", "refs"))
_VENDOR_MARKS = frozenset(("pyvenv.cfg", "modules.txt", "autoload.php"))  # the last two in folders named `vendor`
_UNLESS_TRACKED = frozenset((SkipReason.VENDORED, SkipReason.NESTED_REPOSITORY))
_RULE_FILES = (".satchelignore", ".ignore", ".gitignore")  # strongest first
_GITIGNORE = _RULE_FILES.index(".gitignore")
# Listing through a descriptor makes sure that a folder is listed, not a link that took its place.
_CAN_LIST_DESCRIPTOR = os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")
_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class WalkOptions(Struct, frozen=True):
    """Limits of a walk. Globs are those of `.gitignore`, relative to the root.

    Files that match a glob of `include`, or are in a folder that does, are read although they are hidden or ignored;
    `exclude` wins. `stores` are files and folders of satchel itself: recognised by device and inode, never touched.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False
    max_files: int = 1_000_000  # beyond it the root is probably wrong: a home folder, a mounted disk
    # Folders inside each other; the deepest honest tree seen has 30, and a path has at most 4,096 bytes.
    max_depth: int = 128
    one_file_system: bool = True
    stores: tuple[Path, ...] = ()


class FileEntry(Struct, frozen=True):
    """A file worth reading: its path below the root with forward slashes, size in bytes, and its times.

    Any program can set `mtime_ns` back; only the system sets `changed_ns` (of the inode). Equal size and times mean
    an unchanged file.
    """

    path: str
    size: int
    mtime_ns: int
    changed_ns: int

    @property
    def times(self) -> tuple[int, int, int]:
        """Size in bytes, `mtime_ns` and `changed_ns`."""
        return self.size, self.mtime_ns, self.changed_ns


class TreeWalk(Struct, frozen=True):
    """The result of a walk, sorted by path.

    `skipped` counts by reason; a folder left out counts once, whatever its size. `skipped_paths` has the first
    `MAX_SKIPPED` of each reason as printable text. `errors` counts those that could not be read. `notes` are
    limits that were hit in files of rules. After a stop, `stopped` is true and a missing path means nothing.
    """

    entries: tuple[FileEntry, ...]
    skipped: Mapping[str, int]
    skipped_paths: Mapping[str, tuple[str, ...]]
    errors: int = 0
    notes: tuple[str, ...] = ()
    stopped: bool = False


def walk(
    root: Path,
    options: WalkOptions | None = None,
    *,
    safe: Set[str] = frozenset(),
    should_stop: ShouldStop = never,
) -> TreeWalk:
    """Find the files below `root`. Raises NoIndexError where `root` is not a folder that can be listed.

    Paths in `safe` have no secret and no hidden characters by an earlier walk, and are not checked again.
    """
    return _Walker(root, options or WalkOptions(), safe, should_stop).run()


class _Layer(NamedTuple):
    """One file of rules; its strength is its index in `_RULE_FILES`, then `.git/info/exclude`, then the user's file."""

    strength: int
    rules: Rules


class _Folder(Struct, frozen=True):
    """A folder to visit: its prefix (`src/`), rules from strong to weak, and whether an `include` glob matched it.

    `why` is the reason why files in it are left out that are neither tracked nor included, None for most folders.
    """

    prefix: str
    depth: int
    layers: tuple[_Layer, ...]
    included: bool = False
    why: SkipReason | None = None


class _Walker:
    """One walk: the folders still to visit and the results so far."""

    def __init__(self, root: Path, options: WalkOptions, safe: Set[str], should_stop: ShouldStop) -> None:
        self._root = root
        self._options = options
        self._safe = safe
        self._should_stop = should_stop
        self._repository = git.find_repository(root)
        self._include = Rules(options.include)
        self._leading = Rules(_leading(options.include))
        self._exclude = Rules(options.exclude)
        self._below_top = ""
        self._stores = _identities(options.stores)
        self._store_inodes = {inode for _, inode in self._stores}
        self._device = -1
        self._pending: list[_Folder] = []
        self._entries: list[FileEntry] = []
        self._skipped: Counter[str] = Counter()
        self._skipped_paths: dict[str, list[str]] = {}
        self._errors = 0
        self._notes: list[str] = []
        self._stopped = False

    def run(self) -> TreeWalk:
        """Visit every folder. Raises NoIndexError where the root cannot be listed."""
        try:
            self._device = self._root.stat().st_dev
            with os.scandir(self._root):
                pass
        except OSError as error:
            raise NoIndexError(
                f"{escape_name(str(self._root))} is not a folder that can be read: {error.strerror}"
            ) from error
        self._pending.append(_Folder("", 0, self._layers_above()))
        while self._pending and not self._stopped:
            folder = self._pending.pop()
            try:
                self._visit(folder)
            except OSError as error:
                self._skip(_reason_of(error), folder.prefix.rstrip("/"))
        self._skip_absent()
        unfit = sanitize.unfit_paths(entry.path for entry in self._entries if entry.path not in self._safe)
        for path, reason in unfit.items():
            self._skip(reason, sanitize.text(path))
        return TreeWalk(
            entries=tuple(sorted((e for e in self._entries if e.path not in unfit), key=lambda entry: entry.path)),
            skipped=dict(sorted(self._skipped.items())),
            skipped_paths={reason: tuple(paths) for reason, paths in sorted(self._skipped_paths.items())},
            errors=self._errors,
            notes=tuple(self._notes),
            stopped=self._stopped,
        )

    def _visit(self, folder: _Folder) -> None:
        # Without the last slash, which would follow a link. The root itself may be one.
        path = f"{self._root}/{folder.prefix[:-1]}"
        descriptor = os.open(path, _LIST) if _CAN_LIST_DESCRIPTOR else -1
        try:
            device = (os.fstat(descriptor) if descriptor >= 0 else os.lstat(path)).st_dev
            if self._options.one_file_system and device != self._device:
                self._skip(SkipReason.OTHER_FILE_SYSTEM, folder.prefix.rstrip("/"))
                return
            with os.scandir(descriptor if descriptor >= 0 else path) as listing:
                entries = sorted(listing, key=attrgetter("name"))
            self._look_at(folder, entries)
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _look_at(self, folder: _Folder, entries: list[os.DirEntry[str]]) -> None:
        """Sort the entries of a folder into files, folders to visit, and skipped ones."""
        names = {entry.name for entry in entries}
        reason = self._reason_for_contents(folder, names) if folder.prefix else None
        if reason is not None:
            if reason not in _UNLESS_TRACKED or not self._is_tracked(folder.prefix[:-1], is_folder=True):
                self._skip(reason, folder.prefix.rstrip("/"))
                return
            folder = replace(folder, why=folder.why or reason)
        folder = self._with_own_rules(folder, names)
        inner: list[_Folder] = []
        for number, entry in enumerate(entries, 1):
            # entries between two checks for a stop; they take about 10 ms
            if number % 1_000 == 1 and self._should_stop():
                self._stopped = True
                return
            reason = self._add(folder, entry, inner) if entry.name != ".git" else None
            if reason is not None:
                self._skip(reason, folder.prefix + entry.name)
        self._pending.extend(reversed(inner))

    def _add(self, folder: _Folder, entry: os.DirEntry[str], inner: list[_Folder]) -> SkipReason | None:
        """Add a file, or a folder to `inner`, or return why it is skipped."""
        # macOS opens a file by its composed name too, as git and people write it.
        name = composed(entry.name) if sys.platform == "darwin" else entry.name
        path = folder.prefix + name
        try:
            if (reason := self._reason_for_entry(entry)) is not None:
                return reason
            is_folder = entry.is_dir(follow_symlinks=False)
            return self._add_folder(folder, name, path, inner) if is_folder else self._add_file(folder, entry, path)
        except OSError as error:
            return _reason_of(error)

    def _reason_for_entry(self, entry: os.DirEntry[str]) -> SkipReason | None:
        """Return why an entry is skipped for its type, whatever its name. Raises OSError."""
        if is_odd_name(entry.name):
            return SkipReason.ODD_NAME
        if entry.is_symlink():
            return SkipReason.SYMLINK
        if entry.inode() in self._store_inodes:
            status = entry.stat(follow_symlinks=False)
            if (status.st_dev, status.st_ino) in self._stores:
                return SkipReason.STORE
        if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
            return SkipReason.SPECIAL_FILE
        return None

    def _add_folder(self, folder: _Folder, name: str, path: str, inner: list[_Folder]) -> SkipReason | None:
        included = folder.included or _names(self._include, name, path, is_folder=True)
        leads = included or _names(self._leading, name, path, is_folder=True)
        if is_vendored(name) and not leads:
            is_tracked = self._is_tracked(path, is_folder=True)
            return SkipReason.VENDORED_TRACKED if is_tracked else SkipReason.VENDORED
        why = self._reason_for_rules(folder, name, path, is_folder=True)
        if why is not None and not leads and (reason := self._final(why, path, is_folder=True)) is not None:
            return reason
        if _names(self._exclude, name, path, is_folder=True):
            return SkipReason.EXCLUDED
        if folder.depth >= self._options.max_depth:
            return SkipReason.TOO_DEEP
        inner.append(_Folder(f"{path}/", folder.depth + 1, folder.layers, included, why))
        return None

    def _add_file(self, folder: _Folder, entry: os.DirEntry[str], path: str) -> SkipReason | None:
        """Add a file, or return why it is skipped. Raises OSError."""
        name = entry.name
        if is_secret_file(path):
            return SkipReason.SECRET_FILE
        why = self._reason_for_rules(folder, name, path, is_folder=False)
        if why is not None and not (folder.included or _names(self._include, name, path, is_folder=False)):
            reason = self._final(why, path, is_folder=False)
            if reason is not None:
                return reason
        if _names(self._exclude, name, path, is_folder=False):
            return SkipReason.EXCLUDED
        if (reason := reason_of_name(name)) is not None:
            return reason
        if len(self._entries) >= self._options.max_files:
            return SkipReason.TOO_MANY
        status = entry.stat(follow_symlinks=False)
        self._entries.append(FileEntry(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        return None

    def _reason_for_rules(self, folder: _Folder, name: str, path: str, *, is_folder: bool) -> SkipReason | None:
        """Return why an entry is left out unless git tracks it or a setting includes it."""
        is_visible = self._options.hidden
        for strength, rules in folder.layers:
            is_ignored = rules.match(name, path, is_folder=is_folder)
            if is_ignored:
                return SkipReason.IGNORED if strength >= _GITIGNORE else SkipReason.RULED_OUT
            if is_ignored is not None:
                # A name that `.gitignore` re-includes is no longer ignored, but still hidden.
                is_visible = is_visible or strength < _GITIGNORE
                break
        if folder.why is not None:
            return folder.why
        return SkipReason.HIDDEN if not is_visible and is_hidden(name, is_folder=is_folder) else None

    def _final(self, why: SkipReason, path: str, *, is_folder: bool) -> SkipReason | None:
        """Return the reason that is counted, None for what git tracks. Rules that are not git's count for that, too."""
        if not self._is_tracked(path, is_folder=is_folder):
            return SkipReason.IGNORED if why is SkipReason.RULED_OUT else why
        return why if why is SkipReason.RULED_OUT else None

    def _is_tracked(self, path: str, *, is_folder: bool) -> bool:
        return self._tracked.has(self._below_top + path, is_folder=is_folder)

    @cached_property
    def _tracked(self) -> Tracked:
        """What git tracks, read when the first entry would be left out."""
        return tracked(self._repository) if self._repository is not None else Tracked()

    def _skip_absent(self) -> None:
        """Count the tracked files that a sparse checkout leaves out of the work tree."""
        if self._repository is None or not (self._repository.git_dir / "info" / "sparse-checkout").is_file():
            return
        for path in map(os.fsdecode, self._tracked.absent):
            if path.startswith(self._below_top):
                self._skip(SkipReason.NOT_CHECKED_OUT, path[len(self._below_top) :])

    def _reason_for_contents(self, folder: _Folder, names: set[str]) -> SkipReason | None:
        """Return why the content of a folder skips it: another repository, or the output of a tool."""
        if not names and self._repository is not None and self._is_submodule(folder.prefix[:-1]):
            return SkipReason.SUBMODULE
        repository = git.repository_at(self._root / folder.prefix) if ".git" in names else None
        if repository is not None:
            outer = self._repository
            is_submodule = outer is not None and repository.git_dir.is_relative_to(outer.common_dir / "modules")
            return SkipReason.SUBMODULE if is_submodule else SkipReason.NESTED_REPOSITORY
        if names.issuperset(_BARE_REPOSITORY):
            return SkipReason.NESTED_REPOSITORY
        marks = _VENDOR_MARKS if folder.prefix.endswith("vendor/") else {"pyvenv.cfg"}
        is_cache = "CACHEDIR.TAG" in names and self._starts_with(folder.prefix + "CACHEDIR.TAG", _CACHE_TAG)
        return SkipReason.VENDORED if is_cache or not names.isdisjoint(marks) else None

    def _is_submodule(self, path: str) -> bool:
        return os.fsencode(self._below_top + path) in self._tracked.submodules

    def _starts_with(self, path: str, signature: bytes) -> bool:
        try:
            return read_bytes(self._root, path, limit=TAG_BYTES).raw.startswith(signature)
        except Skipped:
            return False

    def _with_own_rules(self, folder: _Folder, names: set[str]) -> _Folder:
        """Return the folder with its own files of rules, the strongest of their kind for its content."""
        own = []
        for strength, name in enumerate(_RULE_FILES):
            if name in names and (strength < _GITIGNORE or self._repository is not None):
                own += self._read_layer(strength, self._root, folder.prefix + name, base=folder.prefix)
        return replace(folder, layers=_by_strength((*own, *folder.layers))) if own else folder

    def _layers_above(self) -> tuple[_Layer, ...]:
        """Return the rules between the top of the work tree and the root, nearest first, and git's for all of it."""
        if self._repository is None:
            return ()
        top = self._repository.work_tree
        steps = self._root.resolve().relative_to(top).parts
        layers: list[_Layer] = []
        for depth in reversed(range(len(steps))):
            above = "/".join(steps[depth:]) + "/"
            for strength, name in enumerate(_RULE_FILES):
                layers += self._read_layer(strength, top, "/".join((*steps[:depth], name)), above=above)
        above = "/".join(steps) + "/" if steps else ""
        self._below_top = above
        layers += self._read_layer(_GITIGNORE + 1, self._repository.common_dir, "info/exclude", above=above)
        if (own := global_ignore_file()) is not None:
            layers += self._read_layer(_GITIGNORE + 2, own.parent, own.name, above=above)
        return _by_strength(layers)

    def _read_layer(self, strength: int, root: Path, path: str, *, base: str = "", above: str = "") -> list[_Layer]:
        """Return the rules of one file in a list, empty if there are none."""
        try:
            raw = read_bytes(root, path, limit=RULE_BYTES).raw
        except Skipped as skipped:
            if skipped.reason in (SkipReason.TOO_LARGE, SkipReason.UNREADABLE):
                self._notes.append(f"rules of {escape_name(path)} not applied: {skipped}")
            return []
        rules = parse_rules(raw, base=base, above=above)
        if rules.dropped:
            self._notes.append(f"rules of {escape_name(path)}: {rules.dropped} patterns over the limit not applied")
        return [_Layer(strength, rules)] if len(rules) else []

    def _skip(self, reason: SkipReason, path: str) -> None:
        self._skipped[reason.value] += 1
        self._errors += reason.is_error
        paths = self._skipped_paths.setdefault(reason.value, [])
        if len(paths) < MAX_SKIPPED:
            paths.append(escape_name(path))


def _names(globs: Rules, name: str, path: str, *, is_folder: bool) -> bool:
    """Return whether one of the globs of a setting, mostly none, names an entry."""
    return len(globs) > 0 and globs.match(name, path, is_folder=is_folder) is True


def _leading(globs: Iterable[str]) -> list[str]:
    """Return globs of the folders on the way to what these globs name: of `build/*/out.py`, `/build/` and `/build/*/`.

    Without a slash inside a glob says nothing about its folder; then an ignored folder is not entered.
    """
    ways: list[str] = []
    for glob in globs:
        steps = glob.strip("/").split("/")
        if steps[0] != "**":
            ways += [f"/{'/'.join(steps[:length])}/" for length in range(1, len(steps))]
    return ways


def _by_strength(layers: Iterable[_Layer]) -> tuple[_Layer, ...]:
    """Sort the strongest kind first; within a kind the order stays, nearest first."""
    return tuple(sorted(layers, key=attrgetter("strength")))


def _reason_of(error: OSError) -> SkipReason:
    if error.errno == errno.ENOENT:
        return SkipReason.VANISHED
    # A folder that is now a link was replaced since it was listed.
    return SkipReason.SYMLINK if error.errno in (errno.ELOOP, errno.ENOTDIR) else SkipReason.UNREADABLE


def _identities(stores: Iterable[Path]) -> frozenset[tuple[int, int]]:
    """Return device and inode of each existing store file or folder, and of the journals of SQLite."""
    identities = set()
    for store in stores:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                status = store.with_name(store.name + suffix).stat()
                identities.add((status.st_dev, status.st_ino))
    return frozenset(identities)
