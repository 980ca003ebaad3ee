"""The workspace of a root, and what is needed to write its records.

All roots share one memory file. A record belongs to a workspace, or to all of them. The identity of a workspace is that
of its repository (shared by all its work trees) or, without git, of its folder: a path. The memory file notes the path
and the first commit of every workspace that has written to it. Records of a folder that is gone are offered to a folder
without records that has the same first commit.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from satchel.codec import MILLISECONDS, Field, fields_of
from satchel.errors import UsageError
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.system.globs import LONGEST_GLOB, problem_of
from satchel.system.locations import Places, home_of
from satchel.vocabulary import DEFAULT_SESSION, MAX_BOUND_FILES, checked_names, checked_text, parse_choice

if TYPE_CHECKING:
    from satchel.store.writer import Writer

AUTHOR_CHARACTERS = 100

EVERYWHERE = ""
"""The workspace of a record that belongs to all workspaces."""

MAX_NEAR_IDS = 3
"""Number of ids named in the message about an unknown one."""

_SHARED_DIGITS = 16


def workspace_of(places: Places) -> str:
    """Return the identity of a root's workspace: `shop-3f0c9a...`, the same for all work trees of a repository.

    It is a readable name and a hash of the path, so that an export does not reveal the path.
    """
    return places.repository or places.index.name


def workspaces_in_sight(places: Places) -> tuple[str, str]:
    """Return the workspaces whose records a root sees: its own, and `EVERYWHERE`."""
    return workspace_of(places), EVERYWHERE


def shared_workspace(first_commit: str) -> str:
    """Return the identity of a repository that is the same on all machines, empty without a first commit."""
    return f"git-{first_commit[:_SHARED_DIGITS]}" if first_commit else ""


def _random_digits() -> str:
    import secrets  # imported here, because only writers need it

    # Random part of an id, six hexadecimal digits: two records of one second collide once in 16 million.
    return secrets.token_hex(3)


class Notebook(Struct, frozen=True):
    """The memory of one root, for writing. Tests set `clock` and `draw`.

    `store` shows the records of `workspace` and those that belong everywhere. `allow` are texts that are not secrets,
    `name` is who writes into a file, and `session` the session of callers that name none.
    """

    store: Store
    workspace: str
    allow: tuple[str, ...] = ()
    clock: Callable[[], float] = time.time
    draw: Callable[[], str] = _random_digits
    name: str = ""
    session: str = DEFAULT_SESSION

    @property
    def author(self) -> str:
        """Who writes: the user of a server, for a file the configured name, by default empty."""
        return self.store.user or self.safe_field(self.name, AUTHOR_CHARACTERS)

    @property
    def in_sight(self) -> set[str]:
        """The workspaces whose records are listed."""
        return {self.workspace, EVERYWHERE, *(self.store.workspaces or ())}

    def now(self) -> float:
        """Return seconds since the epoch, rounded to the precision of a date in JSON."""
        return min(round(self.clock(), MILLISECONDS), 253_402_300_799.0)  # the last second that a date can have

    def new_id(self, prefix: str, moment: float) -> str:
        """Return an id such as `mem_20260501_103000_3fa9c2`: kind of record, second (UTC), random digits."""
        return f"{prefix}_{datetime.fromtimestamp(moment, UTC):%Y%m%d_%H%M%S}_{self.draw()}"

    def safe(self, text: str) -> str:
        """Return a text without hidden characters, secrets, and outer white space."""
        return sanitize.prose(text, self.allow).strip()

    def safe_field(self, text: str, limit: int) -> str:
        """Return a safe text on one line of at most `limit` characters."""
        return sanitize.line(sanitize.prose(text, self.allow), limit, self.allow).strip()

    def shown(self, document: Document) -> Document:
        """Return a stored record, safe to show: an older version may have written it."""
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

    def files(self, globs: Iterable[str]) -> tuple[str, ...]:
        """Return globs of files, each once, safe to store. Raises UsageError for too many and for one without use."""
        named = dict.fromkeys(glob.strip().removeprefix("./") for glob in checked_names("files", globs))
        for glob in named:
            if problem := problem_of(glob):
                raise UsageError(f"the glob {glob[:LONGEST_GLOB]!r} {problem}", "files")
        if len(named) > MAX_BOUND_FILES:
            raise UsageError(f"there are {len(named)} globs: at most {MAX_BOUND_FILES}", "files")
        return tuple(self.safe_field(glob, LONGEST_GLOB) for glob in named)

    def text_of(self, what: str, text: str, limit: int) -> str:
        """Return a text from a user, safe to store. Raises UsageError for an empty or an oversized one."""
        _check_length(what, text, limit)
        safe = self.safe(text)
        _check_length(what, safe, limit)  # only hidden characters may be left, or a mark longer than its secret
        return safe

    def checked(self, record: type[Any], **said: str) -> dict[str, Any]:
        """Return texts and choices of a user as the fields of a record. Raises UsageError as the record declares."""
        declared = fields_of(record)
        return {name: self._checked(declared[name], name, value) for name, value in said.items()}

    def _checked(self, field: Field, name: str, said: str) -> Any:
        if field.choice is not None:
            return parse_choice(field.choice, said, field.label or name)
        return self.text_of(field.label or f"the {name}", said, field.limit)


def without_none(**values: str | None) -> dict[str, str]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _check_length(what: str, text: str, limit: int) -> None:
    if not checked_text(what, text).strip():
        raise UsageError(f"{what} is empty: say it in a sentence")
    if len(text) > limit:
        raise UsageError(f"{what} has {len(text):,} characters, at most {limit:,} are kept: say it shorter")


def near_ids(missing: str, present: set[str]) -> str:
    """Return a hint for an unknown id: the ids that contain or resemble it, or how to see all."""
    import difflib

    starts = sorted(identity for identity in present if len(missing) >= 4 and missing in identity)
    near = starts or difflib.get_close_matches(missing, sorted(present), n=MAX_NEAR_IDS)
    return f"did you mean {', '.join(near[:MAX_NEAR_IDS])}?" if near else "the list shows all that there are"


HOMES_KEY = "homes"
"""The `meta` key of the memory file: workspace -> its folder and its first commit, as JSON."""

FirstCommit = Callable[[], str]
"""Returns the first commit of a root, empty if there is none; called only where it decides."""


def note_home(store: Store, writer: Writer, places: Places, first_commit: FirstCommit) -> None:
    """Note the folder of a workspace that writes, once its first commit is known."""
    homes, workspace, home = read_homes(store), workspace_of(places), str(home_of(places))
    if all(homes.get(workspace, ("", ""))):
        return
    entry = [home, first_commit()]
    if homes.get(workspace) != entry:
        write_homes(writer, {**homes, workspace: entry})


def lost_records(store: Store, places: Places, first_commit: FirstCommit) -> Iterator[tuple[int, str]]:
    """Yield number and old folder of records that probably belong to this root, which has none of its own.

    The old folder is this one where git was added or removed, else it is gone.
    """
    workspace, home = workspace_of(places), str(home_of(places))
    for other, (path, commit) in sorted(read_homes(store).items()):
        is_here = path == home
        if other == workspace or not (is_here or (commit and not os.path.lexists(path))):
            continue
        if store.records_of(workspace):
            return
        if (is_here or commit == first_commit()) and (count := store.records_of(other)):
            yield count, path


def lost_note(count: int, path: str, places: Places) -> str:
    """Return the note about records of another folder, with the command that moves them."""
    memories = "1 memory belongs" if count == 1 else f"{count:,} memories belong"
    it = "it" if count == 1 else "them"
    shown = clean_field(path, 300)  # shown path
    where = f"{shown}, which is gone"
    if path == str(home_of(places)):
        where = "this folder as it was before git was added or removed"
    return f"{memories} to {where}: `satchel memory move {shlex.quote(shown)}` brings {it} here"


def read_homes(store: Store) -> Mapping[str, list[str]]:
    """Return folder and first commit of each workspace that has written to a memory file."""
    homes: Mapping[str, list[str]] = json.loads(store.meta(HOMES_KEY) or "{}")
    return homes


def write_homes(writer: Writer, homes: Mapping[str, list[str]]) -> None:
    """Note them."""
    writer.set_meta(HOMES_KEY, json.dumps(homes))
