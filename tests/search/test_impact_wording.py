"""Which questions ask what depends on a definition, and on which name, by their words alone."""

from __future__ import annotations

import pytest

from satchel.search.impact_wording import (
    is_wording,
    names_asked_for,
    need_not_be_here,
    speaks_of_impact,
    written_names,
)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what breaks if I add an argument to open", ["open"]),
        ("who calls use", ["use"]),
        ("where are the callers of the function run", ["run"]),
        ("is open called anywhere, who uses it", ["open"]),
        ("which types implement Reader", ["Reader"]),
        ("which types implement reader", ["reader"]),
        ("who implements the reader", ["reader"]),
        ("which types conform to Reader", ["Reader"]),
        ("which classes derive from Reader", ["Reader"]),
        ("what satisfies Reader", ["Reader"]),
        ("which classes subclass Reader", ["Reader"]),
        ("what does Client.send call", ["Client.send"]),
        ("where in the shop is Client.send() ever called", ["Client.send"]),
        ("I wonder where the method Client.send is used", ["Client.send"]),
        ("where does the command line decide how many worker threads to use by default", []),
        ("which options does the loader use to open a file", []),
        ("what do I have to touch when the number of threads changes", []),
        ("which value is used for the timeout of a run", []),
        ("which encoding is used by the Response when none is given", []),
    ],
)
def test_the_names_that_a_question_is_about(question: str, names: list[str]) -> None:
    assert speaks_of_impact(question)
    assert [name for name, _ in names_asked_for(question)] == names


def test_questions_about_something_else_and_reports_do_not_speak_of_an_impact() -> None:
    assert not speaks_of_impact("retry with backoff")
    assert not speaks_of_impact("what breaks if I rename send?" + " It is slow." * 40)


@pytest.mark.parametrize(
    ("question", "is_impact"),
    [
        ("what happens in the Client when a proxy is used", False),
        ("where is before_send called, and what happens if it returns a value", False),
        ("what happens when Client.send calls Client.retry", False),
        ("who calls send and why does it retry", False),
        ("what happens if I rename Client.send", True),
        ("what breaks if I rename send and how do I test it", True),
        ("who calls Client.send and Client.retry", True),
    ],
)
def test_what_code_does_is_not_asked_by_a_list_of_its_uses(question: str, *, is_impact: bool) -> None:
    assert speaks_of_impact(question) is is_impact


@pytest.mark.parametrize(
    ("word", "is_one"), [("callers", True), ("renaming", True), ("Subclasses", True), ("send", False)]
)
def test_words_that_ask_need_not_be_in_the_code(word: str, is_one: bool) -> None:
    assert is_wording(word) is is_one


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what breaks if I rename sendAll or `send_one`", ["sendAll", "send_one"]),
        ("what breaks if I rename sendAll to sendEach", ["sendAll"]),
        ("what breaks if I replace `sendAll` with `sendEach`", ["sendAll"]),
        ("what breaks if I rename Client.send", []),
        ("why does sendAll wait", []),
    ],
)
def test_the_names_that_must_be_in_the_code_are_neither_new_nor_words(question: str, names: list[str]) -> None:
    assert written_names(question) == names


@pytest.mark.parametrize(
    ("question", "absent", "is_needed"),
    [
        ("rename send to deliver_all", "deliver_all", False),
        ("what breaks if I replace Client.send by `Courier.deliver`", "Courier", False),
        ("rename send_all to deliver", "send_all", True),
        ("where is deliver_all defined", "deliver_all", True),
    ],
)
def test_the_new_name_of_a_definition_need_not_be_here(question: str, absent: str, *, is_needed: bool) -> None:
    assert need_not_be_here(question)(absent) is not is_needed
