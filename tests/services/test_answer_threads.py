"""Threads that ask at once get what one alone gets, and none waits for another forever."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository

WORDS = ("parcel", "order", "invoice", "customer", "weight", "address")
QUESTIONS = [f"where is the {first} checked against the {second}" for first in WORDS for second in WORDS[:3]]


@pytest.fixture
def satchel(tmp_path: Path) -> Iterator[Satchel]:
    """Many functions that match alike, each with a long doc comment and more lines than a glimpse has."""
    files = {
        f"shop/{word}.py": "\n\n".join(
            f'def check_{word}_{other}_{number}({word}, {other}):\n    """Check the {word} against the {other}.\n\n'
            + "".join(f"    More about it, line {line}.\n" for line in range(8))
            + '    """\n'
            + "".join(f"    step_{line} = {word}.{other}_{line}({number})\n" for line in range(24))
            for other in WORDS
            for number in range(3)
        )
        for word in WORDS
    }
    root = TinyRepository(tmp_path / "shop")
    root.commit("Begin", files)
    with Satchel.open(
        root.root, settings={"embed.provider": "off"}, environ={"SATCHEL_HOME": str(tmp_path / "home")}
    ) as opened:
        opened.index()
        yield opened


@pytest.fixture
def _in_turns() -> Iterator[None]:
    """Threads that give way to each other at any line."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_in_turns")
def test_threads_that_ask_at_once_get_the_answers_of_one_alone(satchel: Satchel) -> None:
    def ask(questions: list[str], answers: dict[str, str]) -> None:
        for question in questions:
            answers[question] = satchel.assemble(
                question, purpose="find", max_tokens=1_000, refresh=False, now=1.8e9
            ).text

    alone: dict[str, str] = {}
    ask(QUESTIONS, alone)
    together: list[dict[str, str]] = [{} for _ in range(4)]
    threads = [
        Thread(target=ask, args=(QUESTIONS[at:] + QUESTIONS[:at], answers), daemon=True)
        for at, answers in enumerate(together)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert together == [alone] * 4
