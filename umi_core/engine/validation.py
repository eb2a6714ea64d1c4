"""Checks of a table: all findings together, so that it is valid as a whole or refused.

Law 1. Read from the top, each fact is produced before it is needed, under the type it is needed as, and once.
Law 2. Jumps lead forward, and replanning goes back no further than to the commit before. Law 3. A step that
may be skipped says which facts it leaves in that case.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from umi_core.engine.facts import Fact, unit_of
from umi_core.engine.workflow import OUTCOME, Step, Workflow
from umi_core.errors import BadWorkflow, Rejected
from umi_core.messages.effects import EFFECT_NAMES, Commit

STEP_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def findings(workflow: Workflow) -> tuple[BadWorkflow, ...]:
    return (*bad_rows(workflow), *bad_facts(workflow), *bad_jumps(workflow), *bad_gaps(workflow))


def bad_rows(workflow: Workflow) -> list[BadWorkflow]:
    found = []
    seen: dict[str, None] = {}
    for step in workflow.steps:
        if STEP_ID.fullmatch(step.id) is None:
            found.append(BadWorkflow("BadStepId", step.id))
        if step.id in seen:
            found.append(BadWorkflow("DuplicateStep", step.id))
        parts = (step.effect is None, step.ask is None, step.on_failure is None)
        if len(set(parts)) != 1 or (step.effect is not None and step.effect not in EFFECT_NAMES):
            found.append(BadWorkflow("UnknownEffect", step.id))
        if step.each is not None and step.effect is Commit:
            found.append(BadWorkflow("UnknownEffect", step.id, ("each on a commit",)))
        seen[step.id] = None
    return found


def bad_facts(workflow: Workflow) -> list[BadWorkflow]:
    found = []
    known = dict(workflow.knows)
    for step in workflow.steps:
        if missing := step.needs.keys() - known.keys():
            found.append(BadWorkflow("MissingFact", step.id, tuple(sorted(missing))))
        if twice := step.learns.keys() & known.keys():
            found.append(BadWorkflow("FactTwice", step.id, tuple(sorted(twice))))
        if others := [*of_other_types(step, known), *without_units(step)]:
            found.append(BadWorkflow("FactType", step.id, tuple(sorted(others))))
        known |= step.learns
    if OUTCOME.name not in known:
        found.append(BadWorkflow("MissingFact", workflow.name, (OUTCOME.name,)))
    elif not OUTCOME.covers(known[OUTCOME.name]):
        found.append(BadWorkflow("FactType", workflow.name, (OUTCOME.name,)))
    return found


def of_other_types(step: Step, known: Mapping[str, Fact[Any]]) -> list[str]:
    """Return the names of needed facts whose type does not cover the one under which they are produced."""
    return [
        name for name, fact in step.needs.items()
        if (made := known.get(name, fact)) is not fact and not fact.covers(made)
    ]  # fmt: skip


def without_units(step: Step) -> list[str]:
    """Return the names of facts that are no tuple of units in a step that runs once per unit."""
    facts = (step.each, *step.produces) if step.each else ()
    return [fact.name for fact in facts if unit_of(fact.kind) is None]


def bad_jumps(workflow: Workflow) -> list[BadWorkflow]:
    found = []
    for at, step in enumerate(workflow.steps):
        later = [other.id for other in workflow.steps[at + 1 :]] if step.skips_to else []
        if bad := tuple(name for name in step.skips_to if name not in later):
            found.append(BadWorkflow("BadSkip", step.id, bad))
        target = step.on_failure.replan if step.on_failure else None
        if target is not None and not can_replan(workflow, target, at):
            found.append(BadWorkflow("BadSkip", step.id, (target,)))
    return found


def can_replan(workflow: Workflow, target: str, at: int) -> bool:
    start = workflow.index(target)
    # A plan that went back over a commit would forget that its first part is durable already.
    return (
        start is not None
        and start < at
        and all(step.effect is not Commit for step in workflow.steps[start:at])
    )


def bad_gaps(workflow: Workflow) -> list[BadWorkflow]:
    """Check that rows that may be skipped state what they leave, of the types under which it is read."""
    found = []
    followers = followers_of_skipped(workflow)
    for row in (step for step in workflow.steps if step.id in followers):
        left = row.otherwise or {}
        if lacking := tuple(sorted(row.learns.keys() - left.keys())):
            found.append(BadWorkflow("NoOtherwise", row.id, lacking))
        readers = [later.needs for later in followers[row.id]]
        if bad := tuple(sorted(name for name in left if is_bad(name, row, left[name], readers))):
            found.append(BadWorkflow("BadOtherwise", row.id, bad))
    return found


def is_bad(name: str, row: Step, value: object, readers: Iterable[Mapping[str, Fact[Any]]]) -> bool:
    """Check for a value that is no fact of this row, or not of the type under which a reader needs it."""
    # None is fine for a fact that is not read by any row that can run after a skip.
    needed = (needs[name] for needs in readers if name in needs)
    return name not in row.learns or not all(fact.holds(value) for fact in needed)


def followers_of_skipped(workflow: Workflow) -> dict[str, list[Step]]:
    """Return for each row that may be skipped the rows that may run then."""
    followers: dict[str, list[Step]] = {}
    for at, step in enumerate(workflow.steps):
        if step.when is not None:
            followers.setdefault(step.id, []).extend(workflow.steps[at + 1 :])
        for name in step.skips_to:
            target = workflow.index(name) or 0  # a jump to nowhere, or back, is a finding of its own
            # a skips to d: b and c are skipped, and d and all later rows must do with what these two leave.
            for row in workflow.steps[at + 1 : target]:
                followers.setdefault(row.id, []).extend(workflow.steps[target:])
    return followers


def validate_workflow(workflow: Workflow) -> Workflow:
    if found := findings(workflow):
        raise Rejected(*found)
    return workflow
