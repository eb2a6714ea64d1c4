"""Module state: what globals of a program's modules hold, so that each run of a search finds the same.

Law 1. No run sees what another one left in a global, such as a ledger that stands for a bank.
Law 2. All objects stay the same objects. Names, containers and instances of classes of the program get back
       what they held; nothing else is known of, such as what a library keeps.
Law 3. Within a run globals survive a death, but for what asyncio made: a lock of a dead process is free.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from umi_sim.targets.clocks import NOT_THEIRS
from umi_sim.targets.threads import PACKAGES

if TYPE_CHECKING:
    from umi_sim.programs.program import Program

SIZE_MAX: Final = 10_000  # elements of a container: a larger one is a table, which no run writes
COUNT_MAX: Final = 100_000  # objects
CONTAINERS: Final = dict, list, set, deque, bytearray
LOOKED_INTO: Final = (*CONTAINERS, tuple, frozenset)
ASYNCIO: Final = "asyncio.locks", "asyncio.queues"
kept: Final[list["ModuleState"]] = []  # of the search in progress, which is last


class ModuleState:
    """What the modules of a program held at one moment. `restores`: by what each is put back."""

    def __init__(self, program: "Program") -> None:
        self.seen: dict[int, Any] = {}
        self.restores: list[Callable[[], None]] = []
        self.of_asyncio: list[Callable[[], None]] = []
        functions = (program.main, program.resume, program.verify, *program.rules)
        waiting = deque[Any](sys.modules.get(find_module(each)) for each in functions if each is not None)
        waiting.extend(functions)
        while waiting and len(self.seen) < COUNT_MAX:
            each = waiting.popleft()
            if id(each) not in self.seen:
                self.seen[id(each)] = each
                waiting.extend(self.note(each))

    def note(self, value: Any) -> Iterable[Any]:
        """Note what a value holds; return what it refers to."""
        if isinstance(value, LOOKED_INTO):
            if len(value) > SIZE_MAX:
                return ()
            if isinstance(value, CONTAINERS):
                self.restores.append(partial(refill, value, copy_of(value)))
            return [*value, *value.values()] if isinstance(value, dict) else tuple(value)
        if isinstance(value, FunctionType):
            given = value.__defaults__, value.__kwdefaults__, value.__closure__, vars(value)
            return (sys.modules.get(value.__module__), *given) if is_theirs(value.__module__) else given
        if isinstance(value, partial | MethodType):
            return (
                (value.func, *value.args) if isinstance(value, partial) else (value.__func__, value.__self__)
            )
        if hasattr(type(value), "cell_contents"):
            return read_cell(value)
        if isinstance(value, ModuleType):
            return self.note_names(value) if is_theirs(value.__name__) else ()
        if isinstance(value, type):
            if not is_theirs(value.__module__):
                return ()
            return [sys.modules.get(value.__module__), *self.note_names(value)]
        if hasattr(type(value), "cache_clear") and is_theirs(getattr(value, "__module__", "")):
            self.restores.append(value.cache_clear)  # of functools
            return ()
        return self.note_instance(value)

    def note_names(self, owner: Any) -> list[Any]:
        """Note the names of a module or a class; return the values."""
        names = {name: value for name, value in vars(owner).items() if not name.startswith("__")}
        self.restores.append(partial(rebind, owner, names))
        return [*names.values()]

    def note_instance(self, value: Any) -> list[Any]:
        """Note the fields of an instance of a class of the program, or of one of asyncio."""
        kind = type(value).__module__
        fields = getattr(value, "__dict__", None)
        if not isinstance(fields, dict) or not (kind in ASYNCIO or is_theirs(kind)):
            return []
        if kind not in ASYNCIO:
            self.restores.append(partial(refill, fields, {**fields}))
            return [*fields.values()]
        queues = [each for each in fields.values() if isinstance(each, CONTAINERS)]
        self.of_asyncio.extend(partial(refill, each, copy_of(each)) for each in (fields, *queues))
        return [each for each in fields.values() if type(each).__module__ in ASYNCIO]

    def restore(self) -> None:
        for each in (*self.restores, *self.of_asyncio):
            each()

    def free_locks(self) -> None:
        """Put back what asyncio made, as in a new process."""
        for each in self.of_asyncio:
            each()


@contextmanager
def same_for_each_run(program: "Program") -> Iterator[None]:
    """Until the block ends, each run begins with the globals as they are now; then they are so again."""
    state = ModuleState(program)
    kept.append(state)
    try:
        yield
    finally:
        kept.remove(state)
        state.restore()


def restore_modules() -> None:
    if kept:
        kept[-1].restore()


def find_module(function: Any) -> str:
    return str(getattr(getattr(function, "func", function), "__module__", ""))


def is_theirs(module: Any) -> bool:
    """Return whether a module of this name is the program's: not of Python, of a package or of umi_sim."""
    name = str(module)
    if name.partition(".")[0] in NOT_THEIRS or name not in sys.modules:
        return name == "__main__"
    file = getattr(sys.modules[name], "__file__", None) or ""
    return not any(each in file for each in PACKAGES)


def read_cell(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not bound yet
        return ()


def copy_of(value: Any) -> Any:
    """Return a plain copy, whatever the class of a container does."""
    match value:
        case dict():
            return dict(value)
        case set():
            return set(value)
        case bytearray():
            return bytes(value)
    return list(value)


def refill(container: Any, held: Any) -> None:
    """Let a container hold again what it held. One that has not changed is left alone."""
    match container:
        case dict():
            if not is_same(container, held):
                dict.clear(container)
                dict.update(container, held)
        case set():
            if set(container) != held:
                set.clear(container)
                set.update(container, held)
        case deque():
            deque.clear(container)
            deque.extend(container, held)
        case list():
            list.__setitem__(container, slice(None), held)
        case _:
            container[:] = held


def is_same(now: dict[Any, Any], held: dict[Any, Any]) -> bool:
    return len(now) == len(held) and all(
        name == before and value is held[before]
        for (name, value), before in zip(now.items(), held, strict=True)
    )


def rebind(owner: Any, names: dict[str, Any]) -> None:
    now = vars(owner)
    for name in [each for each in now if not each.startswith("__") and each not in names]:
        delattr(owner, name)
    for name, value in names.items():
        if now.get(name, rebind) is not value:
            setattr(owner, name, value)
