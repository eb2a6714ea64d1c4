"""A commit that nobody heard of lands while another request is under way, as if one had come after the other.

Law 1. What is stored then is what it is if the late one has landed before the other request, or after it;
and what is refused is refused so in one of these orders.
Law 2. Left out is what follows from what the memory knew when it chose, and not from rows alone: what is in
core, what was near what, how often it was asked for.
"""

from collections.abc import Iterator
from typing import Any, Final

import attrs

from umi_core.invariants import check_memory
from umi_core.invariants.broken import demand
from umi_core.kelpie.requests import AgentRequest
from umi_core.kelpie.rows import Sheet
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.effects import Commit, Done, Outcome, Refused, Unknown
from umi_core.messages.requests import Rebalance, Summarise, UpdateEntity
from umi_core.messages.results import Memorized
from umi_core.rows import Entity, Membership, Resource
from umi_core.values import CATEGORIES
from umi_sim.judge.equivalences.afresh import Says, must_say
from umi_sim.judge.equivalences.failing_world import ALWAYS, SILENCE, FailingWorld, apart
from umi_sim.judge.equivalences.stories import NAMED, at_hand
from umi_sim.kernel.fork import fork_graph
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

ONE_IN: Final = 3  # of all pairs of a life that are about one thing
CHOSEN: Final = ("core", "relation", "access")  # kinds of rows that follow from more than rows
NOBODY: Final = "ent_000000000000000000000000"  # the last entity there is takes its place
TAKING_THE_BEST: Final = (Rebalance, Summarise)  # who takes first what scores highest


def landings(lived: list[Any], asked: list[Any], seed: int) -> Iterator[FailingWorld]:
    """Some pairs of what a life was asked about one thing, each in its world. Raises Broken."""
    late = [it for it in lived if any(each.of is Commit for each in it.world.asked)]
    for one in late:
        for other in filter(is_meanwhile, asked):
            draw = Stream(seed, "E-FAIL", "landing", unnamed(one.request), unnamed(other))
            if draw.chance(1, ONE_IN):
                yield from landed(one, other, draw)


def linking(draw: Stream) -> UpdateEntity:
    """What makes an entity a member, and writes no row of its own; few lives ask for that."""
    return UpdateEntity("linked", NOBODY, categories=(draw.pick(tuple(CATEGORIES)),))


def unnamed(request: Any) -> str:
    """The same in every run in which it is asked, and of each Python."""
    return ascii(attrs.evolve(request, op_id=""))


def is_meanwhile(request: Any) -> bool:
    """Not who ends an agent, of which rows go page after page."""
    return not (request.shows or isinstance(request, (*TAKING_THE_BEST, AgentRequest)))


def landed(one: Any, other: Any, draw: Stream) -> Iterator[FailingWorld]:
    """`one` is never answered, and what it commits lands before some question of the other."""
    doubtful, sure = fork_graph(one.before), fork_graph(one.before)
    for world in (doubtful, sure):  # it lands between steps, of which pages would make many
        world.storage.page_rows = PAGE_ROW_COUNT_MAX
    outcome = doubtful.begin(one.request, {"commit": [SILENCE] * ALWAYS})
    late = doubtful.unheard
    meanwhile = of_the_same(other, late) if late is not None and isinstance(outcome, Unknown) else None
    if meanwhile is None:
        return
    sure.begin(one.request, {})
    sure.now_ms = doubtful.now_ms
    meanwhile = attrs.evolve(at_hand(sure, of_version(meanwhile, late, draw)), op_id="meanwhile")
    behind = sure.begin(meanwhile, {})
    before = fork_graph(doubtful)
    doubtful.lands_at = draw.below(max(1, len(sure.asked)))
    answer = doubtful.begin(meanwhile, {})
    if is_pending(answer):
        doubtful.begin(attrs.evolve(meanwhile, op_id="once more"), {})
    doubtful.land()
    check_memory(doubtful.memory.state)
    since = range(one.before.now_ms, doubtful.now_ms + 1)
    due, got = apart(settled(sure), settled(doubtful), since, sober)
    is_odd = isinstance(answer, Refused) and answer != behind
    if is_odd or due != got:
        ahead = before.begin(meanwhile, {})
        before.land()
        told = f"{type(one.request).__name__} lands while {type(other).__name__} is under way"
        first, then = apart(settled(before), settled(doubtful), since, sober)
        if due != got and first != then:
            must_say(due, got, rules.FAILED_THEN_AGAIN, f"{told}, and where it has landed before")
        told = f"{told}, and is refused as in neither order"
        demand(not is_odd or answer == ahead, rules.FAILED_THEN_AGAIN, told, (behind, ahead), answer)
    yield doubtful


def is_pending(outcome: Outcome) -> bool:
    """Whether some of a text is still to be read, which the next request for it does (H3.6): what was read of
    it before does not count if another text has taken its place meanwhile."""
    return isinstance(outcome, Done) and isinstance(outcome.value, Memorized) and outcome.value.pending != ()


def of_the_same(request: Any, late: Commit) -> Any | None:
    """The same of what the late batch writes about; None if it can name none of that."""
    named = {name: ids[-1] for name, ids in about(late) if ids and hasattr(request, name)}
    return attrs.evolve(request, **named) if named else None


def of_version(request: Any, late: Commit, draw: Stream) -> Any:
    """Some edits of a block expect the version that it had before: a refusal names the one that there is."""
    sheets = [it.body.version - 1 for it in late.writes if isinstance(it.body, Sheet)]
    is_edit = hasattr(request, "expected_version") and sheets and sheets[-1] > 0
    return attrs.evolve(request, expected_version=sheets[-1]) if is_edit and draw.chance(1, 2) else request


def about(late: Commit) -> Iterator[tuple[str, list[Any]]]:
    """By the field in which a request would name it: the entities, records, texts and blocks of its rows.

    Both say the same of when a text has happened: what is read twice takes the time that is said with it.
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


def settled(world: FailingWorld) -> Says:
    """Its rows, but for those that are chosen."""
    return {key: body for key, body in world.by_id().items() if key[0] not in CHOSEN}


def sober(body: Any) -> Any:
    """Without what it is told to be near to."""
    return attrs.evolve(body, relation_count=0, contradicts=()) if isinstance(body, Entity) else body
