"""Text from outside, made fit to be stored and shown: without hidden characters and without secrets.

    text = outside.text(commit_message, allow)
    title = outside.line(subject, allow=allow)
    fields = outside.value({"tags": [...], "author": "..."}, allow)

Nothing is trusted to have been through here before: a memory file may have been written by an older version, or by
hand. Doing it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from satchel import files
from satchel.clean import FIELD_LIMIT, clean_field, clean_text
from satchel.redact import redact
from satchel.types import Document, Failure, Hit

NOTE_LIMIT = 1_000
"""Characters of a note: it may name several files, and is one line all the same."""

VALUE_DEPTH = 8
"""Lists and mappings nested deeper than this become text: fields of ours have three levels."""


def text(given: str, allow: Sequence[str] = ()) -> str:
    """A text of any length; its lines stay where they are."""
    return redact(clean_text(given)[0], allow)[0]


def counted_text(given: str, allow: Sequence[str] = ()) -> tuple[str, dict[str, int]]:
    """The same, with how many secrets were `redacted` and hidden characters `cleaned`, as far as there were any."""
    cleaned, hidden = clean_text(given)
    safe, secrets = redact(cleaned, allow)
    removed = {"redacted": sum(secrets.values()), "cleaned": hidden}
    return safe, {name: count for name, count in removed.items() if count}


def line(given: str, limit: int = FIELD_LIMIT, allow: Sequence[str] = ()) -> str:
    """A path, name or title on one line of at most `limit` characters.

    It is redacted before it is cut: half of a secret is not recognised any more.
    """
    return clean_field(redact(clean_field(given, max(len(given), 1)), allow)[0], limit)


def value(given: Any, allow: Sequence[str] = (), depth: int = VALUE_DEPTH) -> Any:
    """A plain JSON value with every text in it made fit, the keys of mappings too; numbers and the like stay."""
    if isinstance(given, str):
        return text(given, allow)
    if isinstance(given, Mapping) and depth:
        return {text(str(key), allow): value(inner, allow, depth - 1) for key, inner in given.items()}
    if isinstance(given, list | tuple) and depth:
        return [value(inner, allow, depth - 1) for inner in given]
    return text(str(given), allow) if isinstance(given, Mapping | list | tuple) else given


def texts(given: Any, depth: int = VALUE_DEPTH) -> Iterator[str]:
    """Every text in a plain JSON value."""
    if isinstance(given, Mapping) and depth:
        yield from map(str, given)
        for inner in given.values():
            yield from texts(inner, depth - 1)
    elif isinstance(given, list | tuple) and depth:
        for inner in given:
            yield from texts(inner, depth - 1)
    elif isinstance(given, str | Mapping | list | tuple):
        yield str(given)


def document(given: Document, allow: Sequence[str] = ()) -> Document:
    """A stored record as it may be shown: title, body, tags, fields, signature and origin; its place and id stay.

    What is fit already, as nearly all is, is returned as it is: its texts are looked at together.
    """
    said = "\n".join((given.title, given.body, given.signature, given.origin, *given.tags, *texts(given.fields)))
    if text(said, allow) == said:
        return given
    return replace(
        given,
        title=line(given.title, max(len(given.title), 1), allow),
        body=text(given.body, allow),
        signature=text(given.signature, allow),
        tags=tuple(line(tag, allow=allow) for tag in given.tags),
        fields=value(given.fields, allow),
        origin=line(given.origin, allow=allow),
    )


def hit(given: Hit, allow: Sequence[str] = ()) -> Hit:
    """A hit as it may be shown. Only records are looked at: an index holds of files what this version made fit."""
    if given.document.location is not None:
        return given
    return replace(given, document=document(given.document, allow))


def failures(given: Iterable[Failure], allow: Sequence[str] = ()) -> tuple[Failure, ...]:
    """Notes as they may be shown: they name files, and say what somebody else's program said."""
    return tuple(
        Failure(line(one.source, allow=allow), line(one.message, NOTE_LIMIT, allow), line(one.hint, NOTE_LIMIT, allow))
        for one in given
    )


def unfit_paths(paths: Iterable[str]) -> dict[str, files.SkipReason]:
    """The paths that hold a secret or hide characters, with the reason to leave their files alone.

    A path is the name under which a file is found again, so it can only be taken as it is or not at all. All are
    looked at together, because hardly a tree has one.
    """
    listed = list(paths)
    found: dict[str, files.SkipReason] = {}
    joined = "\n".join(listed)
    if not joined.isascii() and clean_text(joined)[1]:
        found |= {path: files.SkipReason.ODD_NAME for path in listed if clean_text(path)[1]}
    if redact(joined)[1]:
        found |= {path: files.SkipReason.SECRET_FILE for path in listed if redact(path)[1]}
    return found


def unfit_path(path: str) -> files.SkipReason | None:
    """Why the file of this path must not be read, None where it may: also because it exists to hold secrets."""
    if files.is_secret_file(path):
        return files.SkipReason.SECRET_FILE
    return unfit_paths([path]).get(path)
