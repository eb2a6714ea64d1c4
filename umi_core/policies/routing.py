"""Routing: the core block to which an entity belongs.

Law 1. The table is total: every type has exactly one block.
Law 2. Nothing is routed to system. Law 3. Self entities go to persona, and no others do.
"""

from typing import Final

from umi_core.rows import Entity
from umi_core.values import BLOCK_KINDS, ENTITY_TYPES, RoutingDecision

SELF_BLOCK: Final = "persona"

BLOCK_OF_TYPE: Final = {
    "self": SELF_BLOCK,
    "person": "human",
    "organization": "facts",
    "project": "facts",
    "topic": "facts",
    "location": "facts",
    "event": "goals",
    "task": "goals",
    "preference": "human",
    "note": "scratch",
}
assert tuple(BLOCK_OF_TYPE) == ENTITY_TYPES
assert all(block in BLOCK_KINDS[1:] for block in BLOCK_OF_TYPE.values())
assert [kind for kind, block in BLOCK_OF_TYPE.items() if block == SELF_BLOCK] == ["self"]


def table_decision(entity: Entity, cause: str | None = None) -> RoutingDecision:
    """Return the decision of the table; `cause`: why no model decided. Only self is promoted immediately."""
    return RoutingDecision(
        entity_id=entity.id,
        block=BLOCK_OF_TYPE[entity.type],
        promote=entity.type == "self",
        confidence_ppm=None,
        reason="",
        routed_by="table",
        cause=cause,
    )
