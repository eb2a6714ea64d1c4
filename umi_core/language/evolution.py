"""Evolution: the reply to `evolve`, read as at most one verdict per asked pair of statements.

Law 1. Total: any string gives verdicts, and a reason for each row that was dropped. Law 2. Only what was
asked is answered: a row about another pair is dropped, and so are all rows of a pair that has two.
"""

from collections import Counter
from collections.abc import Container
from typing import Final

import attrs

from umi_core.language.replies import ArrayOf, Json, Unusable, confidence_ppm, find_json
from umi_core.limits import PPM, RELATION_REASON_BYTES_MAX
from umi_core.values import EVOLUTION_KINDS, cut, norm

NONE: Final = "none"
NEEDS_RESOLUTION_MIN_PPM: Final = 800_000

Pair = tuple[str, str]  # refs: of the new statement, of the old one


@attrs.frozen
class Verdict:
    """What a new statement does to an old one."""

    kind: str
    confidence_ppm: int
    reason: str = ""
    by: str = "model"


BY_TABLE: Final = Verdict("extend", PPM // 2, by="table")
"""Without a model nothing known is dropped: the next version extends the old one."""


@attrs.frozen
class Evolution:
    """Verdicts by pair, in the order of the reply, and why rows were dropped."""

    verdicts: tuple[tuple[Pair, Verdict], ...] = ()
    dropped: tuple[str, ...] = ()


def parse_evolution(reply: str, asked: Container[Pair], confidence_min_ppm: int) -> Evolution | Unusable:
    """Verdicts that relate; a sound row that says `none`, or is not sure enough, is no verdict."""
    payload = find_json(reply, ArrayOf(dict))
    if isinstance(payload, Unusable):
        return payload
    pairs = [pair_of(element) for element in payload]
    counts = Counter(pairs)
    verdicts: list[tuple[Pair, Verdict]] = []
    dropped: list[str] = []
    for element, pair in zip(payload, pairs, strict=True):
        verdict = read_row(element, pair, asked, counts[pair] > 1)
        if isinstance(verdict, str):
            dropped.append(verdict)
        elif verdict.kind != NONE and verdict.confidence_ppm >= confidence_min_ppm:
            assert pair is not None
            verdicts.append((pair, verdict))
    return Evolution(tuple(verdicts), tuple(dropped))


def pair_of(element: Json) -> Pair | None:
    new, old = (element.get("new"), element.get("old")) if isinstance(element, dict) else (None, None)
    return (new, old) if isinstance(new, str) and isinstance(old, str) else None


def read_row(element: Json, pair: Pair | None, asked: Container[Pair], is_repeated: bool) -> Verdict | str:
    """The verdict of a row, or the first reason against it."""
    if not isinstance(element, dict):
        return "not_object"
    if pair is None or pair not in asked:
        return "unknown_pair"
    if is_repeated:
        return "duplicate_pair"
    kind, confidence = element.get("type"), confidence_ppm(element.get("confidence"))
    kind = norm(kind) if isinstance(kind, str) else ""
    if kind not in (*EVOLUTION_KINDS, NONE):
        return "bad_type"
    if confidence is None:
        return "bad_confidence"
    return Verdict(kind, confidence, read_reason(element))


def read_reason(element: dict[str, Json]) -> str:
    reason = element.get("reason")
    return cut(reason, RELATION_REASON_BYTES_MAX) if isinstance(reason, str) else ""
