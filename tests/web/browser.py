"""A real browser in front of a real `satchel serve`, for the tests of the page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

CHROMIUM = Path("/usr/bin/chromium")
CHROMEDRIVER = Path("/usr/bin/chromedriver")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

DEADLINE_SECONDS = 300.0
POLL_SECONDS = 0.05

SCREENSHOTS = os.environ.get("SATCHEL_SCREENSHOTS", "")
"""Where pictures of the page are kept; read on import, because the tests take such variables away."""

HARMLESS = ("chrome-extension:",)

VARIANTS = {
    f"{width}-{scheme}": (width, height, scheme)
    for width, height in ((1280, 900), (360, 740))
    for scheme in ("light", "dark")
}
"""Name -> width and height in pixels, and colour scheme: how every view is looked at."""

AXE = Path(__file__).parents[1] / "peers" / "node_modules" / "axe-core" / "axe.min.js"


def need_browser() -> None:
    """Skip where no browser is installed."""
    if not (CHROMIUM.exists() and CHROMEDRIVER.exists()):
        pytest.skip("no chromium with chromedriver: scripts/install_peers.sh installs them")
    pytest.importorskip("selenium", reason="selenium drives the browser: it is in the group `dev`")


@contextmanager
def serving(root: Path, environ: Mapping[str, str], errors: Path) -> Iterator[str]:
    """The link that a new `satchel serve` prints; the server is stopped as by Ctrl-C."""
    command = [sys.executable, "-m", "satchel", "serve", "--root", str(root)]
    with (
        errors.open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=dict(environ), text=True) as process,
    ):
        assert process.stdout is not None
        try:
            link = process.stdout.readline().strip()
            assert link.startswith("http://127.0.0.1:"), errors.read_text(encoding="utf-8")
            yield link
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


@contextmanager
def chromium(profile: Path) -> Iterator[WebDriver]:
    """A headless browser with a profile of its own. Nothing is downloaded: the driver's place is given."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(str(CHROMEDRIVER)))
    driver.set_script_timeout(DEADLINE_SECONDS)
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """The page in a browser, as a person uses it: look, click, type, wait."""

    def __init__(self, driver: WebDriver, link: str, pictures: Path) -> None:
        self.driver = driver
        self.pictures = pictures
        parts = urlsplit(link)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.look_like(1280, 900)
        driver.get(link)
        self.ready()

    def look_like(self, width: int, height: int, scheme: str = "light", *, is_still: bool = True) -> None:
        """A span of this size, with a colour scheme, and with or without motion."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce" if is_still else "no-preference"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.settled()

    def go(self, fragment: str) -> None:
        """Show the state that this fragment names, as from a link that somebody sent."""
        self.driver.get(f"{self.origin}/#{fragment}")

    def back(self) -> None:
        """Go one state back, as with the button of the browser; the page has heard of it."""
        self.js(
            "return new Promise((done) => {"
            " addEventListener('popstate', () => done(), { once: true }); history.back(); })"
        )

    def fresh(self, fragment: str) -> None:
        """The same in a page that was loaded anew."""
        self.driver.get("about:blank")
        self.go(fragment)
        self.ready()

    def ready(self) -> None:
        """Wait until the page knows all that it asks for at its start."""
        self.wait(lambda: self.js("return document.documentElement.dataset.ready") == "true", "the page to be ready")

    def js(self, script: str, *given: Any) -> Any:
        """What a script returns; a promise is awaited."""
        return self.driver.execute_script(script, *given)

    def module(self, name: str, script: str) -> Any:
        """What a script returns that has the exports of a module of the page as `m`."""
        return self.js(f"return import('/page/{name}').then((m) => {{ {script} }})")

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """What the condition gives once it holds. Fails with a picture after the deadline."""
        from selenium.common import exceptions
        from selenium.webdriver.support.wait import WebDriverWait

        moved = (
            exceptions.StaleElementReferenceException, exceptions.ElementClickInterceptedException,
            exceptions.ElementNotInteractableException,
        )  # fmt: skip
        waiting = WebDriverWait(self.driver, DEADLINE_SECONDS, POLL_SECONDS, ignored_exceptions=moved)
        try:
            return waiting.until(lambda _: condition())
        except exceptions.TimeoutException:
            shown = self.js("return document.body.innerText")
            pytest.fail(f"waited {DEADLINE_SECONDS:g} s for {what}; the page shows:\n{shown[:3000]}")

    def find(self, selector: str) -> WebElement:
        """The first element, once there is one that is shown."""
        return self.wait(lambda: next((one for one in self.all(selector) if one.is_displayed()), None), selector)  # type: ignore[no-any-return]

    def all(self, selector: str) -> list[WebElement]:
        """All elements, at once."""
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """The text of each element, whether it is in sight or not."""
        return self.js(  # type: ignore[no-any-return]
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )

    def click(self, selector: str) -> None:
        """Click the first element that is shown, in the middle of the span, where nothing lies over it.

        An answer on its way may put another one in its place, even between press and release: it is waited for.
        """

        def clicked() -> bool:
            self.settled()
            element = self.find(selector)
            self.js("arguments[0].scrollIntoView({ block: 'center' })", element)
            element.click()
            return True

        self.wait(clicked, f"a click on {selector}")

    def fill(self, selector: str, text: str) -> None:
        """Write a text over what stands in a field, and leave it."""
        from selenium.webdriver.common.keys import Keys

        self.type(selector, Keys.CONTROL, "a", Keys.NULL, text, Keys.TAB)

    def type(self, selector: str, *keys: str) -> None:
        """Press keys in the first element that is shown, once no answer can put another one in its place."""

        def typed() -> bool:
            self.settled()
            self.find(selector).send_keys(*keys)
            return True

        self.wait(typed, f"keys for {selector}")

    def text(self, selector: str) -> str:
        """What the first element that is shown says."""
        return self.wait(lambda: (self.find(selector).text,), f"the text of {selector}")[0]  # type: ignore[no-any-return]

    def attribute(self, selector: str, name: str) -> str | None:
        """An attribute or property of the first element that is shown."""
        found = self.wait(lambda: (self.find(selector).get_attribute(name),), f"{name} of {selector}")
        return found[0]  # type: ignore[no-any-return]

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def focused(self) -> str:
        """What a reader would say of the element with the focus."""
        return self.js(  # type: ignore[no-any-return]
            "const one = document.activeElement; return one.getAttribute('aria-label') ?? one.id ?? one.textContent"
        )

    def settled(self) -> None:
        """Wait until nothing is on its way, and what the page does before its next frame is done."""
        is_there = (
            "return new Promise((done) => requestAnimationFrame("
            "() => done(document.querySelector('[aria-busy]') === null)))"
        )
        self.wait(lambda: self.js(is_there), "everything to be there")

    def answered(self, tokens: int) -> None:
        """Wait for the answer to a budget."""
        wanted = f"of {tokens:,} tokens"
        self.wait(lambda: wanted in " ".join(self.texts("#usage-text")), f"an answer {wanted}")
        self.settled()

    def items(self) -> list[str]:
        """The ids of the items that are shown."""
        return self.js("return [...document.querySelectorAll('#answer .item')].map((one) => one.dataset.id)")  # type: ignore[no-any-return]

    def said(self) -> str:
        """What was announced last."""
        return self.texts("#live")[0]

    def picture(self, name: str) -> None:
        """Keep a picture of what is shown."""
        self.driver.save_screenshot(str(self.pictures / f"{name}.png"))

    def is_wider_than_the_span(self) -> bool:
        """Whether the page as a whole scrolls sideways."""
        return self.js("return document.documentElement.scrollWidth > window.innerWidth")  # type: ignore[no-any-return]

    def violations(self) -> list[str]:
        """What axe-core finds wrong with what is shown: each rule with its first element."""
        self.driver.execute_script(AXE.read_text(encoding="utf-8"))
        return self.js(  # type: ignore[no-any-return]
            "return axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations.map("
            "(one) => `${one.id}: ${one.nodes.length} at ${one.nodes[0].target} (${one.nodes[0].failureSummary})`))"
        )

    def complaints(self) -> list[str]:
        """What the browser logged since it was asked last: errors, refused loads, violations of the policy."""
        rows = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [row["message"] for row in rows if not row["message"].startswith(HARMLESS)]

    def foreign_requests(self) -> list[str]:
        """Requests since the page was loaded that went anywhere else."""
        names = self.js("return performance.getEntriesByType('resource').map((one) => one.name)")
        return [name for name in names if not name.startswith(f"{self.origin}/")]
