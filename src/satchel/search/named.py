"""Which definitions a name in a question means: `Client.send`, `shop/client.py::send`, `Searcher::new`, `send()`."""

from __future__ import annotations

import re

from satchel.search.resolve.code import Code, Definition
from satchel.sources.roles import is_secondary

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
