"""Goal: a division of a category is judged by what its rows tell, and a damaged row tells nothing."""

import attrs

from tests.worlds import SCOPE
from umi_core.rows import Address, Category, Membership, Row
from umi_sim.judge.invariants.groups import reading_of

MEMBER = Membership("mem_1", "ent_1", 1, "cat_1", "model", 0)


def row(kind: str, body: Category | Membership) -> Row:
    return Row(Address(SCOPE, kind, body.id), 1, body)


def test_a_damaged_membership_is_no_member() -> None:
    whole = row("membership", MEMBER)
    home = row("category", Category("cat_1", "facts", "what is so", 1, 0, 0))
    facts = {"home": home, "members": (attrs.evolve(whole, body=None), whole), "contents": ()}
    assert list(reading_of(facts).members) == [MEMBER]
