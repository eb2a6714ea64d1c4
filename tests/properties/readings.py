"""Readings: what the memory reads in a reply of a model, and what a plain reader reads in it.

Law 1. Whatever a model says is read: no exception, and each element is kept, merged or dropped with a reason.
Law 2. A payload is found wherever it stands, in fences, prose or quotation. Law 3. The plain readers share no
decision with the memory: of one reply both make equal values, all of them.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tests.properties.extraction_reference import (
    ExpectedFact,
    ExpectedMention,
    Extracted,
    count_beyond,
    read_extraction,
    read_memories,
)
from tests.properties.hierarchy_reference import Described, read_description, read_name, read_starts
from tests.properties.queries_reference import is_alike, read_rewrite, read_variants
from tests.properties.replies_reference import (
    ExpectedRoutes,
    ExpectedVerdict,
    Verdicts,
    read_decision,
    read_ranks,
    read_routes,
    read_summary,
    read_verdicts,
    why_unusable,
)
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
from umi_core.messages.results import Resolution
from umi_core.rows import Entity
from umi_core.values import DESCRIBED_BY, Turn
from umi_sim.judge.oracle.archive.degradations import USELESS


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


# The same tasks as PARSERS, read a second time.
PLAINLY: Final[Mapping[str, Parser]] = {
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
    "segment": lambda reply, asked, config: spans_of(reply, asked.text.count("\n") + 1),
    **dict.fromkeys(("summarise_category", "reflect"), lambda reply, asked, config: read_summary(reply)),
    "name_subcategory": lambda reply, asked, config: read_name(reply),
    **dict.fromkeys(("decide_need", "decide_enough"), lambda reply, asked, config: read_decision(reply)),
    **dict.fromkeys(DESCRIBED_BY.values(), lambda reply, asked, config: read_description(reply)),
    "rank": lambda reply, asked, config: read_ranks(reply, asked.candidates, asked.count),
}
UNREAD: Final[Mapping[str, tuple[str, ...]]] = {  # by task, what is wrong with a reply besides its JSON
    "segment": ("no_segment",), "memories": ("empty", "no_tag"), "name_subcategory": ("no_word",),
    **dict.fromkeys(("summarise_category", "reflect", *DESCRIBED_BY.values()), ("empty",)),
}  # fmt: skip


def check_read(task: str, reply: str, asked: PromptSubject, config: Config) -> None:
    """Demand that the memory reads in a reply to any question what a plain reader reads in it."""
    try:
        got = PARSERS[task](reply, asked, config)
    except Exception as error:
        raise AssertionError(f"the reply to {task} cannot be read: {error!r}") from error
    wanted = PLAINLY[task](reply, asked, config)
    if isinstance(got, USELESS):
        assert wanted is None, task
        assert got.reason in (why_unusable(reply), *UNREAD.get(task, ())), task
        return
    if isinstance(got, Resolution):
        assert isinstance(wanted, Resolution)
        assert is_alike(got, wanted), (got, wanted)
        return
    assert as_plain(got) == wanted, task
    if isinstance(got, memories.Memories):
        assert got.diagnostics.count("too_many") == count_beyond(reply)


def spans_of(reply: str, line_count: int) -> tuple[segments.Span, ...] | None:
    """Return the first and the last line of each part: a part ends where the next one begins."""
    starts = read_starts(reply, line_count)
    return (
        tuple(zip(starts, [*(at - 1 for at in starts[1:]), line_count - 1], strict=True)) if starts else None
    )


def as_mention(it: extraction.Mention) -> ExpectedMention:
    return ExpectedMention(it.name, it.type, it.content, it.confidence_ppm, it.named, others=it.others)


def as_plain(read: object) -> object:
    """Return what the memory read in the words of the plain readers; of a useless reply why."""
    if isinstance(read, USELESS):
        return read.reason
    match read:
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
        case descriptions.Description(text, caption):
            return Described(text, caption)
        case memories.Memories(found):
            return tuple(ExpectedFact(it.name, it.content, it.categories) for it in found)
        case segments.Partition(spans):
            return spans
    return read


def verdict_of(it: evolution.StatementVerdict) -> ExpectedVerdict:
    return ExpectedVerdict(it.kind, it.confidence_ppm, it.reason, it.by)
