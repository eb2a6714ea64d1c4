"""Items: the operations and faults of one run of a store, in order; each is a line of a seed file.

{"op": "put", "key": "a", "value": 1}
{"kind": "at_once", "number": 7, "ops": [OP, OP]}      concurrently; the number seeds their interleaving
{"kind": "at_once", "pauses": [3, 1], "ops": [OP, OP]} a job pauses at the third point where others can run,
                                                       and a job at the next such point; -2: the result of the
                                                       second job that ends is delivered when all else waits
{"kind": "in_turn", "ops": [OP, OP]}                   one after the other, for example to fill a page
{"kind": "paged", "ops": [SCAN, OP, OP]}               one of the others after each page of the scan
{"kind": "advance", "number": 1000}                    this many milliseconds pass
{"kind": "reopen"}                                     the store is closed and opened again
{"kind": "crash"}                                      the process dies between two operations
{"kind": "crash_in", "number": 2, "site": SITE, "ops": [OP]}  it dies when OP reaches SITE the second time
{"kind": "fail", "number": 1, "site": SITE, "ops": [OP]}  the call at SITE fails when OP reaches it first; in
                                                       both, "part": 40 does 40 per cent of the call before
{"kind": "cancel", "number": 3, "ops": [OP, OP]}       concurrently; the first is cancelled after three steps
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, permutations
from typing import ClassVar, Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.formats.schema import Json, as_list, as_object, at, list_of, one_of, whole, wrong
from umi_sim.kernel.wording import show_value
from umi_sim.shrink.reduction import fewer, lower
from umi_sim.targets.values import from_json, to_json

CALLS: Final = (
    "statement", "commit", "open", "write", "truncate", "sync", "replace", "request", "response"
)  # fmt: skip
STEP: Final = "step"  # no call either: a step of the event loop, at which an operation can be cancelled
TIMEOUT: Final = "timeout"  # no call: the result of a job arrives after the next timer
SITES: Final = (*CALLS, TIMEOUT)
PARTED: Final = ("write", "truncate")  # sites whose calls can be done in part
ADVANCE_MS_MAX: Final = 10**12
AT_ONCE_MAX: Final = 4
IN_TURN_MAX: Final = 1_000
SHOWN_MAX: Final = AT_ONCE_MAX  # operations, or outcomes, of one item
PAUSE_COUNT_MAX: Final = 16
N_MAX: Final = 1_000
PAUSE: Final = whole(-N_MAX, N_MAX)
ORDERS: Final = 6  # how many low order numbers are tried for concurrent requests
EARLY_MAX: Final = 12


class ContractOp(Data):
    """One operation of the contract, with its arguments by name."""

    name: str
    args: Mapping[str, object] = {}

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={show_value(each)}' for name, each in self.args.items())})"


class Item(Data):
    """An item. Its kind defines the meaning of `number` and `site`. `part`: per cent of a call that is done.

    `pauses`: positive numbers: how many points until a job pauses, then how many until the next pause.
    Negative numbers: likewise, how many jobs end until the result of one is delivered late.
    """

    kind: str
    ops: tuple[ContractOp, ...] = ()
    number: int = 0
    site: str = ""
    part: int = 0
    pauses: tuple[int, ...] = ()

    @property
    def of(self) -> "Kind":
        return KINDS[self.kind]

    def __str__(self) -> str:
        """Return the item as it is written in the trace of a run."""
        return self.fill(self.of.text, join_shown([str(op) for op in self.ops]))

    @property
    def event(self) -> str:
        """The description of the item without its operations."""
        return self.describe("").strip(" ,:").removeprefix("of which ")

    def describe(self, ops: str) -> str:
        """Describe the item for people."""
        return self.fill(self.of.wording(self), ops)

    def fill(self, text: str, ops: str) -> str:
        part = f" ({self.part} % done)" if self.part else ""
        points = ", ".join(map(str, accumulate(each for each in self.pauses if each > 0)))
        ends = ", ".join(map(str, accumulate(-each for each in self.pauses if each < 0)))
        pauses = f", a job pausing at point {points}" * bool(points)
        pauses += f", the result of job {ends} coming late" * bool(ends)
        is_one = len(self.ops) == 1
        return text.format(
            ops=ops, number=self.number, site=self.site, part=part, pauses=pauses,
            together="" if is_one else "at once: ", which="" if is_one else "the first ",
        )  # fmt: skip

    @property
    def call(self) -> tuple[str, int, str, int, tuple[int, ...], list[tuple[str, Mapping[str, object]]]]:
        """Return the arguments of `TargetWorld.happen`."""
        ops = [(op.name, op.args) for op in self.ops]
        return self.kind, self.number, self.site, self.part, self.pauses, ops


def join_shown(texts: Sequence[str]) -> str:
    """Return texts in one line. A long sequence is cut to its first and last, and a count of the rest."""
    if len(texts) <= SHOWN_MAX:
        return "; ".join(texts)
    return f"{texts[0]}; ({len(texts) - 2} more); {texts[-1]}"


# Kinds.

Put = Callable[..., bool]  # returns whether the run still fails with these fields of an item


class Kind:
    """A kind of items: its fields in a file, its wording, its lines in a script, and its simpler variants.

    `place`: its lane on a page. `lesser`: how a report names the change that `alone` makes; empty if `alone`
    changes nothing, or the kind has no operations.
    """

    text: ClassVar[str] = "{ops}"
    op_counts: ClassVar[Sequence[int]] = (1,)
    number_max: ClassVar[int] = 0
    sites: ClassVar[Sequence[str]] = ("",)
    pauses_max: ClassVar[int] = 0
    place: ClassVar[str] = ""
    lesser: ClassVar[str] = ""

    def wording(self, item: Item) -> str:
        """Return the template of the description for people."""
        return self.text

    def alone(self, item: Item) -> Iterator[tuple[Item, ...]]:
        """Yield its operations in every sequential order, without concurrency and without faults."""
        yield from (tuple(Item("op", (op,)) for op in order) for order in permutations(item.ops))

    def calmer(self, item: Item) -> Iterator[tuple[Item, ...]]:
        """Yield variants with fewer concurrent operations, or with a death between operations."""
        return iter(())

    def plainer(self, item: Item) -> Iterator[Item]:
        """Yield each operation as an item of its own."""
        yield from (Item("op", (op,)) for op in item.ops)

    def shrink(self, item: Item, put: Put) -> None:
        """Try smaller numbers and fewer operations by `put`, which keeps what still fails."""
        least = 1 if item.ops else 0
        lower(item.number, lambda number: number >= least and put(number=number))
        lower(item.part, lambda part: put(part=part))

    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str] | None:
        """Return the lines of a plain Python script that do the same; None if plain calls cannot."""
        return None


class Alone(Kind):
    """A kind whose operations run one at a time, without faults."""

    def alone(self, item: Item) -> Iterator[tuple[Item, ...]]:
        yield (item,)

    def plainer(self, item: Item) -> Iterator[Item]:
        return iter(())


class SingleOp(Alone):
    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str]:
        return write_calls(item.ops, recorded)


class InTurn(Alone):
    op_counts = range(1, IN_TURN_MAX + 1)

    def plainer(self, item: Item) -> Iterator[Item]:
        return super().plainer(item) if len(item.ops) == 1 else iter(())

    def shrink(self, item: Item, put: Put) -> None:
        # The operations are alike, so only their number is reduced.
        lower(len(item.ops), lambda count: count > 0 and put(ops=item.ops[:count]))

    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str]:
        yield "for name, args, said in ("
        yield from (f"    ({op.name!r}, {op.args!r}, {next(recorded)!r})," for op in item.ops)
        yield "):"
        yield "    await expect([said], lambda: getattr(store, name)(**args))"


class AtOnce(Kind):
    text = "at once{pauses}: {ops}"
    op_counts, number_max, pauses_max = range(1, AT_ONCE_MAX + 1), 2**62, PAUSE_COUNT_MAX
    lesser = "one after the other"

    def calmer(self, item: Item) -> Iterator[tuple[Item, ...]]:
        """Yield variants with one operation before or after the others, with several orders of these."""
        for place, op in enumerate(item.ops if len(item.ops) > 2 else ()):
            one, ops = Item("op", (op,)), item.ops[:place] + item.ops[place + 1 :]
            for number in dict.fromkeys((item.number, *range(ORDERS))):
                others = structs.replace(item, ops=ops, number=number)
                yield one, others
                yield others, one

    def plainer(self, item: Item) -> Iterator[Item]:
        """Yield also the item with lower order numbers."""
        yield from super().plainer(item)
        yield from (structs.replace(item, number=number) for number in range(min(item.number, ORDERS)))

    def shrink(self, item: Item, put: Put) -> None:
        # With fewer operations, a job may have to pause at another point to fail.
        others = [(number,) for number in range(1, EARLY_MAX + 1)] if item.pauses else []

        def works(ops: Sequence[ContractOp]) -> bool:
            return len(ops) > 1 and any(put(ops=tuple(ops), pauses=it) for it in (item.pauses, *others))

        fewer(item.ops, works)

    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str] | None:
        return None if item.number or item.pauses else write_calls(item.ops, recorded)


class Paged(Kind):
    text, op_counts = "page by page, others in between: {ops}", range(1, AT_ONCE_MAX + 1)
    lesser = "not between its pages"

    def shrink(self, item: Item, put: Put) -> None:
        fewer(item.ops[1:], lambda few: bool(few) and put(ops=(item.ops[0], *few)))

    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str]:
        return write_calls(item.ops, recorded)


class Advance(Alone):
    text, op_counts, number_max, place = "{number} ms pass", (0,), ADVANCE_MS_MAX, "clock"

    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str]:
        yield f"NOW[0] += {item.number / 1000}"


class Reopen(Kind):
    text, op_counts, place = "closed and opened again", (0,), "store"

    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str]:
        yield from ("await outcome(store.close)", f"store = {store}()", "await outcome(store.make)")


class Crash(Kind):
    text, op_counts, place = "the process dies", (0,), "store"

    def script(self, item: Item, store: str, recorded: Iterator[str]) -> Iterator[str]:
        yield from (f"store = {store}()  # the process has died", "await outcome(store.make)")


class Fail(Kind):
    text, place = "{ops}, of which {site} {number}{part} fails", "files"
    number_max, sites, lesser = N_MAX, SITES, "without the failure"

    def wording(self, item: Item) -> str:
        """Return the template. For a partial write it fits an error and a short count of `os.write`."""
        if item.site == TIMEOUT:
            return "{ops}, of which the result of job {number} comes after a timer"
        less = f" writes only {item.part} % of its bytes"
        return self.text.replace("{part} fails", less) if item.part else self.text


class CrashIn(Kind):
    text, place = "the process dies at {site} {number}{part}: {ops}", "files"
    number_max, sites, lesser = N_MAX, CALLS, "without the crash"

    def plainer(self, item: Item) -> Iterator[Item]:
        """Yield also a crash without its operation."""
        yield from (*super().plainer(item), Item("crash"))

    def calmer(self, item: Item) -> Iterator[tuple[Item, ...]]:
        """Yield a death before the operation, and one after it."""
        yield (Item("crash"),)
        yield Item("op", item.ops), Item("crash")


class Cancel(Kind):
    text, place = "{together}{ops}, {which}cancelled after {number} steps{pauses}", "clients"
    op_counts, number_max, pauses_max = range(1, AT_ONCE_MAX + 1), N_MAX, PAUSE_COUNT_MAX
    lesser = "not cancelled"

    def calmer(self, item: Item) -> Iterator[tuple[Item, ...]]:
        if len(item.ops) > 1:
            yield (Item("at_once", item.ops, pauses=item.pauses),)
            yield (structs.replace(item, ops=item.ops[:1]),)

    def shrink(self, item: Item, put: Put) -> None:
        fewer(item.ops[1:], lambda few: put(ops=(item.ops[0], *few)))
        super().shrink(item, put)


KINDS: Final[Mapping[str, Kind]] = {
    "op": SingleOp(), "at_once": AtOnce(), "in_turn": InTurn(), "paged": Paged(), "advance": Advance(),
    "reopen": Reopen(), "crash": Crash(), "crash_in": CrashIn(), "fail": Fail(), "cancel": Cancel(),
}  # fmt: skip


PAGING: Final = "page_by_page"  # the function of a script


def write_calls(ops: Sequence[ContractOp], recorded: Iterator[str]) -> Iterator[str]:
    """Yield the line of a script that makes these calls and compares their results.

    The calls are concurrent, but those after a scan are made between its pages.
    """
    args = (", ".join(f"{name}={value!r}" for name, value in op.args.items()) for op in ops)
    calls = [f"lambda: store.{op.name}({each})" for op, each in zip(ops, args, strict=True)]
    function = "expect"
    if ops[0].name == "scan":
        function, calls[0] = PAGING, f"lambda cursor: {calls[0][len('lambda: ') : -1]}, cursor=cursor)"
    yield f"await {function}({[next(recorded) for _ in calls]!r}, {', '.join(calls)})"


# As JSON.

FIELDS: Final = ("kind", "number", "site", "part", "pauses", "ops")


def item_to_json(item: Item) -> dict[str, Json]:
    ops: list[Json] = [
        {"op": op.name, **{name: to_json(value) for name, value in op.args.items()}} for op in item.ops
    ]
    if item.kind == "op":
        return as_object(ops[0])
    fields: dict[str, Json] = {
        "kind": item.kind, "number": item.number, "site": item.site, "part": item.part,
        "pauses": [*item.pauses], "ops": ops,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value}


def read_item(value: Json, known: Mapping[str, Sequence[str]]) -> Item:
    """Read an item. `known`: the operations, each with the arguments that it may have. Raises Wrong."""
    fields = as_object(value)
    if "op" in fields:
        return Item("op", (read_op(value, known),))
    if unknown := [name for name in fields if name not in FIELDS]:
        wrong(f"unknown field {show_value(unknown[0])}")
    kind: str = at("kind", one_of(KINDS, "kind").read, fields.get("kind"))
    about = KINDS[kind]
    given = at("ops", as_list, fields.get("ops", []))
    if len(given) not in about.op_counts:
        wrong(f"{kind}: expected {about.op_counts[0]} to {about.op_counts[-1]} operations, got {len(given)}")
    ops = tuple(at(f"ops[{place}]", lambda op: read_op(op, known), each) for place, each in enumerate(given))
    if kind == "paged" and ops[0].name != "scan":
        wrong(f"ops[0]: expected scan, got {ops[0].name}")
    number: int = at("number", whole(0, about.number_max).read, fields.get("number", 0))
    site: str = at("site", one_of(about.sites, "site").read, fields.get("site", ""))
    part: int = at("part", whole(0, 100 if site in PARTED else 0).read, fields.get("part", 0))
    pauses = at("pauses", list_of(PAUSE, about.pauses_max).read, fields.get("pauses", []))
    if 0 in pauses:
        wrong("pauses: expected -1_000 to 1_000 without 0")
    return Item(kind, ops, number, site, part, tuple(pauses))


def read_op(value: Json, known: Mapping[str, Sequence[str]]) -> ContractOp:
    """Read an operation, and check its arguments. Raises Wrong."""
    fields = as_object(value)
    name: str = at("op", one_of(known, "operation").read, fields.get("op"))
    args = {key: at(key, from_json, each) for key, each in fields.items() if key != "op"}
    for key, each in args.items():
        if key not in known[name]:
            wrong(f"{name}: unknown argument {show_value(key)}, known are {', '.join(known[name])}")
        if key in TYPES and not isinstance(each, TYPES[key]):
            wrong(f"{name}: {key}: expected {TYPES[key].__name__}, got {show_value(each)}")
    if missing := [key for key in known[name] if key in NEEDED and key not in args]:
        wrong(f"{name}: missing {', '.join(missing)}")
    return ContractOp(name, args)


TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(("ns", "key", "prefix", "user", "session", "id", "text", "query", "agent", "run",
                     "version"), str),
    **dict.fromkeys(("ttl", "by", "limit"), int), **dict.fromkeys(("keys", "items"), list),
    **dict.fromkeys(("pairs", "metadata", "where"), dict),
}  # fmt: skip
NEEDED: Final = {"key", "value", "pairs", "keys", "session", "items", "id", "text", "query", "version"}
