"""Mutants that no outside judge can see, or only by rare luck: two ways that must meet no longer do."""

from collections.abc import Iterable
from typing import Any, Final

import attrs

from umi_core import codec
from umi_core.engine import lifecycle
from umi_core.engine.engine import Engine
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import AskModel, Effect
from umi_core.tiers import working
from umi_core.tiers.rewrites import RewriteCache
from umi_core.tiers.working import WorkingTier
from umi_core.workflows import recall
from umi_sim.mutants import Mutant, Original, Patch

SCENARIO: Final = "equivalences"


# What a memory knows, and its bytes do not.


def patient(effects: Iterable[Effect], is_patient: bool) -> tuple[Effect, ...]:
    """The questions to a model with twice the time."""
    return tuple(
        attrs.evolve(it, timeout_ms=2 * it.timeout_ms) if is_patient and isinstance(it, AskModel) else it
        for it in effects
    )


def patience_in_the_object(original: Original) -> Original:
    def full_step(self: Memory, value: Any) -> object:
        self.__dict__["has_failed"] = self.__dict__.get("has_failed") or isinstance(value, EffectFailed)
        return patient(original(self, value), self.__dict__["has_failed"])

    return full_step


def patience_in_the_process(original: Original) -> Original:
    failures: list[object] = []

    def full_step(self: Memory, value: Any) -> object:
        if isinstance(value, EffectFailed):
            failures.append(value)
        return patient(original(self, value), bool(failures))

    return full_step


def unsorted(original: Original) -> Original:
    def plain_parts(values: Iterable[Any]) -> list[Any]:
        return [
            [codec.DICT, *plain_parts(part for pair in value.items() for part in pair)]
            if value.__class__ is dict
            else original((value,))[0]
            for value in values
        ]

    return plain_parts


# Time.


def first_due_alone(original: Original) -> Original:
    def handle_due(engine: Engine) -> None:
        state, first = engine.state, lifecycle.next_due(engine)
        now_ms, operations = state.seen_ms, [op for op in state.operations.values() if op is not first]
        late = {op.number: op.due_ms for op in operations if op.due_ms is not None and op.due_ms <= now_ms}
        for number in late:
            state.operations[number].due_ms = now_ms + 1
        original(engine)
        for number, due_ms in late.items():
            if number in state.operations:
                state.operations[number].due_ms = due_ms

    return handle_due


def counted_together(original: Original) -> Original:
    def drop_expired(tier: WorkingTier, now_ms: int) -> None:
        before = tier.expired_count
        original(tier, now_ms)
        tier.expired_count = min(tier.expired_count, before + 1)

    return drop_expired


# Questions.


def terms_forgotten(original: Original) -> Original:
    def find(self: RewriteCache, key: bytes, now_ms: int) -> object:
        found = original(self, key, now_ms)
        return found and attrs.evolve(found, terms=())

    return find


def end_left_out(original: Original) -> Original:
    def where_of(facts: Any) -> object:
        where = original(facts)
        return where if where.end_ms is None else attrs.evolve(where, end_ms=max(0, where.end_ms - 1))

    return where_of


ROWS: Final = (
    Mutant("patience-kept-outside-state", "workflow engine",
           "how long a memory waits once something has failed is kept beside its state",
           ("copied-state-continues",), SCENARIO, (Patch(Memory, "full_step", patience_in_the_object),)),
    Mutant("patience-outlives-a-life", "workflow engine",
           "what one life has learnt of failing services is still known to the next one in the same process",
           ("replay-inputs",), SCENARIO, (Patch(Memory, "full_step", patience_in_the_process),)),
    Mutant("bytes-in-order-of-arrival", "snapshot", "the bytes of a state tell which entry came first",
           ("either-order",), SCENARIO, (Patch(codec, "plain_parts", unsorted),)),
    Mutant("jump-wakes-one-at-a-time", "workflow engine",
           "of several due times that have passed, all but the first wait for another step",
           ("jump-or-steps",), SCENARIO, (Patch(lifecycle, "handle_due", first_due_alone),)),
    Mutant("expired-together-count-once", "working", "entries that are found expired together count as one",
           ("sweep-or-read",), SCENARIO, (Patch(working, "drop_expired", counted_together),)),
    Mutant("cached-rewrite-forgets-its-terms", "resolution",
           "a query that was resolved before is answered without the terms that were resolved",
           ("cache-invisible",), SCENARIO, (Patch(RewriteCache, "find", terms_forgotten),)),
    Mutant("range-without-its-end", "search", "what happened in the last millisecond of a range is left out",
           ("filter-equals-whole", "filter-before-cut", "error-is-not-empty"), SCENARIO,
           (Patch(recall, "where_of", end_left_out),)),
)  # fmt: skip
