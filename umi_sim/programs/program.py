"""Programs: the coroutines that are simulated, and the object through which they see their world.

async def main(run): ...        the program; the parameter may be left out
async def resume(run): ...      continues after main has ended, without faults; it must succeed
async def verify(run): ...      runs in a new process; raises if anything acknowledged is missing
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
STREAM_FAILURES: Final = ("refused", "rate_limit", "timeout", "slow", "cut")
CALL_FAILURES: Final = ("refused", "rate_limit", "timeout", "reset", "malformed", "slow")
STORE_FAILURES: Final = ("refused", "timeout", "slow")
STORE: Final = "store"
STORE_LATENCY_MS: Final = 1


class Program(Data):
    """A program and the options of its runs. main, resume and verify are async functions.

    `rules`: its own rules, added to RULES. `without`: names of RULES that are not checked.
    `library_tasks`: also cancel tasks that libraries create; the program has no reference to these.
    `reorder`: the most places by which a callback may be delayed (0 to 8); asyncio itself never reorders.
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
        named = getattr(self.main, "func", self.main)  # the function of a functools.partial
        return f"{named.__module__.rpartition('.')[2]}:{named.__qualname__}"


class ProgramRun:
    """The world of one run, as the program sees it. main, resume and verify may take it as their argument.

    `state`: a namespace for the memory of the process. `history`: the messages so far, set by the program for
    the rule settles_calls. Both are lost when the process dies. `store` (keys and values), `folder` (files)
    and acknowledged values survive. `life`: the number of the current process, from 1.
    """

    def __init__(self, folder: Path, perturbations: Iterable[Perturbation] = ()) -> None:
        self.folder = folder
        self.acknowledged: dict[Any, Any] = {}
        self.life = 0
        self.rows: dict[Any, Any] = {}
        self.fails = {(it.service, it.call): it for it in perturbations if isinstance(it, FailCall)}
        self.calls: Counter[str] = Counter()  # per service, over all processes
        self.failures: dict[str, Sequence[str]] = {}  # the failures that each service can have
        self.has_died = False
        self.is_quiet = False  # main has ended: no more calls fail
        self.effects: list[tuple[Perturbation, str]] = []  # each applied perturbation, and the place
        self.refused: BadProgram | None = None  # raised at the end of the run, even if the program catches it
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
        """Record that the outside world was told of this value: verify must find it in a new process."""
        self.check_alive()
        self.acknowledged[key] = deepcopy(value)
        self.watch("call", "", f"acknowledged: {key!r}")

    def check_alive(self) -> None:
        """Raises Killed in code of a dead process that still runs, such as a `finally` block."""
        if self.has_died:
            raise Killed

    def begin_call(self, name: str, *, has_stream: bool = False) -> str:
        """Count a call of a service. Return the way in which it fails, or "" if it succeeds."""
        self.check_alive()
        self.calls[name] += 1
        self.failures[name] = (
            STORE_FAILURES if name == STORE else STREAM_FAILURES if has_stream else CALL_FAILURES
        )
        fails = None if self.is_quiet else self.fails.get((name, self.calls[name]))
        if fails is None:
            self.watch("call", "", f"call {self.calls[name]} of {name}")
            return ""
        place = find_caller()
        self.effects.append((fails, f"at {place}" if place else ""))
        self.watch("injection", "", show_effect(*self.effects[-1]))
        return fails.how

    def refuse(self, message: str) -> NoReturn:
        """Raises BadProgram. If the program catches it, the run raises it again at its end."""
        self.refused = self.refused or BadProgram(message)
        raise self.refused


class DurableStore:
    """Keys and values that survive the process, copied at each access. Its operations can fail."""

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
        """Raises Killed if this is the connection of a process that has died."""
        self.run.check_alive()
        if self.run.store is not self:
            raise Killed


def show_effect(effect: Perturbation, place: str) -> str:
    return f"{effect}; {place}" if place else str(effect)


def check_program(program: Program, perturbations: Iterable[object] = ()) -> None:
    """Check a program and its perturbations. Raises BadProgram."""
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
    """Return the description, in an error message, of an object that is no async function."""
    if inspect.isasyncgenfunction(function):
        return f"{function.__name__}, a generator: it yields"
    if inspect.isfunction(function):
        return f"{function.__name__}, which is not async"
    return repr(function)


def list_required(function: Main) -> list[str]:
    """Return the parameters without a default, positional ones first."""
    of = inspect.Parameter
    kinds = (of.POSITIONAL_ONLY, of.POSITIONAL_OR_KEYWORD), (of.KEYWORD_ONLY,)
    taken = inspect.signature(function).parameters.values()
    return [it.name for kind in kinds for it in taken if it.kind in kind and it.default is it.empty]


async def begin(function: Main, run: ProgramRun) -> Any:
    """Call main, resume or verify, with the run as its argument if the function takes one."""
    return await (function(run) if takes_run(function) else function())


def takes_run(function: Main) -> bool:
    return any(
        it.default is it.empty and it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)
        for it in inspect.signature(function).parameters.values()
    )
