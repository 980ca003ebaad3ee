"""What imports of JavaScript and TypeScript may mean by their manifests: `paths` in tsconfig, `exports` in packages."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from satchel.text import pattern

CONFIGURATIONS = (
    "tsconfig.json", "tsconfig.base.json", "tsconfig.app.json", "tsconfig.lib.json", "tsconfig.paths.json",
    "jsconfig.json",
)  # fmt: skip
"""Names of files that may have `paths`. One that others extend is mostly in a folder above them."""

_HOMES = ("", "src", "lib")
"""Folders with the files of a package that is imported by its own name."""

_ENTRIES = ("source", "types", "typings", "module", "main")
"""Fields of a package that name its entry."""

# Comments and commas before a closing bracket, which `"@/*": ["src/*"]` only seems to have.
_STRING = r'"(?:\\.|[^"\\\n])*"'
_COMMENTS = pattern(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_COMMAS = pattern(rf"({_STRING})|,(?=\s*[\]}}])")
_BUILT = pattern(r"^(?:build|cjs|dist|dist-src|es|esm|lib|out)/(?:(?:cjs|esm|mjs|types)/)?")


class Alias(Struct, frozen=True):
    """A pattern of imports, with at most one `*`, and the paths below the root that it stands for, best first.

    It counts for files below the folder `scope`, as text that ends with a slash, or empty at the root.
    """

    scope: str
    written: str
    targets: tuple[str, ...]

    def stems(self, target: str) -> Iterator[str]:
        """Yield the paths that an import means by this pattern."""
        start, star, end = self.written.partition("*")
        if target == self.written or (
            star and len(target) >= len(start) + len(end) and target.startswith(start) and target.endswith(end)
        ):
            between = target[len(start) : len(target) - len(end)] if star else ""
            yield from (path.replace("*", between) for path in self.targets)


def paths_of(path: str, text: str, user: str = "") -> list[Alias]:
    """Return the aliases of a tsconfig, the longest patterns first; names below its `baseUrl` come last.

    They count for the folder of the tsconfig that extends it, its `user`, else for its own.
    """
    options = _mapping(_parsed(text).get("compilerOptions"))
    folder, home_of_user = posixpath.dirname(path), posixpath.dirname(user or path)
    base, scope = options.get("baseUrl"), f"{home_of_user}/" if home_of_user else ""
    home = _below(folder, base) if isinstance(base, str) else folder
    aliases = [
        Alias(scope, written, tuple(_below(home, target) for target in targets if isinstance(target, str)))
        for written, targets in _mapping(options.get("paths")).items()
        if isinstance(targets, list)
    ]
    aliases.sort(key=lambda alias: (-len(alias.written.partition("*")[0]), alias.written))
    return [*aliases, *([Alias(scope, "*", (_below(home, "*"),))] if isinstance(base, str) else [])]


def extended(path: str, text: str) -> Iterator[str]:
    """Yield the paths that a tsconfig may extend: a file beside it or elsewhere, its ending may be left out."""
    written = _parsed(text).get("extends")
    for target in written if isinstance(written, list) else [written]:
        if isinstance(target, str) and target.startswith("."):
            plain = _below(posixpath.dirname(path), target)
            yield from (plain, f"{plain}.json", f"{plain}/tsconfig.json")


def package_of(path: str, text: str) -> list[Alias]:
    """Return the aliases of a package: its entries by its name from everywhere, its `imports` within itself."""
    fields, folder = _parsed(text), posixpath.dirname(path)
    name, aliases = fields.get("name"), []
    exports = fields.get("exports")
    entries = _mapping(exports) if any(key.startswith(".") for key in _mapping(exports)) else {".": exports}
    if isinstance(name, str) and name:
        first = [file for key in _ENTRIES if isinstance(file := fields.get(key), str)]
        for key, value in entries.items():
            files = [*_files(value), *(first if key == "." else ())]
            aliases.append(Alias("", f"{name}{key[1:]}", tuple(_sources(folder, files))))
        aliases.append(Alias("", name, tuple(_below(folder, f"{home}/index") for home in _HOMES)))
        aliases.append(Alias("", f"{name}/*", tuple(_below(folder, f"{home}/*") for home in _HOMES)))
    scope = f"{folder}/" if folder else ""
    own = _mapping(fields.get("imports")).items()
    return [*(Alias(scope, key, tuple(_sources(folder, _files(value)))) for key, value in own), *aliases]


def _files(value: object) -> list[str]:
    """Return the files of an entry in all of its conditions, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [file for entry in inner for file in _files(entry)]


def _sources(folder: str, files: Iterable[str]) -> Iterator[str]:
    """Yield these files, and those that they are probably built from: `src/index` of `./dist/esm/index.d.ts`."""
    for file in dict.fromkeys(files):
        plain = file.removeprefix("./")
        yield _below(folder, plain)
        stem = re.sub(r"(?:\.d)?\.[cm]?[jt]sx?$", "", plain)
        yield from (_below(folder, f"{home}/{_BUILT.sub('', stem)}") for home in ("src", ""))


def _below(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
    return "" if joined == "." else joined


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _parsed(text: str) -> Mapping[str, Any]:
    """Return JSON that may have comments and commas too many; empty where it cannot be read."""
    plain = _COMMAS.sub(
        lambda match: match[1] or "", _COMMENTS.sub(lambda match: match[1] or "", text.lstrip("\ufeff"))
    )
    try:
        return _mapping(json.loads(plain))
    except (ValueError, RecursionError):
        return {}  # a file that is being edited has no aliases until it can be read
