"""Every limit and choice of satchel in one table: its default, its range, the reason, and who may set it.

A field of `Settings` is one row; its dotted key has an underscore for each dot (`budget.max_tokens` is
`settings.budget_max_tokens`, and `SATCHEL_BUDGET_MAX_TOKENS` in the environment). To add a setting, add a row.

A *safe* setting may also come from the `.satchel.toml` of a repository: it can only choose among what would be found
and shown anyway. What costs the user tokens, time, memory or trust is never safe.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, Format, Kind

Value = TypeVar("Value")

LIST_LENGTH = 1_000
"""Entries of a list setting: patterns are tried on every path, so more would be slow and is never meant."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: what it means (with its unit), why the default is what it is, and which values are possible.

    `type` is int, float, bool, str or tuple (of texts). `least` and `most` bound a number, `choices` a text;
    `optional` admits None, written `auto`; the texts of a list with `patterns` are regular expressions.
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

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "SATCHEL_" + self.key.replace(".", "_").upper()

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
        """Return the value as the setting holds it. Raises ValueError for any other than the allowed ones."""
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


def _setting(key: str, default: Value, meaning: str, reason: str, **bounds: Any) -> Value:
    """A field with its row. The type is that of the default; a setting without one is an optional number."""
    kind = float if default is None else type(default)
    row = Setting(key, kind, default, meaning, reason, optional=default is None, **bounds)
    return field(default=default, metadata={"row": row})


def _weight(kind: Kind, default: float) -> float:
    return _setting(
        f"context.weights.{kind.plural}",
        default,
        f"share of the budget for {kind.plural}, relative to the other types",
        "the shares of the first specification; what one type cannot fill goes to the others",
        safe=True, least=0.0, most=100.0,
    )  # fmt: skip


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
        "items of one type in a context",
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
    redact_allow: tuple[str, ...] = _setting(
        "redact.allow", (),
        "regular expressions of secrets that are no secrets",
        "never from a repository: it could switch redaction off, or stall it with a costly expression",
        patterns=True,
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

    def value(self, key: str) -> Any:
        """The value of a dotted key. Raises KeyError for an unknown one."""
        return getattr(self, attribute(SETTINGS[key].key))


def attribute(key: str) -> str:
    """The field of `Settings` that holds a dotted key."""
    return key.replace(".", "_")


SETTINGS: Mapping[str, Setting] = {row.key: row for row in (entry.metadata["row"] for entry in fields(Settings))}
"""Every setting by its dotted key, in the order of the table."""
