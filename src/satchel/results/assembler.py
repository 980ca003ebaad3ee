"""`ContextAssembler`: contexts for a question, before a kind of work, and of results from anywhere, by one object."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import config
from satchel.answer import plans
from satchel.answer.candidates import Candidate
from satchel.answer.fill_policy import FillPolicy
from satchel.answer.fitting import fit
from satchel.answer.items import entity_row
from satchel.answer.packing import Packing
from satchel.answer.render import RenderRequest, render
from satchel.answer.request import (
    AssembleRequest,
    TextForm,
    check_budget,
    check_limit,
    parse_format,
    parse_kinds,
    parse_view,
)
from satchel.answer.resources import Resources
from satchel.answer.sections import Section, subtract
from satchel.answer.shapes import with_related
from satchel.answer.source_lines import FileLines, without_blank_ends
from satchel.answer.write import Filling, Relate, context_of
from satchel.engine import Satchel, handle_recorder
from satchel.errors import SatchelError, UsageError
from satchel.results.candidates import EntityCandidates, searched_context, supply
from satchel.results.entities import SOURCE, read_results
from satchel.results.searcher import SEARCHES, AssemblyOptions, Searcher, read_options
from satchel.safety import sanitize
from satchel.safety.trust import load_key
from satchel.search.filters import make_filters
from satchel.settings import Settings
from satchel.system import telemetry
from satchel.system.threads import in_thread
from satchel.types import CONTEXT_TYPES, Context, ContextItem, Failure, Kind, Omission, View
from satchel.vocabulary import checked_text

if TYPE_CHECKING:
    from satchel.guidance.judge import AnyJudge
    from satchel.guidance.situation import Situation
    from satchel.store.protocol import Store

SEARCH_SECONDS = 5.0
"""Longest search of a foreign searcher; a slower one is noted, and the others answer without it."""

MAX_NOTES = 10
"""Most notes about single results in one answer: each uses tokens, and a thousand would fill it."""


class ContextAssembler:
    """Assembles contexts from the results of a searcher, or from given results.

    `searcher` is a `Satchel`, a `Searcher`, or an object of your own with some of the methods of `Searcher`, sync or
    async; without one the `Satchel` of the current folder is used. `options` apply to every call without its own.
    `contexts` is the folder of the current `context.yaml`, and `judge` decides conditions in plain words, both for
    situations. `allow` are regular expressions of texts that look like secrets but are not. Caches the files that it
    read. Safe to share between threads. Close it, or use it in a `with` block: it may have opened a folder.
    """

    def __init__(
        self,
        searcher: object | None = None,
        *,
        options: AssemblyOptions | Mapping[str, Any] | None = None,
        contexts: str | None = None,
        judge: AnyJudge | None = None,
        allow: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(searcher, Satchel):
            # Paths and allowed texts are those of the searched folder.
            options = read_options(options, AssemblyOptions(project_root=searcher.places.root))
            allow = allow or searcher.settings.redact_allow
        self.options = read_options(options, AssemblyOptions())
        self.allow = tuple(allow)
        self._environ = os.environ if environ is None else environ
        self.key = load_key(config.Folders.from_environment(self._environ).state)
        self._contexts, self._judge = contexts, judge
        self._searcher = searcher
        self._own: Satchel | None = None
        self._files: dict[Path, FileLines] = {}
        self._recorders: dict[Path, Callable[[Context], None]] = {}
        self._guard = threading.Lock()

    async def assemble_context(
        self, query: str, context_types: Sequence[str] = (), limit: int = 20, max_tokens: int = 2000
    ) -> Context:
        """Return a context for a question from these sources, `limit` items each, never over `max_tokens`.

        Without `context_types` every kind that has chunks is searched. A source that fails or is slow becomes a named
        failure of the answer; without any result the answer is empty. Raises InvalidContextTypeError for an unknown
        type (the message names all), UsageError for an empty question or impossible numbers.
        """
        kinds = parse_kinds(context_types)
        engine = self._engine()
        if engine is not None:
            return await engine.aassemble(
                query, types=context_types, limit=limit, max_tokens=max_tokens, **self.options.changed()
            )
        if not checked_text("the question", query).strip():
            raise UsageError("the question is empty: say what context is needed")
        searched = kinds or tuple(kind for kind in CONTEXT_TYPES.values() if self._can_search(kind))
        request = self._request(query, limit, max_tokens, kinds=searched)
        plan = plans.Plan(plans.make_plan(request.asked, request.scope, {}))
        return await self._searched(request, plan, [query for _ in plan.sections])

    async def get_premortem_context(
        self, domain: str, strategy: str | None = None, limit: int = plans.PREMORTEM_LIMIT,
        max_tokens: int = plans.PREMORTEM_TOKENS,
    ) -> Context:  # fmt: skip
        """Return earlier failures in this domain and with this strategy: each experience once, with its root cause.

        `limit` counts the items of a section. Raises UsageError for an unknown domain or strategy; the message lists
        all.
        """
        engine = self._engine()
        if engine is not None:
            return await engine.apremortem(
                domain, strategy, limit=limit, max_tokens=max_tokens, **self.options.changed()
            )
        filters = make_filters(domain=checked_text("the domain", domain), strategy=strategy)
        request = self._request("", limit, max_tokens, filters=filters, plan=plans.PREMORTEM)
        plan = plans.premortem_plan(request.scope)
        queries = []
        for section in plan.sections:
            query = plans.PREMORTEM_QUESTIONS[section.title].format(domain=domain, strategy=strategy)
            queries.append(f"{query} using {strategy}" if section.kind is Kind.VALUE and strategy else query)
        return await self._searched(request, plan, queries)

    async def assemble_situation(self, situation: Mapping[str, Any] | Situation, max_tokens: int = 4000) -> Context:
        """Return guides and relevant history for the situation of an agent (`Satchel.situation`).

        A foreign searcher has no rules; those of the current folder are used.
        """
        engine = self._engine() or self._opened()
        shown = {name: value for name, value in self.options.changed().items() if name in ("format", "tokenizer")}
        return await engine.asituation(
            situation, context=self._contexts, judge=self._judge, max_tokens=max_tokens, **shown
        )

    async def assemble(
        self, results: Iterable[object], options: AssemblyOptions | Mapping[str, Any] | None = None
    ) -> Context:
        """Return a context of these results: `assemble_now` without blocking the event loop."""
        return await in_thread(self.assemble_now, list(results), options)

    def assemble_now(
        self, results: Iterable[object], options: AssemblyOptions | Mapping[str, Any] | None = None
    ) -> Context:
        """Return a context of these results, best score first, inside the budget.

        A result is a mapping or object with an `entity` (id, name, type, qualified_name, content, file_path,
        start_line, end_line, metadata), a `score` and a `source`; our own hits are results too. The same entity counts
        once. A problem with a result is a named failure of the answer. A mapping of `options` changes those of the
        assembler. Raises UsageError for impossible options.
        """
        started = time.monotonic()
        if isinstance(results, str | bytes | Mapping):
            raise UsageError(f"results is one {type(results).__name__}: give a list of results")
        rows = list(results)
        chosen = read_options(options, self.options)
        root = Path(chosen.project_root)
        request = chosen.request()
        entities, notes = read_results(rows, self.allow)
        folder = root.resolve()
        supplied = supply(entities, request.budget, root, self._files_of(folder))
        with self._index_of(root, is_used=request.budget.related) as store:
            relate = None
            if store is not None:
                relate = partial(with_related, resources=Resources(store, self._files_of(folder), self.key))
            elif request.budget.related:
                notes.append(Failure(SOURCE, f"nothing related is named: {root} is not the folder of the searcher"))
            context = self._packed(supplied, request, _bounded([*notes, *supplied.notes]), relate)
        if folder not in self._recorders:
            self._recorders[folder] = handle_recorder(folder, self._environ)
        self._recorders[folder](context)
        meta = {
            "timings": {"assemble_ms": round((time.monotonic() - started) * 1000, 2)},
            "given": {"results": len(rows), "entities": len(entities), "files_read": len(supplied.lines)},
        }
        return replace(context, meta={**context.meta, **meta})

    def format(self, context: Context, format: str | None = None, view: str | None = None) -> str:  # noqa: A002
        """Return the text of a context; in another format or view its items are rendered again and not counted."""
        written = context.format, View(context.meta.get("view", View.SECTIONS))
        layout = written[0] if format is None else parse_format(format)
        shown = written[1] if view is None else parse_view(view)
        if (layout, shown) == written:
            return context.text
        form = TextForm(view=shown, group_by_type=self.options.group_by_type)
        frame = RenderRequest(context.query, form, failures=context.failures)
        return render(frame, context.items, format=layout) if context.items else ""

    def clear_cache(self) -> None:
        """Forget every file that was read."""
        with self._guard:
            self._files.clear()

    @property
    def engine(self) -> Satchel | None:
        """The engine in use, None for a foreign searcher, or if none was opened."""
        return self._own if self._searcher is None else self._engine()

    def close(self) -> None:
        """Close the engine if it was opened here."""
        if self._own is not None:
            self._own.close()
            self._own = None

    def __enter__(self) -> ContextAssembler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _engine(self) -> Satchel | None:
        """Return the engine, None for a foreign searcher."""
        if isinstance(self._searcher, Satchel):
            return self._searcher
        if isinstance(self._searcher, Searcher):
            return self._searcher.satchel
        return None if self._searcher is not None else self._opened()

    def _opened(self) -> Satchel:
        """Return the engine of the current folder."""
        with self._guard:
            if self._own is None:
                self._own = Satchel.open(".", environ=self._environ)
            return self._own

    def _files_of(self, root: Path) -> FileLines:
        with self._guard:
            if root not in self._files:
                self._files[root] = FileLines(root, self.key, Settings().index_max_file_bytes, self.allow)
            return self._files[root]

    @contextmanager
    def _index_of(self, root: Path, *, is_used: bool) -> Iterator[Store | None]:
        """Yield the index of the folder, if it `is_used` and the folder is that of the searcher."""
        engine = self._engine() if is_used else None
        if engine is None or engine.places.root != root.resolve():
            yield None
            return
        engine.refresh()
        with engine.store.snapshot() as state:
            yield state

    def _packed(
        self,
        supplied: EntityCandidates,
        request: AssembleRequest,
        problems: Sequence[Failure],
        relate: Relate | None,
    ) -> Context:
        """Fit and render. A file that also has parts among the results is shown only if none of its parts is."""
        kept: list[Candidate] = []
        while True:
            section = supplied.section(kept, imports=request.budget.imports)
            sections = [section] if section.candidates else []
            filling = Filling(
                request.asked, request.budget, request.form, self, sections, problems,
                policy=FillPolicy(is_strict=False), relate=relate,
            )  # fmt: skip
            fitted = fit(filling)
            context = context_of(filling, fitted, {"view": request.form.view})
            shown = {item.location.path for item in context.items if item.location is not None}
            dropped = [file for file in supplied.whole_files if file not in kept]
            waiting = [file for file in dropped if file.group not in shown]
            if not waiting:
                return _with_covered(context, section, fitted.packing, dropped)
            kept += waiting

    def _request(self, query: str, limit: int, max_tokens: int, **more: Any) -> AssembleRequest:
        budget = check_budget(max_tokens)
        usual = self.options.request()
        asked = replace(usual.asked, query=sanitize.text(query, self.allow))
        scope = replace(usual.scope, limit=check_limit(limit), **more)
        return replace(usual, asked=asked, scope=scope).within(budget)

    def _can_search(self, kind: Kind) -> bool:
        return callable(getattr(self._searcher, SEARCHES[kind.plural], None))

    async def _searched(self, request: AssembleRequest, plan: plans.Plan, queries: Sequence[str]) -> Context:
        """Return the context of the answers of a foreign searcher to one query per section."""
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        pairs = zip(plan.sections, queries, strict=True)
        answers = await asyncio.gather(*(self._ask(section, query) for section, query in pairs))
        failures = [answer for answer in answers if isinstance(answer, Failure)]
        rows = [
            (section, answer)
            for section, answer in zip(plan.sections, answers, strict=True)
            if not isinstance(answer, Failure)
        ]
        root = Path(self.options.project_root)
        files = self._files_of(root.resolve())
        return await in_thread(searched_context, request, plan, rows, self, root, files, failures)

    async def _ask(self, section: plans.PlannedSection, query: str) -> list[object] | Failure:
        """Return the results of one search of a foreign searcher, or its failure."""
        import asyncio

        source = section.kind.plural
        search = getattr(self._searcher, SEARCHES[source], None)
        if not callable(search):
            return Failure(
                source, f"the searcher has no {SEARCHES[source]}", "give it one, or do not ask for this type"
            )
        try:
            return await asyncio.wait_for(_called(search, query, _arguments(section)), SEARCH_SECONDS)
        except TimeoutError:
            return Failure(source, f"no answer within {SEARCH_SECONDS:g} s")
        except Exception as error:  # noqa: BLE001 - foreign code must not take the other sources down
            telemetry.warning(
                "source failed", source=source, error=repr(error), exc_info=not isinstance(error, SatchelError)
            )
            return Failure(source, f"{type(error).__name__}: {error}")


def _arguments(section: plans.PlannedSection) -> dict[str, Any]:
    """Return the arguments of a search besides its question."""
    if section.kind is not Kind.EXPERIENCE:
        return {"limit": section.limit}
    filters = {name: getattr(section.filters, name, None) for name in ("axis", "domain", "strategy", "outcome")}
    return {"limit": section.limit, "axis": "full"} | {name: str(value) for name, value in filters.items() if value}


async def _called(
    search: Callable[..., Iterable[object] | Awaitable[Iterable[object]]], query: str, arguments: Mapping[str, Any]
) -> list[object]:
    """Return the results of a sync or async search; a sync one runs in a thread of its own."""
    is_async = inspect.iscoroutinefunction(search)
    results = search(query, **arguments) if is_async else await in_thread(partial(search, **arguments), query)
    results = await results if inspect.isawaitable(results) else results
    if not isinstance(results, Iterable):
        raise TypeError(f"it returned {results!r:.60}, not a list of results")
    return list(results)


def _bounded(notes: Sequence[Failure]) -> tuple[Failure, ...]:
    if len(notes) <= MAX_NOTES:
        return tuple(notes)
    return (*notes[:MAX_NOTES], Failure(SOURCE, f"{len(notes) - MAX_NOTES} more notes of this kind"))


def _is_covered(candidate: Candidate, section: Section, packing: Packing) -> bool:
    """Return whether a candidate is not shown itself, but all of its lines are."""
    group = packing.groups.get(section, {}).get(candidate.group)
    location = candidate.chunk.location
    if group is None or location is None or candidate in packing.shown:
        return False
    whole = without_blank_ends(section.lines[candidate.group].lines, location.start_line, location.end_line)
    return not subtract([whole], group.ranges)


def _with_covered(context: Context, section: Section, packing: Packing, dropped: Iterable[Candidate]) -> Context:
    """Return the context with the entities inside shown ones, and the files of which only parts are shown."""
    covered = {
        candidate.chunk.id: candidate for candidate in section.candidates if _is_covered(candidate, section, packing)
    }
    overflow = [omission for omission in context.overflow if omission.id not in covered]
    items = tuple(_with_rows(item, covered.values()) for item in context.items)
    return replace(context, items=items, overflow=(*overflow, *map(_parts_shown, dropped)))


def _with_rows(item: ContextItem, covered: Iterable[Candidate]) -> ContextItem:
    """Return the item with the entities inside shown ones: a method whose class is shown in full."""
    rows = [
        entity_row(candidate)
        for candidate in covered
        if candidate.companion_of is None and candidate.group == item.title
    ]
    if not rows or item.location is None:
        return item
    shown = {row["id"] for row in item.metadata["entities"]}
    entities = [*item.metadata["entities"], *(row for row in rows if row["id"] not in shown)]
    return replace(item, metadata={**item.metadata, "entities": entities})


def _parts_shown(candidate: Candidate) -> Omission:
    chunk = candidate.chunk
    return Omission(chunk.id, candidate.kind.value, chunk.title, candidate.hit.relevance, "parts", 0, candidate.group)
