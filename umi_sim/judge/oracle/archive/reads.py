"""Judge get_entity, count, archival records and list."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from umi_core.kelpie.requests import AddArchival, DeleteArchival, RecentEntities, SearchArchival
from umi_core.messages.requests import Count, GetEntity, List, Remember
from umi_core.messages.results import Listed
from umi_core.rows import Category, Ended, Entity, Membership, Reflection, Resource, Subcategory
from umi_core.values import ENTITY_TYPES
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.facts import NOTHING, FactState
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation, ArchiveRequest
from umi_sim.judge.oracle.archive.reflections import Reflections
from umi_sim.judge.oracle.archive.searches import damaged_ids
from umi_sim.judge.oracle.archive.summaries import Summaries
from umi_sim.judge.plain.requests import fields_of, may_hold, meets, wrong
from umi_sim.judge.plain.rows import category_id, membership_id
from umi_sim.judge.plain.scores import alone_ppm
from umi_sim.record import rules

# Reads: a get_entity shows the state of some position, a count how many facts there were at one.


@attrs.define
class Reads(ArchivePart):
    """Judges get_entity and count."""

    log: BatchLog

    def judge_entity(self, op: ArchiveOperation, value: Entity | Ended | None) -> None:
        assert isinstance(op.request, GetEntity)
        key, own_id = op.request.entity_id, value.id if value else ""
        is_ours = own_id == key or not self.context.is_elsewhere(own_id)
        self.demand(is_ours, rules.SCOPE_APART, f"{own_id} is shown in the place of {key}", key, value)
        self.log.judge_fact(op, key, value)

    def judge_count(self, op: ArchiveOperation, value: int) -> None:
        assert isinstance(op.request, Count)
        types, counts = op.request.types, list[int]()
        for position in range(op.position, self.log.position + 1):
            entities = (self.log.facts.at(key, position).entity for key in self.log.facts.entries)
            counts.append(sum(it is not None and (types is None or it.type in types) for it in entities))
        self.demand(value in counts, rules.ERROR_IS_NOT_EMPTY, "the count is wrong", counts, value)


# Archival records as the archive sees them: what they tell is remembered, and belongs to them.
#
# Law 1. Pure.


OF_RECORDS: Final = (AddArchival, DeleteArchival, SearchArchival)


def is_of_facts(asked: ArchiveRequest | AddArchival) -> bool:
    """What is wrong with itself changes nothing, and a record alone says nothing of anybody."""
    return wrong(asked) is None and (not isinstance(asked, AddArchival) or asked.extract)


def fit_of(state: FactState, query: str, record: str) -> int:
    it = state.entity
    return 0 if it is None or record not in it.sources else alone_ppm(query, *it.name_and_text())


def as_remember(asked: AddArchival) -> Remember:
    """What it says of people and things is remembered as this would be."""
    return Remember(asked.op_id, asked.content, speaker=asked.speaker)


def told_fit(log: BatchLog, op: ArchiveOperation | None, query: str, record: str) -> tuple[int, int]:
    """How well what a record told fits the query of this search, which has just ended: at least, at most."""
    if op is None:
        return 0, 0
    fits = [[fit_of(it, query, record) for it in states] for states in log.all_since(op).values()]
    low, high = (max(map(end, fits), default=0) for end in (min, max))
    return 0 if log.context.surroundings.atlas.losses else low, high


# Lists: a page shows what some possible state holds, in order, and leaves out nothing that is certain.


LISTED: Final = ("entity", "ended", "resource", "category", "membership", "subcategory", "reflection")
SHAPES: Final = {
    "entity": Entity, "ended": Ended, "resource": Resource, "category": Category, "membership": Membership,
    "subcategory": Subcategory, "reflection": Reflection,
}  # fmt: skip
Known = dict[str, Any]  # fields of a row that are certain
States = Mapping[str, tuple[FactState, ...]]  # by id, since a list was asked for


@attrs.define
class Lists(ArchivePart):
    """Judges lists."""

    log: BatchLog
    summaries: Summaries
    reflections: Reflections

    def judge_list(self, op: ArchiveOperation, value: Listed) -> None:
        request, rows = op.request, value.rows
        assert isinstance(request, List)
        ids, limit = [row.id for row in rows], request.limit or self.context.config.recall_limit_default
        of_kind = all(isinstance(row, SHAPES[request.kind]) for row in rows)
        is_page = of_kind and ids == sorted(set(ids)) and len(ids) <= limit
        self.demand(is_page, rules.HITS_ORDERED, f"a page of {request.kind}", limit, ids)
        self.judge_cursor(request, value, ids)
        is_any = may_hold(request.where, request.kind, self.context.scope)
        others = [row for row in rows if not (is_any and meets(request.where, fields_of(row)))]
        told = f"rows of {request.kind} that the filter leaves out"
        self.demand(not others, rules.FILTER_NARROWS, told, request.where, others)
        states = self.log.all_since(op)
        for row in rows:
            self.judge_row(op, row, states)
        known = damaged_ids(op, "read")
        lies = [key for key in value.damaged if key not in known]
        self.demand(not lies, rules.ERROR_IS_NOT_EMPTY, "rows are called damaged that are not", known, lies)
        self.judge_whole(op, request, value, states)

    def judge_cursor(self, request: List, value: Listed, ids: list[str]) -> None:
        """The next page begins behind this one and behind where this one began."""
        of_kind, last = f"{request.kind}/", max((*ids, *value.damaged), default="")
        begin = max(of_kind + last, request.cursor or "")
        is_onward = value.cursor is None or (value.cursor.startswith(of_kind) and value.cursor >= begin)
        told = f"the next page of {request.kind} begins elsewhere than behind this one"
        self.demand(is_onward, rules.HITS_ORDERED, told, begin, value.cursor)

    def judge_recent(self, op: ArchiveOperation, value: Listed) -> None:
        """Newest first, of the types that were asked for; none is missing."""
        request, rows = op.request, value.rows
        assert isinstance(request, RecentEntities)
        entities = [row for row in rows if isinstance(row, Entity)]
        places = [(-row.updated_ms, row.id) for row in entities]
        limit = request.limit or self.context.config.recall_limit_default
        is_page = len(entities) == len(rows) <= limit and places == sorted(set(places))
        is_page &= value.cursor is None
        told, types = f"{limit} recent entities, newest first", request.types or ENTITY_TYPES
        self.demand(is_page, rules.HITS_ORDERED, told, sorted(places), places)
        others = [row for row in entities if row.type not in types]
        self.demand(not others, rules.FILTER_NARROWS, "entities of other types", types, others)
        for row in entities:
            self.log.judge_fact(op, row.id, row)
        known = damaged_ids(op, "read")
        lies = [key for key in value.damaged if key not in known]
        self.demand(not lies, rules.ERROR_IS_NOT_EMPTY, "rows are called damaged that are not", known, lies)
        if self.log.is_at_rest(op, 0) and not value.damaged:
            facts = [it for key in self.log.facts.entries if (it := self.log.state(key).entity) is not None]
            due = sorted((-it.updated_ms, it.id) for it in facts if it.type in types)
            due = due[request.skip : request.skip + limit]
            rule = rules.HITS_ORDERED if len(places) > len(due) else rules.ACKNOWLEDGED_IS_DURABLE
            self.demand(places == due, rule, "recent entities are not shown", due, places)

    def judge_row(self, op: ArchiveOperation, row: Any, states: States) -> None:
        match row:
            case Entity() | Ended():
                self.log.judge_fact(op, row.id, row)
            case Resource():
                self.judge_resource(op, row)
            case Category():
                low, high = self.count(row.name, states)
                is_known = row.name in self.context.abouts and low <= row.member_count <= high
                told = f"the category {row.name} has {row.member_count} members"
                self.demand(is_known, rules.DERIVED_FOLLOWS_SOURCE, told, f"{low} to {high}", row)
                self.summaries.judge_shown(op, row.name, row.summary, rules.REFERENCE_AGREES)
            case Reflection():
                self.reflections.judge_row(op, row.id, row.session_id, row.text)
            case Membership():
                of_entity = states.get(row.entity_id, (NOTHING,))
                names = [name for state in of_entity for name in state.links]
                homes = [category_id(self.context.scope, name) for name in names]
                message = f"{row.entity_id} is shown as a member"
                is_so = row.category_id in homes
                self.demand(is_so, rules.REFERENCE_AGREES, message, names, row.category_id)

    def judge_resource(self, op: ArchiveOperation, row: Resource) -> None:
        """The text as it was given, with what a model said that it holds; of a segment, a part of one."""
        key = row.parent_id or row.id
        values = [it.given for it in self.log.resources.since(key, op.position) if it is not None]
        is_given = bool(values) if row.parent_id is not None else (row.modality, row.text) in values
        message, given = f"{row.id} shows what nobody gave", [str(value)[:80] for value in values]
        self.demand(is_given, rules.ACKNOWLEDGED_IS_DURABLE, message, given, row.text)
        said = [it.text for it in self.log.said.get((key, (row.modality, row.text)), ())]
        message = f"{row.id} is described as no model did"
        self.demand(row.description in ("", *said), rules.REFERENCE_AGREES, message, said, row.description)

    def count(self, name: str, states: States) -> tuple[int, int]:
        """How many members a category may have."""
        low = sum(all(name in state.links for state in it) for it in states.values())
        high = sum(any(name in state.links for state in it) for it in states.values())
        return low, high

    def judge_whole(self, op: ArchiveOperation, request: List, value: Listed, states: States) -> None:
        """From the first row after the cursor to the last shown, none is missing that is surely there."""
        ids = sorted((*(row.id for row in value.rows), *value.damaged))
        last = ids[-1] if ids and value.cursor is not None else None
        if value.cursor is not None and last is None:
            return
        kind, _, begin = (request.cursor or "").partition("/")  # any text is a place in the order
        surely = [it for it in self.certain(op, request, states) if (request.kind, it) > (kind, begin)]
        lost = [it for it in surely if it not in ids and (last is None or it <= last)]
        message = f"rows of {request.kind} are not listed"
        self.demand(not lost, rules.ACKNOWLEDGED_IS_DURABLE, message, lost, ids)

    def certain(self, op: ArchiveOperation, request: List, states: States) -> list[str]:
        """Rows that were there when this list was asked for, and are, and that its filter leaves."""
        if not may_hold(request.where, request.kind, self.context.scope):
            return []
        rows = self.certain_rows(op, request.kind, states)
        return [key for key, knowns in rows if all(meets(request.where, known) for known in knowns)]

    def certain_rows(
        self, op: ArchiveOperation, kind: str, states: States
    ) -> Iterator[tuple[str, list[Known]]]:
        """What groups there are follows from vectors, which are judged where they are known."""
        if kind == "entity":
            yield from self.certain_entities(states)
        elif kind == "ended":
            yield from self.certain_ended(states)
        elif kind == "resource":
            for key in self.log.resources.entries:
                if None not in self.log.resources.since(key, op.position):
                    yield key, [{"id": key, "parent_id": None}]
        elif kind == "category":
            for name in self.context.abouts:
                low, high = self.count(name, states)
                home = {"id": category_id(self.context.scope, name), "name": name}
                if low:
                    yield home["id"], [home | ({"member_count": low} if low == high else {})]
        elif kind == "membership":
            yield from self.certain_members(states)
        elif kind == "reflection":
            yield from self.reflections.certain(op)

    def certain_entities(self, states: States) -> Iterator[tuple[str, list[Known]]]:
        for key, each in states.items():
            if all(state.entity for state in each):
                yield key, [fields_of(state.entity, ()) for state in each]

    def certain_ended(self, states: States) -> Iterator[tuple[str, list[Known]]]:
        for key, each in states.items():
            if all(state.ended for state in each):
                ended = [state.ended for state in each if state.ended]
                yield key, [{"id": key, "by": it.by, "how": it.how} for it in ended]

    def certain_members(self, states: States) -> Iterator[tuple[str, list[Known]]]:
        for key, each in states.items():
            for name in self.context.abouts:
                home = category_id(self.context.scope, name)
                if all(name in state.links for state in each):
                    row_id = membership_id(self.context.scope, key, home)
                    yield row_id, [{"id": row_id, "entity_id": key, "category_id": home}]
