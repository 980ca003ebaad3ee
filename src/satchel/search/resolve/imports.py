"""Which file an import means. The store keeps it as it was written: `shop.errors`, `./client`, `crate::store`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from satchel.store.protocol import Store
from satchel.store.records import Place
from satchel.types import EdgeType, Kind

MOST_FILES = 3
"""An import that fits more files than these is not followed: `utils` is everywhere."""

_SEPARATOR = re.compile(r"::|[./\\]+")
_SUFFIX = re.compile(r"\.[A-Za-z]{1,4}$")
_STANDS_FOR_FOLDER = ("__init__", "index", "mod", "lib", "main")
_FOLDER_FILES = ("__init__.py", "index.ts", "index.tsx", "index.js", "index.jsx", "mod.rs", "lib.rs")
_ROOTS = frozenset({"crate", "self", "super", "src"})
_LEADS = ("", "./", "../", "../../", "../../../", ".", "..")


def import_targets(store: Store, files: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """(row of a place, first row of a file that its file imports)."""
    firsts = store.first_rows(Kind.CODE, {place.key for place in files})
    paths = {row: path for path, row in firsts.items()}
    meant = _resolved(store, [(paths[row], target) for row, _, target in _written(store, firsts.values())])
    rows = store.first_rows(Kind.CODE, {path for found in meant.values() for path in found})
    of_path: dict[str, list[str]] = defaultdict(list)
    for (path, _), found in meant.items():
        of_path[path] += found
    for place in files:
        for path in dict.fromkeys(of_path[place.key]):
            if path in rows and path != place.key:
                yield place.row, rows[path]


def importers(store: Store, files: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """(row of a place, first row of a file that imports its file)."""
    spelled = {place.key: _spellings(place.key) for place in files}
    edges = store.edges_to(sorted({one for found in spelled.values() for one in found}), [EdgeType.IMPORTS])
    sources = store.places({row for row, _, _ in edges})
    meant = _resolved(store, [(sources[row].key, target) for row, _, target in edges if row in sources])
    for row, _, target in edges:
        for place in files:
            if row in sources and place.key in meant.get((sources[row].key, target), ()):
                yield place.row, row


def _written(store: Store, rows: Iterable[int]) -> list[tuple[int, EdgeType, str]]:
    return store.edges_from(sorted(rows), [EdgeType.IMPORTS])


def _parts(text: str) -> tuple[str, ...]:
    """`crate::store::lexicon`, `./store/lexicon.js` -> `("store", "lexicon")`."""
    plain = _SUFFIX.sub("", text) if "/" in text else text
    return tuple(part for part in _SEPARATOR.split(plain) if part and part not in _ROOTS)


def _module(path: str) -> tuple[str, ...]:
    """`src/shop/__init__.py` -> `("src", "shop")`."""
    folders, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    above = tuple(folders.split("/")) if folders else ()
    return above if stem in _STANDS_FOR_FOLDER and above else (*above, stem)


def _spellings(path: str) -> set[str]:
    """Every way in which an import may write this file, from its name alone to its whole path."""
    whole = _module(path)
    module = tuple(part for part in whole if part not in _ROOTS)
    suffix = _SUFFIX.search(path)
    found = set()
    for tail in {one[start:] for one in (whole, module) for start in range(len(one))}:
        for joined in (".".join(tail), "/".join(tail), "::".join(tail)):
            found |= {f"{lead}{joined}" for lead in _LEADS} | {f"crate::{joined}"}
        if suffix is not None:
            found |= {f"{lead}{'/'.join(tail)}{suffix[0]}" for lead in _LEADS[:5]}
    return found


def _resolved(store: Store, written: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """(importing path, import as written) -> the paths that are meant, none where there are too many."""
    wanted = {target: _parts(target) for _, target in written}
    stems = {part for parts in wanted.values() for part in parts[-2:]}
    if not stems:
        return {}
    by_module: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for _, path in store.paths_named([*_FOLDER_FILES], sorted(stems)):
        module = _module(path)
        for start in range(len(module)):
            by_module[module[start:]].append(path)
    found = {}
    for path, target in written:
        parts = wanted[target]
        # `from shop.errors import Late` may be written down as `shop.errors.Late`: then the last part is a name.
        fitting = by_module.get(parts) or (by_module.get(parts[:-1]) if len(parts) > 1 else None) or []
        near = [one for one in fitting if one.rpartition("/")[0] == path.rpartition("/")[0]]
        chosen = near if near and (len(parts) == 1 or target.startswith(".")) else fitting
        if 0 < len(chosen) <= MOST_FILES:
            found[path, target] = tuple(sorted(chosen))
    return found
