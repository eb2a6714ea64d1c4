"""Planted bugs: what the simulator must find. Each is one wrong behaviour, active in one process at a time.

Law 1. The code under test has no switch for them: a mutant replaces one function, or one row of a table, from
       outside.
Law 2. A place that has gone is an error, not a pass.
Law 3. Each is found within its budget, from seeds nobody chose.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs

from umi_core.workflow import Registry

__all__ = ["Mutant", "planted"]


@attrs.frozen
class Mutant:
    """One planted bug. `rules` may find it; `scenario` finds it within `seeds_max` seeds.

    `owner.attribute` is replaced by `wrong(original)`; `tables` gives the registry with a row replaced.
    """

    name: str
    area: str
    behaviour: str
    rules: tuple[str, ...]
    scenario: str
    seeds_max: int = 200
    owner: object = None
    attribute: str = ""
    wrong: Callable[[Callable[..., object]], Callable[..., object]] | None = None
    tables: Callable[[Registry], Registry] | None = None

    @contextmanager
    def plant(self) -> Iterator[None]:
        """The bug is in place until the block ends. Raises AttributeError if its place has gone."""
        if self.wrong is None:
            yield
            return
        original = getattr(self.owner, self.attribute)
        setattr(self.owner, self.attribute, self.wrong(original))
        try:
            yield
        finally:
            setattr(self.owner, self.attribute, original)


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
