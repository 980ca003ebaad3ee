"""Where many definitions may answer, the best lines of each are shown, and no guess whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer import weights
from satchel.answer.source_lines import whole_statements
from satchel.fitted import changed
from satchel.testing import TinyRepository
from satchel.types import Context

FILL = "".join(f"    step_{number} = shelf.take({number})\n" for number in range(20))


def ask(folder: Path, names: list[str], question: str, max_tokens: int = 4_000) -> Context:
    files = {
        f"yard/{name}.py": f"def {name}(shelf):\n{FILL}    sound_the_tide_alarm(shelf)\n{FILL}    return shelf\n"
        for name in names
    }
    repository = TinyRepository(folder / "yard")
    repository.commit("Build it", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        return engine.assemble(question, purpose="find", types=["code"], max_tokens=max_tokens)


def ranges(context: Context) -> list[list[tuple[int, int]]]:
    return [list(item.spans) for item in context.items]


def test_of_many_that_match_alike_each_shows_its_declaration_and_the_lines_that_match(tmp_path: Path) -> None:
    names = ["wharf", "crane", "barge", "canal", "sluice", "towpath", "lantern", "quay"]
    context = ask(tmp_path, names, "where is the tide alarm sounded", 2_000)
    assert len(context.items) == len(names)
    for shown in ranges(context):
        lines = {line for start, end in shown for line in range(start, end + 1)}
        assert {1, 21, 22, 23, 24} <= lines
        assert len(lines) <= weights.GLIMPSE_LINES + 2 + weights.JOIN_LINES
    assert context.usage.used <= 2_000


def test_a_rare_word_on_one_line_tells_more_than_a_common_word_on_many(tmp_path: Path) -> None:
    common, rare = "    tide = level(shelf)\n" * 14, "    sound_the_alarm(shelf)\n"
    names = ["wharf", "crane", "barge", "canal", "sluice", "towpath"]
    files = {f"yard/{name}.py": f"def {name}(shelf):\n{common}{FILL[:160]}{rare}{FILL[160:]}" for name in names}
    files |= {f"sea/ebb_{number}.py": f"def ebb_{number}(tide):\n    return tide\n" for number in range(40)}
    repository = TinyRepository(tmp_path / "yard")
    repository.commit("Build it", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        text = engine.assemble("where is the alarm of the tide", purpose="find", types=["code"], max_tokens=2_000).text
    assert text.count("sound_the_alarm(shelf)\n") == len(names)


def test_every_line_of_a_glimpse_is_shown_or_in_a_gap_that_says_where_it_is(tmp_path: Path) -> None:
    names = ["wharf", "crane", "barge", "canal", "sluice", "towpath", "lantern", "quay"]
    text = ask(tmp_path, names, "where is the tide alarm sounded", 2_000).text.partition("## Places")[0]
    for shown in text.split("\n### ")[1:]:
        lines = {int(number) for number in re.findall(r"^(\d+)\t", shown, re.MULTILINE)}
        for start, end in re.findall(r"^… (\d+)-(\d+)(?: [a-z2-7]{8})?$", shown, re.MULTILINE):
            lines |= {*range(int(start), int(end) + 1)}
        assert lines == {*range(1, 44)}


STATEMENT = [
    "def ask(",
    "    shelf,",
    "):",
    "    tide = read()",
    "    return choose(",
    "        tide,",
    "        [",
    "            shelf,",
    "        ],",
    "    )",
    "    # (",
    "    done()",
]


@pytest.mark.parametrize(
    ("shown", "whole"),
    [((4, 5), (4, 10)), ((6, 8), (6, 9)), ((7, 10), (5, 10)), ((4, 4), (4, 4)), ((11, 11), (11, 11)), ((2, 4), (1, 4))],
)
def test_lines_end_where_their_statement_does(shown: tuple[int, int], whole: tuple[int, int]) -> None:
    assert whole_statements(STATEMENT, *shown, 1, len(STATEMENT)) == whole


def test_a_statement_that_ends_far_away_or_outside_of_its_definition_is_cut() -> None:
    lines = ["call(", *["    1,"] * 20, ")"]
    assert whole_statements(lines, 1, 3, 1, len(lines)) == (1, 3)
    assert whole_statements(STATEMENT, 4, 5, 1, 9) == (4, 5)


def test_a_glimpse_does_not_end_within_a_call(tmp_path: Path) -> None:
    call = "    sound_the_tide_alarm(\n" + "".join(f"        step_{number},\n" for number in range(8)) + "    )\n"
    files = {
        f"yard/{name}.py": f"def {name}(shelf):\n{FILL}{call}{FILL}    return shelf\n"
        for name in ["wharf", "crane", "barge", "canal", "sluice", "towpath", "lantern", "quay"]
    }
    repository = TinyRepository(tmp_path / "yard")
    repository.commit("Build it", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        context = engine.assemble("where is the tide alarm sounded", purpose="find", types=["code"], max_tokens=2_000)
    assert len(context.items) > weights.RIVALS
    assert all(any(start <= 22 and end >= 31 for start, end in shown) for shown in ranges(context))


def test_room_that_is_left_completes_them_the_best_first(tmp_path: Path) -> None:
    names = ["wharf", "crane", "barge", "canal", "sluice", "towpath"]
    context = ask(tmp_path, names, "where is the tide alarm sounded")
    whole = [shown == [(1, 43)] for shown in ranges(context)]
    assert whole[0]
    assert whole == sorted(whole, reverse=True)
    assert context.usage.used <= weights.UNSURE_TOKENS


def test_further_files_come_last_and_leave_the_first_ones_as_they_are(tmp_path: Path) -> None:
    names = [f"wharf_{number:02}" for number in range(40)]
    much = ask(tmp_path / "much", names, "where is the tide alarm sounded")
    with changed(weights, "FIRST_SHARE", 1.0):
        alone = ask(tmp_path / "alone", names, "where is the tide alarm sounded", int(weights.UNSURE_TOKENS * 0.75))
    first = [(item.location.path, item.spans) for item in alone.items if item.location]
    every = [(item.location.path, item.spans) for item in much.items if item.location]
    assert every[: len(first)] == first
    assert len(every) > len(first)
    assert weights.UNSURE_TOKENS * 0.75 < much.usage.used <= weights.UNSURE_TOKENS


def test_where_few_match_the_best_is_whole(tmp_path: Path) -> None:
    context = ask(tmp_path, ["wharf", "crane"], "where is the tide alarm sounded", 1_500)
    assert ranges(context)[0] == [(1, 43)]


def test_an_answer_that_ends_below_the_budget_says_where_and_what_shows_more(tmp_path: Path) -> None:
    names = [f"wharf_{number}" for number in range(40)]
    text = ask(tmp_path / "much", names, "where is the tide alarm sounded").text
    assert f"(at most {weights.UNSURE_TOKENS:,} tokens, --fill shows more)*" in text
    assert "--fill" not in ask(tmp_path / "little", names, "where is the tide alarm sounded", 1_200).text


def test_what_matches_best_above_a_licence_that_is_not_shown_makes_no_glimpse_of_it(tmp_path: Path) -> None:
    names = ["wharf", "crane", "barge", "canal", "sluice", "towpath", "lantern", "quay"]
    licence = " * Copyright 2024 The Yard authors. All rights reserved.\n" + " * Without warranties of any kind.\n" * 40
    files = {
        f"yard/{name}.c": f"/* Sounds the tide alarm of the {name}.\n *\n{licence} */\n\n#include <{name}.h>\n\n"
        + "".join(f"#define {name}_TIDE_{number} {number}\n" for number in range(30))
        for name in names
    }
    repository = TinyRepository(tmp_path / "yard")
    repository.commit("Build it", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        context = engine.assemble("where is the tide alarm sounded", purpose="find", types=["code"], max_tokens=4_000)
    assert len(context.items) == len(names)
    assert all(44 <= start < end for shown in ranges(context) for start, end in shown)
