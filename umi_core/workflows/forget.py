"""forget deletes a fact; forget_resource deletes a memorized text with the facts that only this text stated.

A fact is deleted with its relations, memberships, vector, access record and core entry. Its categories, and
the facts at the other ends of its relations, are updated. An archival record is deleted by the same steps as
a text (kelpie/logs.py).

Law 1. Forgetting a text keeps a fact that another resource also states or that is direct; other facts of the
text are forgotten. Law 2. A summary or a reflection made from a forgotten text is emptied until it is made
again. Law 3. Everything is deleted in one commit, or nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Law, Learned, Step, Workflow, asks, learn_rows, learn_unit_rows, retry
from umi_core.ids import reflection_id
from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Expect, Read, Write
from umi_core.messages.requests import Forget, ForgetResource
from umi_core.messages.results import Forgotten, ResourceForgotten, Stored
from umi_core.rows import (
    Address,
    Entity,
    Membership,
    Reflection,
    Relation,
    Resource,
    Row,
    bodies_of,
    body_as,
    fact_of,
    with_fact,
)
from umi_core.tiers.core import without
from umi_core.values import Scope
from umi_core.workflows import commits
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REQUEST_KEY,
    SETTLE,
    Plan,
    address,
    ask_if_any,
    commit_row,
    put,
    read_core,
)
from umi_core.workflows.drafting import drop_source
from umi_core.workflows.linking import expect_memberships, unlink_members, vector_row
from umi_core.workflows.remember import KNOWN_ANSWER, REPLY, SEEN

# The rows that are deleted or updated with a fact. `links`: its relations and memberships; `linked`: the
# facts and categories at their other ends.


def ask_links(fact_id: str, scope: Scope) -> Read:
    """Read the relations and memberships of a fact."""
    where = (Condition("touches", "contains", fact_id),)
    return Read(ByFilter(scope, ("relation", "membership"), where))


def count_lost(links: Iterable[Row], removed: Collection[str]) -> Mapping[str, int]:
    """Count the relations that each remaining fact loses, by its id; a row that occurs twice counts once."""
    once = {row.address: row for row in links}.values()
    pairs = (relation.touches for relation in bodies_of(once, Relation))
    lost = (end for pair in pairs if not set(pair).isdisjoint(removed) for end in pair if end not in removed)
    return dict(sorted(Counter(lost).items()))


def list_linked(lost: Iterable[str], links: Iterable[Row], scope: Scope) -> list[Address]:
    """Return addresses: of the facts in `lost`, current or ended, and of the categories in `links`."""
    facts = [address(scope, kind, key) for key in lost for kind in ("entity", "ended")]
    categories = sorted({it.category_id for it in bodies_of(links, Membership)})
    return facts + [address(scope, "category", key) for key in categories]


def delete_fact(row: Row, links: Iterable[Row], scope: Scope) -> Iterator[Write]:
    """Yield the deletions of a fact's own rows, and of its relations and memberships."""
    key = row.address.id
    own = (row.address, address(scope, "vector", key), address(scope, "access", key))
    yield from (Write(where, None) for where in (*own, *(it.address for it in links)))


def without_relations(fact: Entity, removed: Collection[str], lost: Mapping[str, int]) -> Entity:
    """Return the fact without its relations to the removed facts."""
    refs = tuple(it for it in fact.contradicts if it.partition("@")[0] not in removed)
    # The count may be too low if the row was changed from outside.
    count = max(0, fact.relation_count - lost.get(fact.id, 0))
    return structs.replace(fact, relation_count=count, contradicts=refs)


def update_linked(
    linked: Iterable[tuple[Row, Entity | None]], removed: Collection[str], lost: Mapping[str, int]
) -> Iterator[Write]:
    """Yield the writes of the rows that change: each gets its fact without the removed relations."""
    for row, fact in linked:
        after = None if fact is None else with_fact(row.body, without_relations(fact, removed, lost))
        if after is not None and after != row.body:
            yield Write(row.address, after)


# One fact.

OF_FACT: Final = Fact("request", Forget)
ROW: Final = Fact("row", Row | None, ("entity", "ended"))  # the fact to forget; None if there is none
LINKS: Final = Fact("touching", tuple[Row, ...])  # its memberships and relations
LINKED: Final = Fact("ends", tuple[Row, ...])  # facts at the other ends of relations; its categories


def fact_id_of(facts: Facts) -> str:
    return facts[OF_FACT].entity_id


def ask_lookup(facts: Facts, view: View) -> Read:
    own = (address(view.scope, kind, fact_id_of(facts)) for kind in ("entity", "ended"))
    return Read(ByIds((*own, address(view.scope, "core"))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    # There is at most one of the two rows: the batch that writes one deletes the other.
    row = next((it for it in answer.rows if fact_of(it.body) is not None), None)
    return Learned(ROW(row) | CORE(read_core(answer, view)))


def ask_own(facts: Facts, view: View) -> Read | None:
    return None if (row := facts[ROW]) is None else ask_links(row.address.id, view.scope)


def lost_of_fact(facts: Facts) -> Mapping[str, int]:
    row, links = facts[ROW], facts[LINKS]
    return {} if row is None else count_lost(links, (row.address.id,))


def ask_other_ends(facts: Facts, view: View) -> Read | None:
    links = facts[LINKS]
    linked = list_linked(lost_of_fact(facts), links, view.scope)
    return Read(ByIds(tuple(linked))) if linked else None


def take_forgetting(facts: Facts, answer: None, view: View) -> Learned:
    row, core, key = facts[ROW], facts[CORE], fact_id_of(facts)
    links, linked = facts[LINKS], facts[LINKED]
    # Core may have an entry even if storage has lost the row of its fact.
    after = without(core, (key,)) if core.locate(key) else None
    # `forgotten` makes the access table ignore a running recall that has read the fact.
    plan = Plan(view.now_ms, core=after, value=Forgotten(row is not None), forgotten=(key,))
    if row is None:
        return Learned(PLAN(plan))
    writes = (
        *delete_fact(row, links, view.scope),
        *update_linked(((it, fact_of(it.body)) for it in linked), (key,), lost_of_fact(facts)),
        *unlink_members(links, linked, view), *view.tiers.access.writes(view.scope, (key,)),
    )  # fmt: skip
    expects = expect_memberships(key, links, view)
    return Learned(PLAN(structs.replace(plan, writes=writes, expects=expects)))


def lose_relations(facts: Facts, scope: Scope) -> bool:
    """Return whether each fact at an end loses a relation."""
    linked = [fact_of(it.body) for it in facts[LINKED]]
    return all(it.id in lost_of_fact(facts) for it in linked if it is not None)


FORGET = Workflow(
    "forget",
    given=(OF_FACT, REQUEST_KEY),
    steps=(
        SEEN,
        Step("lookup", requires=(OF_FACT,), produces=(ROW, CORE),
             claims=lambda facts, view: (fact_id_of(facts),),
             **asks(Read, ask_lookup, take_lookup, retry(3))),
        Step("touching", requires=(ROW,), produces=(LINKS,),
             **asks(Read, ask_own, learn_rows(LINKS), retry(3))),
        Step("ends", requires=(ROW, LINKS), produces=(LINKED,),
             **asks(Read, ask_other_ends, learn_rows(LINKED), retry(3))),
        Step("plan", requires=(ROW, CORE, LINKS, LINKED), produces=(PLAN,), take=take_forgetting),
        commit_row(replan="lookup", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
    laws=(KNOWN_ANSWER, Law("ends of relations that go", (ROW, LINKS, LINKED), lose_relations)),
)  # fmt: skip


# One text.


REQUEST: Final = Fact("request", ForgetResource | DeleteArchival)
RESOURCE: Final = Fact("resource", Row | None)
DERIVED: Final = Fact("derived", tuple[Row, ...])  # its segments, and the reflections that name it
KNOWN: Final = Fact("known", tuple[Row, ...], ("entity", "ended"))  # the facts that it states
TEXT_LINKS: Final = Fact("touching", tuple[tuple[Row, ...], ...])  # relations and memberships of each fact
TEXT_LINKED: Final = Fact("ends", tuple[Row, ...])  # linked rows, and the session's reflection


def id_of(facts: Facts) -> str:
    request = facts[REQUEST]
    return request.record_id if isinstance(request, DeleteArchival) else request.resource_id


# load, facts, touching, ends: read all rows concerned.


def claim_resource(facts: Facts, view: View) -> tuple[str, ...]:
    return (id_of(facts),)


def ask_resource(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "resource", id_of(facts)),)))


def take_resource(facts: Facts, answer: ReadDone, view: View) -> Learned:
    """Learn the row; a segment counts as missing, because it is only a part of a text."""
    row = next(iter(answer.rows), None)
    text = body_as(row, Resource)
    return Learned(RESOURCE(row if text is not None and text.parent_id is None else None))


def ask_facts(facts: Facts, view: View) -> Read | None:
    if facts[RESOURCE] is None:
        return None
    kinds = ("resource", "entity", "ended", "reflection")
    return Read(ByFilter(view.scope, kinds, (Condition("touches", "contains", id_of(facts)),)))


def take_facts(facts: Facts, answer: ReadDone, view: View) -> Learned:
    fact_rows = (row for row in answer.rows if fact_of(row.body) is not None)
    known = tuple(sorted(fact_rows, key=lambda row: row.address.id))
    return Learned(KNOWN(known) | DERIVED(tuple(row for row in answer.rows if row not in known)))


def ask_touching(facts: Facts, view: View) -> Read:
    return ask_links(facts.unit(KNOWN).address.id, view.scope)


def list_links(facts: Facts) -> list[Row]:
    return [row for rows in facts[TEXT_LINKS] for row in rows]


def ask_ends(facts: Facts, view: View) -> Read | None:
    if facts[RESOURCE] is None:
        return None
    # The step `facts` has already read the facts of the text, which may lose relations, too.
    known = [row.address.id for row in facts[KNOWN]]
    others = (key for key in lost_of(facts) if key not in known)
    linked = list_linked(others, list_links(facts), view.scope)
    return Read(ByIds((*linked, *reflection_address(facts, view.scope), address(view.scope, "core"))))


def reflection_address(facts: Facts, scope: Scope) -> tuple[Address, ...]:
    """Return the address of the reflection of the text's session; it may be written concurrently."""
    text = body_as(facts[RESOURCE], Resource)
    session = text.session_id if text is not None else None
    return () if session is None else (address(scope, "reflection", reflection_id(scope, session)),)


def take_ends(facts: Facts, answer: ReadDone, view: View) -> Learned:
    linked = tuple(row for row in answer.rows if row.address.kind != "core")
    return Learned(TEXT_LINKED(linked) | CORE(read_core(answer, view)))


# The facts of the text: forgotten, or kept without this source.


def split_facts(facts: Facts) -> list[tuple[Row, tuple[Row, ...], Entity | None]]:
    """Return for each fact of the text: its row, its relations and memberships, and the fact without this
    source, or None if it is forgotten."""
    known, links_of = facts[KNOWN], facts[TEXT_LINKS]
    facts_of = [(row, links, fact_of(row.body)) for row, links in zip(known, links_of, strict=True)]
    return [(row, links, drop_source(id_of(facts), it)) for row, links, it in facts_of if it is not None]


def removed_ids(facts: Facts) -> tuple[str, ...]:
    return tuple(row.address.id for row, _, it in split_facts(facts) if it is None)


def lost_of(facts: Facts) -> Mapping[str, int]:
    return count_lost(list_links(facts), removed_ids(facts))


# plan.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    resource = facts[RESOURCE]
    if resource is None:
        return Learned(PLAN(Plan(view.now_ms, value=ResourceForgotten(False))))
    value = ResourceForgotten(True, tuple(report_facts(facts)))
    return Learned(PLAN(structs.replace(plan_without(resource, facts, view), value=value)))


def plan_without(resource: Row, facts: Facts, view: View) -> Plan:
    """Return the plan that deletes the text and the facts that only it stated."""
    removed = removed_ids(facts)
    core = without(facts[CORE], removed)
    is_moved = core.blocks != facts[CORE].blocks
    writes = (
        *resource_writes(resource, facts, view), *fact_writes(facts, view),
        *category_writes(facts, view), *view.tiers.access.writes(view.scope, removed),
    )  # fmt: skip
    return Plan(
        view.now_ms,
        writes=tuple({write.address: write for write in writes}.values()),
        expects=tuple(expect_categories(facts, view)),
        core=core if is_moved else None,
        forgotten=removed,
    )


def expect_categories(facts: Facts, view: View) -> Iterator[Expect]:
    for row, links, it in split_facts(facts):
        if it is None:
            yield from expect_memberships(row.address.id, links, view)


def report_facts(facts: Facts) -> Iterator[Stored]:
    """Yield for the reply whether each fact of the text was forgotten."""
    for row, _, it in split_facts(facts):
        fact = fact_of(row.body)
        assert fact is not None
        yield Stored(fact.id, fact.version, "forgotten" if it is None else "unchanged")


def resource_writes(resource: Row, facts: Facts, view: View) -> Iterator[Write]:
    """Yield the deletions of the text, its segments and vectors, and the writes that empty reflections."""
    for row in (resource, *(row for row in facts[DERIVED] if row.address.kind == "resource")):
        yield Write(row.address, None)
        if row.address.kind == "resource":
            yield vector_row(row.address.id, None, view.scope)
    bodies = {row.address: row.body for row in (*facts[DERIVED], *facts[TEXT_LINKED])}
    for body in bodies.values():
        if isinstance(body, Reflection) and id_of(facts) in body.touches:
            emptied = structs.replace(body, text="", sources=(), pending=True, updated_ms=view.now_ms)
            yield put(view.scope, "reflection", body.id, emptied)
            yield vector_row(body.id, None, view.scope)


def fact_writes(facts: Facts, view: View) -> Iterator[Write]:
    """Yield the deletions of forgotten facts, then the updates of remaining facts and of linked facts."""
    split, linked = split_facts(facts), facts[TEXT_LINKED]
    for row, links, it in split:
        if it is None:
            yield from delete_fact(row, links, view.scope)
    remaining = ((row, it) for row, _, it in split)
    others = ((row, fact_of(row.body)) for row in linked)
    yield from update_linked((*remaining, *others), removed_ids(facts), lost_of(facts))


def category_writes(facts: Facts, view: View) -> tuple[Write, ...]:
    lost = [row for _, links, it in split_facts(facts) if it is None for row in links]
    categories = {address(view.scope, "category", it.category_id) for it in bodies_of(lost, Membership)}
    return unlink_members(lost, [row for row in facts[TEXT_LINKED] if row.address in categories], view)


PLANNED_FROM: Final = (REQUEST, RESOURCE, DERIVED, KNOWN, TEXT_LINKS, TEXT_LINKED, CORE)

FORGET_RESOURCE: Final = Workflow(
    "forget_resource",
    given=(REQUEST,),
    steps=(
        Step("load", requires=(REQUEST,), produces=(RESOURCE,), claims=claim_resource,
             **asks(Read, ask_resource, take_resource, retry(3))),
        Step("facts", requires=(REQUEST, RESOURCE), produces=(KNOWN, DERIVED),
             **asks(Read, ask_facts, take_facts, retry(3))),
        Step("touching", each=KNOWN, produces=(TEXT_LINKS,),
             **asks(Read, ask_touching, learn_unit_rows(TEXT_LINKS), retry(3))),
        Step("ends", requires=(REQUEST, RESOURCE, KNOWN, TEXT_LINKS), produces=(TEXT_LINKED, CORE),
             **asks(Read, ask_ends, take_ends, retry(3))),
        Step("plan", requires=PLANNED_FROM, produces=(PLAN,), take=take_plan),
        commit_row(replan="load", ask=ask_if_any),
        SETTLE,
        commits.REPLY,
    ),
    laws=(
        Law("what belongs to each fact", (KNOWN, TEXT_LINKS),
            lambda facts, scope: len(facts[TEXT_LINKS]) == len(facts[KNOWN])),
    ),
)  # fmt: skip
