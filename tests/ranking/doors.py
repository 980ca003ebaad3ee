"""The doors at which questions are asked, and what comes out of each, as parts with a name and a text.

A part is a hit of `search`, or an item of a packed answer. It is named by its path, a record by the name of its set-up
(`memory:pool`, `commit:pool`); what it shows of a file is named by path and definition (`net/pool.py::Pool.close`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from satchel.hooks.answers import HOST_FILES, PROMPT_TOKENS, about_prompt, asks_something
from satchel.types import Context, ContextItem, Hit, Location
from satchel.vocabulary import EDIT, FIND, READ
from tests.ranking.projects import OpenProject, Question


class Part(NamedTuple):
    """A hit or an item: the name of its file or record, its text, and the definitions that it shows of a file."""

    name: str
    text: str
    definitions: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What comes out of a door. `is_weak` says that it calls itself a weak match; `tokens` is 0 for a search.

    The parts are in the order of the answer, the best first; `text` is all that is shown.
    """

    parts: tuple[Part, ...] = ()
    text: str = ""
    is_weak: bool = False
    tokens: int = 0

    @property
    def names(self) -> list[str]:
        """The files and records, each once, best first."""
        return [*dict.fromkeys(part.name for part in self.parts)]

    @property
    def definitions(self) -> list[str]:
        """The definitions of files, each once, best first."""
        return [*dict.fromkeys(name for part in self.parts for name in part.definitions)]


Door = Callable[[OpenProject, str, Mapping[str, Any]], Answer]

MAX_WEAK = 3
"""Hits of a search that are only a weak match."""


def ask(project: OpenProject, question: Question) -> Answer:
    """Ask a question at its door."""
    return DOORS[question.door](project, question.ask, question.options)


def _name(project: OpenProject, identity: str, location: Location | None) -> str:
    if location is not None:
        return location.path
    record = identity.partition("::")[0]
    return project.names.get(record, record)


@lru_cache(maxsize=1_000)
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


def _text(project: OpenProject, hit: Hit) -> str:
    location = hit.chunk.location
    if location is None:
        return f"{hit.chunk.title}\n{hit.chunk.body}"
    return "\n".join(_lines(project.root / location.path)[location.start_line - 1 : location.end_line])


def _search(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
    hits = project.satchel.search(question, now=project.project.now, refresh=False, **options)
    parts = tuple(
        Part(_name(project, hit.chunk.id, hit.chunk.location), _text(project, hit), (hit.chunk.id.partition(":")[2],))
        for hit in hits
    )
    return Answer(parts, "\n".join(part.text for part in parts))


def _item(name: str, item: ContextItem) -> Part:
    return Part(name, item.content, tuple(f"{name}::{piece.name}" for piece in item.pieces if piece.name))


def _answer(project: OpenProject, context: Context) -> Answer:
    parts = tuple(_item(_name(project, item.id, item.location), item) for item in context.items)
    return Answer(parts, context.text, bool(context.meta.get("weak")), context.usage.used)


def _context(purpose: str) -> Door:
    def door(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
        satchel = project.satchel
        request = satchel.request(question, purpose=purpose, now=project.project.now, **options)
        return _answer(project, satchel.answers.unrecorded(request))

    return door


def _change(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
    """The change in the work tree; where nothing is asked, the change itself is the question."""
    answers = project.satchel.answers
    request = answers.request(question or "change", purpose=READ, now=project.project.now, **options)
    about, _ = answers.about_change(request, is_asked=bool(question))
    return _answer(project, answers.unrecorded(about))


def _prompt(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
    """What a prompt is given unasked, without the state of a session: nothing where it is hardly about the project."""
    satchel = project.satchel
    if not asks_something(question):
        return Answer()
    given = {"max_tokens": PROMPT_TOKENS, "exclude": HOST_FILES, "now": project.project.now}
    unasked, certainty = about_prompt(satchel, question, **{**given, **options})
    lessons = _answer(project, unasked.lessons)
    if certainty < satchel.settings.hooks_min_relevance:
        return lessons
    shown = _answer(project, unasked.context)
    text = "\n\n".join(filter(None, (lessons.text, shown.text)))
    # Given unasked it is no less a fault for being called weak.
    return Answer((*lessons.parts, *shown.parts), text, is_weak=False, tokens=lessons.tokens + shown.tokens)


def _brief(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
    """A brief: after the failure that is asked, or for the start of a session, with room for each of its sections."""
    if not question:
        options = {"max_tokens": 1_000, **options}
    request = project.satchel.brief_request(question or None, now=project.project.now, **options)
    return _answer(project, project.satchel.answers.unrecorded(request))


def _premortem(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
    """A premortem in the domain that is asked."""
    request = project.satchel.premortem_request(question, now=project.project.now, **options)
    return _answer(project, project.satchel.answers.unrecorded(request))


def _situation(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
    """A situation; `ask` is its task, the option `in` its other fields."""
    others = dict(options)
    situation = {"task": question, **others.pop("in", {})}
    context = project.satchel.situation(situation, refresh=False, now=project.project.now, **others)
    return _answer(project, context)


def _graph(project: OpenProject, question: str, options: Mapping[str, Any]) -> Answer:
    return _answer(project, project.satchel.graph(question, refresh=False, now=project.project.now, **options))


OPTIONS = frozenset({"fill", "in", "limit", "max_tokens", "names", "related", "strategy", "types"})
"""Options that questions give to their doors; any other word is a misspelt expectation."""

DOORS: Mapping[str, Door] = {
    "search": _search,
    "read": _context(READ),
    "find": _context(FIND),
    "edit": _context(EDIT),
    "change": _change,
    "prompt": _prompt,
    "brief": _brief,
    "premortem": _premortem,
    "situation": _situation,
    "graph": _graph,
}
