"""What a reply to `evolve` says that new statements do to old ones, as M14.2 and M14.3 have it."""

from collections.abc import Container
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_core.invariants.limits import RELATION_REASON_BYTES_MAX
from umi_core.values import EVOLUTION_KINDS
from umi_sim.judge.plain.replies import array_of, confidence_ppm, payload_of
from umi_sim.judge.plain.text import cut, folded

Pair = tuple[str, str]  # refs (`id@version`) of the new statement and of the old one


@attrs.frozen
class Verdict(Data):
    """`by` is model or table."""

    kind: str
    confidence_ppm: int
    reason: str
    by: str


@attrs.frozen
class Verdicts(Data):
    """What rows say, in their order; why others were dropped."""

    by_pair: tuple[tuple[Pair, Verdict], ...]
    dropped: tuple[str, ...]


BY_TABLE: Final = Verdict("extend", 500_000, "", "table")  # without a model nothing that is known is dropped

NEEDS_RESOLUTION_MIN_PPM: Final = 800_000  # from here on somebody has to say which of two is right


def read_verdicts(reply: str, pairs: Container[Pair], floor_ppm: int) -> Verdicts | None:
    """None if there is no payload. A pair without a verdict here is unrelated, as far as the model says."""
    rows = payload_of(reply, "[", array_of(dict))
    if rows is None:
        return None
    told = [pair_of(row) for row in rows]
    read = [(pair, verdict_of(row, told, pairs)) for pair, row in zip(told, rows, strict=True)]
    found = [(pair, it) for pair, it in read if pair is not None and isinstance(it, Verdict)]
    related = [(pair, it) for pair, it in found if it.kind != "none" and it.confidence_ppm >= floor_ppm]
    return Verdicts(tuple(related), tuple(it for _, it in read if isinstance(it, str)))


def pair_of(row: Any) -> Pair | None:
    new, old = (row.get("new"), row.get("old")) if isinstance(row, dict) else (None, None)
    return (new, old) if isinstance(new, str) and isinstance(old, str) else None


def verdict_of(row: Any, all_pairs: list[Pair | None], pairs: Container[Pair]) -> Verdict | str:
    """What a row says, or why it is dropped."""
    if not isinstance(row, dict):
        return "not_object"
    pair = pair_of(row)
    if pair is None or pair not in pairs:
        return "unknown_pair"
    if all_pairs.count(pair) > 1:
        return "duplicate_pair"
    said = row.get("type")
    kind = folded(said) if isinstance(said, str) else ""
    if kind not in ("none", *EVOLUTION_KINDS):
        return "bad_type"
    sure_ppm = confidence_ppm(row.get("confidence"))
    if sure_ppm is None:
        return "bad_confidence"
    told = row.get("reason")
    reason = cut(told, RELATION_REASON_BYTES_MAX) if isinstance(told, str) else ""
    return Verdict(kind, sure_ppm, reason, "model")
