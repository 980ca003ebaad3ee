"""`Searcher`: one question to one kind, as in the first specification; and the options of an assembly of results."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.answer.items import record_metadata
from satchel.answer.request import (
    AssembleRequest,
    check_budget,
    check_strategy,
    parse_format,
    parse_view,
    request_with,
)
from satchel.answer.truncation import LADDER
from satchel.errors import UsageError
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.sources.code.languages import LANGUAGES
from satchel.sources.experiences import shown_record
from satchel.system import telemetry
from satchel.system.threads import in_thread
from satchel.tokens import DEFAULT_TOKENIZER, counter
from satchel.types import CONTEXT_TYPES, Format, Hit, Kind, Role, Signal, View
from satchel.vocabulary import Axis, Moment, check_count, checked_text, is_whole, parse_choice

if TYPE_CHECKING:
    from satchel.engine import Satchel

LARGEST_CONTEXT_LINES = 1_000
"""Most lines around every entity; for more, files can be shown in full."""

_REQUEST_NAMES: Mapping[str, str] = {
    "format": "format", "view": "view", "strategy": "strategy", "tokenizer": "tokenizer",
    "include_sources": "show_sources", "include_code_content": "show_code", "include_meta": "show_meta",
    "include_imports": "imports", "include_related": "related", "group_by_type": "group_by_type",
    "context_lines": "context_lines",
}  # fmt: skip
"""Option of results -> the same option of a question."""


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """Options of an assembly. Raises UsageError for impossible values; the message lists the possible ones.

    `max_tokens` is never exceeded. `format` is markdown, xml, plain or json; `view` is sections, entities or blocks;
    `strategy` is ladder, signature-first or bookend. `include_sources` lists the sources at the end, `include_meta`
    adds there how the tokens were counted and what is missing; without `include_code_content` files are shown as places
    and names only. `context_lines` are shown before and after each entity, `include_imports` adds the imports that bind
    names in what is shown, `include_related` names what contains, calls, implements and tests it (from the index of
    the `Satchel` in use). Paths are relative to `project_root` (default: the current folder), and nothing outside it
    is read.
    """

    max_tokens: int = 4000
    format: str = Format.MARKDOWN
    view: str = View.SECTIONS
    strategy: str = LADDER
    tokenizer: str = DEFAULT_TOKENIZER
    include_sources: bool = True
    include_code_content: bool = True
    include_meta: bool = False
    include_imports: bool = True
    include_related: bool = False
    group_by_type: bool = False
    context_lines: int = 3
    project_root: str | os.PathLike[str] = "."

    def __post_init__(self) -> None:
        check_budget(self.max_tokens)
        parse_format(self.format)
        parse_view(self.view)
        check_strategy(self.strategy)
        counter(self.tokenizer)
        lines = self.context_lines
        if not is_whole(lines) or not 0 <= lines <= LARGEST_CONTEXT_LINES:
            raise UsageError(f"context_lines is {lines!r}: give 0 to {LARGEST_CONTEXT_LINES:,}")
        for option in fields(self):
            if isinstance(option.default, bool) and not isinstance(getattr(self, option.name), bool):
                raise UsageError(f"{option.name} is {getattr(self, option.name)!r}: give true or false", option.name)
        if not Path(self.project_root).is_dir():
            raise UsageError(f"project_root is {os.fspath(self.project_root)!r}: give a folder")

    def request(self) -> AssembleRequest:
        """Return the options as a request without a question."""
        values = {name: getattr(self, option) for option, name in _REQUEST_NAMES.items()}
        values |= {"format": parse_format(self.format), "view": parse_view(self.view)}
        return request_with(max_tokens=self.max_tokens, **values)

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, named as in a question."""
        defaults = {field.name: field.default for field in fields(self)}
        values = {option: getattr(self, option) for option in _REQUEST_NAMES}
        return {_REQUEST_NAMES[option]: value for option, value in values.items() if value != defaults[option]}


def read_options(options: AssemblyOptions | Mapping[str, Any] | None, base: AssemblyOptions) -> AssemblyOptions:
    """Return the options; those of a mapping (`max_tokens` or `maxTokens`) change `base`. Raises UsageError."""
    if options is None or isinstance(options, AssemblyOptions):
        return options or base
    if not isinstance(options, Mapping):
        raise UsageError(f"options is {options!r}: give AssemblyOptions, or a mapping of them")
    changes = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower(): value for name, value in options.items()}
    names = [option.name for option in fields(AssemblyOptions)]
    unknown = sorted(changes.keys() - set(names))
    if unknown:
        raise UsageError(f"unknown option {', '.join(map(clean_field, unknown))}: choose from {', '.join(names)}")
    return replace(base, **changes)


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a search. `score` is absolute, 0 to 1: the share of the question that it matches.

    `type` is the kind, or the role of a part of a file (`function`). `file_path`, `start_line` and `end_line` are empty
    and 0 for a record. `metadata` has the fields of the kind, named as in the items of a context.
    """

    id: str
    source: str
    type: str
    name: str
    content: str
    score: float
    file_path: str = ""
    start_line: int = 0
    end_line: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()


SEARCHES: Mapping[str, str] = {type_: f"search_{type_}" for type_ in CONTEXT_TYPES}
"""Context type -> the method of a searcher for it."""


class SearchMode(StrEnum):
    """The ways of comparing: by meaning, by words, or both."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"


_STRATEGIES: Mapping[SearchMode, tuple[str, ...]] = {
    SearchMode.SEMANTIC: ("dense",),
    SearchMode.KEYWORD: ("lexical", "names", "history", "graph"),
    SearchMode.HYBRID: (),
}

_BY_WORDS_ALONE = frozenset({"code", "commits", "docs"})
"""Types without vectors: measured, they add nothing there. A semantic search of them compares words."""

_VAGUE = frozenset({Role.RECORD, Role.TEXT, Role.GAP})
"""Roles that are less specific than the kind."""

_UNIT_TYPES = (Role.FUNCTION.value, Role.METHOD.value, Role.CLASS.value, Kind.CODE.value)
"""Types of parts of code files: `code` are the lines outside of definitions."""


class Searcher:
    """Searches one `Satchel`; without one, that of the current folder.

    An empty query has no results. Results come best first. Filters that are None admit everything; times are dates,
    `datetime` objects or seconds since the epoch. Raises UsageError for impossible values; the message lists the
    possible ones.
    """

    def __init__(self, satchel: Satchel | None = None, *, now: Moment | None = None) -> None:
        """Recency is measured from `now`; default: the start of the day (UTC) of each search."""
        self._satchel = satchel
        self._opened: Satchel | None = None
        self._now = now

    @property
    def satchel(self) -> Satchel:
        """The engine that is searched, opened for the current folder when it is first needed."""
        if self._satchel is not None:
            return self._satchel
        if self._opened is None:
            from satchel.engine import Satchel

            self._opened = Satchel.open(".")
        return self._opened

    def close(self) -> None:
        """Close the engine if it was opened here."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    async def search_memories(
        self,
        query: str,
        limit: int = 10,
        search_mode: str = SearchMode.HYBRID,
        *,
        category: str | None = None,
        min_importance: float | None = None,
        **filters: Any,
    ) -> list[Finding]:
        """Return memories, of one category and of at least an importance (0 to 1) if given."""
        return await self._search(
            "memories", query, limit, search_mode, category=category, min_importance=min_importance, **filters
        )

    async def search_code(
        self,
        query: str,
        limit: int = 10,
        search_mode: str = SearchMode.HYBRID,
        *,
        language: str | None = None,
        unit_type: str | None = None,
    ) -> list[Finding]:
        """Return parts of code files, in one language and of one type (`function`, `method`, `class`) if given."""
        if language is not None and language not in LANGUAGES:
            raise UsageError(f"unknown language {language!r:.60}: choose from {', '.join(sorted(LANGUAGES))}")
        if unit_type is not None and unit_type not in _UNIT_TYPES:
            raise UsageError(f"unknown unit_type {unit_type!r:.60}: choose from {', '.join(_UNIT_TYPES)}")
        # Results to search for each one returned, if language or type filter them.
        more = 8 if language or unit_type else 1
        results = await self._search("code", query, limit * more, search_mode)
        return [
            row for row in results if unit_type in (None, row.type) and language in (None, row.metadata["language"])
        ][:limit]

    async def search_experiences(
        self,
        query: str,
        axis: str = Axis.FULL,
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = 10,
        search_mode: str = SearchMode.HYBRID,
        **filters: Any,
    ) -> list[Finding]:
        """Return experiences by one of their sides: `full`, `strategy`, `surprise` or `root_cause`."""
        side = parse_choice(Axis, axis, "axis")
        return await self._search(
            "experiences", query, limit, search_mode, axis=side, domain=domain, strategy=strategy, outcome=outcome,
            **filters,
        )  # fmt: skip

    async def search_values(
        self,
        query: str,
        limit: int = 5,
        search_mode: str = SearchMode.HYBRID,
        *,
        axis: str | None = None,
        domain: str | None = None,
        strategy: str | None = None,
        **filters: Any,
    ) -> list[Finding]:
        """Return values, from the experiences of one axis, domain or strategy if given."""
        return await self._search(
            "values", query, limit, search_mode, axis=axis, domain=domain, strategy=strategy, **filters
        )

    async def search_commits(
        self,
        query: str,
        author: str | None = None,
        since: Moment | None = None,
        limit: int = 10,
        search_mode: str = SearchMode.HYBRID,
        *,
        until: Moment | None = None,
    ) -> list[Finding]:
        """Return commits, by an author (a part of the name or address) and from a span of time if given."""
        return await self._search("commits", query, limit, search_mode, author=author, since=since, until=until)

    async def search_docs(self, query: str, limit: int = 10, search_mode: str = SearchMode.HYBRID) -> list[Finding]:
        """Return sections of documents."""
        return await self._search("docs", query, limit, search_mode)

    async def search_notes(self, query: str, limit: int = 10, search_mode: str = SearchMode.HYBRID) -> list[Finding]:
        """Return notes."""
        return await self._search("notes", query, limit, search_mode)

    async def search_conversations(
        self, query: str, limit: int = 10, search_mode: str = SearchMode.HYBRID, **filters: Any
    ) -> list[Finding]:
        """Return exchanges of conversations."""
        return await self._search("conversations", query, limit, search_mode, **filters)

    async def search_contexts(self, query: str, limit: int = 10, search_mode: str = SearchMode.HYBRID) -> list[Finding]:
        """Return context files and instruction files."""
        return await self._search("contexts", query, limit, search_mode)

    async def _search(self, type_: str, query: str, limit: int, search_mode: str, **filters: Any) -> list[Finding]:
        mode = parse_choice(SearchMode, search_mode, "search mode")
        check_count(limit, "limit")
        if not checked_text("the query", query).strip():
            return []
        options = {name: value for name, value in filters.items() if value is not None}
        return await in_thread(self._search_now, type_, query, limit, mode, options)

    def _search_now(
        self, type_: str, query: str, limit: int, mode: SearchMode, filters: Mapping[str, Any]
    ) -> list[Finding]:
        satchel = self.satchel
        if mode is SearchMode.SEMANTIC and (type_ in _BY_WORDS_ALONE or satchel.vectors.embedder is None):
            telemetry.warning("no vectors to search by: keyword search only", type=type_)
            mode = SearchMode.HYBRID
        hits = satchel.search(
            query, types=[type_], limit=limit, filters=filters, now=self._now, searches=_STRATEGIES[mode],
            min_score=None if type_ == "memories" else 0.0,
        )  # fmt: skip
        return [_finding(hit, satchel) for hit in hits]


def _finding(hit: Hit, satchel: Satchel) -> Finding:
    """Return a hit with its content as it was indexed; an experience shows all of its sides."""
    chunk, location = hit.chunk, hit.chunk.location
    kind, allow = chunk.kind.value, satchel.settings.redact_allow
    text = satchel.opened.store_of(chunk.kind).text(chunk.document)
    type_, place = kind, {}
    if location is None:
        content = shown_record(chunk.kind, chunk.fields, text)
        metadata = dict(record_metadata(chunk.id, chunk.fields, chunk.created))
    else:
        type_ = kind if chunk.role in _VAGUE else chunk.role.value
        place = {"file_path": location.path, "start_line": location.start_line, "end_line": location.end_line}
        content = "\n".join(text.split("\n")[location.start_line - 1 : location.end_line])
        language = chunk.fields.get("language", "")
        metadata = {**place, "language": language, "qualified_name": chunk.title, "signature": chunk.signature}
    shown: dict[str, Any] = {"metadata": metadata, "signals": hit.signals, **place}
    return Finding(chunk.id, kind, type_, chunk.title, sanitize.text(content, allow), hit.relevance, **shown)
