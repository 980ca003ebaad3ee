"""Every setting with its type, range and default. `words/settings.txt` says what each means, and why the default."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, DEFAULT_WEIGHTS, SEARCHED_TYPES, Format, Kind

Value = TypeVar("Value")

_PASSWORDS = (r"(?i)(password=)[^&]*", r"(://[^:/@]*:).*(?=@)")

LIST_LENGTH = 1_000
"""Entries of a list setting: patterns are tried on every path, so more would be slow, and is surely a mistake."""


class Setting(Struct, frozen=True):
    """One row: the default and the possible values; its meaning and the reason are in `words/settings.txt`.

    `type` is int, float, bool, str or tuple (of texts). `least` and `most` bound a number, `choices` a text;
    `optional` allows None, written `auto`; the texts of a list with `patterns` are regular expressions.
    """

    key: str
    type: type
    default: Any
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
    def meaning(self) -> str:
        """What it sets, with the unit."""
        group, _, name = self.key.rpartition(".")
        return _texts()[self.key if self.key in _texts() else group][0].format(name)

    @property
    def reason(self) -> str:
        """The reason for the default."""
        return _texts()[self.key if self.key in _texts() else self.key.rpartition(".")[0]][1]

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
        is_within = not isinstance(value, int | float) or self.least <= value <= self.most  # NaN is not
        if type(value) is not self.type or not is_within or (self.choices and value not in self.choices):
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


_bounds: list[Mapping[str, Any]] = []
"""The bounds of each field of `Settings`, in their order."""


def setting(default: Value, **bounds: Any) -> Value:
    """Return the default of a field, and note the bounds of its row. One without a default is an optional number."""
    _bounds.append(bounds)
    return default


_WEIGHTS = "context_weights_"


def _weight(kind: Kind) -> float:
    return setting(DEFAULT_WEIGHTS[kind], safe=True, least=0.0, most=100.0)


class Settings(Struct, frozen=True, kw_only=True):
    """The settings in force: plain values, each one checked."""

    budget_max_tokens: int = setting(4_000, least=1, most=10_000_000)
    budget_tokenizer: str = setting(TOKENIZERS[0], choices=TOKENIZERS)
    context_format: str = setting(str(Format.MARKDOWN), choices=tuple(Format))
    context_limit: int = setting(20, safe=True, least=1, most=1_000)
    context_min_score: float | None = setting(None, least=0.0, most=1.0)
    context_weights_memories: float = _weight(Kind.MEMORY)
    context_weights_code: float = _weight(Kind.CODE)
    context_weights_experiences: float = _weight(Kind.EXPERIENCE)
    context_weights_values: float = _weight(Kind.VALUE)
    context_weights_commits: float = _weight(Kind.COMMIT)
    context_weights_docs: float = _weight(Kind.DOC)
    context_weights_notes: float = _weight(Kind.NOTE)
    context_weights_conversations: float = _weight(Kind.CONVERSATION)
    context_weights_contexts: float = _weight(Kind.CONTEXT)
    context_gather_deadline_s: float = setting(5.0, least=0.01, most=600.0)
    context_include: tuple[str, ...] = setting(())
    context_exclude: tuple[str, ...] = setting(())
    context_stale: str = setting("mark", safe=True, choices=("mark", "withhold"))
    context_sources: bool = setting(False, safe=True)  # noqa: FBT003
    graph_deadline_s: float = setting(3.0, least=0.01, most=600.0)
    graph_cache_s: float = setting(300.0, least=0.0, most=86_400.0)
    index_max_file_bytes: int = setting(1_000_000, least=1_000, most=1_000_000_000)
    index_commits: int = setting(6_000, least=0, most=10_000_000)
    index_workers: int = setting(0, least=0, most=256)
    index_include: tuple[str, ...] = setting((), safe=True)
    index_exclude: tuple[str, ...] = setting((), safe=True)
    index_lock_wait_s: float = setting(10.0, least=0.0, most=86_400.0)
    embed_provider: str = setting("auto", choices=("auto", "minilm", "endpoint", "static", "off"))
    embed_kinds: tuple[str, ...] = setting(
        tuple(name for name in SEARCHED_TYPES if CONTEXT_TYPES[name].traits.is_embedded),
        choices=SEARCHED_TYPES,
    )
    embed_code_chunks: int = setting(10_000, least=0, most=1_000_000)
    embed_endpoint: str = setting("")
    embed_model: str = setting("")
    embed_dimension: int = setting(0, least=0, most=100_000)
    embed_key_variable: str = setting("")
    embed_weights: str = setting("")
    judge_endpoint: str = setting("")
    judge_model: str = setting("")
    judge_key_variable: str = setting("")
    tools_deadline_s: float = setting(2.0, least=0.01, most=600.0)
    redact_allow: tuple[str, ...] = setting((), patterns=True)
    serve_threads: int = setting(4, least=1, most=64)
    serve_waiting: int = setting(256, least=0, most=10_000)
    serve_deadline_s: float = setting(120.0, least=0.1, most=86_400.0)
    serve_drain_s: float = setting(5.0, least=0.0, most=3_600.0)
    hooks_enabled: bool = setting(True)  # noqa: FBT003
    hooks_resident: bool = setting(True)  # noqa: FBT003
    hooks_min_relevance: float = setting(0.6, least=0.0, most=1.0)
    hooks_capture: str = setting("compaction", choices=("never", "compaction", "always"))
    memory_author: str = setting("")
    memory_capture: str = setting("suggest", choices=("off", "suggest", "accept"))
    memory_endpoint: str = setting("")
    memory_model: str = setting("")
    memory_key_variable: str = setting("")
    store_url: str = setting("", secret=True)
    store_name: str = setting("")
    store_vectors: str = setting("")
    telemetry_content: bool = setting(False)  # noqa: FBT003
    ui_color: str = setting("auto", choices=("auto", "always", "never"))

    def __repr__(self) -> str:
        """Return the settings without those that are secret."""
        names = (name for name, bounds in zip(self.__struct_fields__, _bounds, strict=True) if not bounds.get("secret"))
        return f"Settings({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def context_weights(self) -> Mapping[Kind, float]:
        """The weight of each kind."""
        return {kind: getattr(self, f"{_WEIGHTS}{name}") for name, kind in CONTEXT_TYPES.items()}

    def shown(self, key: str) -> Any:
        """Return the value of a dotted key, without a password. Raises KeyError for an unknown one."""
        return SETTINGS[key].shown(getattr(self, attribute(key)))


def attribute(key: str) -> str:
    """Return the name of the field of `Settings` for a dotted key."""
    return key.replace(".", "_")


def _key(name: str) -> str:
    """Return the dotted key of a field: `context_min_score` is `context.min_score`."""
    return name.replace("_", ".", 2 if name.startswith(_WEIGHTS) else 1)


SETTINGS: Mapping[str, Setting] = {
    _key(name): Setting(
        _key(name), float if default is None else type(default), default, optional=default is None, **bounds
    )
    for name, default, bounds in zip(Settings.__struct_fields__, Settings.__struct_defaults__, _bounds, strict=True)
}
"""Every setting by its dotted key, in the order of the table."""


@cache
def _texts() -> Mapping[str, Sequence[str]]:
    """Return meaning and reason by key: only documentation and messages need them."""
    blocks = Path(__file__).with_name("words").joinpath("settings.txt").read_text(encoding="utf-8").split("\n\n")[1:]
    return {key.strip("[]"): lines for key, *lines in (block.splitlines() for block in blocks)}
