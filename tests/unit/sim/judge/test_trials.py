"""Goal: a run tries as often as its scenario says; what a trial finds is shown again.

That a sound memory passes is in tests/simulation/test_scenarios.py, with every other scenario.
"""

from collections.abc import Callable, Iterable

import attrs
import pytest

from umi_core.config import Config
from umi_sim.judge import inspector
from umi_sim.judge.trials import TRIALS, check_trials
from umi_sim.judge.trials.values import check_value, filters, long_values, places, values
from umi_sim.kernel.prng import Stream
from umi_sim.record import fingerprint
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile.files import loads, of_verdict, text_of
from umi_sim.shrink import shrink


def test_each_value_of_a_domain_is_judged_alike() -> None:
    for value in (*values(), *long_values(), *filters()):
        check_value("filter", value)
    assert len(places()) > 60


def test_a_run_tries_once_and_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(inspector, "check_trials", lambda config: tried.append(config.seed))
    assert run_once(draw(find("core"), 1))[0].failure is None
    assert tried == [1]


def test_a_scenario_makes_as_many_rounds_of_each_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list[tuple[str, int]]()

    def noting(name: str) -> Callable[[Stream, Config], None]:
        return lambda draw, config: drawn.append((name, draw.word()))

    monkeypatch.setattr("umi_sim.judge.trials.TRIALS", {name: noting(name) for name in TRIALS})
    check_trials(draw(find("trials"), 1, {"run.trials": "3"}))
    assert [name for name, _ in drawn] == [*TRIALS] * 3
    assert len(dict.fromkeys(drawn)) == len(drawn)


def test_what_a_round_shows_is_shown_again_by_its_file_in_which_nothing_is_asked() -> None:
    config = attrs.evolve(draw(find("trials"), 0), planted="better-entry-leaves")
    found = loads(text_of(shrink(of_verdict(run_once(config)[0]))).encode(), "trials.json")
    assert (found.items, found.config.trials) == ((), config.trials)
    again, _ = run_once(found.config, found.items)
    assert again.failure is not None
    assert fingerprint.of(again.failure) == found.fingerprint


def test_a_run_of_the_working_tier_tries_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(key: object, names: Iterable[str]) -> str:
        raise AssertionError("a trial was chosen")

    monkeypatch.setattr("umi_sim.judge.trials.highest", choose)
    for scenario in ("working", "sessions", "handoff"):
        check_trials(draw(find(scenario), 1))
    with pytest.raises(AssertionError, match="a trial was chosen"):
        check_trials(draw(find("core"), 1))
