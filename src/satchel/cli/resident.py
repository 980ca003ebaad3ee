"""Answers hooks, `context` and `search` of other processes while `satchel mcp` or `satchel serve` runs.

`satchel.system.resident` is the client and describes the protocol. An answer is the one that the command would give by
itself, byte for byte; where that is not certain the request is refused, and the command works by itself.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from satchel.cli import application, streams
from satchel.cli.options import Invocation
from satchel.config import Folders, LoadedSettings, load_settings
from satchel.errors import SatchelError
from satchel.hooks.event_context import AnsweringProcess
from satchel.system import listener, resident, telemetry
from satchel.system.locations import Places, Registry, WorkspaceType, locate
from satchel.system.threads import Threads

if TYPE_CHECKING:
    from satchel.engine import Satchel

THREADS = 8
"""Requests that are answered at once; one that waits too long for its turn is answered by its own process."""

TURN_SECONDS = 5.0
"""Pause of a second process for the same root before it looks whether the first one has ended."""

END_SECONDS = 0.5
"""Time for answers to end before the engine is closed."""

_LOOK_SECONDS = 0.05


class UnfitRequestError(Exception):
    """The request cannot be answered here as its own process would; nothing was done for it."""


class UnfinishedError(Exception):
    """The engine does not fit the request any more."""


class Resident:
    """Listens for other processes of a root while the block runs. `open_engine` is called once, on first use.

    The first process of a root listens; another one takes its place when it ends.
    """

    def __init__(self, open_engine: Callable[[], Satchel], path: str = ".", root: Path | None = None) -> None:
        self._open, self._path, self._root = open_engine, path, root
        self._engine: Satchel | None = None
        self._hook_engine: Satchel | None = None
        self._guard = threading.Lock()
        self._threads = Threads(THREADS)
        self._ending = threading.Event()
        self._listener = threading.Thread(target=self._run, name="satchel-resident", daemon=True)
        self._address = ""

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
                listener.connected(self._address).close()  # `accept` returns
        if self._listener.ident is not None:
            self._listener.join(seconds + _LOOK_SECONDS)
        is_idle = self._threads.wait(seconds)
        if is_idle and self._hook_engine is not None:
            self._hook_engine.close()
            self._hook_engine = None
        return is_idle

    def _run(self) -> None:
        """Listen, now or as soon as no other process does, unless the settings forbid it."""
        try:
            folders = Folders.from_environment(os.environ)
            places = locate(self._path, self._root, folders)
            loaded = load_settings(places.root, os.environ, {}, folders)
            if not loaded.settings.hooks_resident:
                return
            while not self._ending.is_set():
                with listener.listening(places.root) as door:
                    if door is not None:
                        self._accept(door, _Requests(self, folders, places, loaded))
                self._ending.wait(TURN_SECONDS)
        except (SatchelError, OSError) as error:
            telemetry.warning("other processes are not answered", reason=str(error))

    def _accept(self, door: socket.socket, requests: _Requests) -> None:
        self._address = door.getsockname()
        while not self._ending.is_set():
            connection, _ = door.accept()
            self._threads.submit(requests.answer, connection)

    def hook_engine(self, requests: _Requests) -> Satchel:
        """Return the engine for hooks, which compare words alone: this one if it has no vectors either."""
        engine = self.engine()
        if engine.opened.loaded != requests.loaded:
            raise UnfinishedError
        if engine.vectors.embedder or engine.vectors.choice.failure:
            with self._guard:
                if self._hook_engine is None:
                    settings = replace(requests.loaded.settings, embed_provider="off")
                    loaded = replace(requests.loaded, settings=settings)
                    self._hook_engine = type(engine).open_at(requests.places, loaded, requests.folders, os.environ)
                return self._hook_engine
        return engine


@dataclass(frozen=True, slots=True)
class _Requests:
    """Answers the requests to one root."""

    process: Resident
    folders: Folders
    places: Places
    loaded: LoadedSettings

    def answer(self, connection: socket.socket) -> None:
        """Answer one connection. After a fault it is closed, and the client works by itself."""
        with connection:
            try:
                parts = listener.request(connection)
                if not parts:
                    return
                connection.sendall(resident.ACCEPTED)
                try:
                    reply = self._reply(parts, partial(listener.is_gone, connection))
                except UnfitRequestError:
                    connection.sendall(resident.REFUSED)
                else:
                    connection.sendall(resident.framed(reply))
            except (OSError, UnfinishedError):
                pass  # the client has gone, or works by itself
            except Exception:  # noqa: BLE001 - the client works by itself, and reports its own faults
                telemetry.warning("another process was not answered", exc_info=True)

    def _reply(self, parts: list[bytes], is_gone: Callable[[], bool]) -> list[bytes]:
        folder = Path(os.fsdecode(parts[0]))
        words = [os.fsdecode(word) for word in parts[2].split(b"\0")]
        if parts[1] == resident.HOOK:
            from satchel.hooks.worker import resident_work

            return resident_work(words, parts[3], _HookProcess(folder=folder, requests=self, is_gone=is_gone))
        return self._command(words, folder, is_gone)

    def _command(self, words: list[str], folder: Path, is_gone: Callable[[], bool]) -> list[bytes]:
        """Run a command. One that fails, or only shows help, is run again by its own process."""
        from click import ClickException
        from click.exceptions import Exit

        invocation = Invocation(
            as_json=application.wants_json(words), open_engine=partial(self._opened, folder), should_stop=is_gone
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

    def _opened(self, folder: Path, path: str, root: Path | None) -> AbstractContextManager[Satchel]:
        """Return the engine for a command that would open this root."""
        places = locate(folder / path, root and folder / root.expanduser(), self.folders)
        if places != self.places or load_settings(places.root, os.environ, {}, self.folders) != self.loaded:
            raise UnfitRequestError
        engine = self.process.engine()
        named = Registry(self.folders).at(places.root)
        described = (named.name, named.type is WorkspaceType.VAULT)
        if engine.opened.loaded != self.loaded or (engine.opened.alias, engine.opened.is_vault) != described:
            raise UnfitRequestError
        return nullcontext(engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HookProcess(AnsweringProcess):
    """The resident process as the one that answers a hook."""

    requests: _Requests

    def check(self, places: Places, loaded: LoadedSettings) -> None:
        """Raise UnfitRequestError for another root or other settings."""
        settings = replace(self.requests.loaded.settings, embed_provider="off")
        if places != self.requests.places or loaded.settings != settings:
            raise UnfitRequestError

    def engine(self) -> Satchel:
        """Return the engine that stays open. Raises UnfinishedError if its index was replaced."""
        engine = self.requests.process.hook_engine(self.requests)
        if engine.store.is_replaced:
            raise UnfinishedError
        return engine
