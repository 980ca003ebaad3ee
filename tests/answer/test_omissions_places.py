"""An answer for an agent with tools: what is sure with line numbers, and other places by their best line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from satchel import Satchel
from satchel.answer import weights
from satchel.answer.omissions import NamedPlace, PlaceList, best_first
from satchel.errors import UsageError
from satchel.testing import TinyRepository
from satchel.types import Context
from tests.rendered import parse

PLACE = re.compile(r"^(?:- (?:uses )?(\S+):|  )(\d+)-(\d+)(?: (\S+))?: (\d+) (.+)$", re.MULTILINE)
STEPS = "".join(f"    parcel_{number} = weigh(parcel, {number})\n" for number in range(9))
FILES = {
    "depot/scale.py": f'"""Scales."""\n\nimport os\n\nHEAVIEST_PARCEL = 31_500\n\n\ndef weigh_parcel(parcel):\n{STEPS}'
    "    return parcel.weight > HEAVIEST_PARCEL\n",
    "depot/crane.py": "def lift_crate(crate):\n"
    '    """Lift a crate off the lorry.\n\n'
    + "".join(f"    Told at length, part {number}.\n" for number in range(8))
    + '    """\n    return crate.lift()\n',
    **{
        f"depot/door{number}.py": f"def weigh_{number}(parcel):\n    return scale.weigh(parcel, {number}) and heavy\n"
        for number in range(12)
    },
    "depot/many.py": "".join(
        f"def heavy_parcel_{number}(shelf):\n    return weigh(shelf.parcel[{number}])\n\n\n" for number in range(9)
    ),
}
QUESTION = "when is a parcel too heavy to weigh"


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("places")
    repository = TinyRepository(folder / "depot")
    repository.commit("Weigh parcels", FILES)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        engine.index()
        yield engine


def ask(satchel: Satchel, **options: Any) -> Context:
    return satchel.assemble(QUESTION, **{"purpose": "find", "types": ["code"]} | options)


def places(context: Context) -> list[tuple[str, ...]]:
    return [match.groups() for match in PLACE.finditer(context.text)]


@pytest.mark.parametrize("layout", ["markdown", "plain"])
def test_every_line_of_a_file_has_its_number(satchel: Satchel, layout: str) -> None:
    context = ask(satchel, format=layout)
    assert "2\t    return weigh(shelf.parcel[0])\n" in context.text
    read = parse(context.text, layout, numbered=True)
    shown = {item.title: "\n".join(piece.text for piece in item.pieces) for item in context.items}
    assert {item.path: "\n".join(piece.text for piece in item.pieces) for item in read} == shown


def test_structured_formats_have_the_first_line_of_each_piece_instead(satchel: Satchel) -> None:
    answer = json.loads(ask(satchel, format="json").text)
    assert "\t" not in json.dumps(answer["context"])
    assert "<" not in ask(satchel, format="xml").text.partition("9\t")[1]


def test_other_places_have_range_name_and_best_line_in_text_and_as_data(satchel: Satchel) -> None:
    context = ask(satchel, max_tokens=1_000)
    rows = places(context)
    assert 1 < len(rows) <= weights.PLACES
    assert len(rows) == len(context.meta["places"])
    path = ""
    for (own, start, end, _, number, line), data in zip(rows, context.meta["places"], strict=True):
        path = own or path
        text = FILES[path].split("\n")
        assert int(start) <= int(number) <= int(end)
        assert text[int(number) - 1].strip().startswith(line.rstrip("…"))
        assert data["ranges"] == [{"start": int(start), "end": int(end)}]
        assert (data["path"], data["line"], data["text"]) == (path, int(number), line)
        assert data["why"] in ("matches", "uses")
    assert "depot/scale.py" in context.text


def test_other_matches_are_counted_and_not_listed(tmp_path: Path) -> None:
    rows = "".join(
        f"def heavy_parcel_{number}(shelf):\n    return weigh(shelf.parcel[{number}])\n\n\n" for number in range(40)
    )
    repository = TinyRepository(tmp_path / "depot")
    repository.commit("Weigh", {"depot/many.py": rows})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        context = engine.assemble("weigh a heavy parcel", purpose="find", types=["code"], max_tokens=1_000)
    assert len(context.meta["places"]) == weights.PLACES
    (more,) = re.findall(r"^- and (\d+) more$", context.text, re.MULTILINE)
    assert context.text.count("heavy_parcel_") >= 40 - int(more)


def test_a_place_in_a_test_is_labelled_and_the_next_row_of_its_file_has_no_path() -> None:
    first = NamedPlace("matches", "tests/barge.py", ((3, 9), (20, 24)), "test_tow", 4, "assert tow()", is_test=True)
    second = replace(first, ranges=((30, 31),), name="", line=30, text="assert not tow()")
    rows = ("- test tests/barge.py:3-9,20-24 test_tow: 4 assert tow()", "  30-31: 30 assert not tow()")
    assert PlaceList((first, second)).lines == rows
    assert first.data["test"] is True


def test_passages_of_a_place_that_overlap_are_one_range_and_the_best_stays_first() -> None:
    assert best_first([(376, 389), (263, 276), (374, 387)]) == ((374, 389), (263, 276))
    assert best_first([(30, 40), (10, 20), (20, 30)]) == ((10, 40),)
    assert best_first([(21, 29), (10, 20)]) == ((21, 29), (10, 20))
    assert best_first([(5, 5)]) == ((5, 5),)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Satchel]:
    steps = [f"    row_{number} = shelf.take({number})" for number in range(300)]
    steps[40], steps[200], steps[260] = (f"    tide_alarm(level, {number})" for number in range(3))
    repository = TinyRepository(tmp_path / "port")
    files = {
        "watch.py": "def watch(shelf, level):\n" + "\n".join(steps) + "\n",
        "alarm.py": "def tide_alarm(level, step):\n    return level > step\n",
    }
    repository.commit("Watch", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        yield engine


def test_a_long_function_is_named_by_its_best_passages(port: Satchel) -> None:
    text = port.assemble("where does tide_alarm get its level", purpose="find", types=["code"]).text
    (passages, number) = re.findall(r"- watch.py:(\S+) watch: (\d+) tide_alarm", text)[0]
    spans = [tuple(map(int, span.split("-"))) for span in passages.split(",")]
    assert len(set(spans)) == len(spans) == 3
    for line in (42, 202, 262):
        assert any(start <= line <= end and end - start < 30 for start, end in spans)
    assert int(number) in (42, 202, 262)


def test_lines_of_a_long_function_are_below_their_conditions(tmp_path: Path) -> None:
    steps = "".join(f"            row_{number} = shelf.take({number})\n" for number in range(140))
    watch = f"def watch(shelf, level):\n    for row in shelf:\n        if row.is_open:\n{steps}"
    watch += "            sound_the_tide_alarm(level)\n" + steps
    repository = TinyRepository(tmp_path / "port")
    repository.commit("Watch", {"watch.py": watch, "alarm.py": "def rest():\n    return None\n"})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        text = engine.assemble("who does sound the tide alarm", purpose="find", types=["code"]).text
    assert "\n1\tdef watch(shelf, level):\n2\t    for row in shelf:\n3\t        if row.is_open:\n… 4-" in text
    assert "\n144\t            sound_the_tide_alarm(level)\n" in text
    assert re.search(r"^… \d+-284 [a-z2-7]{8}$", text, re.MULTILINE)


def test_overloads_share_a_row(tmp_path: Path) -> None:
    overloads = "".join(
        f"  Barge tow({kind} barge) {{\n    return lock.tow(barge, {number}, barge.length(), barge.width());\n  }}\n"
        for number, kind in enumerate(("Barge", "Raft", "Log"))
    )
    sure = "".join(f"    moor(barge, canal, {number});\n" for number in range(60))
    files = {
        "Canal.java": f"class Canal {{\n  void towThroughTheCanal(Barge barge) {{\n{sure}  }}\n}}\n",
        "Tug.java": f"class Tug {{\n{overloads}}}\n",
    }
    repository = TinyRepository(tmp_path / "works")
    repository.commit("Tow", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        text = engine.assemble("tow through the canal", purpose="find", types=["code"]).text
    (ranges,) = re.findall(r"Tug.java:(\S+) Tug.tow: ", text)
    assert sorted(ranges.split(",")) == ["2-4", "5-7", "8-11"]


def test_it_is_shorter_than_the_answer_for_a_reader_and_names_what_that_shows(satchel: Satchel) -> None:
    long, short = satchel.assemble(QUESTION, types=["code"]), ask(satchel)
    assert short.usage.used < long.usage.used
    assert "import os" not in short.text


def test_a_long_doc_string_is_its_first_sentence_and_the_gap_is_named(satchel: Satchel) -> None:
    question = "who can lift a crate off the lorry"
    text = satchel.assemble(question, purpose="find", types=["code"]).text
    assert (
        '1\tdef lift_crate(crate):\n2\t    """Lift a crate off the lorry.\n… 3-12\n13\t    return crate.lift()\n'
        in text
    )
    assert "part 7" in satchel.assemble(question, types=["code"]).text


def test_a_memory_that_answers_does_not_hide_the_lines(satchel: Satchel) -> None:
    satchel.memories.add("a parcel is too heavy to weigh above 31.5 kg, said the depot", category="fact")
    context = satchel.assemble(QUESTION, purpose="find", max_tokens=8_000)
    assert {item.source for item in context.items} >= {"memory", "code"}


def test_the_budget_holds(satchel: Satchel) -> None:
    for budget in (80, 150, 300, 700):
        context = ask(satchel, max_tokens=budget)
        assert context.usage.used <= budget


def test_an_unknown_purpose_is_refused_with_the_choices(satchel: Satchel) -> None:
    with pytest.raises(UsageError, match="read, find, edit"):
        ask(satchel, purpose="look")


def test_the_best_function_is_whole_where_its_rest_is_short_and_it_is_not_too_long(tmp_path: Path) -> None:
    def tow(lines: int) -> str:
        rest = "".join(f"    barge = knot(barge, rope_of_the_{number}_mooring)\n" for number in range(lines))
        return f"def tow_the_barge(barge):\n{rest}    return barge.towed_upstream_by_the_tug\n"

    repository = TinyRepository(tmp_path / "river")
    repository.commit("Tow", {"river/short.py": tow(40), "river/other.py": "def moor():\n    return None\n"})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        for lines, is_whole in ((40, True), (70, False), (130, False)):
            repository.write({"river/short.py": tow(lines)})
            context = engine.assemble("which barge is towed upstream by the tug", purpose="find", types=["code"])
            assert (tow(lines).rstrip("\n") in "\n".join(item.content for item in context.items)) is is_whole, lines
            assert context.usage.used <= 4_000
