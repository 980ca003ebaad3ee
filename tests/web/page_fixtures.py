"""One browser, one server and one furnished folder for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel.config import Folders
from tests.web.asking import environment
from tests.web.browser import SCREENSHOTS, Page, chromium, need_browser, serving
from tests.web.page_folder import furnished


@pytest.fixture(scope="session")
def page_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of everything that belongs to the tests of the page."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="session")
def page_state(page_home: Path) -> Path:
    """The state folder of the server that shows the page."""
    return Folders.from_environment(environment(page_home)).state


@pytest.fixture(scope="session")
def opened_page(page_home: Path) -> Iterator[Page]:
    """The page of a furnished folder, in a browser that followed the link."""
    need_browser()
    folder = page_home
    variables = environment(folder)
    root = furnished(folder, variables)
    pictures = Path(SCREENSHOTS) if SCREENSHOTS else folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    with serving(root, variables, folder / "errors.txt") as link, chromium(folder / "profile") as driver:
        yield Page(driver, link, pictures)


@pytest.fixture
def page(opened_page: Page) -> Iterator[Page]:
    """The same page for a test, which leaves nothing in the browser's log and asks nobody else for anything."""
    opened_page.look_like(1280, 900)
    opened_page.complaints()
    yield opened_page
    assert opened_page.complaints() == []
    assert opened_page.foreign_requests() == []
