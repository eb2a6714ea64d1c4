"""Goal: the page of a sweep can be read in a browser, by everybody, and obeys no text."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.browser.conftest import Opened, barriers, needs_axe
from tests.unit.sim.pages.payloads import poisoned
from umi_sim.pages import shell

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DATA: Final[dict[str, Any]] = {
    "title": "sweep of 1 scenario, seeds 0..1: 2 runs", "repeat": "umi-sim sweep a --seeds 0..1",
    "result": "FAIL",
    "facts": [["reached", "1 of 2 rules"]],
    "failures": [
        [True, "safety", "ttl-boundary (TTL-1)", "get k answered b", 2, "a seed 0", "umi-sim replay a", "",
         "s-failures/a.html"],
        [False, "crash", "crash", "KeyError", 1, "a seed 1", "umi-sim replay b", "umi-sim html b --open", ""],
    ],
    "scenarios": [["a", 2, 30, 2]],
    "map": {
        "faults": ["model_slow"], "rows": [["ttl-boundary", "in time", [-3]], ["once-only", "once", [12]]],
    },
    "marks": [["rules", [["ttl-boundary", 3], ["once-only", 0]]]],
    "longest": [["a", "1", 120]], "injected": {"model_slow": [3, 0]},
}  # fmt: skip


def page_of(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "sweep.html"
    path.write_text(shell.document("sweep.js", data))
    return path


def test_failures_and_the_map_are_there(opened: Opened, tmp_path: Path) -> None:
    page = opened.show(page_of(tmp_path, DATA))
    assert page.locator("#failures .badge").all_inner_texts() == ["NEW", "KNOWN"]
    links = page.locator("#failures a")
    assert [each.get_attribute("href") for each in links.all()] == ["s-failures/a.html"]
    page.locator("#map summary").click()
    assert page.locator("#map tbody td").all_inner_texts() == ["\u2716", "12"]
    title = page.locator("#map .broke").get_attribute("title")
    assert title == "ttl-boundary judged 3 runs with model_slow, and broke"
    assert page.locator("#longest").inner_text().endswith("umi-sim run a --seed 1")
    assert page.locator("#marks tbody td").nth(1).inner_text() == "once-only"


@pytest.mark.parametrize(
    "place", ["javascript:obeyed()", "//elsewhere/a.html", "../a.html", "a/b/c.html", "a.html"]
)
def test_a_failure_links_to_a_page_beside_this_one_or_to_none(
    opened: Opened, tmp_path: Path, place: str
) -> None:
    data = {**DATA, "failures": [[*DATA["failures"][0][:-1], place]]}
    assert opened.show(page_of(tmp_path, data)).locator("#failures a").count() == 0


def test_no_text_of_a_sweep_is_obeyed(opened: Opened, tmp_path: Path) -> None:
    kinds = "[...document.querySelectorAll('*')].map((it) => it.tagName)"
    plain = opened.show(page_of(tmp_path, DATA)).evaluate(kinds)
    ours = {name: DATA[name] for name in ("map", "injected", "result")}
    data = {name: poisoned(value, [0]) for name, value in DATA.items()} | ours
    page = opened.show(page_of(tmp_path, data))
    assert page.evaluate("window.obeyed") is None
    assert {*plain} - {*page.evaluate(kinds)} == {"A"}  # a link that has become no path is none
    assert {*page.evaluate(kinds)} <= {*plain}


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_a_sweep(browser: "Browser", tmp_path: Path, scheme: str) -> None:
    opened = Opened(browser, bypass_csp=True, color_scheme=scheme, viewport={"width": 700, "height": 900})
    page = opened.show(page_of(tmp_path, DATA))
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert barriers(page) == []
    opened.context.close()
