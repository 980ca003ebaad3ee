"""The facade: open a root, index it, search it, assemble contexts.

`Satchel` delegates to one service for each subject. A service is built on first use, and its modules are imported then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from msgspec.structs import replace

from satchel import config
from satchel.errors import NoIndexError
from satchel.safety import trust as trust_marks
from satchel.services.open_root import REFRESH_PAUSE_SECONDS as REFRESH_PAUSE_SECONDS
from satchel.services.open_root import OpenRoot
from satchel.store.place import INDEX_NAME as INDEX_NAME
from satchel.store.place import LOCK_NAME as LOCK_NAME
from satchel.system.locations import Places, Registry, locate
from satchel.types import AnyPath, ShouldStop, never
from satchel.vocabulary import FEW_ROWS, Moment

if TYPE_CHECKING:
    from satchel.answer.pattern import Matches
    from satchel.answer.request import AssembleRequest, PackingOptions, QuestionOptions, SearchOptions
    from satchel.answer.shapes import QueryResult
    from satchel.embed import Embedder
    from satchel.graph.request import GraphOptions
    from satchel.guidance.injection import Provider
    from satchel.guidance.judge import AnyJudge
    from satchel.guidance.situation import Situation
    from satchel.index.run import IndexReport, Progress, VectorReport
    from satchel.memory.journal import Journal
    from satchel.memory.memories import Conversations, Memories
    from satchel.memory.model import ImportReport
    from satchel.memory.values import Values
    from satchel.safety.trust import TrustMark
    from satchel.search.changes import Author, FileChurn, FileHistory, GitViews
    from satchel.services.answer import AnswerService
    from satchel.services.graph import GraphService
    from satchel.services.guidance import GuidanceService
    from satchel.services.lessons import LessonService
    from satchel.services.memory import MemoryService
    from satchel.services.receipts import ReceiptService
    from satchel.services.team import TeamStore
    from satchel.services.why import Replay, Standing
    from satchel.sources.change import Change
    from satchel.store.database import DatabaseStore
    from satchel.types import Context, Failure, Hit

Owner = TypeVar("Owner")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _twin(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Coroutine[Any, Any, Result]]:
    """Return a method as a coroutine with the same parameters, which runs it in a thread."""

    @wraps(method)
    async def twin(owner: Owner, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        return await asyncio.to_thread(method, owner, *arguments, **options)

    twin.__name__ = f"a{method.__name__}"
    return twin


def _of_root(
    method: Callable[Concatenate[OpenRoot, Arguments], Result],
) -> Callable[Concatenate[Satchel, Arguments], Result]:
    """Return a method of the opened root as one of `Satchel`, with the same parameters and docstring."""

    @wraps(method)
    def delegated(satchel: Satchel, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        return method(satchel.opened, *arguments, **options)

    return delegated


def handle_recorder(folder: Path, environ: Mapping[str, str]) -> Callable[[Context], None]:
    """Return what records handles of a `folder` (absolute, without links) in the root around it, if indexed."""
    from satchel.services.receipts import HandleLedger, handles_of

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

    Methods are synchronous and may be called from several threads; the `a`-prefixed twins are coroutines. `places` are
    the paths of the root, `settings` those in force, `vectors` its embedder, and `opened` is what the services share.
    """

    def __init__(self, root: OpenRoot) -> None:
        self.opened, self.places, self.settings, self.vectors = root, root.places, root.settings, root.vectors

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

        A root without an index gets an empty one at the first use, and an unusable store is told then: StoreError or
        LockedError. `settings` are dotted keys that override files and environment; `embedder` replaces the configured
        one. Raises NoIndexError where nothing can be indexed, ConfigError for impossible settings.
        """
        variables = os.environ if environ is None else environ
        folders = config.Folders.from_environment(variables)
        places = locate(path, root if workspace is None else Registry(folders).get(workspace).path, folders)
        loaded = config.load_settings(places.root, variables, settings or {}, folders)
        return cls(OpenRoot(places, loaded, folders, variables, embedder, workspace))

    @classmethod
    def open_at(
        cls, places: Places, loaded: config.LoadedSettings, folders: config.Folders, environ: Mapping[str, str]
    ) -> Self:
        """Open a located root with loaded settings. Raises the errors of `open`."""
        return cls(OpenRoot(places, loaded, folders, environ))

    def close(self) -> None:
        """Release threads and store files."""
        self.opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def answers(self) -> AnswerService:
        """Answers to requests, `search`, and the change that is under way."""
        from satchel.services.answer import AnswerService

        return AnswerService(self.opened, self.receipts, lambda task, now: self.guidance.guides_for(task, now))

    @cached_property
    def receipts(self) -> ReceiptService:
        """Handles and sessions of answers, `expand` and `why`."""
        from satchel.services.receipts import ReceiptService

        return ReceiptService(self.opened)

    @cached_property
    def memory(self) -> MemoryService:
        """Memories, experiences, values and conversations."""
        from satchel.services.memory import MemoryService

        return MemoryService(self.opened)

    @cached_property
    def team(self) -> TeamStore:
        """The store that a team shares: `parts`, `prepare`, `check`, `move`, `begin_publishing`."""
        from satchel.services.team import TeamStore

        return TeamStore(self.opened)

    @cached_property
    def guidance(self) -> GuidanceService:
        """Contexts and instruction files for a situation."""
        from satchel.services.guidance import GuidanceService

        return GuidanceService(self.opened, self.receipts)

    @cached_property
    def lessons(self) -> LessonService:
        """What is remembered about files that are about to be edited."""
        from satchel.services.lessons import LessonService

        return LessonService(self.opened, self.receipts)

    @cached_property
    def graphs(self) -> GraphService:
        """Contexts around a topic or a node, over the relations of notes and code."""
        from satchel.services.graph import GraphService

        return GraphService(self.opened, self.receipts)

    @cached_property
    def history(self) -> GitViews:
        """Views of the commits: who changed what, when, and how much."""
        from satchel.search.changes import GitViews

        root = self.opened
        return GitViews(root.places.root, root.settings.redact_allow, root.read, root.refresh)

    @property
    def store(self) -> DatabaseStore:
        """The index."""
        return self.opened.store

    @property
    def memory_store(self) -> DatabaseStore:
        """The memory of all roots, limited to records of this repository and global ones."""
        return self.opened.memory_store

    def index(
        self, *, progress: Progress | None = None, should_stop: ShouldStop = never, wait_seconds: float | None = None
    ) -> IndexReport:
        """Bring the index up to date. Raises LockedError when another process keeps building for `wait_seconds`."""
        return self.opened.index(progress=progress, should_stop=should_stop, wait_seconds=wait_seconds)

    refresh = _of_root(OpenRoot.refresh)
    status = _of_root(OpenRoot.status)

    def start_embedding(self) -> None:
        """Give vectors to chunks in a thread of this process, until `close`."""
        self.vectors.start()

    def clear_cache(self) -> None:
        """Forget the files that were read."""
        self.opened.lines.clear()

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

    def search(self, question: str, *, refresh: bool = True, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Return the best hits of each of the `types` (by default all that have chunks).

        Of each type there are at most `limit` records (default 10), or the best parts of `limit` files, file by file.
        `names` are likely ones in the code, `filters` are for records (`{"category": "error"}`), `searches` are
        retrievers; names: `satchel.search.filters`. Times are compared with `now`.
        Without a `min_score` weak matches are left out. Hits of several workspaces (`workspace`: `web,api`) are one
        list by relevance. A type whose best hit has less than half of the relevance of the best of all comes after the
        others. Raises UsageError for impossible values.
        """
        return self.answers.search(question, options, refresh=refresh)

    def search_pattern(
        self, pattern: str = "", question: str = "", *, where: str = "", **options: Unpack[QuestionOptions]
    ) -> Matches:
        """Return all lines that match an expression (RE2) in the files as they are now; options as in `assemble`.

        With `where` instead of a pattern: the tasks of notes that meet a condition, as in `due < today`.
        """
        return self.answers.search_pattern(pattern, question, options, where)

    def assemble(
        self,
        question: str,
        *,
        refresh: bool = True,
        progress: Progress | None = None,
        should_stop: ShouldStop = never,
        **options: Unpack[QuestionOptions],
    ) -> Context:
        """Return a packed context for a question. The text never has more than `max_tokens`.

        What is asked: `types` (context types, default all), `names` (likely ones in the code), `searches`,
        `filters` (of records), `paths`, `include`, `exclude` (globs), `change` (what `change` returns),
        `workspace` (names, asked together), `session`, `now`.
        How much: `max_tokens`, `limit` (most items), `entity_limit`, `min_score`, `fill`, `reserves` and `weights`.
        What is shown: `purpose` ("read", "find" or "edit"), `stale` ("mark" or "withhold"), `related`, `context_lines`,
        `imports`, `strategy`, `format`, `view`, `tokenizer`, `group_by_type`, `show_code`, `show_sources`, `show_meta`,
        `show_handles`. Raises UsageError for impossible values.
        """
        request = self.request(question, **options)
        updated = partial(self.refresh, progress=progress, should_stop=should_stop, workspaces=request.asker.workspaces)
        if not refresh:
            return self.answer(request)
        return self.answers.answer(request, updated(), catch_up=partial(self.opened.catch_up, should_stop))

    def request(self, question: str, **options: Unpack[QuestionOptions]) -> AssembleRequest:
        """Return a checked request of settings and options of `assemble`; with a `change` the question may be empty."""
        return self.answers.request(question, **options)

    def answer(self, request: AssembleRequest, notes: Sequence[Failure] = ()) -> Context:
        """Return the context for a checked request, from the index as it is. `notes` become failures of the answer."""
        return self.answers.answer(request, notes)

    def context_query(
        self,
        query: str,
        *,
        strategies: Iterable[str] = (),
        include_types: Iterable[str] = (),
        refresh: bool = True,
        **options: Unpack[QuestionOptions],
    ) -> QueryResult:
        """Return the results of `query` as a formatted context with a row for each.

        `strategies` are of lexical, names, history, graph and dense (default: all available); `include_types` are
        context types, or function, method, class and section, which restrict their types. They take the place of the
        options `searches` and `types`; the others are those of `assemble`: `limit` (default 10) is the number of
        results over all types, `max_tokens` is 4,000 by default. Raises UsageError.
        """
        from satchel.answer.shapes import query_options, query_result

        asked = query_options(strategies=strategies, include_types=include_types, **options)
        request = self.request(query, **asked)
        return query_result(self.answer(request, self.refresh(workspaces=request.asker.workspaces) if refresh else ()))

    def premortem_request(
        self, domain: str, strategy: str | None = None, **options: Unpack[PackingOptions]
    ) -> AssembleRequest:
        """Return the checked request of `premortem`. Raises UsageError that lists all domains or strategies."""
        from satchel.answer.plans import premortem_request

        return premortem_request(self.settings, domain, strategy, **options)

    def premortem(self, domain: str, strategy: str | None = None, **options: Unpack[PackingOptions]) -> Context:
        """Return remembered failures in this domain and with this strategy; empty if there are none.

        Options as in `assemble`: `max_tokens` (default 1,500), `limit` (experiences a section, default 10), `format`,
        `tokenizer`, `session`, `now`. Raises UsageError for an unknown domain or strategy; the message lists all.
        """
        return self.answer(self.premortem_request(domain, strategy, **options))

    def brief_request(self, after_failure: str | None = None, **options: Unpack[PackingOptions]) -> AssembleRequest:
        """Return the checked request of `brief`. Raises UsageError for an empty failure."""
        from satchel.answer.plans import brief_request

        return brief_request(self.settings, after_failure, **options)

    def brief(
        self, after_failure: str | None = None, *, refresh: bool = True, **options: Unpack[PackingOptions]
    ) -> Context:
        """Return facts for the start of a session, or for the output of a failed command similar failures.

        Options as in `assemble`: `max_tokens` (default 300, after a failure 2,000), `limit`, `format`, `tokenizer`,
        `session`, `now`. A brief begins with what is remembered about the files that were worked on lately. Only one
        after a failure includes code, and updates the index first.
        """
        request = self.brief_request(after_failure, **options)
        if after_failure is None:
            return self.brief_answer(request)
        return self.answer(request, self.refresh() if refresh else ())

    def brief_answer(self, request: AssembleRequest) -> Context:
        """Return the brief for a checked request of `brief_request` without a failure."""
        return self.lessons.brief(request, self.answer)

    def situation(
        self,
        situation: Mapping[str, Any] | Situation | None = None,
        *,
        context: str | None = None,
        judge: AnyJudge | None = None,
        refresh: bool = True,
        **options: Unpack[PackingOptions],
    ) -> Context:
        """Return a packed context for a situation of an agent: guidance and history.

        `situation` has any of tool, params, task, intent, files, language, error, agent, time, tags and context. The
        `context`, also an argument, is the folder of the current `context.yaml`; without it the nearest one of the
        files counts, else the root's, if there is one. `judge` decides conditions in plain words in place of the
        configured one. Options as in `assemble`: `max_tokens`, `format`, `tokenizer`, `limit`, `session` and `now`.
        Problems with a file are failures of the answer, with file and line.
        """
        return self.guidance.situation_answer(situation, context=context, judge=judge, refresh=refresh, **options)[0]

    def register(self, key: str, provider: Provider) -> None:
        """Let injection rules name `key`: `provider` returns its records when a rule injects it."""
        self.guidance.guides.registry.register(key, provider)

    def graph(
        self, query: str, *, blend: Sequence[str] = (), refresh: bool = True, **options: Unpack[GraphOptions]
    ) -> Context:
        """Return the context around a topic or a node id, from relations of notes and code; `blend` adds queries.

        Options: `depth` (1 to 5 steps, default 2), `lens` (default `general`), `max_tokens`, `format` ("markdown" or
        "json"), `include_fields`, `workspace` (names, walked together), `tokenizer`, `session`, `now`. Raises
        UsageError for impossible values. The text never has more than `max_tokens`.
        """
        request = self.graphs.graph_request(query, blend, **options)
        return self.graphs.graph_answer(request, self.refresh(workspaces=request.workspaces) if refresh else ())

    def expand(
        self,
        handles: Sequence[str],
        *,
        max_tokens: int | None = None,
        format: str | None = None,  # noqa: A002 - the name of the option
        tokenizer: str | None = None,
        session: str = "",
    ) -> Context:
        """Return the full text of these handles, from the revision of their answer, even if the `session` has it.

        Text that has changed since, and of which no copy is left, becomes a failure. Raises UsageError for a handle
        that is too old or of another root.
        """
        return self.receipts.expand(handles, max_tokens=max_tokens, format=format, tokenizer=tokenizer, session=session)

    def why(
        self, target: str, question: str, *, refresh: bool = True, **options: Unpack[QuestionOptions]
    ) -> list[Standing]:
        """Return rank and signals of a path, symbol or chunk id for a question, and why it is shown or not.

        Several if the name is not unique, best first. Options as in `assemble`. Raises UsageError for an unknown name.
        """
        request = self.request(question, **options)
        notes = self.refresh() if refresh else []
        return self.receipts.why(target, request, partial(self.answers.unrecorded, notes=notes))

    def change(self, revision: str = "HEAD", *, staged: bool = False) -> Change:
        """Return what differs between a revision and the work tree, or with `staged` the staging area; for `assemble`.

        Raises UsageError outside a git repository and for a revision that does not exist.
        """
        return self.answers.change(revision, staged=staged)

    def forget_session(self, session: str) -> bool:
        """Forget what a session has received, as after a compaction of its context; return whether there was any."""
        return self.receipts.forget_session(session)

    def file_history(self, path: AnyPath = "", *, limit: int = FEW_ROWS, refresh: bool = True) -> FileHistory:
        """Return the commits that touched a file or a folder (the whole root by default), newest first, moves followed.

        Raises UsageError for a path that neither a file nor a commit knows, UnsafePathError for one outside the root.
        """
        return self.history.file_history(path, limit, refresh=refresh)

    def churn(
        self,
        days: int = 90,
        *,
        path: AnyPath = "",
        limit: int = FEW_ROWS,
        now: Moment | None = None,
        refresh: bool = True,
    ) -> list[FileChurn]:
        """Return the files that changed most often in the days before `now` (default: today), most commits first."""
        return self.history.churn(days, path, limit, now, refresh=refresh)

    def authors(self, path: AnyPath | None = None, *, limit: int = FEW_ROWS, refresh: bool = True) -> list[Author]:
        """Return the authors of a file, a folder or (by default) everything, most commits first."""
        return self.history.authors(path or "", limit, refresh=refresh)

    @property
    def memories(self) -> Memories:
        """The memories: `add`, `search`, `listed`, `get`, `forget`, `supersede`."""
        return self.memory.memories

    @property
    def conversations(self) -> Conversations:
        """The exchanges of conversations: `listed`, `forget`."""
        return self.memory.conversations

    @property
    def experiences(self) -> Journal:
        """The experiences: `start`, `update`, `note`, `resolve`, `active`, `listed`, `get`."""
        return self.memory.experiences

    @property
    def values(self) -> Values:
        """The values and groups: `cluster`, `propose`, `validate`, `accept`, `listed`, `get`, `forget`."""
        return self.memory.values

    def export_memory(self) -> Iterator[str]:
        """Return the whole memory file as JSON Lines, of all repositories, without line ends."""
        return self.memory.export_memory()

    def import_memory(
        self, lines: Iterable[bytes], *, form: str = "satchel", here: bool = False, everywhere: bool = False,
        columns: Mapping[str, str] | None = None,
    ) -> ImportReport:  # fmt: skip
        """Import the file of a program (`form`); the report lists unusable lines.

        With `here` all records belong to this repository, with `everywhere` to all, else to the workspaces of their
        lines. `columns` are those of a CSV file by field.
        """
        return self.memory.import_memory(lines, form=form, here=here, everywhere=everywhere, columns=columns or {})

    def replay(self, saved: Mapping[str, Any], *, refresh: bool = True) -> Replay:
        """Ask a saved question or situation (an envelope of `satchel context --json`) again and name what differs.

        Raises UsageError for anything but a saved context.
        """
        from satchel.services.why import Replay, differences, saved_request

        notes = self.refresh() if refresh and self.replays_tree(saved) else ()
        if "situation" in (saved.get("meta") or {}):
            context, request = self.guidance.replayed(saved, notes)
        else:
            request = saved_request(saved, self.settings.redact_allow)
            context = self.answers.unrecorded(request, notes)
        return Replay(request, context, differences(saved, context))

    def replays_tree(self, saved: Mapping[str, Any]) -> bool:
        """Return whether a replay updates the index first, as the saved answer did: briefs and premortems do not."""
        from satchel.services.why import is_of_the_tree

        return is_of_the_tree(saved)

    aindex = _twin(index)
    asearch = _twin(search)
    aassemble = _twin(assemble)
    apremortem = _twin(premortem)
    abrief = _twin(brief)
    asituation = _twin(situation)
    agraph = _twin(graph)
    aexpand = _twin(expand)
    awhy = _twin(why)
    afile_history = _twin(file_history)
    achurn = _twin(churn)
    aauthors = _twin(authors)
