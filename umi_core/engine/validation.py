"""What is wrong with a table: all findings together, so that it is valid as a whole or refused.

Law 1. Walking from what is given, each fact is there before it is needed, and produced once.
Law 2. Jumps lead forward, and plans go back no further than to the commit before. Law 3. What may be skipped
says what it leaves.
"""

import re
from typing import Final

from umi_core.engine.workflow import Workflow
from umi_core.errors import BadWorkflow, Rejected
from umi_core.messages.effects import EFFECT_NAMES, Commit

STEP_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def findings(workflow: Workflow) -> tuple[BadWorkflow, ...]:
    found = [*bad_rows(workflow), *bad_facts(workflow), *bad_jumps(workflow), *bad_gaps(workflow)]
    return tuple(found)


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
    known = dict.fromkeys(workflow.given)
    for step in workflow.steps:
        needed = [*step.requires, *([step.each] if step.each else [])]
        if missing := tuple(sorted(name for name in needed if name not in known)):
            found.append(BadWorkflow("MissingFact", step.id, missing))
        if twice := tuple(sorted(name for name in step.produces if name in known)):
            found.append(BadWorkflow("FactTwice", step.id, twice))
        known.update(dict.fromkeys(step.produces))
    if "outcome" not in known:
        found.append(BadWorkflow("MissingFact", workflow.name, ("outcome",)))
    return found


def bad_jumps(workflow: Workflow) -> list[BadWorkflow]:
    found = []
    for at, step in enumerate(workflow.steps):
        later = [other.id for other in workflow.steps[at + 1 :]]
        if bad := tuple(name for name in step.skips_to if name not in later):
            found.append(BadWorkflow("BadSkip", step.id, bad))
        target = step.on_failure.replan if step.on_failure else None
        if target is not None and not can_replan(workflow, target, at):
            found.append(BadWorkflow("BadSkip", step.id, (target,)))
    return found


def can_replan(workflow: Workflow, target: str, at: int) -> bool:
    start = workflow.index(target)
    return (
        start is not None
        and start < at
        and all(step.effect is not Commit for step in workflow.steps[start:at])
    )


def bad_gaps(workflow: Workflow) -> list[BadWorkflow]:
    """Rows that may be skipped must say what they leave."""
    skippable = {step.id: None for step in workflow.steps if step.when is not None}
    for at, step in enumerate(workflow.steps):
        for name in step.skips_to:
            target = workflow.index(name) or 0  # a jump to nowhere, or back, is a finding of its own
            skippable.update(dict.fromkeys(row.id for row in workflow.steps[at + 1 : target]))
    rows = [step for step in workflow.steps if step.id in skippable]
    lacking = [
        (row.id, tuple(sorted(name for name in row.produces if name not in (row.otherwise or {}))))
        for row in rows
    ]
    return [BadWorkflow("NoOtherwise", row_id, names) for row_id, names in lacking if names]


def validated(workflow: Workflow) -> Workflow:
    if found := findings(workflow):
        raise Rejected(*found)
    return workflow
