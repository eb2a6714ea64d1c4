"""Passes that remove items: all at once, then one after the other."""

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
from umi_sim.shrink.simplification import replace_jump, simplify_at, without_overlaps
from umi_sim.shrink.tidying import NAMES, with_plain

FEW: Final = 2  # with so few requests removing one after the other is as fast
PAIRED_MAX: Final = 8  # items; their 28 pairs are as many as the budget allows
HEALED_STEPS_MAX: Final = 24  # enough to drain, and to read some rows back


def drop_after_failure(search: ShrinkSearch) -> None:
    """Try without the requests and clock moves that come after the failing item."""
    assert search.verdict is not None
    assert search.verdict.failure is not None
    search.tries(until(search.best, search.verdict.failure.item))


def until(candidate: Candidate, item_id: str) -> Candidate:
    """Return the candidate without requests and clock moves after this item, if it has the item."""
    ids = [item.id for item in candidate.items]
    if item_id not in ids:
        return candidate
    # Faults have no time: one that is listed after the item may have been injected before it.
    late = candidate.items[ids.index(item_id) + 1 :]
    removed = {item.id for item in late if isinstance(item, Op | ClockMove)}
    return candidate.without(removed.__contains__)


def keep_last_requests(search: ShrinkSearch) -> None:
    """Try the last few requests alone, which suffice for most failures; first in a plain world, then as is.

    With few requests, removing one after the other is as fast.
    """
    if search.reach[1]:  # the failure is in an audit, which depends on all requests
        search.tries(bare(search.best))
        return
    if len(search.best.ops) <= FEW:
        return

    def works(ops: Sequence[Op]) -> bool:
        # A request with an id needs the request that returned the id, or it would only be refused.
        last = search.best.only(Op, with_sources(search.best, ops, search.replies))
        return search.tries(bare(last)) or search.tries(last)

    ending(search.best.ops, works)


def bare(candidate: Candidate) -> Candidate:
    """Return the candidate with requests only, one after the other, in a plain world."""
    return with_plain(without_overlaps(requests_of(candidate)), NAMES)


def requests_of(candidate: Candidate) -> Candidate:
    """Return the candidate with requests only."""
    return candidate.only(Fault, ()).only(Deviation, ()).only(ClockMove, ())


def drop_kinds_of_items(search: ShrinkSearch) -> None:
    """Try without all faults, all deviations, all clock moves; then requests only, one by one."""
    for kind in (Fault, Deviation, ClockMove):
        search.tries(search.best.only(kind, ()))
    search.tries(without_overlaps(requests_of(search.best)))


def drop_kinds_of_faults(search: ShrinkSearch) -> None:
    """Try without one kind of fault at a time, then without all of one service."""
    for group_of in (lambda fault: fault.fault, lambda fault: KINDS[fault.fault].group):
        for group in dict.fromkeys(map(group_of, of_kind(search.best, Fault))):
            left = [fault for fault in of_kind(search.best, Fault) if group_of(fault) != group]
            search.tries(search.best.only(Fault, left))


def drop_agents(search: ShrinkSearch) -> None:
    """Try without each agent and its requests, or give them to another agent; then try a single user."""
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


def drop_operations(search: ShrinkSearch) -> None:
    """Remove requests, with the faults bound to them."""
    remove(search, Op)


def drop_failing_item(search: ShrinkSearch) -> None:
    """Try without the failing request, since healing, drain and audit may fail in the same way."""
    assert search.verdict is not None
    assert search.verdict.failure is not None
    if not search.reach[1]:
        # The run may continue into healing, but not far: most such runs pass, and an audit takes long.
        reach = search.reach[0] + HEALED_STEPS_MAX, HEALED_STEPS_MAX
        search.tries(search.best.without(search.verdict.failure.item.__eq__), reach)


def drop_faults(search: ShrinkSearch) -> None:
    remove(search, Fault)


def drop_deviations(search: ShrinkSearch) -> None:
    remove(search, Deviation)


def drop_clock_moves(search: ShrinkSearch) -> None:
    """Remove clock moves, or make them smaller; then make clocks correct, or less wrong."""
    remove(search, ClockMove)
    for move in of_kind(search.best, ClockMove):
        search.tries(replace_jump(search.best, move.id))
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
        # A fault may matter only because it delays a request until another one has ended. With requests that
        # do not overlap, such a run fails without the fault as well.
        return search.tries(candidate) or (kind is not Op and search.tries(without_overlaps(candidate)))

    fewer(of_kind(search.best, kind), works)


def drop_pairs(search: ShrinkSearch) -> None:
    """Try without each pair of items, if there are only a few items."""
    items = search.best.items
    if 2 < len(items) <= PAIRED_MAX:
        for one, other in combinations(items, 2):
            # After one pair was removed, the next round tries the others.
            if search.best.items == items:
                search.tries(search.best.without({one.id, other.id}.__contains__))


def of_kind(candidate: Candidate, kind: type[Item]) -> Sequence[Item]:
    return tuple(item for item in candidate.items if isinstance(item, kind))


def alone(candidate: Candidate) -> Iterator[tuple[str, Candidate]]:
    """Yield the candidate without each of its items, and without what that item owns."""
    for item in candidate.items:
        yield item.id, candidate.without(partial(eq, item.id))
