"""Meaning by shared words: a vector of whole numbers made from the words of a text.

Law 1. Pure: equal multisets of words give equal vectors, on every machine.
Law 2. Components are whole numbers in -127 .. 127, never all zero, so dot products are exact.
"""

import struct
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from umi_sim.kernel.characters import tokens

PERSON: Final = b"umi-embed-1"
COMPONENT_MAX: Final = 127
DIMS_MAX: Final = 2**16
CACHED_WORDS_MAX: Final = 8_192

SIXTEEN: Final = struct.Struct(">8H8B")


def embed(text: str, dims: int, turn: int = 0) -> tuple[int, ...]:
    """Return the vector of a text, of shape (dims,). Another version of the model rotates it by `turn`."""
    assert 1 <= dims <= DIMS_MAX
    sums = [0] * dims
    # A text without words counts as one empty word, so that every text has a vector other than zero.
    for word in tokens(text) or [""]:
        up, down = places(word, dims)
        for place in up:
            sums[place] += 1
        for place in down:
            sums[place] -= 1
    # Rotation keeps the distances between new vectors, but takes them far from the stored old ones.
    vector, at = scale_sums(sums), -turn % dims
    return vector[at:] + vector[:at]


@lru_cache(maxsize=CACHED_WORDS_MAX)
def places(word: str, dims: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the places where a word adds one, and those where it subtracts one: eight, with repetitions."""
    numbers = SIXTEEN.unpack(blake2b(word.encode(), digest_size=24, person=PERSON).digest())
    signed = [(number % dims, sign % 2) for number, sign in zip(numbers[:8], numbers[8:], strict=True)]
    up, down = (tuple(place for place, odd in signed if odd == side) for side in (0, 1))
    return up, down


def scale_sums(sums: list[int]) -> tuple[int, ...]:
    """Return the sums scaled so that the largest magnitude is 127, rounded towards zero."""
    peak = max(*sums, -min(sums))
    if peak == 0:
        return (COMPONENT_MAX, *sums[1:])
    # For a peak of 2, upper is [0, 63, 127] and the table [0, 63, 127, -127, -63], so table[-1] is -63.
    upper = [COMPONENT_MAX * value // peak for value in range(peak + 1)]
    table = upper + [-value for value in upper[:0:-1]]  # counted from the end: table[-v] == -table[v]
    return tuple(map(table.__getitem__, sums))
