"""The half of the engine that remembers: the durable memory file, and what is written there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from satchel import config
from satchel.errors import LockedError, StoreError
from satchel.learn.scope import EVERYWHERE, Notebook, workspace_of, workspaces_in_sight
from satchel.roots import Places
from satchel.store.protocol import Store
from satchel.store.sqlite.store import SqliteStore
from satchel.types import Failure

if TYPE_CHECKING:
    from satchel.embed.protocol import Embedder
    from satchel.learn.capture import Captured
    from satchel.learn.entries import ImportReport
    from satchel.learn.journal import Journal
    from satchel.learn.memories import Conversations, Memories
    from satchel.learn.values import Values
    from satchel.sources.conversations import Exchange


class Learned:
    """What one root remembers. `Satchel` is the way to get one."""

    places: Places
    loaded: config.LoadedSettings
    _memory: SqliteStore | None = None

    @property
    def memory(self) -> SqliteStore:
        """The durable memory store, opened when first asked for, backed up before its schema changes.

        It is one file for all roots: searched, counted and listed is what belongs to this repository or to all.
        """
        if self._memory is None:
            self._memory = SqliteStore(self.places.memory, durable=True, workspaces=workspaces_in_sight(self.places))
            self._memory.on_write = self._remembered
        return self._memory

    def _remembered(self) -> None:
        """Something was written to the memory."""

    def _has_memory(self) -> bool:
        """Whether anything was ever remembered; asking must not make the file."""
        return self._memory is not None or self.places.memory.exists()

    @contextmanager
    def _recalling(self) -> Iterator[tuple[Store | None, tuple[Failure, ...]]]:
        """The memory as it is now, None while nothing is remembered.

        A file that cannot be read must not take the answer down: it is noted, and the rest answers.
        """
        with ExitStack() as stack:
            memory: Store | None = None
            failures: tuple[Failure, ...] = ()
            try:
                memory = stack.enter_context(self.memory.snapshot()) if self._has_memory() else None
            except (LockedError, StoreError) as error:
                failures = (Failure("memory", str(error), "the answer has nothing that was remembered"),)
            yield memory, failures

    @property
    def notebook(self) -> Notebook:
        """The memory file as this root writes in it, for those who build on it."""
        return Notebook(self.memory, workspace_of(self.places), self.loaded.settings.redact_allow)

    @property
    def memories(self) -> Memories:
        """What was said once and is true for long: `add`, `search`, `listed`, `get`, `forget`, `supersede`."""
        from satchel.learn.memories import Memories

        return Memories(self.notebook, self.embedder)

    @property
    def conversations(self) -> Conversations:
        """What was said and is remembered: `listed`, `forget`."""
        from satchel.learn.memories import Conversations

        return Conversations(self.notebook)

    @property
    def experiences(self) -> Journal:
        """What was tried and came of it: `start`, `update`, `note`, `resolve`, `active`, `listed`, `get`."""
        from satchel.learn.journal import Journal

        return Journal(self.notebook)

    @property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors, None where words alone count."""
        return None

    @property
    def values(self) -> Values:
        """What experiences teach together: `cluster`, `propose`, `validate`, `accept`, `listed`, `get`, `forget`."""
        from satchel.learn.values import Values

        return Values(self.notebook, self.embedder)

    def run_captured(self, command: Sequence[str], out: IO[bytes], err: IO[bytes]) -> Captured:
        """Run a command, passing its output on, and return what it says about its tests. Raises UsageError."""
        from satchel.learn.capture import run_captured

        return run_captured(command, out, err)

    def export_memory(self) -> Iterator[str]:
        """The whole memory file as JSON Lines, of all repositories, without line ends."""
        from satchel.learn.portable import export_lines

        return export_lines(self.memory)

    def import_memory(
        self, lines: Iterable[bytes], *, form: str = "satchel", here: bool = False, everywhere: bool = False
    ) -> ImportReport:
        """Import JSON Lines, one record a line; lines that cannot be used are named in the report.

        `form` is `satchel`, `calm-ghap`, or `claude-code` for one transcript, as by `import_transcripts`. With `here`
        all records belong to this repository, with `everywhere` to all; else to what their lines say.
        """
        from satchel.learn.portable import import_lines
        from satchel.learn.transcripts import CLAUDE_CODE, import_transcript

        notebook = self.notebook
        if form == CLAUDE_CODE:
            return import_transcript(lines, replace(notebook, workspace=EVERYWHERE) if everywhere else notebook)
        workspace = EVERYWHERE if everywhere else notebook.workspace if here else None
        return import_lines(lines, notebook, form=form, workspace=workspace, admit=self.values.admit_import)

    def import_transcripts(self, paths: Iterable[str | os.PathLike[str]]) -> ImportReport:
        """Import transcripts of Claude Code as conversations of this repository.

        A file is imported as it is, of a folder only what was said while working in this root. What is here already
        stays; an exchange that has grown since is written anew. Raises UsageError for a path without transcripts.
        """
        from satchel.learn.transcripts import import_transcripts

        return import_transcripts([Path(path).expanduser() for path in paths], self.notebook, self.places.root)

    def remember_exchanges(self, exchanges: Iterable[Exchange], *, origin: str) -> ImportReport:
        """Remember turns or exchanges of conversations, each once. `origin` names where they came from."""
        from satchel.learn.transcripts import put_exchanges

        return put_exchanges(exchanges, self.notebook, origin=origin)
