"""Passes that make the configuration plain, and put requests into canonical order."""

from collections.abc import Sequence
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
    """Try with all options plain."""
    search.tries(with_plain(search.best, NAMES))


def options(search: ShrinkSearch) -> None:
    """Make as many options plain as possible, then remove options of the memory one by one."""

    def works(left: Sequence[str]) -> bool:
        return search.tries(with_plain(search.best, [name for name in NAMES if name not in left]))

    # `works` gets the options that stay as they are; `fewer` keeps as few of them as possible.
    fewer(NAMES, works)
    for name in search.best.config.memory:
        left = {key: value for key, value in search.best.config.memory.items() if key != name}
        search.tries(with_config(search.best, structs.replace(search.best.config, memory=left)))


def with_plain(candidate: Candidate, names: Sequence[str]) -> Candidate:
    """Return the candidate with these options plain, and with limits that are not larger than usual."""
    config = candidate.config
    plain = {name: getattr(PLAIN, name) for name in names}
    if "faults" in names:  # keeps kinds that still occur, since the judge excuses only possible faults
        kinds = dict.fromkeys(item.fault for item in candidate.items if isinstance(item, Fault))
        plain["faults"] = {kind: config.faults.get(kind, (1, 1)) for kind in kinds}
    # In plain mode the judge excuses nothing, so faults in the items would lead to another failure.
    if "mode" in names and not is_calm(candidate):
        plain["mode"] = config.mode
    # A candidate that does not end must not take as long as a complete run of the scenario.
    steps_max = min(config.steps_max, STEPS_PER_RUN + STEPS_PER_OP * len(candidate.ops))
    return with_config(candidate, structs.replace(config, **plain, steps_max=steps_max, everywhere=False))


def is_calm(candidate: Candidate) -> bool:
    """Return whether no item can be an excuse; such a world may be plain, where the judge is strict."""
    return all(isinstance(item, Op | Deviation) for item in candidate.items)


def with_config(candidate: Candidate, config: RunConfig) -> Candidate:
    return structs.replace(candidate, config=config)


def order(search: ShrinkSearch) -> None:
    """Exchange neighbouring requests that are not in order of agents, then of names; times stay."""
    for number in range(len(search.best.ops) - 1):
        first, second = search.best.ops[number : number + 2]
        # This makes two files of one failure look alike; the order of texts makes the candidate smaller.
        if (second.agent, second.name) < (first.agent, first.name):
            search.tries(exchange_requests(search.best, first, second))


def exchange_requests(candidate: Candidate, first: Op, second: Op) -> Candidate:
    others = {
        first.id: structs.replace(second, at_ms=first.at_ms),
        second.id: structs.replace(first, at_ms=second.at_ms),
    }
    return structs.replace(candidate, items=tuple(others.get(item.id, item) for item in candidate.items))
