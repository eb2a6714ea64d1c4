"""Adapters: a store in the words of a contract. The classes that users inherit from.

    class Mine(Kv):
        durable = True                         # what is in self.folder is there after a restart

        def make(self):                        # a store begins its life: open files, connect
            self.cache = Cache(self.folder)

        def put(self, key, value, ttl=None):
            self.cache.set(key, value, expire=ttl)

        def get(self, key):
            return self.cache.get(key)

An operation that the class does not have is not asked for, nor is an argument that its method does not take.
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
    """An adapter that cannot be run, and why, in one line."""


class Known(Data):
    """A divergence that is known: where it is told of, and what a finding of it says; "" is anything."""

    address: str
    rule: str = ""
    op: str = ""
    says: str = ""

    def covers(self, rule: str, op: str, message: str) -> bool:
        return self.rule in ("", rule) and self.op in ("", op) and self.says in message


class Adapter:
    """Base of all adapters: inherit from `Kv`, `Sessions` or `MemoryStore`, and write its operations.

    Flags of a contract are attributes too (docs/targets.md).
    """

    contract: ClassVar[Contract]
    durable: ClassVar[bool] = False
    """Promise that what is in `self.folder` is there after a restart, and after the process has died."""
    refuses: ClassVar[tuple[type[Exception], ...]] = (ValueError, TypeError)
    """Errors by which it refuses odd names and values. It may refuse them, and no others."""
    busy: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors that say: not now, try again."""
    stale: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors of `append` that say: the session is no longer as its version says."""
    values: ClassVar[Literal["text", "json"]] = "json"
    """The values that it keeps as they are."""
    odd: ClassVar[bool] = True
    """Give it odd names and values too."""
    tick_ms: ClassVar[int] = 1
    """The shortest time that it tells apart; what passes in runs is a multiple of it."""
    fails: ClassVar[Sequence[str]] = SITES
    """What may fail under it: a statement or commit of SQLite, opening or replacing a file, a request of
    httpx or redis that is not sent, or whose response is lost. The process of a durable store may die at
    any of them, also at those that do not fail."""
    erases: ClassVar[bool] = False
    """Promise that no file of `self.folder` has a removed value once its removal was answered."""
    copies: ClassVar[bool] = False
    """Promise that a caller may change what it has given, and what it was given: neither is in the store."""
    line_by_line: ClassVar[bool] = False
    """Let jobs of executors pause at each line of its code, beside each call that may fail."""
    known: ClassVar[Sequence[Known]] = ()
    """Divergences that are counted and not reported as failures."""

    folder: Path
    """The folder of this store. With `durable` it survives restarts and crashes."""
    clock: Clock
    outside: dict[str, Any]
    """A place for what lives in other processes, such as a fake server: one for all lives of a run."""

    def make(self) -> Any:
        """Open the store. Called at the beginning, and after each restart on a new object."""

    def close(self) -> Any:
        """Close it, as a program that ends."""

    def killed(self) -> None:
        """End what lives outside of a process that has died, such as a server that the store has started."""

    def check(self) -> Any:
        """Raise an error if an invariant of the store's own does not hold. Called after each item."""

    def now(self) -> float:
        """Return the time of this run in seconds since 1970, as `time.time` does."""
        return self.clock.seconds()

    @classmethod
    def pytest(cls, seconds: int = 20, folder: str | None = None) -> type:
        """Return a test class, `TestMine = Mine.pytest(seconds=20)`: what was found before, then a hunt.

        `folder`: where findings are kept, each as a seed file, beside the file of this class; else in FOLDER
        of the current folder, as by the command.
        """
        from umi_sim.targets.as_test import class_of_test

        return class_of_test(cls, seconds, folder)


class Kv(Adapter):
    """A store of keys and values: put, get, delete and others, with namespaces and times to live."""

    contract = KvContract()


class Sessions(Adapter):
    """A store of sessions: add, get and pop messages, with users, states and versions."""

    contract = SessionsContract()


class MemoryStore(Adapter):
    """A memory of texts: add, get, search and delete, for users, agents and runs."""

    contract = MemoryContract()


PAGED: Final = "scan"
STORE_MADE: Final = "add", "id"  # an id, unless the store asks for one
CURSOR: Final = "cursor"  # its argument that no run draws

CONTRACTS: Final[Mapping[str, type[Adapter]]] = {"kv": Kv, "sessions": Sessions, "memory": MemoryStore}


def ops_of(adapter: type[Adapter]) -> Mapping[str, tuple[str, ...]]:
    """The operations that it has, each with its arguments as the contract calls them. Raises BadAdapter."""
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
    names: Sequence[str] = parameters(getattr(adapter, name))
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
    """The arguments without which its method cannot be called."""
    found = inspect.signature(getattr(adapter, name)).parameters.values()
    return [each.name for each in found if each.default is each.empty]


def flags_of(adapter: type[Adapter]) -> dict[str, object]:
    """The flags of the contract that it sets."""
    names = (*adapter.contract.flags, *adapter.contract.settings)
    return {name: getattr(adapter, name) for name in names if hasattr(adapter, name)}


def is_async(adapter: type[Adapter]) -> bool:
    return any(inspect.iscoroutinefunction(getattr(adapter, name)) for name in ops_of(adapter))
