"""What a file is there for, judged by the segments of its path, never by a part of a word."""

from __future__ import annotations

import re

_ROLES = {
    "benchmark": "bench benches benchmark benchmarks",
    "doc": "doc docs documentation",
    "example": "demo demos example examples sample samples",
    "fixture": "__fixtures__ __snapshots__ fixture fixtures testdata test-data test_data",
    "test": "__mocks__ __tests__ e2e spec specs test testing tests unittests",
    "generated": "__generated__ generated",
    "vendor": "node_modules third_party third-party vendor",
}
_FOLDERS = {name: role for role, names in _ROLES.items() for name in names.split()}
"""Folder name -> role of what is inside. The outermost one that applies decides."""

_TEST_FOLDER = re.compile(r"[^/]+[_-]tests?")
"""`integration_tests`, `runtime-tests`."""

_PACKAGE_ROOTS = frozenset({"src", "lib"})
"""Below these stands the shipped package."""

_SHIPPED_NAMES = frozenset({"testing", "spec", "specs", "example", "sample", "benchmark", "doc", "generated", "demo"})
"""Names that a shipped package also uses for what it offers: `src/flask/testing/`, `lib/spec/`."""

_FILES = (
    (
        re.compile(r"conftest\.py|test_[^/]*|[^/]*_test\.[^/]+|[^/]*[.-]tests?\.[^/]+|[^/]*\.(?:spec|e2e)\.[^/]+"),
        "test",
    ),
    (re.compile(r"[^/]*_spec\.rb|[^/]*_unittest\.[^./]+|(?:test|spec)_?helper\.[^./]+"), "test"),
    (re.compile(r"[^/]*(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.dart|\.designer\.cs)"), "generated"),
    (re.compile(r"[^/]*(?:[._]generated\.[^./]+|\.min\.(?:js|css))"), "generated"),
)
_CAMEL_TEST = re.compile(r"[^/]*[a-z0-9](?:Tests?|TestCase|IT|Spec)\.(?:java|kt|scala|groovy|cs|swift|php)")

SECONDARY = frozenset(_ROLES)
"""Roles that rank below sources."""


def file_role(path: str) -> str:
    """`source`, or one of `SECONDARY`. `path` is relative to the root, with forward slashes.

    `src/_pytest/` and `src/flask/testing.py` are sources, `testing/` at the top is tests, and so is
    `src/test/java/`: names that also stand for something a library ships count only outside a package.
    """
    *folders, name = path.split("/")
    for position, folder in enumerate(folders):
        role = "test" if _TEST_FOLDER.fullmatch(folder.lower()) else _FOLDERS.get(folder.lower())
        if role is not None and not _is_shipped(folders, position):
            return role
    if _CAMEL_TEST.fullmatch(name):
        return "test"
    for pattern, role in _FILES:
        if pattern.fullmatch(name.lower()):
            return role
    return "source"


def _is_shipped(folders: list[str], position: int) -> bool:
    """Whether a folder is part of a package: `src/x/testing`, but not `testing`, `src/test` or `src/x/tests`."""
    if folders[position].lower() not in _SHIPPED_NAMES:
        return False
    return any(folder.lower() in _PACKAGE_ROOTS for folder in folders[:position])


def is_secondary(path: str) -> bool:
    """Whether a file supports the sources instead of being one; such files rank lower unless they are asked for."""
    return file_role(path) in SECONDARY


def is_inline_test(path: str, name: str) -> bool:
    """Whether a definition is of the tests that Rust has inside the file that they test: `tests.reads_all`."""
    return path.endswith(".rs") and name.partition(".")[0] in {"tests", "test"}
