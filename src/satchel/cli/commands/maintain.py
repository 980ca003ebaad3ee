"""Stored data and settings: `satchel index`, `clean`, `workspace`, `store`, `config` and more."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command, group
from satchel.cli.session import PARTLY_DONE, Interrupt, Watch, opened, report
from satchel.cli.streams import counts_text, size_text
from satchel.codec import many, record
from satchel.operations.json import COUNT, COUNTS, FAILURES, NUMBER, SWITCH, TEXT

if TYPE_CHECKING:
    from satchel.config import Folders, LoadedSettings
    from satchel.index.run import IndexReport, VectorReport
    from satchel.system.locations import Registry, Workspace


@command("index", shows="what was done")
@click.argument("path", default=".")
@click.option("--vectors/--no-vectors", default=True, help="Compute vectors too (the default), or none in this run.")
@click.option("--publish", is_flag=True, help="Index the checked-out commit for your team, into its store.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def index_command(invocation: Invocation, path: str, *, vectors: bool, publish: bool, quiet: bool) -> int:
    """Bring the index of a folder up to date.

    PATH is any place in the folder to index; its root is the git work tree around it. Only what changed is read.
    Vectors are computed last. Ctrl-C keeps what is done. Exits with status 3 if files could not be read.
    """
    settings = None if vectors else {"embed.provider": "off"}  # the static table makes its vectors with the words
    with Interrupt() as interrupt, opened(invocation, path, quiet=quiet, settings=settings) as satchel:
        commit = satchel.team.begin_publishing(interrupt.requested) if publish else ""
        with Watch(quiet=quiet) as progress:
            done = satchel.index(progress=progress, should_stop=interrupt.requested)
            filled = None
            if vectors and not interrupt.requested():
                filled = satchel.embed(progress=progress, should_stop=interrupt.requested)
        if invocation.as_json:
            streams.write_json({**REPORT.data(done), "vectors": vector_data(filled)})
        elif not quiet:
            published = f"; published {commit[:12]}" if commit else ""
            streams.say(summary(done) + vector_summary(filled) + published)
        failures = [*done.notes, filled.failure if filled is not None else None]
        for failure in filter(None, () if quiet else failures):
            streams.failure(failure, color=invocation.color)
    return interrupt.exit_code or (PARTLY_DONE if done.errors else 0)


REPORT = record(
    files=COUNT, added=COUNT, changed=COUNT, removed=COUNT, unchanged=COUNT, commits_added=COUNT, commits_hidden=COUNT,
    skipped=COUNTS, errors=COUNT, redacted=COUNT, cleaned=COUNT, interrupted=SWITCH, notes=FAILURES,
    seconds=NUMBER.of(lambda report: round(report.seconds, 3)),
)  # fmt: skip


def vector_data(filled: VectorReport | None) -> Mapping[str, Any] | None:
    """Return the vectors as JSON: how many are new, and `{"docs": "12/40"}`; None without vectors."""
    if filled is None:
        return None
    failure = filled.failure
    return {
        "made": filled.made,
        "kinds": {kind.plural: f"{done}/{total}" for kind, (done, total) in filled.counts.kinds.items()},
        "failure": None if failure is None else {"message": failure.message, "hint": failure.hint},
    }


def vector_summary(filled: VectorReport | None) -> str:
    """`; vectors 12 of 40`, empty without an embedder or if all vectors existed."""
    if filled is None or (not filled.made and filled.counts.is_complete):
        return ""
    return f"; vectors {filled.counts.done:,} of {filled.counts.total:,}"


def summary(report: IndexReport) -> str:
    """Return one line: `indexed 281 files in 2.31 s: 281 new, 5,950 commits; left out 12 (binary 8, huge 4)`."""
    new, commits = ("new", report.added), ("commits", report.commits_added)
    changes = counts_text((new, ("changed", report.changed), ("removed", report.removed), commits))
    if report.interrupted:
        return f"stopped after {report.seconds:.2f} s; kept: {changes or 'what was there'}"
    did = "indexed" if changes else "up to date:"
    line = f"{did} {report.files:,} files in {report.seconds:.2f} s" + (f": {changes}" if changes else "")
    if report.skipped:
        reasons = sorted(report.skipped.items(), key=lambda row: (-row[1], row[0]))
        listed = ", ".join(f"{reason} {count:,}" for reason, count in reasons)
        line += f"; left out {sum(report.skipped.values()):,} ({listed})"
    if report.redacted:
        line += f"; {report.redacted:,} secret{'' if report.redacted == 1 else 's'} redacted"
    return line


@command("clean", shows="what was removed")
@click.option("--all", "everything", is_flag=True, help="Remove the indexes of all folders, and what they share.")
def clean_command(invocation: Invocation, *, everything: bool) -> None:
    """Remove the index of a folder; it is built again when needed.

    Memories, settings and keys are never removed.
    """
    from satchel.index.build import clean

    removed = clean(root=invocation.root, everything=everything)
    size = f"removed {size_text(removed.size)} from" if removed.size else "there is nothing in"
    report(invocation, {"removed": str(removed.folder), "bytes": removed.size}, message=f"{size} {removed.folder}")


TYPES = ("repository", "vault", "tana")


@group("workspace")
def workspace_command() -> None:
    """Name repositories, vaults and exports of notes, to ask them from anywhere.

    `satchel context QUESTION --workspace NAME` then answers from that workspace. A vault is a folder of Markdown notes
    (Obsidian and the like); its files are notes, with their links, fields and tags. The file of a Tana export (.json)
    is a workspace too.
    """


def _registry() -> Registry:
    from satchel.config import Folders
    from satchel.system.locations import Registry

    return Registry(Folders.from_environment(os.environ))


@command("add", workspace_command, shows="the workspace")
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--type", "kind", type=click.Choice(TYPES), help="What it is; guessed if not given.")
def add(invocation: Invocation, *, name: str, path: Path, kind: str | None) -> None:
    """Give the root at PATH a name.

    A folder with `.obsidian` is a vault, a .json file a Tana export, any other folder a repository, unless --type says
    otherwise. Nothing is indexed yet: the first question or `satchel index --workspace NAME` does that.
    """
    from satchel.system.locations import WorkspaceType

    added = _registry().add(name, path, WorkspaceType(kind) if kind is not None else None)
    report(
        invocation, {"workspace": _WORKSPACE.data(added)}, message=f"{added.name} is the {added.type} {_place(added)}"
    )


@command("list", workspace_command, shows="the workspaces")
def listed(invocation: Invocation) -> None:
    """List the workspaces by name."""
    workspaces = _registry().all()
    width = max((len(workspace.name) for workspace in workspaces), default=0)
    gone = {workspace: "" if workspace.path.exists() else "  (gone)" for workspace in workspaces}
    lines = [
        f"{workspace.name:<{width}}  {workspace.type:<10}  {_place(workspace)}{gone[workspace]}"
        for workspace in workspaces
    ]
    message = "" if lines else "there is no workspace: `satchel workspace add NAME PATH` adds one"
    report(invocation, {"workspaces": many(_WORKSPACE).data(workspaces)}, lines, message=message)


@command("remove", workspace_command, shows="the workspace")
@click.argument("name")
def remove(invocation: Invocation, *, name: str) -> None:
    """Remove a name. Its files and its index stay; `satchel clean --root PATH` removes the index."""
    gone = _registry().remove(name)
    report(invocation, {"removed": _WORKSPACE.data(gone)}, message=f"{gone.name} was the {gone.type} {_place(gone)}")


def _place(workspace: Workspace) -> str:
    from satchel.system.files import escape_name

    return escape_name(str(workspace.path))


_WORKSPACE = record(name=TEXT, path=TEXT.of(_place), type=TEXT, exists=SWITCH.of(lambda one: one.path.exists()))


@group("store")
def store_command() -> None:
    """Show, set up, check and change where index and memory are stored.

    That is in files on this machine, or on the PostgreSQL server that the setting `store.url` names.
    """


@command("status", store_command, shows="the store")
def store_status(invocation: Invocation) -> None:
    """Show the store with its version and, as far as you may read them, all roots on it with their sizes."""
    with opened(invocation) as satchel:
        where, stores = satchel.team.parts()
    width = max((len(name) for name, _ in stores), default=0)
    rows = [{"name": name, "bytes": size} for name, size in stores]
    lines = [f"{name:<{width}}  {size_text(size)}" for name, size in stores]
    report(invocation, {"store": where, "roots": rows}, [where, *lines])


@command("init", store_command, shows="the server")
@click.option("--reader", "readers", multiple=True, metavar="ROLE", help="Let this role of the server read.")
@click.option("--writer", "writers", multiple=True, metavar="ROLE", help="Let this role read and write.")
def store_init(invocation: Invocation, *, readers: Sequence[str], writers: Sequence[str]) -> None:
    """Create the tables on the server that `store.url` names, and give others access.

    An existing role gets the rights that satchel needs. Run it as the user who should own the tables, and again after
    an upgrade or for more roles.
    """
    with opened(invocation) as satchel:
        where = satchel.team.prepare(readers, writers)
        name = satchel.settings.store_name
    lines = [
        f"{where} is ready",
        *(f"{reader} may read" for reader in readers),
        *(f"{writer} may write" for writer in writers),
    ]
    lines.append(
        "next: `satchel index --publish` in a clean checkout" if name else "next: set store.name for your team"
    )
    report(invocation, {"store": where, "readers": [*readers], "writers": [*writers]}, lines)


@command("check", store_command, shows="what is wrong")
def store_check(invocation: Invocation) -> int:
    """Read the complete index and memory, and report what is wrong.

    Exits with status 3 if something is wrong.
    """
    with opened(invocation) as satchel:
        faults = satchel.team.check()
    lines = [f"{name}: {fault}" for name, found in faults.items() for fault in found or ["whole"]]
    report(invocation, {"faults": faults}, lines, nothing="nothing is stored yet")
    return PARTLY_DONE if any(faults.values()) else 0


@command("move", store_command, shows="the number of documents in each")
@click.option("--to", "target", type=click.Choice(["server", "files"]), required=True, help="The store to copy to.")
def store_move(invocation: Invocation, *, target: str) -> None:
    """Copy index and memory from the files to the server of `store.url`, or back.

    Memories keep their ids; of two with the same id the newer one is kept. Private ones stay private. Nothing is
    removed from the source, and `store.url` still decides which store is used.
    """
    with opened(invocation) as satchel:
        counts = satchel.team.move(to_server=target == "server")
    rows = {kind: {"from": before, "to": after} for kind, (before, after) in counts.items()}
    lines = [f"{kind}: {after:,} of {before:,}" for kind, (before, after) in counts.items() if before]
    report(invocation, {"moved": rows}, lines, nothing="there is nothing to copy")


@group("config")
def config_command() -> None:
    """Show the settings and where they come from, or change one.

    Each overrides those before it: defaults, your satchel.toml, the .satchel.toml of a repository (harmless settings
    only), SATCHEL_... variables, options.
    """


@command("show", config_command, shows="the settings")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
def show(invocation: Invocation, *, origin: bool) -> None:
    """Show the value of every setting."""
    from satchel.settings import SETTINGS

    loaded, _ = _load(invocation)
    values = {key: plain(loaded.settings.shown(key)) for key in SETTINGS}
    data = {
        key: {"value": values[key], "origin": loaded.origins[key], "meaning": row.meaning, "allowed": row.allowed}
        for key, row in SETTINGS.items()
    }
    report(invocation, {"settings": data}, setting_lines(loaded, origin=origin))
    for note in loaded.notes:
        streams.failure(note, color=invocation.color)


def _complete_key(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from satchel.settings import SETTINGS

    return [key for key in SETTINGS if key.startswith(incomplete)]


@command("set", config_command, shows="the file, the key and the value")
@click.argument("key", shell_complete=_complete_key)
@click.argument("value")
@click.option("--project", is_flag=True, help="Write .satchel.toml of this repository, for everybody who works on it.")
def set_value(invocation: Invocation, key: str, value: str, *, project: bool) -> None:
    """Change a setting in your satchel.toml, or in the .satchel.toml of this repository.

    VALUE is written as in an environment variable, a list with commas. It is checked first; comments and order of the
    file stay. A repository may only set what is harmless.
    """
    from satchel.config import PROJECT_FILE, parsed_setting, user_file, write_setting
    from satchel.errors import ConfigError
    from satchel.settings import SETTINGS
    from satchel.system.locations import find_root

    checked = parsed_setting(key, value)
    if project and not SETTINGS[key].safe:
        raise ConfigError(f"a repository may not set {key}: leave --project out to set it for yourself")
    _, folders = _load(invocation)
    file = find_root(Path(), invocation.root) / PROJECT_FILE if project else user_file(folders)
    written_file = write_setting(file, key, checked)
    loaded, _ = _load(invocation)
    if loaded.origins[key] != (PROJECT_FILE if project else str(user_file(folders))):
        streams.note(f"{loaded.origins[key]} also sets {key}, and takes precedence", color=invocation.color)
    data = {"file": str(written_file), "key": key, "value": plain(SETTINGS[key].shown(checked))}
    shown = f"{key} = {written(SETTINGS[key].shown(checked))}"
    report(invocation, data, [shown], message=f"written to {written_file}")


@command("path", config_command, shows="the folders")
def path(invocation: Invocation) -> None:
    """Show where your settings, memories, trusted folders and indexes are stored."""
    _, folders = _load(invocation)
    from satchel.config import user_file

    named = {"settings": str(user_file(folders))}
    named |= {name: str(getattr(folders, name)) for name in ("config", "data", "state", "cache")}
    report(invocation, named, (f"{name:<9} {place}" for name, place in named.items()))


def _load(invocation: Invocation) -> tuple[LoadedSettings, Folders]:
    """Return the settings for the root, or without a repository's where there is no root."""
    from satchel.config import Folders, load_settings
    from satchel.errors import NoIndexError
    from satchel.system.locations import find_root

    folders = Folders.from_environment()
    try:
        root = find_root(Path(), invocation.root)
    except NoIndexError:
        if invocation.root is not None:
            raise
        root = None
    loaded = load_settings(root, os.environ, {}, folders)
    invocation.color = invocation.color or loaded.settings.ui_color
    return loaded, folders


def setting_lines(loaded: LoadedSettings, *, origin: bool) -> list[str]:
    """`budget.max_tokens = 4000`, and behind it the origin where that is asked for, in one column."""
    from satchel.settings import SETTINGS

    lines = [f"{key} = {written(loaded.settings.shown(key))}" for key in SETTINGS]
    if not origin:
        return lines
    width = max(map(len, lines))
    return [f"{line:<{width}}  # {loaded.origins[key]}" for line, key in zip(lines, SETTINGS, strict=True)]


def written(value: Any) -> str:
    """Return a value as the settings file has it: TOML, `auto` for none."""
    if value is None:
        return '"auto"'
    return streams.json_text(plain(value))


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


INSTALL_HINTS = {
    "bash": 'add to ~/.bashrc:  eval "$(satchel completion bash)"',
    "zsh": 'add to ~/.zshrc:  eval "$(satchel completion zsh)"',
    "fish": "run once:  satchel completion fish > ~/.config/fish/completions/satchel.fish",
}


@command("completion")
@click.argument("shell", type=click.Choice([*INSTALL_HINTS]))
def completion_command(invocation: Invocation, shell: str) -> int:
    """Print the script that completes commands in a shell."""
    from click.shell_completion import get_completion_class

    from satchel.cli.application import COMPLETE_VARIABLE, PROGRAM, application

    completion = get_completion_class(shell)
    assert completion is not None
    streams.write(completion(application, {}, PROGRAM, COMPLETE_VARIABLE).source())
    if streams.is_terminal(sys.stdout):
        streams.note(INSTALL_HINTS[shell], color=invocation.color)
    return 0
