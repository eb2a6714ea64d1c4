"""E-BATCH: texts and facts are stored again, all at once or one by one: the archive is the same.

They are those of a life, stored in new memories in a small world without faults.

Law 1. Archives are compared without the order in which they were stored: lines, sources, counts and members,
       but no versions, since the same lines in another order may make more or fewer versions.
Law 2. Requests of a batch may conflict with each other: one that does is sent again, as a caller would.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core.engine.middleware import Interceptors
from umi_core.errors import Conflict
from umi_core.limits import PPM
from umi_core.messages import requests
from umi_core.messages.effects import Done, Failed, Outcome
from umi_core.messages.requests import CreateEntity
from umi_core.messages.results import SessionCreated
from umi_core.rows import Category, Ended, Entity, Membership, Resource
from umi_core.text import norm
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.judge.small_world import SmallWorld
from umi_sim.record import rules
from umi_sim.record.broken import demand

STORED_COUNT_MAX: Final = 6
BATCHED: Final = (requests.Memorize, CreateEntity)
BOOKKEEPING: Final = ("epoch", "receipt", "head")  # kinds of rows of incarnations and commits

Contents = Mapping[tuple[str, str], object]  # of an archive, by kind and id of its rows


def new_world(life: RecordedLife, *, is_hasty: bool = False) -> SmallWorld:
    """Return a world with the settings and the time of the end of a life, and its first tables without
    interceptors.
    """
    first, last = life.steps[0], life.steps[-1]
    registry = structs.replace(first.registry, generations=(Interceptors(),))
    return SmallWorld(life.scope, life.config, last.now_ms, registry, is_hasty=is_hasty)


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


def begin_session(world: SmallWorld) -> str:
    """Return the id of a new session; empty if the memory creates none."""
    outcome = world.ask(requests.CreateSession("session"))
    value = outcome.value if isinstance(outcome, Done) else None
    return value.session_id if isinstance(value, SessionCreated) else ""
