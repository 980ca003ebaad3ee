"""Which words of a question stand where only a name of code does, and which folders and colours it has."""

from __future__ import annotations

import pytest

from satchel.search.query import analyse, everyday_names, with_everyday_names, without_words


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("where is `get` defined", ["get"]),
        ("who calls get() and set()", ["get"]),
        ("what does Cache.get return", ["get"]),
        ("what does `cache.get(key)` return", ["get"]),
        ("how does Rack::Files#get work", ["get"]),
        ("what does the method get of the cache do", ["get"]),
        ("where is the function any", ["any"]),
        ("where is the method without", ["without"]),
        ("where is the class Any defined", ["Any"]),
        ("is the variable own, or not", ["own"]),
        ("what is `g`, and where is `H` made", ["g", "H"]),
    ],
)
def test_an_everyday_word_is_a_name_where_only_names_stand(question: str, names: list[str]) -> None:
    assert everyday_names(analyse(question)) == names


@pytest.mark.parametrize(
    "question",
    [
        "how do I get all of them when any is here",
        "what happens if (any) file(s) get lost, e.g. it",
        "does `if x in y` raise, or `return it`",
        "which function is called, and which method it overrides",
        "the class that it is in, the variable of it",
        "call the method without arguments, or the function until it fails",
        "title\n\n    for (it in all) { get() }",
    ],
)
def test_grammar_pasted_code_and_expressions_are_no_names(question: str) -> None:
    assert not everyday_names(analyse(question))


def test_only_everyday_names_that_a_definition_has_become_terms() -> None:
    query = analyse("what do `get` and `any` return")
    terms = [term.term for term in query.terms]
    assert [term.term for term in with_everyday_names(query, {"get"}).terms] == [*terms, "get"]
    assert with_everyday_names(query, set()) == query


def test_the_terms_of_a_name_stay_as_everyday_names_are_added_to_likely_names() -> None:
    query = with_everyday_names(analyse("store: what does `get` return"), {"get"})
    (added,) = [term for term in query.terms if term.term == "get"]
    assert (added.title_weight > 0, added.guessed) == (True, False)


@pytest.mark.parametrize(
    ("question", "folders"),
    [
        ("what is in the folder doc", {"doc", "the"}),
        ("how does src/pay/ work", {"src/pay"}),
        ("what is read in the `pay/cmd` directory", {"pay/cmd"}),
        ("what is read and/or written", set()),
    ],
)
def test_a_folder_is_called_so_or_ends_with_a_slash(question: str, folders: set[str]) -> None:
    assert {mention.text for mention in analyse(question).paths if mention.form == "folder"} == folders


@pytest.mark.parametrize("escape", ["\x1b", "", "\\x1b", "\\e", "\\033"])
def test_colours_of_a_terminal_are_no_text(escape: str) -> None:
    query = analyse(f"{escape}[1;31mKeyError{escape}[0m in {escape}[36msrc/a.py{escape}[0m:{escape}[33m12{escape}[0m")
    assert query.text == "KeyError in src/a.py:12"
    assert [(frame.path, frame.line) for frame in query.trace.mentions] == [("src/a.py", 12)]


def test_what_only_looks_like_a_colour_stays() -> None:
    assert analyse("what is rate(x[5m]) and list[3]").text == "what is rate(x[5m]) and list[3]"


@pytest.mark.parametrize(
    ("question", "is_left"),
    [
        ("how does flask sign a cookie", False),
        ("how does Flask sign a cookie", False),
        ("how does the Flask class sign a cookie", True),
        ("how does the class Flask sign a cookie", True),
        ("how does `flask` sign a cookie", True),
        ("how does flask.sessions sign a cookie", True),
        ("how does flask sign a cookie in flask_session", True),
    ],
)
def test_a_word_is_left_out_unless_it_is_written_as_code_has_it(question: str, is_left: bool) -> None:
    terms = {term.term for term in without_words(analyse(question), {"flask"}).terms}
    assert ("flask" in terms, "cooki" in terms) == (is_left, True)
