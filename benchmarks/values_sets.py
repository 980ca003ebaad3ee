"""Group five sets of natural experiences, by words, the table of words and MiniLM, and measure how pure the groups are.

    python benchmarks/values_sets.py --out benchmarks/results/values_sets.json

`values_sets.txt` holds five sets of five themes with ten experiences each, one a line. Of each set the even lines and
most odd ones are grouped; the last of each theme arrive later, to see whether the groups last.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from satchel import Satchel

EXPERIENCES = Path(__file__).with_name("values_sets.txt")
DOMAINS = {
    "d": "debugging", "r": "refactoring", "f": "feature", "t": "testing", "c": "configuration",
    "o": "documentation", "p": "performance", "s": "security", "i": "integration",
}  # fmt: skip
CAUSES = {
    "wa": "wrong-assumption", "mk": "missing-knowledge", "ov": "oversight", "en": "environment-issue",
    "ms": "misleading-symptom", "if": "incomplete-fix", "ws": "wrong-scope", "ti": "test-isolation",
    "tm": "timing-issue",
}  # fmt: skip


def sets() -> Mapping[str, list[dict[str, Any]]]:
    """Return the experiences of each set as lines of an export; the id begins with the theme."""
    found: dict[str, list[dict[str, Any]]] = {}
    name = theme = ""
    for row in EXPERIENCES.read_text("utf-8").splitlines():
        if row.startswith("="):
            _, name, theme = row.split()
        elif row and not row.startswith("#"):
            rows = found.setdefault(name, [])
            rows.append(_line(theme, len(rows), *row.split("|")))
    return found


def _line(theme: str, number: int, kind: str, goal: str, hypothesis: str, result: str, takeaway: str) -> dict[str, Any]:
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


def measured(groups: Sequence[Sequence[str]], count: int) -> dict[str, Any]:
    """Return purity (share of members of their group's largest theme), coverage and the sizes."""
    largest = [Counter(member.partition("_")[0] for member in group).most_common(1)[0] for group in groups]
    grouped = sum(map(len, groups))
    return {
        "groups": [f"{name} {size}/{len(group)}" for (name, size), group in zip(largest, groups, strict=True)],
        "themes": len({name for name, _ in largest}),
        "purity": round(sum(size for _, size in largest) / grouped, 3) if grouped else 0.0,
        "coverage": round(grouped / count, 3),
    }


def measure(rows: Sequence[dict[str, Any]], provider: str, folder: Path) -> dict[str, Any]:
    """Group all but the last of each theme, then all."""
    first = [row for number, row in enumerate(rows) if number % 10 != 9]
    later = [row for number, row in enumerate(rows) if number % 10 == 9]
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    with Satchel.open(folder, root=folder, settings={"embed.provider": provider}, environ=homes) as engine:
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
        **measured([one.members for one in before], len(first)),
        "later": measured([one.members for one in after], len(rows)),
        "kept_ids": f"{len(pairs)}/{len(before)}",
        "kept_members": round(sum(len(old & new) / len(old) for old, new in pairs) / max(len(before), 1), 3),
        "proposed": f"{len(inside)}/{len(after)}",
        "evidence": f"{sum(member.startswith(theme) for theme, member in said)}/{len(said)}",
    }


def main() -> None:
    """Measure in folders of their own, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file for the result")
    out = parser.parse_args().out
    result: dict[str, Any] = {}
    for provider, name in (("off", "words"), ("static", "table"), ("minilm", "vectors")):
        each = {}
        for one, rows in sets().items():
            with tempfile.TemporaryDirectory() as folder:
                each[one] = measure(rows, provider, Path(folder))
        means = {key: round(sum(row[key] for row in each.values()) / len(each), 3) for key in ("purity", "coverage")}
        later = {key: round(sum(row["later"][key] for row in each.values()) / len(each), 3) for key in means}
        result[name] = {**means, "later": later, "sets": each}
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text)
    if out:
        out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
