"""Goal: a mark is given for what it names, and for nothing beside it."""

from collections.abc import Iterable

import pytest

from tests.worlds import Pair
from umi_core.limits import I64_MAX, I64_MIN
from umi_core.messages.effects import Commit
from umi_core.messages.requests import Blocks, Get, SetBlock
from umi_core.messages.results import Rebalanced, Remembered
from umi_sim.machines.umi import UmiMachine
from umi_sim.world import moments


@pytest.mark.parametrize(
    ("value", "count"),
    [
        *((I64_MAX, 1), (I64_MIN, 1), (I64_MAX - 1, 0), (True, 0)),
        *(
            (Remembered((), ended=("fct_1",)), 1),
            (Remembered(()), 0),
            (Rebalanced(evicted=("fct_1",)), 1),
            (Rebalanced(), 0),
        ),
    ],
)
def test_a_value_that_is_rare_has_a_mark(value: object, count: int) -> None:
    assert len(list(moments.of_value(value))) == count


def committing() -> tuple[UmiMachine, int]:
    """A memory whose commit is on its way, and when it gives up on it."""
    pair = Pair()
    pair.step(SetBlock(1, "human", "Alice"))
    pair.until(Commit)
    machine = UmiMachine.restore(pair.memory.snapshot(), life=0)
    assert isinstance(machine, UmiMachine)
    deadline_ms = machine.deadline_ms()
    assert deadline_ms is not None
    return machine, deadline_ms


def counts(*marks: Iterable[str]) -> list[int]:
    return [len(list(it)) for it in marks]


def test_core_is_read_while_a_commit_is_on_its_way() -> None:
    machine, _ = committing()
    quiet = UmiMachine(machine.state.scope)
    asked = (machine, Blocks(2)), (machine, Get(3, "k")), (quiet, Blocks(2))
    assert counts(*(moments.of_request(*each) for each in asked)) == [1, 0, 0]


def test_an_answer_at_a_deadline_is_neither_before_nor_after_it() -> None:
    machine, deadline_ms = committing()
    times = deadline_ms - 1, deadline_ms, deadline_ms + 1
    assert counts(*(moments.of_late_answer(machine, at_ms) for at_ms in times)) == [0, 1, 0]
