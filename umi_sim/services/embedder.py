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
    """Return the vector of a text; shape (dims,). A model of another version moves components by `turn`."""
    assert 1 <= dims <= DIMS_MAX
    sums = [0] * dims
    # The empty word stands for a text without words, so every text has a vector that is not zero.
    for word in tokens(text) or [""]:
        up, down = places(word, dims)
        for place in up:
            sums[place] += 1
        for place in down:
            sums[place] -= 1
    # Turned vectors are as near to each other as before, and far from stored vectors of the model before.
    vector, at = scale_sums(sums), -turn % dims
    return vector[at:] + vector[:at]


@lru_cache(maxsize=CACHED_WORDS_MAX)
def places(word: str, dims: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return where a word adds one, and where it takes one away: eight places in all, some perhaps twice."""
    numbers = SIXTEEN.unpack(blake2b(word.encode(), digest_size=24, person=PERSON).digest())
    signed = [(number % dims, sign % 2) for number, sign in zip(numbers[:8], numbers[8:], strict=True)]
    up, down = (tuple(place for place, odd in signed if odd == side) for side in (0, 1))
    return up, down


def scale_sums(sums: list[int]) -> tuple[int, ...]:
    """Return the sums stretched until the largest is 127, cut towards zero."""
    peak = max(*sums, -min(sums))
    if peak == 0:
        return (COMPONENT_MAX, *sums[1:])
    # peak 2: upper is [0, 63, 127] and the table [0, 63, 127, -127, -63], so that table[-1] is -63
    upper = [COMPONENT_MAX * value // peak for value in range(peak + 1)]
    table = upper + [-value for value in upper[:0:-1]]  # counted from the end: table[-v] == -table[v]
    return tuple(map(table.__getitem__, sums))
