"""Code in folders that are called `docs`, `examples` or `testing`, and which is part of the product all the same.

A file is told by what the index knows of its neighbours: production code imports it, or it has tests beside it in a
folder of documentation. Computed once a revision, from paths and imports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from satchel import lazy_numpy as np
from satchel.sources.roles import file_role, folder_role
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon
from satchel.types import EdgeType, Kind

if TYPE_CHECKING:
    import numpy.typing as npt

TOLD_APART = frozenset({"doc", "example", "testing"})
"""Roles of folders that may also have production code; `testing` is the folder of that name alone."""


def shipped(store: Store, lexicon: Lexicon) -> npt.NDArray[np.bool_]:
    """Return a mask of the documents of code that are production code although their folder has another name."""
    return lexicon.derived(shipped, lambda: _shipped(store, lexicon))


def _shipped(store: Store, lexicon: Lexicon) -> npt.NDArray[np.bool_]:
    doubtful: list[str] = []
    has_tests: set[str] = set()
    for path in store.iterate_keys(Kind.CODE):
        role, is_test = _told(path)
        if is_test and role == "doc":
            has_tests.add(path.rpartition("/")[0])
        elif role in TOLD_APART and not is_test:
            doubtful.append(path)
    mask = np.zeros(len(lexicon.columns.document_id), dtype=bool)
    if not doubtful:
        return mask
    found = {path for path in doubtful if path.rpartition("/")[0] in has_tests} | _imported(store, doubtful)
    positions = lexicon.document_positions(store.document_ids(Kind.CODE, found).values())
    mask[positions[positions >= 0]] = True
    return mask


@lru_cache(maxsize=1 << 16)
def _told(path: str) -> tuple[str, bool]:
    """Return what the folders of a file say, the same in every revision, and whether it is called a test itself."""
    role = folder_role(path)
    return role, bool(role) and file_role(path) == "test" and role not in ("test", "testing")


def _imported(store: Store, paths: Iterable[str]) -> set[str]:
    """Return those of the files that production code imports by a path, a module or a part of it with the folder."""
    named: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for target in _targets(path):
            named[target].add(path)
    edges = store.edges_to(sorted(named), [EdgeType.IMPORTS])
    places = store.places(sorted({row for row, _, _ in edges}))
    imported: set[str] = set()
    for row, _, target in edges:
        importer = places.get(row)
        if importer is not None and not importer.secondary:
            imported.update(path for path in named[target] if _means(importer.key, target, path))
    return imported


def _targets(path: str) -> Iterator[str]:
    """Yield the texts by which a file may be imported: `../docs/pages.js`, `.docs.pages`, `crate::docs::pages`."""
    folder = PurePosixPath(path)
    names = [*folder.parts[:-1], *(() if folder.stem in ("__init__", "index", "mod") else (folder.stem,))]
    first = next(number for number, name in enumerate(names) if folder_role(f"{name}/_") in TOLD_APART)
    for start in range(first + 1):
        names_inside = names[start:]
        yield ".".join(names_inside)
        yield f"crate::{'::'.join(names_inside)}"
    names_inside = names[first:]
    yield f".{'.'.join(names_inside)}"
    for up in (".", "..", "../.."):
        yield f"{up}/{'/'.join(names_inside)}"
        yield f"{up}/{'/'.join(names_inside)}{folder.suffix}"


def _means(importer: str, target: str, path: str) -> bool:
    """Return whether a relative import leads to a file; of others the name has to be enough."""
    folders = [*PurePosixPath(importer).parts[:-1]]
    if target.startswith(("./", "../")):
        ups = target.split("/").count("..")
        base = folders[: len(folders) - ups]
    elif target.startswith("."):
        base = folders
    else:
        return True
    rest = target.lstrip("./").replace("/", ".").split(".")[0]
    return path.startswith("/".join([*base, rest]) + "/")
