"""What interceptors give in the place of questions and answers, and answers that are none.

Law 1. A good one is drawn, then mostly one field of it becomes another. Law 2. What may be is worked out by
umi_sim/judge/plain/hooks.py; who is called when belongs to runs.
"""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from umi_core import answer_checks
from umi_core.conditions import Condition
from umi_core.config import Config
from umi_core.engine import middleware
from umi_core.engine.middleware import Interceptor, Pass, Refuse, Rewrite, Substitute
from umi_core.invariants.broken import demand
from umi_core.memory import Memory
from umi_core.messages.answers import Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Embed,
    Expect,
    Read,
    Write,
)
from umi_core.rows import Address, Entity, Receipt, Row
from umi_core.state import State
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.plain import hooks as plain
from umi_sim.judge.trials.stored import odd
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TRIED: Final = 60  # of each trial
WHO: Final = Scope("u", "a")
ANN: Final = Address(WHO, "entity", "e1")
BOB: Final = Address(WHO, "entity", "e2")
OTHER: Final = Address(Scope("u", "b"), "entity", "e1")
TYPED: Final = Condition("type", "eq", "person")
NAMED: Final = Condition("name", "in", ("Ann", None, 3, True))
WHERE: Final = (TYPED,)


def entity(key: str, kind: str = "person") -> Entity:
    return Entity(key, kind, "Ann", "tea", 1, 0, 0, "human", 4, 5)


RECEIPT: Final = Receipt("k", b"r", b"p", None, 5)
ASKED: Final[tuple[Any, ...]] = (
    AskModel("extract", "Read this", "default", 7, 500), Embed(("tea", "rope"), "default", 7, 500),
    Read(ByIds((ANN, BOB)), "main", 7, 500), Read(ByFilter(WHO, ("entity",), WHERE, 10, "c"), "main", 7, 500),
    Read(ByFilter(WHO, ("entity", "category"), (), None), "main", 7, 500),
    Read(CountRows(WHO, ("entity",), WHERE), "main", 7, 500),
    Read(ByVector(WHO, (1, 2), WHERE, 5, 300_000), "main", 7, 500),
    Read(ByWords(WHO, "tea", (), 5, 1), "main", 7, 500),
    Commit((Write(ANN, entity("e1")), Write(BOB, None)), (Expect(ANN, 1),), "k", "main", 7, 500),
    Commit((Write(ANN, entity("e1")), Write(BOB, RECEIPT)), (), "k", "main", 7, 500),
)  # fmt: skip
ANSWERS: Final[tuple[Any, ...]] = (
    ModelReplied(7, "so"), Embedded(7, ((1, 2), (3, 4))), ReadDone(7, ()),
    ReadDone(7, (Row(ANN, 1, entity("e1")), Row(BOB, 0, entity("e2")))),
    ReadDone(7, (Row(ANN, 1, entity("e1"), 400_000),)), ReadDone(7, (Row(ANN, 1, entity("e1"), 1),)),
    ReadDone(7, (Row(ANN, 1, None),)), ReadDone(7, (Row(OTHER, 1, entity("e1")),)),
    ReadDone(7, (Row(ANN, 1, entity("e1", "note")),)), ReadDone(7, (), "c"), ReadDone(7, (), None, 3),
    EffectFailed(7, "timeout"), EffectFailed(7, "too_long"), EffectFailed(7, "full", 5),
    EffectFailed(7, "conflict", 0, ((ANN, 2),)), EffectFailed(7, "unknown"), EffectFailed(7, "damaged"),
    Committed(7, ((ANN, 2), (BOB, 3)), RECEIPT), Committed(7, ((ANN, 1),)), Committed(7, ((ANN, 0),)),
    Committed(7, ((ANN, 1),), attrs.evolve(RECEIPT, plan_digest=b"q")), Committed(7, (), RECEIPT),
    Committed(7, (), attrs.evolve(RECEIPT, plan_digest=b"q")),
    Committed(7, ((ANN, 1), (BOB, 1)), attrs.evolve(RECEIPT, key="l")),
    Committed(7, ((ANN, 1), (BOB, 1)), attrs.evolve(RECEIPT, value=entity("e1"))),
    Committed(7, (), attrs.evolve(RECEIPT, value=entity("e1"), request_digest=b"s", plan_digest=b"q")),
)  # fmt: skip
ODD: Final[tuple[object, ...]] = (
    None, True, 0, 1, 7, -1, 5, 10, 11, 499, 500, 501, 2**63, "", " ", "x", "default", "main", "\ud800", b"x",
    (), ("x",), ("x", "y"), ("x", " "), ("x", "\ud800"), ["x", "y"], ("x", None), WHERE, (*WHERE, NAMED),
    (NAMED, *WHERE), WHERE * 20, WHERE * 21, (odd(TYPED, value=b"x"),), (*WHERE, odd(NAMED, value=(("x",),))),
    (*WHERE, odd(NAMED, field=None)), [TYPED], (TYPED, "x"), ((1, 2),), ((1,), (2,)), ((), None), ((ANN, 1),),
    ((ANN, True),), (("e1", 1),), ((ANN, 2**63),), (Row(ANN, -1, None),), (Row(ANN, 1, entity("e1")),),
    (odd(Row(ANN, 1, None), version=True),), (odd(Row(ANN, 1, None), score_ppm="x"),), ("entity",),
    ("category",), RECEIPT,
)  # fmt: skip


def try_hooks(draw: Stream, config: Config) -> None:
    check_disposed(draw.shuffle(("one", "two", "three")))
    for _ in range(TRIED):
        asked = draw.pick(ASKED)
        check_rewrite(asked, changed(draw, draw.pick((asked, asked, asked, draw.pick(ASKED)))))
        check_answer(asked, changed(draw, draw.pick(ANSWERS)))


def check_disposed(names: Sequence[str]) -> None:
    """Of some interceptors one goes, by its name, and once."""
    memory = Memory.standing_at(State(WHO, Config(), seen_ms=5, phase="ready", epoch=3), BUILT_IN)
    for name in names:
        memory.intercept(Interceptor(name))
    first, *others = names
    went = [memory.dispose(first), memory.dispose(first)]
    demand(
        went == [True, False], rules.WORKFLOW_CONTRACT, f"{first} of {names} goes twice", [True, False], went
    )
    left = sorted(memory.registry.generations[-1].named)
    demand(left == sorted(others), rules.WORKFLOW_CONTRACT, f"{first} of {names} went", sorted(others), left)


def changed(draw: Stream, it: Any) -> Any:
    """It, or with another value in one field of it or of the query that it holds."""
    if draw.chance(1, 4):
        return it
    name = draw.pick(tuple(attrs.fields_dict(type(it))))
    part = getattr(it, name)
    if name == "query" and draw.chance(15, 16):
        return odd(it, query=changed(draw, part))
    alike = [value for value in ODD if type(value) is type(part)]
    return odd(it, **{name: draw.pick(alike if alike and draw.chance(3, 4) else ODD)})


def check_rewrite(asked: Any, given: Any) -> None:
    wanted = plain.may_replace(asked, given)
    got = middleware.may_before(asked, Rewrite(given))
    demand(wanted == got, rules.WORKFLOW_CONTRACT, f"a hook puts {given} for {asked}", wanted, got)


def check_answer(asked: Any, answer: Any) -> None:
    told = f"{answer} as an answer to {asked}"
    if not isinstance(getattr(asked, "query", None), CountRows):
        wanted = plain.may_stand_for(asked, answer, is_right)
        for got in (
            middleware.may_before(asked, Substitute(answer)),
            middleware.may_after(asked, ANSWERS[0], Substitute(answer)),
        ):
            demand(wanted == got, rules.WORKFLOW_CONTRACT, f"of a hook {told}", wanted, got)
    is_due, is_taken = plain.is_due(asked, answer), answer_checks.is_answer_of(asked, answer)
    demand(is_due == is_taken, rules.WORKFLOW_CONTRACT, told, is_due, is_taken)
    held = answer_checks.held(asked, answer)
    failed = EffectFailed(answer.request_id, "unknown" if isinstance(asked, Commit) else "unavailable")
    demand(held == (answer if is_due else failed), rules.WORKFLOW_CONTRACT, told, is_due, held)
    for verdict, may_be in ((Pass(), True), (Refuse("no"), not isinstance(answer, EffectFailed | Committed))):
        may = middleware.may_after(asked, answer, verdict)
        demand(may == may_be, rules.WORKFLOW_CONTRACT, f"{verdict} behind {told}", may_be, may)


def is_right(row: Row) -> bool:
    """All that are drawn are whole, each under its own id."""
    return row.body is not None and row.body.own_id() == row.address.id
