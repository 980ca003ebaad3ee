"""Places to look at next: what shown lines use, their only caller, and the names of the question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from satchel import Satchel
from satchel.answer import inputs, pipeline, weights
from satchel.answer.hops import Hop, _merged
from satchel.search.resolve import code
from satchel.sources.code.parse import syntax_tree
from satchel.system.cache import Cache
from satchel.testing import TinyRepository

HOUR = "SECONDS_AN_HOUR = 60 * 60"
FILES = {
    "ferry/limits.py": f"{HOUR}\nUNUSED = 3\n\n\nclass Berth:\n    width = 4\n\n    @property\n"
    "    def is_free(self) -> bool:\n        return self.width > 3\n",
    "ferry/other.py": "SECONDS_AN_HOUR = 1\n\n\nclass Other:\n    def is_free(self):\n        return None\n",
    "ferry/tide.py": "from ferry.limits import SECONDS_AN_HOUR, Berth\n\n\n"
    "def tide_delay(crossing, berth: Berth) -> int:\n"
    '    """Delay a crossing at low tide."""\n'
    "    if berth.is_free:\n        return 0\n"
    "    return crossing.low_tide * SECONDS_AN_HOUR\n",
    "ferry/plan.py": "from ferry.tide import tide_delay\n\n\ndef plan_day(rows, berth):\n"
    + "".join(f"    rows.append({number})\n" for number in range(20))
    + "    return [tide_delay(row, berth) for row in rows]\n",
    "tests/test_tide.py": "from ferry.tide import tide_delay\n\n\ndef test_delay():\n    assert tide_delay(1, None)\n",
    "ferry/signal.py": "def raise_storm_signal(level):\n" + "    level += 1\n" * 30 + "    return level\n",
}
QUESTION = "how is a crossing delayed at low tide"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "harbour")
    repository.commit("Delay crossings", FILES)
    return repository


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        yield engine


def places(satchel: Satchel, question: str = QUESTION, **options: Any) -> list[str]:
    context = satchel.assemble(question, purpose="find", types=["code"], **options)
    rows: list[str] = []
    for line in context.text.partition("## Places\n")[
        2
    ].splitlines():  # a row below another one of its file has no path
        path = rows[-1].partition(":")[0] if rows else ""
        rows += [f"{path}:{line.strip()}"] if line.startswith("  ") else [line] if line.startswith("- ") else []
    return rows


def test_a_constant_is_that_of_the_import_with_its_value(satchel: Satchel) -> None:
    assert f"- uses ferry/limits.py:1 {HOUR}" in places(satchel)
    assert not [row for row in places(satchel) if row.startswith("- uses ferry/other.py")]


def test_a_property_is_resolved_by_the_type_of_the_value(satchel: Satchel) -> None:
    (row,) = [row for row in places(satchel) if "Berth.is_free" in row]
    assert row.startswith("- uses ferry/limits.py:")
    assert row.endswith("def is_free(self) -> bool: … return self.width > 3")


def test_the_only_caller_of_a_short_function_is_named(satchel: Satchel) -> None:
    rows = places(satchel)
    called = [row for row in rows if row.startswith("- called by ")]
    assert called == ["- called by ferry/plan.py:25 return [tide_delay(row, berth) for row in rows]"]
    assert not [row for row in rows if "plan_day" in row]  # the place of the call is enough


def test_the_tree_of_a_text_is_made_once_also_where_another_file_is_edited(
    repository: TinyRepository, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []

    def counted(source: bytes, *options: Any) -> object:
        parsed.append(source)
        return syntax_tree(source, *options)

    monkeypatch.setattr(code, "_trees", Cache(code._trees._size))
    monkeypatch.setattr(code, "syntax_tree", counted)
    rows = places(satchel)
    assert FILES["ferry/tide.py"].encode() in parsed
    assert len(parsed) == len(set(parsed))
    parsed.clear()
    assert places(satchel) == rows
    edited = FILES["ferry/plan.py"].replace("def plan_day", "# the tides of a day\ndef plan_day")
    repository.commit("Say what is planned", {"ferry/plan.py": edited})
    satchel.index()
    assert places(satchel) == [row.replace("plan.py:25", "plan.py:26") for row in rows]
    assert parsed == [edited.encode()]


def test_a_second_caller_ends_that(repository: TinyRepository, satchel: Satchel) -> None:
    repository.commit("Again", {"ferry/night.py": FILES["ferry/plan.py"].replace("plan_day", "plan_night")})
    satchel.index()
    assert not [row for row in places(satchel) if row.startswith("- called by ")]


def test_a_caller_that_drops_the_result_is_named_where_another_uses_it(
    repository: TinyRepository, satchel: Satchel
) -> None:
    used = "from ferry.tide import tide_delay\n\n\ndef announce(row, berth):\n    print(tide_delay(row, berth))\n"
    repository.commit("Two callers", {"ferry/plan.py": used, "ferry/night.py": used})
    satchel.index()
    assert not [row for row in places(satchel) if "dropped" in row]
    dropping = used.replace("print(tide_delay(row, berth))", "tide_delay(row, berth)")
    repository.commit("One drops it", {"ferry/night.py": dropping})
    satchel.index()
    assert "- result dropped by ferry/night.py:5 tide_delay(row, berth)" in places(satchel)
    repository.commit("Both drop it", {"ferry/plan.py": dropping})
    satchel.index()
    assert not [row for row in places(satchel) if "dropped" in row]


def test_a_name_of_the_question_has_its_place(satchel: Satchel) -> None:
    rows = places(satchel, f"{QUESTION}, and does `raise_storm_signal` matter")
    shown = satchel.assemble(f"{QUESTION}, and does `raise_storm_signal` matter", purpose="find", types=["code"]).text
    assert "raise_storm_signal" in shown.partition("## Places")[0] or any("raise_storm_signal" in row for row in rows)


def test_the_lines_are_those_of_now(repository: TinyRepository, satchel: Satchel) -> None:
    (repository.root / "ferry/limits.py").write_text(f"# new\n{FILES['ferry/limits.py']}", encoding="utf-8")
    assert not [row for row in places(satchel) if "limits.py:1 " in row]  # the index has not seen it yet
    satchel.index()
    assert f"- uses ferry/limits.py:2 {HOUR}" in places(satchel)


def test_readers_without_tools_get_no_places(satchel: Satchel) -> None:
    assert "- uses" not in satchel.assemble(QUESTION, types=["code"]).text


def test_a_line_with_a_name_that_occurs_once_or_twice_comes_first(repository: TinyRepository, satchel: Satchel) -> None:
    lock = "def shut(gates):\n    for gate in gates:\n        gate.stop(3, gates.limit('GATE_STOP_MAX'))\n"
    lock += "        gate.ring()\n"
    files = {"ferry/lock.py": lock, "tests/test_lock.py": "def test_stop():\n    assert 'GATE_STOP_MAX' == 3\n"}
    repository.commit("Lock", {**files, "ferry/sizes.py": "WIDTHS = {'pontoon': 25_000}\n"})
    satchel.index()
    line = "- named ferry/lock.py:3 gate.stop(3, gates.limit('GATE_STOP_MAX'))"
    assert places(satchel, names=["GATE_STOP_MAX"])[0] == line
    assert line not in places(satchel)
    assert line not in places(satchel, names=["gate"])
    for number in ("25,000", "25_000", "25000"):
        assert places(satchel, f"{QUESTION} of {number}")[0] == "- named ferry/sizes.py:1 WIDTHS = {'pontoon': 25_000}"


def test_the_rare_line_of_a_definition_has_its_lines() -> None:
    line, other = Hop("named", "a.py", 3, 3, "", 3, "def tie("), Hop("uses", "a.py", 9, 9, "", 9, "MOST = 4")
    whole = Hop("uses", "a.py", 3, 8, "tie", 3, "def tie(", follows_matches=True)
    assert _merged([line, other, whole]) == [replace(whole, why="named", follows_matches=False), other]
    assert _merged([whole, line]) == [whole]


def test_a_search_takes_likely_names_too(satchel: Satchel) -> None:
    question = "why does a boat wait for water"
    plain = [hit.chunk.title for hit in satchel.search(question, types=["code"])]
    assert satchel.search(question, types=["code"], names=["raise_storm_signal"])[0].chunk.title == "raise_storm_signal"
    assert plain[:1] != ["raise_storm_signal"]
    assert [hit.chunk.title for hit in satchel.search(question, types=["code"], names=["NoSuchName"])] == plain


@pytest.mark.parametrize("is_shown", [True, False], ids=["worth showing", "worth less"])
def test_a_match_in_the_file_that_most_commits_changed_too_is_a_place_of_the_fix(
    satchel: Satchel, repository: TinyRepository, monkeypatch: pytest.MonkeyPatch, *, is_shown: bool
) -> None:
    if not is_shown:  # then no candidates are made of the matches below the best one
        monkeypatch.setattr(inputs, "MIN_CANDIDATES", 1)
        monkeypatch.setattr(weights, "VALUE_RANGE", 0.0)
        monkeypatch.setattr(pipeline, "value_range", lambda *_: 0.0)

    def changed(*paths: str) -> None:
        texts = {path: f"{(repository.root / path).read_text(encoding='utf-8')}# again\n" for path in paths}
        repository.commit(f"Change {' and '.join(paths)}", texts)

    listing = "def tide_listing(crossing):\n" + "    crossing.wait += 1\n" * 9
    repository.commit("List tides", {"ferry/listing.py": listing, "ferry/never.py": listing})
    for _ in range(3):
        changed("ferry/tide.py", "ferry/listing.py")
        changed("ferry/never.py")
    satchel.index()  # a question does not wait for the history
    rows = [row for row in places(satchel) if row.startswith("- changes with")]
    assert rows == ["- changes with ferry/listing.py:1-10 tide_listing: 1 def tide_listing(crossing):"]
    (repository.root / "ferry/listing.py").write_text(f"import os\n\n\n{listing}", encoding="utf-8")
    moved = [row for row in places(satchel) if row.startswith("- changes with")]
    assert moved == [row.replace("1-10", "4-13").replace(": 1 ", ": 4 ") for row in rows if is_shown]


@pytest.mark.parametrize("name", ["1" * 100, "_100_000" * 12, "a" * 100, "é" * 100])
def test_a_name_that_is_too_long_for_an_index_has_no_place(name: str, satchel: Satchel) -> None:
    named = places(satchel, f"{QUESTION} Rename `{name}`, see GH-{name}")
    assert not any(name in place for place in named)
