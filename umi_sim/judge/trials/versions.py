"""Versions: a fact that changes more often than versions are kept, as in no run of some dozens of operations.

Law 1. Of the versions the newest hundred are there, and what relates one of them to the next; nothing of
those before (M2.19).
"""

from typing import Final

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.effects import Commit, Done, Write
from umi_core.messages.requests import Remember
from umi_core.rows import Address, Entity, Relation, Version
from umi_core.values import Scope
from umi_sim.judge.plain.ids import entity_id, relation_id
from umi_sim.judge.small_world import SmallWorld
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.services.storage import SimStorage

KEPT_COUNT: Final = 100
TOLD_COUNT: Final = KEPT_COUNT - 3  # before the trial begins
NOW_MS: Final = 1_000_000
WHO: Final = Scope("u", "a")
ALICE: Final = entity_id(WHO, "person", "Alice")
PLACES: Final = ("Paris", "Rome")
QUIET: Final = Config(auto_rebalance=False, auto_evolution=False, semantic_routing=False)


def try_versions(draw: Stream, config: Config) -> None:
    """Somebody moves to and fro, as often as leaves all versions, or a few more often."""
    world, count = SmallWorld(WHO, QUIET, NOW_MS, storage=already_told()), KEPT_COUNT + draw.below(6) - 1
    for number in range(TOLD_COUNT + 1, count + 1):
        outcome = world.ask(Remember(number, f"Alice lives in {PLACES[number % 2]}.", embed=False))
        demand(isinstance(outcome, Done), rules.VERSION_CHAIN, f"version {number} of a fact", "done", outcome)
    check_kept(world, count)


def already_told() -> SimStorage:
    """What the first changes leave."""
    who, content = ALICE, f"Alice lives in {PLACES[TOLD_COUNT % 2]}."
    bodies: list[Entity | Version | Relation] = [
        Entity(who, "person", "Alice", content, TOLD_COUNT, 500_000, 700_000, "human", 1, 1),
        *(
            Version(who, number, content, None, content, None, (), None, 1)
            for number in range(1, TOLD_COUNT + 1)
        ),
        *(contradicted(number) for number in range(1, TOLD_COUNT)),
    ]
    writes = tuple(Write(Address(WHO, it.row_kind, it.own_id()), it) for it in bodies)
    storage = SimStorage()
    storage.flush(storage.arrive(Commit(writes, ()), WHO.agent), NOW_MS)
    return storage


def contradicted(number: int) -> Relation:
    ends = (ALICE, number), (ALICE, number + 1)
    return Relation(relation_id(WHO, *ends, "contradict"), "contradict", *ends, 700_000, "", "model", 1)


def check_kept(world: SmallWorld, count: int) -> None:
    bodies = [body for _, body in world.rows()]
    got = sorted(it.version for it in bodies if isinstance(it, Version) and it.entity_id == ALICE)
    due = [*range(max(1, count - KEPT_COUNT + 1), count + 1)]
    demand(due == got, rules.VERSION_CHAIN, f"versions of somebody of whom {count} were told", due, got)
    ends = [(it.source, it.target) for it in bodies if isinstance(it, Relation) and it.source[0] == ALICE]
    got_steps = sorted((source[1], target[1]) for source, target in ends if target[0] == ALICE)
    steps = [(old, old + 1) for old in due[:-1]]
    demand(steps == got_steps, rules.VERSION_CHAIN, f"relations between {count} versions", steps, got_steps)
