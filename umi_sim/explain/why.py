"""Why a recorded run fails: what it needs, where it was decided, and the nearest run that passes.

Law 1. A part is needed if without it alone the run does not end in the same fingerprint.
Law 2. The draws come from the stream `why` of the file's seed, the same for every prefix: a page is
       reproducible, up to where its seconds end, and two of its shares differ by the items, not by luck.
Law 3. What was found before an interruption stays found.
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
from umi_sim.kernel.wording import plural
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
    """An item or an option. `is_needed`: without it the run ends otherwise; `instead` says how, in words."""

    name: str
    what: str
    is_needed: bool
    instead: str
    passes: bool = False
    apart_at: int = 0  # the record at which the run without it is another one


class Share(Data):
    """How many runs failed in the same way that kept so many items, and drew the rest."""

    kept: int
    failed: int
    runs: int

    def rose_since(self, before: "Share | None") -> bool:
        """Check whether the share is higher by at least a fifth."""
        if before is None or not (self.runs and before.runs):
            return False
        n, d = DECIDED
        # In whole numbers: 5/8 - 3/8 >= 1/5 as (5 * 8 - 3 * 8) * 5 = 80 >= 1 * 8 * 8 = 64.
        rise = self.failed * before.runs - before.failed * self.runs
        return rise * d >= n * self.runs * before.runs


class Analysis(Owner):
    """The results so far. `nearest`: the part without which the run passes and differs latest."""

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
        """Return the numbers of kept items at which the share rose by a fifth or more."""
        pairs = zip((None, *self.shares), self.shares, strict=False)
        return [share.kept for before, share in pairs if share.rose_since(before)]


def why(seed: SeedFile, runs: int, own: str = "", seconds_max: int | None = None) -> Analysis:
    """Analyse a failure: needed items and options, the nearest passing run, and shares of failing runs.

    `runs`: how often the rest is drawn anew after each item; it stops after `seconds_max`, if given.
    `own`: the file of a scenario that is not shipped. Raises NothingToExplain.
    """
    found = begin_analysis(seed)
    inquiry = Inquiry(seed, found, Budget(None, seconds_max))
    try:
        inquiry.find_needed()
        inquiry.find_options()
        inquiry.find_nearest()
        if runs:
            inquiry.find_shares(runs, own)
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    except OutOfBudget:
        found.stopped = f"after {plural(seconds_max or 0, 'second')} (--seconds)"
    return found


def begin_analysis(seed: SeedFile) -> Analysis:
    """Run the file and return its analysis, still empty. Raises NothingToExplain."""
    if seed.failure is None:
        raise NothingToExplain("the file expects to pass, so there is no failure to explain")
    verdict, records = Playback(seed.config, seed.items).live()
    if verdict.failure is None:
        raise NothingToExplain("it passes now, so there is no failure to explain; umi-sim replay tells more")
    if fingerprint.of(verdict.failure) != seed.fingerprint:
        raise NothingToExplain(
            "it fails in another way than it says; umi-sim replay keeps that as a new file"
        )
    return Analysis(as_happened(seed.items, records), verdict.failure, records)


def as_happened(items: Sequence[Item], records: Trace) -> tuple[Item, ...]:
    """Return the items in the order in which they happened; those that did not are last."""
    left = {item.id: item for item in items}
    found: list[Item] = []
    for record in map(trace.decode, records.kept):
        # A record of a schedule or a clock has no id: of two items that say the
        # same, the first that is left is taken, which is the order of the record.
        item_id = next((item.id for item in left.values() if is_recorded_as(item, record)), None)
        if item_id is not None:
            found.append(left.pop(item_id))
    return (*found, *left.values())


def is_recorded_as(item: Item, record: Record) -> bool:
    """Check whether this is the record of this item, or of one like it."""
    match record[2], item:
        case ((Tag.OP | Tag.FAULT | Tag.SKIPPED), _):
            return record[3] == item.id
        case Tag.SCHEDULE, Deviation(take=take, over=over):
            return record[3:5] == [take, over]
        case Tag.CLOCK, ClockMove(agent=agent, move=move):
            return record[3:5] == [agent, move]
    return False


class Inquiry(Owner):
    """The runs behind a page; their results go into `found`."""

    seed: SeedFile
    found: Analysis
    budget: Budget
    step_count: int = 0

    def live(self, candidate: Candidate, step_max: int) -> tuple[Verdict, Trace]:
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
        """Run without something; return whether it is needed, and what happens without it."""
        verdict, records = self.live(candidate, self.seed.config.steps_max)
        if self.fails_so(verdict):
            return RunPart(name, what, False, later(verdict, self.found.failure))
        apart = trace.first_difference(self.found.trace, records)
        passes = verdict.failure is None
        return RunPart(
            name, what, True, instead(verdict, self.found.failure), passes, apart.index if apart else 0
        )

    def find_nearest(self) -> None:
        """Find the run without one item that passes and equals the failing run for the longest time."""
        passing = [part for part in self.found.parts if part.passes]
        if passing:
            # The run that is alike for longest differs in little but what matters,
            # so its first difference is the best hint. Its trace was not kept when
            # it was tried: one trace of each item would be too much to hold.
            nearest = max(passing, key=lambda part: part.apart_at)
            whole = Candidate(self.seed.config, self.seed.items)
            _, records = self.live(whole.without(nearest.name.__eq__), self.seed.config.steps_max)
            self.found.nearest, self.found.nearest_trace = nearest, records

    # Where it was decided.

    def find_shares(self, runs: int, own: str) -> None:
        """Draw one run for each prefix, then the next one for each: whenever it ends, all have as many."""
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
            self.budget.spend()
            seconds = self.budget.seconds_max or 0
            at("why: the rest drawn afresh", number * len(counts), runs * len(counts), seconds=seconds)
            # One seed for all prefixes of this round (law 2): two
            # rows of the table differ by one item, not by luck.
            fresh = structs.replace(tail, seed=Stream(self.seed.config.seed, "why", number).word())
            for count in counts:
                source = partial(Continued, self.found.items[:count], fresh)
                verdict, _ = run_once(config, source, step_max=TAIL_STEP_COUNT_MAX)
                self.count(verdict)
                failed[count] += self.fails_so(verdict)
            self.found.shares = [Share(count, failed[count], number + 1) for count in counts]

    def tail_configs(self, drawn: RunConfig) -> tuple[RunConfig, RunConfig, str]:
        """Return the configurations of the world and of the generator, and the origin of the latter."""
        recorded = self.seed.config
        # As the scenario draws, but for what the items depend
        # on: these agents, this start, these options of memory.
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
        verdict, _ = run_once(world, self.seed.items)
        self.count(verdict)
        if self.fails_so(verdict):
            return world, tail, drawn.scenario
        calm = structs.replace(tail, faults={}, policy="fifo")  # nothing more for the judge to excuse
        return recorded, calm, f"{drawn.scenario}, without faults"


def prefixes(count: int) -> list[int]:
    """Return how many items are kept: none, all, and every number between; of many some, evenly spread."""
    if count < PREFIX_COUNT_MAX:
        return list(range(count + 1))
    # 100 items: 0, 4, 8, 13 ... 100; both ends are among them.
    return [count * number // (PREFIX_COUNT_MAX - 1) for number in range(PREFIX_COUNT_MAX)]


# Options.


def plainer(whole: Candidate) -> Iterator[tuple[str, str, Candidate]]:
    """Yield each option of the world that is not plain, and the run with it put to plain."""
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
    """Check whether a memory takes these options together: one limit may have to be at least another."""
    try:
        Config.of(options)
    except Rejected:
        return False
    return True


# Words.


def instead(verdict: Verdict, failure: Failure) -> str:
    """Tell how a run ends that does not fail in the same way."""
    other = verdict.failure
    if other is None:
        return "passes"
    name = other.rule if other.rule == other.rule_id else f"{other.rule} ({other.rule_id})"
    message = "the same rule, otherwise" if other.rule == failure.rule else name
    return f"{message} at step {other.step}"


def later(verdict: Verdict, failure: Failure) -> str:
    """Tell that a run fails in the same way, and how much earlier or later."""
    assert verdict.failure is not None
    by = verdict.failure.step - failure.step
    when = (
        "" if by == 0 else f", {abs(by)} step{'s' if abs(by) > 1 else ''} {'later' if by > 0 else 'earlier'}"
    )
    return f"fails all the same{when}"
