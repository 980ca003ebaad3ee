"""Group natural experiences by their words, and measure whether the groups are pure and last.

    python benchmarks/values.py --out benchmarks/results/values.json

`values_experiences.txt` holds 65 experiences in three themes, one a line; those after `# later` arrive afterwards. They
go through the real import, are grouped in the default install (without vectors), and proposals are accepted as values.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.errors import UsageError
from satchel.memory.model import Cluster

EXPERIENCES = Path(__file__).with_name("values_experiences.txt")
NAMES = (
    *("theme", "domain", "strategy", "status", "goal", "hypothesis", "action", "prediction", "result"),
    *("cause", "takeaway"),
)
PURE = 0.8
"""Share of the largest theme from which a group is one of that theme."""


def lines() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the first experiences and the later ones, as lines of an export; the id begins with the theme."""
    first, _, later = EXPERIENCES.read_text("utf-8").partition("# later\n")
    return tuple([_line(*row) for row in enumerate(_rows(text))] for text in (first, later))  # type: ignore[return-value]


def _rows(text: str) -> list[str]:
    return [row for row in text.splitlines() if row and not row.startswith("#")]


def _line(number: int, row: str) -> dict[str, Any]:
    fields = dict(zip(NAMES, row.split("|"), strict=True))
    category, _, description = fields["cause"].partition(": ")
    outcome = {"status": fields["status"], "result": fields["result"]}
    moment = f"2026-01-{1 + number % 28:02d}T{number % 24:02d}:00:00Z"
    cause = {"category": category, "description": description}
    return {
        **{name: fields[name] for name in NAMES[1:8] if name != "status"},
        "type": "experience", "id": f"{fields['theme']}_{len(row)}_{number:02d}", "created_at": moment,
        "outcome": outcome,
        "root_cause": cause if category and fields["status"] == "falsified" else None,
        "lesson": {"what_worked": fields["takeaway"]} if fields["takeaway"] else None,
    }  # fmt: skip


def theme(members: Sequence[str]) -> tuple[str, float]:
    """Return the most frequent theme of some experiences, and its share."""
    name, count = Counter(member.partition("_")[0] for member in members).most_common(1)[0]
    return name, count / len(members)


def described(clusters: Sequence[Cluster]) -> list[dict[str, Any]]:
    """Return what is in each group."""
    rows = [(cluster, *theme(cluster.members)) for cluster in clusters]
    return [
        {"id": cluster.id, "size": len(cluster.members), "theme": name, "purity": round(share, 3)}
        for cluster, name, share in rows
    ]


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of common members."""
    return len({*one} & {*other}) / len({*one} | {*other})


def _put(engine: Satchel, rows: Sequence[dict[str, Any]]) -> None:
    report = engine.import_memory([json.dumps(row).encode() for row in rows], here=True)
    assert (report.added, report.problems) == (len(rows), ())


def measure(root: Path) -> dict[str, Any]:
    """Return the groups of the first experiences, those after the later ones, and what became of the values."""
    first, later = lines()
    homes = {f"XDG_{name}_HOME": str(root / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    with Satchel.open(root, root=root, settings={"embed.provider": "off"}, environ=homes) as engine:
        _put(engine, first)
        (before,) = engine.values.cluster("full")
        proposals = engine.values.propose(axis="full")
        texts = {one.cluster.id: one.text for one in proposals if one.validation and one.validation.is_inside}
        values = [engine.values.accept(text, cluster) for cluster, text in texts.items()]
        refused = _refused(engine, values[0].text, values[0].cluster_id) if values else False
        _put(engine, later)
        (after,) = engine.values.cluster("full")
        ids = {cluster.id: cluster for cluster in after.clusters}
        kept = [(old, ids[old.id]) for old in before.clusters if old.id in ids]
        evidence = [engine.experiences.get(member) for value in engine.values.listed() for member in value.member_ids]
        return {
            "experiences": len(first), "label": before.label, "groups": described(before.clusters),
            "grouped": sum(len(cluster.members) for cluster in before.clusters),
            "proposed": {theme(value.member_ids)[0]: value.text for value in values},
            "same_sentence_is_refused": refused, "later": len(later), "groups_later": described(after.clusters),
            "kept_ids": len(kept), "overlap": [round(jaccard(old.members, new.members), 3) for old, new in kept],
            "values_with_a_group": sum(bool(engine.values.find(value.cluster_id)) for value in engine.values.listed()),
            "values": len(values), "evidence": len(evidence),
        }  # fmt: skip


def _refused(engine: Satchel, text: str, cluster: str) -> bool:
    try:
        engine.values.accept(text, cluster)
    except UsageError:
        return True
    return False


def main() -> None:
    """Measure in a folder of its own, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file for the result")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(measure(Path(folder)), indent=1, ensure_ascii=False)
    print(text)
    if out:
        out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
