"""forget: a fact leaves with everything that is its own: relations, memberships, vector, access, core entry.

Its categories, and the facts at the other ends of its relations, are written again. A text that leaves takes
its facts with it by the same functions (forget_resource.py).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Law, Learned, Step, Workflow, asks, learn_rows, retry
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Read, Write
from umi_core.messages.requests import Forget
from umi_core.messages.results import Forgotten
from umi_core.rows import Address, Entity, Membership, Relation, Row, bodies_of, fact_of, with_fact
from umi_core.tiers.core import without
from umi_core.values import Scope
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REQUEST_KEY,
    SETTLE,
    Plan,
    address,
    ask_if_any,
    commit_row,
    read_core,
)
from umi_core.workflows.linking import expect_memberships, unlink_members
from umi_core.workflows.remember import KNOWN_ANSWER, REPLY, SEEN

# Leaving: what goes with a fact, and what is written again without it.


def ask_belonging(fact_id: str, scope: Scope) -> Read:
    """Ask for the relations and memberships of a fact."""
    where = (Condition("touches", "contains", fact_id),)
    return Read(ByFilter(scope, ("relation", "membership"), where))


def count_lost(touching: Iterable[Row], removed: Collection[str]) -> Mapping[str, int]:
    """Count the relations that each remaining fact loses, by its id; one that is there twice is one."""
    once = {row.address: row for row in touching}.values()
    ends = (relation.touches for relation in bodies_of(once, Relation))
    lost = (end for pair in ends if not set(pair).isdisjoint(removed) for end in pair if end not in removed)
    return dict(sorted(Counter(lost).items()))


def list_ends(lost: Iterable[str], touching: Iterable[Row], scope: Scope) -> list[Address]:
    """List the facts at the other ends, each current or ended, and the categories of what goes."""
    ends = [address(scope, kind, key) for key in lost for kind in ("entity", "ended")]
    homes = sorted({it.category_id for it in bodies_of(touching, Membership)})
    return ends + [address(scope, "category", key) for key in homes]


def delete_fact(row: Row, touching: Iterable[Row], scope: Scope) -> Iterator[Write]:
    """Yield the deletions of all rows of a fact."""
    key = row.address.id
    own = (row.address, address(scope, "vector", key), address(scope, "access", key))
    yield from (Write(where, None) for where in (*own, *(it.address for it in touching)))


def without_relations(fact: Entity, removed: Collection[str], lost: Mapping[str, int]) -> Entity:
    """Return the fact without its relations to those that leave."""
    refs = tuple(it for it in fact.contradicts if it.partition("@")[0] not in removed)
    # Never below 0: a count in a row that was changed from outside may be too low.
    count = max(0, fact.relation_count - lost.get(fact.id, 0))
    return structs.replace(fact, relation_count=count, contradicts=refs)


def update_ends(
    ends: Iterable[tuple[Row, Entity | None]], removed: Collection[str], lost: Mapping[str, int]
) -> Iterator[Write]:
    """Yield the writes of these facts, as they are to be in their rows, without what leaves."""
    for row, fact in ends:
        after = None if fact is None else with_fact(row.body, without_relations(fact, removed, lost))
        if after is not None and after != row.body:
            yield Write(row.address, after)


# One fact.

REQUEST: Final = Fact("request", Forget)
ROW: Final = Fact("row", Row | None, ("entity", "ended"))  # of the fact that leaves; None if none does
TOUCHING: Final = Fact("touching", tuple[Row, ...])  # memberships and relations
ENDS: Final = Fact("ends", tuple[Row, ...])  # the facts at the other ends, and its categories


def id_of(facts: Facts) -> str:
    return facts[REQUEST].entity_id


def ask_lookup(facts: Facts, view: View) -> Read:
    own = (address(view.scope, kind, id_of(facts)) for kind in ("entity", "ended"))
    return Read(ByIds((*own, address(view.scope, "core"))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    # A fact is current or ended: the batch that ends it deletes the other row.
    row = next((it for it in answer.rows if fact_of(it.body) is not None), None)
    return Learned(ROW(row) | CORE(read_core(answer, view)))


def ask_touching(facts: Facts, view: View) -> Read | None:
    return None if (row := facts[ROW]) is None else ask_belonging(row.address.id, view.scope)


def lost_of(facts: Facts) -> Mapping[str, int]:
    row, touching = facts[ROW], facts[TOUCHING]
    return {} if row is None else count_lost(touching, (row.address.id,))


def ask_ends(facts: Facts, view: View) -> Read | None:
    touching = facts[TOUCHING]
    ends = list_ends(lost_of(facts), touching, view.scope)
    return Read(ByIds(tuple(ends))) if ends else None


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    row, core, key = facts[ROW], facts[CORE], id_of(facts)
    touching, ends = facts[TOUCHING], facts[ENDS]
    # An entry may be there though storage has lost the row of its fact.
    after = without(core, (key,)) if core.home_of(key) else None
    # Forgotten for the access table, too: a recall that read the fact before must not bring it back.
    plan = Plan(view.now_ms, core=after, value=Forgotten(row is not None), forgotten=(key,))
    if row is None:
        return Learned(PLAN(plan))
    writes = (
        *delete_fact(row, touching, view.scope),
        *update_ends(((it, fact_of(it.body)) for it in ends), (key,), lost_of(facts)),
        *unlink_members(touching, ends, view), *view.tiers.access.writes(view.scope, (key,)),
    )  # fmt: skip
    expects = expect_memberships(key, touching, view)
    return Learned(PLAN(structs.replace(plan, writes=writes, expects=expects)))


def are_ends(facts: Facts, scope: Scope) -> bool:
    """Return whether each fact at an end is that of a relation that goes."""
    ends = [fact_of(it.body) for it in facts[ENDS]]
    return all(it.id in lost_of(facts) for it in ends if it is not None)


FORGET = Workflow(
    "forget",
    given=(REQUEST, REQUEST_KEY),
    steps=(
        SEEN,
        Step("lookup", requires=(REQUEST,), produces=(ROW, CORE),
             claims=lambda facts, view: (id_of(facts),), **asks(Read, ask_lookup, take_lookup, retry(3))),
        Step("touching", requires=(ROW,), produces=(TOUCHING,),
             **asks(Read, ask_touching, learn_rows(TOUCHING), retry(3))),
        Step("ends", requires=(ROW, TOUCHING), produces=(ENDS,),
             **asks(Read, ask_ends, learn_rows(ENDS), retry(3))),
        Step("plan", requires=(ROW, CORE, TOUCHING, ENDS), produces=(PLAN,), take=take_plan),
        commit_row(replan="lookup", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
    laws=(KNOWN_ANSWER, Law("ends of relations that go", (ROW, TOUCHING, ENDS), are_ends)),
)  # fmt: skip
