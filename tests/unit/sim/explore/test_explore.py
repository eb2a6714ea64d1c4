"""Exploring: what a copied world shares, when two worlds are alike, and what the [explore] table may say."""

from collections.abc import Iterator
from itertools import islice

import pytest
from msgspec import structs

from umi_core.ids import pack
from umi_core.workflows import BUILT_IN
from umi_sim.explore.play import Action, Explored, first_world, inspector_of, play
from umi_sim.explore.search import PLAIN, BreadthFirst, explore
from umi_sim.explore.state_fingerprint import Fingerprinter, StateWriter
from umi_sim.kernel.fork import fork_graph
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.runner import run
from umi_sim.scenario.action_set import ActionSet
from umi_sim.scenario.files import BadScenario, Scenario, draw, find, list_shipped, parse

ALL = (
    "explore_working", "explore_snapshots", "explore_sessions", "explore_clocks", "explore_core",
    "explore_commit",
)  # fmt: skip
HEAD = """
[scenario]
id = "mine"
title = "Mine"
[agents]
count = 1
[memory]
auto_rebalance = false
[explore]
"""


def letters_of(name: str) -> tuple[RunConfig, ActionSet]:
    scenario = find(name)
    assert scenario.explore is not None
    return draw(scenario, 0, PLAIN), scenario.explore


def searching(name: str) -> tuple[BreadthFirst, Fingerprinter, Explored]:
    config, action_set = letters_of(name)
    first = first_world(config, BUILT_IN)
    return BreadthFirst(config, action_set, BUILT_IN, 1_000), Fingerprinter(config, action_set), first


def mine(table: str) -> Scenario:
    return parse(HEAD + table, "mine.toml", None)


# Copies.


@pytest.mark.parametrize("name", ALL)
def test_a_copied_world_goes_its_own_way(name: str) -> None:
    search, fingerprinter, world = searching(name)
    before = fingerprinter.digest(world)
    children = list(search.branches(world))
    assert len({fingerprinter.digest(child): None for _, child in children}) > 1
    assert fingerprinter.digest(world) == before


@pytest.mark.parametrize("name", ALL)
def test_a_copy_has_the_same_future_as_a_world_played_from_the_start(name: str) -> None:
    search, fingerprinter, world = searching(name)
    for first, child in islice(search.branches(world), 0, None, 3):
        for second, grandchild in islice(search.branches(child), 0, None, 7):
            again = fork_graph(world)
            for action in (first, second):
                play(again, action, search.action_set)
            assert fingerprinter.digest(again) == fingerprinter.digest(grandchild), (first, second)


def test_a_copy_is_watched_by_a_copy_of_the_oracle() -> None:
    _, _, world = searching("explore_working")
    copied = fork_graph(world)
    assert inspector_of(copied) is not inspector_of(world)
    assert inspector_of(copied).oracle is not inspector_of(world).oracle
    assert copied.services.storage is not world.services.storage


def test_what_cannot_be_copied_for_sure_is_refused() -> None:
    with pytest.raises(TypeError, match="generator cannot be forked"):
        fork_graph([(action for action in "ab")])


# Fingerprinter.


@pytest.mark.parametrize(("name", "depth"), [*((name, 2) for name in ALL[:-1]), (ALL[-1], 5)])
def test_like_worlds_have_like_futures(name: str, depth: int) -> None:
    search, fingerprinter, world = searching(name)
    known: dict[bytes, Explored] = {}
    met = worlds_after(search, world, depth)
    twins = ((child, known.setdefault(fingerprinter.digest(child), child)) for child in met)
    pairs = list(islice(((one, other) for one, other in twins if one is not other), 30))[::5]
    for one, other in pairs:
        assert futures(search, fingerprinter, one) == futures(search, fingerprinter, other)
    assert pairs


def worlds_after(search: BreadthFirst, world: Explored, depth: int) -> Iterator[Explored]:
    for _, child in search.branches(world):
        yield child
        if depth > 1:
            yield from worlds_after(search, child, depth - 1)


def futures(search: BreadthFirst, fingerprinter: Fingerprinter, world: Explored) -> list[bytes]:
    return sorted(fingerprinter.digest(child) for _, child in search.branches(world))


def after(name: str, *played: Action) -> tuple[Fingerprinter, Explored]:
    search, fingerprinter, world = searching(name)
    for action in played:
        play(world, action, search.action_set)
    return fingerprinter, world


SET_1, SET_2, GET_1, SWEEP = (Action("request", "a", number) for number in (0, 2, 6, 14))


def test_worlds_that_differ_by_the_time_alone_are_alike() -> None:
    fingerprinter, early = after("explore_working", SET_1)
    _, late = after("explore_working", Action("wait", "", 5), SET_1)
    assert fingerprinter.digest(early) == fingerprinter.digest(late)


def test_worlds_with_other_lives_left_are_not_alike() -> None:
    fingerprinter, fresh = after("explore_working", SET_1)
    _, older = after("explore_working", SET_1, Action("wait", "", 5))
    assert fingerprinter.digest(fresh) != fingerprinter.digest(older)


def test_how_long_an_entry_has_been_over_says_nothing_once_its_last_landing_is_past() -> None:
    fingerprinter, now = after("explore_working", SET_1, Action("wait", "", 10))
    _, just_now = after("explore_working", SET_1, Action("wait", "", 11))
    _, long_ago = after("explore_working", SET_1, Action("wait", "", 16))
    assert fingerprinter.digest(now) != fingerprinter.digest(just_now)
    assert fingerprinter.digest(just_now) == fingerprinter.digest(long_ago)


def test_keys_that_the_alphabet_could_exchange_are_alike() -> None:
    fingerprinter, one = after("explore_working", SET_1)
    _, other = after("explore_working", SET_2)
    assert fingerprinter.digest(one) == fingerprinter.digest(other)


@pytest.mark.parametrize(("prefix", "is_alike"), [("fct", False), ("idm", True)])
def test_worlds_whose_facts_lie_in_another_order_are_not_alike(prefix: str, is_alike: bool) -> None:
    """A search gives equal hits in the order of their ids; the keys of commits have no such order."""
    _, fingerprinter, world = searching("explore_commit")
    low, high = (f"{prefix}_{digit * 24}" for digit in "0f")

    def encode_answer(*ids: str) -> bytes:
        writer = StateWriter(fingerprinter, world, [agent.name for agent in world.config.agents])
        for each in ids:
            writer.mention(each)
        return pack(writer.write_world())

    assert (encode_answer(low, high) == encode_answer(high, low)) == is_alike


def test_keys_that_only_one_request_offers_are_not_alike() -> None:
    set_both = '{ name = "set", args = { key = ["k1", "k2"], value = ["x"] } }'
    scenario = mine(f'requests = [{set_both}, {{ name = "get", args = {{ key = ["k1"] }} }}]')
    assert Fingerprinter(draw(scenario, 0, PLAIN), scenario.explore or ActionSet(())).like == {
        "k1": 0, "k2": 1, b"x": 2
    }  # fmt: skip


def test_two_agents_that_could_be_exchanged_are_alike() -> None:
    fingerprinter, one = after("explore_sessions", Action("request", "a", 0))
    _, other = after("explore_sessions", Action("request", "b", 0))
    assert fingerprinter.digest(one) == fingerprinter.digest(other)


@pytest.mark.parametrize(
    ("name", "depth"), [("explore_working", 3), ("explore_snapshots", 3), ("explore_sessions", 2)]
)
def test_renaming_the_keys_changes_no_number(name: str, depth: int) -> None:
    plain = find(name)
    text = list_shipped()[name].read_text()
    renamed = parse(text.replace("key1", "zed9").replace("key2", "abc4"), "renamed.toml", None)
    assert explore(renamed, depth) == explore(plain, depth)


# Searching.


def test_depth_first_tries_the_lists_that_breadth_first_stands_for() -> None:
    wide, deep = explore(find("explore_working"), 2), explore(find("explore_working"), 2, depth_first=True)
    assert deep.list_count == wide.list_count
    assert deep.state_count > wide.state_count


def test_lists_are_counted_as_many_as_there_are() -> None:
    scenario = mine('requests = [{ name = "len" }, { name = "bytes" }, { name = "sweep" }]')
    assert explore(scenario, 4).list_count == 3 + 9 + 27 + 81
    assert explore(scenario, 4).state_count == 2  # before the first request, and after any


def test_too_many_states_end_the_search() -> None:
    found = explore(find("explore_working"), 5, states_max=100)
    assert (found.result, found.depth, found.state_count) == ("stopped", 2, 100)


def test_too_many_lists_end_a_search_in_depth() -> None:
    found = explore(find("explore_working"), 5, states_max=100, depth_first=True)
    assert (found.result, found.depth) == ("stopped", 1)


def test_a_failure_is_a_list_of_items_that_fails_as_a_run() -> None:
    verdict = explore(find("explore_working"), 3, mutant="get-alive-at-expiry").verdict
    assert verdict is not None
    assert run(verdict.config, verdict.items).failure == verdict.failure
    assert run(structs.replace(verdict.config, planted=None), verdict.items).failure is None


# The table.


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("advance_ms = [1]", "explore.requests: missing"),
        ("requests = []", "explore.requests: expected 1 to 64 combinations of arguments in all, got 0"),
        ('requests = [{ name = "gte" }]', "explore.requests[0].name: unknown request"),
        ('requests = [{ name = "get", args = { key = "k" } }]', "[0].args.key: expected a list"),
        ('requests = [{ name = "get", args = { key = [1] } }]', "args.key: expected text, got 1"),
        ('requests = [{ name = "get" }]', "explore.requests[0].args.key: missing"),
        ('requests = [{ name = "len" }]\nfaults = ["storage_lots"]', "explore.faults[0]: unknown fault"),
        ('requests = [{ name = "len" }]\nadvance_ms = [0]', "explore.advance_ms[0]: expected a whole number"),
        ('requests = [{ name = "len" }]\ndepth = 3', "explore.depth: unknown key"),
    ],
)  # fmt: skip
def test_a_bad_table_is_refused_with_its_place(table: str, message: str) -> None:
    with pytest.raises(BadScenario) as refused:
        mine(table)
    assert message in str(refused.value)
    assert len(refused.value.problems) == 1


def test_an_alphabet_that_is_too_large_is_refused() -> None:
    keys = ", ".join(f'"k{number}"' for number in range(65))
    with pytest.raises(BadScenario, match="65 combinations of arguments, at most 64: name fewer"):
        mine(f'requests = [{{ name = "get", args = {{ key = [{keys}] }} }}]')


def test_a_scenario_without_the_table_cannot_be_explored() -> None:
    with pytest.raises(BadScenario, match="smoke: explore: missing"):
        explore(find("smoke"), 1)
