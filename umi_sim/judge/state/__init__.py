"""Invariants of a memory alone: rules over its plain data, and over the changes of one step.

    tiers.py        snapshots, limits of the core tier
    steps.py        a memory before and after one step
    snapshots.py    the state of operations before a step
    accesses.py     which accesses are counted, and which records a scan reads
    prompts.py      questions to a model, and the record of each question to a model or an embedder
    settling.py     commits of unknown outcome, and how they are settled
    plans.py        planned commits: which entries enter or leave core, why, and in which block
    vectors.py      questions to an embedder, and the use of its answers
    eviction.py     a second, simplest implementation of admission and eviction, for comparison

Law 1. Nothing is changed; a broken rule raises Broken with its readable name.
Law 2. A rule shares no shortcut with the code that it judges: bytes, evicted entries and scheduled times are
       computed from scratch, in the simplest way. Rules and Broken are in umi_sim/record/.
Law 3. The requirements of umi_core.state_checks, which also hold for a saved state, are judged here as rules
       of the same names. Bounds come from umi_core.limits, as in the memory; tests/unit/core/test_limits.py
       compares those with the specification.
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
from umi_sim.judge.state.steps import check_replies, check_step
from umi_sim.judge.state.tiers import (
    check_core_limits,
    check_snapshot,
    check_unsaved,
)
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

__all__ = [
    "Broken",
    "StateSnapshot",
    "before_step",
    "check_cheap",
    "check_core",
    "check_core_limits",
    "check_full",
    "check_memory",
    "check_plan",
    "check_replies",
    "check_snapshot",
    "check_step",
    "check_step_result",
    "check_tables",
    "check_working",
    "describe_step",
]  # fmt: skip


def demand_all(requirements: Requirements) -> None:
    for it in requirements:
        demand(it.holds, rules.NAMED[it.promise], it.message, it.expected, it.got)


def check_cheap(state: State) -> None:
    """Check totals against their limits, and operations in flight, without recounting."""
    demand_all(state_checks.check_cheap(state))


def check_tables(state: State, registry: Registry, known: Container[int | None] = ()) -> None:
    """Demand that each operation in flight agrees with its workflow, except those with a `known` question."""
    demand_all(state_checks.check_tables(state, registry, known))


def check_working(tier: WorkingTier, now_ms: int) -> None:
    """Demand that entries are within their limits, and that totals of bytes and deadlines are right."""
    demand_all(state_checks.check_working(tier, now_ms))


def check_core(core: CoreTier) -> None:
    """Demand that core has each id and each slot once, in the order in which it is rendered."""
    demand_all(state_checks.check_core(core))


def check_step_result(
    before: StateSnapshot, value: Value, state: State, registry: Registry, replies: Sequence[Reply]
) -> StateSnapshot:
    """Check every rule over a step with the input `value`, from the state `before` it to `state`.

    Returns the snapshot for the comparison with the next step, if nothing else changes the state before it.
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
    """Check everything in the tiers, recounting all totals."""
    tiers, config, now_ms = state.tiers, state.config, state.seen_ms
    check_working(tiers.working, now_ms)
    check_snapshot(tiers.working, tiers.session, now_ms, config)
    check_core(tiers.core)
    if state.phase == "ready":  # before that, stored core may exceed lowered limits
        check_core_limits(tiers.core, config)
    check_unsaved(tiers.access)
