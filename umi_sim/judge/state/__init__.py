"""Invariants of a memory alone: rules over the plain data of a memory, and over what one step made of it.

    tiers.py        snapshots, limits of the core tier, renderings, scores
    steps.py        a memory before and after one step
    snapshots.py    where operations stood before a step
    accesses.py     what counts as an access, which records a scan looks at
    prompts.py      what a model is asked, and the record of each question to a model or an embedder
    settling.py     commits whose outcome was unknown, and what is learnt of them in the end
    plans.py        commits as they are planned: which entries enter core or leave, why, in which block
    vectors.py      what an embedder is asked, and what is made of its answer
    eviction.py     admission and eviction a second time, in the simplest way, to compare with

Law 1. Nothing is changed; a broken rule raises Broken with its readable name.
Law 2. A rule takes no shortcut of the code that it judges: bytes, evicted entries and scheduled times are
       counted again from scratch, in the simplest way. Rules and how they are broken are in umi_sim/record/.
Law 3. What umi_core.state_checks requires of a saved state too is judged here as rules of the same names. It
       takes its bounds from umi_core.limits, as the memory does; tests/unit/core/test_limits.py compares
       those with the specification.
"""

from collections.abc import Container, Sequence

from umi_core import state_checks
from umi_core.engine.registry import Registry
from umi_core.messages.answers import Value
from umi_core.messages.effects import Reply
from umi_core.state import State
from umi_core.state_checks import Requirements
from umi_core.tiers.core import CoreTier
from umi_core.tiers.working import WorkingTier
from umi_sim.judge.state.plans import check_plan
from umi_sim.judge.state.snapshots import StateSnapshot, before_step, describe_step
from umi_sim.judge.state.steps import check_replies, check_self_stays, check_step
from umi_sim.judge.state.tiers import (
    check_core_limits,
    check_rendering,
    check_scores,
    check_snapshot,
    check_unsaved,
)
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

__all__ = [
    "Broken", "StateSnapshot", "before_step", "check_cheap", "check_core", "check_core_limits", "check_full",
    "check_memory", "check_plan", "check_rendering", "check_replies",
    "check_scores", "check_self_stays", "check_snapshot", "check_step", "check_tables", "check_whole_step",
    "check_working", "describe_step",
]  # fmt: skip


def demand_all(requirements: Requirements) -> None:
    for holds, promise, message, expected, got in requirements:
        demand(holds, rules.NAMED[promise], message, expected, got)


def check_cheap(state: State) -> None:
    """Check totals against their limits, and operations in flight; count nothing again."""
    demand_all(state_checks.check_cheap(state))


def check_tables(state: State, registry: Registry, known: Container[int | None] = ()) -> None:
    """Demand that every operation in flight is as its table says, except those whose question is `known`."""
    demand_all(state_checks.check_tables(state, registry, known))


def check_working(tier: WorkingTier, now_ms: int) -> None:
    """Demand that entries are within their limits, and that totals of bytes and deadlines are right."""
    demand_all(state_checks.check_working(tier, now_ms))


def check_core(core: CoreTier) -> None:
    """Demand that core has each id and each slot once, in the order in which it is rendered."""
    demand_all(state_checks.check_core(core))


def check_whole_step(
    before: StateSnapshot, value: Value, state: State, registry: Registry, replies: Sequence[Reply]
) -> StateSnapshot:
    """Check every rule over the step that was given `value`: the state `before` it, and `state` after it.

    Returns the snapshot that the next step is compared with, if nothing else changes the state meanwhile.
    """
    given = describe_step(before, value, state)
    check_step(before, given, state)
    check_replies(before, given, state, replies)
    known = [it.waiting for it in before.snapshots.values() if it.waiting is not None]
    check_tables(state, registry, known)
    check_cheap(state)
    return given.after


def check_memory(state: State) -> None:
    """Check every rule over the state alone."""
    check_cheap(state)
    check_full(state)


def check_full(state: State) -> None:
    """Check everything in the tiers, counting again."""
    tiers, config, now_ms = state.tiers, state.config, state.seen_ms
    check_working(tiers.working, now_ms)
    check_snapshot(tiers.working, tiers.session, now_ms, config)
    check_core(tiers.core)
    if state.phase == "ready":  # before that, stored core may be larger than limits that were lowered
        check_core_limits(tiers.core, config)
    check_rendering(tiers.core)
    check_unsaved(tiers.access)
    check_scores(tiers.access, now_ms)
