"""What the machine brings: Python, SQLite, git, a tokenizer that counts right, and the guards of the system."""

from __future__ import annotations

import os
import platform
import re
import sys

from satchel import state_files
from satchel.doctor.check import Check, fail, ok, warn
from satchel.tokens import counter

OLDEST_PYTHON = (3, 11)

OLDEST_SQLITE = (3, 51, 3)
"""The first release without the fault that could damage a store when a checkpoint met a write."""

OLDEST_GIT = (2, 25)
"""The first release that knows all the guards that satchel puts around it."""

GIT_SECONDS = 10.0

TOKENIZER_PROBE = "def naïve_résumé(x: int) -> str:\n    return f'日本語 {x:>8,} 🙂'\n"
PROBE_TOKENS = {"o200k_base": 28, "cl100k_base": 30}
"""Tokens of the probe, counted once with the reference implementation."""


def python() -> Check:
    """The version of the interpreter."""
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return fail("python", f"Python {version} is too old", f"install Python {_dotted(OLDEST_PYTHON)} or newer")
    return ok("python", f"Python {version}")


def sqlite() -> Check:
    """The version of the one SQLite library that opens stores."""
    import apsw

    version = apsw.sqlite_lib_version()
    found = f"SQLite {version} in apsw {apsw.apsw_version()}"
    if numbers(version) < OLDEST_SQLITE:
        return fail("sqlite", f"{found} can damage a store", "upgrade it: pip install --upgrade apsw")
    return ok("sqlite", found)


def git() -> Check:
    """Whether git answers, and its version."""
    import subprocess

    try:
        # From the root folder: a PATH with an empty step would find a program of the current folder.
        done = subprocess.run(["git", "--version"], cwd=os.sep, capture_output=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return warn("git", f"git cannot be run ({error}): answers come without history", "install git")
    version = done.stdout.decode("utf-8", "replace").strip().removeprefix("git version ")
    if numbers(version) < OLDEST_GIT:
        message = f"git {version} is too old: answers come without history"
        return warn("git", message, f"install git {_dotted(OLDEST_GIT)} or newer")
    return ok("git", f"git {version}")


def tokenizer() -> Check:
    """Whether the exact tokenizers count a text with accents, Japanese and an emoji as they should."""
    for name, expected in PROBE_TOKENS.items():
        counted = counter(name).count(TOKENIZER_PROBE)
        if counted != expected:
            message = f"{name} counts {counted} tokens where there are {expected}: budgets would not hold"
            return fail("tokenizer", message, "install it again: pip install --force-reinstall rs-bpe")
    return ok("tokenizer", f"{', '.join(PROBE_TOKENS)} count right")


def guards() -> Check:
    """Whether the system can open a file without following links, and lock an index."""
    missing = [name for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC") if not hasattr(os, name)]
    missing += [] if os.open in os.supports_dir_fd else ["openat"]
    missing += [] if state_files.HAS_LOCKS else ["flock"]
    if missing:
        message = f"this system lacks {', '.join(missing)}: links are resolved and checked instead, which is weaker"
        return warn("guards", message, "index only folders that you trust")
    return ok("guards", "files are opened without following links")


def numbers(version: str) -> tuple[int, ...]:
    """The first run of dotted numbers in a version: (2, 39, 5) of `2.39.5 (Apple Git-154)`, empty if there is none."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
