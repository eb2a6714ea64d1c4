"""Extracting and comparing: what a text says, and how that stands to what was known.

Both are asked of the model before anything is written.

Law 1. Asked pairs: each new fact with its candidates, by rank, a few in one question. What its text tells
before it is a candidate as well, as if one had been told after the other. Law 2. Without a model, or without
a verdict, nothing that is known changes. Law 3. New facts that are not compared are counted.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    Degrade,
    Law,
    Learned,
    Step,
    Taken,
    Unusable,
    asks,
    degrade,
    nothing,
    retry,
)
from umi_core.kelpie.requests import AddArchival
from umi_core.language import replies
from umi_core.language.dates import add_dates, day_of
from umi_core.language.evolution import Pair, StatementVerdict, parse_evolution
from umi_core.language.extraction import Mention, notes_of_text, own_words, parse_extraction
from umi_core.language.prompts import ask_evolve, ask_extract
from umi_core.language.wordings import words_before
from umi_core.limits import (
    EVOLVE_CANDIDATE_COUNT_MAX,
    EVOLVE_FACT_COUNT_MAX,
    EVOLVE_PAIR_COUNT_MAX,
    TEXT_BYTES_MAX,
)
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByWords, Read
from umi_core.messages.requests import LoadSession, Memorize, Remember
from umi_core.policies.ranking import relevance
from umi_core.policies.term_scores import score_others
from umi_core.rows import Entity, Row
from umi_core.values import Scope
from umi_core.workflows.drafting import (
    DRAFTS,
    Drafted,
    embedded_text,
    order_by_text,
    ref,
    statement_of,
)

# Extracting: the names in a text, and what is said about each, before anything is looked up.
#
# If the model fails the text is kept as notes; so are the sentences that it passes over.


Telling = Remember | AddArchival
REQUEST: Final = Fact("request", Telling)
BY_WHOM: Final = Fact("request", Telling | LoadSession)  # of steps that need none of its texts
MENTIONS: Final = Fact("mentions", tuple[Mention, ...])
DROPPED: Final = Fact("dropped", tuple[tuple[int, str], ...])
STATED_ON: Final = Fact("stated_on", int)  # the day, since 1970
STATED: Final = Fact("stated", str)  # the text, with a date behind each word that counts from that day


def take_stated(facts: Facts, answer: None, view: View) -> Learned:
    request = facts[REQUEST]
    at_ms = request.event_time_ms if isinstance(request, Remember) else None
    day = day_of(view.now_ms if at_ms is None else at_ms, view.config)
    return Learned(STATED_ON(day) | STATED(add_dates(request.text, day, TEXT_BYTES_MAX)))


# First, so that the words count from the day on which the request came, however long its questions take.
DATE: Final = Step("date", requires=(REQUEST,), produces=(STATED_ON, STATED), take=take_stated)


def ask_extraction(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    if not request.extract:
        return None
    return AskModel("extract", ask_extract(facts[STATED], request.speaker, facts[STATED_ON]))


def take_extraction(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    if answer is None:
        return Learned(notes(facts))
    extraction = parse_extraction(answer.text, facts[STATED], view.config, facts[STATED_ON])
    if isinstance(extraction, replies.UnusableReply):
        return Unusable(extraction.reason)
    request = facts[REQUEST]
    extraction = own_words(extraction, facts[STATED], request.speaker) if request.speaker else extraction
    count = extraction.uncovered_count
    # Once for a reply, however many elements of it are malformed.
    partial = (("partial", "malformed", 1),) if extraction.partial else ()
    uncovered = (("uncovered", "passed_over", count),) if count else ()
    learned = MENTIONS(extraction.entities) | DROPPED(extraction.dropped)
    return Learned(learned, degraded=(*partial, *uncovered), shapes=extraction.shapes)


def notes(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return MENTIONS(notes_of_text(facts[STATED])) | DROPPED(())


EXTRACT = Step(
    "extract", requires=(REQUEST, STATED_ON, STATED), produces=(MENTIONS, DROPPED),
    otherwise=nothing(MENTIONS, DROPPED), config=(("profile", "default"),),
    **asks(AskModel, ask_extraction, take_extraction, retry(2, then=Degrade("notes", notes))),
)  # fmt: skip


# Low: a model judges the pairs, and a pair that is not asked about is never compared.
CANDIDATE_SCORE_MIN_PPM: Final = 200_000
Verdicts = tuple[tuple[Pair, StatementVerdict], ...]

COMPARED: Final = Fact("request", Telling | Memorize | LoadSession)
FRESH: Final = Fact("fresh", tuple[Drafted, ...])  # the new facts that are compared, as the text has them
CANDIDATES: Final = Fact("candidates", tuple[tuple[Row, ...], ...])  # the rows found for each of them
PAIRS: Final = Fact("pairs", tuple[tuple[Pair, ...], ...])  # of each question
VERDICTS: Final = Fact("verdicts", tuple[Verdicts, ...])  # of each answer


# compare and candidates: what is new, and what is known and may have to do with it.


def take_fresh(facts: Facts, answer: None, view: View) -> Learned:
    request = facts[COMPARED]
    if not isinstance(request, Memorize) and not request.evolve:
        return Learned(FRESH(()))
    drafts = {draft.entity.id: draft for draft in facts[DRAFTS]}
    fresh = tuple(drafts[key] for key in list_order(facts) if drafts[key].is_changed)
    left_count = len(fresh) - EVOLVE_FACT_COUNT_MAX
    partial = (("partial", "too_many", left_count),) if left_count > 0 else ()
    return Learned(FRESH(fresh[:EVOLVE_FACT_COUNT_MAX]), degraded=partial)


def list_order(facts: Facts) -> list[str]:
    """Return the ids of the facts of this text, in its order."""
    return order_by_text((draft.entity for draft in facts[DRAFTS]), facts[STATED])


def ask_candidates(facts: Facts, view: View) -> Read:
    ids = tuple(it.entity.id for it in facts[DRAFTS])
    text = text_before(facts.unit(FRESH).entity)
    # By words: the new facts have no vectors yet. `others`: what this text tells itself `take_pairs` adds.
    others = (Condition("id", "not_in", ids),)
    query = ByWords(view.scope, text, others, EVOLVE_CANDIDATE_COUNT_MAX, CANDIDATE_SCORE_MIN_PPM)
    return Read(query)


def text_before(fact: Entity) -> str:
    """Return the text by which older facts are found that this one may end."""
    return "\n".join((embedded_text(fact), *words_before(fact.content)))


def take_candidates(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(CANDIDATES.unit(tuple(row for row in answer.rows if isinstance(row.body, Entity))))


def candidate_rows(facts: Facts) -> Mapping[str, Row]:
    """Return each candidate as it was read last: another remember may commit between two reads."""
    # The dict keeps the last, so the newest version of a row that two reads brought.
    rows = sorted((row for found in facts[CANDIDATES] for row in found), key=lambda row: row.version)
    return {row.address.id: row for row in rows}


# pairs and evolve: what a new fact does to a known one, in questions of a few pairs each.


def compared_facts(facts: Facts) -> Mapping[str, Entity]:
    """Return by ref the facts that pairs may name: the candidates, and what this text tells."""
    bodies = [row.body for row in candidate_rows(facts).values()]
    drafted = (draft.entity for draft in facts[DRAFTS])
    return {ref(it): it for it in (*bodies, *drafted) if isinstance(it, Entity)}


def list_near(facts: Facts, places: Mapping[str, int]) -> Iterator[list[tuple[int, Entity]]]:
    """Yield for each new fact those of this text with which it is compared, each with its score."""
    drafts = [draft for draft in facts[DRAFTS] if not draft.stays_ended]
    rows, fresh = {draft.entity.id: at for at, draft in enumerate(drafts)}, facts[FRESH]
    queries = ((rows[it.entity.id], text_before(it.entity)) for it in fresh)
    scored = score_others(queries, (it.entity.name_and_text() for it in drafts), CANDIDATE_SCORE_MIN_PPM)
    for draft, scores in zip(fresh, scored, strict=True):
        found = [(score_ppm, drafts[at]) for at, score_ppm in scores.items()]
        # Two new facts meet where the later one is compared; one that is known may stand before or behind.
        yield [
            (score_ppm, it.entity)
            for score_ppm, it in found
            if places[it.entity.id] < places[draft.entity.id] or not it.is_changed
        ]


def take_pairs(facts: Facts, answer: None, view: View) -> Learned:
    fresh, candidates, newest = facts[FRESH], facts[CANDIDATES], candidate_rows(facts)
    places, pairs = {key: at for at, key in enumerate(list_order(facts))}, list[Pair]()
    for draft, rows, near in zip(fresh, candidates, list_near(facts, places), strict=True):
        found = ((relevance(row), newest[row.address.id].body) for row in rows)
        known = [(score_ppm, body) for score_ppm, body in found if isinstance(body, Entity)]
        best = sorted((*known, *near), key=lambda it: (-it[0], it[1].id))[:EVOLVE_CANDIDATE_COUNT_MAX]
        for _, it in best:
            both, is_later = (ref(draft.entity), ref(it)), places.get(it.id, -1) > places[draft.entity.id]
            pairs.append(both[::-1] if is_later else both)
    starts = range(0, len(pairs), EVOLVE_PAIR_COUNT_MAX)
    return Learned(PAIRS(tuple(tuple(pairs[at : at + EVOLVE_PAIR_COUNT_MAX]) for at in starts)))


def ask_evolution(facts: Facts, view: View) -> AskModel:
    pairs, entities = facts.unit(PAIRS), compared_facts(facts)
    new, old = dict.fromkeys(key for key, _ in pairs), dict.fromkeys(key for _, key in pairs)
    shown_new, shown_old = (tuple(statement_of(entities[key]) for key in keys) for keys in (new, old))
    return AskModel("evolve", ask_evolve(shown_new, shown_old, pairs))


def take_evolution(facts: Facts, answer: ModelReplied, view: View) -> Taken:
    pairs = facts.unit(PAIRS)
    evolution = parse_evolution(answer.text, pairs, view.config.evolve_confidence_min_ppm)
    if isinstance(evolution, replies.UnusableReply):
        return Unusable(evolution.reason)
    partial = tuple(("partial", reason, 1) for reason in evolution.dropped)
    return Learned(VERDICTS.unit(evolution.verdicts), degraded=partial, shapes=evolution.shapes)


def all_verdicts(facts: Facts) -> Verdicts:
    by_answer = facts[VERDICTS]
    return tuple(chain.from_iterable(by_answer))


def are_drafts(facts: Facts, scope: Scope) -> bool:
    drafts, fresh = facts[DRAFTS], facts[FRESH]
    return all(draft in drafts for draft in fresh)


def are_of_candidates(facts: Facts, scope: Scope) -> bool:
    new, entities = {ref(draft.entity) for draft in facts[FRESH]}, compared_facts(facts)
    pairs = [pair for asked in facts[PAIRS] for pair in asked]
    return all(set(pair) <= entities.keys() and not new.isdisjoint(pair) for pair in pairs)


def are_of_pairs(facts: Facts, scope: Scope) -> bool:
    questions, answers = facts[PAIRS], facts[VERDICTS]
    answered = zip(questions, answers, strict=True)
    return all(pair in asked for asked, verdicts in answered for pair, _ in verdicts)


COMPARE_LAWS: Final = (
    Law("new facts among the drafts", (DRAFTS, FRESH), are_drafts),
    Law("pairs of new facts and candidates", (DRAFTS, FRESH, CANDIDATES, PAIRS), are_of_candidates),
    Law("verdicts on pairs", (PAIRS, VERDICTS), are_of_pairs),
)


COMPARE_STEPS: Final = (
    Step("compare", requires=(COMPARED, STATED, DRAFTS), produces=(FRESH,), otherwise=nothing(FRESH),
         take=take_fresh),
    Step("candidates", each=FRESH, requires=(DRAFTS,), produces=(CANDIDATES,), otherwise=nothing(CANDIDATES),
         **asks(Read, ask_candidates, take_candidates,
                retry(2, then=degrade("none", CANDIDATES.unit(()))))),
    Step("pairs", requires=(STATED, DRAFTS, FRESH, CANDIDATES), produces=(PAIRS,), otherwise=nothing(PAIRS),
         take=take_pairs),
    Step("evolve", each=PAIRS, requires=(DRAFTS, CANDIDATES), produces=(VERDICTS,),
         otherwise=nothing(VERDICTS), config=(("profile", "default"),),
         **asks(AskModel, ask_evolution, take_evolution,
                retry(2, then=degrade("none", VERDICTS.unit(()))))),
)  # fmt: skip
