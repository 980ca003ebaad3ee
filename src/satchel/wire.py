"""How a JSON answer is written, so that the command line and HTTP send the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def json_text(value: Mapping[str, Any], indent: int | None = None) -> str:
    """A JSON object as text that can be written as UTF-8: letters as they are, unless one is half a surrogate pair."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text
