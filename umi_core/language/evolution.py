"""Evolution: the reply to `evolve`, read as at most one verdict per asked pair of statements.

Law 1. Total: any string gives verdicts, and a reason for each dropped row, or an `UnusableReply`. Law 2. Rows
about a pair that was not asked are dropped, and so are all rows of a pair that has several.
"""

from collections import Counter
from collections.abc import Container
from typing import Final, Literal, get_args

from umi_core.data import Data
from umi_core.domains import Change, Importance, Reason, Word
from umi_core.json_text import Json
from umi_core.language.replies import (
    ArrayOf,
    UnusableReply,
    confidence_ppm,
    field,
    find_rows,
    reason_of,
    reason_repair,
)
from umi_core.limits import RELATION_REASON_BYTES_MAX
from umi_core.text import norm
from umi_core.values import EVOLUTION_KINDS

NONE: Final = "none"

Drop = Literal["not_object", "unknown_pair", "duplicate_pair", "bad_type", "bad_confidence"]
Silence = Literal["none", "low_confidence"]  # why a well-formed row gives no verdict
SHAPES: Final = (*get_args(Drop), *get_args(Silence), "reason missing", "reason cut")

Pair = tuple[str, str]  # the refs of the new and of the old statement


class StatementVerdict(Data):
    """The effect of a new statement on an old one."""

    kind: Change
    confidence_ppm: Importance
    reason: Reason = ""
    by: Word = "model"


class Evolution(Data):
    """Verdicts by pair, in the order of the reply, and why rows were dropped.

    `silent`: why well-formed rows give no verdict. `repairs`: those of reasons. `==` compares neither.
    """

    verdicts: tuple[tuple[Pair, StatementVerdict], ...] = ()
    dropped: tuple[Drop, ...] = ()
    silent: tuple[Silence, ...] = ()
    repairs: tuple[str, ...] = ()
    uncompared = ("silent", "repairs")

    @property
    def shapes(self) -> tuple[str, ...]:
        """All dropped, silent and repaired rows, named as in SHAPES."""
        return (*self.dropped, *self.silent, *self.repairs)


def parse_evolution(reply: str, asked: Container[Pair], confidence_min_ppm: int) -> Evolution | UnusableReply:
    """Return the verdicts that relate two statements, or why the reply cannot be used.

    A row of type `none`, or with a confidence below the minimum, gives no verdict.
    """
    payload = find_rows(reply, ArrayOf(dict), ("new", "old"))
    if isinstance(payload, UnusableReply):
        return payload
    # Counted before any row is read, because the first of several rows about one pair is dropped, too.
    pairs = [pair_of(element) for element in payload]
    counts = Counter(pairs)
    verdicts: list[tuple[Pair, StatementVerdict]] = []
    dropped: list[Drop] = []
    silent: list[Silence] = []
    repairs: list[str] = []
    for element, pair in zip(payload, pairs, strict=True):
        verdict = read_row(element, pair, asked, counts[pair] > 1)
        if isinstance(verdict, str):
            dropped.append(verdict)
        elif verdict.kind == NONE or verdict.confidence_ppm < confidence_min_ppm:
            silent.append("none" if verdict.kind == NONE else "low_confidence")
        else:
            assert pair is not None
            verdicts.append((pair, verdict))
            assert isinstance(element, dict)
            repairs += filter(None, [reason_repair(element, RELATION_REASON_BYTES_MAX)])
    return Evolution(tuple(verdicts), tuple(dropped), tuple(silent), tuple(repairs))


def pair_of(element: Json) -> Pair | None:
    """Return both refs of a row, without brackets and quotes around them; None if one is missing."""
    inside = field(element, "pair")
    row = inside if isinstance(inside, dict) else element
    new, old = (
        inside if isinstance(inside, list) and len(inside) == 2 else (field(row, "new"), field(row, "old"))
    )
    refs = [field(it, "ref") if isinstance(it, dict) else it for it in (new, old)]
    new, old = (it.strip('[]()<>`" ') if isinstance(it, str) else None for it in refs)
    return (new, old) if new and old else None


KINDS: Final = {  # by the first letters of a model's word for it
    "updat": "update", "supersed": "update", "replac": "update", "contradict": "contradict",
    "conflict": "contradict", "exten": "extend", "deriv": "derive",
}  # fmt: skip


def read_kind(value: Json) -> str:
    """Return the kind that a row gives, also from other forms and synonyms: `superseded` is `update`."""
    given = value[0] if isinstance(value, list) and len(value) == 1 else value
    kind = norm(given) if isinstance(given, str) else ""
    return next((it for begin, it in KINDS.items() if kind.startswith(begin) and " " not in kind), kind)


def read_row(
    element: Json, pair: Pair | None, asked: Container[Pair], is_repeated: bool
) -> StatementVerdict | Drop:
    """Return the verdict of a row, or the first reason to drop it."""
    if not isinstance(element, dict):
        return "not_object"
    if pair is None or pair not in asked:
        return "unknown_pair"
    if is_repeated:
        return "duplicate_pair"
    kind, confidence = read_kind(field(element, "type")), confidence_ppm(field(element, "confidence"))
    if kind not in (*EVOLUTION_KINDS, NONE):
        return "bad_type"
    if confidence is None:
        return "bad_confidence"
    return StatementVerdict(kind, confidence, reason_of(element, RELATION_REASON_BYTES_MAX))
