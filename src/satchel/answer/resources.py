"""The stores and services that an answer is made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.search.dense import Meaning
from satchel.store.protocol import Store
from satchel.types import MEMORY_KINDS, Failure, Kind, LeftOut

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from satchel.answer.freshness import ListChanged
    from satchel.answer.items import CountLines
    from satchel.answer.session import Account
    from satchel.answer.source_lines import FileLines
    from satchel.embed import Embedder


OpenExecutor = Callable[[], "Executor | None"]
"""Returns the executor to search in, None where no search waits for anything; called only for several sections."""


class Resources(Struct, frozen=True):
    """Stores and services of the pipeline; all else is in the request. `memory` is None while nothing is remembered.

    `count_lines` counts the changed lines of the commits that are shown; without it they are not counted.
    `changed_files` lists what is new or changed in the tree; without it a renamed file counts as gone.
    `embedder` turns the question into a vector, to compare with those of records; without it only words count.
    `account` records what the session has received; without it everything is new. `prefix` is the workspace as it is
    before paths (`web/`), empty unless several are asked; `others` are those of the others. `notes` are failures
    so far, such as files that could not be indexed. `models` order code anew, where one is configured. `left_out` looks
    for words in files that are not indexed.
    """

    store: Store
    lines: FileLines
    key: bytes
    open_executor: OpenExecutor | None = None
    allow: tuple[str, ...] = ()
    memory: Store | None = None
    count_lines: CountLines | None = None
    changed_files: ListChanged | None = None
    embedder: Embedder | None = None
    account: Account | None = None
    prefix: str = ""
    others: tuple[Resources, ...] = ()
    notes: tuple[Failure, ...] = ()
    left_out: Callable[[Sequence[str]], LeftOut] | None = None

    @property
    def every(self) -> tuple[Resources, ...]:
        """Those of all workspaces of the question, with this one."""
        return (self, *self.others)

    def store_of(self, kind: Kind) -> Store:
        """Return the store of a kind: records that cannot be derived again are in the memory file."""
        return self.memory if kind in MEMORY_KINDS and self.memory is not None else self.store

    def kinds(self) -> dict[Kind, int]:
        """Return how many chunks there are of each kind."""
        counts = dict(self.store.kinds())
        if self.memory is not None:
            counts |= {kind: count for kind, count in self.memory.kinds().items() if kind in MEMORY_KINDS}
        return counts

    @property
    def revision(self) -> str:
        """A value that changes with every published write to a store."""
        stores = [store for resources in self.every for store in (resources.store, resources.memory)]
        return "+".join(store.revision for store in stores if store is not None)

    def meaning(self, question: str) -> Meaning | None:
        """Return the question as a vector, worked out when first needed; None without an embedder."""
        return Meaning(self.embedder, question) if self.embedder is not None else None
