"""Extracting and evolving: what a text says, and how that stands to what was known.

Both are asked of the model before anything is written.

Law 1. Asked pairs: each new fact with its candidates, by rank. Law 2. Without a model, or without a verdict,
nothing that is known changes.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Learned, Step, Taken, Unusable, asks, degrade, nothing, retry
from umi_core.kelpie.requests import AddArchival
from umi_core.language import replies
from umi_core.language.evolution import Pair, Verdict, parse_evolution
from umi_core.language.extraction import Extraction, Mention, notes_of_text, own_words, parse_extraction
from umi_core.language.prompts import ask_evolve, ask_extract
from umi_core.limits import EVOLVE_CANDIDATE_COUNT_MAX, EVOLVE_PAIR_COUNT_MAX
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByWords, Read
from umi_core.messages.requests import Remember
from umi_core.rows import Entity, Row
from umi_core.workflows.drafting import (
    DRAFTS,
    Drafted,
    embedded_text,
    ref,
    statement_of,
)

# Extracting: the names in a text, and what is said about each, before anything is looked up.
#
# If the model fails the text is kept as notes; so are the sentences that it passes over.


Telling = Remember | AddArchival
REQUEST: Final = Fact("request", Telling)
MENTIONS: Final = Fact("mentions", tuple[Mention, ...])
DROPPED: Final = Fact("dropped", tuple[tuple[int, str], ...])


def ask_extraction(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    return AskModel("extract", ask_extract(request.text, request.speaker)) if request.extract else None


def take_extraction(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    if answer is None:
        return Learned(notes(facts))
    extraction = parse_extraction(answer.text, facts[REQUEST].text, view.config)
    if isinstance(extraction, replies.Unusable):
        return Unusable(extraction.reason)
    extraction = attributed(extraction, facts[REQUEST])
    count = extraction.uncovered_count
    partial = (("partial", "malformed", 1),) if extraction.partial else ()
    uncovered = (("uncovered", "passed_over", count),) if count else ()
    learned = MENTIONS(extraction.entities) | DROPPED(extraction.dropped)
    return Learned(learned, degraded=(*partial, *uncovered), shapes=extraction.shapes)


def attributed(extraction: Extraction, request: Telling) -> Extraction:
    return own_words(extraction, request.text, request.speaker) if request.speaker else extraction


def notes(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return MENTIONS(notes_of_text(facts[REQUEST].text)) | DROPPED(())


EXTRACT = Step(
    "extract", requires=(REQUEST,), produces=(MENTIONS, DROPPED),
    otherwise=nothing(MENTIONS, DROPPED), config=(("profile", "default"),),
    **asks(AskModel, ask_extraction, take_extraction, retry(2, then=Degrade("notes", notes))),
)  # fmt: skip


CANDIDATE_SCORE_MIN_PPM: Final = 200_000

CANDIDATES: Final = Fact("candidates", tuple[tuple[Row, ...], ...])  # the rows found for each draft
VERDICTS: Final = Fact("verdicts", tuple[tuple[Pair, Verdict], ...])


# candidates: what is known and may have to do with a new statement.


def ask_candidates(facts: Facts, view: View) -> Read | None:
    draft = facts.unit(DRAFTS)
    if not draft.is_changed or not facts[REQUEST].evolve:
        return None
    told = tuple(it.entity.id for it in facts[DRAFTS])
    text = embedded_text(draft.entity)
    others = (Condition("id", "not_in", told),)
    query = ByWords(view.scope, text, others, EVOLVE_CANDIDATE_COUNT_MAX, CANDIDATE_SCORE_MIN_PPM)
    return Read(query)


def take_candidates(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    rows = answer.rows if answer is not None else ()
    return Learned(CANDIDATES.unit(tuple(row for row in rows if isinstance(row.body, Entity))))


# evolve: one question about all pairs.


def asked_pairs(facts: Facts) -> tuple[tuple[Drafted, Entity], ...]:
    return tuple(all_pairs(facts))[:EVOLVE_PAIR_COUNT_MAX] if facts[REQUEST].evolve else ()


def all_pairs(facts: Facts) -> Iterator[tuple[Drafted, Entity]]:
    drafts, candidates, newest = facts[DRAFTS], facts[CANDIDATES], candidate_rows(facts)
    for draft, rows in zip(drafts, candidates, strict=True):
        bodies = (newest[row.address.id].body for row in rows)
        yield from ((draft, body) for body in bodies if isinstance(body, Entity))


def candidate_rows(facts: Facts) -> Mapping[str, Row]:
    """Each candidate once, as it was read last: another remember may have come between two reads."""
    rows = sorted((row for found in facts[CANDIDATES] for row in found), key=lambda row: row.version)
    return {row.address.id: row for row in rows}


def refs(draft: Drafted, old: Entity) -> Pair:
    return ref(draft.entity), ref(old)


def ask_evolution(facts: Facts, view: View) -> AskModel | None:
    pairs = asked_pairs(facts)
    if not pairs:
        return None
    new = {ref(draft.entity): statement_of(draft.entity) for draft, _ in pairs}
    old = {ref(entity): statement_of(entity) for _, entity in pairs}
    prompt = ask_evolve(tuple(new.values()), tuple(old.values()), tuple(refs(*pair) for pair in pairs))
    return AskModel("evolve", prompt)


def take_evolution(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    if answer is None:
        return Learned(VERDICTS(()))
    pairs = tuple(refs(*pair) for pair in asked_pairs(facts))
    evolution = parse_evolution(answer.text, pairs, view.config.evolve_confidence_min_ppm)
    if isinstance(evolution, replies.Unusable):
        return Unusable(evolution.reason)
    partial = tuple(("partial", reason, 1) for reason in evolution.dropped)
    return Learned(VERDICTS(evolution.verdicts), degraded=partial, shapes=evolution.shapes)


def no_verdicts(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return VERDICTS(())


LOOK_FOR_CANDIDATES = Step(
    "candidates", each=DRAFTS, requires=(REQUEST,), produces=(CANDIDATES,), otherwise=nothing(CANDIDATES),
    **asks(Read, ask_candidates, take_candidates, retry(2, then=degrade("none", CANDIDATES.unit(())))),
)  # fmt: skip

EVOLVE = Step(
    "evolve", requires=(REQUEST, DRAFTS, CANDIDATES), produces=(VERDICTS,),
    otherwise=nothing(VERDICTS), config=(("profile", "default"),),
    **asks(AskModel, ask_evolution, take_evolution, retry(2, then=Degrade("table", no_verdicts))),
)  # fmt: skip
