"""The check of one project: ask its questions, and collect the red lines."""

from __future__ import annotations

from collections.abc import Iterator

from tests.ranking.doors import Answer, ask
from tests.ranking.expectations import problems, red_line
from tests.ranking.projects import OpenProject, Question


def answers(opened: OpenProject) -> Iterator[tuple[Question, Answer]]:
    """Yield each question of a project with its answer."""
    for question in opened.project.questions:
        yield question, ask(opened, question)


def red_lines(opened: OpenProject) -> list[str]:
    """Return a text for each question whose answer is wrong."""
    rows = ((question, answer, problems(question, answer)) for question, answer in answers(opened))
    return [red_line(question, answer, wrong) for question, answer, wrong in rows if wrong]
