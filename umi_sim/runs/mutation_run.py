"""Mutation runs: each planted bug in its own scenario, seed after seed, until it is found."""

import time

from msgspec import structs

from umi_core.data import Data
from umi_sim import mutants
from umi_sim.kernel.wording import plural
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files as scenario


class MutantHunt(Data):
    """The search for one planted bug: the rule that found it, or "", and its cost in seeds and milliseconds.

    `items`: the number of items of the failing run.
    """

    name: str
    rule: str
    expected: tuple[str, ...]
    seeds: int
    ms: int
    items: int = 0

    @property
    def is_found(self) -> bool:
        return self.rule in self.expected


def hunt(mutant: mutants.Mutant, first: int = 0) -> MutantHunt:
    """Run seeds from `first` on, at most `seeds_max` of the mutant, until one of its rules is broken.

    If only other rules are broken, the result names the last of them.
    """
    started = time.monotonic_ns()
    file = scenario.find(mutant.scenario)
    rule, seeds, items = "", 0, 0
    # Limited by the number of seeds, never by time, so that a slow machine finds the same.
    while rule not in mutant.rules and seeds < mutant.seeds_max:
        config = scenario.draw(file, first + seeds, mutant.hunted)
        # Planted anew for each seed, since a bug may keep something outside of the memory.
        verdict = run_once(structs.replace(config, planted=mutant.name))[0]
        seeds += 1
        if verdict.failure is not None:
            rule, items = verdict.failure.rule, len(verdict.items)
    took_ms = (time.monotonic_ns() - started) // 1_000_000
    return MutantHunt(mutant.name, rule, mutant.rules, seeds, took_ms, items)


def hunt_line(done: MutantHunt) -> str:
    if not done.is_found:
        instead = f", where {done.rule} is broken" if done.rule else ""
        return (
            f"NOT FOUND {done.name} in {describe_cost(done)}{instead}: expected {' or '.join(done.expected)}"
        )
    return f"FOUND {done.name} by {done.rule} in {describe_cost(done)}: a run of {plural(done.items, 'item')}"


def describe_cost(done: MutantHunt) -> str:
    return f"{plural(done.seeds, 'seed')} and {done.ms} ms"
