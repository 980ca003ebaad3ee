"""Arguments: what each may be is told by a schema, checked when it is sent, and said when it is wrong."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.operations.operation import Parameter, Shape, checked_arguments, object_schema

PARAMETERS = (
    Parameter("question", Shape.TEXT, "What to look for.", is_required=True, aliases=("query",)),
    Parameter("limit", Shape.COUNT, "At most so many.", least=1, default=20),
    Parameter("format", Shape.TEXT, "How it is written.", choices=("markdown", "json")),
    Parameter("lens", Shape.TEXT, "Which relations.", choices=("general",), is_open=True),
    Parameter("types", Shape.TEXTS, "Only these.", choices=("code", "docs")),
    Parameter("score", Shape.NUMBER, "Least relevance.", least=0, most=1),
    Parameter("soft", Shape.SWITCH, "Count less."),
    Parameter("params", Shape.OBJECT, "Anything."),
    Parameter("reserves", Shape.COUNTS, "Tokens by type."),
    Parameter("now", Shape.MOMENT, "The time."),
)


def check(**arguments: Any) -> dict[str, Any]:
    return checked_arguments("ask", PARAMETERS, arguments)


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("limit", 3, 3),
        ("limit", 3.0, 3),
        ("score", 1, 1.0),
        ("soft", False, False),
        ("types", ("code",), ["code"]),
        ("params", {"path": ["a"]}, {"path": ["a"]}),
        ("reserves", {"code": 5.0}, {"code": 5}),
        ("now", "1970-01-02", 86_400.0),
        ("now", 7, 7.0),
    ],
)
def test_a_value_of_the_right_shape_is_taken(name: str, value: Any, taken: Any) -> None:
    assert check(question="q", **{name: value})[name] == taken


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("question", 5, "question is 5: give a text"),
        ("limit", "3", "limit is '3': give a whole number"),
        ("limit", 2.5, "limit is 2.5: give a whole number"),
        ("limit", True, "limit is True: give a whole number"),
        ("limit", 10**400, "give a whole number"),
        ("score", float("nan"), "score is nan: give a number"),
        ("soft", "yes", "soft is 'yes': give true or false"),
        ("types", "code", "types is 'code': give a list of texts"),
        ("types", [1], "give a list of texts"),
        ("params", [], "params is []: give an object"),
        ("reserves", {"code": "5"}, "give an object of whole numbers"),
        ("now", "yesterday", "now is 'yesterday': give a date"),
        ("now", [], "give a date"),
    ],
)
def test_a_value_of_another_shape_is_refused_with_what_to_give(name: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(**{"question": "q", name: value})
    assert said in str(refused.value)


def test_an_unknown_argument_is_refused_with_what_may_have_been_meant_and_all_there_are() -> None:
    with pytest.raises(UsageError, match=r"ask has no argument 'questoin' \(did you mean question\?\): choose from q"):
        check(questoin="q")
    with pytest.raises(UsageError, match="status has no argument 'x': it has none"):
        checked_arguments("status", (), {"x": 1})


def test_another_spelling_counts_as_the_same_argument_and_not_twice() -> None:
    assert check(query="q") == {"question": "q"}
    with pytest.raises(UsageError, match="query is given under two names: give question alone"):
        check(question="q", query="q")


def test_null_counts_as_not_sent_and_what_is_needed_must_be_sent() -> None:
    assert check(question="q", limit=None) == {"question": "q"}
    with pytest.raises(UsageError, match=r"ask needs question: What to look for\."):
        check(question=None)


def test_a_schema_tells_types_choices_ranges_and_defaults() -> None:
    schema = object_schema(PARAMETERS)
    properties = schema["properties"]
    assert schema["required"] == ["question"]
    assert properties["limit"] == {"type": "integer", "minimum": 1, "default": 20, "description": "At most so many."}
    assert properties["format"]["enum"] == ["markdown", "json"]
    assert properties["types"]["items"] == {"type": "string", "enum": ["code", "docs"]}
    assert properties["lens"]["examples"] == ["general"]
    assert "query" not in properties


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([one.name for one in PARAMETERS]) | st.text(max_size=4), JSON, max_size=4))
def test_whatever_is_sent_is_taken_or_refused(arguments: dict[str, Any]) -> None:
    with contextlib.suppress(UsageError):
        assert set(check(**arguments)) <= {one.name for one in PARAMETERS}
