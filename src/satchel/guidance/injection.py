"""Contexts, files and registered keys that injection rules inject."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from satchel.errors import ContextFileError, SatchelError, UnsafePathError, UsageError
from satchel.guidance import weights
from satchel.guidance.context_files import CONTEXTS, RELATIVE_FILTERS, InjectionRule, InjectionTarget, absolute, file_of
from satchel.guidance.inheritance import ContextTree, MissingContextError, ResolvedContext
from satchel.guidance.instructions import Applied, Form, Instruction, Instructions, applied, to_judge
from satchel.guidance.judge import Opinion, Verdict
from satchel.guidance.situation import Situation, folders_above
from satchel.safety import sanitize
from satchel.search.changes import read_changes
from satchel.search.chunks import chunk_of
from satchel.search.filters import Filters, parse_filters
from satchel.search.query import analyse
from satchel.search.searcher import search_kind
from satchel.store.protocol import Store
from satchel.system import telemetry
from satchel.system.globs import Globs, problem_of
from satchel.types import LINE_KINDS, Failure, Hit, Kind, Signal
from satchel.vocabulary import DAY_SECONDS, MemoryCategory, choices, is_number

SHOWN_NOTES = 2
"""Problems with context files that an answer names: each takes 40 tokens, in every answer until it is fixed."""


JudgeAll = Callable[[Sequence[str]], tuple[Mapping[str, Opinion], Sequence[Failure]]]


class ActiveContext(NamedTuple):
    """An active context. `distance` is 0 for the current one, steps for an ancestor, None for an injected one."""

    context: ResolvedContext
    distance: int | None
    wanted_by: str
    terms: tuple[Signal, ...]

    @property
    def priority(self) -> float:
        """The sum of its terms, 1 to 5.5."""
        return sum(term.value for term in self.terms)


class Evaluated(NamedTuple):
    """A rule and whether it applies; `verdict` is undecided if the judge could not decide."""

    rule: InjectionRule
    verdict: Verdict
    reason: str


class Guidance(NamedTuple):
    """The guidance for a situation. `keys` are the targets that are not contexts, each with the label of its rule."""

    contexts: tuple[ActiveContext, ...]
    instructions: tuple[Applied, ...]
    evaluated: tuple[Evaluated, ...]
    keys: tuple[tuple[InjectionTarget, str], ...]
    notes: tuple[Failure, ...]


class Guides(NamedTuple):
    """The sources of guidance."""

    tree: ContextTree
    instructions: Instructions
    registry: KeyRegistry


def gather(guides: Guides, current: str | None, situation: Situation, judge_all: JudgeAll, now: float) -> Guidance:
    """Gather the guidance for a situation.

    `current` is the folder of a context; None means the one that a parameter `context` names, else the nearest of the
    files, else the root's, if any.
    """
    notes: list[Failure] = []
    base = _base(guides.tree, current or _nearest(guides.tree, situation), notes)
    instructions, unread = guides.instructions.near(situation.files)
    notes += unread
    rules = base.injection if base is not None else ()
    open_ones = [rule for rule in rules if _evaluated(rule, situation, {}).verdict is Verdict.UNDECIDED]
    conditions = [*(rule.condition for rule in open_ones), *to_judge(instructions, situation.files)]
    opinions, failures = judge_all(conditions)
    notes += failures
    evaluated = tuple(_evaluated(rule, situation, opinions) for rule in rules)
    notes += _undecided(evaluated, instructions, opinions)
    active = [] if base is None else [_active(base, 0, "current", now), *_ancestors(guides.tree, base, now, notes)]
    keys: list[tuple[InjectionTarget, str]] = []
    for row in filter(lambda row: row.verdict is Verdict.TRUE, evaluated):
        _inject(guides, row.rule, active, keys, notes, now)
    active.sort(
        key=lambda context: (-context.priority, context.distance is None, context.distance or 0, context.context.path)
    )
    rows = applied(instructions, situation.files, opinions)
    return Guidance(tuple(active), tuple(rows), evaluated, tuple(keys), tuple(folded(dict.fromkeys(notes))))


def _undecided(
    evaluated: Sequence[Evaluated], instructions: Sequence[Instruction], opinions: Mapping[str, Opinion]
) -> Iterator[Failure]:
    """Yield a note on the conditions that nothing decided; a skill is not missed."""
    texts = [f"{row.rule.condition!r} ({row.rule.label})" for row in evaluated if row.verdict is Verdict.UNDECIDED]
    judged = [
        instruction
        for instruction in instructions
        if instruction.form is not Form.CLAUDE_SKILL and instruction.description in opinions
    ]
    is_open = Verdict.UNDECIDED
    texts += [
        f"{instruction.description!r} ({instruction.path})"
        for instruction in judged
        if opinions[instruction.description].verdict is is_open
    ]
    if texts:
        shown = ", ".join(map(sanitize.line, texts[:3]))
        more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
        yield Failure("judge", f"undecided: {shown}{more}", "what has this condition is left out")


def folded(notes: Iterable[Failure]) -> Iterator[Failure]:
    """Yield the notes of a situation, of those on what is wrong with context files only the first two and a count."""
    wrong = 0
    for note in notes:
        wrong += note.source == CONTEXTS
        if note.source != CONTEXTS or wrong <= SHOWN_NOTES:
            yield note
    if wrong > SHOWN_NOTES:
        more = wrong - SHOWN_NOTES
        problem = f"{more} more problem{'s' if more > 1 else ''} in context files"
        yield Failure(CONTEXTS, problem, "`satchel rules list` names them all")


def _nearest(tree: ContextTree, situation: Situation) -> str | None:
    """Return the folder of the context that the parameters name, else the nearest one of the first file below one."""
    named = situation.params.get("context")
    with suppress(UnsafePathError):
        if isinstance(named, str) and named.strip() and tree.exists(folder := tree.find(named)):
            return folder or None
    folders = (folder for path in situation.files for folder in reversed([*folders_above(path), path]) if folder)
    return next((folder for folder in folders if tree.exists(folder)), None)


def _base(tree: ContextTree, current: str | None, notes: list[Failure]) -> ResolvedContext | None:
    if current is None and not tree.exists(""):
        return None
    try:
        base = tree.load(tree.find(current or "."))
    except MissingContextError as error:
        notes.append(Failure(CONTEXTS, str(error), "name the folder of a context.yaml, as in --context client/auth"))
        return None
    except (ContextFileError, UnsafePathError) as error:
        notes.append(Failure(CONTEXTS, str(error), "nothing of this context is used"))
        return None
    notes += base.notes
    return base


def _ancestors(tree: ContextTree, base: ResolvedContext, now: float, notes: list[Failure]) -> list[ActiveContext]:
    ancestors = []
    for path in base.chain[:-1]:
        try:
            ancestors.append(_active(tree.load(path), base.distances[path], "extends", now))
        except ContextFileError as error:
            notes.append(Failure(CONTEXTS, str(error), "this ancestor is not shown"))
    return ancestors


def _evaluated(rule: InjectionRule, situation: Situation, opinions: Mapping[str, Opinion]) -> Evaluated:
    """Evaluate a rule: `when` first, then the opinion on its condition; undecided without one."""
    reason = "it has no condition"
    if rule.when is not None:
        outcome = rule.when.check(situation)
        reason = outcome.reason
        if not outcome.holds:
            return Evaluated(rule, Verdict.FALSE, reason)
    if not rule.condition:
        return Evaluated(rule, Verdict.TRUE, reason)
    opinion = opinions.get(rule.condition)
    if opinion is None:
        return Evaluated(rule, Verdict.UNDECIDED, "nobody judged it")
    return Evaluated(rule, opinion.verdict, f"{opinion.judge}: {opinion.reason}")


def _inject(
    guides: Guides,
    rule: InjectionRule,
    active: list[ActiveContext],
    keys: list[tuple[InjectionTarget, str]],
    notes: list[Failure],
    now: float,
) -> None:
    """Add the contexts and keys that a rule injects, each once."""
    for target in rule.inject:
        if guides.registry.is_key(target):
            if all(target != earlier for earlier, _ in keys):
                keys.append((target, rule.label))
            continue
        inject = f"{rule.place}: inject {sanitize.line(target.reference)}"
        try:
            path = guides.tree.find(target.reference, rule.origin if target.is_relative else "")
            if path in [active_context.context.path for active_context in active]:
                continue
            context = guides.tree.load(path)
        except MissingContextError:
            problem = f"{inject}: there is no {file_of(path)} and no key of that name"
            notes.append(Failure(CONTEXTS, problem, f"keys are {', '.join(guides.registry.names[:4])} and others"))
        except (ContextFileError, UnsafePathError) as error:
            notes.append(Failure(CONTEXTS, f"{inject}: {error}", "the others are injected"))
        else:
            notes += context.notes
            active.append(_active(context, None, rule.label, now))


def _active(context: ResolvedContext, distance: int | None, wanted_by: str, now: float) -> ActiveContext:
    """Return a context with the terms of its priority, those of the first specification."""
    age_days = max(now - context.updated, 0.0) / DAY_SECONDS if context.updated else weights.FRESH_DAYS
    terms = {
        "base": weights.PRIORITIES["base"],
        "current": weights.PRIORITIES["current"] if distance == 0 else 0.0,
        "parent": weights.PRIORITIES["parent"] if distance == 1 else 0.0,
        "rules": weights.PRIORITIES["rules"] if context.behavior else 0.0,
        "fresh": round(max(0.0, 1.0 - age_days / weights.FRESH_DAYS), 4),
    }
    signals = tuple(Signal(name, value, 1.0) for name, value in terms.items() if value)
    return ActiveContext(context, distance, wanted_by, signals)


FILES = "files"

DEFAULT_LIMIT = 5
"""Records of one key, unless the rule has a limit."""

_SECONDS = {"last_hours": 3_600.0, "last_days": float(DAY_SECONDS)}
_INJECTED = Signal("injected", 1.0, 1.0)


class KeyRequest(NamedTuple):
    """The request to a registered key: the rule's target, the situation, and the time in seconds."""

    key: str
    argument: str
    query: str
    filters: Mapping[str, object]
    limit: int
    situation: Situation
    now: float


class Supplied(NamedTuple):
    """One record of a registered key."""

    title: str
    text: str


Provider = Callable[[KeyRequest], Iterable[Supplied | str]]
"""Returns the records of a key, best first; the title of a plain text is the key."""


class RecordKey(NamedTuple):
    """A built-in key: records of a kind, with these filters, by default the newest."""

    kind: Kind
    filters: Mapping[str, str]
    is_newest: bool


RECORD_KEYS: Mapping[str, RecordKey] = {
    **{
        f"memory.{category}s": RecordKey(Kind.MEMORY, {"category": category}, is_newest=True)
        for category in choices(MemoryCategory)
    },
    "memory.recent": RecordKey(Kind.MEMORY, {}, is_newest=True),
    "experiences": RecordKey(Kind.EXPERIENCE, {}, is_newest=False),
    "experiences.recent": RecordKey(Kind.EXPERIENCE, {}, is_newest=True),
    "values": RecordKey(Kind.VALUE, {}, is_newest=False),
    "commits": RecordKey(Kind.COMMIT, {}, is_newest=False),
    "recent.commits": RecordKey(Kind.COMMIT, {}, is_newest=True),
    "conversations": RecordKey(Kind.CONVERSATION, {}, is_newest=False),
}


class KeyRegistry:
    """The keys of one engine."""

    def __init__(self) -> None:
        self._providers: dict[str, Provider] = {}
        self._guard = threading.Lock()

    def register(self, key: str, provider: Provider) -> None:
        """Let rules inject `key`, or `key:ARGUMENT`. A later provider of the same name replaces it.

        Raises UsageError for a name that is built in, or could be the path of a context.
        """
        if key in RECORD_KEYS or key == FILES:
            raise UsageError(f"{key!r} is built in: choose another name")
        if not key.strip() or any(character in key for character in "/: \\") or key.startswith("."):
            raise UsageError(f"{key!r} is not a name for a key: write words and dots, as in team.contacts")
        with self._guard:
            self._providers[key] = provider

    def provider(self, reference: str) -> Provider | None:
        """Return the provider of this reference, None if it is not a registered key."""
        return self._providers.get(reference.partition(":")[0])

    def is_key(self, target: InjectionTarget) -> bool:
        """Return whether a target is a key and not the path of a context."""
        name, colon, _ = target.reference.partition(":")
        return name in RECORD_KEYS or name in self._providers or (name == FILES and bool(colon))

    @property
    def names(self) -> list[str]:
        """All keys."""
        return [*RECORD_KEYS, f"{FILES}:GLOB", *sorted(self._providers)]


@dataclass(slots=True)
class Supplies:
    """The records of all keys. `paths` are files, `own` the records of registered keys with their key."""

    hits: list[Hit] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    own: list[tuple[str, Supplied]] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of records, including repeated ones."""
        return len(self.hits) + len(self.paths) + len(self.own)


class Sources(NamedTuple):
    """The sources of records. `store_of` gives the store of a kind, None if there is none."""

    store_of: Callable[[Kind], Store | None]
    root: Path
    allow: tuple[str, ...]
    registry: KeyRegistry


def supplied(
    targets: Sequence[tuple[InjectionTarget, str]], situation: Situation, sources: Sources, now: float
) -> Supplies:
    """Return the records of these targets (each with the label of its rule); a target without any is noted."""
    supply = Supplies()
    for target, rule in targets:
        before, problem = supply.size, "nothing is there"
        try:
            _add(target, situation, sources, now, supply)
        except SatchelError as error:
            problem = str(error)
        if supply.size == before:
            supply.notes.append(Failure("injected", f"{sanitize.line(target.reference)}: {problem}", rule))
    supply.hits = list({hit.chunk.id: hit for hit in reversed(supply.hits)}.values())[::-1]
    supply.paths = list(dict.fromkeys(supply.paths))
    return supply


def _add(target: InjectionTarget, situation: Situation, sources: Sources, now: float, supply: Supplies) -> None:
    name, _, argument = target.reference.partition(":")
    limit = target.limit or DEFAULT_LIMIT
    provider = sources.registry.provider(target.reference)
    if provider is not None:
        request = KeyRequest(name, argument, target.query, target.filters, limit, situation, now)
        records = _provided(provider, request, sources.allow, supply.notes)
        supply.own += [(target.reference, record) for record in records]
    elif name == FILES:
        supply.paths += _matching_files(argument, sources, target.query)[:limit]
    else:
        supply.hits += _records(RECORD_KEYS[name], target, situation, sources, now)[:limit]


def _provided(provider: Provider, request: KeyRequest, allow: Sequence[str], notes: list[Failure]) -> list[Supplied]:
    """Return the cleaned records of a registered key; errors of its provider are noted."""
    try:
        records = [*provider(request)][: request.limit]
    except Exception as error:  # noqa: BLE001 - a provider is code of the user: its errors must not break the answer
        telemetry.warning("registered key failed", key=request.key, error=repr(error))
        problem = f"{request.key}: {type(error).__name__}: {sanitize.line(str(error))}"
        notes.append(Failure("injected", problem, "it is left out"))
        return []
    rows = [record if isinstance(record, Supplied) else Supplied(request.key, str(record)) for record in records]
    return [
        # Length limit of a record of a registered key.
        Supplied(sanitize.line(row.title, allow=allow), sanitize.text(row.text[:20_000], allow))
        for row in rows
    ]


def _matching_files(glob: str, sources: Sources, query: str) -> list[str]:
    problem = problem_of(glob)
    if problem:
        raise UsageError(f"the pattern {problem}")
    globs = Globs((glob,))
    paths: dict[str, None] = {}
    for kind in sorted(LINE_KINDS, key=lambda kind: kind is Kind.CODE):
        store = sources.store_of(kind)
        if store is None:
            continue
        if query:
            hits = search_kind(store, kind, analyse(query)).hits
            listed = [hit.chunk.location.path for hit in hits if hit.chunk.location is not None]
        else:
            listed = sorted(store.iterate_keys(kind))
        paths |= dict.fromkeys(path for path in listed if globs.matching(path))
    return [*paths]


def _records(key: RecordKey, target: InjectionTarget, situation: Situation, sources: Sources, now: float) -> list[Hit]:
    store = sources.store_of(key.kind)
    if store is None:
        return []
    filters = _filters({**key.filters, **target.filters}, now)
    question = target.query or ("" if key.is_newest else situation.purpose)
    if question:
        query = analyse(sanitize.text(question, sources.allow))
        hits = search_kind(store, key.kind, query, filters=filters).hits
        return [replace(hit, signals=(*hit.signals, _INJECTED)) for hit in hits]
    return _newest(store, key.kind, filters, target.limit or DEFAULT_LIMIT, sources)


def _newest(store: Store, kind: Kind, filters: Filters, limit: int, sources: Sources) -> list[Hit]:
    """Return the newest records, each with its first chunk and relevance 1."""
    if kind is Kind.COMMIT:
        changes = read_changes(store, sources.root, sources.allow).history("", limit).changes
        ids = store.document_ids(kind, [change.sha for change in changes])
    else:
        ids = store.document_ids(kind, store.iterate_keys(kind))
    hits: list[Hit] = []
    documents = store.documents(ids.values()).values()
    for document in sorted(documents, key=lambda document: (-document.created, document.key)):
        part = store.chunks([document.first_chunk])[document.first_chunk]
        if len(hits) < limit and filters.admits(document, part.name):
            hits.append(Hit(chunk_of(document, part), 1.0, 0.0, signals=(_INJECTED,)))
    return hits


def _filters(written: Mapping[str, Any], now: float) -> Filters:
    """Parse filters, the relative ones as times. Raises UsageError."""
    plain = absolute(written)
    for name in RELATIVE_FILTERS & written.keys():
        amount = written[name]
        if not is_number(amount) or amount <= 0:
            raise UsageError(f"{name} is {amount!r}: give a number above 0")
        plain["since"] = max(plain.get("since") or 0.0, now - amount * _SECONDS[name])
    return parse_filters(plain)
