"""The memory of one root: its records, their export and their import."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from satchel.errors import UsageError
from satchel.memory import scope
from satchel.memory.model import Chosen, Memory
from satchel.memory.records import (
    chosen_from,
    chosen_of,
    linked,
    move_discarded,
    purge,
    supported,
    take_out,
    trash_of,
)
from satchel.system.locations import Places, home_of, workspaces_at
from satchel.system.state_files import locked
from satchel.types import Failure, Kind, never
from satchel.vocabulary import DEFAULT_SESSION, checked_names

if TYPE_CHECKING:
    from satchel.memory.journal import Journal
    from satchel.memory.memories import Conversations, Memories
    from satchel.memory.model import ImportReport, Record, Remark
    from satchel.memory.review import Review
    from satchel.memory.values import Values
    from satchel.services.open_root import OpenRoot
    from satchel.sources.conversations import Exchange
    from satchel.store.protocol import Store
    from satchel.store.sqlite.restore import Restored
    from satchel.store.writer import Writer


SESSION_VARIABLES = ("SATCHEL_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
"""Environment variables with the session of whoever calls, the first that is set."""


class Repaired(NamedTuple):
    """Names of records that could not be read: those that were brought back, and those that were removed."""

    restored: list[str]
    removed: list[str]


class MemoryService:
    """Memories, experiences, values and conversations of one opened root."""

    def __init__(self, root: OpenRoot) -> None:
        self._root = root

    @property
    def notebook(self) -> scope.Notebook:
        """The memory file of this root, for writing records of other kinds."""
        root, name = self._root, self._root.settings.memory_author
        session = next(filter(None, (*map(root.environ.get, SESSION_VARIABLES), name)), DEFAULT_SESSION)
        return scope.Notebook(root.memory_store, root.workspace, root.settings.redact_allow, name=name, session=session)

    @property
    def memories(self) -> Memories:
        """The memories: `add`, `search`, `listed`, `get`, `forget`, `supersede`."""
        from satchel.memory.memories import Memories

        return Memories(self.notebook, self._root.embedder)

    @property
    def conversations(self) -> Conversations:
        """The exchanges of conversations: `listed`, `forget`."""
        from satchel.memory.memories import Conversations

        return Conversations(self.notebook)

    @property
    def experiences(self) -> Journal:
        """The experiences: `start`, `update`, `note`, `resolve`, `active`, `listed`, `get`."""
        from satchel.memory.journal import Journal

        return Journal(self.notebook)

    @property
    def values(self) -> Values:
        """The values and groups: `cluster`, `propose`, `validate`, `accept`, `listed`, `get`, `forget`."""
        from satchel.memory.phrasing import phrase_of
        from satchel.memory.values import Values

        root = self._root
        return Values(self.notebook, root.embedder, phrase_of(root.settings, root.environ))

    @property
    def review(self) -> Review:
        """The candidates from transcripts: `waiting`, `propose`, `accept`, `reject`."""
        from satchel.memory.review import Review

        return Review(self.notebook, self.memories)

    def learn(self, exchanges: Sequence[Exchange]) -> tuple[int, list[Failure]]:
        """Propose what exchanges have that is worth remembering, or store it where `memory.capture` is `accept`.

        Returns how many candidates are new, and notes of a model that failed. Nothing happens where it is `off`.
        """
        settings = self._root.settings
        if settings.memory_capture == "off" or not exchanges:
            return 0, []
        from satchel.memory.review import proposed, suggested

        by_model, failures = suggested(exchanges, settings, self._root.environ)
        review = self.review
        news = review.propose([*proposed(exchanges), *by_model])
        if news and settings.memory_capture == "accept":
            review.accept([waiting.id for waiting in news])
        return len(news), failures

    def find(self, identities: Sequence[str], *, trash: bool = False) -> Chosen:
        """Return the experiences, values and memories with these ids, and the older memories that they replaced.

        With `trash` also those in the trash. Raises UsageError with similar ids for an unknown one.
        """
        discarded = trash_of(self._root.memory_store) if trash else {}
        journal, values = self.experiences, self.values
        tried, kept, others, gone = list[str](), list[str](), list[str](), list[str]()
        for identity in identities:
            if identity in discarded:
                gone.append(identity)
            elif identity.startswith("ghap_") or journal.is_experience(identity):
                tried.append(identity)
            elif identity.startswith("val_") or values.is_value(identity):
                kept.append(identity)
            else:
                others.append(identity)
        memories = self.memories.with_replaced(others)
        found = (*map(journal.get, tried), *map(values.get, kept), *memories, *map(discarded.__getitem__, gone))
        return chosen_of(found)

    def find_origin(self, origin: str) -> Chosen:
        """Return the memories and the exchanges of an origin."""
        memories = self.memories.listed(origin=origin, superseded=True)
        conversations = self.conversations.listed(origin=origin)
        return Chosen(self.memories.with_replaced([memory.id for memory in memories]), conversations)

    def find_containing(self, question: str, limit: int | None = None) -> Chosen:
        """Return the memories that contain every distinctive word of a question, and the older ones that they replaced.

        With a `limit` the newest of them; `left` counts the others.
        """
        matches = [memory.id for memory in self.memories.containing(question)]
        chosen = matches[:limit]
        return Chosen(self.memories.with_replaced(chosen), left=len(matches) - len(chosen))

    def forget(self, chosen: Chosen, *, for_good: bool = False) -> Chosen:
        """Put records into the trash, or remove them `for_good`; returns what was removed."""
        store = self._root.memory_store
        store.make_room()
        gone = trash_of(store)

        def kept(records: Iterable[Record | Remark]) -> list[str]:
            return [record.id for record in records if record.id not in gone]

        memories = {memory.id: memory for memory in chosen.memories}
        if present := kept(chosen.memories):
            memories |= {memory.id: memory for memory in self.memories.forget(present)}  # other processes link more
        if remarks := kept(chosen.conversations):
            self.conversations.forget(remarks)
        for identity in kept(chosen.values):
            self.values.forget(identity)
        if experiences := kept(chosen.experiences):
            self.experiences.forget(experiences)
        if for_good:
            purge(store, chosen.ids)
        return replace(chosen, memories=[*memories.values()], is_forgotten=True)

    def trash(self) -> Chosen:
        """Return what was forgotten here and can be brought back, the last first."""
        return replace(chosen_of(trash_of(self._root.memory_store, self.notebook.in_sight).values()), is_forgotten=True)

    def bring_back(self, identities: Sequence[str]) -> Chosen:
        """Restore records from the trash, with the older memories that they replaced; returns all of them.

        Raises UsageError for one that is not in the trash, and then restores none.
        """
        from satchel.memory.journal import add_active  # these here, because most calls do not restore
        from satchel.memory.memories import put_memories
        from satchel.memory.records import document_of

        store = self._root.memory_store
        with store.write() as writer:
            chosen = chosen_from(store, checked_names("ids", identities))
            back = chosen_of(chosen.values())
            waiting = [experience for experience in back.experiences if experience.outcome is None]
            add_active(store, writer, waiting)
            put_memories(store, writer, linked(store, back.memories))
            others = [record for record in chosen.values() if not isinstance(record, Memory) and record not in waiting]
            writer.put([document_of(other) for other in (*supported(store, back.experiences), *others)])
            take_out(writer, chosen)
            writer.merge(never)
        return back

    @property
    def notes(self) -> tuple[Failure, ...]:
        """The note about records that cannot be read, if there are any."""
        return self._root.unreadable_notes()

    def lost(self) -> list[str]:
        """Return a note for each earlier folder whose memories probably belong to this root, with its path."""
        root = self._root
        lost = scope.lost_records(root.memory_store, root.places, lambda: root.first_commit)
        return [scope.lost_note(count, path, root.places) for count, path in lost]

    def move(self, old: Path) -> int:
        """Give the records of a folder that was moved or renamed to this root; returns their number.

        Raises UsageError for a folder that still exists, and for one without records.
        """
        store = self._root.memory_store
        with store.write() as writer:
            return _move_records(store, writer, self._root.places, old)

    def repair(self) -> Repaired:
        """Bring back the records of all repositories that cannot be read, and remove those that nothing else has.

        A memory file is made again as by `restore`, so that what only the changes have is not lost. A server has no
        such files: there the records are removed.
        """
        store = self._root.memory_store
        broken = store.unreadable()
        if broken and not self._root.memory_place.url:
            self.restore()
            store = self._root.memory_store
            present = {(str(kind), key) for kind in Kind if kind in dict(broken) for key in store.keys(kind)}
            gone = [name for name in broken if name not in present]
        else:
            gone = broken
            with store.write() as writer:
                for kind in {kind for kind, _ in broken}:
                    writer.remove(Kind(kind), [key for name, key in broken if name == kind])
                writer.merge(never)
        back = [record for record in broken if record not in gone]
        return Repaired(*([f"{kind} {key}" for kind, key in records] for records in (back, gone)))

    def restore(self, *, to_backup: bool = False) -> Restored:
        """Put another file in the place of the memory file; returns from what it was made, and where that is now.

        A missing, damaged or newer one becomes the newest backup that can be read, with the changes since and with what
        can be read of the damaged file. A sound file is refused; with `to_backup` it goes back to its newest backup.
        Raises UsageError for a memory on a server.
        """
        from satchel.store.sqlite.restore import restore

        if self._root.memory_place.url:
            raise UsageError("the memory is on a server, which has backups of its own: restore one of those")

        path = self._root.places.memory
        with locked(path.parent):
            return restore(path, to_backup=to_backup)

    def export_memory(self) -> Iterator[str]:
        """Return the whole memory file as JSON Lines, of all repositories, without line ends."""
        from satchel.memory.portable import export_lines

        return export_lines(self._root.memory_store)

    def export_memories(self, form: str) -> str:
        """Return the memories that this root sees as the text of a file of another program, mem0 or csv."""
        from satchel.memory.foreign import write_foreign
        from satchel.memory.model import record_data

        return write_foreign(form, map(record_data, self.memories.listed()))

    def import_memory(
        self, lines: Iterable[bytes], *, form: str, here: bool, everywhere: bool, columns: Mapping[str, str]
    ) -> ImportReport:
        """As `Satchel.import_memory`."""
        from satchel.memory.foreign import FOREIGN, FileOptions
        from satchel.memory.portable import CLAUDE_CODE, import_foreign, import_lines, import_transcript

        notebook = self.notebook
        if form in FOREIGN:
            options = FileOptions("" if everywhere else self._root.places.root.name, columns)
            return import_foreign(lines, notebook, form, options, everywhere=everywhere)
        if form == CLAUDE_CODE:
            return import_transcript(lines, replace(notebook, workspace=scope.EVERYWHERE) if everywhere else notebook)
        workspace = scope.EVERYWHERE if everywhere else notebook.workspace if here else None
        return import_lines(lines, notebook, form=form, workspace=workspace, admit=self.values.admit_import)

    def import_transcripts(self, paths: Iterable[str | os.PathLike[str]]) -> ImportReport:
        """Import transcripts of Claude Code as conversations of this repository.

        All exchanges of a file are imported, and of a folder only those in this root. Existing exchanges stay; one that
        has grown is replaced. Raises UsageError for a path without transcripts.
        """
        from satchel.memory.portable import import_transcripts

        return import_transcripts([Path(path).expanduser() for path in paths], self.notebook, self._root.places.root)

    def learn_from(self, paths: Iterable[str | os.PathLike[str]]) -> tuple[int, list[Failure]]:
        """As `learn`, from transcripts of Claude Code or Codex. Raises UsageError for a path without transcripts."""
        from satchel.memory.portable import exchanges_of

        return self.learn(
            exchanges_of([Path(path).expanduser() for path in paths], self.notebook, self._root.places.root)
        )

    def remember_exchanges(self, exchanges: Iterable[Exchange], *, origin: str) -> ImportReport:
        """Store turns or exchanges of conversations, each once. `origin` names their source."""
        from satchel.memory.portable import put_exchanges

        return put_exchanges(exchanges, self.notebook, origin=origin)


def _move_records(store: Store, writer: Writer, places: Places, old: Path) -> int:
    """Give all records of a folder that is gone to the workspace of a root; returns their number.

    Raises UsageError for a folder that exists, unless it is that of the root, and for one without records.
    """
    from satchel.memory.journal import move_active  # both here, because most calls move nothing
    from satchel.memory.values import move_groups

    workspace = scope.workspace_of(places)
    old = Path(os.path.abspath(old.expanduser()))  # noqa: PTH100 - `absolute` keeps `..`, and the folder is gone
    if old.exists() and old.resolve() != home_of(places):
        raise UsageError(f"{old} still exists, so its memories stay there: name the folder that was moved")
    others = workspaces_at(old) - {workspace}
    moved = move_active(store, writer, others, workspace, old) + writer.move(sorted(others), workspace)
    if not moved:
        raise UsageError(f"no memories belong to {old}: give the path that the folder had before it was moved")
    move_discarded(store, writer, others, workspace)
    move_groups(store, writer, others, workspace)
    scope.write_homes(writer, {name: entry for name, entry in scope.read_homes(store).items() if name not in others})
    return moved
