"""Groups: what is about to be committed of them is what a plain reader makes of what was read.

Law 1. Members, centroids, keywords and names are worked out a second time, from the rows that were read and
the names that were given. Law 2. Whoever is in a group is near its centroid; a group is large enough, and no
two of them are near each other: that is demanded of the plan itself, whatever the plain reader says.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.effects import Commit
from umi_core.rows import Body, Category, Entity, Membership, Subcategory, Vector
from umi_core.state import Operation, State
from umi_sim.judge.invariants.relations import Rows
from umi_sim.judge.plain.groups import (
    Found,
    Old,
    Rules,
    centre_of,
    groups_of,
    keywords_of,
    name_not_taken,
    name_without_model,
    telling_words,
)
from umi_sim.judge.plain.ids import subcategory_id
from umi_sim.judge.plain.scores import vector_ppm
from umi_sim.judge.plain.text import folded
from umi_sim.record import rules
from umi_sim.services.storage import SimStorage

LOOKED_AT: Final = 1_000
RULE: Final = rules.CLUSTER_MEMBERS

Key = tuple[str, str]  # kind and id of a row
Bodies = dict[Key, Body | None]


class Reading(NamedTuple):
    """What an operation has read of its category; entities, vectors and groups by id."""

    category: Category
    members: Sequence[Membership]
    entities: Mapping[str, Entity]
    vectors: Mapping[str, tuple[int, ...]]
    groups: Mapping[str, Subcategory]

    def seen(self) -> list[str]:
        return sorted(it.entity_id for it in self.members)[:LOOKED_AT]


def check_grouping(operation: Operation, commit: Commit, state: State) -> None:
    """The commit of this operation, if it is one that puts members into groups."""
    if operation.workflow == "evolve_category":
        check_evolution(operation.facts, commit, state)
    elif operation.workflow == "memorize":
        check_assignment(operation.facts, commit, state)


def check_assignment(facts: Mapping[str, Any], commit: Commit, state: State) -> None:
    """A member that is written is in the group that is nearest to its new vector, if that is near enough."""
    changed = [draft.entity for draft in facts["evolved"] if draft.change != "unchanged"]
    vectors = {it.id: vector for it, vector in zip(changed, facts["vectors"], strict=True) if vector}
    said = {draft.entity.id: draft.entity.content for draft in facts["evolved"]}
    floor_ppm = state.config.assign_ppm
    for it in (write.body for write in commit.writes):
        if isinstance(it, Membership):
            vector = vectors.get(it.entity_id, ())
            homes = [home for home in facts["homes"] if home.category_id == it.category_id]
            near = sorted((-vector_ppm(vector, home.centroid), home.id) for home in homes)
            near = [] if not near or -near[0][0] < floor_ppm else near[:1]
            due = (near[0][1], -near[0][0]) if near else (None, None)
            got = (it.subcategory_id, it.confidence_ppm)
            demand(due == got, RULE, f"the group that {it.entity_id} is put into", due, got)
            words = [word for home in homes if home.id == due[0] for word in home.keywords]
            wanted = tuple(word for word in words if word in telling_words(said[it.entity_id]))
            told = f"keywords that {it.entity_id} has"
            demand(wanted == it.keywords_matched, RULE, told, wanted, it.keywords_matched)


def check_evolution(facts: Mapping[str, Any], commit: Commit, state: State) -> None:
    """Of a commit that divides a category: groups, members and names are what was read and answered."""
    reading, config = reading_of(facts), state.config
    before, due = rows_before(reading), rows_due(reading, facts, state)
    after = before | {(it.address.kind, it.address.id): it.body for it in commit.writes}
    check_bounds(reading, after, config)
    for key in due:
        wanted, got = timeless(due[key]), timeless(after.get(key))
        demand(wanted == got, RULE, f"{key[0]} {key[1]} as {reading.category.name} is divided", wanted, got)
    strange = [key for key in after if key not in due and key[0] in ("membership", "subcategory", "vector")]
    demand(not strange, RULE, f"rows of {reading.category.name} that no division gives", (), strange)


def reading_of(facts: Mapping[str, Any]) -> Reading:
    bodies = [row.body for row in facts["contents"]]
    return Reading(
        facts["home"].body,
        [row.body for row in facts["members"] if row.body is not None],  # of a damaged one nothing is known
        {it.id: it for it in bodies if isinstance(it, Entity)},
        {it.entity_id: it.components for it in bodies if isinstance(it, Vector)},
        {it.id: it for it in bodies if isinstance(it, Subcategory)},
    )


def rows_before(reading: Reading) -> Bodies:
    rows: Bodies = {("membership", it.id): it for it in reading.members}
    rows |= {("subcategory", key): it for key, it in reading.groups.items()}
    vectors = {key: reading.vectors[key] for key in reading.groups if key in reading.vectors}
    return rows | {("vector", key): Vector(key, 1, it) for key, it in vectors.items()}


def rows_due(reading: Reading, facts: Mapping[str, Any], state: State) -> Bodies:
    """What every row of the category has to be, its own row aside."""
    config, seen = state.config, reading.seen()
    vectors = {key: reading.vectors[key] for key in seen if key in reading.vectors}
    vectors = {key: it for key, it in vectors.items() if len(it) == config.embedding_dims}
    found = groups_of(
        vectors, [old_of(it, reading) for it in reading.groups.values()], rules_of(config),
        afresh=facts["request"].force,
    )  # fmt: skip
    rows: Bodies = {(kind, key): None for key in reading.groups for kind in ("subcategory", "vector")}
    homes: dict[str, tuple[Subcategory, int]] = {}
    for row, group in named(founded(found, reading), facts["names"], reading, state):
        centre = centre_of(group.members, vectors)
        rows["subcategory", row.id], rows["vector", row.id] = row, Vector(row.id, 1, centre)
        homes |= {key: (row, vector_ppm(vectors[key], centre)) for key in group.members}
    for it in reading.members:
        is_kept = it.entity_id not in seen and rows.get(("subcategory", it.subcategory_id or "")) is not None
        rows["membership", it.id] = it if is_kept else placed(it, homes.get(it.entity_id), reading)
    return rows


def rules_of(config: Config) -> Rules:
    size_min, count_max = config.cluster_size_min, config.subcategory_count_max
    return Rules(config.cluster_ppm, config.merge_ppm, size_min, count_max)


def old_of(group: Subcategory, reading: Reading) -> Old:
    members = tuple(it.entity_id for it in reading.members if it.subcategory_id == group.id)
    return Old(group.id, group.created_ms, reading.vectors.get(group.id, ()), members)


def founded(found: Sequence[Found], reading: Reading) -> list[tuple[Found, str]]:
    """Each with the member that it began with; a new one that nobody is left to begin is none."""
    begun = {it.old.id: reading.groups[it.old.id].founder_id for it in found if it.old}
    taken, groups = list(begun.values()), list[tuple[Found, str]]()
    for it in found:
        free = [key for key in it.members if key not in taken]
        if it.old or free:
            founder = begun[it.old.id] if it.old else free[0]
            taken.append(founder)
            groups.append((it, founder))
    return groups


def named(
    found: Sequence[tuple[Found, str]], given: Sequence[str], reading: Reading, state: State
) -> list[tuple[Subcategory, Found]]:
    """The groups as rows; the names that a model has given are those of the new ones, in their order."""
    known = [reading.groups[it.old.id].name for it, _ in found if it.old]
    rows, told, home, now_ms = (
        list[tuple[Subcategory, Found]](),
        list(given),
        reading.category.id,
        state.seen_ms,
    )
    for it, founder in found:
        words = keywords_of([reading.entities[key].content for key in it.members if key in reading.entities])
        if it.old:
            own, name, by = it.old.id, reading.groups[it.old.id].name, reading.groups[it.old.id].named_by
        else:
            own, by_model = subcategory_id(state.scope, home, founder), told.pop(0) if told else ""
            name = name_not_taken(by_model or name_without_model(words, founder), known)
            known.append(name)
            by = "model" if by_model else "keywords"
        rows.append((Subcategory(own, home, founder, name, by, words, now_ms, now_ms), it))
    return rows


def placed(it: Membership, home: tuple[Subcategory, int] | None, reading: Reading) -> Membership:
    first = (it.id, it.entity_id, it.entity_version, it.category_id, it.assigned_by, it.created_ms)
    if home is None:
        return Membership(*first)
    entity = reading.entities.get(it.entity_id)
    said = telling_words(entity.content) if entity else []
    return Membership(*first, home[0].id, home[1], tuple(word for word in home[0].keywords if word in said))


def timeless(body: object) -> object:
    """Without the times of its making and change, which are judged elsewhere."""
    if not isinstance(body, Subcategory):
        return body
    return body.id, body.category_id, body.founder_id, body.name, body.named_by, body.keywords


def check_bounds(reading: Reading, rows: Bodies, config: Config) -> None:
    """What must hold of groups whoever made them."""
    groups = {it.id: it for it in rows.values() if isinstance(it, Subcategory)}
    most = config.subcategory_count_max
    demand(len(groups) <= most, RULE, f"groups of {reading.category.name}", most, len(groups))
    names = [folded(it.name) for it in groups.values()]
    demand(len(names) == len(set(names)), rules.UNIQUE_ROWS, "two groups have one name", "", names)
    vectors = {it.entity_id: it.components for it in rows.values() if isinstance(it, Vector)}
    for one, other in combinations(groups, 2):
        ppm = vector_ppm(vectors[one], vectors[other])
        demand(ppm < config.merge_ppm, RULE, f"{one} and {other} are one group", config.merge_ppm, ppm)
    seen, members = reading.seen(), [it for it in rows.values() if isinstance(it, Membership)]
    for key in groups:
        own = [it.entity_id for it in members if it.subcategory_id == key and it.entity_id in seen]
        least = config.cluster_size_min
        demand(len(own) >= least, RULE, f"members of {key}", least, own)
        near = {it: vector_ppm(reading.vectors.get(it, ()), vectors[key]) for it in own}
        far = [it for it, ppm in near.items() if ppm < config.cluster_ppm]
        demand(not far, RULE, f"members of {key} that are not near it", config.cluster_ppm, far)


def check_groups(rows: Rows) -> None:
    """Of all rows: a category lists its groups, and who is in one of them is a member of that category."""
    for key, it in rows.groups.items():
        own, home = (
            subcategory_id(rows.scope, it.category_id, it.founder_id),
            rows.categories.get(it.category_id),
        )
        demand(key == own, rules.UNIQUE_ROWS, "a group under another id than its founder gives", own, key)
        is_listed = home is not None and key in home.subcategory_ids
        demand(is_listed, rules.EDGE_SCOPE, f"{key} is a group of a category that does not list it")
        demand(key in rows.vectors, rules.INDEX_FOLLOWS_ROW, f"{key} has no centroid")
    for category in rows.categories.values():
        lost = [key for key in category.subcategory_ids if key not in rows.groups]
        demand(not lost, rules.EDGE_SCOPE, f"groups of {category.name} that are not there", (), lost)
    for member in rows.memberships.values():
        place, group = member.subcategory_id, rows.groups.get(member.subcategory_id or "")
        is_there = place is None or (group is not None and group.category_id == member.category_id)
        demand(is_there, rules.EDGE_SCOPE, f"{member.id} is in a group that its category has not", "", member)
        is_whole = (member.confidence_ppm is None) == (place is None)
        told = f"how near {member.id} is to its group"
        demand(is_whole, rules.DERIVED_FOLLOWS_SOURCE, told, "", member)


def check_dues(storage: SimStorage, state: State, *, is_sure: bool) -> None:
    """A life that has just recovered wants to divide the categories that are not as they were divided.

    `is_sure`: no row can have come back damaged, which counts as none.
    """
    config, interval_ms = state.config, state.config.evolution_interval_ms
    categories = [it for row in storage.live_rows(state.scope) if isinstance(it := row.body, Category)]
    due = {
        it.name: interval_ms + (it.created_ms if it.evolved_ms is None else it.evolved_ms)
        for it in categories
        if (it.member_count >= config.cluster_size_min or it.subcategory_ids) and not it.evolved_digest
    }
    due = due if config.auto_evolution else {}
    got = dict(state.tiers.dues)
    strange = {name: at_ms for name, at_ms in got.items() if due.get(name) != at_ms}
    demand(not strange, rules.RESTART_KEEPS_DUES, "what is due after a restart and was not", due, strange)
    lost = [name for name in due if name not in got] if is_sure else []
    demand(not lost, rules.RESTART_KEEPS_DUES, "what was due and is not after a restart", due, got)
