"""Which saved states a memory may go on with, by their fields, as docs/spec gives them.

Law 1. Of a memory that has nothing in flight; what holds between its parts is not for this table.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from umi_core.invariants import limits
from umi_core.values import BLOCK_KINDS, RoutingDecision
from umi_sim.judge.plain.rows import Fits, are_blocks, each, is_member, number, of_type, or_none, pair, word
from umi_sim.judge.plain.text import byte_count, is_text

NOW_MS_MAX: Final = 2**53 - 1
SHORT_BYTES_MAX: Final = 200
NAMES_BYTES_MAX: Final = 4_096
REQUEST_COUNT_MAX: Final = 2**52 - 1


def table(fits: Fits) -> Fits:
    return lambda value: type(value) is dict and all(map(is_text, value)) and all(map(fits, value.values()))


def is_short(value: Any) -> bool:
    return is_text(value) and byte_count(value) <= SHORT_BYTES_MAX


def is_ascii_id(value: Any) -> bool:
    is_plain = is_text(value) and all(char < "\x80" for char in value)
    return is_plain and 1 <= len(value) <= limits.SCOPE_PART_BYTES_MAX


def are_names(value: Any) -> bool:
    """As many as a reserved key can show as a list in JSON."""
    if not each(is_text)(value):
        return False
    return byte_count(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) <= NAMES_BYTES_MAX


def is_decision(value: Any) -> bool:
    return type(value) is RoutingDecision and all(fits(getattr(value, it)) for it, fits in DECISION.items())


COUNT: Final = number(0)
I64: Final = number(limits.I64_MIN)
MOMENT: Final = number(0, NOW_MS_MAX)
DECISION: Final[Mapping[str, Fits]] = {
    "entity_id": is_text, "block": word(*BLOCK_KINDS[1:]), "promote": of_type(bool),
    "confidence_ppm": or_none(I64), "reason": is_text, "routed_by": is_text, "cause": or_none(is_text),
    "outcome": is_text,
}  # fmt: skip
FIELDS: Final[Mapping[str, Fits]] = {
    "seen_ms": MOMENT, "phase": word("ready", "unfit", "closed", "deposed"), "epoch": number(1),
    "operation_count": COUNT, "request_count": number(0, REQUEST_COUNT_MAX), "turn_count": COUNT,
    "landed_count": COUNT, "counters": table(I64),
    "tiers.decisions": each(is_decision), "tiers.dues": table(MOMENT), "tiers.upkeep": table(MOMENT),
    "tiers.core.blocks": are_blocks, "tiers.core.guard_version": COUNT,
    "tiers.working.used_bytes": number(0, 0), "tiers.working.expired_count": COUNT,
    "tiers.session.session_id": or_none(is_ascii_id), "tiers.session.started_ms": or_none(I64),
    "tiers.session.interaction_count": COUNT, "tiers.session.last_input": or_none(is_short),
    "tiers.session.last_query": or_none(is_short), "tiers.session.names": are_names,
    "tiers.session.version": COUNT, "tiers.session.creator": is_text,
    "tiers.session.members": each(is_member), "tiers.session.load_count": COUNT,
    "tiers.access.unsaved": table(lambda value: value is None), "tiers.access.cursor": is_text,
    "tiers.access.head_version": COUNT, "tiers.access.is_due": of_type(bool), "tiers.access.ran_ms": MOMENT,
    "tiers.access.touch_count": COUNT, "tiers.access.forgotten": each(is_text),
    "tiers.access.versions": each(pair(is_text, I64)), "tiers.access.repair_cursor": is_text,
}  # fmt: skip
"""By its way from the state."""
