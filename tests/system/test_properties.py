"""Properties that are computed once, without a lock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from satchel.system.properties import unlocked_cached_property


def test_threads_do_not_wait_for_each_other_where_properties_use_each_other() -> None:
    both = Barrier(2, timeout=30)

    class Reader:
        def __init__(self, other: Reader | None = None) -> None:
            self.other = other

        @unlocked_cached_property
        def first(self) -> int:
            both.wait()  # each thread is in a property of its own object
            return self.other.second if self.other is not None else 1

        @unlocked_cached_property
        def second(self) -> int:
            both.wait()
            return self.other.first if self.other is not None else 2

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(lambda: Reader(Reader()).first), pool.submit(lambda: Reader(Reader()).second)]
        assert [future.result() for future in found] == [2, 1]
    assert isinstance(Reader.first, unlocked_cached_property)
