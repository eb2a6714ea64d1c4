"""Clustering: divides the members of a category into groups of similar members.

Law 1. All arithmetic is pure and in whole numbers; the order of the input does not matter. Law 2. A known
group continues while enough members are near its centroid. Law 3. In the end every grouped member is near the
centroid of its group, every group is large enough, and no two groups are near each other.

    assign      members near the centroid of a known group join it
    form        of the rest, the member with the most neighbours forms a group with these, repeatedly
    merge       two groups near each other become one
    settle      the member farthest from the new centroid leaves its group if it is not near enough
    dissolve    a group that has become too small is dropped; repeat from merge until nothing changes

Law 4. A group is in use if any of its members is: one used member keeps all of them in use.
Law 5. A member without a group is in use only by its own use, so an unused dissolved group does not return.
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

    `near_ppm`: the least relevance at which members belong together; `merge_ppm`: the least at which two
    groups are merged. A group has at least `size_min` members, and at most `count_max` groups are kept.
    """

    near_ppm: int
    merge_ppm: int
    size_min: int
    count_max: int


class KnownGroup(Data):
    """A group of an earlier division; `member_ids`: its current members."""

    id: str
    created_ms: int
    centroid: Vector
    member_ids: tuple[str, ...] = ()

    @property
    def age(self) -> tuple[int, str]:
        """Return a sort key by which the older group comes first."""
        return self.created_ms, self.id


class Cluster(Data):
    """A group of the new division: the known group that it continues, if any, and its members in order."""

    known: KnownGroup | None
    member_ids: tuple[str, ...]
    centroid: Vector


def clusters(members: Vectors, known: Sequence[KnownGroup], bounds: Bounds, *, afresh: bool) -> list[Cluster]:
    """Return the groups, the largest first; with `afresh` they are formed without known groups, and matched
    with these afterwards.

    All vectors have one length. The number of rounds is bounded only by the number of members, so each round
    compares only groups that have changed, and at most SUBCATEGORY_COUNT_MAX new groups are formed.
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
    """A group in progress. `places`: indices of its members, in order of id. `is_settled`: it has not changed
    since it was compared with all other groups and with its members."""

    known: KnownGroup | None
    places: Sequence[int]
    centroid: Centroid
    is_settled: bool = False

    def rank(self) -> tuple[int, bool, tuple[int, str]]:
        """Return a sort key by which the larger group comes first, then the older one."""
        return -len(self.places), self.known is None, self.known.age if self.known else (self.places[0], "")


def divide_members(space: MemberVectors, known: Iterable[KnownGroup], bounds: Bounds) -> list[GroupDraft]:
    assigned = assign_members(space, known, bounds.near_ppm)
    drafts = [GroupDraft(it, places, space.centroid(places)) for it, places in assigned]
    taken = {place: None for _, places in assigned for place in places}
    free = [place for place in range(space.count) if place not in taken]
    # Computed once: forming only removes members, which does not change relevances between the others.
    near = space.neighbours(free, bounds.near_ppm)
    drafts += [
        GroupDraft(None, places, space.centroid(places)) for places in form_groups(near, bounds.size_min)
    ]
    # The loop ends: each round merges groups, removes members for good, or settles all groups.
    while not all(it.is_settled for it in drafts):
        drafts = merge_groups(drafts, space, bounds.merge_ppm)
        drafts = [it if it.is_settled else settle_group(it, space, bounds.near_ppm) for it in drafts]
        drafts = [it for it in drafts if len(it.places) >= bounds.size_min]
    return drafts


# Assign and form.


def nearest_known(
    vector: Vector, known: Iterable[tuple[str, Vector]], floor_ppm: int
) -> tuple[str, int] | None:
    """Return the id and relevance of the most similar centroid; None if below `floor_ppm`; ties by id."""
    scores = [(vector_relevance_ppm(vector, centroid), key) for key, centroid in known]
    best = min(scores, key=lambda it: (-it[0], it[1]), default=None)
    return (best[1], best[0]) if best is not None and best[0] >= floor_ppm else None


def assign_members(
    space: MemberVectors, known: Iterable[KnownGroup], floor_ppm: int
) -> list[tuple[KnownGroup, list[int]]]:
    """Return the known groups that have near members, with the places of these; ties by id."""
    groups = sorted((it for it in known if len(it.centroid) == space.dims), key=lambda it: it.id)
    found: dict[int, list[int]] = {}
    for place, (ppm, at) in enumerate(space.nearest([it.centroid for it in groups]) if groups else ()):
        if ppm >= floor_ppm:
            found.setdefault(at, []).append(place)
    return [(groups[at], places) for at, places in found.items()]


def form_groups(near: Mapping[int, Sequence[int]], size_min: int) -> Iterator[Sequence[int]]:
    """Yield groups: each time the free member with the most free neighbours, together with these.

    Stop when the next group would have fewer than `size_min` members. Ties by id.
    """
    for _ in range(SUBCATEGORY_COUNT_MAX):
        # `max` returns the first maximum, and places are in order of id.
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
    """Merge the two nearest groups into the one of better rank, while any two are near; ties by rank.

    Two settled groups are not compared again; at least one group is not settled.
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
    """Return the group as settled if its farthest member is near enough, else without it; ties by id."""
    scores = space.relevances_ppm(draft.places, draft.centroid)
    worst_ppm = min(scores)
    if worst_ppm >= floor_ppm:
        return structs.replace(draft, is_settled=True)
    at = scores.index(worst_ppm)
    places = [*draft.places[:at], *draft.places[at + 1 :]]
    return GroupDraft(draft.known, places, space.centroid(places))


def inherit_groups(found: Sequence[Cluster], known: Sequence[KnownGroup]) -> list[Cluster]:
    """Let each known group continue as the one new group with most of its members; ties go to the older."""
    pairs = [
        (-len(shared), group.age, cluster.member_ids)
        for cluster in found
        for group in known
        if (shared := [key for key in cluster.member_ids if key in group.member_ids])
    ]
    groups, continued = {it.age: it for it in known}, dict[tuple[str, ...], KnownGroup]()
    # Most shared members first, then the older group.
    for _, age, ids in sorted(pairs):
        if age in groups and ids not in continued:
            continued[ids] = groups.pop(age)
    return [structs.replace(it, known=continued.get(it.member_ids)) for it in found]


# Decay: which members of a category are in use.


def in_use(
    members: Iterable[Membership], records: Mapping[str, AccessRecord], unused_ms: int
) -> tuple[Membership, ...]:
    """Return the members used after the time `unused_ms`, and all members of groups with such a member."""
    every = tuple(members)
    used = [it for it in every if last_use_ms(it, records) > unused_ms]
    ids, groups = {it.id for it in used}, {it.subcategory_id for it in used if it.subcategory_id}
    return tuple(it for it in every if it.id in ids or it.subcategory_id in groups)


def last_use_ms(member: Membership, records: Mapping[str, AccessRecord]) -> int:
    """Return the time of the last use; becoming a member counts as a use."""
    record = records.get(member.entity_id)
    return max(member.created_ms, record.last_ms if record is not None else 0)
