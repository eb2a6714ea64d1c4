"""Drawing: the seed decides the options that a scenario leaves open, before the first step.

Law 1. Every option has its own stream, named by its key, so a pinned or added option changes no other.
Law 2. In mode plain a run is as calm as its file allows; in mode one_kind it has one kind of fault. If a file
gives a range, the range of the mode is clipped to it.
Law 3. An option with a range in the file is drawn in every mode.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from umi_core.config import OPTIONS, Config, check_option
from umi_core.data import Data
from umi_core.limits import CORE_BYTES_MIN, DAY_MS, PAGE_ROW_COUNT_MAX
from umi_core.messages.requests import COMMON, REQUESTS
from umi_core.values import Scope
from umi_sim.faults.kinds import KINDS
from umi_sim.judge import equivalences
from umi_sim.kernel.prng import Ratio, Stream, highest, stream_key
from umi_sim.machines.limits import LIMITS
from umi_sim.record.run_config import AgentConfig, RunConfig, steps_max
from umi_sim.workload.pools import NEIGHBOURS
from umi_sim.world.schedule import DEPTHS

if TYPE_CHECKING:
    from umi_sim.scenario.files import Scenario

Range = tuple[int, int]

START_MS: Final = 1_700_000_000_000  # November 2023; any time far from both ends of a clock would do
SKEW_MS_MAX: Final = 30 * DAY_MS
MODES: Final = {"plain": 1, "one_kind": 1, "swarm": 3}  # weights: runs in every five seeds
ONE_KIND_RATE: Final[Ratio] = (1, 4)
QUIRK_RATE: Final[Ratio] = (1, 4)  # quirks are legal behaviour, so they may be frequent

NUMBERS: Final[Mapping[str, Mapping[str, Range]]] = {
    "agents.count": {"plain": (1, 1), "one_kind": (1, 2), "swarm": (1, 4)},
    "agents.users": {"plain": (1, 1), "one_kind": (1, 1), "swarm": (1, 3)},
    "agents.in_flight": {"plain": (1, 1), "one_kind": (1, 4), "swarm": (1, 8)},
    "workload.keys": {"plain": (4, 4), "one_kind": (1, 4), "swarm": (1, 8)},
    "workload.operations": {"plain": (50, 50), "one_kind": (50, 50), "swarm": (10, 400)},
}
TINY: Final[Mapping[str, Range]] = {
    "core_bytes_max": (CORE_BYTES_MIN, CORE_BYTES_MIN),
    "core_entry_count_max": (1, 8),
    "working_bytes_max": (64, 512),
    "working_entry_count_max": (1, 8),
}
OFTEN: Final = {  # weights for a file without any; every other request has 1
    "remember": 7, "recall": 6, "set": 6, "get": 4, "touch": 3, "incr": 3, "append": 3, "set_block": 3,
    "forget": 3, "delete": 2, "render": 2, "rebalance": 2,
    "create_session": 2, "save_session": 2, "load_session": 2,
}  # fmt: skip
FLOORS: Final = {  # a swarm run drops half of the requests, but keeps at least one of each row
    "write": tuple(name for name, request in COMMON.items() if request.stores),
    "read": tuple(name for name, request in COMMON.items() if request.shows),
}
POLICIES: Final = {"fifo": 2, "random": 4, "lifo": 1, "pct": 3}
REVISE_EVERY: Final[Range] = (2, 20)
LATENCIES: Final = ("instant", "short", "spread")
NORMAL: Final = Config()

assert all(check_option(name, end) is None for name, ends in TINY.items() for end in ends)


def config_of(scenario: "Scenario", seed: int) -> RunConfig:
    """Draw the configuration: everything that the seed decides before the first step."""
    return Drawing(scenario, seed, mode_of(scenario, seed)).config()


def mode_of(scenario: "Scenario", seed: int) -> str:
    """Return the mode of the file, or draw one; one_kind needs a possible kind of fault."""
    mode: str = scenario.swarm.get("mode", "any")
    if mode != "any":
        return mode
    drawn = Stream(seed, "config", "scenario.swarm.mode").pick_weighted(tuple(MODES), tuple(MODES.values()))
    return "swarm" if drawn == "one_kind" and not possible_kinds(scenario) else drawn


def possible_kinds(scenario: "Scenario") -> list[str]:
    """List the kinds of fault that a run of this scenario may have, in the order of the registry."""
    rates = {name: given_rate(scenario, name) for name in KINDS}
    return [name for name, rate in rates.items() if (rate if isinstance(rate, bool) else rate[0] > 0)]


def given_rate(scenario: "Scenario", name: str) -> bool | Ratio:
    """Return whether a kind of fault is on, or its rate: by kind, group or `clock.jumps`, else a default."""
    given, group, jumps = scenario.faults, KINDS[name].group, scenario.jumps
    # Without a [faults] table every kind is on; with one, only the kinds that it names.
    default = jumps if jumps is not None and group == "clock" else given is None
    # A kind overrides its group: `link = true` with `link_loss = false` turns on all others of the group.
    return (given or {}).get(name, (given or {}).get(group, default))


class Drawing(Data):
    """One drawing of a configuration."""

    scenario: "Scenario"
    seed: int
    mode: str

    def config(self) -> RunConfig:
        scenario, agents, operations = self.scenario, self.agents(), self.operations()
        return RunConfig(
            scenario=scenario.id, version=scenario.version, seed=self.seed, mode=self.mode, agents=agents,
            start_ms=self.start_ms(), memory=self.memory(), weights=self.weights(), faults=self.faults(),
            operations_max=operations,
            in_flight_max=self.number("agents.in_flight"),
            key_count=self.number("workload.keys"),
            adversarial=self.share("workload.adversarial", (1, 7), 8, (1, 4)),
            edges=scenario.edges or (0, 1),
            short_blocks=scenario.short_blocks or (0, 1),
            media=scenario.media or (0, 1),
            retold=scenario.retold or (0, 1),
            nearly=scenario.nearly or (0, 1),
            retry=scenario.retry or (0, 1),
            land=self.share("clock.land", (1, 4), 8, (1, 4)),
            repeat=self.share("workload.repeat", (-3, 4), 16, (0, 1) if self.is_plain else None),
            latency=self.latency(), policy=self.policy(), flush_ms=scenario.flush_ms,
            capacity_bytes=scenario.storage.get("capacity_bytes"), page_rows=self.page_rows(),
            limits=self.limits(), loss_max=self.loss_max(),
            revise_every=self.revise_every(), tamper_every=self.tamper_every(),
            pause_ms_max=scenario.pause_ms_max, alike=scenario.alike,
            workload=scenario.kind, target=scenario.target, script=scenario.script,
            transcript=scenario.transcript, planted=scenario.mutant, off=scenario.off,
            everywhere=self.mode == "one_kind" or scenario.swarm.get("sites") == "all",
            categories=self.categories(),
            equivalences=equivalences.choose_equivalences(scenario.equivalences, self.seed, self.mode),
            steps_max=scenario.steps_max or steps_max(operations, len(agents)),
        )  # fmt: skip

    # One option, by its kind.

    @property
    def is_plain(self) -> bool:
        return self.mode == "plain"

    @property
    def is_swarm(self) -> bool:
        return self.mode == "swarm"

    def stream(self, key: str) -> Stream:
        return Stream(self.seed, "config", key)

    def read_key(self, key: str) -> Any:
        return getattr(self.scenario, key.split(".")[1])

    def ends(self, key: str) -> Range:
        """Return the range of this mode, clipped to that of the file; a swarm run has that of the file."""
        own, given = NUMBERS[key][self.mode], self.read_key(key)
        if given is None or self.is_swarm:
            return given or own
        low, high = given  # own 1 .. 20 and given 10 .. 50: 10 .. 20; given 30 .. 50: 30 .. 30
        return min(max(own[0], low), high), min(max(own[1], low), high)

    def number(self, key: str, draw: Callable[[Stream, int, int], int] = Stream.between) -> int:
        return draw(self.stream(key), *self.ends(key))

    def share(self, key: str, n: Range, d: int, calm: Ratio | None) -> Ratio:
        """Return the share of the file; else draw n/d with n from a range, where a negative n counts as zero.

        `calm`: the share in runs that are not swarm runs; None: drawn there, too.
        """
        # n from -3 .. 4: four of these eight numbers count as 0, so half of the runs have a share of 0.
        drawn = (max(0, self.stream(key).between(*n)), d) if self.is_swarm or calm is None else calm
        given: Ratio | None = self.read_key(key)
        return given or drawn

    # The options.

    def operations(self) -> int:
        return len(self.scenario.script) or self.number("workload.operations", Stream.log_between)

    def latency(self) -> str:
        allowed = self.scenario.latency or LATENCIES
        calm = "instant" if "instant" in allowed else allowed[0]
        return self.stream("services.latency").pick(allowed) if self.is_swarm else calm

    def policy(self) -> str:
        """Draw a policy that the file allows, by weight; `pct` without a depth gets a drawn one."""
        allowed = self.scenario.policy or tuple(POLICIES)
        if self.is_plain:
            return "fifo" if "fifo" in allowed else allowed[0].replace("pct", "pct(1)")
        # Random, since fifo would hide bugs that need two events in another order.
        if not self.is_swarm and "random" in allowed:
            return "random"
        weights = [POLICIES[name.partition("(")[0]] for name in allowed]
        name = self.stream("run.policy").pick_weighted(allowed, weights)
        return self.stream("run.policy.depth").pick(DEPTHS) if name == "pct" else name

    def revise_every(self) -> int:
        """Draw from the range of the file; without one, 0 except in one of eight swarm runs."""
        is_drawn = self.stream("run.revise_every.is_on").chance(1, 8) and self.is_swarm
        low, high = self.scenario.revise_every or (REVISE_EVERY if is_drawn else (0, 0))
        return self.stream("run.revise_every").between(low, high)

    def tamper_every(self) -> int:
        """Draw from the range of the file, by default 0: few promises hold if an intruder changes rows."""
        low, high = self.scenario.tamper_every or (0, 0)
        return self.stream("services.tamper_every").between(low, high)

    def page_rows(self) -> int:
        ends = self.scenario.storage.get("page_rows", (PAGE_ROW_COUNT_MAX, PAGE_ROW_COUNT_MAX))
        return self.stream("services.storage.page_rows").log_between(*ends)

    def limits(self) -> dict[str, int]:
        """Draw limits of the memory for this run; return those that are lower than usual."""
        given = self.scenario.limits
        drawn = {name: self.stream(f"limits.{name}").log_between(*ends) for name, ends in given.items()}
        return {name: value for name, value in drawn.items() if value != LIMITS[name]}

    def agents(self) -> tuple[AgentConfig, ...]:
        low, high = self.ends("agents.count")
        counts = range(low, high + 1)
        # The odds of 1, 2 and 3 agents are 4 : 3 : 2.
        count = self.stream("agents.count").pick_weighted(counts, [5 - each for each in counts])
        return tuple(
            AgentConfig(name, scope, self.skew_ms(name) if self.is_skewed() else 0)
            for name, scope in zip("abcd"[:count], self.scopes(), strict=False)
        )

    def scopes(self) -> Sequence[Scope]:
        """Return a scope for each agent: two memories in one scope would fence each other."""
        if self.scenario.scopes == "hostile":
            return tuple(Scope(*parts) for parts in self.stream("agents.scopes").pick(NEIGHBOURS))
        users = self.number("agents.users")
        return tuple(Scope(f"u{n % users + 1}", f"a{n + 1}") for n in range(4))

    def categories(self) -> tuple[str, ...]:
        """Draw some lists of the file, from any first one on; incarnations use them in turn."""
        given, stream = self.scenario.categories, self.stream("agents.categories")
        if not given:
            return ()
        # Lists A, B, C with first 1 and count 2 give B, C: incarnations of an agent have B, C, B ...
        first, count = stream.below(len(given)), stream.between(1, len(given))
        return tuple(given[(first + n) % len(given)] for n in range(count))

    def is_skewed(self) -> bool:
        """Draw whether clocks are off: in half of the swarm runs, unless the file decides."""
        drawn, given = self.stream("clock.skew").chance(1, 2), self.scenario.skew
        return self.is_swarm and (drawn if given is None else given)

    def skew_ms(self, agent: str) -> int:
        stream = self.stream(f"clock.skew.{agent}")
        size_ms = stream.log_between(1, SKEW_MS_MAX)
        return -size_ms if stream.chance(1, 2) else size_ms

    def start_ms(self) -> int:
        drawn = 0 if self.stream("clock.start_ms").chance(1, 16) else START_MS
        return drawn if self.scenario.start_ms is None else self.scenario.start_ms

    def memory(self) -> dict[str, int | bool]:
        """Draw the options of the memory, and return those that are not the default."""
        drawn = {name: self.option(name) for name in OPTIONS}
        return {name: value for name, value in drawn.items() if value != getattr(NORMAL, name)}

    def option(self, name: str) -> int:
        normal = getattr(NORMAL, name)
        low, high = self.scenario.memory.get(name) or self.default_range(name) or (normal, normal)
        if low == high:
            return low
        stream = self.stream(f"memory.{name}")
        if OPTIONS[name] is None:
            return stream.pick((low, high))
        # A share is drawn uniformly, a size by powers of two: 8 or 16 bytes is as likely as 8 or 16
        # kilobytes.
        return stream.between(low, high) if name.endswith("_ppm") else stream.log_between(low, high)

    def default_range(self, name: str) -> Range | None:
        """Return the range of an option that the file leaves out; None: keep its default.

        A tiny memory draws its limits, and a swarm run draws flags.
        """
        if OPTIONS[name] is None:
            return (False, True) if self.is_swarm else None
        return TINY[name] if name in TINY and self.is_tiny() else None

    def is_tiny(self) -> bool:
        """Draw whether the memory is tiny: in half of the swarm runs, and always in mode one_kind."""
        drawn = self.stream("memory").chance(1, 2) if self.is_swarm else not self.is_plain
        pinned: bool | None = self.scenario.pin.get("tiny")
        return drawn if pinned is None else pinned

    def weights(self) -> dict[str, int]:
        """Return the weights of the file, or of `alphabet`; a swarm run multiplies each by up to 20."""
        if self.scenario.script:
            return {}
        base = self.scenario.weights or self.alphabet()
        return {name: base[name] * self.factor(name) for name in REQUESTS if name in base}

    def alphabet(self) -> dict[str, int]:
        """Return weights for a file without any: all common requests, or in a swarm run half of them."""
        if not self.is_swarm:
            return {name: OFTEN.get(name, 1) for name in COMMON}
        enabled = [name for name in COMMON if self.stream(f"workload.weights.{name}").chance(1, 2)]
        for floor, row in FLOORS.items():
            if not any(name in row for name in enabled):
                # The highest draw wins: a request added later wins in some runs and changes no others.
                enabled.append(
                    max(row, key=lambda name: self.stream(f"workload.weights.{floor}.{name}").word())
                )
        return dict.fromkeys(enabled, 1)

    def factor(self, name: str) -> int:
        return self.stream(f"workload.weights.{name}.factor").between(1, 20) if self.is_swarm else 1

    def faults(self) -> dict[str, Ratio]:
        """Draw the rate of each kind, or of the only one. Kinds that destroy data need a `loss_max`."""
        if self.is_plain:
            return {}
        if not self.is_swarm:
            name = self.only_kind()
            given = given_rate(self.scenario, name)
            return {name: ONE_KIND_RATE if isinstance(given, bool) else given}
        kinds = [name for name, kind in KINDS.items() if self.loss_max() or kind.fault_class != "destroys"]
        rates = {name: self.rate(name) for name in kinds}
        return {name: rate for name, rate in rates.items() if rate[0]}

    def loss_max(self) -> int:
        """Draw how many keys may be lost: 0 in 7 of 8 swarm runs, or if the only kind destroys nothing."""
        stream = self.stream("loss")
        is_lossy, count = stream.chance(1, 8), stream.between(1, 3)
        if not self.is_plain and not self.is_swarm:
            is_lossy = KINDS[self.only_kind()].fault_class == "destroys"
        pinned: bool | None = self.scenario.pin.get("loss")
        return count if not self.is_plain and (is_lossy if pinned is None else pinned) else 0

    def only_kind(self) -> str:
        """Return the pinned kind, or the one with the highest draw.

        A kind added later thus wins in some runs and changes no others.
        """
        pinned: str | None = self.scenario.pin.get("kind")
        return pinned or highest(stream_key(self.seed, ("config", "faults")), possible_kinds(self.scenario))

    def rate(self, name: str) -> Ratio:
        given, kind = given_rate(self.scenario, name), KINDS[name]
        if isinstance(given, tuple):
            return given
        stream = self.stream(f"faults.{name}")
        # A swarm run has half of the kinds: with all of them, every run would be the same noise.
        if not given or not stream.chance(1, 2):
            return (0, 1)
        # Quirks are legal and may be frequent, but a clock that jumps at every fourth op would be useless.
        # Other kinds hit 1 to 256 of 1,024 events, so that some runs have rare faults and others storms.
        is_frequent = kind.fault_class == "quirk" and kind.group != "clock"
        return QUIRK_RATE if is_frequent else (stream.log_between(1, 256), 1_024)
