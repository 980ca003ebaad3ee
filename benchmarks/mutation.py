"""How many small faults in the modules that protect the user are noticed by their tests.

    python benchmarks/mutation.py --sample 25 --out benchmarks/results/mutation.json

Each mutant is one change of an operator, a number, a condition or a decorator, made by cosmic-ray in a copy of the
tree; it is killed if a test that reaches its line fails or does not end in time. Annotations are left alone: they are
never evaluated. Survivors are listed with their change, to be read: some are equal to the program.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import coverage
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from guards import copied, run

MODULES = {
    "files": (["system/files.py"], ["test_files.py", "test_file_contents.py", "index/test_walk.py",
                                    "index/test_names.py", "index/test_ignore.py", "answer/test_source_lines.py"]),
    "git": (["system/git.py"], ["test_git.py", "sources/test_commits.py", "sources/test_blobs.py",
                                "sources/test_change.py", "e2e/test_siblings.py"]),
    "guard": (["web/middleware.py"], ["web/test_middleware_access.py", "web/test_origins.py", "web/test_users.py",
                                                       "web/test_guard.py", "web/test_views.py",
                                                       "web/test_routes_state.py"]),
    "redact": (["safety/secret_rules.py", "safety/sanitize.py"], ["test_redact.py", "test_clean.py", "test_keys.py",
                                                                  "test_outside.py", "properties/test_untrusted.py"]),
    "trust": (["safety/trust.py"], ["test_keys.py", "test_trust.py", "test_config.py", "memory/test_moved.py"]),
}  # fmt: skip
"""The modules below src/satchel, and their tests below tests, those that fail soonest first."""


class Mutant(NamedTuple):
    """One change: the operator of cosmic-ray, and which of its places in the file."""

    module: str
    operator: str
    occurrence: int
    line: int


def annotated(source: str) -> set[tuple[int, int]]:
    """Return the first positions (line, column) of all nodes inside of annotations."""
    annotations: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns) if returns:
                annotations.append(returns)
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation) if annotation:
                annotations.append(annotation)
    lines = [
        (line, column)
        for node in annotations
        if isinstance(node, ast.expr)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for column in range(
            node.col_offset if line == node.lineno else 0,
            (node.end_col_offset or 0) if line == node.end_lineno else 200,
        )
    ]
    return set(lines)


def mutants(tree: Path, module: str) -> Iterator[Mutant]:
    """Yield all mutants of one module, without those of annotations."""
    path = tree / "src/satchel" / module
    skipped = annotated(path.read_text())
    parsed = get_ast_from_path(path)
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments():
            continue
        operator = operator_class()
        places = (place for node in ast_nodes(parsed) for place in operator.mutation_positions(node))
        for occurrence, (start, _) in enumerate(places):
            if tuple(start) not in skipped:
                yield Mutant(module, name, occurrence, start[0])


class Coverage:
    """The tests that reach each line of some modules, and how many seconds each takes."""

    def __init__(self, tree: Path, modules: list[str], tests: list[str]) -> None:
        database = tree / ".coverage.contexts"
        measured = ",".join(f"*/satchel/{name}" for name in modules)
        (tree / ".coveragerc").write_text(f"[run]\ndata_file = {database}\ninclude = {measured}\n")
        options = ("--cov", "--cov-config=.coveragerc", "--cov-context=test", "--cov-report=", "--durations=0", "-vv")
        status, output = run(tree, [f"tests/{name}" for name in tests], 1800, *options)
        if status:
            raise SystemExit(f"the tests fail without a mutant:\n{output[-2000:]}")
        self.seconds: Counter[str] = Counter()
        for seconds, node in re.findall(r"^([\d.]+)s \w+ +(tests/[\w/]+\.py::[\w:]+)", output, re.MULTILINE):
            self.seconds[node] += float(seconds)  # type: ignore[assignment]
        self._data = coverage.CoverageData(str(database))
        self._data.read()
        self._tree = tree

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach the statement, the fastest first; all of them if it runs on import."""
        path = self._tree / "src/satchel" / mutant.module
        statements = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.stmt)]
        around = [one for one in statements if one.lineno <= mutant.line <= (one.end_lineno or one.lineno)]
        first = max((one.lineno for one in around), default=mutant.line)
        contexts = self._data.contexts_by_lineno(str(path))
        names = {
            name.partition("|")[0].partition("[")[0] for at in (first, mutant.line) for name in contexts.get(at, [])
        }
        reached = names - {""} if "" not in names else set(self.seconds)
        return sorted(reached, key=lambda node: (self.seconds[node], node))


def survived(tree: Path, mutant: Mutant, coverage_of: Coverage) -> str | None:
    """Return the changed line if the tests pass with the mutant, None if they fail or do not end."""
    path = tree / "src/satchel" / mutant.module
    source = path.read_text()
    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None:
        raise ValueError(f"{mutant} is at no place of the file")
    tests = coverage_of.tests(mutant)
    path.write_text(changed)
    try:
        if tests and run(tree, tests, 60 + 5 * sum(coverage_of.seconds[node] for node in tests))[0]:
            return None
    finally:
        path.write_text(source)
    pairs = zip(source.splitlines(), changed.splitlines(), strict=False)
    return next((f"{before.strip()}  ->  {after.strip()}" for before, after in pairs if before != after), "a line less")


def main() -> None:
    """Measure the chosen modules, write the summary, print one line a module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=25, metavar="N", help="mutants a group of modules")
    parser.add_argument("--only", choices=MODULES, action="append", help="only this group, repeatable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    summary: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(folder)
        for group in given.only or MODULES:
            modules, tests = MODULES[group]
            reached = Coverage(tree, modules, tests)
            every = [mutant for module in modules for mutant in mutants(tree, module)]
            chosen = random.Random(given.seed).sample(every, min(given.sample, len(every)))
            left = [(mutant, survived(tree, mutant, reached)) for mutant in sorted(chosen)]
            alive = [f"{mutant.module}:{mutant.line} {change}" for mutant, change in left if change is not None]
            summary[group] = {
                "mutants": len(every),
                "tried": len(left),
                "killed": round(1 - len(alive) / len(left), 3),
                "survivors": alive,
            }
            given.out.write_text(json.dumps(summary, indent=1) + "\n")
            print(f"{group}: {len(left) - len(alive)} of {len(left)} killed", flush=True)


if __name__ == "__main__":
    main()
