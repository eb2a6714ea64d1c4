"""Why a recorded run fails: what it needs, where it was decided, and the nearest run that passes.

Law 1. An item or option is needed if the run without it alone does not fail with the same fingerprint.
Law 2. Draws come from the stream `why` of the file's seed, the same for every prefix. A page is therefore
       reproducible (up to its time limit), and two shares differ because of the items, not by chance.
Law 3. An interruption keeps the results found before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import structs

from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.errors import Rejected
from umi_sim.explain.playback import Playback
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.progress import at
from umi_sim.record import fingerprint, trace
from umi_sim.record.items import ClockMove, Deviation, Item
from umi_sim.record.run_config import DRAWN, RunConfig
from umi_sim.record.trace import Record, Tag, Trace
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.runs.continued import Continued
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files as scenario
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import SeedFile
from umi_sim.shrink.candidate import OPTIONS, Candidate, drop_agent
from umi_sim.shrink.search import Budget, OutOfBudget

TAIL_OPERATION_COUNT_MAX: Final = 12
PREFIX_COUNT_MAX: Final = 24
STEP_COUNT_MAX: Final = 4_000_000
TAIL_STEP_COUNT_MAX: Final = 5_000
JUDGED: Final = ("mode", "faults", "equivalences", "off")
"""Options that change only the judge, not what happens."""
DECIDED: Final = (1, 5)
INTERRUPTED: Final = "interrupted"


class NothingToExplain(ValueError):
    """The file does not fail as recorded; the message is one line."""


class RunPart(Data):
    """An item or an option. `is_needed`: the run ends differently without it; `instead`: how it ends then."""

    name: str
    what: str
    is_needed: bool
    instead: str
    passes: bool = False
    apart_at: int = 0  # index of the first trace record that differs in the run without it


class Share(Data):
    """Of `runs` runs that keep the first `kept` items and draw the rest, how many failed in the same way."""

    kept: int
    failed: int
    runs: int

    def rose_since(self, before: "Share | None") -> bool:
        """Check whether the share is higher than `before` by at least one fifth of all runs."""
        if before is None or not (self.runs and before.runs):
            return False
        n, d = DECIDED
        # Integer arithmetic: 5/8 - 3/8 >= 1/5 becomes (5 * 8 - 3 * 8) * 5 = 80 >= 1 * 8 * 8 = 64.
        rise = self.failed * before.runs - before.failed * self.runs
        return rise * d >= n * self.runs * before.runs


class Analysis(Owner):
    """The results so far. `nearest`: the item without which the run passes and diverges latest."""

    items: tuple[Item, ...]
    failure: Failure
    trace: Trace
    parts: list[RunPart] = []
    options: list[RunPart] = []
    shares: list[Share] = []
    tail_from: str = ""
    no_shares: str = ""
    nearest: RunPart | None = None
    nearest_trace: Trace | None = None
    stopped: str = ""

    @property
    def is_interrupted(self) -> bool:
        return self.stopped == INTERRUPTED

    def find_decisions(self) -> list[int]:
        """Return the numbers of kept items at which the share of failing runs rose by a fifth or more."""
        pairs = zip((None, *self.shares), self.shares, strict=False)
        return [share.kept for before, share in pairs if share.rose_since(before)]


def why(seed: SeedFile, runs: int, own: str = "", budget: Budget | None = None) -> Analysis:
    """Analyse a failure: needed items and options, the nearest passing run, and shares of failing runs.

    `runs`: runs per prefix of the items, drawing the rest. `budget`: no run but the first begins after its
    time. `own`: the file of a scenario that is not shipped. Raises NothingToExplain.
    """
    budget = budget or Budget(None, None)
    found = begin_analysis(seed)
    inquiry = Inquiry(seed, found, budget)
    try:
        inquiry.find_needed()
        inquiry.find_options()
        inquiry.find_nearest()
        if runs:
            inquiry.find_shares(runs, own)
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    except OutOfBudget:
        found.stopped = budget.describe_end()
    return found


def begin_analysis(seed: SeedFile) -> Analysis:
    """Run the file and return an analysis without results. Raises NothingToExplain."""
    if seed.failure is None:
        raise NothingToExplain("the file expects to pass, so there is no failure to explain")
    verdict, records = Playback(seed.config, seed.items).run_to_end()
    if verdict.failure is None:
        raise NothingToExplain("it passes now, so there is no failure to explain; umi-sim replay tells more")
    if fingerprint.of(verdict.failure) != seed.fingerprint:
        raise NothingToExplain(
            "it fails in another way than it says; umi-sim replay keeps that as a new file"
        )
    return Analysis(as_happened(seed.items, records), verdict.failure, records)


def as_happened(items: Sequence[Item], records: Trace) -> tuple[Item, ...]:
    """Return the items in the order in which they happened, then the items that did not happen."""
    left = {item.id: item for item in items}
    found: list[Item] = []
    for record in map(trace.decode, records.kept):
        # A schedule or clock record has no item id. If several items match it, the
        # first one not yet matched is taken: equal items keep their recorded order.
        item_id = next((item.id for item in left.values() if is_recorded_as(item, record)), None)
        if item_id is not None:
            found.append(left.pop(item_id))
    return (*found, *left.values())


def is_recorded_as(item: Item, record: Record) -> bool:
    """Check whether the record is of this item, or of an item with equal fields."""
    match record[2], item:
        case ((Tag.OP | Tag.FAULT | Tag.SKIPPED), _):
            return record[3] == item.id
        case Tag.SCHEDULE, Deviation(take=take, over=over):
            return record[3:5] == [take, over]
        case Tag.CLOCK, ClockMove(agent=agent, move=move):
            return record[3:5] == [agent, move]
    return False


class Inquiry(Owner):
    """The runs of an analysis; their results are written to `found`."""

    seed: SeedFile
    found: Analysis
    budget: Budget
    step_count: int = 0

    def run(self, candidate: Candidate, step_max: int) -> tuple[Verdict, Trace]:
        self.budget.spend()
        verdict, records = run_once(candidate.config, candidate.items, keep_trace=True, step_max=step_max)
        self.count(verdict)
        return verdict, records

    def count(self, verdict: Verdict) -> None:
        self.step_count += verdict.steps

    def fails_so(self, verdict: Verdict) -> bool:
        return verdict.failure is not None and fingerprint.of(verdict.failure) == self.seed.fingerprint

    # What is needed.

    def find_needed(self) -> None:
        whole = Candidate(self.seed.config, self.seed.items)
        for number, item in enumerate(self.found.items, 1):
            at("why: without each item", number, len(self.found.items))
            self.found.parts.append(self.part(item.id, "", whole.without(item.id.__eq__)))

    def find_options(self) -> None:
        for name, what, candidate in plainer(Candidate(self.seed.config, self.seed.items)):
            at(f"why: with {name} plain")
            self.found.options.append(self.part(name, what, candidate))

    def part(self, name: str, what: str, candidate: Candidate) -> RunPart:
        """Run a candidate without one part; return whether the part is needed and how the run ends."""
        verdict, records = self.run(candidate, self.seed.config.steps_max)
        if self.fails_so(verdict):
            return RunPart(name, what, False, later(verdict, self.found.failure))
        apart = trace.first_difference(self.found.trace, records)
        passes = verdict.failure is None
        return RunPart(
            name, what, True, instead(verdict, self.found.failure), passes, apart.index if apart else 0
        )

    def find_nearest(self) -> None:
        """Find the passing run without one item that equals the failing run for the longest time."""
        passing = [part for part in self.found.parts if part.passes]
        if passing:
            # The passing run that diverges last differs in little besides the cause, so its
            # first difference is the best hint. It is run again to get its trace, because
            # keeping the trace of every item's run would take too much memory.
            nearest = max(passing, key=lambda part: part.apart_at)
            whole = Candidate(self.seed.config, self.seed.items)
            _, records = self.run(whole.without(nearest.name.__eq__), self.seed.config.steps_max)
            self.found.nearest, self.found.nearest_trace = nearest, records

    # Where it was decided.

    def find_shares(self, runs: int, own: str) -> None:
        """Run each prefix once per round, so that all have equally many runs whenever the search stops."""
        try:
            drawn = scenario.draw(scenario.of(self.seed.config, own), self.seed.config.seed)
        except scenario.BadScenario as error:
            self.found.no_shares = str(error)
            return
        config, tail, self.found.tail_from = self.tail_configs(drawn)
        counts = prefixes(len(self.found.items))
        failed = dict.fromkeys(counts, 0)
        for number in range(runs):
            if self.step_count > STEP_COUNT_MAX:
                self.found.stopped = f"after {STEP_COUNT_MAX} steps"
                return
            seconds = self.budget.seconds_max or 0
            at("why: the rest drawn afresh", number * len(counts), runs * len(counts), seconds=seconds)
            # All prefixes of a round share one seed (law 2), so two
            # rows of the table differ by their items, not by chance.
            fresh = structs.replace(tail, seed=Stream(self.seed.config.seed, "why", number).word())
            for count in counts:
                self.budget.spend()
                source = partial(Continued, self.found.items[:count], fresh)
                verdict, _ = run_once(config, source, step_max=TAIL_STEP_COUNT_MAX)
                self.count(verdict)
                failed[count] += self.fails_so(verdict)
            self.found.shares = [Share(count, failed[count], number + 1) for count in counts]

    def tail_configs(self, drawn: RunConfig) -> tuple[RunConfig, RunConfig, str]:
        """Return the configurations of the world and of the generator, and where the latter comes from."""
        recorded = self.seed.config
        # Draw as the scenario does, but keep what the recorded items
        # depend on: the agents, the start time and the memory options.
        tail = structs.replace(
            drawn, agents=recorded.agents, start_ms=recorded.start_ms, memory=recorded.memory,
            operations_max=min(drawn.operations_max, TAIL_OPERATION_COUNT_MAX),
            workload="generated" if drawn.workload == "script" else drawn.workload,
        )  # fmt: skip
        faults = {**drawn.faults, **recorded.faults}
        world = structs.replace(
            recorded, mode=drawn.mode, faults=faults, everywhere=drawn.everywhere,
            policy=recorded.policy if drawn.policy == "fifo" else drawn.policy,
        )  # fmt: skip
        # The judge excuses more in a world with more faults. Only if the recorded items still fail in such a
        # world do its shares say anything about this failure.
        self.budget.spend()
        verdict, _ = run_once(world, self.seed.items)
        self.count(verdict)
        if self.fails_so(verdict):
            return world, tail, drawn.scenario
        calm = structs.replace(tail, faults={}, policy="fifo")  # nothing more for the judge to excuse
        return recorded, calm, f"{drawn.scenario}, without faults"


def prefixes(count: int) -> list[int]:
    """Return the prefix lengths to try: 0 to `count`, or PREFIX_COUNT_MAX of them, evenly spread."""
    if count < PREFIX_COUNT_MAX:
        return list(range(count + 1))
    # 100 items: 0, 4, 8, 13 ... 100; both ends are among them.
    return [count * number // (PREFIX_COUNT_MAX - 1) for number in range(PREFIX_COUNT_MAX)]


# Options.


def plainer(whole: Candidate) -> Iterator[tuple[str, str, Candidate]]:
    """Yield each option that is not at its plain value, and the run with the plain value instead."""
    config = whole.config
    for name in OPTIONS:
        if name not in (*DRAWN, *JUDGED) and getattr(config, name) != getattr(PLAIN, name):
            plain = {name: getattr(PLAIN, name)}
            yield (
                name,
                f"{getattr(config, name)}",
                structs.replace(whole, config=structs.replace(config, **plain)),
            )
    for name, value in config.memory.items():
        left = {key: config.memory[key] for key in config.memory if key != name}
        if are_options(left):
            yield name, f"{value}", structs.replace(whole, config=structs.replace(config, memory=left))
    for agent in config.agents:
        if agent.skew_ms:
            exact = tuple(structs.replace(it, skew_ms=0) if it is agent else it for it in config.agents)
            yield (
                f"clock {agent.name}",
                f"{agent.skew_ms} ms",
                structs.replace(whole, config=structs.replace(config, agents=exact)),
            )
        if len(config.agents) > 1:
            yield f"agent {agent.name}", "", drop_agent(whole, agent.name)
    deviations = [item.id for item in whole.items if isinstance(item, Deviation)]
    if len(deviations) > 1:
        yield "schedule", f"{len(deviations)} deviations", whole.without(deviations.__contains__)


def are_options(options: Mapping[str, int | bool]) -> bool:
    """Check whether a memory accepts these options together: some limits must not be below others."""
    try:
        Config.of(options)
    except Rejected:
        return False
    return True


# Words.


def instead(verdict: Verdict, failure: Failure) -> str:
    """Describe the end of a run that does not fail in the same way."""
    other = verdict.failure
    if other is None:
        return "passes"
    name = other.rule if other.rule == other.rule_id else f"{other.rule} ({other.rule_id})"
    message = "the same rule, otherwise" if other.rule == failure.rule else name
    return f"{message} at step {other.step}"


def later(verdict: Verdict, failure: Failure) -> str:
    """State that a run fails in the same way, and how many steps earlier or later."""
    assert verdict.failure is not None
    by = verdict.failure.step - failure.step
    when = (
        "" if by == 0 else f", {abs(by)} step{'s' if abs(by) > 1 else ''} {'later' if by > 0 else 'earlier'}"
    )
    return f"fails all the same{when}"
