"""`ContextAssembler`: contexts for a question, before a kind of work, and of given results, by one object."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import logs
from satchel.assemble import premortem
from satchel.assemble.assembler import ResultAssembler
from satchel.assemble.options import AssemblyOptions
from satchel.assemble.plan import Plan, PlannedSection, make_plan
from satchel.assemble.request import AssembleRequest, check_budget, parse_kinds
from satchel.assemble.searched import searched_context
from satchel.engine import Satchel
from satchel.errors import SatchelError, UsageError
from satchel.search.filters import make_filters
from satchel.searching import SEARCHES, Searcher
from satchel.types import CONTEXT_TYPES, Context, Failure, Kind

if TYPE_CHECKING:
    from satchel.rules.judge import Judge
    from satchel.rules.situation import Situation

SEARCH_SECONDS = 5.0
"""A search of somebody else's searcher that takes longer is noted, and the others answer without it."""

_ENGINE_OPTIONS: Mapping[str, str] = {
    "format": "format", "view": "view", "strategy": "strategy", "tokenizer": "tokenizer",
    "include_sources": "show_sources", "include_code_content": "show_code", "include_meta": "show_meta",
    "include_imports": "imports", "group_by_type": "group_by_type", "context_lines": "context_lines",
}  # fmt: skip
"""Option of given results -> the same option of a question."""


class ContextAssembler(ResultAssembler):
    """Assembles contexts from what a searcher finds.

    `searcher` is a `Satchel`, a `Searcher`, or an object of your own with some of the methods of `Searcher`, sync or
    async; without one the `Satchel` of the current folder is used. `options` are those of every call that brings none.
    `contexts` is the folder of the current `context.yaml`, and `judge` decides conditions in plain words, both for
    situations. Safe to share between threads. Close it, or use it in a `with` block: it may have opened a folder.
    """

    def __init__(
        self,
        searcher: object | None = None,
        *,
        options: AssemblyOptions | None = None,
        contexts: str | None = None,
        judge: Judge | None = None,
        allow: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(searcher, Satchel):
            # Paths are those of the folder that is searched, and what is no secret there is none here.
            options = options or AssemblyOptions(project_root=searcher.places.root)
            allow = allow or searcher.settings.redact_allow
        super().__init__(options=options, allow=allow, environ=environ)
        self._contexts, self._judge = contexts, judge
        self._environ = environ
        self._searcher = searcher
        self._own: Satchel | None = None

    async def assemble_context(
        self, query: str, context_types: Sequence[str] = (), limit: int = 20, max_tokens: int = 2000
    ) -> Context:
        """A context for a question from these sources, `limit` items each, never over `max_tokens`.

        Without `context_types` every kind that has documents is asked. A source that fails or is slow becomes a named
        failure of the answer; where nothing is found the answer is empty. Raises InvalidContextTypeError for an unknown
        type (the message names all), UsageError for an empty question or impossible numbers.
        """
        kinds = parse_kinds(context_types)
        engine = self._engine()
        if engine is not None:
            return await engine.aassemble(
                query, types=context_types, limit=limit, max_tokens=max_tokens, **self._engine_options()
            )
        if not query.strip():
            raise UsageError("the question is empty: say what context is needed")
        asked = kinds or tuple(kind for kind in CONTEXT_TYPES.values() if self._can_search(kind))
        request = self._request(query, limit, max_tokens, kinds=asked)
        plan = Plan(make_plan(request, {}))
        calls = [(section, query, _arguments(section)) for section in plan.sections]
        return await self._searched(request, plan, calls)

    async def get_premortem_context(
        self, domain: str, strategy: str | None = None, limit: int = premortem.LIMIT,
        max_tokens: int = premortem.MAX_TOKENS,
    ) -> Context:  # fmt: skip
        """What went wrong before in this domain, and with this strategy: each experience once, with its root cause.

        `limit` counts the items of a section. Raises UsageError for an unknown domain or strategy; the message lists
        all.
        """
        engine = self._engine()
        if engine is not None:
            return await engine.apremortem(
                domain, strategy, limit=limit, max_tokens=max_tokens, **self._engine_options()
            )
        filters = make_filters(domain=domain, strategy=strategy)
        request = self._request("", limit, max_tokens, filters=filters, plan=premortem.PLAN)
        plan = premortem.plan(request)
        calls = []
        for section in plan.sections:
            query = premortem.QUESTIONS[section.title].format(domain=domain, strategy=strategy)
            if section.kind is Kind.VALUE and strategy:
                query = f"{query} using {strategy}"
            calls.append((section, query, _arguments(section)))
        return await self._searched(request, plan, calls)

    async def assemble_situation(self, situation: Mapping[str, Any] | Situation, max_tokens: int = 4000) -> Context:
        """A context for what an agent is doing: what guides it, and what history knows of it (`Satchel.situation`).

        Somebody else's searcher knows no rules: then those of the current folder count.
        """
        engine = self._engine() or self._opened()
        shown = {name: value for name, value in self._engine_options().items() if name in ("format", "tokenizer")}
        return await engine.asituation(
            situation, context=self._contexts, judge=self._judge, max_tokens=max_tokens, **shown
        )

    @property
    def engine(self) -> Satchel | None:
        """The engine that is asked, None where somebody else's searcher is, or while none was opened."""
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
        """The engine to ask, None where somebody else's searcher is to be asked."""
        if isinstance(self._searcher, Satchel):
            return self._searcher
        if isinstance(self._searcher, Searcher):
            return self._searcher.satchel
        return None if self._searcher is not None else self._opened()

    def _opened(self) -> Satchel:
        """The engine of the current folder."""
        with self._guard:
            if self._own is None:
                self._own = Satchel.open(".", environ=os.environ if self._environ is None else self._environ)
            return self._own

    def _engine_options(self) -> dict[str, Any]:
        """The options that differ from the defaults, as the engine names them."""
        defaults = {field.name: field.default for field in fields(AssemblyOptions)}
        return {
            name: getattr(self.options, own)
            for own, name in _ENGINE_OPTIONS.items()
            if getattr(self.options, own) != defaults[own]
        }

    def _request(self, query: str, limit: int, max_tokens: int, **more: Any) -> AssembleRequest:
        if limit < 1:
            raise UsageError(f"limit is {limit}: give at least 1", "limit")
        return replace(self.options.request(), query=query, limit=limit, max_tokens=check_budget(max_tokens), **more)

    def _can_search(self, kind: Kind) -> bool:
        return callable(getattr(self._searcher, SEARCHES[kind.plural], None))

    async def _searched(
        self, request: AssembleRequest, plan: Plan, calls: Sequence[tuple[PlannedSection, str, dict[str, Any]]]
    ) -> Context:
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        found = await asyncio.gather(*(self._ask(section, query, given) for section, query, given in calls))
        failures = [answer for answer in found if isinstance(answer, Failure)]
        rows = [
            (section, answer)
            for (section, _, _), answer in zip(calls, found, strict=True)
            if not isinstance(answer, Failure)
        ]
        files = self._files_of(Path(self.options.project_root).resolve())
        chosen = replace(self.options, max_tokens=request.max_tokens)
        return await asyncio.to_thread(searched_context, request, plan, rows, chosen, self, files, failures)

    async def _ask(self, section: PlannedSection, query: str, given: Mapping[str, Any]) -> list[object] | Failure:
        """The results of one search of somebody else's searcher, or why there are none."""
        import asyncio

        source = section.kind.plural
        search = getattr(self._searcher, SEARCHES[source], None)
        if not callable(search):
            return Failure(
                source, f"the searcher has no {SEARCHES[source]}", "give it one, or do not ask for this type"
            )
        try:
            return await asyncio.wait_for(_called(search, query, given), SEARCH_SECONDS)
        except TimeoutError:
            return Failure(source, f"no answer within {SEARCH_SECONDS:g} s")
        except Exception as error:  # noqa: BLE001 - somebody else's code must not take the other sources down
            logs.warning(
                "source failed", source=source, error=repr(error), exc_info=not isinstance(error, SatchelError)
            )
            return Failure(source, f"{type(error).__name__}: {error}")


def _arguments(section: PlannedSection) -> dict[str, Any]:
    """What a search is called with beside its question."""
    given: dict[str, Any] = {"limit": section.limit}
    if section.kind is Kind.VALUE:
        return given
    if section.kind is Kind.EXPERIENCE:
        given["axis"] = "full"
        filters = section.filters
        if filters is not None:
            named = {name: getattr(filters, name) for name in ("axis", "domain", "strategy", "outcome")}
            given |= {name: str(value) for name, value in named.items() if value}
    return given


async def _called(
    search: Callable[..., Iterable[object] | Awaitable[Iterable[object]]], query: str, given: Mapping[str, Any]
) -> list[object]:
    """The results of a sync or async search; a sync one runs in a thread of its own."""
    import asyncio

    is_async = inspect.iscoroutinefunction(search)
    found = search(query, **given) if is_async else await asyncio.to_thread(search, query, **given)
    return list(await found if inspect.isawaitable(found) else found)
