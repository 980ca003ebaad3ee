"""The question as it may be logged, echoed and searched."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.clean import clean_text
from satchel.redact import redact


def safe_question(question: str, allow: Sequence[str] = ()) -> str:
    """A question without invisible characters and secrets: it is logged, echoed and searched like any other text."""
    return redact(clean_text(question)[0], allow)[0]
