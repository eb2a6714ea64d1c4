"""Goal: in a browser the page of a life leads through its steps, on any screen, and obeys no text."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.browser.conftest import Opened, barriers, needs_axe
from tests.unit.sim.pages.made import canary_data
from tests.unit.sim.pages.payloads import PAYLOADS, poisoned
from umi_sim.pages import seed_page, shell
from umi_sim.seedfile import files as seed_file

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SEEDS: Final = (Path(__file__).parents[2] / "scenarios/seeds").glob("*.json")
KEPT: Final = sorted(SEEDS, key=lambda file: (-file.stat().st_size, file.name))[::4]
"""A quarter of the kept files, the largest first, since a browser takes half a second for each."""
MOVES: Final = (
    ("Home", 1), ("ArrowRight", 2), ("n", 3), ("j", 4), ("k", 3), ("p", 3), ("End", 7), ("p", 3),
)  # fmt: skip


@pytest.fixture(scope="session")
def canary_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "canary.html"
    path.write_text(shell.document("life.js", canary_data()))
    return path


def test_it_begins_where_the_rule_broke(opened: Opened, canary_page: Path) -> None:
    page = opened.show(canary_page)
    assert page.title() == "FAIL safety ttl-boundary (TTL-1) at step 7, canary seed 1"
    assert page.locator("[aria-current=step]").get_attribute("id") == "step-7"
    assert page.locator("#step-7 .broken").inner_text().endswith("ttl-boundary broke here")
    assert page.locator("#run .needed .text").all_inner_texts() == [
        'o17 set key="", value=b"", ttl_ms=1 (needed)',
        'o18 get key="" (needed)',
    ]


def test_keys_and_the_slider_go_through_the_steps(opened: Opened, canary_page: Path) -> None:
    page = opened.show(canary_page)
    for key, step in MOVES:
        page.keyboard.press(key)
        assert page.locator("#place").inner_text() == f"step {step} of 7", key
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    assert page.locator("#told h2").inner_text().startswith("Step 4: ")
    assert page.url.endswith("#step-4")
    page.click("#step-6 .arrows")
    assert page.locator("#slider").input_value() == "6"


def test_each_step_has_an_address(opened: Opened, canary_page: Path) -> None:
    page = opened.show(canary_page, "#step-3")
    assert page.locator("#place").inner_text() == "step 3 of 7"
    page.click("a[href='#step-5']")
    assert page.locator("[aria-current=step]").get_attribute("id") == "step-5"
    page.evaluate("location.hash = 'step-999'")
    page.wait_for_function("document.querySelector('#place').textContent === 'step 7 of 7'")


def test_a_step_tells_what_it_changed_and_the_state_by_path(opened: Opened, canary_page: Path) -> None:
    page = opened.show(canary_page, "#step-3")
    changes = page.locator("#told .changes").first.inner_text()
    assert "memory.a.tiers.working.entries. absent \u2192 (b" in changes
    page.keyboard.press("/")
    page.keyboard.type("working.entries")
    assert page.locator("#tree li.changed").count() == 1
    page.fill("#filter", "no such path")
    assert page.locator("#tree").inner_text() == "nothing here has that"
    page.fill("#filter", "")
    page.click("#tree summary >> text=storage")
    page.locator("#tree >> text=indexed_count_min").wait_for()


def test_the_command_is_copied(browser: "Browser", canary_page: Path) -> None:
    opened = Opened(browser, permissions=["clipboard-read", "clipboard-write"])
    page = opened.show(canary_page)
    page.keyboard.press("c")
    page.wait_for_function("document.querySelector('.command [role=status]').textContent !== ''")
    status = page.locator(".command [role=status]").inner_text()
    assert status in ("copied", "selected: copy it with your keyboard")
    opened.context.close()
    assert opened.messages == []


@pytest.mark.parametrize("width", [360, 800, 1900])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_window_is_too_narrow(browser: "Browser", canary_page: Path, width: int, scheme: str) -> None:
    opened = Opened(browser, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = opened.show(canary_page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#told").evaluate("told => told.clientHeight") > 100
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    opened.context.close()
    assert opened.messages == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: "Browser", canary_page: Path, scheme: str) -> None:
    opened = Opened(browser, bypass_csp=True, color_scheme=scheme)
    page = opened.show(canary_page)
    assert barriers(page) == []
    opened.context.close()


def test_no_text_is_obeyed(opened: Opened, tmp_path: Path, canary_page: Path) -> None:
    kinds = "[...new Set([...document.querySelectorAll('*')].map((it) => it.tagName))].sort()"
    plain = opened.show(canary_page, "#step-1").evaluate(kinds)
    data = poisoned(canary_data(), [0])
    assert isinstance(data, dict)
    for arrow in (arrow for step in data["steps"] for arrow in step[5]):
        arrow[2] = "fault"  # what kind it is comes from us; the longest of them is as good as any
    path = tmp_path / "poisoned.html"
    path.write_text(shell.document("life.js", data))
    page = opened.show(path, "#step-1")
    for _ in data["steps"]:
        page.keyboard.press("ArrowRight")
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.wait_for_timeout(50)
    assert page.evaluate("window.obeyed") is None
    assert set(page.evaluate(kinds)) <= {*plain, "DETAILS", "SUMMARY", "DEL", "INS", "LI", "UL", "CODE"}
    assert PAYLOADS[0] in page.locator("body").inner_text()


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_pages_of_kept_seed_files_open_without_a_message(opened: Opened, tmp_path: Path, file: Path) -> None:
    text = shell.document("life.js", seed_page.data_of(str(file), seed_file.read(file), 0))
    assert len(text) <= 1_050_000
    path = tmp_path / "kept.html"
    path.write_text(text)
    page = opened.show(path)
    assert page.locator("h1").inner_text().startswith("PASS ")
    page.keyboard.press("End")
    assert page.locator("[aria-current=step]").count() == 1
