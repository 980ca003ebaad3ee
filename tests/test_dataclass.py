"""The decorator of value classes behaves as that of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any

import pytest

import satchel
from satchel.dataclass import FEW, dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A frozen value."""

    x: int
    y: int = 2
    names: list[str] = field(default_factory=list, compare=False)
    note: str = field(default="n", repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class StandardPoint:
    """The same by the standard library."""

    x: int
    y: int = 2
    names: list[str] = field(default_factory=list, compare=False)
    note: str = field(default="n", repr=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    """A frozen value with inherited fields."""

    label: str = "l"


@dataclass(slots=True)
class Counter:
    """A value that changes, with a field that is not an argument."""

    step: int
    total: int = field(init=False, default=7)
    seen: list[int] = field(init=False, default_factory=list)
    double: int = field(init=False)

    def __post_init__(self) -> None:
        self.double = self.step * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """Fields that are named in every call."""

    last: int
    first: int = 1


@dataclass(slots=True, eq=False, repr=False)
class Identity:
    """Equal to nothing but itself."""

    x: int


@dataclass(frozen=True, slots=True)
class Empty:
    """No fields."""


def shown(value: object) -> str:
    return repr(value).replace("StandardPoint", "Point")


@pytest.mark.parametrize(
    "make", [lambda kind: kind(1), lambda kind: kind(x=1, y=3), lambda kind: kind(1, 2, ["a"], note="m")]
)
def test_a_frozen_value_is_as_the_standard_one(make: Callable[[Any], Any]) -> None:
    ours, standard = make(Point), make(StandardPoint)
    assert shown(ours) == shown(standard)
    assert dataclasses.asdict(ours) == dataclasses.asdict(standard)
    assert [one.name for one in dataclasses.fields(ours)] == [one.name for one in dataclasses.fields(standard)]
    assert ours == make(Point)
    assert hash(ours) == hash(make(Point)) == hash(standard)
    assert ours != standard
    assert dataclasses.replace(ours, y=9) == Point(ours.x, 9, note=ours.note)
    assert ours != dataclasses.replace(ours, x=8)
    assert not hasattr(ours, "__dict__")


def test_the_signature_is_that_of_the_standard_library() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        """Has no instance yet."""

        x: int
        names: list[str] = field(default_factory=list)

    @dataclasses.dataclass(frozen=True, slots=True)
    class Standard:
        """The same."""

        x: int
        names: list[str] = field(default_factory=list)

    ours, standard = inspect.signature(Fresh), inspect.signature(Standard)
    assert [(one.name, one.kind, one.annotation) for one in ours.parameters.values()] == [
        (one.name, one.kind, one.annotation) for one in standard.parameters.values()
    ]
    assert Fresh.__match_args__ == ("x", "names")
    fresh: Any = Fresh
    for arguments, keywords in (((), {}), ((1, [], 2), {}), ((), {"y": 1})):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            fresh(*arguments, **keywords)


def test_factories_make_a_value_an_instance() -> None:
    assert Point(1).names is not Point(1).names


def test_a_frozen_value_refuses_changes() -> None:
    point = Named(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'label'"):
        del point.label


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
@pytest.mark.parametrize("value", [Point(1, names=["a"]), Named(1, label="b"), Counter(3), Keywords(last=2), Empty()])
def test_a_value_is_copied(again: Callable[[Any], Any], value: Any) -> None:
    assert again(value) == value


def test_fields_are_inherited() -> None:
    named = Named(1, 2, ["a"], "m", "b")
    assert repr(named) == "Named(x=1, y=2, names=['a'], label='b')"
    assert named != Point(1, 2, ["a"], "m")
    assert {named, Named(1, 2, [], "m", "b")} == {named}


def test_a_value_that_changes_has_no_hash() -> None:
    counter = Counter(3)
    assert (counter.total, counter.seen, counter.double) == (7, [], 6)
    counter.total += 1
    assert counter != Counter(3)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_fields_of_keywords() -> None:
    assert repr(Keywords(last=3)) == "Keywords(last=3, first=1)"
    with pytest.raises(TypeError):
        Keywords(3)  # type: ignore[call-arg]


def test_identity_and_empty() -> None:
    assert Identity(1) != Identity(1)
    assert "Identity object" in repr(Identity(1))
    assert Empty() == Empty()
    assert repr(Empty()) == "Empty()"


def test_a_value_within_itself_is_shown() -> None:
    counter = Counter(3)
    counter.seen = [counter]  # type: ignore[list-item]
    assert repr(counter) == "Counter(step=3, total=7, seen=[...], double=6)"


def test_every_value_class_uses_it() -> None:
    root = Path(satchel.__file__).parent
    standard = re.compile(r"^\s*from dataclasses import .*\bdataclass\b|@dataclasses\.dataclass", re.MULTILINE)
    files = [file for file in root.rglob("*.py") if standard.search(file.read_text(encoding="utf-8"))]
    assert files == [root / "dataclass.py"]


def test_the_first_instances_are_as_those_of_the_compiled_method() -> None:
    @dataclass(slots=True)
    class Late:
        step: int
        total: int = field(init=False, default=7)
        seen: list[int] = field(default_factory=list)
        double: int = field(init=False)

        def __post_init__(self) -> None:
            self.double = self.step * 2

    made = [Late(3, seen=[1]) if number % 2 else Late(step=3) for number in range(FEW * 2)]
    assert [(one.step, one.total, one.seen, one.double) for one in made[:2]] == [(3, 7, [], 6), (3, 7, [1], 6)]
    assert made[::2] == [made[0]] * FEW
    assert made[1::2] == [made[1]] * FEW


@pytest.mark.parametrize(
    ("arguments", "options"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"other": 1})],
    ids=["too few", "too many", "twice", "unknown"],
)
def test_arguments_that_do_not_fit_are_refused_as_by_the_standard_one(
    arguments: tuple[int, ...], options: dict[str, int]
) -> None:
    messages = []
    for make in (dataclass, dataclasses.dataclass):

        @make(slots=True)
        class Pair:
            x: int
            y: int = 2

        with pytest.raises(TypeError) as raised:
            Pair(*arguments, **options)
        messages.append(str(raised.value).partition("__init__")[2])
    assert messages[0] == messages[1]
