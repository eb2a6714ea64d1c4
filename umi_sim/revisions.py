"""Revisions: all workflows change while operations run, through the public calls of the registry.

Law 1. Who watches from outside sees no difference: a row that does nothing comes, and goes again.
Law 2. It comes first, so whoever goes on with the rows of another revision does one twice, or leaves one out.
Law 3. When they change follows from the numbers of ops, so it stays the same when other items are removed.
"""

from typing import Final

from umi_core.inputs import Answer
from umi_core.state import Facts, View
from umi_core.workflow import Learned, Registry, Step

CHANGE_COUNT_MAX: Final = 500  # a registry keeps 1000 revisions of a workflow


def nothing_learned(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned()


ROW: Final = Step("nothing", take=nothing_learned, otherwise={})


class Revisions:
    """How often the workflows have changed: once for every so many ops; 0 is never."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._count = 0

    def reached(self, op_id: str, registry: Registry) -> Registry:
        """The registry with which this op begins; the same one as before, if it brings no change."""
        due_count = min(int(op_id[1:]) // self._every, CHANGE_COUNT_MAX) if self._every else 0
        while self._count < due_count:
            self._count += 1
            registry = changed(registry)
        return registry


def changed(registry: Registry) -> Registry:
    """Each workflow with the row that does nothing, or without it if it is there."""
    for name in registry.revisions:
        first = registry.at(name).steps[0].id
        is_there = first == ROW.id
        registry = registry.remove(name, first) if is_there else registry.insert_before(name, first, ROW)
    return registry
