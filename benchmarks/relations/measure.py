"""Precision and recall of resolved calls on call sites that were judged by reading.

    python -m benchmarks.relations.measure FOLDER [--sites seven_languages.jsonl] [--output benchmarks/results/...]

`sites.jsonl` has 100 sites of four languages, `seven_languages.jsonl` 150 of seven, `five_languages.jsonl` 200 of five.
`held_out.jsonl` and `five_languages_held_out.jsonl` have further sites that nobody had worked with.

FOLDER has the clones at the commits that the sites name. A site has the definition that its call means (several where
each platform has its own), or null where that is outside of the repository. Sites were drawn by `sample.py` and judged
before the resolver first ran on them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.search.relations import Relations
from satchel.search.resolve.code import CodeDefinition

LANGUAGES = {
    "flask": "Python", "requests": "Python", "pytest": "Python", "hono": "TypeScript", "dayjs": "JavaScript",
    "grpc-go": "Go", "ripgrep": "Rust", "tokio": "Rust", "gson": "Java", "leveldb": "C++", "serilog": "C#",
    "okio": "Kotlin", "kotlinx.coroutines": "Kotlin", "vapor": "Swift", "Alamofire": "Swift", "os-lib": "Scala",
    "moshi": "Kotlin", "swift-argument-parser": "Swift", "scopt": "Scala", "upickle": "Scala", "Slim": "PHP",
    "luacheck": "Lua", "fastparse": "Scala", "flysystem": "PHP", "koin": "Kotlin", "Nuke": "Swift",
    "Newtonsoft.Json": "C#", "spdlog": "C++", "abseil-cpp": "C++", "commons-lang": "Java", "zod": "TypeScript",
    "guzzle": "PHP", "Penlight": "Lua", "plenary.nvim": "Lua",
    "cats": "Scala", "monolog": "PHP", "framework": "PHP", "luarocks": "Lua", "telescope.nvim": "Lua",
}  # fmt: skip


def linked(relations: Relations, site: dict[str, Any]) -> tuple[set[str], bool]:
    """The definitions in whose lists of calls a site is, as `path::name`, and whether it is a "possible" call there."""
    names = relations.names
    file = names.code.file(site["path"])
    nodes = file.calls(site["line"], site["line"]) if file is not None else []
    for node in nodes:
        if file is not None and file.text(node) == site["name"]:
            meant = names.meaning(file, node)
            resolved = [one for one in meant if isinstance(one, CodeDefinition)]
            found = resolved or relations.possible(meant, file, node)
            wanted = site.get("callee_line")
            keys = {f"{one.path}::{_class(one)}" for one in found if wanted in (None, one.line)}
            return keys, bool(found) and not resolved
    if site["callee"] is None:  # an attribute, or a declaration that a macro hides
        return set(), False
    raise ValueError(f"no call of {site['name']} at {site['path']}:{site['line']}")


def _class(one: CodeDefinition) -> str:
    """The qualified name of a definition; that of the class for a constructor named like it."""
    return one.owner if one.owner.rpartition(".")[2] == one.name else one.qualified


def measured(folder: Path, listed: str) -> dict[str, Any]:
    """The figures of all sites, by language and together, and the sites that were missed or linked wrongly."""
    sites: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (Path(__file__).parent / listed).read_text(encoding="utf-8").splitlines():
        site = json.loads(line)
        sites[site["repository"]].append(site)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    wrong = []
    for repository, own in sites.items():
        with Satchel.open(folder / repository) as satchel:
            satchel.index()
            with satchel.store.snapshot() as store:
                relations = Relations(store)
                for site in own:
                    found, is_guess = linked(relations, site)
                    callees = site["callee"] if isinstance(site["callee"], list) else [site["callee"]]
                    is_right = not found.isdisjoint(callees)
                    for group in (LANGUAGES[repository], "all"):
                        counts[group]["sites"] += 1
                        counts[group]["inside"] += site["callee"] is not None
                        counts[group]["links"] += bool(found)
                        counts[group]["guesses"] += bool(found) and is_guess
                        counts[group]["right"] += is_right
                    if not is_right and (found or site["callee"]):
                        told = {key: site[key] for key in ("repository", "path", "line", "callee")}
                        wrong.append(told | {"linked": sorted(found)})
    return {"groups": {group: _figures(count) for group, count in sorted(counts.items())}, "wrong": wrong}


def _figures(count: Counter[str]) -> dict[str, Any]:
    return {
        **count,
        "precision": round(count["right"] / count["links"], 3) if count["links"] else None,
        "recall": round(count["right"] / count["inside"], 3) if count["inside"] else None,
    }


def main() -> None:
    """Measure, print, and store where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sites", default="sites.jsonl")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    text = json.dumps(measured(arguments.folder, arguments.sites), indent=1) + "\n"
    print(text, end="")
    if arguments.output is not None:
        arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
