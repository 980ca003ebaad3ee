"""Which lines of the ranking check notice which fitted number: each halved alone, doubled alone, and switched off.

    python benchmarks/rank_table.py [--only search.K1] [--processes 2] [--out benchmarks/results/rank_table.json]

The projects of `tests/ranking` are indexed once in each process, and it is noted which numbers are read for each
question. Then one number is changed, all questions for which it is read are asked again, and it is changed back. A
change stays within the range of the number. A number whose range includes 0 is also switched off. The table lists the
lines that turn red; a number that no line notices may as well be deleted. With `--only` the table keeps the entries of
other numbers that still exist, as they were measured: a new question may add red lines to them, which the next whole
table has (ten minutes on two cores).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from options import output, positive  # noqa: E402 - found in the folder above

from satchel.fitted import Constant, changed, constants  # noqa: E402 - the tests are found from the root
from tests.ranking.doors import ask  # noqa: E402
from tests.ranking.expectations import problems  # noqa: E402
from tests.ranking.projects import OpenProject, Project, Question, all_projects, open_project  # noqa: E402

ROOMS = tuple(sorted(path.parent.name for path in (ROOT / "src" / "satchel").glob("*/weights.py")))
"""Rooms with fitted numbers of their own."""

OUT = ROOT / "benchmarks" / "results" / "rank_table.json"

LISTED = 12
"""Lines that the table names for one change; the others are counted."""

DIRECTIONS = ("halved", "doubled", "off")


class Change(NamedTuple):
    """One number of a room's weights with another value."""

    room: str
    constant: Constant
    direction: str
    value: float

    @property
    def name(self) -> str:
        """The number as the table names it: `search.FILE_WEIGHTS[history]`."""
        return name_of(self.room, self.constant)


def name_of(room: str, constant: Constant) -> str:
    """Return the name of a number: `search.FILE_WEIGHTS[history]`."""
    key = "" if constant.key is None else f"[{constant.key}]"
    return f"{room}.{constant.name}{key}"


def weights_of(room: str) -> ModuleType:
    """Return the module with the fitted numbers of a room."""
    return import_module(f"satchel.{room}.weights")


def numbers() -> Iterator[tuple[str, Constant]]:
    """Yield every fitted number with its room."""
    for room in ROOMS:
        for constant in constants(weights_of(room)):
            yield room, constant


def changes(only: str = "") -> Iterator[Change]:
    """Yield all changes of the numbers whose name begins with `only`; one that changes nothing is left out."""
    for room, constant in numbers():
        if not name_of(room, constant).startswith(only):
            continue
        value, low, high = constant.value, constant.low, constant.high
        others = {"halved": value / 2, "doubled": value * 2, **({"off": 0.0} if low == 0 and value else {})}
        for direction, other in others.items():
            within = min(max(other, low), high)
            within = round(within) if isinstance(value, int) else within
            if within != value:
                yield Change(room, constant, direction, within)


Number = tuple[str, str]
"""Room and name."""

_read: set[Number] = set()


class _Recorded(ModuleType):
    """A module of weights that notes which of its numbers are read."""

    def __getattribute__(self, name: str) -> Any:
        if name.isupper():
            _read.add((super().__getattribute__("__name__").split(".")[1], name))
        return super().__getattribute__(name)


class _Projects:
    """All projects, opened once for a process, with what reads each number.

    `asked` are the questions for which a number is read, `set_up` the projects that read one when they are opened, and
    `red` the lines that are red without any change.
    """

    def __init__(self) -> None:
        self.asked: defaultdict[Number, list[tuple[OpenProject, Question]]] = defaultdict(list)
        self.set_up: defaultdict[Number, list[Project]] = defaultdict(list)
        self.red: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix="rank-")
        modules = [weights_of(room) for room in ROOMS]
        for module in modules:
            module.__class__ = _Recorded
        for project in all_projects():
            _read.clear()
            opened = open_project(project, Path(self._folder.name))
            for number in _read:
                self.set_up[number].append(project)
            for question in project.questions:
                _read.clear()
                if problems(question, ask(opened, question)):
                    self.red.append(question.id)
                for number in _read:
                    self.asked[number].append((opened, question))
        for module in modules:
            module.__class__ = ModuleType


_projects: list[_Projects] = []


def _open() -> None:
    _projects.append(_Projects())


def _red_before(_place: int) -> list[str]:
    return _projects[0].red


def _measured(change: Change) -> tuple[Change, list[str]]:
    number = change.room, change.constant.name
    with changed(weights_of(change.room), change.constant.name, change.value, change.constant.key):
        asked = _projects[0].asked[number]
        red = {question.id for opened, question in asked if problems(question, ask(opened, question))}
        for project in _projects[0].set_up[number]:
            with tempfile.TemporaryDirectory(prefix="rank-") as folder:
                opened = open_project(project, Path(folder))
                with opened.satchel:
                    red |= {one.id for one in project.questions if problems(one, ask(opened, one))}
    return change, sorted(red)


def measure(only: str, processes: int) -> dict[str, Any]:
    """Return the entry of each number whose name begins with `only`. Raises SystemExit where a line is red before."""
    entries: dict[str, Any] = {
        name_of(room, one): {"value": one.value, "range": [one.low, one.high]}
        for room, one in numbers()
        if name_of(room, one).startswith(only)
    }
    with ProcessPoolExecutor(processes, initializer=_open) as pool:
        before = {line for red in pool.map(_red_before, range(processes)) for line in red}
        if before:
            raise SystemExit(f"red without any change: {', '.join(sorted(before))}")
        for change, red in pool.map(_measured, changes(only)):
            entry = {"to": change.value, "red": len(red), "lines": red[:LISTED]}
            entries[change.name][change.direction] = entry
            print(f"{change.name} {change.direction}: {len(red)} {' '.join(red[:3])}", flush=True)
    return entries


def summary(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many numbers are noticed, and the names of the others."""

    def is_noticed(entry: Mapping[str, Any], *directions: str) -> bool:
        return any(entry.get(direction, {}).get("red") for direction in directions)

    both = [name for name, entry in entries.items() if is_noticed(entry, "halved") and is_noticed(entry, "doubled")]
    either = [name for name, entry in entries.items() if is_noticed(entry, "halved", "doubled")]
    tried = sum(direction in entry for entry in entries.values() for direction in ("halved", "doubled"))
    noticed = sum(is_noticed(entry, direction) for entry in entries.values() for direction in ("halved", "doubled"))
    return {
        "numbers": len(entries),
        "noticed halved or doubled": len(either),
        "noticed both": len(both),
        "changes tried": tried,
        "changes noticed": noticed,
        "not noticed": sorted(entries.keys() - set(either)),
    }


def as_markdown(table: Mapping[str, Any]) -> str:
    """Return the table for a reader: for each number how many lines turn red, and one of them."""
    told = table["summary"]
    lines = [
        "# Which lines of the ranking check notice which number",
        "",
        "Written by `benchmarks/rank_table.py`. How many lines turn red where one number is changed; a dash",
        "is a change that its range does not allow.",
        "",
        f"Of {told['numbers']} fitted numbers {told['noticed halved or doubled']} turn a line red when halved or",
        f"doubled, {told['noticed both']} in both directions.",
        "",
        "| number | value | halved | doubled | off | a line that notices |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for name, entry in table["constants"].items():
        counts = [str(entry[one]["red"]) if one in entry else "-" for one in DIRECTIONS]
        named = [line for one in DIRECTIONS for line in entry.get(one, {}).get("lines", ())]
        lines.append(f"| `{name}` | {entry['value']:g} | {' | '.join(counts)} | {named[0] if named else ''} |")
    return "\n".join(lines) + "\n"


def _stored(parser: argparse.ArgumentParser, file: Path) -> dict[str, Any]:
    """Return the numbers of a stored table, none where there is no table yet."""
    try:
        table: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"constants": {}}
        found: dict[str, Any] = table["constants"]
    except (ValueError, KeyError, TypeError):
        parser.error(f"{file} is not a table that this script wrote: give another --out, or remove it")
    return found


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the beginning of a name, as in 'search.FILE_WEIGHTS[history]'")
    parser.add_argument("--processes", type=positive, default=2)
    parser.add_argument("--out", type=output, default=OUT)
    options = parser.parse_args()
    values = {name_of(room, one): one.value for room, one in numbers()}
    if not any(name.startswith(options.only) for name in values):
        parser.error(f"no number begins with {options.only!r}, as {min(values)} does")
    begun = time.perf_counter()
    stored = _stored(parser, options.out)
    entries = measure(options.only, options.processes)
    every = {name: entries.get(name) or stored.get(name) for name in values}
    told = {
        "dropped, because they are gone": sorted(stored.keys() - values.keys()),
        "not measured yet": [name for name, entry in every.items() if not entry],
        "measured with another value": [
            name for name, entry in every.items() if entry and entry["value"] != values[name]
        ],
    }
    for what, names in told.items():
        if names:
            print(f"{what}: {', '.join(names)}", file=sys.stderr)
    table = {
        "questions": sum(len(project.questions) for project in all_projects()),
        "summary": summary({name: entry for name, entry in every.items() if entry}),
        "constants": {name: entry for name, entry in every.items() if entry},
    }
    options.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    options.out.with_suffix(".md").write_text(as_markdown(table), encoding="utf-8")
    print(json.dumps(table["summary"], indent=1), f"\n{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
