"""Items: what happens to a store in one run, in order; each is a line of a seed file.

{"op": "put", "key": "a", "value": 1}
{"at_once": [OP, OP], "order": 7}          requests at once; `order` draws who goes on when
{"advance": 1000}                          milliseconds that pass
{"reopen": true}                           closed and made again
{"crash": SITE, "n": 2, "of": OP}          the process is gone as the operation reaches this for the n-th time
{"fail": SITE, "n": 1, "of": OP}           the n-th time that the operation reaches this fails
{"cancel": 3, "of": OP}                    the task is cancelled after so many steps of the event loop
"""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.formats.schema import Json, as_list, as_object, at, fail, one_of, whole, wrong
from umi_sim.targets.values import read_args, shown, to_json

SITES: Final = ("statement", "commit", "open", "replace")
ADVANCE_MS_MAX: Final = 10**12
AT_ONCE_MAX: Final = 4
N_MAX: Final = 1_000


@attrs.frozen
class Op(Data):
    """One operation of the contract, with its arguments by name."""

    name: str
    args: Mapping[str, object] = attrs.field(factory=dict)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={shown(each)}' for name, each in self.args.items())})"


@attrs.frozen
class AtOnce(Data):
    ops: tuple[Op, ...]
    order: int = 0

    def __str__(self) -> str:
        return f"at once: {'; '.join(map(str, self.ops))}"


@attrs.frozen
class Advance(Data):
    ms: int

    def __str__(self) -> str:
        return f"{self.ms} ms pass"


@attrs.frozen
class Reopen(Data):
    def __str__(self) -> str:
        return "closed and opened again"


@attrs.frozen
class Crash(Data):
    """`site` empty: between two operations."""

    site: str = ""
    n: int = 1
    of: Op | None = None

    def __str__(self) -> str:
        return f"the process dies at {self.site} {self.n} of {self.of}" if self.of else "the process dies"


@attrs.frozen
class Fail(Data):
    site: str
    n: int
    of: Op

    def __str__(self) -> str:
        return f"{self.of}, of which {self.site} {self.n} fails"


@attrs.frozen
class Cancel(Data):
    steps: int
    of: Op

    def __str__(self) -> str:
        return f"{self.of}, cancelled after {self.steps} steps"


Item = Op | AtOnce | Advance | Reopen | Crash | Fail | Cancel


# As JSON.


def item_to_json(item: Item) -> dict[str, Json]:
    match item:
        case Op():
            return op_to_json(item)
        case AtOnce():
            return {"at_once": [op_to_json(op) for op in item.ops], "order": item.order}
        case Advance():
            return {"advance": item.ms}
        case Reopen():
            return {"reopen": True}
        case Crash(of=None):
            return {"crash": item.site}
        case Crash(of=Op() as op):
            return {"crash": item.site, "n": item.n, "of": op_to_json(op)}
        case Fail():
            return {"fail": item.site, "n": item.n, "of": op_to_json(item.of)}
        case Cancel():
            return {"cancel": item.steps, "of": op_to_json(item.of)}
    raise AssertionError(item)


def op_to_json(op: Op) -> dict[str, Json]:
    return {"op": op.name, **{name: to_json(value) for name, value in op.args.items()}}


def read_item(value: Json, known: Mapping[str, Sequence[str]]) -> Item:
    """An item whose operations are `known`, with the arguments that they may have. Raises Wrong."""
    fields = as_object(value)
    kind = next((name for name in FIELDS if name in fields), None)
    if kind is None:
        fail(f"one of {', '.join(FIELDS)}", ", ".join(fields))
    if kind == "op":
        return read_op(value, known)
    if unknown := [name for name in fields if name not in FIELDS[kind]]:
        wrong(f"unknown field {shown(unknown[0])} of {kind}")

    def number(name: str, high: int, absent: int | None = 1) -> int:
        given = fields.get(name, absent)
        read: int = at(name, whole(0, high).read, given)
        return read

    of = at("of", lambda op: read_op(op, known), fields["of"]) if "of" in fields else None
    match kind:
        case "at_once":
            ops = tuple(read_op(each, known) for each in as_list(fields["at_once"]))
            if not 1 <= len(ops) <= AT_ONCE_MAX:
                wrong(f"at_once: expected 1 to {AT_ONCE_MAX} operations, got {len(ops)}")
            return AtOnce(ops, number("order", 2**62, 0))
        case "advance":
            return Advance(number("advance", ADVANCE_MS_MAX))
        case "reopen":
            return Reopen()
        case "crash" if of is None:
            return Crash()
    if of is None:
        wrong(f"{kind}: missing `of`, the operation")
    if kind == "cancel":
        return Cancel(number("cancel", N_MAX), of)
    site: str = at(kind, one_of(SITES, "site").read, fields[kind])
    return (Fail if kind == "fail" else Crash)(site, number("n", N_MAX), of)


FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "at_once": ("at_once", "order"), "advance": ("advance",), "reopen": ("reopen",),
    "crash": ("crash", "n", "of"),    "fail": ("fail", "n", "of"), "cancel": ("cancel", "of"), "op": ("op",),
}  # fmt: skip


def read_op(value: Json, known: Mapping[str, Sequence[str]]) -> Op:
    fields = as_object(value)
    name: str = at("op", one_of(known, "operation").read, fields.get("op"))
    args = read_args({key: each for key, each in fields.items() if key != "op"})
    if unknown := [key for key in args if key not in known[name]]:
        wrong(f"{name}: unknown argument {shown(unknown[0])}, known are {', '.join(known[name])}")
    return Op(name, args)


def ops_in(item: Item) -> tuple[Op, ...]:
    """The operations in an item."""
    match item:
        case Op():
            return (item,)
        case AtOnce():
            return item.ops
        case Crash(of=Op() as op) | Fail(of=op) | Cancel(of=op):
            return (op,)
    return ()
