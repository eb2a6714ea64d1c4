"""Random numbers: integers made from a seed and a path by hashing alone, so any language can reproduce them.

Law 1. A stream is a function of its seed and path, and does not depend on the state of another stream.
Law 2. All values are unbiased integers in closed ranges. A value nearly always uses a single word.
Law 3. A keyed draw has no state: the same key and data give the same number, whatever else is drawn.
Law 4. This is `umi-prng-1`. A change of any number needs a new name.
"""

import re
import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, TypeVar

T = TypeVar("T")
Ratio = tuple[int, int]  # n of d

PERSON: Final = b"umi-prng-1"
SEED_MAX: Final = 2**64 - 1
WORD_COUNT: Final = 2**64
WORD_MAX: Final = WORD_COUNT - 1
DENOMINATOR_MAX: Final = 10**9

EIGHT_WORDS: Final = struct.Struct("<8Q")
COMMIT_ID: Final = re.compile(r"[0-9a-fA-F]{40}")
HEX: Final = re.compile(r"0[xX]([0-9a-fA-F]{1,16})")
DECIMAL: Final = re.compile(r"0*([0-9]{1,20})")
SHOWN_CHARACTERS_MAX: Final = 50


class Stream:
    """An endless sequence of words for one (seed, path). Only its owner draws from it."""

    __slots__ = ("_block", "_prepared", "_words")

    def __init__(self, seed: int, *path: str | int) -> None:
        self._prepared = blake2b(stream_key(seed, path), person=PERSON)
        self._block = 0
        self._words: list[int] = []

    def word(self) -> int:
        """Return the next word: a whole number in 0 .. 2^64-1."""
        return (self._words or self._next_block()).pop()

    def _next_block(self) -> list[int]:
        """Return the next eight words in reverse, for `pop`; a copied hash costs half of a new one."""
        hashed = self._prepared.copy()
        hashed.update(self._block.to_bytes(8, "big"))
        self._block += 1
        self._words = list(EIGHT_WORDS.unpack(hashed.digest()))
        self._words.reverse()
        return self._words

    def below(self, n: int) -> int:
        """Return a whole number in 0 .. n-1, n at most 2^64."""
        assert 1 <= n <= WORD_COUNT, n
        product = (self._words or self._next_block()).pop() * n
        # Lemire's method: word * n / 2**64 is below n, and biased only if the low half of the product is
        # below 2**64 % n. That is less than n, so a comparison without a division is nearly always enough.
        if product & WORD_MAX < n:
            product = self._fair(product, n)
        return product >> 64

    def _fair(self, product: int, n: int) -> int:
        """Draw again as long as the product is one of those that would bias the result."""
        while product & WORD_MAX < WORD_COUNT % n:
            product = self.word() * n
        return product

    def between(self, low: int, high: int) -> int:
        """Return a whole number in low .. high, both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, n: int, d: int) -> bool:
        """Return True in n of d cases; even 0/1 draws a word, so a rate of zero shifts no other draw."""
        assert 0 <= n <= d <= DENOMINATOR_MAX
        product = (self._words or self._next_block()).pop() * d
        if product & WORD_MAX < d:  # `below`, inlined for speed
            product = self._fair(product, d)
        return product < n << 64

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items; all are equally likely."""
        return items[self.below(len(items))]

    def pick_weighted(self, items: Sequence[T], weights: Sequence[int]) -> T:
        """Return one of the items, with a probability proportional to its weight."""
        assert len(items) == len(weights)
        rest = self.below(sum(weights))
        for item, weight in zip(items, weights, strict=True):
            assert weight >= 0
            if rest < weight:
                return item
            rest -= weight
        raise AssertionError("the draw lies below the sum of the weights")

    def shuffle(self, items: Iterable[T]) -> list[T]:
        """Return the items in a random order, as a new list (Fisher-Yates from the end)."""
        shuffled = list(items)
        for last in range(len(shuffled) - 1, 0, -1):
            other = self.below(last + 1)
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        return shuffled

    def subset(self, items: Iterable[T], n: int, d: int) -> list[T]:
        """Return a random subset of the items, in order; each item is in it with a probability of n/d."""
        return [item for item in items if self.chance(n, d)]

    def log_between(self, low: int, high: int) -> int:
        """Draw a whole number in low .. high: first its bit length, then a number of that length."""
        assert 0 <= low <= high
        bit_count = self.between(low.bit_length(), high.bit_length())
        # Three bits give 4 to 7; no bits give 0, since (1 << 0) >> 1 is 0.
        smallest, largest = (1 << bit_count) >> 1, (1 << bit_count) - 1
        return self.between(max(low, smallest), min(high, largest))


class Keyed:
    """Draws with one key; the hash is prepared once, which halves the cost of a draw."""

    __slots__ = ("_prepared",)

    def __init__(self, key: bytes) -> None:
        self._prepared = blake2b(key=key, digest_size=8, person=PERSON)

    def draw(self, data: str) -> int:
        """Return a whole number in 0 .. 2^64-1 that belongs to this data."""
        return self.draw_of(data.encode())

    def draw_of(self, data: bytes) -> int:
        """Draw from bytes, for a caller that draws with several keys from one text."""
        hashed = self._prepared.copy()
        hashed.update(data)
        return int.from_bytes(hashed.digest(), "little")


def highest(key: bytes, names: Iterable[str]) -> str:
    """Return the name with the highest keyed draw; adding a name changes only the choices that it wins."""
    return max(names, key=Keyed(key).draw)


def stream_key(seed: int, path: Iterable[str | int]) -> bytes:
    """Return the 32-byte key of a stream or a keyed draw; making it costs more than a draw."""
    assert 0 <= seed <= SEED_MAX, seed
    parts = [str(part).encode() for part in path]
    # Each part has its length in front; otherwise ("a", "bc") and ("ab", "c") would be the same path.
    framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return blake2b(seed.to_bytes(8, "big") + framed, digest_size=32, person=PERSON).digest()


def parse_seed(text: str) -> int:
    """Read a seed: decimal, 0x and hex digits, or a commit id. Anything else is a ValueError."""
    if COMMIT_ID.fullmatch(text):
        return int(text[:16], 16)
    if found := HEX.fullmatch(text):
        return int(found[1], 16)
    found = DECIMAL.fullmatch(text)
    if found and int(found[1]) <= SEED_MAX:
        return int(found[1])
    raise ValueError(
        f"{show_text(text)} is not a seed: write 0 .. {SEED_MAX}, 0x and up to 16 hex digits, "
        "or the 40 hex digits of a commit id"
    )


def show_text(text: str) -> str:
    """Return the text for a message: short, in quotes and in ASCII."""
    return ascii(text if len(text) <= SHOWN_CHARACTERS_MAX else text[:SHOWN_CHARACTERS_MAX] + "...")
