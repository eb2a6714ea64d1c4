"""Hunts in another implementation of Umi, which all judges check, with all scenarios and many seeds.

Law 1. It is judged from outside, by its effects, its stored rows and its replies. Its state and the revisions
of its workflows are not checked. Law 2. Requests that it does not serve are not made. A hunt in which no
request was made does not pass.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from time import monotonic
from typing import Final

import msgspec
from msgspec import structs

from umi_core.data import Owner
from umi_sim.judge.equivalences import FILTER, SECOND
from umi_sim.kernel.progress import at
from umi_sim.machines.protocol import NothingServed
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs import runner
from umi_sim.scenario import files as scenarios
from umi_sim.targets.adapter import BadAdapter

TARGET: Final = "umi_core"  # the contract of its scenarios


class WholeMemoryHunt(Owner):
    """The counts of all runs, and the first failure, if any."""

    run_count: int = 0
    scenarios: dict[str, None] = {}
    operations: Counter[str] = msgspec.field(default_factory=Counter)
    fired: Counter[str] = msgspec.field(default_factory=Counter)
    rules: Counter[str] = msgspec.field(default_factory=Counter)
    failed: Verdict | None = None

    def add(self, verdict: Verdict) -> None:
        self.run_count += 1
        self.scenarios[verdict.config.scenario] = None
        self.operations.update(verdict.operations)
        self.fired.update(verdict.fired)
        self.rules.update(verdict.rules)
        self.failed = verdict if verdict.failure else None


def hunt(
    command: str, names: Sequence[str], seeds: Iterable[int], seconds: int | None, *, is_compared: bool
) -> WholeMemoryHunt:
    """Run scenarios until a failure, or until time is over. Raises BadAdapter if nothing can be judged."""
    found = WholeMemoryHunt()
    until_s = None if seconds is None else monotonic() + seconds
    for config in configs(names, seeds):
        try:
            found.add(runner.run(given_to(command, config, is_compared=is_compared)))
        except NothingServed:  # it serves no request of this scenario
            found.scenarios.pop(config.scenario, None)
        at("hunting", found.run_count, seconds=seconds or 0)
        if found.failed or (until_s is not None and monotonic() >= until_s):
            break
    if not found.operations and found.failed is None:
        raise BadAdapter(f"{command}: serves nothing of what {', '.join(names)} would ask")
    return found


def configs(names: Sequence[str], seeds: Iterable[int]) -> Iterator[RunConfig]:
    for seed, name in product(seeds, names):
        yield scenarios.draw(scenarios.find(name), seed)


def given_to(command: str, config: RunConfig, *, is_compared: bool) -> RunConfig:
    """Return the configuration for another implementation: without features that only Umi itself has."""
    equal = [FILTER] if FILTER in config.equivalences else []
    equal += [SECOND] if is_compared else []
    memory = {**config.memory, "group_decay_ms": 0}  # the use of groups cannot be observed from outside
    return structs.replace(config, command=command, revise_every=0, equivalences=tuple(equal), memory=memory)


def names_of(given: Sequence[str]) -> list[str]:
    """Return the scenarios to run: those given, or all of a sweep. Raises BadScenario or BadAdapter."""
    files = {name: scenarios.find(name) for name in given or scenarios.list_shipped()}
    fit = [name for name, file in files.items() if file.target == TARGET and file.mutant is None]
    if given and len(fit) < len(files):
        other = next(name for name in files if name not in fit)
        raise BadAdapter(f"--scenario {other}: tests the {files[other].target}, or has a planted bug")
    return [name for name in fit if given or not files[name].manual]
