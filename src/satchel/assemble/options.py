"""The options of assembling given results, checked when they are made."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from satchel.assemble.request import AssembleRequest, check_budget, check_strategy, parse_format, parse_view
from satchel.assemble.truncation import LADDER
from satchel.errors import UsageError
from satchel.tokens import DEFAULT_TOKENIZER, counter
from satchel.types import Format, View

LARGEST_CONTEXT_LINES = 1_000
"""More lines around every entity are whole files, which is another wish."""


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """How given results become a context. Raises UsageError for impossible values; the message lists the possible ones.

    `max_tokens` is never exceeded. `format` is markdown, xml, plain or json; `view` is sections, entities or blocks;
    `strategy` is ladder, signature-first or bookend. `include_sources` lists the sources at the end, `include_meta`
    says there how the tokens were counted and what is missing; without `include_code_content` files are shown as places
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
        """The same as a request, which has no question here."""
        return AssembleRequest(
            query="",
            max_tokens=self.max_tokens,
            format=parse_format(self.format),
            view=parse_view(self.view),
            strategy=self.strategy,
            tokenizer=self.tokenizer,
            show_sources=self.include_sources,
            show_code=self.include_code_content,
            show_meta=self.include_meta,
            group_by_type=self.group_by_type,
        )
