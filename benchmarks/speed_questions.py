"""What the speed benchmarks ask about a repository: short questions as people type them, and whole issues.

Every kind is asked: twenty short questions where this file has some for the repository, the issues of the evaluation
data about it, and, where these are fewer than twenty, the subjects of commits that fix something.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from localization.dataset import load_instances

SUBJECTS = 20
LEAST_SUBJECT = 25
"""Characters of the subject of a fix: shorter ones say little."""

LOOKED_AT = 3000
"""Commits that are looked at for fixes."""

SHORT: Mapping[str, tuple[str, ...]] = {
    "pytest": (
        "where are fixtures torn down",
        "how is the assertion rewritten",
        "parametrize with indirect",
        "which hook collects tests",
        "tmp_path cleanup",
        "capture of standard error",
        "conftest discovery order",
        "how are warnings turned into errors",
        "junit xml report",
        "skip and xfail marks",
        "monkeypatch undo",
        "where is the exit code decided",
        "configuration file lookup",
        "plugin registration from entry points",
        "log level on the command line",
        "last failed cache",
        "doctest collection",
        "approx comparison of floats",
        "traceback style short",
        "unittest TestCase support",
    ),
    "mypy": (
        "where is the type of a call inferred",
        "how are protocols checked",
        "overload resolution",
        "incremental cache invalidation",
        "narrowing of unions by isinstance",
        "semantic analysis of classes",
        "which errors are suppressed by type ignore",
        "plugin hooks for attributes",
        "TypedDict updates",
        "final names",
        "generics variance check",
        "daemon status file",
        "stub generation for C modules",
        "async iterators",
        "enum literal exhaustiveness",
        "dataclass transform",
        "import cycles",
        "partial types",
        "configuration file sections",
        "report of line coverage",
    ),
    "sympy": (
        "piecewise folding",
        "how are integrals of rational functions computed",
        "printing of matrices in LaTeX",
        "simplify trigonometric expressions",
        "solve linear systems",
        "assumptions of symbols",
        "where is the limit computed",
        "polynomial factorisation over finite fields",
        "series expansion at infinity",
        "eigenvalues of a matrix",
        "parse expressions from strings",
        "substitution of derivatives",
        "quantum operators commute",
        "unit conversion",
        "code generation for C arrays",
        "sets intersection of intervals",
        "prime sieve",
        "groebner basis",
        "ODE classification hints",
        "rewrite as exponential",
    ),
}
"""Short questions by repository, written by people who had not seen an answer."""


def questions(tree: Path) -> list[str]:
    """The questions about a repository, which its folder is named after: `pytest` or `pytest-dev+pytest`.

    Raises ValueError for a repository that nothing is known about and whose history names no fix.
    """
    name = tree.name.rpartition("+")[2]
    try:
        issues = [row["query"] for row in load_instances() if row["repo"].rpartition("/")[2] == name]
    except FileNotFoundError:
        issues = []
    found = list(dict.fromkeys([*SHORT.get(name, ()), *issues]))
    if len(found) < SUBJECTS:
        found += fixes(tree)
    if not found:
        raise ValueError(f"{tree} is none of {', '.join(SHORT)}, and its history names no fix")
    return found


def fixes(tree: Path) -> list[str]:
    """Subjects of the last commits that fix something, without the numbers of their pull requests."""
    command = ["git", "-C", str(tree), "log", "--format=%s", "--no-merges", f"--max-count={LOOKED_AT}"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
    subjects = [line.partition(" (#")[0] for line in listed.splitlines() if "fix" in line.lower()]
    return thinned([line for line in dict.fromkeys(subjects) if len(line) >= LEAST_SUBJECT], SUBJECTS)


def thinned(questions: Sequence[str], count: int) -> list[str]:
    """At most so many questions, evenly from the whole list; 0 takes all."""
    if not count or len(questions) <= count:
        return [*questions]
    return [questions[number * len(questions) // count] for number in range(count)]
