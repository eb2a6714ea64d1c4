"""Compute scores, attempts of steps, and the times at which work is scheduled."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isqrt
from operator import mul
from typing import Final

from tests.properties.text_reference import asked_terms, terms
from umi_core.rows import AccessRecord

# Scores as M6.8 to M6.10 and M12.3 to M12.8 write them, in whole millionths.
#
# Law 1. Constants stand here as numbers, not as names of the memory's: a wrong one there must differ.


ONE: Final = 1_000_000
DAY_MS: Final = 24 * 60 * 60 * 1000
WEEK_MS: Final = 7 * DAY_MS

# Promotion.

TYPE_PPM: Final[Mapping[str, int]] = {
    "self": 1_000_000,
    "project": 900_000,
    "task": 850_000,
    "organization": 800_000,
    "event": 750_000,
    "person": 700_000,
    "preference": 700_000,
    "location": 650_000,
    "topic": 600_000,
    "note": 400_000,
}
BITS: Final = 20  # of a part of a week
UNIT: Final = 2**62  # stands for one


def roots() -> list[int]:
    """Return 2**-(1/2), 2**-(1/4), ... in units, one for each bit of a part of a week."""
    # In units of 2**62, 2**-(1/2) is 2**61.5, the root of
    # 2**123. Each further root is that of the one before.
    found = [isqrt(2**123)]
    while len(found) < BITS:
        found.append(isqrt(found[-1] * UNIT))
    return found


ROOTS: Final = roots()


def recency_ppm(age_ms: int) -> int:
    """Return one at first, half of it after a week, and so on."""
    weeks, rest_ms = divmod(max(0, age_ms), WEEK_MS)
    # Half a week is 0.1000... in binary: only the first root counts, 2**-(1/2), and recency is 707,106.
    # In whole numbers, so that every machine and every port gets the same.
    part = rest_ms * 2**BITS // WEEK_MS
    remaining = UNIT
    for bit, root in zip(reversed(range(BITS)), ROOTS, strict=True):
        if part >> bit & 1:
            remaining = remaining * root // UNIT
    return ONE * remaining // UNIT >> weeks


def frequency_ppm(count: int, age_ms: int) -> int:
    """Return a tenth for each access a day, of the days since the first one."""
    return min(ONE, count * 100_000 * DAY_MS // max(age_ms, DAY_MS))


def promotion_ppm(record: AccessRecord, now_ms: int) -> int:
    """Return how much an entity belongs into core."""
    recency = recency_ppm(now_ms - record.last_ms)
    frequency = frequency_ppm(record.count, now_ms - record.first_ms)
    tenths = 4 * record.importance_ppm + 3 * recency + 2 * frequency + TYPE_PPM[record.type]
    return tenths // 10


# Search.


def words_ppm(query: str, rows: Sequence[tuple[str, str]]) -> list[int]:
    """Return how well each row answers a query by words, given name and text of all rows of a scope and kind.

    M12.5: a term that few rows have counts more, and more in a short row than in a long one.
    """
    stated = [stated_in(*row) for row in rows]
    lengths = [sum(each.values()) for each in stated]
    weights = {term: weight_of(term, stated) for term in asked_terms(query)}
    total = sum(weights.values())
    found = []
    for each, length in zip(stated, lengths, strict=True):
        # BM25 with k1 = 0.5 and b = 0.5, for a term that stands there n times:
        #   n / (n + 0.25 * (1 + length / mean length)), with all of it times 256
        # A term counts four times at most.
        stretch = 64 * length * len(rows) // sum(lengths) if length else 0
        earned = 0
        for term, weight in weights.items():
            times = 256 * min(4, each.get(term, 0))
            earned += weight * (ONE * times // (times + 64 + stretch))
        found.append(isqrt(ONE * (earned // total)) if total else 0)
    return found


def stated_in(name: str, text: str) -> dict[str, int]:
    """Return how often a row has each term: in its name, or in its text if it is there more often."""
    named, in_text = Counter(terms(name)), Counter(terms(text))
    return {term: max(named[term], in_text[term]) for term in {**named, **in_text}}


def weight_of(term: str, stated: Sequence[Mapping[str, int]]) -> int:
    having = max(1, sum(term in each for each in stated))
    return max(1, log_of(2 * len(stated) + 2) - log_of(2 * having + 1))


def log_of(number: int) -> int:
    """Return the greatest n for which 2**(n / 64) is not more than this number."""
    # In 64ths of a doubling: log_of(2) is 64 and log_of(3) 101, as 3 is 2**1.58.
    power, n = number**64, 0
    while power >> n + 1:
        n += 1
    return n


def alone_ppm(query: str, name: str, content: str) -> int:
    """Return how well a row answers a query by words if there is no other."""
    return words_ppm(query, [(name, content)])[0]


def shares_terms(query: str, name: str, content: str) -> bool:
    """Return whether a search by words can find a row."""
    return not {*asked_terms(query)}.isdisjoint(terms(name) + terms(content))


def united_ppm(vector_ppm: int, words_ppm: int) -> int:
    """Return the relevance of a row with these scores, 0 for a list that does not have it (M12.3)."""
    least, most = max(vector_ppm, words_ppm), ONE
    # r**3 = 1 - (1 - v**3) * (1 - w): each list can only add. Words alone with a fifth of the weight give
    # 584,803; a vector alone keeps its score; 500,000 and 200,000 give 669,432.
    rest = (ONE**3 - vector_ppm**3) * (ONE - words_ppm)
    while least < most:  # the greatest r for which r**3 is not more than ONE**3 - left / ONE
        middle = (least + most + 1) // 2
        if middle**3 * ONE <= ONE**4 - rest:
            least = middle
        else:
            most = middle - 1
    return least


def vector_ppm(query: Sequence[int], row: Sequence[int]) -> int:
    """Return the cosine between two vectors, 0 from a right angle on and for other lengths."""
    product = dot(query, row) if len(query) == len(row) else 0
    return isqrt(product**2 * ONE**2 // (dot(query, query) * dot(row, row))) if product > 0 else 0


def dot(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(map(mul, one, other))
