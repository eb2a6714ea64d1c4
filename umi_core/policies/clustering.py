"""Clustering: the members of a category in groups that are about one thing each.

Law 1. Pure, in whole numbers; any order of the input gives the same groups. Law 2. A group that was there
keeps its place while enough members are still near its centroid. Law 3. In the end every member is near the
centroid of its group, every group is large enough, and no two groups are near each other.

    assign      members near the centroid of a known group join it
    form        of the others, the member with most neighbours forms a group with them, again and again
    merge       two groups near each other become one
    settle      the member least near to the new centroid leaves if it is not near enough
    dissolve    a group that has become too small is dropped; then again from merge, until nothing changes

Law 4. A group is as much in use as the member of it that was used last: one is enough for all of them.
Law 5. A member without a group is in use only by itself, so a group that is gone does not come back unused.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from umi_core.data import Data
from umi_core.limits import SUBCATEGORY_COUNT_MAX
from umi_core.policies.similarity import Centroid, MemberVectors, nearest_pairs, vector_relevance_ppm
from umi_core.rows import AccessRecord, Membership

Vector = tuple[int, ...]
Vectors = Mapping[str, Vector]  # by id


class Bounds(Data):
    """Bounds of a division.

    `near_ppm`: relevance from which members belong together; `merge_ppm`: from which two groups become one.
    At least `size_min` members make a group, and at most `count_max` groups are kept.
    """

    near_ppm: int
    merge_ppm: int
    size_min: int
    count_max: int


class KnownGroup(Data):
    """A group of an earlier division; `member_ids`: its members now."""

    id: str
    created_ms: int
    centroid: Vector
    member_ids: tuple[str, ...] = ()

    @property
    def age(self) -> tuple[int, str]:
        """Return a sort key by which the older group comes first."""
        return self.created_ms, self.id


class Cluster(Data):
    """A group as it is to be: the known one that it goes on, if any, and its members in order."""

    known: KnownGroup | None
    member_ids: tuple[str, ...]
    centroid: Vector


def clusters(members: Vectors, known: Sequence[KnownGroup], bounds: Bounds, *, afresh: bool) -> list[Cluster]:
    """Return the groups, the largest first; `afresh`: made as if none was known, then matched with known
    ones.

    `members` have vectors of one length. There may be so many rounds as members, so a round compares only
    groups that have changed, and SUBCATEGORY_COUNT_MAX bounds how many new ones there are.
    """
    if not members:
        return []
    ids = sorted(members)
    space = MemberVectors.of([members[key] for key in ids])
    drafts = divide_members(space, () if afresh else known, bounds)
    found = [
        Cluster(it.known, tuple(ids[at] for at in it.places), it.centroid.components)
        for it in sorted(drafts, key=GroupDraft.rank)[: bounds.count_max]
    ]
    return inherit_groups(found, known) if afresh else found


class GroupDraft(Data, eq=False):
    """A group that is being made. `places`: its members, in the order of their ids. `is_settled`: it is as it
    was when it was compared with all others, and with its members."""

    known: KnownGroup | None
    places: Sequence[int]
    centroid: Centroid
    is_settled: bool = False

    def rank(self) -> tuple[int, bool, tuple[int, str]]:
        """Return a sort key by which the larger group comes first, then the older one."""
        return -len(self.places), self.known is None, self.known.age if self.known else (self.places[0], "")


def divide_members(space: MemberVectors, known: Iterable[KnownGroup], bounds: Bounds) -> list[GroupDraft]:
    homes = assign_members(space, known, bounds.near_ppm)
    drafts = [GroupDraft(it, places, space.centroid(places)) for it, places in homes]
    taken = {place: None for _, places in homes for place in places}
    free = [place for place in range(space.count) if place not in taken]
    # Once: forming only takes members away, and relevance between those that are left stays the same.
    near = space.neighbours(free, bounds.near_ppm)
    drafts += [
        GroupDraft(None, places, space.centroid(places)) for places in form_groups(near, bounds.size_min)
    ]
    # Ends: a round merges two groups, or takes a member out of one, or settles all; members never come back.
    while not all(it.is_settled for it in drafts):
        drafts = merge_groups(drafts, space, bounds.merge_ppm)
        drafts = [it if it.is_settled else settle_group(it, space, bounds.near_ppm) for it in drafts]
        drafts = [it for it in drafts if len(it.places) >= bounds.size_min]
    return drafts


# Assign and form.


def nearest_known(
    vector: Vector, known: Iterable[tuple[str, Vector]], floor_ppm: int
) -> tuple[str, int] | None:
    """Return the id of the centroid that is most similar, and how similar, if that is enough; ties by id."""
    scores = [(vector_relevance_ppm(vector, centroid), key) for key, centroid in known]
    best = min(scores, key=lambda it: (-it[0], it[1]), default=None)
    return (best[1], best[0]) if best is not None and best[0] >= floor_ppm else None


def assign_members(
    space: MemberVectors, known: Iterable[KnownGroup], floor_ppm: int
) -> list[tuple[KnownGroup, list[int]]]:
    """Return the known groups with the places of the members near to them; ties by id."""
    groups = sorted((it for it in known if len(it.centroid) == space.dims), key=lambda it: it.id)
    found: dict[int, list[int]] = {}
    for place, (ppm, at) in enumerate(space.nearest([it.centroid for it in groups]) if groups else ()):
        if ppm >= floor_ppm:
            found.setdefault(at, []).append(place)
    return [(groups[at], places) for at, places in found.items()]


def form_groups(near: Mapping[int, Sequence[int]], size_min: int) -> Iterator[Sequence[int]]:
    """Yield the free member with most free neighbours, together with these, until the groups get too small.

    Ties by id.
    """
    for _ in range(SUBCATEGORY_COUNT_MAX):
        # `max` takes the first of equals, and places are in the order of ids.
        group = max((near[place] for place in near), key=len, default=())
        if len(group) < size_min:
            return
        yield group
        taken = dict.fromkeys(group)
        near = {
            place: [it for it in others if it not in taken]
            for place, others in near.items()
            if place not in taken
        }


# Merge and settle.


def merge_groups(drafts: list[GroupDraft], space: MemberVectors, floor_ppm: int) -> list[GroupDraft]:
    """Merge the nearest two groups, under the better rank, while any two are near; ties by rank.

    Settled groups are compared with the others alone; at least one is not settled.
    """
    while True:
        changed = [it for it in drafts if not it.is_settled]
        near_ppm, pairs = nearest_pairs([it.centroid for it in changed], [it.centroid for it in drafts])
        if near_ppm < floor_ppm:
            return drafts
        ranked = [sorted((changed[at], drafts[to]), key=GroupDraft.rank) for at, to in pairs]
        first, second = min(ranked, key=lambda pair: [it.rank() for it in pair])
        places = sorted((*first.places, *second.places))
        union = GroupDraft(first.known or second.known, places, space.centroid(places))
        drafts = [*(it for it in drafts if it is not first and it is not second), union]


def settle_group(draft: GroupDraft, space: MemberVectors, floor_ppm: int) -> GroupDraft:
    """Return the group without its least near member, or settled if that is near enough; ties by id."""
    scores = space.relevances_ppm(draft.places, draft.centroid)
    worst_ppm = min(scores)
    if worst_ppm >= floor_ppm:
        return structs.replace(draft, is_settled=True)
    at = scores.index(worst_ppm)
    places = [*draft.places[:at], *draft.places[at + 1 :]]
    return GroupDraft(draft.known, places, space.centroid(places))


def inherit_groups(found: Sequence[Cluster], known: Sequence[KnownGroup]) -> list[Cluster]:
    """Let each known group continue where most of its members are, once; of equals the older one."""
    pairs = [
        (-len(shared), group.age, cluster.member_ids)
        for cluster in found
        for group in known
        if (shared := [key for key in cluster.member_ids if key in group.member_ids])
    ]
    groups, heirs = {it.age: it for it in known}, dict[tuple[str, ...], KnownGroup]()
    # Most shared members first, then the older group.
    for _, age, ids in sorted(pairs):
        if age in groups and ids not in heirs:
            heirs[ids] = groups.pop(age)
    return [structs.replace(it, known=heirs.get(it.member_ids)) for it in found]


# Decay: which members of a category are in use, and with them which of its groups.


def in_use(
    members: Iterable[Membership], records: Mapping[str, AccessRecord], unused_ms: int
) -> tuple[Membership, ...]:
    """Return the members used after `unused_ms`, and all members of a group with such a member."""
    every = tuple(members)
    used = [it for it in every if last_use_ms(it, records) > unused_ms]
    ids, groups = {it.id for it in used}, {it.subcategory_id for it in used if it.subcategory_id}
    return tuple(it for it in every if it.id in ids or it.subcategory_id in groups)


def last_use_ms(member: Membership, records: Mapping[str, AccessRecord]) -> int:
    """Return the time of the last use; becoming a member is one."""
    record = records.get(member.entity_id)
    return max(member.created_ms, record.last_ms if record is not None else 0)
