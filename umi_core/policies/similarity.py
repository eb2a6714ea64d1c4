"""Similarity: the vector relevance of a row for a query, and the best of many rows.

Law 1. Scores are exact integers, floored and not rounded otherwise, so that all machines agree. Law 2. Every
score is in 0..1_000_000. Law 3. A vector that is malformed or all zero counts as missing: it scores 0 and is
no failure. Law 4. For many rows numpy preselects candidates and exact integers decide; numpy is imported when
first needed. Scores by words come from umi_core/policies/term_scores.py.
"""

from collections.abc import Sequence
from math import isqrt
from operator import mul
from typing import TYPE_CHECKING, Any

from umi_core.data import Data
from umi_core.limits import COMPONENT_MAX, PPM
from umi_core.policies.term_scores import LENGTH_UNIT, OCCURRENCE_COUNT_MAX, score_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def vector_relevance_ppm(query: Sequence[int], row: Sequence[int]) -> int:
    """Return the floored cosine of two whole-number vectors in ppm; 0 if it is not positive."""
    dot = inner(query, row) if len(query) == len(row) else 0
    return 0 if dot <= 0 else cosine_ppm(dot, inner(query, query), inner(row, row))


def cosine_ppm(dot: int, query_square: int, row_square: int) -> int:
    """Return the floored cosine in ppm, given a positive dot product and the squares of both lengths."""
    # sqrt(a / b) is not exact in floats; isqrt(a // b) is its exact floor.
    score_ppm = isqrt(dot * dot * PPM * PPM // (query_square * row_square))
    assert 0 <= score_ppm <= PPM  # Cauchy-Schwarz
    return score_ppm


def inner(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(map(mul, a, b))


# Many rows at once.


class VectorRows(Data, eq=False):
    """Valid vectors of one length, one per row, with values precomputed for searches."""

    matrix: "NDArray[np.floating[Any]]"  # shape (rows, dims), of type `exact_type(dims)`
    squares: "NDArray[np.int64]"  # |r| ** 2
    scales: "NDArray[np.float32]"  # 1 / |r|, rounded; 0 for a zero vector, and for a row to skip


def exact_type(dims: int) -> str:
    """Return the smaller float type that holds every sum of products of `dims` components exactly."""
    return "float32" if dims * COMPONENT_MAX**2 < 2**24 else "float64"


def measure_rows(
    matrix: "NDArray[np.floating[Any]]",
) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
    """Return the squares and scales of the rows of a matrix of `exact_type`."""
    import numpy as np

    squares = np.einsum("ij,ij->i", matrix, matrix).astype(np.int64)
    scales = np.zeros(len(matrix), np.float32)
    np.divide(1, np.sqrt(squares), out=scales, where=squares > 0, casting="same_kind")
    return squares, scales


def nearest(
    query: Sequence[int],
    rows: VectorRows,
    ids: Sequence[str],
    limit: int,
    min_score_ppm: int,
    allowed: "NDArray[np.bool_] | None" = None,
) -> list[tuple[int, int]]:
    """Return the best rows as (relevance, row), by (relevance descending, id): at most `limit`, none with 0.

    `query` is valid. Dot products are exact (`exact_type`). Multiplying by scales rounds them by a relative
    error below 2**-22, so by less than a quarter of a ppm. Two rows of equal relevance differ by less than 1
    ppm before flooring. Therefore a row 2 ppm below the k-th best cannot be among the k best.
    """
    import numpy as np

    if limit <= 0 or not ids or min_score_ppm > PPM:
        return []
    vector = np.array(query, rows.matrix.dtype)
    closeness = rows.matrix @ vector
    closeness *= rows.scales  # relevance in units of |query| / 10**6
    if allowed is not None:
        closeness *= allowed
    square, least_ppm = inner(query, query), max(1, min_score_ppm)
    length = isqrt(square) + 1
    peaks = Peaks.of(closeness, limit)
    bound = max(int(peaks.kth(limit) * PPM), least_ppm * (length - 1)) - 2 * length
    to_float = closeness.dtype.type
    least = to_float(np.divide(bound, PPM)) if bound > 0 else np.nextafter(to_float(0), to_float(1))
    few = peaks.reaching(least)
    dots = (rows.matrix[few] @ vector).tolist()
    exact = zip(few.tolist(), dots, rows.squares[few].tolist(), strict=True)
    hits = [(cosine_ppm(int(dot), square, row_square), row) for row, dot, row_square in exact]
    hits = [hit for hit in hits if hit[0] >= least_ppm]
    return sorted(hits, key=lambda hit: (-hit[0], ids[hit[1]]))[:limit]


class Peaks(Data, eq=False):
    """Values arranged in columns, value n in column n % width, and the maximum (peak) of each column.

    One pass over all values finds the peaks; high values are then searched only in columns with high peaks.
    """

    values: "NDArray[Any]"  # shape (n,), n > 0
    tops: "NDArray[Any]"  # shape (width,)

    @classmethod
    def of(cls, values: "NDArray[Any]", k: int) -> "Peaks":
        """Compute peaks in enough columns that the k largest values are mostly in different ones."""
        import numpy as np

        # With 16 columns per wanted value, two of the k largest seldom share one. If they do, the bound is
        # lower than necessary and a few more rows are computed.
        width = min(values.size, max(1_024, 16 * k))
        end = values.size // width * width
        tops = values[:end].reshape(-1, width).max(axis=0)
        rest = values[end:]
        tops[: rest.size] = np.maximum(tops[: rest.size], rest)
        return cls(values, tops)

    def kth(self, k: int) -> Any:
        """Return the k-th largest peak (the least if there are fewer): a lower bound of the k-th value."""
        import numpy as np

        place = max(0, self.tops.size - k)
        return np.partition(self.tops, place)[place]

    def reaching(self, bound: Any) -> "NDArray[np.intp]":
        """Return the indices of the values that are at least `bound`."""
        import numpy as np

        columns = np.flatnonzero(self.tops >= bound)
        if columns.size == 0:
            return columns
        # With many such columns, one pass over all values is cheaper than gathering the columns.
        if columns.size * 4 > self.tops.size:
            return np.flatnonzero(self.values >= bound)
        starts = np.arange(0, self.values.size, self.tops.size)
        places = np.add.outer(starts, columns).ravel()
        places = places[places < self.values.size]
        found: NDArray[np.intp] = places[self.values[places] >= bound]
        return found


# Many rows by words.


class Posting(Data, eq=False):
    """The rows that have a term of a query, and the weight of the term."""

    weight: int
    rows: "NDArray[np.integer[Any]]"  # distinct
    counts: "NDArray[np.integer[Any]]"  # occurrences of the term in each of these rows


def best_by_words(
    postings: Sequence[Posting],
    weight: int,
    lengths: "NDArray[np.int64]",
    keys: "NDArray[np.uint64]",
    ids: Sequence[str],
    limit: int,
    min_score_ppm: int,
    allowed: "NDArray[np.bool_] | None" = None,
) -> list[tuple[int, int]]:
    """Return the best rows as (score, row), by (score descending, id): at most `limit`, none with 0.

    `weight` is the sum of all weights of the query, `lengths` are relative lengths, and `keys` are numbers in
    the order of `ids`, though not strictly: a smaller id never has a larger key.
    """
    import numpy as np

    least_ppm = max(1, min_score_ppm)
    if limit <= 0 or not postings or not ids or least_ppm > PPM:
        return []
    earned = np.zeros(len(ids), np.int64)
    for posting in postings:
        occurrences = np.minimum(posting.counts, OCCURRENCE_COUNT_MAX).astype(np.int64) * (4 * LENGTH_UNIT)
        earned[posting.rows] += posting.weight * (
            PPM * occurrences // (occurrences + LENGTH_UNIT + lengths[posting.rows])
        )
    if allowed is not None:
        earned *= allowed
    peaks = Peaks.of(earned, limit)
    last_ppm = max(score_share(int(peaks.kth(limit)), weight), least_ppm)
    few = peaks.reaching(-(-(last_ppm**2) // PPM) * weight)  # all rows with a score of at least `last_ppm`
    # Flooring a float root is exact below 2**50: an irrational root is farther from an integer than rounding.
    scores = np.sqrt(earned[few] // weight * PPM).astype(np.int64)
    equal, rest = few[scores == last_ppm], limit - int(np.count_nonzero(scores > last_ppm))
    if len(equal) > rest > 0:
        equal = equal[keys[equal] <= np.partition(keys[equal], rest - 1)[rest - 1]]
    rows = np.concatenate((few[scores > last_ppm], equal if rest > 0 else equal[:0])).tolist()
    hits = [(score_share(int(earned[row]), weight), row) for row in rows]
    return sorted(hits, key=lambda hit: (-hit[0], ids[hit[1]]))[:limit]


# Relevance between members and centroids, for clustering.


class Centroid(Data, eq=False):
    """The sum of some vectors, scaled down to the range of components and truncated towards zero."""

    line: "NDArray[np.floating[Any]]"  # shape (dims,), of type `exact_type(dims)`

    @property
    def components(self) -> tuple[int, ...]:
        return tuple(map(int, self.line.tolist()))


class MemberVectors(Data, eq=False):
    """Valid vectors of one length, addressed by index (place)."""

    matrix: "NDArray[np.floating[Any]]"  # shape (members, dims), of type `exact_type(dims)`

    @classmethod
    def of(cls, vectors: Sequence[Sequence[int]]) -> "MemberVectors":
        import numpy as np

        return cls(np.array(vectors, exact_type(len(vectors[0]))))

    @property
    def count(self) -> int:
        return len(self.matrix)

    @property
    def dims(self) -> int:
        return int(self.matrix.shape[1])

    def centroid(self, places: Sequence[int]) -> Centroid:
        import numpy as np

        sums = self.matrix[places].sum(axis=0, dtype=np.float64).astype(np.int64)
        peak = int(np.abs(sums).max())
        # Only the direction matters, so the sum is scaled down until its largest component is 127.
        if peak > COMPONENT_MAX:
            sums = np.sign(sums) * (np.abs(sums) * COMPONENT_MAX // peak)
        return Centroid(sums.astype(self.matrix.dtype))

    def neighbours(self, places: Sequence[int], floor_ppm: int) -> dict[int, list[int]]:
        """Return for each place all `places`, itself included, with a relevance of at least `floor_ppm`."""
        import numpy as np

        some = self.matrix[places]
        near = relevance_table(some, some) >= floor_ppm
        return {
            place: [places[at] for at in np.flatnonzero(row).tolist()]
            for place, row in zip(places, near, strict=True)
        }

    def relevances_ppm(self, places: Sequence[int], centroid: Centroid) -> list[int]:
        """Return the relevance of each of these members to a centroid."""
        table: list[list[int]] = relevance_table(centroid.line[None], self.matrix[places]).tolist()
        return table[0]

    def nearest(self, centroids: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """Return for each member the relevance and index of its nearest centroid; the first one wins ties."""
        table = relevance_table(self.matrix, MemberVectors.of(centroids).matrix)
        best = table.argmax(axis=1)
        return [(int(row[at]), int(at)) for row, at in zip(table, best, strict=True)]


def nearest_pairs(some: Sequence[Centroid], all_of: Sequence[Centroid]) -> tuple[int, list[tuple[int, int]]]:
    """Return the highest relevance between `some` and `all_of`, and the pairs of indices that have it."""
    import numpy as np

    table = relevance_table(*(np.stack([it.line for it in each]) for each in (some, all_of)))
    for at, one in enumerate(some):
        # Exclude the pair of a centroid with itself.
        table[at] *= [one is not other for other in all_of]
    best = int(table.max())
    return best, [(int(at), int(to)) for at, to in np.argwhere(table == best)]


def relevance_table(
    rows: "NDArray[np.floating[Any]]", columns: "NDArray[np.floating[Any]]"
) -> "NDArray[np.int64]":
    """Return `vector_relevance_ppm` of each row of one matrix with each row of the other.

    Products of `exact_type` are exact, and so are products of their squares, which fit into 53 bits. The
    error of the quotient is below 10**-9 ppm. Where it is so near an integer that this error could matter, it
    is computed again in integers, except for parallel vectors, whose root is exact.
    """
    import numpy as np

    dots = np.maximum((rows @ columns.T).astype(np.float64), 0)
    lengths = [np.einsum("ij,ij->i", it, it).astype(np.float64) for it in (rows, columns)]
    squares = np.outer(*lengths)
    scores = np.divide(PPM * dots, np.sqrt(squares), out=np.zeros_like(dots), where=dots > 0)
    table: NDArray[np.int64] = np.floor(scores).astype(np.int64)
    # For example 699,999.999_999_9 may be exactly 700,000, which a threshold of 700,000 would accept.
    doubtful = (np.abs(scores - np.rint(scores)) * PPM < 1) & (dots > 0) & (dots * dots != squares)
    for at, to in np.argwhere(doubtful).tolist():
        table[at, to] = cosine_ppm(int(dots[at, to]), int(lengths[0][at]), int(lengths[1][to]))
    return table


# Checks of vectors from an embedder.


def sound_vectors(vectors: object, count: int, dims: int) -> tuple[tuple[int, ...] | None, ...] | None:
    """Return the vectors, with None for each invalid one; None if their number is wrong."""
    if not isinstance(vectors, tuple | list) or len(vectors) != count:
        return None
    return tuple(tuple(vector) if vector_fault(vector, dims) is None else None for vector in vectors)


def lacking_vectors(code: str, given: Sequence[object], dims: int) -> tuple[tuple[str, str, int], ...]:
    """Return the degradation for missing vectors: the fault of the first one, and their number."""
    faults = [fault for vector in given if (fault := vector_fault(vector, dims)) is not None]
    return ((code, faults[0], len(faults)),) if faults else ()


def vector_fault(vector: object, dims: int) -> str | None:
    """Return why a vector counts as missing: wrong_length, not_whole, out_of_range, zero; None if sound."""
    if not isinstance(vector, tuple | list) or len(vector) != dims:
        return "wrong_length"
    if {*map(type, vector)} != {int}:  # also excludes bool
        return "not_whole"
    if not -COMPONENT_MAX <= min(vector) <= max(vector) <= COMPONENT_MAX:
        return "out_of_range"
    return None if any(vector) else "zero"
