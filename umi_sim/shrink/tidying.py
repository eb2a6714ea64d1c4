"""Passes that tidy up: a configuration as plain as it can be, requests in canonical order."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import structs

from umi_sim.record.items import Deviation, Fault, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.seedfile.fields import PLAIN
from umi_sim.shrink.candidate import OPTIONS, Candidate
from umi_sim.shrink.reduction import fewer
from umi_sim.shrink.search import ShrinkSearch

STEPS_PER_RUN: Final = 20_000
STEPS_PER_OP: Final = 1_000


NAMES: Final = (*OPTIONS, "memory")


def all_options(search: ShrinkSearch) -> None:
    """Try with everything plain."""
    search.tries(with_plain(search.best, NAMES))


def options(search: ShrinkSearch) -> None:
    """Try with as many plain options as can be, then one option of the memory after the other."""

    def works(left: Sequence[str]) -> bool:
        return search.tries(with_plain(search.best, [name for name in NAMES if name not in left]))

    # `works` is given the names that stay odd; `fewer` leaves as few of them as will do.
    fewer(NAMES, works)
    for name in search.best.config.memory:
        left = {key: value for key, value in search.best.config.memory.items() if key != name}
        search.tries(with_config(search.best, structs.replace(search.best.config, memory=left)))


def with_plain(candidate: Candidate, names: Sequence[str]) -> Candidate:
    """Make these options plain, and limits no wider than usual."""
    config = candidate.config
    plain = {name: getattr(PLAIN, name) for name in names}
    if "faults" in names:
        plain["faults"] = dict(kept_faults(candidate))
    # A calm mode with faults in the items would be a judge that excuses nothing: another failure.
    if "mode" in names and not is_calm(candidate):
        plain["mode"] = config.mode
    # A candidate without an end must not take as long as a whole run of the scenario.
    steps_max = min(config.steps_max, STEPS_PER_RUN + STEPS_PER_OP * len(candidate.ops))
    return with_config(candidate, structs.replace(config, **plain, steps_max=steps_max, everywhere=False))


def kept_faults(candidate: Candidate) -> Iterator[tuple[str, tuple[int, int]]]:
    """The kinds of faults that still occur, for a judge excuses only what may be."""
    for fault in dict.fromkeys(item.fault for item in candidate.items if isinstance(item, Fault)):
        yield fault, candidate.config.faults.get(fault, (1, 1))


def is_calm(candidate: Candidate) -> bool:
    """Check that nothing is left that could be an excuse: such a world is plain, and its judge is strict."""
    return all(isinstance(item, Op | Deviation) for item in candidate.items)


def with_config(candidate: Candidate, config: RunConfig) -> Candidate:
    return structs.replace(candidate, config=config)


def order(search: ShrinkSearch) -> None:
    """Neighbours in the order of their agents, then of their names; times stay where they are."""
    for number in range(len(search.best.ops) - 1):
        first, second = search.best.ops[number : number + 2]
        # Neighbours in order make two files of one failure look
        # alike; the search takes it as smaller by its text.
        if (second.agent, second.name) < (first.agent, first.name):
            search.tries(exchange_requests(search.best, first, second))


def exchange_requests(candidate: Candidate, first: Op, second: Op) -> Candidate:
    others = {
        first.id: structs.replace(second, at_ms=first.at_ms),
        second.id: structs.replace(first, at_ms=second.at_ms),
    }
    return structs.replace(candidate, items=tuple(others.get(item.id, item) for item in candidate.items))
