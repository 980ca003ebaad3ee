"""The parts of the page that only calculate, without a browser: maps, colours of code, walks, budgets.

They run in node, which is looked for on the PATH.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import satchel

PROGRAM = """
import { createInterface } from "node:readline";
globalThis.window = {
  location: { hash: "" }, addEventListener() {}, matchMedia: () => ({ matches: false, addEventListener() {} }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, script] = JSON.parse(line);
  console.log(JSON.stringify(new Function("m", script)(await import(`./${name}`))));
}
"""
"""Answers each line, a module and a script, with a line. The window is what modules ask for while they are loaded."""

EPSILON = 1e-6


class Scripts:
    """One node with the modules of the page, in a folder that says what they are: old versions do not see it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, name: str, script: str) -> Any:
        """What a script returns that has the exports of a module of the page as `m`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, script]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"node has ended with {self._process.wait()}"
        return json.loads(answer)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on the PATH: it runs the modules of the page")
    folder = tmp_path_factory.mktemp("modules")
    for module in (Path(satchel.__file__).parent / "web" / "page").glob("*.js"):
        shutil.copy(module, folder)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    command = [node, "--input-type=module", "--eval", PROGRAM]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        yield Scripts(process)


@pytest.mark.parametrize(
    "values", [[1], [5, 3, 2], [100, 1, 1, 1], [7] * 30], ids=["one", "three", "one-large", "many-equal"]
)
def test_a_treemap_fills_its_box_in_proportion_and_nothing_overlaps(scripts: Scripts, values: list[int]) -> None:
    places = scripts.run("treemap.js", f"return m.squarified({json.dumps(values)}, 160, 100)")
    assert len(places) == len(values)
    for value, place in zip(values, places, strict=True):
        area = place["width"] * place["height"]
        assert area == pytest.approx(value / sum(values) * 160 * 100)
        assert -EPSILON <= place["left"] <= place["left"] + place["width"] <= 160 + EPSILON
        assert -EPSILON <= place["top"] <= place["top"] + place["height"] <= 100 + EPSILON
    for index, one in enumerate(places):
        for other in places[:index]:
            beside = (
                one["left"] + one["width"] <= other["left"] + EPSILON
                or other["left"] + other["width"] <= one["left"] + EPSILON
            )
            below = (
                one["top"] + one["height"] <= other["top"] + EPSILON
                or other["top"] + other["height"] <= one["top"] + EPSILON
            )
            assert beside or below


@pytest.mark.parametrize(
    ("line", "language", "inside", "expected", "after"),
    [
        ("x = 1  # one", "python", "", [["plain", "x = "], ["number", "1"], ["plain", "  "], ["comment", "# one"]], ""),
        ("return 'a\\'b'", "python", "", [["keyword", "return"], ["plain", " "], ["text", "'a\\'b'"]], ""),
        ('"""begins', "python", "", [["text", '"""begins']], '"""'),
        ('ends""" + y', "python", '"""', [["text", 'ends"""'], ["plain", " + y"]], ""),
        ("a /* b", "go", "", [["plain", "a "], ["comment", "/* b"]], "*/"),
        ("c */ d", "go", "*/", [["comment", "c */"], ["plain", " d"]], ""),
        ("let x = 0x1f // h", "javascript", "",
         [["keyword", "let"], ["plain", " x = "], ["number", "0x1f"], ["plain", " "], ["comment", "// h"]], ""),
        ("<script>alert(1)</script>", "html", "", [["plain", "<script>alert("], ["number", "1"],
                                                   ["plain", ")</script>"]], ""),
        ("日本 = 'x'", "python", "", [["plain", "日本 = "], ["text", "'x'"]], ""),
    ],
    ids=["comment", "escape", "text-opens", "text-ends", "open", "close", "number", "markup", "letters"],
)  # fmt: skip
def test_a_line_of_code_is_split_without_losing_anything(
    scripts: Scripts, line: str, language: str, inside: str, expected: list[list[str]], after: str
) -> None:
    given = ", ".join(map(json.dumps, (line, language, inside)))
    read = scripts.run("code.js", f"return m.tokens({given})")
    assert read == {"found": expected, "inside": after}
    assert "".join(text for _, text in read["found"]) == line


def test_a_line_without_end_is_shown_in_one_colour(scripts: Scripts) -> None:
    read = scripts.run("code.js", "return m.tokens('x = 1;'.repeat(1000), 'javascript', '').found.length")
    assert read == 1


def test_the_slider_reaches_both_ends_and_keeps_round_numbers(scripts: Scripts) -> None:
    budgets = scripts.run("controls.js", "return Array.from({ length: 101 }, (_, at) => m.budgetAt(at))")
    assert (budgets[0], budgets[-1]) == (200, 32000)
    assert budgets == sorted(budgets)
    assert all(budget % 10 == 0 for budget in budgets)
    assert all(budget % 50 == 0 for budget in budgets if budget > 1000)
    assert scripts.run("controls.js", "return [200, 4000, 32000].map(m.placeOnSlider)") == [0, 59, 100]


@pytest.mark.parametrize(("given", "wanted"), [("", 200), ("7", 200), ("4000.4", 4000), ("1e9", 32000), ("x", 4000)])
def test_any_text_is_a_budget_within_the_limits(scripts: Scripts, given: str, wanted: int) -> None:
    assert scripts.run("state.js", f"return m.withinBudget({json.dumps(given)})") == wanted


def node(identity: str, distance: int, *path: str, start: str = "a", side: str = "out") -> dict[str, object]:
    hops = [{"id": one, "name": one, "type": "calls", "direction": side} for one in (*path, identity)]
    begin = {"start": {"id": start, "name": start}} if distance else {}
    return {"id": identity, "name": identity, "distance": distance, "path": hops if distance else [], **begin}


def laid(scripts: Scripts, nodes: list[dict[str, object]], *, is_narrow: bool = False) -> dict[str, dict[str, Any]]:
    """The entries of a drawing by id."""
    script = f"return m.laidOut(m.treeOf({json.dumps(nodes)}), {json.dumps(is_narrow)})"
    return {row["id"]: row for row in scripts.run("graph_layout.js", script)}


NODES = [node("a", 0), node("b", 1), node("c", 1, side="in"), node("d", 2, "b"), node("e", 2, "gone"), node("f", 1)]


@pytest.mark.parametrize("is_narrow", [False, True], ids=["columns", "rows"])
def test_every_node_of_a_graph_has_an_edge_and_a_place_of_its_own(scripts: Scripts, is_narrow: bool) -> None:
    rows = laid(scripts, NODES, is_narrow=is_narrow)
    ties = {name: row["parent"] for name, row in rows.items()}
    assert ties == {"a": None, "b": "a", "c": "a", "d": "b", "e": "gone", "f": "a", "gone": "a"}
    assert rows["gone"]["node"] is None
    places = [(row["x"], row["y"]) for row in rows.values()]
    assert all(
        abs(one[0] - other[0]) >= 186 or abs(one[1] - other[1]) >= 44
        for one, other in itertools.combinations(places, 2)
    )
    left, top, width, height = scripts.run(
        "graph_layout.js", f"return m.frame(m.laidOut(m.treeOf({json.dumps(NODES)}), {json.dumps(is_narrow)}))"
    )
    assert all(left < x < left + width and top < y < top + height for x, y in places)


def test_what_uses_the_start_is_left_of_it_and_what_it_uses_is_right(scripts: Scripts) -> None:
    rows = laid(scripts, NODES)
    assert rows["c"]["x"] < rows["a"]["x"] < rows["b"]["x"] == rows["f"]["x"] < rows["d"]["x"]


def test_a_topic_with_several_starts_ties_each_node_to_its_own(scripts: Scripts) -> None:
    rows = laid(scripts, [node("a", 0), node("b", 0), node("c", 1, start="b"), node("d", 1, start="z")])
    assert {name: row["parent"] for name, row in rows.items()} == {"a": None, "b": None, "c": "b", "d": "z", "z": None}


@pytest.mark.parametrize(
    ("relation", "direction", "role", "expected"),
    [("calls", "in", "source", "user"), ("calls", "out", "source", "used"), ("calls", "in", "test", "test"),
     ("contains", "in", "source", "part"), ("touches", "in", None, "commit"), ("evidence", "out", None, "other")],
)  # fmt: skip
def test_a_node_has_the_colour_of_what_it_is_to_the_start(
    scripts: Scripts, relation: str, direction: str, role: str | None, expected: str
) -> None:
    entry = {"id": "x", "parent": "a", "relation": relation, "direction": direction, "node": {"role": role}}
    assert scripts.run("graph_layout.js", f"return m.roleOf({json.dumps(entry)})") == expected


def answer(limit: int, **items: str) -> str:
    rows = [{"id": name, "title": name, "content": text, "tokens": len(text)} for name, text in items.items()]
    return json.dumps({"items": rows, "usage": {"limit": limit}})


def test_the_differences_of_two_answers_are_named(scripts: Scripts) -> None:
    former, now = answer(100, a="x", b="xyz", c="q"), answer(200, a="xx", b="x", d="new")
    rows = scripts.run("changes.js", f"return m.differences({former}, {now}).map((row) => [row.mark, row.name])")
    assert rows == [["more", "a"], ["less", "b"], ["in", "d"], ["out", "c"]]
    said = scripts.run("changes.js", f"return m.summary(m.differences({former}, {now}), {former})")
    assert said == "Compared with 100 tokens: 1 new, 1 no longer shown, 1 shows more, 1 shows less"
    assert scripts.run("changes.js", f"return m.summary([], {former})") == "Compared with 100 tokens: the same items"


def test_items_add_up_to_no_more_than_what_was_used(scripts: Scripts) -> None:
    given = json.dumps({"items": [{"id": "a", "tokens": 60}, {"id": "b", "tokens": 60}], "usage": {"used": 100}})
    found = scripts.run("budget.js", f"return m.measured({given})")
    assert ([item["tokens"] for item in found["items"]], found["areEstimates"]) == ([50, 50], True)
    exact = json.dumps({"items": [{"id": "a", "tokens": 60}], "usage": {"used": 100}})
    assert scripts.run("budget.js", f"return m.measured({exact}).items[0].tokens") == 60


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (0.004, "< 1 %"), (0.418, "41 %"), (0.99, "99 %"), (0.9982, "99.8 %"), (1, "100 %")],
)
def test_nearly_all_and_hardly_any_are_told_from_all_and_nothing(scripts: Scripts, share: float, shown: str) -> None:
    assert scripts.run("words.js", f"return m.percent({share})") == shown


@pytest.mark.parametrize(
    ("question", "text", "marked"),
    [
        ("how are flags parsed?", "func ParseFlags(flag) // unparsed", ["Parse", "Flags", "flag"]),
        ("where is the retry", "retrying Retry.run, MailRetry, entry", ["retrying", "Retry", "Retry"]),
        ("backoff_seconds", "backoff in seconds", ["backoff", "seconds"]),
        ("where is it", "where is it", []),
        ("日本語の設定", "この日本語の設定です", ["日本語の設定"]),
    ],
    ids=["stems", "parts-of-names", "name-in-question", "only-stop-words", "other-script"],
)
def test_the_words_of_a_question_are_marked_where_a_word_or_a_part_of_a_name_begins(
    scripts: Scripts, question: str, text: str, marked: list[str]
) -> None:
    script = (
        f"const text = {json.dumps(text)};"
        f"return m.marksIn(text, m.stemsOf({json.dumps(question)})).map(([start, end]) => text.slice(start, end))"
    )
    assert scripts.run("marking.js", script) == marked


@pytest.mark.parametrize(
    ("folder", "path", "expected"),
    [
        ("/home/me/shop", "src/a b.py", "vscode://file/home/me/shop/src/a%20b.py:7"),
        ("C:/shop", "a.py", "vscode://file/C:/shop/a.py:7"),
        ("/x", "a?b#c&d.py", "vscode://file/x/a%3Fb%23c%26d.py:7"),
    ],
    ids=["space", "drive", "signs"],
)
def test_the_address_of_a_place_names_nothing_but_its_file(
    scripts: Scripts, folder: str, path: str, expected: str
) -> None:
    given = ", ".join(map(json.dumps, ("vscode://file{path}:{line}", folder, path, 7)))
    assert scripts.run("editor.js", f"return m.addressOf({given})") == expected


@pytest.mark.parametrize(
    ("path", "inside", "wanted"),
    [
        ("tests", "", True),
        ("src/shop/fixtures", "src/shop", True),
        ("src", "", False),
        ("tests/unit", "tests", False),
        ("latest", "", False),
    ],
)
def test_tests_and_fixtures_are_folded_until_they_are_opened(
    scripts: Scripts, path: str, inside: str, wanted: bool
) -> None:
    entry = json.dumps({"path": path, "is_folder": True})
    assert scripts.run("start.js", f"return m.isAside({entry}, {json.dumps(inside)})") is wanted


def test_the_heat_of_a_file_rises_with_its_changes(scripts: Scripts) -> None:
    heats = scripts.run("start.js", "return [0, 1, 5, 25, 50, 100].map((commits) => m.heatOf(commits, 100))")
    assert heats == [0, 1, 1, 2, 3, 4]


def test_events_stand_in_the_order_of_their_time(scripts: Scripts) -> None:
    commit = {"time": 100, "subject": "c", "sha": "0123456789", "author": "Ada", "file_count": 1}
    memory = {"created_at": "1970-01-01T00:03:20Z", "content": "m", "category": "fact"}
    lost = {"created_at": "never", "content": "x", "category": "fact"}
    tried = {
        "created_at": "1970-01-01T00:00:01Z",
        "updated_at": "1970-01-01T00:02:30Z",
        "goal": "e",
        "status": "active",
    }
    given = ", ".join(map(json.dumps, ([commit], [memory, lost], [tried])))
    rows = scripts.run("timeline.js", f"return m.eventsOf({given}).map((row) => [row.time, row.title])")
    assert rows == [[200, "m"], [150, "e"], [100, "c"]]
    bars = scripts.run("timeline.js", "return m.barsOf([{time: 0}, {time: 59}, {time: 60}, {time: 60}], 0, 60)")
    assert (bars[0], bars[-1], sum(bars)) == (1, 3, 4)


def folded(scripts: Scripts, files: list[str], links: list[list[str]], folder: str = "") -> dict[str, Any]:
    rows = [{"path": path, "secondary": path.startswith("tests/")} for path in files]
    given = json.dumps({"files": rows, "links": links})
    return scripts.run("repository_layout.js", f"return m.foldedGraph({given}, {json.dumps(folder)})")  # type: ignore[no-any-return]


def test_the_graph_of_a_small_repository_has_its_files_without_tests(scripts: Scripts) -> None:
    found = folded(scripts, ["a/x.py", "b/y.py", "tests/t.py"], [["a/x.py", "b/y.py"], ["tests/t.py", "a/x.py"]])
    assert [(node["id"], node["isFolder"], node["uses"], node["users"]) for node in found["nodes"]] == [
        ("a/x.py", False, 1, 0),
        ("b/y.py", False, 0, 1),
    ]
    assert found["links"] == [[0, 1]]


def test_many_files_are_drawn_as_their_folders_and_one_folder_as_its_files(scripts: Scripts) -> None:
    files = [f"{folder}/sub/{number}.py" for folder in ("a", "b") for number in range(90)]
    links = [[f"a/sub/{number}.py", "b/sub/0.py"] for number in range(90)]
    found = folded(scripts, files, links)
    assert [(node["id"], node["isFolder"], node["files"]) for node in found["nodes"]] == [
        ("a/sub", True, 90),
        ("b/sub", True, 90),
    ]
    assert found["links"] == [[0, 1]]
    inside = folded(scripts, files, links, "a")
    assert (len(inside["nodes"]), inside["nodes"][0]["isFolder"], inside["links"]) == (90, False, [])


def test_a_package_of_go_is_a_node(scripts: Scripts) -> None:
    found = folded(scripts, ["cmd/main.go", "pump/run.go"], [["cmd/main.go", "pump"]])
    assert [node["id"] for node in found["nodes"]] == ["cmd", "pump"]
    assert found["links"] == [[0, 1]]


def test_the_nodes_of_a_repository_are_apart_and_always_at_the_same_places(scripts: Scripts) -> None:
    script = "return m.spread(60, Array.from({ length: 59 }, (_, at) => [at + 1, Math.floor(at / 3)]))"
    places = scripts.run("repository_layout.js", script)
    assert places == scripts.run("repository_layout.js", script)
    assert all(
        abs(one["x"] - other["x"]) + abs(one["y"] - other["y"]) > 20 for one, other in itertools.combinations(places, 2)
    )
