"""Passes that remove something: in one piece, then one after the other."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from operator import eq
from typing import Final

from msgspec import structs

from umi_sim.faults.kinds import KINDS
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.shrink.candidate import Candidate, drop_agent, merge_agents, with_agents
from umi_sim.shrink.leaves import places
from umi_sim.shrink.reduction import ending, fewer, lower
from umi_sim.shrink.references import with_sources
from umi_sim.shrink.search import ShrinkSearch
from umi_sim.shrink.simplification import moved_instead, one_by_one, simplify_at
from umi_sim.shrink.tidying import NAMES, with_plain

FEW: Final = 2  # requests
PAIRED_MAX: Final = 8  # 28 pairs: more would eat the budget
HEALED_STEPS_MAX: Final = 24  # enough to drain, and to read some things back


def after_the_failure(search: ShrinkSearch) -> None:
    """Try without any request or move of a clock that comes after the item at which it failed."""
    assert search.verdict is not None
    assert search.verdict.failure is not None
    search.tries(until(search.best, search.verdict.failure.item))


def until(candidate: Candidate, item_id: str) -> Candidate:
    """Return the candidate without requests and moves of clocks behind this item, if it has the item."""
    ids = [item.id for item in candidate.items]
    if item_id not in ids:
        return candidate
    # Faults have no time: one that is listed behind the item may have been injected before it.
    late = candidate.items[ids.index(item_id) + 1 :]
    removed = {item.id for item in late if isinstance(item, Op | ClockMove)}
    return candidate.without(removed.__contains__)


def all_but_the_last(search: ShrinkSearch) -> None:
    """Try the last few requests alone, as most failures need no more; in a plain world, or in this one.

    With few requests, removing one after the other is as quick.
    """
    if search.reach[1]:  # an audit reads everything, and not only the last requests
        search.tries(bare(search.best))
        return
    if len(search.best.ops) <= FEW:
        return

    def works(ops: Sequence[Op]) -> bool:
        # A request that names an id needs the request that made it, or it would only be refused.
        last = search.best.only(Op, with_sources(search.best, ops, search.replies))
        return search.tries(bare(last)) or search.tries(last)

    ending(search.best.ops, works)


def bare(candidate: Candidate) -> Candidate:
    """Keep nothing but requests, one after the other, in a plain world."""
    return with_plain(one_by_one(requests_of(candidate)), NAMES)


def requests_of(candidate: Candidate) -> Candidate:
    """Return the candidate with requests alone."""
    return candidate.only(Fault, ()).only(Deviation, ()).only(ClockMove, ())


def whole_kinds_of_items(search: ShrinkSearch) -> None:
    """Try without all faults, all deviations, all moves of clocks; then requests alone, one by one."""
    for kind in (Fault, Deviation, ClockMove):
        search.tries(search.best.only(kind, ()))
    search.tries(one_by_one(requests_of(search.best)))


def kinds_of_faults(search: ShrinkSearch) -> None:
    """Try without one kind of fault at a time, then without all of one service."""
    for group_of in (lambda fault: fault.fault, lambda fault: KINDS[fault.fault].group):
        for group in dict.fromkeys(map(group_of, of_kind(search.best, Fault))):
            left = [fault for fault in of_kind(search.best, Fault) if group_of(fault) != group]
            search.tries(search.best.only(Fault, left))


def agents(search: ShrinkSearch) -> None:
    """Try without each agent and its requests, or with another one that makes them; then one user for all."""
    for name in [agent.name for agent in reversed(search.best.config.agents)]:
        others = [agent.name for agent in search.best.config.agents if agent.name != name]
        if others and not search.tries(drop_agent(search.best, name)):
            any(search.tries(merge_agents(search.best, name, into)) for into in others)
    users = dict.fromkeys(agent.scope.user for agent in search.best.config.agents)
    for user in users if len(users) > 1 else ():
        agents = search.best.config.agents
        search.tries(
            with_agents(
                search.best,
                [structs.replace(each, scope=structs.replace(each.scope, user=user)) for each in agents],
            )
        )


def operations(search: ShrinkSearch) -> None:
    """Remove requests, with the faults bound to them."""
    remove(search, Op)


def the_failing_item(search: ShrinkSearch) -> None:
    """Try without the failing request: healing, drain and audit may fail in the same way."""
    assert search.verdict is not None
    assert search.verdict.failure is not None
    if not search.reach[1]:
        # The run may go on into healing, but not far: most such runs pass, and a whole audit takes long.
        reach = search.reach[0] + HEALED_STEPS_MAX, HEALED_STEPS_MAX
        search.tries(search.best.without(search.verdict.failure.item.__eq__), reach)


def faults(search: ShrinkSearch) -> None:
    remove(search, Fault)


def deviations(search: ShrinkSearch) -> None:
    remove(search, Deviation)


def clock_moves(search: ShrinkSearch) -> None:
    """Remove moves of clocks, or make them smaller; then make clocks right, or less wrong."""
    remove(search, ClockMove)
    for move in of_kind(search.best, ClockMove):
        search.tries(moved_instead(search.best, move.id))
    for place, _ in places(search.best, ClockMove):
        simplify_at(search, place)
    for number, agent in enumerate(search.best.config.agents):
        lower(agent.skew_ms, partial(try_skew, search, number))


def try_skew(search: ShrinkSearch, number: int, skew_ms: int) -> bool:
    agents = list(search.best.config.agents)
    agents[number] = structs.replace(agents[number], skew_ms=skew_ms)
    return search.tries(with_agents(search.best, agents))


def remove(search: ShrinkSearch, kind: type[Item]) -> None:
    """Keep as few items of this kind as possible."""

    def works(kept: Sequence[Item]) -> bool:
        candidate = search.best.only(kind, kept)
        # A fault may matter only because it delays one request until another has ended. With the requests set
        # apart in time such a run fails without the fault, too.
        return search.tries(candidate) or (kind is not Op and search.tries(one_by_one(candidate)))

    fewer(of_kind(search.best, kind), works)


def pairs(search: ShrinkSearch) -> None:
    """Try without two items at once, if there are only a few items."""
    items = search.best.items
    if 2 < len(items) <= PAIRED_MAX:
        for one, other in combinations(items, 2):
            # After one pair is removed, the next round tries the others.
            if search.best.items == items:
                search.tries(search.best.without({one.id, other.id}.__contains__))


def of_kind(candidate: Candidate, kind: type[Item]) -> Sequence[Item]:
    return tuple(item for item in candidate.items if isinstance(item, kind))


def alone(candidate: Candidate) -> Iterator[tuple[str, Candidate]]:
    """Yield the candidate without each of its items, and without what belongs to that one."""
    for item in candidate.items:
        yield item.id, candidate.without(partial(eq, item.id))
