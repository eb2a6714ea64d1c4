"""The registry: every revision of every workflow, and every set of interceptors.

Law 1. Every call gives a new registry that is valid as a whole, or raises and changes nothing.
Law 2. An operation finishes on the revision it began with; all revisions stay reachable.
"""

from collections.abc import Callable, Mapping

from msgspec import structs

from umi_core.data import Data
from umi_core.engine.middleware import Interceptor, Interceptors
from umi_core.engine.validation import validate_workflow
from umi_core.engine.workflow import Step, Workflow
from umi_core.errors import BadWorkflow, Rejected, UnknownRevision
from umi_core.limits import REVISION_COUNT_MAX


class Registry(Data):
    """All revisions of all workflows, and all sets of interceptors. Every call gives a new registry.

    Raises Rejected with all findings; the old registry is untouched either way.
    """

    revisions: Mapping[str, tuple[Workflow, ...]] = {}
    # An operation names its set by its place in this tuple: sets are added and never taken out.
    generations: tuple[Interceptors, ...] = (Interceptors(),)

    def at(self, name: str, revision: int | None = None) -> Workflow:
        """Return that revision, or the latest."""
        known = self.revisions.get(name, ())
        # Revisions count from 1, so revision n is at place n - 1, and the latest is their number.
        number = len(known) if revision is None else revision
        if not 1 <= number <= len(known):
            raise Rejected(UnknownRevision(name, number))
        return known[number - 1]

    def latest(self, name: str) -> int:
        return len(self.revisions[name])

    def interceptors(self, generation: int) -> Interceptors:
        """Return the set that operations begun with that generation keep."""
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
    # By type and not by isinstance: True would pass for the number 1.
    if bad := tuple(sorted(key for key, value in options.items() if type(value) is not type(declared[key]))):
        raise Rejected(BadWorkflow("BadConfigValue", step.id, bad))
    return structs.replace(step, config=tuple(sorted({**declared, **options}.items())))
