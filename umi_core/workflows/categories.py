"""Categories: summarise writes the summary of a category, evolve_category divides its members into groups.

Laws of summarise. 1. `summary_sources` are exactly the facts, with their versions, that the model was shown.
2. If members were only added, the model sees the old summary and the new members. If a member was changed or
removed, it sees all members without the old summary, so nothing of the removed one survives. 3. If the model
fails, the old summary stays, marked as out of date (`summary_dirty`).

Laws of evolve_category. 1. If no member has changed since the last division, no model is asked and nothing is
written. 2. Groups follow from vectors alone; a model only names them, and if it fails, keywords name them.
3. All rows change in one commit, or none does. 4. No member leaves the category: a member may have no group.
5. Members that have not been used for long are not grouped.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from msgspec import structs

from umi_core.codec import encode
from umi_core.conditions import Condition
from umi_core.data import Data
from umi_core.domains import Components, EntityId, Texts, Word
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    Law,
    Learned,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    degrade,
    learn_rows,
    retry,
)
from umi_core.ids import category_id, subcategory_id
from umi_core.language.keywords import Unnamed, free_name, keywords, name_of, parse_name
from umi_core.language.prompts import ask_name, ask_summary
from umi_core.language.summaries import Unwritten, parse_summary
from umi_core.limits import (
    EVOLVE_COMPONENT_COUNT_MAX,
    EVOLVE_MEMBER_COUNT_MAX,
    NAMED_CONTENT_COUNT_MAX,
    SUMMARY_MEMBER_COUNT_MAX,
)
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByIds, Embed, Read, Write
from umi_core.messages.requests import EvolveCategory, Summarise
from umi_core.messages.results import Evolved, Group, Summarised
from umi_core.policies import clustering
from umi_core.policies.clustering import Bounds, Cluster, KnownGroup, Vectors, in_use
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.rows import Category, Entity, Membership, Row, Subcategory, Vector, bodies_of, body_as
from umi_core.text import norm
from umi_core.tiers import schedule
from umi_core.values import Scope
from umi_core.workflows.commits import PLAN, REPLY, SETTLE, Plan, address, ask_if_any, commit_row, put
from umi_core.workflows.drafting import statement_of
from umi_core.workflows.linking import (
    NO_GROUP,
    VECTOR,
    GroupMatch,
    describe_category,
    group_addresses,
    match_keywords,
    take_vector,
    vector_row,
    with_group,
)

# Both workflows begin by reading the category and its memberships.


ABOUT: Final = Fact("request", Summarise | EvolveCategory)
CATEGORY: Final = Fact("category", Row | None)
MEMBERS: Final = Fact("members", tuple[Row, ...])  # the memberships of the category


def own_id(facts: Facts, view: View) -> str:
    return category_id(view.scope, facts[ABOUT].category)


def claim_category(facts: Facts, view: View) -> tuple[str, ...]:
    return (own_id(facts, view),)


def ask_category(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "category", own_id(facts, view)),)))


def take_category(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(CATEGORY(next(iter(answer.rows), None)))


def category_of(facts: Facts) -> Category | None:
    return body_as(facts[CATEGORY], Category)


def ask_members(facts: Facts, view: View) -> Read | None:
    if facts[CATEGORY] is None:
        return None
    where = (Condition("category_id", "eq", own_id(facts, view)),)
    return Read(ByFilter(view.scope, ("membership",), where))


SUMMARISED: Final = Fact("request", Summarise)
SHOWN: Final = Fact("contents", tuple[Row, ...])  # the facts to summarise, the last updated first
TEXT: Final = Fact("text", str | None)  # the new summary; None if the old one stays

End = tuple[str, int]


def ask_shown(facts: Facts, view: View) -> Read | None:
    ids = [it.entity_id for it in bodies_of(facts[MEMBERS], Membership)]
    return Read(ByIds(tuple(address(view.scope, "entity", key) for key in ids))) if ids else None


def take_shown(facts: Facts, answer: ReadDone, view: View) -> Learned:
    found = [(row, row.body) for row in answer.rows]
    dated = [(-body.updated_ms, row.address.id, row) for row, body in found if isinstance(body, Entity)]
    rows = [row for _, _, row in sorted(dated, key=lambda it: it[:2])]
    left_out = max(0, len(rows) - SUMMARY_MEMBER_COUNT_MAX)
    partial = (("partial", "too_many", left_out),) if left_out else ()
    return Learned(SHOWN(tuple(rows[:SUMMARY_MEMBER_COUNT_MAX])), degraded=partial)


# ask: with the old summary, if all facts from which it was made are still current members.


def sources_of(facts: Facts) -> dict[End, Entity]:
    return {(it.id, it.version): it for it in bodies_of(facts[SHOWN], Entity)}


def ask_summary_of(facts: Facts, view: View) -> AskModel | None:
    category, current = category_of(facts), sources_of(facts)
    if category is None or not current or current.keys() == dict.fromkeys(category.summary_sources).keys():
        return None
    # Law 2: after a forget, the model would repeat what the old summary says about the forgotten fact.
    is_added_to = bool(category.summary) and all(end in current for end in category.summary_sources)
    known = category.summary_sources if is_added_to else ()
    new = tuple(statement_of(it) for end, it in current.items() if end not in known)
    old = category.summary if is_added_to else None
    return AskModel("summarise_category", ask_summary(category.name, category.description, old, new))


def take_text(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if answer is None:
        category = category_of(facts)
        return Learned(TEXT(category.summary if category is not None and sources_of(facts) else ""))
    text = parse_summary(answer.text)
    if isinstance(text, Unwritten):
        return Unusable(text.reason)
    return Learned(TEXT(text))


# embed_summary: a category is found by the vector of its summary.


def ask_vector(facts: Facts, view: View) -> Embed | None:
    category, text = category_of(facts), facts[TEXT]
    if category is None or text is None or text == category.summary:
        return None
    return Embed((describe_category(category.name, category.description, text),))


# plan.


def take_summary(facts: Facts, answer: None, view: View) -> Learned:
    row, category, text = facts[CATEGORY], category_of(facts), facts[TEXT]
    if row is None or category is None:
        return Learned(PLAN(Plan(view.now_ms, value=show_summary(None))))
    if text is None:  # the model failed: the reply says that the summary is out of date
        return Learned(
            PLAN(Plan(view.now_ms, value=show_summary(structs.replace(category, summary_dirty=True))))
        )
    after = structs.replace(
        category, summary=text, summary_sources=tuple(sorted(sources_of(facts))), summary_dirty=False
    )
    if after == category:
        return Learned(PLAN(Plan(view.now_ms, value=show_summary(category))))
    after = structs.replace(after, updated_ms=view.now_ms)
    writes = [put(view.scope, "category", after.id, after)]
    if text != category.summary:
        writes.append(vector_row(after.id, facts[VECTOR], view.scope))
    plan = Plan(view.now_ms, tuple(writes), value=show_summary(after))
    return Learned(PLAN(plan))


def show_summary(category: Category | None) -> Summarised:
    if category is None:
        return Summarised("", (), False)
    return Summarised(category.summary, category.summary_sources, category.summary_dirty)


SUMMARISE: Final = Workflow(
    "summarise",
    given=(SUMMARISED,),
    steps=(
        Step("category", requires=(SUMMARISED,), produces=(CATEGORY,), claims=claim_category,
             **asks(Read, ask_category, take_category, retry(3))),
        Step("members", requires=(SUMMARISED, CATEGORY), produces=(MEMBERS,), loose=("membership",),
             **asks(Read, ask_members, learn_rows(MEMBERS), retry(3))),
        Step("contents", requires=(MEMBERS,), produces=(SHOWN,), loose=("entity",),
             **asks(Read, ask_shown, take_shown, retry(3))),
        Step("ask", requires=(CATEGORY, SHOWN), produces=(TEXT,),
             **asks(AskModel, ask_summary_of, take_text, retry(2, then=degrade("old_summary", TEXT(None))))),
        Step("embed_summary", requires=(CATEGORY, TEXT), produces=(VECTOR,),
             **asks(Embed, ask_vector, take_vector, retry(2, then=degrade("no_vectors", VECTOR(None))))),
        Step("plan", requires=(CATEGORY, SHOWN, TEXT, VECTOR), produces=(PLAN,), take=take_summary),
        commit_row(replan="category", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip


# evolve_category.


LOOSE: Final = ("entity", "membership")  # not expected: a change of members also writes the category row
SPARED: Final = ("entity", "vector", "subcategory")  # damaged rows of these kinds are left out
NEVER_MS: Final = -1  # earlier than any use
RULES: Final = 2  # version of the rules of division; a new version divides every category again

REQUEST: Final = Fact("request", EvolveCategory)
CONTENTS: Final = Fact("contents", tuple[Row, ...])  # facts and vectors of the members, and known groups


class Newcomer(Data):
    """A new group, which needs a name; `contents`: the contents of a few of its members."""

    founder_id: EntityId
    keywords: Texts
    contents: Texts


class PlannedGroup(Data):
    """A group of a division. `founder_id`: the member from which its id is made; `known_id`: the stored group
    that it continues, None if it is new."""

    founder_id: EntityId
    member_ids: Texts
    centroid: Components
    known_id: EntityId | None


class Division(Data):
    """The groups of a category, the largest first. `digest`: of the input from which they were made."""

    parts: tuple[PlannedGroup, ...]
    digest: Word


DIVISION: Final = Fact("division", Division | None)  # None: no member has changed
NEWCOMERS: Final = Fact("newcomers", tuple[Newcomer, ...])
NAMES: Final = Fact("names", tuple[str, ...])  # one for each newcomer; empty if no model gave a name


# category, members and contents: read the category with its members and groups.


def take_due_category(facts: Facts, answer: ReadDone, view: View) -> Learned:
    """Learn the category; remove it from the schedule if it is missing or has been divided since."""
    learned = take_category(facts, answer, view)
    category = next(iter(bodies_of(answer.rows, Category)), None)
    if category is None or schedule.due_ms(category, view.config) is None:
        view.tiers.divisions = schedule.without(view.tiers.divisions, facts[REQUEST].category)
    return learned


def memberships_of(facts: Facts) -> list[Membership]:
    """Return the memberships, ordered by entity id."""
    return sorted(bodies_of(facts[MEMBERS], Membership), key=lambda it: it.entity_id)


def looked_at(facts: Facts, view: View) -> list[str]:
    """Return the ids of the members to divide: the first ones, as many as one step can divide.

    The step blocks all other operations, and its time grows with the count times the length of the vectors.
    """
    count = min(EVOLVE_MEMBER_COUNT_MAX, EVOLVE_COMPONENT_COUNT_MAX // view.config.embedding_dims)
    return [it.entity_id for it in memberships_of(facts)[:count]]


def ask_contents(facts: Facts, view: View) -> Read | None:
    category, ids = category_of(facts), looked_at(facts, view)
    if category is None:
        return None
    wanted = [address(view.scope, kind, key) for key in ids for kind in ("entity", "vector")]
    wanted += group_addresses(category, view.scope)
    return Read(ByIds(tuple(wanted))) if wanted else None


def take_contents(facts: Facts, answer: ReadDone, view: View) -> Learned:
    have, ids = vectors_among(answer.rows, view.config.embedding_dims), looked_at(facts, view)
    sound_count, bare_count = len(memberships_of(facts)), sum(key not in have for key in ids)
    contents = (
        ("partial", "damaged", len(facts[MEMBERS]) - sound_count),
        ("partial", "no_vector", bare_count),
        ("partial", "too_many", sound_count - len(ids)),
    )
    return Learned(CONTENTS(answer.rows), degraded=tuple(it for it in contents if it[2]))


# divide: make the groups.


def vectors_of(facts: Facts, view: View) -> dict[str, Vector]:
    return vectors_among(facts[CONTENTS], view.config.embedding_dims)


def vectors_among(rows: tuple[Row, ...], dims: int) -> dict[str, Vector]:
    """Return the vectors of this length by id."""
    return {it.entity_id: it for it in bodies_of(rows, Vector) if len(it.components) == dims}


def groups_of(facts: Facts) -> dict[str, Subcategory]:
    return {it.id: it for it in bodies_of(facts[CONTENTS], Subcategory)}


def used_of(facts: Facts, view: View) -> dict[str, str | None]:
    """Return the group of each member that is in use, by entity id."""
    decay_ms = view.config.group_decay_ms
    unused_ms = view.now_ms - decay_ms if decay_ms else NEVER_MS
    used = in_use(memberships_of(facts), view.tiers.access.records, unused_ms)
    return {it.entity_id: it.subcategory_id for it in used}


def known_of(facts: Facts, used: Mapping[str, str | None], view: View) -> list[KnownGroup]:
    """Return the known groups, except those that have members but none in use."""
    vectors, groups = vectors_of(facts, view), {it.subcategory_id for it in memberships_of(facts)}
    left = groups - set(used.values())
    if not left.isdisjoint(groups_of(facts)):
        view.marks.append("evolve_category: a group is not used")
    return [
        KnownGroup(key, it.created_ms, vectors[key].components if key in vectors else (), ids)
        for key, it in groups_of(facts).items()
        if key not in left
        for ids in [tuple(entity_id for entity_id, group in used.items() if group == key)]
    ]


def members_of(facts: Facts, view: View) -> Vectors:
    vectors = vectors_of(facts, view)
    return {key: vectors[key].components for key in looked_at(facts, view) if key in vectors}


def digest_of(facts: Facts, used: Container[str], bounds: Bounds, view: View) -> str:
    """Return a digest of the input of a division, and of its rules."""
    vectors = vectors_of(facts, view)
    # Versions stand for components: a new vector has a new version.
    ends = tuple((key, vectors[key].version, key in used) for key in members_of(facts, view))
    left_count = len(facts[MEMBERS])
    inputs = (RULES, structs.astuple(bounds), ends, left_count)
    return blake2b(encode(inputs), digest_size=12).hexdigest()


def take_division(facts: Facts, answer: None, view: View) -> Learned:
    category, config, force = category_of(facts), view.config, facts[REQUEST].force
    bounds = Bounds(
        config.cluster_ppm, config.merge_ppm, config.cluster_size_min, config.subcategory_count_max
    )  # fmt: skip
    if category is None:
        return Learned(DIVISION(None) | NEWCOMERS(()))
    # Whether a member is in use is part of the digest, because it changes without a change to a row.
    used = used_of(facts, view)
    digest = digest_of(facts, used, bounds, view)
    # The same digest as at the last division gives the same groups.
    if digest == category.evolved_digest and not force:
        view.marks.append("evolve_category: unchanged")
        return Learned(DIVISION(None) | NEWCOMERS(()))
    members = {key: vector for key, vector in members_of(facts, view).items() if key in used}
    clusters = clustering.clusters(members, known_of(facts, used, view), bounds, afresh=force)
    division = Division(tuple(parts_of(clusters, facts)), digest)
    kinds = dict.fromkeys("goes on" if it.known_id else "begins" for it in division.parts)
    view.marks += [f"evolve_category: a group {kind}" for kind in kinds]
    return Learned(DIVISION(division) | NEWCOMERS(newcomers(division, facts)))


def parts_of(clusters: Sequence[Cluster], facts: Facts) -> Iterator[PlannedGroup]:
    """Yield each cluster as a group with its founder.

    A new group is founded by its first member that founds no other group; without one it is left out.
    """
    founders = {key: it.founder_id for key, it in groups_of(facts).items()}
    # The id of a group is made from its founder, so two groups never share a founder.
    taken = dict.fromkeys(founders[it.known.id] for it in clusters if it.known)
    for it in clusters:
        free = next((key for key in it.member_ids if key not in taken), None)
        founder = founders[it.known.id] if it.known else free
        if founder is not None:
            taken[founder] = None
            yield PlannedGroup(founder, it.member_ids, it.centroid, it.known.id if it.known else None)


def newcomers(division: Division, facts: Facts) -> tuple[Newcomer, ...]:
    new = [it for it in division.parts if it.known_id is None]
    news = [texts_of(it, facts) for it in new]
    return tuple(
        Newcomer(it.founder_id, keywords(texts), tuple(texts[:NAMED_CONTENT_COUNT_MAX]))
        for it, texts in zip(new, news, strict=True)
    )


def texts_of(part: PlannedGroup, facts: Facts) -> list[str]:
    contents = contents_of(facts)
    return [contents[key] for key in part.member_ids if key in contents]


def contents_of(facts: Facts) -> dict[str, str]:
    return {it.id: it.content for it in bodies_of(facts[CONTENTS], Entity)}


# name: each new group.


def ask_one_name(facts: Facts, view: View) -> AskModel | None:
    it = facts.unit(NEWCOMERS)
    if not view.config.name_by_model:
        return None
    return AskModel("name_subcategory", ask_name(facts[REQUEST].category, it.keywords, it.contents))


def take_one_name(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if answer is None:
        return Learned(NAMES.unit(""))
    name = parse_name(answer.text)
    return Unusable(name.reason) if isinstance(name, Unnamed) else Learned(NAMES.unit(name))


# plan.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    category, division = category_of(facts), facts[DIVISION]
    before = memberships_of(facts)
    if category is None or division is None:
        known = category.subcategory_ids if category is not None else ()
        groups = [it for key in known if (it := groups_of(facts).get(key))]
        return Learned(PLAN(Plan(view.now_ms, value=build_reply("unchanged", groups, before))))
    groups = list(groups_after(category, division, facts, view))
    after = [
        with_group(it, place) for it, place in zip(before, places(division, groups, facts, view), strict=True)
    ]
    writes = changes(category, groups, after, division, facts, view)
    if any(it.address.kind == "subcategory" and it.body is None for it in writes):
        view.marks.append("evolve_category: a group is gone")
    changed = structs.replace(
        category, subcategory_ids=tuple(it.id for it in groups), evolved_digest=division.digest
    )  # fmt: skip
    # Compared before the times are set: a division that changes nothing else writes nothing.
    if not writes and changed == category:
        return Learned(PLAN(Plan(view.now_ms, value=build_reply("unchanged", groups, after))))
    changed = structs.replace(changed, evolved_ms=view.now_ms, updated_ms=view.now_ms)
    writes += (put(view.scope, "category", changed.id, changed),)
    plan = Plan(view.now_ms, writes, value=build_reply("updated", groups, after))
    return Learned(PLAN(plan))


def build_reply(change: str, groups: Sequence[Subcategory], members: Sequence[Membership]) -> Evolved:
    counts = Counter(it.subcategory_id for it in members)
    return Evolved(
        change, tuple(Group(it.id, it.name, it.keywords, counts[it.id]) for it in groups), counts[None]
    )  # fmt: skip


def groups_after(category: Category, division: Division, facts: Facts, view: View) -> Iterator[Subcategory]:
    """Yield the rows of the groups: known groups keep their names, each new group gets a unique name."""
    groups, parts, names = groups_of(facts), division.parts, facts[NAMES]
    given = iter(names)
    taken = {norm(groups[it.known_id].name): None for it in parts if it.known_id}
    for it in parts:
        words = keywords(texts_of(it, facts))
        if it.known_id:
            old = groups[it.known_id]
            is_same = old.keywords == words
            yield old if is_same else structs.replace(old, keywords=words, updated_ms=view.now_ms)
            continue
        by_model = next(given)
        name = free_name(by_model or name_of(words, it.founder_id), taken)
        taken[norm(name)] = None
        key, by = subcategory_id(view.scope, category.id, it.founder_id), "model" if by_model else "keywords"
        yield Subcategory(key, category.id, it.founder_id, name, by, words, view.now_ms, view.now_ms)


def places(
    division: Division, groups: Sequence[Subcategory], facts: Facts, view: View
) -> Iterator[GroupMatch]:
    """Yield the group of each membership; a member that was not divided keeps its group while that exists."""
    vectors, contents, seen = (
        vectors_of(facts, view),
        contents_of(facts),
        dict.fromkeys(looked_at(facts, view)),
    )
    placed = {
        key: (group, it.centroid)
        for it, group in zip(division.parts, groups, strict=True)
        for key in it.member_ids
    }
    living = {group.id: None for group in groups}
    for it in memberships_of(facts):
        if it.entity_id in placed and it.entity_id in vectors:  # no vector: `embedding_dims` may have changed
            group, centroid = placed[it.entity_id]
            near_ppm = vector_relevance_ppm(vectors[it.entity_id].components, centroid)
            yield GroupMatch(
                group.id, near_ppm, match_keywords(contents.get(it.entity_id, ""), group.keywords)
            )
        elif it.entity_id not in seen and it.subcategory_id in living:
            yield GroupMatch(it.subcategory_id, it.confidence_ppm, it.keywords_matched)
        else:
            yield NO_GROUP


def changes(
    category: Category,
    groups: Sequence[Subcategory],
    members: Sequence[Membership],
    division: Division,
    facts: Facts,
    view: View,
) -> tuple[Write, ...]:
    """Return the writes of all rows that differ from those read, except the row of the category."""
    old_groups, vectors, before = groups_of(facts), vectors_of(facts, view), memberships_of(facts)
    living = {group.id: part for group, part in zip(groups, division.parts, strict=True)}
    centroids = {key: it.components for key, it in vectors.items()}
    # By the ids in the category row, so that the rows of a damaged group are deleted, too.
    removed = [key for key in category.subcategory_ids if key not in living]
    return (
        *(put(view.scope, "subcategory", it.id, it) for it in groups if it != old_groups.get(it.id)),
        *(
            vector_row(key, it.centroid, view.scope)
            for key, it in living.items()
            if centroids.get(key) != it.centroid
        ),
        *(put(view.scope, kind, key, None) for key in removed for kind in ("subcategory", "vector")),
        *(
            put(view.scope, "membership", new.id, new)
            for old, new in zip(before, members, strict=True)
            if new != old
        ),
    )


def is_of_contents(facts: Facts, scope: Scope) -> bool:
    """Check that vectors of members are as long as the centroid, and that each group was read or is new."""
    division, groups = facts[DIVISION], groups_of(facts)
    parts = division.parts if division is not None else ()
    length = {it.entity_id: len(it.components) for it in bodies_of(facts[CONTENTS], Vector)}
    return sum(it.known_id is None for it in parts) == len(facts[NEWCOMERS]) and all(
        it.known_id in (None, *groups) and all(length.get(key) == len(it.centroid) for key in it.member_ids)
        for it in parts
    )


EVOLVE_CATEGORY: Final = Workflow(
    "evolve_category",
    given=(REQUEST,),
    steps=(
        Step("category", requires=(REQUEST,), produces=(CATEGORY,), claims=claim_category,
             **asks(Read, ask_category, take_due_category, retry(3))),
        Step("members", requires=(REQUEST, CATEGORY), produces=(MEMBERS,), spares=("membership",),
             loose=LOOSE, **asks(Read, ask_members, learn_rows(MEMBERS), retry(3))),
        Step("contents", requires=(CATEGORY, MEMBERS), produces=(CONTENTS,), spares=SPARED, loose=LOOSE,
             **asks(Read, ask_contents, take_contents, retry(3))),
        Step("divide", requires=(REQUEST, CATEGORY, MEMBERS, CONTENTS), produces=(DIVISION, NEWCOMERS),
             take=take_division),
        Step("name", each=NEWCOMERS, requires=(REQUEST,), produces=(NAMES,),
             **asks(AskModel, ask_one_name, take_one_name,
                    retry(2, then=degrade("keywords", NAMES.unit(""))))),
        Step("plan", requires=(CATEGORY, MEMBERS, CONTENTS, DIVISION, NEWCOMERS, NAMES), produces=(PLAN,),
             take=take_plan),
        commit_row(replan="category", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
    laws=(Law("a division of what was read", (CONTENTS, DIVISION, NEWCOMERS), is_of_contents),),
)  # fmt: skip
