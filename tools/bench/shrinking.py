"""From nothing to the smallest failing run: ours beside a Hypothesis state machine, on the same planted bugs.

    .venv/bin/python tools/bench/shrinking.py                  (any Python that has the test extra will do)
    .venv/bin/python tools/bench/shrinking.py --mutants        every planted bug, ours alone

Both get the same scenario, memory, oracle and invariants. CPU seconds: until something fails, until nothing
gets smaller; then how many items the run had first and last. Hypothesis draws and shrinks by its own choices,
one agent and one request at a time; ours draws whole lives and cuts recorded items.
"""

import argparse
from collections.abc import Iterator
from statistics import median
from time import process_time
from typing import Final

import attrs
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile.files import of_verdict
from umi_sim.shrink import shrink_whole
from umi_sim.testing.hypothesis_machine import machine

BUGS: Final = (
    "get-alive-at-expiry", "overwrite-leaks-space", "incr-shortens-life", "ttl-zero-is-forever",
    "missing-session-succeeds", "load-merges", "rest-costs-nothing", "update-resets-importance",
)  # fmt: skip
EXAMPLES_MAX: Final = 2_000
SECONDS_MAX: Final = 1_000_000  # the budget is runs, for seconds of a shared machine say little


@attrs.frozen
class Hunted:
    """CPU milliseconds until the first failure and until the last candidate; items before and after."""

    rule: str
    found_ms: int
    done_ms: int
    items_before: int
    items_after: int
    runs: int = 0

    @property
    def shrink_ms(self) -> int:
        return self.done_ms - self.found_ms


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("names", nargs="*", default=BUGS)
    parser.add_argument("--mutants", action="store_true", help="every planted bug, ours alone")
    options = parser.parse_args()
    if options.mutants:
        alone([MUTANTS[name] for name in (options.names if options.names is not BUGS else MUTANTS)])
    else:
        side_by_side([MUTANTS[name] for name in options.names])


def ours(mutant: Mutant) -> Hunted | None:
    start = process_time()
    for seed in range(mutant.seeds_max):
        config = attrs.evolve(draw(find(mutant.scenario), seed, mutant.overrides), planted=mutant.name)
        verdict, _ = run_once(config)
        if verdict.failure is not None:
            found_ms = since(start)
            done = shrink_whole(of_verdict(verdict), seconds_max=SECONDS_MAX)
            assert done.seed.minimised is not None
            counts = len(verdict.items), len(done.seed.items), done.seed.minimised.runs
            return Hunted(verdict.failure.rule, found_ms, since(start), *counts)
    return None


def hypothesis_alone(mutant: Mutant) -> Hunted | None:
    """What the machine meets, without writing files; the last failure it shows is its smallest."""
    start = process_time()
    seen: list[tuple[int, Verdict]] = []

    class Watched(machine(mutant.scenario, mutant=mutant.name)):  # type: ignore[misc]  # made at run time
        def told(self, verdict: Verdict) -> str:
            seen.append((since(start), verdict))
            return ""

    quick = settings(
        max_examples=EXAMPLES_MAX, stateful_step_count=50, deadline=None, database=None, derandomize=True,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )  # fmt: skip
    try:
        run_state_machine_as_test(Watched, settings=quick)
    except AssertionError:
        first, last = seen[0], seen[-1]
        assert last[1].failure is not None
        counts = len(first[1].items), len(last[1].items), len(seen)
        return Hunted(last[1].failure.rule, first[0], since(start), *counts)
    return None


def since(start: float) -> int:
    return round((process_time() - start) * 1_000)


def side_by_side(mutants: list[Mutant]) -> None:
    head = f"{'bug':<26}{'':<12}{'found':>9}{'shrunk':>9}{'items':>14}   rule"
    print(f"{head}   (CPU milliseconds)")
    faster: list[tuple[float, float]] = []
    for mutant in mutants:
        one, other = ours(mutant), hypothesis_alone(mutant)
        print(row(mutant.name, "ours", one))
        print(row("", "hypothesis", other), flush=True)
        if one and other:
            faster.append((other.found_ms / max(1, one.found_ms), other.shrink_ms / max(1, one.shrink_ms)))
            print(f"{'':<26}{'ratio':<12}{faster[-1][0]:>9.1f}{faster[-1][1]:>9.1f}")
    if faster:
        found, shrunk = (median(ratios) for ratios in zip(*faster, strict=True))
        print(f"{'median of ratios':<38}{found:>9.1f}{shrunk:>9.1f}")


def row(name: str, who: str, done: Hunted | None) -> str:
    if done is None:
        return f"{name:<26}{who:<12}{'not found':>9}"
    items = f"{done.items_before} -> {done.items_after}"
    return f"{name:<26}{who:<12}{done.found_ms:>9}{done.shrink_ms:>9}{items:>14}   {done.rule}"


def alone(mutants: list[Mutant]) -> None:
    done = list(hunted(mutants))
    items = [each.items_after for each in done]
    middle = median(each.shrink_ms for each in done)
    print(f"{len(done)} bugs: median {middle} ms to shrink, {median(items)} items, at most {max(items)}")


def hunted(mutants: list[Mutant]) -> Iterator[Hunted]:
    for mutant in mutants:
        one = ours(mutant)
        print(row(mutant.name, mutant.scenario, one), f"in {one.runs} runs" if one else "", flush=True)
        if one:
            yield one


if __name__ == "__main__":
    main()
