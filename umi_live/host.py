"""Host: carries out the effects of a memory in one asyncio event loop, and wakes the memory at its deadlines.

Law 1. Only the event loop steps the memory, one value at a time; it never blocks on a file or a network.
Law 2. A request that is cancelled or times out is stopped if its commit was not sent yet; else it completes.
Law 3. Each question gets exactly one answer; an exception of a service becomes the answer EffectFailed.
Law 4. After `close` nothing steps the memory.
Law 5. Each value that steps the memory can be encoded, and so recorded. Callers of `ask` check requests first
(`find_refusal`); an answer that cannot be encoded counts as a failure of its service.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from msgspec import structs

from umi_core.codec import encode
from umi_core.domains import OpLabel
from umi_core.limits import OP_COUNT_MAX
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, Value, Wake
from umi_core.messages.effects import AskModel, ByVector, Commit, Embed, Read, Reply
from umi_core.messages.requests import CoreRead, Request, WorkingRequest
from umi_live.deadlines import note_begun
from umi_live.errors import Closed, FileTampered
from umi_live.first_person import tell_user
from umi_live.recorder import Recorder
from umi_live.services import Embedder, Model, ServiceFailed, at_once
from umi_live.storage import wall_ms
from umi_live.store import Store, StoreAnswer
from umi_live.usage import NO_USAGE, Usage, collect_usage, end_span, start_span

MODEL_CALLS_MAX: Final = 8  # concurrent calls of the model and the embedder
WAKE_MS_MAX: Final = 60_000  # the longest timer, so that a clock that was set back delays no wake for longer

LOG: Final = logging.getLogger("umi_live")


class Host:
    """Runs one memory. It must be created and used in the same event loop."""

    def __init__(
        self, memory: Memory, store: Store, model: Model, embedder: Embedder, recorder: Recorder | None = None
    ) -> None:
        self.memory, self.store, self.model, self.embedder = memory, store, model, embedder
        self.recorder = recorder
        self.model_at_once = at_once(model, "ask_at_once")
        self.embedder_at_once = at_once(embedder, "embed_at_once")
        self.loop = asyncio.get_running_loop()
        # The memory refuses further requests as TooBusy; here they wait in order of arrival instead.
        self.room = asyncio.Semaphore(OP_COUNT_MAX)
        self.calls = asyncio.Semaphore(MODEL_CALLS_MAX)
        self.numbers = itertools.count(1)
        self.waiting: dict[int, asyncio.Future[tuple[Reply, Usage]]] = {}
        self.used: dict[int, Usage] = {}  # the usage of each waiting request, if it has used a service
        self.usage = NO_USAGE  # the usage of all requests and of background work
        self.withdrawn: dict[int, None] = {}  # requests whose questions are refused from now on
        self.tasks: dict[asyncio.Task[None], int] = {}  # the question that each task asks
        self.timer: asyncio.TimerHandle | None = None
        self.timer_ms = 0  # when the timer fires
        # `is_closed`: new requests are refused. `is_ended`: nothing may step the memory any more.
        self.is_closed = self.is_ended = False
        self.broken: BaseException | None = None
        self.stepped: asyncio.Future[None] | None = None  # `close` waits for it; the next step resolves it

    # Requests.

    async def ask(self, request: Request) -> tuple[Reply, Usage]:
        """Return the reply, with the op_id of the request, and the usage of models.

        Waits while too many requests are in flight. Cancelling this call withdraws the request (law 2).
        """
        await self.room.acquire()
        if self.is_closed:
            self.room.release()
            raise Closed("the memory is closed") from self.broken
        number = next(self.numbers)
        reply: asyncio.Future[tuple[Reply, Usage]] = self.loop.create_future()
        self.waiting[number] = reply
        # Released with the reply, not when this call ends: after a cancellation the operation may still run.
        reply.add_done_callback(lambda _: self.room.release())
        try:
            self.step(structs.replace(request, op_id=number))
        except BaseException:
            self.waiting.pop(number, None)
            if not reply.cancel():
                reply.exception()  # marks it as retrieved, since it is raised here
            raise
        is_begun = True
        try:
            # Shielded: cancelling this call must not cancel the future, which the memory still resolves.
            outcome, used = await asyncio.shield(reply)
        except asyncio.CancelledError:
            is_begun = not self.withdraw(number)
            raise
        finally:
            if is_begun and not is_reading(request):
                note_begun()
        return structs.replace(outcome, op_id=request.op_id), used

    def withdraw(self, number: int) -> bool:
        """Stop a request at its next question, unless its commit was sent; return whether it will stop."""
        operations = self.memory.state.operations.values()
        operation = next((it for it in operations if it.op_id == number), None)
        is_sent = operation and (operation.may_have_happened or isinstance(operation.sent, Commit))
        if is_sent or number not in self.waiting:  # not in `waiting`: it has its reply already
            return False
        self.withdrawn[number] = None
        current = None if operation is None else operation.waiting
        for task in [it for it, question in self.tasks.items() if question == current]:
            task.cancel()
            self.refuse(self.tasks[task])
        return True

    def is_withdrawn(self, question: int) -> bool:
        """Check whether a question belongs to a withdrawn request."""
        operation = self.memory.state.waiting_for(question)
        return operation is not None and operation.op_id in self.withdrawn

    def refuse(self, question: int) -> None:
        # Scheduled, not called: `step` may be running, and steps must not be nested.
        self.loop.call_soon(self.take_answer, EffectFailed(question, "refused"))

    def begin(self) -> None:
        """Start recovery. Must be called before the first request."""
        self.step(Wake())

    async def drain(self) -> None:
        """Wait until every started request has its reply, including those whose callers were cancelled."""
        while self.waiting:
            await asyncio.wait(list(self.waiting.values()))

    async def close(self) -> None:
        """Refuse new requests, wait for running ones and for a purge, and stop all other background work.

        If this call is cancelled, it stops everything immediately.
        """
        try:
            if not self.is_closed:
                self.is_closed = True
                await self.drain()
                # The purge must complete now: this agent may never be opened again.
                while not (self.is_ended or self.store.is_read_only) and self.memory.is_purging():
                    self.stepped = self.loop.create_future()
                    await self.stepped
        finally:
            self.end()
            for task in list(self.tasks):
                task.cancel()
        if self.tasks:
            await asyncio.wait(list(self.tasks))

    # The only caller of Memory.step.

    def step(self, value: Value) -> None:
        """Step the memory and start its effects. An exception closes the memory; all callers get it."""
        now_ms = wall_ms()
        try:
            if self.recorder is not None:
                # Before the step: if it raises, its input is the last line of the file, and a replay raises.
                self.recorder.write_input(now_ms, value)
            effects = self.memory.step(now_ms, value)
            if self.recorder is not None:
                self.recorder.write_effects(effects)
        except BaseException as error:
            self.break_off(error)
            raise
        if self.stepped is not None and not self.stepped.done():
            self.stepped.set_result(None)
        for effect in effects:
            if isinstance(effect, Reply):
                self.deliver_reply(effect)
            elif self.withdrawn and self.is_withdrawn(effect.request_id):
                self.refuse(effect.request_id)
            elif isinstance(effect, AskModel | Embed):
                self.ask_service(effect)
            else:
                self.store.start(effect, self.receive_answer, self.embedder_for(effect))
        self.set_timer()

    def embedder_for(self, effect: Read | Commit) -> str | None:
        """Return the embedder that must have made the vectors of another scope for this search; else None."""
        query = effect.query if isinstance(effect, Read) else None
        is_elsewhere = isinstance(query, ByVector) and query.scope != self.memory.state.scope
        return f"{self.embedder.name}:{self.embedder.dims}" if is_elsewhere else None

    def deliver_reply(self, reply: Reply) -> None:
        assert isinstance(reply.op_id, int)
        waiting, used = self.waiting.pop(reply.op_id), self.used.pop(reply.op_id, NO_USAGE)
        self.withdrawn.pop(reply.op_id, None)
        if not waiting.done():
            waiting.set_result((reply, used))

    def break_off(self, error: BaseException) -> None:
        self.is_closed, self.broken = True, error
        self.end()
        waiting, self.waiting = self.waiting, {}
        for reply in waiting.values():
            if not reply.done():
                reply.set_exception(error)

    def end(self) -> None:
        self.is_ended = True
        if self.stepped is not None and not self.stepped.done():
            self.stepped.set_result(None)
        if self.timer is not None:
            self.timer.cancel()

    # The world.

    def receive_answer(self, answer: StoreAnswer | BaseException) -> None:
        """Hand an answer to the loop. Called in the thread of the store."""
        with suppress(RuntimeError):  # the loop is closed, so no caller is left
            self.loop.call_soon_threadsafe(self.take_answer, answer)

    def take_answer(self, answer: Answer | BaseException) -> None:
        """Step the memory with an answer. An exception of the storage closes the memory instead."""
        if self.is_ended:
            return
        if isinstance(answer, BaseException):
            if not isinstance(answer, FileTampered):
                LOG.error("the storage has a mistake, and the memory is closed", exc_info=answer)
            self.break_off(answer)
        else:
            self.step(answer)

    def ask_service(self, effect: AskModel | Embed) -> None:
        ask = self.model_at_once if isinstance(effect, AskModel) else self.embedder_at_once
        if ask is None:
            operation = self.memory.state.waiting_for(effect.request_id)
            work = self.serve(effect, None if operation is None else operation.op_id)
            task = self.loop.create_task(work)
            self.tasks[task] = effect.request_id
            task.add_done_callback(self.tasks.pop)
        else:
            self.loop.call_soon(self.serve_at_once, effect, ask)  # scheduled for the reason in `refuse`

    async def serve(self, effect: AskModel | Embed, number: OpLabel | None) -> None:
        """Ask a service; add its usage to the host and, unless `number` is None, to that request."""
        is_chat = isinstance(effect, AskModel)
        named = ("chat", self.model.name) if is_chat else ("embeddings", self.embedder.name)
        with collect_usage() as reported, start_span(*named) as span:
            answer = await self.get_answer(effect)
            used = sum(reported, NO_USAGE)
            end_span(span, used, answer.kind if isinstance(answer, EffectFailed) else "")
        self.usage += used
        if isinstance(number, int) and number in self.waiting:
            self.used[number] = self.used.get(number, NO_USAGE) + used
        self.take_answer(answer)

    async def ask_model(self, effect: AskModel) -> Answer:
        """Ask the model outside of any request and return its answer; add its usage to the host."""
        with collect_usage() as reported:
            answer = await self.get_answer(effect)
        self.usage += sum(reported, NO_USAGE)
        return answer

    async def get_answer(self, effect: AskModel | Embed) -> Answer:
        try:
            # The time limit covers the wait for the semaphore too: the memory counts from its question.
            async with asyncio.timeout(effect.timeout_ms / 1_000), self.calls:
                if isinstance(effect, AskModel):
                    prompt = self.write_prompt(effect)
                    return make_answer(effect, await self.model.ask(effect.task, prompt, effect.timeout_ms))
                return make_answer(effect, await self.embedder.embed(effect.texts, effect.timeout_ms))
        except BaseException as error:
            return self.handle_failure(effect, error)

    def serve_at_once(self, effect: AskModel | Embed, ask: Callable[..., Any]) -> None:
        given = (effect.task, self.write_prompt(effect)) if isinstance(effect, AskModel) else (effect.texts,)
        try:
            answer = make_answer(effect, ask(*given))
        except BaseException as error:
            answer = self.handle_failure(effect, error)
        self.take_answer(answer)

    def handle_failure(self, effect: AskModel | Embed, error: BaseException) -> Answer:
        """Return the answer EffectFailed for an exception of a service, so that its question ends.

        Re-raises the cancellation of this task and KeyboardInterrupt.
        """
        # A service may itself raise CancelledError, if a task that it awaits was cancelled.
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task in self.tasks and task.cancelling():
            raise error
        answer = failure_answer(effect, error)
        if isinstance(error, KeyboardInterrupt):
            self.take_answer(answer)
            raise error
        return answer

    def write_prompt(self, effect: AskModel) -> str:
        """Return the prompt of a question. Prompts about conversations get the name of the user."""
        return tell_user(effect.task, effect.prompt, self.memory.state.scope.user)

    def set_timer(self) -> None:
        """Set a timer for the next deadline of the memory, unless the current timer fires earlier."""
        due_ms = self.memory.deadline_ms()
        if due_ms is None or (self.timer is not None and self.timer_ms <= due_ms):
            return
        if self.timer is not None:
            self.timer.cancel()
        now_ms = wall_ms()
        self.timer_ms = min(max(due_ms, now_ms), now_ms + WAKE_MS_MAX)
        self.timer = self.loop.call_later((self.timer_ms - now_ms) / 1_000, self.wake)

    def wake(self) -> None:
        self.timer = None
        self.step(Wake())


def is_reading(request: Request) -> bool:
    """Check whether a request writes nothing to the database."""
    return isinstance(request, CoreRead | WorkingRequest) or (request.shows and not request.stores)


def make_answer(effect: AskModel | Embed, value: Any) -> Answer:
    """Return the value of a service as an answer to the memory. Raises if it is not a text or vectors."""
    is_text = isinstance(effect, AskModel)
    answer = ModelReplied(effect.request_id, value) if is_text else Embedded(effect.request_id, value)
    # Also raises for a lone surrogate, which neither a recording nor a row can contain (law 5).
    encode(answer)
    return answer


def failure_answer(effect: AskModel | Embed, error: BaseException) -> EffectFailed:
    match error:
        case ServiceFailed():
            return EffectFailed(effect.request_id, error.kind, error.retry_after_ms)
        case TimeoutError():
            return EffectFailed(effect.request_id, "timeout")
    LOG.error("the %s has a mistake, and counts as unavailable", effect.service, exc_info=error)
    return EffectFailed(effect.request_id, "unavailable")
