"""Umi's own memory as a target: its incarnations, their limits, and changes of their workflows."""

from collections.abc import Collection, Iterable, Iterator

from umi_core.config import Config
from umi_core.engine.registry import Registry
from umi_core.memory import Memory
from umi_core.messages.effects import Asked, Commit
from umi_core.messages.requests import OF_MEMORY
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import Address, Core
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.machines.fence import EVERYTHING, Fence
from umi_sim.machines.protocol import InitialStorage, Machine, Origin, Target
from umi_sim.machines.revisions import Revisions
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.record.category_lists import config_of_incarnation
from umi_sim.record.run_config import RunConfig
from umi_sim.services.calls import Services


class UmiMachine(Memory):
    """A memory with the interface of a machine."""

    @property
    def seen_ms(self) -> int:
        return self.state.seen_ms

    @property
    def is_recovering(self) -> bool:
        return self.state.phase == "recovering"

    @property
    def is_committing(self) -> bool:
        return any(isinstance(operation.sent, Commit) for operation in self.state.operations.values())

    @property
    def is_working(self) -> bool:
        return bool(self.state.operations) or self.state.phase == "recovering"

    def running(self) -> Iterator[str]:
        return (operation.workflow for operation in self.state.operations.values())

    def awaits(self, request_id: int, reading_ms: int) -> bool:
        """Return True if an operation waits for the answer, and the deadline has not been reached."""
        state = self.state
        operation = state.waiting_for(request_id)
        due_ms = None if operation is None else operation.due_ms
        # A step handles deadlines first, so an answer in the millisecond of its deadline is late.
        return due_ms is not None and due_ms > max(reading_ms, state.seen_ms)

    def origin_of(self, effect: Asked) -> Origin:
        """Return the origin. Raises Broken if no operation waits for the answer to this effect."""
        operation = self.state.waiting_for(effect.request_id)
        if operation is None:
            message = f"no operation waits for the answer to question {effect.request_id}"
            raise Broken(rules.WORKFLOW_CONTRACT, message, "an operation", None)
        # In the revision with which the operation began, because its row number is one of that table.
        step = self.registry.at(operation.workflow, operation.revision).steps[operation.row].id
        op_id = None if operation.op_id is None else str(operation.op_id)
        return Origin(op_id, operation.workflow, operation.number, step)

    def make_copy(self) -> "UmiMachine | None":
        """Return a restored copy; None without operations in flight, as a copy would then test nothing."""
        if not self.state.operations:
            return None
        return self.restore(self.snapshot(), self.registry, life=self.life, scope=self.state.scope)


class UmiTarget(Target):
    """A target of memories with one configuration and one registry of workflows."""

    requests: Collection[str] = OF_MEMORY
    fence = Fence(EVERYTHING, blames=("umi_core",), renames=("umi_core",))

    def __init__(self, config: RunConfig, registry: Registry = BUILT_IN) -> None:
        self.config = config
        self.registry = registry
        self._revisions = Revisions(config.revise_every)
        self._begun: dict[str, int] = {}  # by agent, the number of its last incarnation
        self._entry_count_max: dict[str, int] = {}  # of core, by agent, if not as configured

    def services(self) -> Services:
        config = self.config
        dims = Config.of(config.memory).embedding_dims
        return Services(
            {agent.name: dims for agent in config.agents}, config.capacity_bytes, config.loss_max,
            page_rows=config.page_rows,
        )  # fmt: skip

    def begin(self, agent: str, scope: Scope, stored: InitialStorage) -> Machine:
        return UmiMachine(scope, self.config_of(agent, found_cores(scope, stored)), self.registry)

    def config_of(self, agent: str, cores: Iterable[Core]) -> Config:
        """Return the options of the agent's next incarnation.

        Entries of the self block never leave core, so a limit of `limit_entries` is raised if they need more.
        A raised limit stays: else a plain restart, after one of them was removed, would find less room.
        """
        life = self._begun[agent] = self._begun.get(agent, -1) + 1  # counted from 0
        limit = self._entry_count_max.get(agent)
        if limit is None:
            return config_of_incarnation(self.config, life)
        # The new incarnation may recover the stored core, or one of a commit in flight.
        limit = self._entry_count_max[agent] = max((limit, *map(own_count, cores)))
        return config_of_incarnation(self.config, life, core_entry_count_max=limit)

    def revise(self, op_id: str | None, machines: Iterable[Machine]) -> bool:
        registry = self._revisions.change_before(op_id, self.registry)
        if registry is self.registry:
            return False
        self.registry = registry
        for machine in machines:
            assert isinstance(machine, Memory)
            machine.use(registry)
        return True

    def entry_counts(self, scope: Scope, services: Services) -> tuple[int, int]:
        """Count the entries of the stored core: those of the self block, and all."""
        core = stored_core(scope, services)
        return (own_count(core), entry_count(core)) if core else (0, 0)

    def limit_entries(self, agent: str, entry_count_max: int | None) -> bool:
        before = self._entry_count_max.get(agent)
        if entry_count_max is None:
            self._entry_count_max.pop(agent, None)
        else:
            self._entry_count_max[agent] = entry_count_max
        return before != entry_count_max


def memory_of(machine: Machine | None) -> Memory | None:
    """Return the machine if it is Umi's memory, else None."""
    return machine if isinstance(machine, UmiMachine) else None


def stored_core(scope: Scope, services: Services) -> Core | None:
    row = services.storage.rows.get(Address(scope, "core", "core"))
    return row.body if row and isinstance(row.body, Core) else None


def found_cores(scope: Scope, stored: InitialStorage) -> Iterator[Core]:
    """Yield each core that recovery may find: the stored one, and those of commits in flight."""
    if core := stored_core(scope, stored.services):
        yield core
    for commit in stored.commits():
        yield from (row.body for row in commit.writes if isinstance(row.body, Core))


def own_count(core: Core) -> int:
    return sum(len(block.entries) for block in core.blocks if block.kind == SELF_BLOCK)


def entry_count(core: Core) -> int:
    return sum(len(block.entries) for block in core.blocks)
