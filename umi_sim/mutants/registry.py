"""The registry of mutants. A row says what goes wrong, as a user would see it, and which rules may see it."""

from typing import Final

from umi_sim.mutants import Mutant, core, language, machine, scope, storage, tiers

__all__ = ["MUTANTS"]

ROWS: Final = (*tiers.ROWS, *core.ROWS, *storage.ROWS, *machine.ROWS, *scope.ROWS, *language.ROWS)
MUTANTS: Final[dict[str, Mutant]] = {mutant.name: mutant for mutant in ROWS}
assert len(MUTANTS) == len(ROWS)
