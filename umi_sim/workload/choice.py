"""Choosing the next request: a table of slots, of which each request has a share by its weight.

The hash of a slot and a request's name decides whether the request takes the slot from requests declared
earlier. A new request thus takes a few slots from all others, and every other slot keeps its request:

    slot          1    2    3    4    5    6    7    8
    set, get      get  set  get  get  set  set  get  set
    and touch     get  set  TOU  get  set  set  get  TOU

In addition each request with a weight owns two of the 512 slots, so its share is at least 1/256.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from struct import unpack
from typing import Final

from umi_core.messages.requests import REQUESTS

SLOT_COUNT: Final = 512
OWN_COUNT: Final = 2
WORD_COUNT: Final = 2**16
WORDS_PER_DIGEST: Final = 32

BY_AGE: Final = tuple(sorted(REQUESTS, key=lambda name: REQUESTS[name].tag))  # new requests get higher tags

assert OWN_COUNT * len(REQUESTS) <= SLOT_COUNT


def slots(weights: Mapping[str, int]) -> Sequence[str]:
    """Return the request of each slot."""
    return slots_of(tuple(weights.items()))


@lru_cache(maxsize=64)  # all agents of a run have the same weights, and often many runs do
def slots_of(items: tuple[tuple[str, int], ...]) -> Sequence[str]:
    weights = dict(items)
    table, own, total = [""] * SLOT_COUNT, dict[int, str](), 0
    for name in (name for name in BY_AGE if weights.get(name)):
        total += weights[name]
        words, order = order_of(name)
        # With weights 3, 1, 4 the last takes half of all slots (4 of 8), and the others share the rest 3 : 1.
        # The shares are right after each request that is added.
        for slot in order[: bisect_left(words, -(-WORD_COUNT * weights[name] // total))]:
            table[slot] = name
        # Owned slots are set at the end, so that no later request takes them.
        free = (slot for slot in order if slot not in own)
        own |= {next(free): name for _ in range(OWN_COUNT)}
    for slot, name in own.items():
        table[slot] = name
    return table


@cache
def order_of(name: str) -> tuple[list[int], list[int]]:
    """Return the hashes of a request with all slots, least first, and the slots in that order."""
    count = SLOT_COUNT // WORDS_PER_DIGEST
    digests = b"".join(blake2b(f"slot/{name}/{n}".encode()).digest() for n in range(count))
    words = unpack(f"<{SLOT_COUNT}H", digests)
    order = sorted(range(SLOT_COUNT), key=words.__getitem__)
    return [words[slot] for slot in order], order
