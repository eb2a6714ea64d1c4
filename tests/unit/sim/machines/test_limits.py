"""Goal: a limit is lowered for memory and judge alike, while a run lasts and no longer."""

import pytest

from tests.unit.core.test_access import entity, records
from umi_core import limits as of_memory
from umi_core.tiers import archive
from umi_sim.judge.state import accesses
from umi_sim.machines.limits import LIMITS, lower_limits
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

KNOWING = (of_memory, archive, accesses)


def known() -> list[int]:
    return [vars(module)["ACCESS_RECORD_COUNT_MAX"] for module in KNOWING]


def test_a_lowered_limit_holds_everywhere_until_the_end() -> None:
    table = records(("a", 1), ("b", 2))
    with lower_limits({"access_record_count_max": 2}):
        assert known() == [2, 2, 2]
        assert list(table.record_accesses((entity("c"),), 9, ()).records) == ["b", "c"]
        with lower_limits({"access_record_count_max": 1}):
            assert known() == [1, 1, 1]
        assert known() == [2, 2, 2]
    assert known() == [10_000] * 3


def test_a_failure_leaves_no_limit_lowered() -> None:
    with pytest.raises(ZeroDivisionError), lower_limits(dict.fromkeys(LIMITS, 1)):
        raise ZeroDivisionError
    assert {name: getattr(of_memory, name.upper()) for name in LIMITS} == LIMITS


def test_a_run_has_its_limits_and_the_next_one_has_not() -> None:
    config = draw(find("narrow"), 3)
    assert {*config.limits, "hand_over_row_count_max"} == set(LIMITS)  # a memory hands nothing over
    verdict, _ = run_once(config)
    assert verdict.failure is None
    assert known() == [10_000] * 3
