"""Set satchel up in a client or remove it: all changes are planned before a file is written."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from satchel.clients import edits
from satchel.clients.records import CLIENTS
from satchel.clients.targets import (
    ClientFile,
    ClientPlaces,
    Want,
    all_targets,
    imports_from_folder,
    words_of,
)
from satchel.errors import ClientFileError
from satchel.system import state_files

MAX_BYTES = 50_000_000
"""Size limit: the largest such file seen, with the history of all projects, has a tenth of it."""

FOLDER = "clients"
"""Folder of receipts below the state folder."""


def read(path: Path) -> bytes | None:
    """Return the bytes of the file, None if there is none. Raises ClientFileError for anything but a regular file."""
    with _told(path, "read"):
        try:
            target = path.resolve(strict=True)
        except FileNotFoundError:
            return None
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ClientFileError(f"{path} is not a file: move it away and try again")
        if status.st_size > MAX_BYTES:
            raise ClientFileError(f"{path} has {status.st_size:,} bytes, more than the {MAX_BYTES:,} that are read")
        return target.read_bytes()


@contextlib.contextmanager
def _told(path: Path, done: str) -> Iterator[None]:
    """Raise ClientFileError for a file that cannot be read, written or deleted."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise ClientFileError(f"{path} cannot be {done}: {getattr(error, 'strerror', None) or error}") from error


def text_of(path: Path, raw: bytes) -> str:
    """Decode the text of the file, with its byte order mark and line ends. Raises ClientFileError."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ClientFileError(
            f"{path}:{line}: byte {raw[error.start]:#04x} is not UTF-8; nothing was written"
        ) from None


def write(path: Path, before: bytes | None, after: bytes) -> None:
    """Put the file in place as a whole; its folder exists. Raises ClientFileError if it changed since `before`."""
    target = _target(path)
    os.umask(mask := os.umask(0))
    mode = 0o666 & ~mask  # of a new file: other members of a project read it, too
    if before is not None:
        mode = stat.S_IMODE(target.stat().st_mode)
        if not mode & stat.S_IWUSR:
            raise ClientFileError(f"{path} is read-only: allow writing (chmod u+w) and try again")
    check_unchanged(path, before)
    with _told(path, "written"):
        state_files.replace(target, after, mode=mode, durable=True)


def remove(path: Path, before: bytes, inside: Path | None = None) -> None:
    """Delete the file and empty folders up to that of the settings, never `inside` itself.

    Raises ClientFileError if the file changed since `before`.
    """
    check_unchanged(path, before)
    with _told(path, "deleted"):
        _target(path).unlink()
    folders = [folder for folder in path.parents if inside is None or folder.is_relative_to(inside)]
    last = next((at for at, folder in enumerate(folders) if folder.name.startswith(".") and folder != inside), -1)
    with contextlib.suppress(OSError):  # one that is not empty
        for folder in folders[: last + 1]:
            folder.rmdir()


def make_folders(path: Path) -> None:
    """Create the folders above the file. Raises ClientFileError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClientFileError(f"{error.filename or path.parent} cannot be made: {error.strerror or error}") from error


def check_unchanged(path: Path, before: bytes | None) -> None:
    """Raise ClientFileError if the file is not as it was read."""
    if read(path) != before:
        raise ClientFileError(f"{path} was changed by another program meanwhile and left as that wrote it: try again")


def _target(path: Path) -> Path:
    """Follow a link, also one that leads to nothing yet."""
    with _told(path, "written"):
        return path.resolve()


def check_inside(target: ClientFile) -> None:
    """Raise ClientFileError for a file of a project that is really elsewhere: a link of the repository leads there."""
    real = _target(target.file)
    if target.inside is not None and not real.is_relative_to(target.inside.resolve()):
        raise ClientFileError(
            f"{target.file} is a link to {real}, outside of the project; nothing was written. "
            "Replace the link by a file, or set satchel up for yourself with --scope user"
        )


class Receipt(NamedTuple):
    """The values that set-up wrote into a file, by their path. `is_new` says that there was no file before.

    `empty` has the inner text of mappings and lists that had no values before, by their path.
    """

    wrote: tuple[tuple[tuple[str, ...], Any], ...] = ()
    is_new: bool = False
    empty: tuple[tuple[tuple[str, ...], str], ...] = ()


def load_receipt(target: ClientFile, state: Path) -> Receipt:
    """Return the receipt for a target, an empty one where there is none that can be read."""
    try:
        data = json.loads(_receipt_file(target, state).read_bytes())
        wrote, empty = (tuple((tuple(path), value) for path, value in data.get(key, ())) for key in ("wrote", "empty"))
        return Receipt(wrote, bool(data["is_new"]), empty)
    except (OSError, ValueError, KeyError, TypeError):
        return Receipt()


def save_receipt(target: ClientFile, state: Path, receipt: Receipt) -> None:
    """Keep a receipt, readable for the user alone. Raises OSError."""
    file = _receipt_file(target, state)
    state_files.make_folder(file.parent)
    data = {"file": str(target.file), "name": target.name, **receipt._asdict()}
    state_files.replace(file, json.dumps(data).encode())


def forget_receipt(target: ClientFile, state: Path) -> None:
    """Delete the receipt, if there is one."""
    _receipt_file(target, state).unlink(missing_ok=True)


def files_set_up(state: Path) -> list[Path]:
    """Return the existing files that set-up wrote into and from which satchel was not removed yet."""
    files = set()
    for receipt in sorted((state / FOLDER).glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            file = Path(json.loads(receipt.read_bytes())["file"])
            if file.exists():
                files.add(file)
    return sorted(files)


def _receipt_file(target: ClientFile, state: Path) -> Path:
    identity = b"\0".join((os.fsencode(target.file.absolute()), target.name.encode("utf-8", "surrogatepass")))
    return state / FOLDER / f"{blake2b(identity, digest_size=16).hexdigest()}.json"


def is_set_up(client: str, places: ClientPlaces) -> bool:
    """Return whether a file of the client starts the server of satchel. One that cannot be read does not."""
    for scope in CLIENTS[client].files:
        target = all_targets(client, scope, places)[0]
        with contextlib.suppress(ClientFileError):
            raw = read(target.file)
            data = edits.data_of(target, text_of(target.file, raw)) if raw is not None else {}
            if edits.is_own_server(edits.value_at(data, target.wants[0].path)):
                return True
    return False


def unguarded(places: ClientPlaces) -> list[tuple[str, Path]]:
    """Return client and file of each entry that starts satchel with the modules of the folder it is started in."""
    found = {}
    for client, record in CLIENTS.items():
        for target in (file for scope in record.files for file in all_targets(client, scope, places)):
            with contextlib.suppress(ClientFileError):  # a file that cannot be read starts nothing
                raw = read(target.file)
                data = edits.data_of(target, text_of(target.file, raw)) if raw is not None else {}
                if any(imports_from_folder(words) for words in edits.started_words(target, data)):
                    found[client, target.file] = True
    return list(found)


START_SECONDS = 30.0
"""Time that clients give a server to start; the first start through uvx downloads the package."""

REQUESTS = (
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "satchel setup", "version": "1"},
    }},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)  # fmt: skip


def _listed_tools(line: bytes) -> int:
    """Return how many tools a line of the server lists, 0 for any other line."""
    with contextlib.suppress(ValueError):
        answer = json.loads(line)
        if isinstance(answer, dict) and answer.get("id") == REQUESTS[-1]["id"] and "result" in answer:
            return len(answer["result"]["tools"])
    return 0


def start_once(target: ClientFile, places: ClientPlaces) -> tuple[int, str]:
    """Start the server as the client will, and return how many tools it lists, and the fault if it lists none."""
    entry = target.wants[0].value
    words = [word.replace("${workspaceFolder}", str(places.root)) for word in words_of(entry)]
    sent = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in REQUESTS)
    with tempfile.TemporaryFile() as told:
        try:
            server = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, cwd=places.root,
                env={**places.environ, **entry.get("env", {})},
            )  # fmt: skip
        except OSError as error:
            return 0, f"{words[0]} cannot be started: {error.strerror or error}"
        timer = threading.Timer(START_SECONDS, server.kill)
        timer.start()
        with server:
            assert server.stdin is not None
            assert server.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                os.write(server.stdin.fileno(), sent.encode())
            # Its input ends after the answer: a server may not wait for answers that it owes then.
            tools = next(filter(None, map(_listed_tools, server.stdout)), 0)
        is_late = not timer.is_alive()
        timer.cancel()
        told.seek(0)
        said = told.read().decode("utf-8", "replace").strip().splitlines()
    if tools:
        return tools, ""
    if is_late:
        return 0, f"the server does not answer within {START_SECONDS:.0f} s"
    return 0, f"the server ended with {server.returncode} and listed no tools" + (f": {said[-1]}" if said else "")


class FileChange(NamedTuple):
    """The change of one file: `after` is None if it is deleted, and equal to `before` without a change.

    `action` is added, updated, unchanged, removed or absent. `receipt` is kept once the file is written.
    """

    target: ClientFile
    before: bytes | None
    after: bytes | None
    action: str
    receipt: Receipt | None = None

    @property
    def is_change(self) -> bool:
        """True if there is anything to write."""
        return self.before != self.after


def planned(target: ClientFile, state: Path, *, force: bool) -> FileChange:
    """Plan the set-up in one file. Raises ClientFileError, also for an entry of our name that set-up did not write."""
    check_inside(target)
    raw = read(target.file)
    text = "" if raw is None else text_of(target.file, raw)
    receipt = load_receipt(target, state)
    data = edits.data_of(target, text)
    states = [(want, _state(want, data, receipt)) for want in target.wants]
    words = {state for _, state in states}
    for foreign in (want for want, state in states if state == "foreign" and not force):
        raise ClientFileError(
            f"{target.file} has an entry {'.'.join(foreign.path)} that set-up did not write:\n"
            f"{edits.entry_text(edits.value_at(data, foreign.path))}\nnothing was written; --force replaces it"
        )
    if words <= {"present", "kept"}:
        return FileChange(target, raw, raw, "unchanged")
    new = _extended(receipt, target, text, states, is_new=raw is None)
    action = "added" if words <= {"missing", "kept"} else "updated"
    return FileChange(target, raw, edits.encoded(target, _with_entries(target, text, states)), action, new)


def _extended(
    receipt: Receipt, target: ClientFile, text: str, states: Sequence[tuple[Want, str]], *, is_new: bool
) -> Receipt:
    """Return the receipt with the values that are written now; the text has the earlier ones."""
    wrote = [(want.path, want.value) for want, state in states if state != "kept"]
    empty = filter(None, (edits.inside(target, text, want.path) for want, state in states if state == "missing"))
    return receipt._replace(
        wrote=(*wrote, *(row for row in receipt.wrote if row not in wrote)),
        is_new=is_new or receipt.is_new,
        empty=tuple({**dict(empty), **dict(receipt.empty)}.items()),
    )


def _state(want: Want, data: Any, receipt: Receipt) -> str:
    """Classify a value: missing, present, ours (to be replaced), kept (optional, and not ours) or foreign."""
    value = edits.value_at(data, want.path)
    if value is edits.MISSING:
        return "missing"
    if want.is_element:
        if isinstance(value, list) and want.value in value:
            return "present"
        return "ours" if edits.own_elements(value, want) else "missing"
    is_written = (want.path, value) in receipt.wrote
    if want.is_optional:
        return "present" if is_written else "kept"
    if value == want.value:
        return "present"
    return "ours" if is_written else "foreign"


def _with_entries(target: ClientFile, text: str, states: Sequence[tuple[Want, str]]) -> str:
    """Return the text after set-up."""
    wants = [want for want, state in states if state not in {"present", "kept"}]
    if target.is_toml:
        for want, state in states:
            if state in {"ours", "foreign"}:
                text = edits.without_toml_table(text, want.path)
        return text + "".join(edits.toml_table(target, text, want) for want in wants)
    for want in wants:
        text = edits.put_json(target, text, want)
    return text


def removals(targets: Iterable[ClientFile], state: Path, *, force: bool) -> list[FileChange]:
    """Plan the removal from these files, in this order: several targets may share a file.

    Raises ClientFileError, also for an entry of our name that is not ours.
    """
    contents: dict[str, bytes | None] = {}
    changes = []
    for target in targets:
        check_inside(target)
        place = os.path.realpath(target.file)
        raw = contents[place] if place in contents else read(target.file)
        changes.append(_removal(target, raw, state, force=force))
        contents[place] = changes[-1].after
    return changes


def _removal(target: ClientFile, raw: bytes | None, state: Path, *, force: bool) -> FileChange:
    if raw is None:
        return FileChange(target, raw, raw, "absent")
    text = text_of(target.file, raw)
    receipt = load_receipt(target, state)
    data = edits.data_of(target, text)
    own = [want for want in target.wants if _is_ours(target, want, data, receipt, force=force)]
    if all(want.is_optional for want in own):
        return FileChange(target, raw, raw, "absent")
    if target.is_toml:
        for want in own:
            text = edits.without_toml_table(text, want.path)
    else:
        text = _without_entries(target, text, own, dict(receipt.empty))
    if receipt.is_new and not text.strip("\ufeff \t\r\n{}"):
        return FileChange(target, raw, None, "removed")
    return FileChange(target, raw, edits.encoded(target, text), "removed")


def _is_ours(target: ClientFile, want: Want, data: Any, receipt: Receipt, *, force: bool) -> bool:
    """Return whether a value came from set-up. Raises ClientFileError for a foreign entry of our name."""
    state, value = _state(want, data, receipt), edits.value_at(data, want.path)
    if state == "foreign" and not (edits.is_own_server(value) or force):
        raise ClientFileError(
            f"{target.file} has an entry {'.'.join(want.path)} that does not start satchel:\n{edits.entry_text(value)}"
            "\nnothing was written; --force removes it"
        )
    return state not in {"missing", "kept"}


def _without_entries(target: ClientFile, text: str, own: Sequence[Want], empty: Mapping[tuple[str, ...], str]) -> str:
    """Remove values, and the mappings and lists around them that are then empty, unless they were it before."""
    for want in sorted(own, key=lambda want: want.is_frame):
        data = edits.data_of(target, text)
        if want.is_frame and len(data) > 1:
            continue
        if want.is_element:
            for position in reversed(edits.own_elements(edits.value_at(data, want.path), want)):
                text = edits.take_json(text, [*want.path, position])
        else:
            text = edits.take_json(text, want.path)
        for end in range(len(want.path) - (not want.is_element), -1, -1):
            path = want.path[:end]
            if edits.value_at(edits.data_of(target, text), path):
                break
            if path in empty or not path:
                text = edits.refilled(text, path, empty.get(path, ""))
                break
            text = edits.take_json(text, path)
    return text


def apply(changes: Sequence[FileChange], state: Path) -> None:
    """Write what was planned, file by file, and the receipts. Raises ClientFileError, OSError."""
    for change in changes:
        target = change.target
        if not change.is_change:
            if change.action == "absent":  # a removal that was killed before its end
                forget_receipt(target, state)
            continue
        check_inside(target)
        check_unchanged(target.file, change.before)
        if change.after is not None:
            make_folders(target.file)
            if change.receipt is not None:  # first: without it, some values could not be removed again
                save_receipt(target, state, change.receipt)
            write(target.file, change.before, change.after)
        elif change.before is not None:
            remove(target.file, change.before, target.inside)
        if change.receipt is None:
            forget_receipt(target, state)
