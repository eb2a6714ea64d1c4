"""The generator: draws items from the seed and appends them to the record.

Law 1. Each decision has a named stream or key of its own, so an extra draw in one place changes no other.
Law 2. The pauses of a user end at random, or just before, at, or just after a deadline. A repeated question
may be delayed until its cached rewrite expires.
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

AT_ONCE: Final = (1, 2)  # one op in two follows without a pause, so that operations overlap
LANDING_MS: Final = (-1, 0, 1)  # just before a deadline, at it, just after it: where < and <= differ
PATIENT: Final = (1, 4)  # one repeated question in four waits until its cached rewrite expires
CLOCK_SITE: Final = "agent.clock"
ACTIVE_SITES: Final = 4  # a kind of fault is active at one site in four

Active = tuple[str, Keyed, int, int]  # a kind of fault, its draws at a site, its rate


class Watched(Protocol):
    """Knowledge of the generator: that of users, and readings of an agent's clock that matter.

    `lapses`: the readings at which cached rewrites of questions expire.
    """

    @property
    def users(self) -> UserKnowledge: ...
    def deadlines(self, agent: str) -> Sequence[int]: ...
    def lapses(self, agent: str) -> Sequence[int]: ...
    def clock(self, agent: str) -> SimClock: ...


class Generator:
    """The source of a new run, or of the items that follow those of `record`."""

    def __init__(self, config: RunConfig, known: Watched, record: Sequence[Item] = ()) -> None:
        self.record: list[Item] = list(record)
        self._config = config
        self._known = known
        self._dice = Dice(config.seed, config.faults, is_everywhere=config.everywhere)
        self._schedule = policy_of(config)
        names = [agent.name for agent in config.agents]
        self._workloads = {name: Workload(config, name, known.users) for name in names}
        self._pauses = {name: Stream(config.seed, "agent", name, "pause") for name in names}
        self._done: dict[str, bool] = {}  # agents whose workload has ended
        # Ids continue after the highest number in the record, whatever its letter: a new item must not have
        # the id of a recorded one, and gaps are harmless.
        numbers = [int(item.id[1:]) for item in record]
        self._counts = dict.fromkeys("ofsc", max(numbers, default=0))
        self._is_transcript = config.workload == "transcript"
        self._origins: dict[str, int] = {}  # the time that counts as the start of a transcript or script
        self._windows = {name: Window() for name in names}  # of clocks
        self._landings: dict[str, int] = {}  # readings for the next op that a fast clock would skip

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        if in_flight >= self._config.in_flight_max or agent in self._done:
            return ()
        drawn = self._workloads[agent].next()
        if drawn is None:
            self._done[agent] = True
            return ()
        # The time is drawn before the moves, since a landing that a fast clock skips needs a move.
        at_ms = self._next_at(agent, now_ms)
        op = Op(self._next_id("o"), at_ms, agent, *drawn)
        moves = self._moves(agent, op)
        items: tuple[Op | ClockMove, ...] = (*moves, op)
        self.record.extend(items)
        return items

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        kind = self._dice.find_fault(verb, site, data)
        args = make_args(kind, self._dice.draws(kind, site, data)) if kind else None
        # No arguments mean that the kind would change nothing here (no list to cut, a batch of one row). Then
        # there is no fault, and no item in the record.
        if kind is None or args is None:
            return None
        fault = Fault(self._next_id("f"), kind, event, args)
        self.record.append(fault)
        return fault

    def choose(self, ready: Sequence[str]) -> int:
        index = self._schedule.choose(ready)
        # Taking the oldest event is not recorded: a record without deviations means a run in fifo order.
        if index:
            self.record.append(Deviation(self._next_id("s"), ready[index], ready[0]))
        return index

    def _next_id(self, letter: str) -> str:
        self._counts[letter] += 1
        return f"{letter}{self._counts[letter]}"

    def _next_at(self, agent: str, now_ms: int) -> int:
        """Return the time of the next op: from script or transcript, near a deadline, or after a pause."""
        stream, given_ms = self._pauses[agent], self._workloads[agent].at_ms
        if given_ms is not None:
            # A transcript has dates, so its first turn is moved to the start of the run and the other turns
            # keep their distances. Times of a script already count from the start.
            origin_ms = self._origins.setdefault(agent, given_ms if self._is_transcript else 0)
            return max(now_ms, given_ms - origin_ms)
        lapses = self._known.lapses(agent) if self._workloads[agent].is_again else ()
        if lapses and stream.chance(*PATIENT):
            return self._move_near(agent, now_ms, stream.pick(lapses))
        if stream.chance(*self._config.land):
            deadlines = self._known.deadlines(agent)
            if deadlines:
                return self._move_near(agent, now_ms, stream.pick(deadlines))
        is_at_once = stream.chance(*AT_ONCE)
        return now_ms if is_at_once else now_ms + stream.log_between(1, self._config.pause_ms_max)

    def _move_near(self, agent: str, now_ms: int, at_ms: int) -> int:
        """Return a world time near `at_ms` of the agent's clock; now if its clock never shows that."""
        wanted_ms = at_ms + self._pauses[agent].pick(LANDING_MS)
        clock = self._known.clock(agent)
        moved_ms = clock.world_at(wanted_ms, now_ms)
        if moved_ms is None:
            return now_ms
        # At double speed a clock shows 10, 12, 14: no world time has the reading 13. So the op comes one
        # millisecond earlier, at 12, and a move sets the clock to 13 just before it.
        if moved_ms > now_ms and clock.reading(moved_ms) > wanted_ms:  # the clock skips the wanted reading
            self._landings[agent] = wanted_ms
            return moved_ms - 1
        return moved_ms

    def _moves(self, agent: str, op: Op) -> tuple[ClockMove, ...]:
        """Return the moves of the clock just before the op, and the moves that end lasting faults later."""
        to_ms = self._landings.pop(agent, None)
        moves: Moves = () if to_ms is None else ((0, "land", {"to_ms": to_ms}),)
        kind = self._dice.find_fault(CLOCK_SITE, CLOCK_SITE, op.id)
        if kind is None and to_ms is None:
            return ()
        if kind is not None:
            moment, draws = self._moment(agent, op.at_ms), self._dice.draws(kind, CLOCK_SITE, op.id)
            # This Counter is discarded, since `clock_moves.make` counts moves without effect.
            args = KINDS[kind].args_for(moment, draws, Counter())
            moves += () if args is None else KINDS[kind](**args).inject(moment)
        return tuple(
            ClockMove(self._next_id("c"), op.at_ms + in_ms, agent, move, args) for in_ms, move, args in moves
        )

    def _moment(self, agent: str, at_ms: int) -> Moment:
        reading_ms = self._known.clock(agent).reading(at_ms)
        # A jump by one of these spans lands exactly on a deadline.
        remaining = [it - reading_ms for it in self._known.deadlines(agent) if it > reading_ms]
        return Moment(at_ms, self._windows[agent], remaining)


class Dice:
    """Decides which events meet which faults. The draws for an event depend only on its name.

    Each kind is active at some sites for the whole run; at an active site the name of an event decides. With
    `is_everywhere` every kind is active at every site, so that faults often meet within one operation.
    """

    def __init__(self, seed: int, rates: Mapping[str, Ratio], *, is_everywhere: bool = False) -> None:
        self._seed = seed
        self._is_everywhere = is_everywhere
        # In the order of the registry, so that the order of lines in a scenario file does not matter.
        self._rates = {name: rates[name] for name in KINDS if name in rates}
        self._at_site: dict[tuple[str, str], tuple[Active, ...]] = {}

    def find_fault(self, verb: str, site: str, data: str) -> str | None:
        """Return the first kind, in order of the registry, that the event `data` meets here, or None."""
        kinds_here = self._at_site.get((verb, site))
        if kinds_here is None:
            kinds_here = self._at_site[(verb, site)] = tuple(self._active(verb, site))
        key = data.encode()
        for name, keyed, n, d in kinds_here:
            # word / 2**64 < n / d in whole numbers: at a rate of 1/8 a word below 2**61 means a fault.
            if keyed.draw_of(key) * d < n << 64:
                return name
        return None

    def _active(self, verb: str, site: str) -> Iterator[Active]:
        for name, (n, d) in self._rates.items():
            kind = KINDS[name]
            # With all kinds at all sites every run would have the same mixture. With one site in four, a run
            # has a few sites that fail often and many that never fail, as in real outages.
            share = 1 if self._is_everywhere or kind.place.has_one_site else ACTIVE_SITES
            if kind.is_at(verb) and Keyed(stream_key(self._seed, ("site", name))).draw(site) % share == 0:
                yield name, Keyed(stream_key(self._seed, ("fault", name, site))), n, d

    def draws(self, name: str, site: str, data: str) -> Draws:
        """Return the source of draws for a kind that this event meets."""
        keyed = Keyed(stream_key(self._seed, ("fault", name, site)))
        # Scales a word of 64 bits to 0 .. n-1: 2**63 with n = 10 gives 5.
        return lambda label, n: keyed.draw(f"{data}/{label}") * n >> 64
