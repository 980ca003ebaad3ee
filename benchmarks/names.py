"""Whether names of everyday words and pasted places in a question are understood.

    python benchmarks/names.py REPOSITORIES [--source SRC] [--out benchmarks/results/names.json] [--show]

`names_questions.tsv` has thirty of each over nine repositories, written before the code, and fifteen of each over four
others, written after it (`unseen`; the code was changed once for one of them). The repositories lie as folders below
REPOSITORIES, not in this tree: pallets/flask@258d68b, psf/requests@ef439eb, spf13/cobra@61968e8, gin-gonic/gin@d3ffc99,
rack/rack@ca8a404, sinatra/sinatra@f891dd2, colinhacks/zod@c780507, Seldaek/monolog@68b9748, expressjs/express@8e022ed,
laravel/framework@0dcc8d2, tokio-rs/tokio@5db10f5, aio-libs/aiohttp@fc67cfd and Muvon/octocode@b1771ba, of most only the
library folder.

A question is right if its first item shows the definition or all of the asked lines, is the asked file, is below the
asked folder, or if the answer says that a place is absent. `--source` names the `src` folder of another version, whose
figures are added to those that are stored; `--show` prints what is not right.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from labelled import keep, parsed

if TYPE_CHECKING:
    from satchel.types import Context

HERE = Path(__file__).parent


class Case(NamedTuple):
    """A question about one repository. `kind` is the heading above it."""

    kind: str
    repository: str
    question: str
    expected: str


def cases() -> Iterator[Case]:
    """Yield the questions of the file beside this script, in which escapes and backslashes are escaped."""
    kind = ""
    for line in (HERE / "names_questions.tsv").read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if line.startswith("#"):
            continue
        if len(fields) == 1:
            kind = line
            continue
        yield Case(kind, fields[0], fields[1].replace(r"\e", "\x1b").replace("\\\\", "\\"), fields[2])


def is_right(expected: str, context: Context) -> bool:
    """Return whether an answer shows first what is expected, or says that it is absent."""
    absent = expected.removeprefix("absent: ")
    if absent != expected:
        notes = [failure.reason for failure in context.failures]
        return any(absent in text for text in (*context.meta["missing_terms"], *notes))
    first = next((item for item in context.items if item.location is not None), None)
    if first is None or first.location is None:
        return False
    shown = {line for start, end in first.spans for line in range(start, end + 1)}
    for choice in expected.split("|"):
        path, lines = re.fullmatch(r"(.+?)(?::([\d-]+))?", choice).groups()  # type: ignore[union-attr]
        start, _, end = (lines or "").partition("-")
        wanted = range(int(start), int(end or start) + 1) if lines else ()
        is_place = first.location.path.startswith(path) if path.endswith("/") else first.location.path == path
        if is_place and shown.issuperset(wanted):
            return True
    return False


def ask(folder: Path, home: str) -> list[tuple[Case, bool]]:
    """Return every question, and whether it is answered right at 2,000 tokens."""
    from satchel import Satchel  # here: the folder of its source may be an argument

    answers: dict[Case, bool] = {}
    for name in dict.fromkeys(case.repository for case in cases()):
        environ = {"SATCHEL_HOME": home, "SATCHEL_EMBED_PROVIDER": "off", "PATH": os.environ["PATH"]}
        with Satchel.open(root=folder / name, environ=environ) as satchel:
            satchel.index()
            for case in cases():
                if case.repository == name:
                    context = satchel.assemble(case.question, purpose="find", max_tokens=2_000, types=["code", "docs"])
                    answers[case] = is_right(case.expected, context)
    return [(case, answers[case]) for case in cases()]


def main() -> None:
    """Ask, print the counts, and write them."""
    given = parsed(__doc__)
    with tempfile.TemporaryDirectory() as home:
        answers = ask(given.repositories, home)
    counts = {
        kind: {"questions": len(own), "right": sum(own)}
        for kind in dict.fromkeys(case.kind for case, _ in answers)
        for own in [[right for case, right in answers if case.kind == kind]]
    }
    keep(given, counts)
    for case, right in answers if given.show else ():
        if not right:
            print(f"{case.repository}: {case.question!r}, expected {case.expected}")


if __name__ == "__main__":
    main()
