"""The fields of a node as they are shown, and the text of a note without them.

A field is shown once, beside the text. In the files of a vault it stands in the text as well: there it is left out,
so that it is neither paid for twice nor shown to somebody who wants no fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel import outside
from satchel.clean import clean_field
from satchel.sources.notes.note import value_text

MOST_FIELDS = 12
"""Of a node besides those that its lens asks for: enough for any template that people fill in by hand."""

MOST_VALUES = 8
"""Of one field; the others are a number."""

VALUE_CHARACTERS = 200
"""Of one value: a field is a line."""

FieldValue = str | list[str]


def shown_fields(stored: Mapping[str, Any], always: Sequence[str], allow: Sequence[str]) -> dict[str, FieldValue]:
    """The fields of a note by name, those that the lens asks for first; references by the name of what they mean.

    One value is a text, several are a list.
    """
    wanted = frozenset(name.lower() for name in always)
    given = stored.get("fields")
    if not isinstance(given, Mapping):
        return {}
    first = [name for name in given if name.lower() in wanted]
    rest = [name for name in given if name.lower() not in wanted][:MOST_FIELDS]
    return {outside.line(name, allow=allow): _shown(given[name], allow) for name in (*first, *rest)}


def _shown(values: Any, allow: Sequence[str]) -> FieldValue:
    listed = values if isinstance(values, list | tuple) else [values]
    texts = [outside.line(value_text(value), VALUE_CHARACTERS, allow) for value in listed[:MOST_VALUES]]
    if len(listed) > MOST_VALUES:
        texts.append(f"and {len(listed) - MOST_VALUES} more")
    return texts[0] if len(texts) == 1 else texts


def field_lines(fields: Mapping[str, FieldValue]) -> list[str]:
    """`status: active`, one line a field."""
    return [
        f"{clean_field(name)}: {value if isinstance(value, str) else ', '.join(value)}"
        for name, value in fields.items()
    ]


def without_fields(text: str, *, is_first: bool) -> str:
    """The text of a part of a vault's file without front matter and without lines that are only a field."""
    from satchel.sources.notes.frontmatter import front_matter
    from satchel.sources.notes.markdown import look_through

    lines = text.split("\n")
    begin = front_matter(lines).lines if is_first else 0
    if begin == 0 and "::" not in text:
        return text
    fields = {found.row for found in look_through(lines, begin).fields} if "::" in text else set()
    return "\n".join(line for row, line in enumerate(lines) if row >= begin and row not in fields).strip("\n")
