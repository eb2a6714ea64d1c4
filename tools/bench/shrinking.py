"""From nothing to the smallest failing case, on the same planted bugs, beside other tools.

    .venv/bin/python tools/bench/shrinking.py [BUG ...]          (any Python that has the test extra will do)
    .venv/bin/python tools/bench/shrinking.py --each             a row for each bug, too
    .venv/bin/python tools/bench/shrinking.py --mutants          every planted bug, ours alone
    .venv/bin/python tools/bench/shrinking.py --turns 1 --lives-max 200

`umi-sim` and `Hypothesis, same world` get the same scenario, memory, oracle and invariants: umi-sim draws
whole lives and cuts recorded items, Hypothesis draws and shrinks by its own choices, one agent and one
request at a time. The others live the lives of plain.py, where only replies are compared with a dict; a bug
that needs a fault, a model or a second operation in flight does not show there. A `loop` looks for it and
does not shrink. CPU milliseconds, the least of some turns; `same world` has one turn.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from statistics import median
from time import process_time
from typing import Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec import structs

from tools.bench import race
from tools.bench.measure import LACKS, Table, middle, short
from tools.bench.others import TOOLS, Watch, tools, watched
from umi_core.data import Data
from umi_core.workflows import BUILT_IN
from umi_sim.mutants import Mutant, plant_mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile.files import of_verdict
from umi_sim.shrink import shrink_whole
from umi_sim.testing.hypothesis_machine import machine

PLAIN_BUGS: Final = (  # a reply alone shows them
    "ttl-zero-is-forever", "get-alive-at-expiry", "incr-shortens-life", "dead-entries-hold-space",
    "space-in-characters", "lenient-counter-text", "overwrite-leaks-space", "load-merges",
    "rest-costs-nothing", "snapshot-drops-an-entry", "missing-session-succeeds",
    "session-id-from-clock-alone",
)  # fmt: skip
WORLD_BUGS: Final = ("load-clears-first", "promotion-replaces-neighbour")  # they need a fault, and a model
BUGS: Final = (*PLAIN_BUGS, *WORLD_BUGS, race.BUG)
OURS: Final = "umi-sim"
SAME_WORLD: Final = "Hypothesis, same world"
LIVES_MAX: Final = 2_000
SECONDS_MAX: Final = 1_000_000  # the budget is runs, for seconds of a shared machine say little


class Hunted(Data):
    """CPU milliseconds until the first failure and until the last candidate; items or requests left."""

    found_ms: float
    done_ms: float
    left: int = 0
    before: int = 0
    runs: int = 0

    @property
    def shrink_ms(self) -> float:
        return self.done_ms - self.found_ms


Row = dict[str, Hunted | None]  # by tool; None: it was not found


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("names", nargs="*", default=BUGS)
    parser.add_argument("--mutants", action="store_true", help="every planted bug, ours alone")
    parser.add_argument("--each", action="store_true", help="a row for each bug too")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--lives-max", type=int, default=LIVES_MAX, help="after which a tool gives up")
    options = parser.parse_args()
    if options.mutants:
        alone([MUTANTS[name] for name in (options.names if options.names is not BUGS else MUTANTS)])
        return
    rows = {name: hunted(MUTANTS[name], options.turns, options.lives_max) for name in options.names}
    for table in (found(rows), smallest(rows)):
        short_one = structs.replace(table, rows=table.rows[-SUMMARY_COUNT:], note="")
        (table if options.each else short_one).show()


def hunted(mutant: Mutant, turns: int, lives_max: int) -> Row:
    with plant_mutant(mutant.name, BUILT_IN):  # its source is compiled once, for everybody
        pass
    row: Row = {OURS: least_of(turns, lambda: ours(mutant))}
    if mutant.name != race.BUG:  # one request at a time cannot show it
        row[SAME_WORLD] = same_world(mutant, lives_max)
    for name, act in tools().items():
        if mutant.name in PLAIN_BUGS:
            row[name] = least_of(turns, lambda act=act: plainly(mutant.name, act, lives_max))  # type: ignore[misc]  # bound now
    if mutant.name == race.BUG and "detangle" in tools():
        row["detangle"] = least_of(turns, lambda: plainly(mutant.name, race.by_detangle, lives_max))
    return row


def least_of(turns: int, act: Callable[[], Hunted | None]) -> Hunted | None:
    """The same look each time, so only the least disturbed of its times is printed."""
    tries = [done for _ in range(turns) if (done := act())]
    if not tries:
        return None
    return structs.replace(
        tries[0], found_ms=min(it.found_ms for it in tries), done_ms=min(it.done_ms for it in tries)
    )


def ours(mutant: Mutant) -> Hunted | None:
    start, scenario = process_time(), find(mutant.scenario)
    with plant_mutant(mutant.name, BUILT_IN):  # as for the other tools: once for all lives
        for seed in range(mutant.seeds_max):
            config = structs.replace(draw(scenario, seed, mutant.overrides), planted=mutant.name)
            verdict, _ = run_once(config)
            if verdict.failure is not None:
                found_ms = since(start)
                done = shrink_whole(of_verdict(verdict), seconds_max=SECONDS_MAX)
                assert done.seed.minimised is not None
                counts = len(done.seed.items), len(verdict.items), done.seed.minimised.runs
                return Hunted(found_ms, since(start), *counts)
    return None


def same_world(mutant: Mutant, lives_max: int) -> Hunted | None:
    """What the machine meets, without writing files; the last failure it shows is its smallest."""
    start = process_time()
    seen: list[tuple[float, Verdict]] = []

    class Watched(machine(mutant.scenario, mutant=mutant.name)):  # type: ignore[misc]  # made at run time
        def report_failure(self, verdict: Verdict) -> str:
            seen.append((since(start), verdict))
            return ""

    quick = settings(
        max_examples=lives_max, stateful_step_count=50, deadline=None, database=None, derandomize=True,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )  # fmt: skip
    try:
        with redirect_stdout(sys.stderr):  # standard output is for tables
            run_state_machine_as_test(Watched, settings=quick)
    except AssertionError:
        first, last = seen[0], seen[-1]
        return Hunted(first[0], since(start), len(last[1].items), len(first[1].items), len(seen))
    return None


def plainly(name: str, act: Callable[[Watch], None], lives_max: int) -> Hunted | None:
    with plant_mutant(name, BUILT_IN) as registry:
        watch = Watch(registry, lives_max=lives_max)
        watched(act, watch)
        done_ms = since(watch.start)
    if not watch.failures:
        return None
    (first_s, before), (_, left) = watch.failures[0], watch.failures[-1]
    return Hunted(1_000 * first_s, done_ms, left, before, watch.life_count)


def since(start: float) -> float:
    return (process_time() - start) * 1_000


# Tables.


def columns() -> list[str]:
    return [OURS, SAME_WORLD, *TOOLS]


def found(rows: dict[str, Row]) -> Table:
    """Times alone: what a failure looks like differs."""

    def cell(row: Row, tool: str) -> str:
        done = row.get(tool)
        return short(done.found_ms) if done else "not found" if tool in row else LACKS

    lines = [[f"`{bug}`", *(cell(row, tool) for tool in columns())] for bug, row in rows.items()]
    return Table(
        "To the first failure, CPU ms", ["bug", *columns()], [*lines, *summary(rows, lambda it: it.found_ms)]
    )


def smallest(rows: dict[str, Row]) -> Table:
    names = [name for name in columns() if name != "loop"]

    def cell(row: Row, tool: str) -> str:
        done = row.get(tool)
        return f"{short(done.done_ms)} ({done.left})" if done else "not found" if tool in row else LACKS

    lines = [[f"`{bug}`", *(cell(row, tool) for tool in names)] for bug, row in rows.items()]
    note = (
        "In brackets: the items (umi-sim, same world) or requests that are left. –: it cannot do this work."
    )
    ends = [[cell for at, cell in enumerate(row) if at != 3] for row in summary(rows, lambda it: it.done_ms)]
    return Table("From nothing to the smallest failure, CPU ms", ["bug", *names], [*lines, *ends], note)


SUMMARY_COUNT: Final = 3


def summary(rows: dict[str, Row], take: Callable[[Hunted], float]) -> Iterator[list[str]]:
    """Medians of what each tool found, and of its ratios to ours on the same bugs."""
    medians, ratios, counts = ["**median**"], ["**median of ratios to umi-sim**"], ["**found**"]
    for tool in columns():
        both = [(done, mine) for row in rows.values() if (done := row.get(tool)) and (mine := row.get(OURS))]
        medians.append(middle(take(done) for done, _ in both))
        ratios.append(middle(take(done) / take(mine) for done, mine in both))
        counts.append(f"{len(both)} of {sum(tool in row for row in rows.values())}")
    yield from (medians, ratios, counts)


# All planted bugs, ours alone.


def alone(mutants: list[Mutant]) -> None:
    done = list(each_alone(mutants))
    item_counts = [each.left for each in done]
    spent = f"median {median(each.shrink_ms for each in done):.0f} ms to shrink"
    print(f"{len(done)} bugs: {spent}, {median(item_counts)} items, at most {max(item_counts)}")


def each_alone(mutants: list[Mutant]) -> Iterator[Hunted]:
    for mutant in mutants:
        done = ours(mutant)
        outcome = "not found"
        if done:
            outcome = f"{done.before} -> {done.left} items in {done.runs} runs, {done.shrink_ms:.0f} ms"
            yield done
        print(f"{mutant.name:<32}{mutant.scenario:<20}{outcome}", flush=True)


if __name__ == "__main__":
    main()
