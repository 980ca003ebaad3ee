"""Twelve questions about four foreign repositories, to satchel and to tools that people may have installed instead.

    python benchmarks/twelve.py --repos FOLDER [--tools FOLDER] [--only NAME ...] --out benchmarks/results/twelve.md

FOLDER of `--repos` has clones named kamal (basecamp/kamal, Ruby), gotify (gotify/server, Go), hyperfine
(sharkdp/hyperfine, Rust) and httpie (httpie/cli, Python). FOLDER of `--tools` has
an environment or `node_modules` for each other tool, in a folder of its name; a tool that is missing is left out. Every
tool works on copies of its own, without a model, a key or a network, and is asked once for each question, as its help
tells, with 4,000 tokens where it takes a budget. What it prints is cut after 4,000 tokens (o200k). A line is shown if
its text is in the rest; a place is named if the path of the deciding file is.

The questions were written before any tool was asked, the deciding lines after satchel had been, both by the authors of
satchel. No other benchmark here uses these repositories.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from guards import TREE, commit
from options import output

sys.path.insert(0, str(TREE / "src"))

TOKENS = 4000
SECONDS = 300.0
"""Longest time of one command; a tool that needs longer counts as without an answer."""


class Asked(NamedTuple):
    """A question, the repository, the files of which one decides it, and texts of the deciding lines."""

    repository: str
    question: str
    files: tuple[str, ...]
    lines: tuple[str, ...]


QUESTIONS = (
    Asked("kamal", "how does kamal decide that a newly booted container is healthy before it switches traffic",
          ("lib/kamal/cli/healthcheck/poller.rb", "lib/kamal/cli/app/boot.rb"),
          ("execute *app.deploy(target: endpoint)", 'raise Kamal::Cli::Healthcheck::Error, "container not ready')),
    Asked("kamal", "where is the deploy lock taken and what happens if it is already held", ("lib/kamal/cli/base.rb",),
          ('raise LockError, "Deploy lock found', "raise LockHeldError if e.message")),
    Asked("kamal", "how many old containers are kept when pruning by default",
          ("lib/kamal/cli/prune.rb", "lib/kamal/configuration.rb"),
          ("retain = options.fetch(:retain, KAMAL.config.retain_containers)", "raw_config.retain_containers || 5")),
    Asked("gotify", "how long is a client token and how is it generated", ("auth/token.go",),
          ("_, err := rand.Read(seed[:])", 'token := NewEnhancedToken("c")')),
    Asked("gotify", "what happens to open websocket connections when a client is deleted", ("api/stream/stream.go",),
          ("if client.token == token {",)),
    Asked("gotify", "where is the password of a user hashed and with what strength", ("auth/password/password.go",),
          ("bcrypt.GenerateFromPassword([]byte(pw), strength)", "PassStrength:")),
    Asked("hyperfine", "how is the number of runs chosen when the user does not give one", ("src/benchmark/mod.rs",),
          ("let runs_in_min_time", "RunBounds { min: 10, max: None }")),
    Asked("hyperfine", "when are outliers reported", ("src/benchmark/mod.rs",),
          ("if scores[0] > OUTLIER_THRESHOLD {", "scores.iter().any(|&s| s.abs() > OUTLIER_THRESHOLD)")),
    Asked("hyperfine", "how is the time that the shell itself takes subtracted", ("src/benchmark/executor.rs",),
          ("result.time_real = (result.time_real - spawning_time.time_real).max(0.0);",)),
    Asked("httpie", "how does a session file store cookies", ("httpie/sessions.py",),
          ("('cookies', self.cookie_jar, materialize_cookies", "httpie_session.cookies = requests_session.cookies")),
    Asked("httpie", "is output colored when it is redirected to a file", ("httpie/cli/argparser.py",),
          ("'all' if self.env.stdout_isatty else 'none'",)),
    Asked("httpie", "does it follow redirects by default and how many",
          ("httpie/cli/definition.py", "httpie/client.py"),
          ("By default, requests have a limit of 30 redirects",
           "if args.max_redirects and response_count == args.max_redirects:")),
)  # fmt: skip


class Tool(NamedTuple):
    """A tool: the program below its folder, how it says its version, indexes a repository and is asked."""

    program: str
    version: tuple[str, ...]
    index: tuple[str, ...]
    ask: tuple[str, ...]
    better: str = ""


TOOLS: Mapping[str, Tool] = {
    "satchel": Tool(f"{Path(sys.executable).parent}/satchel", ("--version",), ("index",), ("context", "{question}"),
                    "shows the deciding lines"),
    "satchel --for read": Tool(f"{Path(sys.executable).parent}/satchel", ("--version",), ("index",),
                               ("context", "{question}", "--for", "read"), "one text for a reader without tools"),
    "contextsmith": Tool("bin/ctxsmith", (), ("index",), ("context", "{question}", "--budget", "4000"),
                         "packs whole functions of few files"),
    "graphify": Tool("bin/graphify", ("--version",), ("update", "."), ("query", "{question}", "--budget", "4000"),
                     "communities, documents and pictures in one drawing"),
    "codegraph context": Tool("node_modules/.bin/codegraph", ("--version",), ("init", "."), ("context", "{question}"),
                              "dynamic dispatch, few tokens"),
    "codegraph explore": Tool("node_modules/.bin/codegraph", ("--version",), ("init", "."), ("explore", "{question}"),
                              "dynamic dispatch, paths of calls with their source"),
    "repomix": Tool("node_modules/.bin/repomix", ("--version",), (),
                    ("--compress", "--stdout", "--quiet"), "everything of a small repository, in a fixed order"),
}  # fmt: skip


ITS_VERSION = "import importlib.metadata; print(importlib.metadata.version('contextsmith'))"
"""What tells the version of a tool whose command does not."""

FIGURES = "tokens (mean, most) | seconds to index all | seconds a question (mean)"


class Row(NamedTuple):
    """What a tool did: seconds to index all, seconds and tokens of each question, lines shown, places named."""

    version: str
    index: float
    seconds: tuple[float, ...]
    tokens: tuple[int, ...]
    shown: tuple[int, ...]
    named: tuple[bool, ...]


def run(command: list[str], folder: Path, variables: Mapping[str, str]) -> tuple[str, float]:
    """Return what a command prints, and its seconds; nothing where it takes too long."""
    begin = time.monotonic()
    try:
        ran = subprocess.run(
            command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "", time.monotonic() - begin
    if ran.returncode:
        print(command[0], ran.returncode, ran.stderr[-300:], file=sys.stderr)
    return ran.stdout, time.monotonic() - begin


def asked(tool: Tool, program: str, repositories: Path) -> Row:
    """Index copies of the repositories and ask the twelve questions."""
    from satchel.tokens import counter

    count = counter("o200k_base").count
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        home.mkdir()
        variables = {
            "HOME": str(home), "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "NO_COLOR": "1",
            "CODEGRAPH_TELEMETRY": "0", "TIKTOKEN_CACHE_DIR": os.environ.get("TIKTOKEN_CACHE_DIR", ""),
        }  # fmt: skip
        ask = [program, *tool.version] if tool.version else [str(Path(program).parent / "python"), "-c", ITS_VERSION]
        version = run(ask, home, variables)[0].split()
        index = 0.0
        for name in dict.fromkeys(one.repository for one in QUESTIONS):
            shutil.copytree(repositories / name, Path(place) / name, symlinks=True)
            index += run([program, *tool.index], Path(place) / name, variables)[1] if tool.index else 0.0
        seconds, tokens, shown, named = list[float](), list[int](), list[int](), list[bool]()
        for question in QUESTIONS:
            command = [program, *(part.format(question=question.question) for part in tool.ask)]
            text, taken = run(command, Path(place) / question.repository, variables)
            seconds.append(taken)
            tokens.append(count(text))
            kept = first_tokens(text, TOKENS, count)
            shown.append(sum(line in kept for line in question.lines))
            named.append(any(path in kept for path in question.files))
    return Row(version[-1] if version else "?", index, *map(tuple, (seconds, tokens, shown, named)))


def first_tokens(text: str, limit: int, count: object) -> str:
    """Return the first lines of a text that have at most so many tokens together."""
    if not callable(count) or count(text) <= limit:
        return text
    lines = text.splitlines(keepends=True)
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count("".join(lines[:middle])) <= limit else (low, middle - 1)
    return "".join(lines[:low])


class Written(NamedTuple):
    """What the document has of a tool: its figures, and a cell for each question."""

    figures: str
    cells: tuple[str, ...]


def written(name: str, row: Row) -> Written:
    """Return what the document says of a tool."""
    mean, seconds = sum(row.tokens) / len(row.tokens), sum(row.seconds) / len(row.seconds)
    figures = (
        f"{name} | {row.version} | {sum(row.shown)} | {sum(row.named)} | {mean:,.0f}, {max(row.tokens):,} "
        f"| {row.index:.1f} | {seconds:.1f} | {TOOLS[name].better}"
    )
    every = zip(QUESTIONS, row.shown, row.named, strict=True)
    return Written(figures, tuple(f"{shown} of {len(own.lines)}{' +' if named else ''}" for own, shown, named in every))


def read(text: str) -> dict[str, Written]:
    """Return what a document says of each tool."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    figures = {row[0]: " | ".join(row) for row in rows[1:] if row[0] in TOOLS}
    start = next((place for place, row in enumerate(rows) if row[0] == "question"), len(rows))
    columns = list(zip(*rows[start:], strict=True))[1:]
    return {name: Written(figures[name], tuple(cells)) for name, *cells in columns}


def table(rows: Mapping[str, Written]) -> list[str]:
    """Return the lines of the document."""
    lines = sum(len(question.lines) for question in QUESTIONS)
    text = [
        "# Twelve questions",
        "",
        "Made by `python benchmarks/twelve.py`, which has questions, deciding lines and how each tool is asked.",
        f"{datetime.now(tz=UTC):%Y-%m-%d}, version {commit()}. Seconds are wall clock on a busy machine.",
        "",
        f"| tool | version | lines shown, of {lines} | files named, of {len(QUESTIONS)} | {FIGURES} | better at |",
        "|---|---|---|---|---|---|---|---|",
        *(f"| {row.figures} |" for row in rows.values()),
        "",
        "Lines shown of each question, `+` where the file is named:",
        "",
        "| question | " + " | ".join(rows) + " |",
        "|---" * (len(rows) + 1) + "|",
    ]
    for place, question in enumerate(QUESTIONS):
        cells = " | ".join(row.cells[place] for row in rows.values())
        text.append(f"| {question.repository}: {question.question} | {cells} |")
    return text


def main() -> None:
    """Ask the tools that are there and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--tools", type=Path, default=Path("none"))
    parser.add_argument("--only", nargs="*", default=list(TOOLS), help="the others keep what the document has of them")
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    before = read(given.out.read_text(encoding="utf-8")) if given.out and given.out.exists() else {}
    rows = {}
    for name, tool in TOOLS.items():
        program = str((given.tools / name.split()[0] / tool.program).absolute())
        if name in given.only and Path(program).exists():
            rows[name] = written(name, asked(tool, program, given.repos))
            print(rows[name].figures, flush=True)
        elif name in before:
            rows[name] = before[name]
    text = "\n".join(table(rows)) + "\n"
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
