"""The registry: every revision of every workflow, and every set of interceptors.

Law 1. Every call returns a new registry that is valid as a whole, or raises and changes nothing.
Law 2. An operation finishes on the revision it began with; all revisions stay reachable.
Law 3. Each fact of a table is produced once, by a step before those that need it, and under a type that they
accept. Law 4. Jumps lead forward, and replanning never goes back over an earlier commit.
Law 5. A step that may be skipped leaves values of the types that the steps after it expect.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_core.engine.facts import Fact, unit_of
from umi_core.engine.middleware import Interceptor, Interceptors
from umi_core.engine.workflow import OUTCOME, Step, Workflow
from umi_core.errors import BadWorkflow, Rejected, UnknownRevision
from umi_core.limits import REVISION_COUNT_MAX
from umi_core.messages.effects import EFFECT_NAMES, Commit

# Checks of a table: all findings together.


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
    """Return the names of needed facts that are produced under a type that the step does not accept."""
    return [
        name for name, fact in step.needs.items()
        if (made := known.get(name, fact)) is not fact and not fact.covers(made)
    ]  # fmt: skip


def without_units(step: Step) -> list[str]:
    """Return the facts of a step with `each` whose type is not a tuple of units."""
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
    # Replanning over an earlier commit would forget that the first part of the work is already durable.
    return (
        start is not None
        and start < at
        and all(step.effect is not Commit for step in workflow.steps[start:at])
    )


def bad_gaps(workflow: Workflow) -> list[BadWorkflow]:
    """Find steps that, if skipped, leave an undeclared fact or a value that a later step does not accept."""
    found = []
    followers = followers_of_skipped(workflow)
    for row in (step for step in workflow.steps if step.id in followers):
        readers = [later.needs for later in followers[row.id]]
        values = row.skipped_values
        if bad := tuple(sorted(name for name in values if is_bad(name, row, values[name], readers))):
            found.append(BadWorkflow("BadOtherwise", row.id, bad))
    return found


def is_bad(name: str, row: Step, value: object, readers: Iterable[Mapping[str, Fact[Any]]]) -> bool:
    """Check for a value under an undeclared name, or of a type that a reading step does not accept."""
    # None is allowed if no step that can run after the skip reads the fact.
    needed = (needs[name] for needs in readers if name in needs)
    return name not in row.learns or not all(fact.holds(value) for fact in needed)


def followers_of_skipped(workflow: Workflow) -> dict[str, list[Step]]:
    """Return for each step that may be skipped the steps that may run after the skip."""
    followers: dict[str, list[Step]] = {}
    for at, step in enumerate(workflow.steps):
        if step.when is not None:
            followers.setdefault(step.id, []).extend(workflow.steps[at + 1 :])
        for name in step.skips_to:
            target = workflow.index(name) or 0  # `bad_jumps` reports an unknown target or a jump back
            # If a skips to d, then b and c are skipped, and d and all later steps read what these two leave.
            for row in workflow.steps[at + 1 : target]:
                followers.setdefault(row.id, []).extend(workflow.steps[target:])
    return followers


def validate_workflow(workflow: Workflow) -> Workflow:
    if found := findings(workflow):
        raise Rejected(*found)
    return workflow


# The registry itself.


class Registry(Data):
    """All revisions of all workflows, and all sets of interceptors. Every change returns a new registry.

    A change that is not valid raises Rejected with all findings.
    """

    revisions: Mapping[str, tuple[Workflow, ...]] = {}
    # An operation refers to its set by the index in this tuple, so sets are only ever appended.
    generations: tuple[Interceptors, ...] = (Interceptors(),)

    def at(self, name: str, revision: int | None = None) -> Workflow:
        """Return that revision, or the latest."""
        known = self.revisions.get(name, ())
        # Revisions count from 1: revision n is at index n - 1, and the latest number equals their count.
        number = len(known) if revision is None else revision
        if not 1 <= number <= len(known):
            raise Rejected(UnknownRevision(name, number))
        return known[number - 1]

    def latest(self, name: str) -> int:
        return len(self.revisions[name])

    def interceptors(self, generation: int) -> Interceptors:
        """Return the set of interceptors with this number."""
        if not 0 <= generation < len(self.generations):
            raise Rejected(UnknownRevision("interceptors", generation))
        return self.generations[generation]

    def register(self, workflow: Workflow) -> "Registry":
        if workflow.name in self.revisions:
            raise Rejected(BadWorkflow("WorkflowExists", workflow.name))
        return self._with(validate_workflow(workflow))

    def insert_before(self, name: str, at: str, step: Step) -> "Registry":
        return self._change_step(name, at, lambda steps, i: (*steps[:i], step, *steps[i:]))

    def insert_after(self, name: str, at: str, step: Step) -> "Registry":
        return self._change_step(name, at, lambda steps, i: (*steps[: i + 1], step, *steps[i + 1 :]))

    def replace(self, name: str, at: str, step: Step) -> "Registry":
        return self._change_step(name, at, lambda steps, i: (*steps[:i], step, *steps[i + 1 :]))

    def remove(self, name: str, at: str) -> "Registry":
        return self._change_step(name, at, lambda steps, i: (*steps[:i], *steps[i + 1 :]))

    def configure(self, name: str, at: str, **options: str | int | bool) -> "Registry":
        return self._change_step(
            name, at, lambda steps, i: (*steps[:i], configure_step(steps[i], options), *steps[i + 1 :])
        )

    def with_interceptor(self, interceptor: Interceptor) -> "Registry":
        return structs.replace(self, generations=(*self.generations, self.generations[-1].add(interceptor)))

    def without_interceptor(self, name: str) -> "Registry":
        return structs.replace(self, generations=(*self.generations, self.generations[-1].remove(name)))

    def _change_step(
        self, name: str, at: str, change: Callable[[tuple[Step, ...], int], tuple[Step, ...]]
    ) -> "Registry":
        if name not in self.revisions:
            raise Rejected(BadWorkflow("UnknownWorkflow", name))
        latest = self.at(name)
        index = latest.index(at)
        if index is None:
            raise Rejected(BadWorkflow("UnknownStep", at))
        return self._with(validate_workflow(structs.replace(latest, steps=change(latest.steps, index))))

    def _with(self, workflow: Workflow) -> "Registry":
        known = self.revisions.get(workflow.name, ())
        if len(known) >= REVISION_COUNT_MAX:
            raise Rejected(BadWorkflow("RevisionsFull", workflow.name))
        return structs.replace(self, revisions={**self.revisions, workflow.name: (*known, workflow)})


def configure_step(step: Step, options: Mapping[str, str | int | bool]) -> Step:
    declared = step.options
    if unknown := tuple(sorted(key for key in options if key not in declared)):
        raise Rejected(BadWorkflow("UnknownConfigKey", step.id, unknown))
    # Types are compared exactly: with isinstance, True would be accepted as a number.
    if bad := tuple(sorted(key for key, value in options.items() if type(value) is not type(declared[key]))):
        raise Rejected(BadWorkflow("BadConfigValue", step.id, bad))
    return structs.replace(step, config=tuple(sorted({**declared, **options}.items())))
