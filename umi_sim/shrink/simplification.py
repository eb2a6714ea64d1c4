"""Passes that simplify times, arguments of requests, equal values at once, and arguments of faults."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from string import ascii_lowercase
from typing import Final

from msgspec import structs

from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.seedfile.fields import PLAIN
from umi_sim.shrink.candidate import Candidate
from umi_sim.shrink.leaves import Place, optional, places, plainest_word, simplify, with_leaves
from umi_sim.shrink.reduction import lower
from umi_sim.shrink.search import ShrinkSearch

APART_MS: Final = 100
SHARED_MIN: Final = 2  # 0 and 1 cannot become simpler


def shorten_gaps(search: ShrinkSearch) -> None:
    """Shorten all gaps at once, then each as far as possible; then try instant messages."""
    search.tries(at_times(search.best, dict.fromkeys(times(search.best), 0)))
    # From the end, since a shorter gap moves all later items.
    for at in reversed(range(len(times(search.best)))):
        lower(gap(search.best, at), partial(try_gap, search, at))
    instant = structs.replace(search.best.config, latency=PLAIN.latency)
    search.tries(structs.replace(search.best, config=instant))


def try_gap(search: ShrinkSearch, at: int, gap_ms: int) -> bool:
    return search.tries(with_gaps(search.best, [at], gap_ms))


def times(candidate: Candidate) -> list[int]:
    """Return the distinct world times of items, in order."""
    return sorted({item.at_ms for item in candidate.items if isinstance(item, Op | ClockMove)})


def gap(candidate: Candidate, at: int) -> int:
    """Return the time between item time number `at` and the one before."""
    known = [0, *times(candidate)]
    return known[at + 1] - known[at]


def with_gaps(candidate: Candidate, at: list[int], gap_ms: int) -> Candidate:
    """Set the gaps of these numbers to this length; later items move with them."""
    moved, now_ms = {}, 0
    for number, time_ms in enumerate(times(candidate)):
        # Times 0, 50, 70 have the gaps 0, 50, 20; with gap 1 set to 5 they are 0, 5, 25.
        now_ms += gap_ms if number in at else gap(candidate, number)
        moved[time_ms] = now_ms
    return at_times(candidate, moved)


def at_times(candidate: Candidate, moved: Mapping[int, int]) -> Candidate:
    changes: dict[str, Item] = {
        item.id: structs.replace(item, at_ms=moved[item.at_ms])
        for item in candidate.items
        if isinstance(item, Op | ClockMove) and moved[item.at_ms] != item.at_ms
    }
    return candidate.replace_items(changes) if changes else candidate


def without_overlaps(candidate: Candidate) -> Candidate:
    """Return the candidate with its requests so far apart that they do not overlap."""
    changes: dict[str, Item] = {}
    at_ms = before_ms = 0
    for item in sorted(list_timed(candidate), key=lambda item: item.at_ms):
        at_ms += max(item.at_ms - before_ms, APART_MS)
        before_ms = item.at_ms
        changes[item.id] = structs.replace(item, at_ms=at_ms)
    config = structs.replace(candidate.config, latency=PLAIN.latency)
    return structs.replace(candidate.replace_items(changes), config=config)


def replace_jump(candidate: Candidate, move_id: str) -> Candidate:
    """Return the candidate without a clock jump; later items are moved by the same time instead."""
    move = next(item for item in list_timed(candidate) if item.id == move_id)
    by_ms = move.args.get("by_ms") if isinstance(move, ClockMove) else None
    left = candidate.without(move_id.__eq__)
    if not isinstance(by_ms, int):
        return left
    known = [0, *(at_ms for at_ms in times(candidate) if at_ms < move.at_ms)]
    # Instead of a jump by 100 at 50, an item at 60 moves to 160; instead of a jump back by 30, to 30, but
    # never before the last item ahead of the jump.
    moved = {at_ms: max(at_ms + by_ms, known[-1]) for at_ms in times(left) if at_ms >= move.at_ms}
    return at_times(left, {at_ms: moved.get(at_ms, at_ms) for at_ms in times(left)})


def list_timed(candidate: Candidate) -> list[Op | ClockMove]:
    return [item for item in candidate.items if isinstance(item, Op | ClockMove)]


def simplify_arguments(search: ShrinkSearch) -> None:
    """Remove arguments of requests, then simplify the remaining ones."""
    for op in search.best.ops:
        names = optional(op)
        if names and not search.tries(left_out(search.best, op, names)):
            any(search.tries(left_out(search.best, op, [name])) for name in names)
    for place in [place for place, _ in places(search.best, Op)]:
        simplify_at(search, place)


def left_out(candidate: Candidate, op: Op, names: list[str]) -> Candidate:
    args = {name: value for name, value in op.args.items() if name not in names}
    return candidate.replace_items({op.id: structs.replace(op, args=args)})


def simplify_at(search: ShrinkSearch, place: Place) -> None:
    """Simplify the value at this place, if it still exists."""
    known = dict(places(search.best, Op, Fault, ClockMove))
    if place in known:
        simplify(known[place], partial(with_a_leaf, search, place))


def with_a_leaf(search: ShrinkSearch, place: Place, leaf: object) -> bool:
    candidate = with_leaves(search.best, {place: leaf})
    return candidate is not None and search.tries(candidate)


def simplify_equal_values(search: ShrinkSearch) -> None:
    """Simplify a value, or a gap between requests, in all places at once; then rename texts to a, b, c ..."""
    for value in list_shared(search.best):
        simplify_everywhere(search, value)
    for value in names(search.best):
        used = names(search.best)
        # Only an unused letter, since two names that become equal would make another run.
        letter = next((each for each in letters(value) if each not in used), None)
        if value in used and letter is not None:
            try_everywhere(search, value, letter)


def list_shared(candidate: Candidate) -> list[object]:
    """List values that occur in several places and may become simpler."""
    values = [leaf for _, leaf in places(candidate, Op, Fault)]
    values += [gap(candidate, number) for number in range(len(times(candidate)))]
    # Counted with the type, since True == 1.
    counts = Counter((type(value), value) for value in values if is_sharable(value))
    return [value for (_, value), count in counts.items() if count > 1]


def is_sharable(value: object) -> bool:
    if isinstance(value, str | bytes):
        return bool(value)
    return isinstance(value, int) and abs(value) >= SHARED_MIN


def simplify_everywhere(search: ShrinkSearch, value: object) -> None:
    """Simplify a value in all places at once."""
    # `simplify` continues from the value that worked last, so that one is replaced next.
    now = value

    def works(other: object) -> bool:
        nonlocal now
        if not try_everywhere(search, now, other):
            return False
        now = other
        return True

    simplify(value, works)


def try_everywhere(search: ShrinkSearch, value: object, other: object) -> bool:
    """Try another value in all places of this one."""
    best = search.best
    changes = {place: other for place, each in places(best, Op, Fault) if is_equal(each, value)}
    numbers = [at for at in range(len(times(best))) if is_equal(gap(best, at), value)]
    candidate = with_leaves(best, changes)
    if candidate is not None and numbers and isinstance(other, int):
        candidate = with_gaps(candidate, numbers, other)
    return candidate is not None and search.tries(candidate)


def is_equal(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def names(candidate: Candidate) -> list[str | bytes]:
    """List the texts among the arguments, in order of their first appearance."""
    leaves = (leaf for _, leaf in places(candidate, Op))
    return list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, str | bytes) and leaf))


def letters(value: str | bytes) -> list[str | bytes]:
    """List simpler names than this one, of the same type."""
    found: list[str | bytes] = list(ascii_lowercase)
    if isinstance(value, bytes):
        found = [letter.encode() for letter in ascii_lowercase]
    return [each for each in found if (len(each), each) < (len(value), value)]


def simplify_fault_arguments(search: ShrinkSearch) -> None:
    """Simplify positions, durations and texts of faults."""
    kinds = {item.id: item.fault for item in search.best.items if isinstance(item, Fault)}
    for place, leaf in places(search.best, Fault):
        word = plainest_word(kinds[place[0]], place[1])
        # For an argument that is a word, only the first word is tried: `nothing` instead of `unknown`.
        if word is not None and leaf != word:
            with_a_leaf(search, place, word)
        else:
            simplify_at(search, place)
