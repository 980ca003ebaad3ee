"""The trash: records that were forgotten, until they are brought back, removed for good, or too old.

Each is a `meta` value of the memory file, so that nothing finds, lists or counts it. Secrets were removed before it
was stored. Only an id leads to it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import UsageError
from satchel.memory import model
from satchel.memory.records import records_in
from satchel.store.protocol import Store
from satchel.types import Kind, never
from satchel.vocabulary import TRASH_DAYS

if TYPE_CHECKING:
    from satchel.store.writer import Writer

_PREFIX = "trash:"


def discard(
    store: Store, writer: Writer, records: Iterable[model.Record], moment: float, resting: Sequence[model.Value] = ()
) -> None:
    """Keep records that this transaction removes in the trash. `resting` are values that lose them as evidence."""
    for record in records:
        evidence_of = [value.id for value in resting if record.id in value.member_ids]
        entry = {"forgotten_at": moment, "evidence_of": evidence_of, **model.record_data(record)}
        writer.set_meta(_PREFIX + record.id, json.dumps(entry, ensure_ascii=False))
    empty_old(store, writer, moment)


def take_out(writer: Writer, identities: Iterable[str]) -> None:
    """Remove records from the trash that are stored again."""
    for identity in identities:
        writer.unset_meta(_PREFIX + identity)


def empty_old(store: Store, writer: Writer, moment: float) -> None:
    """Remove what has been in the trash for too long."""
    earliest = moment - TRASH_DAYS * 86_400  # day seconds
    old = [key for key, entry in _entries(store).items() if entry["forgotten_at"] < earliest]
    writer.merge(never)
    if old:
        _remove(writer, [key.removeprefix(_PREFIX) for key in old])


def purge(store: Store, identities: Iterable[str]) -> None:
    """Remove records in the trash for good, from the file and its backups."""
    with store.write() as writer:
        _remove(writer, identities)


def _remove(writer: Writer, identities: Iterable[str]) -> None:
    take_out(writer, identities)
    writer.purge()


def trash_of(store: Store, workspaces: Iterable[str] | None = None) -> dict[str, model.Record]:
    """Return the records in the trash by id, the last forgotten first, without what an import stored anew."""
    entries = sorted(_entries(store).values(), key=lambda entry: (-entry["forgotten_at"], entry["id"]))
    ids = [entry["id"] for entry in entries]
    here = {key for kind in model.RECORDS for key in store.document_ids(kind, ids)}
    return {
        entry["id"]: model.imported(entry)
        for entry in entries
        if entry["id"] not in here and (workspaces is None or entry["workspace"] in workspaces)
    }


def move_discarded(store: Store, writer: Writer, others: Iterable[str], workspace: str) -> None:
    """Give the records of some workspaces in the trash, and those to be reviewed, to another one."""
    waiting = {key: json.loads(value) for key, value in store.metas("candidate:").items()}
    for key, entry in {**_entries(store), **waiting}.items():
        if entry["workspace"] in others:
            writer.set_meta(key, json.dumps({**entry, "workspace": workspace}, ensure_ascii=False))


def _entries(store: Store) -> dict[str, dict[str, Any]]:
    return {key: json.loads(value) for key, value in store.metas(_PREFIX).items()}


def chosen_of(records: Iterable[model.Record]) -> model.Chosen:
    """Return records by their kind."""
    kinds: dict[type, list[Any]] = {model.Memory: [], model.ExchangeRecord: [], model.Experience: [], model.Value: []}
    for record in records:
        kinds[type(record)].append(record)
    remarks = [model.Remark(one.id, one.title, one.created, one.origin) for one in kinds[model.ExchangeRecord]]
    return model.Chosen(kinds[model.Memory], remarks, kinds[model.Experience], kinds[model.Value])


def chosen_from(store: Store, identities: Sequence[str]) -> dict[str, model.Record]:
    """Return records in the trash with the older memories that they replaced. Raises UsageError for an unknown id."""
    trash, chosen = trash_of(store), dict[str, model.Record]()
    ids = [identity.removeprefix(f"{Kind.CONVERSATION}:") for identity in reversed(identities)]
    while ids:
        record = trash.get(identity := ids.pop())
        if record is None:
            raise UsageError(f"{identity!r} is not in the trash: what is forgotten stays there for {TRASH_DAYS} days")
        chosen[identity] = record
        # Links in the trash are of several times, so that two records may each have replaced the other one.
        if isinstance(record, model.Memory) and record.supersedes in trash and record.supersedes not in chosen:
            ids.append(record.supersedes)
    return chosen


def linked(store: Store, memories: Sequence[model.Memory]) -> list[model.Memory]:
    """Return memories with their links to those that exist, and these with their links back."""
    back = {memory.id: memory for memory in memories}
    present = store.keys(Kind.MEMORY) | back.keys()
    newer = records_in(store, model.Memory, [one.superseded_by for one in memories])
    linked = [
        replace(current, supersedes=memory.id)
        for current in newer
        for memory in memories
        if memory.superseded_by == current.id and not current.supersedes
    ]
    return linked + [
        replace(
            memory,
            supersedes=memory.supersedes if memory.supersedes in present else "",
            superseded_by=memory.superseded_by if memory.superseded_by in present else "",
        )
        for memory in memories
    ]


def supported(store: Store, experiences: Sequence[model.Experience]) -> list[model.Value]:
    """Return the values that rest on these experiences again."""
    entries: Mapping[str, dict[str, Any]] = _entries(store)
    values: dict[str, model.Value] = {}
    for experience in experiences:
        evidence_of = entries[_PREFIX + experience.id]["evidence_of"]
        for present in records_in(store, model.Value, evidence_of):
            value = values.get(present.id, present)
            values[value.id] = replace(
                value,
                member_ids=(*value.member_ids, experience.id),
                cluster_size=value.cluster_size + 1,
                domains=Counter(value.domains) + Counter([str(experience.domain)]),
                strategies=Counter(value.strategies) + Counter([str(experience.strategy)]),
            )
    return list(values.values())
