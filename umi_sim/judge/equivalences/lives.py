"""Lives as plain data: each input of a memory with the time on its clock, and the effects of its step.

Law 1. Values are frozen, so a step is recorded by references alone, with one append.
Law 2. A life begins with a new memory, and ends with a crash or with the run.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from umi_core.codec import state_digest
from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.engine.registry import Registry
from umi_core.errors import Rejected
from umi_core.memory import Memory
from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect
from umi_core.values import Scope
from umi_sim.kernel.fork import fork_graph
from umi_sim.record import rules
from umi_sim.record.broken import Broken

SHOWN_CHARS: Final = 200


class LifeStep(NamedTuple):
    """One input, the tables in force, the effects, and when the memory must be woken next."""

    now_ms: int
    value: Value
    registry: Registry
    effects: tuple[Effect, ...]
    deadline_ms: int | None

    @property
    def name(self) -> str:
        return type(self.value).__name__


class RecordedLife(Data):
    """One incarnation of a memory from its start. `number`: counted from 1 for each agent. `digest`: of its
    state at the end. `seed`: of the run.
    """

    agent: str
    number: int
    scope: Scope
    config: Config
    steps: tuple[LifeStep, ...]
    digest: bytes
    seed: int = 0

    def create_memory(self, config: Config | None = None) -> Memory:
        """Return the memory as it was before its first input."""
        return Memory(self.scope, config or self.config, self.steps[0].registry)

    def replay_steps(self) -> Iterator[tuple[int, LifeStep, Memory]]:
        """Replay the life; yield the number of each step, the step, and the memory before it."""
        memory = self.create_memory()
        for number, step in enumerate(self.steps):
            use_tables(memory, step)
            yield number, step, memory
            memory.step(step.now_ms, step.value)


def use_tables(memory: Memory, step: LifeStep) -> None:
    """Give the memory the tables of a step, which may have changed during the life."""
    if memory.registry is not step.registry:
        memory.use(step.registry)


def copy_saved(memory: Memory) -> tuple[Memory, int]:
    """Return the memory restored from its bytes, and how many these are. Raises Broken if it refuses them."""
    saved = memory.snapshot()
    try:
        return Memory.restore(saved, memory.registry, life=memory.life), len(saved)
    except Rejected as refused:
        what = f"the memory refuses its own bytes: {refused}"
        raise Broken(rules.COPIED_STATE_CONTINUES, what) from refused


def twin(memory: Memory) -> Memory:
    """Return a memory in the same state as this one, independent of it."""
    return Memory.standing_at(fork_graph(memory.state), memory.registry)


def shorten_value(value: object) -> str:
    """Return a value as a short text for a message."""
    return str(value)[:SHOWN_CHARS]


class LifeRecorder(Owner):
    """The lives of a run in progress, by agent."""

    seed: int = 0
    steps: dict[str, list[LifeStep]] = {}
    memories: dict[str, Memory] = {}
    counts: dict[str, int] = {}

    def begin(self, agent: str) -> None:
        self.steps[agent] = []
        self.counts[agent] = self.counts.get(agent, 0) + 1

    def record_step(
        self, agent: str, memory: Memory, now_ms: int, value: Value, effects: tuple[Effect, ...]
    ) -> None:
        """Record a step, and keep the memory, which may have been restored from bytes."""
        self.steps[agent].append(LifeStep(now_ms, value, memory.registry, effects, memory.deadline_ms()))
        self.memories[agent] = memory

    def end(self, agent: str) -> RecordedLife | None:
        """Return the life that ends now; None if there was none."""
        # A life without a step has nothing to compare.
        steps, memory = self.steps.pop(agent, None), self.memories.pop(agent, None)
        if not steps or memory is None:
            return None
        state = memory.state
        return RecordedLife(
            agent, self.counts[agent], state.scope, state.config, tuple(steps), state_digest(state), self.seed
        )  # fmt: skip
