"""Paths and symbols that instruction files name in backquotes and that do not exist any more.

A path is looked for from the folder of the file and from the root. A symbol is missed only where the index can tell:
`Reader.close` when the index knows `Reader` and no `close`, `parse_head()` when neither a definition nor any code says
`parse_head`. Names of libraries are not known to the index and are never missed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from satchel.errors import UnsafePathError
from satchel.rules.instructions import Instruction
from satchel.rules.lines import Finding
from satchel.rules.paths import parent_of, resolved
from satchel.store.protocol import Store
from satchel.text import EXACT_MARK
from satchel.types import Kind

MOST_MISSING = 50
"""Names of one file that are listed."""

_QUOTED = re.compile(r"(?<!`)`([^`\n]{2,200})`(?!`)")
_PATH = re.compile(
    r"(?:\./)?[\w.@-]+(?:/[\w.@-]+)+/?|[\w-]+\.(?:py|pyi|js|ts|tsx|jsx|go|rs|java|rb|md|toml|yaml|yml|json|sh|sql)"
)
_MEMBER = re.compile(r"([A-Z]\w+)\.([A-Za-z_]\w+)(?:\(\))?")
_CALL = re.compile(r"([A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+)\(\)")
_PLACE = re.compile(r"(?::\d+(?:-\d+)?|#L?\d+(?:-L?\d+)?)\Z")


def missing_names(instruction: Instruction, root: Path, store: Store) -> list[Finding]:
    """The names in one file that lead nowhere, each once, in their order."""
    found: dict[str, Finding] = {}
    folder = parent_of(instruction.stands_for or instruction.path)
    has_code = bool(store.kinds().get(Kind.CODE))
    for number, line in enumerate(instruction.text.split("\n"), instruction.line):
        for quoted in _QUOTED.findall(line):
            name = _PLACE.sub("", quoted.strip())
            if name in found or len(found) >= MOST_MISSING:
                continue
            message = _missing(name, {folder, instruction.folder, ""}, root, store, has_code=has_code)
            if message:
                path = instruction.stands_for or instruction.path
                found[name] = Finding(path, number, line.strip(), message)
    return list(found.values())


def _missing(name: str, folders: set[str], root: Path, store: Store, *, has_code: bool) -> str:
    """What to say of a name that leads nowhere, empty for one that leads somewhere or is none."""
    if _PATH.fullmatch(name):
        return "" if _is_there(name, folders, root, store) else f"names `{name}`, which is not there"
    if not has_code:
        return ""
    member, call = _MEMBER.fullmatch(name), _CALL.fullmatch(name)
    if member is not None:
        owner, last = member.groups()
        is_gone = bool(store.definitions([owner])) and not store.definitions([last]) and not _is_said(last, store)
        return f"names `{name}`, but {owner} has no {last} any more" if is_gone else ""
    if call is not None and not store.definitions([call[1]]) and not _is_said(call[1], store):
        return f"names `{name}`, which nothing defines or calls"
    return ""


def _is_there(name: str, folders: set[str], root: Path, store: Store) -> bool:
    """Whether a path exists below one of the folders. One whose first folder is unknown is somebody else's."""
    for folder in sorted(folders):
        try:
            path = resolved(name.rstrip("/"), folder)
        except UnsafePathError:
            return True
        if os.path.lexists(root / path):
            return True
    first = name.removeprefix("./").split("/")[0]
    if "/" not in name.removeprefix("./"):
        return bool(store.paths_named([first], []))
    return not any((root / folder / first).is_dir() for folder in folders)


def _is_said(name: str, store: Store) -> bool:
    """Whether any code says this compound word."""
    (postings,) = store.lexicon(Kind.CODE).postings([f"{EXACT_MARK}{name.lower()}"])
    fields = (postings.body, postings.name, postings.signature, postings.path)
    return any(len(units) for units, _ in fields)
