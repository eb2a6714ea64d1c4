"""One run: a store is made, its items happen to it, and each answer is judged.

Law 1. What happens follows from the items alone: the clock, chance and the order of tasks are ours.
Law 2. Only the class that the user has named is run; items hold values and names of operations, no code.
"""

import inspect
import os
import random
import shutil
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_sim.kernel.prng import Stream
from umi_sim.runs.time_limit import OutOfTime, computing_at_most
from umi_sim.targets import clocks, faults, loop
from umi_sim.targets.adapter import Adapter, BadAdapter, flags_of, given, is_async, ops_of
from umi_sim.targets.checker import Broken, Checker, Got, TooMany
from umi_sim.targets.items import Advance, AtOnce, Cancel, Crash, Fail, Item, Op, Reopen, ops_in
from umi_sim.targets.values import MISSING, shown

PAGES_MAX: Final = 50
COMPUTING_SECONDS_MAX: Final = 3  # of one run
MAY_MISS: Final = ("get", "pop", "delete", "touch", "incr", "update", "ttl", "history", "state")
MEMORY: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # nothing has to reach a disk
PERSON: Final = b"umi-target-1"


@attrs.frozen
class Step(Data):
    """An item and what came of it."""

    item: Item
    told: str


@attrs.frozen
class Verdict(Data):
    """How a run ended. `broken_at`: the number of the item; `known`: divergences that were met, by address.

    `picks`: for each requests at once, what was drawn where their order was free.
    """

    items: tuple[Item, ...]
    steps: tuple[Step, ...]
    trace: str
    broken: Broken | None = None
    broken_at: int = -1
    known: tuple[str, ...] = ()
    picks: tuple[tuple[int, ...], ...] = ()


def run(adapter: type[Adapter], items: Sequence[Item]) -> Verdict:
    """Known divergences do not end it: it goes on from what is, or else without the item that showed one."""
    left, known = tuple(items), list[str]()
    while True:
        with ExitStack() as stack:
            life = Life(adapter, stack)
            try:
                with computing_at_most(COMPUTING_SECONDS_MAX):
                    verdict = life.live(left)
            except loop.OutOfReach as error:
                told = "which is out of reach: what comes from outside follows from no seed"
                raise BadAdapter(f"{adapter.__name__}: {error}, {told}") from None
            except OutOfTime:
                verdict = life.hung(left)
        known += verdict.known
        address = address_of(adapter, verdict.broken)
        if not address:
            return attrs.evolve(verdict, known=tuple(dict.fromkeys(known)))
        known.append(address)
        left = (*left[: verdict.broken_at], *left[verdict.broken_at + 1 :])


def address_of(adapter: type[Adapter], broken: Broken | None) -> str:
    found = (each for each in adapter.known if broken and each.covers(broken.rule, broken.op, broken.message))
    return next((each.address for each in found), "")


@contextmanager
def same_chance() -> Iterator[None]:
    """Until the block ends, whoever draws chance draws the same in each run."""
    urandom, state = os.urandom, random.getstate()
    os.urandom = random.Random(0).randbytes
    random.seed(0)
    try:
        yield
    finally:
        os.urandom = urandom
        random.setstate(state)


class Life:
    """The world of one run. `store`: the adapter as it lives now."""

    def __init__(self, adapter: type[Adapter], stack: ExitStack) -> None:
        self.adapter = adapter
        self.base = Path(
            stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY, ignore_cleanup_errors=True))
        )
        self.folder = self.base / "0"
        self.folder.mkdir()
        self.clock = clocks.Clock()
        self.sites = faults.Sites(str(self.base))
        self.loop = loop.Loop(self.clock)
        self.checker = Checker(adapter.contract, flags_of(adapter), ops_of(adapter))
        self.names: dict[object, str] = {}  # what the store calls what we call so
        self.known: list[str] = []
        self.picks: list[tuple[int, ...]] = []
        self.steps: list[Step] = []
        self.store: Any = None
        self.gone: list[Any] = []  # stores that died, kept so that nothing ends them properly
        self.stack = stack

    def live(self, items: Sequence[Item]) -> Verdict:
        self.threads = set(threading.enumerate())
        for context in (
            clocks.told(self.clock),
            faults.failing(self.sites, self.clock.seconds),
            same_chance(),
        ):
            self.stack.enter_context(context)
        self.stack.callback(loop.inline(self.loop))
        self.stack.callback(self.end)
        broken = self.within_reach(self.begin())
        for at, item in enumerate(items):
            try:
                broken = broken or self.within_reach(self.happen(item))
            except TooMany:
                break
            if broken is not None:
                return self.verdict(items, broken, at)
        return self.verdict(items)

    def within_reach(self, broken: Broken | None) -> Broken | None:
        """Raises BadAdapter if it waits for a thread of its own: that runs when it likes."""
        if broken is not None and broken.rule == "hang":
            more = [each.name for each in threading.enumerate() if each not in self.threads]
            if more:
                told = "which is out of reach: what it does follows from no seed"
                raise BadAdapter(f"{self.adapter.__name__}: waits for its thread {more[0]}, {told}")
        return broken

    def verdict(self, items: Sequence[Item], broken: Broken | None = None, at: int = -1) -> Verdict:
        digest = blake2b(digest_size=16, person=PERSON)
        for step in self.steps:
            digest.update(f"{step.item}\n{step.told}\n".encode(errors="surrogatepass"))
        steps = tuple(self.steps)
        return Verdict(
            tuple(items), steps, digest.hexdigest(), broken, at, tuple(self.known), tuple(self.picks)
        )

    def hung(self, items: Sequence[Item]) -> Verdict:
        at = min(len(self.steps), len(items) - 1)
        told = f"computes for more than {COMPUTING_SECONDS_MAX} s"
        self.tell(items[at], told)
        return self.verdict(items, Broken("hang", "+".join(op.name for op in ops_in(items[at])), told), at)

    # Lives of the store.

    def begin(self) -> Broken | None:
        self.store = self.adapter()
        self.store.folder, self.store.clock = self.folder, self.clock
        got = self.done(self.store.make)
        if got.error:
            return Broken("raises", "make", str(got), error=got.error, frame=got.frame)
        return None

    def end(self) -> None:
        """Close what lives, and what has died: files must not stay open after a run."""
        for store in (*self.gone, self.store):
            if store is not None:
                self.done(store.close)
        self.loop.finish()

    def reopen(self) -> Broken | None:
        got = self.done(self.store.close)
        if got.error:
            return Broken("raises", "close", str(got), error=got.error, frame=got.frame)
        self.store = None
        self.checker.reopened(self.adapter.durable)
        return self.begin()

    def copy(self) -> Path:
        """The folder as a process that dies now leaves it."""
        new = self.base / str(len(list(self.base.iterdir())))
        shutil.copytree(self.folder, new, ignore=shutil.ignore_patterns("*-shm"))
        return new

    def die(self, folder: Path) -> Broken | None:
        """A new process finds this folder."""
        self.gone.append(self.store)
        killed = getattr(self.store, "killed", None)
        if killed is not None:
            killed()
        self.folder = folder
        self.checker.reopened(self.adapter.durable)
        return self.begin()

    # Items.

    def happen(self, item: Item) -> Broken | None:
        count = len(self.steps)
        broken = self.happened(item)
        if len(self.steps) == count:
            self.tell(item, str(broken.message) if broken else "done")
        if broken is not None and (address := address_of(self.adapter, broken)) and self.checker.accept():
            self.known.append(address)
            return None
        return broken

    def tell(self, item: Item, told: str) -> None:
        self.steps.append(Step(item, told))

    def happened(self, item: Item) -> Broken | None:
        match item:
            case Op():
                return self.op(item)
            case AtOnce():
                return self.at_once(item)
            case Advance():
                self.clock.now_ms += item.ms
                return None
            case Reopen():
                return self.reopen()
            case Crash(of=None):
                return self.die(self.copy())
            case Crash(of=Op() as op):
                return self.crash(item, op)
            case Fail():
                return self.fail(item)
            case Cancel():
                return self.cancel(item)
        raise AssertionError(item)

    def op(self, op: Op, item: Item | None = None, spared: str = "") -> Broken | None:
        times_ms, got = self.timed(op)
        self.tell(item or op, str(got))
        return self.hangs(op, got) or self.checker.answered(op, got, times_ms, spared)

    def hangs(self, op: Op, got: Got) -> Broken | None:
        if got.error in ("Stuck", "ProcessBroken"):
            return Broken("hang" if got.error == "Stuck" else "process", op.name, got.text)
        return None

    def timed(self, op: Op) -> tuple[list[int], Got]:
        """What came of it, and the times at which the store may have looked at the clock."""
        before_ms = self.clock.now_ms
        got = self.call(op)
        return list(dict.fromkeys([before_ms, self.clock.now_ms])), got

    def fail(self, item: Fail) -> Broken | None:
        self.sites.arm(item.site, item.n)
        times_ms, got = self.timed(item.of)
        has_failed = self.sites.disarm()
        self.tell(item, str(got))
        if has_failed and got.error and not self.hangs(item.of, got):
            self.checker.failed(item.of, times_ms)
            return None
        return self.hangs(item.of, got) or self.checker.answered(
            item.of, got, times_ms, "done-lost" if has_failed else ""
        )

    def crash(self, item: Crash, op: Op) -> Broken | None:
        folders: list[Path] = []

        def kill(error: Exception) -> None:
            folders.append(self.copy())
            raise faults.Killed

        self.sites.arm(item.site, item.n, kill)
        times_ms, got = self.timed(op)
        has_died = self.sites.disarm()
        self.tell(item, "died" if has_died else str(got))
        if not has_died:
            return self.checker.answered(op, got, times_ms) or self.die(self.copy())
        self.checker.undecided(op, times_ms, "crash-split")
        return self.die(folders[0])

    def at_once(self, item: AtOnce) -> Broken | None:
        before_ms = self.clock.now_ms
        chance = Stream(item.order, "target", "order")
        picked: list[int] = []

        def pick(n: int) -> int:
            picked.append(chance.below(n) if item.order else 0)
            return picked[-1]

        starts = [partial(self.started, op) for op in item.ops]
        try:
            outcomes = self.loop.at_once(starts, pick)
        except loop.Stuck as stuck:
            return Broken("hang", "+".join(sorted(op.name for op in item.ops)), str(stuck))
        self.picks.append(tuple(picked))
        gots = [self.got_of(op, each) for op, each in zip(item.ops, outcomes, strict=True)]
        self.tell(item, "; ".join(map(str, gots)))
        return self.checker.at_once(item.ops, gots, list(dict.fromkeys([before_ms, self.clock.now_ms])))

    async def started(self, op: Op) -> Any:
        """Its value, or its exception as a value: None is a value too."""
        try:
            result = self.begun(op)
            return (await result if inspect.isawaitable(result) else result,)
        except Exception as error:
            return error

    def cancel(self, item: Cancel) -> Broken | None:
        before_ms = self.clock.now_ms
        task = self.loop.create_task(self.started(item.of))
        try:
            if not self.loop.run([task], item.steps):
                task.cancel()
                self.loop.run([task])
            self.loop.run([self.loop.create_task(settled(self.loop))])
        except loop.Stuck as stuck:
            return Broken("hang", item.of.name, str(stuck))
        times_ms = list(dict.fromkeys([before_ms, self.clock.now_ms]))
        if task.cancelled() or task.cancelling():
            self.tell(item, "cancelled")
            self.checker.undecided(item.of, times_ms, "cancel-split")
            return None
        got = self.got_of(item.of, task.result())
        self.tell(item, str(got))
        return self.checker.answered(item.of, got, times_ms)

    # Calls.

    def call(self, op: Op) -> Got:
        if op.name == "scan":
            return self.done(lambda: self.pages(op), op)
        return self.done(lambda: self.begun(op), op)

    def begun(self, op: Op) -> Any:
        method = getattr(self.store, op.name)
        taken = ops_of(self.adapter)[op.name]
        args = {name: value for name, value in op.args.items() if name in taken}
        if "id" in args and (op.name != "add" or "id" not in taken):
            args["id"] = self.own_name(str(args["id"]))
        drain = getattr(self.store, "drain", None)
        if drain is not None:
            self.settled(drain())
        return method(**(args if "arguments" in dir(self.adapter) else given(method, args)))

    def settled(self, value: Any) -> Any:
        return self.loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def own_name(self, name: str) -> object:
        """What the store calls it; what was never made has an id that no store makes."""
        known = next((own for own, ours in self.names.items() if ours == name), None)
        number = "".join(each for each in name if each.isdigit())[-12:] or "0"
        return f"00000000-0000-4000-8000-{number:0>12}" if known is None else known

    def pages(self, op: Op) -> Any:
        """All pages of a scan, one after the other."""
        found: list[object] = []
        cursor = None
        for _ in range(PAGES_MAX):
            method = self.store.scan
            keys, cursor = self.settled(method(**op.args, cursor=cursor))
            if len(list(keys)) > int(str(op.args.get("limit", PAGES_MAX))):
                return f"a page of {len(keys)}"
            found += keys
            if cursor is None:
                return found
        return f"more than {PAGES_MAX} pages"

    def done(self, call: Callable[[], Any], op: Op | None = None) -> Got:
        try:
            return self.said(op, self.settled(call()))
        except faults.Killed:
            return Got(error="Killed")
        except Exception as error:
            return self.got_of(op, error)

    def got_of(self, op: Op | None, outcome: Any) -> Got:
        if not isinstance(outcome, Exception):
            return self.said(op, outcome[0])
        if isinstance(outcome, LookupError) and op is not None and op.name in MAY_MISS:
            return Got(MISSING)
        is_busy = isinstance(outcome, self.adapter.busy) and op is not None
        is_refusal = is_busy or (isinstance(outcome, self.adapter.refuses) and op is not None)
        text = shown(str(outcome)).replace(str(self.base), "FOLDER")
        return Got(None, type(outcome).__name__, text, is_refusal, is_busy, frame_of(outcome))

    def said(self, op: Op | None, value: Any) -> Got:
        """A value as the contract has it: lists for all sequences, our names for ids."""
        value = plain(value)
        if self.adapter.contract.name != "memory" or op is None:
            return Got(value)
        if op.name == "add":
            while isinstance(value, list) and len(value) == 1:
                value = value[0]
            if value is not None and not isinstance(value, list | dict):
                value = self.names.setdefault(value, str(op.args["id"]))
        elif op.name in ("search", "list") and isinstance(value, list):
            value = [
                [self.names.get(each[0], each[0]), *each[1:]] if isinstance(each, list) and each else each
                for each in value
            ]
        return Got(value)


async def settled(running: loop.Loop) -> None:
    """What a cancelled operation has begun comes to its end."""
    import asyncio

    for _ in range(50):
        await asyncio.sleep(0)


def plain(value: Any) -> Any:
    match value:
        case list() | tuple():
            return [plain(each) for each in value]
        case dict():
            return {key: plain(each) for key, each in value.items()}
    return value


def frame_of(error: BaseException) -> str:
    """The innermost function on the way, by file and name, which is the same on every machine."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else ""


__all__ = ["Life", "Step", "Verdict", "is_async", "run"]
