"""Operations that assemble or explain contexts: questions, premortem, brief, situation; and the shared arguments.

Only the arguments of `context_query` name the options of a question for all interfaces: each has the name of the field
of the request.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from satchel.assemble.truncation import strategy_names
from satchel.errors import UsageError
from satchel.graph.request import DEFAULT_DEPTH, DEFAULT_LENS, LEAST_DEPTH, LENSES, MOST_DEPTH
from satchel.operations import json
from satchel.operations.json import NO_GUIDE, hit_line, no_answer, no_items, no_walk
from satchel.operations.operation import Answered, Operation, OperationCall, Parameter, Shape, text
from satchel.safety import sanitize
from satchel.search.filters import SearchStrategy
from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, ENTITY_TYPES, Format, View
from satchel.vocabulary import (
    ACTIVE,
    FILTER_KINDS,
    LARGEST_BUDGET,
    MOST_CONTEXT_LINES,
    PURPOSES,
    STALE_CHOICES,
    Axis,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    Strategy,
    choices,
)

HEAD = "HEAD"

UNASKED = "what does this change concern"
"""Replaces a missing question until the change is read."""

DEFAULT_HITS = 10
"""Default number of hits of each type, which fits on a screen."""

MAX_TOKENS = Parameter("max_tokens", Shape.COUNT, "Budget in tokens, never exceeded.", least=1, most=LARGEST_BUDGET,
                       aliases=("maxTokens",))  # fmt: skip
LIMIT = Parameter("limit", Shape.COUNT, "At most so many items.", least=1)
LIMIT_EACH = replace(LIMIT, meaning="At most so many items of each type.", flags=("-n", "--limit"))
FORMAT = text("format", "How the text is written.", tuple(Format))
TOKENIZER = text("tokenizer", "What counts the tokens.", TOKENIZERS, is_rare=True)
NOW = Parameter("now", Shape.MOMENT, "The time to answer for: a date, or epoch seconds.", is_rare=True)
REFRESH = Parameter("refresh", Shape.SWITCH, "Bring the index up to date first.", default=True, is_rare=True)
SHOW_HANDLES = Parameter("show_handles", Shape.SWITCH, "List the handles of what is shown in part.", default=False,
                         is_rare=True, flags=("--handles",))  # fmt: skip
TYPES = Parameter("types", Shape.TEXTS, "Only these.", choices=tuple(CONTEXT_TYPES), aliases=("context_types",))
SESSION = text("session", "Your session id: what it received before is only named, unless it changed.")
QUESTION = text("question", "What to look for: a task, an issue text, an error or a stack trace.", aliases=("query",))
MIN_SCORE = Parameter(
    "min_score", Shape.NUMBER, "Least relevance: the probability that an item is needed.", least=0, most=1
)
EXCLUDE = Parameter("exclude", Shape.TEXTS, "Globs of paths to leave out.", flags=("--exclude",))
PATHS = Parameter("paths", Shape.TEXTS, "Globs: only these paths.", flags=("--path",))
SEARCHES = Parameter("searches", Shape.TEXTS, "Only these ways of searching.", choices=tuple(map(str, SearchStrategy)),
                     aliases=("strategies",))  # fmt: skip

FILTERS = (
    text("category", "Of memories.", choices(MemoryCategory)),
    Parameter("min_importance", Shape.NUMBER, "Of memories.", least=0, most=1),
    text("domain", "Of experiences and values.", choices(Domain)),
    text("strategy", "Of experiences and values.", choices(Strategy)),
    text("outcome", "Of experiences.", (*choices(OutcomeStatus), ACTIVE)),
    text("axis", "One side of experiences and values.", choices(Axis)),
    text("author", "A part of the name, of commits."),
    Parameter("since", Shape.MOMENT, "Records from then on: a date, or epoch seconds."),
    Parameter("until", Shape.MOMENT, "Records before then."),
    Parameter("tags", Shape.TEXTS, "Records with all of these.", flags=("--tag",)),
)
"""One for each filter of a search."""

_CHANGE = (
    text("diff", "A git revision: what the changes since it concern. Needs no question.", bare=HEAD),
    Parameter("staged", Shape.SWITCH, "The same for what is staged.", default=False),
)
_REQUEST = (
    Parameter("types", Shape.TEXTS, "Only these kinds of knowledge, or of code. All by default.",
              choices=(*CONTEXT_TYPES, *ENTITY_TYPES), aliases=("context_types", "include_types")),
    MAX_TOKENS,
    LIMIT,
    Parameter("entity_limit", Shape.COUNT, "At most so many results over all types.", least=1),
    MIN_SCORE,
    SEARCHES,
    FORMAT,
    text("view", "Layout: by file, by entity, or in blocks.", tuple(View)),
    Parameter("group_by_type", Shape.SWITCH, "One section for code, docs, the rest.", default=False),
    Parameter("show_sources", Shape.SWITCH, "List the sources at the end.", aliases=("include_sources",),
              flags=("--sources",)),
    Parameter("show_code", Shape.SWITCH, "Show the lines, or only where they are.", default=True,
              aliases=("include_code_content",), flags=("--code",)),
    Parameter("include", Shape.TEXTS, "PATH or PATH:a-b to show in any case.", flags=("--include",)),
    EXCLUDE,
    PATHS,
    text("purpose", "Many places, or whole functions.", PURPOSES, default="find", flags=("--for",)),
    Parameter("context_lines", Shape.COUNT, "Lines more around what answers.", least=0, most=MOST_CONTEXT_LINES,
              default=0, aliases=("contextLines",)),
    Parameter("imports", Shape.SWITCH, "Show import lines that shown code needs.", default=True,
              aliases=("include_imports", "includeImports")),
    Parameter("related", Shape.SWITCH, "Name callers, callees and tests of shown definitions.", default=False),
    text("strategy", "How too large items are shortened.", strategy_names(), default=strategy_names()[0]),
    text("stale", "What becomes of text that its file has no more.", STALE_CHOICES, is_rare=True),
    Parameter("fill", Shape.SWITCH, "Spend the whole budget, also on what is hardly worth it.", default=False),
    Parameter("reserves", Shape.COUNTS, "Tokens by type that it gets in any case.", is_rare=True, flags=("--reserve",)),
    Parameter("show_meta", Shape.SWITCH, "Say at the end how it was counted and cut.", default=False, is_rare=True,
              flags=("--meta",)),
    SHOW_HANDLES,
    SESSION,
    TOKENIZER,
    NOW,
)  # fmt: skip
"""The options of a request, each under the name of its field except `types`."""


def entity_options(types: Sequence[str]) -> dict[str, Any]:
    """Return the context types of these names, entities included, and the roles of the entities."""
    from satchel.assemble.shapes import types_of  # here, because help and completion do not need it

    roles = tuple(ENTITY_TYPES[name] for name in types if name in ENTITY_TYPES)
    return {"types": types_of(types)} | ({"roles": roles} if roles else {})


def check_filters(names: Iterable[str], types: Iterable[str]) -> None:
    """Raise UsageError for a filter that applies to none of the types."""
    selected = {CONTEXT_TYPES[name] for name in types if name in CONTEXT_TYPES}
    for name in names if selected else ():
        concerned = FILTER_KINDS[name]
        if not concerned & selected:
            kinds = ", ".join(sorted(kind.plural for kind in selected))
            takers = ", ".join(kind.plural for kind in CONTEXT_TYPES.values() if kind in concerned)
            raise UsageError(f"{name} says nothing of {kinds}: it is for {takers}", name)


def _context_query(call: OperationCall) -> Answered:
    engine, arguments = call.engine, call.arguments
    staged, question = arguments.get("staged", False), arguments.get("question", "")
    since = arguments.get("diff") or (HEAD if staged else None)
    is_asked = bool(question.strip()) or since is None
    options = call.chosen([one.name for one in _REQUEST]) | entity_options(arguments.get("types", ()))
    request = engine.request(question if is_asked else UNASKED, **options)
    notes = call.refreshed()
    if since is not None:
        request, changes = engine.about_change(request, since, staged=staged, is_asked=is_asked)
        notes = [*notes, *changes]
    context = engine.answer(request, notes)
    why_empty = no_answer(context, call.caller.spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


def _search(call: OperationCall) -> Answered:
    engine, arguments = call.engine, call.arguments
    types, question, limit = arguments.get("types", []), arguments["question"], arguments.get("limit", DEFAULT_HITS)
    filters = call.chosen([one.name for one in FILTERS])
    request = engine.request(question, types=types, limit=limit)
    check_filters(filters, types)
    notes = call.refreshed()
    options = call.chosen(("searches", "now", "min_score"))
    hits = engine.search(question, types=types, limit=limit, filters=filters, refresh=False, **options)
    hits, uncounted = engine.count_lines(hits)
    envelope = json.search_envelope(request.query, hits, [*notes, *uncounted], engine.store.revision)
    why_empty = () if hits else ("nothing here matches the question",)
    return Answered("\n".join(map(hit_line, hits)), envelope, why_empty)


def _graph_context(call: OperationCall) -> Answered:
    options = call.chosen([one.name for one in GRAPH_CONTEXT.parameters if one.name not in ("query", "refresh")])
    with call.in_workspace() as engine:
        request = engine.graph_request(call.arguments["query"], **options)
        context = engine.graph_answer(request, call.refreshed(engine))
    notes = tuple(context.meta["warnings"]) if context.text else (no_walk(context),)
    return Answered(context.text, json.graph_envelope(context, request), notes, context)


def _expand(call: OperationCall) -> Answered:
    handles, spelling = call.arguments["handles"], call.caller.spelling
    context = call.engine.expand(handles, **call.chosen(("max_tokens", "format", "tokenizer", "session")))
    notes = [f"{row.handle} does not fit: {spelling.max_tokens} {row.budget} shows all" for row in context.overflow]
    return Answered(context.text, json.expanded_envelope(context, handles), tuple(notes), context)


def _document(call: OperationCall) -> Answered:
    call.refreshed()
    context = call.engine.document(call.arguments["id"], **call.chosen(("max_tokens", "format", "tokenizer")))
    return Answered(context.text, json.expanded_envelope(context, [item.handle for item in context.items]))


def _why(call: OperationCall) -> Answered:
    target, question = call.arguments["target"], call.arguments["question"]
    notes = call.refreshed()
    options = call.chosen([one.name for one in WHY.parameters if one.name not in ("target", "question", "refresh")])
    standings = [json.STANDING.data(row) for row in call.engine.why(target, question, refresh=False, **options)]
    asked = sanitize.value({"target": target, "question": question}, call.engine.settings.redact_allow)
    return Answered("", {**asked, "standings": standings}, subject=notes)


def _replay(call: OperationCall) -> Answered:
    saved: Mapping[str, Any] = call.arguments["saved"]
    if call.engine.replays_tree(saved):
        call.refreshed()
    replay = call.engine.replay(saved, refresh=False)
    notes = tuple(f"differs: {row}" for row in replay.differences)
    return Answered(replay.context.text, json.replayed_envelope(replay.context, replay.request, saved), notes)


CONTEXT_QUERY = Operation(
    "context_query",
    "Pack context for a question",
    "Find the code, docs, commits, memories and past experiences that matter for a question or task, packed into a "
    "token budget.",
    (QUESTION, *_REQUEST, *_CHANGE, REFRESH),
    _context_query,
    json.CONTEXT.schema,
    "Ask this first, before reading files. The text shows real lines with paths and ranges; handles of what was cut "
    "go to `expand`.",
)

SEARCH = Operation(
    "search",
    "Search code, docs and history",
    "Search code, docs, commits, memories and experiences, and list the best matches, one line each.",
    (
        text("question", "What to search for.", is_required=True, aliases=("query",)),
        TYPES,
        LIMIT_EACH,
        MIN_SCORE,
        *FILTERS,
        replace(SEARCHES, is_rare=True),
        NOW,
        REFRESH,
    ),
    _search,
    json.HITS.schema,
    "Cheaper than `context_query` when places are enough.",
)

GRAPH_CONTEXT = Operation(
    "graph_context",
    "Walk the graph around a topic",
    "Follow relations from a topic or node through notes and code: links, fields, containment, calls, imports.",
    (
        text("query", "A topic, or the id of a node: a note, a file, a definition.", is_required=True,
             aliases=("node_id", "nodeId", "question")),
        Parameter("blend", Shape.TEXTS, "More topics or ids in the same context.", flags=("--and",)),
        Parameter("depth", Shape.COUNT, f"Steps to walk ({DEFAULT_DEPTH}, as far as the lens allows).",
                  least=LEAST_DEPTH, most=MOST_DEPTH),
        MAX_TOKENS,
        text("lens", "Which relations to follow; settings may add more.", tuple(LENSES), default=DEFAULT_LENS,
             is_open=True),
        Parameter("include_fields", Shape.SWITCH, "Show the fields of nodes.", default=True,
                  aliases=("includeFields",)),
        text("format", "How the text is written.", (Format.MARKDOWN, Format.JSON), default=str(Format.MARKDOWN)),
        text("workspace", "A registered workspace by its alias; this root by default."),
        SESSION,
        TOKENIZER,
        NOW,
        REFRESH,
    ),
    _graph_context,
    json.CONTEXT.schema,
    "Use it for what is connected: who calls a function (lens impact), what a note refers to. Also takes maxTokens, "
    "includeFields and nodeId.",
)  # fmt: skip

EXPAND = Operation(
    "expand",
    "Expand handles",
    "Show everything behind handles: the code or record that an earlier answer showed in part or left out.",
    (
        Parameter("handles", Shape.TEXTS, "8-character handles of an earlier answer.", is_required=True),
        MAX_TOKENS,
        FORMAT,
        SESSION,
        TOKENIZER,
    ),
    _expand,
    json.EXPANDED.schema,
)

DOCUMENT = Operation(
    "document",
    "Show a document",
    "Show all of a document by its id: a file, a definition, a commit, a memory, an experience, a note.",
    (text("id", "As `search` gives it.", is_required=True), MAX_TOKENS, FORMAT, TOKENIZER, REFRESH),
    _document,
    json.EXPANDED.schema,
)

WHY = Operation(
    "why",
    "Why something is in or out",
    "Explain how a file, symbol or record ranks for a question, and why it is in or out.",
    (
        text("target", "A path or its end, a qualified name, a commit, or an id.", is_required=True),
        text("question", "The question.", is_required=True, aliases=("query",)),
        TYPES,
        MAX_TOKENS,
        PATHS,
        EXCLUDE,
        MIN_SCORE,
        NOW,
        REFRESH,
    ),
    _why,
    json.STANDINGS.schema,
)

REPLAY = Operation(
    "replay",
    "Ask a saved question again",
    "Ask the question of a saved answer again; the text is the same unless the folder, the settings or the version "
    "differ.",
    (Parameter("saved", Shape.OBJECT, "The envelope of a context.", is_required=True), REFRESH),
    _replay,
    json.CONTEXT.schema,
)


PREMORTEM, BRIEF, AFTER_FAILURE = MODES = ("premortem", "brief", "after_failure")

_NEEDED = {PREMORTEM: "domain", AFTER_FAILURE: "failure"}
"""Mode -> its required argument."""

_MODE_OF_ARGUMENT = {"domain": PREMORTEM, "strategy": PREMORTEM, "failure": AFTER_FAILURE}

_PACKING = (MAX_TOKENS, LIMIT_EACH, FORMAT, SESSION, SHOW_HANDLES, TOKENIZER, NOW)

_SITUATION = (
    text("task", "What is to be done."),
    Parameter("files", Shape.TEXTS, "The files that it is about, relative to the root."),
    text("tool", "The tool that is about to run, as in edit_file."),
    Parameter("params", Shape.OBJECT, "Its parameters."),
    text("intent", "What it is done for."),
    text("error", "The error that came up."),
    text("language", "By default that of the files."),
    text("agent", "Who does it."),
    Parameter("tags", Shape.TEXTS, "Words that rules may ask for.", flags=("--tag",)),
)
_GUIDED_PACKING = (MAX_TOKENS, LIMIT_EACH, FORMAT, SESSION, TOKENIZER, NOW)


def _premortem(call: OperationCall) -> Answered:
    engine, arguments, spelling = call.engine, call.arguments, call.caller.spelling
    mode = _mode(arguments)
    options = call.chosen([one.name for one in _PACKING])
    if mode == PREMORTEM:
        request, notes = engine.premortem_request(arguments["domain"], arguments.get("strategy"), **options), []
    else:
        request = engine.brief_request(arguments.get("failure"), **options)
        notes = call.refreshed() if mode == AFTER_FAILURE else []
    context = engine.answer(request, notes)
    nothing = {
        PREMORTEM: f"no experience of {arguments.get('domain')} failed here yet: keep them with {spelling.experience}",
        BRIEF: f"nothing is remembered here yet: {spelling.remember} keeps what should be known",
        AFTER_FAILURE: "nothing here failed like this before, and the failure names no code of this folder",
    }
    why_empty = no_items(context, nothing[mode], spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


def _mode(arguments: dict[str, Any]) -> str:
    """Return the mode. Raises UsageError for an unknown one, and for arguments of another mode."""
    mode: str = arguments.get("mode", PREMORTEM)
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose from {', '.join(MODES)}")
    needed = _NEEDED.get(mode)
    if needed is not None and needed not in arguments:
        values = f", one of {', '.join(choices(Domain))}" if needed == "domain" else ": the output of the command"
        raise UsageError(f"mode {mode} needs {needed}{values}")
    for name, owner in _MODE_OF_ARGUMENT.items():
        if name in arguments and owner != mode:
            raise UsageError(f"{name} says nothing to mode {mode}: leave it out, or give mode {owner}", name)
    return mode


def _situation_context(call: OperationCall) -> Answered:
    arguments = call.arguments
    situation = call.chosen([one.name for one in _SITUATION]) | {"time": arguments.get("time", time.time())}
    context, request = call.engine.situation_answer(
        situation, context=arguments.get("context"), refresh=False, notes=call.refreshed(),
        **call.chosen([one.name for one in _GUIDED_PACKING]),
    )  # fmt: skip
    why_empty = no_items(context, NO_GUIDE, call.caller.spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


PREMORTEM_OPERATION = Operation(
    "premortem",
    "Premortem, brief, after a failure",
    "Recall what went wrong before: before work (premortem), at a session's start (brief), or after a failed test or "
    "command.",
    (
        text("mode", "premortem needs domain, after_failure needs failure.", MODES, default=PREMORTEM),
        text("domain", "The kind of work.", choices(Domain)),
        text("strategy", "How it is gone about.", choices(Strategy)),
        text("failure", "The output of the command that failed.", flags=("--after-failure",)),
        *_PACKING,
        REFRESH,
    ),
    _premortem,
    json.CONTEXT.schema,
)

SITUATION_CONTEXT = Operation(
    "situation_context",
    "Rules and history for a situation",
    "Pack the project's instructions, rules and history that apply to what you are about to do: a tool call, files, "
    "an error.",
    (
        *_SITUATION,
        text("context", "The folder of the current context.yaml (that nearest to the files)."),
        Parameter("time", Shape.MOMENT, "The moment, for rules about the time of day (now).", is_rare=True),
        *_GUIDED_PACKING,
        REFRESH,
    ),
    _situation_context,
    json.CONTEXT.schema,
)
