"""Lines of files beside handles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.testing import TinyRepository

LINES = "".join(f"def lantern_{number}():\n    return {number}\n" for number in range(1, 9))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Satchel, Path]]:
    repository = TinyRepository(tmp_path / "pier")
    files = {"pier/lamp.py": LINES, "pier/rope.py": "def coil():\n    return 1\n", "hidden.py": "a = 1\n"}
    files["pier/tide.jq"] = "def ebb: 1;\ndef flow(n):\n  ebb | flow(n);\n"
    repository.commit("Lanterns", files | {".gitignore": "hidden.py\n"})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        yield engine, repository.root


def test_lines_of_several_places_and_handles(place: tuple[Satchel, Path]) -> None:
    satchel, root = place
    (item,) = satchel.assemble("coil a rope", purpose="read", paths=["pier/rope.py"]).items
    context = satchel.expand(["pier/lamp.py:3-4", "pier/lamp.py:9", item.handle])
    spans = [
        (one.location.path, one.location.start_line, one.location.end_line) for one in context.items if one.location
    ]
    assert spans == [("pier/lamp.py", 3, 4), ("pier/lamp.py", 9, 9), ("pier/rope.py", 1, 2)]
    assert "3\tdef lantern_2():\n4\t    return 2\n" in context.text
    (root / "pier/lamp.py").write_text(f"# new\n{LINES}", encoding="utf-8")
    assert "4\tdef lantern_2():\n" in satchel.expand(["pier/lamp.py:4-4"]).text  # as it is now


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pier/lamp.py:99", "has only 17 lines"),
        ("hidden.py:1", "no indexed file 'hidden.py'"),
        ("../pier/lamp.py:1", "no indexed file"),
        ("pier/lamp.py:9-3", "names no lines"),
        ("pier/gone.py", "no indexed file"),
        ("pier/lamp.py:lantern_9", "no definition 'lantern_9'"),
        ("pier/tide.jq:flow", "without definitions; 'flow' is in lines 2, 3 .pier/tide.jq:2 shows it"),
        ("pier/tide.jq:low", "does not contain 'low'"),
        ("lamp", "A place is a file, its lines or a definition"),
    ],
)
def test_what_is_no_place(place: tuple[Satchel, Path], text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        place[0].expand([text])


def test_a_file_is_listed_by_its_declarations_and_a_definition_is_whole(place: tuple[Satchel, Path]) -> None:
    satchel, root = place
    assert "1\tdef lantern_1():\n… 2\n3\tdef lantern_2():\n" in satchel.expand(["pier/lamp.py"]).text.replace(
        "2-2", "2"
    )
    for name in ("pier/lamp.py:lantern_2", "pier/lamp.py::lantern_2"):
        (item,) = satchel.expand([name]).items
        assert item.content == "def lantern_2():\n    return 2"
    (root / "pier/notes.md").write_text("# Lanterns\n\nLit at dusk.\n\n## Oil\n\nWhale.\n", encoding="utf-8")
    satchel.index()
    assert "1\t# Lanterns\n… 2-4\n5\t## Oil\n" in satchel.expand(["pier/notes.md"]).text


def test_a_definition_is_shown_with_the_lines_of_other_languages_that_name_it(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "pier")
    files = {
        "api.ts": "export function loadTides(day: number) {\n  return day;\n}\n\nexport function other() {\n}\n",
        "page.vue": "<script>\nloadTides(1)\n</script>\n",
        "tides.yaml": "run: loadTides\n",
    }
    repository.commit("Tides", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        line = "2 lines in other languages contain loadTides, not resolved: page.vue: 2; tides.yaml: 1"
        assert line in satchel.assemble("who calls loadTides").text
        assert line in satchel.expand(["api.ts:loadTides"]).text
        assert "other languages" not in satchel.expand(["api.ts:other"]).text
        assert "other languages" not in satchel.expand(["api.ts:loadTides"], max_tokens=60).text
