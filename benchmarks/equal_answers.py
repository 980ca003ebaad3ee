"""Ask two versions the same questions in every way: are the answers the same, byte for byte.

    python benchmarks/equal_answers.py prepare TREE FOLDER                 # once: a clone, notes, a memory
    PYTHONPATH=OLD/src python benchmarks/equal_answers.py ask FOLDER old.json
    PYTHONPATH=NEW/src python benchmarks/equal_answers.py ask FOLDER new.json
    python benchmarks/equal_answers.py compare old.json new.json --out benchmarks/results/equal_answers.json

300 questions (names of functions, subjects of commits, plain words) for each of three purposes, with one of four
formats and three budgets;
sessions of five questions; situations; changes; graphs of code and of notes; two workspaces together; briefs and
premortems. Text, items, omissions, failures and references of each answer are compared. Only the public API is used, so
that any two versions run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

MOMENT = 1_790_000_000.0
QUESTIONS, FORMATS, BUDGETS = 300, ("markdown", "plain", "xml", "json"), (500, 1_500, 4_000)
PURPOSES = ("find", "read", "edit")
LESSONS = (
    ("debugging", "tests fail only on the second run", "the cache outlived the process", "the cache needs a key"),
    ("performance", "the first question is slow", "imports cost more than the search", "imports are late"),
    ("debugging", "two processes wrote at once", "the lock was taken too late", "the lock comes first"),
)


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command and return what it prints."""
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def environment(home: Path) -> dict[str, str]:
    """The variables of an engine that keeps everything in `home`. Nothing ends early, however busy the machine."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "SATCHEL_HOME": str(home), "SATCHEL_KEY": "7" * 64,
        "SATCHEL_GRAPH_DEADLINE_S": "60", "SATCHEL_CONTEXT_GATHER_DEADLINE_S": "60",
    }  # fmt: skip


def prepare(tree: Path, folder: Path) -> None:
    """Clone the tree, write notes, name two workspaces, and fill a memory."""
    from satchel import Satchel
    from satchel.config import Folders
    from satchel.system.locations import Registry

    folder.mkdir(parents=True)
    run("git", "clone", "-q", str(tree), str(folder / "tree"))
    notes = folder / "notes"
    subjects = subjects_of(folder / "tree")
    for number, subject in enumerate(subjects[:60]):
        tag = subject.split()[0].lower()
        text = f"---\ntags: [{tag}]\n---\n# {subject}\n\nSee [[note{number // 2}]].\n\n- [ ] review\n"
        path = notes / f"note{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    variables = environment(folder / "home")
    registry = Registry(Folders.from_environment(variables))
    registry.add("code", folder / "tree")
    registry.add("notes", notes)
    (folder / "tree" / "context.yaml").write_text(
        json.dumps({"metadata": {"name": "Tree"}, "behavior_rules": {"always": subjects[:9]}}), encoding="utf-8"
    )
    with Satchel.open(root=folder / "tree", environ=variables) as engine:
        for subject in subjects[:40]:
            engine.memories.add(f"Decided after a long talk: {subject}", category="decision")
        for number in range(12):
            domain, problem, cause, lesson = LESSONS[number % 3]
            engine.experiences.start(
                domain=domain, strategy="systematic-elimination", goal=f"Find why {problem} ({number})",
                hypothesis=cause, action="read the log", prediction="it stops",
            )  # fmt: skip
            engine.experiences.resolve(
                status="falsified", result=problem, surprise=f"{cause} again", lesson=lesson,
                root_cause="wrong-assumption", root_cause_description=cause,
            )  # fmt: skip


def subjects_of(tree: Path) -> list[str]:
    """Subjects of commits, newest first, each once."""
    return list(dict.fromkeys(filter(None, run("git", "log", "--format=%s", cwd=tree).splitlines())))


def questions(tree: Path) -> list[str]:
    """300 questions: names of functions, subjects of commits, and plain sentences made from both."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted((tree / "src").rglob("*.py"))]
    names = list(dict.fromkeys(name for text in texts for name in re.findall(r"def (\w{6,})", text)))
    subjects = subjects_of(tree)
    made = []
    for number in range(QUESTIONS // 4):
        name, other = names[number * 7 % len(names)], names[number * 11 % len(names)]
        made += [
            f"{name.replace('_', ' ')} and {other.replace('_', ' ')}", subjects[number * 5 % len(subjects)],
            f"what breaks if I change `{name}`?", f"why was {subjects[number * 3 % len(subjects)].lower()}",
        ]  # fmt: skip
    return made


def shown(context: Any) -> str:
    """Everything of an answer that a user or a program can see, except times and revisions."""
    items = [
        [item.id, item.source, item.title, item.content, item.relevance, item.tokens, item.handle, str(item.spans)]
        for item in context.items
    ]
    rest = [
        context.usage, context.overflow, context.failures, context.shown_before, context.sources_used,
        [context.meta.get(name) for name in ("strength", "weak", "missing_terms", "callers", "needed_tokens")],
    ]  # fmt: skip
    return "\n".join([context.text, json.dumps(items), *map(repr, rest)])


def answers(folder: Path, home: Path, every: int = 1) -> Iterator[tuple[str, Any]]:  # noqa: C901 - a list of ways, one after the other
    """Every way of asking, with its name and its answer."""
    from satchel import Satchel

    tree, asked, variables = folder / "tree", questions(folder / "tree"), environment(home)

    def some(count: int, first: int = 0, step: int = 1) -> list[tuple[int, str]]:
        return [*enumerate(asked[first:count:step])][::every]

    options: dict[str, Any] = {"refresh": False, "now": MOMENT}
    with Satchel.open(root=tree, environ=variables) as engine:
        engine.index()
        for number, question in some(QUESTIONS):
            budget, form = BUDGETS[number % 3], FORMATS[number % 4]
            for purpose in PURPOSES:
                answer = engine.assemble(question, purpose=purpose, format=form, max_tokens=budget, **options)
                yield f"{purpose} {number} {form} {budget}", answer
        for number, question in some(120):
            given: tuple[dict[str, Any], ...] = (
                {"types": ["code", "commits"]}, {"purpose": "edit"}, {"related": True, "show_sources": True},
                {"include": ["README.md:1-20"], "exclude": ["tests/*"]}, {"fill": True, "max_tokens": 8_000},
                {"types": ["memories", "experiences"]}, {"show_code": False}, {"max_tokens": 120},
            )  # fmt: skip
            chosen = given[number % len(given)]
            yield f"option {number} {[*chosen]}", engine.assemble(question, **{"max_tokens": 2_000} | options | chosen)
        for number in range(0, 20, every):
            for step, question in enumerate(asked[number : number + 15 : 3]):
                answer = engine.assemble(question, session=f"s{number}", max_tokens=1_500, **options)
                yield f"session {number} {step}", answer
        paths = sorted(path.relative_to(tree).as_posix() for path in (tree / "src").rglob("*.py"))
        for number, question in some(60):
            moment = {"task": question, "files": [paths[number % len(paths)]]}
            yield f"situation {number}", engine.situation(moment, max_tokens=BUDGETS[number % 3], **options)
        for number, question in some(100):
            yield f"graph {number}", engine.graph(question, max_tokens=BUDGETS[number % 3], **options)
        for number in range(6):
            request = engine.request(asked[number], max_tokens=3_000, now=MOMENT)
            about, notes = engine.answers.about_change(request, f"HEAD~{number + 1}", is_asked=bool(number % 2))
            yield f"change {number}", engine.answer(about, notes)
        for number in range(4):
            yield f"brief {number}", engine.brief((None, *asked)[number], now=MOMENT, refresh=False)
            domain = ("debugging", "performance")[number % 2]
            yield f"premortem {number}", engine.premortem(domain, now=MOMENT, max_tokens=BUDGETS[number % 3])
        for number, question in some(60):
            answer = engine.assemble(question, workspace="code,notes", format=FORMATS[number % 4], **options)
            yield f"workspaces {number}", answer
    with Satchel.open(root=folder / "notes", environ=variables) as engine:
        engine.index()
        for number, question in some(QUESTIONS, 1, 4):
            yield f"notes {number}", engine.assemble(question, max_tokens=1_500, **options)
            yield f"graph of notes {number}", engine.graph(question, max_tokens=1_500, **options)


def ask(folder: Path, out: Path, every: int) -> None:
    """Ask each `every`-th question with a copy of the home folder; store a digest of each answer, its text beside."""
    with tempfile.TemporaryDirectory(prefix="satchel-equal-") as name:
        home = Path(name) / "home"
        shutil.copytree(folder / "home", home)
        rows = {name: shown(context) for name, context in answers(folder, home, every)}
    digests = {name: blake2b(text.encode(), digest_size=12).hexdigest() for name, text in rows.items()}
    out.write_text(json.dumps({"digests": digests, "bytes": sum(map(len, rows.values()))}), encoding="utf-8")
    out.with_suffix(".texts.json").write_text(json.dumps(rows), encoding="utf-8")
    print(f"{len(rows):,} answers, {sum(map(len, rows.values())):,} characters")


def compare(old: Path, new: Path, out: Path | None) -> int:
    """Print and store how many answers differ, by the way of asking; returns 1 if any does."""
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
    rows: dict[str, dict[str, Any]] = {}
    for name, digest in before["digests"].items():
        row = rows.setdefault(re.sub(r" \d.*", "", name), {"answers": 0, "different": []})
        row["answers"] += 1
        row["different"] += [name] if after["digests"].get(name) != digest else []
    result = {"answers": len(before["digests"]), "characters": before["bytes"], "ways": rows}
    text = json.dumps(result, indent=1)
    print(text)
    if out is not None:
        out.write_text(f"{text}\n", encoding="utf-8")
    return int(any(row["different"] for row in rows.values()))


def main() -> int:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["prepare", "ask", "compare"])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--every", type=int, default=1, help="ask only each n-th question, for a first look")
    options = parser.parse_args()
    if options.step == "prepare":
        prepare(options.first.resolve(), options.second.resolve())
    elif options.step == "ask":
        ask(options.first.resolve(), options.second, options.every)
    else:
        return compare(options.first, options.second, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
