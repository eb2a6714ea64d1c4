"""Shrinking: makes the run in a seed file as small as it can be while it still fails in the same way.

passes.py          the passes in order, as one table
removal.py         passes that remove something
simplification.py  passes that make values simpler
tidying.py         passes over the configuration, and over the order of requests
search.py          the search for smaller runs: candidates, the best one, the budget
candidate.py       a configuration with items, their size, and which items belong together
references.py      ids in requests, and the replies that returned them
leaves.py          single values in the arguments of items
reduction.py       reduction of lists, numbers and texts
"""

from collections.abc import Mapping

from msgspec import structs

from umi_core.data import Data
from umi_sim.record.fingerprint import of as fingerprint_of
from umi_sim.record.verdict import Verdict
from umi_sim.runs import runner
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import Minimised, SeedFile
from umi_sim.shrink.candidate import Candidate, counts
from umi_sim.shrink.passes import PASSES
from umi_sim.shrink.removal import alone, until
from umi_sim.shrink.search import TO_THE_END, Budget, OutOfBudget, ShrinkSearch

__all__ = ["RUNS_MAX", "SECONDS_MAX", "NothingToShrink", "Shrunk", "shrink", "shrink_whole"]

RUNS_MAX = 500
SECONDS_MAX = 60
FIXPOINT = "fixpoint"


class NothingToShrink(ValueError):
    """The run does not fail as recorded, or a recording breaks no rule; the message is one line."""


class Shrunk(Data):
    """The smaller seed file, other failures found on the way, and the result without each needed item."""

    seed: SeedFile
    others: tuple[Verdict, ...] = ()
    without: Mapping[str, str] = {}


def shrink(seed: SeedFile, *, runs_max: int = RUNS_MAX, seconds_max: int = SECONDS_MAX) -> SeedFile:
    """Return the smallest run found within the budget that fails with the same fingerprint.

    Raises NothingToShrink if the run does not fail as recorded.
    """
    return shrink_whole(seed, runs_max=runs_max, seconds_max=seconds_max).seed


def shrink_whole(seed: SeedFile, *, runs_max: int = RUNS_MAX, seconds_max: int = SECONDS_MAX) -> Shrunk:
    """Shrink, and return all results. Ctrl-C ends it with the best so far. Raises NothingToShrink."""
    search = ShrinkSearch(seed.fingerprint, Budget(runs_max, seconds_max), Candidate(seed.config, seed.items))
    without: Mapping[str, str] | None = None
    try:
        begin(search, seed)
        without = to_fixpoint(search)
        stopped = FIXPOINT
    except OutOfBudget as out:
        stopped = str(out)
    except KeyboardInterrupt:
        stopped = "interrupted"
    # If the first run was interrupted, or used up the budget, nothing is known about this file.
    if search.verdict is None:
        raise NothingToShrink(f"{stopped} before it was seen to fail; nothing was changed")
    minimised = Minimised(
        search.budget.runs, counts(seed.original or seed.items), counts(search.best.items),
        without is not None, tuple(without or ()), stopped,
    )  # fmt: skip
    smaller = file_of(seed, search.best, search.verdict, minimised)
    return Shrunk(smaller, tuple(map(runner.add_details, search.others.values())), without or {})


def begin(search: ShrinkSearch, seed: SeedFile) -> None:
    """Run the file once, then without the items after the failure. Raises NothingToShrink."""
    if seed.failure is None:
        raise NothingToShrink("the file expects to pass, so there is no failure to shrink")
    item = seed.failure.item
    if not search.tries(until(search.best, item)) and not search.tries(Candidate(seed.config, seed.items)):
        raise NothingToShrink("the run does not fail as recorded; replay it to see what it does now")


def to_fixpoint(search: ShrinkSearch) -> dict[str, str]:
    """Run all passes until a round changes nothing; return the result without each remaining item.

    Later rounds are fast, since most of their candidates were tried before and are not run again.
    """
    before, without = None, None
    while before is not search.best or without is None:
        before = search.best
        for reduce in PASSES:
            reduce(search)
        if before is not search.best or without is None:
            without = find_needed(search)
    return without


def find_needed(search: ShrinkSearch) -> dict[str, str] | None:
    """Return the result of a complete run without each single item; None if an item could be removed."""
    without = {}
    for item_id, candidate in alone(search.best):
        # The passes ran each candidate only as far as the best run went, so they miss later failures.
        if search.tries(candidate, TO_THE_END):
            return None
        if candidate.ops:  # a run without requests breaks nothing
            without[item_id] = search.outcome(candidate)
    return without


def file_of(seed: SeedFile, best: Candidate, verdict: Verdict | None, minimised: Minimised) -> SeedFile:
    """Return the file of the best run; `seed` itself if nothing in it would change."""
    # If the file was shrunk to a fixpoint before, a search with a smaller budget must not undo that mark.
    is_same = (best.config, best.items) == (seed.config, seed.items)
    if is_same and seed.minimised is not None and (seed.minimised.one_minimal or not minimised.one_minimal):
        return seed
    if verdict is None:
        return structs.replace(seed, minimised=minimised)
    assert verdict.failure is not None
    assert fingerprint_of(verdict.failure) == seed.fingerprint, "the shrinker kept another failure"
    return structs.replace(
        seed_file.of_verdict(runner.add_details(verdict)), minimised=minimised,
        original=seed.original or seed.items, original_config=seed.original_config or seed.config,
        repro=seed.repro, history=seed.history, extra=seed.extra,
    )  # fmt: skip
