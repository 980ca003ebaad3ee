"""The arguments that several operations share, and why an answer may hold nothing."""

from __future__ import annotations

from satchel.assemble.request import LARGEST_BUDGET
from satchel.calls.parameters import Parameter, Shape
from satchel.text import is_meaningful, words
from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, Context, Format

MAX_TOKENS = Parameter(
    "max_tokens", Shape.COUNT, "Budget in tokens, never exceeded.",
    least=1, most=LARGEST_BUDGET, aliases=("maxTokens",),
)  # fmt: skip
LIMIT = Parameter("limit", Shape.COUNT, "At most so many items a type.", least=1)
FORMAT = Parameter("format", Shape.TEXT, "How the text is written.", choices=tuple(map(str, Format)))
TOKENIZER = Parameter("tokenizer", Shape.TEXT, "What counts the tokens.", choices=TOKENIZERS, is_rare=True)
NOW = Parameter("now", Shape.MOMENT, "The time to answer for: a date, or epoch seconds.", is_rare=True)
REFRESH = Parameter("refresh", Shape.SWITCH, "Bring the index up to date first.", default=True, is_rare=True)
SHOW_HANDLES = Parameter(
    "show_handles", Shape.SWITCH, "List the handles of what is shown in part.", default=False, is_rare=True
)
TYPES = Parameter("types", Shape.TEXTS, "Only these.", choices=tuple(CONTEXT_TYPES), aliases=("context_types",))
SESSION = Parameter("session", Shape.TEXT, "Your session id: what it received before is only named, unless it changed.")

ALL_SHOWN_BEFORE = "this session has received all of it; expand a handle to see it again"


def why_empty(context: Context, min_score: str = "min_score 0") -> str:
    """Why an answer to a question holds nothing, and what to do about it. `min_score` is how that is written here."""
    if not any(is_meaningful(word) for word in words(context.query)):
        return "nothing to look for: the question has only words that occur everywhere; name a thing or a behaviour"
    if context.shown_before:
        return ALL_SHOWN_BEFORE
    if context.overflow:
        return too_small(context)
    if context.meta.get("revision") == "0":
        return "nothing is indexed here yet: run `satchel index`"
    return f"nothing here is relevant to the question; {min_score} shows even weak matches"


def too_small(context: Context) -> str:
    """What the smallest thing needs that stayed out."""
    needed = min(omission.budget for omission in context.overflow)
    return f"nothing fits into {context.usage.limit:,} tokens: the smallest item needs about {needed:,}"
