"""Declarations: checks an adapter class for mistakes before anything is run.

Law 1. An unknown attribute is refused if its name is close to a known one: if it were ignored, the promise
       would never be tested. Every public method must be an operation or a hook.
Law 2. Each attribute has a type and allowed values. A mistake is reported in one line.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from inspect import CO_VARARGS, getattr_static
from types import FunctionType
from typing import Any, Final

from umi_sim.kernel.wording import show_value
from umi_sim.targets.adapter import CONTRACTS, CURSOR, Adapter, BadAdapter, Known, ops_of
from umi_sim.targets.items import SITES
from umi_sim.targets.model import Contract
from umi_sim.targets.promises import RULES

PERCENT: Final = 100
NEAR: Final = 82 / 100  # `durabel` is close to `durable`, but not `table` to `stale`
HOOKS: Final = ("make", "close")
SYNONYMS: Final[Mapping[str, Sequence[str]]] = {
    "set": ("put", "put_state"), "store": ("put", "add"), "save": ("put", "add"), "write": ("put", "add"),
    "insert": ("put", "add"), "remember": ("add",), "push": ("add",), "read": ("get",), "fetch": ("get",),
    "load": ("get",), "lookup": ("get",), "retrieve": ("get", "search"), "remove": ("delete",),
    "erase": ("delete",), "evict": ("delete",), "forget": ("delete",), "exists": ("has",),
    "contains": ("has",), "size": ("count",), "length": ("count",), "set_many": ("put_many",),
    "mset": ("put_many",), "mget": ("get_many",), "setdefault": ("add",), "increment": ("incr",),
    "inc": ("incr",), "expire": ("touch", "sweep"), "purge": ("sweep",), "flush": ("clear",),
    "reset": ("clear", "delete_all"), "get_items": ("get",), "add_items": ("add",), "pop_item": ("pop",),
    "clear_session": ("clear",), "get_all": ("list", "items"), "recall": ("search",), "find": ("search",),
    "query": ("search",), "open": ("make",), "setup": ("make",), "connect": ("make",),
}  # fmt: skip


def check_declared(adapter: type[Adapter]) -> None:
    """Check the names and values of a class. Raises BadAdapter."""
    if not isinstance(given := getattr(adapter, "contract", None), Contract):
        message = "expected what Kv, Sessions or Memory say: inherit from one of them"
        raise BadAdapter(f"{adapter.__name__}.contract: is {show_value(given)}, {message}")
    for name, value in own_of(adapter).items():
        check_name(adapter, name, value)
    for name, (fits, expected) in {**methods(adapter), **expectations(adapter)}.items():
        given = getattr_static(adapter, name, ABSENT)
        if given is not ABSENT and not fits(given):
            raise BadAdapter(f"{adapter.__name__}.{name}: is {show_value(given)}, expected {expected}")
    for name, args in adapter.contract.ops.items():
        check_self(adapter, name, args)
    for known in adapter.known:
        check_known(adapter, known)
    ops_of(adapter)


def check_judged(adapter: type[Adapter]) -> None:
    """Check also that its answers can be judged: it must write, read and open. Raises BadAdapter."""
    check_declared(adapter)
    contract, found = adapter.contract, ops_of(adapter)
    if not any(name in (*contract.reads, "pop") for name in found):
        message = f"has {' and '.join(found)}, and nothing is read back that could be judged"
        raise BadAdapter(f"{adapter.__name__}: {message}: add one of {', '.join(contract.reads)}")
    if not any(name in contract.fills for name in found):
        message = "nothing can be written to it, so nothing could be lost"
        raise BadAdapter(f"{adapter.__name__}: {message}: add one of {', '.join(contract.fills)}")
    if adapter.make is Adapter.make and adapter.__init__ is object.__init__:
        raise BadAdapter(f"{adapter.__name__}: has no make, which opens the store: each life begins with it")


# Names.


def own_of(adapter: type[Adapter]) -> dict[str, Any]:
    """Return the public names of the user's adapter classes, without those of other base classes."""
    ours = {Adapter, *CONTRACTS.values()}
    classes = [each for each in adapter.__mro__ if issubclass(each, Adapter) and each not in ours]
    found = {name: value for each in classes for name, value in vars(each).items()}
    return {name: value for name, value in found.items() if not name.startswith("_")}


def check_name(adapter: type[Adapter], name: str, value: object) -> None:
    contract, attributes = adapter.contract, expectations(adapter)
    if name in contract.ops or name in attributes or hasattr(Adapter, name):
        return
    if isinstance(value, FunctionType | staticmethod | classmethod):
        lacking = [op for op in (*contract.ops, *HOOKS) if op not in own_of(adapter)]
        meant = [op for op in SYNONYMS.get(name, ()) if op in lacking] or get_close_matches(name, lacking, 1)
        message = f"is no operation of {contract.name}; {suggest_name(meant)}"
        raise BadAdapter(f"{adapter.__name__}.{name}: {message}egin the names of helpers with _")
    elsewhere = [each for each in CONTRACTS if name in CONTRACTS[each].contract.flags]
    if elsewhere:
        raise BadAdapter(
            f"{adapter.__name__}.{name}: is a flag of {elsewhere[0]}, and none of {contract.name}"
        )
    if meant := get_close_matches(name, attributes, 1, NEAR):
        message = f"is no attribute of {contract.name}; {suggest_name(meant)}"
        raise BadAdapter(f"{adapter.__name__}.{name}: {message}egin the names of what is yours with _")


def suggest_name(meant: Sequence[str]) -> str:
    """Return the suggestion and the first letter of the sentence after it, which is capital or not."""
    return f"did you mean {meant[0]}? B" if meant else "b"


# Values.


Expected = tuple[Callable[[Any], bool], str]
ABSENT: Final = object()


def methods(adapter: type[Adapter]) -> dict[str, Expected]:
    """Return the expectations for operations and hooks, and for attributes that only a run sets."""
    left_out = "a method; leave the name out where the store has no such operation"
    at_each_start = "no value here: it is set when a life of the store begins"
    return {
        **dict.fromkeys(adapter.contract.ops, (is_method, left_out)),
        **dict.fromkeys((*HOOKS, "killed", "check", "now", "pytest"), (is_method, "a method")),
        **dict.fromkeys(("folder", "clock", "outside"), (lambda _: False, at_each_start)),
    }  # fmt: skip


def is_method(value: Any) -> bool:
    """Return whether a value can be called as a method: no property, class or function without `self`."""
    if isinstance(value, FunctionType):
        return value.__code__.co_argcount > 0 or bool(value.__code__.co_flags & CO_VARARGS)
    return hasattr(value, "__get__") and (callable(value) or isinstance(value, staticmethod | classmethod))


def check_self(adapter: type[Adapter], name: str, args: Sequence[str]) -> None:
    """Raises BadAdapter if a method lacks `self`: `def get(key)` begins with an argument."""
    given = getattr_static(adapter, name, ABSENT)
    if isinstance(given, FunctionType) and given.__code__.co_argcount:
        first = given.__code__.co_varnames[0]
        if first in (*args, "ttl_ms", CURSOR):
            raise BadAdapter(f"{adapter.__name__}.{name}: lacks self before its first argument {first!r}")


def expectations(adapter: type[Adapter]) -> dict[str, Expected]:
    """Return the expectation for each attribute, by name."""
    contract = adapter.contract
    shown = ", ".join(map(repr, SITES))
    return {
        **{name: among(choices) for name, choices in contract.flags.items()},
        **{name: SETTINGS[name] for name in contract.settings},
        **dict.fromkeys(("durable", "odd", "erases", "copies", "line_by_line"), among((False, True))),
        "values": among(("text", "json")),
        **dict.fromkeys(
            ("refuses", "busy", "stale"), (all_are(is_error, tuple), "a tuple of errors, as in (ValueError,)")
        ),
        "tick_ms": (is_count, "a whole number above 0"),
        "fails": (all_are(SITES.__contains__), f"a tuple of some of {shown}; () for none"),
        "known": (all_are(is_known), "a tuple of Known(...), such as (Known(...),)"),
    }  # fmt: skip


SETTINGS: Final[Mapping[str, Expected]] = {
    **dict.fromkeys(
        ("default_ttl_ms", "maxsize", "keeps_last"),
        (lambda value: value is None or is_count(value), "a whole number above 0, or None"),
    ),
    "recall_floor": (
        lambda value: value is None or (is_count(value) and value <= PERCENT),
        f"a whole number from 1 to {PERCENT}, or None",
    ),
}


def among(choices: Sequence[object]) -> Expected:
    """Return the expectation of one of these values, of the same type: 1 is not True."""
    known = " or ".join(repr(each) for each in choices if each is not None)
    known += ", or None: it is found out" if None in choices else ""
    return (lambda value: any(value == each and type(value) is type(each) for each in choices)), known


def is_count(value: object) -> bool:
    return type(value) is int and value > 0


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def is_known(value: object) -> bool:
    return isinstance(value, Known)


def all_are(fits: Callable[[Any], bool], kinds: Any = tuple | list) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds) and all(map(fits, value))


def check_known(adapter: type[Adapter], known: Known) -> None:
    ops = (*adapter.contract.ops, *HOOKS)
    for field in ("address", "rule", "op", "says"):
        if not isinstance(value := getattr(known, field), str):
            raise BadAdapter(f"{adapter.__name__}.known: {field}={show_value(value)}: expected a text")
    check_word(adapter, "rule", known.rule, RULES)
    for name in filter(None, known.op.split("+")):  # the names of concurrent requests
        check_word(adapter, "op", name, ops)


def check_word(adapter: type[Adapter], what: str, word: str, known: Iterable[str]) -> None:
    names = [*known]
    if word in ("", *names):
        return
    meant = get_close_matches(str(word), names, 1)
    message = f"did you mean {meant[0]}?" if meant else f"expected one of {', '.join(names)}"
    raise BadAdapter(f"{adapter.__name__}.known: {what}={word!r}: {message}")
