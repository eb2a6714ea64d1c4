"""Refusals of writes to blocks, judged by what users have written: rightly given, wrongly, and not given."""

import pytest
from msgspec import structs

from tests.histories import broken
from tests.unit.sim.judge.test_core_oracle import CoreOwner, written
from umi_core.errors import BlockNotFound, CoreFull, Error, TooManyBlocks
from umi_core.limits import BLOCK_COUNT_MAX
from umi_core.messages.effects import Done, Outcome, Refused, Unknown
from umi_core.messages.requests import RemoveBlock, SetBlock, SetImportance
from umi_core.values import BLOCK_KINDS
from umi_core.workflows import BUILT_IN
from umi_sim.mutants.edits import TextEdit, changes
from umi_sim.mutants.planting import with_changes
from umi_sim.record.items import Op
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run
from umi_sim.scenario.files import draw, find

WORK = SetImportance(0, "human", 1, "work")
MANY = [SetBlock(0, kind, "x", f"{n}", author="user") for n in range(6) for kind in BLOCK_KINDS][
    :BLOCK_COUNT_MAX
]
ONE_MORE = SetBlock(0, "human", "x", "one more")


def full() -> CoreOwner:
    owner = CoreOwner()
    for request in MANY:
        owner.write(request, Done(None))
    return owner


def refused(block: str) -> Outcome:
    return Refused(BlockNotFound(block))


def test_a_block_that_is_there_is_found() -> None:
    with broken("reference-agrees"):
        written().write(SetImportance(0, "human", 1), refused("human"))


@pytest.mark.parametrize(
    "request_", [WORK, RemoveBlock(0, "human", "work"), RemoveBlock(0, "system", author="user")]
)
def test_a_block_that_was_never_there_is_not_found(request_: SetImportance | RemoveBlock) -> None:
    with broken("reference-agrees"):
        CoreOwner().write(request_, Done(None))


def test_entries_may_make_a_block_without_a_text() -> None:
    CoreOwner().write(RemoveBlock(0, "human"), Done(None))
    CoreOwner().write(RemoveBlock(0, "human"), refused("human"))


def test_the_block_that_is_not_found_is_named_as_it_was_asked_for() -> None:
    CoreOwner().write(structs.replace(WORK, label=" work "), refused("human/ work "))
    with broken("reference-agrees"):
        CoreOwner().write(WORK, refused("human"))


def test_what_may_have_gone_meanwhile_may_be_found_or_not() -> None:
    for outcome in (Done(None), refused("human/work")):
        owner = CoreOwner()
        owner.write(SetBlock(0, "human", "tea", "work"), Done(None))
        op_id = owner.begin(WORK)
        owner.write(RemoveBlock(0, "human", "work"), Done(None))
        owner.write(SetBlock(0, "human", "milk", "work"), Done(None))
        owner.end(op_id, WORK, outcome)


def test_a_write_with_unknown_outcome_may_have_made_a_block() -> None:
    for outcome in (Done(None), refused("human/work")):
        owner = CoreOwner()
        owner.write(SetBlock(0, "human", "tea", "work"), Unknown())
        owner.write(WORK, outcome)


def test_one_block_too_many_is_refused() -> None:
    full().write(ONE_MORE, Refused(TooManyBlocks(32, 32)))
    large = structs.replace(ONE_MORE, text="x" * 4_000)
    for outcome in (Done(None), Refused(CoreFull(96, 4_096, 4_008))):
        with broken("core-limits"):
            full().write(large, outcome)


def test_a_block_that_is_there_is_none_too_many() -> None:
    full().write(MANY[0], Done(None))
    with broken("no-spurious-refusal"):
        full().write(MANY[0], Refused(TooManyBlocks(32, 32)))


@pytest.mark.parametrize("error", [TooManyBlocks(32, 32), TooManyBlocks(1, 32)])
def test_one_of_few_blocks_is_not_too_many(error: Error) -> None:
    with broken("no-spurious-refusal"):
        written().write(ONE_MORE, Refused(error))


@pytest.mark.parametrize("error", [TooManyBlocks(31, 32), TooManyBlocks(32, 33)])
def test_too_many_are_counted_rightly(error: Error) -> None:
    with broken("reference-agrees"):
        full().write(ONE_MORE, Refused(error))


# The same in a whole run, by requests that no user draws.


def run_with_edit(old: str = "", new: str = "") -> Failure | None:
    edits = changes((TextEdit("umi_core/tiers/core.py", old, new),)) if old else ()
    config = structs.replace(draw(find("calm"), 0), off=("tables-bounded",))
    items = [
        Op(
            f"o{n}",
            n,
            "a",
            "set_block",
            {"kind": it.kind, "text": it.text, "label": it.label, "author": it.author},
        )
        for n, it in enumerate((*MANY, ONE_MORE), 1)
    ]
    with with_changes(edits, BUILT_IN):
        return run(config, items).failure


def test_a_memory_that_is_right_passes() -> None:
    assert run_with_edit() is None


@pytest.mark.parametrize(("limit", "rule"), [("31", "no-spurious-refusal"), ("33", "core-limits")])
def test_a_memory_that_counts_to_another_number_is_found(limit: str, rule: str) -> None:
    failure = run_with_edit("core.authored_count >= BLOCK_COUNT_MAX", f"core.authored_count >= {limit}")
    assert failure is not None
    assert failure.rule == rule
