"""Goal: a sweep that has not met what its scenarios are for says so, by name, if it was large enough."""

import json
from collections import Counter
from typing import Any, Final

import pytest
from msgspec import structs

from tests.unit.sim.commands import umi
from umi_sim.faults.kinds import KINDS
from umi_sim.runs.runner import run
from umi_sim.scenario import files as scenario
from umi_sim.scenario import floors
from umi_sim.scenario.files import Scenario, parse
from umi_sim.scenario.floors import Missed, Summary, list_missed, open_options, pairs_of, summary_of

HEAD: Final = '[scenario]\nid = "x"\ntitle = "T"\n'
FILE: Final = """
[agents]
count = 1
in_flight = [1, 4]

[workload]
operations = 20

[workload.weights]
get = 1
set = 1

[memory]
auto_populate = "any"
working_entry_count_max = [1, 16]
core_entry_count_max = 3

[services]
latency = ["instant", "short"]

[faults]
storage = true
storage_full = false
storage_torn = "0/1"
clock_jump_back = "1/10"

[run]
marks = { "a rare thing" = "1/100" }
"""
OPEN: Final = (
    "agents.in_flight", "memory.auto_populate", "memory.working_entry_count_max", "services.latency",
)  # fmt: skip


def made(body: str = FILE) -> Scenario:
    return parse(HEAD + body, "x.toml", None)


def whole(runs: int = 100, **changes: Any) -> Summary:
    """What runs of the file met that met everything."""
    summary = Summary(runs, 10 * runs, 0)
    summary.reached["a rare thing"] = 1
    summary.fired.update(dict.fromkeys(floors.enabled_kinds(made()), 1))
    summary.ends = dict.fromkeys(OPEN, (0, 1))
    summary.pairs.update([(first, second) for first in ("get", "set") for second in ("get", "set")])
    return structs.replace(summary, **changes)


def lacks(summary: Summary, run_count_min: int = 100, pair_run_count_min: int = 100) -> list[str]:
    found = list_missed({"x": made()}, {"x": summary}, run_count_min, pair_run_count_min)
    return [each.what for each in found]


def test_nothing_is_missed_where_all_floors_are_met() -> None:
    assert lacks(whole()) == []


def test_a_mark_below_its_floor_is_missed() -> None:
    seldom = whole(runs=101)
    assert lacks(seldom) == ["mark a rare thing: 1 of 101 runs, floor 1/100"]


def test_a_mark_that_is_never_reached_is_missed_whatever_its_floor() -> None:
    file = made(FILE.replace('"1/100"', '"0/1"'))
    found = list_missed({"x": file}, {"x": whole(reached=Counter())}, 100, 100)
    assert found == [Missed("x", "mark a rare thing: 0 of 100 runs, floor 0/1")]


def test_a_fault_that_the_file_turns_on_and_that_never_fired_is_missed() -> None:
    silent = whole()
    del silent.fired["storage_slow"]
    assert lacks(silent) == ["fault storage_slow: never fired"]


def test_what_the_file_turns_off_or_does_not_name_need_not_fire() -> None:
    names = floors.enabled_kinds(made())
    assert "clock_jump_back" in names
    assert [name for name in names if name in ("storage_full", "storage_torn", "model_slow")] == []


def test_what_destroys_need_not_fire_where_nothing_may_be_lost() -> None:
    assert "storage_wiped" in floors.enabled_kinds(made())
    kept = floors.enabled_kinds(scenario.find("migration"))
    assert "storage_torn" in kept
    assert [name for name in kept if KINDS[name].fault_class == "destroys"] == []


def test_jumps_of_clocks_turn_their_faults_on() -> None:
    clocks = tuple(name for name, kind in KINDS.items() if kind.group == "clock")
    assert floors.enabled_kinds(made("[clock]\njumps = true")) == clocks


def test_an_option_that_the_file_leaves_open_and_that_never_varied_is_missed() -> None:
    frozen = whole()
    frozen.ends["services.latency"] = ("short", "short")
    assert open_options(made()) == OPEN
    assert lacks(frozen) == ["option services.latency: always short"]


def test_a_pair_of_requests_that_may_follow_each_other_and_never_did_is_missed() -> None:
    lone = whole()
    del lone.pairs["set", "get"]
    assert lacks(lone) == ["requests set, then get: never"]


def test_few_runs_prove_nothing() -> None:
    assert lacks(Summary(99, 990, 0)) == []
    assert lacks(structs.replace(whole(), pairs=Counter()), pair_run_count_min=101) == []


@pytest.mark.parametrize(
    ("excused", "expected"), [(5, []), (6, ["6 of 10 operations excused, at most 1/2 may be"])]
)
def test_at_most_half_of_the_operations_may_be_excused(excused: int, expected: list[str]) -> None:
    assert lacks(Summary(1, 10, excused)) == expected


def test_a_summary_says_what_a_run_met() -> None:
    file = scenario.find("smoke")
    verdict = run(scenario.draw(file, 1))
    summary = summary_of(file, verdict)
    assert (summary.runs, summary.fired) == (1, verdict.fired)
    assert dict(summary.reached) == dict.fromkeys(verdict.marks, 1)
    assert sum(summary.pairs.values()) == len(list(pairs_of(verdict)))
    assert summary.ends["workload.operations"] == (verdict.config.operations_max,) * 2


def test_summaries_add_up_in_any_order() -> None:
    parts = [
        whole(ends={"a": (4, 5)}),
        whole(ends={"a": (1, 2), "b": ("x", "y")}),
        whole(ends={"b": ("w", "w")}),
    ]
    forward, backward = Summary(), Summary()
    for part in parts:
        forward.add(part)
    for part in reversed(parts):
        backward.add(part)
    assert forward == backward
    assert forward.ends == {"a": (1, 5), "b": ("w", "y")}


def test_the_marks_of_all_scenarios_are_listed() -> None:
    marks = json.loads(umi("marks", "--json").stdout)
    assert {"mark": "recover.settle: ok", "scenario": "doubt", "floor": "1/25"} in marks
    lines = umi("marks").stdout.splitlines()
    assert [line.split()[-2:] for line in lines] == [[row["scenario"], row["floor"]] for row in marks]
