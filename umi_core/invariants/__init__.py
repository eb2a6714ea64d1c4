"""Invariants: rules over the plain data of a memory, and over what one step made of it.

    tiers.py        working tier, snapshots, core tier, renderings, scores
    operations.py   operations in flight, alone and against their tables
    steps.py        a memory before and after one step
    stands.py       where operations stood before a step
    accesses.py     what counts as an access, which records a scan looks at
    prompts.py      what a model is asked
    calls.py        what is told of each question to a model or an embedder
    settling.py     commits whose outcome was unknown, and what is learnt of them in the end
    plans.py        commits as they are planned: which entries enter core, which leave, and why
    homes.py        in which block of core an entry stands
    vectors.py      what an embedder is asked, and what is made of its answer
    walk.py         admission and eviction a second time, in the simplest way, to compare with
    rules.py        the rules, each with its name and id
    broken.py       how a rule is broken

Law 1. Nothing is changed; a broken rule raises Broken with its readable name.
Law 2. A rule takes no shortcut of the code that it judges: bytes, evicted entries and due times are counted
       again from scratch, in the simplest way.
"""

from collections.abc import Sequence

from umi_core.invariants import limits, rules
from umi_core.invariants.broken import Broken
from umi_core.invariants.operations import WorkflowTables, check_in_flight, check_tables
from umi_core.invariants.plans import check_plan
from umi_core.invariants.stands import StateSnapshot, before_step, describe_step
from umi_core.invariants.steps import check_replies, check_self_stays, check_step
from umi_core.invariants.tiers import (
    check_core,
    check_core_limits,
    check_rendering,
    check_scores,
    check_snapshot,
    check_unsaved,
    check_working,
)
from umi_core.messages.answers import Value
from umi_core.messages.effects import Reply
from umi_core.state import State

__all__ = [
    "Broken", "StateSnapshot", "before_step", "check_cheap", "check_core", "check_core_limits", "check_full",
    "check_in_flight", "check_memory", "check_plan", "check_rendering", "check_replies",
    "check_scores", "check_self_stays", "check_snapshot", "check_step", "check_tables", "check_whole_step",
    "check_working", "describe_step",
]  # fmt: skip


def check_whole_step(
    before: StateSnapshot, value: Value, state: State, tables: WorkflowTables, replies: Sequence[Reply]
) -> StateSnapshot:
    """Check every rule over one step: `before` it, the `value` it was given, and what it made.

    Returns the snapshot that the next step is compared with, if nothing else changes the state meanwhile.
    """
    told = describe_step(before, value, state)
    check_step(before, told, state)
    check_replies(before, told, state, replies)
    known = [stand.waiting for stand in before.stands.values() if stand.waiting is not None]
    check_tables(state, tables, known)
    check_cheap(state)
    return told.after


def check_memory(state: State) -> None:
    """Check every rule over the state alone."""
    check_cheap(state)
    check_full(state)


def check_cheap(state: State) -> None:
    """Check totals against their limits, and operations in flight; counts nothing again."""
    config, tiers = state.config, state.tiers
    used, count = tiers.working.used_bytes, len(tiers.working.entries)
    if not 0 <= used <= config.working_bytes_max:
        raise Broken(rules.SPACE_ACCOUNTING, "bytes of the working tier", config.working_bytes_max, used)
    if count > config.working_entry_count_max:
        raise Broken(rules.SPACE_ACCOUNTING, "working entries", config.working_entry_count_max, count)
    if (rewrites := len(tiers.rewrites.rewrites)) > limits.RESOLVE_CACHE_COUNT_MAX:
        raise Broken(rules.TABLES_BOUNDED, "kept rewrites", limits.RESOLVE_CACHE_COUNT_MAX, rewrites)
    if state.operations or state.queue:
        check_in_flight(state)


def check_full(state: State) -> None:
    """Check everything in the tiers, counted again."""
    tiers, config, now_ms = state.tiers, state.config, state.seen_ms
    check_working(tiers.working, now_ms)
    check_snapshot(tiers.working, tiers.session, now_ms, config)
    check_core(tiers.core)
    if state.phase == "ready":  # before that, stored core may be larger than limits that were lowered
        check_core_limits(tiers.core, config)
    check_rendering(tiers.core)
    check_unsaved(tiers.access)
    check_scores(tiers.access, now_ms)
