"""Goal: `explore` says exactly one of three things, leaves a seed file that replays, and errs in one line."""

import json
from pathlib import Path

import pytest

from tests.unit.sim.commands import umi

OWN = """
[scenario]
id = "own"
title = "One key, two lives"
[agents]
count = 1
[memory]
auto_rebalance = false
[explore]
requests = [
    { name = "set", args = { key = ["k"], value = ["x"], ttl_ms = [10] } },
    { name = "get", args = { key = ["k"] } },
]
"""
BAD = OWN.replace('id = "own"', 'id = "bad"\nmutant = "get-alive-at-expiry"')


@pytest.fixture(autouse=True)
def _two_worlds(own_folder: Path) -> None:
    (own_folder / "own.toml").write_text(OWN)
    (own_folder / "bad.toml").write_text(BAD)


def test_a_clean_search_is_one_line() -> None:
    result = umi("explore", "own.toml", "--depth", "3")
    assert result.exit_code == 0
    assert result.stdout == "complete to depth 3: 35 lists, 9 states, 12 steps, no failure\n"


def test_a_search_that_met_its_limit_says_how_far_it_came() -> None:
    result = umi("explore", "own.toml", "--depth", "9", "--states-max", "20")
    assert result.exit_code == 5
    assert result.stdout == "stopped at 20 states: complete to depth 5 only\n"


def test_a_failure_is_the_shortest_and_leaves_a_seed_file_that_replays() -> None:
    result = umi("explore", "bad.toml", "--depth", "9")
    assert result.exit_code == 1
    assert result.stdout.startswith("FAIL at depth 3 (shortest): safety ttl-boundary (TTL-1) at step ")
    (path,) = Path(".umi-sim/ephemeral").iterdir()
    assert f"repeat   umi-sim replay {path.as_posix()}" in result.stdout
    assert 'script.op("o2", "a", "get", key="k", at_ms=' in result.stdout
    assert umi("replay", str(path)).exit_code == 0


def test_json_has_the_same_numbers() -> None:
    report = json.loads(umi("explore", "own.toml", "--depth", "3", "--json").stdout)
    assert report == {"result": "complete", "depth": 3, "lists": 35, "states": 9, "steps": 12}
    failed = json.loads(umi("explore", "bad.toml", "--depth", "3", "--json").stdout)
    assert (failed["result"], failed["depth"], failed["verdict"]["result"]) == ("failed", 3, "fail")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["own.toml", "--depth", "0"], "Invalid value for '--depth': 0 is not in the range 1<=x<=64."),
        (["own.toml"], "Missing option '--depth': "),
        (["own.toml", "--depth", "2", "--states-max", "0"], "'--states-max': 0 is not in the range"),
        (["nowhere", "--depth", "2"], "nowhere: no such scenario"),
        (["smoke", "--depth", "2"], "smoke: explore: missing, so there are no actions to explore with"),
    ],
)
def test_what_cannot_be_explored_is_reported_in_one_line(args: list[str], message: str) -> None:
    result = umi("explore", *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
