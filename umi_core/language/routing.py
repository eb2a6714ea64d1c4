"""Routing: the reply to `route`, read as one decision per asked entity.

Law 1. Total: every asked entity gets exactly one decision, from its sound row or from the table.
Law 2. A bad row costs only its own entity. Law 3. Nothing unknown is routed, and nothing into system.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.language.replies import ArrayOf, Json, Unusable, confidence_ppm, find_json
from umi_core.policies.routing import table_decision
from umi_core.values import BLOCK_KINDS, Entity, RoutingDecision, cut, norm

REASON_BYTES_MAX: Final = 200
MALFORMED: Final = (  # these causes degrade; the others are the model's good right
    "not_object", "bad_id", "unknown_id", "duplicate_id", "bad_block", "system_block", "bad_promote",
    "bad_confidence", "missing",
)  # fmt: skip


@attrs.frozen
class Routes:
    """Decisions in the order asked, and each cause that degrades, rows of no asked entity first."""

    decisions: tuple[RoutingDecision, ...]
    degraded: tuple[str, ...]


def parse_routes(reply: str, asked: tuple[Entity, ...], config: Config) -> Routes | Unusable:
    """What the model decided about each asked entity; the table decides where it said nothing sound."""
    payload = find_json(reply, ArrayOf(dict))
    if isinstance(payload, Unusable):
        return payload
    rows, strays = rows_by_id(payload, (entity.id for entity in asked))
    assert len(rows) == len(asked)
    decisions = tuple(decide(entity, rows[entity.id], config) for entity in asked)
    bad = tuple(decision.cause for decision in decisions if decision.cause in MALFORMED)
    return Routes(decisions, strays + bad)


RouteRow = dict[str, Json]


def rows_by_id(elements: list[Json], ids: Iterable[str]) -> tuple[dict[str, list[RouteRow]], tuple[str, ...]]:
    """The rows of each id, and why each other element is the row of none."""
    rows: dict[str, list[RouteRow]] = {entity_id: [] for entity_id in ids}
    strays: list[str] = []
    for element in elements:
        entity_id = element.get("entity_id") if isinstance(element, dict) else None
        if isinstance(element, dict) and isinstance(entity_id, str) and entity_id in rows:
            rows[entity_id].append(element)
        elif not isinstance(element, dict):
            strays.append("not_object")
        else:
            strays.append("unknown_id" if isinstance(entity_id, str) else "bad_id")
    return rows, tuple(strays)


def decide(entity: Entity, rows: list[RouteRow], config: Config) -> RoutingDecision:
    if len(rows) != 1:
        return table_decision(entity, "duplicate_id" if rows else "missing")
    cause = refusal(entity, rows[0], config)
    return table_decision(entity, cause) if cause else by_model(entity, rows[0], config)


def refusal(entity: Entity, row: RouteRow, config: Config) -> str | None:
    """Why a row does not count: the first of these that holds."""
    block, confidence = read_block(row), confidence_ppm(row.get("confidence"))
    causes = (
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
    """What a sound row says, short of a promotion that it is not sure enough of."""
    block, confidence = read_block(row), confidence_ppm(row.get("confidence"))
    assert confidence is not None
    promote = row.get("promote") is True
    low = promote and confidence < config.promote_confidence_min_ppm
    cause = "promote_low" if low else "promote_scratch" if promote and block == "scratch" else None
    promote = promote and cause is None
    return RoutingDecision(entity.id, block, promote, confidence, read_reason(row), "model", cause)


def read_block(row: RouteRow) -> str:
    block = row.get("block")
    return norm(block) if isinstance(block, str) else ""


def read_reason(row: RouteRow) -> str:
    reason = row.get("reason")
    return cut(reason, REASON_BYTES_MAX) if isinstance(reason, str) else ""
