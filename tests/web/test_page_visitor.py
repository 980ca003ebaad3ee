"""What a visitor meets in a real browser: nothing typed is lost, a map, marked words, weak answers, links."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.web import page_folder
from tests.web.browser import AXE, VARIANTS, Page
from tests.web.test_page import ASKED, QUESTION
from tests.web.test_page_views import VIEWS

TYPED = " and where does it stop"

ADDRESSES = {
    **VIEWS,
    "start": "ask",
    "weak": "ask?q=kafka+websocket+reconnect",
    "exact": "ask?q=retry&raw=true",
    "topic": "graph?node=retry+with+backoff",
    "nothing": "graph?node=zzzqqq",
}
"""Every view, with what it shows in other states."""


def question(page: Page) -> str | None:
    return page.attribute("#question", "value")


def unsent(page: Page) -> None:
    """Write on to the question of an answer, without asking it."""
    page.fresh(ASKED)
    page.answered(4000)
    field = page.find("#question")
    field.click()
    field.send_keys(Keys.END, TYPED)


def test_what_is_typed_outlives_a_budget_a_kind_a_tab_and_a_reload(page: Page) -> None:
    unsent(page)
    assert page.find("#draft-note").is_displayed()
    page.fill("#budget-number", "3000")
    page.answered(3000)
    assert question(page) == QUESTION + TYPED
    page.click('.chip[data-kind="docs"]')
    page.settled()
    assert question(page) == QUESTION + TYPED
    page.click("#tab-memories")
    page.find("#view-memories")
    page.type("#remember-text", "Half a memory")
    page.click("#tab-ask")
    assert question(page) == QUESTION + TYPED
    page.driver.refresh()
    page.ready()
    assert question(page) == QUESTION + TYPED
    page.type("#question", Keys.ENTER)
    page.wait(lambda: page.js("return document.getElementById('draft-note').hidden"), "no word of a draft")
    assert "stop" in page.js("return location.hash")
    page.settled()
    page.click("#tab-memories")
    assert page.attribute("#remember-text", "value") == "Half a memory"
    page.fill("#remember-text", Keys.DELETE)


def test_what_is_typed_outlives_a_failure(page: Page) -> None:
    page.fresh("ask")
    page.settled()
    page.js("window.really = window.fetch; window.fetch = async () => { throw new TypeError('gone'); }")
    page.type("#question", QUESTION, Keys.ENTER)
    assert "satchel does not answer" in page.text("#answer .message.bad")
    page.type("#question", TYPED)
    page.click("[data-act='retry']")
    page.settled()
    assert question(page) == QUESTION + TYPED
    page.js("window.fetch = window.really")
    page.click("[data-act='retry']")
    page.answered(4000)
    assert question(page) == QUESTION + TYPED


def test_the_start_has_a_map_and_questions_that_fit(page: Page) -> None:
    page.js("localStorage.clear(); sessionStorage.clear()")
    page.fresh("ask")
    page.find(".heat-map .tile")
    page.settled()
    asked = page.texts(".tries .question")
    assert len(asked) == 3
    assert asked[0] == "What would break if I change mail_backoff?"
    page.click('.tile-front[data-path="src/shop"], .tile-front[data-path="src"]')
    page.wait(lambda: "path=src" in page.js("return location.hash"), "the folder")
    page.wait(lambda: page.all('.tile-front[data-path$="retry.py"], .tile-front[data-path="src/shop"]'), "its files")
    page.back()
    page.settled()
    page.click(".tries .question")
    page.answered(4000)
    assert page.items()
    page.go("ask")
    page.settled()
    page.wait(lambda: page.texts(".start-questions .question")[-1] in asked, "the last question")
    page.click("[aria-label='Clear the last questions']")
    page.wait(lambda: len(page.all(".start-questions .question")) == 3, "only the examples")


def test_a_question_that_was_typed_is_kept_when_another_one_is_chosen(page: Page) -> None:
    page.js("localStorage.clear(); sessionStorage.clear()")
    page.fresh("ask")
    page.type("#question", "half a thought")
    page.click(".tries .question")
    page.answered(4000)
    page.go("ask")
    page.wait(lambda: "half a thought" in page.texts(".question"), "the question that was not asked")
    page.settled()


def test_the_words_of_the_question_are_marked_in_the_answer(page: Page) -> None:
    page.fresh(ASKED)
    page.answered(4000)
    marked = set(page.js("return [...CSS.highlights.get('question')].map((range) => range.toString().toLowerCase())"))
    assert {"retry", "backoff"} <= marked
    assert marked.isdisjoint({"how", "does", "the"})


def test_an_answer_without_a_good_match_looks_weak_and_names_the_missing_words(page: Page) -> None:
    page.fresh("ask?q=kafka+websocket+reconnect")
    page.answered(4000)
    shown = page.text("#answer .message.warn")
    assert "Weak match" in shown
    assert "kafka" in shown
    assert page.all(".packed.weak") or not page.items()
    page.go(ASKED)
    page.wait(lambda: not page.all("#answer .message.warn"), "a good answer without the warning")
    page.settled()


def test_a_greeting_is_answered_in_one_place_without_a_promise_of_places(page: Page) -> None:
    page.fresh("ask?q=hello+there")
    page.answered(4000)
    assert page.items() == []
    assert page.all("#answer .message.warn") == []
    assert "Nothing here is relevant to that." in page.text("#answer")
    page.settled()


def test_places_open_the_editor_that_was_chosen(page: Page) -> None:
    page.fresh(f"{ASKED}&types=code")
    page.answered(4000)
    card = '.item[data-id="code:src/shop/retry.py"]'
    links = page.js(f"return [...document.querySelectorAll('{card} a.editor')].map((one) => one.href)")
    assert all(link.startswith("vscode://file/") and "/shop/src/shop/retry.py:" in link for link in links)
    page.press("?")
    page.js("const one = document.querySelector('#editor'); one.value = 'idea'; one.dispatchEvent(new Event('change'))")
    page.wait(
        lambda: page.js(f"return document.querySelector('{card} a.editor')?.href ?? ''").startswith("idea:"), "it"
    )
    page.js("localStorage.setItem('satchel.editor', 'none')")
    page.fresh(f"{ASKED}&types=code")
    page.answered(4000)
    assert page.all("a.editor") == []
    page.js("localStorage.removeItem('satchel.editor')")


def test_the_kinds_say_how_many_of_each_there_are(page: Page) -> None:
    page.fresh("ask")
    page.settled()
    asked = """{method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"limit": 999}'}"""
    found = page.js(f"return fetch('/api/experiences', {asked}).then((found) => found.json())")
    count = len(found["experiences"])
    shown = page.text('.chip[data-kind="experiences"]')
    assert int(shown.removeprefix("experiences")) == count - 1, "one of them goes on and is not searched"


def test_a_kind_without_documents_is_not_offered_unless_it_is_chosen(page: Page) -> None:
    page.fresh("ask")
    page.settled()
    assert page.all('.chip[data-kind="code"]')
    assert not page.all('.chip[data-kind="notes"]')
    page.fresh("ask?types=notes")
    page.settled()
    assert page.all('.chip[data-kind="notes"]')


def test_the_timeline_has_commits_memories_and_experiences_and_leads_to_a_question(page: Page) -> None:
    page.fresh("timeline")
    page.find(".event")
    page.settled()
    shown = " ".join(page.texts(".event"))
    for told in ("Retry sending mail", page_folder.REMEMBERED, page_folder.GOAL):
        assert told in shown
    assert page.attribute(".time-chart", "aria-label").startswith("4 commits, ")  # type: ignore[union-attr]
    page.fill("#timeline-path", "src/shop/mail.py")
    page.type("#timeline-path", Keys.ENTER)
    page.wait(lambda: len(page.all(".event")) == 1, "the commits of a file")
    page.click(".event button")
    page.answered(4000)
    assert question(page) == "Why was this changed: Retry sending mail"


def test_a_drawing_has_an_edge_for_every_node_and_a_legend(page: Page) -> None:
    page.fresh("graph?node=retry+with+backoff")
    page.find(".knot")
    page.settled()
    starts, knots = len(page.all(".knot.role-start")), len(page.all(".knot"))
    assert starts > 1
    assert len(page.all(".edge")) == knots - 1
    assert page.texts(".roles li")[0] == "where it starts"


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: scripts/install_peers.sh installs it")
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_view_has_a_violation_that_axe_finds(page: Page, variant: str) -> None:
    page.look_like(*VARIANTS[variant])
    found = {}
    for name, fragment in ADDRESSES.items():
        page.fresh(fragment)
        page.settled()
        found[name] = page.violations()
    page.press("?")
    found["dialog"] = page.violations()
    page.press(Keys.ESCAPE)
    assert {name: rows for name, rows in found.items() if rows} == {}
