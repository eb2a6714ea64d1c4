"""Goal: what an acknowledged commit leaves to do is compared with what the life that hears of it knows."""

from typing import Final

import pytest

from tests.worlds import SCOPE
from umi_core.config import Config
from umi_core.memory import Memory
from umi_core.messages.answers import Committed
from umi_core.messages.effects import Commit, Write
from umi_core.rows import Address, Category
from umi_sim.judge.invariants.upkeep import UpkeepSchedule
from umi_sim.machines.umi import UmiMachine
from umi_sim.record.broken import Broken
from umi_sim.services.calls import Call

DIRTY: Final = Category("cat_1", "Work", "", 2, 0, 1_000)
WHERE: Final = Address(SCOPE, "category", "cat_1")
INTERVAL_MS: Final = 500


def machine() -> UmiMachine:
    return UmiMachine(SCOPE, Config(upkeep_interval_ms=INTERVAL_MS))


def knowing(made: UmiMachine) -> UmiMachine:
    assert isinstance(made, Memory)
    made.state.tiers.upkeep = {"cat_1": 1_000 + INTERVAL_MS}
    return made


def observe_commit(tended: UpkeepSchedule) -> None:
    """The first process of the agent gets the answer that its commit is done."""
    commit = Commit((Write(WHERE, DIRTY),), (), "key", request_id=7)
    tended.observe_answer(
        Call("e", "a", 1, "o1", "memorize", "commit", commit, 0), Committed(7, ((WHERE, 1),)), SCOPE
    )


def test_a_life_that_hears_of_it_must_know_of_it() -> None:
    tended = UpkeepSchedule(Config(upkeep_interval_ms=INTERVAL_MS), is_forged=False)
    observe_commit(tended)
    tended.observe_step("a", SCOPE, knowing(machine()), ())
    observe_commit(tended)
    with pytest.raises(Broken, match="the work that a commit of a leaves"):
        tended.observe_step("a", SCOPE, machine(), ())


def test_answers_to_a_replaced_process_do_not_concern_the_next() -> None:
    tended = UpkeepSchedule(Config(upkeep_interval_ms=INTERVAL_MS), is_forged=False)
    tended.observe_takeover("a", "a~1")
    observe_commit(tended)
    tended.observe_step("a", SCOPE, machine(), ())
    with pytest.raises(Broken, match="the work that a commit of a~1 leaves"):
        tended.observe_step("a~1", SCOPE, machine(), ())


def test_rows_count_from_a_lower_version_again_once_storage_has_lost_some() -> None:
    tended = UpkeepSchedule(Config(upkeep_interval_ms=INTERVAL_MS), is_forged=False)
    tended.begun["o1"] = 0
    tended.newest["a"] = {DIRTY.id: (9, None)}
    observe_commit(tended)
    tended.observe_step("a", SCOPE, knowing(machine()), ())
