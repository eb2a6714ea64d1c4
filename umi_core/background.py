"""Background jobs: what a memory begins by itself, as one table.

    job               while the agent is   due
    rebalance         ready                an interval after the last one, if access changed
    evolve_category   ready                when a category is scheduled for a new division into groups
    upkeep            ready                when a row is scheduled for repair (vector, summary, reading)
    purge             closed               when the next page of rows is scheduled for removal

Law 1. A job never runs twice at a time. Its next run is scheduled before the current one begins, whatever
the result of the current one.
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
"""The due time in milliseconds, and the name or row id; if times are equal, the smaller name is first."""


class BackgroundJob(Data):
    """One row of the table. `begins` schedules the next run and returns the workflow and its facts.

    `counts_requested`: an operation that a caller requested counts as a run of this job, too.
    """

    name: str
    workflows: tuple[str, ...]
    phase: Phase
    due: Callable[[State], Due | None]
    begins: Callable[[State, str], tuple[str, Mapping[str, object]]]
    counts_requested: bool = False

    def next_due(self, state: State) -> Due | None:
        """Return when the job is due next; None while it must not run or has nothing to do."""
        if state.phase != self.phase or (due := self.due(state)) is None:
            return None
        # A queued request to open a closed agent waits for the purge, so the purge ignores the queue.
        is_blocked = is_switching(state) if self.phase == "ready" else is_alone(state)
        return None if is_blocked or self.is_running(state) else due

    def is_running(self, state: State) -> bool:
        return any(
            op.workflow in self.workflows and (op.op_id is None or self.counts_requested)
            for op in state.operations.values()
        )


def is_alone(state: State) -> bool:
    """Return whether an operation that closes or opens the agent is running."""
    return any(op.workflow in ALONE for op in state.operations.values())


def is_switching(state: State) -> bool:
    """Return whether the agent is being closed or opened, or a request waits for that; no job begins then."""
    return bool(state.queue) or is_alone(state)


def earliest(times: Mapping[str, int]) -> Due | None:
    return min(((due_ms, name) for name, due_ms in times.items()), default=None)


def rebalance_due(state: State) -> Due | None:
    access = state.tiers.access
    if not (state.config.auto_rebalance and access.is_due):
        return None
    return access.ran_ms + state.config.rebalance_interval_ms, ""


def begin_rebalance(state: State, name: str) -> tuple[str, Mapping[str, object]]:
    # Scheduled before it runs, so that the next run is one interval away even if this one fails.
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


# Upkeep, and the workflows that it starts: while one of these runs without a caller, upkeep is not due.
UPKEEPING: Final = ("upkeep", "memorize", "summarise", "reflect")

# In the order in which due jobs begin. A rebalance or a division that a caller requested does the work of the
# job, so the job waits for it. A memorize that a caller requested repairs no row, so upkeep goes on.
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
