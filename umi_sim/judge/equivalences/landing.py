"""A commit of unknown outcome lands during another request: the result is that of one of the two orders.

Law 1. The rows, and a refusal, are as if the late commit had come before the other request, or after it.
Law 2. Core, relations and access records are not compared, since they are chosen by score or nearness.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import structs

from umi_core.kelpie.requests import AgentRequest
from umi_core.kelpie.rows import Sheet
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.effects import Commit, Done, Outcome, Refused, Unknown
from umi_core.messages.requests import Rebalance, Summarise, UpdateEntity
from umi_core.messages.results import Memorized
from umi_core.rows import Entity, Membership, Resource
from umi_core.values import CATEGORIES
from umi_sim.judge.equivalences.afresh import Contents, demand_equal
from umi_sim.judge.equivalences.failing_world import ALWAYS, SILENCE, FailingWorld, split_differences
from umi_sim.judge.equivalences.stories import NAMED, name_existing
from umi_sim.judge.state import check_memory
from umi_sim.kernel.fork import fork_graph
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.record.broken import demand

ONE_IN: Final = 3  # of all pairs of requests about one row
CHOSEN: Final = ("core", "relation", "access")  # kinds of rows that are chosen by score or nearness
ABSENT: Final = "ent_000000000000000000000000"  # `name_existing` replaces it by the last entity
TAKING_THE_BEST: Final = (Rebalance, Summarise)  # these choose rows by their scores


def compare_landings(faultless: list[Any], asked: list[Any], seed: int) -> Iterator[FailingWorld]:
    """Compare some pairs of requests of a life about one row; yield the world of each. Raises Broken."""
    late = [it for it in faultless if any(each.of is Commit for each in it.world.asked)]
    for one in late:
        for other in filter(may_run_meanwhile, asked):
            # Drawn from both requests, so that a pair stays when shrinking removes others.
            draw = Stream(seed, "E-FAIL", "landing", drop_op_id(one.request), drop_op_id(other))
            if draw.chance(1, ONE_IN):
                yield from compare_landing(one, other, draw)


def draw_update(draw: Stream) -> UpdateEntity:
    """Return an update that only makes an entity a member of a category; few runs have one."""
    return UpdateEntity("linked", ABSENT, categories=(draw.pick(tuple(CATEGORIES)),))


def drop_op_id(request: Any) -> str:
    """Return the request as a text that is the same in every run and in each version of Python."""
    return ascii(structs.replace(request, op_id=""))


def may_run_meanwhile(request: Any) -> bool:
    """Return True unless a request only reads, chooses by score, or ends an agent."""
    return not (request.shows or isinstance(request, (*TAKING_THE_BEST, AgentRequest)))


def compare_landing(one: Any, other: Any, draw: Stream) -> Iterator[FailingWorld]:
    """Let the commit of `one` land, unanswered, before some question of `other`; yield the world."""
    doubtful, sure = fork_graph(one.before), fork_graph(one.before)
    for world in (doubtful, sure):  # whole lists, not pages: it lands between two steps
        world.storage.page_rows = PAGE_ROW_COUNT_MAX
    outcome = doubtful.begin(one.request, {"commit": [SILENCE] * ALWAYS})
    late = doubtful.unanswered
    meanwhile = name_same(other, late) if late is not None and isinstance(outcome, Unknown) else None
    if meanwhile is None:
        return
    # doubtful:  one commits ... (silence) ... other asks ... one lands ... other asks ... other ends
    # sure:      one commits, lands, ends      other asks ...                           other ends
    sure.begin(one.request, {})
    # `doubtful` has waited for its time-outs; at another time the same request may have another result.
    sure.now_ms = doubtful.now_ms
    meanwhile = structs.replace(name_existing(sure, expect_former(meanwhile, late, draw)), op_id="meanwhile")
    after_landing = sure.begin(meanwhile, {})
    before = fork_graph(doubtful)
    doubtful.lands_at = draw.below(max(1, len(sure.asked)))
    answer = doubtful.begin(meanwhile, {})
    if is_pending(answer):
        doubtful.begin(structs.replace(meanwhile, op_id="once more"), {})
    doubtful.land()
    check_memory(doubtful.memory.state)
    since = range(one.before.now_ms, doubtful.now_ms + 1)
    expected, got = split_differences(list_settled(sure), list_settled(doubtful), since, drop_relations)
    is_invalid = isinstance(answer, Refused) and answer != after_landing
    # The other order is run only if the first one does not explain the result, which is rare.
    if is_invalid or expected != got:
        before_landing = before.begin(meanwhile, {})
        before.land()
        message = f"{type(one.request).__name__} lands while {type(other).__name__} is under way"
        first, then = split_differences(list_settled(before), list_settled(doubtful), since, drop_relations)
        if expected != got and first != then:
            demand_equal(
                expected, got, rules.FAILED_THEN_AGAIN, f"{message}: rows, against it landing before"
            )
        message, rule = f"{message}: the refusal, against both orders", rules.FAILED_THEN_AGAIN
        outcomes = after_landing, before_landing
        demand(not is_invalid or answer == before_landing, rule, message, outcomes, answer)
    yield doubtful


def is_pending(outcome: Outcome) -> bool:
    """Return True if part of a text was not read: the next request for it reads that part (H3.6)."""
    return isinstance(outcome, Done) and isinstance(outcome.value, Memorized) and outcome.value.pending != ()


def name_same(request: Any, late: Commit) -> Any | None:
    """Return the request about a row that the late batch writes; None if it can name none."""
    # If the late batch writes entity e, the other request names e, too.
    named = {name: ids[-1] for name, ids in list_named(late) if ids and hasattr(request, name)}
    return structs.replace(request, **named) if named else None


def expect_former(request: Any, late: Commit, draw: Stream) -> Any:
    """Return the request; half of the edits of a block get its former version as expected version."""
    sheets = [it.body.version - 1 for it in late.writes if isinstance(it.body, Sheet)]
    is_edit = hasattr(request, "expected_version") and sheets and sheets[-1] > 0
    return structs.replace(request, expected_version=sheets[-1]) if is_edit and draw.chance(1, 2) else request


def list_named(late: Commit) -> Iterator[tuple[str, list[Any]]]:
    """Yield the entities, records, texts and blocks of a batch by the request field that names them.

    Two requests for one text have the same time, since a text that is read twice takes the time of the last.
    """
    bodies = [(it.address.kind, it.body) for it in late.writes if it.body is not None]
    yield "entity_id", [it.entity_id for _, it in bodies if isinstance(it, Membership)]
    texts = [it for _, it in bodies if isinstance(it, Resource) and it.parent_id is None]
    yield "uri", [it.uri for it in texts if it.uri]
    yield "happened_ms", [it.happened_ms for it in texts]
    sheets = [it for _, it in bodies if isinstance(it, Sheet)]
    yield "block", [it.id if it.version % 2 else it.label or it.kind for it in sheets]
    yield "label", [it.label or it.kind for it in sheets]
    for name, (kind, field) in NAMED.items():
        yield name, [getattr(body, field) for of_kind, body in bodies if of_kind == kind]


def list_settled(world: FailingWorld) -> Contents:
    """Return the rows of a world, except those that are chosen by score or nearness."""
    return {key: body for key, body in world.by_id().items() if key[0] not in CHOSEN}


def drop_relations(body: Any) -> Any:
    """Return an entity without its relations."""
    return structs.replace(body, relation_count=0, contradicts=()) if isinstance(body, Entity) else body
