"""Goal: the page of a run of a store shows what happened and where it broke; no text is obeyed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.sim.commands import refused, umi
from tests.unit.sim.pages.payloads import PAYLOADS
from tests.unit.sim.pages.test_pages import elements_of

FILE = "run.json"
ADD = {"op": "add", "session": "a", "items": []}
POP = {"op": "pop", "session": "a"}


def written(**changes: Any) -> str:
    document = {
        "format": "umi-target", "contract": "sessions", "target": "nobody.has_it:Mine",
        "items": [
            ADD, {"kind": "advance", "number": 1_000}, {"kind": "crash_in", "site": "commit", "ops": [POP]},
            {"kind": "at_once", "ops": [POP, POP]},
        ],
        "said": [["None"], [], ["died"], ["'v'", "'v'"]],
        "failure": {"rule": "at-once", "op": "pop+pop", "message": "pop+pop: 'v', 'v'"}, **changes,
    }  # fmt: skip
    Path(FILE).write_text(json.dumps(document, separators=(",", ":")))
    return FILE


def page_of(file: str) -> dict[str, Any]:
    assert umi("html", file, "--out", "run.html", "--quiet").exit_code == 0
    data = json.loads(elements_of(Path("run.html").read_text()).data)
    assert isinstance(data, dict)
    return data


@pytest.fixture(autouse=True)
def here(own_folder: Path) -> None:
    """Each test in a folder of its own."""


def test_each_item_stands_in_its_lanes_without_the_store() -> None:
    data = page_of(written())
    told = [[(arrow[2], arrow[3]) for arrow in step[5]] for step in data["steps"]]
    assert told == [
        [("request", "add(session='a', items=[])"), ("reply", "None")],
        [("clock", "1000 ms pass")],
        [("request", "pop(session='a')"), ("fault", "the process dies at commit 0"), ("reply", "died")],
        [("request", "pop(session='a')")] * 2 + [("reply", "'v'")] * 2,
    ]
    assert [step[1] for step in data["steps"]] == [0, 1_000, 1_000, 1_000]
    assert (data["result"], data["rule"], data["facts"][1]) == (
        "FAIL",
        "at-once",
        ["instead", "pop+pop: 'v', 'v'"],
    )
    assert data["repeat"] == "umi-sim target nobody.has_it:Mine --replay run.json"


def test_a_file_without_answers_shows_what_was_asked() -> None:
    data = page_of(written(said=[], failure={}))
    assert (data["result"], len(data["steps"]), data["rule"]) == ("PASS", 4, "")


@pytest.mark.parametrize("hostile", [*PAYLOADS[::17], "--command 'rm -r .'", "mine:Mine; rm -r ."])
def test_nothing_in_a_file_is_obeyed(hostile: str) -> None:
    page_of(written())
    plain = elements_of(Path("run.html").read_text()).found
    data = page_of(written(target=hostile, said=[[hostile]]))
    assert elements_of(Path("run.html").read_text()).found == plain
    assert data["repeat"] == "umi-sim target MODULE:CLASS --replay run.json"


def test_a_file_that_is_no_run_is_one_line() -> None:
    assert "failure.rule: unknown rule" in refused("html", written(failure={"rule": "all-is-well"}))
