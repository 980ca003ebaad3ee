"""Tell statements that contradict an older one from those that repeat it, add to it, or are about something else.

    python benchmarks/contradictions.py --out benchmarks/results/contradictions.json

The 40 pairs of `contradictions.txt` and the 124 of `successors.txt` were written before the code that they measure.
The former go through the real memory too: it is asked what the newer statement contradicts while it has the older
statements of all pairs. Of the latter 20 have a plain later fact against a prohibition, which has to come first.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from options import keep, output
from stopwatch import homes

from satchel import Satchel
from satchel.search.contradictions import contradicts

PAIRS = Path(__file__).with_name("contradictions.txt")
SUCCESSORS = Path(__file__).with_name("successors.txt")


def pairs(path: Path = PAIRS) -> list[tuple[str, str, str]]:
    """Return mark, older and newer statement of each pair."""
    rows = [row for row in path.read_text("utf-8").splitlines() if row and not row.startswith("#")]
    return [(row[0], *(part.strip() for part in row[2:].split(" | "))) for row in rows]  # type: ignore[misc]


def measure() -> dict[str, Any]:
    """Return how many contradictions are right, missed or wrong, by pair and in one memory of all."""
    told = [(mark, old, new, contradicts(old, new)) for mark, old, new in pairs()]
    right = sum(mark == "x" and is_told for mark, *_, is_told in told)
    return {
        "pairs": len(told), "contradictions": sum(mark == "x" for mark, *_ in told),
        "precision": round(right / max(sum(is_told for *_, is_told in told), 1), 3),
        "recall": round(right / sum(mark == "x" for mark, *_ in told), 3),
        "missed": [f"{old} | {new}" for mark, old, new, is_told in told if mark == "x" and not is_told],
        "wrong": [f"{old} | {new}" for mark, old, new, is_told in told if mark != "x" and is_told],
    }  # fmt: skip


def measure_successors(root: Path) -> dict[str, Any]:
    """Return how many successors and compatible pairs are told as contradictions, and how many prohibitions stay first.

    Prohibitions are asked for in one memory, beside the later fact.
    """
    rows = pairs(SUCCESSORS)
    told = {mark: [contradicts(old, new) for one, old, new in rows if one == mark] for mark in "x-!"}
    kept = 0
    for number, (_, old, new) in enumerate(row for row in rows if row[0] == "!"):
        folder = root / str(number)
        folder.mkdir()
        with Satchel.open(folder, root=folder, settings={"embed.provider": "off"}, environ=homes(root)) as engine:
            first = engine.memories.add(old).memory.id
            second = engine.memories.add(new).memory.id
            found = {one.memory.id: one for one in engine.memories.search(new)}
            kept += next(iter(found)) == first and found[second].against == first and not found[first].newer
    return {
        "successors": f"{sum(told['x'])}/{len(told['x'])}",
        "compatible told": f"{sum(told['-'])}/{len(told['-'])}",
        "prohibitions told": f"{sum(told['!'])}/{len(told['!'])}",
        "prohibitions kept first": f"{kept}/{len(told['!'])}",
    }


def measure_memory(root: Path) -> dict[str, Any]:
    """Return the same for a memory of all older statements: the named one must be that of the pair."""
    with Satchel.open(root, root=root, settings={"embed.provider": "off"}, environ=homes(root)) as engine:
        for _, old, _ in pairs():
            engine.memories.add(old)
        named = [(mark, old, new, engine.memories.contradicted(new)) for mark, old, new in pairs()]
    right = sum(mark == "x" and any(one.content == old for one in found) for mark, old, _, found in named)
    asked = [(f"{new} | {one.content}", mark == "x" and one.content == old) for mark, old, new, found in named
             for one in found]  # fmt: skip
    return {
        "recall": round(right / sum(mark == "x" for mark, *_ in named), 3),
        "others": [text for text, is_its in asked if not is_its],
    }  # fmt: skip


def main() -> None:
    """Measure, and print and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=output, help="file for the result")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        told = {**measure(), "memory": measure_memory(Path(folder)), "successors": measure_successors(Path(folder))}
        keep(told, out)


if __name__ == "__main__":
    main()
