"""Goal: what is planned from rows alone is right where most is there already, or half of it.

Memberships, pages of lists and schedules as functions; repairs of vectors, facts that end and tables of users
in a memory of their own, in situations that hardly any run comes to.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from msgspec import structs

from tests.properties import plans_reference as reference
from tests.properties.ids_reference import category_id, membership_id
from tests.properties.laws import Draw, agree, law
from tests.worlds import Pair, id_of_fact, input_of, saying
from umi_core.config import Config
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.middleware import Interceptor, Pass, Substitute
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import OUTCOME, Learned, Step, asks, retry
from umi_core.errors import WorkflowBroken
from umi_core.limits import REPAIR_COUNT_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Failed, Read, Write
from umi_core.messages.requests import GetEntity, Rebalance, Remember
from umi_core.messages.results import Listed, Rebalanced
from umi_core.rows import (
    Address,
    Body,
    Category,
    Ended,
    Entity,
    Membership,
    Reflection,
    Relation,
    Resource,
    Row,
)
from umi_core.tiers import schedule
from umi_core.values import CATEGORIES, EVOLUTION_KINDS, Scope
from umi_core.workflows import BUILT_IN, WORKFLOWS, linking, listing
from umi_sim.judge.plain.scores import again_ms, division_ms
from umi_sim.judge.small_world import SmallWorld
from umi_sim.services.storage import SimStorage

SCOPE: Final = Scope("u", "a")
NOW_MS: Final = 1_000_000
QUIET: Final = Config(auto_rebalance=False, auto_evolution=False, semantic_routing=False)
IDS: Final = ("e1", "e2", "e3")
NAMES: Final = tuple(CATEGORIES)[:3]


# Members of categories.


def category(draw: Draw, key: str, name: str) -> Category:
    count = draw.pick((0, 1, 2, 3, 2**63 - 1))
    return Category(
        key, name, "", count, draw.below(3), draw.below(9), "", (), draw.chance(1, 2),
        draw.pick(((), ("s1",))), draw.pick(("", "d")), draw.pick((None, 0, 4)),
    )  # fmt: skip


def known_rows(draw: Draw) -> dict[Address, Row]:
    bodies = list[Category | Membership]()
    for name in draw.subset(NAMES):
        parent = category_id(SCOPE, name)
        bodies.append(category(draw, parent, name))
        for key in draw.subset(IDS):
            row_id, group = membership_id(SCOPE, key, parent), draw.pick((None, "s1"))
            bodies.append(Membership(row_id, key, draw.between(1, 3), parent, "model", 5, group))
    rows = [Row(Address(SCOPE, it.row_kind, it.id), draw.between(1, 4), it) for it in bodies]
    return {row.address: row for row in rows}


def links(draw: Draw) -> tuple[list[reference.Linked], dict[Address, Row]]:
    def link(draw: Draw) -> reference.Linked:
        return draw.pick(IDS), draw.between(1, 3), draw.pick(NAMES), draw.pick(("model", "default"))

    return draw.many(link, 0, 4), known_rows(draw)


@law(links, examples=200)
def test_a_member_is_written_once_and_its_category_with_it(
    links: list[reference.Linked], rows: dict[Address, Row]
) -> None:
    view: Any = SimpleNamespace(scope=SCOPE, now_ms=NOW_MS, config=Config())
    writes = linking.link_facts([linking.Link(*it) for it in links], rows, view)
    wanted = reference.linked(links, rows, SCOPE, NOW_MS)
    assert wanted == {it.address: it.body for it in writes}


def test_a_list_names_the_rows_that_cannot_be_read() -> None:
    note = Entity("e1", "note", "", "x", 1, 0, 0, "human", 1, 1)
    nothing: Any = SimpleNamespace()
    for bodies, cursor in product(product((note, None), repeat=3), (None, "c")):
        rows = tuple(Row(Address(SCOPE, "entity", key), 1, it) for key, it in zip(IDS, bodies, strict=True))
        taken: Any = listing.take_page(nothing, ReadDone(1, rows, cursor), nothing)
        damaged = tuple(key for key, it in zip(IDS, bodies, strict=True) if it is None)
        wanted = Listed(tuple(it for it in bodies if it is not None), cursor, damaged)
        assert taken.facts[OUTCOME.name] == Done(wanted)


# Schedules.


def schedules(draw: Draw) -> tuple[dict[str, int], dict[str, int | None], bool]:
    known = {key: draw.below(3) for key in draw.subset(IDS)}
    return known, {key: draw.pick((None, 0, 1, 7)) for key in draw.subset(IDS)}, draw.chance(1, 2)


@law(schedules)
def test_a_schedule_learns_and_forgets(
    known: dict[str, int], new: dict[str, int | None], is_late: bool
) -> None:
    wanted = sorted(reference.merged(known, new, is_late=is_late).items())
    assert wanted == list(schedule.merge_schedule(known, new, is_late=is_late).items())
    for name in IDS:
        rest = {key: at_ms for key, at_ms in known.items() if key != name}
        assert rest == schedule.without(known, name)


def upkeep(draw: Draw) -> tuple[Body | None, Config]:
    resource = Resource("r1", "text", "x", "h", "c", 0, 0, 1, draw.below(9))
    body = draw.pick(
        (
            category(draw, "cat_1", "facts"), Entity("e1", "note", "", "x", 1, 0, 0, "human", 1, 1), None,
            structs.replace(
                resource, pending=draw.pick(((), ("x",))), parent_id=draw.pick((None, None, "r0"))
            ),
            Reflection("f1", "s1", "x", (), 1, 2, 3, draw.below(9), draw.chance(1, 2), draw.chance(1, 2)),
        )
    )  # fmt: skip
    return body, Config(
        auto_evolution=not draw.chance(1, 4), cluster_size_min=draw.between(1, 3),
        upkeep_interval_ms=draw.pick((0, 1, 60_000)),
    )  # fmt: skip


test_upkeep_is_scheduled = agree(schedule.upkeep_ms, reference.upkeep_ms, upkeep)


@law(upkeep)
def test_what_failed_is_tried_again_after_as_long_as_it_waited(body: Any, config: Config) -> None:
    if isinstance(body, Category):
        assert division_ms(body, config) == schedule.due_ms(body, config)
    if schedule.upkeep_ms(body, config) is not None:
        for now_ms in (0, 5, 60_001, 60_009, 86_400_000, 86_400_009, 2**50):
            assert again_ms(body, now_ms, config) == schedule.again_ms(body, now_ms, config)


# Repairs of vectors.


class HopelessWorld(SmallWorld):
    """Its embedder gives no vector for some texts."""

    hopeless: Sequence[str] = ()

    def vector(self, text: str) -> tuple[int, ...]:
        return () if text.startswith(tuple(self.hopeless)) else super().vector(text)


def stored(bodies: Sequence[Any]) -> SimStorage:
    storage = SimStorage()
    writes = tuple(Write(Address(SCOPE, it.row_kind, it.own_id()), it) for it in bodies)
    storage.flush(storage.arrive(Commit(writes, ()), SCOPE.agent), NOW_MS)
    return storage


def test_each_vector_is_repaired_however_many_cannot_be_made_before_it() -> None:
    """Within as many rebalances as two walks over all entities take."""
    for count in (1, 3, REPAIR_COUNT_MAX, REPAIR_COUNT_MAX + 1, 2 * REPAIR_COUNT_MAX + 3):
        ids = [f"e{n:02}" for n in range(count)]
        for hopeless in ([], ids[:1], ids[:REPAIR_COUNT_MAX], ids[: REPAIR_COUNT_MAX + 2], ids[::2]):
            storage = stored(
                [
                    Entity(key, "note", key, f"{key}: x", 1, 0, 0, "facts", 1, 1, vector_missing=True)
                    for key in ids
                ]
            )
            world = HopelessWorld(SCOPE, QUIET, NOW_MS, storage=storage, hopeless=hopeless)
            repaired = list[str]()
            for number in range(2 * (-(-count // REPAIR_COUNT_MAX) + 1)):
                outcome = world.ask(Rebalance(f"r{number}"))
                assert isinstance(outcome, Done)
                assert isinstance(outcome.value, Rebalanced)
                repaired += outcome.value.repaired
            rest = [key for key in ids if key not in hopeless]
            bodies = dict(world.rows())
            done = [it for it in ids if not bodies[Address(SCOPE, "entity", it)].vector_missing]
            with_vector = [it for it in ids if Address(SCOPE, "vector", it) in bodies]
            assert rest == sorted(repaired) == done == with_vector, (count, hopeless)


# Facts that end.

OLD: Final = tuple(id_of_fact("Alice", it) for it in ("lives in Paris", "eats nuts", "has Mia"))
NEW: Final = tuple(id_of_fact("Alice", it) for it in ("lives in Rome", "eats fish"))


def verdicts(draw: Draw) -> tuple[dict[tuple[str, str], str]]:
    """Draw what each new fact does to each old one."""
    return ({pair: draw.pick(("none", *EVOLUTION_KINDS)) for pair in product(NEW, OLD)},)


@law(verdicts, examples=60)
def test_verdicts_end_the_facts_that_they_name_and_no_others(verdicts: dict[tuple[str, str], str]) -> None:
    def judge(prompt: str) -> str:
        pairs = [(it["new"], it["old"]) for it in input_of(prompt, "pairs")]
        kinds = [(new, old, verdicts.get((id_in(new), id_in(old)), "none")) for new, old in pairs]
        return json.dumps(
            [{"new": new, "old": old, "type": kind, "confidence": 1} for new, old, kind in kinds]
        )

    pair = Pair().run()
    pair.ask(Remember(1, "Alice lives in Paris. Alice eats nuts. Alice has Mia"))
    pair.model = saying(evolve=judge)
    outcome = pair.ask(Remember(2, "Alice lives in Rome. Alice eats fish"))
    assert isinstance(outcome, Done)
    wanted = reference.ended(verdicts)
    bodies = {row.address.id: row.body for row in pair.rows("ended")}
    assert {key: (it.by, it.how) for key, it in bodies.items() if isinstance(it, Ended)} == wanted
    assert {*getattr(outcome.value, "ended", ())} == wanted.keys()
    for kind in ("entity", "vector", "access"):
        assert {row.address.id for row in pair.rows(kind)} == {*NEW, *OLD} - wanted.keys()
    related = [it.body for it in pair.rows("relation") if isinstance(it.body, Relation)]
    assert {(it.target[0], it.source[0]): it.kind for it in related} == {
        pair: kind for pair, kind in verdicts.items() if kind != "none"
    }


def id_in(ref: str) -> str:
    return ref.partition("@")[0]


# Tables of users that do something else than they declare.

CHANGED: Final = "get_entity"
OWN: Final = Fact("own", int)
OWNS: Final = Fact("own", tuple[int, ...])
EACH: Final = Fact("each", tuple[int, ...])


def learns(**known: object) -> Any:
    return lambda facts, answer, view: Learned(known)


def unit(facts: Facts, answer: object, view: View) -> Learned:
    number = facts.unit(EACH)
    return Learned({"own": "two" if number == 2 else number})


def another(facts: Facts, view: View) -> Any:
    return Embed(("tea",))


BREAKING: Final[Mapping[str, tuple[Step, tuple[str, ...]]]] = {
    "": (Step("row", learns(own=3), produces=(OWN,)), ()),
    "undeclared": (Step("row", learns(own=3, more=4, other=5), produces=(OWN,)), ("more", "other")),
    "produces": (Step("row", learns(), produces=(OWN,)), ("own",)),
    "type": (Step("row", learns(own="three"), produces=(OWN,)), ("own",)),
    "type of a unit": (Step("row", unit, each=EACH, produces=(OWNS,)), ("own",)),
    "skip": (Step("row", lambda facts, answer, view: Learned(skip_to="read")), ("read",)),
    "effect": (Step("row", **asks(Read, another, learns(), retry(2))), ("Embed",)),
}
"""By what is wrong with a row: the row, and what an error names. The first one is right."""


def tables_with(row: Step, *, is_first: bool) -> Registry:
    if is_first and row.each is None:
        return BUILT_IN.insert_before(CHANGED, "read", row)
    before = Step("before", learns(each=(1, 2, 3)), produces=(EACH,))
    return BUILT_IN.insert_before(CHANGED, "read", before).insert_after(CHANGED, "before", row)


def test_a_table_that_breaks_its_word_fails_its_operation_and_the_memory_goes_on() -> None:
    """EN3.4. An interceptor around the row sees the error once and cannot give anything in its place."""
    for (kind, (row, names)), is_first in product(BREAKING.items(), (True, False)):
        seen = list[object]()

        def sees(place: object, facts: object, error: object, seen: list[object] = seen) -> Pass | Substitute:
            seen.append(error)
            return Substitute({"own": 3})

        registry = tables_with(row, is_first=is_first)
        hook = Interceptor("watch", "step", steps=("row",), on_error=sees)
        world = SmallWorld(SCOPE, QUIET, NOW_MS, registry.with_interceptor(hook))
        revision = len(registry.revisions[CHANGED])
        broken = WorkflowBroken(CHANGED, revision, "row", kind.partition(" ")[0], names)
        wanted = Failed(broken) if kind else Done(None)
        assert [world.ask(GetEntity(name, "ent_1")) for name in ("once", "again")] == [wanted, wanted]
        assert seen == ([broken] * 2 if kind else [])


def test_a_step_that_asks_a_service_has_an_option_for_its_profile() -> None:
    for flow in WORKFLOWS:
        for step in flow.steps:
            if step.effect in (AskModel, Embed):
                assert step.options.get("profile") == "default", f"{flow.name}.{step.id}"
