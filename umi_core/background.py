"""Background jobs: what a memory begins by itself, as one table.

    job               while the agent is   due
    rebalance         ready                an interval after the last one, if access changed
    evolve_category   ready                when the members of a category are to be divided anew
    upkeep            ready                when a row is to get what it is missing
    purge             closed               when the purge goes on, page by page

Law 1. A job runs once at a time, and its next run is scheduled before this one begins, whatever its result.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.limits import PURGE_AGAIN_MS
from umi_core.messages.requests import EvolveCategory
from umi_core.state import ALONE, Phase, State
from umi_core.workflows.commits import REQUEST
from umi_core.workflows.upkeep import ROW_ID

Due = tuple[int, str]
"""When something is due, in milliseconds, and its name or id; of equal times the smaller name is first."""


class BackgroundJob(Data):
    """One row of the table. `begins`: schedules the next run, and gives the workflow and its facts.

    `counts_requested`: an operation that a caller asked for counts as a run of this job as well.
    """

    name: str
    workflows: tuple[str, ...]
    phase: Phase
    due: Callable[[State], Due | None]
    begins: Callable[[State, str], tuple[str, Mapping[str, object]]]
    counts_requested: bool = False

    def next_due(self, state: State) -> Due | None:
        """Return when it wants to run next; None while it may not or need not."""
        if state.phase != self.phase or (due := self.due(state)) is None:
            return None
        # A request that opens a closed agent waits in the queue for the purge, which must not wait for it.
        is_held = is_switching(state) if self.phase == "ready" else is_alone(state)
        return None if is_held or self.is_running(state) else due

    def is_running(self, state: State) -> bool:
        return any(
            op.workflow in self.workflows and (op.op_id is None or self.counts_requested)
            for op in state.operations.values()
        )


def is_alone(state: State) -> bool:
    """Return whether an operation is running that closes or opens the agent."""
    return any(op.workflow in ALONE for op in state.operations.values())


def is_switching(state: State) -> bool:
    """Return whether the agent is about to be closed or opened: then nothing else begins."""
    return bool(state.queue) or is_alone(state)


def earliest(times: Mapping[str, int]) -> Due | None:
    return min(((due_ms, name) for name, due_ms in times.items()), default=None)


def rebalance_due(state: State) -> Due | None:
    access = state.tiers.access
    if not (state.config.auto_rebalance and access.is_due):
        return None
    return access.ran_ms + state.config.rebalance_interval_ms, ""


def begin_rebalance(state: State, name: str) -> tuple[str, Mapping[str, object]]:
    # Scheduled before it runs: if it fails, the next one is an interval away and not at once.
    state.tiers.access = structs.replace(state.tiers.access, ran_ms=state.seen_ms)
    return "rebalance", REQUEST(None)


def begin_evolution(state: State, name: str) -> tuple[str, Mapping[str, object]]:
    next_ms = state.seen_ms + state.config.evolution_interval_ms
    state.tiers.divisions = {**state.tiers.divisions, name: next_ms}
    return "evolve_category", REQUEST(EvolveCategory("", name))


def begin_upkeep(state: State, row_id: str) -> tuple[str, Mapping[str, object]]:
    state.tiers.upkeep = {**state.tiers.upkeep, row_id: state.seen_ms + state.config.upkeep_interval_ms}
    return "upkeep", ROW_ID(row_id)


def begin_purge(state: State, row_id: str) -> tuple[str, Mapping[str, object]]:
    state.tiers.upkeep = {**state.tiers.upkeep, row_id: state.seen_ms + PURGE_AGAIN_MS}
    return "purge", {}


# Upkeep, and what it is followed by: while one of these runs without a caller, no other row is looked at.
UPKEEPING: Final = ("upkeep", "memorize", "summarise", "reflect")

# In the order in which due jobs begin. A rebalance or a division that a caller asked for does the work of the
# job too, so none begins beside it; a caller's memorize is about its own text, and upkeep goes on.
JOBS: Final = (
    BackgroundJob(
        "rebalance", ("rebalance",), "ready", rebalance_due, begin_rebalance, counts_requested=True
    ),
    BackgroundJob(
        "evolve_category", ("evolve_category",), "ready", lambda state: earliest(state.tiers.divisions),
        begin_evolution, counts_requested=True,
    ),
    BackgroundJob("upkeep", UPKEEPING, "ready", lambda state: earliest(state.tiers.upkeep), begin_upkeep),
    BackgroundJob("purge", ("purge",), "closed", lambda state: earliest(state.tiers.upkeep), begin_purge),
)  # fmt: skip

BACKGROUND: Final = ("recover", *(workflow for job in JOBS for workflow in job.workflows))
"""Workflows that run without a caller."""
