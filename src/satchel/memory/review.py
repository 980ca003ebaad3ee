"""Candidates from transcripts that wait for a decision: nothing of them counts until somebody accepts it.

Each is a `meta` value of the memory file under a hash of its text, so that the same candidate is proposed once, also
after it was refused. What is remembered already is not proposed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from satchel.codec import iso_time
from satchel.errors import UsageError
from satchel.memory.candidates import EXPERIENCE, Suggestion
from satchel.memory.memories import Memories
from satchel.memory.model import Chosen, Experience, Memory, Waiting, experience_from
from satchel.memory.records import document_of, records_in
from satchel.memory.scope import Notebook, near_ids
from satchel.memory.trash import chosen_of
from satchel.search.contradictions import contradicts
from satchel.text import SAME_PROSE, shingles, similarity
from satchel.types import never
from satchel.vocabulary import MEMORY_CHARACTERS, MemoryCategory, Provenance, checked_names, parse_choice

if TYPE_CHECKING:
    from satchel.store.writer import Writer

PREFIX = "candidate:"

MOST_WAITING = 500
"""Candidates of a workspace that wait; of more only the newest stay, because nobody reviews them."""


class Review:
    """The candidates of one root."""

    def __init__(self, notebook: Notebook, memories: Memories) -> None:
        self._notebook, self._memories = notebook, memories
        self._store = notebook.store

    def waiting(self) -> list[Waiting]:
        """Return the candidates that wait for a decision, newest first."""
        entries = self._entries().values()
        rows = [Waiting(**{name: entry[name] for name in Waiting._fields}) for entry in entries if entry.get("text")]
        return sorted(rows, key=lambda one: (-one.created, one.id))

    def notice(self) -> str:
        """Return how many candidates wait and how to see them; empty where none do."""
        count = len(self.waiting())
        return f"{count} to be reviewed with `satchel memory review`" if count else ""

    def propose(self, candidates: Iterable[Suggestion]) -> list[Waiting]:
        """Keep candidates that are new; returns them. Known, refused and already remembered ones are left out."""
        moment, entries, news = self._notebook.now(), self._entries(), dict[str, dict[str, Any]]()
        known = [*(one.text for one in self.waiting()), *map(_lesson_of, records_in(self._store, Experience))]
        for candidate in candidates:
            text = self._notebook.safe(candidate.text)[:MEMORY_CHARACTERS]
            identity = self._identity(candidate.kind, text)
            remembered = [one.memory.content for one in self._memories.similar_to(text)]
            if identity not in entries and not _is_said(text, [*known, *remembered]):
                known.append(text)
                news[identity] = {
                    "id": identity, "kind": candidate.kind, "text": text, "source": candidate.source, "created": moment,
                    "quote": self._notebook.safe(candidate.quote)[:500], "workspace": self._notebook.workspace,
                    "fields": self._safe(candidate.fields),
                }  # fmt: skip
        if news:
            self._keep(news, sorted(entries, key=lambda one: -entries[one]["created"])[MOST_WAITING:])
        return [one for one in self.waiting() if one.id in news]

    def _keep(self, news: Mapping[str, Any], old: Iterable[str]) -> None:
        with self._store.write() as writer:
            for identity, entry in news.items():
                writer.set_meta(PREFIX + identity, json.dumps(entry, ensure_ascii=False))
            for identity in old:
                writer.unset_meta(PREFIX + identity)

    def accept(self, identities: Sequence[str], *, text: str | None = None, category: str | None = None) -> Chosen:
        """Store candidates as memories and experiences; returns these. `text` and `category` change a single one.

        All are stored in one transaction, or none. Raises UsageError for an unknown id.
        """
        chosen = self._chosen(identities)
        if (text is not None or category is not None) and (len(chosen) > 1 or chosen[0].kind == EXPERIENCE):
            raise UsageError("text and category change a single memory: accept that one by itself", "text", "category")
        records: list[Memory | Experience] = []
        for one in chosen:
            origin = f"transcript {one.source.partition('/')[0]}"
            if one.kind == EXPERIENCE:
                records.append(self._experience(one, origin))
            else:
                kind = parse_choice(MemoryCategory, category or one.kind, "category")
                records.append(
                    self._memories.prepared(text or one.text, category=kind, provenance=Provenance.AGENT, origin=origin)
                )
        with self._store.write() as writer:
            writer.put([document_of(record) for record in records])
            self._decided(writer, chosen)
            writer.merge(never)
        return chosen_of(records)

    def reject(self, identities: Sequence[str]) -> list[Waiting]:
        """Refuse candidates; returns them. Only their hashes are kept, so that they are not proposed again."""
        chosen = self._chosen(identities)
        with self._store.write() as writer:
            self._decided(writer, chosen)
        return chosen

    def _decided(self, writer: Writer, chosen: Sequence[Waiting]) -> None:
        """Keep the hashes of candidates alone."""
        moment = self._notebook.now()
        for one in chosen:
            entry = {"id": one.id, "created": moment, "workspace": self._notebook.workspace}
            writer.set_meta(PREFIX + one.id, json.dumps(entry))

    def _entries(self) -> dict[str, dict[str, Any]]:
        entries = (json.loads(value) for value in self._store.metas(PREFIX).values())
        return {entry["id"]: entry for entry in entries if entry["workspace"] == self._notebook.workspace}

    def _chosen(self, identities: Sequence[str]) -> list[Waiting]:
        rows = {one.id: one for one in self.waiting()}
        names = list(dict.fromkeys(checked_names("ids", identities)))
        if not names:
            raise UsageError("give the ids of candidates", "ids")
        for name in names:
            if name not in rows:
                raise UsageError(f"no candidate {name!r:.60} waits here: {near_ids(name, {*rows})}", "ids")
        return [rows[name] for name in names]

    def _identity(self, kind: str, text: str) -> str:
        folded = " ".join(text.casefold().split())
        digest = blake2b(f"{self._notebook.workspace}\0{kind}\0{folded}".encode(), digest_size=5)
        return f"cand_{digest.hexdigest()}"

    def _safe(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._safe(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._safe(inner) for inner in value]
        return self._notebook.safe(value) if isinstance(value, str) else value

    def _experience(self, one: Waiting, origin: str) -> Experience:
        notebook, moment = self._notebook, self._notebook.now()
        times = {"created_at": iso_time(moment), "updated_at": iso_time(moment)}
        session = one.source.partition("/")[0]
        identity = {"id": notebook.new_id("ghap", moment), "workspace": notebook.workspace, "session_id": session}
        return experience_from({**one.fields, **identity, **times, "origin": origin, "author": notebook.author})


def _is_said(text: str, known: Iterable[str]) -> bool:
    """Return whether one of the texts says nearly the same, and nothing else about the matter."""
    mark = shingles(text)
    return any(similarity(mark, shingles(one)) >= SAME_PROSE and not contradicts(one, text) for one in known)


def _lesson_of(experience: Experience) -> str:
    """Return an experience as its candidate says it."""
    command, lesson = experience.hypothesis.removesuffix(" passes"), experience.lesson
    seen = experience.outcome.result if experience.outcome else ""
    return f"{command} failed ({seen}) and passed: {lesson.what_worked if lesson else ''}"
