"""Properties that an object computes once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar, overload

Value = TypeVar("Value")


class unlocked_cached_property(cached_property[Value]):  # noqa: N801 - a decorator, as the one of functools
    """`functools.cached_property` without a lock: two threads that ask at once may both compute the value.

    In Python 3.11 all objects of a class share the lock of a `cached_property`: threads whose properties use each other
    wait for each other forever, so `answer` and `search` have only this one. Where an object may have only one value (a
    service, a connection), use that of `functools`.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> unlocked_cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.attrname] = self.func(instance)
        return value
