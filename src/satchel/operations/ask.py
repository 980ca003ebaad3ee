"""Operations that assemble or explain contexts: questions, premortem, brief, situation; and the shared arguments.

Only the arguments of `context_query` name the options of a question for all interfaces: each has the name of the field
of the request.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from satchel import vocabulary
from satchel.answer.truncation import strategy_names
from satchel.errors import UsageError
from satchel.operations import json
from satchel.operations.json import NO_GUIDE, hit_list, no_answer, no_items, no_walk
from satchel.operations.operation import Answered, Operation, OperationCall, Parameter, Shape, text
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.search.filters import SearchStrategy
from satchel.tokens import TOKENIZERS
from satchel.types import (
    CONTEXT_TYPES,
    ENTITY_TYPES,
    SEARCHED_TYPES,
    Context,
    Data,
    Failure,
    Format,
    Json,
    View,
    type_name,
)

HEAD = "HEAD"

UNASKED = "what does this change concern"
"""Replaces a missing question until the change is read."""

MAX_TOKENS = Parameter("max_tokens", Shape.COUNT, "Token budget, never exceeded.", least=1,
                       most=vocabulary.LARGEST_BUDGET, aliases=("maxTokens",))  # fmt: skip
LIMIT = Parameter("limit", Shape.COUNT, "Maximum items.", least=1, flags=("-n", "--limit"))
LIMIT_EACH = replace(LIMIT, meaning="Maximum files or records per type.")
FORMAT = text("format", "Output format.", tuple(Format), is_rare=True)
TOKENIZER = text("tokenizer", "How tokens are counted.", TOKENIZERS, is_rare=True)
NOW = Parameter("now", Shape.MOMENT, "Answer as of this time: a date, or seconds since the epoch.", is_rare=True)
REFRESH = Parameter("refresh", Shape.SWITCH, "Bring the index up to date first.", default=True, is_rare=True)
SHOW_HANDLES = Parameter("show_handles", Shape.SWITCH, "List the handles of what is shown in part.", default=False,
                         flags=("--handles",), is_rare=True)  # fmt: skip
TYPES = Parameter("types", Shape.TEXTS, "Only these types.", choices=tuple(CONTEXT_TYPES), listed_by="context_query",
                  aliases=("context_types",))  # fmt: skip
SESSION = text("session", "Your session id: text that it already received is named, not repeated.", is_rare=True)
QUESTION = text("question", "A task, issue text, error or stack trace.", aliases=("query",))
MIN_SCORE = Parameter("min_score", Shape.NUMBER, "Leave out items that are less likely to be needed (0 to 1).", least=0,
                      most=1, is_rare=True)  # fmt: skip
EXCLUDE = Parameter("exclude", Shape.TEXTS, "Path globs to leave out.", flags=("--exclude",))
PATHS = Parameter("paths", Shape.TEXTS, "Only paths that match these globs.", flags=("--path",))
SEARCHES = Parameter("searches", Shape.TEXTS, "Only these search methods.", choices=tuple(map(str, SearchStrategy)),
                     aliases=("strategies",), is_rare=True)  # fmt: skip

NAMES = Parameter("names", Shape.TEXTS, "Your guess: 4 to 10 identifiers or words the code probably uses, or [].",
                  is_wished=True, flags=("--names",))  # fmt: skip

PURPOSE = text(
    "purpose", "find (default): surest lines, then places; edit: whole functions; read: one text.", vocabulary.PURPOSES,
    default=vocabulary.FIND, flags=("--for",),
)  # fmt: skip

WORKSPACE = text("workspace", "A registered workspace, or several as web,api; this root by default.", is_rare=True)

FILTERS = (
    text("category", "Category of memories.", vocabulary.choices(vocabulary.MemoryCategory)),
    text("scope", "Memories that the team shares, agents wrote, or belong to the user.",
         vocabulary.choices(vocabulary.Scope), is_rare=True),
    text("provenance", "Who said a memory.", vocabulary.choices(vocabulary.Provenance), is_rare=True),
    text("origin", "Source of memories and conversations.", is_rare=True),
    Parameter("min_importance", Shape.NUMBER, "Lowest importance of memories.", least=0, most=1, is_rare=True),
    text("domain", "Domain of experiences and values.", vocabulary.choices(vocabulary.Domain)),
    text("strategy", "Strategy of experiences and values.", vocabulary.choices(vocabulary.Strategy), is_rare=True),
    text("outcome", "Outcome of experiences.", (*vocabulary.choices(vocabulary.OutcomeStatus), vocabulary.ACTIVE)),
    text("axis", "One aspect of experiences and values.", vocabulary.choices(vocabulary.Axis), is_rare=True),
    text("author", "Part of the author's name."),
    Parameter("since", Shape.MOMENT, "Records from this time on: a date, or seconds since the epoch."),
    Parameter("until", Shape.MOMENT, "Records before this time.", is_rare=True),
    Parameter("tags", Shape.TEXTS, "Records with all of these tags.", flags=("--tag",)),
)  # fmt: skip
"""One for each filter of a search."""

_CHANGE = (
    text("diff", "A git revision: what the changes since it affect; needs no question.", bare=HEAD),
    Parameter("staged", Shape.SWITCH, "The same for staged changes.", default=False),
    Parameter("tests", Shape.SWITCH, "Only the tests that cover the change, one per line.", default=False),
)
_REQUEST = (
    Parameter("types", Shape.TEXTS, "Only these types.",
              choices=(*CONTEXT_TYPES, *ENTITY_TYPES), aliases=("context_types", "include_types")),
    MAX_TOKENS,
    LIMIT,
    NAMES,
    Parameter("entity_limit", Shape.COUNT, "Maximum number of results over all types.", least=1, is_rare=True),
    MIN_SCORE,
    SEARCHES,
    FORMAT,
    text("view", "Layout: by file, by entity, or in blocks.", tuple(View), is_rare=True),
    Parameter("group_by_type", Shape.SWITCH, "One section for code, docs, the rest.", default=False, is_rare=True),
    Parameter("show_sources", Shape.SWITCH, "List the sources at the end.", aliases=("include_sources",),
              flags=("--sources",), is_rare=True),
    Parameter("show_code", Shape.SWITCH, "Show the lines, not only where they are.", default=True,
              aliases=("include_code_content",), flags=("--code",), is_rare=True),
    Parameter("include", Shape.TEXTS, "PATH, PATH:a-b or FOLDER to show in any case.", flags=("--include",)),
    EXCLUDE,
    PATHS,
    PURPOSE,
    Parameter("context_lines", Shape.COUNT, "Extra lines around each match.", least=0,
              most=vocabulary.MAX_CONTEXT_LINES, default=0, aliases=("contextLines",), is_rare=True),
    Parameter("imports", Shape.SWITCH, "Show import lines that shown code needs.", default=True,
              aliases=("include_imports", "includeImports"), is_rare=True),
    Parameter("related", Shape.SWITCH, "Name callers, callees and tests of shown definitions.", default=False),
    text("strategy", "How items that are too large are shortened.", strategy_names(), default=strategy_names()[0],
         is_rare=True),
    text("stale", "Mark or withhold text that its file no longer contains.", vocabulary.STALE_CHOICES, is_rare=True),
    Parameter("fill", Shape.SWITCH, "Use the whole budget, even for weak matches.", default=False, is_rare=True),
    Parameter("reserves", Shape.COUNTS, "Tokens reserved for each type.", flags=("--reserve",), is_rare=True),
    Parameter("show_meta", Shape.SWITCH, "Say at the end how tokens were counted and text was cut.", default=False,
              flags=("--meta",), is_rare=True),
    SHOW_HANDLES,
    SESSION,
    TOKENIZER,
    NOW,
    WORKSPACE,
)  # fmt: skip
"""The options of a request, each under the name of its field except `types`."""


def entity_options(types: Sequence[str]) -> Json:
    """Return the context types of these names, entities included, and the roles of the entities."""
    from satchel.answer.plans import types_of  # here, because help and completion do not need it

    roles = tuple(ENTITY_TYPES[name] for name in types if name in ENTITY_TYPES)
    return {"types": types_of(types)} | ({"roles": roles} if roles else {})


def check_filters(names: Iterable[str], types: Iterable[str]) -> None:
    """Raise UsageError for a filter that applies to none of the types."""
    selected = {CONTEXT_TYPES[name] for name in map(type_name, types) if name in CONTEXT_TYPES}
    for name in names if selected else ():
        concerned = vocabulary.FILTER_KINDS[name]
        if not concerned & selected:
            kinds = ", ".join(sorted(kind.plural for kind in selected))
            takers = ", ".join(kind.plural for kind in CONTEXT_TYPES.values() if kind in concerned)
            raise UsageError(f"{name} does not apply to {kinds}, only to {takers}", name)


def _context_query(call: OperationCall) -> Answered:
    from satchel.answer.plans import needs_history  # here, because help and completion do not need it

    engine, arguments = call.engine, call.arguments
    staged, question = arguments.get("staged", False), arguments.get("question", "")
    only_tests = arguments.get("tests", False)
    since = arguments.get("diff") or (HEAD if staged or only_tests else None)
    is_asked = bool(question.strip()) or since is None
    options = call.chosen([parameter.name for parameter in _REQUEST]) | entity_options(arguments.get("types", ()))
    is_packed = not (since is None and question.strip()) or options.keys() & {"fill", "view"}
    options.setdefault("purpose", vocabulary.READ if is_packed else vocabulary.FIND)
    request = engine.request(question if is_asked else UNASKED, **options)
    notes = call.refreshed(call.workspaces, files_first=not needs_history(request.asked, request.scope, since))
    if since is not None:
        request, changes = engine.answers.about_change(request, since, staged=staged, is_asked=is_asked)
        notes = [*notes, *changes]
    if only_tests:
        context = engine.answers.tests_of_change(request, notes)
        none = () if context.text else ("no test is found that reaches this change",)
        return Answered(context.text, json.context_envelope(context, request), none, context)
    context = engine.answers.answer(request, notes, catch_up=call.catch_up, counts_lines=call.caller.shows_data)
    why_empty = no_answer(context, call.caller.spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


def _search(call: OperationCall) -> Answered:
    engine, arguments = call.engine, call.arguments
    if "pattern" in arguments or "where" in arguments:
        return _search_pattern(call)
    if "question" not in arguments:
        raise UsageError("there is nothing to search for: give a question, a pattern or a condition")
    from satchel.answer.plans import needs_history

    # Default number of hits of each type, which fits on a screen.
    types, question, limit = arguments.get("types", []), arguments["question"], arguments.get("limit", 10)
    filters = call.chosen([parameter.name for parameter in FILTERS])
    request = engine.request(question, types=types, limit=limit, **call.chosen(("searches",)))
    check_filters(filters, types)
    notes = call.refreshed(call.workspaces, files_first=not needs_history(request.asked, request.scope))
    options = call.chosen(("names", "searches", "now", "min_score", "workspace"))
    hits = engine.search(question, types=types, limit=limit, filters=filters, refresh=False, **options)
    uncounted: list[Failure] = []
    if call.caller.shows_data:
        from satchel.answer.items import counted_hits  # here, because a text does not show the counts

        hits, uncounted = counted_hits(hits, engine.opened.line_counts.of)
    envelope = json.search_envelope(request.asked.query, hits, [*notes, *uncounted], engine.store.revision)
    why_empty = () if hits else ("nothing here matches the question",)
    return Answered("\n".join(hit_list(hits)), envelope, why_empty)


def _search_pattern(call: OperationCall) -> Answered:
    options = call.chosen(("max_tokens", "workspace", "paths", "exclude", "tokenizer", "now"))
    notes = call.refreshed(call.workspaces, files_first=True)
    question = call.arguments.get("question", "")
    chosen = {name: call.arguments[name] for name in ("pattern", "where") if name in call.arguments}
    if len(chosen) > 1:
        raise UsageError("pattern and where are two searches: give one of them", "where")
    found = call.engine.search_pattern(question=question, **chosen, **options)
    asked = sanitize.value({"query": question, **chosen}, call.engine.settings.redact_allow)
    envelope = {**asked, **json.pattern_envelope(found, notes, call.engine.store.revision)}
    nothing = "no line matches the pattern" if "pattern" in chosen else "no task meets the condition"
    why = [nothing if not found.matches else "the budget is too small to show a match"]
    if "pattern" in chosen and not found.matches:
        why += call.engine.answers.left_out_matches(chosen["pattern"])
    return Answered(found.text, envelope, () if found.shown else tuple(why))


def _graph_context(call: OperationCall) -> Answered:
    options = call.chosen(
        [parameter.name for parameter in GRAPH_CONTEXT.parameters if parameter.name not in ("query", "refresh")]
    )
    request = call.engine.graphs.graph_request(call.arguments["query"], **options)
    context = call.engine.graphs.graph_answer(request, call.refreshed(call.workspaces))
    notes = tuple(context.meta["warnings"]) if context.text else (no_walk(context),)
    return Answered(context.text, json.graph_envelope(context, request), notes, context)


def _graph_export(call: OperationCall) -> Answered:
    from satchel.graph.export import EXPORTS, as_text

    export = call.arguments.get("export", "")
    to = sanitize.text(call.arguments.get("to", ""), call.engine.settings.redact_allow)
    if export and export not in EXPORTS:
        raise UsageError(f"unknown export {clean_field(export)!r}: choose from {', '.join(EXPORTS)}", "export")
    request = call.engine.graphs.graph_request(call.arguments["query"], **call.chosen(("depth", "lens")))
    failures = call.refreshed()
    drawn = call.engine.graphs.drawing(request, to, failures)
    written = EXPORTS.get(export, as_text)(drawn)
    envelope = json.DRAWING.data(drawn) | {"query": request.query, "to": to, "text": written}
    return Answered(written, envelope | {"failures": json.FAILURES.data(failures)}, drawn.warnings, drawn)


def _expand(call: OperationCall) -> Answered:
    handles, spelling = call.arguments["handles"], call.caller.spelling
    context = call.engine.expand(handles, **call.chosen(("max_tokens", "format", "tokenizer", "session")))
    notes = [f"{row.handle} does not fit: {spelling.max_tokens} {row.budget} shows all" for row in context.overflow]
    return Answered(context.text, json.expanded_envelope(context, handles), tuple(notes), context)


def _document(call: OperationCall) -> Answered:
    call.refreshed()
    context = call.engine.receipts.document(call.arguments["id"], **call.chosen(("max_tokens", "format", "tokenizer")))
    return Answered(context.text, json.expanded_envelope(context, [item.handle for item in context.items]))


def _why(call: OperationCall) -> Answered:
    target, question = call.arguments["target"], call.arguments["question"]
    notes = call.refreshed()
    options = call.chosen(
        [parameter.name for parameter in WHY.parameters if parameter.name not in ("target", "question", "refresh")]
    )
    options.setdefault("purpose", vocabulary.FIND)
    standings = [json.STANDING.data(row) for row in call.engine.why(target, question, refresh=False, **options)]
    asked = sanitize.value({"target": target, "question": question}, call.engine.settings.redact_allow)
    return Answered("", {**asked, "standings": standings}, subject=notes)


def _replay(call: OperationCall) -> Answered:
    saved: Data = call.arguments["saved"]
    if call.engine.replays_tree(saved):
        call.refreshed()
    replay = call.engine.replay(saved, refresh=False)
    notes = tuple(f"differs: {row}" for row in replay.differences)
    return Answered(replay.context.text, json.replayed_envelope(replay.context, replay.request, saved), notes)


CONTEXT_QUERY = Operation(
    "context_query", "Pack context for a question",
    "Find the code, docs, commits, memories and experiences that matter for a question, task, bug or stack trace, "
    "within a token budget.",
    (QUESTION, *_REQUEST, *_CHANGE, REFRESH), _context_query, lambda: json.CONTEXT.schema,
    "Ask this before reading files to understand or change something. "
    "Not for a file whose path you know.",
    leading=("question", "names", "max_tokens", "types", "diff"),
)  # fmt: skip

SEARCH = Operation(
    "search", "Search code, docs and history",
    "List the best files with their best lines, commits, memories: no code.",
    (
        text("question", "What to search for.", aliases=("query",)), text("pattern", "RE2: all matching lines."),
        text("where", "Tasks in notes, as in: due < today and priority >= high."), replace(NAMES, is_wished=False),
        MAX_TOKENS, PATHS, EXCLUDE, TYPES, LIMIT_EACH, MIN_SCORE, *FILTERS, SEARCHES, NOW, WORKSPACE, REFRESH,
    ),
    _search, lambda: json.HITS.schema,
    "When places are enough: names, words, patterns, records by author or tag. To understand code, ask "
    "`context_query`.",
    leading=("question", "pattern", "types"),
)  # fmt: skip

GRAPH_CONTEXT = Operation(
    "graph_context", "Walk the graph around a topic",
    "Follow relations from a topic or node: calls, imports, containment, links and fields of notes.",
    (
        text("query", "A topic, or the id of a note, file or definition.", is_required=True,
             aliases=("node_id", "nodeId", "question")),
        Parameter("blend", Shape.TEXTS, "More topics or ids in the same context.", flags=("--and",)),
        Parameter("depth", Shape.COUNT, f"Steps to walk ({vocabulary.DEFAULT_DEPTH}, as far as the lens allows).",
                  least=vocabulary.MIN_DEPTH, most=vocabulary.MAX_DEPTH),
        MAX_TOKENS,
        text("lens", "Relations to follow.", vocabulary.LENS_NAMES,
             default=vocabulary.DEFAULT_LENS, is_open=True),
        Parameter("include_fields", Shape.SWITCH, "Show the fields of nodes.", default=True,
                  aliases=("includeFields",), is_rare=True),
        replace(FORMAT, choices=(str(Format.MARKDOWN), str(Format.JSON)), default=str(Format.MARKDOWN)), WORKSPACE,
        SESSION, TOKENIZER, NOW, REFRESH,
    ),
    _graph_context, lambda: json.CONTEXT.schema,
    "Use it for what is connected: which functions call this one and what depends on it (lens impact), what a note "
    "refers to. To explain code, use `context_query`.",
    leading=("query", "lens", "max_tokens"),
)  # fmt: skip

GRAPH_EXPORT = Operation(
    "graph_export", "A path, or a graph as data",
    "Show the shortest path of calls and imports between two definitions, or nodes and edges around one.",
    (
        text("query", "A topic, or the id of a note, file or definition.", is_required=True),
        text("to", "The other end of a path: a file or definition."),
        text("export", "Write this format instead of plain text.", ("mermaid", "graphml")),
        *(parameter for parameter in GRAPH_CONTEXT.parameters if parameter.name in ("depth", "lens", "refresh")),
    ),
    _graph_export, lambda: json.DRAWING.schema,
)  # fmt: skip

EXPAND = Operation(
    "expand", "Expand handles", "Show what an earlier answer cut or left out.",
    (
        Parameter("handles", Shape.TEXTS, "Handles, or places: a.py:1-9, a.py:f, a.py.", is_required=True), MAX_TOKENS,
        FORMAT, SESSION, TOKENIZER,
    ),
    _expand, lambda: json.EXPANDED.schema, "", leading=("handles", "max_tokens"),
)  # fmt: skip

DOCUMENT = Operation(
    "document", "Show a document",
    "Show all of a document by its id: a file, a definition, a commit, a memory, an experience, a note.",
    (text("id", "As `search` gives it.", is_required=True), MAX_TOKENS, FORMAT, TOKENIZER, REFRESH), _document,
    lambda: json.EXPANDED.schema,
)  # fmt: skip

WHY = Operation(
    "why", "Why something is in or out",
    "Explain how a file, symbol or record ranks for a question, and why it is in or out.",
    (
        text("target", "A path or its end, a qualified name, a commit, or an id.", is_required=True),
        text("question", "The question.", is_required=True, aliases=("query",)),
        replace(TYPES, choices=SEARCHED_TYPES), MAX_TOKENS, PATHS, EXCLUDE, MIN_SCORE, PURPOSE, NOW, REFRESH,
    ),
    _why, lambda: json.STANDINGS.schema,
)  # fmt: skip

REPLAY = Operation(
    "replay", "Ask a saved question again",
    "Ask the question of a saved answer again; the text is the same unless the folder, the settings or the version "
    "differ.",
    (Parameter("saved", Shape.OBJECT, "The envelope of a context.", is_required=True), REFRESH), _replay,
    lambda: json.CONTEXT.schema,
)  # fmt: skip


PREMORTEM, BRIEF, AFTER_FAILURE = MODES = ("premortem", "brief", "after_failure")

_NEEDED = {PREMORTEM: "domain", AFTER_FAILURE: "failure"}
"""Mode -> its required argument."""

_MODE_OF_ARGUMENT = {"domain": PREMORTEM, "strategy": PREMORTEM, "failure": AFTER_FAILURE}

_PACKING = (MAX_TOKENS, LIMIT_EACH, FORMAT, SESSION, SHOW_HANDLES, TOKENIZER, NOW)

_SITUATION = (
    text("task", "What you are about to do."),
    Parameter("files", Shape.TEXTS, "Files involved, relative to the root."),
    text("tool", "Tool about to run, such as edit_file."),
    Parameter("params", Shape.OBJECT, "Its parameters.", is_rare=True),
    text("intent", "The purpose.", is_rare=True), text("error", "The error that occurred."),
    text("language", "The programming language; by default that of the files.", is_rare=True),
    text("agent", "The name of the agent.", is_rare=True),
    Parameter("tags", Shape.TEXTS, "Words that rules may require.", flags=("--tag",), is_rare=True),
)  # fmt: skip
_GUIDED_PACKING = (MAX_TOKENS, LIMIT_EACH, FORMAT, SESSION, TOKENIZER, NOW)


def _premortem(call: OperationCall) -> Answered:
    engine, arguments, spelling = call.engine, call.arguments, call.caller.spelling
    mode = _mode(arguments)
    options = call.chosen([parameter.name for parameter in _PACKING])
    if mode == PREMORTEM:
        request, notes = engine.premortem_request(arguments["domain"], arguments.get("strategy"), **options), []
    else:
        request = engine.brief_request(arguments.get("failure"), **options)
        notes = call.refreshed() if mode == AFTER_FAILURE else []
    context = engine.brief_answer(request) if mode == BRIEF else engine.answer(request, notes)
    nothing = {
        PREMORTEM: f"no experience of {arguments.get('domain')} failed here yet: keep them with {spelling.experience}",
        BRIEF: f"nothing is remembered here yet: {spelling.remember} keeps what should be known",
        AFTER_FAILURE: "nothing here failed like this before, and the failure names no code of this folder",
    }
    why_empty = no_items(context, nothing[mode], spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


def _mode(arguments: Json) -> str:
    """Return the mode. Raises UsageError for an unknown one, and for arguments of another mode."""
    mode: str = arguments.get("mode", PREMORTEM)
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose from {', '.join(MODES)}")
    needed = _NEEDED.get(mode)
    if needed is not None and needed not in arguments:
        values = (
            f", one of {', '.join(vocabulary.choices(vocabulary.Domain))}"
            if needed == "domain"
            else ": the output of the command"
        )
        raise UsageError(f"mode {mode} needs {needed}{values}")
    for name, owner in _MODE_OF_ARGUMENT.items():
        if name in arguments and owner != mode:
            raise UsageError(f"{name} does not apply to mode {mode}: leave it out, or give mode {owner}", name)
    return mode


def _situation_context(call: OperationCall) -> Answered:
    arguments = call.arguments
    situation = call.chosen([parameter.name for parameter in _SITUATION]) | {"time": arguments.get("time", time.time())}
    context, request = call.engine.guidance.situation_answer(
        situation, context=arguments.get("context"), refresh=False, notes=call.refreshed(),
        **call.chosen([parameter.name for parameter in _GUIDED_PACKING]),
    )  # fmt: skip
    why_empty = no_items(context, NO_GUIDE, call.caller.spelling)
    return Answered(context.text, json.context_envelope(context, request), why_empty, context)


PREMORTEM_OPERATION = Operation(
    "premortem", "What went wrong before",
    "Recall what went wrong before: failures before risky work (mode premortem), failures "
    "like this one after a failed test or command (after_failure), a brief at the start of a session (brief).",
    (
        text("mode", "premortem needs domain, after_failure needs failure.", MODES, default=PREMORTEM),
        text("domain", "The kind of work.", vocabulary.choices(vocabulary.Domain)),
        text("strategy", "The approach.", vocabulary.choices(vocabulary.Strategy), is_rare=True),
        text("failure", "The output of the command that failed.", flags=("--after-failure",)), *_PACKING, REFRESH,
    ),
    _premortem, lambda: json.CONTEXT.schema, "To find code, use `context_query`.",
    leading=("mode", "domain", "failure"),
)  # fmt: skip

SITUATION_CONTEXT = Operation(
    "situation_context", "Rules and history for a situation",
    "Show the project's rules and instructions, and the history, that apply to what you are about to do: a task, "
    "files to edit, a tool call.",
    (
        *_SITUATION,
        text("context", "The folder of the current context.yaml (that nearest to the files).", is_rare=True),
        Parameter("time", Shape.MOMENT, "The moment, for rules about the time of day (now).", is_rare=True),
        *_GUIDED_PACKING, REFRESH,
    ),
    _situation_context, lambda: json.CONTEXT.schema, "Ask before you edit files you do not know.",
    leading=("task", "files", "tool"),
)  # fmt: skip


def lesson_lines(context: Context) -> list[str]:
    """Return which records came unasked and which of the others came near, each with the evidence that it bears."""
    from satchel.answer.bearing import evidence_of  # here, because few ask why
    from satchel.search.lessons import is_lesson

    shown = [(item.id, item.title, evidence_of(item.signals)) for item in context.items if is_lesson(item.signals)]
    lines = [f"  {identity} came: {_evidence(evidence)}; {clean_field(title)}" for identity, title, evidence in shown]
    return lines + [
        f"  {lesson['id']} did not come: {_evidence(lesson['evidence'])}, {lesson['reason']}; "
        f"{clean_field(lesson['title'])}"
        for lesson in context.meta.get("lessons", ())
    ]


def _evidence(evidence: Mapping[str, float]) -> str:
    """Return `evidence 0.42 (words 0.12, meaning 0.30)`."""
    parts = ", ".join(f"{name} {value:.2f}" for name, value in evidence.items() if name != "all" and value > 0)
    return f"evidence {evidence.get('all', 0.0):.2f} ({parts or 'none'})"
