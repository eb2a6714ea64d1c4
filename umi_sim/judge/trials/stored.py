"""Stored rows: bodies with any value in the place of any field, and sound ones of every kind as bytes.

Law 1. A body is believed exactly if the plain table of its fields allows each of them. Law 2. Where only one
field is odd, no other hides what is thought of it.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import attrs

from umi_core.answer_checks import is_whole_body
from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.rows import BODIES, Body
from umi_core.values import Block, Entry, Turn
from umi_sim.judge.invariants.row_bytes import check_row_bytes
from umi_sim.judge.plain.rows import FIELDS, is_fit
from umi_sim.judge.trials.values import around, long_values, values
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TURNS: Final = 256
AS_BYTES: Final = 4  # bodies of each trial
SHOWN: Final = 200
ENTRY: Final = Entry("e1", 1, "Ann", "tea", 5)
LATER: Final = Entry("e2", 1, "", "rope", 5)


def odd(it: Any, **changes: Any) -> Any:
    """With fields that none can have."""
    return attrs.evolve(it, **changes)


TEXT: Final = Block("human", text="tea")
LABELLED: Final = Block("human", "diet", "tea")
PROMOTED: Final = Block("human", entries=(ENTRY, LATER))
OF_ROWS: Final[tuple[object, ...]] = (
    *around(127), b"x", ("x", 0), ("x", -1), ("x", None), (("x", 1), ("y", 0)), (("x", -1),), (("", 1),),
    (1, 2), (1, 127), (-127,), (-128,), (128,), (1, True), (b"x",), [1], (0, 1), (-1, 0), (1, 0, 1),
    "created", "set", "deleted", "unchanged", "update", "contradict", "works_at", "located_in", "none",
    "keywords", "default", "model", "message", "archival", "x" * 256, "x" * 257, "é" * 256, "é" * 257,
    (("status", "ok"),), (("tool_name", "x"), ("status", "ok")), (("status", "ok"), ("tool_name", "x")),
    (("content", "x"),), (Turn("user", "x"), "x"), ("x", "\ud800"), ("é" * 128,), ("é" * 129,), ("x\n",),
)  # fmt: skip
OF_CORE: Final[tuple[object, ...]] = (
    (TEXT,), (TEXT, LABELLED), (LABELLED, TEXT), (TEXT, TEXT), (PROMOTED,), (PROMOTED, LABELLED),
    (Block("persona", text="I"), TEXT), (TEXT, Block("persona", text="I")), (Block("human"),),
    (Block("human", text=""),), (Block("attic", text="x"),), (Block("system", text="x"),),
    (odd(TEXT, label=None),), (odd(TEXT, label=" Diet "),),
    (odd(TEXT, label="a\nb"),), (odd(TEXT, importance_ppm=-1),),
    (odd(TEXT, importance_ppm=1_000_001),), (odd(TEXT, importance_ppm=1_000_000),),
    (odd(TEXT, importance_ppm=True),), (odd(TEXT, text="\ud800"),),
    (odd(TEXT, text=b"x"),), (odd(TEXT, entries=None),), (odd(TEXT, kind=None),),
    (odd(PROMOTED, entries=(LATER, ENTRY)),), (odd(PROMOTED, entries=(ENTRY, ENTRY)),),
    (odd(PROMOTED, label="diet"),), (odd(PROMOTED, kind="system"),),
    (odd(PROMOTED, kind="facts"), odd(PROMOTED, kind="scratch")),
    (PROMOTED, odd(PROMOTED, kind="facts", entries=(odd(LATER, entity_id="e3"),))),
    (odd(PROMOTED, entries=(odd(ENTRY, version=0),)),),
    (odd(PROMOTED, entries=(odd(ENTRY, promoted_ms=-1),)),),
    (odd(PROMOTED, entries=(odd(ENTRY, promoted_ms=None),)),),
    (odd(PROMOTED, entries=(odd(ENTRY, entity_id=""),)),),
    (odd(PROMOTED, entries=(odd(ENTRY, name="x" * 257),)),),
    (odd(PROMOTED, entries=(odd(ENTRY, text=None),)),),
    (odd(PROMOTED, entries=(odd(LATER, promoted_ms=4), ENTRY)),),
    (odd(PROMOTED, entries=("x",)),),
)  # fmt: skip


@cache
def tried(name: str) -> tuple[object, ...]:
    """What may stand in a field, and what may not."""
    return OF_CORE if name == "blocks" else (*values(), *OF_ROWS, *long_values())


@cache
def fitting(kind: str, name: str) -> Sequence[object]:
    """What may stand there."""
    return [value for value in tried(name) if FIELDS[kind][name](value)]


def sound(draw: Stream, kind: str) -> Body:
    """A body of this kind; a receipt tells nothing again."""
    given: Any = {name: draw.pick(fitting(kind, name)) for name in FIELDS[kind]}
    if kind == "receipt":
        given["value"] = None
    return BODIES[kind](**given)


@cache
def places() -> Sequence[tuple[str, str, object]]:
    """Each value in each field of each kind."""
    return [(kind, name, it) for kind, row in FIELDS.items() for name in row for it in tried(name)]


def try_stored(draw: Stream, config: Config) -> None:
    whole = {kind: sound(draw, kind) for kind in FIELDS}
    for kind, name, value in places()[draw.below(TURNS) :: TURNS]:
        check_body(whole[kind], name, value)
    for value in OF_CORE:
        check_body(whole["core"], "blocks", value)
    for _ in range(AS_BYTES):
        check_row_bytes(whole[draw.pick(tuple(FIELDS))])


def check_body(body: Body, name: str, value: object) -> None:
    """A sound one, but for this value in this field."""
    changed: Any = {name: value}
    it = attrs.evolve(body, **changed)
    wanted, got = is_fit(it), is_whole_body(it)
    told = f"{repr(value)[:SHOWN]} as {name} of a row of kind {it.row_kind} is believed"
    demand(wanted == got, rules.READ_SCOPE, told, wanted, got)
