"""Groups of experiences and the values that they teach, as plain values, and a value as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from satchel import text as words
from satchel.learn.times import iso_time
from satchel.store.extract import extract_record
from satchel.store.records import Bundle, NewBundle
from satchel.types import EdgeType, Kind, Reference


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of experiences. `members` are their ids, the most central first."""

    id: str
    axis: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """How a text stands to a group: cosine distances (0 to 2), `threshold` is the largest that belongs to it."""

    distance: float
    mean: float
    deviation: float
    threshold: float

    @property
    def is_inside(self) -> bool:
        """Whether the text belongs to the group."""
        return self.distance <= self.threshold

    @property
    def similarity(self) -> float:
        """Cosine of the text and the centre, -1 to 1."""
        return 1.0 - self.distance


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of one axis. `label` names the space; `reason` says why there are none, empty if there are."""

    axis: str
    label: str
    entries: int
    clusters: tuple[Cluster, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """One experience of a group: what it says on the axis, and its cosine to the centre."""

    id: str
    text: str
    similarity: float
    tier: str


@dataclass(frozen=True, slots=True)
class Value:
    """One accepted value. `similarity_to_centroid` is a cosine; `cluster_size` as it was accepted."""

    id: str
    text: str
    axis: str
    cluster_id: str
    cluster_size: int
    similarity_to_centroid: float
    member_ids: tuple[str, ...]
    domains: Mapping[str, int]
    strategies: Mapping[str, int]
    label: str
    workspace: str
    created: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """A sentence for a group: the lesson of one of its most central members, and whether it would be accepted."""

    cluster: Cluster
    text: str
    member: str
    validation: Validation | None


def value_bundle(value: Value) -> NewBundle:
    """A value to be written, with an edge to each experience that it rests on."""
    return NewBundle(
        kind=Kind.VALUE,
        key=value.id,
        text=value.text,
        extraction=extract_record(value.text, Kind.VALUE),
        path_terms=words.count_terms(words.words(" ".join((*value.domains, *value.strategies)))),
        title=value.text[:100],
        fields={**value_data(value), "created_at": iso_time(value.created)},
        references=tuple(Reference(EdgeType.EVIDENCE, f"{Kind.EXPERIENCE}:{member}") for member in value.member_ids),
        created=value.created,
        updated=value.created,
        origin="values",
        workspace=value.workspace,
    )


def value_line(value: Value) -> dict[str, Any]:
    """A value for an export: what it says and rests on; the rest is measured again where it is imported."""
    return {
        "type": Kind.VALUE.value,
        "id": value.id,
        "content": value.text,
        "axis": value.axis,
        "cluster_id": value.cluster_id,
        "member_ids": list(value.member_ids),
        "created_at": iso_time(value.created),
        "workspace": value.workspace,
    }


def value_data(value: Value) -> dict[str, Any]:
    """The fields of a value as plain JSON values, without its text."""
    data = asdict(replace(value, domains=dict(value.domains), strategies=dict(value.strategies)))
    del data["text"], data["id"], data["created"]
    return {**data, "member_ids": list(value.member_ids)}


def value_of(bundle: Bundle, text: str) -> Value:
    """The value that a stored bundle is."""
    fields = bundle.fields
    return Value(
        id=bundle.key,
        text=text,
        axis=fields["axis"],
        cluster_id=fields["cluster_id"],
        cluster_size=fields["cluster_size"],
        similarity_to_centroid=fields["similarity_to_centroid"],
        member_ids=tuple(fields["member_ids"]),
        domains=fields["domains"],
        strategies=fields["strategies"],
        label=fields["label"],
        workspace=bundle.workspace,
        created=bundle.created,
    )
