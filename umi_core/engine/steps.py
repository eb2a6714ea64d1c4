"""What a step makes of an answer: new facts and tiers, and the next step; or what follows a failure.

Law 1. Until a step is done nothing that it learnt is visible.
Law 2. It gives exactly the facts that it declares, and none that contradicts what is already known.
Law 3. What a model thought aloud is taken out of its reply here, once, before any step reads it.
Law 4. When its policy is used up the step goes on with a stated substitute, which the reply names, or the
       operation ends.
"""

from collections.abc import Mapping

import attrs

from umi_core.engine import around
from umi_core.engine.engine import Ending, Engine, facts_of
from umi_core.engine.facts import View
from umi_core.engine.onion import StepCame
from umi_core.engine.workflow import OUTCOME, Degrade, Learned, Refuse, Step, Unusable, abort_error
from umi_core.errors import Error, WorkflowBroken
from umi_core.language.reasoning import strip_reasoning
from umi_core.messages.answers import Answer, Committed, ModelReplied
from umi_core.messages.effects import Failed, Refused, Unknown
from umi_core.state import Operation


def take(engine: Engine, operation: Operation, row: Step, answer: Answer | None) -> Ending:
    """The step learns from the answer; None if it had nothing to ask."""
    view = engine.view(operation, row)
    view.tiers = engine.state.tiers.copy()
    if isinstance(answer, ModelReplied):
        answer = without_reasoning(engine, operation, row, answer)
    taken = row.take(facts_of(operation), answer, view)
    if isinstance(taken, Unusable):
        engine.mark(operation, row, "unusable")
        engine.mark(operation, row, taken.reason, of=" reply")
        return give_up(engine, operation, row, "unusable", taken.reason)
    if isinstance(taken, Refuse):
        around.left(engine, operation, row, taken.error, is_final=True)
        is_certain = isinstance(answer, Committed) or not operation.may_have_happened
        return Refused(taken.error) if is_certain else Unknown()
    engine.mark(operation, row, *taken.shapes, of=" reply")
    return learn(engine, operation, row, taken, view)


def without_reasoning(engine: Engine, operation: Operation, row: Step, answer: ModelReplied) -> ModelReplied:
    """Return what the step may read: no `take` ever sees a draft from the reasoning of a model."""
    text = strip_reasoning(answer.text)
    if text == answer.text:
        return answer
    engine.mark(operation, row, "reasoning", of=" reply")
    engine.state.count("reasoning stripped")
    return attrs.evolve(answer, text=text)


def learn(
    engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None = None
) -> Ending:
    """One unit is known; without `each` that is the step."""
    if row.each is None:
        return step_done(engine, operation, row, learned, view)
    if wrong := unsound(operation, row, learned.facts, is_unit=True):
        return broken(engine, operation, row, *wrong)
    operation.learned += (dict(learned.facts),)
    operation.unit += 1
    apply(engine, operation, row, learned, view)
    return None


def unit_count(operation: Operation, row: Step) -> int:
    if row.each is None:
        return 1
    return len(facts_of(operation)[row.each])


def units_done(engine: Engine, operation: Operation, row: Step) -> Ending:
    """Each produced fact becomes the tuple of what the units gave."""
    facts = {name: tuple(unit[name] for unit in operation.learned) for name in row.learns}
    return step_done(engine, operation, row, Learned(facts))


def step_done(
    engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None = None
) -> Ending:
    """What the step learnt is put in place, together, if it is sound."""
    if wrong := unsound(operation, row, learned.facts):
        return broken(engine, operation, row, *wrong)
    if learned.skip_to is not None and learned.skip_to not in row.skips_to:
        return broken(engine, operation, row, "skip", (learned.skip_to,))
    came, is_fallback = around.left(engine, operation, row, learned.facts)
    if isinstance(came, Error) or is_fallback:
        return given(engine, operation, came)
    apply(engine, operation, row, learned, view)
    operation.facts.update(came)
    return go_on(engine, operation, learned.skip_to)


def given(engine: Engine, operation: Operation, came: StepCame) -> Ending:
    """What came in place of what the step would have learnt: facts to go on with, or the end."""
    if isinstance(came, Error):
        return abort(operation, came)
    operation.facts.update(came)
    return go_on(engine, operation, None)


def apply(engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None) -> None:
    """The tiers as `take` left them, and what it went without."""
    for name, reason, count in learned.degraded:
        engine.degraded(operation, f"{row.id}:{name}", reason, count)
    if view is not None:
        engine.state.tiers = view.tiers
        engine.marks += view.marks


def skip(engine: Engine, operation: Operation, row: Step) -> Ending:
    """A step that is left out leaves its otherwise."""
    leave_out(engine, operation, row)
    return go_on(engine, operation, None)


def leave_out(engine: Engine, operation: Operation, row: Step) -> None:
    engine.mark(operation, row, "skipped")
    operation.facts.update(row.otherwise or {})


def go_on(engine: Engine, operation: Operation, skip_to: str | None) -> Ending:
    """The next step, or the one skipped to; after the last the outcome."""
    steps = engine.table_of(operation).steps
    operation.row += 1
    operation.unit, operation.learned, operation.asked = 0, (), None
    operation.pages, operation.page_count = (), 0
    while skip_to is not None and steps[operation.row].id != skip_to:
        leave_out(engine, operation, steps[operation.row])
        operation.row += 1
    if operation.row < len(steps):
        return None
    return facts_of(operation)[OUTCOME]


# What is wrong.


def unsound(
    operation: Operation, row: Step, facts: Mapping[str, object], *, is_unit: bool = False
) -> tuple[str, tuple[str, ...]] | None:
    """How these facts, or those of one unit, break the table, and which of them do."""
    learns, known = row.learns, operation.facts
    if facts.keys() != learns.keys() or not known.keys().isdisjoint(facts):
        found = {
            "undeclared": [name for name in facts if name not in learns],
            "produces": [name for name in learns if name not in facts],
            "replaces": [name for name in facts if name in known and known[name] != facts[name]],
        }
        for kind, names in found.items():
            if names:
                return kind, tuple(sorted(names))
    for name, fact in learns.items():
        if not (fact.holds_unit(facts[name]) if is_unit else fact.holds(facts[name])):
            return "type", (name,)
    return None


def broken(engine: Engine, operation: Operation, row: Step, kind: str, names: tuple[str, ...]) -> Ending:
    error = WorkflowBroken(operation.workflow, operation.revision, row.id, kind, names)
    around.left(engine, operation, row, error, is_final=True)
    return Failed(error)


# The end of a policy.


def give_up(engine: Engine, operation: Operation, row: Step, kind: str, reason: str) -> Ending:
    """The end of the policy: degrade, or abort with an error that names step, kind and attempts."""
    policy = row.on_failure
    assert policy is not None, (row.id, kind)
    if isinstance(policy.then, Degrade):
        engine.degraded(operation, f"{row.id}:{policy.then.name}", reason or kind)
        engine.mark(operation, row, "degraded")
        return learn(engine, operation, row, Learned(policy.then.facts(facts_of(operation), reason or kind)))
    engine.mark(operation, row, "aborted")
    error = abort_error(row, kind, operation.attempt)
    came, _ = around.left(engine, operation, row, error)
    return given(engine, operation, came)


def abort(operation: Operation, error: Error) -> Ending:
    """The world's fault; unless a commit of it may yet be there, nothing has changed."""
    return Unknown() if operation.may_have_happened else Failed(error)
