"""Group natural experiences, and measure whether the groups are pure and last.

    python benchmarks/values.py --out benchmarks/results/values.json

`values_experiences.txt` holds 65 experiences in three themes, one a line; those after `# later` arrive afterwards. They
go through the real import, are grouped without vectors, and proposals are accepted as values. `values_sets.txt` holds
five sets of five themes with ten experiences each; all but the last of each theme are grouped, by words, by the table
of words and by MiniLM, and the last arrive later, to see whether the groups last.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from options import keep, output
from stopwatch import homes

from satchel import Satchel
from satchel.errors import UsageError
from satchel.memory.model import Cluster

EXPERIENCES = Path(__file__).with_name("values_experiences.txt")
SETS = Path(__file__).with_name("values_sets.txt")
DOMAINS = {
    "d": "debugging", "r": "refactoring", "f": "feature", "t": "testing", "c": "configuration",
    "o": "documentation", "p": "performance", "s": "security", "i": "integration",
}  # fmt: skip
CAUSES = {
    "wa": "wrong-assumption", "mk": "missing-knowledge", "ov": "oversight", "en": "environment-issue",
    "ms": "misleading-symptom", "if": "incomplete-fix", "ws": "wrong-scope", "ti": "test-isolation",
    "tm": "timing-issue",
}  # fmt: skip
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
    settings = {"embed.provider": "off"}
    with Satchel.open(root, root=root, settings=settings, environ=homes(root)) as engine:
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


def sets() -> Mapping[str, list[dict[str, Any]]]:
    """Return the experiences of each set as lines of an export; the id begins with the theme."""
    found: dict[str, list[dict[str, Any]]] = {}
    name = theme = ""
    for row in SETS.read_text("utf-8").splitlines():
        if row.startswith("="):
            _, name, theme = row.split()
        elif row and not row.startswith("#"):
            rows = found.setdefault(name, [])
            rows.append(_set_line(theme, len(rows), *row.split("|")))
    return found


def _set_line(
    theme: str, number: int, kind: str, goal: str, hypothesis: str, result: str, takeaway: str
) -> dict[str, Any]:
    domain, cause = kind.split()
    is_confirmed = cause == "+"
    return {
        "type": "experience", "id": f"{theme}_{number:02d}", "domain": DOMAINS[domain], "strategy": "check-assumptions",
        "created_at": f"2026-01-{1 + number % 28:02d}T{number % 24:02d}:00:00Z", "goal": goal,
        "hypothesis": hypothesis, "action": "Looked at it step by step", "prediction": "It shows",
        "outcome": {"status": "confirmed" if is_confirmed else "falsified", "result": result},
        "root_cause": None if is_confirmed else {"category": CAUSES[cause], "description": result},
        "lesson": {"what_worked": takeaway},
    }  # fmt: skip


def pure(groups: Sequence[Sequence[str]], count: int) -> dict[str, Any]:
    """Return purity (share of members of their group's largest theme), coverage and the sizes."""
    largest = [Counter(member.partition("_")[0] for member in group).most_common(1)[0] for group in groups]
    grouped = sum(map(len, groups))
    return {
        "groups": [f"{name} {size}/{len(group)}" for (name, size), group in zip(largest, groups, strict=True)],
        "themes": len({name for name, _ in largest}),
        "purity": round(sum(size for _, size in largest) / grouped, 3) if grouped else 0.0,
        "coverage": round(grouped / count, 3),
    }


def measured_set(rows: Sequence[dict[str, Any]], provider: str, folder: Path) -> dict[str, Any]:
    """Group all but the last of each theme, then all."""
    first = [row for number, row in enumerate(rows) if number % 10 != 9]
    later = [row for number, row in enumerate(rows) if number % 10 == 9]
    settings = {"embed.provider": provider}
    with Satchel.open(folder, root=folder, settings=settings, environ=homes(folder)) as engine:
        states = []
        for part in (first, later):
            engine.import_memory([json.dumps(row).encode() for row in part], here=True)
            engine.embed()
            states += engine.values.cluster("full")
        before, after = (state.clusters for state in states)
        inside = [one for one in engine.values.propose(axis="full") if one.validation and one.validation.is_inside]
        accepted = [(one, engine.values.accept(one.text, one.cluster.id)) for one in inside]
    said = [(one.member.partition("_")[0], member) for one, value in accepted for member in value.member_ids]
    kept = {one.id: {*one.members} for one in after}
    pairs = [(set(one.members), kept[one.id]) for one in before if one.id in kept]
    return {
        **pure([one.members for one in before], len(first)),
        "later": pure([one.members for one in after], len(rows)),
        "kept_ids": f"{len(pairs)}/{len(before)}",
        "kept_members": round(sum(len(old & new) / len(old) for old, new in pairs) / max(len(before), 1), 3),
        "proposed": f"{len(inside)}/{len(after)}",
        "evidence": f"{sum(member.startswith(theme) for theme, member in said)}/{len(said)}",
    }


def all_sets() -> dict[str, Any]:
    """Group the five sets by words, by the table and by MiniLM, each in a folder of its own."""
    result: dict[str, Any] = {}
    for provider, name in (("off", "words"), ("static", "table"), ("minilm", "vectors")):
        each = {}
        for one, rows in sets().items():
            with tempfile.TemporaryDirectory() as folder:
                each[one] = measured_set(rows, provider, Path(folder))
        means = {key: round(sum(row[key] for row in each.values()) / len(each), 3) for key in ("purity", "coverage")}
        later = {key: round(sum(row["later"][key] for row in each.values()) / len(each), 3) for key in means}
        result[name] = {**means, "later": later, "sets": each}
    return result


def main() -> None:
    """Measure in folders of their own, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=output, help="file for the result")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        keep({"three themes": measure(Path(folder)), "five sets": all_sets()}, out)


if __name__ == "__main__":
    main()
