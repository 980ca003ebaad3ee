"""What the page makes of texts in a real browser: links, attributes, numbers of lines, blocks; and odd addresses."""

from __future__ import annotations

import json

import pytest

from tests.web.browser import Page


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


def test_an_address_that_means_nothing_shows_the_question(page: Page) -> None:
    for fragment in ("no-such-view?max=minus&depth=99", "ask?max=&raw=maybe&%E0%A4%A", "%"):
        page.go(fragment)
        page.find("#view-ask")
        assert page.attribute("#budget-number", "value") in {"200", "4000"}


def test_of_several_fillings_of_a_place_the_one_that_asked_last_is_shown(page: Page) -> None:
    script = """return (async () => {
      const place = document.createElement("div"), answers = {}, asks = {}, seen = [];
      const present = (name) => m.present(place, "x", (asksNow) => new Promise((answer) => {
        [answers[name], asks[name]] = [answer, asksNow];
      }), (text) => Object.assign(document.createElement("p"), { textContent: text }));
      const [older, newer] = [present("older"), present("newer")];
      const note = () => seen.push(place.textContent, place.hasAttribute("aria-busy"));
      answers.newer("new"), await newer, note();
      answers.older("old"), await older, note();
      const [write, read] = [present("write"), present("read")];
      asks.write(), answers.read("as before"), await read, note();
      answers.write("as written"), await write, note();
      return seen; })()"""
    seen = page.module("notice.js", script)
    assert seen == ["new", False, "new", False, "new", True, "as written", False]


def test_small_markdown_becomes_blocks(page: Page) -> None:
    text = "# Head\\n\\n- one `code`\\n- **two**\\n\\n1. first\\n\\nwords\\nmore\\n\\n~~~ python\\nx = 1\\n~~~\\nend"
    names = page.module("prose.js", f"return [...m.prose('{text}', 'x').children].map((one) => one.tagName)")
    assert names == ["P", "UL", "OL", "P", "PRE", "P"]


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "https://example.org", "/api/status", ""]
)
def test_an_address_that_no_editor_opens_is_text(page: Page, address: str) -> None:
    assert page.module("dom.js", f"return m.openIn('x', {json.dumps(address)}).nodeName") == "SPAN"
