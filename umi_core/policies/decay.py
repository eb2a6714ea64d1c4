"""Decay: which members of a category are in use, and with them which of its groups.

Law 1. A group is as much in use as the member of it that was used last: one is enough for all of them.
Law 2. A member without a group is in use only by itself, so a group that is gone does not come back unused.
"""

from collections.abc import Iterable, Mapping

from umi_core.rows import AccessRecord, Membership


def in_use(
    members: Iterable[Membership], records: Mapping[str, AccessRecord], unused_ms: int
) -> tuple[Membership, ...]:
    """Return the members used after `unused_ms`, and all members of a group with such a member."""
    every = tuple(members)
    used = [it for it in every if last_use_ms(it, records) > unused_ms]
    ids, groups = {it.id for it in used}, {it.subcategory_id for it in used if it.subcategory_id}
    return tuple(it for it in every if it.id in ids or it.subcategory_id in groups)


def last_use_ms(member: Membership, records: Mapping[str, AccessRecord]) -> int:
    """Return the time of the last use; becoming a member is one."""
    record = records.get(member.entity_id)
    return max(member.created_ms, record.last_ms if record is not None else 0)
