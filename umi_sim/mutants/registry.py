"""The registry of mutants. A row says what goes wrong, as a user would see it, and which rules may see it."""

from typing import Final

from umi_sim.mutants import (
    Mutant,
    answers,
    core,
    equivalence,
    failing,
    language,
    machine,
    passing,
    routes,
    scope,
    storage,
    stores,
    tiers,
    vectors,
)

__all__ = ["MUTANTS"]

ROWS: Final = (
    *tiers.ROWS, *core.ROWS, *storage.ROWS, *machine.ROWS, *scope.ROWS, *language.ROWS, *equivalence.ROWS,
    *answers.ROWS, *routes.ROWS, *vectors.ROWS, *failing.ROWS, *stores.ROWS, *passing.ROWS,
)  # fmt: skip
MUTANTS: Final[dict[str, Mutant]] = {mutant.name: mutant for mutant in ROWS}
assert len(MUTANTS) == len(ROWS)
