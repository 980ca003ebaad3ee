"""Whether questions of a known vocabulary find the idioms of each language: `getenv`, `add_argument`, `click`.

    python benchmarks/idioms.py REPOSITORIES [--source SRC] [--label LABEL] [--out benchmarks/results/idioms.json]

`idioms_questions.tsv` has questions over sixteen repositories, with the files that answer each, found with grep. The
names and their weight were chosen on `environment` and `commands`, nothing was chosen on `unseen`, and satchel knows
nothing about `defaults` but the words of the question. The repositories lie as folders below REPOSITORIES, not in this
tree: pallets/flask@2ac89889, BurntSushi/ripgrep@3fce3b5b, Muvon/octocode@8a7b9471, pimutils/vdirsyncer@0d69ab9b,
sinatra/sinatra@cb22afd7, spf13/cobra@adbc8813, jqlang/jq@579e6f76, gin-gonic/gin@dcaa4296, expressjs/express@a3714473,
pylint-dev/pylint@3a99b2d7, sqlfluff/sqlfluff@e8e8c5d2, pytest-dev/pytest@df87db7b, curl/curl@5c61e168,
psf/requests@1f6589ec, aio-libs/aiohttp@495e7783 and dask/dask@817e5ffc.

A question is right if its first item of code is in one of these files; `shown` is the share of the files that the
answer shows at 2,000 tokens. `--source` names the `src` folder of another version, whose figures are added under its
label; `--show` prints the outcome of each question.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from options import folder, keep_under, output

HERE = Path(__file__).parent


class Case(NamedTuple):
    """A question about one repository, and the files that answer it. `kind` is the heading above it."""

    kind: str
    repository: str
    question: str
    files: tuple[str, ...]


class Answer(NamedTuple):
    """Whether the first item of code is in a file that answers, and the share of these files that are shown."""

    is_right: bool
    shown: float


def cases() -> Iterator[Case]:
    """Yield the questions of the file beside this script."""
    kind = ""
    for line in (HERE / "idioms_questions.tsv").read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if line.startswith("#"):
            continue
        if len(fields) == 1:
            kind = line
            continue
        yield Case(kind, fields[0], fields[1], tuple(fields[2].split("|")))


def ask(folder: Path, home: str) -> list[tuple[Case, Answer]]:
    """Return every question with what its answer shows."""
    from satchel import Satchel  # here: the folder of its source may be an argument

    answers: dict[Case, Answer] = {}
    for name in dict.fromkeys(case.repository for case in cases()):
        environ = {"SATCHEL_HOME": home, "SATCHEL_EMBED_PROVIDER": "static", "PATH": os.environ["PATH"]}
        with Satchel.open(root=folder / name, environ=environ) as satchel:
            satchel.index()
            for case in cases():
                if case.repository == name:
                    context = satchel.assemble(case.question, max_tokens=2_000)
                    paths = [one.location.path for one in context.items if one.location and one.source == "code"]
                    found = len({*paths}.intersection(case.files))
                    answers[case] = Answer(bool(paths) and paths[0] in case.files, found / len(case.files))
    return [(case, answers[case]) for case in cases()]


def main() -> None:
    """Ask, print the figures, and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=folder)
    parser.add_argument("--source", type=folder, default=HERE.parent / "src")
    parser.add_argument("--label", default="now", help="the name of these figures in the file")
    parser.add_argument("--out", type=output)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    sys.path.insert(0, str(given.source))
    with tempfile.TemporaryDirectory() as home:
        answers = ask(given.repositories, home)
    figures = {
        kind: {
            "questions": len(own),
            "right": sum(one.is_right for one in own),
            "shown": round(sum(one.shown for one in own) / len(own), 3),
        }
        for kind in [*dict.fromkeys(case.kind for case, _ in answers)]
        for own in [[answer for case, answer in answers if case.kind == kind]]
    }
    keep_under(given.label, figures, given.out)
    for case, answer in answers if given.show else ():
        print(
            f"{case.repository}: {case.question!r} {'right' if answer.is_right else 'wrong'}, {answer.shown:.2f} shown"
        )


if __name__ == "__main__":
    main()
