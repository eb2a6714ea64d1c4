"""Readings: the memory reads in a reply of a model what a plain reader reads in it.

Law 1. Whatever the model said, the memory's parsers read it: no exception, and each element is kept, merged
or dropped with a reason. Law 2. A payload is found wherever it stands, in fences, prose or quotation.
Law 3. Of one reply both readers make equal values, all of them; the plain one shares no decision with the
memory, so a parser that decides otherwise is seen by the first reply that it decides.
"""

from collections.abc import Callable, Mapping
from typing import Final

import attrs

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
from umi_core.language.replies import UnusableReply
from umi_core.messages.effects import AskModel
from umi_core.rows import Entity
from umi_core.values import Turn
from umi_sim.judge.plain.extraction import (
    ExpectedFact,
    ExpectedMention,
    Extracted,
    read_extraction,
    read_memories,
)
from umi_sim.judge.plain.hierarchy import DESCRIBING, Described, read_description, read_name, read_starts
from umi_sim.judge.plain.queries import read_rewrite, read_variants
from umi_sim.judge.plain.replies import (
    Asked,
    ExpectedRoutes,
    ExpectedVerdict,
    Pair,
    Verdicts,
    read_decision,
    read_ranks,
    read_routes,
    read_summary,
    read_verdicts,
    why_unusable,
)
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand
from umi_sim.services.model.prompts import Inputs, inputs


@attrs.frozen
class PromptSubject(Data):
    """The inputs of a prompt that its reply is read with; inputs of other tasks are empty."""

    text: str = ""
    query: str = ""
    turns: tuple[Turn, ...] = ()
    entities: tuple[Asked, ...] = ()
    pairs: tuple[Pair, ...] = ()
    candidates: tuple[str, ...] = ()
    count: int = 0


SUMMING: Final = ("summarise_category", "reflect")
DECIDING: Final = ("decide_need", "decide_enough")
Reader = Callable[[str, PromptSubject, Config], object]
BY_MEMORY: Final[Mapping[str, Reader]] = {
    "extract": lambda reply, asked, config: extraction.parse_extraction(reply, asked.text, config),
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
    "segment": lambda reply, asked, config: segments.parse_segments(reply, line_count(asked)),
    **dict.fromkeys(SUMMING, lambda reply, asked, config: summaries.parse_summary(reply)),
    "name_subcategory": lambda reply, asked, config: keywords.parse_name(reply),
    **dict.fromkeys(DECIDING, lambda reply, asked, config: decisions.parse_decision(reply)),
    **dict.fromkeys(DESCRIBING, lambda reply, asked, config: descriptions.parse_description(reply)),
    "rank": lambda reply, asked, config: ranks.parse_ranks(reply, len(asked.candidates), asked.count),
}
# The same tasks as BY_MEMORY, read a second time by readers that share no code with the memory.
PLAINLY: Final[Mapping[str, Reader]] = {
    "extract": lambda reply, asked, config: read_extraction(
        reply, asked.text, config.extract_confidence_min_ppm
    ),
    "route": lambda reply, asked, config: read_routes(reply, asked.entities, config),
    "evolve": lambda reply, asked, config: read_verdicts(
        reply, asked.pairs, config.evolve_confidence_min_ppm
    ),
    "expand": lambda reply, asked, config: read_variants(reply, asked.query),
    "rewrite": lambda reply, asked, config: read_rewrite(
        reply, asked.query, asked.turns, config.resolve_confidence_min_ppm
    ),
    "memories": lambda reply, asked, config: read_memories(reply),
    "segment": lambda reply, asked, config: read_starts(reply, line_count(asked)),
    **dict.fromkeys(SUMMING, lambda reply, asked, config: read_summary(reply)),
    "name_subcategory": lambda reply, asked, config: read_name(reply),
    **dict.fromkeys(DECIDING, lambda reply, asked, config: read_decision(reply)),
    **dict.fromkeys(DESCRIBING, lambda reply, asked, config: read_description(reply)),
    "rank": lambda reply, asked, config: read_ranks(reply, asked.candidates, asked.count),
}


OF_ARCHIVE: Final = (
    "memories", "segment", "name_subcategory", "rank", *SUMMING, *DECIDING, *DESCRIBING,
)  # fmt: skip


def check_reading(effect: AskModel, reply: str, config: Config) -> None:
    """Raise Broken if a parser fails on this reply, or reads in it something else than the reference."""
    check_read(effect.task, reply, subject_of(inputs(effect.prompt)), config)


def check_read(task: str, reply: str, asked: PromptSubject, config: Config) -> None:
    """Check the reading of a reply to any question."""
    total = rules.ARCHIVE_PARSER_TOTAL if task in OF_ARCHIVE else rules.PARSER_TOTAL
    try:
        got = as_plain(BY_MEMORY[task](reply, asked, config))
    except Exception as error:
        raise Broken(total, f"the answer to {task} cannot be read: {error!r}", "", reply) from None
    wanted = PLAINLY[task](reply, asked, config)
    if task in OF_ARCHIVE:
        # why an order is unusable is not compared, only that it is
        got = None if task == "rank" and isinstance(got, str) else got
        demand(wanted == got, total, f"the answer to {task} is read otherwise", wanted, got)
        return
    # The memory says why it read nothing; the plain readers say None, and the reason is worked out here.
    wanted = why_unusable(reply) if wanted is None else wanted
    # texts are reasons why there is no payload: both readers found one, or both did not
    is_seen = isinstance(wanted, str) == isinstance(got, str)
    demand(is_seen, rules.PARSER_KEEPS_THE_GOOD, f"the payload of {task}", wanted, got)
    demand(wanted == got, rules.PARSER_TOTAL, f"the answer to {task} is read otherwise", wanted, got)


def as_mention(it: extraction.Mention) -> ExpectedMention:
    return ExpectedMention(it.name, it.type, it.content, it.confidence_ppm, it.named, others=it.others)


def as_plain(read: object) -> object:
    """Return what the memory read in the words of the plain readers, or why it read nothing."""
    match read:
        case UnusableReply(reason=reason):
            return reason
        case decisions.Decision(is_enough, rewrite):
            return is_enough, rewrite
        case ranks.Ranks(aliases):
            return list(aliases)
        case extraction.Extraction(entities, dropped, partial, uncovered_count):
            return Extracted(
                tuple(map(as_mention, entities)),
                dropped,
                partial,
                uncovered_count,
            )
        case routing.Routes(routed, degraded):
            return ExpectedRoutes(routed, degraded)
        case evolution.Evolution(verdicts, dropped_rows):
            return Verdicts(tuple((pair, verdict_of(it)) for pair, it in verdicts), dropped_rows)
        case rewriting.Variants(texts):
            return texts
        case memories.Unread() | segments.Useless() | summaries.Unwritten() | keywords.Unnamed():
            return None
        case descriptions.Undescribed():
            return None
        case descriptions.Description(text, caption):
            return Described(text, caption)
        case memories.Memories(found):
            return tuple(ExpectedFact(it.name, it.content, it.categories) for it in found)
        case segments.Partition(spans):
            return [start for start, _ in spans]
    return read


def verdict_of(it: evolution.StatementVerdict) -> ExpectedVerdict:
    return ExpectedVerdict(it.kind, it.confidence_ppm, it.reason, it.by)


def entity_of(entity_id: str, entity_type: str) -> Entity:
    """Return an entity that was asked about; no more than id and type counts."""
    return Entity(entity_id, entity_type, "", "", 1, 0, 0, "scratch", 0, 0)


def line_count(asked: PromptSubject) -> int:
    return len(asked.text.split("\n"))


# What was asked.


def subject_of(asked: Inputs) -> PromptSubject:
    """Return the inputs of a prompt, as far as they have the form that the memory gives them."""
    turns = tuple(Turn(*said) for said in rows_of(asked, "turns", "role", "text"))
    entities, pairs = rows_of(asked, "entities", "entity_id", "type"), rows_of(asked, "pairs", "new", "old")
    ids = tuple(alias for alias, _ in rows_of(asked, "candidates", "id", "text"))
    count = int(getattr(asked.get("count"), "text", "0"))
    return PromptSubject(text_of(asked, "text"), text_of(asked, "query"), turns, entities, pairs, ids, count)


def text_of(asked: Inputs, name: str) -> str:
    text = asked.get(name)
    return text if isinstance(text, str) else ""


def rows_of(asked: Inputs, name: str, first: str, second: str) -> tuple[tuple[str, str], ...]:
    """Return two texts of each row of a list."""
    rows = asked.get(name)
    objects = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return tuple((text_of(row, first), text_of(row, second)) for row in objects)
