"""Answers hooks and commands that only read, of other processes, while `satchel mcp` or `satchel serve` runs.

`satchel.system.resident` is the client and describes the protocol. An answer is the one that the command would give by
itself, byte for byte; where that is not certain the connection is closed, and the command works by itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from satchel.cli import application, streams
from satchel.cli.options import Invocation
from satchel.config import Folders, LoadedSettings, load_settings
from satchel.errors import SatchelError
from satchel.system import resident, state_files, telemetry
from satchel.system.locations import Places, Registry, WorkspaceType, locate
from satchel.system.threads import Threads

if TYPE_CHECKING:
    from satchel.engine import Satchel

MAX_BYTES = 32_000_000
"""Size limit of a request: twice that of an event."""


class UnfitRequestError(Exception):
    """The request cannot be answered here as its own process would."""


class Resident:
    """Listens for other processes of a root, or waits until the one that does ends. `open_engine` is called once."""

    def __init__(self, open_engine: Callable[[], Satchel], path: str = ".", root: Path | None = None) -> None:
        self._open, self._path, self._root = open_engine, path, root
        self._engine: Satchel | None = None
        self._hook_engine: Satchel | None = None
        self._guard = threading.Lock()
        # Requests that are answered at once; one that waits too long for its turn is answered by its own process
        self._threads = Threads(8)
        self._ending = threading.Event()
        self._listener = threading.Thread(target=self._run, name="satchel-resident", daemon=True)
        self._address = ""
        self._folders: Folders
        self._places: Places
        self._loaded: LoadedSettings

    def engine(self) -> Satchel:
        """Return the engine. Raises what opening it raises."""
        with self._guard:
            if self._engine is None:
                self._engine = self._open()
            return self._engine

    def __enter__(self) -> Self:
        if hasattr(socket, "AF_UNIX"):
            self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(0.0)

    def close(self, seconds: float) -> bool:
        """Stop listening, and wait for the answers; returns whether they ended in time."""
        self._ending.set()
        if self._address:
            with contextlib.suppress(OSError):
                connected(self._address).close()  # `accept` returns
        if self._listener.ident is not None:
            self._listener.join(seconds + resident.CONNECT_SECONDS)
        is_idle = self._threads.wait(seconds)
        if is_idle and self._hook_engine is not None:
            self._hook_engine.close()
            self._hook_engine = None
        return is_idle

    def _run(self) -> None:
        """Listen, now or as soon as no other process does, unless the settings forbid it."""
        try:
            self._folders = Folders.from_environment(os.environ)
            self._places = locate(self._path, self._root, self._folders)
            self._loaded = load_settings(self._places.root, os.environ, {}, self._folders)
            while self._loaded.settings.hooks_resident and not self._ending.is_set():
                with listening(self._places.root) as door:
                    if door is not None:
                        self._accept(door)
                # Pause of a second process for the same root before it looks whether the first one has ended.
                self._ending.wait(5.0)
        except (SatchelError, OSError) as error:
            telemetry.warning("other processes are not answered", reason=str(error))

    def _accept(self, door: socket.socket) -> None:
        self._address = door.getsockname()
        while not self._ending.is_set():
            try:
                connection, _ = door.accept()
            except OSError as error:  # too many open files, for one; the end closes the door
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ECONNABORTED):
                    raise
                self._ending.wait(0.2)
                continue
            self._threads.submit(self._answer, connection)

    def _answer(self, connection: socket.socket) -> None:
        """Answer one connection. After a fault it is closed, and the client works by itself."""
        with connection:
            try:
                if parts := received(connection):
                    connection.sendall(resident.ACCEPTED)
                    connection.sendall(resident.framed(self._reply(parts, partial(is_gone, connection))))
            except (OSError, UnfitRequestError):
                pass  # the client has gone, or works by itself
            except Exception:  # noqa: BLE001 - the client works by itself, and reports its own faults
                telemetry.warning("another process was not answered", exc_info=True)

    def _reply(self, parts: list[bytes], is_gone: Callable[[], bool]) -> list[bytes]:
        folder = Path(os.fsdecode(parts[0]))
        words = [os.fsdecode(word) for word in parts[2].split(b"\0")]
        if parts[1] == resident.HOOK:
            from satchel.hooks.event_context import AnsweringProcess  # here, because most processes answer no hook
            from satchel.hooks.worker import resident_work

            return resident_work(words, parts[3], AnsweringProcess(folder, self._engine_for_hook, is_gone))
        return self._command(words, folder, is_gone)

    def _command(self, words: list[str], folder: Path, is_gone: Callable[[], bool]) -> list[bytes]:
        """Run a command. One that fails, or only shows help, is run again by its own process."""
        from click import ClickException
        from click.exceptions import Exit

        invocation = Invocation(
            as_json=application.wants_json(words),
            open_engine=partial(self._engine_for_command, folder),
            should_stop=is_gone,
            folder=folder,
        )
        try:
            with (
                streams.recorded() as rows,
                application.application.make_context(application.PROGRAM, words, obj=invocation) as context,
            ):
                code = application.application.invoke(context)
        except (SatchelError, ClickException, Exit) as error:
            raise UnfitRequestError from error
        return [b"%d" % (code or 0), *(part for stream, text in rows for part in (b"%d" % stream, text))]

    def _engine_for_command(self, folder: Path, path: str, root: Path | None) -> AbstractContextManager[Satchel]:
        """Return the engine for a command that would open this root. Raises UnfitRequestError for another."""
        places = locate(folder / path, root and folder / root.expanduser(), self._folders)
        if places != self._places or load_settings(places.root, os.environ, {}, self._folders) != self._loaded:
            raise UnfitRequestError
        engine = self.engine()
        named = Registry(self._folders).at(places.root)
        described = (named.name, named.type is WorkspaceType.VAULT)
        if engine.opened.loaded != self._loaded or (engine.opened.alias, engine.opened.is_vault) != described:
            raise UnfitRequestError
        return nullcontext(engine)

    def _engine_for_hook(self, places: Places, loaded: LoadedSettings) -> Satchel:
        """Return the engine for a hook, which loads no model: the one here if it has none either.

        Raises UnfitRequestError for another root or other settings, and if the index was replaced.
        """
        from satchel.hooks.worker import quick

        settings, engine = quick(self._loaded).settings, self.engine()
        if (places, loaded.settings, engine.opened.loaded) != (self._places, settings, self._loaded):
            raise UnfitRequestError
        embedder = engine.vectors.embedder
        if (embedder is not None and not embedder.is_table) or engine.vectors.choice.failure:
            with self._guard:
                if self._hook_engine is None:
                    self._hook_engine = type(engine).open_at(places, loaded, self._folders, os.environ)
                engine = self._hook_engine
        if engine.store.is_replaced:
            raise UnfitRequestError
        return engine


def connected(address: str) -> socket.socket:
    """Return a connection to the process that listens there. Raises OSError if there is none."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(resident.CONNECT_SECONDS)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def listening(root: Path) -> Iterator[socket.socket | None]:
    """Yield the listening socket of a root; None while another process listens, or where there can be none.

    The socket of a dead process is replaced. It is removed at the end. Raises OSError for an error of the disk.
    """
    folder = Path(resident.socket_folder())
    state_files.make_folder(folder)
    path = folder / resident.socket_name(os.fspath(root))
    if len(os.fsencode(path)) > resident.LONGEST_ADDRESS or folder.stat().st_mode & 0o077:
        yield None
        return
    with state_files.locked(folder):
        door = _bound(path)
    if door is None:
        yield None
        return
    with door:
        ours = path.stat()
        try:
            yield door
        finally:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(ours, path.stat()):
                    path.unlink()


def _bound(path: Path) -> socket.socket | None:
    try:
        connected(os.fspath(path)).close()
    except (ConnectionRefusedError, FileNotFoundError):
        path.unlink(missing_ok=True)
    except OSError:  # a process that is alive, and busy
        return None
    else:
        return None
    door = socket.socket(socket.AF_UNIX)
    try:
        door.bind(os.fspath(path))
        path.chmod(0o600)
        door.listen(64)  # connections that may wait to be accepted
    except OSError:
        door.close()
        raise
    return door


def is_own(connection: socket.socket) -> bool:
    """Return whether the client is a process of this user, where the system says so; else the folder guards it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())


def received(connection: socket.socket) -> list[bytes]:
    """Return the folder, kind, words and event of a request; empty unless it is complete and can be answered here."""
    connection.settimeout(1.0)  # longest wait for the rest of a request, or for a client to take its answer
    if not is_own(connection):
        return []
    with connection.makefile("rb") as stream:
        head = stream.readline(12)
        size = int(head) if head.rstrip().isdigit() else MAX_BYTES + 1
        parts = resident.parts_of(head + stream.read(size)) if size <= MAX_BYTES else []
    return parts[3:] if len(parts) == 7 and parts[:3] == resident.identity() else []


def is_gone(connection: socket.socket) -> bool:
    """Return whether the client has closed the connection: it sends nothing after its request."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
