"""Over any sequence of questions: nothing unchanged twice, no reference to what was never shown, and no trace left."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel import Satchel
from tests.answer.sessions import QUESTIONS, Seen, opened

SESSION = itertools.count()
FILES = ("shop/pool.py", "shop/report.py", "docs/guide.md")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    with opened(tmp_path_factory.mktemp("sessions")) as satchel:
        yield satchel


questions = st.tuples(
    st.sampled_from(QUESTIONS),
    st.sampled_from([90, 150, 300, 700, 2000]),
    st.sampled_from(["markdown", "xml", "plain", "json"]),
    st.sampled_from(["sections", "entities", "blocks"]),
    st.sampled_from([0, 2]),
)


HALF = settings(max_examples=max(settings.default.max_examples // 2, 1)) if settings.default else settings()
"""Every example is a dozen answers."""


@HALF
@given(st.lists(questions, min_size=2, max_size=6))
def test_a_session_is_never_shown_the_same_twice(engine: Satchel, asked: list[tuple[str, int, str, str, int]]) -> None:
    session, seen = f"session {next(SESSION)}", Seen()
    for question, budget, layout, view, around in asked:
        context = engine.assemble(
            question, session=session, max_tokens=budget, format=layout, view=view, context_lines=around, refresh=False
        )
        assert not list(seen.unread(context, engine.places.root))
        assert not list(seen.faults(context))
    engine.forget_session(session)
    options: dict[str, Any] = {
        "max_tokens": budget,
        "format": layout,
        "view": view,
        "context_lines": around,
        "refresh": False,
    }
    again = engine.assemble(question, session=session, **options)
    assert again.text == engine.assemble(question, **options).text
    engine.forget_session(session)


@HALF
@given(st.lists(st.tuples(st.sampled_from(QUESTIONS[:2]), st.sampled_from(FILES)), min_size=2, max_size=5))
def test_what_an_edit_moves_is_not_shown_again(engine: Satchel, steps: list[tuple[str, str]]) -> None:
    session, seen = f"edited {next(SESSION)}", Seen()
    before = {path: (engine.places.root / path).read_text() for path in FILES}
    for number, (question, edited) in enumerate(steps):
        context = engine.assemble(question, session=session, max_tokens=1000, refresh=False)
        assert not list(seen.unread(context, engine.places.root))
        assert not list(seen.faults(context))
        text = (engine.places.root / edited).read_text()
        (engine.places.root / edited).write_text(f"# Edit {number}\n\n{text}")
        seen.move(edited, 2)
        engine.index()
    for path, text in before.items():
        (engine.places.root / path).write_text(text)
    engine.index()
    engine.forget_session(session)
