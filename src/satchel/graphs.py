"""The part of the engine that walks: the context around a topic or a node, over the relations of notes and code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from satchel import config, telemetry
from satchel.assemble.read import FileLines, Unreadable
from satchel.assemble.receipts.ledger import Given, HandleLedger
from satchel.assemble.receipts.sessions import reference_handles, with_account
from satchel.assemble.stream import Workbench
from satchel.roots import Places
from satchel.types import Context, ContextItem, Failure, Kind

if TYPE_CHECKING:
    from satchel.assemble.graph.cache import ContextCache
    from satchel.assemble.graph.request import GraphRequest
    from satchel.assemble.receipts.session import Account

Answer = TypeVar("Answer")


def node_handles(context: Context) -> list[Given]:
    """What the handles of a graph context stand for: of a file the lines of the node, else the whole record."""
    given = []
    for item in context.items:
        place = item.metadata["node"].get("location")
        if place is None:
            given.append(Given(item.handle, Kind(item.source), item.id))
            continue
        start, _, end = place["lines"].partition("-")
        content_hash = context.meta["files"].get(place["file"], "")
        name = item.id.partition("::")[2]
        lines = ((int(start), int(end)),)
        given.append(Given(item.handle, Kind(item.source), item.id, place["file"], name, content_hash, lines))
    return given


class Graphs:
    """What the relations of one root say. `Satchel` is the way to get one."""

    places: Places
    loaded: config.LoadedSettings
    _lines: FileLines
    _contexts: ContextCache | None = None

    if TYPE_CHECKING:  # what `Satchel` brings; at run time nothing here hides it

        def refresh(self) -> Any:
            """Bring the index up to date; what an answer has to note."""
            ...

        def account(self, session: str, state: str = "") -> Account | None:
            """What a session has received."""
            ...

        def note_shown(self, session: str, account: Account | None, items: Sequence[ContextItem]) -> list[Failure]:
            """Add what was shown to the ledger of a session."""
            ...

        @property
        def handles(self) -> HandleLedger:
            """The handles that answers about this root gave lately."""
            ...

        def _with_bench(self, work: Callable[[Workbench, Sequence[Failure]], Answer]) -> Answer:
            """What `work` makes of one published state of index and memory."""
            ...

    def graph_request(self, query: str, *, blend: Sequence[str] = (), **options: Any) -> GraphRequest:
        """The checked request of `graph`, for those who ask several times."""
        from satchel.assemble.graph.request import make_graph_request

        return make_graph_request(
            query,
            blend,
            self.loaded.settings,
            options,
            lenses=self.loaded.lenses,
            workspace=self.places.root.stem if self.places.root.is_file() else self.places.root.name,
            origin=str(config.user_file(config.Folders.from_environment())),
        )

    def graph(self, query: str, *, blend: Sequence[str] = (), refresh: bool = True, **options: Any) -> Context:
        """The context around a topic or a node id, over the relations of notes and code; `blend` adds other queries.

        Options: `depth` (1 to 5 steps, default 2), `lens` (default `general`), `max_tokens`, `format` ("markdown" or
        "json"), `include_fields`, `workspace` (the name that the answer shows), `tokenizer`, `session`, `now`. Raises
        UsageError for impossible values. The text never has more than `max_tokens`.
        """
        request = self.graph_request(query, blend=blend, **options)
        return self.graph_answer(request, self.refresh() if refresh else ())

    def graph_answer(self, request: GraphRequest, notes: Sequence[Failure] = ()) -> Context:
        """The context for a checked request, from the index as it is: a former one while nothing has changed."""
        account = self.account(request.session, request.ledger)
        before = (*notes, *(account.failures if account is not None else ()))

        def work(bench: Workbench, found: Sequence[Failure]) -> Context:
            return self._graph_of(request, replace(bench, account=account), tuple(dict.fromkeys((*before, *found))))

        source = self.places.index.name
        with telemetry.span(telemetry.RETRIEVAL, source, {telemetry.DATA_SOURCE: source}) as span:
            context = self._with_bench(work)
            telemetry.tell(span, context, content=self.loaded.settings.telemetry_content)
        self.handles.record([*node_handles(context), *reference_handles(context)])
        return with_account(context, account, self.note_shown(request.session, account, context.items))

    def _graph_of(self, request: GraphRequest, bench: Workbench, notes: Sequence[Failure]) -> Context:
        from satchel.assemble.graph.assemble import assemble_graph

        embedder = bench.embedder.id if bench.embedder is not None else ""
        received = bench.account.meta["ledger"] if bench.account is not None else ""
        key = (request, bench.revision, embedder, received, tuple(notes))
        known = self._graph_cache.get(key, self._is_as_shown)
        if known is not None:
            return replace(known, meta={**known.meta, "cached": True})
        context = assemble_graph(request, bench, notes)
        self._graph_cache.put(key, context)
        return context

    @property
    def _graph_cache(self) -> ContextCache:
        if self._contexts is None:
            from satchel.assemble.graph.cache import ContextCache

            self._contexts = ContextCache(self.loaded.settings.graph_cache_s)
        return self._contexts

    def _is_as_shown(self, context: Context) -> bool:
        """Whether the files that a context shows still have the bytes that they had."""
        files: Mapping[str, str] = context.meta["files"]
        return all(self._hash_now(path, known) == known for path, known in files.items())

    def _hash_now(self, path: str, known: str) -> str:
        found = self._lines.read(path, known)
        return "" if isinstance(found, Unreadable) else found.content_hash

    async def agraph(self, query: str, **options: Any) -> Context:
        """`graph` as a coroutine."""
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        return await asyncio.to_thread(self.graph, query, **options)
