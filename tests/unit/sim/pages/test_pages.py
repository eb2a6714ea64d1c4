"""Goal: a page holds the run that it shows, obeys no text of a memory, and fits."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest

from tests.unit.sim.commands import refused, umi
from tests.unit.sim.pages.made import canary, canary_data
from tests.unit.sim.pages.payloads import PAYLOADS, poisoned
from umi_sim.explain.playback import Playback, look
from umi_sim.pages import page_data, shell
from umi_sim.pages.lives import play_steps
from umi_sim.pages.page_data import About
from umi_sim.pages.states import ROOTS, leaves
from umi_sim.record.state_tree import describe_tree
from umi_sim.seedfile import files as seed_file

SCRIPTS: Final = ("shared.js", "life.js")
OBEYING: Final = (
    r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|\bFunction\(|createContextualFragment"
)


class Elements(HTMLParser):
    """Which elements a document has, and the text of its data."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: list[str] = []
        self.data = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.is_data = ("id", "data") in attrs

    def handle_data(self, data: str) -> None:
        if self.found[-1:] == ["script"] and self.is_data:
            self.data += data
            self.is_data = False


def elements_of(text: str) -> Elements:
    found = Elements()
    found.feed(text)
    return found


def test_the_page_of_the_canary_fits_into_sixty_kilobytes() -> None:
    assert len(shell.document("life.js", canary_data())) <= 60_000


def test_each_payload_stands_in_the_data_and_makes_no_element() -> None:
    plain = elements_of(shell.document("life.js", canary_data())).found
    data = poisoned(canary_data(), [0])
    assert isinstance(data, dict)
    found = elements_of(shell.document("life.js", data))
    assert found.found == plain
    assert json.loads(found.data) == data
    assert all(any(text.endswith(payload) for text in texts_of(data)) for payload in PAYLOADS)
    assert not re.search("[<>&]", found.data)


def texts_of(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for inner in value.values() for text in texts_of(inner)]
        case list():
            return [text for inner in value for text in texts_of(inner)]
    return []


def test_the_policy_allows_this_script_and_this_style_and_no_network() -> None:
    text = shell.document("life.js", {})
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    assert policy.startswith("default-src 'none'; ")
    for element in ("script", "style"):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        assert f"{element}-src 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'" in policy
    assert not re.search(r"https?:", text)
    assert not [name for name in elements_of(text).attributes if name.startswith("on")]


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_reads_a_text_as_anything_but_a_text(name: str) -> None:
    assert not re.search(OBEYING, files("umi_sim.pages").joinpath(name).read_text("utf-8"))


def test_the_changes_up_to_a_step_are_the_state_after_it() -> None:
    playback = Playback(canary().config, canary().items)
    life = play_steps(playback)
    assert life.states is not None
    state: dict[int, int] = dict(life.base.changes)
    for step in life.steps:
        state |= dict(step.delta.changes)
        shown = {
            path_of(life.states.paths, path): life.states.texts[text]
            for path, text in state.items()
            if text >= 0
        }
        run = playback.at(step.number).run
        there = leaves({root: look(run, root) for root in ROOTS})
        assert shown == {path: describe_tree(tree) for path, tree in there}, step.number


def path_of(paths: list[tuple[int, str]], number: int) -> tuple[str, ...]:
    names: list[str] = []
    while number >= 0:
        number, name = paths[number]
        names.insert(0, name)
    return tuple(names)


def test_a_page_that_begins_late_knows_what_was_there_before() -> None:
    playback = Playback(canary().config, canary().items)
    whole, late = play_steps(playback), play_steps(playback, first=4)
    assert [step.number for step in late.steps] == [4, 5, 6, 7]
    assert late.step_count == whole.step_count == 7
    assert late.states is not None
    assert len(late.base.changes) > len(whole.base.changes)


def test_what_does_not_fit_is_left_out_states_first(monkeypatch: pytest.MonkeyPatch) -> None:
    playback = Playback(canary().config, canary().items)
    whole = page_data.size_of(page_of(playback))
    monkeypatch.setattr(page_data, "BYTES_MAX", whole - 1)
    without = page_of(playback)
    assert ("umi-sim step" in without["unseen"], len(without["steps"])) == (True, 7)
    monkeypatch.setattr(page_data, "BYTES_MAX", page_data.size_of(without) - 1)
    assert 0 < len(page_of(playback)["steps"]) < 7


def page_of(playback: Playback) -> dict[str, Any]:
    return page_data.page_data(About("", ""), lambda roots, first: play_steps(playback, roots, first), 7)


def test_what_is_needed_and_what_broke_stand_in_the_lanes() -> None:
    data = canary_data()
    assert data["lanes"] == ["clients", "agent a", "model", "embedder", "storage", "clock"]
    assert data["needed"] == ["o17", "o18"]
    requests = [arrow for step in data["steps"] for arrow in step[5] if arrow[2] == "request"]
    assert [(source, target, item) for source, target, _, _, _, item in requests] == [
        (0, 1, "o17"),
        (0, 1, "o18"),
    ]
    assert (data["rule"], data["count"]) == ("ttl-boundary", 7)
    assert data["why"]["nearest"]["step"] == 7


def test_the_command_writes_a_page_and_replaces_only_pages(own_folder: Path) -> None:
    seed_file.write(Path("a.json"), canary())
    done = umi("html", "a.json", "--runs", "0")
    assert done.exit_code == 0, done.stderr
    page = Path(".umi-sim/pages/a.html")
    assert done.stdout.startswith(f"WROTE {page}\n  holds    7 steps, ")
    assert umi("html", "a.json", "--runs", "0").exit_code == 0
    page.write_text("mine")
    assert "is no page of umi-sim" in refused("html", "a.json")
    assert "ends in .html" in refused("html", "a.json", "--out", "a.txt")
    assert "no such scenario" in refused("html", "nothing:1")
    assert page.read_text() == "mine"


def test_a_seed_is_a_page_too(small_worlds: None) -> None:
    assert umi("html", "own.toml:3", "--out", "own.html", "--quiet").exit_code == 0
    data = json.loads(elements_of(Path("own.html").read_text()).data)
    assert (data["result"], data["repeat"]) == ("PASS", "umi-sim run own.toml --seed 3")


def test_the_command_on_the_page_of_a_seed_has_its_settings(small_worlds: None) -> None:
    seed = "working:3 --set workload.operations=5"
    assert umi("html", seed, "--out", "own.html", "--quiet").exit_code == 0
    data = json.loads(elements_of(Path("own.html").read_text()).data)
    assert data["repeat"] == "umi-sim run working --seed 3 --set workload.operations=5"


def test_a_scenario_of_the_user_takes_settings_too_and_its_name_may_have_blanks(small_worlds: None) -> None:
    Path("my own.toml").write_bytes(Path("own.toml").read_bytes())
    for seed, command in (
        ("own.toml:3 --set clock.start_ms=7", "umi-sim run own.toml --seed 3 --set clock.start_ms=7"),
        ("my own.toml:3", "umi-sim run 'my own.toml' --seed 3"),
    ):
        assert umi("html", seed, "--out", "own.html", "--quiet").exit_code == 0
        assert json.loads(elements_of(Path("own.html").read_text()).data)["repeat"] == command
