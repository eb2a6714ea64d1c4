"""What is planned from rows alone: who becomes a member where, what a page lists, and what is due when.

Law 1. Most that is drawn is there already, or half of it. Law 2. Numbers are small, so that many are equal.
"""

from types import SimpleNamespace
from typing import Any, Final

import attrs

from umi_core.config import Config
from umi_core.engine.workflow import OUTCOME
from umi_core.invariants.broken import demand
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Done
from umi_core.reflection_rows import Reflection
from umi_core.rows import Address, Category, Entity, Membership, Resource, Row
from umi_core.tiers import dues
from umi_core.values import CATEGORIES, Scope
from umi_core.workflows import linking, listing
from umi_sim.judge.plain import plans as plain
from umi_sim.judge.plain.ids import category_id, membership_id
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TRIED: Final = 12  # of each trial
WHO: Final = Scope("u", "a")
NOW_MS: Final = 9
IDS: Final = ("e1", "e2", "e3")
NAMES: Final = tuple(CATEGORIES)


def try_plans(draw: Stream, config: Config) -> None:
    for _ in range(TRIED):
        check_linked(draw)
        check_page(draw)
        check_merged(draw)
        check_due(draw)


# Members.


def check_linked(draw: Stream) -> None:
    links = [
        (draw.pick(IDS), draw.between(1, 3), draw.pick(NAMES[:3]), draw.pick(("model", "default")))
        for _ in range(draw.below(5))
    ]
    rows = {row.address: row for row in known_rows(draw)}
    view: Any = SimpleNamespace(scope=WHO, now_ms=NOW_MS)
    writes = linking.linked([linking.Link(*it) for it in links], rows, view)
    wanted, got = plain.linked(links, rows, WHO, NOW_MS), {it.address: it.body for it in writes}
    told = f"{links} become members where there is {[*rows.values()]}"
    demand(wanted == got, rules.DERIVED_FOLLOWS_SOURCE, told, wanted, got)


def known_rows(draw: Stream) -> list[Row]:
    found = list[Row]()
    for name in draw.subset(NAMES[:3], 1, 2):
        parent = category_id(WHO, name)
        found.append(Row(Address(WHO, "category", parent), draw.between(1, 4), category(draw, parent, name)))
        for entity_id in draw.subset(IDS, 1, 2):
            key = membership_id(WHO, entity_id, parent)
            body = Membership(key, entity_id, draw.between(1, 3), parent, "model", 5, draw.pick((None, "s1")))
            found.append(Row(Address(WHO, "membership", key), draw.between(1, 4), body))
    return found


def category(draw: Stream, key: str, name: str) -> Category:
    count = draw.pick((0, 1, 2, 3, 2**63 - 1))
    return Category(
        key, name, "", count, draw.below(3), draw.below(9), "", (), draw.chance(1, 2),
        draw.pick(((), ("s1",))), draw.pick(("", "d")), draw.pick((None, 0, 4)),
    )  # fmt: skip


# Lists.


def check_page(draw: Stream) -> None:
    bodies = {key: Entity(key, "note", "", "x", 1, 0, 0, "human", 1, 1) for key in draw.subset(IDS, 2, 3)}
    rows = tuple(Row(Address(WHO, "entity", it), 1, draw.pick((None, bodies[it]))) for it in bodies)
    cursor, nothing = draw.pick((None, "c")), SimpleNamespace()
    facts: Any = nothing
    taken: Any = listing.take_page(facts, ReadDone(1, rows, cursor), facts)
    wanted, got = Done(plain.page_of(rows, cursor)), taken.facts[OUTCOME.name]
    demand(wanted == got, rules.REFERENCE_AGREES, f"{rows} in a list", wanted, got)


# Dues.


def check_merged(draw: Stream) -> None:
    known = {key: draw.below(3) for key in sorted(draw.subset(IDS, 1, 2))}
    told = {key: draw.pick((None, 0, 1, 7)) for key in draw.subset(IDS, 1, 2)}
    is_late = draw.chance(1, 2)
    wanted, got = plain.merged(known, told, is_late=is_late), dues.merged(known, told, is_late=is_late)
    what = f"{known} is due, and {told} is told, late: {is_late}"
    demand(sorted(wanted.items()) == list(got.items()), rules.PENDING_UNTIL_DONE, what, wanted, got)
    name = draw.pick(IDS)
    left, rest = {key: at_ms for key, at_ms in known.items() if key != name}, dues.without(known, name)
    demand(left == rest, rules.PENDING_UNTIL_DONE, f"{known} without {name}", left, rest)


def check_due(draw: Stream) -> None:
    config = Config(
        auto_evolution=draw.chance(3, 4), cluster_size_min=draw.between(1, 3),
        upkeep_interval_ms=draw.pick((0, 1, 60_000)),
    )  # fmt: skip
    it = category(draw, "cat_1", "facts")
    wanted, got = plain.division_ms(it, config), dues.due_ms(it, config)
    demand(wanted == got, rules.PENDING_UNTIL_DONE, f"when {it} is divided", wanted, got)
    resource = Resource("r1", "text", "x", "h", "c", 0, 0, 1, draw.below(9))
    bodies = (
        it, Entity("e1", "note", "", "x", 1, 0, 0, "human", 1, 1), None,
        attrs.evolve(resource, pending=draw.pick(((), ("x",))), parent_id=draw.pick((None, None, "r0"))),
        Reflection("f1", "s1", "x", (), 1, 2, 3, draw.below(9), draw.chance(1, 2), draw.chance(1, 2)),
    )  # fmt: skip
    body = draw.pick(bodies)
    due, told = plain.upkeep_ms(body, config), dues.upkeep_ms(body, config)
    demand(due == told, rules.PENDING_UNTIL_DONE, f"when {body} is done with", due, told)
    if due is not None:
        now_ms = draw.pick((0, 5, 60_001, 60_009, 86_400_000, 86_400_009, 2**50))
        again = plain.again_ms(body, now_ms, config), dues.again_ms(body, now_ms, config)
        demand(again[0] == again[1], rules.PENDING_UNTIL_DONE, f"when {body} is tried again", *again)
