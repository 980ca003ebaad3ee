"""What a right answer has. Each expectation is what a careful engineer would call right, never an order of scores.

first = "net/pool.py"              the first part
top = ["a.py", "b.py"]             the first parts, in any order
shows = ["a.py", "memory:pool"]    these are among the parts
hides = ["a.py"]                   these are not
before = ["a.py", "b.py"]          the first of these comes before each other one; those may be missing
                                   (any of these may be a definition, too, "net/pool.py::Pool.close", or lines
                                   outside of definitions, "net/pool.py#L1-9")
orders = [["a.py", "b.py"]]         several such lists
line = "if idle > limit:"          a line of the first three parts; in a packed answer, a line of what is shown
lines = ["...", "..."]             several such lines
without = ["def unrelated"]        texts that are not shown
silent = true                      nothing, or hardly anything that is called a weak match
sure = true                        something, and not called a weak match
says = ["## Memories"]             texts anywhere in the answer, such as a heading or a note
within = 600                       at most so many tokens: the question is answered by one place
beyond = 1200                      at least so many tokens: the question asks for much
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.ranking.doors import MAX_WEAK, Answer
from tests.ranking.projects import Question

BEST_PARTS = 3
"""Hits of a search that are read for the deciding line."""

SHOWN_NAMES = 8
"""Names of an answer that a red line lists."""


def _named(answer: Answer, name: str) -> list[str]:
    """Return the names among which a name is looked for: definitions for a definition, else files and records."""
    return answer.definitions if "::" in name or "#L" in name else answer.names


def _first(answer: Answer, name: str) -> str:
    best = _named(answer, name)[:1]
    return "" if best == [name] else f"first is {_listed(best)}"


def _top(answer: Answer, names: Sequence[str]) -> str:
    best = _named(answer, names[0])[: len(names)]
    return "" if set(best) == set(names) else f"the first are {_listed(best)}"


def _shows(answer: Answer, names: Sequence[str]) -> str:
    missing = [name for name in names if name not in _named(answer, name)]
    return f"without {_listed(missing)}" if missing else ""


def _hides(answer: Answer, names: Sequence[str]) -> str:
    shown = [name for name in names if name in _named(answer, name)]
    return f"with {_listed(shown)}" if shown else ""


def _before(answer: Answer, names: Sequence[str]) -> str:
    first, *others = names
    every = _named(answer, first)
    if first not in every:
        return f"without {first}"
    earlier = [name for name in every[: every.index(first)] if name in others]
    return f"{first} comes after {_listed(earlier)}" if earlier else ""


def _orders(answer: Answer, orders: Sequence[Sequence[str]]) -> str:
    return "; ".join(filter(None, (_before(answer, names) for names in orders)))


def _lines(answer: Answer, lines: Sequence[str]) -> str:
    # A packed answer is read as it is; of a search the best parts are.
    text = answer.text if answer.tokens else "\n".join(part.text for part in answer.parts[:BEST_PARTS])
    missing = [line for line in lines if line not in text]
    return f"not shown: {_listed(missing)}" if missing else ""


def _line(answer: Answer, line: str) -> str:
    return _lines(answer, [line])


def _without(answer: Answer, texts: Sequence[str]) -> str:
    shown = [text for text in texts if text in answer.text]
    return f"shown: {_listed(shown)}" if shown else ""


def _silent(answer: Answer, is_expected: bool) -> str:
    is_silent = not answer.parts or answer.is_weak or (not answer.tokens and len(answer.parts) <= MAX_WEAK)
    return "" if is_silent == is_expected else f"{len(answer.parts)} parts, {'weak' if answer.is_weak else 'not weak'}"


def _sure(answer: Answer, is_expected: bool) -> str:
    is_sure = bool(answer.parts) and not answer.is_weak
    return "" if is_sure == is_expected else f"{len(answer.parts)} parts, {'weak' if answer.is_weak else 'not weak'}"


def _says(answer: Answer, texts: Sequence[str]) -> str:
    missing = [text for text in texts if text not in answer.text]
    return f"does not say {_listed(missing)}" if missing else ""


def _within(answer: Answer, tokens: int) -> str:
    return "" if answer.tokens <= tokens else f"{answer.tokens} tokens"


def _beyond(answer: Answer, tokens: int) -> str:
    return "" if answer.tokens >= tokens else f"{answer.tokens} tokens"


EXPECTATIONS: Mapping[str, Callable[[Answer, Any], str]] = {
    "first": _first,
    "top": _top,
    "shows": _shows,
    "hides": _hides,
    "before": _before,
    "orders": _orders,
    "line": _line,
    "lines": _lines,
    "without": _without,
    "silent": _silent,
    "sure": _sure,
    "says": _says,
    "within": _within,
    "beyond": _beyond,
}
"""Expectation -> what is wrong with an answer, empty if it is right."""


_FORMS: Mapping[str, str] = {
    **dict.fromkeys(("first", "line"), "a text"),
    **dict.fromkeys(("silent", "sure"), "true or false"),
    **dict.fromkeys(("within", "beyond"), "a number of tokens"),
    "orders": "a list of lists of at least two names",
    "before": "a list of at least two names",
}


def _is_list(value: Any, least: int = 1) -> bool:
    return isinstance(value, list) and len(value) >= least and all(one and isinstance(one, str) for one in value)


def has_form(name: str, value: Any) -> bool:
    """Return whether an expectation has a value of its kind: a text in place of a list would never be found."""
    if name in ("first", "line"):
        return isinstance(value, str) and bool(value)
    if name in ("silent", "sure"):
        return isinstance(value, bool)
    if name in ("within", "beyond"):
        return type(value) is int and value > 0
    if name == "orders":
        return isinstance(value, list) and bool(value) and all(_is_list(one, 2) for one in value)
    return _is_list(value, 2 if name == "before" else 1)


def form_of(name: str) -> str:
    """Return what the value of an expectation is, for the message about one that is not."""
    return _FORMS.get(name, "a list of texts")


def problems(question: Question, answer: Answer) -> list[str]:
    """Return what is wrong with an answer, one text for each expectation that it does not meet."""
    wrong = ((name, value, EXPECTATIONS[name](answer, value)) for name, value in question.expected.items())
    return [f"{name} = {value!r}: {actual}" for name, value, actual in wrong if actual]


def red_line(question: Question, answer: Answer, wrong: Sequence[str]) -> str:
    """Return a red line for the reader: the question, what was expected, and what came."""
    told = "\n".join(f"    expected {text}" for text in wrong)
    return f"{question.id}: {question.ask}\n{told}\n    came {_listed(answer.names[:SHOWN_NAMES])}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
