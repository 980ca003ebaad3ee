"""Whoever edits sees the functions to change whole, and the lines that call them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.resolve.code import SourceFile
from satchel.testing import TinyRepository
from tests.search.conftest import Open

FILLER = "".join(f"    step_{number} = {number}\n" for number in range(70))
FILES = {
    "shop/retry.py": f"def backoff_delay(attempt):\n    # the delay of an attempt\n{FILLER}    return 2**attempt\n",
    "shop/orders.py": f"from shop.retry import backoff_delay\n\n\ndef ship():\n{FILLER}    wait(backoff_delay(3))\n",
    "tests/test_retry.py": f"from shop.retry import backoff_delay\n\n\ndef test_it():\n{FILLER}    backoff_delay(1)\n",
}


@pytest.fixture
def satchel(tmp_path: Path) -> Iterator[Satchel]:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Add the shop", FILES)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        opened.index()
        yield opened


def test_an_answer_to_edit_from_shows_the_function_whole_and_the_lines_that_call_it(satchel: Satchel) -> None:
    question = "what is the backoff_delay of an attempt"
    spans = {item.title: item.spans for item in satchel.assemble(question, purpose="edit", refresh=False).items}
    assert spans["shop/retry.py"] == ((1, 73),)
    assert any(start <= 75 <= end and end - start < 5 for start, end in spans["shop/orders.py"])
    assert any(start <= 75 <= end and end - start < 5 for start, end in spans["tests/test_retry.py"])


def test_calls_are_worth_less_than_the_function_and_those_of_tests_still_less(satchel: Satchel) -> None:
    context = satchel.assemble("what is the backoff_delay of an attempt", purpose="edit", max_tokens=700, refresh=False)
    assert context.items[0].title == "shop/retry.py"
    context = satchel.assemble("what is the backoff_delay of an attempt", refresh=False)
    assert not any(signal.name == "calls" and not signal.weight for item in context.items for signal in item.signals)


def test_an_answer_without_functions_has_no_calls(satchel: Satchel) -> None:
    assert satchel.assemble("kubernetes", purpose="edit", refresh=False).items == ()


def test_the_syntax_trees_of_a_question_are_freed_with_its_answer(satchel: Satchel) -> None:
    satchel.assemble("who calls `backoff_delay`?", refresh=False)  # imports what it needs, which makes cycles
    gc.collect()
    gc.disable()
    try:
        context = satchel.assemble("who calls `backoff_delay`?", refresh=False)
        left = [one for one in gc.get_objects() if isinstance(one, SourceFile)]
    finally:
        gc.enable()
    assert "orders.py" in context.text
    assert not left


def test_a_call_below_a_macro_of_cpp_is_a_call(tmp_path: Path) -> None:
    header = (
        "LIB_BEGIN_NAMESPACE\nnamespace detail {\ntemplate <typename T, LIB_ENABLE_IF(is_integer<T>::value)>\n"
        "LIB_INLINE auto write(T value) -> int {\n  return helper(value);\n}\n}\n"
        "LIB_EXPORT template <typename... T>\nLIB_INLINE auto format(T&&... args) -> int {\n  return helper(1);\n}\n"
        "inline int helper(int value) { return value; }\nLIB_END_NAMESPACE\n"
    )
    repository = TinyRepository(tmp_path / "lib")
    repository.commit("Add the header", {"format.hpp": header})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        assert "- format.hpp: 5, 10" in opened.assemble("who calls `helper`?").text
        assert {"detail.write", "format"} <= {
            item.metadata["node"]["name"] for item in opened.graph("helper", lens="impact").items
        }


NEAR = {
    "shop/price.py": "def price(item):\n    return item and price(None)\n",
    "shop/cart.py": "from shop.price import price\n\n\ndef cart(item):\n    return price(item)\n",
    "shop/till.py": "from shop.price import price\n\n\ndef till(item):\n    price(1)\n    return price(item)\n",
    "tests/test_price.py": "from shop.price import price\n\n\ndef test_it():\n    price(2)\n",
}


@pytest.mark.parametrize(
    ("chunks", "lines"), [(1, ["2", "5"]), (2, ["2", "5", "5", "6"]), (9, ["2", "5", "5", "6", "5"])]
)
def test_the_first_callers_are_those_of_all_callers_and_no_later_file_is_read(
    open_files: Open, chunks: int, lines: list[str]
) -> None:
    code = open_files(NEAR)
    target = code.relations.named("shop/price.py", "price")
    assert target is not None
    first = code.relations.first_callers(target, 10, chunks)
    assert [str(site.line) for site in first] == lines
    assert [*first] == code.sites("shop/price.py::price")[: len(first)]


def test_a_call_that_may_be_another_does_not_count_as_one_of_the_first(open_files: Open) -> None:
    guessed = "from shop.basket import Basket\n\n\ndef guess(basket):\n    basket.checkout_all()\n"
    sure = "from shop.basket import Basket\n\n\ndef sure():\n    Basket().checkout_all()\n"
    basket = "class Basket:\n    def checkout_all(self):\n        return 1\n"
    code = open_files({"shop/basket.py": basket, "shop/a.py": guessed, "shop/b.py": sure})
    target = code.relations.named("shop/basket.py", "Basket.checkout_all")
    assert target is not None
    assert [site.path for site in code.relations.first_callers(target, 10, 1)] == ["shop/b.py", "shop/a.py"]
