"""Goal: a member is in use if it was used lately, or if its group has one that was (H8.21)."""

from umi_core.policies.clustering import in_use
from umi_core.rows import AccessRecord, Membership

OLD_MS, LIMIT_MS, NEW_MS = 10, 100, 101


def member(name: str, group: str | None = None, since_ms: int = OLD_MS) -> Membership:
    return Membership(f"mem_{name}", f"ent_{name}", 1, "cat_1", "model", since_ms, group)


def used(*members: Membership, last_ms: dict[str, int]) -> list[str]:
    records = {
        f"ent_{name}": AccessRecord(f"ent_{name}", "person", 500_000, 1, 0, at_ms)
        for name, at_ms in last_ms.items()
    }
    return [it.entity_id[4:] for it in in_use(members, records, LIMIT_MS)]


def test_to_be_accessed_and_to_become_a_member_are_uses() -> None:
    members = (member("a"), member("b"), member("c", since_ms=NEW_MS), member("d", since_ms=LIMIT_MS))
    assert used(*members, last_ms={"a": NEW_MS, "b": LIMIT_MS}) == ["a", "c"]


def test_one_member_speaks_for_its_group_and_for_no_other() -> None:
    groups = (member("a", "sub_1"), member("b", "sub_1"), member("c", "sub_2"), member("d"), member("e"))
    assert used(*groups, last_ms={"a": NEW_MS, "e": NEW_MS}) == ["a", "b", "e"]
