"""Planted bugs: what the simulator must find. Each is one wrong behaviour, active in one process at a time.

tiers.py      working tier, snapshots, sessions
core.py       core tier, renderings, access, promotion, eviction
storage.py    commits, rows and recovery
machine.py    the workflow engine
scope.py      whose rows these are
language.py   what the model says, and searches
answers.py    what a model says, kind of fault by kind
routes.py     the same of routes, verdicts and rewrites
vectors.py    what an embedder says, kind by kind
failing.py    services that fail, kind by kind
stores.py     what storage shows, kind by kind
passing.py    messages, lives and clocks, kind by kind
registry.py   all of them

Law 1. The code under test has no switch for them: a mutant replaces functions, or rows of a table, from
       outside.
Law 2. A place that has gone is an error, not a pass.
Law 3. Each is found within its budget, from seeds nobody chose.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Step
from umi_sim.faults.kinds import KINDS
from umi_sim.mutants.planting import Original, Patch

__all__ = ["Mutant", "Original", "Patch", "planted", "row_of"]

RATE: Final = "1/2"
QUIRK_RATE: Final = "1/4"
SMALL: Final[Mapping[str, str]] = {  # what is over soon, and asks every kind of question
    "agents.count": "1", "workload.operations": "16", "memory.semantic_routing": "true",
    "clock.skew": "false", "run.equivalences": '["E-FILTER"]',
}  # fmt: skip


@attrs.frozen
class Mutant(Data):
    """One planted bug. `rules` may find it; `scenario` finds it within `seeds_max` seeds.

    Each patch replaces a function; `tables` gives the registry with rows replaced. `kind`: the kind of fault
    without which nothing shows it; then the scenario is narrowed down to that kind, everywhere. `alike`: the
    kinds that are one with it to the memory, so that they show it as well. `settings`: keys of the scenario.
    """

    name: str
    area: str
    behaviour: str
    rules: tuple[str, ...]
    scenario: str
    patches: tuple[Patch, ...] = ()
    tables: Callable[[Registry], Registry] | None = None
    seeds_max: int = 200
    kind: str = ""
    alike: tuple[str, ...] = ()
    settings: Mapping[str, str] = {}

    @property
    def overrides(self) -> Mapping[str, str]:
        """What its scenario is narrowed down to: its own kind of fault, if it has one."""
        if not self.kind:
            return self.settings
        alone = {"scenario.swarm.mode": "one_kind", "scenario.swarm.pin.kind": self.kind}
        rate = QUIRK_RATE if KINDS[self.kind].fault_class == "quirk" else RATE
        return {**SMALL, **alone, f"faults.{self.kind}": rate, **self.settings}

    @property
    def overrides_without(self) -> Mapping[str, str]:
        """The same small world with every other kind of fault, but those that are one with its own."""
        off = {f"faults.{kind}": "false" for kind in (self.kind, *self.alike)}
        every = {"scenario.swarm.mode": "swarm", "scenario.swarm.sites": "all"}
        return {**SMALL, **every, **self.settings, **off}

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
