"""Readings: replies of models by task, as the parsers of the memory read them.

tests/properties/readings.py tests the parsers with a second implementation. Judges use them to read a reply,
and demand that the memory acts on it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from umi_core.config import Config
from umi_core.data import Data
from umi_core.language import (
    decisions,
    descriptions,
    evolution,
    extraction,
    keywords,
    memories,
    ranks,
    rewriting,
    routing,
    segments,
    summaries,
)
from umi_core.language.times import instant
from umi_core.limits import DAY_MS
from umi_core.rows import Entity
from umi_core.values import DESCRIBED_BY, Turn
from umi_sim.services.model.prompts import Inputs


class PromptSubject(Data):
    """The inputs of a prompt that are needed to parse its reply; inputs of other tasks are empty."""

    text: str = ""
    query: str = ""
    turns: tuple[Turn, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()
    pairs: tuple[evolution.Pair, ...] = ()
    candidates: tuple[str, ...] = ()
    count: int = 0
    day: int | None = None  # the day to which words such as `yesterday` in the text refer


Parser = Callable[[str, PromptSubject, Config], object]
PARSERS: Final[Mapping[str, Parser]] = {
    "extract": lambda reply, asked, config: extraction.parse_extraction(reply, asked.text, config, asked.day),
    "route": lambda reply, asked, config: routing.parse_routes(
        reply, tuple(entity_of(*it) for it in asked.entities), config
    ),
    "evolve": lambda reply, asked, config: evolution.parse_evolution(
        reply, asked.pairs, config.evolve_confidence_min_ppm
    ),
    "expand": lambda reply, asked, config: rewriting.parse_variants(reply, asked.query),
    "rewrite": lambda reply, asked, config: rewriting.judge_rewrite(
        reply, asked.query, asked.turns, config.resolve_confidence_min_ppm
    ),
    "memories": lambda reply, asked, config: memories.parse_memories(reply),
    "segment": lambda reply, asked, config: segments.parse_segments(reply, asked.text.count("\n") + 1),
    **dict.fromkeys(
        ("summarise_category", "reflect"), lambda reply, asked, config: summaries.parse_summary(reply)
    ),
    "name_subcategory": lambda reply, asked, config: keywords.parse_name(reply),
    **dict.fromkeys(
        ("decide_need", "decide_enough"), lambda reply, asked, config: decisions.parse_decision(reply)
    ),
    **dict.fromkeys(
        DESCRIBED_BY.values(), lambda reply, asked, config: descriptions.parse_description(reply)
    ),
    "rank": lambda reply, asked, config: ranks.parse_ranks(reply, len(asked.candidates), asked.count),
}


def entity_of(entity_id: str, entity_type: str) -> Entity:
    """Return an entity with this id and type and otherwise arbitrary fields."""
    return Entity(entity_id, entity_type, "", "", 1, 0, 0, "scratch", 0, 0)


def subject_of(asked: Inputs) -> PromptSubject:
    """Return the inputs of a prompt; an input that has not the form used by the memory counts as empty."""
    turns = tuple(Turn(*turn) for turn in rows_of(asked, "turns", "role", "text"))
    entities, pairs = rows_of(asked, "entities", "entity_id", "type"), rows_of(asked, "pairs", "new", "old")
    ids = tuple(alias for alias, _ in rows_of(asked, "candidates", "id", "text"))
    count = int(getattr(asked.get("count"), "text", "0"))
    told_ms = instant(text_of(asked, "told").rpartition(" ")[2], is_end=False)
    day = None if told_ms is None else told_ms // DAY_MS
    return PromptSubject(
        text_of(asked, "text"), text_of(asked, "query"), turns, entities, pairs, ids, count, day
    )


def text_of(asked: Inputs, name: str) -> str:
    text = asked.get(name)
    return text if isinstance(text, str) else ""


def rows_of(asked: Inputs, name: str, first: str, second: str) -> tuple[tuple[str, str], ...]:
    """Return the two named texts of each object in a list input."""
    rows = asked.get(name)
    objects = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return tuple((text_of(row, first), text_of(row, second)) for row in objects)
