"""Planted bugs: what the simulator must find. Each is one wrong behaviour, active in one process at a time.

tiers.py      working tier, snapshots, sessions
core.py       core tier, renderings, access, promotion, eviction
storage.py    commits, rows and recovery
machine.py    the workflow engine
scope.py      whose rows these are
language.py   what the model says, and searches
registry.py   all of them

Law 1. The code under test has no switch for them: a mutant replaces functions, or rows of a table, from
       outside.
Law 2. A place that has gone is an error, not a pass.
Law 3. Each is found within its budget, from seeds nobody chose.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs

from umi_core.workflow import Registry, Step

__all__ = ["Mutant", "Original", "Patch", "planted", "row_of"]

Original = Callable[..., Any]


@attrs.frozen
class Patch:
    """`owner.attribute` is replaced by `wrong(original)`."""

    owner: object
    attribute: str
    wrong: Callable[[Original], Original]

    @contextmanager
    def plant(self) -> Iterator[None]:
        """In place until the block ends. Raises AttributeError if the place has gone."""
        original = getattr(self.owner, self.attribute)
        setattr(self.owner, self.attribute, self.wrong(original))
        try:
            yield
        finally:
            setattr(self.owner, self.attribute, original)


@attrs.frozen
class Mutant:
    """One planted bug. `rules` may find it; `scenario` finds it within `seeds_max` seeds.

    Each patch replaces a function; `tables` gives the registry with rows replaced.
    """

    name: str
    area: str
    behaviour: str
    rules: tuple[str, ...]
    scenario: str
    patches: tuple[Patch, ...] = ()
    tables: Callable[[Registry], Registry] | None = None
    seeds_max: int = 200

    @contextmanager
    def plant(self) -> Iterator[None]:
        """The bug is in place until the block ends. Raises AttributeError if one of its places has gone."""
        with ExitStack() as stack:
            for patch in self.patches:
                stack.enter_context(patch.plant())
            yield


@contextmanager
def planted(name: str | None, registry: Registry) -> Iterator[Registry]:
    """The tables of a memory with this bug in its code; None plants nothing.

    Raises KeyError for an unknown name.
    """
    if name is None:
        yield registry
        return
    from umi_sim.mutants.registry import MUTANTS

    mutant = MUTANTS[name]
    with mutant.plant():
        yield mutant.tables(registry) if mutant.tables else registry


def row_of(registry: Registry, workflow: str, step_id: str) -> Step:
    """A row of the latest revision of a table."""
    steps = registry.at(workflow).steps
    return next(step for step in steps if step.id == step_id)
