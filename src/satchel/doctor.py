"""Check the installation, the machine and the root; each finding has a fix.

Checks import their modules when they run, so that a broken installation can be examined too.
"""

from __future__ import annotations

import os
import platform
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from satchel import config
from satchel.errors import ConfigError, NoIndexError, SatchelError
from satchel.system import state_files, telemetry
from satchel.system.installed import missing_extras, with_extra, with_package
from satchel.system.locations import Places, locate

OLDEST_PYTHON = (3, 11)

OLDEST_SQLITE = (3, 51, 3)
"""The first release in which a checkpoint during a write cannot damage a store."""

OLDEST_GIT = (2, 25)
"""The first release with all options of satchel's guarded calls of git."""

TOKENIZER_PROBE = "def naïve_résumé(x: int) -> str:\n    return f'日本語 {x:>8,} 🙂'\n"
PROBE_TOKENS = {"o200k_base": 28, "cl100k_base": 30}
"""Tokens of the probe, counted once with the reference implementation."""

GRAMMAR_PROBE = "probe"

REPORT_IT = "install it again; if that does not help, report the output of `satchel doctor --json`"
EMBED_SETTINGS = "set it in your own settings file: satchel config show --origin"

PRIVATE = 0o700

LATE_SECONDS = 7 * 86_400
"""Time for which events that were not answered in time are counted."""


class Severity(StrEnum):
    """Severity of a finding: `warn` costs something, `fail` makes answers wrong or impossible."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(NamedTuple):
    """One finding. `fix` is a command or an advice, empty if all is well; `repair` does it where that is safe."""

    name: str
    outcome: Severity
    message: str
    fix: str = ""
    repair: Callable[[], object] | None = None


def ok(name: str, message: str) -> Check:
    """Report that all is well."""
    return Check(name, Severity.OK, message)


def warn(name: str, message: str, fix: str, repair: Callable[[], object] | None = None) -> Check:
    """Report something that works with a loss."""
    return Check(name, Severity.WARN, message, fix, repair)


def fail(name: str, message: str, fix: str, repair: Callable[[], object] | None = None) -> Check:
    """Report something that does not work."""
    return Check(name, Severity.FAIL, message, fix, repair)


def examine(path: Path, root: Path | None = None, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Check machine, folders, and the root around `path` (or `root`), causes before effects. Changes nothing."""
    for name, check in MACHINE_CHECKS.items():
        yield from examined(name, check)
    try:
        homes = config.Folders.from_environment(environ)
    except ConfigError as error:
        yield fail("folders", str(error), f"set {config.HOME_VARIABLE} to a folder that you can write")
        return
    for name in ("config", "data", "state", "cache"):
        yield from examined("folders", partial(check_folder, f"{name} folder", getattr(homes, name)))
    yield from examined("hooks", lambda: check_hooks(homes))
    yield from _all("root", lambda: _check_root(path, root, homes, environ))


def examined(name: str, check: Callable[[], Check]) -> Iterable[Check]:
    """Run a check that has one finding; one that breaks is a finding itself."""
    return _all(name, lambda: [check()])


def _all(name: str, check: Callable[[], Iterable[Check]]) -> Iterable[Check]:
    """Run a check; one that breaks is a finding itself."""
    try:
        return list(check())
    except PermissionError as error:
        folder = Path(error.filename or ".").parent
        return [fail(name, f"{error.filename}: {error.strerror}", f"let yourself in: chmod u+rwx {folder}")]
    except Exception as error:  # noqa: BLE001 - the fault is shown as a finding
        return [fail(name, f"the check itself failed: {type(error).__name__}: {error}", REPORT_IT)]


def check_python() -> Check:
    """Check the version of the interpreter."""
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return fail("python", f"Python {version} is too old", f"install Python {_dotted(OLDEST_PYTHON)} or newer")
    return ok("python", f"Python {version}")


def check_sqlite() -> Check:
    """Check the version of the SQLite library that opens every store."""
    import apsw

    version = apsw.sqlite_lib_version()
    library = f"SQLite {version} in apsw {apsw.apsw_version()}"
    if numbers(version) < OLDEST_SQLITE:
        return fail("sqlite", f"{library} can damage a store", with_package("apsw", "--upgrade"))
    return ok("sqlite", library)


def check_git() -> Check:
    """Check that git runs, and its version."""
    import subprocess

    try:
        # From the root folder: a PATH with an empty entry would run a program of the current folder.
        done = subprocess.run(["git", "--version"], cwd=os.sep, capture_output=True, timeout=10.0, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return warn("git", f"git cannot be run ({error}): answers come without history", "install git")
    version = done.stdout.decode("utf-8", "replace").strip().removeprefix("git version ")
    if numbers(version) < OLDEST_GIT:
        message = f"git {version} is too old: answers come without history"
        return warn("git", message, f"install git {_dotted(OLDEST_GIT)} or newer")
    return ok("git", f"git {version}")


def check_tokenizer() -> Check:
    """Check that the exact tokenizers count a text with accents, Japanese and an emoji right."""
    from satchel.tokens import counter

    for name, expected in PROBE_TOKENS.items():
        counted = counter(name).count(TOKENIZER_PROBE)
        if counted != expected:
            message = f"{name} counts {counted} tokens where there are {expected}: budgets would not hold"
            return fail("tokenizer", message, with_package("rs-bpe", "--force-reinstall"))
    return ok("tokenizer", f"{', '.join(PROBE_TOKENS)} count correctly")


def check_grammars() -> Check:
    """Check that every grammar loads and finds a definition: one that finds nothing would not be noticed."""
    from satchel.sources.code.languages import GRAMMARS

    broken = [f"{language} {problem}" for language in sorted(GRAMMARS) if (problem := grammar_problem(language))]
    if broken:
        message = f"these languages would be indexed without definitions: {'; '.join(broken)}"
        return fail("grammars", message, f"{with_extra('')} --force-reinstall")
    return ok("grammars", f"{len(GRAMMARS)} languages find their definitions")


def grammar_problem(language: str) -> str:
    """Return the fault of a grammar, empty if it works."""
    from satchel.sources.code import outline
    from satchel.sources.code.languages import SAMPLES

    try:
        parsed = outline.outline(SAMPLES[language], language)
    except (ImportError, OSError, ValueError, TypeError, AttributeError) as error:
        return f"does not load ({type(error).__name__}: {error})"
    names = {definition.name for part in parsed.parts for definition in part.definitions}
    names |= {part.name.rpartition(".")[2] for part in parsed.parts}
    return "" if GRAMMAR_PROBE in names else "finds no definition"


def check_guards() -> Check:
    """Check that the system can open a file without following links, and lock an index."""
    missing = [name for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC") if not hasattr(os, name)]
    missing += [] if os.open in os.supports_dir_fd else ["openat"]
    missing += [] if state_files.HAS_LOCKS else ["flock"]
    if missing:
        message = f"this system lacks {', '.join(missing)}: links are resolved and checked instead, which is weaker"
        return warn("guards", message, "index only folders that you trust")
    return ok("guards", "files are opened without following links")


def check_extras() -> Check:
    """Name the optional parts that are not installed, with the command that adds the first."""
    missing = missing_extras()
    if not missing:
        return ok("extras", "all are installed")
    return ok("extras", f"without {', '.join(missing)}; one is added by: {with_extra(missing[0])}")


MACHINE_CHECKS: Mapping[str, Callable[[], Check]] = {
    "python": check_python,
    "sqlite": check_sqlite,
    "git": check_git,
    "tokenizer": check_tokenizer,
    "grammars": check_grammars,
    "guards": check_guards,
    "extras": check_extras,
}


def numbers(version: str) -> tuple[int, ...]:
    """Return the first dotted numbers of a version: (2, 39, 5) for `2.39.5 (Apple Git-154)`; empty if none."""
    match = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def check_folder(name: str, folder: Path) -> Check:
    """Check that a folder can be written, or made, and that others cannot look into it."""
    if not folder.exists():
        above = next((place for place in folder.parents if place.exists()), Path(folder.anchor))
        if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            return ok(name, f"{folder} (made when it is needed)")
        variable = f"XDG_{name.split()[0].upper()}_HOME"
        fix = f"set SATCHEL_HOME, or {variable}, to a folder that you can write"
        return fail(name, f"{folder} cannot be made: {above} is not writable", fix)
    if not folder.is_dir():
        return fail(name, f"{folder} is not a folder", f"move it away: mv {folder} {folder}.old")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return fail(name, f"{folder} cannot be written", f"chmod u+rwx {folder}", partial(folder.chmod, PRIVATE))
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and "config" not in name:
        message = f"{folder} can be opened by others (mode {mode:o})"
        return warn(name, message, f"chmod {PRIVATE:o} {folder}", partial(folder.chmod, PRIVATE))
    return ok(name, str(folder))


def check_hooks(homes: config.Folders) -> Check:
    """Check the hook log for failed events, as hooks themselves never report a failure."""
    # Newest hook events that are examined: older faults are fixed or no longer met.
    events = telemetry.hook_entries(homes.state, 100)
    broken = [
        event
        for event in events
        if event.get("outcome") == telemetry.FAILED and not str(event.get("reason")).startswith(telemetry.TOO_LATE)
    ]
    earliest = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - LATE_SECONDS))
    late = [at for at in telemetry.late_events(homes.state) if at > earliest]
    if broken:
        last = broken[-1]
        message = f"{len(broken)} of the last {len(events)} events broke, {last.get('event')} at {last.get('at')} with "
        return warn("hooks", f"{message}{last.get('reason')}", "see all of them: satchel hook log")
    if late:
        message = f"{len(late)} events of the last week were not answered in time, the last at {late[-1]}: too busy"
        fix = "keep satchel mcp or satchel serve running, which answers hooks in an eighth of the processor time"
        return warn("hooks", message, fix)
    if not events:
        return ok("hooks", "no hook events received yet")
    return ok("hooks", f"the last {len(events)} events went well")


def _check_root(path: Path, root: Path | None, homes: config.Folders, environ: Mapping[str, str]) -> Iterator[Check]:
    try:
        places = locate(path, root, homes)
    except NoIndexError as error:
        yield warn("root", str(error), "change into a project, or name one with --root")
        return
    yield ok("root", str(places.root))
    yield from examined("trust", lambda: check_trust(places))
    loaded = None
    try:
        loaded = config.load_settings(places.root, environ, {}, homes)
    except ConfigError as error:
        yield fail("settings", str(error), "correct it, or remove it")
    else:
        yield from check_settings(loaded, homes)
        yield from examined("vectors", lambda: check_vectors(loaded, homes, environ))
    if loaded is not None and loaded.settings.store_url:
        yield from examined("store", lambda: check_server(places, loaded.settings))
    else:
        yield from examined("index", lambda: check_index(places))
        yield from examined("memory", lambda: check_memory(places))
        settings = loaded.settings if loaded is not None else config.Settings()
        yield from examined("left out", lambda: check_left_out(places, settings))
    yield from examined("room", lambda: check_room(places))
    yield from examined("lock", lambda: check_lock(places))


def check_trust(places: Places) -> Check:
    """Report whether instruction files of this root guide agents; both are fine."""
    from satchel.safety.trust import FOLDER, is_trusted

    if is_trusted(places.root, places.state):
        return ok("trust", f"instruction files are guidance (marked in {places.state / FOLDER})")
    return ok("trust", "instruction files are data; `satchel trust` makes them guidance")


def check_settings(loaded: config.LoadedSettings, homes: config.Folders) -> Iterator[Check]:
    """Report the faults of the settings, one finding each."""
    if not loaded.notes:
        changed = sum(origin != "default" for origin in loaded.origins.values())
        yield ok("settings", f"{changed} differ from their defaults; yours are in {config.user_file(homes)}")
    for note in loaded.notes:
        yield warn("settings", note.message, note.hint or "satchel config show --origin")


def check_vectors(loaded: config.LoadedSettings, homes: config.Folders, environ: Mapping[str, str]) -> Check:
    """Check that there is an embedder. Loads nothing, and sends nothing to an endpoint."""
    from satchel.embed import minilm
    from satchel.embed.providers import choose

    settings = loaded.settings
    choice = choose(settings, homes.cache, environ)
    if choice.failure is not None:
        fix = minilm.install_command() if settings.embed_provider == "minilm" else EMBED_SETTINGS
        return warn("vectors", choice.failure.message, fix)
    if choice.embedder is None:
        return ok("vectors", "switched off (embed.provider): keyword search only")
    if choice.embedder.is_table:
        return ok("vectors", f"made by {choice.embedder.id}, the table that comes with satchel")
    is_remote = settings.embed_provider != "minilm" and settings.embed_endpoint
    return ok("vectors", f"made by {choice.embedder.id}" + (f" at {_host(settings)}" if is_remote else ""))


def _host(settings: config.Settings) -> str:
    """Return the host and port, without a password that may precede them."""
    return settings.embed_endpoint.split("://")[-1].split("/")[0].rpartition("@")[2]


def check_index(places: Places) -> Check:
    """Check that the index is not damaged."""
    from satchel.index.build import clean
    from satchel.store.place import INDEX_NAME

    fix = "build it again: satchel clean && satchel index"
    found = _check_store("index", places.index / INDEX_NAME, "not built yet: the first question does it", fix)
    return found if found.outcome is Severity.OK else found._replace(repair=partial(clean, root=places.root))


LISTED = 20
"""Paths of one reason that are named."""


def check_left_out(places: Places, settings: config.Settings) -> Check:
    """Name what is left out of the index, by reason; what is ignored, hidden or not a text is only counted."""
    from satchel.index.left_out import TOLD, skips
    from satchel.index.run import build_options
    from satchel.store.place import INDEX_NAME
    from satchel.store.sqlite import SqliteStore
    from satchel.system.git import find_repository

    walk_options = build_options(settings, places, b"", vault=False).walk
    if not (places.index / INDEX_NAME).exists():
        return ok("left out", "known after the first index")
    with closing(SqliteStore(places.index / INDEX_NAME)) as store:
        left = skips(store, places.root, walk_options)
    told = {reason: left.paths[reason] for reason in TOLD if reason in left.paths}
    rows = [f"{reason} {len(paths):,}: {_names(paths)}" for reason, paths in told.items()]
    others = [f"{reason} {len(paths):,}" for reason, paths in sorted(left.paths.items()) if reason not in told]
    rows += [f"by rules, by name, or no text: {', '.join(others)}"] if others else []
    repository = find_repository(places.root)
    if repository is not None and (repository.shallow or repository.partial):
        rows.append("old commits, or their files: a shallow or partial clone")
    return ok("left out", "; ".join(rows) or "nothing")


def _names(paths: Sequence[str]) -> str:
    from satchel.safety.sanitize import plain_name

    listed = ", ".join(map(plain_name, paths[:LISTED]))
    return f"{listed} and {len(paths) - LISTED:,} more" if len(paths) > LISTED else listed


def check_memory(places: Places) -> Check:
    """Check that the memory file is not damaged, and that it can be read and written."""
    from satchel.store.sqlite.connection import is_lost, newest_schema, unwritable

    path = places.memory
    restore = (
        "satchel memory restore, which uses the backups, the changes since and what can be read of the file; "
        "where single records cannot be read, satchel memory repair does the same and removes those that nothing has"
    )
    if is_lost(path):
        message = f"{path} is missing or empty; its backups are here"
        return warn("memory", message, "the next command that reads it makes it again: satchel memory list")
    if path.exists() and not os.access(path, os.R_OK):
        mode = stat.S_IMODE(path.stat().st_mode)
        return fail(
            "memory", f"{path} may not be read (mode {mode:o})", f"chmod 600 {path}", partial(path.chmod, 0o600)
        )
    if path.exists() and (schema := newest_schema(path)):
        return fail(
            "memory",
            f"{path} has schema {schema}, of a newer satchel",
            "upgrade satchel, see docs/troubleshooting.md for the way back",
        )
    found = _check_store("memory", path, "nothing is remembered yet", restore)
    if found.outcome is Severity.OK and path.exists() and (reason := unwritable(path)):
        return warn(
            "memory",
            f"{path} can be read, but not written: {reason}",
            f"allow writing: chmod u+w {path}, or free some room",
        )
    return found


def check_room(places: Places) -> Check:
    """Check that the disks of memory and index have room for a change."""
    from satchel.store.sqlite.connection import RESERVE_BYTES, free_bytes

    for path in (places.memory, places.index):
        free = free_bytes(path)
        if free < RESERVE_BYTES:
            fix = "free some megabytes: `satchel clean` removes an index, which is built again; forgetting still works"
            message = f"{free >> 10:,} KB are free where {path.parent} is: remembering and indexing fail soon"
            return (warn if free >= RESERVE_BYTES // 8 else fail)("room", message, fix)
    return ok("room", "the disks of memory and index have room")


def check_server(places: Places, settings: config.Settings) -> Check:
    """Check that the server of index and memory answers."""
    from satchel.store.place import store_places

    try:
        with closing(store_places(places, settings)[0].on_server()) as store:
            return ok("store", f"{store.name} is on PostgreSQL {store.server_version}")
    except SatchelError as error:
        return fail("store", str(error), "see docs/team.md, or unset store.url to use files")


def _check_store(name: str, path: Path, missing: str, fix: str) -> Check:
    from satchel.store.sqlite.connection import damage

    if not path.exists():
        return ok(name, missing)
    faults = damage(path)
    return fail(name, f"{path} is damaged: {faults[0]}", fix) if faults else ok(name, f"{path} is intact")


def check_lock(places: Places) -> Check:
    """Report a process that builds the index right now."""
    from satchel.system.state_files import holder

    busy = holder(places.index / "index.lock")
    if busy:
        return warn("lock", busy, "wait for it; questions are answered from the index as it was before")
    return ok("lock", "no index build is running")
