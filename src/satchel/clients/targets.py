"""The files and entries of each client of `records.py`, and the command that starts satchel there.

Hook commands are written as one quoted line, which every version of these programs understands: one without support
for lists of arguments would start satchel without any, and treat the usage error as a refusal of the prompt.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from satchel.clients.records import CLIENTS
from satchel.errors import UsageError
from satchel.system.installed import source
from satchel.types import Data, Json

PROGRAM = "satchel"

_UVX_FOLDERS = frozenset({"archive-v0", "builds-v0", "environments-v2"})
"""Folders of uv's cache that hold environments for one run: a path into them is gone after the next clean-up."""


class Launch(NamedTuple):
    """The words that start satchel, and notes about them for the user."""

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()


SAFE_PATH = "-P"
"""Option of Python: no modules are imported from the current folder, which belongs to a repository."""


def module_place(words: Sequence[str]) -> int | None:
    """Return the place of `-m` in words that start a module of this package with Python, None for other words."""
    places = [at for at in range(1, len(words) - 1) if words[at] == "-m" and words[at + 1].partition(".")[0] == PROGRAM]
    if not places:
        return None
    options = words[: places[0]]
    while options and options[-1].startswith("-"):
        options = options[:-1]
    is_python = bool(options) and Path(options[-1].replace("\\", "/")).name.startswith(("python", "pypy"))
    return places[0] if is_python else None


def imports_from_folder(words: Sequence[str]) -> bool:
    """Return whether these words start Python so that it imports modules from the folder it is started in."""
    place = module_place(words)
    options = () if place is None else words[:place]
    # -I implies -P; short options may be joined, as in `-IP`.
    is_safe = any(re.fullmatch(r"-[A-Za-z]*[PI][A-Za-z]*", word) for word in options[1:])
    return place is not None and not is_safe


def _guarded(words: Sequence[str]) -> tuple[str, ...]:
    """Return words with `-P` where Python would import modules from the folder it is started in."""
    place = module_place(words)
    if place is None or not imports_from_folder(words):
        return tuple(words)
    return (*words[:place], SAFE_PATH, *words[place:])


def parse_command(text: str, *, is_shared: bool = True) -> Launch:
    """Split the words of `--command` as a shell would. Raises UsageError.

    Python gets `-P`, and a path of this folder becomes a whole one in a file that is not shared: clients start the
    command in other folders, too, where a repository may have a program of that path.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--command {text!r} cannot be split into words: {error}") from None
    if not words:
        raise UsageError("--command is empty: write it as in 'uvx --from path/to/satchel satchel'")
    if not is_shared and Path(words[0]).name != words[0]:
        words[0] = str(Path(words[0]).absolute())
    return Launch(_guarded(words), _missing_program(words))


def find_launch(
    *,
    is_shared: bool,
    started_as: str | None = None,
    prefix: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Return the words that start this very satchel.

    A file of the user alone gets the whole path, which works wherever the client was started from. A file that is
    shared with others gets a name that means the same for all of them, where there is one. `started_as` is the script
    that runs, `prefix` its environment.
    """
    notes = (_OWN_PATH,) if is_shared else ()
    if _UVX_FOLDERS & set(Path(prefix or sys.prefix).parts):
        program = None if is_shared else shutil.which("uvx", path=environ.get("PATH", os.defpath))
        words = (program or "uvx", "--from", _origin(), PROGRAM)
        return Launch(words, (*notes, *_missing_program(words, environ)))
    script = Path(started_as if started_as is not None else sys.argv[0]).absolute()
    if script.stem != PROGRAM or not script.is_file():
        return Launch((sys.executable, SAFE_PATH, "-m", PROGRAM), notes)
    on_path = shutil.which(PROGRAM, path=environ.get("PATH", os.defpath))
    if on_path is None or Path(on_path).resolve() != script.resolve():
        return Launch((str(script),), notes)
    return Launch((PROGRAM if is_shared else str(Path(on_path).absolute()),))


_OWN_PATH = "the file is shared, but the command is a path of this machine: --command names one that works for all"


def _origin() -> str:
    """Return the folder or address that this package was installed from. Raises UsageError if it is not recorded.

    uv makes an environment for one run, which is gone later. The bare name of the package is never written: under that
    name a registry may have the package of somebody else.
    """
    origin = source()
    if not origin:
        raise UsageError("satchel runs in an environment that uvx removes, and where it came from is not recorded: "
                         "give --command, or install it with `uv tool install`")  # fmt: skip
    return origin


def _missing_program(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    if shutil.which(words[0], path=environ.get("PATH", os.defpath)) is None:
        return (f"{words[0]} is not found on the PATH here",)
    return ()


def words_of(entry: Data) -> list[str]:
    """Return the command of an entry with its arguments, which are in two keys or in one list."""
    command, arguments = entry.get("command", ""), entry.get("args")
    words = [*(command if isinstance(command, list) else [command])]
    return [str(word) for word in words + (arguments if isinstance(arguments, list) else [])]


def runs_satchel(words: Sequence[str], command: str) -> bool:
    """Return whether these words start `satchel COMMAND` in any way: a path, uvx, `python -m`."""
    names = [Path(word.replace("\\", "/")).name.removesuffix(".exe") for word in words]
    return any(name == PROGRAM and words[at + 1] == command for at, name in enumerate(names[:-1]))


class Want(NamedTuple):
    """A required value below these keys; with `is_element` as one element of the list there.

    Another value of an `is_optional` key is kept. An `is_frame` key belongs to the file rather than to satchel:
    it is removed only with everything else.
    """

    path: tuple[str, ...]
    value: Any
    is_element: bool = False
    is_optional: bool = False
    is_frame: bool = False


class ClientFile(NamedTuple):
    """One file and its required values. `name` distinguishes entries for several folders in the same file.

    A file of a project is `inside` its root: a link of the repository must not lead set-up elsewhere.
    """

    file: Path
    name: str
    wants: tuple[Want, ...]
    is_toml: bool = False
    inside: Path | None = None


class ClientPlaces(NamedTuple):
    """Folders of settings: the home folder, the current project, and those of environment variables."""

    home: Path
    root: Path
    environ: Mapping[str, str]

    def file(self, path: str) -> Path:
        """Return the place of a file of a record: below the project, or the folder that its first part names.

        `~`, `$config`, `$code` and `$zed` are folders of the user, `$claude`, `$state`, `$codex` and
        `$copilot` those of a client, which a variable of the environment may move.
        """
        config = Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")
        named = {"~": self.home, "$config": config, "$code": config / "Code", "$zed": config / "zed"}
        if sys.platform == "darwin":
            named |= {"$code": self.home / "Library/Application Support/Code", "$zed": self.home / ".config/zed"}
        elif os.name == "nt":
            roaming = Path(self.environ.get("APPDATA") or self.home / "AppData/Roaming")
            named |= {"$code": roaming / "Code", "$zed": roaming / "Zed"}
        for name, (variable, usual) in _FOLDERS.items():
            named[name] = Path(self.environ.get(variable) or self.home / usual)
        head, _, rest = path.partition("/")
        return named[head] / rest if head in named else self.root / path


_FOLDERS = {
    "$claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "$state": ("CLAUDE_CONFIG_DIR", ""),
    "$codex": ("CODEX_HOME", ".codex"),
    "$copilot": ("COPILOT_HOME", ".copilot"),
}


def installed(places: ClientPlaces) -> tuple[str, ...]:
    """Return the clients whose program is on the PATH, or that have a folder of settings of this user."""
    path = places.environ.get("PATH", os.defpath)
    traces: dict[str, tuple[str, Path | None]] = {}
    for name, client in CLIENTS.items():
        file = client.files.get("user") or client.files.get("local")
        folder = client.folder or (file and file.rpartition("/")[0])
        traces[name] = (client.program, places.file(f"{folder}/") if folder else None)
    return tuple(
        name
        for name, (program, folder) in traces.items()
        # Path.is_dir raises for a folder that may not be looked into.
        if shutil.which(program, path=path) or (folder is not None and os.path.isdir(folder))  # noqa: PTH112
    )


def check_scope(client: str, scope: str | None) -> str:
    """Return the scope, or the usual one of the client. Raises UsageError for an unknown client or scope."""
    if client not in CLIENTS:
        raise UsageError(f"there is no client {client!r}: the clients are {', '.join(CLIENTS)}")
    scopes = tuple(CLIENTS[client].files)
    if scope is not None and scope not in scopes:
        raise UsageError(f"{client} has no scope {scope!r}: give one of {', '.join(scopes)}")
    return scope or scopes[0]


def is_shared(scope: str) -> bool:
    """Return whether the files of this scope are shared by everybody who works in the folder."""
    return scope == "project"


def targets(
    client: str, scope: str, places: ClientPlaces, launch: Launch, *, with_hooks: bool
) -> tuple[ClientFile, ...]:
    """Return the files of a client and scope, the server first. Raises UsageError if the client has no hooks."""
    if with_hooks and CLIENTS[client].hooks is None:
        raise UsageError(f"{client} has no hooks that satchel can use: leave --with-hooks out")
    files = [_server_file(client, scope, places, launch.words)]
    if with_hooks:
        hooks = _hook_file(client, scope, places, launch.words)
        if hooks.file == files[0].file:  # a file is planned once
            files[0] = files[0]._replace(wants=files[0].wants + hooks.wants)
        else:
            files.append(hooks)
    root = places.root
    is_inside = [scope != "user" and file.file.is_relative_to(root) for file in files]
    return tuple(file._replace(inside=root) if inside else file for file, inside in zip(files, is_inside, strict=True))


def all_targets(client: str, scope: str, places: ClientPlaces) -> tuple[ClientFile, ...]:
    """Return every file that set-up can write."""
    return targets(client, scope, places, Launch((PROGRAM,)), with_hooks=CLIENTS[client].hooks is not None)


def _server_file(name: str, scope: str, places: ClientPlaces, words: Sequence[str]) -> ClientFile:
    client, root = CLIENTS[name], str(places.root)
    path: tuple[str, ...] = (client.key, PROGRAM)
    arguments = client.arguments
    if scope == "local" and client.folders:
        path = (client.folders, root, *path)
    elif scope == "local":
        arguments = ("--root", root)  # the client starts the server in any folder
    rest = [*words[1:], "mcp", *arguments]
    started: Json = {"command": [words[0], *rest]} if client.is_list else {"command": words[0], "args": rest}
    environment = {"env": dict(client.environment)} if client.environment else {}
    wants = (Want(path, {**client.frame, **started, **environment}),)
    place = places.file(client.files[scope])
    return ClientFile(place, "server" if client.is_toml else "/".join(path), wants, is_toml=client.is_toml)


def _hook_file(client: str, scope: str, places: ClientPlaces, words: Sequence[str]) -> ClientFile:
    hooks = CLIENTS[client].hooks
    assert hooks is not None
    wants = [Want(("version",), 1, is_optional=True, is_frame=True)] if hooks.is_versioned else []
    for event, matcher, name in hooks.events:
        # Time that a host waits for a hook; the hook itself ends after 2 s.
        command: Json = {"command": shlex.join([*words, "hook", name]), "timeout": hooks.timeout}
        if not hooks.is_flat:
            command = {"hooks": [{"type": "command", **command}]}
        matched = {"matcher": matcher} if matcher else {}
        wants.append(Want((*hooks.keys, event), {**hooks.frame, **matched, **command}, is_element=True))
    for variable, value in CLIENTS[client].environment.items():
        wants.append(Want(("env", variable), value, is_optional=True))
    return ClientFile(places.file(hooks.files[scope]), "hooks", tuple(wants))


def next_steps(client: str, scope: str, *, with_hooks: bool) -> tuple[str, ...]:
    """Return instructions to check the set-up."""
    record = CLIENTS[client]
    steps = (*record.steps, *(record.project_steps if scope == "project" else ()))
    steps += record.hooks.steps if with_hooks and record.hooks else ()
    return (*steps, "after the next prompt: satchel hook log") if with_hooks else steps
