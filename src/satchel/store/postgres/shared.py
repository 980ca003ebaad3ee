"""Write a memory that a user shares with a team: private records into the own root, shared ones into the team's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from satchel.store.postgres.connection import ServerConnection
from satchel.store.records import NewDocument
from satchel.store.segments import SegmentDocument
from satchel.store.writer import Writer
from satchel.types import Kind

FIRST_OWN = 1 << 30
"""The least number of a row or segment of an own root, so that those of the team's root are never the same."""

Result = TypeVar("Result")


class Focus:
    """Which roots the statements of a write transaction see: one that is written, or both to read."""

    def __init__(self, connection: ServerConnection, own: str, team: str = "") -> None:
        self._connection = connection
        self.own, self.team = own, team
        self._now = ""

    def on(self, root: str) -> ServerConnection:
        """Return the connection with only this root in sight."""
        return self._set(root, "satchel_root")

    def both(self) -> ServerConnection:
        """Return the connection with all of the store in sight."""
        return self._set(self.own, "satchel_both, satchel_root" if self.team else "satchel_root")

    def _set(self, root: str, path: str) -> ServerConnection:
        chosen = f"SELECT set_config('satchel.root', '{root}', true), set_config('search_path', '{path}', true)"
        if self.team and chosen != self._now:
            self._connection.script(chosen)
            self._now = chosen
        return self._connection


class SharedWriter(Writer):
    """One transaction on both roots. What is said of a whole memory, such as its `meta` values, is in the own root."""

    def __init__(self, focus: Focus) -> None:
        self._focus = focus
        connection = focus.on(focus.own)
        super().__init__(connection)
        self._halves = ((focus.own, Writer(connection, FIRST_OWN)), (focus.team, Writer(connection)))

    def _each(self, work: Callable[[Writer, bool], Result]) -> list[Result]:
        """Do the work in both roots; the second argument says whether it is the team's."""
        done = []
        for place, (root, writer) in enumerate(self._halves):
            connection = self._focus.on(root)
            before = connection.total_changes()
            done.append(work(writer, bool(place)))
            self._halves[1 - place][1].changes += connection.total_changes() - before  # not changes of that one
        return done

    def put(self, documents: Sequence[NewDocument]) -> None:
        """As in `Writer`; a document that is shared from now on leaves the own root, and the other way round."""

        def put(writer: Writer, is_team: bool) -> None:
            for kind in {document.kind for document in documents}:
                writer.remove(kind, [document.key for document in documents if document.kind is kind])
            writer.put([document for document in documents if document.is_shared == is_team])

        self._each(put)

    def remove(self, kind: Kind, keys: Iterable[str]) -> None:
        """As in `Writer`."""
        listed = list(keys)
        self._each(lambda writer, _: writer.remove(kind, listed))

    def replace_words(self, kind: Kind, entries: Sequence[SegmentDocument]) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: writer.replace_words(
            kind, [entry for entry in entries if (entry.document_id < FIRST_OWN) == is_team]
        ))  # fmt: skip

    def hide(self, kind: Kind, keys: Iterable[str]) -> None:
        """As in `Writer`."""
        listed = list(keys)
        self._each(lambda writer, _: writer.hide(kind, listed))

    def set_meta(self, key: str, value: str) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: None if is_team else writer.set_meta(key, value))

    def unset_meta(self, key: str) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: None if is_team else writer.unset_meta(key))

    def move(self, workspaces: Sequence[str], workspace: str) -> int:
        """As in `Writer`."""
        return sum(self._each(lambda writer, _: writer.move(workspaces, workspace)))

    def put_vectors(self, fingerprint: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: writer.put_vectors(
            fingerprint, [vector for vector in vectors if (vector[0] < FIRST_OWN) == is_team]
        ))  # fmt: skip

    def keep_vectors(self, fingerprint: str) -> None:
        """As in `Writer`, of the own root: others of the team may use another model."""
        self._each(lambda writer, is_team: None if is_team else writer.keep_vectors(fingerprint))

    def merge(self, should_stop: Callable[[], bool]) -> None:
        """As in `Writer`."""
        self._each(lambda writer, _: writer.merge(should_stop))

    def purge(self) -> None:
        """As in `Writer`."""
        self._each(lambda writer, _: writer.purge())

    def finish(self) -> None:
        """As in `Writer`: each root has a revision of its own."""
        self._each(lambda writer, _: writer.finish())
