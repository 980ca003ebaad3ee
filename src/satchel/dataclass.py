"""The decorator of value classes: `dataclasses.dataclass` without its cost at import.

The standard decorator compiles six methods, .4 ms a class, used or not. Here equality, hash and representation are
shared functions, and `__init__` is compiled for the first instance. Fields, slots, `replace`, `asdict` and pattern
matching are those of the standard library, and a type checker sees nothing else (docs/decisions/0034).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, slots, frozen=False, eq=True, repr=True, kw_only=False):  # noqa: A002 - names of the standard one
        """Return a decorator that makes a class a dataclass with slots."""
        shape = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)

        def decorate(plain: type) -> type:
            made = shape(plain)
            methods: dict[str, Any] = {"__init__": _Initializer(made, frozen)}
            if repr:
                methods["__repr__"] = _represent
            if eq:
                methods |= _comparison(made, frozen)
            if frozen:
                methods |= _FROZEN
            for name, method in methods.items():
                if name not in plain.__dict__:
                    setattr(made, name, method)
            return made

        return decorate


FEW = 4
"""Instances of a class that are made field by field: compiling its `__init__` takes as long as making ten or more."""


class _Initializer:
    """The `__init__` of a class until something asks for it, or for another instance than the first few."""

    __slots__ = ("_few", "_frozen", "_owner")

    def __init__(self, owner: type, frozen: bool) -> None:
        self._owner = owner
        self._frozen = frozen
        self._few = FEW

    def __get__(self, instance: object, _owner: type) -> Callable[..., None]:
        if instance is not None and self._few:
            self._few -= 1
            return partial(self._fill, instance)
        made = _initializer(self._owner, self._frozen)
        type.__setattr__(self._owner, "__init__", made)
        return made if instance is None else made.__get__(instance)

    def _fill(self, instance: Any, *arguments: Any, **options: Any) -> None:
        """Set the fields of an instance; the compiled method reports arguments that do not fit."""
        fields = dataclasses.fields(self._owner)
        accepted = {one.name for one in fields if one.init}
        given = dict(zip([one.name for one in fields if one.init and not one.kw_only], arguments, strict=False))
        lacks = [one for one in fields if one.name not in given and one.name not in options]
        values = {one.name: one.default for one in lacks if one.default is not MISSING} | given | options
        values |= {one.name: one.default_factory() for one in lacks if one.default_factory is not MISSING}
        fits = len(given) == len(arguments) and given.keys().isdisjoint(options) and options.keys() <= accepted
        if not (fits and accepted <= values.keys()):
            self.__get__(None, self._owner)(instance, *arguments, **options)
            return
        for name, value in values.items():
            object.__setattr__(instance, name, value)
        getattr(instance, "__post_init__", lambda: None)()


def _initializer(owner: type, frozen: bool) -> Callable[..., None]:
    """Return the compiled `__init__` of a class. A frozen one sets its slots directly."""
    names: dict[str, Any] = {"MISSING": MISSING}
    positional: list[str] = ["self"]
    keyword: list[str] = []
    body: list[str] = []
    for one in dataclasses.fields(owner):
        name = one.name
        names |= {f"_set_{name}": getattr(owner, name).__set__, f"_new_{name}": one.default_factory}
        source = name if one.init else ""
        if one.default is not MISSING:
            names[f"_default_{name}"] = one.default
            source = source or f"_default_{name}"
        elif one.default_factory is not MISSING:
            names[f"_default_{name}"] = MISSING
            source = f"_new_{name}() if {name} is MISSING else {name}" if one.init else f"_new_{name}()"
        if one.init:
            default = f"=_default_{name}" if f"_default_{name}" in names else ""
            (keyword if one.kw_only else positional).append(name + default)
        if source:
            body.append(f"    _set_{name}(self, {source})" if frozen else f"    self.{name} = {source}")
    if hasattr(owner, "__post_init__"):
        body.append("    self.__post_init__()")
    head = ", ".join([*positional, *(["*"] if keyword else []), *keyword])
    exec("\n".join([f"def __init__({head}):", *body, "    return None"]), names)  # noqa: S102 - names of our fields
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{owner.__qualname__}.__init__"
    made.__annotations__ = {one.name: one.type for one in dataclasses.fields(owner) if one.init} | {"return": None}
    return made


def _comparison(owner: type, frozen: bool) -> dict[str, Any]:
    """Return `__eq__` and `__hash__` over the compared fields. What can change has no hash."""
    compared = [one.name for one in dataclasses.fields(owner) if one.compare]
    key: Callable[[Any], Any] = attrgetter(*compared) if compared else _nothing

    def equal(self: Any, other: Any) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(key(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _nothing(_value: Any) -> tuple[()]:
    return ()


@recursive_repr()
def _represent(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _assign(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_FROZEN = {"__setattr__": _assign, "__delattr__": _delete, "__getstate__": _state, "__setstate__": _restore}
