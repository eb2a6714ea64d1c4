"""Planted bugs: what the simulator must find. Each is one wrong behaviour, active in one process at a time.

A bug replaces text of umi_core. Bugs are data in mutants/*.toml, one file for each area. The canary is in
this package, so that a sweep, which plants it in some of its runs, reads no file for it.

edits.py      finds what replaced text changes in a module
planting.py   changes the module for the time of a run
registry.py   reads all bugs

Law 1. The code under test has no switches for bugs: it is changed from outside.
Law 2. If the text that a bug replaces is missing, that is an error; the bug counts neither as found nor as
       missed.
Law 3. Runs find a bug within its number of seeds, counted from the first seed, none of them chosen. If hardly
       any run shows a wrong function, the test that the row names finds it.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from umi_core.data import Data
from umi_core.engine.registry import Registry
from umi_sim.faults.kinds import KINDS
from umi_sim.mutants.edits import CannotPlant, TextEdit, changes
from umi_sim.mutants.planting import with_changes

__all__ = ["CANARY", "CannotPlant", "Mutant", "Planted", "TestedMutant", "TextEdit", "plant_mutant"]

RATE: Final = "1/2"
QUIRK_RATE: Final = "1/4"
SMALL: Final[Mapping[str, str]] = {  # short runs that emit every kind of effect
    "agents.count": "1", "workload.operations": "16", "memory.semantic_routing": "true",
    "clock.skew": "false", "run.equivalences": "[]",
}  # fmt: skip


ALONE: Final[Mapping[str, str]] = {"run.equivalences": "[]"}


class Planted(Data):
    """One planted bug: the behaviour that a user would see, and the edits of umi_core that cause it."""

    name: str
    area: str
    behaviour: str
    edits: tuple[TextEdit, ...]

    @contextmanager
    def plant(self, registry: Registry) -> Iterator[Registry]:
        """Plant the bug until the block ends; yield the registry with changed tables. Raises CannotPlant."""
        with ExitStack() as stack:
            try:
                changed = stack.enter_context(with_changes(changes(self.edits), registry))
            except CannotPlant as error:
                raise CannotPlant(f"{self.name} cannot be planted: {error}") from None
            yield changed


class TestedMutant(Planted):
    """A planted bug that a test of functions detects: `detected_by` is path::name, as pytest takes it."""

    __test__ = False  # else pytest collects a class of this name as tests

    detected_by: str


class Mutant(Planted):
    """A planted bug that runs show: `scenario` shows it within `seeds_max` seeds, as a breach of `rules`.

    `kind`: the kind of fault without which no run shows it; then the scenario is narrowed to this kind, at
    all of its sites. `alike`: kinds that the memory cannot distinguish from it, so they show the bug, too.
    `settings`: keys of the scenario. `only_by_equivalences`: only equivalences find it.
    """

    rules: tuple[str, ...]
    scenario: str
    seeds_max: int = 200
    kind: str = ""
    alike: tuple[str, ...] = ()
    settings: Mapping[str, str] = {}
    only_by_equivalences: bool = False

    @property
    def overrides(self) -> Mapping[str, str]:
        """Return scenario keys that narrow it to the kind of fault of this bug, if there is one."""
        if not self.kind:
            return self.settings
        alone = {"scenario.swarm.mode": "one_kind", "scenario.swarm.pin.kind": self.kind}
        # A quirk is an unusual answer: if half of them were, too little would be stored to show a bug.
        rate = QUIRK_RATE if KINDS[self.kind].fault_class == "quirk" else RATE
        return {**SMALL, **alone, f"faults.{self.kind}": rate, **self.settings}

    @property
    def hunted(self) -> Mapping[str, str]:
        """Return these keys, with equivalences off unless only they show the bug."""
        return self.overrides if self.only_by_equivalences else {**ALONE, **self.overrides}

    @property
    def overrides_without(self) -> Mapping[str, str]:
        """Return keys of a small world with all kinds of fault except `kind` and `alike`."""
        off = {f"faults.{kind}": "false" for kind in (self.kind, *self.alike)}
        every = {"scenario.swarm.mode": "swarm", "scenario.swarm.sites": "all"}
        return {**SMALL, **every, **self.settings, **off}


CANARY: Final = Mutant(
    "get-alive-at-expiry", "working", "in the millisecond now == expires_ms a get still returns the entry",
    (
        TextEdit(
            "umi_core/tiers/working.py",
            "    if tier.due_ms <= now_ms:\n        drop_expired(tier, now_ms)",
            "    if tier.due_ms < now_ms:\n        drop_expired(tier, now_ms - 1)",
        ),
    ),
    ("ttl-boundary", "reference-agrees", "no-spurious-refusal"), "working",
)  # fmt: skip
"""The bug that every sweep must find. A replay of its run reads no file of bugs."""


PLANTED: Final[dict[str, Registry]] = {}  # the bug that is planted now, with its tables


@contextmanager
def plant_mutant(name: str | None, registry: Registry) -> Iterator[Registry]:
    """Plant a bug until the block ends, and yield the registry with it; None plants nothing.

    An inner block of the same bug reuses the planted code, with all that it has kept since it was planted.
    Raises KeyError for an unknown name.
    """
    if name is None:
        yield registry
    elif name in PLANTED:
        yield PLANTED[name]
    else:
        with mutant_named(name).plant(registry) as changed:
            PLANTED[name] = changed
            try:
                yield changed
            finally:
                del PLANTED[name]


def mutant_named(name: str) -> Mutant:
    if name == CANARY.name:
        return CANARY
    from umi_sim.mutants.registry import MUTANTS

    return MUTANTS[name]
