"""Judge answers to natural questions: deciding lines shown, share on the topic, missing words named.

    python benchmarks/questions/run.py --verify --repos DIR
    python benchmarks/questions/run.py --repos DIR --work DIR --out answers.jsonl --summary result.json \
        --systems satchel,satchel-fill,bm25-chunks,contextsmith-lexical,semble-wordllama \
        --source before=OTHER/src

Every system answers through its real command, one process a question. A second start asks only what --out does not
hold or what failed. The exit status is 1 when something is wrong with the questions, or when an answer failed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from localization.rivals import RIVALS, rival_system
from localization.runner import System

from questions.asking import Plan, ask_all
from questions.dataset import Question, load, problems
from questions.report import summary, summary_text, tables

BUDGETS = "1000,4000,16000"
SATCHELS = {"satchel": "", "satchel-fill": " --fill"}


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="files of questions; by default all beside this script")
    parser.add_argument(
        "--repos", type=Path, required=True, help="folder with one git repository a project: OWNER+NAME"
    )
    parser.add_argument("--verify", action="store_true", help="only check that what the questions name exists")
    parser.add_argument("--work", type=Path, help="folder for work trees and the systems' caches")
    parser.add_argument("--out", type=Path, help="one JSON line an answer, appended")
    parser.add_argument("--summary", type=Path, help="the measures as JSON; the tables go beside it, as .md")
    parser.add_argument("--systems", default="", help="of: " + ", ".join([*SATCHELS, *RIVALS]))
    parser.add_argument(
        "--source", action="append", default=[], metavar="NAME=FOLDER[ OPTIONS]", help="satchel, imported from FOLDER"
    )
    parser.add_argument("--system", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--index", action="append", default=[], metavar="NAME=COMMAND", help="run once a repository")
    parser.add_argument("--budgets", default=BUDGETS, help="tokens, separated by commas")
    parser.add_argument("--only", default="", help="questions whose id begins so")
    return parser


def satchel_system(name: str, options: str, source: Path | None = None) -> System:
    """Satchel with this interpreter, from `source` or as it is installed; `options` are those of `context`."""
    path = source or os.environ.get("PYTHONPATH")
    start = shlex.join(
        [*(["env", f"PYTHONPATH={Path(path).resolve()}"] if path else []), sys.executable, "-m", "satchel"]
    )
    return System(name, f"{start} context - --max-tokens {{max_tokens}} --json{options}", f"{start} index --quiet")


def _pairs(texts: list[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            message = f"{text!r} does not have the form NAME=VALUE"
            raise ValueError(message)
    return dict(text.split("=", 1) for text in texts)


def systems_of(options: argparse.Namespace) -> list[System]:
    """The systems that the command line names; `satchel` and `satchel-fill` when it names none."""
    systems = []
    for name, value in _pairs(options.source).items():
        folder, _, more = value.partition(" ")
        systems.append(satchel_system(name, f" {more}".rstrip(), Path(folder)))
    index = _pairs(options.index)
    systems += [System(name, command, index.get(name, "")) for name, command in _pairs(options.system).items()]
    names = [name for name in options.systems.split(",") if name] or ([] if systems else list(SATCHELS))
    return systems + [
        satchel_system(name, SATCHELS[name]) if name in SATCHELS else rival_system(name) for name in names
    ]


def _verify(questions: list[Question], repos: Path) -> int:
    wrong = list(problems(questions, repos))
    print("\n".join([*wrong, f"{len(questions)} questions, {len(wrong)} problems"]))
    return int(bool(wrong))


def main() -> int:
    """Verify or run."""
    parser = arguments()
    options = parser.parse_args()
    try:
        questions = [question for question in load(options.files) if question.id.startswith(options.only)]
        if options.verify:
            return _verify(questions, options.repos)
        if options.work is None or options.out is None:
            parser.error("--work and --out are needed, unless --verify is given")
        budgets = [int(text) for text in options.budgets.split(",")]
        rows = ask_all(Plan(questions, systems_of(options), budgets, options.repos, options.work, options.out))
    except (ValueError, KeyError, RuntimeError, OSError) as problem:
        parser.error(str(problem))
    commits = {question.repo: question.commit for question in questions}
    asked = {row["question"] for row in rows}
    result = summary(rows, questions=len(asked), commits=commits, asked="one process a question, the real command")
    print(tables(result))
    if options.summary:
        options.summary.parent.mkdir(parents=True, exist_ok=True)
        options.summary.write_text(summary_text(result), encoding="utf-8")
        options.summary.with_suffix(".md").write_text(tables(result), encoding="utf-8")
    return int(any(row["failure"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
