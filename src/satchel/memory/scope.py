"""Which records belong to a root, and what is needed to write another one.

The memory file is one for all roots. A record belongs to a workspace, or to all of them. A workspace is known by the
identity of its repository (all work trees of one repository share it) or, without git, of its folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from satchel.codec import MILLISECONDS
from satchel.errors import UsageError
from satchel.safety import sanitize
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.system.locations import Places

EVERYWHERE = ""
"""The workspace of a record that belongs to all of them."""

_ID_BYTES = 3
"""Six hexadecimal digits behind the second: two records of one second meet once in 16 million."""

MOST_NEAR_IDS = 3
"""Ids named in the message about one that does not exist."""

_SHORTEST_START = 4


def workspace_of(places: Places) -> str:
    """Return the identity of a root's workspace: `shop-3f0c9a...`, the same for all work trees of a repository.

    It is a readable name and a hash of the path, so that what is exported does not tell where it was written.
    """
    return places.cache.stem if places.cache is not None else places.index.name


def workspaces_in_sight(places: Places) -> tuple[str, str]:
    """Return the workspaces whose records a root sees: its own, and what belongs to all."""
    return workspace_of(places), EVERYWHERE


def _random_digits() -> str:
    import secrets  # here, because every question opens the engine and only a writer draws

    return secrets.token_hex(_ID_BYTES)


@dataclass(frozen=True, slots=True)
class Notebook:
    """The memory file as one root writes in it. Time and randomness can be given, for tests.

    `store` shows the records of `workspace` and those that belong everywhere. `allow` holds what is no secret.
    """

    store: Store
    workspace: str
    allow: tuple[str, ...] = ()
    clock: Callable[[], float] = time.time
    draw: Callable[[], str] = _random_digits

    def now(self) -> float:
        """Return seconds since the epoch, cut to what a date in JSON keeps."""
        return round(self.clock(), MILLISECONDS)

    def new_id(self, prefix: str, moment: float) -> str:
        """`mem_20260501_103000_3fa9c2`: the kind of record, the second (UTC), and chance."""
        return f"{prefix}_{datetime.fromtimestamp(moment, UTC):%Y%m%d_%H%M%S}_{self.draw()}"

    def safe(self, text: str) -> str:
        """Return a text without hidden characters, secrets, and white space at its ends."""
        return sanitize.text(text, self.allow).strip()

    def safe_field(self, text: str, limit: int) -> str:
        """Return the same on one line of at most `limit` characters."""
        return sanitize.line(text, limit, self.allow).strip()

    def shown(self, document: Document) -> Document:
        """Return a stored record as it may be shown: an older version may have written it."""
        texts = "\n".join((document.title, document.origin, *document.tags, *sanitize.texts(document.fields)))
        if sanitize.text(texts, self.allow) == texts:
            return document
        return replace(
            document,
            title=sanitize.text(document.title, self.allow),
            tags=tuple(sanitize.text(tag, self.allow) for tag in document.tags),
            fields=sanitize.value(document.fields, self.allow),
            origin=sanitize.text(document.origin, self.allow),
        )

    def text_of(self, what: str, text: str, limit: int) -> str:
        """Return a text that somebody wrote, safe to store. Raises UsageError for an empty or an oversized one."""
        _check_length(what, text, limit)
        safe = self.safe(text)
        _check_length(
            what, safe, limit
        )  # hidden characters alone say nothing, and a mark may be longer than its secret
        return safe

    def optional_text(self, what: str, text: str | None, limit: int) -> str:
        """Return the same for a text that may be missing, which gives an empty one."""
        return self.text_of(what, text, limit) if text is not None and text != "" else ""


def _check_length(what: str, text: str, limit: int) -> None:
    if not text.strip():
        raise UsageError(f"{what} is empty: say it in a sentence")
    if len(text) > limit:
        raise UsageError(f"{what} has {len(text):,} characters, at most {limit:,} are kept: say it shorter")


def never_stop() -> bool:
    """For what is over at once: merging the words of some thousand records takes a few milliseconds."""
    return False


def near_ids(wanted: str, present: set[str]) -> str:
    """Return how to go on after an id that does not exist: those that begin or look like it, or how to see all."""
    import difflib

    starts = sorted(identity for identity in present if len(wanted) >= _SHORTEST_START and wanted in identity)
    near = starts or difflib.get_close_matches(wanted, sorted(present), n=MOST_NEAR_IDS)
    return f"did you mean {', '.join(near[:MOST_NEAR_IDS])}?" if near else "the list shows all that there are"
