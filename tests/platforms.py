"""Windows and macOS as a program sees them: the names that the standard library lacks there, and a disk of macOS.

    python -m tests.platforms win32 '[["index"], ["ask", "who?"], ["hook", "prompt"]]' '[{"prompt": "who?"}]'

Runs the commands one after the other in one process in which satchel, not the standard library, sees another system;
prints the exit code and the output of each as JSON. Each hook reads the next of the events.
Which names a system has is read from the stubs of the type checker, so no list has to be kept.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import mypy

STUBS = Path(mypy.__file__).parent / "typeshed/stdlib"


def is_so(test: ast.expr, platform: str) -> bool:
    """Return whether a condition of a stub holds on a system; true where it is about something else."""
    known = {"sys": SimpleNamespace(platform=platform, version_info=sys.version_info)}
    try:
        return bool(eval(compile(ast.Expression(test), "stub", "eval"), known))
    except (NameError, AttributeError):
        return True


def defined(body: list[ast.stmt], platform: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.If):
            yield from defined(node.body if is_so(node.test, platform) else node.orelse, platform)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


@cache
def missing(module: str, platform: str) -> frozenset[str]:
    """Names of a module of the standard library that Linux has and this system has not."""
    found = [path for path in (STUBS / f"{module}.pyi", STUBS / module / "__init__.pyi") if path.is_file()]
    body = ast.parse(found[0].read_text(encoding="utf-8")).body if found else []
    return frozenset(defined(body, "linux")) - frozenset(defined(body, platform))


def folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def open_like_macos(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    """Open a file by any spelling of its last name, as a disk does that ignores case and composition."""
    try:
        return os.open(path, flags, mode, dir_fd=dir_fd)
    except FileNotFoundError:
        folder, _, name = os.fspath(path).rpartition("/")
        names = os.listdir(dir_fd if dir_fd is not None else folder or ".")  # noqa: PTH208 - of a descriptor too
        same = next((one for one in names if folded(one) == folded(name)), None)
        if same is None:
            raise
        return os.open(f"{folder}/{same}" if folder else same, flags, mode, dir_fd=dir_fd)


def spelled(path: str) -> str:
    """Return an absolute path with the names that are on the disk, whatever the case and composition of its own."""
    there = "/"
    for name in filter(None, path.split("/")):
        names = []
        with contextlib.suppress(OSError):
            names = os.listdir(there)  # noqa: PTH208 - which is the real one here
        same = (one for one in names if folded(one) == folded(name))
        there = f"{there.rstrip('/')}/{name if name in names else next(same, name)}"
    return there


def like_macos(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the system that finds an absolute path by any spelling of its names."""

    def called(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        is_absolute = not isinstance(path, int) and os.path.isabs(path)  # noqa: PTH117
        return real(spelled(os.fspath(path)) if is_absolute else path, *arguments, **options)

    return called


def as_seen_on(platform: str, name: str) -> ModuleType:
    """Return a module of the standard library without the names that the system lacks."""
    real = importlib.import_module(name)
    seen = ModuleType(name)
    seen.__dict__.update({key: value for key, value in vars(real).items() if key not in missing(name, platform)})
    if name == "sys":
        seen.platform = platform  # type: ignore[attr-defined]
    elif name == "os" and platform == "win32":
        seen.name, seen.supports_dir_fd, seen.supports_fd = "nt", set(), set()  # type: ignore[attr-defined]
    elif name == "os" and platform == "darwin":
        seen.open, seen.supports_dir_fd = open_like_macos, {open_like_macos}  # type: ignore[attr-defined]
    return seen


def load(package: str) -> None:
    """Import all modules of a package that can be imported."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def become(platform: str) -> None:
    """Import satchel anew, in a process that looks to it like one of another system."""
    load("satchel")  # and with it all of the standard library and of other packages, which see this system
    for name in [name for name in sys.modules if name.partition(".")[0] == "satchel"]:
        del sys.modules[name]
    if platform == "darwin":
        for name in ("stat", "lstat", "scandir", "access", "readlink"):
            setattr(os, name, like_macos(getattr(os, name)))
    for name in ("os", "signal", "time", "select", "socket", "_socket", "resource", "sys"):
        sys.modules[name] = as_seen_on(platform, name)
    if platform == "win32":
        for name in ("fcntl", "resource", "pwd", "grp", "termios"):
            sys.modules[name] = None  # type: ignore[assignment]
    load("satchel")


def run(words: list[str], event: bytes) -> tuple[int, str]:
    """Run one command of the command line; returns its exit code and what it printed."""
    from satchel.cli.application import run as command
    from satchel.hooks import supervise

    supervise.WORKER_SECONDS, supervise.DEADLINE_SECONDS = 240.0, 300.0  # how fast this machine is, is not looked at
    kept = os.dup(0), os.dup(1)
    with tempfile.TemporaryFile() as sent, tempfile.TemporaryFile() as answered:
        sent.write(event)
        sent.seek(0)
        os.dup2(sent.fileno(), 0)
        os.dup2(answered.fileno(), 1)
        try:
            code = supervise.main(words[1:]) if words[0] == "hook" else command(words)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)  # the deadline of a hook, which this process survives
            sys.stdout.flush()
            os.dup2(kept[0], 0)
            os.dup2(kept[1], 1)
        answered.seek(0)
        return code, answered.read().decode()


if __name__ == "__main__":
    become(sys.argv[1])
    events = iter(json.loads(sys.argv[3]))
    asked = [
        (words, json.dumps(next(events)).encode() if words[0] == "hook" else b"") for words in json.loads(sys.argv[2])
    ]
    print(json.dumps([run(words, event) for words, event in asked]))
