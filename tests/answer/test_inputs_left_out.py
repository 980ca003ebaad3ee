"""Hits that an answer would neither show nor list become no candidates, and the answer is the same."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer import inputs, search
from satchel.answer.plans import PlannedSection
from satchel.answer.search import gather
from satchel.search.searcher import SearchResult
from satchel.testing import TinyRepository
from satchel.types import Kind

QUESTION = "where is the parcel weighed before the order is sent"


@pytest.fixture
def satchel(tmp_path: Path) -> Satchel:
    """A repository whose files match the question ever less, in code and in prose."""
    words = ["parcel", "weighed", "order", "sent", "before"]
    files: dict[str, str] = {}
    for number in range(60):
        page = f"# Page {number}\n\nThe {' '.join(words[: 5 - number // 12])}. {'More of something else. ' * number}\n"
        parts = [
            f"def {words[-1 - at] * (at < 4)}_{number}_{at}(order):\n"
            + "".join(
                f"    # {' '.join(words[: 5 - at])} {'filler ' * number}\n    step_{row} = {row}\n" for row in range(4)
            )
            for at in range(5)
        ]
        files |= {f"shop/part_{number}.py": "\n\n".join(parts), f"docs/page_{number}.md": page}
    root = TinyRepository(tmp_path / "shop")
    root.commit("Begin", files)
    return Satchel.open(
        tmp_path / "shop", settings={"embed.provider": "off"}, environ={"SATCHEL_HOME": str(tmp_path / "home")}
    )


def answers(satchel: Satchel, **options: Any) -> list[Any]:
    """Return all that an answer says but the time that it took, with small and large budgets."""
    contexts = [satchel.assemble(QUESTION, max_tokens=tokens, **options) for tokens in (300, 1_000, 4_000)]
    return [(one.text, one.items, one.usage, one.failures) for one in contexts]


def read_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make candidates of all hits."""
    monkeypatch.setattr(inputs, "MIN_CANDIDATES", 1_000_000)


def test_the_answer_is_the_same_without_hits_that_it_would_not_list(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    candidates = inputs._candidates

    def counted(*arguments: Any) -> Any:
        result = candidates(*arguments)
        made.append(len(result[0]))
        return result

    monkeypatch.setattr(inputs, "_candidates", counted)
    with satchel:
        few = [answers(satchel), answers(satchel, types=["code"]), answers(satchel, exclude=["shop/part_1*.py"])]
        fewer = sum(made)
        made.clear()
        read_all(monkeypatch)
        monkeypatch.setattr(search, "MIN_PROSE", 0.0)
        assert few == [
            answers(satchel), answers(satchel, types=["code"]), answers(satchel, exclude=["shop/part_1*.py"])
        ]  # fmt: skip
        assert fewer < sum(made)


def test_all_candidates_are_made_where_they_are_counted(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    with satchel:
        shown = satchel.assemble(QUESTION, show_meta=True).text
        read_all(monkeypatch)
        assert satchel.assemble(QUESTION, show_meta=True).text == shown


def test_words_of_local_files_are_searched_without_threads(satchel: Satchel) -> None:
    with satchel:
        assert satchel.assemble(QUESTION).items
        assert satchel.opened._executor is None


def test_no_section_in_turn_is_left_out_because_another_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0.0, 9.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    sections = [PlannedSection(kind, 1.0, 5) for kind in (Kind.CODE, Kind.DOC)]
    rows, failures = gather(sections, lambda _section: SearchResult((), chunks=1), None, 2.0)
    assert ([row.result.chunks for row in rows], failures) == ([1, 1], [])
