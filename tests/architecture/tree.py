"""The repository as the architecture tests see it: its files, its modules, and what each module imports."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "satchel"
PYTHON_FOLDERS = ("src", "tests", "benchmarks", "scripts", "integrations")


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file: its dotted name inside `src`, or its path, and its syntax tree."""

    name: str
    path: str
    tree: ast.Module
    text: str


@dataclass(frozen=True, slots=True)
class ImportedName:
    """What one statement or string names: a module of satchel, on this line."""

    target: str
    line: int


@cache
def repository_files() -> tuple[str, ...]:
    """Paths of all files that are or could be committed, in order."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    return tuple(sorted(path for path in set(listed.split("\0")) if path and (ROOT / path).is_file()))


def _module_name(path: str) -> str:
    if not path.startswith("src/"):
        return path
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


@cache
def modules(folder: str) -> tuple[Module, ...]:
    """The Python files below a folder of the repository."""
    found = []
    for path in repository_files():
        if path.startswith(folder + "/") and path.endswith(".py"):
            text = (ROOT / path).read_text(encoding="utf-8")
            found.append(Module(_module_name(path), path, ast.parse(text, path), text))
    return tuple(found)


@cache
def module_names() -> frozenset[str]:
    """Dotted names of all modules and packages of satchel."""
    return frozenset(module.name for module in modules("src"))


def imports_of(module: Module) -> Iterator[ImportedName]:
    """Every module of satchel that this one names: at the top, inside functions, for type checkers only, or as text.

    A string counts when it is the whole name of a module: lazy imports and `python -m` name modules that way.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = list(_from_names(module, node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            names = [name] if name in module_names() and name != PACKAGE else []
        else:
            continue
        for name in names:
            if name == PACKAGE or name.startswith(PACKAGE + "."):
                yield ImportedName(name, getattr(node, "lineno", 0))


def _from_names(module: Module, node: ast.ImportFrom) -> Iterator[str]:
    """`from satchel import files, x` names the module satchel.system.files, and satchel itself for x.

    `__version__` is left out: the first file of the package has it, and needs nothing for it.
    """
    base = node.module or ""
    if node.level:
        parents = module.name.split(".")
        if not module.path.endswith("__init__.py"):
            parents = parents[:-1]
        kept = parents[: len(parents) - node.level + 1]
        base = ".".join([*kept, base] if base else kept)
    for alias in node.names:
        submodule = f"{base}.{alias.name}"
        if submodule != f"{PACKAGE}.__version__":
            yield submodule if submodule in module_names() else base
