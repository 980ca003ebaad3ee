"""The work of a list of calls grows with the code that is read, not with its square."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

import pytest

from satchel import Satchel
from satchel.search.resolve import modules
from satchel.testing import TinyRepository
from tests.search.listed import asked
from tests.search.listed import folder as folder

Files = dict[str, str]


def work(folder: TinyRepository, files: Files, question: str, counted: str = "") -> int:
    """Return how many functions an answer calls, or how often those with a word in their name."""
    folder.commit("Code", files)
    with Satchel.open(folder.root, environ={"SATCHEL_HOME": str(folder.root.parent / "home")}) as satchel:
        satchel.index()
        satchel.assemble("what else is here", types=["code"])
        profile = cProfile.Profile()
        context = profile.runcall(satchel.assemble, question, types=["code"], max_tokens=500)
        assert context.items
    rows: dict[tuple[str, int, str], tuple[int, int]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return sum(row[1] for name, row in rows.items() if counted in name[2])


def of_a_parameter(count: int) -> Files:
    """Many functions with a parameter of one name."""
    tests = "".join(f"check('{number}', (expect) => {{ expect(sum({number})) }})\n" for number in range(count))
    return {"a.js": "export function expect(value) { return value }\n", "b.js": f"import {{ sum }} from './c'\n{tests}"}


def of_a_field(count: int) -> Files:
    """A class whose methods name what is no variable of theirs."""
    methods = "".join(f"  def step_{number}(path)\n    items.turn(path)\n  end\n" for number in range(count))
    return {
        "wheel.rb": f"class Wheel\n  attr_accessor :items\n{methods}end\n",
        "gear.rb": "class Gear\n  def turn(path)\n    path\n  end\nend\n",
    }


def of_objects(count: int) -> Files:
    """A file with many objects of classes without a name."""
    makers = "".join(
        f"  Plug make{number}() {{ return new Plug() {{ void on() {{ run({number}); }} }}; }}\n"
        for number in range(count)
    )
    return {
        "Plug.java": "package a;\nabstract class Plug { abstract void on(); }\n",
        "All.java": f"package a;\nclass All {{\n{makers}}}\n",
    }


def of_files(count: int) -> Files:
    """Many files with a call of one function."""
    callers = {f"use_{number}.py": "from turn import turn\n\nturn()\n" for number in range(count)}
    return {"turn.py": "def turn():\n    return 1\n", **callers}


@pytest.mark.parametrize(
    ("files", "question", "counted"),
    [
        (of_a_parameter, "callers of expect", "<genexpr>"),
        (of_a_field, "callers of Gear.turn", "_field_here"),
        (of_objects, "implementations of Plug", "'search' of 're.Pattern'"),
        (of_files, "callers of turn", "far"),
    ],
)
def test_four_times_as_much_code_takes_about_four_times_the_work(
    files: Callable[[int], Files], question: str, counted: str, folder: TinyRepository
) -> None:
    few, many = (work(folder, files(count), question, counted) for count in (40, 160))
    assert many < 5 * few


def test_names_with_a_dollar_sign_are_found_where_they_are_imported(folder: TinyRepository) -> None:
    files = {
        "wires.js": "export function pull() { return 1 }\nexport function push$() { return 2 }\n",
        "use.js": "import { pull as $, push$ } from './wires'\n$()\npush$()\n",
    }
    pull, push = asked(folder, files, "who calls `pull`", "who calls `push$`")
    assert "- use.js: 2" in pull
    assert "- use.js: 3" in push


def test_what_an_import_has_on_its_line_beside_its_names_is_not_kept(folder: TinyRepository) -> None:
    table = ", ".join(f"key{number}: {{ value{number} }}" for number in range(300))
    files = {
        "wires.js": "export function pull() { return 1 }\n",
        "use.js": f"const {{ pull: haul }} = require('./wires'); const table = {{ {table} }}\nhaul()\n",
    }
    (pull,) = asked(folder, files, "who calls `pull`")
    assert "- use.js: 2" in pull
    line = files["use.js"].partition("\n")[0]
    assert modules._renamed(line, ("haul",)) == {"haul": "pull"}
    assert modules._braced(line, ("haul",)) == {"haul"}
