"""Goal: a division is judged by what the world has answered, and a damaged row tells nothing."""

import pytest
from msgspec import structs

from tests.worlds import SCOPE
from umi_core.conditions import Condition
from umi_core.config import Config
from umi_core.limits import PPM
from umi_core.messages.answers import EffectFailed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Commit, Read, Write
from umi_core.rows import Address, Category, Membership, Row, Subcategory, Vector
from umi_sim.judge.invariants.divisions import (
    Bodies,
    PlanInputs,
    check_assignment,
    check_bounds,
    keep_vectors,
    read_category,
)
from umi_sim.record.broken import Broken

MEMBER = Membership("mem_1", "ent_1", 1, "cat_1", "model", 0)
OTHER = Membership("mem_2", "ent_2", 1, "cat_1", "model", 0)
STRANGER = Membership("mem_3", "ent_3", 1, "cat_2", "model", 0)
MEMBERS = Read(ByFilter(SCOPE, ("membership",), (Condition("category_id", "eq", "cat_1"),)))


def row(kind: str, body: Category | Membership) -> Row:
    return Row(Address(SCOPE, kind, body.id), 1, body)


def planned(*pages: ReadDone, entity_ids: tuple[str, ...] = ("ent_1", "ent_2")) -> PlanInputs:
    """A plan for which the members came in these pages, and then the contents of these entities."""
    plan, home = PlanInputs(), row("category", Category("cat_1", "facts", "what is so", 1, 0, 0))
    plan.read("category", Read(ByIds((home.address,))), ReadDone(0, (home,)))
    query = MEMBERS.query
    assert isinstance(query, ByFilter)
    for before, page in zip((None, *(it.cursor for it in pages)), pages, strict=False):
        plan.read("members", structs.replace(MEMBERS, query=structs.replace(query, cursor=before)), page)
    wanted = tuple(Address(SCOPE, kind, key) for key in entity_ids for kind in ("entity", "vector"))
    plan.read("contents", Read(ByIds(wanted)), ReadDone(0, ()))
    return plan


def members(plan: PlanInputs) -> list[Membership]:
    return list(read_category(plan, SCOPE, 8, is_afresh=False).members)


def test_a_damaged_membership_is_no_member() -> None:
    damaged = structs.replace(row("membership", OTHER), body=None)
    assert members(planned(ReadDone(0, (damaged, row("membership", MEMBER))))) == [MEMBER]


def test_members_come_in_pages_and_a_page_with_a_stranger_counts_for_nothing() -> None:
    first = ReadDone(0, (row("membership", MEMBER),), "next")
    strange = ReadDone(0, (row("membership", STRANGER),), "next")
    other_kind = ReadDone(0, (row("category", Category("cat_2", "skills", "", 1, 0, 0)),), "next")
    last = ReadDone(0, (row("membership", OTHER),))
    assert members(planned(first, strange, other_kind, last)) == [MEMBER, OTHER]


def test_a_fact_that_is_left_out_of_what_is_read_is_missed() -> None:
    whole = ReadDone(0, (row("membership", MEMBER), row("membership", OTHER)))
    with pytest.raises(Broken, match="not asked for"):
        members(planned(whole, entity_ids=("ent_1",)))
    with pytest.raises(Broken, match="were not read"):
        members(planned(structs.replace(whole, cursor="next")))


def test_the_vector_of_a_group_that_is_made_again_as_it_was_stays() -> None:
    """Its row could not be read, so it is no group before. A run of `categories` had no verdict by that."""
    reading = structs.replace(
        read_category(planned(ReadDone(0, (row("membership", MEMBER),))), SCOPE, 2, is_afresh=False),
        vectors={"sub_1": (1, 2), "sub_2": (3, 4)},
    )
    group = Subcategory("sub_1", "cat_1", "ent_1", "tea", "model", (), 0, 0)
    kept = keep_vectors(reading, {("subcategory", "sub_1"): group})
    assert kept == {("vector", "sub_1"): Vector("sub_1", 1, (1, 2))}


def test_a_group_without_a_vector_is_a_failure_of_the_memory_and_not_of_the_judge() -> None:
    """A life of `categories` had no verdict by that: a planted bug leaves the row of a group that is gone."""
    reading = read_category(planned(ReadDone(0, (row("membership", MEMBER),))), SCOPE, 2, is_afresh=False)
    groups = [Subcategory(f"sub_{n}", "cat_1", "ent_1", f"tea {n}", "model", (), 0, 0) for n in (1, 2)]
    rows: Bodies = {("vector", "sub_1"): Vector("sub_1", 1, (1, 2))}
    rows |= {("subcategory", it.id): it for it in groups}
    with pytest.raises(Broken, match="without a vector") as caught:
        check_bounds(reading, rows, Config())
    assert caught.value.got == "['sub_2']"


def test_a_division_that_read_no_members_or_no_category_is_a_failure_of_the_memory() -> None:
    without_members = planned()
    with pytest.raises(Broken, match="members of facts that were not read"):
        members(without_members)
    with pytest.raises(Broken, match="a category is divided whose row was not read"):
        members(PlanInputs())


def test_a_membership_without_its_entity_is_a_failure_of_the_memory() -> None:
    """A group near the vector has keywords, which are looked for in the content of the entity."""
    group = Subcategory("sub_1", "cat_1", "ent_1", "tea", "model", ("tea",), 0, 0)
    category = Category("cat_1", "facts", "what is so", 1, 0, 0, subcategory_ids=("sub_1",))
    centre = Vector("sub_1", 1, (127,) * 8)
    plan = PlanInputs(
        rows={
            "lookup": {row("category", category).address: row("category", category)},
            "subcategories": {
                Address(SCOPE, it.row_kind, "sub_1"): Row(Address(SCOPE, it.row_kind, "sub_1"), 1, it)
                for it in (group, centre)
            },
        },
        asked={Address(SCOPE, "subcategory", "sub_1"): None},
    )
    near = structs.replace(MEMBER, subcategory_id="sub_1", confidence_ppm=PPM)
    bodies = (structs.replace(centre, entity_id="ent_1"), near)
    writes = tuple(Write(Address(SCOPE, it.row_kind, it.own_id() or ""), it) for it in bodies)
    with pytest.raises(Broken, match="entities written with mem_1"):
        check_assignment(plan, Commit(writes, ()), Config())


def test_a_question_for_a_name_without_its_inputs_is_a_failure_of_the_memory() -> None:
    with pytest.raises(Broken, match="input keywords of a question for a name"):
        PlanInputs().name("What is this group called?", EffectFailed(1, "timeout"))
