"""A run at rest: the rows that must last, the work that may be pending, and checks that none is."""

from collections.abc import Callable, Iterable
from typing import Final

from umi_core.ids import category_id
from umi_core.messages.effects import Done, Reply
from umi_core.messages.results import Rebalanced
from umi_core.rows import Address, Category, Row
from umi_core.values import Scope
from umi_sim.judge.invariants.store import check_purged, is_closed
from umi_sim.judge.invariants.upkeep import list_unfinished
from umi_sim.judge.oracle.judge import Oracle
from umi_sim.judge.plain.requests import is_no_agent
from umi_sim.judge.plain.scores import division_ms
from umi_sim.machines.umi import memory_of
from umi_sim.record import rules
from umi_sim.record.category_lists import all_categories
from umi_sim.record.items import Args
from umi_sim.services.storage import SimStorage
from umi_sim.world.agent import Agent
from umi_sim.world.world import World

SCANNED: Final = ("entity", "access", "core")
Demand = Callable[..., None]
UPKEEP_ROUND_COUNT_MAX: Final = 200
LOSS_ROUND_COUNT_MAX: Final = 10
"""The limit of rounds after storage has lost rows for good: upkeep may then look for them for ever."""
WITHOUT_ROOM: Final = f"equal: {rules.ROOM_COMES_BACK.id}"
"""The mark of a run in which an incarnation had no room for what was stored."""

LASTING: Final[tuple[tuple[str, Args], ...]] = (
    ("blocks", {}), ("render", {"form": "xml"}), ("render", {"form": "markdown"}), ("core_bytes", {}),
)  # fmt: skip
DIVIDED_COUNT_MAX: Final = 2
"""How often each division is requested. One that another commit has done stays scheduled until a request
finds that nothing is left to divide."""


def due_later(world: World) -> tuple[tuple[str, Args], ...]:
    """Return requests for the divisions that a memory may have scheduled for hours after its last scan."""
    return tuple(("evolve_category", {"category": name}) for name in all_categories(world.config))


def lasting_rows(storage: SimStorage) -> dict[Address, Row]:
    """Return all rows except those that every scan changes: its cursor, receipts and the epoch."""
    moved_on = ("head", "receipt", "epoch")
    return {where: row for where, row in storage.rows.items() if where.kind not in moved_on}


def is_settled(pages: Iterable[Reply], *, begins_anew: bool = False) -> bool:
    """Check whether one whole scan, from its first page to its last, finds nothing to do."""
    is_idle = begins_anew  # otherwise the first page may belong to a scan that began long ago
    #   pages   end of an old scan | first page ... last page of a complete scan
    #   idle    not known          | True while no page changes anything ... settled
    for reply in pages:
        if is_no_agent(reply.outcome):
            return True  # a closed agent scans nothing
        page = reply.outcome.value if isinstance(reply.outcome, Done) else None
        if not isinstance(page, Rebalanced):
            is_idle = False  # the page failed, so what it would have found is not known
            continue
        is_idle = is_idle and not (page.promoted or page.repaired or page.pruned)
        if is_idle and not page.cursor:
            return True
        is_idle = is_idle or not page.cursor  # after the last page the next one begins a complete scan
    return False


def with_something_to_scan(world: World) -> list[Agent]:
    """Return the agents that have a scan scheduled, or have stored rows that a scan reads."""
    agents = world.agents.values() if "rebalance" in world.target.requests else ()
    stored = {where.scope for where in world.services.storage.rows if where.kind in SCANNED}
    return [
        agent for agent in agents
        if agent.config.scope in stored or agent.machine is None or agent.machine.deadline_ms() is not None
    ]  # fmt: skip


def core_of(agent: Agent) -> list[tuple[str, object]]:
    """Return phase and core of a memory of ours, which determine its replies about core; else nothing."""
    memory = memory_of(agent.machine)
    return [] if memory is None else [("phase", memory.state.phase), ("core", memory.state.tiers.core.blocks)]


def keep_up(world: World, step_max: int, demand: Demand) -> None:
    """Let time pass until no memory knows of anything left to do. `demand`: raises Broken."""
    has_loss = bool(world.services.atlas.losses)
    for _ in range(LOSS_ROUND_COUNT_MAX if has_loss else UPKEEP_ROUND_COUNT_MAX):
        waiting = [agent for agent in world.incarnations if agent.wake_ms is not None]
        if not waiting or not any(wants_upkeep(world, agent) for agent in world.incarnations):
            break
        # The name breaks ties, so that a replay wakes two agents with equal times in the same order.
        first = min(waiting, key=lambda agent: (agent.wake_ms, agent.name))
        world.set_time(max(first.wake_ms or 0, world.now_ms))
        world.deliver_wake(first)
        world.run_until_quiet(step_max)
    for agent in world.agents.values():
        machine = memory_of(agent.machine)
        if machine is not None and machine.state.phase == "closed" and not machine.state.tiers.upkeep:
            check_purged(world.services.storage, agent.config.scope)
    left = {agent.name: keys for agent in world.incarnations if (keys := upkeep_of(agent))}
    message = "something is still to be done that was pending"
    demand(not left or has_loss, rules.PENDING_UNTIL_DONE, message, {}, left)


def may_be_left(world: World) -> bool:
    """Check whether upkeep is pending that cannot be finished, since storage has lost rows."""
    return bool(world.services.atlas.losses) and any(
        wants_upkeep(world, agent) for agent in world.incarnations
    )


def check_upkeep(world: World, step_max: int, demand: Demand) -> None:
    """Check that no upkeep is pending. Call it after a restart, when a memory has found all pending work."""
    keep_up(world, step_max, demand)
    for agent in world.agents.values():
        left = list_pending_upkeep(world, agent)
        demand(not left, rules.PENDING_UNTIL_DONE, f"{agent.name}: rows that lack something", (), left)


def upkeep_of(agent: Agent) -> tuple[str, ...]:
    machine = memory_of(agent.machine)
    return () if machine is None else tuple(machine.state.tiers.upkeep)


def access_rows(world: World, agent: Agent) -> dict[str, int]:
    """Return the versions of the access records in storage, by fact."""
    rows = world.services.storage.live_rows(agent.config.scope)
    return {row.address.id: row.version for row in rows if row.address.kind == "access"}


def wants_scan(agent: Agent) -> bool:
    """Check whether this memory has scheduled another scan of its access records."""
    machine = memory_of(agent.machine)
    return machine is not None and machine.state.tiers.access.is_due


def wants_upkeep(world: World, agent: Agent) -> bool:
    """Check whether a memory has upkeep to do; another implementation shows only that it has a deadline."""
    machine = agent.machine
    if machine is None or memory_of(machine) is not None:
        return bool(upkeep_of(agent))
    return bool(world.config.memory.get("upkeep_interval_ms")) and machine.deadline_ms() is not None


def list_pending_upkeep(world: World, agent: Agent) -> list[str]:
    """List stored rows with unfinished upkeep; empty if upkeep is off or storage has lost rows."""
    machine, storage = memory_of(agent.machine), world.services.storage
    if machine is None or not machine.state.config.upkeep_interval_ms or world.services.atlas.losses:
        return []
    return [it.id for it in list_unfinished(storage, agent.config.scope)]


def has_more_to_divide(world: World, agent: Agent) -> bool:
    """Check whether a category is still to be divided.

    If the commit that made a division due was never acknowledged, only the row of the category shows it; the
    memory learns of it at its next restart.
    """
    machine, scope = agent.machine, agent.config.scope
    # While a deadline is set, the pending work may be the division, so the caller requests it.
    if machine is None or machine.deadline_ms() is not None:
        return machine is not None
    memory, rows = memory_of(machine), world.services.storage.rows
    config = None if memory is None else memory.state.config
    names = all_categories(world.config)
    kept = (rows.get(Address(scope, "category", category_id(scope, name))) for name in names)
    bodies = [it.body for it in kept if it is not None and isinstance(it.body, Category)]
    return config is not None and any(division_ms(it, config) is not None for it in bodies)


def count_without_room(world: World) -> int:
    """Start memories that have no room for their stored core; count them. Raises Broken for harm (LIVE-5)."""
    storage, memory, count = world.services.storage, world.config.memory, 0
    for agent in world.agents.values():
        machine, scope = memory_of(agent.machine), agent.config.scope
        has_none = machine is None or is_closed(storage, scope) or not has_core(storage, scope)
        if machine is None or has_none or rules.ROOM_COMES_BACK.name in world.config.off:
            continue
        from umi_sim.judge.equivalences.room import compare_without_room  # many runs do not need it

        count += compare_without_room(
            scope, memory, machine.registry, storage, agent.clock.reading(world.now_ms)
        )
    return count


def has_core(storage: SimStorage, scope: Scope) -> bool:
    return Address(scope, "core", "core") in storage.rows


def must_have_arrived(world: World, oracle: Oracle) -> None:
    """Check the rows that a migration has moved to a memory. Raises Broken (MIG-14, KEL-16)."""
    storage, names = world.services.storage, (rules.MIGRATION_ARRIVES.name, rules.CLOSED_IS_CLOSED.name)
    if "advance_migration" not in world.target.requests or any(name in world.config.off for name in names):
        return
    from umi_sim.judge.arrival import check_arrival  # most runs do not need it

    for agent in world.agents.values():
        check_arrival(oracle.agents[agent.name].migration, storage, agent.config.scope, world.now_ms)
