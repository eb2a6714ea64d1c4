"""Adapters: the classes that users inherit from to describe a store in terms of a contract.

    class Mine(Kv):
        durable = True                         # files in self.folder survive a restart

        def make(self):                        # opens the store: open files, connect
            self.cache = Cache(self.folder)

        def put(self, key, value, ttl=None):
            self.cache.set(key, value, expire=ttl)

        def get(self, key):
            return self.cache.get(key)

Runs use only the operations that the class defines, and only the arguments that its methods take.
"""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from umi_core.data import Data
from umi_sim.targets.clocks import Clock
from umi_sim.targets.items import NEEDED, SITES
from umi_sim.targets.kv import KvContract
from umi_sim.targets.memory import MemoryContract
from umi_sim.targets.model import Contract
from umi_sim.targets.sessions import SessionsContract
from umi_sim.targets.values import MISSING
from umi_sim.targets.world import parameters

FOLDER: Final = ".umi-sim/targets"
__all__ = ["CONTRACTS", "MISSING", "Adapter", "BadAdapter", "Known", "Kv", "MemoryStore", "Sessions"]


class BadAdapter(ValueError):
    """An adapter cannot be run; the message says why, in one line."""


class Known(Data):
    """A known divergence: the address of its issue, and the rule, operation and a part of the message of its
    findings, which are counted and not reported. "" matches anything."""

    address: str
    rule: str = ""
    op: str = ""
    says: str = ""

    def covers(self, rule: str, op: str, message: str) -> bool:
        return self.rule in ("", rule) and self.op in ("", op) and self.says in message


class Adapter:
    """Base of all adapters. Inherit from `Kv`, `Sessions` or `MemoryStore`, and define their operations.

    Each run, and each restart in it, makes a new object. Methods may be async. A class may also set the
    flags of its contract (docs/targets.md).
    """

    contract: ClassVar[Contract]
    durable: ClassVar[bool] = False
    """Promise that the store keeps its contents after a restart, and after the death of its process."""
    refuses: ClassVar[tuple[type[Exception], ...]] = (ValueError, TypeError)
    """The errors with which the store may refuse odd names and values. It may refuse no others."""
    busy: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors that mean: try again later. Nothing was done."""
    stale: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors of `append` that mean: the session has changed since that version."""
    values: ClassVar[Literal["text", "json"]] = "json"
    """The values that it stores: texts only, or also numbers, lists and objects of JSON."""
    odd: ClassVar[bool] = True
    """Use odd names and values too, such as blanks, wildcards and empty texts."""
    tick_ms: ClassVar[int] = 1
    """The resolution of the store's times in milliseconds; times in runs are multiples of it."""
    fails: ClassVar[Sequence[str]] = SITES
    """The operations below the store that may fail: a statement or commit of SQLite, opening, writing,
    truncating, syncing or replacing a file, a request of httpx or redis that is not sent (`request`) or whose
    response is lost (`response`). The process of a durable store dies at any of them, listed or not."""
    erases: ClassVar[bool] = False
    """Promise that no file in `self.folder` contains a removed value once the removal has returned."""
    copies: ClassVar[bool] = False
    """Promise that the store copies: changes to arguments and returned values do not change its contents."""
    line_by_line: ClassVar[bool] = False
    """Let executor jobs pause before each line of its code, and not only before calls that may fail."""
    known: ClassVar[Sequence[Known]] = ()
    """Known divergences, which are counted and not reported as failures."""

    folder: Path
    """The folder of this store. Its files survive restarts, and deaths of the process."""
    clock: Clock
    outside: dict[str, Any]
    """A place for simulated processes, such as a fake server; it stays the same during a run."""

    def make(self) -> Any:
        """Open the store. Called on a new object at the start of a run and after each restart."""

    def close(self) -> Any:
        """Close the store, as a program does before it exits."""

    def killed(self) -> None:
        """Stop whatever the store has started outside its process, after a simulated death of the process."""

    def check(self) -> Any:
        """Raise an error if an invariant of the store is broken. Called after each item of a run."""

    def now(self) -> float:
        """Return the simulated time in seconds since 1970, as `time.time` does."""
        return self.clock.seconds()

    @classmethod
    def pytest(cls, seconds: int = 20, folder: str | None = None) -> type:
        """Return a test class that replays saved findings, then hunts: `TestMine = Mine.pytest(seconds=20)`.

        `folder`: where findings are saved as seed files, relative to the file of this class; by default
        FOLDER in the current directory, as with the command.
        """
        from umi_sim.targets.as_test import class_of_test

        return class_of_test(cls, seconds, folder)


class Kv(Adapter):
    """Base of adapters of key-value stores: put, get, delete and more, with namespaces and times to live."""

    contract = KvContract()


class Sessions(Adapter):
    """Base of adapters of session stores: add, get and pop messages, with users, states and versions."""

    contract = SessionsContract()


class MemoryStore(Adapter):
    """Base of adapters of memories of texts: add, get, search and delete, for users, agents and runs."""

    contract = MemoryContract()


PAGED: Final = "scan"
STORE_MADE: Final = "add", "id"  # an argument that `add` may lack: then the store makes the id
CURSOR: Final = "cursor"  # an argument of `scan` that no run draws

CONTRACTS: Final[Mapping[str, type[Adapter]]] = {"kv": Kv, "sessions": Sessions, "memory": MemoryStore}


def ops_of(adapter: type[Adapter]) -> Mapping[str, tuple[str, ...]]:
    """Return the operations of an adapter, each with its arguments by contract names. Raises BadAdapter."""
    contract = adapter.contract
    found = {
        name: arguments(adapter, name, known)
        for name, known in contract.ops.items()
        if hasattr(adapter, name)
    }
    if not found:
        raise BadAdapter(
            f"{adapter.__name__}: has no operation of {contract.name}: {', '.join(contract.ops)}"
        )
    return found


def arguments(adapter: type[Adapter], name: str, known: Sequence[str]) -> tuple[str, ...]:
    names: Sequence[str] = [*parameters(getattr(adapter, name))]
    if name == PAGED and CURSOR not in names:
        message = f"it is {CURSOR!r}, what the page before it told, None for the first page"
        raise BadAdapter(f"{adapter.__name__}.{name}: lacks an argument: {message}")
    names = [each for each in names if (name, each) != (PAGED, CURSOR)]
    taken = tuple("ttl" if each == "ttl_ms" else each for each in names)
    known = [each for each in known if each != adapter.contract.made.get(name)]
    needed = [each for each in known if each in NEEDED and (name, each) != STORE_MADE]
    for each in taken:
        if each not in known:
            message = f"expected one of {', '.join(known) or 'none'}"
            raise BadAdapter(f"{adapter.__name__}.{name}: unknown argument {each!r}, {message}")
    if lacking := [each for each in needed if each not in taken]:
        raise BadAdapter(f"{adapter.__name__}.{name}: lacks an argument: {', '.join(lacking)}")
    return tuple(each for each in known if each in taken)


def required_arguments(adapter: type[Adapter], name: str) -> list[str]:
    """Return the arguments of a method that have no default."""
    return [each for each, is_needed in parameters(getattr(adapter, name)).items() if is_needed]


def flags_of(adapter: type[Adapter]) -> dict[str, object]:
    """Return the flags and settings of the contract that an adapter sets."""
    names = (*adapter.contract.flags, *adapter.contract.settings)
    return {name: getattr(adapter, name) for name in names if hasattr(adapter, name)}


def is_async(adapter: type[Adapter]) -> bool:
    return any(inspect.iscoroutinefunction(getattr(adapter, name)) for name in ops_of(adapter))
