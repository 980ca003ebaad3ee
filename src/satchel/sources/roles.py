"""The role of a file: source, test, example, generated, vendored or peripheral."""

from __future__ import annotations

import re
from enum import StrEnum

from satchel.text import pattern, word_lists, wording

_NAMES = word_lists("file_names.txt")
_FOLDERS = {name: heading[:-5] for heading, names in _NAMES.items() if heading.endswith(" role") for name in names}
"""Folder name -> role of what is inside. The outermost one that applies decides."""

_TEST_FOLDER = pattern(r"[^/]+[_-]tests?|tests?[_-][^/]+")
"""`integration_tests`, `runtime-tests`, `test-shrinker`."""

_TEST_FILE, _GENERATED_FILE = (pattern("|".join(_NAMES[f"{role} code"])) for role in ("test", "generated"))
_DOMAINS = frozenset({"com", "dev", "io", "net", "org"})
"""Folders below which `example` is a part of a name that is written backwards: `com/example/shop`."""
_CAMEL_TEST = pattern(r"[^/]*[a-z0-9](?:Tests?|TestCase|IT|Spec)\.(?:java|kt|scala|groovy|cs|swift|php)")

SECONDARY = frozenset(_FOLDERS.values())
"""Roles that rank below sources."""


def file_role(path: str) -> str:
    """`source`, or one of `SECONDARY`. `path` is relative to the root, with forward slashes.

    `src/_pytest/` and `src/flask/testing.py` are sources, `testing/` at the top is tests, and so is
    `src/test/java/`: names that also stand for something a library ships count only outside a package. A file that is
    called a test is one in any folder.
    """
    name = path.rpartition("/")[2]
    if _CAMEL_TEST.fullmatch(name) or _TEST_FILE.fullmatch(name.lower()):
        return "test"
    if role := folder_role(path):
        return "test" if role == "testing" else role
    return "generated" if _GENERATED_FILE.fullmatch(name.lower()) else "source"


def folder_role(path: str) -> str:
    """Return the role of a file by its folders alone, empty for none; `testing` is a role of its own."""
    folders = path.split("/")[:-1]
    for position, folder in enumerate(folders):
        name = folder.lower()
        role = "test" if _TEST_FOLDER.fullmatch(name) else _FOLDERS.get(name)
        if role is not None and not _is_shipped(folders, position):
            return "testing" if name == "testing" else role
    return ""


def _is_shipped(folders: list[str], position: int) -> bool:
    """Return whether a folder is part of a package: `src/x/testing`, but not `testing`, `src/test` or `src/x/tests`."""
    name = folders[position].lower()
    if position and folders[position - 1] in _DOMAINS and _FOLDERS.get(name) == "example":
        return True
    if name not in _NAMES["shipped"] and not name.startswith(("test-", "test_")):
        return False
    return any(folder.lower() in {"src", "lib"} for folder in folders[:position])


def is_secondary(path: str) -> bool:
    """Return whether a file supports the sources; such files rank lower unless the query names them."""
    return file_role(path) in SECONDARY


def is_inline_test(path: str, name: str) -> bool:
    """Return whether a definition belongs to the tests inside a Rust file: `tests.reads_all`."""
    return path.endswith(".rs") and name.partition(".")[0] in {"tests", "test"}


class Peripheral(StrEnum):
    """What a peripheral file is."""

    MANIFEST = "manifest"
    LOCK = "lock"
    CONFIGURATION = "configuration"
    CHANGELOG = "changelog"
    LICENCE = "licence"
    COMMUNITY = "community"
    TRANSLATION = "translation"
    TEST_DATA = "test data"


_BY_NAME = {
    name: role
    for role in (Peripheral.MANIFEST, Peripheral.LOCK, Peripheral.CONFIGURATION)
    for name in _NAMES[role.value]
}

_BY_PATTERN = [
    (pattern("|".join(forms)), Peripheral(heading.removesuffix(" patterns")))
    for heading, forms in _NAMES.items()
    if heading.endswith(" patterns")
]
"""Patterns of lower-case file names, the first that applies decides."""

_COMMUNITY_PAGE = pattern(r"(?:^|/)(?:SECURITY|SUPPORT)\.\w+$")
"""In capitals: `docs/security.rst` explains the product."""

_PROSE_ONLY = frozenset({Peripheral.CHANGELOG, Peripheral.LICENCE, Peripheral.COMMUNITY})
"""A file of code with such a name (`history.py`, `license.ts`) is a source."""

_PROSE = pattern(r".+\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|html?)")
"""What can be a translated page or a release note. Code and data of a language are part of the product."""

_PERIPHERAL_FOLDERS = {
    name: role for role in (Peripheral.CONFIGURATION, Peripheral.LICENCE) for name in _NAMES[f"{role} folders"]
}

_LANGUAGE_NAMES = {code: name for code, _, name in (row.partition(":") for row in _NAMES["languages"])}
_CODE = rf"({'|'.join(_LANGUAGE_NAMES)})(?:[-_](?:[a-z]{{2,4}}|\d{{3}}))?"
_LANGUAGE = pattern(_CODE)
_SUFFIXED = pattern(rf"(?:readme|contributing|changelog|[\w-]+)[._-]((?:{_CODE}))\.\w+")
_README_SUFFIX = pattern(r"(?:readme|contributing|index|getting[-_]started)[._-].*")
_PAGES, _NOTES_FOLDERS = (frozenset(_NAMES[f"{what} folders"]) for what in ("page", "notes"))

_TESTING = frozenset({"test", "fixture", "generated", "vendor"})
"""Roles of folders whose prose and data are material of tests or of somebody else."""


def peripheral_role(path: str, *, is_prose: bool = False) -> Peripheral | None:
    """Return what a peripheral file is, None for all others.

    `path` is relative to the root, with forward slashes. With `is_prose` the file is not code: among the tests
    it is then test data. Code of tests has another role (`file_role`).
    """
    *folders, name = path.lower().split("/")
    role = _BY_NAME.get(name) or next((role for form, role in _BY_PATTERN if form.fullmatch(name)), None)
    if role is not None and (is_prose or role not in _PROSE_ONLY):
        return role
    role = next((_PERIPHERAL_FOLDERS[folder] for folder in folders if folder in _PERIPHERAL_FOLDERS), None)
    if role is not None or not is_prose:
        return role
    if file_role(path) in _TESTING:
        return Peripheral.TEST_DATA
    if not _PROSE.fullmatch(name):
        return None
    if not _NOTES_FOLDERS.isdisjoint(folders):
        return Peripheral.CHANGELOG
    if _COMMUNITY_PAGE.search(path):
        return Peripheral.COMMUNITY
    return Peripheral.TRANSLATION if language_of_page(path) else None


def language_of_page(path: str) -> str:
    """Return the code of the language that a translated page is written in, empty for an original one."""
    *folders, name = path.lower().split("/")
    match = _SUFFIXED.fullmatch(name) if "." in name else None
    if match is not None and (_README_SUFFIX.fullmatch(name) or not _PAGES.isdisjoint(folders)):
        return match[2]
    for above, folder in zip(["", *folders], folders, strict=False):
        match = _LANGUAGE.fullmatch(folder)
        if match is not None and (above in _PAGES or above in _NAMES["translated folders"]):
            return match[1]
    return ""


_ASKS_OF_HISTORY = wording("asks of history")
_ASKS = {role: wording(f"asks for {role}") for role in Peripheral}


def asked_peripherals(title: str) -> frozenset[Peripheral]:
    """Return the peripheral files that the first line of a question asks for by what they are."""
    named = {role for role, form in _ASKS.items() if form.search(title)}
    if _ASKS_OF_HISTORY.search(title):
        named.add(Peripheral.CHANGELOG)  # release notes say what was removed, and why
    languages = {name for name in _LANGUAGE_NAMES.values() if name}
    if languages.intersection(re.findall(r"[a-z]+", title.lower())):
        named.add(Peripheral.TRANSLATION)
    return frozenset(named)


_BOTS, _ROUTINE, _ASKS_ROUTINE = map(wording, ("bot", "subject of a routine commit", "asks of routine commits"))


def is_routine_commit(subject: str, author: str) -> bool:
    """Return whether a commit only moves versions, merges, or was made by a bot."""
    return bool(_BOTS.search(author) or _ROUTINE.fullmatch(subject.strip()))


def asks_for_routine(title: str) -> bool:
    """Return whether the first line of a question asks for what routine commits do."""
    return bool(_ASKS_ROUTINE.search(title))
