"""What a step makes of an answer: facts and tiers put in place, and the next step; or the end of its policy.

Law 1. Until a step is done nothing that it learnt is visible.
Law 2. It gives the facts that it declares, all of them, and none that says something else than what is known.
Law 3. At the end of its policy it goes on with less, and says so, or ends the operation.
"""

from collections.abc import Mapping

from umi_core.engine.engine import Ending, Engine
from umi_core.engine.workflow import Degrade, Learned, Refuse, Step, Unusable, abort_error
from umi_core.errors import Error, WorkflowBroken
from umi_core.messages.answers import Answer, Committed
from umi_core.messages.effects import Done, Failed, Refused, Unknown
from umi_core.state import Operation, View


def take(engine: Engine, operation: Operation, row: Step, answer: Answer | None) -> Ending:
    """The step learns from the answer; None if it had nothing to ask."""
    view = engine.view(operation, row)
    view.tiers = engine.state.tiers.copy()
    taken = row.take(operation.facts, answer, view)
    if isinstance(taken, Unusable):
        engine.mark(operation, row, "unusable")
        engine.mark(operation, row, taken.reason, of=" reply")
        return give_up(engine, operation, row, "unusable", taken.reason)
    if isinstance(taken, Refuse):
        is_certain = isinstance(answer, Committed) or not operation.may_have_happened
        return Refused(taken.error) if is_certain else Unknown()
    engine.mark(operation, row, *taken.shapes, of=" reply")
    for name, reason, count in taken.degraded:
        engine.degraded(operation, f"{row.id}:{name}", reason, count)
    return learn(engine, operation, row, taken, view)


def learn(
    engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None = None
) -> Ending:
    """One unit is known; without `each` that is the step."""
    if row.each is None:
        return step_done(engine, operation, row, learned, view)
    if wrong := unsound(operation, row, learned.facts):
        return broken(operation, row, *wrong)
    operation.learned += (dict(learned.facts),)
    operation.unit += 1
    apply(engine, view)
    return None


def unit_count(operation: Operation, row: Step) -> int:
    if row.each is None:
        return 1
    units = operation.facts[row.each]
    assert isinstance(units, tuple), (row.id, row.each)
    return len(units)


def units_done(engine: Engine, operation: Operation, row: Step) -> Ending:
    """Each produced fact becomes the tuple of what the units gave."""
    facts = {name: tuple(unit[name] for unit in operation.learned) for name in row.produces}
    return step_done(engine, operation, row, Learned(facts))


def step_done(
    engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None = None
) -> Ending:
    """What the step learnt is put in place, together, if it is sound."""
    if wrong := unsound(operation, row, learned.facts):
        return broken(operation, row, *wrong)
    if learned.skip_to is not None and learned.skip_to not in row.skips_to:
        return broken(operation, row, "skip", (learned.skip_to,))
    operation.facts.update(learned.facts)
    apply(engine, view)
    return go_on(engine, operation, learned.skip_to)


def apply(engine: Engine, view: View | None) -> None:
    if view is not None:
        engine.state.tiers = view.tiers
        engine.marks += view.marks


def go_on(engine: Engine, operation: Operation, skip_to: str | None) -> Ending:
    """The next step, or the one skipped to: those between leave their otherwise. At the end the outcome."""
    steps = engine.registry.at(operation.workflow, operation.revision).steps
    operation.row += 1
    operation.unit, operation.learned, operation.asked, operation.pages = 0, (), None, ()
    while skip_to is not None and steps[operation.row].id != skip_to:
        engine.mark(operation, steps[operation.row], "skipped")
        operation.facts.update(steps[operation.row].otherwise or {})
        operation.row += 1
    if operation.row < len(steps):
        return None
    outcome = operation.facts["outcome"]
    assert isinstance(outcome, Done | Refused), outcome
    return outcome


# What is wrong.


def unsound(
    operation: Operation, row: Step, facts: Mapping[str, object]
) -> tuple[str, tuple[str, ...]] | None:
    """How these facts break the table, and which of them do."""
    undeclared = [name for name in facts if name not in row.produces]
    lacking = [name for name in row.produces if name not in facts]
    changed = [n for n in facts if n in operation.facts and operation.facts[n] != facts[n]]
    for kind, names in (("undeclared", undeclared), ("produces", lacking), ("replaces", changed)):
        if names:
            return kind, tuple(sorted(names))
    return None


def broken(operation: Operation, row: Step, kind: str, names: tuple[str, ...]) -> Ending:
    return Failed(WorkflowBroken(operation.workflow, operation.revision, row.id, kind, names))


# The end of a policy.


def give_up(engine: Engine, operation: Operation, row: Step, kind: str, reason: str) -> Ending:
    """The end of the policy: degrade, or abort with an error that names step, kind and attempts."""
    policy = row.on_failure
    assert policy is not None, (row.id, kind)
    if isinstance(policy.then, Degrade):
        engine.degraded(operation, f"{row.id}:{policy.then.name}", reason or kind)
        engine.mark(operation, row, "degraded")
        return learn(engine, operation, row, Learned(policy.then.facts(operation.facts, reason or kind)))
    engine.mark(operation, row, "aborted")
    return abort(operation, abort_error(row, kind, operation.attempt))


def abort(operation: Operation, error: Error) -> Ending:
    """The world's fault; unless a commit of it may yet be there, nothing has changed."""
    return Unknown() if operation.may_have_happened else Failed(error)
