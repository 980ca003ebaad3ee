"""The tree of contexts below a root: files read once while they stay the same, inheritance resolved, cycles named.

What is being resolved travels with the call, so threads that load at the same time do not see cycles in each other, and
a parent that is reached on two ways (a diamond) stands in the chain once.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from satchel import files, outside
from satchel.errors import ContextFileError, UnsafePathError
from satchel.rules.document import CONTEXTS, FILE_NAME, ContextFile, file_of, read_context
from satchel.rules.merge import merged_behavior, merged_data, merged_injection
from satchel.rules.paths import resolved
from satchel.rules.rule import BehaviorRule, InjectionRule
from satchel.types import Failure

LARGEST_FILE = 256_000
"""Bytes of one context file; the largest honest one seen has a few thousand."""

MOST_ANCESTORS = 64
"""Contexts in one chain: nobody can follow more, and each is read."""

MOST_REMEMBERED = 5_000
"""Files that stay in memory between questions."""


class MissingContextError(ContextFileError):
    """There is no context where one was named."""


@dataclass(frozen=True, slots=True)
class ResolvedContext:
    """A context with what it inherits.

    `chain` holds the folders of its ancestors and itself, the root first; `distances` how many steps each ancestor is
    away. `updated` is in seconds, 0 where the file does not say. `notes` are of all files in the chain.
    """

    path: str
    data: Mapping[str, Any]
    behavior: tuple[BehaviorRule, ...]
    own_behavior: tuple[BehaviorRule, ...]
    injection: tuple[InjectionRule, ...]
    chain: tuple[str, ...]
    distances: Mapping[str, int]
    updated: float
    notes: tuple[Failure, ...]

    @property
    def name(self) -> str:
        """What it calls itself, else its folder."""
        return str(self._field("metadata", "name") or self.path or "root")

    @property
    def type(self) -> str:
        """What it is, as in `project`; empty where it does not say."""
        return str(self._field("metadata", "type") or "")

    @property
    def goal(self) -> str:
        """The goal, inherited where it states none."""
        return str(self._field("intent_context", "business_goal") or "")

    def _field(self, section: str, name: str) -> Any:
        held = self.data.get(section)
        return held.get(name) if isinstance(held, Mapping) else None

    @property
    def meta(self) -> dict[str, Any]:
        """What was found out while loading: `_meta` of the schema."""
        held = self._field("intent_context", "context_adaptations")
        return {"path": self.path, "inheritance_chain": list(self.chain[:-1]), "adaptations": held}


class ContextTree:
    """Loads contexts below one root. Safe to be used by several threads at once."""

    def __init__(self, root: Path, allow: Sequence[str] = ()) -> None:
        self._root, self._allow = root, tuple(allow)
        self._guard = threading.Lock()
        self._known: dict[str, tuple[tuple[int, int, int], ContextFile]] = {}

    def exists(self, path: str) -> bool:
        """Whether there is a context in this folder."""
        return files.stamp(self._root, file_of(path)) is not None

    def find(self, reference: str, folder: str = "") -> str:
        """The folder of the context that a reference names. Raises UnsafePathError where it leads outside."""
        return resolved(reference.removesuffix(f"/{FILE_NAME}") if reference != FILE_NAME else ".", folder)

    def read(self, path: str) -> ContextFile:
        """One file as written. Raises MissingContextError, and ContextFileError where it cannot be used."""
        name = file_of(path)
        stamp = files.stamp(self._root, name)
        if stamp is None:
            shown = outside.line(name, allow=self._allow)
            raise MissingContextError(f"{shown}: there is no such context")
        with self._guard:
            known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        try:
            found = files.decode(files.read_bytes(self._root, name, limit=LARGEST_FILE).raw)
        except files.Skipped as skipped:
            raise ContextFileError(f"{outside.line(name)}: cannot be read: {skipped}") from None
        if found is None:
            raise ContextFileError(f"{outside.line(name)}: is no text")
        document = read_context(found[0], path, self._allow)
        with self._guard:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[path] = (stamp, document)
        return document

    def load(self, path: str) -> ResolvedContext:
        """A context with what it inherits.

        Raises ContextFileError where its own file cannot be used or it is its own ancestor. An ancestor that is
        missing or cannot be used is noted, and the rest is inherited.
        """
        chain: dict[str, ContextFile] = {}
        distances: dict[str, int] = {}
        notes: list[Failure] = []
        self._climb(path, (), chain, distances, notes)
        files_of_chain = [*chain.values()]
        own = files_of_chain[-1]
        data = merged_data(files_of_chain)
        return ResolvedContext(
            path=path,
            data=data,
            behavior=merged_behavior(files_of_chain),
            own_behavior=own.behavior,
            injection=merged_injection(files_of_chain),
            chain=tuple(chain),
            distances=distances,
            updated=moment_of(own.data),
            notes=tuple(notes),
        )

    def _climb(
        self,
        path: str,
        below: tuple[str, ...],
        chain: dict[str, ContextFile],
        distances: dict[str, int],
        notes: list[Failure],
    ) -> None:
        """Add a context behind its ancestors; `below` are those that led here."""
        distances[path] = min(distances.get(path, len(below)), len(below))
        if path in below:
            circle = " -> ".join(step or "." for step in (*below[below.index(path) :], path))
            raise ContextFileError(f"{file_of(path)}: extends itself: {circle}")
        if path in chain:
            return
        if len(below) > MOST_ANCESTORS:
            raise ContextFileError(f"{file_of(path)}: has more than {MOST_ANCESTORS} ancestors")
        document = self.read(path)
        for index, reference in enumerate(document.extends):
            place = document.line("intent_context", "extends", index)
            if len(document.extends) == 1 and place == document.file:
                place = document.line("intent_context", "extends")
            try:
                parent = self.find(reference, path)
                if not self.exists(parent):
                    raise MissingContextError(f"there is no {file_of(parent)}")
                if parent not in below and parent != path:
                    self.read(parent)
            except (UnsafePathError, ContextFileError) as error:
                problem = f"{place}: extends {outside.line(reference)}: {error}"
                notes.append(Failure(CONTEXTS, problem, "nothing is inherited from there"))
                continue
            self._climb(parent, (*below, path), chain, distances, notes)
        chain[path] = document
        notes += document.notes


def moment_of(data: Mapping[str, Any]) -> float:
    """When a context says that it was updated (else created), in seconds; 0 where it does not say or not readably."""
    held = data.get("metadata")
    said = (held.get("updated") or held.get("created")) if isinstance(held, Mapping) else None
    try:
        moment = datetime.fromisoformat(str(said))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
