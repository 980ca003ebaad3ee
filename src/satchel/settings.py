"""Every setting with its type, range, default and reason."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, SEARCHED_TYPES, Format, Kind

Value = TypeVar("Value")

_PASSWORDS = (r"(?i)(password=)[^&]*", r"(://[^:/@]*:).*(?=@)")

LIST_LENGTH = 1_000
"""Entries of a list setting: patterns are tried on every path, so more would be slow, and is surely a mistake."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: its meaning (with the unit), the reason for the default, and the possible values.

    `type` is int, float, bool, str or tuple (of texts). `least` and `most` bound a number, `choices` a text;
    `optional` allows None, written `auto`; the texts of a list with `patterns` are regular expressions.
    """

    key: str
    type: type
    default: Any
    meaning: str
    reason: str
    safe: bool = False
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    optional: bool = False
    patterns: bool = False
    secret: bool = False

    def shown(self, value: Any) -> Any:
        """Return a value as it may be shown: an address without its password."""
        for pattern in _PASSWORDS if self.secret else ():
            value = re.sub(pattern, r"\1***", str(value))
        return value

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "SATCHEL_" + self.key.removesuffix(".url").replace(".", "_").upper()

    @property
    def allowed(self) -> str:
        """The possible values in words, for messages."""
        if self.choices:
            return f"{'a list of' if self.type is tuple else 'one of'} {', '.join(self.choices)}"
        if self.type is bool:
            return "true or false"
        if self.type is tuple:
            return f"a list of at most {LIST_LENGTH:,} {'regular expressions' if self.patterns else 'texts'}"
        if self.type is str:
            return "a text"
        kind = "a whole number" if self.type is int else "a number"
        return f"{kind} from {self.least:,} to {self.most:,}" + (", or auto" if self.optional else "")

    def checked(self, value: object) -> Any:
        """Return the value in the type of the setting. Raises ValueError for a value that is not allowed."""
        if self.optional and (value is None or value == "auto"):
            return None
        if self.type is tuple:
            return self._checked_list(value)
        if self.type is float and type(value) is int:
            value = float(value)
        if type(value) is not self.type:
            raise ValueError(self.allowed)
        if isinstance(value, int | float) and not self.least <= value <= self.most:  # NaN fails this as well
            raise ValueError(self.allowed)
        if self.choices and value not in self.choices:
            raise ValueError(self.allowed)
        return value

    def _checked_list(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or len(value) > LIST_LENGTH:
            raise ValueError(self.allowed)
        for entry in value:
            if not isinstance(entry, str) or (self.choices and entry not in self.choices):
                raise ValueError(self.allowed)
            if self.patterns:
                try:
                    re.compile(entry)
                except re.error as error:
                    raise ValueError(f"{self.allowed}; {entry!r} has a mistake: {error}") from error
        return tuple(value)


def setting(key: str, default: Value, meaning: str, reason: str, **bounds: Any) -> Value:
    """Return a field with its row. The type is that of the default; a setting without one is an optional number."""
    kind = float if default is None else type(default)
    row = Setting(key, kind, default, meaning, reason, optional=default is None, **bounds)
    return field(default=default, metadata={"row": row}, repr=not row.secret)


DEFAULT_WEIGHTS: Mapping[Kind, float] = {
    Kind.MEMORY: 1.0,
    Kind.CODE: 2.0,
    Kind.EXPERIENCE: 3.0,
    Kind.VALUE: 1.0,
    Kind.COMMIT: 2.0,
    Kind.DOC: 2.0,
    Kind.NOTE: 2.0,
    Kind.CONVERSATION: 1.0,
    Kind.CONTEXT: 1.0,
}
"""Shares of the budget by kind: rich records get more than one-line ones."""


def kind_weight(kind: Kind) -> float:
    """Return the row of a kind's share of the budget."""
    return setting(
        f"context.weights.{kind.plural}",
        DEFAULT_WEIGHTS[kind],
        f"share of the budget for {kind.plural}, relative to the other types",
        "the shares of the first specification; what one type cannot fill goes to the others",
        safe=True, least=0.0, most=100.0,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force: plain values, each one checked."""

    budget_max_tokens: int = setting(
        "budget.max_tokens", 4_000,
        "tokens of a context, never exceeded",
        "shows the changed code of three in four real fixes, and leaves a small model room to work",
        least=1, most=10_000_000,
    )  # fmt: skip
    budget_tokenizer: str = setting(
        "budget.tokenizer", TOKENIZERS[0],
        "how tokens are counted",
        "exact without a network, and loaded in 0.07 s",
        choices=TOKENIZERS,
    )  # fmt: skip
    context_format: str = setting(
        "context.format", str(Format.MARKDOWN),
        "how a context is written",
        "read well by people and models",
        choices=tuple(Format),
    )  # fmt: skip
    context_limit: int = setting(
        "context.limit", 20,
        "items in a context, over all types",
        "more of them rank too low to be looked at within any usual budget",
        safe=True, least=1, most=1_000,
    )  # fmt: skip
    context_min_score: float | None = setting(
        "context.min_score", None,
        "relevance below which nothing is shown: the probability that it is needed, at most 0.46",
        "auto is the calibrated floor, at which at most one real question in a hundred gets nothing",
        least=0.0, most=1.0,
    )  # fmt: skip
    context_weights_memories: float = kind_weight(Kind.MEMORY)
    context_weights_code: float = kind_weight(Kind.CODE)
    context_weights_experiences: float = kind_weight(Kind.EXPERIENCE)
    context_weights_values: float = kind_weight(Kind.VALUE)
    context_weights_commits: float = kind_weight(Kind.COMMIT)
    context_weights_docs: float = kind_weight(Kind.DOC)
    context_weights_notes: float = kind_weight(Kind.NOTE)
    context_weights_conversations: float = kind_weight(Kind.CONVERSATION)
    context_weights_contexts: float = kind_weight(Kind.CONTEXT)
    context_gather_deadline_s: float = setting(
        "context.gather_deadline_s", 5.0,
        "seconds that one type may take to answer before it is left out with a note",
        "far more than a healthy source needs, and still bearable for whoever waits",
        least=0.01, most=600.0,
    )  # fmt: skip
    context_include: tuple[str, ...] = setting(
        "context.include", (),
        "paths that are always shown, each with an optional line range (`README.md:1-20`)",
        "nothing is pinned until somebody wants it",
    )  # fmt: skip
    context_exclude: tuple[str, ...] = setting(
        "context.exclude", (),
        "globs of paths that are never shown, though they are searched",
        "nothing is hidden until somebody wants it",
    )  # fmt: skip
    context_stale: str = setting(
        "context.stale", "mark",
        "what becomes of indexed text that its file has no more: shown with a mark, or withheld with a note",
        "what was there a moment ago still answers, and the mark says that it is gone",
        safe=True, choices=("mark", "withhold"),
    )  # fmt: skip
    context_sources: bool = setting(
        "context.sources", False,  # noqa: FBT003 - the column of defaults
        "whether a context ends with the list of its sources",
        "each block already names its source; the list costs tokens",
        safe=True,
    )  # fmt: skip
    graph_deadline_s: float = setting(
        "graph.deadline_s", 3.0,
        "seconds after which a walk stops, with a note",
        "the first specification allows that much; a walk over 300,000 nodes takes a thirtieth",
        least=0.01, most=600.0,
    )  # fmt: skip
    graph_cache_s: float = setting(
        "graph.cache_s", 300.0,
        "seconds for which an assembled graph context is given again while nothing has changed; 0 keeps none",
        "an agent asks about the same node several times in a task",
        least=0.0, most=86_400.0,
    )  # fmt: skip
    index_max_file_bytes: int = setting(
        "index.max_file_bytes", 1_000_000,
        "bytes above which a file is skipped and counted",
        "hand-written files are smaller; data and bundles are not worth the time",
        least=1_000, most=1_000_000_000,
    )  # fmt: skip
    index_commits: int = setting(
        "index.commits", 6_000,
        "commits of history that are read, newest first; 0 reads none",
        "0.17 s on a repository with as many; the newest say most about where a change goes",
        least=0, most=10_000_000,
    )  # fmt: skip
    index_workers: int = setting(
        "index.workers", 0,
        "processes that read and parse files; 0 takes one for each processor",
        "parsing is what takes the time, and it divides well",
        least=0, most=256,
    )  # fmt: skip
    index_include: tuple[str, ...] = setting(
        "index.include", (),
        "globs of paths that are indexed though they are ignored",
        "what the repository ignores is usually built from what it does not",
        safe=True,
    )  # fmt: skip
    index_exclude: tuple[str, ...] = setting(
        "index.exclude", (),
        "globs of paths that are not indexed",
        "the ignore files already say most of it",
        safe=True,
    )  # fmt: skip
    index_lock_wait_s: float = setting(
        "index.lock_wait_s", 10.0,
        "seconds to wait for another process that is indexing the same root",
        "the first index of a repository of a few hundred files is done by then",
        least=0.0, most=86_400.0,
    )  # fmt: skip
    embed_provider: str = setting(
        "embed.provider", "auto",
        "what turns texts into vectors: the model that runs here, an endpoint, or nothing",
        "auto: the endpoint where one is configured, else the model where it is installed, else words alone",
        choices=("auto", "minilm", "endpoint", "off"),
    )  # fmt: skip
    embed_kinds: tuple[str, ...] = setting(
        "embed.kinds", tuple(name for name in SEARCHED_TYPES if CONTEXT_TYPES[name] not in {Kind.CODE, Kind.COMMIT}),
        "context types whose documents get vectors",
        "vectors find what people write where words miss; on commits they added nothing that was measured; code has "
        "them where the model runs here, and is sent to an endpoint only if it is named here",
        choices=SEARCHED_TYPES,
    )  # fmt: skip
    embed_code_chunks: int = setting(
        "embed.code_chunks", 10_000,
        "most definitions of code that get vectors, the most useful first; tests get none, 0: no code",
        "a minute of one core; they serve questions in other words than those of the code",
        least=0, most=1_000_000,
    )  # fmt: skip
    embed_endpoint: str = setting(
        "embed.endpoint", "",
        "address of an OpenAI-compatible endpoint, up to `/v1`",
        "nothing is sent anywhere until the user says where to; never from a repository",
    )  # fmt: skip
    embed_model: str = setting(
        "embed.model", "",
        "name of the endpoint's model",
        "every server names its own",
    )  # fmt: skip
    embed_dimension: int = setting(
        "embed.dimension", 0,
        "numbers in a vector of the endpoint's model; any other length is refused",
        "it belongs to the fingerprint of every vector, so it is known before the first one is asked for",
        least=0, most=100_000,
    )  # fmt: skip
    embed_key_variable: str = setting(
        "embed.key_variable", "",
        "name of the environment variable with the endpoint's key",
        "a key in a settings file would be copied and committed; local servers need none",
    )  # fmt: skip
    embed_weights: str = setting(
        "embed.weights", "",
        "folder with `model.safetensors` and `vocab.txt` of all-MiniLM-L6-v2",
        "empty: those of an installed package",
    )  # fmt: skip
    judge_endpoint: str = setting(
        "judge.endpoint", "",
        "address of an OpenAI-compatible endpoint, up to `/v1`, whose model judges conditions in plain words",
        "empty: words decide, and nothing is sent anywhere; never from a repository",
    )  # fmt: skip
    judge_model: str = setting(
        "judge.model", "",
        "name of the model that judges",
        "every server names its own",
    )  # fmt: skip
    judge_key_variable: str = setting(
        "judge.key_variable", "",
        "name of the environment variable with the key of the judging endpoint",
        "a key in a settings file would be copied and committed; local servers need none",
    )  # fmt: skip
    rerank_endpoint: str = setting(
        "rerank.endpoint", "",
        "address up to `/v1` of a reranker (Jina, Cohere, vLLM, llama.cpp, TEI) for the best 60 candidates in code",
        "empty: nothing is sent; the texts of the candidates are, so it is never from a repository",
    )  # fmt: skip
    rerank_model: str = setting(
        "rerank.model", "",
        "name of the model that reranks",
        "every server names its own",
    )  # fmt: skip
    rerank_key_variable: str = setting(
        "rerank.key_variable", "",
        "name of the environment variable with the key of that endpoint",
        "a key in a settings file would be copied and committed; local servers need none",
    )  # fmt: skip
    names_endpoint: str = setting(
        "names.endpoint", "",
        "address of an OpenAI-compatible endpoint, up to `/v1`, whose model guesses names for a question without any",
        "empty: nothing is sent; likely names lead to code that says it in other words; never from a repository",
    )  # fmt: skip
    names_model: str = setting(
        "names.model", "",
        "name of the model that guesses names",
        "every server names its own; a small and quick one will do: its answer must come within a second",
    )  # fmt: skip
    names_key_variable: str = setting(
        "names.key_variable", "",
        "name of the environment variable with the key of that endpoint",
        "a key in a settings file would be copied and committed; local servers need none",
    )  # fmt: skip
    tools_deadline_s: float = setting(
        "tools.deadline_s", 2.0,
        "seconds that a tool, or a server behind `satchel proxy`, waits for a context before it goes without",
        "a warm context takes a fiftieth; the first one of a large folder comes with the next call",
        least=0.01, most=600.0,
    )  # fmt: skip
    redact_allow: tuple[str, ...] = setting(
        "redact.allow", (),
        "regular expressions of texts that look like secrets and are not",
        "never from a repository: it could switch redaction off, or stall it with a costly expression",
        patterns=True,
    )  # fmt: skip
    serve_threads: int = setting(
        "serve.threads", 4,
        "requests that `satchel serve` works on at once",
        "an answer is mostly Python, of which one thread runs at a time; more of them only hold more memory",
        least=1, most=64,
    )  # fmt: skip
    serve_waiting: int = setting(
        "serve.waiting", 256,
        "requests that may wait for their turn; the next one is told to come again",
        "at 20 to 200 ms a question the last one waits 5 to 50 s, which a script still takes",
        least=0, most=10_000,
    )  # fmt: skip
    serve_deadline_s: float = setting(
        "serve.deadline_s", 120.0,
        "seconds after which `satchel serve` gives up a request, its wait included",
        "the last one of a full queue is answered by then on a machine that others use too",
        least=0.1, most=86_400.0,
    )  # fmt: skip
    serve_drain_s: float = setting(
        "serve.drain_s", 5.0,
        "seconds that requests in progress have to end when `satchel serve` is stopped",
        "a question takes a fraction of one, and containers are killed 10 s after they were asked to end",
        least=0.0, most=3_600.0,
    )  # fmt: skip
    hooks_enabled: bool = setting(
        "hooks.enabled", True,  # noqa: FBT003 - the column of defaults
        "whether editor hooks answer",
        "who set them up wants them; `satchel hook off` writes false",
    )  # fmt: skip
    hooks_resident: bool = setting(
        "hooks.resident", True,  # noqa: FBT003 - the column of defaults
        "whether a running `satchel mcp` or `satchel serve` answers hooks, `context` and `search` of its root",
        "an answer takes an eighth of the processor time; without such a process they answer by themselves",
    )  # fmt: skip
    hooks_min_relevance: float = setting(
        "hooks.min_relevance", 0.6,
        "how certain (0 to 1) it must be that a prompt is about this project, for context to be shown with it",
        "nobody asked: of 100 titles of issues 92 are answered, of another project's 8, of small talk none",
        least=0.0, most=1.0,
    )  # fmt: skip
    hooks_capture: str = setting(
        "hooks.capture", "compaction",
        "when a conversation is remembered: when the host shortens it, at the end of each one too, or never",
        "what is about to be lost is worth keeping; the rest the host keeps by itself",
        choices=("never", "compaction", "always"),
    )  # fmt: skip
    memory_author: str = setting(
        "memory.author", "",
        "who writes memories into a file: a person or an agent; on a server it is the user of the database",
        "one person needs no name; give each agent its own (`SATCHEL_MEMORY_AUTHOR`), which is its session, too",
    )  # fmt: skip
    memory_capture: str = setting(
        "memory.capture", "suggest",
        "what becomes of memories found in a conversation that ends: suggest (they wait for `satchel memory review`), "
        "accept (they are stored at once) or off",
        "nothing counts as true before a person has read it, and a memory that is not typed is not missed",
        choices=("off", "suggest", "accept"),
    )  # fmt: skip
    memory_endpoint: str = setting(
        "memory.endpoint", "",
        "address of an OpenAI-compatible endpoint, up to `/v1`, whose model proposes memories from conversations",
        "empty: rules alone propose them, and nothing is sent; never from a repository",
    )  # fmt: skip
    memory_model: str = setting(
        "memory.model", "",
        "name of the model that proposes memories",
        "every server names its own",
    )  # fmt: skip
    memory_key_variable: str = setting(
        "memory.key_variable", "",
        "name of the environment variable with the key of that endpoint",
        "a key in a settings file would be copied and committed; local servers need none",
    )  # fmt: skip
    store_url: str = setting(
        "store.url", "",
        "address of a PostgreSQL server for index and memory, as in `postgresql://USER@HOST/DATABASE?sslmode=require`",
        "empty: files on this machine; a password is better in `~/.pgpass`",
        secret=True,
    )  # fmt: skip
    store_name: str = setting(
        "store.name", "",
        "whose index and memory those on the server are; machines that use one name share them",
        "empty: your user number and the name of this machine, so that nothing is shared unasked",
    )  # fmt: skip
    store_vectors: str = setting(
        "store.vectors", "",
        "where Qdrant finds the nearest of very many vectors: the address of a server, or a folder",
        "empty: the store itself; vectors stay in the store in any case",
    )  # fmt: skip
    telemetry_content: bool = setting(
        "telemetry.content", False,  # noqa: FBT003 - the column of defaults
        "whether OpenTelemetry spans hold questions, and the ids and scores of what was found",
        "spans go where others read them",
    )  # fmt: skip
    ui_color: str = setting(
        "ui.color", "auto",
        "whether messages have colours",
        "auto: on a terminal that takes them, and not with NO_COLOR",
        choices=("auto", "always", "never"),
    )  # fmt: skip

    @property
    def context_weights(self) -> Mapping[Kind, float]:
        """The weight of each kind."""
        return {kind: getattr(self, f"context_weights_{name}") for name, kind in CONTEXT_TYPES.items()}

    def shown(self, key: str) -> Any:
        """Return the value of a dotted key, without a password. Raises KeyError for an unknown one."""
        return SETTINGS[key].shown(getattr(self, attribute(key)))


def attribute(key: str) -> str:
    """Return the name of the field of `Settings` for a dotted key."""
    return key.replace(".", "_")


SETTINGS: Mapping[str, Setting] = {row.key: row for row in (entry.metadata["row"] for entry in fields(Settings))}
"""Every setting by its dotted key, in the order of the table."""
