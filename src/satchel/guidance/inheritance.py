"""The tree of contexts below a root: files are cached until they change, and inheritance is resolved.

The chain that is being resolved is an argument, so concurrent loads do not see cycles in each other, and a parent that
is inherited twice (a diamond) is in the chain once. Where a chain closes a cycle it ends, with a note that names the
path. The child wins field by field:

* A text, a number, a list of the child replaces the parent's.
* Mappings are merged, field by field, at any depth.
* The lists under `relationships` are joined, each entry once, the parent's first.
* Behaviour rules are joined; the child's replaces one with the same trigger and condition.
* Injection rules of all ancestors and the child are kept, each once.
* `NAME_override` replaces the parent's value of NAME, also rules. `NAME_extend` adds to it: entries to a list, fields
  to a mapping, a line to a text.
* The identity of a context (`id`, `name`, `created`, `updated`) and `extends` are not inherited.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from satchel.errors import ContextFileError, UnsafePathError
from satchel.guidance import context_files
from satchel.guidance.situation import resolved
from satchel.safety import sanitize
from satchel.system import files
from satchel.types import Data, Failure, Json

MAX_ANCESTORS = 64
"""Limit of the contexts in one chain."""

_OWN: Mapping[str, frozenset[str]] = {
    "metadata": frozenset({"id", "name", "created", "updated"}),
    "intent_context": frozenset({"extends"}),
}
"""Fields of these mappings that are not inherited."""


class MissingContextError(ContextFileError):
    """A context was named that does not exist."""


class ResolvedContext(NamedTuple):
    """A context with what it inherits.

    `data` is merged, `own` as in its file. `chain` has the folders of its ancestors and itself, the root first;
    `distances` the number of steps to each. `updated` is in seconds, 0 if unknown. `notes` are of the whole chain.
    """

    path: str
    data: Data
    own: Data
    behavior: tuple[context_files.BehaviorRule, ...]
    injection: tuple[context_files.InjectionRule, ...]
    chain: tuple[str, ...]
    distances: Mapping[str, int]
    updated: float
    notes: tuple[Failure, ...]

    @property
    def name(self) -> str:
        """The name in the file, else the folder."""
        return str(context_files.section_of(self.data, "metadata").get("name") or self.path or "root")

    @property
    def type(self) -> str:
        """The type, such as `project`; empty if unknown."""
        return str(context_files.section_of(self.data, "metadata").get("type") or "")


@dataclass(slots=True)
class _Climb:
    """The state of one load: the files from the root down, the distance of each, and problems."""

    chain: dict[str, context_files.ContextFile]
    distances: dict[str, int]
    notes: list[Failure]


class ContextTree:
    """Loads contexts below one root. Several threads may use it at once."""

    def __init__(self, root: Path, allow: Sequence[str] = ()) -> None:
        self._root, self._allow = root, tuple(allow)
        self._guard = threading.Lock()
        self._cache: dict[str, tuple[tuple[int, int, int], context_files.ContextFile]] = {}

    def exists(self, path: str) -> bool:
        """Return whether there is a context in this folder."""
        return files.stamp(self._root, context_files.file_of(path)) is not None

    def find(self, reference: str, folder: str = "") -> str:
        """Return the folder of the context that a reference names. Raises UnsafePathError for one outside the root."""
        return resolved(
            reference.removesuffix(f"/{context_files.FILE_NAME}") if reference != context_files.FILE_NAME else ".",
            folder,
        )

    def read(self, path: str) -> context_files.ContextFile:
        """Return one file as written. Raises MissingContextError, and ContextFileError for an unusable file."""
        name = context_files.file_of(path)
        stamp = files.stamp(self._root, name)
        if stamp is None:
            raise MissingContextError(f"{sanitize.line(name, allow=self._allow)}: there is no such context")
        with self._guard:
            cached = self._cache.get(path)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        try:
            # Size limit of a context file in bytes; the largest honest one seen has a few thousand
            decoded = files.decode(files.read_bytes(self._root, name, limit=256_000).raw)
        except files.Skipped as skipped:
            raise ContextFileError(f"{sanitize.line(name)}: cannot be read: {skipped}") from None
        if decoded is None:
            raise ContextFileError(f"{sanitize.line(name)}: is not a text")
        context = context_files.read_context(decoded[0], path, self._allow)
        with self._guard:
            if len(self._cache) >= 5_000:  # limit of the cached files
                self._cache.clear()
            self._cache[path] = (stamp, context)
        return context

    def load(self, path: str) -> ResolvedContext:
        """Return a context with what it inherits.

        Raises ContextFileError if its own file is unusable. An ancestor that is missing, unusable or closes a cycle is
        noted, and the rest is inherited.
        """
        climb = _Climb({}, {}, [])
        self._climb(path, (), climb)
        contexts = [*climb.chain.values()]
        return ResolvedContext(
            path=path,
            data=merged_data(contexts),
            own=contexts[-1].data,
            behavior=merged_behavior(contexts),
            injection=merged_injection(contexts),
            chain=tuple(climb.chain),
            distances=climb.distances,
            updated=_updated(contexts[-1].data),
            notes=tuple(climb.notes),
        )

    def _climb(self, path: str, below: tuple[str, ...], climb: _Climb) -> None:
        """Add a context after its ancestors; `below` are its descendants in this load."""
        climb.distances[path] = min(climb.distances.get(path, len(below)), len(below))
        if path in climb.chain:
            return
        if len(below) > MAX_ANCESTORS:
            raise ContextFileError(f"{context_files.file_of(path)}: has more than {MAX_ANCESTORS} ancestors")
        context = self.read(path)
        for index, reference in enumerate(context.extends):
            try:
                parent = self._parent(reference, path, below)
            except (UnsafePathError, ContextFileError) as error:
                place = context.line("intent_context", "extends", index)
                if len(context.extends) == 1 and place == context.file:
                    place = context.line("intent_context", "extends")
                problem = f"{place}: extends {sanitize.line(reference)}: {error}"
                climb.notes.append(Failure(context_files.CONTEXTS, problem, "nothing is inherited from there"))
            else:
                self._climb(parent, (*below, path), climb)
        climb.chain[path] = context
        climb.notes += context.notes

    def _parent(self, reference: str, path: str, below: tuple[str, ...]) -> str:
        """Return the folder of a usable parent. Raises ContextFileError, also for one that closes a cycle."""
        parent = self.find(reference, path)
        if not self.exists(parent):
            raise MissingContextError(f"there is no {context_files.file_of(parent)}")
        descendants = (*below, path)
        if parent in descendants:
            circle = " -> ".join(step or "." for step in (*descendants[descendants.index(parent) :], parent))
            raise ContextFileError(f"extends itself: {circle}")
        self.read(parent)
        return parent


def _updated(data: Data) -> float:
    """Return the time of the update (else creation) of a context in seconds; 0 if it is missing or not a date."""
    metadata = context_files.section_of(data, "metadata")
    try:
        moment = datetime.fromisoformat(str(metadata.get("updated") or metadata.get("created")))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def merged_data(chain: Sequence[context_files.ContextFile]) -> Json:
    """Return the values of the last context of a chain, merged with those before it; the root is first."""
    merged: Json = {}
    for context in chain:
        for key, names in _OWN.items():
            if isinstance(merged.get(key), Mapping):
                merged[key] = {name: value for name, value in merged[key].items() if name not in names}
        merged = _merged(merged, context.data, is_top=True)
    return merged


def _merged(parent: Data, child: Data, *, is_joined: bool = False, is_top: bool = False) -> Json:
    merged = dict(parent)
    rows = [(*context_files.split_suffix(key), value) for key, value in child.items()]
    for key, suffix, value in sorted(rows, key=itemgetter(1)):  # those without a suffix first
        inherited = merged.get(key)
        if suffix == "override" or inherited is None:
            merged[key] = _settled(value)
        elif suffix == "extend":
            merged[key] = _extended(inherited, value)
        else:
            merged[key] = _adapted(inherited, value, is_joined=is_joined or (is_top and key == "relationships"))
    return merged


def _adapted(inherited: Any, value: Any, *, is_joined: bool) -> Any:
    """Return what a child makes of an inherited value; lists are only joined below `relationships`."""
    if isinstance(inherited, Mapping) and isinstance(value, Mapping):
        return _merged(inherited, value, is_joined=is_joined)
    if is_joined and isinstance(inherited, list) and isinstance(value, list):
        return _joined(inherited, value)
    return inherited if value is None else _settled(value)


def _settled(value: Any) -> Any:
    """Return a value without the suffixes of its own keys, as there is no inherited value to adapt."""
    return _merged({}, value) if isinstance(value, Mapping) else value


def _extended(inherited: Any, value: Any) -> Any:
    if isinstance(inherited, Mapping) and isinstance(value, Mapping):
        return _merged(inherited, value, is_joined=True)
    if isinstance(inherited, list):
        return _joined(inherited, value if isinstance(value, list) else [value])
    return f"{inherited}\n{value}" if isinstance(inherited, str) and isinstance(value, str) else value


def _joined(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [*first, *(entry for entry in second if entry not in first)]


def merged_behavior(chain: Sequence[context_files.ContextFile]) -> tuple[context_files.BehaviorRule, ...]:
    """Return the behaviour rules of a chain: a later one replaces one with the same trigger and condition."""
    rules: dict[tuple[str, str, str], context_files.BehaviorRule] = {}
    for context in chain:
        if context.modes.get("behavior_rules") == "override":
            rules.clear()
        rules |= {(rule.trigger.casefold(), rule.condition, repr(rule.when)): rule for rule in context.behavior}
    return tuple(rules.values())


def merged_injection(chain: Sequence[context_files.ContextFile]) -> tuple[context_files.InjectionRule, ...]:
    """Return the injection rules of a chain, each once, the oldest ancestor's first."""
    rules: dict[tuple[str, str], context_files.InjectionRule] = {}
    for context in chain:
        if context.modes.get("injection_rules") == "override":
            rules.clear()
        for rule in context.injection:
            # A relative target means another context in another folder.
            is_relative = any(target.is_relative for target in rule.inject)
            rules.setdefault((rule.text, rule.origin if is_relative else ""), rule)
    return tuple(rules.values())
