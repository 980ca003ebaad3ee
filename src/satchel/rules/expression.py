r"""Regular expressions that always end: matched by following all ways at once, in time linear in the text.

A rule is somebody else's text, and the ordinary engine can be kept busy for years by `(a+)+b`. Here an expression
becomes a small machine, and every character of the text moves all of its states one step. Known are letters, classes,
`.`, groups, `|`, repeats, `^`, `$` and `\b`; what needs memory or looks around (`\1`, `(?=...)`) is refused. Case is
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

LONGEST = 400
"""Characters of an expression."""

MOST_STATES = 2_000
"""States of a machine: `(a{100}){100}` would have ten thousand."""

LONGEST_TEXT = 4_000
"""Characters of the text that are looked at, from its beginning."""

_Test = Callable[[str], bool]
_Guard = Callable[[str, int], bool]


class ExpressionError(ValueError):
    """An expression that cannot be used; the message says why."""


class _Machine:
    """States with, for each, a test of one character, or a guard on the place, and where they lead."""

    def __init__(self) -> None:
        self.tests: list[_Test | None] = []
        self.guards: list[_Guard | None] = []
        self.ways: list[list[int]] = []

    def state(self, test: _Test | None = None, guard: _Guard | None = None) -> int:
        """A new state. Raises ExpressionError when there are too many."""
        if len(self.ways) >= MOST_STATES:
            raise ExpressionError(f"needs more than {MOST_STATES:,} states: repeat less")
        self.tests.append(test)
        self.guards.append(guard)
        self.ways.append([])
        return len(self.ways) - 1


class Expression:
    """A compiled expression. Raises ExpressionError for one that is damaged, too large, or needs memory."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ExpressionError(f"has {len(text)} characters: at most {LONGEST}")
        parser: Any = import_module("re._parser")  # the grammar of the standard library; only its engine is replaced
        try:
            tree = parser.parse(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise ExpressionError(f"is no regular expression: {error}") from None
        self.text = text
        self._machine = _Machine()
        self._start = self._machine.state()
        end = _sequence(self._machine, self._start, tree)
        self._end = self._machine.state()
        self._machine.ways[end].append(self._end)

    def found_in(self, text: str) -> bool:
        """Whether it matches somewhere in the first characters of the text."""
        text = text[:LONGEST_TEXT]
        current: set[int] = set()
        for place in range(len(text) + 1):
            current = self._reached({*current, self._start}, text, place)
            if self._end in current:
                return True
            if place < len(text):
                current = self._moved(current, text[place])
        return False

    def _moved(self, states: Iterable[int], character: str) -> set[int]:
        machine = self._machine
        found: set[int] = set()
        for state in states:
            test = machine.tests[state]
            if test is not None and test(character):
                found.update(machine.ways[state])
        return found

    def _reached(self, states: set[int], text: str, place: int) -> set[int]:
        """These states and all that they lead to without taking a character."""
        machine = self._machine
        waiting, found = list(states), set(states)
        while waiting:
            state = waiting.pop()
            guard = machine.guards[state]
            if machine.tests[state] is not None or (guard is not None and not guard(text, place)):
                continue
            new = [way for way in machine.ways[state] if way not in found]
            found.update(new)
            waiting += new
        return found


@lru_cache(maxsize=500)
def expression(text: str) -> Expression:
    """The compiled expression, remembered. Raises ExpressionError."""
    return Expression(text)


def _sequence(machine: _Machine, start: int, tree: Iterable[Any]) -> int:
    for operation, argument in tree:
        start = _node(machine, start, str(operation), argument)
    return start


def _node(machine: _Machine, start: int, operation: str, argument: Any) -> int:
    match operation:
        case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
            state = machine.state(_test(operation, argument))
            after = machine.state()
            machine.ways[start].append(state)
            machine.ways[state].append(after)
            return after
        case "SUBPATTERN":
            return _sequence(machine, start, argument[3])
        case "BRANCH":
            after = machine.state()
            for branch in argument[1]:
                machine.ways[_sequence(machine, start, branch)].append(after)
            return after
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _repeat(machine, start, *argument)
        case "AT" if str(argument) in _GUARDS:
            state = machine.state(guard=_GUARDS[str(argument)])
            machine.ways[start].append(state)
            return state
    raise ExpressionError(f"uses {operation.lower().replace('_', ' ')}, which is not possible here: write it without")


def _repeat(machine: _Machine, start: int, least: int, most: Any, body: Any) -> int:
    for _ in range(least):
        start = _sequence(machine, start, body)
    after = machine.state()
    if str(most) == "MAXREPEAT":
        loop = machine.state()
        machine.ways[start].append(loop)
        machine.ways[_sequence(machine, loop, body)].append(loop)
        machine.ways[loop].append(after)
        return after
    machine.ways[start].append(after)
    for _ in range(int(most) - least):
        start = _sequence(machine, start, body)
        machine.ways[start].append(after)
    return after


def _test(operation: str, argument: Any) -> _Test:
    if operation == "ANY":
        return lambda character: character != "\n"
    members = [("LITERAL", argument)] if operation != "IN" else [(str(kind), value) for kind, value in argument]
    is_negated = operation == "NOT_LITERAL" or members[0][0] == "NEGATE"
    tests = [_member(kind, value) for kind, value in members if kind != "NEGATE"]

    def test(character: str) -> bool:
        folded = {character, character.lower(), character.upper()}
        return any(one(letter) for letter in folded if len(letter) == 1 for one in tests) is not is_negated

    return test


def _member(kind: str, value: Any) -> _Test:
    if kind == "LITERAL":
        return lambda letter: ord(letter) == value
    if kind == "RANGE":
        return lambda letter: value[0] <= ord(letter) <= value[1]
    return _CATEGORIES[str(value)]


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


_CATEGORIES: dict[str, _Test] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_NOT_DIGIT": lambda letter: not letter.isdecimal(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda letter: not letter.isspace(),
    "CATEGORY_WORD": _is_word,
    "CATEGORY_NOT_WORD": lambda letter: not _is_word(letter),
}


def _at_boundary(text: str, place: int) -> bool:
    before = place > 0 and _is_word(text[place - 1])
    return before != (place < len(text) and _is_word(text[place]))


_GUARDS: dict[str, _Guard] = {
    "AT_BEGINNING": lambda _, place: place == 0,
    "AT_BEGINNING_STRING": lambda _, place: place == 0,
    "AT_END": lambda text, place: text[place:] in ("", "\n"),
    "AT_END_STRING": lambda text, place: place == len(text),
    "AT_BOUNDARY": _at_boundary,
    "AT_NON_BOUNDARY": lambda text, place: not _at_boundary(text, place),
}


def problem_of(text: str) -> str:
    """What is wrong with an expression, empty where nothing is."""
    try:
        expression(text)
    except ExpressionError as error:
        return str(error)
    return ""


def any_found(expressions: Sequence[str], text: str) -> str:
    """The first of the expressions that the text holds, empty where it holds none."""
    return next((one for one in expressions if expression(one).found_in(text)), "")
