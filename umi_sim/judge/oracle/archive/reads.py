"""Judge get_entity, count and lists: each shows the rows of one position between request and reply.

Law 1. Each known field of a shown row has its value at that position.
Law 2. A page contains every row of that position that its filter surely includes.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import structs

from umi_core.ids import category_id, membership_id, reflection_id
from umi_core.messages.requests import Count, List
from umi_core.messages.results import Listed
from umi_core.rows import Ended, Entity, Resource
from umi_core.values import ENTITY_TYPES
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.plain.requests import fields_of, is_damaged, may_hold, meets
from umi_sim.record import rules
from umi_sim.record.rules import Rule

LISTED: Final = ("entity", "ended", "resource", "category", "membership", "subcategory", "reflection")
BROKEN_BY: Final = {  # the broken rule by the kind of a wrong row
    "resource": rules.ACKNOWLEDGED_IS_DURABLE, "category": rules.DERIVED_FOLLOWS_SOURCE,
    "reflection": rules.REFLECTION_OF_SESSION, "subcategory": rules.REFERENCE_AGREES,
    "membership": rules.REFERENCE_AGREES,
}  # fmt: skip
Known = dict[str, Any]  # fields of a row that are certain
Finding = tuple[Rule, str, object, object]


class Reads(ArchivePart):
    """Judges reads of rows."""

    log: BatchLog

    def judge(self, op: ArchiveOperation, value: Any) -> None:
        """Demand that a read shows the rows of some position; the last position is tried first."""
        request, findings = op.request, list[Finding | None]()
        if isinstance(request, List):
            self.judge_cursor(request, value)
        if isinstance(value, Listed):
            known = [row.address.id for row in op.plan.rows("read") if is_damaged(row)]
            # Only a row that storage returned damaged may be reported as damaged.
            others = [key for key in value.damaged if key not in known]
            message = "sound rows reported as damaged"
            self.demand(not others, rules.ERROR_IS_NOT_EMPTY, message, known, others)
        found: Finding | None
        # Usually the last position explains the read. If none does, the message is about the last position,
        # whose finding comes first.
        for position in reversed(self.log.positions(op)):
            if isinstance(request, Count):
                count, rule = len(self.list_facts_at(position, request.types)), rules.ERROR_IS_NOT_EMPTY
                found = None if value == count else (rule, "the count of facts", count, value)
            elif isinstance(request, List):
                found = self.find_wrong_row(op, value, position)
            else:
                found = self.find_wrong_recent(op, value, position)
            findings.append(found)
            if found is None:
                break
        rule, message, expected, got = findings[0] or (rules.ACKNOWLEDGED_IS_DURABLE, "", "", "")
        self.demand(None in findings, rule, message, expected, got)

    def judge_entity(self, op: ArchiveOperation, value: Entity | Ended | None) -> None:
        key, own_id = op.request.entity_id, value.id if value else ""
        is_ours = own_id == key or not self.context.is_elsewhere(own_id)
        self.demand(is_ours, rules.SCOPE_APART, f"the fact that is shown as {key}", key, value)
        states = self.log.states_since(key, op)
        holds = any(value == (state.ended or state.entity) for state in states)
        rule = self.log.choose_rule(key, states, value)
        self.demand(holds, rule, f"the fact {key} as it is shown", states[:3], value)

    def list_facts_at(self, position: int, types: tuple[str, ...] | None) -> list[Entity]:
        found = (self.log.facts.at(key, position).entity for key in self.log.facts.entries)
        return [it for it in found if it is not None and it.type in (types or ENTITY_TYPES)]

    def judge_cursor(self, request: List, value: Listed) -> None:
        """Demand that the next page begins after this one."""
        # A cursor is "kind/last id"; the next page begins after it even if that row was deleted.
        of_kind, ids = f"{request.kind}/", [*(row.id for row in value.rows), *value.damaged]
        begin = max(of_kind + max(ids, default=""), request.cursor or "")
        is_onward = value.cursor is None or (value.cursor.startswith(of_kind) and value.cursor >= begin)
        message = f"the next page of {request.kind} begins elsewhere than behind this one"
        self.demand(is_onward, rules.HITS_ORDERED, message, begin, value.cursor)

    def find_wrong_recent(self, op: ArchiveOperation, value: Any, position: int) -> Finding | None:
        """Compare a page of recent facts, newest first, with this position; return the first error."""
        request, rows = op.request, value.rows
        limit = request.limit or self.context.config.recall_limit_default
        facts = sorted(self.list_facts_at(position, request.types), key=lambda it: (-it.updated_ms, it.id))
        expected = tuple(facts[request.skip : request.skip + limit])
        if (rows == expected or (value.damaged and all(it in facts for it in rows))) and value.cursor is None:
            return None
        others = [row for row in rows if row.type not in (request.types or ENTITY_TYPES)]
        if others:
            return rules.FILTER_NARROWS, "facts of other types", request.types, others
        places, wanted = ([(-it.updated_ms, it.id) for it in each] for each in (rows, expected))
        if places == wanted and rows != expected:
            lies = [(it, row) for it, row in zip(expected, rows, strict=True) if it != row]
            it, row = lies[0]
            return (
                self.log.choose_rule(row.id, self.log.states_since(row.id, op), row),
                "a recent fact",
                it,
                row,
            )
        is_page = places == sorted(set(places)) and len(places) <= len(wanted) and value.cursor is None
        rule = rules.ACKNOWLEDGED_IS_DURABLE if is_page else rules.HITS_ORDERED
        return rule, f"{limit} recent facts, the newest first", wanted, places

    # Lists.

    def find_wrong_row(self, op: ArchiveOperation, value: Any, position: int) -> Finding | None:
        """Compare a page of a list with this position; return the first error."""
        request, rows, kind = op.request, value.rows, op.request.kind
        ids, limit = [row.id for row in rows], request.limit or self.context.config.recall_limit_default
        if ids != sorted(set(ids)) or len(ids) > limit or any(row.row_kind != kind for row in rows):
            return rules.HITS_ORDERED, f"a page of {kind}", limit, ids
        is_any = may_hold(request.where, kind, self.context.scope)
        others = [row for row in rows if not (is_any and meets(request.where, fields_of(row)))]
        if others:
            return rules.FILTER_NARROWS, f"rows of {kind} that the filter excludes", request.where, others
        known = {str(it["id"]): it for it in self.list_rows_at(kind, position)}
        for row in rows:
            # A model divides a text into segments, so the fields
            # of a segment are not known and not compared.
            key = getattr(row, "parent_id", None) or row.id
            expected = known.get(key, {} if kind == "subcategory" else None)
            got = {name: getattr(row, name) for name in expected or ()} if key == row.id else expected
            is_described = not isinstance(row, Resource) or row.description in self.list_descriptions(row)
            if expected is None or got != expected or not is_described:
                states = self.log.states_since(key, op)
                rule = BROKEN_BY.get(kind) or self.log.choose_rule(key, states, row)
                return rule, f"the row {row.id} as it is shown", expected, row
        # A category has no row before its first member, and may have none after its last.
        sure = {key: it for key, it in known.items() if it.get("member_count", 1)}
        begin, _, after = (request.cursor or "").partition("/")  # any text is a place in the order
        all_ids = sorted((*ids, *value.damaged))
        last = all_ids[-1] if all_ids and value.cursor is not None else None
        lost = [
            key for key, it in sure.items()
            if (kind, key) > (begin, after) and key not in all_ids and (last is None or key <= last)
            and is_any and meets(request.where, it) and (value.cursor is None or last is not None)
        ]  # fmt: skip
        message = f"rows of {kind} are not listed"
        return (rules.ACKNOWLEDGED_IS_DURABLE, message, lost, all_ids) if lost else None

    def list_descriptions(self, row: Resource) -> list[str]:
        """Return the descriptions that a payload may have: an empty one, or one by a model."""
        known = self.log.said.get((row.parent_id or row.id, (row.modality, row.text)), ())
        return ["", *(it.text for it in known)]

    def list_rows_at(self, kind: str, position: int) -> Iterator[Known]:
        """Yield the known fields of the rows of a kind; umi_sim/judge/invariants judges subcategories."""
        facts = {key: self.log.facts.at(key, position) for key in self.log.facts.entries}
        scope = self.context.scope
        homes = {name: category_id(scope, name) for name in self.context.abouts}
        if kind in ("entity", "ended"):
            rows = (getattr(it, kind) for it in facts.values())
            yield from (structs.asdict(it) | fields_of(it) for it in rows if it is not None)
        elif kind == "resource":
            for key in self.log.resources.entries:
                it = self.log.resources.at(key, position)
                if it is not None:
                    modality, text = it.given
                    yield {"id": key, "parent_id": None, "modality": modality, "text": text}
        elif kind == "reflection":
            for session in self.log.reflections.entries:
                stored = self.log.reflections.at(session, position)
                if stored is not None:
                    yield {"id": reflection_id(scope, session), "session_id": session, "text": stored.text}
        elif kind == "category":
            for name, key in homes.items():
                count = sum(name in it.links for it in facts.values())
                summary = self.log.categories.at(name, position).summary
                yield {"id": key, "name": name, "member_count": count, "summary": summary}
        elif kind == "membership":
            for key, it_ in facts.items():
                for name in it_.links:
                    home = homes[name]
                    yield {"id": membership_id(scope, key, home), "entity_id": key, "category_id": home}
