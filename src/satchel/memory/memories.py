"""Add, search, list, supersede and forget memories; list and forget exchanges of conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

from msgspec import structs

from satchel.codec import iso_time
from satchel.errors import UsageError
from satchel.memory import weights
from satchel.memory.model import ExchangeRecord, FoundMemory, Memory, Remark, Remembered
from satchel.memory.records import Records, checked_limit, discard, document_of, empty_old, records_in
from satchel.memory.scope import EVERYWHERE, Notebook
from satchel.search.contradictions import contradicts, differs_in_fact, outranks
from satchel.search.dense import Meaning, scores
from satchel.search.filters import parse_filters
from satchel.search.query import analyse
from satchel.search.rank_records import answering
from satchel.search.searcher import CANDIDATE_SPANS, SPANS_PER_RECORD, search_kind
from satchel.store.protocol import Store
from satchel.system import telemetry
from satchel.text import EXACT_MARK, count_terms, is_meaningful, shingles, similarity, terms_of, unaccented, words
from satchel.types import Kind, never
from satchel.vocabulary import (
    DAY_SECONDS,
    DEFAULT_IMPORTANCE,
    MAX_TAGS,
    PINNED_TAG,
    TAG_CHARACTERS,
    MemoryCategory,
    Moment,
    Provenance,
    Visibility,
    checked_names,
    checked_text,
    is_number,
    parse_moment,
)

if TYPE_CHECKING:
    from satchel.embed import Embedder
    from satchel.store.writer import Writer

UNCHANGED_MONTHS = 12
"""Months without a change after which a memory is listed to be cleaned up."""

NEAR_MEMORIES = 20
"""Best matches for the words of a new memory that are compared with it character by character: a near-duplicate shares
most words, so it is among the first."""


class Untidy(NamedTuple):
    """A memory that may be cleaned up, for which `reasons`, and how many recent answers have `shown` it."""

    memory: Memory
    reasons: Sequence[str]
    shown: int


class NewMemory(TypedDict, total=False):
    """The arguments of a new memory besides its text; `prepared` has their defaults."""

    category: str
    importance: float
    tags: Iterable[str]
    provenance: str
    origin: str
    everywhere: bool
    visibility: str
    since: Moment | None
    until: Moment | None
    files: Iterable[str]


class Memories(Records[Memory]):
    """The memories of one root and those that belong everywhere. Every method reads the store anew.

    Raises UsageError for impossible values, StoreError and LockedError for an unusable file; a call that raises has
    changed nothing.
    """

    record = Memory

    def __init__(self, notebook: Notebook, embedder: Embedder | None = None) -> None:
        super().__init__(notebook)
        self._embedder = embedder

    @telemetry.traced(telemetry.CREATE_MEMORY)
    def add(self, content: str, **options: Unpack[NewMemory]) -> Remembered:
        """Add a memory to this repository, or `everywhere`, and report near-duplicates and contradictions.

        `importance` is 0 to 1. `origin` names the source, by default the provenance. It is true `since` a time, by
        default from now, `until` another one. `files` are globs of the files that it is about: it is told before they
        are edited, as is what names a file in its text.
        """
        memory = self.prepared(content, **options)
        near = self._near(memory.content)
        opposed = _contradicted(near, memory.content)
        similar = tuple(
            found_memory for found_memory in _similar(near, memory.content) if found_memory.memory not in opposed
        )
        with self._store.write() as writer:
            writer.put([document_of(memory)])
            empty_old(self._store, writer, memory.created)
        return Remembered(memory, similar, opposed)

    def prepared(
        self,
        content: str,
        *,
        category: str = MemoryCategory.FACT,
        importance: float = DEFAULT_IMPORTANCE,
        tags: Iterable[str] = (),
        provenance: str = Provenance.USER,
        origin: str = "",
        everywhere: bool = False,
        visibility: str = Visibility.PRIVATE,
        since: Moment | None = None,
        until: Moment | None = None,
        files: Iterable[str] = (),
        said: float = 0.0,
    ) -> Memory:
        """Return a memory as `add` stores it, checked; `said` is when it was said (seconds), 0 for now."""
        notebook = self._notebook
        moment = said or notebook.now()
        begins, ends = parse_moment(moment if since is None else since), None if until is None else parse_moment(until)
        if ends is not None and ends <= begins:
            raise UsageError(f"it would be true until {iso_time(ends)}, before it begins: give a later time", "until")
        return Memory(
            id=notebook.new_id("mem", moment),
            importance=checked_importance(importance),
            tags=checked_tags(tags, notebook),
            files=notebook.files(files),
            origin=notebook.safe_field(origin or provenance, 100),  # origin characters
            workspace=EVERYWHERE if everywhere else notebook.workspace,
            created=moment,
            updated=moment,
            author=notebook.author,
            valid_from="" if since is None else iso_time(begins),
            valid_to="" if ends is None else iso_time(ends),
            **notebook.checked(
                Memory, content=content, category=category, provenance=provenance, visibility=visibility
            ),
        )

    def similar_to(self, content: str) -> tuple[FoundMemory, ...]:
        """Return the near-duplicates of a text, most similar first; the score is the similarity, 0 to 1."""
        return _similar(self._near(content), content)

    def contradicted(self, content: str) -> tuple[Memory, ...]:
        """Return the visible memories that say another thing about the same matter than a new text, newest first."""
        return _contradicted(self._near(content), content)

    def _near(self, content: str, known: Mapping[str, Memory] | None = None) -> list[Memory]:
        """Return the memories that share the most words with a text; with `known`, by id, none is read again."""
        most = NEAR_MEMORIES * SPANS_PER_RECORD
        with self._store.snapshot() as store:
            hits = search_kind(store, Kind.MEMORY, analyse(content), candidates=most).hits
            if known is not None:
                ids = (hit.chunk.id.partition(":")[2] for hit in hits)
                return [known[identity] for identity in ids if identity in known]
            return self._read(store, (hit.chunk.document for hit in hits))

    @telemetry.traced(telemetry.SEARCH_MEMORY)
    def search(
        self, question: str, *, limit: int = 10, as_of: Moment | None = None, **filters: Any
    ) -> list[FoundMemory]:
        """Return the memories that answer a question, best first; `score` is their relevance, 0 to 1.

        What hardly matches is left out, so there may be none. Words count and, where there are vectors, the meaning.
        With `as_of` what replaced another one since then gives way to it. `filters` are those of `listed`.
        """
        parsed = parse_filters(filters)
        text = self._notebook.safe(checked_text("the question", question))
        if not text:
            raise UsageError("the question is empty: say what you look for")
        most = max(checked_limit(limit) * SPANS_PER_RECORD, CANDIDATE_SPANS)
        with self._store.snapshot() as store:
            likeness = scores(store, Kind.MEMORY, Meaning(self._embedder, text) if self._embedder else None)
            options: dict[str, Any] = {"filters": parsed, "likeness": likeness, "now": self._notebook.now()}
            hits = answering(search_kind(store, Kind.MEMORY, analyse(text), candidates=most, **options))
            memories = self._read(store, (hit.chunk.document for hit in hits))
        rows = [
            FoundMemory(memory, hit.relevance, *(hit.chunk.fields.get(name, "") for name in ("newer", "against")))
            for memory, hit in zip(memories, hits, strict=True)
        ]
        if as_of is not None:
            moment = parse_moment(as_of, "as_of")
            then = ((self._then(row.memory, moment), row.score) for row in rows)
            rows = [FoundMemory(memory, score) for memory, score in then if memory is not None]
        return rows[:limit]

    def _then(self, memory: Memory, moment: float) -> Memory | None:
        """Return the memory, or the older one that it replaced, that was true at a moment; None if none was."""
        for older in self.with_replaced([memory.id]) if memory.begins > moment else ():
            memory = older
            if memory.begins <= moment:
                break
        is_over = memory.valid_to and parse_moment(memory.valid_to) <= moment
        return None if is_over or memory.begins > moment else memory

    def listed(
        self, *, superseded: bool = False, as_of: Moment | None = None, limit: int | None = None, **filters: Any
    ) -> list[Memory]:
        """Return the visible memories, newest first; with `superseded` also replaced ones.

        With `as_of` only what was true at that time, as it was then. `filters` are those of a search for memories:
        `category`, `min_importance`, `tags`, `scope`, `provenance`, `origin`, `author` (a part of the name), `since`,
        `until`. Raises UsageError for an unknown one.
        """
        sight, parsed = self._notebook.in_sight, parse_filters(filters)
        seen = self._visible(hidden=superseded, filters=parsed)
        memories: Iterable[Memory] = (memory for memory in seen if memory.workspace in sight)
        if as_of is not None:
            moment = parse_moment(as_of, "as_of")
            memories = filter(None, [self._then(memory, moment) for memory in memories])
        return self._listed(memories, None, limit)

    def untidy(self, shown: Mapping[str, int]) -> list[Untidy]:
        """Return the memories to clean up, newest first: expired, replaced, repeated, unused or unchanged for long.

        `shown` says how many answers showed a memory, by id. Of two that say nearly the same it is the older one.
        """
        known = {memory.id: memory for memory in self.listed()}
        counts = ((memory, shown.get(memory.id, 0)) for memory in known.values())
        rows = [Untidy(memory, self._reasons(memory, count, known), count) for memory, count in counts]
        return [row for row in rows if row.reasons]

    def _reasons(self, memory: Memory, shown: int, known: Mapping[str, Memory]) -> list[str]:
        """Return why a memory may be cleaned up."""
        moment = self._notebook.now()
        months = int((moment - memory.updated) / DAY_SECONDS / 30)
        reasons = {
            f"expired on {memory.valid_to[:10]}": memory.valid_to and parse_moment(memory.valid_to) <= moment,
            "no recent answer showed it": months and not shown,
            f"last changed {months} months ago": months >= UNCHANGED_MONTHS,
        }
        return [*(reason for reason, applies in reasons.items() if applies), *self._outdone(memory, known)]

    def _outdone(self, memory: Memory, known: Mapping[str, Memory]) -> list[str]:
        """Return that a newer memory differs from one in its value, or says nearly the same.

        A decision or a prohibition is not cleaned up for a plain later fact.
        """
        said, marks = memory.content, shingles(memory.content)
        newer = [other for other in self._near(said, known) if (other.begins, other.id) > (memory.begins, memory.id)]
        opposed = (
            f"newer: {other.id} differs (if it replaces this one, supersede it)"
            for other in newer
            if contradicts(said, other.content) and not outranks(memory.category, said, other.category)
        )
        same = (other for other in newer if _repeats(other.content, said, similarity(marks, shingles(other.content))))
        return [*opposed][:1] or [f"the newer {other.id} says nearly the same" for other in same][:1]

    def containing(self, question: str) -> list[Memory]:
        """Return the memories whose text, tags or category contain every telling word of a question, newest first.

        A word counts in all its forms. Raises UsageError for a question without a telling word.
        """
        asked = words(self._notebook.safe(checked_text("the question", question)))
        wanted = [word for word in asked if is_meaningful(word) and terms_of(word)]
        if not wanted:
            raise UsageError(f"the question {question!r} names nothing: give a word that the memories contain")
        return [memory for memory in self.listed() if _contains(memory, wanted)]

    def get(self, identity: str) -> Memory:
        """Return the memory with this id, also a replaced one. Raises UsageError with similar ids if there is none."""
        return self._find(identity)

    @telemetry.traced(telemetry.DELETE_MEMORY)
    def forget(self, identities: Sequence[str]) -> list[Memory]:
        """Put memories into the trash, with the older ones that they replaced; returns all of them."""
        with self._store.write() as writer:
            gone = self.with_replaced(identities)
            ids = {memory.id for memory in gone}
            newer = [self.get(memory.superseded_by) for memory in gone if memory.superseded_by not in {"", *ids}]
            writer.remove(Kind.MEMORY, sorted(ids))
            put_memories(self._store, writer, [replace(memory, supersedes="") for memory in newer], gone=ids)
            discard(self._store, writer, gone, self._notebook.now())
        return gone

    def pin(self, identities: Sequence[str], *, is_pinned: bool = True) -> list[Memory]:
        """Let every brief show memories first, or no longer; returns them. Raises UsageError for an unknown id."""
        moment = self._notebook.now()
        with self._store.write() as writer:
            chosen = [self.get(identity) for identity in checked_names("ids", identities)]
            tags = [[tag for tag in memory.tags if tag != PINNED_TAG] for memory in chosen]
            pinned = [
                replace(memory, tags=(*kept, *([PINNED_TAG] if is_pinned else [])), updated=moment)
                for memory, kept in zip(chosen, tags, strict=True)
            ]
            put_memories(self._store, writer, pinned)
        return pinned

    def share(self, identities: Sequence[str]) -> list[Memory]:
        """Let the team find memories from now on, with the older ones that they replaced; returns all of them.

        Raises UsageError for one that was replaced, and then shares none.
        """
        moment = self._notebook.now()
        with self._store.write() as writer:
            chosen = self.with_replaced(identities)
            ids = {memory.id for memory in chosen}
            for memory in chosen:
                if memory.superseded_by not in {"", *ids}:
                    raise UsageError(f"{memory.id} was replaced: share {memory.superseded_by}")
            shared = [replace(memory, visibility=Visibility.TEAM, updated=moment) for memory in chosen]
            put_memories(self._store, writer, shared)
        return shared

    def with_replaced(self, identities: Sequence[str]) -> list[Memory]:
        """Return the memories with these ids, each followed by the older ones that it replaced."""
        memories: dict[str, Memory] = {}
        waiting = checked_names("ids", identities)[::-1]
        while waiting:
            memory = self.get(waiting.pop())
            if memory.id not in memories:
                memories[memory.id] = memory
                if memory.supersedes:
                    waiting.append(memory.supersedes)
        return list(memories.values())

    @telemetry.traced(telemetry.UPDATE_MEMORY)
    def supersede(self, identity: str, content: str, *, importance: float | None = None) -> Remembered:
        """Replace a memory by a new one with the same category, tags and importance (unless given).

        `content` is the text of the new one, or the id of a memory that is there, which then replaces the old one. The
        old one is kept and linked, and only `get` returns it. Raises UsageError for one that was replaced already:
        the message names the current one.
        """
        notebook = self._notebook
        if content.startswith("mem_") and self._holds(content):
            return self._linked(identity, content)
        changes = notebook.checked(Memory, content=content)
        if importance is not None:
            changes["importance"] = checked_importance(importance)
        moment = notebook.now()
        with self._store.write() as writer:
            old = self.get(identity)
            if old.superseded_by:
                raise UsageError(f"{old.id} was replaced already: supersede {old.superseded_by}")
            new = replace(
                old, id=notebook.new_id("mem", moment), created=moment, updated=moment, supersedes=old.id,
                author=notebook.author, valid_from="", valid_to="", **changes,
            )  # fmt: skip
            put_memories(self._store, writer, [replace(old, superseded_by=new.id, updated=moment), new])
        return Remembered(new)

    def _linked(self, identity: str, newer: str) -> Remembered:
        """Let a memory that is there replace another one."""
        with self._store.write() as writer:
            old, new = self.get(identity), self.get(newer)
            if old.id == new.id or old.superseded_by or new.supersedes or new.superseded_by:
                raise UsageError(f"{new.id} cannot replace {old.id}: one of the two replaces another, or was replaced")
            linked = replace(new, supersedes=old.id)
            put_memories(
                self._store, writer, [replace(old, superseded_by=new.id, updated=self._notebook.now()), linked]
            )
        return Remembered(linked)


def put_memories(store: Store, writer: Writer, memories: Sequence[Memory], gone: Iterable[str] = ()) -> None:
    """Write memories and hide every replaced one. `gone` are ids that this transaction removed."""
    writer.put([document_of(memory) for memory in memories])
    present = {memory.id for memory in memories}
    hidden = {memory.id for memory in memories if memory.superseded_by}
    writer.hide(Kind.MEMORY, sorted((store.hidden_keys(Kind.MEMORY) - present - set(gone)) | hidden))
    writer.merge(never)


def _similar(near: Iterable[Memory], content: str) -> tuple[FoundMemory, ...]:
    marks = shingles(content)
    rows = [FoundMemory(memory, similarity(marks, shingles(memory.content))) for memory in near]
    alike = sorted(
        (row for row in rows if _repeats(row.memory.content, content, row.score)),
        key=lambda row: (-row.score, row.memory.id),
    )
    # Number of near-duplicates that are reported.
    return tuple(structs.replace(row, score=round(row.score, 2)) for row in alike[:3])  # likeness digits


def _repeats(text: str, other: str, score: float) -> bool:
    """Return whether two texts say nearly the same: no name, number, verb or negation is in one of them alone."""
    return score >= weights.SAME_PROSE and not differs_in_fact(text, other)


def _contradicted(near: Iterable[Memory], content: str) -> tuple[Memory, ...]:
    found = [memory for memory in near if contradicts(memory.content, content)]
    return tuple(sorted(found, key=lambda memory: (-memory.begins, memory.id)))


def _contains(memory: Memory, wanted: Iterable[str]) -> bool:
    """Return whether a memory contains each of these words, or all parts of a compound; accents do not count."""
    present = count_terms(words(" ".join((memory.content, memory.category, *memory.tags))))
    return all(
        EXACT_MARK + word.lower() in present
        or all(term in present for term in terms_of(word) if not term.startswith(EXACT_MARK))
        for word in map(unaccented, wanted)
    )


def checked_importance(importance: float) -> float:
    """Return a usable importance. Raises UsageError outside 0 to 1."""
    if not is_number(importance) or not 0 <= importance <= 1:
        raise UsageError(f"importance is {importance!r}: give 0 (hardly matters) to 1 (always matters)", "importance")
    return float(importance)


def checked_tags(tags: Iterable[str], notebook: Notebook) -> tuple[str, ...]:
    """Return the tags, each once, safe to store. Raises UsageError for an empty or long one, and for too many."""
    named = [tag.strip() for tag in checked_names("tags", tags)]
    for tag in named:
        if not tag:
            raise UsageError("a tag is empty: give a word")
        if len(tag) > TAG_CHARACTERS:
            raise UsageError(f"the tag {tag[:TAG_CHARACTERS]!r}... has {len(tag)} characters: at most {TAG_CHARACTERS}")
    safe = tuple(dict.fromkeys(notebook.safe_field(tag, TAG_CHARACTERS) for tag in named))
    if len(safe) > MAX_TAGS:
        raise UsageError(f"there are {len(safe)} tags: at most {MAX_TAGS}")
    return safe


class Conversations:
    """The conversations of one root. Every method reads the store anew."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._store = notebook.store

    def listed(self, *, origin: str | None = None) -> list[Remark]:
        """Return the exchanges, or those of one origin, in the order of each session."""
        keys = list(self._store.iterate_keys(Kind.CONVERSATION))
        documents = self._store.documents(self._store.document_ids(Kind.CONVERSATION, keys).values())
        shown = sorted(
            (self._notebook.shown(document) for document in documents.values()), key=lambda document: document.key
        )
        return [
            Remark(document.key, document.title, document.created, document.origin)
            for document in shown
            if origin in (None, document.origin)
        ]

    def forget(self, identities: Sequence[str]) -> int:
        """Put exchanges into the trash; returns how many. Raises UsageError for an unknown id, and removes none."""
        keys = [identity.removeprefix(f"{Kind.CONVERSATION}:") for identity in checked_names("ids", identities)]
        with self._store.write() as writer:
            present = {remark.id for remark in self.listed()}
            for key in keys:
                if key not in present:
                    raise UsageError(f"no exchange {key!r} is remembered here: nothing was forgotten")
            gone = records_in(self._store, ExchangeRecord, keys)
            writer.remove(Kind.CONVERSATION, keys)
            discard(self._store, writer, gone, self._notebook.now())
        return len(set(keys))
