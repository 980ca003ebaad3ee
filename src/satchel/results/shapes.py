"""The options of an assembly of results, and the results of a search."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from satchel.assemble.request import AssembleRequest, check_budget, check_strategy, parse_format, parse_view
from satchel.assemble.truncation import LADDER
from satchel.errors import UsageError
from satchel.tokens import DEFAULT_TOKENIZER, counter
from satchel.types import Format, Signal, View

LARGEST_CONTEXT_LINES = 1_000
"""Most lines around every entity; for more, files can be shown in full."""

_REQUEST_NAMES: Mapping[str, str] = {
    "format": "format", "view": "view", "strategy": "strategy", "tokenizer": "tokenizer",
    "include_sources": "show_sources", "include_code_content": "show_code", "include_meta": "show_meta",
    "include_imports": "imports", "group_by_type": "group_by_type", "context_lines": "context_lines",
}  # fmt: skip
"""Option of results -> the same option of a question."""


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """Options of an assembly. Raises UsageError for impossible values; the message lists the possible ones.

    `max_tokens` is never exceeded. `format` is markdown, xml, plain or json; `view` is sections, entities or blocks;
    `strategy` is ladder, signature-first or bookend. `include_sources` lists the sources at the end, `include_meta`
    adds there how the tokens were counted and what is missing; without `include_code_content` files are shown as places
    and names only. `context_lines` are shown before and after each entity, `include_imports` adds the imports that bind
    names in what is shown. Paths are relative to `project_root` (default: the current folder), and nothing outside it
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
        if isinstance(lines, bool) or not isinstance(lines, int) or not 0 <= lines <= LARGEST_CONTEXT_LINES:
            raise UsageError(f"context_lines is {lines!r}: give 0 to {LARGEST_CONTEXT_LINES:,}")
        if not Path(self.project_root).is_dir():
            raise UsageError(f"project_root is {os.fspath(self.project_root)!r}: give a folder")

    def request(self) -> AssembleRequest:
        """Return the options as a request without a question."""
        values = {name: getattr(self, option) for option, name in _REQUEST_NAMES.items()}
        values |= {"format": parse_format(self.format), "view": parse_view(self.view)}
        return AssembleRequest("", max_tokens=self.max_tokens, **values)

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, named as in a question."""
        defaults = {field.name: field.default for field in fields(self)}
        values = {option: getattr(self, option) for option in _REQUEST_NAMES}
        return {_REQUEST_NAMES[option]: value for option, value in values.items() if value != defaults[option]}


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
