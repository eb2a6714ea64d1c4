"""The levels of the archive: resources with segments, entities from them, categories with members and groups.

Law 1. Both ends of an edge exist.
Law 2. A field that is derived from other rows has the value that follows from them.
Law 3. The segments of a text, in order, are the whole text, without repetition.
"""

from collections import Counter
from collections.abc import Mapping

from umi_core import limits
from umi_core.conversations import NORMALISERS
from umi_core.ids import (
    category_id,
    membership_id,
    reflection_id,
    resource_id,
    segment_id,
    subcategory_id,
    text_hash,
)
from umi_core.rows import Address, Category, Entity, Resource
from umi_sim.judge.invariants.stored_rows import StoredRows
from umi_sim.judge.oracle.archive.states import DESCRIBE, EMBED, MEDIA
from umi_sim.record import rules
from umi_sim.record.broken import demand


def check_hierarchy(rows: StoredRows, abouts: Mapping[str, str]) -> None:
    """Check the levels of the archive that have rows."""
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
        # A membership of a forgotten fact restores part of it; one of an unknown fact is a dangling edge.
        rule = rules.DELETED_STAYS_DELETED if rows.was_deleted(it.entity_id) else rules.EDGE_SCOPE
        entity = rows.entities.get(it.entity_id)
        demand(entity is not None, rule, f"{key} is a membership of {it.entity_id}, which is not there")
        is_there = it.category_id in rows.categories
        demand(is_there, rules.EDGE_SCOPE, f"{key} is a membership in {it.category_id}, which is not there")
        own = membership_id(rows.scope, it.entity_id, it.category_id)
        demand(key == own, rules.UNIQUE_ROWS, "the id of a membership", own, key)
        now = entity.version if entity else 0
        # A membership links version 2 of an entity that is at version 5 now if only the entity was rewritten.
        is_past = 0 < it.entity_version <= now
        message = f"the version of {it.entity_id} that {key} links"
        demand(is_past, rules.DERIVED_FOLLOWS_SOURCE, message, f"1 to {now}", it.entity_version)


def check_groups(rows: StoredRows) -> None:
    """Demand that a category lists its groups, and that a member of a group is a member of its category.

    A membership that a division could not read keeps its group, even if this division ends the group; the
    next division writes it again.
    """
    for key, it in rows.groups.items():
        own = subcategory_id(rows.scope, it.category_id, it.founder_id)
        demand(key == own, rules.UNIQUE_ROWS, "the id of a group", own, key)
        home = rows.categories.get(it.category_id)
        is_listed = home is not None and key in home.subcategory_ids
        demand(is_listed, rules.EDGE_SCOPE, f"{key} is a group of a category that does not list it")
        demand(key in rows.vectors, rules.INDEX_FOLLOWS_ROW, f"{key} has no centroid")
    for category in rows.categories.values():
        lost = [key for key in category.subcategory_ids if key not in rows.groups]
        demand(not lost, rules.EDGE_SCOPE, f"{category.name} lists groups that are not there", (), lost)
    for member in rows.memberships.values():
        place, group = member.subcategory_id, rows.groups.get(member.subcategory_id or "")
        is_there = place is None or (group is not None and group.category_id == member.category_id)
        where = Address(rows.scope, "membership", member.id)
        # A division that read this membership as damaged could not move it.
        is_there = is_there or "evolve_category" in rows.misread.get(where, ())
        message = f"{member.id} is in a group of another category, or of none"
        demand(is_there, rules.EDGE_SCOPE, message, "", member)
        is_complete = (member.confidence_ppm is None) == (place is None)
        message = f"{member.id} has a group without a confidence, or a confidence without a group"
        demand(is_complete, rules.DERIVED_FOLLOWS_SOURCE, message, "", member)


def check_categories(rows: StoredRows, abouts: Mapping[str, str]) -> None:
    """Check ids, member counts, descriptions and summaries of all categories.

    `abouts`: the descriptions of the categories that the memory lists; others keep their old description.
    """
    counts = Counter(it.category_id for it in rows.memberships.values())
    for key, it in rows.categories.items():
        own = category_id(rows.scope, it.name)
        demand(key == own, rules.UNIQUE_ROWS, f"the id of the category {it.name}", own, key)
        expected = counts[key]
        demand(
            it.member_count == expected, rules.DERIVED_FOLLOWS_SOURCE, f"members of {it.name}", expected, it
        )
        about, message = abouts.get(it.name, it.description), f"the description of {it.name}"
        demand(it.description == about, rules.DERIVED_FOLLOWS_SOURCE, message, about, it)
        check_summary(it, [each.entity_id for each in rows.memberships.values() if each.category_id == key])


def check_summary(category: Category, member_ids: list[str]) -> None:
    """Demand that a summary has only members as sources, and all of them if it is not dirty."""
    rule, what = rules.DERIVED_FOLLOWS_SOURCE, f"the summary of {category.name}"
    named = [key for key, _ in category.summary_sources]
    removed = [key for key in named if key not in member_ids]
    demand(not removed, rule, f"{what} names facts that are no members", (), removed)
    is_made = bool(named) == bool(category.summary)
    demand(is_made, rule, f"{what} and its sources", category.summary, named)
    # If c joins after a summary of a and b, the category is dirty until a new summary contains c.
    left_out = [key for key in member_ids if key not in named]
    # A prompt has at most 200 members, so a clean summary need not name the others.
    is_partial = len(named) >= limits.SUMMARY_MEMBER_COUNT_MAX
    is_true = category.summary_dirty or not left_out or is_partial
    demand(is_true, rule, f"{what} is not marked dirty, and lacks members", (), left_out)


def check_resources(rows: StoredRows) -> None:
    # A long text is one resource with the whole text, and segments whose parent it is.
    parts: dict[str, list[Resource]] = {}
    for key, it in rows.resources.items():
        expected = text_hash(it.text)
        demand(
            it.text_hash == expected,
            rules.DERIVED_FOLLOWS_SOURCE,
            f"the hash of {key}",
            expected,
            it.text_hash,
        )
        check_description(it)
        if it.parent_id is None:
            own = resource_id(rows.scope, it.uri, it.text)
            demand(key == own, rules.UNIQUE_ROWS, "the id of a resource", own, key)
        else:
            is_there = it.parent_id in rows.resources
            demand(is_there, rules.EDGE_SCOPE, f"{key} is a segment of {it.parent_id}, which is not there")
            parts.setdefault(it.parent_id, []).append(it)
    for key, it in rows.resources.items():
        # EMBED may also be pending without missing vectors: they are requested together with those of
        # segments.
        every = (it, *parts.get(key, []))
        lost = [each.id for each in every if each.caption.strip() and each.id not in rows.vectors]
        message = f"{key} lacks vectors, and they are not pending"
        demand(not lost or EMBED in it.pending, rules.INDEX_FOLLOWS_ROW, message, lost, it.pending)
    for key, segments in parts.items():
        check_segments(rows.resources[key], sorted(segments, key=lambda it: it.position), rows)


def check_description(it: Resource) -> None:
    """Demand that only media have a description; without it DESCRIBE is pending and nothing is extracted."""
    is_media, must_describe = it.modality in MEDIA and it.parent_id is None, it.pending[:1] == (DESCRIBE,)
    rule, what = rules.DERIVED_FOLLOWS_SOURCE, f"the description of {it.id}"
    demand(is_media or not it.description, rule, what, "", it.description)
    is_pending = must_describe == (is_media and not it.description)
    demand(is_pending, rule, f"{what} and what is pending", it.description, it.pending)
    # Facts are extracted from the description, so there are none before it exists.
    is_unread = not (must_describe and it.extracted_types)
    demand(is_unread, rule, f"what was read of {it.id} before it had a description", (), it.extracted_types)


def check_segments(whole: Resource, segments: list[Resource], rows: StoredRows) -> None:
    """Demand that segments are the lines of `whole`, in their order; a long line is in several."""
    message = f"segments of {whole.id}"
    places = [it.position for it in segments]
    expected_places = [*range(len(places))]
    demand(
        places == expected_places, rules.TEXT_COVERED, f"positions of the {message}", expected_places, places
    )
    # The joined segments must give the text; a line break is added only between two lines.
    text, last = segments[0].text, segments[0].last_line
    for it in segments[1:]:
        # Lines 0 to 4, then 4 to 6: line 4 is too long for one segment, so it is in two.
        is_next = it.first_line in (last, last + 1) and it.first_line <= it.last_line
        demand(is_next, rules.TEXT_COVERED, f"the first line of {it.id}", last + 1, it.first_line)
        text, last = text + ("\n" if it.first_line > last else "") + it.text, it.last_line
    expected = whole.description or NORMALISERS[whole.modality](whole.text)
    demand(text == expected, rules.TEXT_COVERED, f"the text of all {message}", expected, text)
    end = expected.count("\n")
    demand(last == end, rules.TEXT_COVERED, f"the last line of the {message}", end, last)
    before: Counter[str] = Counter()
    for it in segments:
        # If two segments have equal texts, the id of the second contains the count of the first.
        own = segment_id(rows.scope, whole.id, it.text, before[it.text])
        demand(it.id == own, rules.UNIQUE_ROWS, "the id of a segment", own, it.id)
        before[it.text] += 1


def check_reflections(rows: StoredRows) -> None:
    """Demand that each reflection is of one session, and that its sources are stored texts."""
    for key, it in rows.reflections.items():
        own, message = reflection_id(rows.scope, it.session_id), f"the reflection of {it.session_id}"
        demand(key == own, rules.UNIQUE_ROWS, f"the id of {message}", own, key)
        named = [source for source, _ in it.sources]
        removed = [source for source in named if not rows.is_complete_text(source)]
        demand(not removed, rules.EDGE_SCOPE, f"{message} names sources that are not there", (), removed)
        # Each text is one source, whatever its number of segments.
        is_once = len(dict.fromkeys(named)) == len(named) <= limits.SOURCE_COUNT_MAX
        demand(is_once, rules.DERIVED_FOLLOWS_SOURCE, f"sources of {message}", "each once", named)
        is_made = bool(named) == bool(it.text) == (not it.pending)
        demand(is_made, rules.DERIVED_FOLLOWS_SOURCE, f"{message} and its sources", it.text, it)
        is_found = it.text != "" or key not in rows.vectors
        demand(is_found, rules.DERIVED_FOLLOWS_SOURCE, f"{message} is empty, and has a vector", "none", key)


def check_sources(entity: Entity, rows: StoredRows) -> None:
    """Demand that each source exists, is named once, and has reinforced the fact once."""
    sources, count = entity.sources, entity.reinforced_count
    lost = [key for key in sources if key not in rows.resources and key not in rows.records]
    demand(not lost, rules.EDGE_SCOPE, f"{entity.id} names sources that are not there", (), lost)
    in_order = sources == tuple(sorted(set(sources))) and len(sources) <= limits.SOURCE_COUNT_MAX
    demand(in_order, rules.DERIVED_FOLLOWS_SOURCE, f"sources of {entity.id}", sorted(set(sources)), sources)
    least = max(1, len(sources))
    most = least + (len(sources) > 0)  # one more if it was remembered before it was memorized
    is_marked = (count > 1) == (entity.last_reinforced_ms is not None)
    message = f"how often {entity.id} was reinforced, and when last"
    is_fair = least <= count <= most and is_marked
    demand(is_fair, rules.DERIVED_FOLLOWS_SOURCE, message, f"{least} to {most}", entity)
