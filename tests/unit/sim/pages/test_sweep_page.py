"""Goal: the page of a sweep shows what failed and what met what, and trace events hold each question."""

import json
from pathlib import Path

import pytest

from tests.unit.sim.commands import refused, umi
from tests.unit.sim.pages.made import canary
from tests.unit.sim.pages.test_pages import elements_of
from umi_sim.pages import perfetto, seed_page
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep import conductor


@pytest.fixture(autouse=True)
def _the_canary_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the canary of a sweep, which takes longer than the rest and is on no page."""
    monkeypatch.setattr(conductor, "blindness", lambda make: "")


def sweep_page(*args: str) -> dict[str, object]:
    umi("sweep", *args, "--jobs", "1", "--html", "out.html")
    data = json.loads(elements_of(Path("out.html").read_text()).data)
    assert isinstance(data, dict)
    return data


def test_a_failure_is_new_once(small_worlds: None) -> None:
    first = sweep_page("bad.toml", "--seeds", "0..1")
    again = sweep_page("bad.toml", "--seeds", "0..1")
    assert (first["result"], first["repeat"]) == ("FAIL", "umi-sim sweep bad.toml --seeds 0..1 --jobs 1")
    for data, is_new in ((first, True), (again, False)):
        failures = data["failures"]
        assert isinstance(failures, list)
        assert [(new, rule) for new, _, rule, *_ in failures] == [(is_new, "ttl-boundary (TTL-1)")]
        shown = json.loads(elements_of(Path(failures[0][-1]).read_text()).data)
        assert shown["title"].startswith("safety ttl-boundary (TTL-1) at step ")
        assert failures[0][-1].startswith("out-failures/ttl-boundary-")


def test_faults_and_the_rules_that_they_met_are_a_map(own_folder: Path) -> None:
    data = sweep_page("retries", "--seeds", "0..1", "--no-shrink")
    known = data["map"]
    assert isinstance(known, dict)
    counts = {rule: dict(zip(known["faults"], cells, strict=True)) for rule, _, cells in known["rows"]}
    assert len(counts) > 20
    injected = data["injected"]
    assert isinstance(injected, dict)
    for kind in known["faults"]:
        assert any(each[kind] for each in counts.values()) == bool(injected[kind][0]), kind
    runs = {count for each in counts.values() for count in each.values()}
    assert {0, 1} <= runs <= {0, 1, 2}


def test_a_rule_that_broke_under_a_fault_comes_first(own_folder: Path) -> None:
    world = scenario.list_shipped()["retries"].read_text()
    Path("own.toml").write_text(world.replace('id = "retries"', 'id = "own"\nmutant = "new-key-on-retry"'))
    data = sweep_page("own.toml", "--seeds", "25", "--no-shrink")
    known = data["map"]
    assert isinstance(known, dict)
    (rule, _, counts), *others = known["rows"]
    assert rule == "once-only"
    assert dict(zip(known["faults"], counts, strict=True))["storage_reply_lost"] == -1
    assert all(count >= 0 for *_, cells in others for count in cells)
    longest = data["longest"]
    assert isinstance(longest, list)
    assert [steps for *_, steps in longest] == sorted((steps for *_, steps in longest), reverse=True)


def test_every_answered_question_begins_and_ends() -> None:
    life = seed_page.life_of(canary().config, canary().items)
    found = perfetto.trace_events(life)["traceEvents"]
    assert isinstance(found, list)
    begun, ended = ([it["id"] for it in found if it["ph"] == phase] for phase in "be")
    assert begun == ended == [
        "a:recover:1/head#1", "a:recover:1/claim#1", "a:recover:1/load#1", "a:recover:1/access#1",
    ]  # fmt: skip
    times = [it["ts"] for it in found if it["ph"] in "bei"]
    assert len(set(times)) == len(times)


def test_trace_events_replace_no_seed_file(own_folder: Path) -> None:
    for name in ("a.json", "b.json"):
        seed_file.write(Path(name), canary())
    assert "holds no trace events" in refused("html", "a.json", "--perfetto", "b.json")
    assert umi("html", "a.json", "--runs", "0", "--perfetto", "c.json").exit_code == 0
    assert umi("html", "a.json", "--runs", "0", "--perfetto", "c.json").exit_code == 0
