"""The generator: items drawn from the seed, appended to the record, and executed like any others.

Law 1. Each decision has a stream or key of its own, by name: an extra draw in one place moves none elsewhere.
Law 2. The pauses of a user end at random, or at an instant that matters: just before, at, just after a
deadline. A repeated question may be delayed until its cached rewrite has expired.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from umi_sim.faults.clock import Moment, Moves
from umi_sim.faults.declaration import ArgsMaker
from umi_sim.faults.draws import Draws
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.window import Window
from umi_sim.kernel.clock import SimClock
from umi_sim.kernel.prng import Keyed, Ratio, Stream, stream_key
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.workload.users import UserKnowledge
from umi_sim.workload.workloads import Workload
from umi_sim.world.schedule import policy_of

AT_ONCE: Final = (1, 2)  # of two ops one follows without a pause, so that operations overlap
LANDING_MS: Final = (-1, 0, 1)  # just before a deadline, at it, just after it: where < and <= differ
PATIENT: Final = (1, 4)  # of four repeated questions one waits until its cached rewrite runs out
CLOCK_SITE: Final = "agent.clock"
ACTIVE_SITES: Final = 4  # a kind of fault is active at one site in so many

Active = tuple[str, Keyed, int, int]  # a kind of fault, its draws at a site, its rate


class Watched(Protocol):
    """What the generator may know: what users know, and instants that matter on an agent's own clock.

    `lapses`: when rewrites of questions expire.
    """

    @property
    def users(self) -> UserKnowledge: ...
    def deadlines(self, agent: str) -> Sequence[int]: ...
    def lapses(self, agent: str) -> Sequence[int]: ...
    def clock(self, agent: str) -> SimClock: ...


class Generator:
    """The source of a fresh run, or of what comes after the items of `record`."""

    def __init__(self, config: RunConfig, known: Watched, record: Sequence[Item] = ()) -> None:
        self.record: list[Item] = list(record)
        self._config = config
        self._known = known
        self._dice = Dice(config.seed, config.faults, is_everywhere=config.everywhere)
        self._schedule = policy_of(config)
        names = [agent.name for agent in config.agents]
        self._workloads = {name: Workload(config, name, known.users) for name in names}
        self._pauses = {name: Stream(config.seed, "agent", name, "pause") for name in names}
        self._done: dict[str, bool] = {}  # agents whose workload has ended: it is not asked again
        # Ids continue after the record, for all letters from the same number: no new item may take the id of
        # a recorded one, and gaps do no harm.
        numbers = [int(item.id[1:]) for item in record]
        self._counts = dict.fromkeys("ofsc", max(numbers, default=0))
        self._is_transcript = config.workload == "transcript"
        self._origins: dict[str, int] = {}  # when the transcript began; its turns keep their distances
        self._windows = {name: Window() for name in names}  # of clocks
        self._landings: dict[str, int] = {}  # readings that the next op must see and time alone would skip

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        if in_flight >= self._config.in_flight_max or agent in self._done:
            return ()
        drawn = self._workloads[agent].next()
        if drawn is None:
            self._done[agent] = True
            return ()
        # Time first, then the moves: a landing that no time reaches exactly becomes a move of the clock.
        at_ms = self._next_at(agent, now_ms)
        op = Op(self._next_id("o"), at_ms, agent, *drawn)
        moves = self._moves(agent, op)
        items: tuple[Op | ClockMove, ...] = (*moves, op)
        self.record.extend(items)
        return items

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        kind = self._dice.find_fault(verb, site, data)
        args = make_args(kind, self._dice.draws(kind, site, data)) if kind else None
        # Without arguments the kind would change nothing here (no list to cut, a batch of one row): then
        # there is no fault, and no item in the record.
        if kind is None or args is None:
            return None
        fault = Fault(self._next_id("f"), kind, event, args)
        self.record.append(fault)
        return fault

    def choose(self, ready: Sequence[str]) -> int:
        index = self._schedule.choose(ready)
        # The order of fifo is not recorded: a record without deviations is a run in the order of sending.
        if index:
            self.record.append(Deviation(self._next_id("s"), ready[index], ready[0]))
        return index

    def _next_id(self, letter: str) -> str:
        self._counts[letter] += 1
        return f"{letter}{self._counts[letter]}"

    def _next_at(self, agent: str, now_ms: int) -> int:
        """Return the time of the next op: as script or transcript say, a landing, now, or after a pause."""
        stream, given_ms = self._pauses[agent], self._workloads[agent].at_ms
        if given_ms is not None:
            # A transcript has times of the year it was written in: its first turn is moved to the start of
            # the run. Times of a script count from the start as they are.
            origin_ms = self._origins.setdefault(agent, given_ms if self._is_transcript else 0)
            return max(now_ms, given_ms - origin_ms)
        lapses = self._known.lapses(agent) if self._workloads[agent].is_again else ()
        if lapses and stream.chance(*PATIENT):
            return self._land_near(agent, now_ms, stream.pick(lapses))
        if stream.chance(*self._config.land):
            deadlines = self._known.deadlines(agent)
            if deadlines:
                return self._land_near(agent, now_ms, stream.pick(deadlines))
        is_at_once = stream.chance(*AT_ONCE)
        return now_ms if is_at_once else now_ms + stream.log_between(1, self._config.pause_ms_max)

    def _land_near(self, agent: str, now_ms: int, at_ms: int) -> int:
        """Return the world time near that instant of the agent's clock; now if it is past."""
        wanted_ms = at_ms + self._pauses[agent].pick(LANDING_MS)
        clock = self._known.clock(agent)
        landed_ms = clock.world_at(wanted_ms, now_ms)
        if landed_ms is None:
            return now_ms
        # At double speed a clock shows 10, 12, 14: no world time has the reading 13. So the op comes one
        # millisecond earlier, at 12, with a move of the clock to 13 just before it.
        if landed_ms > now_ms and clock.reading(landed_ms) > wanted_ms:  # a fast clock leaves readings out
            self._landings[agent] = wanted_ms
            return landed_ms - 1
        return landed_ms

    def _moves(self, agent: str, op: Op) -> tuple[ClockMove, ...]:
        """Return the moves of the clock just before the op, and the ends of those that last."""
        to_ms = self._landings.pop(agent, None)
        moves: Moves = () if to_ms is None else ((0, "land", {"to_ms": to_ms}),)
        kind = self._dice.find_fault(CLOCK_SITE, CLOCK_SITE, op.id)
        if kind is None and to_ms is None:
            return ()
        if kind is not None:
            moment, draws = self._moment(agent, op.at_ms), self._dice.draws(kind, CLOCK_SITE, op.id)
            # The Counter is thrown away: `clock_moves.make` counts moves that had no effect.
            args = KINDS[kind].args_for(moment, draws, Counter())
            moves += () if args is None else KINDS[kind](**args).inject(moment)
        return tuple(
            ClockMove(self._next_id("c"), op.at_ms + in_ms, agent, move, args) for in_ms, move, args in moves
        )

    def _moment(self, agent: str, at_ms: int) -> Moment:
        reading_ms = self._known.clock(agent).reading(at_ms)
        # A jump by exactly one of these lands on a deadline.
        remaining = [it - reading_ms for it in self._known.deadlines(agent) if it > reading_ms]
        return Moment(at_ms, self._windows[agent], remaining)


class Dice:
    """Decides which events meet which faults. The draws of an event depend on nothing else that happens.

    A kind is active at a site or not, once per run; at an active site each event decides by its own name. A
    world with faults everywhere has them at every site: only there do several meet in one operation often.
    """

    def __init__(self, seed: int, rates: Mapping[str, Ratio], *, is_everywhere: bool = False) -> None:
        self._seed = seed
        self._is_everywhere = is_everywhere
        # In the order of the registry, so that the order of the lines in a scenario file changes no run.
        self._rates = {name: rates[name] for name in KINDS if name in rates}
        self._at_site: dict[tuple[str, str], tuple[Active, ...]] = {}

    def find_fault(self, verb: str, site: str, data: str) -> str | None:
        """Return the first kind of the registry that the event `data` meets at this site, or None."""
        kinds_here = self._at_site.get((verb, site))
        if kinds_here is None:
            kinds_here = self._at_site[(verb, site)] = tuple(self._active(verb, site))
        key = data.encode()
        for name, keyed, n, d in kinds_here:
            # word / 2**64 < n / d in whole numbers: a rate of 1/8 is met when the word is below 2**61.
            if keyed.draw_of(key) * d < n << 64:
                return name
        return None

    def _active(self, verb: str, site: str) -> Iterator[Active]:
        for name, (n, d) in self._rates.items():
            kind = KINDS[name]
            # All kinds at all sites would give each run the same thin mixture. With one site in four, a run
            # has a few sites that fail often and many that never do, as in real outages.
            share = 1 if self._is_everywhere or kind.place.has_one_site else ACTIVE_SITES
            if kind.is_at(verb) and Keyed(stream_key(self._seed, ("site", name))).draw(site) % share == 0:
                yield name, Keyed(stream_key(self._seed, ("fault", name, site))), n, d

    def draws(self, name: str, site: str, data: str) -> Draws:
        """Return the source of draws for a kind that this event meets."""
        keyed = Keyed(stream_key(self._seed, ("fault", name, site)))
        # Scales a word of 64 bits to 0 .. n-1: 2**63 with n = 10 gives 5.
        return lambda label, n: keyed.draw(f"{data}/{label}") * n >> 64
