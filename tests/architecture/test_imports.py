"""Imports point one way, from the edges down to the leaf files."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from tests.architecture.tree import PACKAGE, Module, imports_of, modules

LEAF_FILES = (
    "system.cache",
    "system.properties",
    "system.installed",
    "system.resident",
    "types",
    "errors",
    "vocabulary",
    "codec",
    "text",
    "intent",
    "lazy_numpy",
    "fitted",
    "system.files",
    "system.globs",
    "system.state_files",
    "token_ranks",
    "tokens",
    "settings",
    "system.signals",
    "system.threads",
    "system.git",
    "system.git_index",
    "safety.secret_rules",
    "safety.secret_sentences",
    "safety.sanitize",
    "config",
    "system.locations",
    "system.telemetry",
    "safety.trust",
)
"""The leaf files in their order: each may import only those before it, so there is no cycle among them."""

LEAVES = frozenset(LEAF_FILES)

BUDGET = "tokens"
"""The leaf file that a source must not know: what something costs is not its concern."""

EDGES = ("cli", "mcp", "web", "hooks")
"""Rooms that parse, call the engine and show. What the engine answers is all that they see of the stages."""

BELOW = LEAVES | {"embed", "search", "sources", "store"}
"""What the rooms between search and the engine may use."""

STAGES = BELOW | {"answer", "graph", "guidance", "index", "memory"}

DOORS = LEAVES | {"clients", "doctor", "engine", "evaluation", "operations", "results"}

ROOMS: Mapping[str, frozenset[str]] = {
    "store": LEAVES,
    "sources": LEAVES - {BUDGET},
    "embed": LEAVES,
    "index": LEAVES | {"embed", "sources", "store"},
    "search": LEAVES | {"embed", "sources", "store"},
    "memory": BELOW,
    "guidance": BELOW,
    "answer": BELOW,
    "graph": BELOW | {"answer"},
    "testing": BELOW | {"answer", "index"},
    "services": STAGES,
    "engine": STAGES | {"services"},
    "results": BELOW | {"answer", "engine", "guidance"},
    "doctor": LEAVES | {"embed", "engine", "index", "sources", "store"},
    "operations": LEAVES | {"answer", "doctor", "engine", "graph", "search"},
    "clients": LEAVES,
    "evaluation": LEAVES | {"answer", "engine", "index", "search", "sources", "store"},
    **dict.fromkeys(EDGES, DOORS),
    # HTTP carries MCP as well.
    "web": LEAVES | {"engine", "mcp", "operations"},
    # The commands of the command line start the other edges.
    "cli": DOORS | {*EDGES},
}
"""Room -> what it may import beside itself. A room is a folder or a file directly below the package."""

REPORTS = frozenset(
    {
        "satchel.index.run",
        "satchel.index.build",
        "satchel.memory.capture",
        "satchel.memory.model",
        "satchel.search.changes",
        "satchel.services.stats",
        "satchel.guidance.instructions",
    }
)
"""Values that the engine takes or gives back, though they stand in the room that makes them: an edge may name them."""


def room_of(module: str) -> str:
    """Return the room of a module, as `store` for `satchel.store.sqlite`; the package is the room above all.

    The files of `safety` and `system` are leaf files with an order of their own.
    """
    path = module.partition(".")[2]
    return path if path in LEAVES else path.split(".")[0] or PACKAGE


def allowed(module: str, target: str) -> bool:
    """Whether this module may import that one."""
    here, there = room_of(module), room_of(target)
    if here == there or here in {PACKAGE, "__main__"}:
        return True
    if here in LEAVES:
        return there in LEAF_FILES[: LEAF_FILES.index(here)]
    return there in ROOMS[here] or (here in {*EDGES, "operations"} and target in REPORTS)


def wrong_imports(found: tuple[Module, ...]) -> list[str]:
    """Every import that points up or sideways, as a line to read."""
    return [
        f"{module.path}:{imported.line}: {module.name} must not import {imported.target}"
        for module in found
        for imported in imports_of(module)
        if not allowed(module.name, imported.target)
    ]


def test_every_file_stands_in_a_room_of_the_table() -> None:
    known = {PACKAGE, "__main__", "safety", "system", *LEAVES, *ROOMS}
    homeless = [module.path for module in modules("src") if room_of(module.name) not in known]
    assert not homeless, f"name a room for {homeless}"


def test_imports_point_down() -> None:
    wrong = wrong_imports(modules("src"))
    assert not wrong, "\n".join(wrong)


def test_index_and_search_meet_only_in_the_engine() -> None:
    assert "search" not in ROOMS["index"]
    assert "index" not in ROOMS["search"]


def test_a_source_knows_nothing_of_search_store_or_budget() -> None:
    assert not ROOMS["sources"] & {"search", "store", "answer", BUDGET}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("satchel.search.words", "from satchel.index.walk import walk"),
        ("satchel.sources.vault", "def f():\n    from satchel.tokens import counter"),
        ("satchel.store.other", "if TYPE_CHECKING:\n    import satchel.engine"),
        ("satchel.errors", "from satchel.system import files"),
        ("satchel.index.reading", "from ..search import query"),
        ("satchel.cli.main", 'LAZY = {"x": "satchel.store.protocol:Store"}'),
    ],
    ids=["sideways", "inside a function", "for type checkers", "among leaf files", "relative", "as text"],
)
def test_an_import_that_points_up_is_found_wherever_it_stands(name: str, line: str) -> None:
    module = Module(name, name.replace(".", "/") + ".py", ast.parse(line), line)
    assert len(wrong_imports((module,))) == 1
