"""Floors: the coverage that a sweep must reach before its pass means anything.

Law 1. A summary has counts, and the least and greatest value of each option, so summaries are added in any
       order.
Law 2. Demands follow from the scenario's file alone: marks with floors, kinds of fault that it turns on,
       options that it leaves open, requests that it may use.
Law 3. Few runs prove nothing: below a number of runs, the only demand is that most operations are judged.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, product
from typing import Final

import msgspec
from msgspec import structs

from umi_core.config import Config
from umi_core.data import Data, Mutable
from umi_core.messages.requests import COMMON, REQUESTS
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.prng import Ratio
from umi_sim.record.items import Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.scenario.drawing import possible_kinds
from umi_sim.scenario.files import Scenario

RUN_COUNT_MIN: Final = 1_000  # runs of a scenario from which on its marks, faults and options count
PAIR_RUN_COUNT_MIN: Final = 2_000  # for a pair of requests: runs of all scenarios that may make both
EXCUSED_MAX: Final[Ratio] = (1, 2)

Value = bool | int | str
Ends = tuple[Value, Value]


class Summary(Mutable):
    """Counts over the runs of one scenario.

    `reached`: mark -> number of runs that reached it. `ends`: option -> its least and greatest value.
    `pairs`: two successive requests of an agent -> how often they were made.
    """

    runs: int = 0
    operations: int = 0
    excused: int = 0
    reached: Counter[str] = msgspec.field(default_factory=Counter)
    fired: Counter[str] = msgspec.field(default_factory=Counter)
    ends: dict[str, Ends] = {}
    pairs: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)

    def add(self, other: "Summary") -> None:
        """Add the counts of other runs."""
        self.runs += other.runs
        self.operations += other.operations
        self.excused += other.excused
        self.reached.update(other.reached)
        self.fired.update(other.fired)
        self.pairs.update(other.pairs)
        for name, (low, high) in other.ends.items():
            self.widen(name, low)
            self.widen(name, high)

    def widen(self, name: str, value: Value) -> None:
        low, high = self.ends.get(name, (value, value))
        self.ends[name] = (min(low, value, key=order), max(high, value, key=order))


def order(value: Value) -> tuple[int, str]:
    """Return the sort key of a number, flag or word; all values of one option are of one type."""
    return (0, value) if isinstance(value, str) else (value, "")


class Missed(Data):
    """One unmet demand; `scenario` is empty for a demand on all scenarios together."""

    scenario: str
    what: str


# Coverage of one run.


def summary_of(scenario: Scenario, verdict: Verdict) -> Summary:
    config = verdict.config
    # A mark counts once for each run: a thousand hits in one run say nothing about other runs.
    summary = Summary(
        1, sum(verdict.operations.values()), sum(verdict.excused.values()), Counter(verdict.marks.keys()),
        Counter(verdict.fired), pairs=Counter(pairs_of(verdict)),
    )  # fmt: skip
    for name in open_options(scenario):
        summary.widen(name, value_of(name, config))
    return summary


def pairs_of(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the requests of each agent, each with the next one."""
    ops = [item for item in verdict.items if isinstance(item, Op)]
    for agent in verdict.config.agents:
        yield from pairwise(op.name for op in ops if op.agent == agent.name)


# Demands of a file.


def enabled_kinds(scenario: Scenario) -> tuple[str, ...]:
    """Return the kinds of faults that the file turns on, by name, by group or as jumps of clocks."""
    mode, pinned = scenario.swarm.get("mode"), scenario.pin.get("kind")
    if mode == "plain":
        return ()
    if mode == "one_kind" and pinned:
        return (pinned,)
    # Without a [faults] table all kinds are on, but none is demanded: only those in the file must fire.
    possible = possible_kinds(structs.replace(scenario, faults=scenario.faults or {}))
    may_destroy = scenario.pin.get("loss") is not False
    return tuple(name for name in possible if may_destroy or KINDS[name].fault_class != "destroys")


def open_options(scenario: Scenario) -> tuple[str, ...]:
    """Return the options that the file gives as a range, as several words or as "any"."""
    spans = {name: getattr(scenario, name.partition(".")[2]) for name in SPANS}
    words = {"services.latency": scenario.latency, "run.policy": scenario.policy}
    memory = {f"memory.{name}": ends for name, ends in scenario.memory.items()}
    found = [name for name, ends in {**spans, **memory}.items() if ends and ends[0] != ends[1]]
    found += [name for name, choice in words.items() if len(choice) > 1]
    return (*found, "scenario.swarm.mode") if scenario.swarm.get("mode") == "any" else tuple(found)


SPANS: Final[Mapping[str, Callable[[RunConfig], Value]]] = {
    "agents.count": lambda config: len(config.agents),
    "agents.users": lambda config: len({agent.scope.user: None for agent in config.agents}),
    "agents.in_flight": lambda config: config.in_flight_max,
    "workload.operations": lambda config: config.operations_max,
    "workload.keys": lambda config: config.key_count,
    "run.revise_every": lambda config: config.revise_every,
    "services.tamper_every": lambda config: config.tamper_every,
}
WORDS: Final[Mapping[str, Callable[[RunConfig], Value]]] = {
    "services.latency": lambda config: config.latency,
    "run.policy": lambda config: config.policy,
    "scenario.swarm.mode": lambda config: config.mode,
}
NORMAL: Final = Config()


def value_of(name: str, config: RunConfig) -> Value:
    table, _, option = name.partition(".")
    if table == "memory":
        normal: int = getattr(NORMAL, option)
        return config.memory.get(option, normal)
    return (SPANS.get(name) or WORDS[name])(config)


def requests_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the requests that this file may generate; none for a script or a transcript."""
    given = scenario.weights or COMMON
    return tuple(name for name in REQUESTS if name in given) if scenario.kind == "generated" else ()


# Unmet demands.


def list_missed(
    scenarios: Mapping[str, Scenario],
    summaries: Mapping[str, Summary],
    run_count_min: int,
    pair_run_count_min: int,
) -> list[Missed]:
    """Return the unmet demands on these runs, in the order of the scenarios."""
    found: list[Missed] = []
    for name, scenario in scenarios.items():
        summary = summaries.get(name, Summary())
        unmet = list(lacking(scenario, summary)) if summary.runs >= run_count_min else []
        n, d = EXCUSED_MAX
        if summary.excused * d > summary.operations * n:
            share = f"{summary.excused} of {summary.operations} operations excused"
            unmet.append(f"{share}, at most {n}/{d} may be")
        found += [Missed(name, what) for what in unmet]
    return found + [Missed("", what) for what in list_unmade_pairs(scenarios, summaries, pair_run_count_min)]


def lacking(scenario: Scenario, summary: Summary) -> Iterator[str]:
    for mark, (n, d) in scenario.marks.items():
        count = summary.reached[mark]
        # A floor of 0/1 still demands that one run reaches the mark.
        if count == 0 or count * d < n * summary.runs:
            yield f"mark {mark}: {count} of {summary.runs} runs, floor {n}/{d}"
    for kind in enabled_kinds(scenario):
        if not summary.fired[kind]:
            yield f"fault {kind}: never fired"
    for name in open_options(scenario):
        low, high = summary.ends.get(name, (None, None))  # None: all runs were ended by force
        if low == high:
            yield f"option {name}: always {low}"


def list_unmade_pairs(
    scenarios: Mapping[str, Scenario], summaries: Mapping[str, Summary], run_count_min: int
) -> Iterator[str]:
    """Yield pairs of requests that no run made in succession, although many runs may make both."""
    run_counts: Counter[tuple[str, str]] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    for name, scenario in scenarios.items():
        summary, kinds = summaries.get(name, Summary()), requests_of(scenario)
        # Runs of all scenarios with both requests count together: one scenario alone has too few.
        run_counts.update(dict.fromkeys(product(kinds, kinds), summary.runs))
        seen.update(summary.pairs)
    for (first, second), run_count in run_counts.items():
        if run_count >= run_count_min and not seen[first, second]:
            yield f"requests {first}, then {second}: never"
