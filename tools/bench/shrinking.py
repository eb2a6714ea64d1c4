"""From nothing to the smallest failing case, on the same planted bugs, beside other tools.

    .venv/bin/python tools/bench/shrinking.py [BUG ...]          (any Python that has the test extra will do)
    .venv/bin/python tools/bench/shrinking.py --each             a row for each bug: umi-sim, loop, detangle
    .venv/bin/python tools/bench/shrinking.py --mutants          every planted bug, ours alone
    .venv/bin/python tools/bench/shrinking.py --turns 1 --lives-max 200

`umi-sim` and `Hypothesis, same world` get the same scenario, memory, oracle and invariants: umi-sim draws
whole lives and cuts recorded items, Hypothesis draws and shrinks by its own choices, one agent and one
request at a time. The others live the lives of plain.py, where only replies are compared with a dict; a bug
that needs a fault, a model or a second operation in flight does not show there. A `loop` looks for it and
does not shrink. CPU milliseconds, the least of some turns; `same world` has one turn.

umi-sim draws lives of 10 to 50 requests, because those of the others have 50, and compares no two lives with
each other. Seeds are taken from 0 on.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tools.bench.plain import STEPS
from umi_core.data import Data
from umi_core.workflows import BUILT_IN
from umi_sim.mutants import Mutant, plant_mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find, overridden
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
LIVES: Final[Mapping[str, str]] = {"workload.operations": f"[10, {STEPS}]", "run.equivalences": "[]"}
BUYS: Final = {  # what a bug needs of all that our runs pay for
    "ttl-zero-is-forever": "values without lists",
    "lenient-counter-text": "values without lists",
    "dead-entries-hold-space": "drawn limits",
    "load-clears-first": "a flipped byte",
    "promotion-replaces-neighbour": "a model",
    race.BUG: "any order of answers",
}
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
    parser.add_argument("--each", action="store_true", help="a row for each bug: umi-sim, loop, detangle")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--lives-max", type=int, default=LIVES_MAX, help="after which a tool gives up")
    options = parser.parse_args()
    if options.mutants:
        alone([MUTANTS[name] for name in (options.names if options.names is not BUGS else MUTANTS)])
        return
    names = EACH if options.each else columns()
    rows = {name: hunted(MUTANTS[name], names, options.turns, options.lives_max) for name in options.names}
    for table in (bug_by_bug(rows),) if options.each else (found(rows), smallest(rows)):
        table.show()


def hunted(mutant: Mutant, names: Sequence[str], turns: int, lives_max: int) -> Row:
    """Look for a bug with the tools of these names."""
    with plant_mutant(mutant.name, BUILT_IN):  # its source is compiled once, for everybody
        pass
    row: Row = {OURS: least_of(turns, lambda: ours(mutant, {**LIVES, **mutant.overrides}))}
    if mutant.name != race.BUG and SAME_WORLD in names:  # one request at a time cannot show it
        row[SAME_WORLD] = same_world(mutant, lives_max)
    for name, act in tools().items():
        if mutant.name in PLAIN_BUGS and name in names:
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


def ours(mutant: Mutant, settings: Mapping[str, str]) -> Hunted | None:
    start = process_time()
    scenario = overridden(find(mutant.scenario), settings)
    with plant_mutant(mutant.name, BUILT_IN):  # as for the other tools: once for all lives
        for seed in range(mutant.seeds_max):
            config = structs.replace(draw(scenario, seed), planted=mutant.name)
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


EACH: Final = (OURS, "loop", "detangle")
SMALLER: Final = 3  # times fewer requests


def columns() -> list[str]:
    return [OURS, SAME_WORLD, *TOOLS]


def bug_by_bug(rows: dict[str, Row]) -> Table:
    """Compare umi-sim with the two tools that often find a bug sooner."""

    def cell(row: Row, tool: str) -> str:
        if (done := row.get(tool)) is None:
            return "not found" if tool in row else LACKS
        smallest = "" if tool == "loop" else f"; {short(done.done_ms)} ({done.left})"
        return short(done.found_ms) + smallest

    def buys(row: Row) -> str:
        mine, other = row.get(OURS), row.get("detangle")
        is_smaller = mine and other and SMALLER * mine.left <= other.left
        return "fewer requests" if is_smaller else "nothing"

    lines = [
        [f"`{bug}`", *(cell(row, tool) for tool in EACH), BUYS.get(bug) or buys(row)]
        for bug, row in rows.items()
    ]
    note = "First failure; smallest (requests left). –: it cannot do this."
    return Table("Bug by bug, CPU ms", ["bug", *EACH, "what our time buys"], lines, note)


def found(rows: dict[str, Row]) -> Table:
    """Compare times alone: what a failure looks like differs."""
    counts = {tool: [row[tool] is not None for row in rows.values() if tool in row] for tool in columns()}
    found_of = [f"{sum(each)} of {len(each)}" for each in counts.values()]
    lines = [medians(rows, columns(), lambda it: it.found_ms), ["**found**", *found_of]]
    return Table("To the first failure, CPU ms", ["bug", *columns()], lines)


def smallest(rows: dict[str, Row]) -> Table:
    """Compare times until the last candidate; a loop does not shrink."""
    names = [name for name in columns() if name != "loop"]
    lines = [medians(rows, names, lambda it: it.done_ms)]
    return Table("From nothing to the smallest failure, CPU ms", ["bug", *names], lines)


def medians(rows: dict[str, Row], names: Sequence[str], take: Callable[[Hunted], float]) -> list[str]:
    """Return the median of each tool over the bugs that it found."""
    found_by = {name: [done for row in rows.values() if (done := row.get(name))] for name in names}
    return ["**median**", *(middle(map(take, found_by[name])) for name in names)]


# All planted bugs, ours alone.


def alone(mutants: list[Mutant]) -> None:
    done = list(each_alone(mutants))
    item_counts = [each.left for each in done]
    spent = f"median {median(each.shrink_ms for each in done):.0f} ms to shrink"
    print(f"{len(done)} bugs: {spent}, {median(item_counts)} items, at most {max(item_counts)}")


def each_alone(mutants: list[Mutant]) -> Iterator[Hunted]:
    for mutant in mutants:
        done = ours(mutant, mutant.overrides)
        outcome = "not found"
        if done:
            outcome = f"{done.before} -> {done.left} items in {done.runs} runs, {done.shrink_ms:.0f} ms"
            yield done
        print(f"{mutant.name:<32}{mutant.scenario:<20}{outcome}", flush=True)


if __name__ == "__main__":
    main()
