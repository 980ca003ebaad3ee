"""The words of code and of questions, as the baselines and the store probe see them."""

from __future__ import annotations

import re

IDENTIFIER = re.compile(r"[^\W\d]\w*|\d+")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an and are as at be been but by can could did do does for from had has have how i if in into is it its just my
        no not of on or our should so some such than that the their them then there these they this those to too was we
        were what when where which while who why will with would you your
        """,
    )
)


def words(text: str) -> list[str]:
    """Lower-case identifiers and, where they are compounds, their parts: `getName` gives getname, get, name."""
    found: list[str] = []
    for identifier in IDENTIFIER.findall(text):
        whole = identifier.lower()
        if whole in STOP_WORDS:
            continue
        parts = [part.lower() for part in PART.findall(identifier)]
        found.append(whole)
        if len(parts) > 1:
            found.extend(parts)
    return found
