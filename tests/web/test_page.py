"""The page in a real browser: asking, budgets, what stayed out, kinds, addresses, keys."""

from __future__ import annotations

import json

from selenium.webdriver.common.keys import Keys

from tests.web.browser import Page

QUESTION = "how does retry double the backoff pause"
ASKED = "ask?q=how+does+retry+double+the+backoff+pause"


def test_a_question_is_asked_with_enter_and_its_context_is_shown(page: Page) -> None:
    page.go("ask")
    field = page.find("#question")
    field.clear()
    field.send_keys(QUESTION, Keys.ENTER)
    page.answered(4000)
    assert "code:src/shop/retry.py" in page.items()
    assert page.texts(".section > h3")[0].startswith("Memories")
    assert page.js("return location.hash") == f"#{ASKED}"
    assert page.said().startswith(f"{len(page.items())} items, ")
    page.picture("ask")


def test_code_has_its_line_numbers_and_its_words_are_coloured(page: Page) -> None:
    page.go(ASKED)
    page.answered(4000)
    card = f'.item[data-id="{"code:src/shop/retry.py"}"]'
    numbers = page.js(f"return [...document.querySelectorAll('{card} .number')].map((one) => Number(one.dataset.line))")
    lines = page.texts(f"{card} .source")
    defined = next(number for number, line in zip(numbers, lines, strict=True) if line.startswith("def backoff"))
    assert defined == 11
    assert "def" in page.texts(f"{card} .is-keyword")
    assert any(text.startswith('"""') for text in page.texts(f"{card} .is-text"))


def test_the_context_as_it_is_sent_is_the_text_of_the_answer(page: Page) -> None:
    page.go(f"{ASKED}&raw=true")
    page.answered(4000)
    answer = page.js(
        "return fetch('/api/context_query', {method: 'POST', headers: {'Content-Type': 'application/json'},"
        " body: arguments[0]}).then((found) => found.json())",
        json.dumps({"question": QUESTION, "max_tokens": 4000, "format": "markdown"}),
    )
    assert page.texts("pre.raw") == [answer["text"]]
    page.click('[data-act="copy"]')
    page.wait(lambda: page.said().startswith(("Copied", "The browser does not let")), "word about the copy")


def test_a_question_for_callers_lists_them_with_links_to_their_lines(page: Page) -> None:
    page.go("/ask?q=who+calls+backoff")
    page.answered(4000)
    (head,) = page.texts(".callers h3")
    assert head.startswith("Call sites of backoff: ")
    page.go("/ask?q=who+calls+backoff&raw=true")
    page.answered(4000)
    assert head in page.texts("pre.raw")[0]


def test_another_budget_is_asked_for_at_once_and_says_what_changed(page: Page) -> None:
    page.go(f"{ASKED}&max=200")
    page.answered(200)
    few = page.items()
    page.fill("#budget-number", "3000")
    page.answered(3000)
    assert len(page.items()) > len(few)
    assert page.texts(".changes summary")[0].startswith("Compared with 200 tokens: ")
    badges = page.js(
        "return [...document.querySelectorAll('.badge.changed')].map((one) => one.closest('.item').dataset.id)"
    )
    assert set(page.items()) - set(few) <= set(badges)
    assert any(line.startswith("+") for line in page.texts(".changes li"))
    assert page.said().endswith(page.texts(".changes summary")[0])
    page.picture("changes")


def test_the_slider_moves_the_budget_between_its_ends(page: Page) -> None:
    page.go(f"{ASKED}&max=4000")
    page.answered(4000)
    slider = page.find("#budget-slider")
    moved = (
        "const one = document.getElementById('budget-slider'); one.value = 50; one.dispatchEvent(new Event('input'))"
    )
    assert page.js(f"{moved}; return document.getElementById('answer').ariaBusy") == "true", "before it is asked for"
    slider.send_keys(Keys.HOME)
    page.answered(200)
    slider.send_keys(Keys.END)
    page.answered(32000)
    assert slider.get_attribute("aria-valuetext") == "32,000 tokens"
    assert page.attribute("#budget-number", "value") == "32000"


def test_a_budget_out_of_range_is_put_right_and_said(page: Page) -> None:
    page.go(ASKED)
    page.answered(4000)
    page.fill("#budget-number", "7")
    page.answered(200)
    page.fill("#budget-number", Keys.DELETE)
    assert page.attribute("#budget-number", "value") == "200"


def test_every_token_has_its_place_in_the_bar_and_every_item_in_the_map(page: Page) -> None:
    page.go(f"{ASKED}&max=2000")
    page.answered(2000)
    bar = page.js("return [...document.querySelectorAll('.segment')].map((one) => one.getAttribute('aria-label'))")
    assert any(label.startswith("Code: ") for label in bar)
    tiles = page.all(".tile")
    assert len(tiles) == len(page.items())
    assert all(tile.accessible_name for tile in tiles)
    tiles[0].click()
    assert page.js("return document.activeElement.classList.contains('item')")


def test_a_click_lets_a_place_in_that_had_stayed_out_and_another_takes_it_back(page: Page) -> None:
    page.go(f"{ASKED}&max=300&types=code")
    page.answered(300)
    row = page.js(
        "const row = [...document.querySelectorAll('.left-out li')].find((one) => one.querySelector('.path'));"
        "return { id: row.dataset.id, path: row.querySelector('.path').textContent.split(':')[0] }"
    )
    page.click(f".left-out li[data-id={json.dumps(row['id'])}] [data-act='admit']")
    chip = page.find(".pin-chip")
    page.settled()
    page.wait(lambda: f"code:{row['path']}" in page.items(), "what was let in")
    assert row["path"] in chip.text
    assert not {"value", "budget"} & set(page.texts(".left-out-text > .told")), "a reason in words"
    page.picture("pinned")
    page.click(".pin-chip [data-act='unpin']")
    page.wait(lambda: not page.all(".pin-chip"), "the pin to be gone")
    page.settled()


def test_a_record_that_stayed_out_comes_in_with_a_larger_budget(page: Page) -> None:
    page.go("ask?q=parcel&types=memories&max=200")
    page.answered(200)
    identity = page.js("return document.querySelector('.left-out li').dataset.id")
    page.click(f".left-out li[data-id={json.dumps(identity)}] [data-act='admit']")
    page.wait(lambda: identity in page.items(), "the record")
    assert "raised from 200 tokens" in page.text(".pin-chip")
    page.click(".pin-chip [data-act='unpin']")
    page.answered(200)
    assert identity not in page.items()


def test_what_is_missed_says_why_it_is_not_in_and_is_let_in(page: Page) -> None:
    page.go(f"{ASKED}&max=950")
    page.answered(950)
    page.fill("#missed", "src/shop/cart.py")
    page.click("[data-act='why']")
    assert "Not shown" in page.text(".standings li")
    page.click(".standings [data-act='admit']")
    page.wait(lambda: "code:src/shop/cart.py" in page.items(), "the file that was missed")
    page.settled()
    assert page.focused() == "usage-text"


def test_kinds_formats_and_lenses_shape_the_answer(page: Page) -> None:
    page.fresh(ASKED)  # a page that was opened in a small span folds its controls
    page.answered(4000)
    page.click('.chip[data-kind="docs"]')
    page.wait(lambda: {one.partition(":")[0] for one in page.items()} == {"doc"}, "only docs")
    assert page.attribute('.chip[data-kind="docs"]', "aria-pressed") == "true"
    page.js("const one = document.querySelector('#format'); one.value = 'xml'; one.dispatchEvent(new Event('change'))")
    page.click('[data-raw="true"]')
    page.wait(lambda: page.texts("pre.raw") and page.texts("pre.raw")[0].startswith("<"), "the context as XML")
    page.js("const one = document.querySelector('#lens'); one.value = 'coding'; one.dispatchEvent(new Event('change'))")
    page.wait(lambda: page.texts("pre.raw") and page.texts("pre.raw")[0].startswith("# Context:"), "a walk by a lens")


def test_a_handle_is_expanded_in_its_place(page: Page) -> None:
    page.go(f"{ASKED}&types=code&max=400")
    page.answered(400)
    page.click(".item [data-act='expand']")
    shown = page.find(".expanded .whole")
    assert "def " in shown.text
    page.click(".item [data-act='expand'][aria-expanded='true']")
    page.wait(lambda: not page.all(".expanded .whole"), "the rest to be folded again")


def test_why_an_item_is_in_is_a_table_of_its_signals(page: Page) -> None:
    page.go(f"{ASKED}&types=code")
    page.answered(4000)
    page.click(".item .why > summary")
    assert "best part" in page.text(".item .signals")
    assert "strong match" in page.texts(".item .why summary")[0]
    assert page.texts(".item .why summary .badge") == [], "text of the project as it is now has no badge"
    page.picture("why")


def test_a_place_can_be_left_out_and_pinned_from_its_card(page: Page) -> None:
    page.go(f"{ASKED}&types=code")
    page.answered(4000)
    card = '.item[data-id="code:src/shop/retry.py"]'
    page.click(f"{card} [data-act='without']")
    page.wait(lambda: "code:src/shop/retry.py" not in page.items(), "the file to be left out")
    page.click(".pin-chip [data-act='unpin']")
    page.wait(lambda: "code:src/shop/retry.py" in page.items(), "the file to be back")
    page.settled()
    page.click(f"{card} [data-act='pin']")
    page.wait(lambda: page.items() and page.items()[0] == "code:src/shop/retry.py", "the pin")


def test_the_address_holds_the_state_and_the_back_button_works(page: Page) -> None:
    page.fresh(f"{ASKED}&max=900&types=code&types=docs")
    page.answered(900)
    assert page.attribute("#question", "value") == QUESTION
    pressed = [one.get_attribute("data-kind") for one in page.all('.chip[aria-pressed="true"]')]
    assert pressed == ["code", "docs"]
    page.click("#tab-memories")
    page.find("#memory-cards .card")
    page.back()
    page.answered(900)
    page.click('.chip[data-kind="docs"]')
    page.settled()
    page.back()
    page.wait(lambda: len(page.all('.chip[aria-pressed="true"]')) == 2, "both kinds again")
    page.settled()


def test_a_failure_is_a_message_with_a_way_to_try_again(page: Page) -> None:
    page.go("ask?q=anything&lens=no-such-lens")
    message = page.find("#answer .message.bad")
    assert "no-such-lens" in message.text
    assert message.get_attribute("role") == "alert"
    page.click("[data-act='retry']")
    page.settled()
    page.find("#answer .message.bad")
    page.complaints()  # the browser logs the refused request


def test_a_pin_that_leads_outside_is_named_and_the_rest_answers(page: Page) -> None:
    page.go(f"{ASKED}&pin=..%2F..%2Fetc%2Fpasswd")
    page.answered(4000)
    assert "etc/passwd" in " ".join(page.texts("#answer .message.warn"))
    assert "root:" not in " ".join(page.texts("#answer .item"))


def test_everything_can_be_done_with_keys_alone(page: Page) -> None:
    page.fresh("memories")
    page.press(Keys.TAB)
    assert page.focused() == "skip"
    page.press(Keys.ENTER)
    assert page.focused() == "main"
    page.press("/")
    assert page.focused() == "question"
    page.press(QUESTION, Keys.ENTER)
    page.answered(4000)
    page.press(Keys.ESCAPE, "j", "j")
    second = page.focused()
    assert second.startswith("2. ")
    page.press("k")
    assert page.focused().startswith("1. ")
    page.press("e")
    page.find(".expanded .whole")
    page.press("w")
    page.find(".item .signals")
    page.press("[")
    page.wait(lambda: page.js("return location.hash").find("max=") > 0, "a smaller budget")
    page.settled()
    page.press("r")
    page.find("pre.raw")
    page.press("?")
    page.find("#shortcuts[open]")
    page.press(Keys.ESCAPE)
    page.press("5")
    page.find("#view-memories")
    page.js("document.querySelector('#tab-memories').focus()")
    page.wait(lambda: page.find("#tab-experiences").is_displayed(), "the tab of what was tried")
    page.press(Keys.ARROW_RIGHT)
    assert page.focused() == "tab-experiences"
    page.find("#view-experiences")


def test_single_keys_can_be_switched_off(page: Page) -> None:
    page.fresh("hooks")
    page.press("?")
    page.click("#single-keys")
    page.press(Keys.ESCAPE, "3")
    assert page.js("return location.hash") == "#hooks"
    page.click("#help")
    page.click("#single-keys")
    page.click("#close-shortcuts")
    page.settled()


def test_a_theme_is_chosen_and_kept(page: Page) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    page.fresh("hooks")
    light = page.js(background)
    page.click("#theme")
    page.click("#theme")
    assert page.attribute("#theme", "aria-label") == "Theme: dark"
    dark = page.js(background)
    assert dark != light
    page.fresh("hooks")
    assert page.js(background) == dark
    page.click("#theme")
    assert page.js(background) == light
    page.settled()
