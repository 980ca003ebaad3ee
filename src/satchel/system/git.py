"""git as a reader of history, safe on a repository that somebody else prepared.

A repository carries its own configuration, and many keys of it name programs: file system monitors, hooks, filters,
text converters, signature checkers, transports. So satchel finds repositories by reading files itself, runs only the
few commands of `_GUARDS`, none of which reads the work tree, and disables by argument and environment every program
that those commands could start. The work tree is never given to git: files are read by `satchel.system.files`.

git refuses to *discover* repositories of other users (`safe.directory`), because then even these keys are theirs.
We name the repository instead of letting git discover it, which git accepts as consent: with every key disabled,
reading the history of another user is harmless.

`subprocess` is imported where it is used, because a question to an index that is up to date starts no process.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import product
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from satchel.errors import GitError
from satchel.system.files import Skipped, escape_name, read_bytes
from satchel.text import pattern
from satchel.types import ShouldStop, never

if TYPE_CHECKING:
    import subprocess

SILENCE_LIMIT, SECOND_SILENCE_LIMIT = 10.0, 0.5
"""Maximum seconds without output before git is killed, and the same for a repository whose git was silent before: it is
not waited for twice. The first commit of a million arrives in under 2 s."""

TOTAL_LIMIT = 600.0
"""Maximum seconds of one git command, talking or not. The history of a million commits is listed in one minute."""

OUTPUT_LIMIT = 128 << 20
"""Maximum bytes of output that are kept as a whole: the names of a million files."""

MEMORY_LIMIT = 2 << 30
"""Maximum bytes of address space of git (on Linux): a few objects can describe billions of files. Packs are mapped in
parts, so that large ones need no more."""

_LOOK_SECONDS = 0.1  # between two checks of `should_stop`
_MAX_EXAMINED = 200_000  # entries of `.git` looked at before git runs, in 0.2 s; a fresh clone has about a hundred
_NOT_OPENED = frozenset({"hooks", "logs", "modules", "worktrees", "lfs", "annex"})  # folders that no command here reads
_CONFIGS = ("config", "config.worktree")
_patience: dict[Path, float] = {}  # of repositories whose git was silent
_OBJECT_ID = pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

# The only commands that satchel runs, each with arguments that override the configuration:
# signatures, external programs and text converters off; mailmap, notes and order files not opened; one format.
_LOG_GUARDS = (
    *("--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-mailmap", "--no-notes", "--no-color"),
    *("--no-relative", "--root", "--ignore-submodules=all", "-O/dev/null", "--encoding=UTF-8"),
)
_GUARDS: Mapping[str, tuple[str, ...]] = {
    "log": _LOG_GUARDS,
    "rev-list": (),
    "rev-parse": (),
    "ls-tree": (),
    "ls-files": (),
    "cat-file": (),
    "diff-tree": ("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "-O/dev/null"),
}
_CONFIGURATION = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "core.packedGitWindowSize=64m"),
    *("-c", "core.packedGitLimit=512m"),
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # A `protocol.ext.allow` of the repository overrules `protocol.allow=never`; nothing overrules this list.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C",
}


class Repository(Struct, frozen=True):
    """The folders of a repository, and the completeness of its history.

    `git_dir` belongs to one work tree, `common_dir` is shared by all of them (the same folder where there is only
    one). `shallow`: older commits are missing. `partial`: file contents (or folders) of old commits may be missing.
    `refusal`: why nothing is read, where `.git` leads to a repository that does not name this folder. Both folders are
    then the work tree, so that nothing of that repository is this one's.
    """

    work_tree: Path
    git_dir: Path
    common_dir: Path
    shallow: bool = False
    partial: bool = False
    refusal: str = ""


def find_repository(path: Path) -> Repository | None:
    """Return the repository whose work tree contains `path`, by its `.git` entry, or None. Starts no process."""
    try:
        start = path.resolve()
    except (OSError, RuntimeError):  # a loop of links, or a current folder that was deleted
        return None
    return next(filter(None, map(repository_at, (start, *start.parents))), None)


def repository_at(folder: Path) -> Repository | None:
    """Return the repository whose work tree begins exactly at `folder`, or None."""
    git_dir = _git_dir(folder)
    if git_dir is None:
        return None
    common_dir = git_dir
    pointer = _small_text(git_dir, "commondir")
    if pointer is not None:
        common_dir = Path(os.path.normpath(git_dir / pointer.rstrip("\r\n")))
    has_head = stat.S_ISREG(_mode(git_dir / "HEAD")) or stat.S_ISLNK(_mode(git_dir / "HEAD"))
    if not (has_head and (common_dir / "objects").is_dir() and (common_dir / "refs").is_dir()):
        return None
    if not _is_own(folder, git_dir, common_dir):
        reason = (
            "its .git leads to a repository that does not name this folder; `git worktree repair` names a moved one"
        )
        return Repository(folder, folder, folder, refusal=reason)
    return Repository(
        work_tree=folder,
        git_dir=git_dir,
        common_dir=common_dir,
        shallow=stat.S_ISREG(_mode(common_dir / "shallow")),
        partial=_is_partial(common_dir),
    )


_WORK_TREE = pattern(r'^[ \t]*worktree[ \t]*=[ \t]*"?([^"\n]+?)"?[ \t]*$', re.MULTILINE | re.IGNORECASE)
_INCLUDE = pattern(r"\[\s*include", re.IGNORECASE)


def _is_own(folder: Path, git_dir: Path, common_dir: Path) -> bool:
    """Return whether a repository is part of the work tree, or names it: only its owner could have written that.

    A linked work tree is named by `worktrees/NAME/gitdir`, a submodule by `core.worktree`. Without such a name an
    unpacked archive could show the history of any repository of the user as its own.
    """
    entry = folder / ".git"
    if common_dir != git_dir:
        pointer = _small_text(git_dir, "gitdir")
        is_linked = git_dir.parent == common_dir / "worktrees"
        return is_linked and pointer is not None and _same(git_dir / pointer.rstrip("\r\n"), entry)
    if git_dir == entry and not entry.is_symlink():
        return True
    configs = "\n".join(_small_text(git_dir, name) or "" for name in _CONFIGS)
    return any(_same(git_dir / path, folder) for path in _WORK_TREE.findall(configs))


def _same(path: Path, other: Path) -> bool:
    with suppress(ValueError):  # a NUL
        return os.path.realpath(path) == os.path.realpath(other)
    return False


@lru_cache(maxsize=64)
def _obstacle(repository: Repository, _minute: int) -> str:
    """Return why git must not open the files of a repository (pipes, links to foreign objects), kept for a minute."""
    own = [repository.common_dir.resolve(), repository.git_dir.resolve()]
    pending = own[:]
    examined = 0
    while pending and examined < _MAX_EXAMINED:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                examined += 1
                if entry.name in _NOT_OPENED:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))
                elif not entry.is_file(follow_symlinks=False) and (reason := _unfit_entry(entry, own)):
                    return reason
    if examined >= _MAX_EXAMINED:
        return f".git has more than {_MAX_EXAMINED:,} files; `git gc` packs them"
    return unfit_config(repository)


def unfit_config(repository: Repository) -> str:
    """Return why git must not read the configuration of a repository, empty if it may."""
    own = dict.fromkeys((repository.common_dir.resolve(), repository.git_dir.resolve()))
    for folder, name in product(own, _CONFIGS):
        if (text := _small_text(folder, name)) is None and _mode(folder / name):
            return f"{name} in .git cannot be examined"
        # What is included may be anything, a pipe as well, and git has more spellings of it than a check.
        if _INCLUDE.search(text or ""):
            return f"{name} in .git includes other files, which are not read"
    return ""


def _unfit_entry(entry: os.DirEntry[str], own: Sequence[Path]) -> str:
    target = Path(entry.path).resolve()
    if entry.is_symlink() and target.exists() and not any(map(target.is_relative_to, own)):
        return f"{entry.name} in .git is a link to another place"
    is_blocking = target.is_fifo() or target.is_char_device() or target.is_block_device()
    return f"{entry.name} in .git is a pipe or a device" if is_blocking else ""


def other_work_trees(repository: Repository) -> list[Path]:
    """Return the other work trees of a repository. Each has to name this repository itself, too."""
    common = repository.common_dir
    folders = [common.parent]
    with suppress(OSError):
        pointers = [_small_text(entry, "gitdir") for entry in sorted((common / "worktrees").iterdir())]
        folders += [Path(pointer.rstrip("\r\n")).parent for pointer in pointers if pointer]
    candidates = (repository_at(folder.resolve()) for folder in folders if folder.resolve() != repository.work_tree)
    return [candidate.work_tree for candidate in candidates if candidate is not None and candidate.common_dir == common]


def shallow_boundary(repository: Repository) -> frozenset[str]:
    """Return the commits at which a shallow history was cut: without parents, their changes are unknown."""
    try:
        file = read_bytes(repository.common_dir, "shallow", limit=1 << 26)  # bytes; 41 for each cut-off commit
    except Skipped:
        return frozenset()
    return frozenset(file.raw.decode("ascii", "replace").split())


def head(repository: Repository) -> str | None:
    """Return the id of the commit of HEAD, or None if there is no commit yet.

    Reads the files of the repository; runs git only if refs are stored in another form. Raises GitError if that fails,
    or if the repository is refused.
    """
    if repository.refusal:
        raise GitError(repository.refusal)
    name = "HEAD"
    for _ in range(5):  # the limit of git itself for refs that point to refs
        text = _loose_ref(repository, name)
        if text is None:
            packed = _packed_ref(repository, name)
            # A named branch that is in no file is a branch without commits, unless refs live in another form.
            if packed is not None or (name != "HEAD" and not (repository.common_dir / "reftable").is_dir()):
                return packed
            break
        if _OBJECT_ID.fullmatch(text):
            return text
        if not text.startswith("ref: refs/"):
            break
        name = text.removeprefix("ref: ")
    # --ignore-missing makes an unborn HEAD an empty answer instead of an error.
    return run(repository, "rev-list", "--ignore-missing", "-n1", "HEAD", "--").decode("ascii").strip() or None


def run(
    repository: Repository, *arguments: str, timeout: float = SILENCE_LIMIT, should_stop: ShouldStop = never
) -> bytes:
    """Run one of the allowed git commands and return its output, complete unless stopped.

    Raises GitError, also for more than `OUTPUT_LIMIT` bytes.
    """
    parts: list[bytes] = []
    size = 0
    with stream(repository, *arguments, timeout=timeout, should_stop=should_stop) as output:
        for chunk in output:
            parts.append(chunk)
            size += len(chunk)
            if size > OUTPUT_LIMIT:
                raise GitError(f"git {arguments[0]} wrote more than {OUTPUT_LIMIT >> 20} MB and was stopped")
    return b"".join(parts)


def _started(
    repository: Repository, arguments: tuple[str, ...], source: IO[bytes], complaints: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start git. Raises GitError."""
    import subprocess

    try:
        process = subprocess.Popen(
            _command(repository, arguments),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=complaints,
            # Not a folder of the repository: a PATH with an empty step would find its programs there.
            cwd=repository.git_dir.anchor,
            env=_environment(),
            # Its own process group, so that children of git die with it.
            process_group=0 if os.name == "posix" else None,
            bufsize=0,
        )
    except OSError as error:
        raise GitError(f"git cannot be started ({error.strerror}); is it installed and on PATH?") from error
    _limit_memory(process.pid)
    return process


@contextmanager
def stream(
    repository: Repository,
    *arguments: str,
    timeout: float = SILENCE_LIMIT,
    should_stop: ShouldStop = never,
    feed: bytes = b"",
) -> Iterator[Iterator[bytes]]:
    """Run one of the allowed git commands and yield its output in pieces while it runs. Its input is `feed`.

    Leaving early kills git, and so does `should_stop`, called ten times a second while git talks or is silent. Raises
    GitError if the repository is refused or git cannot be started, is silent for `timeout` seconds, runs for
    `TOTAL_LIMIT` seconds, or ends with an error; an error comes only at the end, so the output before it may be
    incomplete, and after a stop it always is.
    """
    if refusal := repository.refusal or _obstacle(repository, int(monotonic() // 60)):
        raise GitError(refusal)
    import subprocess

    timeout = min(timeout, _patience.get(repository.git_dir, timeout))
    with _temporary() as complaints, _temporary(feed) as standard_input:
        process = _started(repository, arguments, standard_input, complaints)
        assert process.stdout is not None
        at_end = False

        def chunks(output: IO[bytes]) -> Iterator[bytes]:
            nonlocal at_end
            with _noted_silence(repository):
                while chunk := _read(output, timeout, arguments[0], should_stop):
                    yield chunk
            at_end = chunk is not None

        try:
            yield _watched(chunks(process.stdout), arguments[0], should_stop)
            if at_end:
                process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise _silent(arguments[0], timeout) from error
        finally:
            process.stdout.close()
            _end(process)
        if at_end and process.returncode != 0:
            raise GitError(_complaint(arguments[0], process.returncode, complaints))


def _temporary(content: bytes = b"") -> IO[bytes]:
    """Return a file without a name that has this content. Raises GitError, as on a full disk."""
    from tempfile import TemporaryFile

    try:
        file = TemporaryFile()  # noqa: SIM115 - the caller closes it
        file.write(content)
        file.seek(0)
    except OSError as error:
        raise GitError("git is not asked: no temporary file can be written here") from error
    return file


@contextmanager
def _noted_silence(repository: Repository) -> Iterator[None]:
    try:
        yield
    except GitError:
        _patience[repository.git_dir] = SECOND_SILENCE_LIMIT
        raise


def _watched(chunks: Iterator[bytes], name: str, should_stop: ShouldStop) -> Iterator[bytes]:
    """Yield the pieces until `should_stop`. Raises GitError after `TOTAL_LIMIT` seconds."""
    ask_at, latest = monotonic() + _LOOK_SECONDS, monotonic() + TOTAL_LIMIT
    for chunk in chunks:
        yield chunk
        now = monotonic()
        if now > latest:
            raise GitError(f"git {name} took more than {TOTAL_LIMIT:g} seconds and was stopped")
        if now > ask_at:
            if should_stop():
                return
            ask_at = now + _LOOK_SECONDS


def _command(repository: Repository, arguments: tuple[str, ...]) -> list[str]:
    name = arguments[0]
    if name not in _GUARDS:
        raise ValueError(f"git {name} is not one of the commands that are safe in any repository: {', '.join(_GUARDS)}")
    return [
        "git",
        "--no-pager",
        "--no-optional-locks",
        "--literal-pathspecs",
        f"--git-dir={repository.git_dir}",
        # An explicit work tree overrules `core.worktree`; this one keeps git away from the files of the user, which
        # could be pipes named `.gitattributes` or `.mailmap`.
        f"--work-tree={repository.git_dir}",
        *_CONFIGURATION,
        name,
        *_GUARDS[name],
        *arguments[1:],
    ]


def _environment() -> dict[str, str]:
    """Return the environment without any git variable of the caller, and with ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name != "LANGUAGE"}
    return kept | _ENVIRONMENT


def _read(output: IO[bytes], timeout: float, name: str, should_stop: ShouldStop) -> bytes | None:
    """Return the next output, empty at the end, None after a stop. Raises GitError after a silence of `timeout`."""
    if os.name == "posix":
        import select

        waiting = select.poll()
        waiting.register(output.fileno(), select.POLLIN)
        deadline = monotonic() + timeout
        while not waiting.poll(max(min(_LOOK_SECONDS, deadline - monotonic()), 0) * 1000):
            if should_stop():
                return None
            if monotonic() >= deadline:
                raise _silent(name, timeout)
    return os.read(output.fileno(), 1 << 16)  # bytes; the size of a pipe, so one read empties it


def _limit_memory(process: int) -> None:
    """Bound the address space of a process that was just started, where the system can."""
    with suppress(ImportError, AttributeError, OSError):  # only Linux has it, and the process may have ended
        import resource

        resource.prlimit(process, resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group of a git that is still running, and wait for it."""
    import signal

    if process.poll() is not None:
        return
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _silent(name: str, timeout: float) -> GitError:
    return GitError(f"git {name} gave no output for {timeout:g} seconds and was stopped")


def _complaint(name: str, code: int, complaints: IO[bytes]) -> str:
    complaints.seek(0)
    # bytes of the standard error of git that are read for a message
    lines = complaints.read(2_000).decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    message = escape_name((fatal or lines or ["no message"])[0].strip())
    return f"git {name} ended with exit code {code}: {message}"


def _git_dir(folder: Path) -> Path | None:
    """Return the path of the `.git` of a folder, or its target, without checking that a repository is there."""
    entry = folder / ".git"
    if stat.S_ISREG(_mode(entry)):
        text = _small_text(folder, ".git")
        if text is None or not text.startswith("gitdir: ") or "\0" in text:
            return None
        return Path(os.path.normpath(folder / text.removeprefix("gitdir: ").rstrip("\r\n")))
    return entry if entry.is_dir() else None


def _mode(path: Path) -> int:
    """Return the type bits of a path, not following links; 0 (no type) if it does not exist."""
    try:
        return path.lstat().st_mode
    except (OSError, ValueError):
        return 0


_PROMISE = pattern(
    r"^[ \t]*(?:promisor[ \t]*=[ \t]*(?:true|yes|on|1)|partialclone[ \t]*=)", re.MULTILINE | re.IGNORECASE
)


def _is_partial(common_dir: Path) -> bool:
    """Return whether contents may be missing: a filtered clone has `.promisor` packs or a promise in its config."""
    if _PROMISE.search(_small_text(common_dir, "config") or ""):
        return True
    try:
        with os.scandir(common_dir / "objects" / "pack") as entries:
            return any(entry.name.endswith(".promisor") for entry in entries)
    except OSError:
        return False


def _small_text(folder: Path, name: str) -> str | None:
    """Return a file of the repository as text, or None. Pipes, links and huge files are not read."""
    try:
        # bytes; HEAD, gitdir and commondir hold one path or id, and 1 MB of config is 20,000 lines
        return os.fsdecode(read_bytes(folder, name, limit=1 << 20).raw)
    except Skipped:
        return None


def _loose_ref(repository: Repository, name: str) -> str | None:
    """Return the text of a ref in its own file, of this work tree or shared by all."""
    texts = (_small_text(folder, name) for folder in (repository.git_dir, repository.common_dir))
    return next((text.strip() for text in texts if text is not None), None)


def _packed_ref(repository: Repository, name: str) -> str | None:
    try:
        # bytes; 250 MB are over three million refs
        file = read_bytes(repository.common_dir, "packed-refs", limit=1 << 28)
    except Skipped:
        return None
    line = re.search(rb"^([0-9a-f]{40}(?:[0-9a-f]{24})?) " + re.escape(os.fsencode(name)) + rb"$", file.raw, re.M)
    return line[1].decode() if line else None
