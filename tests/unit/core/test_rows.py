"""Goal: a row that comes back with a field outside its domain is damaged, and nothing raises for it."""

from typing import Final

import pytest
from msgspec import structs

from tests.worlds import Pair, saying, verdict
from umi_core.body import CHECKS
from umi_core.messages.requests import (
    CreateSession,
    GetBlock,
    Memorize,
    Remember,
    SaveSession,
    SetBlock,
)
from umi_core.rows import BODIES, Body, Core
from umi_core.values import Block, Entry

ODD: Final[tuple[object, ...]] = (
    None,
    True,
    -1,
    2**70,
    0.5,
    "\ud800",
    "x" * 200_000,
    b"\xff" * 3,
    (),
    ("\ud800",),
    [],
    7,
)
ANYTHING: Final = {"value"}


def stored() -> dict[str, Body]:
    """A body of each kind that a memory writes, by its kind."""
    memories = "<memory><content>Alice naps</content></memory>"
    pair = Pair(model=saying(memories=memories, evolve=verdict("contradict"))).run()
    for request in (
        Remember(1, "Alice likes tea. Bob snores", request_key="k"), Remember(2, "Alice naps"),
        SetBlock(3, "human", "Alice"), CreateSession(4), SaveSession(5), Memorize(6, "Alice naps"),
    ):  # fmt: skip
        pair.ask(request)
    return {address.kind: row.body for address, row in pair.storage.rows.items() if row.body}


ROWS: Final = stored()


def test_they_are_of_each_kind_that_facts_bring_with_them() -> None:
    assert {"entity", "ended", "relation", "vector", "access", "membership", "category"} <= ROWS.keys()


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_what_a_memory_writes_is_sound(kind: str) -> None:
    assert ROWS[kind].is_sound


def test_each_field_refuses_most_of_what_is_odd() -> None:
    for kind, body in ROWS.items():
        for name, is_optional, _ in CHECKS[BODIES[kind]]:
            taken = [odd for odd in ODD if structs.replace(body, **{name: odd}).is_sound]
            plausible = name in ANYTHING or len(taken) <= 3 + is_optional
            assert plausible, (kind, name, [str(it)[:20] for it in taken])


BLOCK: Final = Block("human", text="Alice")


@pytest.mark.parametrize(
    "block",
    [
        structs.replace(BLOCK, kind="alien"),
        structs.replace(BLOCK, label="\ud800"),
        structs.replace(BLOCK, importance_ppm=-1),
        structs.replace(BLOCK, entries=(Entry("e", 2**70, "n", "t", 0),)),
        structs.replace(BLOCK, entries=(Entry("e", 1, "n" * 10_000, "t", 0),)),
    ],
)  # fmt: skip
def test_a_core_with_a_block_that_cannot_be_is_a_damaged_core(block: Block) -> None:
    """It raised out of every step of every later life."""
    pair = Pair().run()
    pair.ask(SetBlock(1, "human", "Alice"))
    core = pair.row("core", "core")
    assert core is not None
    pair.storage.rows[core.address] = structs.replace(core, body=Core((block,)))
    later = Pair(pair.storage)
    for request in (GetBlock(1, "human"), Remember(2, "Bob snores")):
        later.step(request)
    while later.now_ms < 60_000 and later.memory.deadline_ms() is not None:
        _ = later.answer() if later.pending else later.wake()
    assert later.memory.state.phase == "recovering"  # it asks again and again, until the row is repaired
    assert later.replies == {}
