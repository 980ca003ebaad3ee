"""The writer of a durable store, which keeps what it does for the file of changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.store.protocol import WORDS_VERSION
from satchel.store.records import NewDocument, WriteConnection
from satchel.store.sqlite.changes import ChangeStep
from satchel.store.writer import INHERITED, Writer
from satchel.types import Kind

_NOT_LOGGED = frozenset((*INHERITED, WORDS_VERSION))
"""`meta` keys that follow from the others: a store that is made again gets its own."""


class LoggedWriter(Writer):
    """A writer that keeps its steps, encoded, for the file of changes."""

    def __init__(self, connection: WriteConnection) -> None:
        self.steps: list[bytes] = []
        super().__init__(connection)

    def _log(self, step: ChangeStep) -> None:
        self.steps.append(step.encoded())

    def put(self, documents: Sequence[NewDocument]) -> None:
        """As in `Writer`."""
        super().put(documents)
        if documents:
            self._log(ChangeStep(put=tuple(documents)))

    def remove(self, kind: Kind, keys: Iterable[str]) -> None:
        """As in `Writer`."""
        listed = tuple(keys)
        super().remove(kind, listed)
        self._log(ChangeStep(kind=kind, keys=listed))

    def hide(self, kind: Kind, keys: Iterable[str], shown: Iterable[str] | None = None) -> None:
        """As in `Writer`."""
        listed, visible = tuple(keys), None if shown is None else tuple(shown)
        super().hide(kind, listed, visible)
        self._log(ChangeStep(kind=kind, keys=listed, is_hidden=True, shown=visible))

    def set_meta(self, key: str, value: str) -> None:
        """As in `Writer`."""
        super().set_meta(key, value)
        if key not in _NOT_LOGGED:
            self._log(ChangeStep(name=key, value=value))

    def unset_meta(self, key: str) -> None:
        """As in `Writer`."""
        super().unset_meta(key)
        if key not in _NOT_LOGGED:
            self._log(ChangeStep(name=key))

    def move(self, workspaces: Sequence[str], workspace: str) -> int:
        """As in `Writer`."""
        moved = super().move(workspaces, workspace)
        self._log(ChangeStep(moved=tuple(workspaces), workspace=workspace))
        return moved
