"""The file `.mailmap` of a repository: which names of authors are the same person.

git is told not to open it, as it could be a pipe or a link; it is read here like any file of the work tree.
"""

from __future__ import annotations

from hashlib import blake2b

from msgspec import Struct

from satchel.system.files import Skipped, decode, read_bytes
from satchel.system.git import Repository
from satchel.text import pattern

LARGEST = 1_000_000
"""Bytes of the largest file that is read: 15,000 people."""

_LINE = pattern(r"\s*([^<#]*?)\s*<([^<>]*)>(?:\s*([^<]*?)\s*<([^<>]*)>)?")


class Mailmap(Struct, frozen=True):
    """Proper names by (email, name) in lower case; an empty name stands for all of an email.

    `digest` is that of the file, empty for one that names nobody.
    """

    names: dict[tuple[str, str], str]
    digest: str = ""

    def name(self, name: str, email: str) -> str:
        """Return the proper name of an author."""
        if not self.names:
            return name
        email = email.lower()
        return self.names.get((email, name.lower())) or self.names.get((email, "")) or name


NONE = Mailmap({})


def read_mailmap(repository: Repository) -> Mailmap:
    """Return the names of `.mailmap` at the top of the work tree; none where it cannot be read."""
    try:
        raw = read_bytes(repository.work_tree, ".mailmap", limit=LARGEST).raw
    except Skipped:
        return NONE
    decoded = decode(raw)
    if decoded is None:
        return NONE
    names: dict[tuple[str, str], str] = {}
    for line in decoded[0].split("\n"):
        match = _LINE.match(line)
        if match is None or not match[1]:
            continue  # without a name it is about emails alone, which are not kept
        proper, first, old_name, old_email = match.groups()
        names[(old_email or first).lower(), (old_name or "").lower()] = proper
    return Mailmap(names, blake2b(raw, digest_size=8).hexdigest()) if names else NONE
