"""Operations that answer a question: the packed context, the list of matches, and what stands behind a handle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.assemble.context_query import ENTITY_TYPES, types_of
from satchel.assemble.request import MOST_CONTEXT_LINES, STALE_CHOICES, WHOLE_ITEM_TOKENS
from satchel.assemble.truncation import strategy_names
from satchel.calls import shapes
from satchel.calls.empty import no_answer
from satchel.calls.lines import hit_line
from satchel.calls.operation import Answered, Call, Operation
from satchel.calls.packing import (
    FORMAT,
    LIMIT,
    LIMIT_EACH,
    MAX_TOKENS,
    NOW,
    REFRESH,
    SESSION,
    SHOW_HANDLES,
    TOKENIZER,
    TYPES,
)
from satchel.calls.parameters import Parameter, Shape
from satchel.calls.record_filters import FILTERS, check_filters
from satchel.envelope import context_envelope, expanded_envelope, search_envelope
from satchel.search.retrievers import SearchStrategy
from satchel.types import CONTEXT_TYPES, View

HEAD = "HEAD"

UNASKED = "what does this change concern"
"""Stands for the question until the change is read, where nobody asks one."""

DEFAULT_HITS = 10
"""Of each type: what fits on a screen."""

QUESTION = Parameter(
    "question", Shape.TEXT, "What to look for: a task, an issue text, an error or a stack trace.", aliases=("query",)
)
MIN_SCORE = Parameter("min_score", Shape.NUMBER, "Least relevance.", least=0, most=1)
SEARCHES = Parameter(
    "searches", Shape.TEXTS, "Only these ways of searching.",
    choices=tuple(map(str, SearchStrategy)), aliases=("strategies",),
)  # fmt: skip
_DIFF = Parameter("diff", Shape.TEXT, "A git revision: what the changes since it concern. Needs no question.")
_STAGED = Parameter("staged", Shape.SWITCH, "The same for what is staged.", default=False)
_PACKING = (
    Parameter("types", Shape.TEXTS, "Only these kinds of knowledge, or of code. All by default.",
              choices=(*CONTEXT_TYPES, *ENTITY_TYPES), aliases=("context_types", "include_types")),
    MAX_TOKENS,
    LIMIT,
    Parameter("entity_limit", Shape.COUNT, "At most so many results over all types.", least=1),
    MIN_SCORE,
    SEARCHES,
    FORMAT,
    Parameter("view", Shape.TEXT, "Layout: by file, by entity, or in blocks.", choices=tuple(map(str, View))),
    Parameter("group_by_type", Shape.SWITCH, "One section for code, docs, the rest.", default=False),
    Parameter("show_sources", Shape.SWITCH, "List the sources at the end.", aliases=("include_sources",)),
    Parameter("show_code", Shape.SWITCH, "Show the lines, or only where they are.", default=True,
              aliases=("include_code_content",)),
    Parameter("include", Shape.TEXTS, "PATH or PATH:a-b to show in any case."),
    Parameter("exclude", Shape.TEXTS, "Globs of paths to leave out."),
    Parameter("paths", Shape.TEXTS, "Globs: only these paths."),
    Parameter("purpose", Shape.TEXT, "Many places, or whole functions.", choices=tuple(WHOLE_ITEM_TOKENS),
              default="find"),
    Parameter("context_lines", Shape.COUNT, "Lines more around what answers.", least=0, most=MOST_CONTEXT_LINES,
              default=0, aliases=("contextLines",)),
    Parameter("imports", Shape.SWITCH, "Show import lines that shown code needs.", default=True,
              aliases=("include_imports", "includeImports")),
    Parameter("related", Shape.SWITCH, "Name callers, callees and tests of shown definitions.", default=False),
    Parameter("strategy", Shape.TEXT, "How too large items are shortened.", choices=strategy_names(),
              default=strategy_names()[0]),
    Parameter("stale", Shape.TEXT, "What becomes of text that its file has no more.", choices=STALE_CHOICES,
              is_rare=True),
    Parameter("fill", Shape.SWITCH, "Spend the whole budget, also on what is hardly worth it.", default=False),
    Parameter("reserves", Shape.COUNTS, "Tokens by type that it gets in any case.", is_rare=True),
    Parameter("show_meta", Shape.SWITCH, "Say at the end how it was counted and cut.", default=False, is_rare=True),
    SHOW_HANDLES,
    SESSION,
    TOKENIZER,
    NOW,
)  # fmt: skip
"""What a request takes under the same names, `types` apart."""


def entity_options(types: Sequence[str]) -> dict[str, Any]:
    """The context types among these and those of the entities among them, and these entities as roles."""
    found: dict[str, Any] = {"types": types_of(types)}
    roles = tuple(ENTITY_TYPES[name] for name in types if name in ENTITY_TYPES)
    return found | ({"roles": roles} if roles else {})


def request_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a question as options of a request."""
    options = {one.name: given[one.name] for one in _PACKING if one.name in given}
    return options | entity_options(given.get("types", ()))


def _context_query(call: Call) -> Answered:
    engine, given = call.engine, call.given
    staged, question = given.get("staged", False), given.get("question", "")
    since = given.get("diff") or (HEAD if staged else None)
    is_asked = bool(question.strip()) or since is None
    request = engine.request(question if is_asked else UNASKED, **request_options(given))
    notes = call.refreshed()
    if since is not None:
        request, found = engine.about_change(request, since, staged=staged, is_asked=is_asked)
        notes = [*notes, *found]
    context = engine.answer(request, notes)
    return Answered(context.text, context_envelope(context, request), () if context.items else (no_answer(context),))


def _search(call: Call) -> Answered:
    engine, given = call.engine, call.given
    asked, question, limit = given.get("types", []), given["question"], given.get("limit", DEFAULT_HITS)
    filters = {one.name: given[one.name] for one in FILTERS if one.name in given}
    request = engine.request(question, types=asked, limit=limit)
    check_filters(filters, asked)
    notes = call.refreshed()
    hits = engine.search(
        question, types=asked, limit=limit, filters=filters, searches=given.get("searches", ()),
        now=given.get("now"), min_score=given.get("min_score"), refresh=False,
    )  # fmt: skip
    hits, uncounted = engine.count_lines(hits)
    envelope = search_envelope(request.query, hits, [*notes, *uncounted], engine.store.revision)
    return Answered("\n".join(map(hit_line, hits)), envelope, () if hits else ("nothing here matches the question",))


def _expand(call: Call) -> Answered:
    handles = call.given["handles"]
    context = call.engine.expand(handles, **call.chosen("max_tokens", "format", "tokenizer", "session"))
    notes = [f"{row.handle} does not fit: max_tokens {row.budget} shows all" for row in context.overflow]
    return Answered(context.text, expanded_envelope(context, handles), tuple(notes))


def _document(call: Call) -> Answered:
    call.refreshed()
    context = call.engine.document(call.given["id"], **call.chosen("max_tokens", "format", "tokenizer"))
    return Answered(context.text, expanded_envelope(context, [item.handle for item in context.items]))


CONTEXT_QUERY = Operation(
    "context_query",
    "Pack context for a question",
    "Find the code, docs, commits, memories and past experiences that matter for a question or task, packed into a "
    "token budget.",
    (QUESTION, *_PACKING, _DIFF, _STAGED, REFRESH),
    _context_query,
    shapes.CONTEXT,
    "Ask this first, before reading files. The text shows real lines with paths and ranges; handles of what was cut "
    "go to `expand`.",
)

SEARCH = Operation(
    "search",
    "Search code, docs and history",
    "Search code, docs, commits, memories and experiences, and list the best matches, one line each.",
    (
        Parameter("question", Shape.TEXT, "What to search for.", is_required=True, aliases=("query",)),
        TYPES,
        LIMIT_EACH,
        MIN_SCORE,
        *FILTERS,
        Parameter(SEARCHES.name, SEARCHES.shape, SEARCHES.meaning, SEARCHES.choices, is_rare=True,
                  aliases=SEARCHES.aliases),
        NOW,
        REFRESH,
    ),
    _search,
    shapes.HITS,
    "Cheaper than `context_query` when places are enough.",
)  # fmt: skip

EXPAND = Operation(
    "expand",
    "Expand handles",
    "Show all of what handles stand for: the code or record that an earlier answer showed in part or left out.",
    (
        Parameter("handles", Shape.TEXTS, "8-character handles of an earlier answer.", is_required=True),
        MAX_TOKENS,
        FORMAT,
        SESSION,
        TOKENIZER,
    ),
    _expand,
    shapes.EXPANDED,
)

DOCUMENT = Operation(
    "document",
    "Show a document",
    "Show all of a document by its id: a file, a definition, a commit, a memory, an experience, a note.",
    (
        Parameter("id", Shape.TEXT, "As `search` gives it.", is_required=True),
        MAX_TOKENS,
        FORMAT,
        TOKENIZER,
        REFRESH,
    ),
    _document,
    shapes.EXPANDED,
)
