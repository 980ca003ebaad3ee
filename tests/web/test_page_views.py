"""The other views in a real browser: the graph, records, the index, hooks; small spans; hostile texts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from satchel.system import telemetry
from tests.web import page_folder
from tests.web.browser import AXE, SCREENSHOTS, VARIANTS, Page

VIEWS = {
    "ask": "ask?q=how+does+retry+double+the+backoff+pause",
    "find": "find?pattern=backoff&file=src%2Fshop%2Fretry.py&line=11",
    "graph": "graph?node=src%2Fshop%2Fretry.py",
    "timeline": "timeline",
    "memories": "memories?replaced=true",
    "experiences": "experiences",
    "values": "values",
    "index": "index",
    "hooks": "hooks",
    "review": "review",
}
SCHEMES = ("light", "dark")

HOSTILE_ELEMENTS = (
    "main script, main img, main iframe, main object, main svg circle:not([r]), main svg[onload], [onerror], [onload], "
    "a[href^='javascript:'], b, main style"
)


def test_a_text_is_found_as_it_is_written_and_its_file_is_opened_at_the_line(page: Page) -> None:
    page.fresh("find")
    page.fill("#pattern", "2**attempt")
    page.fill("#find-in", "src/shop/retry.py")
    page.click("#find-form button[type='submit']")
    page.find(".match")
    assert page.texts("#found > .told") == ["1 line in 1 file"]
    assert page.texts(".match mark") == ["2**attempt"]
    page.click(".match")
    page.find(".line.is-target")
    page.settled()
    assert "2**attempt" in page.texts(".line.is-target .source")[0]
    assert "file=src%2Fshop%2Fretry.py" in page.js("return location.hash")
    assert page.texts(".file-commits li"), "the commits that changed it"


def test_a_name_of_a_file_is_looked_for_everywhere(page: Page) -> None:
    page.go("find?file=src%2Fshop%2Fretry.py")
    page.fill("#use-name", "backoff")
    page.click(".side button[type='submit']")
    page.find(".match")
    page.settled()
    assert page.attribute("#pattern", "value") == r"\bbackoff\b"
    assert page.find("#is-regex").is_selected()


def test_a_pattern_that_is_none_is_named(page: Page) -> None:
    page.go("find?pattern=(x&regex=true")
    assert "is not a regular expression" in page.text("#found .message.bad")
    page.go("find?pattern=(x")
    page.wait(lambda: "No line matches" in page.text("#found"), "word that nothing matches")
    assert len(page.complaints()) == 1, "the browser logs the refused pattern"


def test_a_drawing_is_made_larger_and_filtered(page: Page) -> None:
    page.go("graph?node=src%2Fshop%2Fretry.py%3A%3Abackoff")
    page.find(".knot")
    page.settled()
    width = "return Number(document.querySelector('.graph-drawing').getAttribute('width'))"
    before = page.js(width)
    page.click("[data-act='zoom-in']")
    assert page.js(width) > before
    page.click("[data-act='fit']")
    assert page.js(width) <= before
    page.type("#graph-filter", "backoff")
    assert page.all(".knot.dim")
    assert "backoff" in page.texts(".knot:not(.dim) .knot-name")


def test_following_an_edge_makes_its_other_end_the_middle(page: Page) -> None:
    page.go("graph?node=src%2Fshop%2Fretry.py%3A%3Abackoff&walk=code")
    page.find(".graph-drawing")
    page.settled()
    start = page.texts(".knot.role-start .knot-name")
    assert start == ["backoff"]
    page.picture("graph")
    page.click('.knot[data-node$="Retry.run"] .knot-name')
    page.wait(lambda: page.texts(".knot.role-start .knot-name") == ["run"], "the other end in the middle")
    assert "Retry.run" in str(page.attribute("#graph-query", "value"))
    page.back()
    page.wait(lambda: page.texts(".knot.role-start .knot-name") == start, "the way back")


def test_nodes_are_reached_and_followed_with_keys(page: Page) -> None:
    page.go("graph?node=src%2Fshop%2Fretry.py%3A%3Abackoff")
    page.find(".knot")
    page.settled()
    page.js("document.querySelector('.knot[tabindex=\"0\"]').focus()")
    first = page.focused()
    page.press(Keys.ARROW_RIGHT)
    second = page.focused()
    assert first.endswith("where it starts")
    assert second != first
    page.press(Keys.ENTER)
    name = second.partition(" ")[0]
    page.wait(lambda: page.texts(".knot.role-start .knot-name") == [name], "the walk to the node with the focus")
    page.settled()
    assert page.focused().endswith("where it starts")


def test_the_list_of_nodes_says_the_same_as_the_drawing(page: Page) -> None:
    page.go("graph?node=src%2Fshop%2Fretry.py&depth=1")
    page.find(".node-list")
    page.settled()
    assert len(page.all(".node-list li")) == len(page.all(".knot:not(.between)"))
    page.click(".node-list [data-act='walk']")
    page.wait(lambda: "graph?node=" in page.js("return location.hash"), "the walk")
    page.settled()


def test_an_item_of_an_answer_leads_to_its_graph(page: Page) -> None:
    page.go(f"{VIEWS['ask']}&types=code")
    page.answered(4000)
    page.click('.item[data-id="code:src/shop/retry.py"] [data-act="graph"]')
    page.find(".graph-drawing")
    page.settled()
    assert "src/shop/retry.py" in page.texts(".knot.role-start title")[0]


def test_nothing_found_in_the_graph_is_said(page: Page) -> None:
    page.go("graph?node=zzzqqq")
    assert "Nothing here is about that" in page.text("#graph-place .message")
    page.go("graph")
    page.wait(lambda: "What uses what" in page.texts("#graph-place")[0], "the way to start")


def test_the_whole_repository_is_drawn_and_its_files_lead_to_their_graphs(page: Page) -> None:
    page.go("graph")
    page.find(".file-dot")
    page.settled()
    assert len(page.all(".file-dot")) == len(page.all(".file-dot[role='button']")) == 3
    assert page.all(".repository-drawing .link"), "retry.py imports clock.py"
    assert page.all(HOSTILE_ELEMENTS) == []
    page.type("#graph-filter", "retry")
    assert [one.get_attribute("data-node") for one in page.all(".file-dot:not(.dim)")] == ["src/shop/retry.py"]
    for name, (width, height, scheme) in VARIANTS.items():
        page.look_like(width, height, scheme)
        page.settled()
        assert not page.is_wider_than_the_span()
        assert not AXE.exists() or page.violations() == []
        page.picture(f"repository-{name}")
    page.look_like(1280, 900)
    page.settled()
    page.js("document.querySelector('.file-dot[tabindex=\"0\"]').focus()")
    first = page.focused()
    page.press(Keys.ARROW_RIGHT)
    assert page.focused() != first
    page.click(".imported .crumb")
    page.wait(lambda: "graph?node=src%2Fshop" in page.js("return location.hash"), "the graph of the file")
    page.settled()
    page.back()
    page.find(".file-dot")
    page.settled()


def test_memories_show_what_replaced_what(page: Page) -> None:
    page.go("memories?replaced=true")
    page.find("#memory-cards .card")
    page.settled()
    cards = page.texts("#memory-cards .card")
    old = next(text for text in cards if page_folder.REPLACED in text)
    new = next(text for text in cards if page_folder.REMEMBERED in text)
    assert "replaced by" in old
    assert "current" in new
    page.go("memories")
    page.wait(lambda: page_folder.REPLACED not in " ".join(page.texts("#memory-cards")), "only what is in force")


def test_memories_are_found_by_words_and_category(page: Page) -> None:
    page.go("memories?find=moon")
    page.wait(lambda: len(page.all("#memory-cards .card")) == 1, "one memory")
    page.go("memories?category=error")
    page.wait(lambda: "Kraken memory" in " ".join(page.texts("#memory-cards .card")), "the category")
    page.go("memories?find=zzzqqq")
    page.wait(lambda: "No memory matches" in page.texts("#memory-cards")[0], "nothing")


def test_a_memory_is_forgotten_only_after_a_yes(page: Page) -> None:
    page.go("memories?find=moon")
    page.click("#memory-cards [data-act='forget']")
    assert page_folder.FORGETTABLE in page.text("#confirm")
    page.picture("forget")
    page.click("#confirm-no")
    page.settled()
    assert len(page.all("#memory-cards .card")) == 1
    page.click("#memory-cards [data-act='forget']")
    page.click("#confirm-yes")
    page.wait(lambda: not page.all("#memory-cards .card"), "the memory to be gone")
    assert page.said() == "Forgotten"
    page.go("memories")
    page.settled()
    assert page_folder.FORGETTABLE not in page.texts("#memory-cards")[0]


def test_something_new_is_remembered(page: Page) -> None:
    page.go("memories")
    page.settled()
    page.type("#remember-text", "Retries are logged at level info", Keys.ENTER)
    page.wait(lambda: "Retries are logged" in " ".join(page.texts("#memory-cards .card")), "the new memory")


def candidate(page: Page, word: str) -> str:
    """The selector of the card of the candidate with this word."""
    cards = page.js("return [...document.querySelectorAll('#review-cards .card')].map((one) => [one.dataset.id, "
                    "one.textContent])")  # fmt: skip
    return next(f'#review-cards .card[data-id="{name}"]' for name, text in cards if word in text)


def test_candidates_are_reviewed_with_keys_alone(page: Page) -> None:
    page.fresh("review")
    page.find("#review-cards .card")
    page.settled()
    assert page.texts("#tab-review") == ["Review 3"]
    hostile, experience = candidate(page, "Mondays"), candidate(page, "pytest")
    assert page.texts(f"{hostile} .quoted") == [page_folder.QUOTED]
    assert "s1/00000001" in page.texts(f"{hostile} .facts")[0]
    assert page.all(HOSTILE_ELEMENTS) == []
    assert page.all(f"{experience} [data-act='edit']") == [], "an experience has no text of its own"
    page.picture("review")
    page.js("document.querySelector(arguments[0]).focus()", f"{hostile} [data-act='edit']")
    page.press(Keys.ENTER, Keys.TAB)
    assert page.js("return document.activeElement.labels[0].textContent") == "Text to remember"
    for width, height, scheme in VARIANTS.values():
        page.look_like(width, height, scheme)
        assert not page.is_wider_than_the_span()
        assert not AXE.exists() or page.violations() == []
        page.picture(f"review-edit-{width}-{scheme}")
    page.look_like(1280, 900)
    page.js("document.activeElement.select()")
    page.press("Parcels leave on Tuesdays")
    page.go("memories")
    page.settled()
    page.go("review")
    page.find(f"{hostile} textarea")
    page.settled()
    page.js("document.querySelector(arguments[0]).focus()", f"{hostile} textarea")
    page.press(Keys.TAB)
    assert page.focused().startswith("Accept: Parcels leave on Mondays")
    page.press(Keys.ENTER)
    page.wait(lambda: len(page.all("#review-cards .card")) == 2, "the others")
    page.settled()
    assert page.said() == "Remembered"
    assert page.js("return document.activeElement.className").startswith("card"), "the focus goes to the next one"
    page.click(f"{candidate(page, 'cellar')} [data-act='reject']")
    page.wait(lambda: page.texts("#tab-review") == ["Review 1"], "the last one")
    page.settled()
    page.click(f"{candidate(page, 'pytest')} [data-act='accept']")
    page.wait(lambda: "Nothing to review" in page.text("#review-cards"), "the end")
    page.settled()
    assert page.text("#tab-review") == "Review", "it stays, because conversations are looked through"
    page.go("memories?find=tuesdays")
    page.wait(lambda: "Parcels leave on Tuesdays" in " ".join(page.texts("#memory-cards .card")), "the memory")


def test_a_candidate_that_was_decided_on_elsewhere_is_named_and_the_list_is_shown(page: Page) -> None:
    page.fresh("review")
    page.find("#review-cards")
    page.settled()
    page.js(
        "window.really = window.fetch; window.rows = ['cand_1', 'cand_2']; window.fetch = async (where, how) => {"
        "  const { action, verdict } = JSON.parse(how?.body ?? '{}');"
        "  if (action !== 'review') return window.really(where, how);"
        "  if (verdict) { window.rows.shift(); return new Response(JSON.stringify("
        "    { error: { type: 'UsageError', message: 'no candidate cand_1 waits here' } }), { status: 400 }); }"
        "  return new Response(JSON.stringify({ candidates: window.rows.map((id) => ("
        "    { id, kind: 'fact', text: id, quote: id, source: 's', created: 0 })) })); }"
    )
    page.click("#tab-memories")
    page.settled()
    page.click("#tab-review")
    page.click("#review-cards [data-id='cand_1'] [data-act='accept']")
    assert "no candidate cand_1 waits here" in page.text("#review-cards .message.bad")
    page.settled()
    assert len(page.all("#review-cards .card")) == 1
    page.js("window.fetch = window.really")


def test_the_review_is_hidden_where_nothing_waits_and_nothing_is_looked_for(page: Page) -> None:
    page.fresh("memories")
    page.settled()
    page.js(
        "window.really = window.fetch; window.rows = []; window.fetch = async (where, how) => {"
        "  if (String(where).startsWith('/api/remember')) "
        "    return new Response(JSON.stringify({ candidates: window.rows }));"
        "  const found = await window.really(where, how);"
        "  if (!String(where).startsWith('/api/options')) return found;"
        "  return new Response(JSON.stringify({ ...await found.json(), capture: 'off' })); }"
    )
    page.module("options.js", "return m.learnOptions()")
    look = "return m.listed().then(() => document.getElementById('tab-review').hidden)"
    assert page.module("review.js", look) is True
    page.js("document.getElementById('tab-ask').focus()")
    page.press(Keys.ARROW_LEFT)
    assert page.focused() in {"tab-index", "tab-hooks"}, "the arrows leave a hidden tab out"
    page.js("window.rows = [{ id: 'cand_1' }]")
    assert page.module("review.js", look) is False


def test_the_review_is_shown_where_conversations_are_looked_through(page: Page) -> None:
    page.fresh("memories")
    page.settled()
    page.js(
        "window.really = window.fetch; window.fetch = async (where, how) => String(where).startsWith('/api/remember')"
        "  ? new Response(JSON.stringify({ candidates: [] })) : window.really(where, how);"
    )
    look = "return m.listed().then(() => document.getElementById('tab-review').hidden)"
    assert page.module("review.js", look) is True
    page.module("options.js", "return m.learnDocuments([['conversations', 1]])")
    assert page.module("review.js", look) is False


def test_experiences_show_their_life(page: Page) -> None:
    page.go("experiences?outcome=falsified&domain=debugging")
    page.find("#experience-cards .card")
    page.settled()
    card = next(text for text in page.texts("#experience-cards .card") if page_folder.GOAL in text)
    for told in ("started", "1 earlier attempt", "falsified", "silver", "wrong-assumption", "Look at the type"):
        assert told in card
    page.go("experiences?outcome=active")
    page.wait(lambda: len(page.all("#experience-cards .card")) == 1, "the one that goes on")


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="the extra 'values' is not installed")
def test_values_show_the_groups_that_they_rest_on(page: Page) -> None:
    page.go("values")
    page.find("#value-cards .card")
    page.settled()
    shown = page.texts("#value-cards .card")[0]
    for told in ("to the centre of", "debugging", "Evidence: "):
        assert told in shown


def test_the_index_says_what_it_holds_and_whether_all_works(page: Page) -> None:
    page.go("index")
    page.find("#doctor li")
    page.settled()
    assert "commits" in page.texts("#status")[0]
    assert "sqlite" in page.texts("#doctor")[0]
    assert page.texts("#pulse") == ["up to date"]
    assert page.texts("#place") == ["shop"]
    page.click("#look-again")
    page.settled()


def test_an_index_that_is_being_built_says_how_far_it_is(page: Page) -> None:
    page.fresh("index")
    page.settled()
    page.js(
        "window.really = window.fetch; window.fetch = async (where, how) => {"
        "  const found = await window.really(where, how);"
        "  if (!String(where).startsWith('/api/status')) return found;"
        "  const status = await found.json();"
        "  status.documents = { doc: 1234567 };"
        "  status.indexing = { running: true, phase: 'reading', done: 3, total: 10, failure: '' };"
        "  return new Response(JSON.stringify(status)); }"
    )
    page.module("health.js", "return m.pulse().then(() => null)")
    assert page.texts("#pulse") == ["indexing: reading 3 of 10"]
    assert page.texts('.chip[data-kind="docs"]') == ["docs1,234,567"]
    assert page.attribute("#progress progress", "value") == "3"
    page.js("window.fetch = window.really")
    page.wait(lambda: page.texts("#pulse") == ["up to date"], "the end of the indexing")


def test_hooks_show_what_they_injected_and_what_it_cost(page: Page, page_state: Path) -> None:
    page.fresh("hooks")
    assert "No hook has run yet" in page.text("#hook-log .message")
    page.fresh("ask")
    assert not page.js("return document.getElementById('tab-hooks').checkVisibility()"), "hidden until one has run"
    entry = {
        "at": "2026-05-01T10:30:00Z", "event": "prompt", "host": "claude-code", "session": "1a2b", "folder": "/x/shop",
        "outcome": "injected", "reason": page_folder.SCRIPT, "tokens": 321, "characters": 1200, "ms": 41,
        "items": [
            {"id": "code:a.py", "title": page_folder.IMAGE, "tokens": 40},
            {"id": "memory:mem_1", "title": page_folder.DRAWING, "tokens": 20},
        ],
    }  # fmt: skip
    telemetry.append_hook_entry(page_state, entry)
    telemetry.append_hook_entry(
        page_state, {**entry, "outcome": "nothing", "reason": "nothing relevant", "tokens": 0, "items": []}
    )
    page.fresh("ask")
    page.click("#tab-hooks")
    page.find("#hook-log table")
    assert page.texts("#hook-log > .told") == ["2 events; 1 injection with 321 tokens"]
    assert page.texts("#hook-log section li") == [f"{page_folder.DRAWING} 1 time, last 2026-05-01 10:30"]
    newest, oldest = page.texts("#hook-log tbody tr")
    assert page.texts("#hook-log tbody td[data-label='Repository']") == ["shop", "shop"]
    assert "nothing relevant" in newest
    assert page_folder.SCRIPT in oldest
    assert page_folder.IMAGE in oldest
    assert page.all(HOSTILE_ELEMENTS) == []


def test_a_server_that_is_gone_is_named_and_can_be_asked_again(page: Page) -> None:
    page.fresh("hooks")
    page.settled()
    page.js("window.really = window.fetch; window.fetch = async () => { throw new TypeError('gone'); }")
    page.click("#tab-memories")
    message = page.find("#memory-cards .message.bad")
    assert "satchel does not answer" in message.text
    page.js("window.fetch = window.really")
    page.click("#memory-cards [data-act='retry']")
    page.find("#memory-cards .card")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_view_is_wider_than_a_small_span(page: Page, scheme: str) -> None:
    page.look_like(360, 740, scheme)
    page.fresh("ask")
    for name, fragment in VIEWS.items():
        page.go(fragment)
        page.find(f"#view-{name}")
        page.settled()
        assert not page.is_wider_than_the_span(), name
        page.picture(f"{name}-360-{scheme}")
    if not SCREENSHOTS:
        return
    page.look_like(1280, 900, scheme)
    for name, fragment in VIEWS.items():
        page.go(fragment)
        page.find(f"#view-{name}")
        page.settled()
        page.picture(f"{name}-1280-{scheme}")


def test_stored_texts_that_look_like_markup_stay_texts(page: Page) -> None:
    page.go("ask?q=kraken&max=8000")
    page.answered(8000)
    assert {one.partition(":")[0] for one in page.items()} >= {"code", "commit", "memory"}
    assert page_folder.HOSTILE_FILE in " ".join(page.texts(".item h4"))
    shown = " ".join(page.texts("#answer"))
    for text in (page_folder.SCRIPT, page_folder.IMAGE, page_folder.DRAWING):
        assert text in shown
    for fragment in (
        "memories?find=kraken",
        "experiences",
        "graph?node=kraken",
        "ask?q=kraken&types=docs",
        "ask?q=kraken&raw=true",
    ):
        assert page.all(HOSTILE_ELEMENTS) == []
        page.go(fragment)
        page.settled()
    assert page.all(HOSTILE_ELEMENTS) == []
    assert page.js("return window.harmed ?? null") is None
    page.picture("hostile")


def test_links_of_notes_lead_only_to_the_web_and_tell_nothing(page: Page) -> None:
    page.go("ask?q=exponential+backoff&types=docs")
    page.answered(4000)
    links = page.js(
        "return [...document.querySelectorAll('#answer a.outward')].map((one) => [one.href, one.rel, one.target])"
    )
    assert links == [["https://example.org/backoff", "noreferrer noopener", "_blank"]]
    page.go("ask?q=kraken&types=docs")
    page.wait(lambda: any("kraken" in one for one in page.items()), "the hostile note")
    assert page.all("#answer a.outward") == []
    assert "a harmless label (javascript:window.harmed=3)" in " ".join(page.texts("#answer"))
