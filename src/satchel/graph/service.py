"""Answers about graphs, with a cache of the last ones."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from satchel import config
from satchel.assemble.gather import Workbench
from satchel.assemble.source_lines import Unreadable
from satchel.graph.assemble import assemble_graph
from satchel.graph.request import GraphRequest, make_graph_request
from satchel.open_root import OpenRoot
from satchel.receipts.handles import HandleTarget
from satchel.receipts.service import ReceiptService
from satchel.types import Context, Failure, Kind

MOST_CONTEXTS = 128
"""Contexts kept at once: at 4,000 tokens they need 5 MB."""


@dataclass(frozen=True, slots=True)
class _Entry:
    made: float
    context: Context


class ContextCache:
    """Contexts by key; the least recently used one is dropped first. Safe to share between threads."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds` to live; 0 keeps nothing."""
        self._seconds, self._clock = seconds, clock
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._guard = threading.Lock()
        self.hits = 0

    def get(self, key: Hashable, is_current: Callable[[Context], bool]) -> Context | None:
        """Return the context under this key; None where there is none, it is too old, or a shown file has changed."""
        with self._guard:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._clock() - entry.made >= self._seconds:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
        if not is_current(entry.context):
            return None
        with self._guard:
            self.hits += 1
        return entry.context

    def put(self, key: Hashable, context: Context) -> None:
        """Keep a context, unless it has failures or timed out: the next answer may then differ."""
        if self._seconds <= 0 or context.failures or context.meta.get("timed_out"):
            return
        with self._guard:
            self._entries[key] = _Entry(self._clock(), context)
            self._entries.move_to_end(key)
            while len(self._entries) > MOST_CONTEXTS:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._guard:
            self._entries.clear()


class GraphService:
    """Graph contexts of one opened root. An answer is kept until something that it shows changes."""

    def __init__(self, root: OpenRoot, receipts: ReceiptService) -> None:
        self._root = root
        self._receipts = receipts
        self._contexts = ContextCache(root.settings.graph_cache_s)

    def graph_request(self, query: str, *, blend: Sequence[str] = (), **options: Any) -> GraphRequest:
        """Return the checked request of `graph`, for those who ask several times."""
        root = self._root.places.root
        return make_graph_request(
            query,
            blend,
            self._root.settings,
            options,
            lenses=self._root.loaded.lenses,
            workspace=root.stem if root.is_file() else root.name,
            origin=str(config.user_file(config.Folders.from_environment())),
        )

    def graph(self, query: str, *, blend: Sequence[str] = (), refresh: bool = True, **options: Any) -> Context:
        """Return the context around a topic or a node id, from relations of notes and code; `blend` adds queries.

        Options: `depth` (1 to 5 steps, default 2), `lens` (default `general`), `max_tokens`, `format` ("markdown" or
        "json"), `include_fields`, `workspace` (the name that the answer shows), `tokenizer`, `session`, `now`. Raises
        UsageError for impossible values. The text never has more than `max_tokens`.
        """
        request = self.graph_request(query, blend=blend, **options)
        return self.graph_answer(request, self._root.refresh() if refresh else ())

    def graph_answer(self, request: GraphRequest, notes: Sequence[Failure] = ()) -> Context:
        """Return the context for a checked request from the present index; a kept one while nothing has changed."""
        account = self._receipts.account(request.session, request.ledger)
        with self._receipts.traced() as tell:
            context = self._root.with_bench(partial(self._answer, request), notes, account)
            tell(context)
        return self._receipts.keep(context, account, request.session, node_handles(context))

    def _answer(self, request: GraphRequest, bench: Workbench, notes: Sequence[Failure]) -> Context:
        embedder = bench.embedder.id if bench.embedder is not None else ""
        received = bench.account.meta["ledger"] if bench.account is not None else ""
        key = (request, bench.revision, embedder, received, tuple(notes))
        former = self._contexts.get(key, self._is_as_shown)
        if former is not None:
            return replace(former, meta={**former.meta, "cached": True})
        context = assemble_graph(request, bench, notes)
        self._contexts.put(key, context)
        return context

    def _is_as_shown(self, context: Context) -> bool:
        """Return whether the files that a context shows are unchanged."""
        files: Mapping[str, str] = context.meta["files"]
        for path, shown in files.items():
            lines = self._root.lines.read(path, shown)
            if ("" if isinstance(lines, Unreadable) else lines.content_hash) != shown:
                return False
        return True


def node_handles(context: Context) -> list[HandleTarget]:
    """Return the targets of the handles of a graph context: the lines of a node in a file, else its record."""
    handles = []
    for item in context.items:
        place = item.metadata["node"].get("location")
        if place is None:
            handles.append(HandleTarget(item.handle, Kind(item.source), item.id))
            continue
        start, _, end = place["lines"].partition("-")
        content_hash = context.meta["files"].get(place["file"], "")
        name = item.id.partition("::")[2]
        lines = ((int(start), int(end)),)
        handles.append(HandleTarget(item.handle, Kind(item.source), item.id, place["file"], name, content_hash, lines))
    return handles
