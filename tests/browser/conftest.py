"""A headless Chromium, driven by playwright; without one of the two these tests are left out, and say so.

UMI_CHROMIUM names the program; then nothing is left out: a Chromium that does not start is an error.
"""

import importlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOW: Final = "pip install playwright, then apt-get install chromium or playwright install chromium"
NAMED: Final = os.environ.get("UMI_CHROMIUM", "")
NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """Return which Chromium to start; None: the one of playwright."""
    found = NAMED or next(filter(None, map(shutil.which, NAMES)), None)
    return str(Path(found).resolve()) if found else None


@pytest.fixture(scope="module")  # its event loop runs while it is there, and other tests start their own
def browser() -> "Iterator[Browser]":
    if not NAMED:
        pytest.importorskip("playwright.sync_api", reason=f"no playwright: {HOW}")
    api = importlib.import_module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=program())
        except api.Error as error:
            if NAMED:
                raise
            pytest.skip(f"no Chromium: {HOW}; or name one in UMI_CHROMIUM ({str(error).splitlines()[0]})")
        yield started
        started.close()


AXE: Final = os.environ.get("UMI_AXE", "")
needs_axe = pytest.mark.skipif(not AXE, reason="name axe.min.js of the package axe-core in UMI_AXE")


def barriers(page: "Page") -> Any:
    """Return the accessibility problems that axe reports for a page.

    The script of axe is no part of the page: open it with `bypass_csp`, which sets its policy aside.
    """
    page.add_script_tag(path=AXE)
    return page.evaluate("axe.run().then((it) => it.violations.map((v) => [v.id, v.nodes[0].html]))")


class Opened:
    """A page, and all that the browser had to say about it."""

    def __init__(self, browser: "Browser", **how: Any) -> None:
        self.context = browser.new_context(**how)
        self.page: Page = self.context.new_page()
        self.messages: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: self.messages.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def show(self, path: Path, address: str = "") -> "Page":
        self.page.goto(path.resolve().as_uri() + address)
        return self.page


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Opened]:
    """A page to show files in; whatever the browser complains of fails the test."""
    made = Opened(browser)
    yield made
    made.context.close()
    assert made.messages == []
    assert [url for url in made.asked if not url.startswith(("file:", "data:"))] == []
