"""What a life was told is told again, to new memories in a small world without faults.

    E-BATCH   all of it at once, or one by one: the archive says the same
    E-CLEAR   all of it forgotten, half way by a life that stops: nothing is left of it, and nothing else has
              gone; told again, the archive says what it said

Law 1. What an archive says is compared without the order in which it was told: lines, sources, counts and
       members, but no versions, which the same lines in another order may need more or fewer of.
Law 2. A batch may meet itself: a request that fails with a conflict is asked again, as a caller does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core.engine.middleware import Interceptors
from umi_core.errors import Conflict
from umi_core.limits import PPM, RECALL_LIMIT_MAX
from umi_core.messages import requests
from umi_core.messages.effects import Done, Failed, Outcome
from umi_core.messages.requests import CreateEntity, EndSession, ForgetResource
from umi_core.messages.results import Listed, SessionCreated
from umi_core.rows import Address, Category, Core, Ended, Entity, Membership, Reflection, Resource, Vector
from umi_core.text import norm
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.judge.small_world import SmallWorld
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.embedder import embed
from umi_sim.services.storage import SimStorage

TOLD_COUNT_MAX: Final = 6
TELLING: Final = (requests.Memorize, CreateEntity)
STORING: Final = (*TELLING, requests.Remember, requests.SetBlock)
EMPTY: Final = ("category", "reflection")  # rows that may stay, and say nothing then
KEPT: Final = ("epoch", "receipt", "head")  # rows of lives and commits
OF_FACTS: Final = (
    "entity", "ended", "relation", "membership", "subcategory", "resource", "vector", "access",
)  # fmt: skip

Says = Mapping[tuple[str, str], object]  # by kind and id of its rows


def new_world(life: RecordedLife, storage: SimStorage | None = None, *, is_hasty: bool = False) -> SmallWorld:
    """Return a world like the end of a life: its settings, its first tables without hooks, its time."""
    first, last = life.steps[0], life.steps[-1]
    registry = structs.replace(first.registry, generations=(Interceptors(),))
    return SmallWorld(life.scope, life.config, last.now_ms, registry, storage or SimStorage(), is_hasty)


def list_requests(life: RecordedLife, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """List the first requests of these kinds in a life, each once."""
    values: Iterator[Any] = (step.value for step in life.steps if isinstance(step.value, kinds))
    # The same request under two ids is told once: else the second would only be a repetition.
    unnamed = {structs.replace(value, **without_names(value)): None for value in values}
    return tuple(structs.replace(it, op_id=f"told:{at}") for at, it in enumerate([*unnamed][:TOLD_COUNT_MAX]))


def without_names(value: Any) -> dict[str, Any]:
    return {name: given for name, given in (("op_id", ""), ("request_key", None)) if hasattr(value, name)}


# What an archive says.


def describe_archive(world: SmallWorld) -> Says:
    """Return what an archive says, by kind and id of its rows."""
    return {
        (where.kind, where.id): SAID[type(body)](body) for where, body in world.rows() if type(body) in SAID
    }


def lines(content: str) -> tuple[str, ...]:
    """Return the lines in one spelling, sorted: which statement came first decides how they are written."""
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
    """Raise Broken unless both archives are equal, and show only where they differ."""
    apart = [key for key in {**due, **got} if due.get(key) != got.get(key)]
    first, second = ({key: it.get(key) for key in apart} for it in (due, got))
    demand(not apart, rule, what, first, second)


# E-BATCH.


def compare_batches(life: RecordedLife) -> int:
    """Run E-BATCH; return how many batches were compared, of texts and of facts.

    Never of both: a text reinforces a fact that was told before it, and not one told afterwards.
    """
    return sum(compare_batch(life, list_requests(life, (kind,))) for kind in TELLING)


def compare_batch(life: RecordedLife, facts: tuple[Any, ...]) -> int:
    if len(facts) < 2:
        return 0
    # facts that are told together are not compared, so a memory that believes verdicts would differ
    life = structs.replace(life, config=structs.replace(life.config, evolve_confidence_min_ppm=PPM))
    single = tell_singly(new_world(life), facts)
    # answered in the order of the questions, and the last question first
    for is_hasty in (False, True):
        batch = new_world(life, is_hasty=is_hasty)
        for request in facts:
            batch.step(request)
        batch.settle()
        tell_singly(batch, [it for it in facts if is_conflict(batch.outcomes[it.op_id])])
        must_say(
            describe_archive(single),
            describe_archive(batch),
            rules.BATCH_OR_SINGLE,
            f"{len(facts)} at once, against one by one",
        )
    return 2


def tell_singly(world: SmallWorld, requests: Iterable[Any]) -> SmallWorld:
    for request in requests:
        world.ask(request)
    return world


def is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and isinstance(outcome.error, Conflict)


# E-CLEAR.


def compare_cleared(life: RecordedLife) -> int:
    """Run E-CLEAR; return how many archives were cleared that had something to lose."""
    full = new_world(life)
    session = begin_session(full)
    # In one session, so that there is a reflection to lose, too.
    stored = [in_session(session, it) for it in list_requests(life, STORING)]
    before = describe_archive(tell_singly(full, stored))
    if not before:
        return 0
    kept = find_unrelated(full)
    tell_singly(full, (*summing_up(full), *grouping(full), EndSession("end", session)))
    forget_all(full, stops=True)
    empty = new_world(life, full.storage)
    forget_all(empty)
    must_say({}, find_left(empty), rules.CLEARED_OR_FRESH, "what is left of an archive that was cleared")
    must_say(
        kept, find_unrelated(empty), rules.CLEARED_OR_FRESH, "what an archive that was cleared had no part in"
    )
    tell_singly(empty, stored)
    must_say(
        before, describe_archive(empty), rules.CLEARED_OR_FRESH, "cleared and told again, against told once"
    )
    return 1


def begin_session(world: SmallWorld) -> str:
    """Return the id of a new session, in which all is told; empty if the memory makes none."""
    outcome = world.ask(requests.CreateSession("session"))
    value = outcome.value if isinstance(outcome, Done) else None
    return value.session_id if isinstance(value, SessionCreated) else ""


def in_session(session: str, request: Any) -> Any:
    return structs.replace(request, session_id=session) if isinstance(request, requests.Memorize) else request


def names(world: SmallWorld) -> list[str]:
    return [body.name for _, body in world.rows() if isinstance(body, Category)]


def summing_up(world: SmallWorld) -> list[requests.Request]:
    return [requests.Summarise(f"sum:{name}", name) for name in names(world)]


def grouping(world: SmallWorld) -> list[requests.Request]:
    return [requests.EvolveCategory(f"group:{name}", name, True) for name in names(world)]


def forget_all(world: SmallWorld, *, stops: bool = False) -> None:
    """Forget every text, then every fact; then divide categories, which have nothing left to divide.

    `stops`: end in the middle of the middle request.
    """
    texts = [key for key in list_ids(world, "resource") if not is_segment(world, key)]
    facts = (*list_ids(world, "entity"), *list_ids(world, "ended"))
    walk: list[Any] = [
        *(ForgetResource(f"text:{key}", key) for key in texts),
        *(requests.Forget(f"fact:{key}", key) for key in facts),
        *grouping(world),
    ]  # fmt: skip
    # the life stops while one request is half done; the next life has to forget all that is left
    middle = len(walk) // 2 if stops else len(walk)
    tell_singly(world, walk[:middle])
    for request in walk[middle : middle + 1]:
        world.step(request)
        world.settle(1 + len(walk) % 4)


def list_ids(world: SmallWorld, kind: str) -> list[str]:
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


def find_left(world: SmallWorld) -> Says:
    """Return the rows that still say something of what was forgotten."""
    rows = {where: body for where, body in world.rows() if says(where.kind, body)}
    own = [where for where in rows if is_own_vector(world, where)]
    return {(where.kind, where.id): body for where, body in rows.items() if where not in own}


def is_own_vector(world: SmallWorld, where: Address) -> bool:
    """Return True if a category's vector is only that of its description, as once its last fact ended."""
    # The vector of a category lies under the id of the category.
    home = world.storage.rows.get(structs.replace(where, kind="category"))
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


def find_unrelated(world: SmallWorld) -> Says:
    """Return the rows that clearing must not touch: authored text of core, and other kinds of rows."""
    apart_from = (*OF_FACTS, *EMPTY, *KEPT)
    return {
        (where.kind, where.id): keep_authored(body)
        for where, body in world.rows()
        if where.kind not in apart_from
    }


def keep_authored(body: Any) -> object:
    if not isinstance(body, Core):
        return body
    return [(block.kind, block.label, block.text) for block in body.blocks if block.text is not None]
