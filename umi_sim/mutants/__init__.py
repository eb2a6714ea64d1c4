"""Planted bugs: what the simulator must find. Each is one wrong behaviour, active in one process at a time.

A bug is text of umi_core that is replaced: data in mutants/*.toml, a file for each area. The
canary is in this package, so that a sweep, which plants it beside sound runs, reads no file for it.

edits.py      what replaced text changes in a module
planting.py   the changed module, for the time of a run
registry.py   all of them

Law 1. The code under test has no switch for them: it is changed from outside.
Law 2. If the text that a bug replaces is gone, that is an error: the bug is not counted as found or passed.
Law 3. Each is found within its number of seeds, which are the first ones and were not chosen; or by the test
       that its row names, where a function alone is wrong and hardly any run shows it.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from umi_core.data import Data
from umi_core.engine.registry import Registry
from umi_sim.faults.kinds import KINDS
from umi_sim.mutants.edits import CannotPlant, TextEdit, changes
from umi_sim.mutants.planting import in_place

__all__ = ["CANARY", "CannotPlant", "Mutant", "Planted", "TestedMutant", "TextEdit", "plant_mutant"]

RATE: Final = "1/2"
QUIRK_RATE: Final = "1/4"
SMALL: Final[Mapping[str, str]] = {  # what is over soon, and asks every kind of question
    "agents.count": "1", "workload.operations": "16", "memory.semantic_routing": "true",
    "clock.skew": "false", "run.equivalences": "[]",
}  # fmt: skip


ALONE: Final[Mapping[str, str]] = {"run.equivalences": "[]"}


class Planted(Data):
    """One planted bug: what a user would see, and the edits of umi_core that make it so."""

    name: str
    area: str
    behaviour: str
    edits: tuple[TextEdit, ...]

    @contextmanager
    def plant(self, registry: Registry) -> Iterator[Registry]:
        """Put the bug in place until the block ends, in the code and in these tables. Raises CannotPlant."""
        with ExitStack() as stack:
            try:
                changed = stack.enter_context(in_place(changes(self.edits), registry))
            except CannotPlant as error:
                raise CannotPlant(f"{self.name} cannot be planted: {error}") from None
            yield changed


class TestedMutant(Planted):
    """A planted bug that a test of functions detects: `detected_by` is path::name, as pytest takes it."""

    __test__ = False  # pytest takes a class of this name for tests

    detected_by: str


class Mutant(Planted):
    """A planted bug that runs show. `rules` may find it; `scenario` finds it within `seeds_max` seeds.

    `kind`: the kind of fault without which nothing shows it; then the scenario is narrowed down to that kind,
    everywhere. `alike`: the kinds that are one with it to the memory, so that they show it as well.
    `settings`: keys of the scenario. `only_by_equivalences`: runs show it only if they are compared.
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
        """Return the scenario keys that narrow it down to the kind of fault of this bug, if it has one."""
        if not self.kind:
            return self.settings
        alone = {"scenario.swarm.mode": "one_kind", "scenario.swarm.pin.kind": self.kind}
        # A quirk is no failure but an odd reply: with half of
        # them odd, hardly anything would be stored to go wrong.
        rate = QUIRK_RATE if KINDS[self.kind].fault_class == "quirk" else RATE
        return {**SMALL, **alone, f"faults.{self.kind}": rate, **self.settings}

    @property
    def hunted(self) -> Mapping[str, str]:
        """Return the same keys, without equivalences, unless only those show the bug."""
        return self.overrides if self.only_by_equivalences else {**ALONE, **self.overrides}

    @property
    def overrides_without(self) -> Mapping[str, str]:
        """Return the keys of a small world with every other kind of fault, but those like its own."""
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
"""The bug that every sweep must see. A replay of its run reads no file of bugs."""


PLANTED: Final[dict[str, Registry]] = {}  # the bug that is in the code now, with its tables


@contextmanager
def plant_mutant(name: str | None, registry: Registry) -> Iterator[Registry]:
    """Return the tables of a memory with this bug in its code; None plants nothing.

    A block within a block of the same bug finds it planted, and its caches filled: a block around a loop
    over seeds makes the runs in it cost a third less. Raises KeyError for an unknown name.
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
