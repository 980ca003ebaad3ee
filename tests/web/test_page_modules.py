"""The parts of the page that only calculate, in the engine that runs them: maps, colours of code, walks, budgets."""

from __future__ import annotations

import json

import pytest

from tests.web.browser import Page

PLAIN = "ask"
EPSILON = 1e-6


@pytest.mark.parametrize(
    "values", [[1], [5, 3, 2], [100, 1, 1, 1], [7] * 30], ids=["one", "three", "one-large", "many-equal"]
)
def test_a_treemap_fills_its_box_in_proportion_and_nothing_overlaps(page: Page, values: list[int]) -> None:
    places = page.module("treemap.js", f"return m.squarified({json.dumps(values)}, 160, 100)")
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
    page: Page, line: str, language: str, inside: str, expected: list[list[str]], after: str
) -> None:
    given = ", ".join(map(json.dumps, (line, language, inside)))
    read = page.module("code.js", f"return m.tokens({given})")
    assert read == {"found": expected, "inside": after}
    assert "".join(text for _, text in read["found"]) == line


def test_a_line_without_end_is_shown_in_one_colour(page: Page) -> None:
    read = page.module("code.js", "return m.tokens('x = 1;'.repeat(1000), 'javascript', '').found.length")
    assert read == 1


def test_lines_have_no_numbers_where_the_text_has_other_lines_than_its_ranges(page: Page) -> None:
    count = "return m.listing('a\\nb\\nc', {spans}, 'python', 'x').querySelectorAll('.number').length"
    assert page.module("code.js", count.format(spans="[[4, 5], [9, 9]]")) == 3
    assert page.module("code.js", count.format(spans="[[4, 5]]")) == 0


def test_links_lead_only_to_http(page: Page) -> None:
    kind = "return m.link('x', {target}).nodeName"
    assert page.module("dom.js", kind.format(target="'https://example.org/a'")) == "A"
    for target in ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "/api/status", " javascript:x"):
        assert page.module("dom.js", kind.format(target=json.dumps(target))) == "#text"


@pytest.mark.parametrize("name", ["onclick", "style", "src", "srcdoc", "href", "formaction"])
def test_no_attribute_that_runs_or_loads_is_set_from_a_value(page: Page, name: str) -> None:
    made = f"try {{ m.element('a', {{ {json.dumps(name)}: 'x' }}); return 'made' }} catch {{ return 'refused' }}"
    assert page.module("dom.js", made) == "refused"


def test_the_slider_reaches_both_ends_and_keeps_round_numbers(page: Page) -> None:
    budgets = page.module("controls.js", "return Array.from({ length: 101 }, (_, at) => m.budgetAt(at))")
    assert (budgets[0], budgets[-1]) == (200, 32000)
    assert budgets == sorted(budgets)
    assert all(budget % 10 == 0 for budget in budgets)
    assert all(budget % 50 == 0 for budget in budgets if budget > 1000)
    assert page.module("controls.js", "return [200, 4000, 32000].map(m.placeOnSlider)") == [0, 59, 100]


@pytest.mark.parametrize(("given", "wanted"), [("", 200), ("7", 200), ("4000.4", 4000), ("1e9", 32000), ("x", 4000)])
def test_any_text_is_a_budget_within_the_limits(page: Page, given: str, wanted: int) -> None:
    assert page.module("state.js", f"return m.withinBudget({json.dumps(given)})") == wanted


def test_an_address_that_means_nothing_shows_the_question(page: Page) -> None:
    for fragment in ("no-such-view?max=minus&depth=99", "ask?max=&raw=maybe&%E0%A4%A", "%"):
        page.go(fragment)
        page.find("#view-ask")
        assert page.find("#budget-number").get_attribute("value") in {"200", "4000"}


def node(identity: str, distance: int, *path: str) -> dict[str, object]:
    hops = [{"id": one, "name": one, "type": "calls", "direction": "out"} for one in (*path, identity)]
    return {"id": identity, "name": identity, "distance": distance, "score": 1, "path": hops if distance else []}


def test_a_walk_is_a_tree_around_where_it_starts(page: Page) -> None:
    nodes = [node("a", 0), node("b", 1), node("c", 1), node("d", 2, "b"), node("e", 3, "c", "gone")]
    laid = page.module("graph_layout.js", f"return m.laidOut({json.dumps(nodes)})")
    ties = {row["node"]["id"]: (row["parent"], row["isDirect"]) for row in laid}
    assert ties == {"a": (None, False), "b": ("a", True), "c": ("a", True), "d": ("b", True), "e": ("c", False)}
    places = {(round(row["x"]), round(row["y"])) for row in laid}
    assert len(places) == len(nodes)
    left, top, width, height = map(int, page.module(
        "graph_layout.js", f"return m.frame(m.laidOut({json.dumps(nodes)}), 10)"
    ).split())  # fmt: skip
    assert all(left < row["x"] < left + width and top < row["y"] < top + height for row in laid)


def test_a_topic_with_several_starts_ties_nothing_to_the_wrong_one(page: Page) -> None:
    nodes = [node("a", 0), node("b", 0), node("c", 1)]
    laid = page.module("graph_layout.js", f"return m.laidOut({json.dumps(nodes)})")
    assert [row["parent"] for row in laid] == [None, None, None]


def answer(limit: int, **items: str) -> str:
    rows = [{"id": name, "title": name, "content": text, "tokens": len(text)} for name, text in items.items()]
    return json.dumps({"items": rows, "usage": {"limit": limit}})


def test_the_differences_of_two_answers_are_named(page: Page) -> None:
    former, now = answer(100, a="x", b="xyz", c="q"), answer(200, a="xx", b="x", d="new")
    rows = page.module("changes.js", f"return m.differences({former}, {now}).map((row) => [row.mark, row.name])")
    assert rows == [["more", "a"], ["less", "b"], ["in", "d"], ["out", "c"]]
    said = page.module("changes.js", f"return m.summary(m.differences({former}, {now}), {former})")
    assert said == "Since 100 tokens: 1 came in, 1 went out, 1 shows more, 1 shows less"
    assert page.module("changes.js", f"return m.summary([], {former})") == "Since 100 tokens: the same items"


def test_items_add_up_to_no_more_than_what_was_used(page: Page) -> None:
    given = json.dumps({"items": [{"id": "a", "tokens": 60}, {"id": "b", "tokens": 60}], "usage": {"used": 100}})
    found = page.module("budget.js", f"return m.measured({given})")
    assert ([item["tokens"] for item in found["items"]], found["areEstimates"]) == ([50, 50], True)
    exact = json.dumps({"items": [{"id": "a", "tokens": 60}], "usage": {"used": 100}})
    assert page.module("budget.js", f"return m.measured({exact}).items[0].tokens") == 60


def test_small_markdown_becomes_blocks(page: Page) -> None:
    text = "# Head\\n\\n- one `code`\\n- **two**\\n\\n1. first\\n\\nwords\\nmore\\n\\n~~~ python\\nx = 1\\n~~~\\nend"
    names = page.module("prose.js", f"return [...m.prose('{text}', 'x').children].map((one) => one.tagName)")
    assert names == ["P", "UL", "OL", "P", "PRE", "P"]
