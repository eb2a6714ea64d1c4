"""Which block of core an entity belongs to: by the table, or as a reply to `route` says within its bounds.

As M9 has it: a row that cannot be followed leaves its entity, and no other, to the table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from umi_core.config import Config
from umi_core.data import Data
from umi_core.values import RoutingDecision
from umi_sim.judge.plain.replies import array_of, confidence_ppm, payload_of
from umi_sim.judge.plain.text import cut, folded

BLOCK_OF: Final[Mapping[str, str]] = {
    "self": "persona",
    "person": "human",
    "preference": "human",
    "organization": "facts",
    "project": "facts",
    "topic": "facts",
    "location": "facts",
    "event": "goals",
    "task": "goals",
    "note": "scratch",
}
OFFERED: Final = ("persona", "human", "facts", "goals", "scratch")
REASON_BYTES: Final = 200
CHOICES: Final = ("low_confidence", "persona_not_self", "self_is_fixed")  # well-formed, and not followed

Asked = tuple[str, str]  # an entity that a model was asked about: its id and its type


@attrs.frozen
class Routes(Data):
    """One decision for each entity, in their order; what the model did wrong, rows about no entity first."""

    decisions: tuple[RoutingDecision, ...]
    faults: tuple[str, ...]


def by_table(entity_id: str, entity_type: str, cause: str | None = None) -> RoutingDecision:
    """Only self goes into core at once."""
    return RoutingDecision(entity_id, BLOCK_OF[entity_type], entity_type == "self", None, "", "table", cause)


def read_routes(reply: str, asked: Sequence[Asked], config: Config) -> Routes | None:
    """None if there is no payload: then the table decides for all."""
    rows = payload_of(reply, "[", array_of(dict))
    if rows is None:
        return None
    ids = [entity_id for entity_id, _ in asked]
    strays = [stray for row in rows if (stray := why_about_none(row, ids))]
    decisions = [decision_of(entity, rows, config) for entity in asked]
    causes = [it.cause for it in decisions if it.routed_by == "table" and it.cause not in CHOICES]
    return Routes(tuple(decisions), (*strays, *filter(None, causes)))


def why_about_none(row: Any, ids: Sequence[str]) -> str | None:
    """Why a row is about none of these entities; None if it is about one."""
    if not isinstance(row, dict):
        return "not_object"
    entity_id = row.get("entity_id")
    if not isinstance(entity_id, str):
        return "bad_id"
    return None if entity_id in ids else "unknown_id"


def decision_of(entity: Asked, rows: Sequence[Any], config: Config) -> RoutingDecision:
    own = [row for row in rows if isinstance(row, dict) and row.get("entity_id") == entity[0]]
    if len(own) != 1:
        return by_table(*entity, "duplicate_id" if own else "missing")
    decision = decide(own[0], *entity, config)
    return by_table(*entity, decision) if isinstance(decision, str) else decision


def decide(row: dict[str, Any], entity_id: str, entity_type: str, config: Config) -> RoutingDecision | str:
    """What the row says of its entity, or why the table decides."""
    said = row.get("block")
    block = folded(said) if isinstance(said, str) else None
    if block == "system":
        return "system_block"
    if block not in OFFERED:
        return "bad_block"
    promote = row.get("promote", False)
    if not isinstance(promote, bool):
        return "bad_promote"
    sure_ppm = confidence_ppm(row.get("confidence"))
    if sure_ppm is None:
        return "bad_confidence"
    if sure_ppm < config.route_confidence_min_ppm:
        return "low_confidence"
    if block == "persona" and entity_type != "self":
        return "persona_not_self"
    if entity_type == "self":
        return "self_is_fixed"
    told = row.get("reason")
    reason = cut(told, REASON_BYTES) if isinstance(told, str) else ""
    cause = why_not_at_once(block, sure_ppm, config) if promote else None
    return RoutingDecision(entity_id, block, promote and cause is None, sure_ppm, reason, "model", cause)


def why_not_at_once(block: str, sure_ppm: int, config: Config) -> str | None:
    """Why an entity that the model wants in core stays out of it for now."""
    if sure_ppm < config.promote_confidence_min_ppm:
        return "promote_low"
    return "promote_scratch" if block == "scratch" else None
