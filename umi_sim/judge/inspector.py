"""The inspector of a run: the oracle from outside and, for Umi's own memory, the invariants from inside.

Cheap rules are checked after every step; full checks run at every CHECK_EVERY-th step, and on request of the
runner. Each raises Broken with the readable name of the first broken rule. If that rule is off, the rest of
that check is skipped and the run continues.
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import wraps
from typing import Final, ParamSpec

from msgspec import structs

from umi_core.config import Config
from umi_core.language.reasoning import strip_reasoning
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, EffectFailed, ModelReplied, Value
from umi_core.messages.effects import AskModel, Commit, Effect, FailureKind, Outcome, Read, Reply
from umi_core.messages.requests import Len, Request, is_working
from umi_core.workflows import BUILT_IN
from umi_sim.judge.equivalences import create_recorder
from umi_sim.judge.invariants import check_needed, check_recovered, check_renderings, check_store
from umi_sim.judge.invariants.asked import ServiceQuestions
from umi_sim.judge.invariants.divisions import Divisions
from umi_sim.judge.invariants.store import check_leaving, check_opening
from umi_sim.judge.invariants.two_stores import TwoStores
from umi_sim.judge.invariants.upkeep import UpkeepSchedule, check_upkeep
from umi_sim.judge.invariants.written import StatedTexts, WrittenRows
from umi_sim.judge.observer import Observer
from umi_sim.judge.oracle.judge import Oracle, check_reply
from umi_sim.judge.state import (
    StateSnapshot,
    before_step,
    check_cheap,
    check_memory,
    check_step_result,
    check_tables,
)
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.record import rules
from umi_sim.record.answer_shapes import is_answer_to
from umi_sim.record.broken import Broken, demand
from umi_sim.record.run_config import RunConfig
from umi_sim.services.calls import Call, Services
from umi_sim.services.storage import SimStorage

P = ParamSpec("P")

# A full check recounts all rows and entries, so unlike the
# checks of a step its cost grows with the memory.
CHECK_EVERY: Final = 64
# With these faults a read may return a row that differs from the written one. So a memory may rightly hold
# other rows than storage, or schedule less work.
SPOILING: Final = ("storage_damaged", "storage_unfit", "storage_bit_flip", "storage_misdirected")
JUDGES: Final = (
    "observe_call", "observe_commit", "observe_answer", "observe_reply", "observe_crash", "observe_takeover",
    "end_incarnation", "observe_step", "check",
)  # fmt: skip
NO_SNAPSHOT: Final[tuple[Memory | None, StateSnapshot | None]] = (None, None)
PHASES: Final = "da"  # first letters of op_ids of the phases: drain:1, audit:1, ...


def is_forged(config: RunConfig) -> bool:
    """Return True if rows or answers may differ from what was committed."""
    return config.revise_every > 0 or config.tamper_every > 0


OBSERVERS: Final[Mapping[str, tuple[Callable[[RunConfig], Observer], ...]]] = {
    "umi_core": (
        lambda config: Divisions(Config.of(config.memory)),
        lambda config: UpkeepSchedule(Config.of(config.memory), is_forged=is_forged(config)),
        lambda config: StatedTexts(config.revise_every > 0),
        lambda config: WrittenRows(),
        lambda config: ServiceQuestions(),
    ),
    "migrator": (lambda config: TwoStores(), lambda config: WrittenRows()),
}
"""By name of the target (umi_sim/machines/table.py), the observers of its incarnations from inside."""


class Inspector:
    """Observes a whole run. `phase_replies`: replies to requests of the phases; `compared`: comparisons."""

    def __init__(self, config: RunConfig) -> None:
        self.oracle = Oracle(config)
        self.phase_replies: dict[str, Reply] = {}
        self.woken = self.oracle.read_clock
        self.compared: Counter[str] = Counter()
        self.coverage: dict[str, int] = {}
        self._lives = create_recorder(config.equivalences, config.seed)
        self._reading_ms = 0
        self._before: StateSnapshot | None = None
        self._after: dict[str, tuple[Memory, StateSnapshot]] = {}  # by agent, the state after its last step
        self._begun: dict[str, None] = {}
        self._replies: list[Reply] = []
        self._count = 0
        self._rendered: dict[str, object] = {}
        self._is_spoilt = any(map(config.faults.get, SPOILING))
        self._observers = [observer_of(config) for observer_of in OBSERVERS.get(config.target, ())]
        self._of_issued, self._of_answered, self._of_replied, self._of_stepped = (
            list_concerned(self._observers, event)
            for event in ("observe_request", "observe_answer", "observe_reply", "observe_step")
        )
        for name in JUDGES if config.off else ():
            # Only if a rule is off, since the wrapper makes each call slower.
            setattr(self, name, forgive_rules(getattr(self, name), config.off))

    def meet(self, world_ms: Callable[[], int], services: Services) -> None:
        """Connect the inspector to the world time and the services of the run."""
        self.oracle.meet(world_ms, services)
        for observer in self._observers:
            observer.meet(services.stores)

    def observe_request(self, agent: str, op_id: str, request: Request, reading_ms: int) -> None:
        self.oracle.observe_request(agent, op_id, request, reading_ms)
        for observer in self._of_issued:
            observer.observe_request(agent, op_id, request)

    def observe_call(self, call: Call) -> None:
        self.oracle.observe_call(call)

    def observe_commit(self, call: Call) -> None:
        self.oracle.observe_commit(call)

    def observe_answer(self, call: Call, answer: Answer, reading_ms: int) -> None:
        # A replaced incarnation has a clock of its own.
        is_old = call.old_asker in self.oracle.replaced
        self.oracle.read_clock(call.old_asker if is_old else call.agent, reading_ms)
        taken = answer
        if not is_answer_to(call.effect, answer):  # a memory treats a malformed answer as this failure
            kind: FailureKind = "unknown" if isinstance(call.effect, Commit) else "unavailable"
            taken = EffectFailed(call.effect.request_id, kind)
        if isinstance(call.effect, AskModel) and isinstance(taken, ModelReplied):
            # The memory drops reasoning before the answer (`<think>...</think>`).
            taken = structs.replace(taken, text=strip_reasoning(taken.text))
        for observer in self._of_answered:
            observer.observe_answer(call, taken, self.oracle.scope_of(call.agent))
        self.oracle.observe_answer(call, taken)

    def check_outcome(self, agent: str, op_id: str, outcome: Outcome) -> None:
        """Check the types and ranges of an outcome before any other judge reads it."""
        check_reply(op_id, self.oracle.request_of(agent, op_id), outcome)

    def observe_reply(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None:
        if op_id[0] in PHASES:
            self.phase_replies[op_id] = reply
        self._replies.append(reply)
        scope = self.oracle.scope_of(agent)
        for observer in self._of_replied:
            observer.observe_reply(agent, scope, op_id, reply.outcome)
        self.oracle.observe_reply(agent, op_id, reply, reading_ms)

    def observe_crash(self, agent: str) -> None:
        self.oracle.observe_crash(agent)
        for observer in self._observers:
            observer.observe_crash(agent)
        self.end_incarnation(agent)

    def observe_takeover(self, agent: str, old: str) -> None:
        self.oracle.observe_takeover(agent, old)
        for observer in self._observers:
            observer.observe_takeover(agent, old)
        self.end_incarnation(agent)

    def observe_successor(self, old: str) -> None:
        self.oracle.observe_successor(old)

    def observe_wipe(self) -> None:
        self.oracle.observe_wipe()

    def observe_tampering(self) -> None:
        """Observe that stored rows were tampered with; from now on few rules can be checked."""
        self.oracle.rows_tampered()

    def end_incarnation(self, agent: str) -> None:
        """Compare an ended incarnation by the equivalences that are on."""
        if self._lives is not None and (life := self._lives.end(agent)):
            from umi_sim.judge.equivalences.table import check

            check(life, self.oracle.config.equivalences, self.compared)

    def stepping(self, agent: str, machine: Machine, value: Value, reading_ms: int) -> None:
        """Take a snapshot before a step, unless the step can change only the working tier.

        A request of the working tier can change nothing else if no operation is in flight.
        """
        self._replies.clear()
        memory = memory_of(machine)
        if memory is None:
            return
        is_new = memory.state.phase == "new"
        if is_new and agent not in self._begun:  # later incarnations of the agent begin in the same way
            self._begun[agent] = None
            check_beginning(memory)
        if is_new:
            self.oracle.begin_incarnation(agent, memory.state.config.categories)
        if self._lives is not None:
            self._reading_ms = reading_ms
            if is_new:
                self._lives.begin(agent)
        # With no operation in flight a get changes only entries, so cheap checks are enough.
        is_lone = is_working(value) and not memory.state.operations
        last, after = self._after.pop(agent, NO_SNAPSHOT)
        # The snapshot after one step is also the one before the next step.
        known = after if last is memory else None
        self._before = None if is_lone else known or before_step(memory.state)

    def observe_step(
        self, agent: str, machine: Machine, storage: SimStorage, value: Value, effects: Sequence[Effect]
    ) -> None:
        memory = memory_of(machine)
        for observer in self._of_stepped:
            observer.observe_step(agent, self.oracle.scope_of(agent), machine, effects)
        if memory is None:
            return
        # A replaced incarnation such as "a1~1" is not compared by the equivalences.
        is_old = agent not in self.oracle.agents
        if self._lives is not None and not is_old:
            self._lives.record_step(agent, memory, self._reading_ms, value, tuple(effects))
        self._count += 1
        before = self._before
        if before is None:
            check_cheap(memory.state)
        else:
            after = check_step_result(before, value, memory.state, memory.registry, self._replies)
            self._after[agent] = memory, after
        for effect in effects:
            if isinstance(effect, Commit):
                check_needed(effect, storage)
                check_leaving(effect, memory.in_flight[effect.request_id].workflow, storage)
                check_opening(effect, storage)
        core = memory.state.tiers.core
        # Blocks are replaced as a whole when core changes, and both renderings follow from the blocks alone.
        if core.blocks is not self._rendered.get(agent):  # these blocks were not checked before
            self._rendered[agent] = core.blocks
            check_renderings(core)
        is_over = memory.state.phase not in ("recovering", "fenced")
        has_recovered = before is not None and is_over and is_beginning(before)
        if has_recovered and self.oracle.tampered is None:  # otherwise rows may have changed since its reads
            check_recovered(storage, memory.state)
            check_upkeep(storage, memory.state, is_sure=not self._is_spoilt)
        if self._count % CHECK_EVERY == 0 and not is_old:
            self.check(machine, storage)

    def check(self, machine: Machine, storage: SimStorage) -> None:
        """Check every full rule; only the state of Umi's own memory is visible."""
        memory = memory_of(machine)
        if memory is None:
            return
        check_memory(memory.state)
        check_tables(memory.state, memory.registry)
        if self.oracle.tampered is None:
            check_store(storage, memory.state, has_lied=bool(self.oracle.surroundings.atlas.losses))


def check_beginning(memory: Memory) -> None:
    """Demand that a first request of the working tier is answered in the same step, and begins recovery.

    A second, equal memory gets the request. If that one raises, so will this one, where it is reported.
    """
    state = memory.state
    try:
        asked = Memory(state.scope, state.config, BUILT_IN).step(0, Len("first"))
    except Exception:
        return
    got = sorted(type(effect).__name__ for effect in asked)
    expected = [Read.__name__, Reply.__name__]
    demand(got == expected, rules.PROGRESS, "the effects of a first request", expected, got)


def is_beginning(before: StateSnapshot) -> bool:
    """Return True if this was the first recovery of an incarnation; it may recover again while running."""
    last = [it.facts.get("last") for it in before.snapshots.values() if it.pinned[0] == "recover"]
    return before.phase == "recovering" and last == [(0, "")]


def list_concerned(observers: Sequence[Observer], event: str) -> list[Observer]:
    """List the observers that override the method of an event; only these are called."""
    return [it for it in observers if getattr(type(it), event) is not getattr(Observer, event)]


def forgive_rules(judge: Callable[P, None], off: Container[str]) -> Callable[P, None]:
    """Return `judge` without the rules that are off."""

    @wraps(judge)
    def forgive(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            judge(*args, **kwargs)
        except Broken as broken:
            if broken.rule not in off:
                raise

    return forgive
