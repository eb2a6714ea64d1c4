"""One run: makes a store, applies the items to it, and judges each answer.

Law 1. A run follows from its items and its seed alone (world.py); its verdict follows from the contract.
Law 2. Only the class that the user has named is run. Items hold values and names of operations, no code.
"""

import inspect
import traceback
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.kernel.child_process import ProcessBroken
from umi_sim.kernel.wording import show_value
from umi_sim.runs.time_limit import OutOfTime, computing_at_most, ticking
from umi_sim.targets.adapter import Adapter, BadAdapter, flags_of, ops_of
from umi_sim.targets.checker import NOT_ASKED, BrokenContract, Checker, Got, TooMany
from umi_sim.targets.clocks import NOT_THEIRS
from umi_sim.targets.items import ContractOp, Item, join_shown
from umi_sim.targets.loop import OutOfReach, Stuck
from umi_sim.targets.names import NotAsked
from umi_sim.targets.promises import list_tried
from umi_sim.targets.threads import find_own_threads
from umi_sim.targets.values import MISSING
from umi_sim.targets.world import (
    COMPUTING_SECONDS_MAX,
    ENDLESS,
    RESTARTS,
    NotOpened,
    TargetWorld,
    WrongShape,
    world_of,
)

MAY_MISS: Final = ("get", "pop", "delete", "touch", "incr", "update", "ttl", "history", "state")
HERE: Final = Path(__file__).parent
PERSON: Final = b"umi-target-1"
CUT_OFF: Final = {"Killed": "crash-split", "CancelledError": "cancel-split"}  # error: promise

PAIRS: Final = "a list of pairs"
SHAPES: Final[Mapping[str, str]] = {  # the types of results; any other is a mistake in the adapter
    "keys": "a list", "sessions": "a list", "items": PAIRS, "list": f"{PAIRS} of id and text",
    "search": f"{PAIRS} of id and text", "count": "a number",
}  # fmt: skip


class TargetStep(Data):
    """An item with the replies of its operations, as in a seed file, and details that only a run has.

    `paused_at`: the lines of the store where jobs paused. `times_ms`: the time before the item and, if it is
    a different one, after it.
    """

    uncompared = ("gots", "paused_at", "times_ms")

    item: Item
    replies: tuple[str, ...] = ()
    gots: tuple[Got, ...] = ()
    paused_at: tuple[str, ...] = ()
    times_ms: tuple[int, ...] = ()

    @property
    def told(self) -> str:
        return join_shown(self.replies) or "done"


class JobCounts(Data):
    """Counts of executor jobs, and of their pauses.

    `whole_count`: jobs that had no point to pause at while another job could have run.
    """

    count: int = 0
    pause_count: int = 0
    whole_count: int = 0

    def __add__(self, other: "JobCounts") -> "JobCounts":
        return JobCounts(*map(sum, zip(structs.astuple(self), structs.astuple(other), strict=True)))


NO_JOBS: Final = JobCounts()


class KnownMet(Data):
    """A known divergence that a run has shown: its address, the broken rule, and the items up to it."""

    uncompared = ("items", "seed", "promise")

    address: str
    rule: str
    anomaly: str = ""
    items: tuple[Item, ...] = ()
    seed: int = 0
    promise: str = ""  # the broken promise; only set by a hunt with `to_end`


class TargetVerdict(Data):
    """The result of a run. `ended_at`: the index of its last item. `known`: known divergences that it showed.

    `reached`: by operation and site, the most times that one call reached it. `tried`: promises that the run
    could have broken. `died_at`: sites at which the process died within an operation.
    """

    items: tuple[Item, ...]
    steps: tuple[TargetStep, ...]
    trace: str
    broken: BrokenContract | None = None
    ended_at: int = 0
    known: tuple[KnownMet, ...] = ()
    reached: Mapping[tuple[str, str], int] = {}
    jobs: JobCounts = NO_JOBS
    threads: tuple[str, ...] = ()  # operations that started a thread
    inferred: tuple[tuple[str, object], ...] = ()  # flags inferred from answers, with their values
    seed: int = 0  # the seed of Python's random generators
    tried: tuple[str, ...] = ()
    died_at: tuple[str, ...] = ()


def run(
    adapter: type[Adapter], items: Sequence[Item], seed: int = 0, seconds: float = COMPUTING_SECONDS_MAX
) -> TargetVerdict:
    """Run these items and judge them. `seed`: of Python's random generators. Raises BadAdapter.

    `seconds`: how long each item may compute. Known divergences do not end the run: it continues from the
    state that explains them, or starts again without the item that showed one.
    """
    left, known, jobs = tuple(items), list[KnownMet](), NO_JOBS
    while True:
        with ticking(), world_of(adapter, seed) as world:
            life = TargetRun(adapter, world, seconds)
            try:
                verdict = life.live(left)
            except OutOfReach as error:
                raise life.out_of_reach(f"{error}, which") from None
            except OutOfTime:
                verdict = life.hung(left, ENDLESS)
        known += verdict.known
        jobs += verdict.jobs
        met = find_known(adapter, verdict.broken)
        if met is None or not left:
            known_once = tuple(structs.replace(it, seed=seed) for it in dict.fromkeys(known))
            return structs.replace(verdict, known=known_once, jobs=jobs, seed=seed)
        known.append(structs.replace(met, items=left[: verdict.ended_at + 1]))
        left = (*left[: verdict.ended_at], *left[verdict.ended_at + 1 :])


def find_known(adapter: type[Adapter], broken: BrokenContract | None) -> KnownMet | None:
    """Return the known divergence that covers a broken promise, or None.

    On a read it counts as rule `answer`, whichever suspected state explained it, unless its own rule is set.
    """
    for each in adapter.known if broken else ():
        if broken and each.covers(broken.rule, broken.op, broken.message):
            is_read = broken.op in adapter.contract.reads
            rule = each.rule or ("answer" if is_read else broken.rule)
            return KnownMet(each.address, rule, broken.anomaly if rule == broken.rule else "")
    return None


class TargetRun:
    """A run in progress."""

    def __init__(
        self, adapter: type[Adapter], world: TargetWorld, seconds: float = COMPUTING_SECONDS_MAX
    ) -> None:
        self.adapter, self.world, self.seconds = adapter, world, seconds
        self.checker = Checker(adapter.contract, flags_of(adapter), ops_of(adapter))
        self.known: list[KnownMet] = []
        self.steps: list[TargetStep] = []
        self.at = 0  # the index of the current item
        self.threaded: dict[str, None] = {}  # operations that started a thread
        self.has_cancelled = False  # whether a request of this process was cancelled
        self.tried: dict[str, None] = {}  # promises that an item could have broken

    def live(self, items: Sequence[Item]) -> TargetVerdict:
        try:
            with computing_at_most(self.seconds):
                self.begin()
            if find_own_threads(self.world.loop):
                self.threaded["make"] = None
            for self.at, item in enumerate(items):
                if (broken := self.happen(item)) is not None:
                    return self.verdict(items, broken)
        except TooMany:
            pass
        except NotOpened as error:
            return self.end_early(items, self.describe_error(error.name, self.got_of(error.error)))
        except Stuck as stuck:
            if more := find_own_threads(self.world.loop):
                raise self.out_of_reach(f"waits for its thread {more[0].name}, which") from None
            return self.hung(items, str(stuck))
        return self.verdict(items)

    def begin(self) -> None:
        """Open the store. Raises BadAdapter if that fails, but NotOpened for a store in another process."""
        try:
            self.world.begin()
        except NotOpened as error:
            if not isinstance(error.error, ProcessBroken):
                frame, cause = frame_of(error.error), error.error
                where = f" ({Path(frame.filename).name}, line {frame.lineno})" if frame else ""
                message = f"raised {type(cause).__name__}: {cause}{where}"
                raise BadAdapter(f"{self.adapter.__name__}.{error.name}: {message}") from None
            raise

    def happen(self, item: Item) -> BrokenContract | None:
        thread_count = len(self.world.loop.own_threads)
        with computing_at_most(self.seconds):
            answers = self.world.happen(*item.call)
        if len(self.world.loop.own_threads) > thread_count:
            self.threaded |= dict.fromkeys(op.name for op in item.ops)
        gots = [self.got_of(each, op) for op, each in zip(item.ops, answers, strict=True)]
        gots = [self.show_version(op, got) for op, got in zip(item.ops, gots, strict=True)]
        is_quiet = item.kind == "op" and not self.world.has_failed
        for op, got in zip(item.ops, gots, strict=True):
            if not got.error and (is_quiet or isinstance(got.value, dict)):
                self.check_shape(op, got.value)
        torn = self.world.sites.told
        gots = [
            structs.replace(got, torn=torn, is_unknown=self.is_unknown(item, place, got))
            for place, got in enumerate(gots)
        ]
        paused_at, times_ms = tuple(self.world.loop.paused_at), tuple(self.world.times_ms)
        self.steps.append(TargetStep(item, tuple(map(str, gots)), tuple(gots), paused_at, times_ms))
        for name, others in self.world.names.take_guesses():
            self.checker.take_name(name, others)
        is_cancelled = item.kind == "cancel" and gots[0].is_unknown
        self.has_cancelled |= is_cancelled
        is_plain = item.kind in ("fail", "cancel") and not (is_cancelled or self.world.has_failed)
        done = structs.replace(item, kind="op") if is_plain else item
        self.tried |= dict.fromkeys(list_tried(self.adapter, done))
        broken = self.judge(item, gots)
        if (met := find_known(self.adapter, broken)) is not None and self.checker.accept(item.ops):
            self.known.append(structs.replace(met, items=tuple(step.item for step in self.steps)))
            broken = None
        if broken is None and item.kind in RESTARTS:
            with computing_at_most(self.seconds):
                self.world.restart(item.kind)
            self.has_cancelled = False
            self.checker.take_reopening(self.adapter.durable)
        return broken or self.check_own() or self.find_removed()

    def find_removed(self) -> BrokenContract | None:
        """Return the broken promise if the store `erases` and one of its files contains a removed value."""
        removed = self.checker.removed if self.adapter.erases else {}
        for path in sorted(self.world.folder.rglob("*")) if removed else ():
            data = path.read_bytes() if path.is_file() else b""
            for value, name in removed.items():
                if value.encode() in data:
                    where = path.relative_to(self.world.folder)
                    got = f"{where} still has {show_value(value)}"
                    return BrokenContract("erased", name, got, "no file has what was removed")
        return None

    def check_own(self) -> BrokenContract | None:
        """Return the broken promise if `check` of the adapter raises."""
        with computing_at_most(self.seconds):
            error = self.world.check()
        if error is None:
            return None
        got = self.got_of(error)
        return BrokenContract("invariant", "check", str(got), "", got.error, got.frame)

    def judge(self, item: Item, gots: Sequence[Got]) -> BrokenContract | None:
        times_ms, has_failed = self.world.times_ms, self.world.has_failed
        for op, got in zip(item.ops, gots, strict=True):
            if got.error and not (got.is_refusal or has_failed or got.is_unknown):
                return self.describe_error(op.name, got)
        if item.kind == "at_once" or (item.kind == "cancel" and len(item.ops) > 1):
            return self.checker.at_once(item.ops, gots, times_ms)
        if item.kind == "paged":
            return self.checker.take_pages(item.ops, gots, times_ms)
        for op, got in zip(item.ops, gots, strict=True):
            if got.is_unknown:
                lost = "batch-split" if self.adapter.contract.is_batch(op) else "error-applied"
                self.checker.take_cut_off(op, times_ms, CUT_OFF.get(got.error, lost))
            elif has_failed and got.error:
                self.checker.take_failure(op, times_ms)
            else:
                broken = self.checker.take_answer(op, got, times_ms, "done-lost" if has_failed else "")
                if broken is not None:
                    return broken
        return None

    def is_unknown(self, item: Item, place: int, got: Got) -> bool:
        """Return whether it is unknown if the operation was applied: it was cut off, or its response lost."""
        has_failed = self.world.has_failed
        is_cut = item.kind == ("crash_in" if has_failed else "cancel") and got.error in CUT_OFF and not place
        return is_cut or (bool(got.error) and has_failed and item.site == "response")

    def describe_error(self, name: str, got: Got) -> BrokenContract:
        """Return the promise that a method has broken by raising an error."""
        if got.error == "CancelledError" and self.has_cancelled:
            message = "raised CancelledError, and it was another request that was cancelled"
            return BrokenContract("cancel-spread", name, message, "", got.error)
        rule = "process" if got.error == "ProcessBroken" else "raises"
        return BrokenContract(
            rule, name, got.text if rule == "process" else str(got), "", got.error, got.frame
        )

    # Verdicts.

    def out_of_reach(self, what: str) -> BadAdapter:
        message = "is out of reach: what it does follows from no seed"
        return BadAdapter(f"{self.adapter.__name__}: {what} {message}")

    def hung(self, items: Sequence[Item], message: str) -> TargetVerdict:
        names = sorted(op.name for item in items[self.at : self.at + 1] for op in item.ops)
        return self.end_early(items, BrokenContract("hang", "+".join(names), message))

    def end_early(self, items: Sequence[Item], broken: BrokenContract) -> TargetVerdict:
        """Return the verdict of a run that ends in the middle of an item, or in the restart after it."""
        for step in self.steps[self.at :] or map(TargetStep, items[self.at : self.at + 1]):
            before = step.replies if self.world.sites.told else ()  # with the bytes written
            self.steps[self.at :] = [structs.replace(step, replies=(*before, broken.message))]
        return self.verdict(items, broken)

    def verdict(self, items: Sequence[Item], broken: BrokenContract | None = None) -> TargetVerdict:
        digest = blake2b(digest_size=16, person=PERSON)
        for step in self.steps:
            digest.update(f"{step.item}\n{step.told}\n".encode(errors="surrogatepass"))
        loop = self.world.loop
        cut = [step.item for step in self.steps if [got.error for got in step.gots] == ["Killed"]]
        jobs = JobCounts(loop.job_count, loop.pause_count, loop.whole_count)
        return TargetVerdict(
            tuple(items), tuple(self.steps), digest.hexdigest(), broken, self.at, tuple(self.known),
            self.world.reached, jobs, tuple(self.threaded),
            self.checker.infer_flags(flags_of(self.adapter), ops_of(self.adapter)), tried=tuple(self.tried),
            died_at=tuple(dict.fromkeys(item.site for item in cut)),
        )  # fmt: skip

    def got_of(self, outcome: Any, op: ContractOp | None = None) -> Got:
        """Return the answer of a call. `op`: None for make, close and check, which may refuse nothing."""
        if not isinstance(outcome, BaseException):
            if op is not None and inspect.isawaitable(outcome[0]):
                if inspect.iscoroutine(outcome[0]):
                    outcome[0].close()  # else Python warns that it was never awaited
                message = f"returned a {type(outcome[0]).__name__}: is an `await` missing?"
                raise BadAdapter(f"{self.adapter.__name__}.{op.name}: {message}")
            return Got(outcome[0])
        if isinstance(outcome, WrongShape) and op is not None:
            raise BadAdapter(f"{self.adapter.__name__}.{op.name}: {outcome}")
        if isinstance(outcome, LookupError) and op is not None and op.name in MAY_MISS:
            return Got(MISSING, seen=f"raised {self.hide_folder(repr(outcome))}, taken for: not there")
        if isinstance(outcome, NotAsked):
            return Got(None, NOT_ASKED, str(outcome), is_refusal=True, is_busy=True)
        is_busy = isinstance(outcome, self.adapter.busy) and op is not None
        refuses = self.adapter.refuses + (self.adapter.stale if op and op.name == "append" else ())
        is_refusal = is_busy or (isinstance(outcome, refuses) and op is not None)
        text = self.hide_folder(show_value(str(outcome)))
        frame = frame_of(outcome)
        where = f"{Path(frame.filename).name}:{frame.name}" if frame else ""  # no folder
        return Got(None, type(outcome).__name__, text, is_refusal, is_busy, where)

    def show_version(self, op: ContractOp, got: Got) -> Got:
        """Return the answer of `version` so that it shows also the value that the store returned."""
        if op.name != "version" or got.error:
            return got
        own = self.hide_folder(show_value(self.world.names.versions[str(op.args["version"])]))
        return structs.replace(got, seen=f"{show_value(got.value)}, which is {own}")

    def check_shape(self, op: ContractOp, value: object) -> None:
        """Check the type of a result. Raises BadAdapter."""
        expected = SHAPES.get(op.name, "")
        fits = not expected or isinstance(value, int if op.name == "count" else list)
        if isinstance(value, list) and expected.startswith(PAIRS):
            fits = all(isinstance(row, list) and len(row) == 2 for row in value)
        if op.name == "add" and self.adapter.contract.name == "memory":
            takes_id = "id" in ops_of(self.adapter)["add"]
            may_be_none = takes_id or flags_of(self.adapter).get("dedupes")
            fits, expected = value is not None or bool(may_be_none), "the id that the store made"
        if not fits:
            message = f"returns {show_value(value)}, expected {expected}"
            raise BadAdapter(f"{self.adapter.__name__}.{op.name}: {message}")

    def hide_folder(self, text: str) -> str:
        """Replace the path of the run's folder, which differs in each run, by FOLDER."""
        return text.replace(str(self.world.base), "FOLDER")


def frame_of(error: BaseException) -> traceback.FrameSummary | None:
    """Return the innermost frame of a traceback outside this package, and outside Python if there is one."""
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    pairs = [*zip(traceback.extract_tb(error.__traceback__), modules, strict=True)]
    frames = [it for it, _ in pairs if Path(it.filename).parent != HERE]
    own = [it for it, module in pairs if module.partition(".")[0] not in NOT_THEIRS]
    return next(reversed(own or frames), None)
