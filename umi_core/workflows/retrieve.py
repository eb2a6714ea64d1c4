"""retrieve: what the archive knows for a query, from the summary to the source, until there is enough.

Law 1. The levels come in one order, and the search stops at the first that is enough; nothing is read after
it. Law 2. A decision that cannot be read means: look it up. Law 3. A query is searched as it was given unless
a rewrite passes the gate. Law 4. A level that fails is named, and the search goes on without it; if nothing
was found and a level has failed, that is an error, never an empty result.
"""

from collections.abc import Iterable
from typing import Final, Literal, get_args

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Law,
    Learned,
    Step,
    Workflow,
    asks,
    degrade,
    nothing,
    retry,
)
from umi_core.language.decisions import parse_decision
from umi_core.language.prompts import ask_need
from umi_core.language.rewriting import shown_turns
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, Done, Read
from umi_core.messages.results import LevelHit, LevelTried, Resolution, Retrieved, StopReason
from umi_core.policies.ranking import join_lists
from umi_core.policies.sufficiency import ScoredRow, union
from umi_core.rows import Entity, Row
from umi_core.text import cut, size
from umi_core.tiers.rendering import escape
from umi_core.tiers.session import record_recall
from umi_core.values import LEVELS
from umi_core.workflows import recall
from umi_core.workflows.commits import entity_ids
from umi_core.workflows.dating import DATE
from umi_core.workflows.descending import (
    NAMES,
    OF,
    REQUEST,
    RESOLUTION,
    adopt,
    asked_levels,
    by_words,
    found_at,
    has_failed,
    least_score,
    name_and_text,
    order_law,
    query_at,
    skipped_levels,
    steps_of,
    texts_law,
    verdict_of,
)

Need = Literal["retrieve", "not_needed", "nothing_asked"]
NEED: Final = Fact("need", str)
OFFERED: Final = Fact("offered", Resolution | None)  # the rewrite that came with the decision
Missed = tuple[str, str]  # a level, and a text by which its words were searched
MISSED: Final = Fact("missed", tuple[Missed, ...])  # of levels that failed, if nothing at all was found
AGAIN: Final = Fact("again", tuple[tuple[Row, ...], ...], tuple(LEVELS.values()))  # what those give after all


# route: whether anything is needed at all.


def ask_route(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    if not request.route_intention or not asked_levels(request, view.scope):
        return None
    return AskModel("decide_need", ask_need(request.query, shown_turns(request.turns)))


def take_route(facts: Facts, answer: ModelReplied | None, view: View) -> Learned:
    request = facts[REQUEST]
    if answer is None:
        return learn_need("retrieve" if asked_levels(request, view.scope) else "nothing_asked", None, ())
    decision, turns = parse_decision(answer.text), shown_turns(request.turns)
    if decision.is_enough:
        return learn_need("not_needed", None, ())
    floor_ppm = view.config.resolve_confidence_min_ppm
    return learn_need("retrieve", *adopt(decision, request.query, turns, floor_ppm))


def learn_need(need: Need, offered: Resolution | None, shapes: tuple[str, ...]) -> Learned:
    return Learned(NEED(need) | OFFERED(offered), None if need == "retrieve" else "missed", shapes=shapes)


# resolve: what the query refers to, unless the decision has brought a rewrite of it.


def ask_resolution(facts: Facts, view: View) -> AskModel | None:
    return recall.ask_resolution(facts, view) if facts[OFFERED] is None else None


def take_resolution(facts: Facts, answer: ModelReplied | None, view: View) -> Learned:
    offered = facts[OFFERED]
    return recall.take_resolution(facts, answer, view) if offered is None else Learned(RESOLUTION(offered))


# missed, again: a last try before nothing is said to be there.


def take_missed(facts: Facts, answer: None, view: View) -> Learned:
    return Learned(MISSED(missed_lists(facts)))


def missed_lists(facts: Facts) -> tuple[Missed, ...]:
    # By words alone: a level whose vector search failed was still searched.
    failed = tuple(
        (name, text) for name in NAMES if has_failed(facts, name) for text in facts[OF[name].texts]
    )
    is_empty = not any(found_at(facts, OF[name]) for name in NAMES)
    return failed if is_empty else ()


def ask_again(facts: Facts, view: View) -> Read:
    return by_words(facts, view, *facts.unit(MISSED))


def take_again(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(AGAIN.unit(answer.rows))


# build: the reply.


def take_hits(facts: Facts, answer: None, view: View) -> Learned:
    request, found = facts[REQUEST], best_found(facts)
    hits = tuple(map(hit_of, found))
    context, left_out_count = context_of(hits, view.config.context_bytes_max)
    tiers = view.tiers
    entities = [it.row.body for it in found if isinstance(it.row.body, Entity)]
    tiers.access = tiers.access.record_recall(entities, view.now_ms, entity_ids(tiers.core))
    if facts[NEED] != "nothing_asked":
        tiers.session = record_recall(tiers.session, request.query)
    asked = asked_levels(request, view.scope)
    tried = tuple(tried_of(facts, asked))
    value = Retrieved(
        query_at(facts, tried[-1].level if tried else None), facts[RESOLUTION], hits, asked,
        tried, reason_of(facts, asked), request.rank, context, left_out_count,
        skipped_levels(request, view.scope),
    )  # fmt: skip
    return Learned(OUTCOME(Done(value)), shapes=(value.stop_reason,))


def found_in(facts: Facts, name: str) -> tuple[ScoredRow, ...]:
    """Return the final result of a level, after a second search if the first missed."""
    missed, given = facts[MISSED], facts[AGAIN]
    # If something was found after all levels, nothing was missed, and this is empty.
    again = [rows for (level, _), rows in zip(missed, given, strict=True) if level == name]
    request = facts[REQUEST]
    by_words = join_lists(again, least_score(request))
    return union(name, (), by_words, request.limit_per_level) if again else found_at(facts, OF[name])


def best_found(facts: Facts) -> list[ScoredRow]:
    """Return the hits by score, level and id; level by level if a model ordered them."""
    request, found = facts[REQUEST], [it for name in NAMES for it in found_in(facts, name)]
    if request.rank == "vector":
        found.sort(key=lambda it: (-it.score_ppm, NAMES.index(it.level), it.row.address.id))
    return found[: request.total_limit]


def reached_levels(facts: Facts, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levels that were tried, in their order."""
    # Not needed, or nothing asked: the steps of the levels were skipped, and left their substitutes.
    if facts[NEED] != "retrieve":
        return ()
    tried = asked[: facts[REQUEST].levels_max]
    # The level that gave a reason to stop was searched itself, so it is the last one reached.
    end = next((at for at, name in enumerate(tried) if facts.get(OF[name].stop)), len(tried))
    return tried[: end + 1]


def tried_of(facts: Facts, asked: tuple[str, ...]) -> Iterable[LevelTried]:
    for name in reached_levels(facts, asked):
        is_failed = not facts[MISSED] and has_failed(facts, name)
        yield LevelTried(name, query_at(facts, OF[name].before), len(found_in(facts, name)), is_failed)


def reason_of(facts: Facts, asked: tuple[str, ...]) -> StopReason:
    """Return why the descent stopped: decided before the levels or after the last one, else `exhausted`."""
    levels = reached_levels(facts, asked)
    stop = facts.get(OF[levels[-1]].stop) if levels else facts[NEED]
    return next((reason for reason in get_args(StopReason) if reason == stop), "exhausted")


def hit_of(found: ScoredRow) -> LevelHit:
    body, (name, text) = found.row.body, name_and_text(found.row)
    # A fact has a version of its own; other rows are counted by their writes.
    version = body.version if isinstance(body, Entity) else found.row.version
    row_id = found.row.address.id
    return LevelHit(found.level, row_id, version, found.score_ppm, found.vector_ppm, name, text)


def context_of(hits: tuple[LevelHit, ...], bytes_max: int) -> tuple[str, int]:
    """Return the texts of the first hits that fit into `bytes_max`, and how many hits do not fit."""
    lines: list[tuple[str, str]] = []
    room_bytes = bytes_max
    for hit in hits:
        # The first text is cut rather than left out, so a context is never empty for want of room.
        text = hit.text if lines else cut(hit.text, bytes_max)
        if size(text) > room_bytes:
            break
        room_bytes -= size(text)
        lines.append((hit.level, line_of(hit, text)))
    return "".join(section(name, lines) for name in NAMES), len(hits) - len(lines)


def line_of(hit: LevelHit, text: str) -> str:
    name = f' name="{escape(hit.name)}"' if hit.name else ""
    return f'<hit id="{escape(hit.id)}" score="{hit.score_ppm}"{name}>{escape(text)}</hit>\n'


def section(name: str, lines: list[tuple[str, str]]) -> str:
    inside = "".join(line for level, line in lines if level == name)
    return f"<{name}>\n{inside}</{name}>\n" if inside else ""


LEVEL_STEPS: Final = tuple(
    step for name in NAMES for step in (*steps_of(name), *((verdict_of(name),) if name != NAMES[-1] else ()))
)
LEVEL_FACTS: Final = tuple(
    fact for level in OF.values() for fact in (level.texts, level.by_vector, level.by_words, level.order)
)
STOPS: Final = tuple(fact for name in NAMES[:-1] for fact in (OF[name].stop, OF[name].query))

RETRIEVE: Final = Workflow(
    "retrieve",
    given=(REQUEST,),
    steps=(
        DATE,
        Step("route", requires=(REQUEST,), produces=(NEED, OFFERED), skips_to=("missed",),
             config=(("profile", "default"),),
             **asks(AskModel, ask_route, take_route,
                    retry(2, then=degrade("retrieve", NEED("retrieve") | OFFERED(None))))),
        Step("resolve", requires=(REQUEST, OFFERED), produces=(RESOLUTION,), otherwise=nothing(RESOLUTION),
             config=(("profile", "default"),),
             **asks(AskModel, ask_resolution, take_resolution,
                    retry(2, then=Degrade("original", recall.original)))),
        *LEVEL_STEPS,
        Step("missed", requires=(REQUEST, *LEVEL_FACTS), produces=(MISSED,), take=take_missed),
        Step("again", each=MISSED, requires=(REQUEST,), produces=(AGAIN,),
             **asks(Read, ask_again, take_again, retry(3))),
        Step("build", requires=(REQUEST, NEED, RESOLUTION, MISSED, AGAIN, *LEVEL_FACTS, *STOPS),
             produces=(OUTCOME,), take=take_hits),
    ),
    laws=(
        *(texts_law(name) for name in NAMES),
        *(order_law(name) for name in NAMES),
        Law("lists that failed", (MISSED,), lambda facts, scope: facts[MISSED] == missed_lists(facts)),
    ),
)  # fmt: skip
