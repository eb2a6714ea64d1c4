"""Module state: resets the globals of a program's modules for each run, and for each new process.

    CHARGES = []            # a service appends to it: it stands for a bank, and survives a death
    CACHE = {}              # only main uses it: it is empty again in a new process

Law 1. No run of a search sees values that another run left in a global.
Law 2. Objects that services, `verify` and rules use are outside of the process. All others are its memory,
       which is lost when it dies. What a nested main, resume, verify or rule closes over is reset between
       runs, but not by a death.
Law 3. Objects keep their identity: the values of names, containers, fields of instances and caches of
       functools are put back in place. Modules of installed packages are not reset.
Law 4. `list_limits` names what is not reset: large containers, and what lies beyond COUNT_MAX objects.
"""

import gc
import os
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import CellType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from umi_core.data import Owner
from umi_sim.kernel.wording import plural
from umi_sim.programs.services import Service, find_function
from umi_sim.targets.clocks import NOT_THEIRS
from umi_sim.targets.threads import PACKAGES

if TYPE_CHECKING:
    from umi_sim.programs.program import Program

SIZE_MAX: Final = 10_000  # elements; a larger container is taken for a constant table
COUNT_MAX: Final = 100_000  # objects
SHOWN_MAX: Final = 3  # large containers that a report names
CONTAINERS: Final = dict, list, set, deque, bytearray
ASYNCIO: Final = "asyncio.locks", "asyncio.queues"
STANDARD: Final = "types", "argparse", "contextlib", "queue", "unittest.mock"
TESTING: Final = "hypothesis", "xdist", "coverage"  # not reset, since they run the test
EMPTY: Final = object()  # the value of an unset slot
kept: Final[list["ModuleState"]] = []  # the searches in progress; the current one is last


class HeldState(Owner):
    """The saved contents of one object. `put_back`: restores them, except for the given names."""

    owner: Any
    put_back: Callable[[frozenset[str]], None]
    is_of_asyncio: bool = False


class ModuleState:
    """The saved contents of the modules of a program. `seen`: all objects that were reached, by `id`.

    `outside`: the objects among them that are outside of the process (law 2), by `id`. `outside_names`:
    the global names that are outside, by the `id` of their module.
    """

    def __init__(self, program: "Program") -> None:
        self.seen: dict[int, Any] = {}
        self.held: list[HeldState] = []
        self.large: dict[int, str] = {}  # names of large containers, by `id`
        self.is_cut = False  # whether objects beyond COUNT_MAX were left out
        self.modules, self.folder = frozenset(sys.modules), find_folder(find_module(program.main))
        functions = [it for it in (program.main, program.resume, program.verify, *program.rules) if it]
        functions += [find_function(it) for it in functions]
        self.walk([*(find_module(it) for it in functions), *functions], self.seen, self.note)
        self.outside: dict[int, Any] = {}
        self.outside_names: dict[int, set[str]] = {}
        judges = [program.verify, *program.rules]
        self.note_used([*filter(is_service, self.seen.values()), *(it for it in judges if it)])
        self.walk(filter(has_services, self.seen.values()), self.outside, list_parts)
        local = [it for it in functions if "<locals>" in getattr(it, "__qualname__", "")]
        self.walk(local, self.outside, list_closed)

    def walk(self, roots: Iterable[Any], seen: dict[int, Any], note: Callable[[Any], Iterable[Any]]) -> None:
        """Call `note` once for each object that can be reached; it returns the objects to visit next."""
        waiting = deque(roots)
        while waiting and len(seen) < COUNT_MAX:
            each = waiting.popleft()
            if id(each) not in seen:
                seen[id(each)] = each
                waiting.extend(note(each))
        self.is_cut |= bool(waiting)

    def list_limits(self) -> Sequence[str]:
        """Return what is not reset, for a report."""
        names = [*self.large.values()]
        more = plural(len(names) - SHOWN_MAX, "other large container") if names[SHOWN_MAX:] else ""
        beyond = f"objects beyond the first {COUNT_MAX:,}" if self.is_cut else ""
        return [*names[:SHOWN_MAX], *filter(None, (more, beyond))]

    # Saving.

    def note(self, value: Any) -> Iterable[Any]:
        """Save the contents of a value. Return the objects that it refers to."""
        if is_a(value, FunctionType):
            given = value.__defaults__, value.__kwdefaults__, *(value.__closure__ or ())
            return [find_module(value), *given, *vars(value).values()]
        if is_a(value, CellType):
            return self.note_cell(value)
        if is_a(value, ModuleType):
            return self.note_names(value) if is_theirs(value.__name__) else ()
        if is_a(value, type):
            return [find_module(value), *self.note_names(value)] if is_theirs(value.__module__) else ()
        if hasattr(type(value), "cache_clear") and is_theirs(getattr(value, "__module__", "")):
            self.held.append(HeldState(value, lambda _: value.cache_clear()))  # a cache of functools
            return [value.__wrapped__]
        self.note_contents(value)
        return list_parts(value)

    def note_names(self, owner: Any) -> list[Any]:
        """Save the names of a module or a class. Return their values."""
        names = {name: value for name, value in vars(owner).items() if not name.startswith("__")}
        self.held.append(HeldState(owner, partial(rebind, owner, names)))
        self.name_large(owner.__name__, names)
        return [*names.values()]

    def name_large(self, owner: str, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if is_container(value) and len(value) > SIZE_MAX:
                self.note_large(value, f"{owner}.{name}")

    def note_large(self, value: Any, name: str) -> None:
        self.large.setdefault(id(value), f"{name} ({len(value):,} elements)")

    def note_cell(self, cell: Any) -> tuple[Any, ...]:
        found = read_cell(cell)
        if found:
            self.held.append(HeldState(cell, lambda _: setattr(cell, "cell_contents", found[0])))
        return found

    def note_contents(self, value: Any) -> None:
        """Save the contents of a container, of an instance with fields or slots, or of a lock of asyncio."""
        if is_container(value) and len(value) <= SIZE_MAX:
            self.held.append(HeldState(value, partial(refill, value, copy_of(value))))
        elif is_container(value):
            self.note_large(value, f"a {type(value).__name__}")
        fields, slots = fields_of(value), slots_of(value)
        if fields is None and not slots:
            return
        self.name_large(type(value).__name__, fields or {})
        is_of_asyncio = type(value).__module__ in ASYNCIO
        if fields is not None:
            self.held.append(HeldState(value, partial(refill, fields, {**fields}), is_of_asyncio))
        if slots:
            before = [(slot, read_slot(slot, value)) for slot in slots]
            self.held.append(HeldState(value, partial(refill_slots, value, before)))
        for each in filter(is_container, (fields or {}).values()) if is_of_asyncio else ():
            self.seen[id(each)] = each
            self.held.append(HeldState(each, partial(refill, each, copy_of(each)), is_of_asyncio))

    # Finding the objects outside of the process.

    def note_used(self, functions: Sequence[Any]) -> None:
        """Mark the globals that these functions use as outside, with those of the functions they call."""
        waiting, known = [*map(find_function, functions)], dict[int, Any]()
        while waiting:
            each = waiting.pop()
            if id(each) in known or not is_a(each, FunctionType) or not is_theirs(each.__module__):
                continue
            known[id(each)] = each
            found = [*self.list_used(each.__globals__, {*list_names(each.__code__)})]
            found += [it for cell in each.__closure__ or () for it in read_cell(cell)]
            self.walk(
                [it for it in found if not is_a(it, (FunctionType, ModuleType))], self.outside, list_parts
            )
            waiting += [find_function(it) for it in found if is_a(it, (FunctionType, MethodType, partial))]
            kinds = [it if is_a(it, type) else type(it) for it in found]
            waiting += [
                find_function(it)
                for kind in kinds
                if is_theirs(kind.__module__)
                for it in vars(kind).values()
                if is_a(it, FunctionType)
            ]

    def list_used(self, names: Mapping[str, Any], used: set[str]) -> Iterator[Any]:
        """Mark the used names as outside, and yield their values."""
        home = sys.modules.get(str(names.get("__name__")))
        for name in sorted(used & {*names}):
            value = names[name]
            self.outside_names.setdefault(id(home), set()).add(name)
            if is_a(value, ModuleType) and is_theirs(value.__name__) and vars(value) is not names:
                yield from self.list_used(vars(value), used)
            yield value

    # Restoring.

    def restore(self) -> None:
        """Restore all saved contents, for another run."""
        self.forget_imports()
        for each in self.held:
            each.put_back(frozenset())

    def forget_imports(self) -> None:
        """Remove the modules that a run has imported, so that the next run executes their code again."""
        for name in [each for each in sys.modules if each not in self.modules]:
            if self.folder and is_theirs(name) and find_folder(sys.modules[name]).startswith(self.folder):
                del sys.modules[name]

    def list_contents(self) -> list[Any]:
        """Return what the saved objects refer to now."""
        parts = gc.get_referents(*(each.owner for each in self.held))
        return parts + gc.get_referents(*(each for each in parts if type(each) is dict))

    def begin_process(self) -> None:
        """Restore the memory of a process after its death. Locks of asyncio are always part of it."""
        self.forget_imports()
        for each in self.held:
            if each.is_of_asyncio or id(each.owner) not in self.outside:
                each.put_back(frozenset(self.outside_names.get(id(each.owner), ())))


@contextmanager
def same_for_each_run(program: "Program") -> Iterator[ModuleState]:
    """Begin each run in the block with the globals of this moment, and restore them at its end."""
    state = ModuleState(program)
    kept.append(state)
    try:
        yield state
    finally:
        kept.remove(state)
        state.restore()


def find_state(program: "Program") -> ModuleState:
    """Return the module state that a run begins with, restored if a search is in progress."""
    if not kept:
        return ModuleState(program)
    kept[-1].restore()
    return kept[-1]


# Objects. Use `type`, not `isinstance`: a lazy proxy would load its target when asked for `__class__`.


def is_a(value: Any, kinds: Any) -> bool:
    return issubclass(type(value), kinds)


def is_container(value: Any) -> bool:
    return is_a(value, CONTAINERS)


def is_service(value: Any) -> bool:
    return is_a(value, FunctionType) and isinstance(vars(value).get("is_made_by"), Service)


def has_services(value: Any) -> bool:
    """Return whether a value is an instance of a class with methods that are services."""
    return is_theirs(type(value).__module__) and any(map(is_service, vars(type(value)).values()))


def find_module(value: Any) -> Any:
    """Return the module of a function or a class; None if the module is not one of the program."""
    name = getattr(find_function(value), "__module__", "")
    return sys.modules.get(str(name)) if is_theirs(name) else None


def find_folder(module: Any) -> str:
    file = getattr(module, "__file__", None)
    return os.path.dirname(os.path.abspath(file)) if file else ""


def is_theirs(module: Any) -> bool:
    """Return whether this module belongs to the program, not to Python, a package or umi_sim."""
    name = str(module)
    if name.partition(".")[0] in NOT_THEIRS or name not in sys.modules:
        return name == "__main__"
    file = getattr(sys.modules[name], "__file__", None) or ""
    return not any(each in file for each in PACKAGES)


def fields_of(value: Any) -> dict[str, Any] | None:
    """Return the fields of an instance that is reset; None if it has none, or is not reset."""
    fields = getattr(value, "__dict__", None) if has_state(value) else None
    return fields if is_a(fields, dict) else None


def slots_of(value: Any) -> list[Any]:
    kinds = [kind for kind in type(value).__mro__ if "__slots__" in vars(kind)] if has_state(value) else []
    return [slot for kind in kinds for slot in vars(kind).values() if is_a(slot, MemberDescriptorType)]


def has_state(value: Any) -> bool:
    """Return whether instances of this class are reset: the program's own, clients of packages, mocks."""
    module = type(value).__module__
    top = str(module).partition(".")[0]
    if module in (*ASYNCIO, *STANDARD) or is_theirs(module):
        return True
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top not in NOT_THEIRS and top not in TESTING and any(each in file for each in PACKAGES)


def read_slot(slot: Any, value: Any) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:
        return EMPTY


def refill_slots(value: Any, before: Sequence[tuple[Any, Any]], _: frozenset[str] = frozenset()) -> None:
    for slot, held in before:
        if read_slot(slot, value) is held:
            continue
        if held is EMPTY:
            slot.__delete__(value)
        else:
            slot.__set__(value, held)


def list_closed(value: Any) -> Sequence[Any]:
    """Return the parts of a value that can change; of a function, what it closes over."""
    if is_a(value, FunctionType):
        return value.__closure__ or ()
    return read_cell(value) if is_a(value, CellType) else list_parts(value)


def list_parts(value: Any) -> list[Any]:
    """Return the parts of a value that can change."""
    if is_a(value, partial):
        return [value.func, *value.args]
    if is_a(value, MethodType):
        return [value.__func__, value.__self__]
    if is_a(value, type):
        named = vars(value).items() if is_theirs(value.__module__) else ()
        return [it for name, it in named if not name.startswith("__") and not is_a(it, FunctionType)]
    fields = [*(fields_of(value) or {}).values(), *(read_slot(slot, value) for slot in slots_of(value))]
    if not is_a(value, (*CONTAINERS, tuple, frozenset)) or len(value) > SIZE_MAX:
        return fields
    return [*fields, *value, *(value.values() if is_a(value, dict) else ())]


def list_names(code: CodeType) -> Iterator[str]:
    """Yield the global names and attributes that code uses, nested functions included."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from list_names(each)


def read_cell(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def copy_of(value: Any) -> Any:
    """Return a copy as a plain type; a method that a subclass overrides is not called."""
    match value:
        case dict():
            return dict(items_of(value))
        case set():
            return set(value)
        case bytearray():
            return bytes(value)
    return list(value)


def refill(container: Any, held: Any, _: frozenset[str] = frozenset()) -> None:
    """Restore the elements of a container in place."""
    match container:
        case dict():
            if not is_same(container, held):
                kind: Any = OrderedDict if is_a(container, OrderedDict) else dict
                kind.clear(container)
                for name, value in held.items():
                    kind.__setitem__(container, name, value)
        case set():
            set.clear(container)
            set.update(container, held)
        case deque():
            deque.clear(container)
            deque.extend(container, held)
        case list():
            list.__setitem__(container, slice(None), held)
        case _:
            container[:] = held


def items_of(value: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
    """Return the items in order; a method that a subclass overrides is not called."""
    if is_a(value, OrderedDict):
        return [(name, dict.__getitem__(value, name)) for name in OrderedDict.__iter__(value)]
    return dict.items(value)


def is_same(now: dict[Any, Any], held: dict[Any, Any]) -> bool:
    pairs = zip(items_of(now), held.items(), strict=False)
    return dict.__len__(now) == len(held) and all(
        name is before and value is was for (name, value), (before, was) in pairs
    )


def rebind(owner: Any, names: dict[str, Any], outside: frozenset[str]) -> None:
    """Restore the names of a module or a class, and remove new names. Names in `outside` stay."""
    now = vars(owner)
    for name in [each for each in now if not each.startswith("__") and each not in names]:
        if name not in outside:
            delattr(owner, name)
    for name, value in names.items():
        if name not in outside and now.get(name, rebind) is not value:
            setattr(owner, name, value)
