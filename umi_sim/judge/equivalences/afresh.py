"""What a life was told is told again, to new memories in a small world without faults.

    E-BATCH   all of it at once, or one by one: the archive says the same
    E-CLEAR   all of it forgotten, half way by a life that stops: nothing is left of it, and nothing else has
              gone; told again, the archive says what it said

Law 1. What an archive says is compared without the order in which it was told: lines, sources, counts and
       members, but no versions, which the same lines in another order may need more or fewer of.
Law 2. A batch may meet itself: who is told of a conflict asks again, as a caller does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from umi_core.engine.middleware import Interceptors
from umi_core.errors import Conflict
from umi_core.invariants.broken import demand
from umi_core.limits import PPM, RECALL_LIMIT_MAX
from umi_core.messages import requests
from umi_core.messages.effects import (
    Done,
    Failed,
    Outcome,
)
from umi_core.messages.requests import CreateEntity, EndSession, ForgetResource
from umi_core.messages.results import Listed, SessionCreated
from umi_core.rows import Address, Category, Core, Ended, Entity, Membership, Reflection, Resource, Vector
from umi_core.text import norm
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.judge.small_world import SmallWorld
from umi_sim.record import rules
from umi_sim.services.embedder import embed
from umi_sim.services.storage import SimStorage

TOLD_COUNT_MAX: Final = 6
TELLING: Final = (requests.Memorize, CreateEntity)
STORING: Final = (*TELLING, requests.Remember, requests.SetBlock)
EMPTY: Final = ("category", "reflection", "tombstone")  # rows that may stay, and say nothing then
KEPT: Final = ("epoch", "receipt", "head")  # rows of lives and commits
OF_FACTS: Final = (
    "entity", "ended", "relation", "membership", "subcategory", "resource", "vector", "access",
)  # fmt: skip

Says = Mapping[tuple[str, str], object]  # by kind and id of its rows


def new_world(life: RecordedLife, storage: SimStorage | None = None, *, is_hasty: bool = False) -> SmallWorld:
    """As the life ended: its settings, its first tables without interceptors, its last instant."""
    first, last = life.steps[0], life.steps[-1]
    registry = attrs.evolve(first.registry, generations=(Interceptors(),))
    return SmallWorld(life.scope, life.config, last.now_ms, registry, storage or SimStorage(), is_hasty)


def told_in(life: RecordedLife, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """The first things that were told in it, each once."""
    values: Iterator[Any] = (step.value for step in life.steps if isinstance(step.value, kinds))
    unnamed = {attrs.evolve(value, **without_names(value)): None for value in values}
    return tuple(attrs.evolve(it, op_id=f"told:{at}") for at, it in enumerate([*unnamed][:TOLD_COUNT_MAX]))


def without_names(value: Any) -> dict[str, Any]:
    return {name: given for name, given in (("op_id", ""), ("request_key", None)) if hasattr(value, name)}


# What an archive says.


def said(world: SmallWorld) -> Says:
    """By kind and id."""
    return {
        (where.kind, where.id): SAID[type(body)](body) for where, body in world.rows() if type(body) in SAID
    }


def lines(content: str) -> tuple[str, ...]:
    """In the spelling in which all of them are the same; whoever came first has chosen one."""
    return tuple(sorted(norm(line) for line in content.splitlines()))


SAID: Final[Mapping[type, Callable[[Any], object]]] = {
    Entity: lambda it: (
        it.type, norm(it.name), norm(it.content), it.sources, it.reinforced_count, it.is_direct,
    ),
    Ended: lambda it: (norm(it.fact.content), it.by, it.how),
    Membership: lambda it: (it.entity_id, it.category_id),
    Category: lambda it: (it.name, it.member_count),
    Resource: lambda it: (
        it.text, it.modality, it.uri, it.parent_id, it.caption, it.description, it.extracted_types,
        it.pending, it.session_id, it.happened_ms,
    ),
}  # fmt: skip


def must_say(due: Says, got: Says, rule: Any, what: str) -> None:
    """Tells what is not the same in both. Raises Broken."""
    apart = [key for key in {**due, **got} if due.get(key) != got.get(key)]
    first, second = ({key: it.get(key) for key in apart} for it in (due, got))
    demand(not apart, rule, what, first, second)


# E-BATCH.


def at_once(life: RecordedLife) -> int:
    """E-BATCH: how many batches were compared, of texts and of facts. Not of both: a fact that a text tells
    is reinforced by it if somebody has said it before, and not if it is said afterwards."""
    return sum(together(life, told_in(life, (kind,))) for kind in TELLING)


def together(life: RecordedLife, told: tuple[Any, ...]) -> int:
    if len(told) < 2:
        return 0
    life = unchanging(life)
    single = one_by_one(new_world(life), told)
    for is_hasty in (False, True):
        batch = new_world(life, is_hasty=is_hasty)
        for request in told:
            batch.step(request)
        batch.settle()
        one_by_one(batch, [it for it in told if is_conflict(batch.outcomes[it.op_id])])
        must_say(said(single), said(batch), rules.BATCH_OR_SINGLE, f"{len(told)} at once, against one by one")
    return 2


def unchanging(life: RecordedLife) -> RecordedLife:
    """Return the life with a memory that believes no verdict: what is told at once is not compared."""
    return attrs.evolve(life, config=attrs.evolve(life.config, evolve_confidence_min_ppm=PPM))


def one_by_one(world: SmallWorld, told: Iterable[Any]) -> SmallWorld:
    for request in told:
        world.ask(request)
    return world


def is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and isinstance(outcome.error, Conflict)


# E-CLEAR.


def cleared(life: RecordedLife) -> int:
    """E-CLEAR: how many archives were cleared that had something to lose."""
    full = new_world(life)
    session = session_of(full)
    told = [in_session(session, it) for it in told_in(life, STORING)]
    before = said(one_by_one(full, told))
    if not before:
        return 0
    kept = others(full)
    one_by_one(full, (*summing_up(full), *grouping(full), EndSession("end", session)))
    forget_all(full, stops=True)
    empty = new_world(life, full.storage)
    forget_all(empty)
    must_say({}, left(empty), rules.CLEARED_OR_FRESH, "what is left of an archive that was cleared")
    must_say(kept, others(empty), rules.CLEARED_OR_FRESH, "what an archive that was cleared had no part in")
    one_by_one(empty, told)
    must_say(before, said(empty), rules.CLEARED_OR_FRESH, "cleared and told again, against told once")
    return 1


def session_of(world: SmallWorld) -> str:
    """A new one, in which all is told; nothing of a memory that makes none."""
    outcome = world.ask(requests.CreateSession("session"))
    value = outcome.value if isinstance(outcome, Done) else None
    return value.session_id if isinstance(value, SessionCreated) else ""


def in_session(session: str, request: Any) -> Any:
    return attrs.evolve(request, session_id=session) if isinstance(request, requests.Memorize) else request


def names(world: SmallWorld) -> list[str]:
    return [body.name for _, body in world.rows() if isinstance(body, Category)]


def summing_up(world: SmallWorld) -> list[requests.Request]:
    return [requests.Summarise(f"sum:{name}", name) for name in names(world)]


def grouping(world: SmallWorld) -> list[requests.Request]:
    return [requests.EvolveCategory(f"group:{name}", name, True) for name in names(world)]


def forget_all(world: SmallWorld, *, stops: bool = False) -> None:
    """Every text, then every fact; then categories are divided, and have nothing to divide. `stops`: in the
    middle of the middle one of these."""
    texts = [key for key in listed(world, "resource") if not is_segment(world, key)]
    walk: list[Any] = [
        *(ForgetResource(f"text:{key}", key) for key in texts),
        *(requests.Forget(f"fact:{key}", key) for key in (*listed(world, "entity"), *listed(world, "ended"))),
        *grouping(world),
    ]  # fmt: skip
    middle = len(walk) // 2 if stops else len(walk)
    one_by_one(world, walk[:middle])
    for request in walk[middle : middle + 1]:
        world.step(request)
        world.settle(1 + len(walk) % 4)


def listed(world: SmallWorld, kind: str) -> list[str]:
    ids, cursor = list[str](), None
    while True:
        request = requests.List(f"list:{kind}:{cursor}", kind, RECALL_LIMIT_MAX, cursor)
        outcome = world.ask(request)
        if not isinstance(outcome, Done) or not isinstance(outcome.value, Listed):
            return ids
        ids += [row.id for row in outcome.value.rows]
        cursor = outcome.value.cursor
        if cursor is None:
            return ids


def is_segment(world: SmallWorld, key: str) -> bool:
    body: Any = world.storage.rows[Address(world.scope, "resource", key)].body
    return body.parent_id is not None


def left(world: SmallWorld) -> Says:
    """What still says something of what was forgotten."""
    rows = {where: body for where, body in world.rows() if says(where.kind, body)}
    own = [where for where in rows if describes_itself(world, where)]
    return {(where.kind, where.id): body for where, body in rows.items() if where not in own}


def describes_itself(world: SmallWorld, where: Address) -> bool:
    """Whether it is the vector of a category by its description: by the facts that ended it lost its last."""
    home = world.storage.rows.get(attrs.evolve(where, kind="category"))
    vector = world.storage.rows[where].body
    if home is None or not isinstance(home.body, Category) or not isinstance(vector, Vector):
        return False
    text = f"{home.body.name}: {home.body.description}"
    return not home.body.summary and vector.components == embed(text, world.config.embedding_dims)


def says(kind: str, body: Any) -> bool:
    if isinstance(body, Category):
        return bool(body.member_count or body.summary or body.summary_sources or body.subcategory_ids)
    if isinstance(body, Reflection):
        return bool(body.text or body.sources)
    if isinstance(body, Core):
        return any(block.entries for block in body.blocks)
    return kind in OF_FACTS


def others(world: SmallWorld) -> Says:
    """What has nothing to do with the archive: authored text of core, and rows of any other kind."""
    apart_from = (*OF_FACTS, *EMPTY, *KEPT)
    return {
        (where.kind, where.id): authored(body) for where, body in world.rows() if where.kind not in apart_from
    }


def authored(body: Any) -> object:
    if not isinstance(body, Core):
        return body
    return [(block.kind, block.label, block.text) for block in body.blocks if block.text is not None]
