"""What names mean is found once for a state of the index, and shared where it does not depend on who asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.search.resolve.answers import Answers
from satchel.system.cache import Cache
from satchel.testing import TinyRepository

NOTHING: tuple[str, ...] = ()


def answers(shared: Cache[Any, Any] | None = None) -> Answers:
    return Answers(shared if shared is not None else Cache(lambda _: 1))


def never() -> tuple[str, ...]:
    raise AssertionError("found again")


def test_an_answer_is_found_once_and_shared() -> None:
    shared: Cache[Any, Any] = Cache(lambda _: 1)
    first = answers(shared)
    assert first.get("name", lambda: ("found",), NOTHING) == ("found",)
    assert first.get("name", never, NOTHING) == ("found",)
    assert answers(shared).get("name", never, NOTHING) == ("found",)


def test_an_answer_that_asks_for_itself_is_kept_and_not_shared_nor_is_one_found_with_it() -> None:
    shared: Cache[Any, Any] = Cache(lambda _: 1)
    first = answers(shared)

    def found(other: str) -> Callable[[], tuple[str, ...]]:
        return lambda: ("found", *first.get(other, found("one" if other == "two" else "two"), NOTHING))

    assert first.get("one", found("two"), NOTHING) == ("found", "found")
    assert first.get("two", never, NOTHING) == ("found",)
    assert first.get("later", lambda: first.get("two", never, NOTHING), NOTHING) == ("found",)
    assert shared.values == {}


def test_an_answer_that_was_cut_is_not_shared() -> None:
    shared: Cache[Any, Any] = Cache(lambda _: 1)
    first = answers(shared)

    def found() -> tuple[str, ...]:
        first.cut()
        return NOTHING

    first.get("name", found, NOTHING)
    assert not shared.values
    assert first.has("name")
    assert not answers(shared).has("name")


def test_a_later_question_sees_what_a_changed_file_means_now(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "repository")
    text = "def total(items):\n    return rounded(sum(items))\n\n\ndef rounded(value):\n    return round(value, {})\n"
    repository.commit("Add", {"shop.py": text.format(2)})
    environ = {"SATCHEL_HOME": str(tmp_path / "home")}
    with Satchel.open(repository.root, environ=environ) as satchel:
        satchel.index()
        satchel.assemble("what is the total of items", purpose="find")
        repository.commit("Move", {"shop.py": "from money import rounded\n\n\n" + text.partition("\n\n\n")[0] + "\n"})
        repository.commit("Add", {"money.py": "def rounded(value):\n    return round(value, 3)\n"})
        satchel.index()
        again = satchel.assemble("what is the total of items", purpose="find").text
        assert "money.py" in again
    with Satchel.open(repository.root, environ=environ) as satchel:
        assert satchel.assemble("what is the total of items", purpose="find").text == again
