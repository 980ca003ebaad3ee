"""Regular expressions that are compiled on first use: a process uses half of those that it imports."""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["pattern"]


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return an expression whose methods compile it when first needed; an impossible one raises `re.error` then."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._source = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value
