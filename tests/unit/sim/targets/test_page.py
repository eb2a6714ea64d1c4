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
    arrows = [[(arrow[2], arrow[3]) for arrow in step[5]] for step in data["steps"]]
    assert arrows == [
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


def test_show_tells_what_a_file_records() -> None:
    output = " ".join(umi("show", written()).stdout.split())
    assert output.startswith(
        "FAIL nobody.has_it:Mine at-once: pop+pop repeat umi-sim target nobody.has_it:Mine"
    )
    assert "promised requests at once equal some order of them got pop+pop: 'v', 'v'" in output
    assert "at once: pop(session='a'); pop(session='a') -> 'v'; 'v'" in output
    assert "the file was edited" in output
    value = json.loads(umi("show", written(jobs=3), "--json").stdout)
    assert (value["result"], value["rule"], len(value["items"]), value["jobs"]) == ("fail", "at-once", 4, 3)
    passed = umi("show", written(failure={}))
    assert passed.stdout.startswith("PASS nobody.has_it:Mine: expected to pass, 4 items")
    assert "failure.rule: unknown rule" in refused("show", written(failure={"rule": "all-is-well"}))
    assert "rm -r" not in umi("show", written(target="mine:Mine; rm -r .")).stdout


@pytest.mark.parametrize("command", ["step", "shrink", "bless"])
def test_a_command_that_cannot_read_it_names_those_that_can(command: str) -> None:
    message = refused(command, written())
    assert all(other in message for other in ("show", "html", "replay", "why", "export"))


@pytest.mark.parametrize("command", ["replay", "why", "export"])
def test_a_store_that_is_not_named_is_not_imported(command: str) -> None:
    message = refused(command, written())
    assert "is imported and run only if you name it" in message
    assert message.endswith(f": umi-sim {command} {FILE} --of nobody.has_it:Mine\n")
    assert "--of MODULE:CLASS" in refused(command, written(target="mine:Mine;rm"))
    message = refused(command, written(target="--contract kv --command 'rm -r .'"), "--of", "mine:Mine")
    assert "umi-sim target with the options by which it was found" in message


def test_a_store_file_can_be_checked() -> None:
    assert umi("check", written()).stdout == f"OK {FILE}: run of a store, 4 items\n"


def test_files_that_explain_and_html_cannot_read_are_reported() -> None:
    assert "is a file, and explain takes a word: umi-sim show FILE" in refused("explain", written())
    assert "promise an error means not applied, now or later" in " ".join(
        umi("explain", "error-applied").stdout.split()
    )
    assert "meaning of concurrent changes, one left no trace breaks the rule at-once" in " ".join(
        umi("explain", "lost", "update").stdout.split()
    )
    assert "anomaly lost update" in " ".join(umi("explain", "at-once").stdout.split())
    lacks = "lacks what the store holds, and what it needs to fail"
    assert lacks in " ".join(umi("html", written()).stdout.split())
    assert "lacks" not in umi("html", "smoke:1", "--runs", "0").stdout


def test_what_was_not_asked_is_no_answer_of_the_store() -> None:
    answers = [["None"], [], ["not asked: no answer gave version r1"], ["'v'", "'v'"]]
    arrows = page_of(written(said=answers))["steps"][2][5]
    between = {(arrow[0], arrow[1]) for arrow in arrows if arrow[2] in ("request", "reply")}
    assert between == {(0, 0)}
    assert {(arrow[0], arrow[1]) for arrow in page_of(written())["steps"][2][5][::2]} == {(0, 1), (1, 0)}
