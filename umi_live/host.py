"""Host: performs what a memory asks of the world, in one loop of asyncio, and wakes it when it is due.

Law 1. The memory is stepped in the loop alone, one value at a time; files and networks are waited for.
Law 2. A request that is cancelled, or out of time, ends before its commit is sent, or goes on to its end:
never half of it.
Law 3. Each question is answered once, by whatever happens; what raises is a failure of the service.
Law 4. After `close` nothing steps the memory any more.
Law 5. What the memory is told has bytes, so it can be recorded: a wrong request is refused before it gets
there, and an answer that is none is a mistake of its service.
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
from umi_core.errors import Error
from umi_core.limits import OP_COUNT_MAX
from umi_core.memory import Memory, list_misuses
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, Value, Wake
from umi_core.messages.effects import AskModel, ByVector, Commit, Embed, Read, Refused, Reply
from umi_core.messages.requests import CoreRead, Request, WorkingRequest, bad_request
from umi_live.deadlines import note_begun
from umi_live.errors import Closed, FileTampered
from umi_live.first_person import tell_user
from umi_live.recorder import Recorder
from umi_live.services import Embedder, Model, ServiceFailed, at_once
from umi_live.storage import wall_ms
from umi_live.store import Store, StoreAnswer
from umi_live.usage import NO_USAGE, Usage, collect_usage, end_span, start_span

MODEL_CALLS_MAX: Final = 8  # at a time
WAKE_MS_MAX: Final = 60_000  # a clock that was set back is noticed after so long

LOG: Final = logging.getLogger("umi_live")


class Host:
    """One memory at work. To be made and used in one loop."""

    def __init__(
        self, memory: Memory, store: Store, model: Model, embedder: Embedder, recorder: Recorder | None = None
    ) -> None:
        self.memory, self.store, self.model, self.embedder = memory, store, model, embedder
        self.recorder = recorder
        self.model_at_once = at_once(model, "ask_at_once")
        self.embedder_at_once = at_once(embedder, "embed_at_once")
        self.loop = asyncio.get_running_loop()
        # The memory refuses more requests at a time as TooBusy; here they wait in their order instead.
        self.room = asyncio.Semaphore(OP_COUNT_MAX)
        self.calls = asyncio.Semaphore(MODEL_CALLS_MAX)
        self.numbers = itertools.count(1)
        self.waiting: dict[int, asyncio.Future[tuple[Reply, Usage]]] = {}
        self.used: dict[int, Usage] = {}  # by requests that wait, which have used any
        self.usage = NO_USAGE  # by all of them, and by the memory itself
        self.withdrawn: dict[int, None] = {}  # requests whose questions are refused from now on
        self.tasks: dict[asyncio.Task[None], int] = {}  # each with the question that it asks
        self.timer: asyncio.TimerHandle | None = None
        self.timer_ms = 0  # when it rings
        self.is_closed = self.is_ended = False  # takes no request; takes nothing any more
        self.broken: BaseException | None = None
        self.stepped: asyncio.Future[None] | None = None  # for what waits until the memory has moved

    # Requests.

    async def ask(self, request: Request) -> tuple[Reply, Usage]:
        """Return the reply, under the label of the request, and what it used of models.

        Waits while too many are in flight. A caller that is cancelled withdraws the request (law 2).
        """
        if not self.is_closed and (error := wrong(request)) is not None:
            return Reply(request.op_id, Refused(error)), NO_USAGE
        await self.room.acquire()
        if self.is_closed:
            self.room.release()
            raise Closed("the memory is closed") from self.broken
        number = next(self.numbers)
        reply: asyncio.Future[tuple[Reply, Usage]] = self.loop.create_future()
        self.waiting[number] = reply
        # On the reply, not at the end of this call: a cancelled
        # caller leaves, and the operation keeps its place.
        reply.add_done_callback(lambda _: self.room.release())
        try:
            self.step(structs.replace(request, op_id=number))
        except BaseException:
            self.waiting.pop(number, None)
            if not reply.cancel():
                reply.exception()  # which is raised here
            raise
        is_begun = True
        try:
            # Shielded, as cancelling a caller must not cancel the future that the memory will answer.
            outcome, used = await asyncio.shield(reply)
        except asyncio.CancelledError:
            is_begun = not self.withdraw(number)
            raise
        finally:
            if is_begun and not is_reading(request):
                note_begun()
        return structs.replace(outcome, op_id=request.op_id), used

    def withdraw(self, number: int) -> bool:
        """Let a request end at its next question, unless its commit was sent; return whether it will."""
        operations = self.memory.state.operations.values()
        operation = next((it for it in operations if it.op_id == number), None)
        is_sent = operation and (operation.may_have_happened or isinstance(operation.sent, Commit))
        if is_sent or number not in self.waiting:  # the reply came just now
            return False
        self.withdrawn[number] = None
        asked = None if operation is None else operation.waiting
        for task in [it for it, question in self.tasks.items() if question == asked]:
            task.cancel()  # a model is not waited for
            self.refuse(self.tasks[task])
        return True

    def is_withdrawn(self, question: int) -> bool:
        """Check whether a withdrawn request asks this."""
        operation = self.memory.state.waiting_for(question)
        return operation is not None and operation.op_id in self.withdrawn

    def refuse(self, question: int) -> None:
        # Not at once: this is called out of a step, and a step must not begin inside another one.
        self.loop.call_soon(self.take_answer, EffectFailed(question, "refused"))

    def begin(self) -> None:
        """Begin recovery before the first request."""
        self.step(Wake())

    async def drain(self) -> None:
        """Wait until every request that was begun has its reply, also one that no caller awaits any more."""
        while self.waiting:
            await asyncio.wait(list(self.waiting.values()))

    async def finish_purge(self) -> None:
        """Wait until the rows of a deleted agent are gone, or removing them fails.

        Else they would stay in the file until this agent is opened again, which may be never.
        """
        while not (self.is_ended or self.store.is_read_only) and self.memory.is_purging():
            self.stepped = self.loop.create_future()
            await self.stepped

    async def close(self) -> None:
        """Let requests that were begun end, and a purge if it can; refuse later ones.

        Other background work ends where it is, and all of it if this is cancelled while it waits.
        """
        try:
            if not self.is_closed:
                self.is_closed = True
                await self.drain()
                await self.finish_purge()
        finally:
            self.end()
            for task in list(self.tasks):
                task.cancel()
        if self.tasks:
            await asyncio.wait(list(self.tasks))

    # The one way in.

    def step(self, value: Value) -> None:
        """Step the memory and carry out its effects. If it raises, all callers are told, and it ends."""
        now_ms = wall_ms()
        try:
            if self.recorder is not None:
                # Before the step: if it raises, its input is the
                # last line of the file, and a replay raises as well.
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
                self.store.start(effect, self.hear, self.embedder_for(effect))
        self.set_timer()

    def embedder_for(self, effect: Read | Commit) -> str | None:
        """Return the name of the embedder whose vectors a search in another scope must find."""
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

    def hear(self, answer: StoreAnswer | BaseException) -> None:
        """Hand an answer to the loop. Called in the thread of the store."""
        with suppress(RuntimeError):  # the loop is gone, and all callers with it
            self.loop.call_soon_threadsafe(self.take_answer, answer)

    def take_answer(self, answer: Answer | BaseException) -> None:
        """Step the memory with an answer; a mistake of the storage ends it, as nothing is sure then."""
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
            # Not at once: this is called out of a step, and a step must not begin inside another one.
            self.loop.call_soon(self.serve_at_once, effect, ask)

    async def serve(self, effect: AskModel | Embed, number: OpLabel | None) -> None:
        """Ask a service, and note what the request of this number has used; None: the memory itself."""
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
        """Return the answer to a question that no request asks; what it uses counts for the memory."""
        with collect_usage() as reported:
            answer = await self.get_answer(effect)
        self.usage += sum(reported, NO_USAGE)
        return answer

    async def get_answer(self, effect: AskModel | Embed) -> Answer:
        try:
            # The time runs while a call waits for its turn, too: the memory counts from its question.
            async with asyncio.timeout(effect.timeout_ms / 1_000), self.calls:
                if isinstance(effect, AskModel):
                    asked = effect.task, self.question_of(effect), effect.timeout_ms
                    return whole(effect, await self.model.ask(*asked))
                return whole(effect, await self.embedder.embed(effect.texts, effect.timeout_ms))
        except BaseException as error:
            return self.handle_failure(effect, error)

    def serve_at_once(self, effect: AskModel | Embed, ask: Callable[..., Any]) -> None:
        given = (effect.task, self.question_of(effect)) if isinstance(effect, AskModel) else (effect.texts,)
        try:
            answer = whole(effect, ask(*given))
        except BaseException as error:
            answer = self.handle_failure(effect, error)
        self.take_answer(answer)

    def handle_failure(self, effect: AskModel | Embed, error: BaseException) -> Answer:
        """Return what the memory is told of an exception of a service: a question without an answer never
        ends. Raises the cancellation of its task, and the interrupt of a user.
        """
        # A service may raise CancelledError itself: a task that it waits for was cancelled.
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task in self.tasks and task.cancelling():
            raise error
        answer = failure_answer(effect, error)
        if isinstance(error, KeyboardInterrupt):
            self.take_answer(answer)
            raise error
        return answer

    def question_of(self, asked: AskModel) -> str:
        """Return the prompt of a question, in a conversation with the name of its user."""
        return tell_user(asked.task, asked.prompt, self.memory.state.scope.user)

    def set_timer(self) -> None:
        """Set a timer no later than the memory is due; one that rings sooner stays, and wakes it."""
        due_ms = self.memory.deadline_ms()
        if due_ms is None or (self.timer is not None and self.timer_ms <= due_ms):
            return
        if self.timer is not None:
            self.timer.cancel()
        now_ms = wall_ms()
        self.timer_ms = min(max(due_ms, now_ms), now_ms + WAKE_MS_MAX)
        self.timer = self.loop.call_later((self.timer_ms - now_ms) / 1_000, self.ring)

    def ring(self) -> None:
        self.timer = None
        self.step(Wake())


def is_reading(request: Request) -> bool:
    """Return whether a request leaves nothing in the file: it only shows what is there."""
    return isinstance(request, CoreRead | WorkingRequest) or (request.shows and not request.stores)


def whole(effect: AskModel | Embed, value: Any) -> Answer:
    """Return an answer of a service as an answer to the memory. Raises if it is no text, or no vectors."""
    is_text = isinstance(effect, AskModel)
    answer = ModelReplied(effect.request_id, value) if is_text else Embedded(effect.request_id, value)
    # A lone surrogate has no bytes: it would break the recording, and the row that it ends up in (law 5).
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


def wrong(request: Request) -> Error | None:
    """Return the error with which a memory refuses a request at sight, whatever it holds."""
    return next(list_misuses(0, request), None) or bad_request(request)
