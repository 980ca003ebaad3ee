"""Every limit and choice of satchel in one table: its default, its range, the reason, and who may set it.

A field of `Settings` is one row; its dotted key has an underscore for each dot (`budget.max_tokens` is
`settings.budget_max_tokens`, and `SATCHEL_BUDGET_MAX_TOKENS` in the environment). To add a setting, add a row.

A *safe* setting may also come from the `.satchel.toml` of a repository: it can only choose among what would be found
and shown anyway. What costs the user tokens, time, memory or trust is never safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from satchel.setting import Setting
from satchel.setting import kind_weight as _weight
from satchel.setting import setting as _setting
from satchel.setting import signal_weight as _signal
from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, Format, Kind

_SIGNALS = "search_weights_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force: plain values, each one checked."""

    budget_max_tokens: int = _setting(
        "budget.max_tokens", 4_000,
        "tokens of a context, never exceeded",
        "holds the changed code of three in four real fixes, and leaves a small model room to work",
        least=1, most=10_000_000,
    )  # fmt: skip
    budget_tokenizer: str = _setting(
        "budget.tokenizer", TOKENIZERS[0],
        "how tokens are counted",
        "exact without a network, and loaded in 0.07 s",
        choices=TOKENIZERS,
    )  # fmt: skip
    context_format: str = _setting(
        "context.format", str(Format.MARKDOWN),
        "how a context is written",
        "read well by people and models",
        choices=tuple(Format),
    )  # fmt: skip
    context_limit: int = _setting(
        "context.limit", 20,
        "items in a context, over all types",
        "more of them rank too low to be looked at within any usual budget",
        safe=True, least=1, most=1_000,
    )  # fmt: skip
    context_item_tokens_find: int = _setting(
        "context.item_tokens_find", 400,
        "tokens up to which a function is shown whole when the task is to find a place",
        "many short items hit more of the right files than few long ones",
        safe=True, least=0, most=100_000,
    )  # fmt: skip
    context_item_tokens_edit: int = _setting(
        "context.item_tokens_edit", 1_200,
        "tokens up to which a function is shown whole when the task is to change it",
        "an edit needs the whole function",
        safe=True, least=0, most=100_000,
    )  # fmt: skip
    context_min_score: float | None = _setting(
        "context.min_score", None,
        "relevance (0 to 1) below which nothing is shown",
        "auto is the calibrated floor, at which at most one real question in a hundred gets nothing",
        safe=True, least=0.0, most=1.0,
    )  # fmt: skip
    context_weights_memories: float = _weight(Kind.MEMORY, 1.0)
    context_weights_code: float = _weight(Kind.CODE, 2.0)
    context_weights_experiences: float = _weight(Kind.EXPERIENCE, 3.0)
    context_weights_values: float = _weight(Kind.VALUE, 1.0)
    context_weights_commits: float = _weight(Kind.COMMIT, 2.0)
    context_weights_docs: float = _weight(Kind.DOC, 2.0)
    context_weights_notes: float = _weight(Kind.NOTE, 2.0)
    context_weights_conversations: float = _weight(Kind.CONVERSATION, 1.0)
    context_weights_contexts: float = _weight(Kind.CONTEXT, 1.0)
    context_gather_deadline_s: float = _setting(
        "context.gather_deadline_s", 5.0,
        "seconds that one type may take to answer before it is left out with a note",
        "far more than a healthy source needs, and still bearable for whoever waits",
        least=0.01, most=600.0,
    )  # fmt: skip
    context_include: tuple[str, ...] = _setting(
        "context.include", (),
        "paths that are always shown, each with an optional line range (`README.md:1-20`)",
        "nothing is pinned until somebody wants it",
        safe=True,
    )  # fmt: skip
    context_exclude: tuple[str, ...] = _setting(
        "context.exclude", (),
        "globs of paths that are never shown, though they are searched",
        "nothing is hidden until somebody wants it",
        safe=True,
    )  # fmt: skip
    context_stale: str = _setting(
        "context.stale", "mark",
        "what becomes of indexed text that its file has no more: shown with a mark, or withheld with a note",
        "what was there a moment ago still answers, and the mark says that it is gone",
        safe=True, choices=("mark", "withhold"),
    )  # fmt: skip
    context_sources: bool = _setting(
        "context.sources", False,  # noqa: FBT003 - the column of defaults
        "whether a context ends with the list of its sources",
        "each block already names its source; the list costs tokens",
        safe=True,
    )  # fmt: skip
    graph_max_nodes: int = _setting(
        "graph.max_nodes", 1_000,
        "nodes that a walk over relations reaches at most, the nearest and most relevant of them",
        "twenty times what a usual budget shows",
        safe=True, least=1, most=1_000_000,
    )  # fmt: skip
    graph_hub_nodes: int = _setting(
        "graph.hub_nodes", 100,
        "neighbours of one node that a walk follows, the most relevant of them",
        "a node with thousands of neighbours would be all that is seen",
        safe=True, least=1, most=100_000,
    )  # fmt: skip
    graph_deadline_s: float = _setting(
        "graph.deadline_s", 3.0,
        "seconds after which a walk goes no farther, with a note",
        "the first specification allows that much; a walk over 300,000 nodes takes a thirtieth",
        least=0.01, most=600.0,
    )  # fmt: skip
    graph_cache_s: float = _setting(
        "graph.cache_s", 300.0,
        "seconds for which an assembled graph context is given again while nothing has changed; 0 keeps none",
        "an agent asks about the same node several times in a task",
        least=0.0, most=86_400.0,
    )  # fmt: skip
    index_max_file_bytes: int = _setting(
        "index.max_file_bytes", 1_000_000,
        "bytes above which a file is skipped and counted",
        "hand-written files are smaller; data and bundles are not worth the time",
        least=1_000, most=1_000_000_000,
    )  # fmt: skip
    index_max_files: int = _setting(
        "index.max_files", 1_000_000,
        "files above which the walk stops and says so",
        "beyond it the root is probably wrong: a home folder, a mounted disk",
        least=1, most=100_000_000,
    )  # fmt: skip
    notes_max_export_bytes: int = _setting(
        "notes.max_export_bytes", 1_000_000_000,
        "bytes above which an export of notes is not read",
        "three times the largest export seen; it is read as a whole",
        least=1_000, most=10_000_000_000,
    )  # fmt: skip
    index_max_line_chars: int = _setting(
        "index.max_line_chars", 20_000,
        "characters of a line above which a file counts as generated",
        "nobody writes such a line, and a scan of it costs as much as a whole file",
        least=200, most=100_000_000,
    )  # fmt: skip
    index_commits: int = _setting(
        "index.commits", 6_000,
        "commits of history that are read, newest first; 0 reads none",
        "0.17 s on a repository with as many; the newest say most about where a change goes",
        least=0, most=10_000_000,
    )  # fmt: skip
    index_commit_files: int = _setting(
        "index.commit_files", 40,
        "files of a commit above which it says nothing about any one of them",
        "renames and reformatting of everything would tie every file to every word",
        least=1, most=100_000,
    )  # fmt: skip
    index_message_chars: int = _setting(
        "index.message_chars", 5_000,
        "characters of a commit message that are kept",
        "long enough for any explanation, too short for a pasted log to matter",
        least=100, most=1_000_000,
    )  # fmt: skip
    index_workers: int = _setting(
        "index.workers", 0,
        "processes that read and parse files; 0 takes one for each processor",
        "parsing is what takes the time, and it divides well",
        least=0, most=256,
    )  # fmt: skip
    index_include: tuple[str, ...] = _setting(
        "index.include", (),
        "globs of paths that are indexed though they are ignored",
        "what the repository ignores is usually built from what it does not",
        safe=True,
    )  # fmt: skip
    index_exclude: tuple[str, ...] = _setting(
        "index.exclude", (),
        "globs of paths that are not indexed",
        "the ignore files already say most of it",
        safe=True,
    )  # fmt: skip
    index_lock_wait_s: float = _setting(
        "index.lock_wait_s", 10.0,
        "seconds to wait for another process that is indexing the same root",
        "the first index of a repository of a few hundred files is done by then",
        least=0.0, most=86_400.0,
    )  # fmt: skip
    embed_provider: str = _setting(
        "embed.provider", "auto",
        "what turns texts into vectors: the model that runs here, an endpoint, or nothing",
        "auto: the endpoint where one is configured, else the model where it is installed, else words alone",
        choices=("auto", "minilm", "endpoint", "off"),
    )  # fmt: skip
    embed_kinds: tuple[str, ...] = _setting(
        "embed.kinds", tuple(kind.plural for kind in CONTEXT_TYPES.values() if kind not in {Kind.CODE, Kind.COMMIT}),
        "context types whose documents get vectors",
        "vectors find what people write where words miss; on commits they added nothing that was measured, nor on "
        "code, which is never compared by them",
        choices=tuple(name for name, kind in CONTEXT_TYPES.items() if kind is not Kind.CODE),
    )  # fmt: skip
    embed_endpoint: str = _setting(
        "embed.endpoint", "",
        "address of an OpenAI-compatible endpoint, up to `/v1`",
        "nothing is sent anywhere until the user says where to; never from a repository",
    )  # fmt: skip
    embed_model: str = _setting(
        "embed.model", "",
        "name of the endpoint's model",
        "every server names its own",
    )  # fmt: skip
    embed_dimension: int = _setting(
        "embed.dimension", 0,
        "numbers in a vector of the endpoint's model; any other length is refused",
        "it belongs to the fingerprint of every vector, so it is known before the first one is asked for",
        least=0, most=100_000,
    )  # fmt: skip
    embed_max_tokens: int = _setting(
        "embed.max_tokens", 8_000,
        "tokens of a text that are sent to the endpoint, roughly",
        "what current models take; a longer text is shortened where the endpoint refuses it",
        least=16, most=1_000_000,
    )  # fmt: skip
    embed_key_variable: str = _setting(
        "embed.key_variable", "",
        "name of the environment variable that holds the endpoint's key",
        "a key in a settings file would be copied and committed; local servers need none",
    )  # fmt: skip
    embed_timeout_s: float = _setting(
        "embed.timeout_s", 30.0,
        "seconds to wait for an answer of the endpoint",
        "a busy server takes some for a batch of long texts",
        least=0.1, most=600.0,
    )  # fmt: skip
    embed_weights: str = _setting(
        "embed.weights", "",
        "folder with `model.safetensors` and `vocab.txt` of all-MiniLM-L6-v2",
        "empty: those that an installed package carries",
    )  # fmt: skip
    judge_endpoint: str = _setting(
        "judge.endpoint", "",
        "address of an OpenAI-compatible endpoint, up to `/v1`, whose model judges conditions in plain words",
        "empty: words decide, and nothing is sent anywhere; never from a repository",
    )  # fmt: skip
    judge_model: str = _setting(
        "judge.model", "",
        "name of the model that judges",
        "every server names its own",
    )  # fmt: skip
    judge_key_variable: str = _setting(
        "judge.key_variable", "",
        "name of the environment variable that holds the key of the judging endpoint",
        "a key in a settings file would be copied and committed; local servers need none",
    )  # fmt: skip
    judge_timeout_s: float = _setting(
        "judge.timeout_s", 5.0,
        "seconds to wait for the model that judges before words decide",
        "a context is wanted before the work goes on; a small model answers in one",
        least=0.1, most=600.0,
    )  # fmt: skip
    tools_deadline_s: float = _setting(
        "tools.deadline_s", 2.0,
        "seconds that a tool, or a server behind `satchel proxy`, waits for a context before it goes without",
        "a warm context takes a fiftieth; the first one of a large folder comes with the next call",
        least=0.01, most=600.0,
    )  # fmt: skip
    session_keep_days: float = _setting(
        "session.keep_days", 14.0,
        "days after its last answer for which it is remembered what a session has received",
        "a session that is resumed later begins with a summary, and is better off with full answers",
        least=0.01, most=36_500.0,
    )  # fmt: skip
    redact_allow: tuple[str, ...] = _setting(
        "redact.allow", (),
        "regular expressions of secrets that are no secrets",
        "never from a repository: it could switch redaction off, or stall it with a costly expression",
        patterns=True,
    )  # fmt: skip
    serve_threads: int = _setting(
        "serve.threads", 4,
        "requests that `satchel serve` works on at once",
        "an answer is mostly Python, of which one thread runs at a time; more of them only hold more memory",
        least=1, most=64,
    )  # fmt: skip
    serve_waiting: int = _setting(
        "serve.waiting", 256,
        "requests that may wait for their turn; the next one is told to come again",
        "at 20 to 200 ms a question the last one waits 5 to 50 s, which a script still takes",
        least=0, most=10_000,
    )  # fmt: skip
    serve_body_bytes: int = _setting(
        "serve.body_bytes", 2_097_152,
        "bytes that one request may send",
        "the output of a failed command fits, and a full queue stays far from the memory of a small machine",
        least=1_024, most=1_073_741_824,
    )  # fmt: skip
    hooks_enabled: bool = _setting(
        "hooks.enabled", True,  # noqa: FBT003 - the column of defaults
        "whether editor hooks answer",
        "who set them up wants them; `satchel hook off` writes false",
    )  # fmt: skip
    hooks_start_tokens: int = _setting(
        "hooks.start_tokens", 1_000,
        "tokens of the brief at the start of a session; 0 gives none",
        "paid for by every session, needed or not: as much as `satchel brief` takes by itself",
        least=0, most=100_000,
    )  # fmt: skip
    hooks_prompt_tokens: int = _setting(
        "hooks.prompt_tokens", 800,
        "tokens of context with a prompt; 0 gives none",
        "two or three places to begin with; an agent that wants more asks for it",
        least=0, most=100_000,
    )  # fmt: skip
    hooks_failure_tokens: int = _setting(
        "hooks.failure_tokens", 1_500,
        "tokens of context after a command that failed; 0 gives none",
        "as much as a premortem: it comes once for each failure",
        least=0, most=100_000,
    )  # fmt: skip
    hooks_min_relevance: float = _setting(
        "hooks.min_relevance", 0.55,
        "relevance (0 to 1) that the best of what is found must have to be shown with a prompt",
        "nobody asked: of 100 real questions 90 are answered, of 100 about something else 6, of small talk 1",
        least=0.0, most=1.0,
    )  # fmt: skip
    hooks_capture: str = _setting(
        "hooks.capture", "compaction",
        "when a conversation is remembered: when the host shortens it, at the end of each one too, or never",
        "what is about to be lost is worth keeping; the rest the host keeps by itself",
        choices=("never", "compaction", "always"),
    )  # fmt: skip
    search_weights_best_part: float = _signal("best part", 1.0)
    search_weights_top_three_parts: float = _signal("top three parts", 0.5)
    search_weights_history: float = _signal("history", 1.0)
    search_weights_whole_file: float = _signal("whole file", 0.5)
    search_weights_name: float = _signal("name", 0.5)
    search_weights_path_mention: float = _signal("path mention", 0.5)
    search_weights_symbol_mention: float = _signal("symbol mention", 0.5)
    search_weights_trace: float = _signal("trace", 1.0)
    telemetry_content: bool = _setting(
        "telemetry.content", False,  # noqa: FBT003 - the column of defaults
        "whether OpenTelemetry spans hold questions, and the ids and scores of what was found",
        "spans go where others read them",
    )  # fmt: skip
    ui_color: str = _setting(
        "ui.color", "auto",
        "whether messages have colours",
        "auto: on a terminal that takes them, and not with NO_COLOR",
        choices=("auto", "always", "never"),
    )  # fmt: skip

    @property
    def context_weights(self) -> Mapping[Kind, float]:
        """The weight of each kind."""
        return {kind: getattr(self, f"context_weights_{name}") for name, kind in CONTEXT_TYPES.items()}

    @property
    def search_weights(self) -> Mapping[str, float]:
        """The weight of each signal of a file, by its name."""
        names = [row.name for row in fields(self) if row.name.startswith(_SIGNALS)]
        return {name.removeprefix(_SIGNALS).replace("_", " "): getattr(self, name) for name in names}

    def value(self, key: str) -> Any:
        """The value of a dotted key. Raises KeyError for an unknown one."""
        return getattr(self, attribute(SETTINGS[key].key))


def attribute(key: str) -> str:
    """The field of `Settings` that holds a dotted key."""
    return key.replace(".", "_")


SETTINGS: Mapping[str, Setting] = {row.key: row for row in (entry.metadata["row"] for entry in fields(Settings))}
"""Every setting by its dotted key, in the order of the table."""
