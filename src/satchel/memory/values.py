"""Values: the common lesson of several experiences, in a sentence of at most 500 characters.

Groups come from `satchel.memory.cluster`, one set per axis, and keep their ids. A sentence becomes a value only if it
is as near to the centre of its group as the members are; `_admit` checks this for every value. Each member is compared
by one statement, its lesson, because a sentence is always far from texts of eight lines (of 16 lessons of real
members, none was as near to its own group as these texts are).

The evidence of a value are the members that say it: their own lesson is nearer to the sentence than those of other
experiences. A value keeps their ids, also when the groups change later. What a group shares is phrased by the model of
the memory, where there is one. Without one the lesson that most members say is proposed as an example.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from satchel.embed import Embedder
from satchel.errors import ConfigError, JudgeError, MissingExtraError, UsageError
from satchel.memory import cluster as clustering
from satchel.memory import weights
from satchel.memory.model import Cluster, Grouping, Member, Validation, Value, ValueProposal
from satchel.memory.phrasing import Phrase
from satchel.memory.records import Records, discard, document_of
from satchel.memory.scope import Notebook, near_ids
from satchel.store.protocol import Store
from satchel.types import Kind
from satchel.vocabulary import VALUE_CHARACTERS, Axis, Visibility, parse_choice

if TYPE_CHECKING:
    from satchel.store.writer import Writer

MAX_MEASURED = 200
"""Number of the most central members that measure a group: more hardly change the mean."""

ID_PREFIX = "val"


def groups_key(workspace: str, axis: str) -> str:
    """Return the `meta` key of the memory file for the groups of an axis."""
    return f"clusters:{workspace}:{axis}"


def move_groups(store: Store, writer: Writer, others: Iterable[str], workspace: str) -> None:
    """Give the groups of some workspaces to another one, for each axis on which it has none."""
    for axis in Axis:
        noted = (store.meta(groups_key(other, axis)) for other in (workspace, *sorted(others)))
        if groups := next(filter(None, noted), ""):
            writer.set_meta(groups_key(workspace, axis), groups)


class Values(Records[Value]):
    """The values and groups of one workspace. Without an `embedder` words decide what is similar.

    `phrase` makes the sentence that lessons share; without it one of them is an example.
    """

    record = Value

    def __init__(self, notebook: Notebook, embedder: Embedder | None = None, phrase: Phrase | None = None) -> None:
        super().__init__(notebook)
        self._embedder, self._phrase = embedder, phrase
        self._spaces: dict[str, tuple[str, clustering.Space]] = {}

    def cluster(self, axis: str | None = None) -> list[Grouping]:
        """Group the experiences of an axis (or of each) and store the groups; groups that still exist keep their ids.

        A group that a value names stays, as it was, also if it is not found again.

        Without enough structure `reason` says so. Raises UsageError, EmbeddingError and MissingExtraError.
        """
        return [self._grouped(other) for other in _axes(axis)]

    def groupings(self, axis: str | None = None) -> list[Grouping]:
        """Return the stored groups, without grouping again."""
        return [grouping for other in _axes(axis) if (grouping := self._remembered(other)) is not None]

    def is_value(self, identity: str) -> bool:
        """Return whether this is the id of a value, rather than of a group."""
        return self._holds(identity)

    def find(self, cluster_id: str) -> Cluster:
        """Return the stored group with this id. Raises UsageError with similar ids."""
        clusters = {cluster.id: cluster for grouping in self.groupings() for cluster in grouping.clusters}
        if cluster_id not in clusters:
            hint = near_ids(cluster_id, set(clusters)) if clusters else "`satchel values cluster` finds and names them"
            raise UsageError(f"there is no group {cluster_id!r}: {hint}")
        return clusters[cluster_id]

    def members(self, cluster_id: str) -> list[Member]:
        """Return the members of a group that still exist, the most central first."""
        cluster = self.find(cluster_id)
        vectors, entries = self._space(cluster.axis).select(cluster.members)
        if not entries:
            return []
        middle = clustering.centre(vectors, [entry.weight for entry in entries])
        members = [
            Member(entry.id, entry.text, float(vector @ middle), str(entry.fields.get("confidence_tier") or ""))
            for entry, vector in zip(entries, vectors, strict=True)
        ]
        return sorted(members, key=lambda member: (-member.similarity, member.id))

    def validate(self, text: str, cluster_id: str) -> Validation:
        """Compare a sentence to a group. Raises UsageError for an empty or long text and an unknown group."""
        cluster = self.find(cluster_id)
        return self._measured([self._clean(text)], cluster.axis, cluster.members)[0][0]

    def accept(self, text: str, cluster_id: str) -> Value:
        """Store a sentence as a value of a group. Raises UsageError if it is outside of the group."""
        cluster, moment = self.find(cluster_id), self._notebook.now()
        identity, members = self._notebook.new_id(ID_PREFIX, moment), cluster.members
        value = Value(identity, text, cluster.axis, cluster.id, member_ids=members, created=moment)
        return self._admit(replace(value, workspace=self._notebook.workspace))

    def admit_import(self, value: Value) -> bool:
        """Store a value of an export, unless it is stored already; returns whether it is new.

        Its members must be stored, and it must be inside their group. Raises UsageError and writes nothing otherwise.
        """
        is_new = not self.is_value(value.id)
        if is_new:
            self._admit(value)
        return is_new

    def propose(self, cluster_id: str | None = None, axis: str | None = None) -> list[ValueProposal]:
        """Suggest a sentence for each group (or for one) that at least three members say; empty for a mixed group."""
        if cluster_id:
            return [self._proposed(self.find(cluster_id))]
        return [self._proposed(cluster) for grouping in self.groupings(axis) for cluster in grouping.clusters]

    def listed(self, axis: str | None = None) -> list[Value]:
        """Return all visible values, newest first."""
        axes = {str(other) for other in _axes(axis)}
        return self._listed((value for value in self._visible() if value.axis in axes), None, None)

    def get(self, identity: str) -> Value:
        """Return one value by its id. Raises UsageError with similar ids."""
        return self._find(identity)

    def forget(self, identity: str) -> Value:
        """Put a value into the trash and return it. Raises UsageError."""
        value = self.get(identity)
        with self._store.write() as writer:
            writer.remove(Kind.VALUE, [identity])
            discard(self._store, writer, [value], self._notebook.now())
        return value

    def _space(self, axis: str) -> clustering.Space:
        """Return the space of an axis, cached until the store changes."""
        revision = self._store.revision
        kept = self._spaces.get(axis)
        if kept is None or kept[0] != revision:
            kept = self._spaces[axis] = (revision, clustering.make_space(self._store, axis, self._embedder))
        return kept[1]

    def _grouped(self, axis: str) -> Grouping:
        label = self._embedder.id if self._embedder is not None else clustering.WORDS_LABEL
        count = len(clustering.entries_of(self._store, axis, clustering.TEXT_TOKENS))
        if count < weights.MIN_ENTRIES:
            reason = f"not enough structure: {count} experiences on the axis {axis}, {weights.MIN_ENTRIES} are needed"
            return Grouping(axis, label, count, (), reason)
        space = self._space(axis)
        groups = [_by_centrality(space, positions) for positions in clustering.group(space.vectors, space.kind)]
        before = self._remembered(axis)
        earlier = before.clusters if before is not None else ()
        clusters = clustering.named(axis, groups, earlier)
        named_by_values = {value.cluster_id for value in self.listed(axis)} - {cluster.id for cluster in clusters}
        clusters += [cluster for cluster in earlier if cluster.id in named_by_values]
        reason = "" if clusters else f"not enough structure: no group among {count} experiences on the axis {axis}"
        if reason and self._embedder is None:
            reason += " by their words; vectors see more (`satchel[embed]`)"
        grouping = Grouping(axis, label, count, tuple(clusters), reason)
        if before != grouping:
            with self._store.write() as writer:
                writer.set_meta(self._meta_key(axis), json.dumps(asdict(grouping)))
        return grouping

    def _meta_key(self, axis: str) -> str:
        return groups_key(self._notebook.workspace, axis)

    def _remembered(self, axis: str) -> Grouping | None:
        noted = self._store.meta(self._meta_key(axis))
        if not noted:
            return None
        data = json.loads(noted)
        present = self._store.keys(Kind.EXPERIENCE)
        rows = [
            Cluster(row["id"], row["axis"], tuple(member for member in row["members"] if member in present))
            for row in data.pop("clusters")
        ]
        return Grouping(**data, clusters=tuple(rows))

    def _clean(self, text: str) -> str:
        return " ".join(self._notebook.text_of("the value", text, VALUE_CHARACTERS).split())

    def _measured(
        self, texts: Sequence[str], axis: str, ids: Sequence[str]
    ) -> tuple[list[Validation], list[clustering.AxisEntry], str]:
        """Measure texts against the existing members; returns also these members and the label of the space.

        Raises UsageError for too few members.
        """
        space = self._space(axis)
        _, entries = space.select(ids)
        if len(entries) < weights.FEWEST_MEMBERS:
            raise UsageError(
                f"{len(entries)} of {len(ids)} members are here: a value rests on at least "
                f"{weights.FEWEST_MEMBERS} experiences"
            )
        near = entries[:MAX_MEASURED]
        shares = [entry.weight for entry in near]
        statements = space.embed([entry.statement for entry in near])
        validations = [clustering.validate(vector, statements, shares) for vector in space.embed(texts)]
        return validations, entries, space.label

    def _admit(self, value: Value) -> Value:
        """Write a value with what is measured of it, if it is inside its group. Raises UsageError otherwise."""
        text = self._clean(value.text)
        self._check_new(value.id, text)
        (measured,), entries, label = self._measured([text], value.axis, value.member_ids)
        if not measured.is_inside:
            raise UsageError(
                f"the text is too far from its group {value.cluster_id}: distance {measured.distance:.3f}, at most "
                f"{measured.threshold:.3f} (mean {measured.mean:.3f} + half of {measured.deviation:.3f}); "
                "`satchel values show` shows what the members say"
            )
        evidence = self._evidence(text, value.axis, entries)
        if len(evidence) < weights.FEWEST_MEMBERS:
            raise UsageError(
                f"the group {value.cluster_id} is mixed: {len(evidence)} of {len(entries)} members say this, at least "
                f"{weights.FEWEST_MEMBERS} have to"
            )
        entries = evidence
        admitted = replace(
            value,
            text=text,
            cluster_size=len(entries),
            similarity_to_centroid=round(measured.similarity, 4),
            member_ids=tuple(entry.id for entry in entries),
            domains=clustering.counted([str(entry.fields.get("domain", "")) for entry in entries]),
            strategies=clustering.counted([str(entry.fields.get("strategy", "")) for entry in entries]),
            label=label,
            visibility=_visibility(entries),
            author=self._notebook.author,
        )
        with self._store.write() as writer:
            writer.put([document_of(admitted)])
        return admitted

    def _evidence(self, text: str, axis: str, entries: Sequence[clustering.AxisEntry]) -> list[clustering.AxisEntry]:
        """Return the members that say a sentence."""
        return self._saying([text], axis, entries)[0]

    def _saying(
        self, texts: Sequence[str], axis: str, entries: Sequence[clustering.AxisEntry]
    ) -> list[list[clustering.AxisEntry]]:
        """Return for each text the members whose own lesson is clearly nearer to it than those of other experiences."""
        space, members = self._space(axis), {entry.id for entry in entries}
        others = [entry.statement for entry in space.entries if entry.id not in members][:MAX_MEASURED]
        sentences, inner = space.embed(texts), space.embed([entry.statement for entry in entries])
        usual = clustering.usual_nearness(sentences, space.embed(others) if others else None)
        nearness = sentences @ inner.T
        return [
            [entry for entry, near in zip(entries, row, strict=True) if near >= least]
            for row, least in zip(nearness.tolist(), usual, strict=True)
        ]

    def _check_new(self, identity: str, text: str) -> None:
        """Raise UsageError if another value says the same, apart from case, blanks and punctuation at its ends."""
        for value in self.listed():
            if value.id != identity and _said(value.text) == _said(text):
                raise UsageError(f"{value.id} says this already: `forget` it first, or say something else")

    def _proposed(self, cluster: Cluster) -> ValueProposal:
        """Propose what the members share: the sentence of the model, else the lesson that most members say."""
        _, entries = self._space(cluster.axis).select(cluster.members)
        lessons = [(entry.id, entry.lesson) for entry in entries if entry.lesson][:MAX_MEASURED]
        if not lessons or len(entries) < weights.FEWEST_MEMBERS:
            return ValueProposal(cluster, "", "", None)
        phrased, note = self._phrased([lesson for _, lesson in lessons])
        texts = [*phrased, *(self._clean(lesson[:VALUE_CHARACTERS]) for _, lesson in lessons)]
        validations = self._measured(texts, cluster.axis, cluster.members)[0]
        support = [len(saying) for saying in self._saying(texts, cluster.axis, entries)]
        usable = [
            place
            for place, validation in enumerate(validations)
            if validation.is_inside and support[place] >= weights.FEWEST_MEMBERS
        ]
        order = sorted(
            usable, key=lambda place: (place >= len(phrased), -support[place], validations[place].distance, place)
        )
        for best in order:
            member = "" if best < len(phrased) else lessons[best - len(phrased)][0]
            return ValueProposal(cluster, texts[best], member, validations[best], support[best], note)
        return ValueProposal(cluster, "", "", None, note=note)

    def _phrased(self, lessons: Sequence[str]) -> tuple[list[str], str]:
        """Return the sentence of the model as a list, and what went wrong; nothing where there is no model."""
        if self._phrase is None:
            return [], ""
        try:
            sentence = self._phrase(lessons)
            return [self._clean(sentence)] if sentence else [], ""
        except (ConfigError, JudgeError, MissingExtraError) as error:
            return [], f"{error}; a lesson is the example instead"


def _visibility(entries: Sequence[clustering.AxisEntry]) -> Visibility:
    """Return who may see what rests on these experiences: the team, if it sees all of them."""
    is_shared = all(entry.fields.get("visibility") == Visibility.TEAM for entry in entries)
    return Visibility.TEAM if is_shared else Visibility.PRIVATE


def _said(text: str) -> str:
    return " ".join(text.casefold().split()).strip(string.punctuation + " ")


def _axes(axis: str | None) -> Iterable[str]:
    return (parse_choice(Axis, axis, "axis"),) if axis else tuple(Axis)


def _by_centrality(space: clustering.Space, positions: Sequence[int]) -> list[str]:
    entries = [space.entries[place] for place in positions]
    vectors = space.vectors[list(positions)]
    nearness = vectors @ clustering.centre(vectors, [entry.weight for entry in entries])
    order = sorted(range(len(entries)), key=lambda place: (-float(nearness[place]), entries[place].id))
    return [entries[place].id for place in order]
