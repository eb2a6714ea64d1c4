"""Promises of a store: the rules that detect a broken one, and the standard names of anomalies."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from umi_core.data import Data
from umi_sim.targets.adapter import PAGED, Adapter, is_async, ops_of
from umi_sim.targets.items import Item
from umi_sim.targets.world import RESTARTS

SCOPES: Final = ("ns", "user", "session", "agent", "run")  # arguments that name the scope of a row
RULES: Final[Mapping[str, str]] = {
    "answer": "what is read is what was written",
    "raises": "requests with plain names and values raise nothing",
    "error-applied": "an error means not applied, now or later",
    "done-lost": "done means done",
    "batch-split": "a batch that failed was not applied in part",
    "crash-split": "after a crash an operation was done, or was not",
    "cancel-split": "after a cancellation an operation was done, or was not",
    "cancel-spread": "a cancelled request cancels no other",
    "at-once": "requests at once equal some order of them",
    "reopen-lost": "what was done is there after a restart",
    "scope": "scopes are apart",
    "order": "the order is the one that was promised",
    "ttl": "what has a time to live is there until that time is over, and not longer",
    "pages": "pages are complete, and nothing is in them twice",
    "alike": "two implementations of one interface answer alike",
    "erased": "what was removed is in no file of the store",
    "invariant": "what the adapter checks after each item holds",
    "hang": "every operation ends",
    "process": "the process of the store lives and speaks its protocol",
}


OF_OPS: Final[Mapping[tuple[str, str], str]] = {  # clearer texts for some operations
    ("raises", "make"): "a store opens, also after a restart or a crash, and nothing is raised",
    ("raises", "close"): "a store closes, and nothing is raised",
    ("answer", "append"): "an append with an old version is refused, and any other is done",
}


def tell_promise(rule: str, op: str) -> str:
    """Return the text of the promise that an operation has broken."""
    return OF_OPS.get((rule, op), RULES[rule])


class Anomaly(Data):
    """A standard anomaly of one rule. `evidence`: the key by which the checker identifies it."""

    name: str
    rule: str
    evidence: str
    meaning: str


ANOMALIES: Final = (
    Anomaly("lost update", "at-once", "lost", "of concurrent changes, one left no trace"),
    Anomaly("dirty read", "error-applied", "read", "a read shows that a failed write was applied"),
    Anomaly("stale read", "answer", "older", "a read shows what a later write had replaced"),
    Anomaly("resurrection", "answer", "removed", "a read shows what was removed before"),
    Anomaly("non-repeatable read", "answer", "repeated", "a read that is repeated without a write differs"),
    Anomaly("undeclared bound", "answer", "bounded", "what is gone had to make room, and no flag says so"),
    Anomaly("write skew", "invariant", "apart", "concurrent writes of different entries break an invariant"),
    Anomaly("phantom", "pages", "changes", "pages miss or repeat rows as others come and go"),
)


def name_anomaly(rule: str, evidence: str) -> str:
    """Return the standard name of the anomaly that broke this rule; "" if there is none."""
    return next((each.name for each in ANOMALIES if (each.rule, each.evidence) == (rule, evidence)), "")


def meaning_of(name: str) -> str:
    return next((each.meaning for each in ANOMALIES if each.name == name), "")


class Promise(Data):
    """A promise in a few words, and the rules that detect that it is broken.

    `anomaly`: only failures with this anomaly count; others of its rules count for a later promise. `needs`:
    whether a class can express the promise; `lacks`: what it lacks if not. `flag`: the attribute that makes
    the promise. `tries`: whether an item could break it.
    """

    name: str
    means: str
    rules: tuple[str, ...]
    flag: str = ""
    needs: Callable[[type[Adapter]], bool] = lambda _: True
    lacks: str = ""
    anomaly: str = ""
    tries: Callable[[type[Adapter], Item], bool] = lambda _, item: bool(item.ops)

    def why_not(self, adapter: type[Adapter]) -> str:
        """Return why the promise does not apply to a class; "" if it applies."""
        if not self.needs(adapter):
            return f"not expressible: {self.lacks}"
        value = getattr(adapter, self.flag, True)
        return "" if value else f"not promised: `{self.flag} = {value}`"


def takes_any(names: tuple[str, ...]) -> Callable[[type[Adapter]], bool]:
    return lambda adapter: any({*names} & {*taken} for taken in ops_of(adapter).values())


def can_remove(adapter: type[Adapter]) -> bool:
    return bool({*adapter.contract.removes} & {*ops_of(adapter)})


def is_removal(adapter: type[Adapter], item: Item) -> bool:
    return any(op.name in adapter.contract.removes for op in item.ops)


def is_of_kind(*kinds: str) -> Callable[[type[Adapter], Item], bool]:
    return lambda _, item: item.kind in kinds


def names_any(names: tuple[str, ...]) -> Callable[[type[Adapter], Item], bool]:
    return lambda _, item: any(not op.args.keys().isdisjoint(names) for op in item.ops)


NO_REMOVAL: Final = "no operation removes"
NO_ASYNC: Final = "no operation is `async`"
NO_SCOPE: Final = "no operation takes " + " or ".join(f"`{name}`" for name in SCOPES)
PROMISES: Final = (
    Promise(
        "forgets", "no answer shows what was removed", ("answer",),
        needs=can_remove, lacks=NO_REMOVAL, anomaly="resurrection", tries=is_removal,
    ),
    Promise(
        "erases", "no file of the store has what was removed", ("erased",), "erases", can_remove, NO_REMOVAL,
        tries=is_removal,
    ),
    Promise(
        "answers", "one request after the other is answered as written",
        ("answer", "raises", "order", "invariant", "hang", "process"),
    ),
    Promise(
        "keeps apart", "no scope shows what is of another", ("scope",), "", takes_any(SCOPES), NO_SCOPE,
        tries=names_any(SCOPES),
    ),
    Promise(
        "concurrent", "concurrent requests equal some order of them", ("at-once",), "", is_async, NO_ASYNC,
        tries=is_of_kind("at_once"),
    ),
    Promise(
        "cancelled", "a cancelled request is done or not, and cancels no other",
        ("cancel-split", "cancel-spread"), "", is_async, NO_ASYNC, tries=is_of_kind("cancel"),
    ),
    Promise(
        "failures", "an error means not applied, done means done, and the store goes on",
        ("error-applied", "batch-split", "done-lost"), "fails", tries=is_of_kind("fail"),
    ),
    Promise(
        "crashes", "a process that dies or restarts loses and splits nothing, and starts again",
        ("crash-split", "reopen-lost"), "durable", tries=is_of_kind(*RESTARTS),
    ),
    Promise(
        "deadlines", "a time to live is neither shorter nor longer", ("ttl",),
        needs=takes_any(("ttl",)), lacks="no operation takes `ttl`", tries=names_any(("ttl",)),
    ),
    Promise(
        "pages", "pages are complete while rows come and go", ("pages",),
        needs=lambda adapter: PAGED in ops_of(adapter), lacks=f"no `{PAGED}`",
        tries=lambda _, item: any(op.name == PAGED for op in item.ops),
    ),
)  # fmt: skip
OF_CONDITIONS: Final = (  # the promise about the kinds of items that a failure needs, in this order
    ("failures", ("fail",)), ("cancelled", ("cancel",)), ("concurrent", ("at_once",)),
    ("crashes", RESTARTS), ("pages", ("paged",)),
)  # fmt: skip


def promise_broken(rule: str, anomaly: str, items: Iterable[Item]) -> str:
    """Return the name of the promise that a failure breaks; "" if none. `items`: those of its shrunk run.

    Example: a store that raises when it opens breaks "answers"; if the failure needs a crash, it breaks
    "crashes" instead.
    """
    name = next((it.name for it in PROMISES if rule in it.rules and it.anomaly in ("", anomaly)), "")
    kinds = {item.kind for item in items} if name in ("answers", "crashes") else ()
    return next((it for it, needed in OF_CONDITIONS if not {*needed}.isdisjoint(kinds)), name)


def list_tried(adapter: type[Adapter], item: Item) -> Iterator[str]:
    """Return the promises that an item could have broken, if it was fully applied."""
    return (it.name for it in PROMISES if it.tries(adapter, item))


def list_promises(adapter: type[Adapter]) -> Mapping[str, str]:
    """Return for each promise why it does not apply to the class; "" if it applies."""
    return {it.name: it.why_not(adapter) for it in PROMISES}
