"""Goal: an agent comes back with the limits of its last crash, and what belongs to itself always has room."""

from typing import Final

import pytest
from msgspec import structs

from tests.worlds import SCOPE
from umi_core.config import Config
from umi_core.messages.answers import Wake
from umi_core.messages.effects import Read
from umi_core.rows import Core
from umi_core.values import Block, Entry
from umi_sim.machines.umi import UmiMachine, UmiTarget
from umi_sim.record.broken import Broken
from umi_sim.seedfile.fields import PLAIN

NOBODY: Final = Entry("", 1, "", "", 0)


def core(human_count: int, self_count: int) -> Core:
    blocks = [("persona", self_count), ("human", human_count)]
    return Core(tuple(Block(kind, entries=(NOBODY,) * count) for kind, count in blocks if count))


def limited(entry_count_max: int | None, *cores: Core, usual: int = 64) -> int:
    """The limit of the next life, after a crash that set this one, where these are found."""
    target = UmiTarget(structs.replace(PLAIN, memory={"core_entry_count_max": usual}))
    target.limit_entries("a", entry_count_max)
    for each in cores[:-1]:
        target.config_of("a", [each])
    return target.config_of("a", cores[-1:]).core_entry_count_max


def test_a_limit_counts_until_the_next_crash_sets_another() -> None:
    assert [limited(it, usual=7) for it in (2, None)] == [2, 7]


def test_entries_of_self_that_may_still_land_have_room() -> None:
    target = UmiTarget(PLAIN)
    target.limit_entries("a", 1)
    found = target.config_of("a", (core(5, 0), core(0, 3)))
    assert found == structs.replace(Config(), core_entry_count_max=3)


def test_room_that_was_made_for_them_stays_when_they_have_left() -> None:
    """A false alarm of `conversation` 66: a plain restart found less room, and core lost another entry."""
    assert limited(0, core(0, 1), core(1, 0)) == 1


def test_a_question_for_which_no_operation_waits_is_a_broken_contract() -> None:
    """A life of `descent` had no verdict by that: a planted bug took a late answer for the next one."""
    machine = UmiMachine(SCOPE, Config())
    (asked,) = [it for it in machine.step(0, Wake()) if isinstance(it, Read)]
    assert machine.origin_of(asked).workflow
    with pytest.raises(Broken, match="workflow-contract: no operation waits for the answer to question 99"):
        machine.origin_of(structs.replace(asked, request_id=99))
