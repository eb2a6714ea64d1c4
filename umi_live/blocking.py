"""A memory for synchronous code: every method waits for its result, and any thread may call it.

with open_blocking("agent.db", user="ann", agent="helper") as memory:
    memory.remember("Ann likes tea.")
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from umi_live.errors import Closed, LiveError
from umi_live.memory import OPEN_ALREADY, LiveMemory, open_memory
from umi_live.usage import Usage

OF_PARENT: Final = "the memory was opened by the process that forked this one; open it here as well"
P = ParamSpec("P")
T = TypeVar("T")


def waiting(
    method: Callable[Concatenate[LiveMemory, P], Awaitable[T]],
) -> Callable[Concatenate["BlockingMemory", P], T]:
    """Return a synchronous method that runs this one in the event loop of the memory and waits for it."""

    @wraps(method)
    def call(self: "BlockingMemory", /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def call_method() -> T:
            return await method(self.memory, *args, **kwargs)

        return self.run(call_method())

    return call


def listing(
    method: Callable[Concatenate[LiveMemory, P], AsyncIterator[T]],
) -> Callable[Concatenate["BlockingMemory", P], list[T]]:
    """Return a synchronous method that waits for all results of this one, and returns them as a list."""

    @wraps(method)
    def call(self: "BlockingMemory", /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        async def list_results() -> list[T]:
            return [it async for it in method(self.memory, *args, **kwargs)]

        return self.run(list_results())

    return call


class BlockingMemory:
    """The methods of `LiveMemory` without `await`, for any thread. Made by `open_blocking`.

    Open it with `with`; it runs its own event loop in its own thread.
    """

    def __init__(self, memory: LiveMemory) -> None:
        self.memory = memory
        self.loop: asyncio.AbstractEventLoop | None = None
        self.process = 0  # the id of the process that runs the thread of the loop
        self.running = dict[asyncio.Task[Any], None]()

    def __enter__(self) -> Self:
        if self.loop is not None:
            raise LiveError(OPEN_ALREADY)
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="umi-live", daemon=True)
        self.thread.start()
        try:
            self.run(self.memory.__aenter__())
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process != os.getpid():
            return  # a forked process does not have the thread of the loop, and closing would harm its parent
        if self.loop is not None and kind is not None and not issubclass(kind, Exception):
            # Ctrl-C may arrive between `begin` and the wait in `run`, which would have cancelled the call.
            self.loop.call_soon_threadsafe(self.withdraw)
        try:
            self.run(self.memory.__aexit__(kind, error, trace))
        finally:
            self.stop()

    @property
    def usage(self) -> Usage:
        """Return the usage of models and embedders so far, including that of background work."""
        return self.memory.usage

    def entity_id_of(self, name: str) -> str:
        """Return the id of the entity with this name; `me` is the user."""
        return self.memory.entity_id_of(name)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work in the event loop of the memory, and cancel it if this call is interrupted."""
        begun = self.begin(work)
        try:
            return begun.result()
        except BaseException:
            begun.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start work in the event loop of the memory, and return the future of its result. Raises Closed."""
        if self.loop is None or self.process != os.getpid():
            work.close()
            is_fork = self.loop is not None
            raise Closed(OF_PARENT if is_fork else "the memory is not open; use it inside `with`")
        return asyncio.run_coroutine_threadsafe(self.follow(work), self.loop)

    async def follow(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work, registered so that `withdraw` can cancel it."""
        task = asyncio.current_task()
        assert task is not None
        self.running[task] = None
        try:
            return await work
        finally:
            del self.running[task]

    def withdraw(self) -> None:
        """Cancel all calls that are running."""
        for task in self.running:
            task.cancel()

    def stop(self) -> None:
        loop, self.loop = self.loop, None
        assert loop is not None
        loop.call_soon_threadsafe(loop.stop)
        self.thread.join()
        loop.close()

    remember = waiting(LiveMemory.remember)
    remember_many = waiting(LiveMemory.remember_many)
    recall = waiting(LiveMemory.recall)
    resolve = waiting(LiveMemory.resolve)
    memorize = waiting(LiveMemory.memorize)
    create_entity = waiting(LiveMemory.create_entity)
    update_entity = waiting(LiveMemory.update_entity)
    summarise = waiting(LiveMemory.summarise)
    end_session = waiting(LiveMemory.end_session)
    set = waiting(LiveMemory.set)
    get = waiting(LiveMemory.get)
    incr = waiting(LiveMemory.incr)
    touch = waiting(LiveMemory.touch)
    delete = waiting(LiveMemory.delete)
    create_session = waiting(LiveMemory.create_session)
    save_session = waiting(LiveMemory.save_session)
    load_session = waiting(LiveMemory.load_session)
    share = waiting(LiveMemory.share)
    evolve_category = waiting(LiveMemory.evolve_category)
    retrieve = waiting(LiveMemory.retrieve)
    search = waiting(LiveMemory.search)
    forget = waiting(LiveMemory.forget)
    forget_all_about = waiting(LiveMemory.forget_all_about)
    forget_resource = waiting(LiveMemory.forget_resource)
    clear = waiting(LiveMemory.clear)
    delete_agent = waiting(LiveMemory.delete_agent)
    open_agent = waiting(LiveMemory.open_agent)
    entity = waiting(LiveMemory.entity)
    count = waiting(LiveMemory.count)
    entities = listing(LiveMemory.entities)
    facts = waiting(LiveMemory.facts)
    history = waiting(LiveMemory.history)
    stats = waiting(LiveMemory.stats)
    topics = waiting(LiveMemory.topics)
    facts_in = waiting(LiveMemory.facts_in)
    paths_of = waiting(LiveMemory.paths_of)
    list = waiting(LiveMemory.list)
    recent = waiting(LiveMemory.recent)
    blocks = waiting(LiveMemory.blocks)
    render = waiting(LiveMemory.render)
    set_block = waiting(LiveMemory.set_block)
    remove_block = waiting(LiveMemory.remove_block)
    drive = waiting(LiveMemory.drive)
    ask = waiting(LiveMemory.ask)


def make_blocking(make: Callable[P, LiveMemory]) -> Callable[P, BlockingMemory]:
    @wraps(make)
    def call(*args: P.args, **kwargs: P.kwargs) -> BlockingMemory:
        return BlockingMemory(make(*args, **kwargs))

    return call


open_blocking = make_blocking(open_memory)
"""Return a memory for synchronous code. The parameters are those of `open_memory`."""
