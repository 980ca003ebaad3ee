"""What a name in a question means: `Client.send`, `shop/client.py::send`, `Searcher::new`, `send()`, `client.py`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.search.resolve.code import Code, Definition
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.store.records import Bundle
from satchel.types import Kind

_FILE = re.compile(r"(?:^|/)[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]{1,5}$|/")


def definitions_named(code: Code, text: str) -> list[Definition]:
    """The definitions that a name ends with, those of production code first; empty where there are none.

    The last part of a longer name is the unqualified name, what stands before it the end of the owner's name. A path,
    or the end of one, may stand before `::`.
    """
    wanted = text.strip().strip("`").removeprefix("./").removesuffix("()").partition("~")[0]
    path, symbol = "", wanted
    before, colons, after = wanted.partition("::")
    if colons and _FILE.search(before):
        path, symbol = before.removeprefix("code:"), after
    plain = re.sub(r"::|#(?=\w)|->", ".", symbol)
    found = [
        one
        for one in code.defined(plain.rpartition(".")[2])
        if f".{one.qualified}".endswith(f".{plain}") and (not path or f"/{one.path}".endswith(f"/{path}"))
    ]
    found.sort(key=lambda one: (one.qualified != plain, is_secondary(one.path), one.path, one.line))
    return found


def clear(named: Sequence[Definition], most: int) -> list[Definition]:
    """The definitions of one name, overloads once, where they are at most so many; else none.

    Those of production code hide others, implementations their declarations, functions the methods of that name.
    """
    shown = [one for one in named if not is_secondary(one.path)] or list(named)
    shown = [one for one in shown if not one.path.endswith(".d.ts")] or shown
    shown = [one for one in shown if not one.owner] or shown
    each: dict[tuple[str, str], Definition] = {}
    for one in shown:
        each.setdefault(one.key, one)
    return list(each.values()) if len(each) <= most else []


def files_named(store: Store, path: str) -> list[Bundle]:
    """The files of code and documentation at a path, or whose paths end with it."""
    wanted = path.strip().removeprefix("./")
    exact = [store.bundle(kind, wanted) for kind in (Kind.CODE, Kind.DOC)]
    found = [bundle for bundle in exact if bundle is not None]
    if found:
        return found
    name = wanted.rpartition("/")[2]
    ids = [number for number, key in store.paths_named([name], []) if key.endswith(f"/{wanted}")]
    return [one for one in store.bundles(ids).values() if one.kind in (Kind.CODE, Kind.DOC)]
