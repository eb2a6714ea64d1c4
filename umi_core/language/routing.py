"""Routing: the reply to `route`, read as one decision per asked entity.

Law 1. Total: every asked entity gets exactly one decision, from its own valid row of the reply or from the
table of defaults. Law 2. A bad row affects only its own entity. Law 3. No entity that was not asked is
routed, and no entity goes to the block `system`.
"""

from collections.abc import Iterable
from typing import Final, Literal, get_args

from umi_core.config import Config
from umi_core.data import Data
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
from umi_core.policies.routing import table_decision
from umi_core.rows import Entity
from umi_core.text import norm
from umi_core.values import BLOCK_KINDS, RoutingDecision

REASON_BYTES_MAX: Final = 200
Malformed = Literal[  # these causes degrade; those of `Cause` are legitimate replies
    "not_object", "bad_id", "unknown_id", "duplicate_id", "bad_block", "system_block", "bad_promote",
    "bad_confidence", "missing",
]  # fmt: skip
Cause = Literal[
    "low_confidence", "persona_not_self", "self_is_fixed", "promote_low", "promote_scratch", "reason missing",
    "reason cut",
]  # fmt: skip
MALFORMED: Final[tuple[str, ...]] = get_args(Malformed)
SHAPES: Final[tuple[str, ...]] = (*MALFORMED, *get_args(Cause))
"""All causes why a row is ignored, or followed only in part."""


class Routes(Data):
    """Decisions in the order asked, and all causes that degrade; first those of rows of no asked entity.

    `shapes`: all causes and repairs, named as in SHAPES; not compared by `==`.
    """

    decisions: tuple[RoutingDecision, ...]
    degraded: tuple[str, ...]
    shapes: tuple[str, ...] = ()
    uncompared = ("shapes",)


def parse_routes(reply: str, asked: tuple[Entity, ...], config: Config) -> Routes | UnusableReply:
    """Return a decision for each asked entity: the model's, or that of the table if its row is invalid."""
    payload = find_rows(reply, ArrayOf(dict), ("entity_id",))
    if isinstance(payload, UnusableReply):
        return payload
    rows, strays = rows_by_id(payload, (entity.id for entity in asked))
    assert len(rows) == len(asked)
    decisions = tuple(decide(entity, rows[entity.id], config) for entity in asked)
    bad = tuple(decision.cause for decision in decisions if decision.cause in MALFORMED)
    causes = tuple(decision.cause for decision in decisions if decision.cause)
    repairs = tuple(
        repair for of in rows.values() for row in of if (repair := reason_repair(row, REASON_BYTES_MAX))
    )
    return Routes(decisions, strays + bad, strays + causes + repairs)


RouteRow = dict[str, Json]


def rows_by_id(
    elements: list[Json], ids: Iterable[str]
) -> tuple[dict[str, list[RouteRow]], tuple[Malformed, ...]]:
    """Return the rows of each id, and the reason why each other element belongs to no id."""
    rows: dict[str, list[RouteRow]] = {entity_id: [] for entity_id in ids}
    strays: list[Malformed] = []
    for element in elements:
        entity_id = field(element, "entity_id")
        if isinstance(element, dict) and isinstance(entity_id, str) and entity_id in rows:
            rows[entity_id].append(element)
        elif not isinstance(element, dict):
            strays.append("not_object")
        else:
            strays.append("unknown_id" if isinstance(entity_id, str) else "bad_id")
    return rows, tuple(strays)


def decide(entity: Entity, rows: list[RouteRow], config: Config) -> RoutingDecision:
    if len(rows) != 1:
        # Of two rows about one entity neither counts.
        return table_decision(entity, "duplicate_id" if rows else "missing")
    cause = refusal(entity, rows[0], config)
    return table_decision(entity, cause) if cause else by_model(entity, rows[0], config)


def refusal(entity: Entity, row: RouteRow, config: Config) -> Malformed | Cause | None:
    """Return the first reason to ignore a row, or None."""
    block, confidence = read_block(row), confidence_ppm(field(row, "confidence"))
    # Malformed rows come first, because only these causes degrade the reply.
    causes: tuple[tuple[Malformed | Cause, bool], ...] = (
        ("bad_block", block not in BLOCK_KINDS),
        ("system_block", block == "system"),
        ("bad_promote", not isinstance(row.get("promote", False), bool)),
        ("bad_confidence", confidence is None),
        ("low_confidence", (confidence or 0) < config.route_confidence_min_ppm),
        ("persona_not_self", block == "persona" and entity.type != "self"),
        ("self_is_fixed", entity.type == "self"),
    )
    return next((cause for cause, holds in causes if holds), None)


def by_model(entity: Entity, row: RouteRow, config: Config) -> RoutingDecision:
    """Return the decision of a valid row, without a promotion of too little confidence or from `scratch`."""
    block, confidence = read_block(row), confidence_ppm(field(row, "confidence"))
    assert confidence is not None
    promote = row.get("promote") is True
    # The block is accepted even then: only a promotion needs this much confidence.
    low = promote and confidence < config.promote_confidence_min_ppm
    cause: Cause | None = (
        "promote_low" if low else "promote_scratch" if promote and block == "scratch" else None
    )
    promote = promote and cause is None
    return RoutingDecision(
        entity.id, block, promote, confidence, reason_of(row, REASON_BYTES_MAX), "model", cause
    )


def read_block(row: RouteRow) -> str:
    block = row.get("block")
    return norm(block) if isinstance(block, str) else ""
