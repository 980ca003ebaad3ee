"""What an answer is made of is frozen: only a packing changes, and a question reaches the pipeline on a short way."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer import pipeline
from satchel.testing import TinyRepository
from tests.architecture.tree import PACKAGE, modules

ROOM = "src/satchel/answer"

STATEFUL = frozenset({"Packing"})
"""Classes whose objects change after they are made."""

BEGINNINGS = frozenset({"__init__", "__post_init__"})
SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})

MAX_CALLS = 3
"""Calls behind `Satchel.answer`: the service, what opens the stores for it, and the pipeline."""


def changed_attributes(tree: ast.AST, owner: str = "", is_beginning: bool = False) -> Iterator[str]:
    """Yield each place that sets or deletes an attribute of an object that was made before, outside of `STATEFUL`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from changed_attributes(node, node.name)
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from changed_attributes(node, owner, getattr(node, "name", "") in BEGINNINGS)
            continue
        is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        is_set = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        is_call = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SETTERS
        if is_call or (is_set and not (is_own and (is_beginning or owner in STATEFUL))):
            yield f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)}"
        yield from changed_attributes(node, owner, is_beginning)


def changeable_dataclasses(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each dataclass that is not frozen."""
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            if ast.unparse(call.func).rpartition(".")[2] != "dataclass":
                continue
            if not any(one.arg == "frozen" and ast.unparse(one.value) == "True" for one in call.keywords):
                yield getattr(node, "name", "")


def test_only_a_packing_changes_after_it_is_made() -> None:
    found = [f"{one.path}, {place}" for one in modules(ROOM) for place in changed_attributes(one.tree)]
    assert found == []


def test_every_dataclass_of_an_answer_is_frozen() -> None:
    found = [f"{one.path}: {name}" for one in modules(ROOM) for name in changeable_dataclasses(one.tree)]
    assert found == []
    assert len(modules(ROOM)) > 20


@pytest.mark.parametrize("room", [ROOM, "src/satchel/search"])
def test_properties_of_answers_hold_no_lock_that_threads_share(room: str) -> None:
    assert [str(one.path) for one in modules(room) if "'cached_property'" in ast.dump(one.tree)] == []


def test_whatever_is_changed_is_noticed() -> None:
    planted = """
class Section:
    def __init__(self, other):
        self.shown, self.count = set(), 0
        other.level = 1

    def add(self, candidate):
        self.count += 1
        self.last: int = 2
        candidate.hit.value, self.level = 1.0, 3
        del self.last
        for self.count in (1, 2):
            object.__setattr__(self, "frozen", 1)


class Packing:
    def __init__(self):
        self.count = 0

    def add(self, candidate):
        self.count += 1
        candidate.value = 2.0


def lift(candidate):
    candidate.value = 3.0
    setattr(candidate, "value", 4.0)
    candidate.lines["read"] = candidate.value
"""
    assert [place.partition(": ")[2] for place in changed_attributes(ast.parse(planted))] == [
        "other.level",
        "self.count",
        "self.last",
        "candidate.hit.value",
        "self.level",
        "self.last",
        "self.count",
        "object.__setattr__(self, 'frozen', 1)",
        "candidate.value",
        "candidate.value",
        "setattr(candidate, 'value', 4.0)",
    ]


def test_a_dataclass_that_is_not_frozen_is_noticed() -> None:
    planted = """
@dataclass
class First: ...

@dataclass(slots=True)
class Second: ...

@dataclasses.dataclass(frozen=False)
class Third: ...

@dataclass(frozen=True)
class Fourth: ...

@other
class Fifth: ...
"""
    assert list(changeable_dataclasses(ast.parse(planted))) == ["First", "Second", "Third"]


def test_a_question_reaches_the_pipeline_through_the_facade_and_the_service(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Write it", {"pool.py": "def take_connection(pool):\n    return pool.pop()\n"})
    ways: list[list[str]] = []

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code is pipeline.assemble.__code__:
            ways.append(way(frame))

    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        request = satchel.request("take a connection of the pool")
        before = sys.getprofile()
        sys.setprofile(watch)
        try:
            context = satchel.answer(request)
        finally:
            sys.setprofile(before)
    assert [item.id for item in context.items] == ["code:pool.py"]
    (calls,) = ways
    behind = [name for name in calls if name != "satchel.engine"]
    assert len(calls) - len(behind) <= 1
    assert list(dict.fromkeys(behind)) == ["satchel.services.answer", "satchel.answer.pipeline"]
    assert len(behind) <= MAX_CALLS


def way(frame: FrameType) -> list[str]:
    """Return the modules of the package whose functions are on the stack, from the outermost to this frame."""
    names: list[str] = []
    outer: FrameType | None = frame
    while outer is not None:
        names.append(str(outer.f_globals.get("__name__", "")))
        outer = outer.f_back
    return [name for name in reversed(names) if name.partition(".")[0] == PACKAGE]
