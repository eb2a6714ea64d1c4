"""Goal: the page of a recording shows what went into a live memory and what came out, and where it broke."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.sim.commands import refused, umi
from tests.unit.sim.pages.test_pages import elements_of
from umi_core.config import Config
from umi_core.messages.answers import Committed, ReadDone, Value, Wake
from umi_core.messages.requests import Get, Set
from umi_core.recordings import RecordedStep, RecordingHead
from umi_core.rows import Address
from umi_core.tiers import working
from umi_core.values import Scope
from umi_sim.runs import recorded

SCOPE = Scope("ann", "helper")
TOLD: tuple[Value, ...] = (
    Wake(), ReadDone(1), Set("1", "k", b"v"), Committed(2, ((Address(SCOPE, "epoch", "epoch"), 1),)),
    Get("2", "k"), ReadDone(99),
)  # fmt: skip


@pytest.fixture
def recording(own_folder: Path) -> str:
    steps = [RecordedStep(1_000 + number, value) for number, value in enumerate(TOLD)]
    recorded.write(Path("live.jsonl"), RecordingHead(SCOPE, Config()), steps)
    return "live.jsonl"


def page_of(recording: str) -> dict[str, Any]:
    assert umi("html", recording, "--out", "live.html", "--quiet").exit_code == 0
    data = json.loads(elements_of(Path("live.html").read_text()).data)
    assert isinstance(data, dict)
    return data


def test_each_step_stands_in_its_lanes(recording: str) -> None:
    data = page_of(recording)
    assert (data["result"], data["repeat"], data["count"]) == ("PASS", "umi-sim replay live.jsonl", 6)
    kinds = [[arrow[2] for arrow in step[5]] for step in data["steps"]]
    assert kinds == [
        ["wake", "question"], ["answer", "question"], ["request", "reply"], ["answer", "question"],
        ["request", "reply"], ["wake"],
    ]  # fmt: skip
    assert data["steps"][4][5][1][3] == "Done b'v'"
    assert data["steps"][2][5][0][3] == '1 set key="k", value=b"v"'
    assert data["steps"][0][5][1][4] == "recover:1#1"
    path, _ = data["steps"][2][7][0]
    assert data["paths"][path][1] == "k"


def test_a_step_that_raises_is_where_it_broke(recording: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object) -> None:
        raise KeyError("k")

    monkeypatch.setitem(working.ANSWERS, Get, raises)
    data = page_of(recording)
    assert (data["result"], data["rule"], data["count"]) == ("FAIL", "crash", 5)
    assert data["facts"] == [["told", "KeyError: 'k'"]]
    assert data["steps"][-1][5][-1][3] == "KeyError: 'k'"


def test_a_damaged_recording_is_refused(recording: str) -> None:
    lines = Path(recording).read_text().splitlines()
    Path(recording).write_text("\n".join([lines[0], "[]", *lines[1:]]))
    assert "line 2 is no step of a recording" in refused("html", recording)
