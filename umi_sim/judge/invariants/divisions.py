"""Divisions: the groups that a commit stores are those that follow from the answers to its operation.

Law 1. Rows and names are taken from the answers and not from the memory. A page with a row that was not
requested is ignored, and of a damaged row only the address is known.
Law 2. Members, centroids, keywords and names are derived a second time from these answers.
Law 3. Members of a group are near its centroid, a group is large enough, and no two groups are near each
other. This is demanded of the committed rows themselves, in addition to law 2.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from msgspec import structs

from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.ids import subcategory_id
from umi_core.language.keywords import free_name, key_words, keywords, name_of, parse_name
from umi_core.limits import EVOLVE_MEMBER_COUNT_MAX, PPM
from umi_core.messages.answers import Answer, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByIds, Commit, Done, Effect, Outcome, Read
from umi_core.messages.requests import EvolveCategory, Request
from umi_core.messages.results import Evolved, Group
from umi_core.policies.clustering import Bounds, Cluster, KnownGroup, clusters
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.rows import Address, Body, Category, Entity, Membership, Row, Subcategory, Vector
from umi_core.text import cut, norm
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.oracle.promises import is_foreign, is_left_out
from umi_sim.judge.plain.requests import is_damaged
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand
from umi_sim.services.calls import Call
from umi_sim.services.model.prompts import Inputs, inputs

# The memory divides a category in one step, without a question in between, so its work must be bounded.
COMPONENT_COUNT_MAX: Final = 2**20  # total of the vectors of the members that are considered
SHOWN: Final = 5  # keywords and contents in a question for a name
SHOWN_BYTES: Final = 200
LINKING: Final = ("memorize", "create_entity", "update_entity")  # add members to existing groups
# The steps with which a plan begins, also the second plan after a conflict.
FIRST_READS: Final = ("category", "lookup")
DIVIDED: Final = "a digest"  # stands for any digest in a comparison of rows
RULE: Final = rules.CLUSTER_MEMBERS

WHOLE: Final = ("members", "contents")  # steps whose answers may have damaged rows, without a body
NEVER_MS: Final = -1  # a time before any access

Question = tuple[tuple[str, ...], tuple[str, ...]]  # keywords and contents
Key = tuple[str, str]  # kind and id of a row
Bodies = dict[Key, Body | None]
NamedDegradation = tuple[str, str, int]  # name, reason and count; for "name:keywords" only the name
ExpectedReply = tuple[Evolved, tuple[NamedDegradation, ...]]  # a reply, and its degradations
DigestInput = tuple[dict[str, int], list[str], int]  # versions of vectors, ids in use, number of members

PARTIAL: Final = "contents:partial"


class PlanInputs(Owner):
    """The answers to an operation since it began to plan: rows by step, names by question.

    `asked`: the requested addresses. `ended`: by step, whether its last page was read. `uses`: the last
    access of each entity that the memory knew when it divided the members; `unused_ms`: entities accessed
    after this time are in use.
    """

    rows: dict[str, dict[Address, Row]] = {}
    names: dict[Question, str] = {}
    asked: dict[Address, None] = {}
    ended: dict[str, bool] = {}
    uses: dict[str, int] = {}
    unused_ms: int = NEVER_MS

    def read(self, step: str, effect: Read, answer: ReadDone) -> None:
        """Add the rows of a page, unless the memory has to read it again (law 1)."""
        if not all(is_asked_for(effect, row) for row in answer.rows):
            return
        rows = [structs.replace(row, body=None) if is_damaged(row) else row for row in answer.rows]
        if step not in WHOLE and any(row.body is None for row in rows):
            return
        query = effect.query
        # The first page replaces the rows of its step, since a second plan reads all of them again.
        if not isinstance(query, ByFilter) or query.cursor is None:
            self.rows[step] = {}
        self.rows[step] |= {row.address: row for row in rows}
        self.asked |= dict.fromkeys(query.addresses if isinstance(query, ByIds) else ())
        self.ended[step] = answer.cursor is None

    def name(self, prompt: str, answer: Answer) -> None:
        name = parse_name(answer.text) if isinstance(answer, ModelReplied) else ""
        shown = inputs(prompt)
        question = texts_of(shown, "keywords"), texts_of(shown, "contents")
        self.names[question] = name if isinstance(name, str) else ""

    def bodies(self, *steps: str) -> list[Body]:
        return [row.body for step in steps for row in self.rows.get(step, {}).values() if row.body]


def texts_of(shown: Inputs, name: str) -> tuple[str, ...]:
    """Return an input of a question for a name. Raises Broken if it is missing."""
    values = shown.get(name)
    if not isinstance(values, list):
        raise Broken(rules.CLUSTER_MEMBERS, f"input {name} of a question for a name", "a list", values)
    return tuple(values)


def is_asked_for(effect: Read, row: Row) -> bool:
    """Return True if a row fits the read by its address, the conditions, its version and its score."""
    if is_foreign(effect.query, row) or is_left_out(effect.query, row):
        return False
    return row.version >= 0 and (row.score_ppm is None or 0 <= row.score_ppm <= PPM)


class CategoryContents(Data):
    """The rows that were read of a category; entities, vectors and groups by id.

    `names`: by question. `made`: the input that the digest of the division stands for. `used`: ids of the
    members in use. `lost_count`: how many memberships could not be read.
    """

    scope: Scope
    category: Category
    members: Sequence[Membership]
    entities: Mapping[str, Entity]
    vectors: Mapping[str, tuple[int, ...]]
    groups: Mapping[str, Subcategory]
    names: Mapping[Question, str]
    made: DigestInput
    dims: int
    is_afresh: bool
    used: Sequence[str]
    lost_count: int

    def list_seen_ids(self) -> list[str]:
        # For 1,536 dims at most 2**20 // 1,536 = 682 members are considered.
        most = min(EVOLVE_MEMBER_COUNT_MAX, COMPONENT_COUNT_MAX // self.dims)
        return sorted(it.entity_id for it in self.members)[:most]


class Divisions(Observer):
    """Judges commits and replies of operations that put members into groups.

    `forced`: operations that divide a category from scratch. `expected`: by operation, the reply to each of
    its commits. `made`: by digest, the input that it stands for. `dividing`: the plan that divides its
    members in this step, after their contents were read. `replies`: those of this step.
    """

    config: Config
    plans: dict[str, PlanInputs] = {}  # by operation
    forced: dict[str, None] = {}
    expected: dict[str, list[ExpectedReply]] = {}
    made: dict[str, DigestInput] = {}
    dividing: PlanInputs | None = None
    replies: list[tuple[str, Outcome]] = []

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        if isinstance(request, EvolveCategory) and request.force:
            self.forced[op_id] = None

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        if call.workflow not in ("evolve_category", *LINKING):
            return
        if call.step in FIRST_READS:
            # category, members, contents, commit (conflict), category, ...: a second plan has only its own
            # answers.
            self.plans[call.op_id] = PlanInputs()
        plan = self.plans.setdefault(call.op_id, PlanInputs())
        match call.effect:
            case Read() as effect if isinstance(answer, ReadDone):
                plan.read(call.step, effect, answer)
                if call.step == "contents":
                    self.dividing = plan
            case AskModel(task="name_subcategory", prompt=prompt):
                plan.name(prompt, answer)
            case Commit() as commit if call.workflow in LINKING:
                check_assignment(plan, commit, self.config)
            case Commit() as commit if all(it.address.kind == "receipt" for it in commit.writes):
                pass  # nothing has changed; perhaps an earlier plan of the same operation was committed
            case Commit() as commit:
                dims, is_afresh = self.config.embedding_dims, call.op_id in self.forced
                reading = read_category(plan, scope, dims, is_afresh=is_afresh)
                rows = check_evolution(reading, commit, self.config)
                self.check_digest(reading, rows)
                reply = expect_reply(reading, rows, "updated", self.config)
                self.expected.setdefault(call.op_id, []).append(reply)

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        """Copy the last accesses of members from the memory that divides them, and judge replies.

        Rule ACC-1 judges whether these accesses are right.
        """
        plan, memory, decay_ms = self.dividing, memory_of(machine), self.config.group_decay_ms
        if plan is not None and memory is not None and decay_ms:
            state = memory.state
            plan.uses = {key: it.last_ms for key, it in state.tiers.access.records.items()}
            plan.unused_ms = state.seen_ms - decay_ms
        self.dividing = None
        while self.replies:
            self.check_reply(scope, *self.replies.pop(0))

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        self.replies.append((op_id, outcome))

    def check_reply(self, scope: Scope, op_id: str, outcome: Outcome) -> None:
        """Demand that the reply to a division reports one of its commits, or unchanged groups."""
        plan, expected = self.plans.pop(op_id, None), self.expected.pop(op_id, [])
        self.forced.pop(op_id, None)
        if not (isinstance(outcome, Done) and isinstance(outcome.value, Evolved)):
            return
        value = outcome.value
        if value.change == "unchanged":
            expected = [self.expect_unchanged(plan or PlanInputs(), scope)]
        degradations = dict(expected).get(value)
        demand(degradations is not None, RULE, f"the groups in the reply to {op_id}", expected, value)
        names, message = [it.name for it in outcome.degraded], f"the degradations of {op_id}"
        missing = [name for name, _, _ in degradations or () if name not in names]
        demand(not missing, rules.DEGRADATION_NAMED, message, missing, names)
        reported = [(it.name, it.reason, it.count) for it in outcome.degraded if it.name == PARTIAL]
        # Two commits with equal replies may miss different members; the reply may report either list.
        possible = [[it for it in each if it[0] == PARTIAL] for made, each in expected if made == value]
        demand(reported in possible, rules.DEGRADATION_NAMED, message, possible, reported)

    def check_digest(self, reading: CategoryContents, rows: Bodies) -> None:
        """Demand that a digest always stands for the same members, and that these are not divided again."""
        category, after = reading.category, rows["category", reading.category.id]
        assert isinstance(after, Category)
        # If the stored digest stands for exactly these members, a division would change nothing.
        is_new = reading.is_afresh or self.made.get(category.evolved_digest) != reading.made
        demand(is_new, rules.REPEAT_SAME_ROWS, f"{category.name} is divided again, with the same members")
        before = self.made.setdefault(after.evolved_digest, reading.made)
        message = f"members of {category.name} with the digest {after.evolved_digest}"
        demand(before == reading.made, RULE, message, before, reading.made)

    def expect_unchanged(self, plan: PlanInputs, scope: Scope) -> ExpectedReply:
        """Return the reply to a division without changes; the members must be those of the last division."""
        if not plan.rows.get("category"):
            return Evolved("unchanged"), ()
        reading = read_category(plan, scope, self.config.embedding_dims, is_afresh=False)
        name, digest = reading.category.name, reading.category.evolved_digest
        is_same = bool(digest) and self.made.get(digest, reading.made) == reading.made
        demand(is_same, RULE, f"{name} has other members than it was divided with, and is not divided again")
        return expect_reply(reading, rows_before(reading), "unchanged", self.config)


# New members.


def check_assignment(plan: PlanInputs, commit: Commit, config: Config) -> None:
    """Demand that a new member is in the group nearest to its vector, if that is near enough."""
    written = [write.body for write in commit.writes]
    vectors = {it.entity_id: it.components for it in written if isinstance(it, Vector)}
    contents = {it.id: it.content for it in written if isinstance(it, Entity)}
    listed = {it.id: it.subcategory_ids for it in plan.bodies("lookup") if isinstance(it, Category)}
    groups = {it.id: it for it in plan.bodies("subcategories") if isinstance(it, Subcategory)}
    centroids = {it.entity_id: it.components for it in plan.bodies("subcategories") if isinstance(it, Vector)}
    for it in written:
        if not isinstance(it, Membership):
            continue
        homes = listed.get(it.category_id, ())
        unread = [key for key in homes if key not in {where.id: None for where in plan.asked}]
        demand(not unread, RULE, f"groups that were not read for {it.entity_id}", (), unread)
        vector = vectors.get(it.entity_id, ())
        near = [
            (-vector_relevance_ppm(vector, centroids[key]), key)
            for key in homes
            if key in groups and key in centroids
        ]
        # The nearest group, for a tie the one with the lesser id; none if it is below assign_ppm.
        near = sorted(home for home in near if -home[0] >= config.assign_ppm)[:1]
        place = (near[0][1], -near[0][0]) if near else (None, None)
        got = (it.subcategory_id, it.confidence_ppm)
        demand(place == got, RULE, f"the group that {it.entity_id} is put into", place, got)
        words = groups[near[0][1]].keywords if near else ()
        is_written, message = not words or it.entity_id in contents, f"entities written with {it.id}"
        demand(is_written, RULE, message, it.entity_id, sorted(contents))
        # With the keywords tea and green, "likes green apples" matches only green.
        expected = tuple(word for word in words if word in key_words(contents[it.entity_id]))
        message = f"keywords of its group that {it.entity_id} has"
        demand(expected == it.keywords_matched, RULE, message, expected, it.keywords_matched)


# The division of a category.


def read_category(plan: PlanInputs, scope: Scope, dims: int, *, is_afresh: bool) -> CategoryContents:
    """Return the contents of a category as they were read.

    Raises Broken if the plan did not read the category, all its members, or a row that belongs to them.
    """
    category = next((it for it in plan.bodies("category") if isinstance(it, Category)), None)
    if category is None:
        raise Broken(RULE, "a category is divided whose row was not read")
    demand(plan.ended.get("members"), RULE, f"members of {category.name} that were not read", "none", "some")
    contents = plan.bodies("contents")
    members = [it for it in plan.bodies("members") if isinstance(it, Membership)]
    vectors = {it.entity_id: it for it in contents if isinstance(it, Vector)}
    # A vector with other dims was made by another embedder, so its member is in no group.
    sound = [
        it
        for it in vectors.values()
        if len(it.components) == dims and it.entity_id not in category.subcategory_ids
    ]
    used = list_used(members, plan)
    # The digest stands for the valid vectors, for which of their members are in use, and for the number of
    # all members. If these are unchanged, so are the groups.
    made = (
        {it.entity_id: it.version for it in sound},
        sorted(it.entity_id for it in sound if it.entity_id in used),
        len(plan.rows["members"]),
    )
    entities = {it.id: it for it in contents if isinstance(it, Entity)}
    groups = {it.id: it for it in contents if isinstance(it, Subcategory)}
    components = {key: it.components for key, it in vectors.items()}
    reading = CategoryContents(
        scope, category, members, entities, components, groups, plan.names, made, dims, is_afresh, used,
        lost_count=len(plan.rows["members"]) - len(members),
    )  # fmt: skip
    wanted = [(kind, key) for key in reading.list_seen_ids() for kind in ("entity", "vector")]
    wanted += [(kind, key) for key in category.subcategory_ids for kind in ("subcategory", "vector")]
    unread = [it for it in wanted if Address(scope, *it) not in plan.asked]
    demand(not unread, RULE, f"rows of {category.name} that were not asked for", (), unread)
    return reading


def list_used(members: Iterable[Membership], plan: PlanInputs) -> list[str]:
    """List the ids of members in use. An accessed or new member makes all members of its group count."""
    used = [it for it in members if max(it.created_ms, plan.uses.get(it.entity_id, 0)) > plan.unused_ms]
    ids, groups = [it.entity_id for it in used], {it.subcategory_id for it in used if it.subcategory_id}
    return [it.entity_id for it in members if it.entity_id in ids or it.subcategory_id in groups]


def check_evolution(reading: CategoryContents, commit: Commit, config: Config) -> Bodies:
    """Check groups, members and names against what was read; return the rows after the commit."""
    before, expected = rows_before(reading), expect_rows(reading, config)
    after = before | {(it.address.kind, it.address.id): it.body for it in commit.writes}
    # Vectors are as they were read, unless the commit writes them.
    after = keep_vectors(reading, after) | after
    check_bounds(reading, after, config)
    for key in expected:
        wanted, got = hide_times(expected[key]), hide_times(after.get(key))
        demand(wanted == got, RULE, f"{key[0]} {key[1]} as {reading.category.name} is divided", wanted, got)
    strange = [
        key for key in after if key not in expected and key[0] in ("membership", "subcategory", "vector")
    ]
    demand(not strange, RULE, f"rows that the division of {reading.category.name} does not give", (), strange)
    category = after["category", reading.category.id]
    is_timed = isinstance(category, Category) and category.evolved_ms == category.updated_ms
    demand(is_timed, RULE, f"when {reading.category.name} was divided", "as updated_ms", category)
    return after


def keep_vectors(reading: CategoryContents, rows: Bodies) -> Bodies:
    """Return the vectors of all groups as they were read."""
    groups = [it.id for it in rows.values() if isinstance(it, Subcategory)]
    return {("vector", key): Vector(key, 1, reading.vectors[key]) for key in groups if key in reading.vectors}


def expect_reply(reading: CategoryContents, rows: Bodies, change: str, config: Config) -> ExpectedReply:
    """Return the reply for these rows: each group with its size, and how many members have no group."""
    homes = Counter(it.subcategory_id for it in rows.values() if isinstance(it, Membership))
    category = rows["category", reading.category.id]
    assert isinstance(category, Category)
    found = [rows.get(("subcategory", key)) for key in category.subcategory_ids]
    groups = [it for it in found if isinstance(it, Subcategory)]
    sizes = tuple(Group(it.id, it.name, it.keywords, homes[it.id]) for it in groups)
    new = [it for it in groups if it.id not in reading.groups]
    is_unnamed = config.name_by_model and any(it.named_by == "keywords" for it in new)
    with_vector = [key for key, own in reading.vectors.items() if len(own) == reading.dims]
    seen = reading.list_seen_ids()
    bare_count, left_count = len({*seen} - {*with_vector}), len(reading.members) - len(seen)
    counts = {"damaged": reading.lost_count, "no_vector": bare_count, "too_many": left_count}
    degradations = [(PARTIAL, reason, count) for reason, count in counts.items() if count]
    degradations += [("name:keywords", "", 0)] * is_unnamed
    return Evolved(change, sizes, homes[None]), tuple(degradations)


def rows_before(reading: CategoryContents) -> Bodies:
    rows: Bodies = {("membership", it.id): it for it in reading.members}
    rows["category", reading.category.id] = reading.category
    rows |= {("subcategory", key): it for key, it in reading.groups.items()}
    vectors = {key: reading.vectors[key] for key in reading.groups if key in reading.vectors}
    return rows | {("vector", key): Vector(key, 1, it) for key, it in vectors.items()}


def expect_rows(reading: CategoryContents, config: Config) -> Bodies:
    """Return every row of the category as it must be after the division; None for a deleted row."""
    seen = reading.list_seen_ids()
    vectors = {key: reading.vectors[key] for key in seen if key in reading.vectors and key in reading.used}
    vectors = {key: it for key, it in vectors.items() if len(it) == reading.dims}
    members = [(it.subcategory_id, it.entity_id) for it in reading.members]
    own_ids = {group: [key for home, key in members if home == group] for group in reading.groups}
    # A group without a member in use ends. Its members join other groups only when they are accessed again.
    old = [
        KnownGroup(key, it.created_ms, reading.vectors.get(key, ()), tuple(own_ids[key]))
        for key, it in reading.groups.items()
        if not own_ids[key] or any(own in reading.used for own in own_ids[key])
    ]
    bounds = Bounds(
        config.cluster_ppm, config.merge_ppm, config.cluster_size_min, config.subcategory_count_max
    )
    found = clusters(vectors, old, bounds, afresh=reading.is_afresh)
    known = dict.fromkeys((*reading.category.subcategory_ids, *reading.groups))  # some may be deleted already
    # Each known group is expected to be deleted, except those that are added below.
    rows: Bodies = {(kind, key): None for key in known for kind in ("subcategory", "vector")}
    homes: dict[str, tuple[Subcategory, int]] = {}
    ids: list[str] = []
    for row, group in name_groups(find_founders(found, reading), reading, by_model=config.name_by_model):
        centre = group.centroid
        rows["subcategory", row.id], rows["vector", row.id] = row, Vector(row.id, 1, centre)
        homes |= {key: (row, vector_relevance_ppm(vectors[key], centre)) for key in group.member_ids}
        ids.append(row.id)
    for it in reading.members:
        # A member that is not considered stays in its group, unless the group has ended.
        is_kept = it.entity_id not in seen and rows.get(("subcategory", it.subcategory_id or "")) is not None
        rows["membership", it.id] = it if is_kept else place_member(it, homes.get(it.entity_id), reading)
    category = structs.replace(reading.category, subcategory_ids=tuple(ids), evolved_digest=DIVIDED)
    return rows | {("category", category.id): category}


def find_founders(found: Sequence[Cluster], reading: CategoryContents) -> list[tuple[Cluster, str]]:
    """Return each group with its founder; a new group whose members all founded others is left out."""
    # The id of a group is derived from its founder for as long as the group exists. So a new group needs a
    # founder of its own. If a founded an old group, a new group of b and c has the founder b; a new group of
    # a alone can have no id.
    begun = {it.known.id: reading.groups[it.known.id].founder_id for it in found if it.known}
    taken, groups = list(begun.values()), list[tuple[Cluster, str]]()
    for it in found:
        free = [key for key in it.member_ids if key not in taken]
        if it.known or free:
            founder = begun[it.known.id] if it.known else free[0]
            taken.append(founder)
            groups.append((it, founder))
    return groups


def name_groups(
    found: Sequence[tuple[Cluster, str]], reading: CategoryContents, *, by_model: bool
) -> Iterator[tuple[Subcategory, Cluster]]:
    """Yield the groups as rows; the name of a new one is by a model, or made from its keywords."""
    home = reading.category.id
    # The names of all remaining groups are taken, in whatever order the groups come.
    known = [norm(reading.groups[it.known.id].name) for it, _ in found if it.known]
    for it, founder in found:
        contents = [reading.entities[key].content for key in it.member_ids if key in reading.entities]
        words = keywords(contents)
        if it.known:
            yield structs.replace(reading.groups[it.known.id], keywords=words), it
            continue
        question = words[:SHOWN], tuple(cut(text, SHOWN_BYTES) for text in contents[:SHOWN])
        # An answer that is no name counts as empty; then the name is made from keywords.
        given = reading.names.get(question, "") if by_model else ""
        name = free_name(given or name_of(words, founder), known)
        known.append(norm(name))
        own, by = subcategory_id(reading.scope, home, founder), "model" if given else "keywords"
        yield Subcategory(own, home, founder, name, by, words, 0, 0), it


def place_member(
    it: Membership, home: tuple[Subcategory, int] | None, reading: CategoryContents
) -> Membership:
    first = (it.id, it.entity_id, it.entity_version, it.category_id, it.assigned_by, it.created_ms)
    if home is None:
        return Membership(*first)
    entity = reading.entities.get(it.entity_id)
    terms = key_words(entity.content) if entity else []
    return Membership(*first, home[0].id, home[1], tuple(word for word in home[0].keywords if word in terms))


def hide_times(body: object) -> object:
    """Return a row with `DIVIDED` in place of a digest, and without times, which are judged elsewhere."""
    match body:
        case Subcategory():
            return structs.replace(body, created_ms=0, updated_ms=0)
        case Category():
            digest = DIVIDED if body.evolved_digest else ""
            return structs.replace(body, evolved_digest=digest, evolved_ms=None, updated_ms=0)
    return body


def check_bounds(reading: CategoryContents, rows: Bodies, config: Config) -> None:
    """Check law 3."""
    groups = {it.id: it for it in rows.values() if isinstance(it, Subcategory)}
    most = config.subcategory_count_max
    demand(len(groups) <= most, RULE, f"groups of {reading.category.name}", most, len(groups))
    names = [norm(it.name) for it in groups.values()]
    demand(len(names) == len(set(names)), rules.UNIQUE_ROWS, "names of groups", "each once", names)
    vectors = {it.entity_id: it.components for it in rows.values() if isinstance(it, Vector)}
    bare = sorted(groups.keys() - vectors.keys())
    demand(not bare, RULE, f"groups of {reading.category.name} without a vector", (), bare)
    # Two groups as near to each other as this must have been merged.
    for one, other in combinations(groups, 2):
        ppm = vector_relevance_ppm(vectors[one], vectors[other])
        message = f"how near the groups {one} and {other} are to each other"
        demand(ppm < config.merge_ppm, RULE, message, f"below {config.merge_ppm}", ppm)
    seen, members = reading.list_seen_ids(), [it for it in rows.values() if isinstance(it, Membership)]
    for key in groups:
        own = [it.entity_id for it in members if it.subcategory_id == key and it.entity_id in seen]
        least = config.cluster_size_min
        demand(len(own) >= least, RULE, f"members of {key}", f"{least} or more", own)
        near = {it: vector_relevance_ppm(reading.vectors.get(it, ()), vectors[key]) for it in own}
        far = [it for it, ppm in near.items() if ppm < config.cluster_ppm]
        demand(not far, RULE, f"members of {key} nearer to it than {config.cluster_ppm} ppm", "all", far)
