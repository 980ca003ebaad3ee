"""Names of the standard library that another system lacks: each is read where their absence was asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.tree import Module, modules
from tests.platforms import missing

CHECK = re.compile(r"\bhasattr\(|\bos\.name\b|\bsys\.platform\b|\bfcntl is (?:not )?None\b")
FORGIVEN = re.compile(r"\b(?:AttributeError|ImportError)\b")

BELOW_A_CHECK = {
    "satchel.hooks.supervise": {"_start", "_end"},  # called where `os.fork` is there
    "satchel.index.reading": {"__init__", "kill"},  # of a forked worker, which only Linux has
    "satchel.system.resident": {"identity", "ask"},  # called with the address of a socket, which is empty elsewhere
    "satchel.cli.resident": {"connected", "_bound", "is_gone"},  # called where `AF_UNIX` is there
    "satchel.cli.streams": {"lines_of_pipe"},  # called with a named pipe, which is no file of Windows
}
"""Functions whose callers have asked, by module."""


def bare(module: Module, platform: str) -> Iterator[str]:
    """Names that the module reads, and the system lacks, without a check around or before."""
    if any(lacking(node, platform) for node in ast.walk(module.tree)):
        yield from _bare(module.tree, platform, BELOW_A_CHECK.get(module.name, set()))


def lacking(node: ast.AST, platform: str) -> list[str]:
    """Names of the standard library that a node reads, and the system lacks."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        names = [node.attr] if node.attr in missing(node.value.id, platform) else []
        return [f"{node.lineno}: {node.value.id}.{name}" for name in names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [alias.name for alias in node.names if alias.name in missing(node.module, platform)]
        return [f"{node.lineno}: {node.module}.{name}" for name in names]
    return []


def _bare(node: ast.AST, platform: str, checked: set[str]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef) and node.name in checked:
        return
    yield from lacking(node, platform)
    for child in _unchecked(node):
        yield from _bare(child, platform, checked)


def _unchecked(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that run whether a check holds or not; a function ends at a check that leaves it."""
    if isinstance(node, ast.If | ast.IfExp) and CHECK.search(ast.unparse(node.test)):
        return
    if isinstance(node, ast.BoolOp) and CHECK.search(ast.unparse(node.values[0])):
        return
    if isinstance(node, ast.Try) and any(FORGIVEN.search(ast.unparse(one.type or one)) for one in node.handlers):
        return
    if isinstance(node, ast.With) and any(FORGIVEN.search(ast.unparse(one)) for one in node.items):
        return
    for child in ast.iter_child_nodes(node):
        yield child
        is_end = isinstance(child, ast.If) and isinstance(child.body[-1], ast.Return | ast.Raise)
        if is_end and CHECK.search(ast.unparse(child).partition(":\n")[0]):
            return


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_no_name_is_read_that_another_system_lacks(platform: str) -> None:
    found = {module.path: list(bare(module, platform)) for module in modules("src")}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_stubs_tell_the_systems_apart() -> None:
    assert {"getuid", "geteuid", "O_NOFOLLOW", "O_CLOEXEC", "fork", "pwrite"} <= missing("os", "win32")
    assert {"flock", "LOCK_EX"} <= missing("fcntl", "win32")
    assert {"SIGKILL", "SIGHUP", "setitimer"} <= missing("signal", "win32")
    assert {"O_PATH", "O_TMPFILE"} <= missing("os", "darwin")
    assert "prlimit" in missing("resource", "darwin")
    assert not {"open", "read", "O_RDONLY", "O_CREAT", "getpid", "kill"} & missing("os", "win32")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f():\n    return os.getuid()\n", ["2: os.getuid"]),
        ("from signal import SIGKILL\n", ["1: signal.SIGKILL"]),
        ("one = os.getuid() if hasattr(os, 'getuid') else 0\n", []),
        ("def f():\n    if not hasattr(os, 'fork'):\n        return 0\n    return os.fork()\n", []),
        ("def f():\n    if os.name == 'nt':\n        x = 0\n    return os.fork()\n", ["4: os.fork"]),
        ("def f():\n    try:\n        os.getuid()\n    except AttributeError:\n        pass\n", []),
        ("def f():\n    try:\n        os.getuid()\n    except OSError:\n        pass\n", ["3: os.getuid"]),
        ("x = getattr(os, 'O_NOFOLLOW', 0) | os.O_RDONLY\n", []),
    ],
)
def test_a_check_counts_where_it_is_around_or_before(text: str, names: list[str]) -> None:
    assert list(bare(Module("m", "m.py", ast.parse(text), text), "win32")) == names


def test_each_function_below_a_check_still_needs_it() -> None:
    by_name = {module.name: module for module in modules("src")}
    for name, functions in BELOW_A_CHECK.items():
        for function in functions:
            found = list(_bare(by_name[name].tree, "win32", functions - {function}))
            assert found, f"{name}.{function} reads nothing that Windows lacks"
