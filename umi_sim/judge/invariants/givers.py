"""Who gave what: rows that say which lines of an entity a resource told, and the entity that they are about.

Law 1. Resource and entity are there, and the entity names the resource; so with an archival record. Law 2. A
line that is given was told by a version that a resource made; what an entity says that only resources told,
some resource told.
"""

from collections.abc import Iterable
from typing import Final

from umi_core.invariants import limits
from umi_core.invariants.broken import demand
from umi_core.rows import Entity, Given, Version
from umi_sim.judge.invariants.relations import Rows
from umi_sim.judge.plain.rows import given_id
from umi_sim.judge.plain.text import byte_count, folded
from umi_sim.record import rules

FULL_BYTES: Final = limits.ENTITY_FACTS_BYTES_MAX // 2  # from here on old lines may have made room


def check_givers(rows: Rows) -> None:
    by_entity: dict[str, list[Given]] = {}
    for key, it in rows.given.items():
        own = given_id(rows.scope, it.source, it.entity_id)
        demand(key == own, rules.UNIQUE_ROWS, "a given row under another id than its ends give", own, key)
        check_named(it, rows)
        by_entity.setdefault(it.entity_id, []).append(it)
    for entity in rows.entities.values():
        if entity.given or entity.id in by_entity:
            check_lines(entity, by_entity.get(entity.id, []), rows.versions.get(entity.id, {}).values())


def check_named(it: Given, rows: Rows) -> None:
    """Both are there, and the entity names the resource."""
    entity, source = rows.entities.get(it.entity_id), rows.resources.get(it.source)
    is_there = it.source in rows.records or (source is not None and source.parent_id is None)
    demand(is_there, rules.FACTS_NAME_RECORDS, f"{it.id} names {it.source}, which is not there")
    sources = entity.sources if entity is not None else ()
    told = f"{it.id} is about {it.entity_id}, which does not name {it.source}"
    demand(it.source in sources, rules.FACTS_NAME_RECORDS, told, it.source, sources)


def check_lines(entity: Entity, given: Iterable[Given], versions: Iterable[Version]) -> None:
    kept = list(versions)
    lines = lines_of(entity.content)
    strange = [line for line in entity.given if folded(line) not in lines]
    rule, told = rules.FACTS_NAME_RECORDS, f"{entity.id} says of lines that it has not who told them"
    demand(not strange, rule, told, entity.content, strange)
    by_rows = {key: None for it in given for key in lines_of(it.content)}
    is_whole = all(byte_count(it.content) < FULL_BYTES for it in given)
    lost = [line for line in entity.given if folded(line) not in by_rows]
    demand(not (lost and is_whole), rule, f"nobody told these lines of {entity.id}", list(by_rows), lost)
    is_first = any(it.kind is None for it in kept)  # else older ones are not kept, which may have told it
    told_by = {key: None for it in kept if it.is_given for key in lines_of(it.mention)}
    unsaid = [key for key in by_rows if key not in told_by]
    told = f"no version of {entity.id} tells what a resource is said to have told"
    demand(not (unsaid and is_first), rule, told, list(told_by), unsaid)


def lines_of(text: str) -> dict[str, None]:
    return dict.fromkeys(map(folded, text.split("\n")))
