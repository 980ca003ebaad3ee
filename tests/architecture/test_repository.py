"""What no file of the repository may hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import pytest

from tests.architecture.tree import ROOT, modules, repository_files

DOT = re.escape(".")

REGISTRY_HOSTS = re.compile(
    "|".join(
        [
            f"pypi{DOT}org",
            f"python{'hosted'}{DOT}",
            f"registry{DOT}npm",
            f"npmjs{DOT}(?:com|org)",
            f"deb{DOT}debian",
            f"crates{DOT}io",
            f"rubygems{DOT}org",
            f"proxy{DOT}golang",
        ]
    )
)

MACHINE_PATHS = re.compile(r"(?<![a-zA-Z0-9._-])/(?:work|farm)/[a-z.]")

SECRETS = re.compile(
    "|".join(
        [
            r"\bA[KS]IA[0-9A-Z]{16}\b",
            r"\bgh[opusr]_[A-Za-z0-9]{36}",
            r"\bgithub_pat_[A-Za-z0-9_]{40,}",
            r"\bglpat-[A-Za-z0-9_-]{20}",
            r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}",
            r"\bxox[abpors]-[A-Za-z0-9-]{20,}",
            r"\bAIza[A-Za-z0-9_-]{35}",
            r"\bnpm_[A-Za-z0-9]{36}",
            r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}",
            r"://[^\s/:@{}<>$]+:[^\s/@{}<>$]{6,}@[a-z0-9.-]+\.[a-z]{2,}",
        ]
    )
)

UNFINISHED = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + "X)\\b")


def found_in_files(pattern: re.Pattern[str], paths: Iterable[str]) -> list[str]:
    """`path:line: match` of every match in these files; files that are not text are left out."""
    found = []
    for path in paths:
        content = (ROOT / path).read_bytes()
        if b"\0" in content:
            continue
        text = content.decode("utf-8", "replace")
        found += [f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {m.group()}" for m in pattern.finditer(text)]
    return found


@pytest.mark.parametrize(
    "pattern",
    [REGISTRY_HOSTS, MACHINE_PATHS, re.compile(re.escape(str(ROOT)) + r"\b"), SECRETS],
    ids=["host of a package registry", "path of a machine", "path of this checkout", "secret"],
)
def test_no_file_holds_a(pattern: re.Pattern[str]) -> None:
    found = found_in_files(pattern, repository_files())
    assert not found, "\n".join(found)


def test_the_sources_are_finished() -> None:
    assert found_in_files(UNFINISHED, [module.path for module in modules("src")]) == []


def test_no_test_sleeps() -> None:
    found = [
        f"{module.path}:{node.lineno}"
        for module in modules("tests")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and "sleep" in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (REGISTRY_HOSTS, "https://" + ".".join(["pypi", "org"]) + "/simple"),
        (MACHINE_PATHS, "cd " + "/".join(["", "work", "main"])),
        (SECRETS, "key = '" + "AKIA" + "Q3" * 8 + "'"),
        (SECRETS, "postgres://user:" + "correcthorse" + "@db.example.com/x"),
    ],
    ids=["host", "path", "key", "password in an address"],
)
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)
