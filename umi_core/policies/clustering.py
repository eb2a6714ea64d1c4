"""Clustering: the members of a category in groups that are about one thing each.

Law 1. Pure, in whole numbers; any order of the input gives the same groups. Law 2. A group that was there
keeps its place while enough members are still near its centroid. Law 3. In the end every member is near the
centroid of its group, every group is large enough, and no two groups are near each other.

    assign      who is near the centroid of a known group goes there
    form        among the others, whoever has most neighbours makes a group of them, again and again
    merge       two groups that are near each other are one
    settle      who is least near the new centroid, and not near enough, leaves
    dissolve    a group that has become too small is none; then from merge on again, until nothing changes
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import attrs

from umi_core.data import Data
from umi_core.limits import COMPONENT_MAX
from umi_core.policies.similarity import neighbours, vector_relevance_ppm

Vector = tuple[int, ...]
Vectors = Mapping[str, Vector]  # by id


@attrs.frozen
class Bounds(Data):
    """`near_ppm`: who belongs together; `merge_ppm`: which groups are one; at least `size_min` members make a
    group, and at most `count_max` groups are kept."""

    near_ppm: int
    merge_ppm: int
    size_min: int
    count_max: int


@attrs.frozen
class Known(Data):
    """A group that is there; `member_ids`: who is in it now."""

    id: str
    created_ms: int
    centroid: Vector
    member_ids: tuple[str, ...] = ()

    @property
    def age(self) -> tuple[int, str]:
        """The older one comes first."""
        return self.created_ms, self.id


@attrs.frozen
class Cluster(Data):
    """A group as it is to be: the known one that it goes on, if any, and its members in order."""

    known: Known | None
    member_ids: tuple[str, ...]
    centroid: Vector

    @property
    def rank(self) -> tuple[int, bool, tuple[int, str]]:
        """The larger one comes first, then the older one."""
        age = self.known.age if self.known else (0, self.member_ids[0])
        return -len(self.member_ids), self.known is None, age


def clusters(members: Vectors, known: Sequence[Known], bounds: Bounds, *, afresh: bool) -> list[Cluster]:
    """The groups, the largest first; `afresh`: as if none was known, and known ones go on where they fit."""
    members = {key: members[key] for key in sorted(members)}
    found = assigned(members, () if afresh else known, bounds.near_ppm)
    taken = {key: None for it in found for key in it.member_ids}
    rest = {key: vector for key, vector in members.items() if key not in taken}
    found += [Cluster(None, ids, ()) for ids in formed(rest, bounds)]
    before: list[Cluster] = []
    while found != before:
        before = found
        found = merged([centred(it, members) for it in found], members, bounds.merge_ppm)
        found = [settled(it, members, bounds.near_ppm) for it in found]
        found = [it for it in found if len(it.member_ids) >= bounds.size_min]
    found = sorted(found, key=lambda it: it.rank)[: bounds.count_max]
    return inherited(found, known) if afresh else found


# Assign and form.


def nearest_known(
    vector: Vector, known: Iterable[tuple[str, Vector]], floor_ppm: int
) -> tuple[str, int] | None:
    """The id of the centroid that is most similar, and how similar, if that is enough; ties by id."""
    scores = [(vector_relevance_ppm(vector, centroid), key) for key, centroid in known]
    best = min(scores, key=lambda it: (-it[0], it[1]), default=None)
    return (best[1], best[0]) if best is not None and best[0] >= floor_ppm else None


def assigned(members: Vectors, known: Iterable[Known], floor_ppm: int) -> list[Cluster]:
    """The known groups that somebody is near to."""
    groups = {it.id: it for it in known}
    centroids = [(key, it.centroid) for key, it in groups.items()]
    found: dict[str, list[str]] = {}
    for key, vector in members.items():
        if (home := nearest_known(vector, centroids, floor_ppm)) is not None:
            found.setdefault(home[0], []).append(key)
    return [Cluster(groups[key], tuple(ids), ()) for key, ids in found.items()]


def formed(members: Vectors, bounds: Bounds) -> Iterator[tuple[str, ...]]:
    """Again and again whoever has most neighbours that are still free, with these; ties by id."""
    ids, free = list(members), dict.fromkeys(members)
    near = dict(zip(ids, neighbours(list(members.values()), bounds.near_ppm), strict=True))
    while free:
        groups = {key: tuple(ids[at] for at in near[key] if ids[at] in free) for key in free}
        centre = min(groups, key=lambda key: (-len(groups[key]), key))
        if len(groups[centre]) < bounds.size_min:
            return
        yield groups[centre]
        for key in groups[centre]:
            del free[key]


# Merge, settle, dissolve.


def centroid_of(vectors: Sequence[Vector]) -> Vector:
    """The sum, made smaller until its components are those of a vector, cut towards zero."""
    sums = [sum(column) for column in zip(*vectors, strict=True)]
    peak = max(map(abs, sums))
    if peak <= COMPONENT_MAX:
        return tuple(sums)
    return tuple(abs(it) * COMPONENT_MAX // peak * (1 if it > 0 else -1) for it in sums)


def centred(cluster: Cluster, members: Vectors) -> Cluster:
    return attrs.evolve(cluster, centroid=centroid_of([members[key] for key in cluster.member_ids]))


def merged(found: list[Cluster], members: Vectors, floor_ppm: int) -> list[Cluster]:
    """While two are near each other, the nearest two are one, under the better rank; ties by rank."""
    found = sorted(found, key=lambda it: it.rank)
    near = {(a, b): vector_relevance_ppm(a.centroid, b.centroid) for a, b in combinations(found, 2)}
    while near:
        pair = min(near, key=lambda it: (-near[it], it[0].rank, it[1].rank))
        if near[pair] < floor_ppm:
            break
        ids = tuple(sorted((*pair[0].member_ids, *pair[1].member_ids)))
        union = centred(Cluster(pair[0].known or pair[1].known, ids, ()), members)
        near = {other: ppm for other, ppm in near.items() if not set(pair) & set(other)}
        found = [it for it in found if it not in pair]
        for it in found:
            first, second = sorted((it, union), key=lambda each: each.rank)
            near[first, second] = vector_relevance_ppm(it.centroid, union.centroid)
        found.append(union)
    return found


def settled(cluster: Cluster, members: Vectors, floor_ppm: int) -> Cluster:
    """Without the member that is least near, if that is not near enough; ties by id."""
    scores = [(vector_relevance_ppm(members[key], cluster.centroid), key) for key in cluster.member_ids]
    worst_ppm, worst = min(scores)
    if worst_ppm >= floor_ppm:
        return cluster
    return attrs.evolve(cluster, member_ids=tuple(key for key in cluster.member_ids if key != worst))


def inherited(found: Sequence[Cluster], known: Sequence[Known]) -> list[Cluster]:
    """Each known group goes on where most of its members are, once; of equals the older one."""
    pairs = [
        (-len(shared), group.age, cluster.member_ids)
        for cluster in found
        for group in known
        if (shared := [key for key in cluster.member_ids if key in group.member_ids])
    ]
    groups, heirs = {it.age: it for it in known}, dict[tuple[str, ...], Known]()
    for _, age, ids in sorted(pairs):
        if age in groups and ids not in heirs:
            heirs[ids] = groups.pop(age)
    return [attrs.evolve(it, known=heirs.get(it.member_ids)) for it in found]
