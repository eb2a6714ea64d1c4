"""The same requests, world and oracle as a Hypothesis state machine, for other people's test suites.

    from umi_sim.testing.hypothesis_machine import machine

    TestMemory = machine("smoke").TestCase

Law 1. What a rule does becomes items as it is done: an example is a record that replays without Hypothesis.
Law 2. Oracle and invariants are those of a run; the end of an example heals, drains, audits and restarts.
Law 3. Failures with different fingerprints are different exceptions. The first example of each is shrunk by
       umi_sim.shrink, item by item, and Hypothesis does not shrink it; if it does all the same, the
       smallest example is kept.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from umi_core.declared import Incomplete
from umi_core.invariants.broken import Broken
from umi_core.messages.effects import Done
from umi_core.messages.requests import REQUESTS, arguments_of
from umi_core.messages.results import Remembered, SessionCreated, SessionSaved
from umi_core.workflows import BUILT_IN
from umi_sim.explain import report
from umi_sim.faults.agent import Down
from umi_sim.faults.clock import jump_signs
from umi_sim.faults.declaration import ArgsMaker
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.report import laid_out
from umi_sim.mutants import planted
from umi_sim.mutants.registry import ELSEWHERE, MUTANTS
from umi_sim.record import fingerprint
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.runs import corpus
from umi_sim.runs.blame import crash_of, failure_of
from umi_sim.runs.runner import Known, run, run_of, verdict_of
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile import files as seed_file
from umi_sim.shrink import NothingToShrink, shrink_whole
from umi_sim.shrink.references import Listener
from umi_sim.target.umi import UmiTarget
from umi_sim.workload import pools
from umi_sim.workload.users import ids_of_cast
from umi_sim.world.world import OutOfSteps

ADVANCE_MS: Final = (0, 1, 9, 10, 11, 1_000, 60_000, 3_600_000)
LANDING_MS: Final = (0, -1, 1)
JUMP_MS: Final = (1, 10, 1_000, 3_600_000, 7 * 86_400_000)
HEALED_MS: Final = 120_000  # no window is open for so long
EVENTS_MAX: Final = 6
LUCK_MAX: Final = 255
PHASES: Final = (Phase.explicit, Phase.reuse, Phase.generate)  # an example is shrunk here, 50 times as fast
SHRINK_SECONDS_MAX: Final = 20
OURS: Final[dict[str, Any]] = {"deadline": None, "phases": PHASES, "verbosity": Verbosity.quiet}
PATIENT: Final = settings(**OURS, suppress_health_check=[HealthCheck.too_slow])
PROFILES: Final = {
    "dev": settings(PATIENT, derandomize=False),
    "ci": settings(PATIENT, derandomize=True, database=None),
}


class Manual:
    """Items as the rules make them; a fault that is armed strikes an event that it can strike, soon."""

    def __init__(self) -> None:
        self.record: list[Item] = []
        self.armed: str | None = None
        self.after = self.luck = 0
        self._waiting: list[Op | ClockMove] = []
        self._counts = {"o": 0, "f": 0, "c": 0}

    def next_id(self, letter: str) -> str:
        self._counts[letter] += 1
        return f"{letter}{self._counts[letter]}"

    def push(self, item: Op | ClockMove) -> None:
        self.record.append(item)
        self._waiting.append(item)

    def arm(self, kind: str | None, after: int = 0, luck: int = 0) -> None:
        """The event number `after`, from 0, that this kind can strike is struck; `luck` chooses how."""
        self.armed, self.after, self.luck = kind, after, luck

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        mine = [item for item in self._waiting if item.agent == agent]
        self._waiting = [item for item in self._waiting if item.agent != agent]
        return mine

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        kind = self.armed
        if kind is None or not KINDS[kind].is_at(verb):
            return None
        if self.after:
            self.after -= 1
            return None
        args = make_args(kind, lambda label, n: self.luck % n)
        if args is None:
            return None
        self.armed = None
        fault = Fault(self.next_id("f"), kind, event, args)
        self.record.append(fault)
        return fault

    def choose(self, ready: Sequence[str]) -> int:
        return 0


class MemoryMachine(RuleBasedStateMachine):
    """One agent's life, told by rules. Subclasses are made by `machine`."""

    config: RunConfig
    folder: Path = seed_file.EPHEMERAL
    kept: dict[str, tuple[int, list[str]]]  # of each fingerprint: how many items, and how it is told

    def __init__(self) -> None:
        super().__init__()
        self.source = Manual()
        self.inspector = Listener(self.config, {})
        self.planting = planted(self.config.planted, BUILT_IN)
        registry = self.planting.__enter__()
        target = UmiTarget(self.config, registry)
        self.run_ = run_of(self.config, self.give_source, self.inspector, target=target)
        self.world = self.run_.world
        self.landing_ms: int | None = None
        self.has_failed = False
        self.guard(self.world.begin)
        self.settle()

    def give_source(self, known: Known) -> Manual:
        self.known = known
        return self.source

    @property
    def agent(self) -> str:
        return self.config.agents[0].name

    def settle(self) -> None:
        self.guard(lambda: self.world.run_until_quiet(self.world.step_count + self.config.steps_max))

    def guard(self, act: Callable[[], None]) -> None:
        """Whatever breaks is kept as a seed file before Hypothesis sees it."""
        failure = failure_in(self, act)
        if failure is not None:
            self.has_failed = True
            told = self.told(verdict_of(self.run_, failure))
            raise promise_of(fingerprint.of(failure))(told) from None

    def told(self, verdict: Verdict) -> str:
        """The layout of a failure; its seed file holds the smallest run that fails so."""
        again = run(self.config, verdict.items)
        verdict = again if again.failure else verdict
        assert verdict.failure is not None
        mark = fingerprint.of(verdict.failure)
        if mark not in self.kept:
            self.kept[mark] = small(corpus.keep_run(verdict, self.folder), verdict)
        elif len(verdict.items) < self.kept[mark][0]:
            self.kept[mark] = as_it_is(corpus.keep_run(verdict, self.folder), verdict)
        return "\n".join(self.kept[mark][1])

    @invariant()
    def every_rule_holds(self) -> None:
        """All of them, over everything, and not at every 64th step only."""
        if not self.has_failed:
            self.guard(self.run_.check_all)

    def issue(self, name: str, advance_ms: int, args: dict[str, object]) -> object:
        """Make a request and wait for its reply: the value of a Done, else None."""
        at_ms = self.world.now_ms + advance_ms if self.landing_ms is None else self.landing_ms
        self.landing_ms = None
        op = Op(self.source.next_id("o"), max(at_ms, self.world.now_ms), self.agent, name, args)
        self.source.push(op)
        self.settle()
        reply = self.inspector.told.get(op.id)
        return reply.outcome.value if reply and isinstance(reply.outcome, Done) else None

    def land_at(self, which: int, by_ms: int) -> None:
        """The next request comes just before, at or just after an instant that matters."""
        instants = sorted(self.known.deadlines(self.agent))
        if instants:
            clock = self.known.clock(self.agent)
            self.landing_ms = clock.world_at(instants[which % len(instants)] + by_ms, self.world.now_ms)

    def teardown(self) -> None:
        try:
            if not self.has_failed:
                self.source.arm(None)
                self.guard(self.run_.live)
        finally:
            self.planting.__exit__(None, None, None)


def small(path: Path, verdict: Verdict) -> tuple[int, list[str]]:
    """How many items are left of a failure that was kept, once it is shrunk, and how it is told."""
    assert verdict.failure is not None
    try:
        done = shrink_whole(seed_file.read(path), seconds_max=SHRINK_SECONDS_MAX)
    except NothingToShrink:
        return as_it_is(path, verdict)
    seed_file.write(path, done.seed)
    told = report.of_shrunk(done, f"umi-sim replay {path.as_posix()}", "", verdict.failure)
    return len(done.seed.items), list(laid_out(report.failed(told)))


def as_it_is(path: Path, verdict: Verdict) -> tuple[int, list[str]]:
    return len(verdict.items), list(laid_out(report.of_run(verdict, f"umi-sim replay {path.as_posix()}")))


def failure_in(self: MemoryMachine, act: Callable[[], None]) -> Failure | None:
    try:
        act()
    except (Broken, OutOfSteps) as broken:
        return failure_of(self.world, broken)
    except Exception as raised:
        return crash_of(self.world, raised)
    return None


PROMISES: Final[dict[str, type[AssertionError]]] = {}


def promise_of(mark: str) -> type[AssertionError]:
    """One exception for each fingerprint: Hypothesis takes what is raised as another type for another bug."""
    return PROMISES.setdefault(mark, type(f"Broken_{mark}", (AssertionError,), {}))


def machine(
    scenario: str = "smoke",
    *,
    mutant: str | None = None,
    folder: Path | None = None,
    profile: str | None = None,
) -> type[MemoryMachine]:
    """A state machine over the requests and fault kinds of a scenario, shipped or at a path.

    `mutant` plants a bug, as the scenario itself may, to see the machine find it; `folder` is where seed
    files go; `profile`, dev (fresh examples) or ci (the same ones each time), is taken instead of the profile
    that Hypothesis is in. Raises BadScenario, or ValueError for a bug or a profile that there is not.
    """
    check(mutant, (None, *MUTANTS), "planted bug", ELSEWHERE)
    check(profile, (None, *PROFILES), "profile")
    drawn = draw(find(scenario), 0)
    config = attrs.evolve(
        drawn, agents=drawn.agents[:1], mode="swarm", latency="instant", policy="fifo", in_flight_max=1,
        workload="generated", planted=mutant or drawn.planted,
    )  # fmt: skip
    rules: dict[str, Any] = {name: rule_for(name) for name in config.weights if name in ARGS}
    members = {"config": config, "kept": {}, **BUNDLES, **beginnings(config), **rules, **moments(config)}
    members |= {"folder": folder} if folder else {}
    made: type[MemoryMachine] = type(
        f"{config.scenario.title().replace('_', '')}Machine", (MemoryMachine,), members
    )
    made.TestCase.settings = PROFILES[profile] if profile else settings(**OURS)
    return made


def check(given: str | None, known: Sequence[str | None], what: str, elsewhere: str = "") -> None:
    if given not in known:
        raise ValueError(f"{given}: no such {what}; known: {', '.join(filter(None, known))}{elsewhere}")


# Bundles: what later rules take up. They are never empty, since a rule with an empty one would not be tried.

KEYS, ENTITIES, SESSIONS = Bundle("keys"), Bundle("entities"), Bundle("sessions")
BUNDLES: Final = {"keys": KEYS, "entities": ENTITIES, "sessions": SESSIONS}


def beginnings(config: RunConfig) -> dict[str, Any]:
    """What the bundles hold before anything has happened: names that nothing is known of yet."""
    absent = pools.HOSTILE_IDS["absent"]
    firsts = {
        "keys": (KEYS, ("a", "b", "ab", "ключ", "__session_id")),
        "entities": (ENTITIES, (*ids_of_cast(config)[:2], absent[0])),
        "sessions": (SESSIONS, (absent[1],)),
    }
    return {f"first_{name}": beginning(*given) for name, given in firsts.items()}


def beginning(target: "Bundle[object]", values: Iterable[object]) -> Any:
    return initialize(target=target)(lambda self: multiple(*values))


def learnt(name: str, args: dict[str, object], value: object) -> Iterable[object]:
    """What a reply adds to the bundle of its request."""
    if name == "set":
        return (args["key"],)
    if isinstance(value, Remembered):
        return [stored.id for stored in value.entities]
    return (value.session_id,) if isinstance(value, SessionCreated | SessionSaved) else ()


TARGETS: Final[dict[str, Any]] = {
    "set": KEYS, "remember": ENTITIES, "create_session": SESSIONS, "save_session": SESSIONS,
}  # fmt: skip


# Rules.


def rule_for(name: str) -> Any:
    def issue(self: MemoryMachine, advance_ms: int, **args: object) -> object:
        given = {key: value for key, value in args.items() if value is not LEFT_OUT}
        value = self.issue(name, advance_ms, given)
        return multiple(*learnt(name, given, value)) if name in TARGETS else None

    issue.__name__ = name
    target = {"target": TARGETS[name]} if name in TARGETS else {}
    as_rule: Any = rule(**target, advance_ms=st.sampled_from(ADVANCE_MS), **ARGS[name])
    return as_rule(issue)


def moments(config: RunConfig) -> dict[str, Any]:
    """Rules that are no requests: landings always, the others if the scenario has such faults."""
    after, luck = st.integers(0, EVENTS_MAX), st.integers(0, LUCK_MAX)
    crashes = [kind for kind in config.faults if issubclass(KINDS[kind], Down)]
    kinds = sorted(kind for kind in config.faults if kind not in crashes and KINDS[kind].group != "clock")
    jumps = [sign * ms for sign in jump_signs(tuple(config.faults)) for ms in JUMP_MS]
    rules: dict[str, Any] = {
        "land": rule(which=st.integers(0, 7), by_ms=st.sampled_from(LANDING_MS))(MemoryMachine.land_at)
    }
    if kinds:
        rules["arm_fault"] = rule(kind=st.sampled_from(kinds), after=after, luck=luck)(arm_fault)
    if crashes:
        rules["crash"] = rule(kind=st.sampled_from(crashes), after=after, luck=luck)(arm_fault)
    if jumps:
        rules["jump_clock"] = rule(by_ms=st.sampled_from(jumps))(jump_clock)
    if kinds or crashes:
        rules["heal"] = rule()(heal)
    return rules


def arm_fault(self: MemoryMachine, kind: str, after: int, luck: int) -> None:
    """One of the next events that this kind can strike is struck."""
    self.source.arm(kind, after, luck)


def jump_clock(self: MemoryMachine, by_ms: int) -> None:
    source = self.source
    source.push(ClockMove(source.next_id("c"), self.world.now_ms, self.agent, "jump", {"by_ms": by_ms}))
    self.settle()


def heal(self: MemoryMachine) -> None:
    """Nothing strikes any more, and so much time passes that every window has ended."""
    self.source.arm(None)
    self.issue("len", HEALED_MS, {})


# Arguments: of the same classes as those of generated runs, few and close together, so that they meet.

LEFT_OUT: Final = object()


def mostly(plain: Any, hostile: pools.Pool) -> Any:
    """One in four is from the pool of hostile values."""
    bad = st.one_of([st.sampled_from(list(group)) for group in hostile.values()])
    return st.one_of(plain, plain, plain, bad)


def maybe(given: Any) -> Any:
    return st.one_of(st.just(LEFT_OUT), given)


FACTS: Final = (
    "Alice works at Acme.", "Alice likes tea.", "Alice now works at Northwind Trading.", "I am Umi.",
    "Bob met Alice in Paris.", "東京は大きい。", "no names here",
)  # fmt: skip
QUERIES: Final = ("Where does Alice work?", "tea", "東京", "anything similar to tea")
SMALL_KEYS: Final[pools.Pool] = {name: group for name, group in pools.HOSTILE_KEYS.items() if name != "size"}
PPM: Final = mostly(st.sampled_from((0, 500_000, 950_000)), pools.HOSTILE_PPM)

STRATEGIES: Final[dict[str, Any]] = {  # by domain; None: left at its default
    **dict.fromkeys(("key", "stored_key"), mostly(KEYS, SMALL_KEYS)),
    "value": mostly(st.sampled_from(pools.VALUES), {"number": pools.HOSTILE_VALUES["number"]}),
    "ttl": mostly(st.sampled_from(pools.TTLS_MS), pools.HOSTILE_TTLS),
    "delta": mostly(st.sampled_from(pools.DELTAS), pools.HOSTILE_DELTAS),
    "block_kind": mostly(st.sampled_from(("system", "persona", "human", "facts")), pools.HOSTILE_KINDS),
    "block_label": mostly(st.sampled_from(("", "work")), {"markup": pools.HOSTILE_LABELS["markup"]}),
    "block_text": mostly(st.sampled_from(("", "short", "x" * 1_500)), pools.NASTY),
    "importance": PPM,
    "form": mostly(st.sampled_from(("xml", "markdown")), pools.HOSTILE_FORMS),
    "entity_id": mostly(ENTITIES, pools.HOSTILE_IDS),
    "session_id": mostly(SESSIONS, pools.HOSTILE_IDS),
    "members": mostly(st.just(()), {"look-alike": pools.HOSTILE_MEMBERS["look-alike"]}),
    "text": mostly(st.sampled_from(FACTS), pools.NASTY),
    "request_key": st.sampled_from(("r1", "r2")),
    "query": mostly(st.sampled_from(QUERIES), pools.NASTY),
    "limit": st.sampled_from((1, 3)),
    "version": st.sampled_from((1, 2)),
    **dict.fromkeys(
        ("flag", "time", "metadata", "source", "deep", "time_range", "types", "turns", "score"), None
    ),
}


def strategies_of(name: str) -> dict[str, Any]:
    """The arguments that a rule of this request draws. Raises Incomplete."""
    found: dict[str, Any] = {}
    for argument in arguments_of(REQUESTS[name]):
        if argument.domain not in STRATEGIES:
            told = f"the domain {argument.domain} of {name}.{argument.name} has no strategy"
            raise Incomplete(f"{told}: add one to STRATEGIES in umi_sim/testing/hypothesis_machine.py")
        if (strategy := STRATEGIES[argument.domain]) is not None:
            found[argument.name] = strategy if argument.is_required else maybe(strategy)
    return found


ARGS: Final[dict[str, dict[str, Any]]] = {name: strategies_of(name) for name in REQUESTS}
