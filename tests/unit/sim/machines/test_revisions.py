"""Goal: workflows change under operations in flight, at ops that a replay knows; callers see nothing."""

from collections import Counter

import pytest
from msgspec import structs

from umi_core.limits import REVISION_COUNT_MAX
from umi_core.workflows import BUILT_IN
from umi_sim.machines.revisions import CHANGE_COUNT_MAX, FIRST, ROW, UNUSED, Revisions, change_tables
from umi_sim.record.run_config import REFUSING_HOOK
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find


def test_every_workflow_goes_through_all_forms_and_is_as_it_was_again() -> None:
    registry, other = BUILT_IN, structs.replace(ROW, config=(("every", 2),))
    for form in ((ROW,), (other,), (FIRST,), (FIRST, ROW), ()):
        registry = change_tables(registry)
        for name in BUILT_IN.revisions:
            assert registry.at(name).steps == (*form, *BUILT_IN.at(name).steps)
            assert registry.at(name).laws == BUILT_IN.at(name).laws
    assert {registry.latest(name) for name in BUILT_IN.revisions} == {7}
    assert registry.latest(UNUSED.name) == 7


def test_a_workflow_without_an_owner_is_registered() -> None:
    assert UNUSED.name not in BUILT_IN.revisions
    assert change_tables(BUILT_IN).at(UNUSED.name).steps == (ROW, *UNUSED.steps)


def test_they_change_by_the_number_of_an_op_whatever_came_before() -> None:
    every_third = Revisions(3)
    assert every_third.change_before("o2", BUILT_IN) is BUILT_IN
    once = every_third.change_before("o3", BUILT_IN)
    assert once.latest("remember") == 2
    assert every_third.change_before("o5", once) is once
    assert every_third.change_before("o4", once) is once
    assert every_third.change_before("o12", once).latest("remember") == 5  # three more


def test_they_change_no_more_often_than_a_registry_can_keep() -> None:
    latest = Revisions(1).change_before("o100000", BUILT_IN).latest("remember")
    assert latest == 1 + CHANGE_COUNT_MAX + CHANGE_COUNT_MAX // 5 < REVISION_COUNT_MAX


def test_without_a_number_they_never_change() -> None:
    assert Revisions(0).change_before("o100000", BUILT_IN) is BUILT_IN


def test_a_run_whose_workflows_change_says_the_same_as_one_whose_do_not() -> None:
    config = structs.replace(draw(find("revisions"), 4), revise_every=2, operations_max=20)
    changing, _ = run_once(config)
    steady, _ = run_once(structs.replace(config, revise_every=0), changing.items)
    assert changing.marks["revision: under an operation"] > 0
    assert (changing.replies, changing.fired) == (steady.replies, steady.fired)
    assert changing.state_digest == steady.state_digest


def test_the_refusing_hook_comes_and_goes_and_is_removed_in_a_healed_world() -> None:
    revisions, registry = Revisions(2), BUILT_IN
    there = list[bool]()
    for number in (2, 4, 6, 8):
        registry = revisions.change_before(f"o{number}", registry)
        there.append(REFUSING_HOOK in registry.generations[-1].named)
    assert there == [True, False, True, False]
    registry = revisions.change_before("o10", registry)
    healed = revisions.change_before(None, registry)
    assert REFUSING_HOOK in registry.generations[-1].named
    assert REFUSING_HOOK not in healed.generations[-1].named
    assert revisions.change_before(None, healed) is healed
    assert Revisions(0).change_before(None, registry) is registry


@pytest.mark.slow
def test_what_is_turned_away_is_named_in_a_reply_and_judged_as_an_answer() -> None:
    """By word, by a mistake of its own, in place of the model, and behind a commit."""
    away, behind = "turned away", "turned away behind a commit"
    due = [f"{away}: refused", f"{away}: Stumbled", f"{away}: substituted"]
    due += [f"{behind}: refused", f"{behind}: Stumbled"]
    marks, seed = Counter[str](), 0
    while not all(marks[name] for name in due):
        assert seed < 40
        verdict, _ = run_once(draw(find("revisions"), seed, {"run.revise_every": "2"}))
        assert verdict.failure is None
        marks, seed = marks + Counter(verdict.marks), seed + 1
