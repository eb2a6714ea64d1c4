"""The world of one run: a store, its folder, its clock and its event loop, and the items applied to them.

Law 1. This file and the modules that it imports need only the standard library: an exported script contains
       copies of them.
Law 2. A run follows from its items and its seed alone: time, random numbers and the order of tasks are
       simulated, and no reference cycle, such as an error with its traceback, is collected during a run.
"""

import asyncio
import copy
import gc
import inspect
import logging
import os
import random
import re
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from umi_sim.runs.time_limit import OutOfTime, computing_at_most
from umi_sim.targets import clocks, faults, files, loop, names, threads

COMPUTING_SECONDS_MAX = 3  # how long the store may compute in one item
PAGES_MAX = 300  # of one key each; no run puts more keys into one place
SETTLING_STEPS = 1_000
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a file system in memory, if there is one
RAISED = (Exception, SystemExit, asyncio.CancelledError, faults.Killed)
Call = tuple[str, Mapping[str, Any]]


class WrongShape(Exception):
    """A method returned a value of a type that its operation never returns."""


class NotOpened(Exception):
    """`__init__`, `make` or `close` of the adapter raised an error."""

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(f"{name}: {error!r}")
        self.name, self.error = name, error


@contextmanager
def world_of(adapter: Any, seed: int) -> Iterator["TargetWorld"]:
    """Yield a world for this store, and clean up afterwards. `seed`: of its random numbers."""
    with tempfile.TemporaryDirectory(dir=MEMORY, ignore_cleanup_errors=True) as base:
        world = TargetWorld(adapter, Path(base))
        with (
            clocks.install(world.clock),
            faults.install(world.sites, world.clock.seconds),
            files.install(world.sites),
            faults.install_network(world.sites),
            clocks.install_chance(seed),
            no_collection(),
            silence(),
            loop.install(world.loop),
            threads.install(world.loop),
        ):
            try:
                yield world
            finally:
                world.end()


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable the garbage collector until the block ends: when it runs follows from no seed."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def freeze_older_objects() -> Iterator[None]:
    """Let garbage collections in this block examine only objects that were created in it."""
    is_first = not gc.get_freeze_count()
    if is_first:
        gc.freeze()
    try:
        yield
    finally:
        if is_first:
            gc.unfreeze()


def silence() -> AbstractContextManager[None]:
    """Print neither log records without a handler nor errors of threads until the block ends.

    With thousands of injected failures they would drown all other output.
    """
    return clocks.patch_names(
        [(logging, "lastResort", logging.NullHandler()), (threading, "excepthook", lambda _: None)]
    )


class TargetWorld:
    """A run without a judge. `store`: the current adapter object. `times_ms`: before and after an item."""

    def __init__(self, adapter: Any, base: Path) -> None:
        self.adapter, self.base = adapter, base
        self.folder = base / "0"
        self.folder.mkdir()
        self.clock = clocks.Clock()
        self.sites = faults.Sites(str(base))
        self.loop = self.sites.loop = loop.Loop(self.clock)
        self.loop.comes_late = self.sites.comes_late
        self.loop.has_points_in_lines = getattr(adapter, "line_by_line", False)
        self.clock.sleeping = self.loop.sleep
        self.names = names.Names()
        self.times_ms = [self.clock.now_ms]
        self.reached: dict[tuple[str, str], int] = {}  # by operation and site, the most times in one call
        self.has_failed = False  # whether the fault of the last item was applied
        self.store: Any = None
        self.dead_stores: list[Any] = []  # kept until the end, so that no finalizer closes them
        self.outside: dict[str, Any] = {}  # simulated processes, such as a server, that survive restarts
        self.left: Path | None = None  # a copy of the folder, if the process died in an operation

    # Starting and ending the store.

    def begin(self) -> None:
        """Make and open a new store on the folder, as a new process does. Raises NotOpened."""
        try:
            self.store = self.adapter()
        except Exception as error:  # raised by the constructor of the user
            raise NotOpened("__init__", error) from error
        self.store.folder, self.store.clock, self.store.outside = self.folder, self.clock, self.outside
        self.ask("make", self.store)

    def ask(self, name: str, store: Any) -> None:
        outcome = self.outcome(getattr(store, name))
        if isinstance(outcome, BaseException):
            raise NotOpened(name, outcome) from outcome

    def check(self) -> BaseException | None:
        """Return the error that `check` of the adapter raises; None if it raises none."""
        outcome = self.outcome(self.store.check) if hasattr(self.store, "check") else None
        return outcome if isinstance(outcome, BaseException) else None

    def restart(self, kind: str) -> None:
        """Restart the store after an item that ends its process. Raises NotOpened."""
        if kind == "reopen":
            self.loop.finish_jobs()
            self.ask("close", self.store)
        else:
            self.dead_stores.append(self.store)
            self.store.killed()
            self.folder = self.left or self.copy_folder()
            self.left = None
        self.loop.abandon()
        self.begin()

    def copy_folder(self) -> Path:
        """Return a copy of the folder with what a process that dies now leaves: its written files."""
        new = self.base / str(len(list(self.base.iterdir())))
        self.sites.is_ours = True
        try:
            shutil.copytree(self.folder, new, ignore=shutil.ignore_patterns("*-shm"))
        finally:
            self.sites.is_ours = False
        return new

    def end(self) -> None:
        """Close all stores, dead ones included, so that no file stays open after the run."""
        self.loop.abandon_flights()
        lives = (*self.dead_stores, *([] if self.store is None else [self.store]))
        for store in lives:
            with suppress(NotOpened, loop.Stuck):
                self.ask("close", store)
        self.loop.finish()

    # Items.

    def happen(
        self, kind: str, number: int, site: str, part: int, pauses: Sequence[int], calls: Sequence[Call]
    ) -> list[Any]:
        """Apply an item. Return for each call (its value,) or the exception that it raised. Raises Stuck."""
        began_ms = self.clock.now_ms
        self.clock.poll_count = 0
        self.loop.paused_at.clear()
        self.sites.arm(site, number, self.die if kind == "crash_in" else faults.fail, part)
        match kind:
            case "advance":
                self.loop.advance(number)
                answers = []
            case "at_once":
                answers = self.at_once(number, pauses, calls)
            case "paged":
                answers = self.scan_between(*calls)
            case "cancel":
                answers = self.cancel(number, pauses, calls)
            case _:
                answers = [self.call(*each) for each in calls]
        self.has_failed = self.sites.disarm()
        if kind == "crash_in" and self.has_failed:  # even if the store caught it
            answers = [faults.Killed() for _ in answers]
        answers = [self.translate_listing(*each, value) for each, value in zip(calls, answers, strict=True)]
        for site, count in self.sites.counts.items() if kind == "op" else ():
            self.reached[calls[0][0], site] = max(count, self.reached.get((calls[0][0], site), 0))
        self.times_ms = list(dict.fromkeys([began_ms, self.clock.now_ms]))
        return answers

    def die(self, error: Exception) -> None:
        self.left = self.copy_folder()
        raise faults.Killed

    def at_once(self, order: int, pauses: Sequence[int], calls: Iterable[Call]) -> list[Any]:
        """Make calls concurrently. `order` seeds the choices that asyncio leaves open; 0 takes the first.

        `pauses`: those of an item.
        """
        drawn = random.Random(order)
        starts = [lambda call=call: self.start(*call) for call in calls]
        return self.loop.at_once(starts, lambda n: drawn.getrandbits(32) % n if order else 0, pauses)

    def cancel(self, steps: int, pauses: Sequence[int], calls: Sequence[Call]) -> list[Any]:
        """Start calls concurrently, and cancel the first after so many steps, if it still runs then.

        Then wait for the others, and for all tasks and jobs that they started.
        """
        with self.loop.pausing(pauses):
            tasks = [self.loop.create_task(self.start(*call)) for call in calls]
            if not self.loop.run(tasks[:1], steps):
                tasks[0].cancel()
            if not all(task.done() for task in tasks):
                self.loop.run(tasks)
            self.loop.settle(SETTLING_STEPS)
        outcomes = [loop.outcome_of(task) for task in tasks]
        return [asyncio.CancelledError() if tasks[0].cancelling() else outcomes[0], *outcomes[1:]]

    def scan_between(self, scan: Call, *others: Call) -> list[Any]:
        """Make one of the other calls after each page of a scan, and the rest after the last page."""
        left, answers = deque(others), list[Any]()

        async def between() -> None:
            if left:
                answers.append(await self.outcome_of_task(*left.popleft()))

        name, args = scan
        pages = self.call_of(name, args, lambda: self.pages(getattr(self.store, name), args, between))
        return [pages, *answers, *(self.call(*each) for each in left)]

    # Calls.

    def call(self, name: str, args: Mapping[str, Any]) -> Any:
        return self.call_of(name, args, lambda: self.begin_call(name, args))

    def call_of(self, name: str, args: Mapping[str, Any], begin: Callable[[], Any]) -> Any:
        return self.outcome(lambda: self.translate_value(name, args, self.settle(begin())))

    def outcome(self, begin: Callable[[], Any]) -> Any:
        """Call a function. Return (its value,), or the exception that it raised."""
        try:
            return (self.settle(begin()),)
        except RAISED as error:
            return error  # errors of the store are results

    async def outcome_of_task(self, name: str, args: Mapping[str, Any]) -> Any:
        """Await a call within a task, and return its outcome as `outcome` does."""
        try:
            return await self.start(name, args)
        except RAISED as error:
            return error

    async def start(self, name: str, args: Mapping[str, Any]) -> Any:
        return (self.translate_value(name, args, await value_of(self.begin_call(name, args))),)

    def settle(self, value: Any) -> Any:
        """Return a value; if it is awaitable, run the loop until it is there, and count the steps."""
        if inspect.isawaitable(value):
            value = self.loop.run_until_complete(value)
            self.sites.counts["step"] = self.loop.step_count
        return value

    def begin_call(self, name: str, args: Mapping[str, Any]) -> Any:
        """Call a method of the adapter with the ids of the store. The result may be awaitable."""
        method = getattr(self.store, name)
        if name == "scan":
            return self.pages(method, args)
        if "id" in args and "id" not in parameters(getattr(self.adapter, "add", value_of)):
            if name == "add":
                self.names.unanswered[args["id"]] = args
            else:
                args = {**args, "id": self.names.id_of(args["id"])}
        if name == "append" and "version" in args:
            args = {**args, "version": self.names.version_of(args["version"])}
        # A copy, so that a store that changes its arguments changes neither expectations nor records.
        given = copy.deepcopy(fitting(getattr(self.adapter, name), args))
        value = method(**given)
        if not getattr(self.adapter, "copies", False):
            return value
        return self.spoil_awaited(given, value) if inspect.isawaitable(value) else spoil_call(given, value)

    async def spoil_awaited(self, given: dict[str, Any], value: Any) -> Any:
        return spoil_call(given, await value)

    async def pages(self, method: Any, args: Mapping[str, Any], between: Any = None) -> Any:
        """Read all pages of a scan, one after the other. `between`: called and awaited after each page."""
        found: list[Any] = []
        cursor = None
        for _ in range(PAGES_MAX):
            page = await value_of(method(**args, cursor=cursor))
            is_pair = isinstance(page, tuple | list) and len(page) == 2
            if not is_pair or isinstance(page[0], str | dict) or not isinstance(page[0], Iterable):
                raise WrongShape(f"expected a pair of rows and cursor, got {page!r}")
            keys, cursor = list(page[0]), page[1]
            if len(keys) > args.get("limit", len(keys)):
                return f"a page of {len(keys)}"
            found += keys
            if cursor is None:
                return found
            await value_of(between and between())
        return f"more than {PAGES_MAX} pages"

    def translate_value(self, name: str, args: Mapping[str, Any], value: Any) -> Any:
        """Return a value in the form of contracts: lists for all sequences, names of the run for ids."""
        if name == "version":
            self.names.versions[args["version"]] = value
            return args["version"]
        value = plain(value)
        if name == "add" and "id" in args:
            while isinstance(value, list) and len(value) == 1:
                value = value[0]
            if value is not None and not isinstance(value, list | dict):
                return self.names.add_id(args["id"], value)
        return value

    def translate_listing(self, name: str, args: Mapping[str, Any], outcome: Any) -> Any:
        """Return a listing with names of the run instead of ids.

        Called at the end of an item: a concurrent add may have returned an id that is in the listing.
        """
        match outcome:
            case (list() as rows,) if name in ("search", "list"):
                return ([self.names.name_row(each, args) for each in rows],)
        return outcome


def spoil_call(given: dict[str, Any], value: Any) -> Any:
    """Return a copy of a value, and then empty the value and the arguments, as a caller might."""
    shown = copy.deepcopy(plain(value)) if isinstance(value, list | tuple | dict) else value
    spoil([value, *given.values()])
    return shown


def spoil(value: Any) -> None:
    """Empty all lists and dicts in a value."""
    if isinstance(value, list | tuple | dict):
        for each in list(value.values() if isinstance(value, dict) else value):
            spoil(each)
    if isinstance(value, list | dict):
        value.clear()


async def value_of(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def plain(value: Any) -> Any:
    match value:
        case list() | tuple() | Iterator() | KeysView() | ValuesView() | ItemsView():
            return [plain(each) for each in value]
        case dict():
            return {key: plain(each) for key, each in value.items()}
    return value


def fitting(method: Any, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a method takes: `ttl` in seconds or as `ttl_ms`, None without a default."""
    taken = parameters(method)
    fit: dict[str, Any] = {name: None for name in taken if taken[name] and name != "cursor"}
    fit |= {name: value for name, value in args.items() if name in taken}
    if "ttl_ms" in taken and "ttl" in args:
        fit["ttl_ms"] = args["ttl"]
    elif "ttl" in taken and "ttl" in args:
        fit["ttl"] = args["ttl"] // 1000 if args["ttl"] % 1000 == 0 else args["ttl"] / 1000
    return fit


@cache
def parameters(method: Any) -> Mapping[str, bool]:
    """Return the parameters of a method, without `self`: whether it needs each, by name."""
    found = inspect.signature(method).parameters.values()
    return {
        each.name: each.default is each.empty
        for each in found
        if each.name != "self" and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }


# Replays without a judge, for exported scripts.


def replay(adapter: Any, rows: Iterable[Any], seed: int) -> list[str]:
    """Apply items to a new store, and return the lines of the transcript.

    `rows`: for each item a text, and the arguments of `TargetWorld.happen`. If the store hangs, cannot be
    opened or computes for too long, that is the last line.
    """
    lines = []
    with world_of(adapter, seed) as world:
        try:
            with computing_at_most(COMPUTING_SECONDS_MAX):
                world.begin()
            for text, *item in rows:
                lines.append(f"  {text}")
                for each in replay_item(world, item):
                    lines.append(f"      {each}")
        except (NotOpened, loop.Stuck) as error:
            lines.append(f"      {show_outcome(error, world)}")
        except OutOfTime:
            lines.append(f"      {ENDLESS}")
    return lines


def replay_item(world: TargetWorld, item: Sequence[Any]) -> Iterator[str]:
    """Apply an item, and yield its lines; the answers come before a restart, which may fail."""
    with computing_at_most(COMPUTING_SECONDS_MAX):
        answers = world.happen(*item)
    yield from (show_outcome(each, world) for each in answers)
    if world.sites.told:
        yield f"with {world.sites.told}"
    if item[0] in RESTARTS:
        with computing_at_most(COMPUTING_SECONDS_MAX):
            world.restart(item[0])
    with computing_at_most(COMPUTING_SECONDS_MAX):
        error = world.check()
    if error is not None:
        yield f"check {show_outcome(error, world)}"


ENDLESS = "computes for seconds, and does not end"
RESTARTS = ("reopen", "crash", "crash_in")


def show_outcome(outcome: Any, world: TargetWorld) -> str:
    if isinstance(outcome, names.NotAsked):
        return f"not asked: {outcome}"
    text = repr(outcome[0]) if isinstance(outcome, tuple) else f"raises {outcome!r}"
    return re.sub(r" at 0x[0-9a-f]+", "", text.replace(str(world.base), "FOLDER"))
