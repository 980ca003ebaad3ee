"""The facade: open a root, index it, search it, assemble contexts.

`Satchel` delegates to one service for each subject. A service is built on first use, and its modules are imported then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from satchel import config
from satchel.errors import NoIndexError
from satchel.open_root import INDEX_NAME as INDEX_NAME
from satchel.open_root import LOCK_NAME as LOCK_NAME
from satchel.open_root import REFRESH_PAUSE_SECONDS as REFRESH_PAUSE_SECONDS
from satchel.open_root import AnyPath, OpenRoot, ShouldStop, never
from satchel.safety import trust as trust_marks
from satchel.system.locations import Places, locate

if TYPE_CHECKING:
    from satchel.assemble.request import AssembleRequest
    from satchel.assemble.shapes import QueryResult
    from satchel.embed import Embedder
    from satchel.graph.service import GraphService
    from satchel.guidance.service import GuidanceService
    from satchel.index.options import Progress, VectorReport
    from satchel.index.team import TeamStore
    from satchel.memory.capture import Captured
    from satchel.memory.service import MemoryService
    from satchel.receipts.service import ReceiptService
    from satchel.receipts.why import Replay
    from satchel.safety.trust import TrustMark
    from satchel.search.changes import GitViews
    from satchel.types import Context, Failure, Hit

FEW_ROWS = 20
"""Default rows of a history view, as many as fit on a screen."""

Arguments = ParamSpec("Arguments")
Attribute = TypeVar("Attribute")
Result = TypeVar("Result")


class _From(Generic[Attribute]):
    """An attribute of `Satchel` that belongs to its root or a service, with its signature and documentation there."""

    def __init__(self, get: Callable[[Satchel], Attribute]) -> None:
        self._get = get

    @overload
    def __get__(self, satchel: None, owner: type[Satchel]) -> Callable[..., Any]: ...
    @overload
    def __get__(self, satchel: Satchel, owner: type[Satchel]) -> Attribute: ...
    def __get__(self, satchel: Satchel | None, owner: type[Satchel]) -> Callable[..., Any] | Attribute:
        return self._unbound if satchel is None else self._get(satchel)

    def _unbound(self, satchel: Any, *arguments: Any, **options: Any) -> Any:
        method: Any = self._get(satchel)
        return method(*arguments, **options)


def _twin(method: Callable[Arguments, Result]) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Return a method as a coroutine, which runs it in a thread."""

    @wraps(method)
    async def twin(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        return await asyncio.to_thread(method, *arguments, **options)

    return twin


@dataclass(frozen=True, slots=True)
class Removal:
    """The folder that `clean` removed and its size in bytes."""

    folder: Path
    size: int


def clean(
    path: AnyPath = ".",
    *,
    root: AnyPath | None = None,
    everything: bool = False,
    wait_seconds: float = 0.0,
    environ: Mapping[str, str] | None = None,
) -> Removal:
    """Remove the index of a root, or with `everything` all that can be built again. Memories are never touched.

    On a server the index of a root is removed, and with `everything` nothing: others may use it.
    Raises NoIndexError, and LockedError while another process builds an index.
    """
    from satchel.index.status import remove_everything, remove_index
    from satchel.store.place import store_places

    variables = os.environ if environ is None else environ
    folders = config.Folders.from_environment(variables)
    if everything:
        return Removal(folders.cache, remove_everything(folders.cache, wait_seconds))
    places = locate(path, root, folders)
    place, _ = store_places(places, config.load_settings(places.root, variables, {}, folders).settings)
    on_server = place.remove() if place.url else 0
    return Removal(places.index, on_server + remove_index(places.index, wait_seconds))


def handle_recorder(folder: Path, environ: Mapping[str, str]) -> Callable[[Context], None]:
    """Return a function that records the handles of contexts of a folder, so that the root around it can expand them.

    `folder` is absolute and without links. Its root is located once. A folder that is never indexed has no handles.
    """
    from satchel.receipts.handles import HandleLedger, handles_of

    try:
        places = locate(folder, None, config.Folders.from_environment(environ))
        below = folder.relative_to(places.root)
    except (NoIndexError, ValueError):
        return lambda _context: None
    ledger = HandleLedger.of(places)

    def record(context: Context) -> None:
        ledger.record([replace(row, path=(below / row.path).as_posix()) for row in handles_of(context) if row.path])

    return record


class Satchel:
    """One root with its index. Use `Satchel.open`; close it, or use it in a `with` block.

    Methods are synchronous and may be called from several threads; the `a`-prefixed twins are coroutines.
    """

    def __init__(self, root: OpenRoot) -> None:
        self._root = root

    @classmethod
    def open(
        cls,
        path: AnyPath = ".",
        *,
        root: AnyPath | None = None,
        workspace: str | None = None,
        settings: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        embedder: Embedder | None = None,
    ) -> Self:
        """Open the root that contains `path`, or exactly `root`, or the `workspace` of this name.

        A root without an index gets an empty one. `settings` are dotted keys that override files and environment;
        `embedder` replaces the configured one. Raises NoIndexError where nothing can be indexed,
        ConfigError for impossible settings, StoreError or LockedError for an unusable store.
        """
        return cls(
            OpenRoot.open(path, root=root, workspace=workspace, settings=settings, environ=environ, embedder=embedder)
        )

    @classmethod
    def open_at(
        cls, places: Places, loaded: config.LoadedSettings, folders: config.Folders, environ: Mapping[str, str]
    ) -> Self:
        """Open a located root with loaded settings. Raises the errors of `open`."""
        return cls(OpenRoot.open_at(places, loaded, folders, environ))

    def close(self) -> None:
        """Release threads and store files."""
        self._root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def receipts(self) -> ReceiptService:
        """Answers to requests, their handles and sessions, `expand`, `why` and the change that is under way."""
        from satchel.receipts.service import ReceiptService

        return ReceiptService(self._root)

    @cached_property
    def memory(self) -> MemoryService:
        """Memories, experiences, values and conversations."""
        from satchel.memory.service import MemoryService

        return MemoryService(self._root)

    @cached_property
    def team(self) -> TeamStore:
        """The store that a team shares: `parts`, `prepare`, `check`, `move`, `begin_publishing`."""
        from satchel.index.team import TeamStore

        return TeamStore(self._root)

    @cached_property
    def guidance(self) -> GuidanceService:
        """Contexts and instruction files for a situation."""
        from satchel.guidance.service import GuidanceService

        return GuidanceService(self._root, self.receipts)

    @cached_property
    def graphs(self) -> GraphService:
        """Contexts around a topic or a node, over the relations of notes and code."""
        from satchel.graph.service import GraphService

        return GraphService(self._root, self.receipts)

    @cached_property
    def history(self) -> GitViews:
        """Views of the commits: who changed what, when, and how much."""
        from satchel.search.changes import GitViews

        root = self._root
        return GitViews(root.places.root, root.settings.redact_allow, root.read, root.refresh)

    places = _From(lambda satchel: satchel._root.places)
    loaded = _From(lambda satchel: satchel._root.loaded)
    settings = _From(lambda satchel: satchel._root.settings)
    alias = _From(lambda satchel: satchel._root.alias)
    is_vault = _From(lambda satchel: satchel._root.is_vault)
    store = _From(lambda satchel: satchel._root.store)
    memory_store = _From(lambda satchel: satchel._root.memory_store)
    memory_snapshot = _From(lambda satchel: satchel._root.memory_snapshot)
    store_of = _From(lambda satchel: satchel._root.store_of)
    vectors = _From(lambda satchel: satchel._root.vectors)
    embedder = _From(lambda satchel: satchel._root.embedder)
    index = _From(lambda satchel: satchel._root.index)
    refresh = _From(lambda satchel: satchel._root.refresh)
    status = _From(lambda satchel: satchel._root.status)
    start_embedding = _From(lambda satchel: satchel.vectors.start)
    clear_cache = _From(lambda satchel: satchel._root.lines.clear)

    search = _From(lambda satchel: satchel.receipts.search)
    request = _From(lambda satchel: satchel.receipts.request)
    answer = _From(lambda satchel: satchel.receipts.answer)
    unrecorded = _From(lambda satchel: satchel.receipts.unrecorded)
    deliver = _From(lambda satchel: satchel.receipts.deliver)
    expand = _From(lambda satchel: satchel.receipts.expand)
    document = _From(lambda satchel: satchel.receipts.document)
    why = _From(lambda satchel: satchel.receipts.why)
    change = _From(lambda satchel: satchel.receipts.change)
    about_change = _From(lambda satchel: satchel.receipts.about_change)
    forget_session = _From(lambda satchel: satchel.receipts.forget_session)

    graph = _From(lambda satchel: satchel.graphs.graph)
    graph_request = _From(lambda satchel: satchel.graphs.graph_request)
    graph_answer = _From(lambda satchel: satchel.graphs.graph_answer)
    file_history = _From(lambda satchel: satchel.history.file_history)
    churn = _From(lambda satchel: satchel.history.churn)
    authors = _From(lambda satchel: satchel.history.authors)

    situation = _From(lambda satchel: satchel.guidance.situation)
    situation_answer = _From(lambda satchel: satchel.guidance.situation_answer)
    list_rules = _From(lambda satchel: satchel.guidance.list_rules)
    registry = _From(lambda satchel: satchel.guidance.registry)
    contexts = _From(lambda satchel: satchel.guidance.contexts)
    register = _From(lambda satchel: satchel.guidance.register)

    notebook = _From(lambda satchel: satchel.memory.notebook)
    memories = _From(lambda satchel: satchel.memory.memories)
    conversations = _From(lambda satchel: satchel.memory.conversations)
    experiences = _From(lambda satchel: satchel.memory.experiences)
    values = _From(lambda satchel: satchel.memory.values)
    export_memory = _From(lambda satchel: satchel.memory.export_memory)
    import_memory = _From(lambda satchel: satchel.memory.import_memory)
    import_transcripts = _From(lambda satchel: satchel.memory.import_transcripts)
    remember_exchanges = _From(lambda satchel: satchel.memory.remember_exchanges)

    aindex = _From(lambda satchel: _twin(satchel.index))
    asearch = _From(lambda satchel: _twin(satchel.search))
    aassemble = _From(lambda satchel: _twin(satchel.assemble))
    apremortem = _From(lambda satchel: _twin(satchel.premortem))
    abrief = _From(lambda satchel: _twin(satchel.brief))
    aexpand = _From(lambda satchel: _twin(satchel.expand))
    awhy = _From(lambda satchel: _twin(satchel.why))
    agraph = _From(lambda satchel: _twin(satchel.graph))
    afile_history = _From(lambda satchel: _twin(satchel.file_history))
    achurn = _From(lambda satchel: _twin(satchel.churn))
    aauthors = _From(lambda satchel: _twin(satchel.authors))
    asituation = _From(lambda satchel: _twin(satchel.situation))

    def embed(self, *, progress: Progress | None = None, should_stop: ShouldStop = never) -> VectorReport:
        """Give a vector to every chunk of `embed.kinds` that lacks one. Does nothing without an embedder."""
        return self.vectors.fill(progress, should_stop)

    @property
    def trusted(self) -> bool:
        """Whether the user trusts this root, so that its instruction files are guidance; read anew each time."""
        return trust_marks.is_trusted(self.places.root, self.places.state)

    def trust(self) -> TrustMark:
        """Mark this root as trusted by this user. Only the user should decide that."""
        return trust_marks.trust(self.places.root, self.places.state)

    def distrust(self) -> list[TrustMark]:
        """Withdraw trust in this root; return the removed marks."""
        return trust_marks.distrust(self.places.root, self.places.state)

    def assemble(
        self,
        question: str,
        *,
        refresh: bool = True,
        progress: Progress | None = None,
        should_stop: ShouldStop = never,
        **options: Any,
    ) -> Context:
        """Return a packed context for a question.

        Options: `types` (context types, default all), `max_tokens`, `limit` (most items), `format`, `tokenizer`,
        `purpose` ("find" or "edit"), `min_score`, `stale` ("mark" or "withhold"), `related`, `show_sources`, `session`,
        `show_code`, `group_by_type`, `include`, `exclude`, `paths` (globs), `filters` (of records), `now`,
        `workspace` (names, asked together). Raises UsageError for impossible values. The text never has more than
        `max_tokens`.
        """
        request = self.request(question, **options)
        updated = partial(self.refresh, progress=progress, should_stop=should_stop, workspaces=request.workspaces)
        return self.answer(request, updated() if refresh else ())

    def context_query(self, query: str, *, refresh: bool = True, **options: Any) -> QueryResult:
        """Return the results of `query` as a formatted context with a row for each; options as in `query_options`."""
        from satchel.assemble.shapes import query_options, query_result

        request = self.request(query, **query_options(**options))
        return query_result(self.answer(request, self.refresh(workspaces=request.workspaces) if refresh else ()))

    def premortem_request(self, domain: str, strategy: str | None = None, **options: Any) -> AssembleRequest:
        """Return the checked request of `premortem`. Raises UsageError that lists all domains or strategies."""
        from satchel.assemble.plans import premortem_request

        return premortem_request(self.settings, domain, strategy, **options)

    def premortem(self, domain: str, strategy: str | None = None, **options: Any) -> Context:
        """Return remembered failures in this domain and with this strategy; empty if there are none.

        Options as in `assemble`: `max_tokens` (default 1,500), `limit` (experiences a section, default 10), `format`,
        `tokenizer`, `now`. Raises UsageError for an unknown domain or strategy; the message lists all.
        """
        return self.answer(self.premortem_request(domain, strategy, **options))

    def brief_request(self, after_failure: str | None = None, **options: Any) -> AssembleRequest:
        """Return the checked request of `brief`. Raises UsageError for an empty failure."""
        from satchel.assemble.plans import brief_request

        return brief_request(self.settings, after_failure, **options)

    def brief(self, after_failure: str | None = None, *, refresh: bool = True, **options: Any) -> Context:
        """Return facts for the start of a session, or for the output of a failed command similar failures.

        Options as in `assemble`; the budget is 1,000 tokens, after a failure 2,000. Only a brief after a failure
        includes code, and updates the index first.
        """
        request = self.brief_request(after_failure, **options)
        return self.answer(request, self.refresh() if refresh and after_failure is not None else ())

    def replay(self, saved: Mapping[str, Any], *, refresh: bool = True) -> Replay:
        """Ask a saved question (an envelope of `satchel context --json`) again and name what differs.

        A saved situation is replayed as one. Raises UsageError for anything but a saved context.
        """
        from satchel.receipts.why import Replay, differences, saved_request

        notes = self.refresh() if refresh and self.replays_tree(saved) else ()
        if "situation" in (saved.get("meta") or {}):
            context, request = self.guidance.replayed(saved, notes)
        else:
            request = saved_request(saved)
            context = self.unrecorded(request, notes)
        return Replay(request, context, differences(saved, context))

    def replays_tree(self, saved: Mapping[str, Any]) -> bool:
        """Return whether a replay updates the index first, as the saved answer did: briefs and premortems do not."""
        from satchel.receipts.why import is_of_the_tree

        return is_of_the_tree(saved)

    def count_lines(self, hits: Sequence[Hit]) -> tuple[list[Hit], list[Failure]]:
        """Return the hits, commits with `insertions` and `deletions` as fields, and what could not be counted."""
        from satchel.assemble.items import counted_hits

        return counted_hits(hits, self._root.line_counts.of)

    def run_captured(self, command: Sequence[str], out: IO[bytes], err: IO[bytes]) -> Captured:
        """Run a command, pass its output on, and return its test results. Raises UsageError."""
        from satchel.memory.capture import run_captured

        return run_captured(command, out, err)
