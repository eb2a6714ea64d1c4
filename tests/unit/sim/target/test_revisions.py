"""Goal: workflows change under operations in flight, at ops that a replay knows; nobody outside can tell."""

import attrs

from umi_core.workflows import BUILT_IN
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.target.revisions import CHANGE_COUNT_MAX, ROW, Revisions, changed


def test_every_workflow_gets_a_row_that_does_nothing_and_loses_it_again() -> None:
    more, again = changed(BUILT_IN), changed(changed(BUILT_IN))
    for name in BUILT_IN.revisions:
        assert more.at(name).steps == (ROW, *BUILT_IN.at(name).steps)
        assert again.at(name) == BUILT_IN.at(name)
        assert (more.latest(name), again.latest(name)) == (2, 3)


def test_they_change_by_the_number_of_an_op_whatever_came_before() -> None:
    every_third = Revisions(3)
    assert every_third.reached("o2", BUILT_IN) is BUILT_IN
    once = every_third.reached("o3", BUILT_IN)
    assert once.latest("remember") == 2
    assert every_third.reached("o5", once) is once
    assert every_third.reached("o4", once) is once
    assert every_third.reached("o12", once).latest("remember") == 5


def test_they_change_no_more_often_than_a_registry_can_keep() -> None:
    assert Revisions(1).reached("o100000", BUILT_IN).latest("remember") == CHANGE_COUNT_MAX + 1


def test_without_a_number_they_never_change() -> None:
    assert Revisions(0).reached("o100000", BUILT_IN) is BUILT_IN


def test_a_run_whose_workflows_change_says_the_same_as_one_whose_do_not() -> None:
    config = attrs.evolve(draw(find("revisions"), 4), revise_every=2, operations_max=20)
    changing, _ = run_once(config)
    steady, _ = run_once(attrs.evolve(config, revise_every=0), changing.items)
    assert changing.marks["revision: under an operation"] > 0
    assert (changing.replies, changing.fired) == (steady.replies, steady.fired)
    assert changing.state_digest == steady.state_digest
