"""Memory: the one entry point. Requests, answers and time go in, effects come out; nothing else changes it.

Law 1. The first step of an incarnation (a *life*) begins recovery, whatever its value. Requests to archive
and core wait in a queue until recovery has ended.
Law 2. The working tier always replies in the step of the request, and asks nothing of the world.
Law 3. Scheduled work is done before the value is applied, so an answer at its deadline is late.
Law 4. A request that closes or opens the agent runs alone: it waits for all running operations, later
requests wait for it, and then recovery reads from storage whether the agent is open or closed.
"""

from collections.abc import Iterator, Mapping
from typing import Self, cast, get_args

from msgspec import structs

from umi_core import codec, core_reads, errors
from umi_core.background import JOBS, is_alone, is_switching
from umi_core.config import Config
from umi_core.domains import bad_scope, is_int
from umi_core.engine.engine import Engine, begin, facts_of, handle_due, resume
from umi_core.engine.middleware import Interceptor
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import EPOCH
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.requests import AgentRequest, OpenAgent
from umi_core.language.rewriting import shown_turns
from umi_core.limits import EFFECTS_PER_STEP_MAX, LIFE_MAX, NOW_MS_MAX, OP_COUNT_MAX
from umi_core.messages import requests
from umi_core.messages.answers import Answer, Value, Wake
from umi_core.messages.effects import Effect, Failed, Outcome, Refused, Reply
from umi_core.saved_state import check_fitting, check_saved
from umi_core.state import Operation, Phase, State
from umi_core.text import show_value
from umi_core.tiers import working
from umi_core.tiers.schedule import PURGE
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_core.workflows.commits import REQUEST, REQUEST_KEY
from umi_core.workflows.linking import bad_names
from umi_core.workflows.recover import CLOSED, FITS, LAST, is_switched

REQUEST_TYPES: frozenset[type] = frozenset(requests.OF_MEMORY.values())
VALUE_TYPES: frozenset[type] = REQUEST_TYPES | {Wake, *get_args(Answer)}


def list_misuses(now_ms: object, value: object) -> Iterator[errors.Error]:
    """Yield an error for each argument of a step that has a wrong type."""
    if type(now_ms) is not int:
        yield errors.BadTime("now_ms", show_value(now_ms), "a whole number of milliseconds")
    if value.__class__ not in VALUE_TYPES:
        yield errors.BadOption("value", show_value(value), "a request, an answer or Wake")


class Memory:
    """The memory of one agent of one user. Raises Rejected(BadScope or BadConfig) for a bad argument."""

    def __init__(self, scope: Scope, config: Config | None = None, registry: Registry = BUILT_IN) -> None:
        if error := bad_scope(scope):
            raise errors.Rejected(error)
        self.state = State(scope, config or Config())
        self.registry = registry
        self.marks: tuple[str, ...] = ()

    # The one entry point.

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        """Apply one request or one answer, or only the time (`Wake`). No other method changes the memory.

        `now_ms` is whole milliseconds. A time before the latest one is ignored, and NOW_MS_MAX replaces a
        later time. A malformed answer counts as a failure of the service. Raises Rejected, and changes
        nothing, if the time is not a whole number or the value is of an unknown class.
        """
        if type(now_ms) is not int or value.__class__ not in VALUE_TYPES:
            raise errors.Rejected(*list_misuses(now_ms, value))
        state = self.state
        if now_ms > state.seen_ms:
            state.seen_ms = min(now_ms, NOW_MS_MAX)
        is_due = state.tiers.access.is_due or state.tiers.divisions or state.tiers.upkeep
        is_idle = not state.operations and not is_due and state.phase != "new"
        if is_idle and requests.is_working(value):  # a shortcut: `full_step` would give the same reply
            self.marks = ()
            return (self.working_reply(value),)
        return self.full_step(value)

    def full_step(self, value: Value) -> tuple[Effect, ...]:
        # The value may answer only a request_id issued before this step, so take the count now.
        engine, issued_count = Engine(self.state, self.registry), self.state.request_count
        if self.state.phase == "new":
            self.state.phase = "recovering"
            begin(engine, "recover", None, LAST((0, "")))
        was_switching = self.state.phase != "recovering" and is_switching(self.state)
        # Law 3.
        handle_due(engine)
        self.begin_due(engine)
        if value.__class__ in REQUEST_TYPES:
            self.request(engine, value)  # type: ignore[arg-type]
        elif value.__class__ is not Wake:
            self.answer(engine, value, issued_count)  # type: ignore[arg-type]
        self.release(engine)
        if was_switching:  # if the switch ended in this step, the jobs that it held back begin in it, too
            self.begin_due(engine)
        # Holds because an operation has one effect in flight, and at most OP_COUNT_MAX requests are open.
        assert len(engine.effects) <= EFFECTS_PER_STEP_MAX
        self.marks = tuple(engine.marks)
        return tuple(engine.effects)

    def answer(self, engine: Engine, answer: Answer, issued_count: int) -> None:
        """Resume the operation that waits for the answer; an id issued in this step counts as late."""
        request_id = answer.request_id
        if type(request_id) is int and request_id <= issued_count:
            resume(engine, answer)
        else:
            engine.marks.append("late answer")

    def deadline_ms(self) -> int | None:
        """Return when this memory must be stepped next if nothing arrives before; None if never."""
        state = self.state
        if state.phase == "new":
            return 0
        is_due = state.tiers.access.is_due or state.tiers.divisions or state.tiers.upkeep
        if not state.operations and not is_due:
            return None
        due_times = [op.due_ms for op in state.operations.values() if op.due_ms is not None]
        due_times += [due[0] for job in JOBS if (due := job.next_due(state)) is not None]
        return min(due_times, default=None)

    # Requests.

    def request(self, engine: Engine, request: requests.Request) -> None:
        if isinstance(request, requests.WorkingRequest):
            engine.effects.append(self.working_reply(request))
            return
        assert isinstance(request, requests.CoreRead | requests.WorkflowRequest)
        state = self.state
        error = requests.bad_request(request)
        is_blocked = state.phase == "recovering" or is_switching(self.state)
        waits = isinstance(request, requests.WorkflowRequest) or is_blocked
        if error is None and waits and self.busy_count() >= OP_COUNT_MAX:
            error = errors.TooBusy(self.busy_count(), OP_COUNT_MAX)
        if error is not None:
            engine.effects.append(Reply(request.op_id, Refused(error)))
        # Trimmed before it is queued: the queue is part of every snapshot.
        elif is_blocked or isinstance(request, AgentRequest):
            state.queue += (trim_turns(request, state.config),)
        else:
            self.serve(engine, trim_turns(request, state.config))

    def serve(self, engine: Engine, request: requests.WorkflowRequest | requests.CoreRead) -> None:
        """Begin the operation, or reply at once if the request needs nothing from the world."""
        # An agent that is closed or over its limits still serves AgentRequests: to open or delete it.
        is_switch = isinstance(request, AgentRequest) and self.state.phase != "fenced"
        if (barred := self.why_unavailable()) and not is_switch:
            engine.effects.append(Reply(request.op_id, barred))
        # Checked here and not with the other fields: retired categories are known only after recovery.
        elif error := bad_names(request, self.state.tiers, self.state.scope, self.state.config):
            engine.effects.append(Reply(request.op_id, Refused(error)))
        elif isinstance(request, requests.CoreRead):
            engine.effects.append(Reply(request.op_id, core_reads.answer(request, self.state)))
        else:
            key = REQUEST_KEY(request.request_key) if hasattr(request, "request_key") else {}
            begin(engine, request.workflow, request.op_id, REQUEST(request) | key)

    def why_unavailable(self) -> Outcome | None:
        """Return why this phase serves no request to archive or core; None if it serves them."""
        state = self.state
        if state.phase == "fenced":
            return Failed(errors.Fenced(state.epoch))
        if state.phase == "closed":
            return Refused(NotFound("agent", state.scope.agent))
        if state.phase == "over_limit":
            bytes_max, entry_count_max = state.config.core_bytes_max, state.config.core_entry_count_max
            if state.tiers.core.used_bytes > bytes_max:
                return Failed(
                    errors.BadConfig("core_bytes_max", show_value(bytes_max), "room for the authored text")
                )
            return Failed(
                errors.BadConfig("core_entry_count_max", show_value(entry_count_max), "room for self")
            )
        return None

    def working_reply(self, request: requests.WorkingRequest) -> Reply:
        state = self.state
        tiers = state.tiers
        outcome = working.answer(tiers.working, request, state.seen_ms, state.config, tiers.session)
        return Reply(request.op_id, outcome)

    def busy_count(self) -> int:
        """Count the requests in flight and in the queue."""
        return len(self.state.queue) + sum(op.op_id is not None for op in self.state.operations.values())

    # The queue, and the end of recovery.

    def release(self, engine: Engine) -> None:
        """Serve queued requests in order until one must wait; end recovery first if its operation is done."""
        state = self.state
        self.look_up_if_switched(engine)
        # Check only the first request, so that none overtakes an earlier one.
        while state.queue and not self.must_wait(state.queue[0]):
            request, *rest = state.queue
            state.queue = tuple(rest)
            self.serve(engine, request)
            self.look_up_if_switched(engine)

    def look_up_if_switched(self, engine: Engine) -> None:
        """Recover again after a commit that may have closed or opened the agent; end recovery if it is done.

        The outcome of such a commit may be unknown, so recovery reads the state of the agent from storage.
        """
        state = self.state
        if engine.is_switched and state.phase != "fenced":
            last, state.epoch, state.phase = LAST((state.epoch, state.phase)), 0, "recovering"
            begin(engine, "recover", None, last)
        engine.is_switched = False
        if state.phase == "recovering" and not is_running("recover", state):
            self.end_recovery(engine)

    def must_wait(self, request: requests.WorkflowRequest | requests.CoreRead) -> bool:
        """Check whether the first queued request must wait; a request to open waits for a purge, too."""
        state = self.state
        if state.phase == "recovering" or is_alone(state):
            return True
        is_purging = state.phase == "closed" and bool(state.tiers.upkeep)
        return isinstance(request, AgentRequest) and (
            bool(state.operations) or (isinstance(request, OpenAgent) and is_purging)
        )

    def is_purging(self) -> bool:
        """Check whether rows of a closed agent are being removed, or may be removed soon.

        True during recovery while an operation waits: the agent may turn out to be closed.
        """
        state = self.state
        if state.phase == "closed":
            is_due = any(due_ms <= state.seen_ms for due_ms in state.tiers.upkeep.values())
            return is_due or is_running("purge", state)
        return state.phase == "recovering" and any(op.waiting for op in state.operations.values())

    def end_recovery(self, engine: Engine) -> None:
        state, ended = self.state, engine.ended
        assert ended is not None
        known = facts_of(ended)
        last_epoch, last_phase = known[LAST]
        state.epoch = known[EPOCH] or last_epoch
        # No epoch: recovery claimed none, because another process has claimed one since.
        if not known[EPOCH]:
            state.phase = "fenced"
        elif last_epoch and not is_switched(known[LAST], known[CLOSED]):
            state.phase = cast("Phase", last_phase)
        elif known[CLOSED]:
            state.phase, state.tiers.upkeep = "closed", {PURGE: state.seen_ms}
        else:
            state.phase = "ready" if known[FITS] else "over_limit"

    # Background work.

    def begin_due(self, engine: Engine) -> None:
        state = self.state
        for job in JOBS:
            due = job.next_due(state)
            if due is not None and due[0] <= state.seen_ms:
                engine.marks.append(f"{job.name}: due")
                workflow, facts = job.begins(state, due[1])
                begin(engine, workflow, None, dict(facts))

    # Workflows and interceptors. Operations in flight keep those with which they began.

    def use(self, registry: Registry) -> None:
        """Use this registry for operations that begin from now on; it must extend the old one."""
        for name, revisions in self.registry.revisions.items():
            assert registry.revisions[name][: len(revisions)] == revisions, name
        assert registry.generations[: len(self.registry.generations)] == self.registry.generations
        self.registry = registry

    def intercept(self, interceptor: Interceptor) -> None:
        """Intercept operations that begin from now on. Raises Rejected for a name that is in use."""
        self.use(self.registry.with_interceptor(interceptor))

    def dispose(self, name: str) -> bool:
        """Remove an interceptor from operations that begin from now on; False if none has this name."""
        is_there = name in self.registry.generations[-1].named
        if is_there:
            self.use(self.registry.without_interceptor(name))
        return is_there

    # The whole state.

    @property
    def in_flight(self) -> Mapping[int, Operation]:
        """Return the waiting operations by the request_id of the effect that each has in flight."""
        return {op.waiting: op for op in self.state.operations.values() if op.waiting is not None}

    def snapshot(self) -> bytes:
        """Return the whole state, operations in flight included, as canonical bytes."""
        return codec.save_state(self.state, fingerprints(self.state, self.registry))

    @classmethod
    def restore(
        cls, data: bytes, registry: Registry = BUILT_IN, *, life: int, scope: Scope | None = None
    ) -> Self:
        """Return the memory that `snapshot` saved. Raises Rejected for damaged data or a bad argument.

        `life` makes request ids unique: give a number never used before (1, then 2, and so on), so that an
        answer to the memory that went on after the snapshot is not taken by the restored one. Give the life
        of the snapshot itself only if the saved memory was never stepped again. `scope`: the expected one.
        """
        prints, state = codec.load_state(data)
        check_saved(state)
        if scope is not None and scope != state.scope:
            raise errors.Rejected(errors.BadScope("scope", show_value(state.scope), show_value(scope)))
        # First, because `check_fitting` looks up operations in the workflows of the registry. `registry.at`
        # refuses an operation whose revision the registry lacks.
        if prints != fingerprints(state, registry):
            raise errors.Rejected(errors.StateDamaged("its workflows are others than those of the registry"))
        check_fitting(state, registry)
        if not is_int(life, state.life, LIFE_MAX):
            raise errors.Rejected(
                errors.BadOption("life", show_value(life), f"a whole number from {state.life} to {LIFE_MAX}")
            )
        state.begin_life(life)
        return cls.standing_at(state, registry)

    @classmethod
    def standing_at(cls, state: State, registry: Registry) -> Self:
        """Return a memory with this state; the state is not checked."""
        memory = cls.__new__(cls)
        memory.state, memory.registry, memory.marks = state, registry, ()
        return memory

    @property
    def life(self) -> int:
        """Return the number of this incarnation among those restored from one another; 0 is the first."""
        return self.state.life

    def digest(self) -> bytes:
        """Return 8 bytes over the whole state."""
        return codec.state_digest(self.state)


def trim_turns(
    request: requests.WorkflowRequest | requests.CoreRead, config: Config
) -> requests.WorkflowRequest | requests.CoreRead:
    """Return the request as it is stored while in flight: without turns that are never shown to a model."""
    if not isinstance(request, requests.Recall | requests.Descent):
        return request
    # `shown_turns` returns the newest turn first; a request has the oldest first.
    return structs.replace(request, turns=shown_turns(request.turns, config.resolve_turn_count_max)[::-1])


def is_running(workflow: str, state: State) -> bool:
    return any(op.workflow == workflow for op in state.operations.values())


def fingerprints(state: State, registry: Registry) -> tuple[str, ...]:
    """Return the fingerprints of the workflows and interceptors of all operations in flight."""
    running = {(op.workflow, op.revision): None for op in state.operations.values()}
    hooks = {op.hooks: None for op in state.operations.values()}
    workflows = [registry.at(name, revision).fingerprint for name, revision in sorted(running)]
    return (*workflows, *(registry.interceptors(generation).fingerprint for generation in sorted(hooks)))
