"""Another implementation of Umi, in a process of its own: docs/targets.md has its protocol.

One process for each run serves all its incarnations, by number. One that has crashed gets no more messages.

Law 1. Any misbehaviour of the process is a finding: it exits, hangs, or sends malformed or impossible data.
Law 2. With E-SECOND among the equivalences of the run, a memory of ours gets the same inputs, and each step
must emit the same effects.
Law 3. A process that can save itself is killed several times in a run, and a new process continues from the
saved states. No client may notice.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import msgspec
from msgspec import structs

from umi_core.config import Config
from umi_core.data import SET_LATER, Data, Owner
from umi_core.limits import NOW_MS_MAX
from umi_core.messages.answers import Value
from umi_core.messages.effects import MAIN, Asked, Commit, Effect, Read, Reply
from umi_core.messages.requests import OF_MEMORY
from umi_core.values import Scope
from umi_sim.kernel.child_process import Process, ProcessBroken
from umi_sim.kernel.wording import show_value
from umi_sim.machines import wire
from umi_sim.machines.fence import Fence
from umi_sim.machines.protocol import InitialStorage, Machine, Origin
from umi_sim.machines.umi import UmiMachine, UmiTarget, found_cores
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.record.run_config import RunConfig

CONTRACT: Final = "umi"
VERSION: Final = 1
LINE_BYTES_MAX: Final = 16 * 1024 * 1024
RESTART_AFTER: Final = tuple(4**count for count in range(1, 11))
"""Steps after which the process is replaced: early, so that findings shrink; few, since it starts slowly."""


class BadProcess(Exception):
    """The process cannot be tested at all; the message is one line."""


class BadStep(Exception):
    """The process gave no result, or one that no memory can give."""


class ReportedOperation(Data, forbid_unknown_fields=True):
    """An operation in flight, as reported. `asks`: the number of the effect for whose answer it waits.

    `due_ms`: when it stops waiting, or continues without an answer.
    """

    number: int
    workflow: str
    step: str
    op: str | None = None
    asks: int | None = None
    due_ms: int | None = None


class ProcessState(Data):
    """The reported state of an incarnation after a step, and the effects of the step."""

    deadline_ms: int | None = 0  # before its first step an incarnation is due immediately
    recovering: bool = False
    operations: tuple[ReportedOperation, ...] = ()
    marks: tuple[str, ...] = ()
    digest: str = ""
    effects: tuple[Any, ...] = ()


class ProcessMachine(Owner):
    """One incarnation in the process. `twin`: a memory of ours with the same inputs, if both are compared."""

    process: "Server"
    life: int
    twin: UmiMachine | None = None
    is_stepped: bool = False
    standing: ProcessState = ProcessState()
    seen_ms: int = 0
    asked: dict[int, Asked] = {}
    asked_last: int = 0

    @property
    def marks(self) -> Sequence[str]:
        return self.standing.marks

    @property
    def is_recovering(self) -> bool:
        return self.standing.recovering

    @property
    def is_committing(self) -> bool:
        return any(isinstance(self.asked.get(it.asks or 0), Commit) for it in self.standing.operations)

    @property
    def is_working(self) -> bool:
        return self.standing.recovering or bool(self.standing.operations)

    def step(self, now_ms: int, value: Value) -> Sequence[Effect]:
        self.seen_ms = max(self.seen_ms, min(now_ms, NOW_MS_MAX))
        reply = ask_process(self.process, op="step", life=self.life, now_ms=now_ms, value=wire.to_json(value))
        self.is_stepped = True
        try:
            self.standing = read_state(reply)
            effects = tuple(wire.from_json(each, Effect) for each in self.standing.effects)
            self.must_be_awaited(effects)
        except ValueError as error:  # wire.Unreadable is one
            raise BadStep(str(error)) from None
        # After the checks, so that a malformed step is reported as such and not as a difference.
        if self.twin is not None:
            must_be_alike(self.twin.step(now_ms, value), effects)
        # Last, because the process may be replaced here, and its saved state must include this step.
        self.process.count_step()
        return effects

    def must_be_awaited(self, effects: Sequence[Effect]) -> None:
        """Demand that each effect has a new number and a known store, and that an operation awaits it."""
        waiting = {it.asks for it in self.standing.operations}
        # Effects without a waiting operation are dropped, or `is_committing` would see commits long finished.
        self.asked = {number: asked for number, asked in self.asked.items() if number in waiting}
        for effect in effects:
            if isinstance(effect, Reply):
                continue
            if isinstance(effect, Read | Commit) and effect.store != MAIN:
                raise ValueError(f"asks the store {show_value(effect.store)}, and there is {MAIN} alone")
            # Numbers only grow: with a reused one, a late answer to another effect would fit this one.
            if effect.request_id <= self.asked_last:
                raise ValueError(f"asks under the number {effect.request_id}, after {self.asked_last}")
            if effect.request_id not in waiting:
                raise ValueError(f"asks {effect.request_id}, and no operation waits for the answer")
            self.asked_last = effect.request_id
            self.asked[effect.request_id] = effect

    def deadline_ms(self) -> int | None:
        return self.standing.deadline_ms

    def digest(self) -> bytes:
        return bytes.fromhex(self.standing.digest)

    def running(self) -> Iterator[str]:
        return (it.workflow for it in self.standing.operations)

    def awaits(self, request_id: int, reading_ms: int) -> bool:
        now_ms = max(reading_ms, self.seen_ms)
        return any(
            it.asks == request_id and it.due_ms is not None and it.due_ms > now_ms
            for it in self.standing.operations
        )

    def origin_of(self, effect: Asked) -> Origin:
        it = next(it for it in self.standing.operations if it.asks == effect.request_id)
        return Origin(it.op, it.workflow, it.number, it.step)

    def make_copy(self) -> None:
        """Return None: instead, all incarnations are restored together when the process is replaced."""
        return

    def demand_same_state(self, standing: ProcessState) -> None:
        """Raises Broken if the state of an incarnation differs after it was saved and restored."""
        # Marks and effects belong to a step, and a restored incarnation has taken none yet.
        expected, got = (structs.replace(each, marks=(), effects=()) for each in (self.standing, standing))
        what = f"life {self.life}, made of what it has saved, is another memory"
        demand(expected == got, rules.COPIED_STATE_CONTINUES, what, expected, got)


def must_be_alike(ours: Sequence[Effect], theirs: Sequence[Effect]) -> None:
    """Raises Broken at the first effect in which two steps differ."""
    for number, (expected, got) in enumerate(zip_longest(ours, theirs), 1):
        what = f"effect {number} of a step differs"
        demand(expected == got, rules.SECOND_IMPLEMENTATION, what, expected, got)


# Messages.


def ask_process(process: "Server", **request: Any) -> dict[str, Any]:
    """Send a request to the process, and return its answer. Raises BadStep."""
    try:
        reply = process.ask(request)
    except ProcessBroken as error:
        raise BadStep(f"the process {error}") from None
    if "error" in reply:
        raise BadStep(show_value(reply["error"]))
    answer = reply.get("answer")
    return answer if isinstance(answer, dict) else {}


def read_state(reply: Mapping[str, Any]) -> ProcessState:
    """Read the state of an incarnation after a step. Raises ValueError."""
    standing = msgspec.convert({"deadline_ms": None, **reply}, ProcessState)
    bytes.fromhex(standing.digest)  # raises ValueError for a malformed digest
    return standing


# The process.


class Server(Owner):
    """The process that serves all incarnations of a run, and all that is needed to replace it.

    `is_judged`: a restored incarnation with another state breaks a rule. Raises BadProcess.
    """

    command: str
    is_judged: bool = True
    step_count: int = 0
    lives: dict[int, tuple[ProcessMachine, Scope, Config]] = {}
    process: Process = SET_LATER
    hello: dict[str, Any] = SET_LATER

    def __post_init__(self) -> None:
        try:
            self.start()
        except BadStep as error:
            raise BadProcess(f"{self.command}: {error}") from None

    def start(self) -> None:
        """Start the process and greet it. Raises BadStep."""
        try:
            self.process = Process(self.command, errors=None, line_bytes_max=LINE_BYTES_MAX)
        except ProcessBroken as error:
            raise BadStep(str(error)) from None
        try:
            self.hello = ask_process(
                self, op="hello", contract=CONTRACT, version=VERSION, classes=wire.classes()
            )
        except BadStep:
            self.process.kill()
            raise

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self.process.ask(request)

    def begin(self, scope: Scope, config: Config, twin: UmiMachine | None) -> ProcessMachine:
        # Never removed: else a later incarnation could get the number of a crashed one, and its messages.
        life = len(self.lives) + 1
        machine = ProcessMachine(self, life, twin)
        self.lives[life] = machine, scope, config
        ask_process(self, op="begin", life=life, **begin_request(scope, config))
        return machine

    def count_step(self) -> None:
        """Count a step; after some steps, replace the process by a new one. Raises BadStep, and Broken."""
        self.step_count += 1
        if self.hello.get("saves") is True and self.step_count in RESTART_AFTER:
            self.restart()

    def restart(self) -> None:
        # An incarnation without a step has nothing to save: it begins again in the new process.
        saved = {life: self.save(life) for life, (it, _, _) in self.lives.items() if it.is_stepped}
        self.process.kill()
        self.start()
        for machine, scope, config in self.lives.values():
            self.restore(machine, saved, begin_request(scope, config))

    def save(self, life: int) -> Any:
        """Return the saved state of an incarnation, in a form of the process's own. Raises BadStep."""
        reply = ask_process(self, op="save", life=life)
        if reply.get("saved") is None:
            raise BadStep(f"saves nothing of life {life}: {show_value(reply)}")
        return reply["saved"]

    def restore(self, machine: ProcessMachine, saved: Mapping[int, Any], more: Mapping[str, Any]) -> None:
        """Restore an incarnation in a new process; one without a step begins again."""
        life = machine.life
        if life not in saved:
            ask_process(self, op="begin", life=life, **more)
            return
        reply = ask_process(self, op="restore", life=life, saved=saved[life], **more)
        try:
            standing = read_state(reply)
        except ValueError as error:
            raise BadStep(str(error)) from None
        if self.is_judged:
            machine.demand_same_state(standing)


def begin_request(scope: Scope, config: Config) -> dict[str, Any]:
    return {"scope": wire.to_json(scope), "config": wire.to_json(config)}


# The target.


class ProcessTarget(UmiTarget):
    """A target whose incarnations are in one process, which lives as long as the run. Raises BadProcess."""

    fence = Fence()

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        self.is_compared = rules.SECOND_IMPLEMENTATION.id in config.equivalences
        self.server = Server(config.command, rules.COPIED_STATE_CONTINUES.name not in config.off)
        try:
            self.requests = read_served(self.server.hello)
        except BadStep as error:
            self.close()
            raise BadProcess(f"{config.command}: {error}") from None

    def close(self) -> None:
        self.server.process.kill()

    def begin(self, agent: str, scope: Scope, stored: InitialStorage) -> ProcessMachine:
        config = self.config_of(agent, found_cores(scope, stored))
        return self.server.begin(scope, config, UmiMachine(scope, config) if self.is_compared else None)

    def revise(self, op_id: str | None, machines: Iterable[Machine]) -> bool:
        """Return False: the process defines its own workflows."""
        return False


def read_served(reply: dict[str, Any]) -> Collection[str]:
    """Return the requests that the process serves: those in its reply, or all. Raises BadStep."""
    names = reply.get("serves", list(OF_MEMORY))
    is_known = isinstance(names, list) and all(isinstance(it, str) and it in OF_MEMORY for it in names)
    if not is_known or not names:
        raise BadStep(f"serves {show_value(names)}: expected names of requests")
    return dict.fromkeys(names)
