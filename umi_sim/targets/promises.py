"""Promises of a store in a few words: which rules stand for each, and which of them an adapter is held to."""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from umi_core.data import Data
from umi_sim.targets.adapter import PAGED, Adapter, is_async, ops_of

SCOPES: Final = ("ns", "user", "session", "agent", "run")  # arguments that say whose a row is


class Promise(Data):
    """A promise, the rules that see it broken, and why a class is not held to it; empty: it is.

    `anomaly`: only this kind of failure of its rules counts; what is left counts for a later promise.
    """

    name: str
    means: str
    rules: tuple[str, ...]
    lacks: Callable[[type[Adapter]], str]
    anomaly: str = ""


def without_flag(name: str) -> Callable[[type[Adapter]], str]:
    def say_why(adapter: type[Adapter]) -> str:
        value = getattr(adapter, name)
        return "" if value else f"not promised: `{name} = {value}`"

    return say_why


def without_argument(names: Collection[str]) -> Callable[[type[Adapter]], str]:
    message = "not expressible: no operation takes " + " or ".join(f"`{name}`" for name in names)
    return lambda adapter: "" if any({*names} & {*taken} for taken in ops_of(adapter).values()) else message


def without_removal(adapter: type[Adapter]) -> str:
    return "" if {*adapter.contract.removes} & {*ops_of(adapter)} else "not expressible: no operation removes"


def without_files_that_erase(adapter: type[Adapter]) -> str:
    return without_removal(adapter) or without_flag("erases")(adapter)


def without_concurrency(adapter: type[Adapter]) -> str:
    return "" if is_async(adapter) else "not expressible: no operation is `async`"


def without_pages(adapter: type[Adapter]) -> str:
    return "" if PAGED in ops_of(adapter) else f"not expressible: no `{PAGED}`"


PROMISES: Final = (
    Promise("forgets", "no answer shows what was removed", ("answer",), without_removal, "resurrection"),
    Promise("erases", "no file of the store has what was removed", ("erased",), without_files_that_erase),
    Promise(
        "answers", "one request after the other is answered as written",
        ("answer", "raises", "order", "invariant", "hang", "process"), lambda _: "",
    ),
    Promise("keeps apart", "no scope shows what is of another", ("scope",), without_argument(SCOPES)),
    Promise("concurrent", "concurrent requests equal some order of them", ("at-once",), without_concurrency),
    Promise(
        "cancelled", "a cancelled request is done or not, and cancels no other",
        ("cancel-split", "cancel-spread"), without_concurrency,
    ),
    Promise(
        "failures", "an error means not applied, and done means done",
        ("error-applied", "batch-split", "done-lost"), without_flag("fails"),
    ),
    Promise(
        "crashes", "a process that dies or restarts loses and splits nothing",
        ("crash-split", "reopen-lost"), without_flag("durable"),
    ),
    Promise(
        "deadlines", "a time to live is neither shorter nor longer", ("ttl",), without_argument(("ttl",))
    ),
    Promise("pages", "pages are complete while rows come and go", ("pages",), without_pages),
)  # fmt: skip


def promise_broken(rule: str, anomaly: str) -> str:
    """Return the name of the promise that a failure breaks."""
    return next(it.name for it in PROMISES if rule in it.rules and it.anomaly in ("", anomaly))


def list_promises(adapter: type[Adapter]) -> Mapping[str, str]:
    """Return for each promise why the class is not held to it; empty where it is."""
    return {it.name: it.lacks(adapter) for it in PROMISES}
