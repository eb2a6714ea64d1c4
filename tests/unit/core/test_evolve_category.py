"""Goal: members are divided into groups with names, once for what there is, and new ones find theirs (H8)."""

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, id_of_note, input_of, saying
from umi_core.config import Config
from umi_core.engine.facts import Facts
from umi_core.errors import BadConfig, Rejected
from umi_core.ids import category_id, subcategory_id
from umi_core.memory import Memory
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Read
from umi_core.messages.requests import EvolveCategory, Forget, List, Memorize
from umi_core.messages.results import Evolved, Listed
from umi_core.policies.clustering import Cluster, KnownGroup
from umi_core.rows import Address, Category, Membership, Row, Subcategory, Vector
from umi_core.workflows import categories
from umi_core.workflows.categories import parts_of

GROUPED = structs.replace(
    QUIET, cluster_ppm=300_000, assign_ppm=300_000, merge_ppm=600_000, cluster_size_min=2
)
HOME = category_id(SCOPE, "preferences")
PROFILE = ("profile",)
TEAS = ("drinks green tea", "drinks black tea")
CARS = ("drives fast red cars", "drives slow red cars")


class World:
    """A memory whose model has scripted finds and group names."""

    def __init__(self, config: Config = GROUPED) -> None:
        self.finds, self.names, self.count = "", "Hot drinks", 0
        self.shown: list[tuple[list[str], list[str]]] = []
        model = saying(memories=lambda _: self.finds, name_subcategory=self.named)
        self.pair = Pair(model=model, config=config).run()

    def named(self, prompt: str) -> str:
        self.shown.append((input_of(prompt, "keywords"), input_of(prompt, "contents")))
        return self.names

    def memorize(self, *contents: str, absent: tuple[type[Embed], ...] = ()) -> None:
        self.count += 1
        self.finds = "".join(xml(content, "preferences") for content in contents)
        memorized(self.pair, Memorize(self.count, f"text {self.count}", memory_types=PROFILE), *absent)

    def evolve(self, *absent: type[AskModel], force: bool = False) -> Evolved:
        self.count += 1
        outcome = self.pair.ask(EvolveCategory(self.count, "preferences", force), *absent)
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, Evolved)
        return outcome.value

    def degradations(self) -> list[tuple[str, str, int]]:
        """What the last reply says that it had to do without."""
        outcome = self.pair.replies[self.count].outcome
        assert isinstance(outcome, Done)
        return [(it.name, it.reason, it.count) for it in outcome.degraded]

    def locate(self, content: str) -> Membership:
        key = id_of_note(content)
        return next(it for it in self.members() if it.entity_id == key)

    def members(self) -> list[Membership]:
        rows = self.pair.storage.live_rows(SCOPE)
        return [row.body for row in rows if isinstance(row.body, Membership)]

    def category(self) -> Category:
        row = self.pair.row("category", HOME)
        assert row is not None
        assert isinstance(row.body, Category)
        return row.body


def sizes(value: Evolved) -> list[tuple[str, int]]:
    return [(group.name, group.member_count) for group in value.groups]


def test_members_are_divided_and_each_new_group_is_named() -> None:
    world = World()
    world.memorize(*TEAS, "sings")
    value = world.evolve()
    assert (value.change, sizes(value), value.unassigned_count) == ("updated", [("hot_drinks", 2)], 1)
    group = value.groups[0]
    founder = min(id_of_note(content) for content in TEAS)
    assert group.id == subcategory_id(SCOPE, HOME, founder)
    assert group.keywords == ("drinks", "tea", "black", "green")
    assert [sorted(contents) for _, contents in world.shown] == [sorted(TEAS)]
    tea = world.locate(TEAS[0])
    assert (tea.subcategory_id, tea.keywords_matched) == (group.id, ("drinks", "tea", "green"))
    assert (tea.confidence_ppm or 0) >= GROUPED.cluster_ppm
    assert world.locate("sings").subcategory_id is None
    centroid = world.pair.row("vector", group.id)
    assert centroid is not None
    assert isinstance(centroid.body, Vector)


def test_evolving_twice_is_evolving_once() -> None:
    world = World()
    world.memorize(*TEAS)
    first, stored = world.evolve(), world.category()
    again = world.evolve()
    assert (again.change, again.groups, world.category()) == ("unchanged", first.groups, stored)
    assert world.evolve(force=True).change == "unchanged"
    assert len(world.shown) == 1


def test_a_new_member_finds_its_group_and_a_changed_one_may_lose_it() -> None:
    world = World()
    world.memorize(*TEAS)
    group = world.evolve().groups[0]
    world.memorize("drinks white tea", "walks")
    assert world.locate("drinks white tea").subcategory_id == group.id
    assert world.locate("drinks white tea").keywords_matched == ("drinks", "tea")
    assert world.locate("walks").subcategory_id is None
    assert world.category().evolved_digest == ""
    world.memorize("drinks cold tea", absent=(Embed,))
    assert world.locate("drinks cold tea").subcategory_id is None


def test_a_group_goes_on_under_its_name_and_new_ones_come_beside_it() -> None:
    world = World()
    world.memorize(*TEAS)
    old = world.evolve().groups[0]
    world.memorize("drinks white tea", *CARS)
    value = world.evolve()
    assert sizes(value) == [("hot_drinks", 3), ("hot_drinks-1", 2)]
    assert value.groups[0].id == old.id
    assert value.groups[0].keywords[:2] == ("drinks", "tea")


def test_a_group_that_too_few_are_left_in_is_gone() -> None:
    world = World()
    world.memorize(*TEAS)
    group = world.evolve().groups[0]
    world.pair.ask(Forget(90, id_of_note(TEAS[0])))
    value = world.evolve()
    assert (value.change, value.groups, value.unassigned_count) == ("updated", (), 1)
    assert world.pair.row("subcategory", group.id) is None
    assert world.pair.row("vector", group.id) is None
    assert world.locate(TEAS[1]).subcategory_id is None


def test_afresh_groups_keep_what_they_are_called() -> None:
    world = World()
    world.memorize(*TEAS)
    old = world.evolve().groups[0]
    world.memorize("drinks white tea", "drinks cold tea")
    value = world.evolve(force=True)
    assert sizes(value) == [("hot_drinks", 4)]
    assert value.groups[0].id == old.id
    assert len(world.shown) == 1


def test_without_a_model_the_keywords_are_the_name() -> None:
    world = World()
    world.memorize(*TEAS)
    assert sizes(world.evolve(AskModel)) == [("drinks_tea_black", 2)]
    assert world.degradations() == [("name:keywords", "unavailable", 1)]
    other = World()
    other.memorize(*TEAS)
    other.names = "3."
    assert sizes(other.evolve()) == [("drinks_tea_black", 2)]
    quiet = World(structs.replace(GROUPED, name_by_model=False))
    quiet.memorize(*TEAS)
    assert sizes(quiet.evolve()) == [("drinks_tea_black", 2)]
    assert quiet.shown == []


def test_a_member_of_a_group_that_goes_on_founds_no_second_one() -> None:
    row = Subcategory("sub_1", HOME, "a", "tea", "model", (), 0, 0)
    facts = Facts({"contents": (Row(Address(SCOPE, "subcategory", "sub_1"), 1, row),)})
    known = KnownGroup("sub_1", 0, (1, 0))
    found = [
        Cluster(known, ("b", "c"), (1, 0)),
        Cluster(None, ("a",), (0, 1)),
        Cluster(None, ("a", "d"), (1, 1)),
    ]
    assert [(it.founder_id, it.known_id) for it in parts_of(found, facts)] == [("a", "sub_1"), ("d", None)]


def test_of_very_many_members_the_first_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others stay where they were put, while there is that group."""
    world = World()
    world.memorize(*TEAS)
    world.evolve()
    world.memorize("drinks white tea", "drinks cold tea")
    monkeypatch.setattr(categories, "EVOLVE_MEMBER_COUNT_MAX", 3)
    assert sizes(world.evolve()) == [("hot_drinks", 4)]
    assert world.degradations() == [("contents:partial", "too_many", 1)]
    monkeypatch.setattr(categories, "EVOLVE_MEMBER_COUNT_MAX", 0)
    assert world.evolve().unassigned_count == 4


def test_of_long_vectors_fewer_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.memorize(*TEAS, "drinks white tea")
    monkeypatch.setattr(categories, "EVOLVE_COMPONENT_COUNT_MAX", 3 * GROUPED.embedding_dims - 1)
    assert sizes(world.evolve()) == [("hot_drinks", 2)]
    assert world.degradations() == [("contents:partial", "too_many", 1)]


def test_a_vector_of_another_length_is_none() -> None:
    world = World()
    world.memorize(*TEAS, "drinks white tea")
    key = id_of_note("drinks white tea")
    rows = world.pair.storage.rows
    where = Address(SCOPE, "vector", key)
    rows[where] = structs.replace(rows[where], body=Vector(key, 1, (1, 2, 3)))
    assert sizes(world.evolve()) == [("hot_drinks", 2)]
    assert world.degradations() == [("contents:partial", "no_vector", 1)]


def test_members_without_a_vector_are_reported() -> None:
    world = World()
    world.memorize(*TEAS)
    world.memorize("drinks cold tea", absent=(Embed,))
    assert sizes(world.evolve()) == [("hot_drinks", 2)]
    assert world.degradations() == [("contents:partial", "no_vector", 1)]


def test_a_category_that_is_not_there_or_empty_has_no_groups() -> None:
    world = World()
    assert world.evolve() == Evolved("unchanged")
    world.memorize("sings")
    world.pair.ask(Forget(90, id_of_note("sings")))
    assert world.evolve() == Evolved("updated")


def test_groups_are_listed() -> None:
    world = World()
    world.memorize(*TEAS)
    world.evolve()
    outcome = world.pair.ask(List(50, "subcategory"))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Listed)
    assert [it.name for it in outcome.value.rows if isinstance(it, Subcategory)] == ["hot_drinks"]


def test_what_comes_between_is_divided_too() -> None:
    """A memorize that lands while a group gets its name is a conflict: all is read again."""
    world = World()
    world.memorize(*TEAS)
    pair = world.pair
    pair.step(EvolveCategory(60, "preferences"))
    pair.until(Commit)
    world.finds = xml("drinks white tea", "preferences")
    held = pair.pending.pop()
    pair.ask(Memorize(61, "more", memory_types=PROFILE))
    pair.pending.append(held)
    pair.run()
    outcome = pair.replies[60].outcome
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Evolved)
    assert sizes(outcome.value) == [("hot_drinks", 3)]


@pytest.mark.parametrize("kind", ["vector", "subcategory"])
def test_a_saved_division_is_of_what_was_read(kind: str) -> None:
    """Bytes that say that a member without a vector was divided, or that an unread group goes on."""
    world = World()
    world.memorize(*TEAS)
    world.evolve()
    world.memorize(*CARS)
    pair = world.pair
    pair.step(EvolveCategory(60, "preferences"))
    pair.until(AskModel)
    assert Memory.restore(pair.memory.snapshot(), life=1).in_flight.keys() == pair.memory.in_flight.keys()
    (operation,) = pair.memory.state.operations.values()
    rows = operation.facts["contents"]
    assert isinstance(rows, tuple)
    operation.facts["contents"] = tuple(row for row in rows if row.address.kind != kind)
    with pytest.raises(Rejected, match="a division of what was read"):
        Memory.restore(pair.memory.snapshot(), life=1)


# What is due.


DUE = structs.replace(GROUPED, evolution_interval_ms=1_000_000)


def test_what_is_due_is_done_without_being_asked_once() -> None:
    world = World(DUE)
    assert world.pair.memory.deadline_ms() is None
    world.memorize(*TEAS)
    assert world.pair.memory.deadline_ms() == 1_000_000
    world.pair.wake()
    world.pair.run()
    assert world.category().evolved_ms == world.pair.now_ms == 1_000_000
    assert world.locate(TEAS[0]).subcategory_id is not None
    assert world.pair.memory.deadline_ms() is None


def test_too_few_members_are_not_due_and_forgetting_makes_groups_due() -> None:
    world = World(DUE)
    world.memorize(TEAS[0])
    assert world.pair.memory.deadline_ms() is None
    world.memorize(TEAS[1])
    world.evolve()
    assert world.pair.memory.deadline_ms() is None
    world.pair.ask(Forget(90, id_of_note(TEAS[0])))
    assert world.pair.memory.deadline_ms() == 1_000_000


def test_a_restart_neither_forgets_nor_repeats_what_is_due() -> None:
    world = World(DUE)
    world.memorize(*TEAS)
    again = Pair(storage=world.pair.storage, config=DUE, model=world.pair.model).run()
    assert again.memory.deadline_ms() == 1_000_000
    world.pair = again
    world.evolve()
    third = Pair(storage=again.storage, config=DUE).run()
    assert third.memory.deadline_ms() is None


def test_what_fails_is_due_again_an_interval_later() -> None:
    world = World(DUE)
    world.memorize(*TEAS)
    world.pair.wake()
    world.pair.run(Read)
    assert (world.pair.memory.deadline_ms() or 0) >= 2_000_000
    world.pair.storage.rows.clear()
    world.pair.wake()
    world.pair.run()
    assert world.pair.memory.deadline_ms() is None


def test_nothing_is_due_if_it_is_off() -> None:
    world = World(structs.replace(DUE, auto_evolution=False))
    world.memorize(*TEAS)
    assert world.pair.memory.deadline_ms() is None


def test_one_category_after_the_other() -> None:
    world = World(DUE)
    world.memorize(*TEAS)
    world.finds = "".join(xml(content, "facts") for content in CARS)
    memorized(world.pair, Memorize(70, "cars", memory_types=PROFILE))
    world.pair.wake()
    requests = [it.facts["request"] for it in world.pair.memory.state.operations.values()]
    assert requests == [EvolveCategory("", "facts")]
    world.pair.run()
    assert world.pair.memory.deadline_ms() == world.pair.now_ms
    world.pair.wake()
    world.pair.run()
    assert world.category().evolved_ms == 1_000_000


def test_groups_are_one_only_if_they_are_nearer_than_members() -> None:
    with pytest.raises(Rejected) as caught:
        structs.replace(GROUPED, merge_ppm=299_999)
    assert caught.value.errors == (BadConfig("merge_ppm", "299999", "at least cluster_ppm"),)


DECAYING = structs.replace(GROUPED, group_decay_ms=1_000)


def test_a_group_without_users_goes_and_does_not_come_back() -> None:
    world = World(DECAYING)
    world.memorize(*TEAS)
    tea = world.evolve().groups[0]
    world.pair.now_ms += DECAYING.group_decay_ms
    world.memorize(*CARS)
    value = world.evolve()
    assert (sizes(value), value.unassigned_count) == ([("hot_drinks", 2)], 2)
    assert world.pair.row("subcategory", tea.id) is None
    assert world.locate(TEAS[0]).subcategory_id is None
    assert world.evolve().change == "unchanged"
    assert sizes(world.evolve(force=True)) == [("hot_drinks", 2)]


def test_one_used_member_keeps_its_whole_group() -> None:
    world = World(DECAYING)
    world.memorize(*TEAS)
    tea = world.evolve().groups[0]
    world.pair.now_ms += DECAYING.group_decay_ms - 1
    world.memorize("drinks white tea", "walks")
    world.pair.now_ms += 1
    value = world.evolve()
    assert [(it.id, it.member_count) for it in value.groups] == [(tea.id, 3)]


def test_without_decay_age_counts_for_nothing() -> None:
    world = World(structs.replace(DECAYING, group_decay_ms=0))
    world.memorize(*TEAS)
    world.evolve()
    world.pair.now_ms += 10**12
    world.memorize(*CARS)
    assert [size for _, size in sizes(world.evolve())] == [2, 2]
