"""Values, and the groups of experiences that they rest on, as plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.calls.records import minute, safe

if TYPE_CHECKING:
    from satchel.learn.entries import Grouping, Member, Proposal, Validation, Value


def grouping_json(grouping: Grouping) -> dict[str, Any]:
    """The groups of an axis as plain values."""
    return {
        "axis": grouping.axis,
        "label": grouping.label,
        "entries": grouping.entries,
        "reason": grouping.reason,
        "clusters": [
            {"id": found.id, "size": len(found.members), "members": list(found.members)} for found in grouping.clusters
        ],
    }


def member_json(member: Member) -> dict[str, Any]:
    """A member as plain values."""
    return {"id": member.id, "text": safe(member.text), "similarity": round(member.similarity, 4), "tier": member.tier}


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """A proposal as plain values."""
    return {
        "cluster": proposal.cluster.id,
        "size": len(proposal.cluster.members),
        "text": safe(proposal.text),
        "member": proposal.member,
        "validation": None if proposal.validation is None else validation_json(proposal.validation),
    }


def validation_json(found: Validation) -> dict[str, Any]:
    """Distances as plain values."""
    return {
        "is_inside": found.is_inside,
        "candidate_distance": round(found.distance, 4),
        "mean": round(found.mean, 4),
        "std": round(found.deviation, 4),
        "threshold": round(found.threshold, 4),
        "similarity": round(found.similarity, 4),
    }


def value_json(value: Value) -> dict[str, Any]:
    """A value as plain values."""
    return {
        "id": value.id,
        "text": safe(value.text),
        "axis": value.axis,
        "cluster_id": value.cluster_id,
        "cluster_size": value.cluster_size,
        "similarity_to_centroid": value.similarity_to_centroid,
        "member_ids": list(value.member_ids),
        "domains": dict(value.domains),
        "strategies": dict(value.strategies),
        "label": value.label,
        "created": minute(value.created),
    }
