"""Whether statements of real answers are true: counts of calls, absence, completeness, and promised budgets.

    python benchmarks/statements.py FOLDER REPOSITORY... [--lists N] [--questions N] [--out results/statements.json]

FOLDER has clones of these repositories. Functions and words are drawn by seed. What is checked, against a search of the
text with git or a second answer:

* listed: each line below `Call sites of X` and `not resolved` contains X, or a name that X is imported as
* complete: of a name that is defined once, each line of production code that git finds and that is no comment or
  declaration is listed
* not found: no tracked text, drawings apart, has the word; and a word that a text has is not said to be missing
* everything relevant is shown: twice the budget shows the same items
* tokens: the footer counts the text, and it is within the budget
* budget: what `why` and the rows left out promise for a budget is shown with it, in read, find and edit
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from options import output

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "src"))

if TYPE_CHECKING:
    from satchel import Satchel
    from satchel.search.resolve.code import CodeDefinition
    from satchel.types import ContextItem, Location

PURPOSES = ("read", "find", "edit")
BUDGET = 2_000
_PLACE = re.compile(
    r"([^\s;:][^;:]*): ((?:possible |named )?\d[\d, ]*(?:and \d+ more)?(?:; (?:possible|named) [\d, ]+)*)"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{4,}")
_SPOKEN = re.compile(r"\s*(?://|#|\*|/\*|--|;|<!--|%|\"\"\")")


class Statement(NamedTuple):
    """One statement: its kind, the question, what is said, and what is false about it, empty where nothing is."""

    kind: str
    question: str
    said: str
    fault: str = ""


class Texts:
    """The tracked texts of a repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
        self.paths = [path for path in done.stdout.split("\0") if path]
        self._lines: dict[str, list[str]] = {}

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file, none of one that is no text."""
        if path not in self._lines:
            try:
                self._lines[path] = (self.root / path).read_text(encoding="utf-8").split("\n")
            except (OSError, UnicodeDecodeError):
                self._lines[path] = []
        return self._lines[path]

    def grep(self, word: str) -> list[tuple[str, int]]:
        """Return the places of a word of any case."""
        command = ["git", "grep", "-nwiI", "-e", word]
        found = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False, errors="replace")
        rows = (re.match(r"(.+?):(\d+):", line) for line in found.stdout.split("\n"))
        return [(row[1], int(row[2])) for row in rows if row is not None]


def definitions(satchel: Satchel, texts: Texts, seed: str, count: int) -> list[CodeDefinition]:
    """Return functions of production code whose names are on 3 to 60 lines, drawn by seed."""
    from satchel.search.resolve.code import Code
    from satchel.sources.roles import is_secondary

    lines = (line for path in texts.paths if not is_secondary(path) for line in texts.lines(path))
    words = sorted({word for line in lines for word in _WORD.findall(line)})
    random.Random(seed).shuffle(words)
    drawn: list[CodeDefinition] = []
    with satchel.store.snapshot() as store:
        code = Code(store)
        for word in words:
            named = [one for one in code.defined(word) if not is_secondary(one.path)]
            if not named or not code.is_function(named[0]) or not 3 <= len(texts.grep(word)) <= 60:
                continue
            drawn.append(named[0])
            if len(drawn) == count:
                break
    return drawn


def of_lists(satchel: Satchel, texts: Texts, chosen: list[CodeDefinition]) -> Iterator[Statement]:
    """Yield the statements of lists of calls."""
    from satchel.search.relations import Relations

    for one in chosen:
        question = f"what breaks if I rename {one.qualified}"
        told = satchel.assemble(question, refresh=False).text.partition("\n## ")[0]
        with satchel.store.snapshot() as store:
            relations = Relations(store)
            same = relations.code.defined(one.name)
            names = {one.name} | relations._aliases(one)
        places = set()
        for line in told.split("\n"):
            if not line.startswith("- "):
                continue
            for path, numbers in _PLACE.findall(line.removeprefix("- ").partition("not resolved: ")[2] or line[2:]):
                lines = [int(number) for number in re.findall(r"\d+", re.sub(r"and \d+ more", "", numbers))]
                places |= {(path, number) for number in lines}
                texted = texts.lines(path)
                wrong = [n for n in lines if not (n <= len(texted) and any(name in texted[n - 1] for name in names))]
                fault = f"{path}: {wrong} without the name" if wrong and "Implementations" not in told else ""
                yield Statement("listed", question, f"{path}: {numbers}", fault)
        if len(same) == 1 and "more" not in told.replace("more line", ""):
            yield Statement("complete", question, told.split("\n")[2][:100], _missing(texts, one, places))


def _missing(texts: Texts, one: CodeDefinition, places: set[tuple[str, int]]) -> str:
    """Return the lines of production code with the name and a bracket that are not listed."""
    from satchel.sources.roles import is_secondary

    call = re.compile(rf"(?<![\w$]){re.escape(one.name)}\s?\(")
    missing = []
    for path, number in texts.grep(one.name):
        text = texts.lines(path)[number - 1] if number <= len(texts.lines(path)) else ""
        is_own = path == one.path and number == one.line
        is_code = not is_secondary(path) and not re.search(r"\.(md|rst|txt|adoc|api|html|json|lock|neon|svg)$", path)
        is_code = is_code and "/" + path.rpartition("/")[2].lower() not in {"/changelog", "/news"}
        if is_code and not is_own and call.search(text) and not _SPOKEN.match(text) and (path, number) not in places:
            missing.append(f"{path}:{number} {text.strip()[:80]}")
    return "; ".join(missing)


def of_absence(satchel: Satchel, texts: Texts, seed: str, count: int) -> Iterator[Statement]:
    """Yield statements about words: names that do not occur, and names that do."""
    generator = random.Random(f"{seed} absence")
    syllables = ("zor", "blin", "qua", "fex", "mund", "tral", "vik", "osp")
    some = sorted(texts.paths)[:: max(len(texts.paths) // 200, 1)]
    words = [word for path in some for line in texts.lines(path)[:200] for word in _WORD.findall(line)]
    invented = ["".join(generator.choices(syllables, k=3)) for _ in range(count)]
    for word in (*invented, *generator.sample(sorted(set(words)), min(count, len(set(words))))):
        question = f"where is {word} defined"
        said = re.search(r"^Not found here: (.*)\.$", satchel.assemble(question, refresh=False).text, re.M)
        is_told, found = bool(said and word.lower() in said[1].lower()), texts.grep(word)
        if is_told:
            found = [place for place in found if not place[0].endswith(".svg")]
            yield Statement("not found", question, said[0] if said else "", str(found[:3]) if found else "")
        elif not found:
            yield Statement("not found", question, "not said", "")
        else:
            yield Statement("found", question, "not said to be missing")


def of_budgets(satchel: Satchel, chosen: list[CodeDefinition]) -> Iterator[Statement]:
    """Yield what answers say about their tokens and about what another budget would show."""
    from satchel.tokens import counter
    from satchel.types import Location

    for number, one in enumerate(chosen):
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|[._]", " ", one.qualified).lower()
        question, purpose = f"how does {words} work", PURPOSES[number % len(PURPOSES)]
        first = satchel.assemble(question, refresh=False, purpose=purpose, max_tokens=BUDGET)
        used = counter(first.usage.tokenizer).count(first.text)
        fault = "" if used == first.usage.used <= BUDGET else f"{used} counted"
        yield Statement("tokens", question, f"{first.usage.used} of {BUDGET}", fault)
        if not first.usage.stopped:
            again = satchel.assemble(question, refresh=False, purpose=purpose, max_tokens=2 * BUDGET)
            shown, more = ({item.id for item in each.items} for each in (first, again))
            fault = f"with {2 * BUDGET}: {sorted(more - shown)[:3]}" if more - shown else ""
            yield Statement("everything", question, "everything relevant is shown", fault)
        promised = [
            (row.id, Location(row.path, row.start, row.start), row.budget)
            for row in first.overflow
            if row.budget > BUDGET
        ][:2]
        options = {"purpose": purpose, "max_tokens": BUDGET}
        standings = satchel.why(one.qualified, question, refresh=False, **options)
        promised += [(row.id, Location(one.path, one.line, one.line), row.budget) for row in standings if row.budget][
            :1
        ]
        for identity, location, budget in promised:
            again = satchel.assemble(question, refresh=False, purpose=purpose, max_tokens=budget)
            fault = "" if any(_shows(item, identity, location) for item in again.items) else "not shown with it"
            yield Statement(f"budget, {purpose}", question, f"{identity}: {budget} tokens", fault)


def _shows(item: ContextItem, identity: str, location: Location | None) -> bool:
    """Return whether an item is this entity, or has its first line."""
    if item.id == identity or identity in item.origins:
        return True
    is_file = location is not None and item.location is not None and item.location.path == location.path
    return is_file and any(start <= location.start_line <= end for start, end in item.spans)  # type: ignore[union-attr]


def statements(root: Path, lists: int, questions: int) -> Iterator[Statement]:
    """Yield the statements of the answers about one repository."""
    from satchel import Satchel

    with tempfile.TemporaryDirectory() as home, Satchel.open(root, environ={"SATCHEL_HOME": home}) as satchel:
        satchel.index()
        texts = Texts(root)
        chosen = definitions(satchel, texts, root.name, lists + questions)
        yield from of_lists(satchel, texts, chosen[:lists])
        yield from of_absence(satchel, texts, root.name, max(questions // 2, 1))
        yield from of_budgets(satchel, chosen[lists:])


def main() -> None:
    """Check, print the false statements, and store the counts where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--lists", type=int, default=4)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    false: list[dict[str, str]] = []
    for name in given.repositories:
        for one in statements((given.folder / name).resolve(), given.lists, given.questions):
            counts[one.kind] += 1
            if one.fault:
                false.append({"repository": name, **one._asdict()})
                print(json.dumps(false[-1], ensure_ascii=False), flush=True)
        print(name, sum(counts.values()), "statements,", len(false), "false", flush=True)
    result = {"repositories": given.repositories, "statements": dict(sorted(counts.items())), "false": false}
    print(json.dumps(result["statements"]))
    if given.out:
        given.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
