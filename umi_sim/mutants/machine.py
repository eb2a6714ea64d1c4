"""Mutants of the workflow engine: facts, attempts, waiting, what is told of less."""

from typing import Any, Final

import attrs

from umi_core import codec
from umi_core.engine import around, attempts, lifecycle, permissions, steps
from umi_core.engine.engine import Engine
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Learned, Step
from umi_core.messages.answers import Answer
from umi_core.state import Operation
from umi_sim.mutants import Mutant, Original, Patch


def fact_left_out(registry: Registry) -> Registry:
    """A row of a user's making, which does not do what it declares; the engine must refuse it."""
    forgetful = Step("forgetful", take=says_nothing, produces=(Fact("promised", object),))
    return registry.insert_before("recall", "embed", forgetful)


def says_nothing(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned()


def lacking_let_through(original: Original) -> Original:
    def unsound(operation: Operation, row: Step, facts: Any, **unit: bool) -> object:
        there = tuple(fact for fact in row.produces if fact.name in facts)
        return original(operation, attrs.evolve(row, produces=there), facts, **unit)

    return unsound


def on_the_latest(original: Original) -> Original:
    def proceed(engine: Engine, operation: Operation) -> None:
        operation.revision = engine.registry.latest(operation.workflow)
        original(engine, operation)

    return proceed


def counted_only(original: Original) -> Original:
    def degraded(self: Engine, operation: Operation, *rest: Any) -> None:
        before = operation.degraded
        original(self, operation, *rest)
        operation.degraded = before

    return degraded


def at_once(original: Original) -> Original:
    def sleep(engine: Engine, operation: Operation, row: Step, failure: Any) -> None:
        original(engine, operation, row, attrs.evolve(failure, retry_after_ms=0))

    return sleep


def waits_for_nothing(original: Original) -> Original:
    def load_state(data: bytes) -> object:
        prints, state = original(data)
        state.waiting.clear()
        for operation in state.operations.values():
            operation.waiting = operation.due_ms = None
        return prints, state

    return load_state


def one_of_many(original: Original) -> Original:
    def handle_due(engine: Engine) -> None:
        first, now_ms = lifecycle.next_due(engine), engine.state.seen_ms
        for operation in engine.state.operations.values():
            if operation is not first and (operation.due_ms or now_ms + 1) <= now_ms:
                operation.due_ms = None
        original(engine)

    return handle_due


def named_only(original: Original) -> Original:
    def degraded(self: Engine, operation: Operation, *rest: Any) -> None:
        before = dict(self.state.counters)
        original(self, operation, *rest)
        self.state.counters = before

    return degraded


def untold(original: Original) -> Original:
    def finish(engine: Engine, operation: Operation, outcome: Any) -> None:
        operation.notes = ()
        original(engine, operation, outcome)

    return finish


def anything_goes(original: Original) -> Original:
    return lambda before, after: True


def in_the_same_order(original: Original) -> Original:
    return lambda hooks, onion, *rest: original(hooks, onion[::-1], *rest)


ROWS: Final = (
    Mutant("produces-unchecked", "workflow engine", "a row that leaves out a fact it declares is let through",
           ("workflow-contract",), "calm", (Patch(steps, "unsound", lacking_let_through),),
           tables=fact_left_out),
    Mutant("running-operation-changes-revision", "workflow engine",
           "an operation goes on with rows of a revision made after it began",
           ("revision-pinned", "workflow-contract"), "revisions",
           (Patch(lifecycle, "proceed", on_the_latest),)),
    Mutant("after-hooks-in-order", "workflow engine",
           "interceptors run in one order on the way out and on the way back",
           ("hook-order",), "revisions", (Patch(attempts, "inward", in_the_same_order),)),
    Mutant("step-hooks-in-order", "workflow engine",
           "interceptors around a step run in one order on the way out and on the way back",
           ("hook-order",), "revisions", (Patch(around, "inward", in_the_same_order),)),
    Mutant("degraded-without-saying", "workflow engine", "a row degrades, and the reply does not name it",
           ("degradation-named",), "model_storm", (Patch(Engine, "degraded", counted_only),)),
    Mutant("degraded-without-counting", "workflow engine", "a row degrades, and no counter knows of it",
           ("degradation-named",), "model_storm", (Patch(Engine, "degraded", named_only),)),
    Mutant("hooks-untold", "workflow engine", "what interceptors did is not in the reply",
           ("hook-order",), "revisions", (Patch(lifecycle, "finish", untold),)),
    Mutant("hook-widens-read", "workflow engine", "an interceptor may take conditions of a read away",
           ("degradation-named", "reference-agrees", "error-is-not-empty", "acknowledged-is-durable"),
           "revisions", (Patch(permissions, "adds_conditions", anything_goes),)),
    Mutant("rate-limit-wait-ignored", "workflow engine", "the next attempt comes before the time it was told",
           ("backoff",), "model_storm", (Patch(attempts, "sleep", at_once),)),
    Mutant("waiting-kept-outside-state", "workflow engine", "a decoded memory never asks again",
           ("copied-state-continues", "progress"), "smoke", (Patch(codec, "load_state", waits_for_nothing),)),
    Mutant("jump-wakes-one-only", "workflow engine", "of several things due one is done, the rest dropped",
           ("jump-or-steps", "progress", "workflow-contract"), "storage_storm",
           (Patch(lifecycle, "handle_due", one_of_many),)),
)  # fmt: skip
