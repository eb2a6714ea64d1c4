"""The same requests, world and oracle as a Hypothesis state machine, for other people's test suites.

    from umi_sim.testing.hypothesis_machine import machine

    TestMemory = machine("smoke").TestCase

Law 1. Every rule records its actions as items, so an example replays without Hypothesis.
Law 2. Oracle and invariants are those of a run; the end of an example heals, drains, audits and restarts.
Law 3. Failures with different fingerprints raise different exception classes. umi_sim.shrink shrinks the
       first example of each, item by item. Hypothesis does not shrink, unless the settings of a test add its
       shrink phase; then the smallest example is kept.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from msgspec import structs

from umi_core.messages.effects import Done
from umi_core.messages.results import Remembered, SessionCreated, SessionSaved
from umi_core.workflows import BUILT_IN
from umi_sim.explain import report
from umi_sim.faults.agent import Down
from umi_sim.faults.clock import jump_signs
from umi_sim.faults.declaration import ArgsMaker
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.report import laid_out
from umi_sim.machines.umi import UmiTarget
from umi_sim.mutants import Mutant, plant_mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record import fingerprint
from umi_sim.record.broken import Broken
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.runs import corpus
from umi_sim.runs.blame import crash_of, failure_of
from umi_sim.runs.known import RunKnowledge
from umi_sim.runs.runner import run, run_of, verdict_of
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile import files as seed_file
from umi_sim.shrink import NothingToShrink, shrink_whole
from umi_sim.shrink.references import ReplyListener
from umi_sim.testing.machine_arguments import (
    ARGS,
    ENTITIES,
    KEYS,
    LEFT_OUT,
    SESSIONS,
    When,
    draw_arguments,
    moments_of,
)
from umi_sim.workload import pools
from umi_sim.workload.users import ids_of_cast
from umi_sim.world.world import OutOfSteps

JUMP_MS: Final = (1, 10, 1_000, 3_600_000, 7 * 86_400_000)
HEALED_MS: Final = 120_000  # longer than any window of a fault
EVENTS_MAX: Final = 6
# `choice % n` chooses one of n values. 255 covers most arguments, and Hypothesis searches it quickly.
CHOICE_MAX: Final = 255
PHASES: Final = (Phase.explicit, Phase.reuse, Phase.generate)  # no shrink: ours is 50 times as fast
SHRINK_SECONDS_MAX: Final = 20
OURS: Final[dict[str, Any]] = {"deadline": None, "phases": PHASES, "verbosity": Verbosity.quiet}
PATIENT: Final = settings(**OURS, suppress_health_check=[HealthCheck.too_slow])
PROFILES: Final = {
    "dev": settings(PATIENT, derandomize=False),
    "ci": settings(PATIENT, derandomize=True, database=None),
}


class RuleSource:
    """The source of items: requests of the rules, and an armed fault at a coming event it applies to."""

    def __init__(self) -> None:
        self.record: list[Item] = []
        self.armed: str | None = None
        self.after = self.choice = 0
        self._waiting: list[Op | ClockMove] = []
        self._counts = {"o": 0, "f": 0, "c": 0}

    def next_id(self, letter: str) -> str:
        self._counts[letter] += 1
        return f"{letter}{self._counts[letter]}"

    def push(self, item: Op | ClockMove) -> None:
        self.record.append(item)
        self._waiting.append(item)

    def arm(self, kind: str | None, after: int = 0, choice: int = 0) -> None:
        """Inject `kind` after skipping `after` events that it applies to; `choice` selects its arguments."""
        self.armed, self.after, self.choice = kind, after, choice

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        mine = [item for item in self._waiting if item.agent == agent]
        self._waiting = [item for item in self._waiting if item.agent != agent]
        return mine

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        kind = self.armed
        if kind is None or not KINDS[kind].is_at(verb):
            return None
        # Counts only events that this kind applies to, so a small `after` reaches far into a run.
        if self.after:
            self.after -= 1
            return None
        args = make_args(kind, lambda label, n: self.choice % n)
        # The fault can change nothing at this event, so it stays armed for the next one.
        if args is None:
            return None
        self.armed = None
        fault = Fault(self.next_id("f"), kind, event, args)
        self.record.append(fault)
        return fault

    def choose(self, ready: Sequence[str]) -> int:
        return 0


class MemoryMachine(RuleBasedStateMachine):
    """A run of one agent, driven by rules. `machine` makes subclasses for a scenario."""

    config: RunConfig
    folder: Path = seed_file.EPHEMERAL
    kept: dict[str, tuple[int, list[str]]]  # by fingerprint: (item count, lines of the report)

    def __init__(self) -> None:
        super().__init__()
        self.source = RuleSource()
        self.inspector = ReplyListener(self.config, {})
        # No `with` can span an example, so this enters the context, and `teardown` leaves it.
        self.planting = plant_mutant(self.config.planted, BUILT_IN)
        registry = self.planting.__enter__()
        target = UmiTarget(self.config, registry)
        self.run_ = run_of(self.config, self.give_source, self.inspector, target=target)
        self.world = self.run_.world
        self.has_failed = False
        self.guard(self.world.begin)
        self.settle()

    def give_source(self, known: RunKnowledge) -> RuleSource:
        self.known = known
        return self.source

    @property
    def agent(self) -> str:
        return self.config.agents[0].name

    def settle(self) -> None:
        self.guard(lambda: self.world.run_until_quiet(self.world.step_count + self.config.steps_max))

    def guard(self, act: Callable[[], None]) -> None:
        """Call `act`; if it fails, save a seed file and raise the exception of that failure."""
        failure = failure_in(self, act)
        if failure is not None:
            self.has_failed = True
            report_text = self.report_failure(verdict_of(self.run_, failure))
            raise exception_of(fingerprint.of(failure))(report_text) from None

    def report_failure(self, verdict: Verdict) -> str:
        """Return the report of a failure; its seed file has the smallest known run with this fingerprint."""
        # If a replay of the items fails, its verdict is preferred: it belongs to a run without Hypothesis.
        again = run(self.config, verdict.items)
        shown = again if again.failure else verdict
        assert shown.failure is not None
        mark = fingerprint.of(shown.failure)
        if mark not in self.kept:
            self.kept[mark] = report_shrunk(corpus.keep_run(shown, self.folder), shown)
        # If Hypothesis shrinks too (law 3), its smaller example replaces the report.
        elif len(shown.items) < self.kept[mark][0]:
            self.kept[mark] = report_unshrunk(corpus.keep_run(shown, self.folder), shown)
        return "\n".join(self.kept[mark][1])

    @invariant()
    def every_rule_holds(self) -> None:
        """Check all invariants after each rule; a run checks the expensive ones at every 64th step."""
        if not self.has_failed:
            self.guard(self.run_.check_all)

    def issue(self, name: str, advance_ms: int, args: dict[str, object]) -> object:
        """Send a request, run until its reply, and return the value of a Done, else None."""
        op = Op(self.source.next_id("o"), self.world.now_ms + advance_ms, self.agent, name, args)
        self.source.push(op)
        self.settle()
        reply = self.inspector.replies.get(op.id)
        return reply.outcome.value if reply and isinstance(reply.outcome, Done) else None

    def wait_ms(self, when: When) -> int:
        """Return the ms until a request: as given, or until (or next to) a coming deadline; 0 without one."""
        if isinstance(when, int):
            return when
        which, by_ms = when
        now_ms, clock = self.world.now_ms, self.known.clock(self.agent)
        instants = sorted(it for it in self.known.deadlines(self.agent) if it > clock.reading(now_ms))
        if not instants:
            return 0
        at_ms = clock.world_at(instants[which % len(instants)] + by_ms, now_ms)
        return max(0, at_ms - now_ms) if at_ms else 0

    def teardown(self) -> None:
        try:
            if not self.has_failed:
                self.source.arm(None)
                self.guard(self.run_.run_phases)
        finally:
            self.planting.__exit__(None, None, None)


def report_shrunk(path: Path, verdict: Verdict) -> tuple[int, list[str]]:
    """Shrink a saved failure; return the number of items that remain, and the lines of the report."""
    assert verdict.failure is not None
    try:
        done = shrink_whole(seed_file.read(path), seconds_max=SHRINK_SECONDS_MAX)
    except NothingToShrink:
        return report_unshrunk(path, verdict)
    seed_file.write(path, done.seed)
    reported = report.of_shrunk(done, path.as_posix(), "", verdict.failure)
    return len(done.seed.items), list(laid_out(report.of_failure(reported)))


def report_unshrunk(path: Path, verdict: Verdict) -> tuple[int, list[str]]:
    file = path.as_posix()
    reported = report.of_run(verdict, report.replay_of(file), file=file)
    return len(verdict.items), list(laid_out(reported))


def failure_in(self: MemoryMachine, act: Callable[[], None]) -> Failure | None:
    try:
        act()
    except (Broken, OutOfSteps) as broken:
        return failure_of(self.world, broken)
    except Exception as raised:
        return crash_of(self.world, raised)
    return None


EXCEPTIONS: Final[dict[str, type[AssertionError]]] = {}


def exception_of(mark: str) -> type[AssertionError]:
    """Return the exception class of a fingerprint, since Hypothesis distinguishes bugs by exception type."""
    return EXCEPTIONS.setdefault(mark, type(f"Broken_{mark}", (AssertionError,), {}))


def machine(
    scenario: str = "smoke",
    *,
    mutant: str | None = None,
    folder: Path | None = None,
    profile: str | None = None,
) -> type[MemoryMachine]:
    """Return a state machine over the requests and fault kinds of a scenario, given by name or path.

    `mutant`: the planted bug that the machine must find, if any; a test that passes with it fails with
    NotSeen, which says where the bug shows. `folder`: the folder of seed files. `profile`: dev (fresh
    examples) or ci (the same examples in every run), instead of the active profile of Hypothesis. Raises
    BadScenario, or ValueError for an unknown bug or profile.
    """
    check(mutant, (None, *MUTANTS), "planted bug")
    check(profile, (None, *PROFILES), "profile")
    drawn = draw(find(scenario), 0)
    config = structs.replace(
        # With one agent, one request at a time and no latency, the order of
        # rules is the order of events, so Hypothesis can shrink it.
        drawn, agents=drawn.agents[:1], mode="swarm", latency="instant", policy="fifo", in_flight_max=1,
        workload="generated", planted=mutant or drawn.planted,
    )  # fmt: skip
    rules: dict[str, Any] = {name: rule_for(name, config) for name in config.weights if name in ARGS}
    members = {"config": config, "kept": {}, **BUNDLES, **beginnings(config), **rules, **moments(config)}
    members |= {"folder": folder} if folder else {}
    made: type[MemoryMachine] = type(
        f"{config.scenario.title().replace('_', '')}Machine", (MemoryMachine,), members
    )
    made.TestCase.settings = PROFILES[profile] if profile else settings(**OURS)
    if config.planted:
        demand_bug(made, MUTANTS[config.planted], is_guest=mutant is not None)
    return made


class NotSeen(AssertionError):
    """No example shows the planted bug. The message names a scenario that does, or asks for more examples."""


def demand_bug(made: type[MemoryMachine], bug: Mutant, *, is_guest: bool) -> None:
    """Make a test that passes fail with NotSeen. `is_guest`: the scenario itself does not plant `bug`."""
    case: Any = made.TestCase
    tried = case.runTest

    @wraps(tried)
    def run_test(self: object) -> None:
        tried(self)
        message = f"{bug.name} is planted, and no example of {made.config.scenario} shows it"
        raise NotSeen(f"{message}: {advice(made.config, bug) if is_guest else MORE}")

    case.runTest = run_test


MORE: Final = "give it more examples, or more steps"


def advice(config: RunConfig, bug: Mutant) -> str:
    """Return where to find a bug that no example of this scenario shows."""
    if bug.kind not in ("", *config.faults):
        return f"it takes {bug.kind}, which only a scenario like {bug.scenario} has"
    return (
        f"{bug.scenario} is a scenario that shows it; or {MORE}" if bug.scenario != config.scenario else MORE
    )


def check(given: str | None, known: Sequence[str | None], what: str) -> None:
    if given not in known:
        raise ValueError(f"{given}: no such {what}; known: {', '.join(filter(None, known))}")


# Bundles: values for arguments of later rules. None is empty: Hypothesis skips rules with an empty bundle.

BUNDLES: Final = {"keys": KEYS, "entities": ENTITIES, "sessions": SESSIONS}

FIRST_KEYS: Final = ("a", "b", "ab", "ключ")
RESERVED: Final = ("__session_id",)


def beginnings(config: RunConfig) -> dict[str, Any]:
    """Return rules that fill the bundles at the start, with keys and ids that no request has stored yet."""
    absent = pools.HOSTILE_IDS["absent"]
    keys = (*FIRST_KEYS[: config.key_count], *(RESERVED if config.adversarial[0] else ()))
    firsts = {
        "keys": (KEYS, keys),
        "entities": (ENTITIES, (*ids_of_cast(tuple(it.scope for it in config.agents))[:2], absent[0])),
        "sessions": (SESSIONS, (absent[1],)),
    }
    return {f"first_{name}": beginning(*given) for name, given in firsts.items()}


def beginning(target: "Bundle[object]", values: Iterable[object]) -> Any:
    return initialize(target=target)(lambda self: multiple(*values))


def add_to_bundle(name: str, args: dict[str, object], value: object) -> Iterable[object]:
    """Return the keys or ids that a reply adds to the bundle of its request."""
    if name == "set":
        return (args["key"],)
    if isinstance(value, Remembered):
        return [stored.id for stored in value.entities]
    return (value.session_id,) if isinstance(value, SessionCreated | SessionSaved) else ()


TARGETS: Final[dict[str, Any]] = {
    "set": KEYS, "remember": ENTITIES, "create_session": SESSIONS, "save_session": SESSIONS,
}  # fmt: skip


# Rules.


def rule_for(name: str, config: RunConfig) -> Any:
    def issue(self: MemoryMachine, when: When, **args: object) -> object:
        given = {key: value for key, value in args.items() if value is not LEFT_OUT}
        value = self.issue(name, self.wait_ms(when), given)
        return multiple(*add_to_bundle(name, given, value)) if name in TARGETS else None

    # Hypothesis prints rules by this name, and needs a different one for each.
    issue.__name__ = name
    target = {"target": TARGETS[name]} if name in TARGETS else {}
    as_rule: Any = rule(**target, when=moments_of(config), **draw_arguments(name, config))
    return as_rule(issue)


def moments(config: RunConfig) -> dict[str, Any]:
    """Return the rules for faults and clock jumps, by name; only those that the scenario has."""
    after, choice = st.integers(0, EVENTS_MAX), st.integers(0, CHOICE_MAX)
    # Crashes have a separate rule: among thirty kinds of faults Hypothesis would hardly ever draw one.
    crashes = [kind for kind in config.faults if issubclass(KINDS[kind], Down)]
    kinds = sorted(kind for kind in config.faults if kind not in crashes and KINDS[kind].group != "clock")
    jumps = [sign * ms for sign in jump_signs(tuple(config.faults)) for ms in JUMP_MS]
    rules: dict[str, Any] = {}
    if kinds:
        rules["arm_fault"] = rule(kind=st.sampled_from(kinds), after=after, choice=choice)(arm_fault)
    if crashes:
        rules["crash"] = rule(kind=st.sampled_from(crashes), after=after, choice=choice)(arm_fault)
    if jumps:
        rules["jump_clock"] = rule(by_ms=st.sampled_from(jumps))(jump_clock)
    if kinds or crashes:
        rules["heal"] = rule()(heal)
    return rules


def arm_fault(self: MemoryMachine, kind: str, after: int, choice: int) -> None:
    """Arm the fault for one of the next events that this kind applies to."""
    self.source.arm(kind, after, choice)


def jump_clock(self: MemoryMachine, by_ms: int) -> None:
    source = self.source
    source.push(ClockMove(source.next_id("c"), self.world.now_ms, self.agent, "jump", {"by_ms": by_ms}))
    self.settle()


def heal(self: MemoryMachine) -> None:
    """Disarm the fault, and wait until the window of every injected fault has ended."""
    self.source.arm(None)
    # `len` changes nothing. It is sent only to advance the time.
    self.issue("len", HEALED_MS, {})
