"""Items: what happens to a store in one run, in order; each is a line of a seed file.

{"op": "put", "key": "a", "value": 1}
{"kind": "at_once", "number": 7, "ops": [OP, OP]}      together; the number draws which goes on when
{"kind": "at_once", "pauses": [3, 1], "ops": [OP, OP]} a job pauses at the third point at which others can go
                                                       on, and one at the next such point; -2: the result of
                                                       the second job that ends comes after all that can go on
{"kind": "in_turn", "ops": [OP, OP]}                   one after the other, such as to fill a page
{"kind": "paged", "ops": [SCAN, OP, OP]}               one of them after each page of the first
{"kind": "advance", "number": 1000}                    milliseconds that pass
{"kind": "reopen"}                                     closed and opened again
{"kind": "crash"}                                      the process is gone between two operations
{"kind": "crash_in", "number": 2, "site": SITE, "ops": [OP]}  as the operation reaches this for the n-th time
{"kind": "fail", "number": 1, "site": SITE, "ops": [OP]}  the n-th time that the operation reaches this fails
                                                       both with "part": 40 after so many per cent of the call
{"kind": "cancel", "number": 3, "ops": [OP, OP]}       together; the first is cancelled after so many steps
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from umi_core.data import Data
from umi_sim.formats.schema import Json, as_list, as_object, at, list_of, one_of, whole, wrong
from umi_sim.targets.values import from_json, show_value, to_json

SITES: Final = (
    "statement", "commit", "open", "write", "truncate", "sync", "replace", "request", "response"
)  # fmt: skip
PARTED: Final = ("write", "truncate")  # what can be done in part
ADVANCE_MS_MAX: Final = 10**12
AT_ONCE_MAX: Final = 4
IN_TURN_MAX: Final = 1_000
SHOWN_MAX: Final = AT_ONCE_MAX  # of operations, and of their outcomes
PAUSE_COUNT_MAX: Final = 16
N_MAX: Final = 1_000
PAUSE: Final = whole(-N_MAX, N_MAX)


class Kind(NamedTuple):
    """A kind of items: what they have, how they are shown, and where a fault happens."""

    text: str
    op_counts: Sequence[int] = (0,)
    number_max: int = 0
    sites: Sequence[str] = ("",)
    place: str = ""
    pauses_max: int = 0


KINDS: Final[Mapping[str, Kind]] = {
    "op": Kind("{ops}", (1,)),
    "at_once": Kind("at once{pauses}: {ops}", range(1, AT_ONCE_MAX + 1), 2**62, pauses_max=PAUSE_COUNT_MAX),
    "in_turn": Kind("{ops}", range(1, IN_TURN_MAX + 1)),
    "paged": Kind("page by page, others in between: {ops}", range(1, AT_ONCE_MAX + 1)),
    "advance": Kind("{number} ms pass", (0,), ADVANCE_MS_MAX, place="clock"),
    "reopen": Kind("closed and opened again", place="store"),
    "crash": Kind("the process dies", place="store"),
    "crash_in": Kind("the process dies at {site} {number}{part}: {ops}", (1,), N_MAX, SITES, "files"),
    "fail": Kind("{ops}, of which {site} {number}{part} fails", (1,), N_MAX, SITES, "files"),
    "cancel": Kind(
        "{together}{ops}, {which}cancelled after {number} steps{pauses}",
        range(1, AT_ONCE_MAX + 1),
        N_MAX,
        place="clients",
        pauses_max=PAUSE_COUNT_MAX,
    ),
}


class ContractOp(Data):
    """One operation of the contract, with its arguments by name."""

    name: str
    args: Mapping[str, object] = {}

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={show_value(each)}' for name, each in self.args.items())})"


class Item(Data):
    """`number` and `site`: what they mean is said by the kind. `part`: how much is done, in per cent.

    `pauses`: after how many points a job pauses, and after how many more the next time; below zero, after how
    many jobs that end the result of one comes late.
    """

    kind: str
    ops: tuple[ContractOp, ...] = ()
    number: int = 0
    site: str = ""
    part: int = 0
    pauses: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.describe(join_shown([str(op) for op in self.ops]))

    @property
    def event(self) -> str:
        """Describe what happens beside the operations."""
        return self.describe("").strip(" ,:").removeprefix("of which ")

    def describe(self, ops: str) -> str:
        part = f" ({self.part} % done)" if self.part else ""
        points = ", ".join(map(str, accumulate(each for each in self.pauses if each > 0)))
        ends = ", ".join(map(str, accumulate(-each for each in self.pauses if each < 0)))
        pauses = f", a job pausing at point {points}" * bool(points)
        pauses += f", the result of job {ends} coming late" * bool(ends)
        words = {"together": "at once: ", "which": "the first "} if len(self.ops) > 1 else {}
        return KINDS[self.kind].text.format(
            ops=ops, number=self.number, site=self.site, part=part, pauses=pauses,
            **{"together": "", "which": "", **words},
        )  # fmt: skip

    @property
    def call(self) -> tuple[str, int, str, int, tuple[int, ...], list[tuple[str, Mapping[str, object]]]]:
        """Return the arguments of `TargetWorld.happen`."""
        ops = [(op.name, op.args) for op in self.ops]
        return self.kind, self.number, self.site, self.part, self.pauses, ops


def join_shown(texts: Sequence[str]) -> str:
    """Return texts in one line; of a long sequence the first and the last, and how many are between them."""
    if len(texts) <= SHOWN_MAX:
        return "; ".join(texts)
    return f"{texts[0]}; ({len(texts) - 2} more); {texts[-1]}"


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
    """An item whose operations are `known`, with the arguments that they may have. Raises Wrong."""
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
    """An operation with what the contracts need of it. Raises Wrong."""
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
