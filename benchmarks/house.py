"""Measure the code base: files, lines, functions, names, import cycles, and what three commands import.

python benchmarks/house.py --source src --as after --out benchmarks/results/house.json
python benchmarks/house.py --source ../older/src --as before --out benchmarks/results/house.json
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

COMMANDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "remember": (("remember", "The answer is forty-two"), ""),
    "context": (("context", "where is the answer?"), ""),
    "hook prompt": (("hook", "prompt"), "where is the answer computed?"),
}
"""What is run in a small repository whose index is fresh, and the prompt that a hook is given."""

RUNS = 10
"""Process starts whose median is stored."""

CHANGES: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "a language": (10, ("sources/code/languages.txt", "sources/code/queries/")),
    "a kind of source": (14, ("types.py", "settings.py", "sources/", "index/", "index/build.py")),
    "how an answer is cut": (3, ("answer/fill_policy.py", "answer/packing.py")),
    "a tool for agents": (3, ("operations/", "operations/registry.py")),
    "an option of a question": (6, ("answer/request.py", "operations/ask.py", "answer/")),
    "the formula of ranking": (4, ("search/rank_files.py", "search/strength.py", "answer/fill_policy.py")),
    "another store": (6, ("store/", "store/", "store/place.py", "settings.py")),
    "a format of answers": (5, ("types.py", "answer/render/", "answer/packing.py")),
    "a lens": (1, ("graph/request.py",)),
    "a client of the setup": (4, ("clients/targets.py", "hooks/hosts.py", "cli/commands/connect.py")),
}
"""Typical change -> the files that it touched before the second clean-up, and those that it touches now at most, below
src/satchel; a new file is its folder. For the formula `make fit` says which of the constants move; a client without
hooks is one file. `tests/architecture/test_additions.py` makes six of them."""

COMPLEX = 11
"""Cyclomatic complexity from which a function counts as complex (rank C)."""

DIALECT = ("found", "known", "given", "said", "told")
"""Names of variables that say nothing about their value."""

RECORDER = """
import os, sys
out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.set_inheritable(out, True)
def note(event, arguments):
    if event == "import" and str(arguments[0]).startswith("satchel"):
        os.write(out, (arguments[0] + "\\n").encode())
sys.addaudithook(note)
sys.argv = ["satchel", *sys.argv[2:]]
from satchel.cli.main import main
main()
"""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function of a module, methods and inner ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def complexity(function: ast.AST) -> int:
    """Count the decisions in a function, plus one; inner functions are counted with it."""
    decisions = 1
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            decisions += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            decisions += 1 + len(node.ifs)
        elif isinstance(node, ast.Try):
            decisions += len(node.handlers) + bool(node.orelse)
        elif isinstance(node, ast.If | ast.IfExp | ast.For | ast.AsyncFor | ast.While | ast.Assert | ast.match_case):
            decisions += 1
    return decisions


def docstring_lines(tree: ast.Module) -> int:
    """Count the lines of strings that stand alone: docstrings, also those of attributes."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components with more than one module."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    components = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in order:
                visit(target)
            if target in stack:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == order[module]:
            component = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(component) > 1:
                components.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for module in sorted(graph):
        if module not in order:
            visit(module)
    return components


def imports(trees: Mapping[str, ast.Module], *, late: bool) -> dict[str, set[str]]:
    """Map each module to the modules that it imports, those for type checkers included; `late` adds inner imports."""
    graph: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        inner = {child for function in functions(tree) for child in ast.walk(function)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and (late or node not in inner):
                targets = {f"{node.module}.{alias.name}" for alias in node.names} & trees.keys()
                graph[name] |= (targets or {node.module}) & trees.keys() - {name, "satchel"}
    return graph


def measure(source: Path) -> dict[str, Any]:
    """Measure the package below `source`."""
    paths = {path: path.read_text(encoding="utf-8") for path in sorted((source / "satchel").rglob("*.py"))}
    names = {path: ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    trees = {names[path]: ast.parse(text) for path, text in paths.items()}
    every = [function for tree in trees.values() for function in functions(tree)]
    lengths = sorted((function.end_lineno or 0) - function.lineno + 1 for function in every)
    parameters = sorted(len(f.args.posonlyargs) + len(f.args.args) + len(f.args.kwonlyargs) for f in every)
    hard = [complexity(function) for function in every]
    files = sorted(text.count("\n") for text in paths.values())
    lines = [line for text in paths.values() for line in text.splitlines()]
    blank = sum(not line.strip() for line in lines)
    comments = sum(line.lstrip().startswith("#") for line in lines)
    documented = sum(map(docstring_lines, trees.values()))
    classes = [
        (node, name) for name, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    homes = Counter(node.name for node, _ in classes if not node.name.startswith("_"))
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return {
        "files": len(files),
        "lines": len(lines),
        "docstring lines": documented,
        "comment lines": comments,
        "blank lines": blank,
        "code lines": len(lines) - documented - comments - blank,
        "lines over 100 characters, percent": round(100 * sum(len(line) > 100 for line in lines) / len(lines), 1),
        "file lines, median / p90 / most": _spread(files),
        "files under 60 lines": sum(count < 60 for count in files),
        "files over 500 lines": sum(count > 500 for count in files),
        "functions": len(every),
        "function lines, median / p90 / most": _spread(lengths),
        "functions over 50 lines": sum(length > 50 for length in lengths),
        "parameters, median / p90 / most": _spread(parameters),
        "complexity, mean": round(statistics.fmean(hard), 2),
        "complex functions": sum(value >= COMPLEX for value in hard),
        "classes": len(classes),
        "public class names in several modules": sum(count > 1 for count in homes.values()),
        "import statements": sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes),
        "modules in import cycles, type imports included": sum(map(len, cycles(imports(trees, late=False)))),
        "modules in import cycles, inner imports too": sum(map(len, cycles(imports(trees, late=True)))),
        "variables of the dialect": {name: stored[name] for name in DIALECT},
        "commands": {name: command(source, *arguments) for name, arguments in COMMANDS.items()},
    }  # fmt: skip


def _spread(values: Sequence[int]) -> list[int]:
    return [values[len(values) // 2], values[len(values) * 9 // 10], values[-1]]


def command(source: Path, arguments: Sequence[str], prompt: str) -> dict[str, Any]:
    """Run a command in a tiny repository: modules and lines of satchel that it imports, and its processor time."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repository")
        root.mkdir()
        (root / "answer.py").write_text("def answer() -> int:\n    return 42\n")
        home = {name: f"{folder}/{name}" for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
        environment = {**os.environ, **home, "PYTHONPATH": str(source.resolve())}
        event = json.dumps(
            {"session_id": "1", "cwd": str(root), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
        )

        def run(*command: str) -> None:
            subprocess.run(command, cwd=root, env=environment, input=event, text=True, capture_output=True, check=True)

        run("git", "init", "-q")
        run(sys.executable, "-m", "satchel", "index")
        log = Path(folder, "imports")
        run(sys.executable, "-c", RECORDER, str(log), *arguments)
        imported = {name for name in log.read_text().split() if re.fullmatch(r"satchel[\w.]*", name)}
        seconds = []
        for _ in range(RUNS):
            before = os.times()
            run(sys.executable, "-m", "satchel", *arguments)
            after = os.times()
            seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    files = [source / (name.replace(".", "/") + suffix) for name in imported for suffix in (".py", "/__init__.py")]
    modules = [path for path in files if path.is_file()]
    return {
        "modules": len(modules),
        "lines": sum(path.read_text(encoding="utf-8").count("\n") for path in modules),
        "processor seconds, median": round(statistics.median(seconds), 3),
    }


def changes() -> dict[str, Any]:
    """Return the files of each typical change, before and now."""
    return {
        name: {"before": before, "now": len(files), "files": list(files)} for name, (before, files) in CHANGES.items()
    }


def main() -> None:
    """Measure one source folder and store it under its label, beside the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path("src"))
    parser.add_argument("--as", dest="label", default="after")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    result = measure(chosen.source)
    if chosen.out is not None:
        stored = json.loads(chosen.out.read_text(encoding="utf-8")) if chosen.out.exists() else {}
        stored |= {chosen.label: result, "files of a change": changes()}
        chosen.out.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
