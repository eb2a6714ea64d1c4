"""Promotion: the score by which entities compete for a place in core.

Law 1. The score is pure arithmetic in whole numbers on an access record and the time; each part of it is in
0..1_000_000. Law 2. Recency never rises with age, frequency never falls with the number of accesses, and
neither jumps in the first millisecond. Law 3. More importance, more accesses or a later last access never
lower the score.
"""

from itertools import accumulate, repeat
from math import isqrt
from typing import Final

from umi_core.limits import DAY_MS, HALF_LIFE_MS, PPM
from umi_core.rows import AccessRecord
from umi_core.values import ENTITY_TYPES

TYPE_PPM: Final = {
    "self": 1_000_000,
    "person": 700_000,
    "organization": 800_000,
    "project": 900_000,
    "topic": 600_000,
    "location": 650_000,
    "event": 750_000,
    "task": 850_000,
    "preference": 700_000,
    "note": 400_000,
}
assert tuple(TYPE_PPM) == ENTITY_TYPES


def score_ppm(record: AccessRecord, now_ms: int) -> int:
    """Return the score of an entity at `now_ms`, which promotion, eviction and displacement share."""
    recency = recency_ppm(now_ms - record.last_ms)
    frequency = frequency_ppm(record.count, record.first_ms, now_ms)
    assert 0 <= record.importance_ppm <= PPM
    of_entity = 400_000 * record.importance_ppm + 100_000 * TYPE_PPM[record.type]
    # A person of importance 500,000, accessed once, now: 200,000 + 70,000 + 300,000 + 20,000 = 590,000.
    return (of_entity + 300_000 * recency + 200_000 * frequency) // PPM


# Recency is 2^-(age / half-life), without libm, because it must be equal on every machine. Whole half-lives
# are a shift; of the fraction, read as 20 binary digits, digit k is the factor ROOTS[k - 1] = 2^(62 - 2^-k).
STEPS: Final = 20
ROOTS: Final = tuple(
    accumulate(repeat(None, STEPS - 1), lambda root, _: isqrt(root << 62), initial=isqrt(1 << 123))
)
assert len(ROOTS) == STEPS


def recency_ppm(age_ms: int) -> int:
    """Return PPM at age 0 (or below), and half of it after each half-life."""
    # With a half-life of 7 days, 10.5 days are one and a half of them: PPM * 2^-1.5 = 353,553.
    halvings, rest_ms = divmod(max(age_ms, 0), HALF_LIFE_MS)
    fraction = (rest_ms << STEPS) // HALF_LIFE_MS
    x = 1 << 62
    for k, root in enumerate(ROOTS, start=1):
        if fraction >> (STEPS - k) & 1:
            x = (x * root) >> 62
    assert 0 < x <= 1 << 62
    return ((PPM * x) >> 62) >> halvings


def frequency_ppm(count: int, first_ms: int, now_ms: int) -> int:
    """Return a tenth of PPM per access and day, over at least one day, up to PPM."""
    assert count >= 0
    # Six accesses in three days are two a day: 200,000. Ten or more a day give PPM.
    return min(PPM, count * 100_000 * DAY_MS // max(now_ms - first_ms, DAY_MS))
