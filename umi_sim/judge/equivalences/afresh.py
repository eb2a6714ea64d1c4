"""The texts and facts of a life are stored again, in new memories in a small world without faults.

    E-BATCH   all at once, or one by one: the archive is the same
    E-CLEAR   all are forgotten, by a memory that stops halfway and by the next one: nothing remains of them,
              and nothing else is deleted; stored again, the archive is the same

Law 1. Archives are compared without the order in which they were stored: lines, sources, counts and members,
       but no versions, since the same lines in another order may make more or fewer versions.
Law 2. Requests of a batch may conflict with each other: one that does is sent again, as a caller would.
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

STORED_COUNT_MAX: Final = 6
BATCHED: Final = (requests.Memorize, CreateEntity)
STORING: Final = (*BATCHED, requests.Remember, requests.SetBlock)
EMPTY: Final = ("category", "reflection")  # kinds of rows that stay, without contents
BOOKKEEPING: Final = ("epoch", "receipt", "head")  # kinds of rows of incarnations and commits
OF_FACTS: Final = (
    "entity", "ended", "relation", "membership", "subcategory", "resource", "vector", "access",
)  # fmt: skip

Contents = Mapping[tuple[str, str], object]  # of an archive, by kind and id of its rows


def new_world(life: RecordedLife, storage: SimStorage | None = None, *, is_hasty: bool = False) -> SmallWorld:
    """Return a world with the settings and the time of the end of a life, and its first tables without
    interceptors.
    """
    first, last = life.steps[0], life.steps[-1]
    registry = structs.replace(first.registry, generations=(Interceptors(),))
    return SmallWorld(life.scope, life.config, last.now_ms, registry, storage or SimStorage(), is_hasty)


def list_requests(life: RecordedLife, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """List the first requests of these kinds in a life, each once."""
    values: Iterator[Any] = (step.value for step in life.steps if isinstance(step.value, kinds))
    # The same request under two op_ids counts once: the second would only be a repetition.
    unnamed = {
        structs.replace(it, op_id="", **{"request_key": None} if hasattr(it, "request_key") else {}): None
        for it in values
    }
    few = [*unnamed][:STORED_COUNT_MAX]
    return tuple(structs.replace(it, op_id=f"told:{at}") for at, it in enumerate(few))


# The contents of an archive.


def describe_archive(world: SmallWorld) -> Contents:
    """Return the contents of an archive, as far as they are compared."""
    return {
        (where.kind, where.id): SHOWN[type(body)](body) for where, body in world.rows() if type(body) in SHOWN
    }


def lines(content: str) -> tuple[str, ...]:
    """Return the lines, folded and sorted: the first statement decides how a line is spelled."""
    return tuple(sorted(norm(line) for line in content.splitlines()))


SHOWN: Final[Mapping[type, Callable[[Any], object]]] = {
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


def demand_equal(expected: Contents, got: Contents, rule: Any, message: str) -> None:
    """Raise Broken unless both archives are equal, with their differences."""
    differing = [key for key in {**expected, **got} if expected.get(key) != got.get(key)]
    first, second = ({key: it.get(key) for key in differing} for it in (expected, got))
    demand(not differing, rule, message, first, second)


# E-BATCH.


def compare_batches(life: RecordedLife) -> int:
    """Run E-BATCH; return how many batches were compared, of texts or of facts.

    A batch never has both: a text reinforces a fact that was stored before it, and not one stored later.
    """
    return sum(compare_batch(life, list_requests(life, (kind,))) for kind in BATCHED)


def compare_batch(life: RecordedLife, facts: tuple[Any, ...]) -> int:
    if len(facts) < 2:
        return 0
    # Facts that are stored concurrently are not compared with each other, so no verdict may be sure enough.
    without_verdicts = structs.replace(
        life, config=structs.replace(life.config, evolve_confidence_min_ppm=PPM)
    )
    single = describe_archive(ask_singly(new_world(without_verdicts), facts))
    # Questions are answered in their order, and then, in another world, the last question first.
    for is_hasty in (False, True):
        batch = new_world(without_verdicts, is_hasty=is_hasty)
        for request in facts:
            batch.step(request)
        batch.settle()
        ask_singly(batch, [it for it in facts if is_conflict(batch.outcomes[it.op_id])])
        message = f"the archive after {len(facts)} requests at once, against one by one"
        demand_equal(single, describe_archive(batch), rules.BATCH_OR_SINGLE, message)
    return 2


def ask_singly(world: SmallWorld, requests: Iterable[Any]) -> SmallWorld:
    for request in requests:
        world.ask(request)
    return world


def is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and isinstance(outcome.error, Conflict)


# E-CLEAR.


def compare_cleared(life: RecordedLife) -> int:
    """Run E-CLEAR; return how many archives were cleared that were not empty."""
    full = new_world(life)
    session = begin_session(full)
    # In one session, so that there is a reflection to clear, too.
    stored = [
        structs.replace(it, session_id=session) if isinstance(it, requests.Memorize) else it
        for it in list_requests(life, STORING)
    ]
    before = describe_archive(ask_singly(full, stored))
    if not before:
        return 0
    unrelated = find_unrelated(full)
    summaries = [requests.Summarise(f"sum:{name}", name) for name in list_categories(full)]
    ask_singly(full, (*summaries, *divide_categories(full), EndSession("end", session)))
    forget_all(full, stops=True)
    empty, rule = new_world(life, full.storage), rules.CLEARED_OR_FRESH
    forget_all(empty)
    demand_equal({}, find_remains(empty), rule, "rows that are left of a cleared archive")
    demand_equal(unrelated, find_unrelated(empty), rule, "other rows after an archive was cleared")
    ask_singly(empty, stored)
    demand_equal(before, describe_archive(empty), rule, "a cleared archive, stored again")
    return 1


def begin_session(world: SmallWorld) -> str:
    """Return the id of a new session; empty if the memory creates none."""
    outcome = world.ask(requests.CreateSession("session"))
    value = outcome.value if isinstance(outcome, Done) else None
    return value.session_id if isinstance(value, SessionCreated) else ""


def list_categories(world: SmallWorld) -> list[str]:
    return [body.name for _, body in world.rows() if isinstance(body, Category)]


def divide_categories(world: SmallWorld) -> list[requests.Request]:
    return [requests.EvolveCategory(f"group:{name}", name, True) for name in list_categories(world)]


def forget_all(world: SmallWorld, *, stops: bool = False) -> None:
    """Forget every text, then every fact; then divide the categories, which are empty.

    `stops`: stop when the middle request is half done, as a process that dies.
    """
    bodies: list[tuple[str, Any]] = [
        (key, world.storage.rows[Address(world.scope, "resource", key)].body)
        for key in list_ids(world, "resource")
    ]
    texts = [key for key, body in bodies if body.parent_id is None]
    facts = (*list_ids(world, "entity"), *list_ids(world, "ended"))
    every: list[Any] = [
        *(ForgetResource(f"text:{key}", key) for key in texts),
        *(requests.Forget(f"fact:{key}", key) for key in facts),
        *divide_categories(world),
    ]  # fmt: skip
    middle = len(every) // 2 if stops else len(every)
    ask_singly(world, every[:middle])
    for request in every[middle : middle + 1]:
        world.step(request)
        world.settle(1 + len(every) % 4)


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


def find_remains(world: SmallWorld) -> Contents:
    """Return the rows that still contain something of what was forgotten."""
    rows = {where: body for where, body in world.rows() if has_contents(where.kind, body)}
    own = [where for where in rows if is_own_vector(world, where)]
    return {(where.kind, where.id): body for where, body in rows.items() if where not in own}


def is_own_vector(world: SmallWorld, where: Address) -> bool:
    """Return True if this is the vector of the description of a category without a summary."""
    # The vector of a category has the id of the category.
    category = world.storage.rows.get(structs.replace(where, kind="category"))
    vector = world.storage.rows[where].body
    if category is None or not isinstance(category.body, Category) or not isinstance(vector, Vector):
        return False
    text = f"{category.body.name}: {category.body.description}"
    return not category.body.summary and vector.components == embed(text, world.config.embedding_dims)


def has_contents(kind: str, body: Any) -> bool:
    """Return True if a row contains something of texts or facts."""
    if isinstance(body, Category):
        return bool(body.member_count or body.summary or body.summary_sources or body.subcategory_ids)
    if isinstance(body, Reflection):
        return bool(body.text or body.sources)
    if isinstance(body, Core):
        return any(block.entries for block in body.blocks)
    return kind in OF_FACTS


def find_unrelated(world: SmallWorld) -> Contents:
    """Return the rows that clearing must not touch: authored text of core, and other kinds of rows."""
    excluded = (*OF_FACTS, *EMPTY, *BOOKKEEPING)
    return {
        (where.kind, where.id): keep_authored(body)
        for where, body in world.rows()
        if where.kind not in excluded
    }


def keep_authored(body: Any) -> object:
    if not isinstance(body, Core):
        return body
    return [(block.kind, block.label, block.text) for block in body.blocks if block.text is not None]
