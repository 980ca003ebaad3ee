"""The arguments that several operations share."""

from __future__ import annotations

from satchel.assemble.request import LARGEST_BUDGET
from satchel.calls.parameters import Parameter, Shape
from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, Format

MAX_TOKENS = Parameter(
    "max_tokens", Shape.COUNT, "Budget in tokens, never exceeded.",
    least=1, most=LARGEST_BUDGET, aliases=("maxTokens",),
)  # fmt: skip
LIMIT = Parameter("limit", Shape.COUNT, "At most so many items.", least=1)
LIMIT_EACH = Parameter("limit", Shape.COUNT, "At most so many items of each type.", least=1)
FORMAT = Parameter("format", Shape.TEXT, "How the text is written.", choices=tuple(map(str, Format)))
TOKENIZER = Parameter("tokenizer", Shape.TEXT, "What counts the tokens.", choices=TOKENIZERS, is_rare=True)
NOW = Parameter("now", Shape.MOMENT, "The time to answer for: a date, or epoch seconds.", is_rare=True)
REFRESH = Parameter("refresh", Shape.SWITCH, "Bring the index up to date first.", default=True, is_rare=True)
SHOW_HANDLES = Parameter(
    "show_handles", Shape.SWITCH, "List the handles of what is shown in part.", default=False, is_rare=True
)
TYPES = Parameter("types", Shape.TEXTS, "Only these.", choices=tuple(CONTEXT_TYPES), aliases=("context_types",))
SESSION = Parameter("session", Shape.TEXT, "Your session id: what it received before is only named, unless it changed.")
