"""The levels of the archive: resources with segments, entities from them, categories with their members.

Law 1. An edge has two ends that are there. Law 2. What can be counted or worked out from other rows is what
that gives. Law 3. The segments of a text, one behind the other, are what is read of it, without gap or doubt.
"""

from collections import Counter
from collections.abc import Mapping

from umi_core import limits
from umi_core.conversations import NORMALISERS
from umi_core.ids import category_id, membership_id, reflection_id, resource_id, segment_id, text_hash
from umi_core.rows import Category, Entity, Resource
from umi_sim.judge.invariants.groups import check_groups
from umi_sim.judge.invariants.relations import StoredRows
from umi_sim.judge.oracle.archive.states import DESCRIBE, EMBED, MEDIA
from umi_sim.record import rules
from umi_sim.record.broken import demand


def check_hierarchy(rows: StoredRows, abouts: Mapping[str, str]) -> None:
    """Check the levels of the archive, as far as there are any."""
    for entity in rows.entities.values():
        check_sources(entity, rows)
    if rows.resources or rows.memberships or rows.categories or rows.reflections:
        check_memberships(rows)
        check_groups(rows)
        check_categories(rows, abouts)
        check_resources(rows)
        check_reflections(rows)


def check_memberships(rows: StoredRows) -> None:
    for key, it in rows.memberships.items():
        # The membership of a forgotten fact brings it back; that of one that never was leads nowhere.
        rule = rules.DELETED_STAYS_DELETED if rows.was_deleted(it.entity_id) else rules.EDGE_SCOPE
        entity = rows.entities.get(it.entity_id)
        demand(entity is not None, rule, f"a membership of {it.entity_id}, which is not there")
        is_there = it.category_id in rows.categories
        demand(is_there, rules.EDGE_SCOPE, f"a membership in {it.category_id}, which is not there")
        own = membership_id(rows.scope, it.entity_id, it.category_id)
        demand(key == own, rules.UNIQUE_ROWS, "a membership under another id than its ends give", own, key)
        now = entity.version if entity else 0
        # linked at version 2, entity now at 5: it was written since, and its membership was not
        is_past = 0 < it.entity_version <= now
        demand(is_past, rules.DERIVED_FOLLOWS_SOURCE, f"the version that {key} links", now, it.entity_version)


def check_categories(rows: StoredRows, abouts: Mapping[str, str]) -> None:
    """Check ids, member counts, descriptions and summaries of all categories.

    `abouts`: of the categories that the memory lists; others are as an earlier life has left them.
    """
    counts = Counter(it.category_id for it in rows.memberships.values())
    for key, it in rows.categories.items():
        own = category_id(rows.scope, it.name)
        demand(key == own, rules.UNIQUE_ROWS, "a category under another id than its name gives", own, key)
        due = counts[key]
        demand(it.member_count == due, rules.DERIVED_FOLLOWS_SOURCE, f"members of {it.name}", due, it)
        about = abouts.get(it.name, it.description)
        demand(it.description == about, rules.DERIVED_FOLLOWS_SOURCE, f"what {it.name} is", about, it)
        check_summary(it, [each.entity_id for each in rows.memberships.values() if each.category_id == key])


def check_summary(category: Category, member_ids: list[str]) -> None:
    """Demand that a summary is made of members, and a clean one of all; without members there is none."""
    named, message = [key for key, _ in category.summary_sources], f"the summary of {category.name}"
    removed = [key for key in named if key not in member_ids]
    demand(
        not removed, rules.DERIVED_FOLLOWS_SOURCE, f"{message} names facts that are no members", (), removed
    )
    is_made = bool(named) == bool(category.summary)
    demand(is_made, rules.DERIVED_FOLLOWS_SOURCE, f"{message} and its sources", category.summary, named)
    # a summary of a, b; then c joins: the category is dirty until a model has seen c
    left_out = [key for key in member_ids if key not in named]
    # a model is shown 200 members at most: then a clean summary need not name the others
    is_partial = len(named) >= limits.SUMMARY_MEMBER_COUNT_MAX
    is_true = category.summary_dirty or not left_out or is_partial
    demand(
        is_true, rules.DERIVED_FOLLOWS_SOURCE, f"{message} is called clean and lacks members", (), left_out
    )


def check_resources(rows: StoredRows) -> None:
    # a long text is one whole resource and its segments, which name it as parent
    parts: dict[str, list[Resource]] = {}
    for key, it in rows.resources.items():
        due = text_hash(it.text)
        demand(it.text_hash == due, rules.DERIVED_FOLLOWS_SOURCE, f"the hash of {key}", due, it.text_hash)
        check_description(it)
        if it.parent_id is None:
            own = resource_id(rows.scope, it.uri, it.text)
            demand(key == own, rules.UNIQUE_ROWS, "a resource under another id than its own", own, key)
        else:
            is_there = it.parent_id in rows.resources
            demand(is_there, rules.EDGE_SCOPE, f"{key} is a segment of {it.parent_id}, which is not there")
            parts.setdefault(it.parent_id, []).append(it)
    for key, it in rows.resources.items():
        check_found(it, parts.get(key, []), rows)
    for key, segments in parts.items():
        check_segments(rows.resources[key], sorted(segments, key=lambda it: it.position), rows)


def check_description(it: Resource) -> None:
    """Demand that only media have a description, and that a missing one is pending and nothing was read."""
    is_media, is_due = it.modality in MEDIA and it.parent_id is None, it.pending[:1] == (DESCRIBE,)
    message = f"the description of {it.id}"
    demand(is_media or not it.description, rules.DERIVED_FOLLOWS_SOURCE, message, "", it.description)
    is_told = is_due == (is_media and not it.description)
    demand(
        is_told, rules.DERIVED_FOLLOWS_SOURCE, f"{message} and what is pending", it.description, it.pending
    )
    # facts are read from the description: none can be known before there is one
    is_unread = not (is_due and it.extracted_types)
    demand(
        is_unread, rules.DERIVED_FOLLOWS_SOURCE, f"{message}, read before it was made", (), it.extracted_types
    )


def check_found(it: Resource, segments: list[Resource], rows: StoredRows) -> None:
    """Demand that a text without all its vectors, or those of its segments, says so.

    It may say so of one that has a vector: that of a text is asked for again with those of its segments, and
    if it does not come, it stays.
    """
    lost = [each.id for each in (it, *segments) if each.caption.strip() and each.id not in rows.vectors]
    is_told = not lost or EMBED in it.pending
    demand(is_told, rules.INDEX_FOLLOWS_ROW, f"vectors of {it.id} that are pending", lost, it.pending)


def check_segments(whole: Resource, segments: list[Resource], rows: StoredRows) -> None:
    """Demand that segments are the lines of `whole`, in their order; a long line is in several."""
    message = f"segments of {whole.id}"
    places = [it.position for it in segments]
    demand(places == [*range(len(places))], rules.TEXT_COVERED, f"places of {message}", "", places)
    # Joined again, the segments must give the text: a line break belongs only between two lines.
    text, last = segments[0].text, segments[0].last_line
    for it in segments[1:]:
        # lines 0 to 4, then 4 to 6: line 4 is too long for one segment, and is in two
        is_next = it.first_line in (last, last + 1) and it.first_line <= it.last_line
        demand(is_next, rules.TEXT_COVERED, f"where {it.id} begins", last + 1, it.first_line)
        text, last = text + ("\n" if it.first_line > last else "") + it.text, it.last_line
    due = whole.description or NORMALISERS[whole.modality](whole.text)
    demand(text == due, rules.TEXT_COVERED, message, due, text)
    demand(last == due.count("\n"), rules.TEXT_COVERED, f"the end of the {message}", due.count("\n"), last)
    before: Counter[str] = Counter()
    for it in segments:
        # two segments with one text: the id of the second counts the first
        own = segment_id(rows.scope, whole.id, it.text, before[it.text])
        demand(it.id == own, rules.UNIQUE_ROWS, "a segment under another id than its own", own, it.id)
        before[it.text] += 1


def check_reflections(rows: StoredRows) -> None:
    """Demand that each reflection is of one session, and made of whole texts that are there."""
    for key, it in rows.reflections.items():
        own, message = reflection_id(rows.scope, it.session_id), f"the reflection of {it.session_id}"
        demand(key == own, rules.UNIQUE_ROWS, "a reflection under another id than its own", own, key)
        named = [source for source, _ in it.sources]
        wholes = [source for source, text in rows.resources.items() if text.parent_id is None]
        removed = [source for source in named if source not in wholes]
        demand(not removed, rules.EDGE_SCOPE, f"{message} is made of what is not there", (), removed)
        # three texts, shown whole or cut: each is one source, whatever its number of segments
        is_once = len(dict.fromkeys(named)) == len(named) <= limits.SOURCE_COUNT_MAX
        demand(is_once, rules.DERIVED_FOLLOWS_SOURCE, f"sources of {message}", "each once", named)
        is_made = bool(named) == bool(it.text) == (not it.pending)
        demand(is_made, rules.DERIVED_FOLLOWS_SOURCE, f"{message} and its sources", it.text, it)
        is_found = it.text != "" or key not in rows.vectors
        demand(is_found, rules.DERIVED_FOLLOWS_SOURCE, f"{message} is empty, and has a vector", "", key)


def check_sources(entity: Entity, rows: StoredRows) -> None:
    """Demand that each source is there, once, and that the fact was reinforced no more often than told."""
    sources, count = entity.sources, entity.reinforced_count
    lost = [key for key in sources if key not in rows.resources and key not in rows.records]
    demand(not lost, rules.EDGE_SCOPE, f"sources of {entity.id} that are not there", (), lost)
    in_order = sources == tuple(sorted(set(sources))) and len(sources) <= limits.SOURCE_COUNT_MAX
    demand(in_order, rules.DERIVED_FOLLOWS_SOURCE, f"sources of {entity.id}", sorted(set(sources)), sources)
    most = max(1, len(sources)) + (len(sources) > 0)  # one more if it was told of before it was memorized
    is_marked = (count > 1) == (entity.last_reinforced_ms is not None)
    is_fair = max(1, len(sources)) <= count <= most and is_marked
    demand(is_fair, rules.DERIVED_FOLLOWS_SOURCE, f"how often {entity.id} was reinforced", most, entity)
