"""Extracting and comparing: the statements of a text, and their effect on known facts.

A model is asked for the statements, and then for verdicts on pairs of facts, before anything is written.

    current   entity row, vector, access record, memberships; core may show it
    ended     one row, with the fact, its successor, how it ended and when; its relations stay

Law 1. Each new fact is compared with its candidates, best first, a few pairs in one question. Statements
earlier in the same text are candidates too, as if each had been stored before the next one.
Law 2. Without a model, or without a verdict, no known fact changes. Law 3. New facts that are not compared
are counted in the reply. Law 4. A verdict that ends a fact ends the one of its pair that happened first, and
no other. Importing an old chat therefore ends no later fact; its statements are stored as already ended.
A verdict never ends a fact that is longer than what the model is shown, and never closes a cycle of facts
that end each other. Law 5. An ended fact is never searched, listed by category, summarised or shown in core.
Law 6. A relation leads from the older statement to the new one, or from an ended fact to its successor. Both
ends exist: the commit rewrites both, so it conflicts with a commit that forgets one of them. A fact with
RELATION_COUNT_MAX relations gets no more; relations left out are counted.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    Degrade,
    Law,
    Learned,
    Step,
    TakeResult,
    Unusable,
    asks,
    degrade,
    learn_rows,
    learn_unit_rows,
    retry,
)
from umi_core.ids import relation_id
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
    EXTRACT_CONTENT_BYTES_MAX,
    RELATION_COUNT_MAX,
    TEXT_BYTES_MAX,
)
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByIds, ByWords, Expect, Read, Write
from umi_core.messages.requests import LoadSession, Memorize, Remember
from umi_core.policies.ranking import relevance
from umi_core.policies.term_scores import score_others
from umi_core.rows import Ended, Entity, Membership, Relation, Row, bodies_of
from umi_core.text import size
from umi_core.values import ENDING_KINDS, Scope
from umi_core.workflows.commits import address, put
from umi_core.workflows.drafting import (
    DRAFTS,
    Drafted,
    embedded_text,
    order_by_text,
    ref,
    statement_of,
    with_entity,
)
from umi_core.workflows.linking import expect_memberships, unlink_members

# Extracting: the statements of a text with the names that they are about, before any row is read.
#
# If the model fails, the text is stored as notes. Sentences that the model passes over become notes, too.


TextRequest = Remember | AddArchival
REQUEST: Final = Fact("request", TextRequest)
ANY_REQUEST: Final = Fact("request", TextRequest | LoadSession)  # for steps that read no text of it
MENTIONS: Final = Fact("mentions", tuple[Mention, ...])
DROPPED: Final = Fact("dropped", tuple[tuple[int, str], ...])
STATED_ON: Final = Fact("stated_on", int)  # the day of the text, in days since 1970
STATED: Final = Fact("stated", str)  # the text, with a date after words such as `yesterday`


def take_stated(facts: Facts, answer: None, view: View) -> Learned:
    request = facts[REQUEST]
    at_ms = request.event_time_ms if isinstance(request, Remember) else None
    day = day_of(view.now_ms if at_ms is None else at_ms, view.config)
    return Learned(STATED_ON(day) | STATED(add_dates(request.text, day, TEXT_BYTES_MAX)))


# The first step, so that `yesterday` counts from the day of the request even if a later step takes hours.
DATE: Final = Step("date", requires=(REQUEST,), produces=(STATED_ON, STATED), take=take_stated)


def ask_extraction(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    if not request.extract:
        return None
    return AskModel("extract", ask_extract(facts[STATED], request.speaker, facts[STATED_ON]))


def take_extraction(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if answer is None:
        return Learned(notes(facts))
    extraction = parse_extraction(answer.text, facts[STATED], view.config, facts[STATED_ON])
    if isinstance(extraction, replies.UnusableReply):
        return Unusable(extraction.reason)
    request = facts[REQUEST]
    extraction = own_words(extraction, facts[STATED], request.speaker) if request.speaker else extraction
    count = extraction.uncovered_count
    # One entry for the whole answer, however many of its elements are malformed.
    partial = (("partial", "malformed", 1),) if extraction.partial else ()
    uncovered = (("uncovered", "passed_over", count),) if count else ()
    learned = MENTIONS(extraction.entities) | DROPPED(extraction.dropped)
    return Learned(learned, degraded=(*partial, *uncovered), shapes=extraction.shapes)


def notes(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return MENTIONS(notes_of_text(facts[STATED])) | DROPPED(())


EXTRACT = Step(
    "extract", requires=(REQUEST, STATED_ON, STATED), produces=(MENTIONS, DROPPED),
    **asks(AskModel, ask_extraction, take_extraction, retry(2, then=Degrade("notes", notes))),
)  # fmt: skip


# A low threshold: the model rejects wrong pairs, but a pair left out here is never compared.
CANDIDATE_SCORE_MIN_PPM: Final = 200_000
Verdicts = tuple[tuple[Pair, StatementVerdict], ...]

COMPARED: Final = Fact("request", TextRequest | Memorize | LoadSession)
NEW_FACTS: Final = Fact("fresh", tuple[Drafted, ...])  # the new facts to compare, in the order of the text
CANDIDATES: Final = Fact("candidates", tuple[tuple[Row, ...], ...])  # rows found for each fact of NEW_FACTS
PAIRS: Final = Fact("pairs", tuple[tuple[Pair, ...], ...])  # pairs of each question to the model
VERDICTS: Final = Fact("verdicts", tuple[Verdicts, ...])  # verdicts of each of its answers


# compare and candidates: choose the new facts, and search for known facts that may concern them.


def take_fresh(facts: Facts, answer: None, view: View) -> Learned:
    request = facts[COMPARED]
    if not isinstance(request, Memorize) and not request.evolve:
        return Learned(NEW_FACTS(()))
    drafts = {draft.entity.id: draft for draft in facts[DRAFTS]}
    new_facts = tuple(drafts[key] for key in list_order(facts) if drafts[key].is_changed)
    left_count = len(new_facts) - EVOLVE_FACT_COUNT_MAX
    partial = (("partial", "too_many", left_count),) if left_count > 0 else ()
    return Learned(NEW_FACTS(new_facts[:EVOLVE_FACT_COUNT_MAX]), degraded=partial)


def list_order(facts: Facts) -> list[str]:
    """Return the ids of the facts of this text, in the order of the text."""
    return order_by_text((draft.entity for draft in facts[DRAFTS]), facts[STATED])


def ask_candidates(facts: Facts, view: View) -> Read:
    ids = tuple(it.entity.id for it in facts[DRAFTS])
    text = text_before(facts.unit(NEW_FACTS).entity)
    # By words, because the new facts have no vectors yet; `take_pairs` adds the other facts of this text.
    others = (Condition("id", "not_in", ids),)
    query = ByWords(view.scope, text, others, EVOLVE_CANDIDATE_COUNT_MAX, CANDIDATE_SCORE_MIN_PPM)
    return Read(query)


def text_before(fact: Entity) -> str:
    """Return the query that finds older facts which this fact may end."""
    return "\n".join((embedded_text(fact), *words_before(fact.content)))


def take_candidates(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(CANDIDATES.unit(tuple(row for row in answer.rows if isinstance(row.body, Entity))))


def candidate_rows(facts: Facts) -> Mapping[str, Row]:
    """Return the newest version of each candidate: its row may have changed between two of the reads."""
    # Sorted by version, so that the dict keeps the newest of several.
    rows = sorted((row for found in facts[CANDIDATES] for row in found), key=lambda row: row.version)
    return {row.address.id: row for row in rows}


# pairs and evolve: ask the model for verdicts on new and known facts, a few pairs in each question.


def compared_facts(facts: Facts) -> Mapping[str, Entity]:
    """Return the facts that pairs may name, by ref: the candidates and the facts of this text."""
    known = bodies_of(candidate_rows(facts).values(), Entity)
    return {ref(it): it for it in (*known, *(draft.entity for draft in facts[DRAFTS]))}


def score_new_facts(facts: Facts, places: Mapping[str, int]) -> Iterator[list[tuple[int, Entity]]]:
    """Yield for each new fact the facts of this text to compare with it, each with its score."""
    drafts = [draft for draft in facts[DRAFTS] if not draft.stays_ended]
    rows, new_facts = {draft.entity.id: at for at, draft in enumerate(drafts)}, facts[NEW_FACTS]
    queries = ((rows[it.entity.id], text_before(it.entity)) for it in new_facts)
    scored = score_others(queries, (it.entity.name_and_text() for it in drafts), CANDIDATE_SCORE_MIN_PPM)
    for draft, scores in zip(new_facts, scored, strict=True):
        found = [(score_ppm, drafts[at]) for at, score_ppm in scores.items()]
        # Two new facts are compared once, as candidates of the later one. A known fact is a candidate
        # wherever the text states it.
        yield [
            (score_ppm, it.entity)
            for score_ppm, it in found
            if places[it.entity.id] < places[draft.entity.id] or not it.is_changed
        ]


def take_pairs(facts: Facts, answer: None, view: View) -> Learned:
    new_facts, candidates, newest = facts[NEW_FACTS], facts[CANDIDATES], candidate_rows(facts)
    places, pairs = {key: at for at, key in enumerate(list_order(facts))}, list[Pair]()
    for draft, rows, others in zip(new_facts, candidates, score_new_facts(facts, places), strict=True):
        found = ((relevance(row), newest[row.address.id].body) for row in rows)
        known = [(score_ppm, body) for score_ppm, body in found if isinstance(body, Entity)]
        best = sorted((*known, *others), key=lambda it: (-it[0], it[1].id))[:EVOLVE_CANDIDATE_COUNT_MAX]
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


def take_evolution(facts: Facts, answer: ModelReplied, view: View) -> TakeResult:
    pairs = facts.unit(PAIRS)
    evolution = parse_evolution(answer.text, pairs, view.config.evolve_confidence_min_ppm)
    if isinstance(evolution, replies.UnusableReply):
        return Unusable(evolution.reason)
    partial = tuple(("partial", reason, 1) for reason in evolution.dropped)
    return Learned(VERDICTS.unit(evolution.verdicts), degraded=partial, shapes=evolution.shapes)


def all_verdicts(facts: Facts) -> Verdicts:
    by_answer = facts[VERDICTS]
    return tuple(chain.from_iterable(by_answer))


def are_of_candidates(facts: Facts, scope: Scope) -> bool:
    new, entities = {ref(draft.entity) for draft in facts[NEW_FACTS]}, compared_facts(facts)
    pairs = [pair for asked in facts[PAIRS] for pair in asked]
    return all(set(pair) <= entities.keys() and not new.isdisjoint(pair) for pair in pairs)


def are_of_pairs(facts: Facts, scope: Scope) -> bool:
    questions, answers = facts[PAIRS], facts[VERDICTS]
    answered = zip(questions, answers, strict=True)
    return all(pair in asked for asked, verdicts in answered for pair, _ in verdicts)


COMPARE_LAWS: Final = (
    Law("new facts among the drafts", (DRAFTS, NEW_FACTS),
        lambda facts, scope: all(draft in facts[DRAFTS] for draft in facts[NEW_FACTS])),
    Law("pairs of new facts and candidates", (DRAFTS, NEW_FACTS, CANDIDATES, PAIRS), are_of_candidates),
    Law("verdicts on pairs", (PAIRS, VERDICTS), are_of_pairs),
)  # fmt: skip

COMPARE_STEPS: Final = (
    Step("compare", requires=(COMPARED, STATED, DRAFTS), produces=(NEW_FACTS,), take=take_fresh),
    Step("candidates", each=NEW_FACTS, requires=(DRAFTS,), produces=(CANDIDATES,),
         **asks(Read, ask_candidates, take_candidates,
                retry(2, then=degrade("none", CANDIDATES.unit(()))))),
    Step("pairs", requires=(STATED, DRAFTS, NEW_FACTS, CANDIDATES), produces=(PAIRS,), take=take_pairs),
    Step("evolve", each=PAIRS, requires=(DRAFTS, CANDIDATES), produces=(VERDICTS,),
         **asks(AskModel, ask_evolution, take_evolution,
                retry(2, then=degrade("none", VERDICTS.unit(()))))),
)  # fmt: skip


# Relating: the relations that a text adds, and the changes to the facts at both ends.


End = tuple[str, int]


class Related(Data):
    """The new relations, and the facts at their ends with new counts and refs: drafts and other facts."""

    relations: tuple[Relation, ...]
    drafts: tuple[Drafted, ...]
    others: tuple[tuple[Row, Entity], ...]
    dropped_count: int


def relate_facts(facts: Facts, drafts: tuple[Drafted, ...], view: View) -> Related:
    """Return the relations that the verdicts of this text add, and the facts as changed by them."""
    rows = candidate_rows(facts)
    entities = {key: row.body for key, row in rows.items() if isinstance(row.body, Entity)}
    entities |= {draft.entity.id: draft.entity for draft in drafts}
    added: list[Relation] = []
    wanted = tuple(verdict_relations(facts, view))
    for relation in wanted:
        ends = (relation.source[0], relation.target[0])
        # Each end counts the relation, so it needs room at both.
        if all(entities[end].relation_count < RELATION_COUNT_MAX for end in ends):
            added.append(relation)
            for end in ends:
                count = entities[end].relation_count + 1
                entities[end] = structs.replace(entities[end], relation_count=count)
    for relation in added:
        contradict(relation, entities)
    others = tuple((row, entities[key]) for key, row in rows.items() if entities[key] != row.body)
    return Related(
        tuple(added),
        tuple(with_entity(draft, entities[draft.entity.id]) for draft in drafts),
        others,
        len(wanted) - len(added),
    )


def contradict(relation: Relation, entities: dict[str, Entity]) -> None:
    """Add each of the two facts to `contradicts` of the other, if this relation is a contradiction."""
    if relation.kind != "contradict":
        return
    ends = relation.target, relation.source
    for (key, _), (other, version) in (ends, ends[::-1]):
        statement = f"{other}@{version}"
        # The newest is last; beyond the limit the oldest is dropped.
        refs = (*(it for it in entities[key].contradicts if it != statement), statement)
        entities[key] = structs.replace(entities[key], contradicts=refs[-RELATION_COUNT_MAX:])


# The relations.


def build_relation(source: End, target: End, verdict: StatementVerdict, view: View) -> Relation:
    row_id = relation_id(view.scope, source, target, verdict.kind)
    return Relation(
        row_id, verdict.kind, source, target, verdict.confidence_ppm, verdict.reason, verdict.by, view.now_ms
    )


def verdict_relations(facts: Facts, view: View) -> Iterator[Relation]:
    """Yield the relations between the statements of each pair."""
    entities = compared_facts(facts)
    for (new_ref, known_ref), verdict in all_verdicts(facts):
        new, known = entities[new_ref], entities[known_ref]
        is_past = verdict.kind in ENDING_KINDS and new.happened_before(known)
        source, target = (new, known) if is_past else (known, new)
        yield build_relation((source.id, source.version), (target.id, target.version), verdict, view)


# Ending: facts that a later fact updates or contradicts.


ENDING: Final = Fact("ending", tuple[Entity, ...])  # the known facts that end
MEMBERSHIPS: Final = Fact("memberships", tuple[tuple[Row, ...], ...])  # of each fact of ENDING
LEFT_CATEGORIES: Final = Fact("left_categories", tuple[Row, ...])  # the categories of these memberships


class Successor(Data):
    """The fact that ends another one, and how."""

    entity: Entity
    how: str


def successors(facts: Facts) -> Mapping[str, Successor]:
    """Return the successor of each fact that ends, by the id of that fact; of several the first one.

    The old fact of a pair ends, or the new one if it happened before the old one.
    """
    entities, found = compared_facts(facts), dict[str, Successor]()
    for (new_ref, known_ref), verdict in all_verdicts(facts):
        new, known = entities[new_ref], entities[known_ref]
        first, last = (new, known) if new.happened_before(known) else (known, new)
        # The model sees only the beginning of a longer fact, so its verdict must not end all of it.
        is_ending = verdict.kind in ENDING_KINDS and size(first.content) <= EXTRACT_CONTENT_BYTES_MAX
        if is_ending and find_last(last.id, found) != first.id:
            found.setdefault(first.id, Successor(last, verdict.kind))
    return found


def find_last(key: str, by_id: Mapping[str, Successor]) -> str:
    """Return the id of the last successor of a fact: its successor, or the successor of that, and so on."""
    while key in by_id:
        key = by_id[key].entity.id
    return key


def take_ending(facts: Facts, answer: None, view: View) -> Learned:
    known = {key: row.body for key, row in candidate_rows(facts).items()}
    known |= {draft.entity.id: draft.old for draft in facts[DRAFTS] if not draft.is_changed}
    return Learned(ENDING(tuple(it for key in successors(facts) if isinstance(it := known.get(key), Entity))))


def ask_memberships(facts: Facts, view: View) -> Read:
    where = (Condition("touches", "contains", facts.unit(ENDING).id),)
    return Read(ByFilter(view.scope, ("membership",), where))


def ask_left_categories(facts: Facts, view: View) -> Read | None:
    rows = [row for rows in facts[MEMBERSHIPS] for row in rows]
    # Sorted, so that the same rows always give the same request.
    keys = sorted({it.category_id for it in bodies_of(rows, Membership)})
    return Read(ByIds(tuple(address(view.scope, "category", key) for key in keys))) if keys else None


ENDING_LAW: Final = Law(
    "facts that end by the verdicts", (DRAFTS, CANDIDATES, VERDICTS, ENDING),
    lambda facts, scope: all(it.id in successors(facts) for it in facts[ENDING]),
)  # fmt: skip
FIND_ENDING: Final = Step(
    "ending", requires=(DRAFTS, CANDIDATES, VERDICTS), produces=(ENDING,), take=take_ending,
)  # fmt: skip
READ_MEMBERSHIPS: Final = Step(
    "memberships", each=ENDING, produces=(MEMBERSHIPS,),
    **asks(Read, ask_memberships, learn_unit_rows(MEMBERSHIPS), retry(3)),
)  # fmt: skip
READ_LEFT_CATEGORIES: Final = Step(
    "left_categories", requires=(MEMBERSHIPS,), produces=(LEFT_CATEGORIES,),
    **asks(Read, ask_left_categories, learn_rows(LEFT_CATEGORIES), retry(3)),
)  # fmt: skip


# Writes that end facts.


def end_fact(fact: Entity, by: str, how: str, view: View) -> Iterator[Write]:
    """Yield the writes that turn a current fact into an ended one, except those to its memberships."""
    scope, key = view.scope, fact.id
    yield from (Write(address(scope, kind, key), None) for kind in ("entity", "vector", "access"))
    yield put_ended(fact, by, how, view)


def put_ended(fact: Entity, by: str, how: str, view: View) -> Write:
    return put(view.scope, "ended", fact.id, Ended(fact.id, fact, by, how, view.now_ms))


def ended_rows(after: Mapping[str, Entity], facts: Facts, view: View) -> Iterator[Write]:
    """Yield the writes that end facts; `after`: the facts by id, as changed by their new relations."""
    by_id = successors(facts)
    ending, found, categories = facts[ENDING], facts[MEMBERSHIPS], facts[LEFT_CATEGORIES]
    for fact in ending:
        it = by_id[fact.id]
        yield from end_fact(after.get(fact.id, fact), it.entity.id, it.how, view)
    memberships = [row for rows in found for row in rows]
    # An ended fact is in no category. If it is stated again, it is linked again like a new fact.
    yield from (Write(row.address, None) for row in memberships)
    yield from unlink_members(memberships, categories, view)


def expect_ended_memberships(facts: Facts, view: View) -> tuple[Expect, ...]:
    """Expect that the facts that end have the same memberships at the commit as when they were read."""
    ending, found = facts[ENDING], facts[MEMBERSHIPS]
    pairs = zip(ending, found, strict=True)
    return tuple(it for fact, rows in pairs for it in expect_memberships(fact.id, rows, view))


# The result of comparing a text, as one batch writes it.


COMPARE: Final = (*COMPARE_STEPS, FIND_ENDING, READ_MEMBERSHIPS, READ_LEFT_CATEGORIES)
COMPARED_FROM: Final = (CANDIDATES, VERDICTS, ENDING, MEMBERSHIPS, LEFT_CATEGORIES)


class Comparison(Data):
    """The drafts with their new relations, and the writes to known facts.

    `past`: writes of each draft that ends, by its id; empty if the draft is a known fact, because `writes`
    has those. `current`: the facts of drafts that have not ended; only these are counted as accessed and get
    a block. `ended`: the ids of all facts that end. `replaced_by`: by the id of each known fact that ends,
    its last successor; None if that is not a fact of this text.
    """

    drafts: tuple[Drafted, ...]
    relations: tuple[Relation, ...]
    dropped_count: int
    past: Mapping[str, tuple[Write, ...]]
    current: tuple[Entity, ...]
    ended: tuple[str, ...]
    replaced_by: Mapping[str, Entity | None]
    writes: tuple[Write, ...]
    expects: tuple[Expect, ...]


def compare(drafts: tuple[Drafted, ...], facts: Facts, view: View) -> Comparison:
    """Return the combined effect of all verdicts on these drafts."""
    relating, before = relate_facts(facts, drafts, view), {draft.entity.id: draft.entity for draft in drafts}
    ended, after = successors(facts), {draft.entity.id: draft for draft in relating.drafts}
    replaced_by = {it.id: before.get(find_last(it.id, ended)) for it in facts[ENDING]}
    past = {
        key: () if key in replaced_by else (put_ended(it.entity, ended[key].entity.id, ended[key].how, view),)
        for key, it in after.items()
        if key in ended
    }
    current = tuple(it.entity for key, it in after.items() if key not in past and not it.stays_ended)
    return Comparison(
        relating.drafts, relating.relations, relating.dropped_count, past, current,
        tuple(dict.fromkeys((*past, *replaced_by))), replaced_by,
        tuple(known_rows(relating, facts, view)), expect_ended_memberships(facts, view),
    )  # fmt: skip


def known_rows(relating: Related, facts: Facts, view: View) -> Iterator[Write]:
    """Yield the writes of new relations, of known facts that got one, and of known facts that end."""
    yield from (put(view.scope, "relation", it.id, it) for it in relating.relations)
    others, ended = {it.id: it for _, it in relating.others}, successors(facts)
    # A fact that ends is not written as a current row: `ended_rows` writes it with its new relations.
    yield from (put(view.scope, "entity", key, it) for key, it in others.items() if key not in ended)
    drafted = {draft.entity.id: draft.entity for draft in relating.drafts}
    yield from ended_rows({**others, **drafted}, facts, view)
