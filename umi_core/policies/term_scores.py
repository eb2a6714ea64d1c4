"""Term scores: the word relevance of a row for a query, among the rows of one scope and kind (BM25).

A term weighs more the fewer rows have it, further occurrences count less than the first, and longer rows
score lower. With N rows, of which n have the term, and x the length of a row divided by the mean length:

    weight      log2((2N + 2) / (2n + 1))             in 64ths, each logarithm floored
    part        c / (c + 1/4 + x/4)                   c occurrences: k1 = 1/2 and b = 1/2
    share       sum(weight * part) / sum(weight)      over the terms of the query; always below 1
    score       the square root of the share

The root brings scores into the range of the thresholds: a row of mean length that has each term of a query
once scores 816_496, and one that has terms of half their weight scores 577_350.

Law 1. Scores are exact integers. Law 2. Every score is in 0..1_000_000. Law 3. A score depends on all rows of
its scope and kind, and on no others, whatever a search filters.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isqrt
from typing import Final

from umi_core.data import Owner
from umi_core.language.terms import split_query, split_terms
from umi_core.limits import PPM

LOG_UNIT: Final = 64
LENGTH_UNIT: Final = 64  # the mean length
ROW_COUNT_MAX: Final = 256  # rows whose terms are cached: a fact is compared again and again
OCCURRENCE_COUNT_MAX: Final = 4  # further occurrences of a term do not count


class TermStatistics(Owner):
    """Statistics of all rows of one scope and kind, on which the score of each row depends.

    `row_count`: the number of rows. `term_count`: the number of terms in all rows together. `holding`: for
    each term the number of rows that have it.
    """

    row_count: int = 0
    term_count: int = 0
    holding: dict[str, int] = {}

    def add(self, counts: Mapping[str, int]) -> None:
        """Add a row, given the number of occurrences of each of its terms."""
        self.row_count += 1
        self.term_count += sum(counts.values())
        for term in counts:
            self.holding[term] = self.holding.get(term, 0) + 1

    def remove(self, counts: Mapping[str, int]) -> None:
        """Undo `add` of the same terms."""
        self.row_count -= 1
        self.term_count -= sum(counts.values())
        for term in counts:
            self.holding[term] -= 1
            if not self.holding[term]:
                del self.holding[term]

    def weigh_query(self, query: str) -> dict[str, int]:
        """Return the weight of each term of a query."""
        return {term: weigh_term(self.row_count, self.holding.get(term, 0)) for term in split_query(query)}

    def score_row(self, weights: Mapping[str, int], counts: Mapping[str, int]) -> int:
        """Return the score of a row that has been added, for a query with these weights."""
        length = relative_length(sum(counts.values()), self.row_count, self.term_count)
        parts = (weight * part_ppm(counts.get(term, 0), length) for term, weight in weights.items())
        return score_share(sum(parts), sum(weights.values()))


@lru_cache(maxsize=ROW_COUNT_MAX)
def count_terms(name: str, text: str) -> Mapping[str, int]:
    """Count each term of a row, in its name or in its text, whichever has it more often.

    Counts are not added up, because a name is often the beginning of the text.
    """
    return dict(Counter(split_terms(text)) | Counter(split_terms(name)))


def score_rows(query: str, rows: Iterable[tuple[str, str]]) -> list[int]:
    """Return the score of each row, given the (name, text) of all rows of a scope and kind."""
    counted = [count_terms(*row) for row in rows]
    statistics = TermStatistics()
    for counts in counted:
        statistics.add(counts)
    weights = statistics.weigh_query(query)
    return [statistics.score_row(weights, counts) for counts in counted]


def score_others(
    queries: Iterable[tuple[int, str]], rows: Iterable[tuple[str, str]], least_ppm: int
) -> Iterator[dict[int, int]]:
    """Yield for each (index of a row, query) the scores of the other rows, by their indices.

    They equal those of `score_rows` without this row; scores of 0 and below `least_ppm` are left out.
    """
    counted, statistics = [count_terms(*row) for row in rows], TermStatistics()
    holding = dict[str, list[int]]()
    for at, counts in enumerate(counted):
        statistics.add(counts)
        for term in counts:
            holding.setdefault(term, []).append(at)
    lengths = [sum(counts.values()) for counts in counted]
    for own, query in queries:
        statistics.remove(counted[own])
        weights, earned = statistics.weigh_query(query), dict[int, int]()
        left = total = sum(weights.values())
        # The rarest terms first. Once the remaining terms cannot reach `least_ppm` by themselves, only rows
        # already found are scored further, so most rows, which have only common terms, are never visited.
        for term in sorted(weights, key=lambda it: -weights[it]):
            may_open = score_share(left * PPM, total) >= least_ppm
            for at in holding.get(term, ()) if may_open else earned:
                length = relative_length(lengths[at], statistics.row_count, statistics.term_count)
                part = part_ppm(counted[at].get(term, 0), length)
                earned[at] = earned.get(at, 0) + weights[term] * part
            left -= weights[term]
        statistics.add(counted[own])
        scores = {at: score_share(it, total) for at, it in earned.items() if at != own}
        yield {at: score_ppm for at, score_ppm in scores.items() if score_ppm >= least_ppm}


def score_alone(query: str, name: str, text: str) -> int:
    """Return the score of a row as if it were the only one, so that all terms weigh the same."""
    [score_ppm] = score_rows(query, [(name, text)])
    return score_ppm


def weigh_term(row_count: int, holding_count: int) -> int:
    """Return the weight of a term that `holding_count` rows have; no row counts as one."""
    return max(1, floor_log(2 * row_count + 2) - floor_log(2 * max(1, holding_count) + 1))


def floor_log(number: int) -> int:
    """Return the logarithm to base 2 in 64ths, floored, as the bit length of the 64th power minus 1."""
    # 1,000**64 has 638 bits, so log2(1,000) = 9.966 is 637 64ths, floored.
    return int(number**LOG_UNIT).bit_length() - 1


def relative_length(length: int, row_count: int, term_count: int) -> int:
    """Return the length of a row in 64ths of the mean length."""
    return LENGTH_UNIT * length * row_count // max(1, term_count)


def part_ppm(count: int, length: int) -> int:
    """Return the ppm of its weight that a term with `count` occurrences earns in a row of this length."""
    occurrences = 4 * LENGTH_UNIT * min(count, OCCURRENCE_COUNT_MAX)
    # Numerator and denominator of c / (c + 1/4 + x/4) are multiplied by 4 * 64: one occurrence in a row of
    # mean length earns 256 / 384 of the weight of its term.
    return PPM * occurrences // (occurrences + LENGTH_UNIT + length)


def score_share(earned: int, weight: int) -> int:
    """Return the score of a row that earns `earned` (ppm times weight) of `weight`; 0 for an empty query."""
    return isqrt(earned // weight * PPM) if weight else 0
