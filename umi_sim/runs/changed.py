"""The changes that the failing step made in its memory, for the report of a failure.

Law 1. If that step changed nothing, the report shows the last of the few steps before it that changed a tier.
Law 2. Tiers come first, then operations, since users know tiers and only the engine knows operations.
       Counters and timers come last: they change at many steps and rarely explain a failure.
"""

import re
from collections.abc import Sequence
from typing import Final

from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect
from umi_sim.judge.inspector import Inspector
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.record.run_config import RunConfig
from umi_sim.record.state_tree import Tree, TreeChange, changes, tree_at
from umi_sim.services.storage import SimStorage

# Making a tree of the state costs more than a step, so only the last few steps before the failure get one.
STEP_COUNT: Final = 8
RANKS: Final = ("tiers", "phase", "epoch", "operations")
USUAL: Final = re.compile(r"counters\..*|.*\.(ran_ms|is_due|at_ms)")  # change at nearly every step
HIDDEN: Final = re.compile(  # the time, counts, and parts of an operation that its row contains
    r"(seen_ms|request_count|waiting\..*|.*\.due_ms|operations\.\d+\.(facts|learned|asked|sent|pages|calls|notes)\b.*)"
)


class Changed(Inspector):
    """The inspector of a run that is known to fail at a step; keeps the states around its last steps."""

    def __init__(self, config: RunConfig, failing_step: int) -> None:
        super().__init__(config)
        self._failing_step = failing_step
        self._step = 0
        self._around: tuple[Machine, bytes] | None = None
        self._kept: list[tuple[int, str, Machine, Tree, Tree | None]] = []

    def stepping(self, agent: str, machine: Machine, value: Value, reading_ms: int) -> None:
        self._step += 1
        if self._failing_step - STEP_COUNT < self._step <= self._failing_step:
            # The state after the previous step of the same machine is the state before this one. It is not
            # known if the machine was replaced in between (a restart, a restored copy) or that step raised.
            known = (after for _, _, stepped, _, after in reversed(self._kept) if stepped is machine)
            # The last field, the state after the step, is None until the step returns.
            self._kept.append((self._step, agent, machine, next(known, None) or state_of(machine), None))
        if self._step == self._failing_step:
            self._around = machine, machine.digest()
        super().stepping(agent, machine, value, reading_ms)

    def observe_step(
        self, agent: str, machine: Machine, storage: SimStorage, value: Value, effects: Sequence[Effect]
    ) -> None:
        super().observe_step(agent, machine, storage, value, effects)
        if self._kept and self._kept[-1][0] == self._step:
            step, _, _, before, _ = self._kept[-1]
            self._kept[-1] = (step, agent, machine, before, state_of(machine))

    def list_changes(self) -> tuple[str, ...]:
        """Return a line with the step, and one for each change by rank; empty if nothing changed lately."""
        for step, agent, machine, before, after in reversed(self._kept):
            # A step that raised has no recorded state after it; the present state of the machine is closest.
            found = changes(before, state_of(machine) if after is None else after)
            shown = [change for change in found if not HIDDEN.fullmatch(change.path)]
            # For an earlier step only tiers are shown (law 1): its timers and operations are unrelated.
            if step < self._failing_step:
                shown = [change for change in shown if rank(change) == OF_TIERS]
            if shown:
                where = "" if len(self.oracle.config.agents) == 1 else f" in {agent}"
                return (f"at step {step}{where}:", *(str(change) for change in sorted(shown, key=rank)))
        return ()

    def digests_around(self) -> tuple[str, str]:
        """Return digests of the memory before and after the failing step, in hex."""
        if self._around is None:
            return "", ""
        machine, before = self._around
        try:
            return before.hex(), machine.digest().hex()
        except Exception:  # a step that raised may leave a state that cannot be encoded
            return before.hex(), ""


OF_TIERS: Final = (False, RANKS.index("tiers"))


def rank(change: TreeChange) -> tuple[bool, int]:
    root = change.path.split(".")[0]
    return USUAL.fullmatch(change.path) is not None, RANKS.index(root) if root in RANKS else len(RANKS)


def state_of(machine: Machine) -> Tree:
    """Return the state of a memory as a tree; an empty one for a store of another kind."""
    memory = memory_of(machine)
    return tree_at(memory.state if memory else {})
