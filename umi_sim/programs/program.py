"""Programs: what is simulated, and what a program gets of its world.

async def main(run): ...        the program; with or without its run
async def resume(run): ...      goes on with what is left, and has to succeed
async def verify(run): ...      raises if something is missing that was acknowledged; in a new process
"""

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from umi_core.data import Data
from umi_sim.programs.events import EventKind
from umi_sim.programs.perturbations import DELAY_MAX, FailCall, Perturbation
from umi_sim.programs.places import find_caller
from umi_sim.programs.services import BadProgram, make_service
from umi_sim.targets.faults import Killed

if TYPE_CHECKING:
    from umi_sim.programs.rules import ProgramRule

Main = Callable[..., Awaitable[Any]]
STREAM_WAYS: Final = ("refused", "rate_limit", "timeout", "slow", "cut")
CALL_WAYS: Final = ("refused", "rate_limit", "timeout", "reset", "malformed", "slow")
STORE_WAYS: Final = ("refused", "timeout", "slow")
STORE: Final = "store"
STORE_LATENCY_MS: Final = 1


class Program(Data):
    """A program with what judges it. `rules`: those of its own, beside RULES; `without`: names of RULES.

    `library_tasks`: whether tasks that libraries begin are cancelled too, which only they have at hand.
    `reorder`: by how many callbacks one may be delayed; asyncio itself never does that.
    """

    main: Main
    resume: Main | None = None
    verify: Main | None = None
    rules: Sequence["ProgramRule"] = ()
    without: Sequence[str] = ()
    library_tasks: bool = False
    reorder: int = 0

    @property
    def name(self) -> str:
        named = getattr(self.main, "func", self.main)  # of a partial
        return f"{named.__module__.rpartition('.')[2]}:{named.__qualname__}"


class ProgramRun:
    """The world of one run, as a program sees it.

    `state`: what the process keeps in memory, lost when it dies. `history`: the messages so far, lost too.
    `store` and `folder` survive, as do acknowledged values. `life`: the number of the process, from 1.
    """

    def __init__(self, folder: Path, perturbations: Iterable[Perturbation] = ()) -> None:
        self.folder = folder
        self.acknowledged: dict[Any, Any] = {}
        self.life = 0
        self.rows: dict[Any, Any] = {}
        self.fails = {(it.service, it.call): it for it in perturbations if isinstance(it, FailCall)}
        self.calls: Counter[str] = Counter()  # by service, in all processes
        self.ways: dict[str, Sequence[str]] = {}  # in which each service can fail
        self.has_died = False
        self.is_quiet = False  # main has ended: nothing fails any more
        self.effects: list[tuple[Perturbation, str]] = []  # what was applied, and where
        self.refused: BadProgram | None = None  # whatever the program makes of it
        self.watch: Callable[[EventKind, str, str], None] = lambda kind, subject, text: None
        self.begin_process()

    def begin_process(self) -> None:
        self.life += 1
        self.state = SimpleNamespace()
        self.history: Sequence[Any] = []
        self.store = DurableStore(self)
        self.scripts: dict[object, Any] = {}
        self.has_died = False

    def acknowledge(self, key: Any, value: Any = True) -> None:
        """Tell the outside world that something is done: from now on it must survive."""
        self.check_alive()
        self.acknowledged[key] = deepcopy(value)
        self.watch("call", "", f"acknowledged: {key!r}")

    def check_alive(self) -> None:
        """Raises Killed in what still runs of a process that has died."""
        if self.has_died:
            raise Killed

    def begin_call(self, name: str, *, has_stream: bool = False) -> str:
        """Count a call of a service; return how it fails, or "" if it does not."""
        self.check_alive()
        self.calls[name] += 1
        self.ways[name] = STORE_WAYS if name == STORE else STREAM_WAYS if has_stream else CALL_WAYS
        fails = None if self.is_quiet else self.fails.get((name, self.calls[name]))
        if fails is None:
            self.watch("call", "", f"call {self.calls[name]} of {name}")
            return ""
        place = find_caller()
        self.effects.append((fails, f"at {place}" if place else ""))
        self.watch("injection", "", show_effect(*self.effects[-1]))
        return fails.how

    def refuse(self, message: str) -> NoReturn:
        """Raises BadProgram, as the run will do in its end, even if the program catches it."""
        self.refused = self.refused or BadProgram(message)
        raise self.refused


class DurableStore:
    """Keys and values that survive the process, behind a connection that can fail. Values are copied."""

    def __init__(self, run: ProgramRun) -> None:
        self.run = run
        self.get, self.put, self.delete, self.list_keys = (
            make_service(method, STORE, "python", STORE_LATENCY_MS)
            for method in (self.get_now, self.put_now, self.delete_now, self.list_keys_now)
        )

    def get_now(self, key: Any, default: Any = None) -> Any:
        return deepcopy(self.run.rows.get(key, default))

    def put_now(self, key: Any, value: Any) -> None:
        self.check_alive()
        self.run.rows[key] = deepcopy(value)

    def delete_now(self, key: Any) -> None:
        self.check_alive()
        self.run.rows.pop(key, None)

    def list_keys_now(self) -> list[Any]:
        return list(self.run.rows)

    def check_alive(self) -> None:
        """Raises Killed where this is the connection of a process that has died."""
        self.run.check_alive()
        if self.run.store is not self:
            raise Killed


def show_effect(effect: Perturbation, place: str) -> str:
    return f"{effect}; {place}" if place else str(effect)


def check_program(program: Program, perturbations: Iterable[object] = ()) -> None:
    """Check that a program can be run. Raises BadProgram."""
    for name in ("main", "resume", "verify"):
        function = getattr(program, name)
        if function is None:
            continue
        if not inspect.iscoroutinefunction(function):
            raise BadProgram(f"{name}: expected an async function, got {show_function(function)}")
        if more := list_required(function)[takes_run(function) :]:
            raise BadProgram(f"{name}: takes the run or nothing, but {', '.join(more)} has no default")
    for each in perturbations:
        if not isinstance(each, Perturbation):
            raise BadProgram(f"expected perturbations, such as CancelTask(7), got {each!r}")
    if not isinstance(program.rules, list | tuple) or not all(map(callable, program.rules)):
        raise BadProgram(f"rules: expected a list of functions, got {program.rules!r}")
    if type(program.reorder) is not int or not 0 <= program.reorder <= DELAY_MAX:
        raise BadProgram(f"reorder: expected a whole number from 0 to {DELAY_MAX}, got {program.reorder!r}")


def show_function(function: object) -> str:
    """Return what stands in the place of an async function."""
    if inspect.isasyncgenfunction(function):
        return f"{function.__name__}, a generator: it yields"
    if inspect.isfunction(function):
        return f"{function.__name__}, which is not async"
    return repr(function)


def list_required(function: Main) -> list[str]:
    """Return the parameters without a default, first those that are given by position."""
    of = inspect.Parameter
    kinds = (of.POSITIONAL_ONLY, of.POSITIONAL_OR_KEYWORD), (of.KEYWORD_ONLY,)
    taken = inspect.signature(function).parameters.values()
    return [it.name for kind in kinds for it in taken if it.kind in kind and it.default is it.empty]


async def begin(function: Main, run: ProgramRun) -> Any:
    """Call main, resume or verify: with the run if it takes one."""
    return await (function(run) if takes_run(function) else function())


def takes_run(function: Main) -> bool:
    return any(
        it.default is it.empty and it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)
        for it in inspect.signature(function).parameters.values()
    )
