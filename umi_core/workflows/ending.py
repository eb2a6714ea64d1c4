"""Ending: what becomes of a fact that a later one updates or contradicts.

    current   entity row, vector, access record, memberships; core may show it
    ended     one row, with the fact, its successor, how it ended and when; its relations stay

Law 1. A verdict ends one of the two facts that it is about, and no other: the one that happened first. So an
old chat that is imported ends nothing that came after it, and what it says arrives as the past that it is.
It does not end a text that is longer than what the model is shown, nor close a circle of facts that end each
other. Law 2. An ended fact is in nothing that is searched, listed by category, summarised or shown in core.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from umi_core.conditions import Condition
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Law, Learned, Step, asks, nothing, retry
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Expect, Read, Write
from umi_core.rows import Ended, Entity, Membership, Row
from umi_core.text import size
from umi_core.values import ENDING_KINDS
from umi_core.workflows.commits import address, put
from umi_core.workflows.drafting import DRAFTS
from umi_core.workflows.evolving import CANDIDATES, VERDICTS, all_verdicts, candidate_rows, compared_facts
from umi_core.workflows.linking import expect_memberships, unlink_members

ENDING: Final = Fact("ending", tuple[Entity, ...])  # the known facts that end
MEMBERSHIPS: Final = Fact("memberships", tuple[tuple[Row, ...], ...])  # of each of them
SHELVES: Final = Fact("shelves", tuple[Row, ...])  # the categories that they are members of


class Successor(Data):
    """The fact that ends another one, and how."""

    entity: Entity
    how: str


def successors(facts: Facts) -> Mapping[str, Successor]:
    """Return by the id of each fact that ends what ends it: of several facts the first that was named.

    What ends is the old fact of a pair, or a new one that happened before it.
    """
    entities, found = compared_facts(facts), dict[str, Successor]()
    for (new_ref, known_ref), verdict in all_verdicts(facts):
        new, known = entities[new_ref], entities[known_ref]
        first, last = (new, known) if new.happened_before(known) else (known, new)
        # The model has seen only the beginning of a longer fact, so its verdict is not about the whole.
        is_ending = verdict.kind in ENDING_KINDS and size(first.content) <= EXTRACT_CONTENT_BYTES_MAX
        if is_ending and find_last(last.id, found) != first.id:
            found.setdefault(first.id, Successor(last, verdict.kind))
    return found


def find_last(key: str, by_id: Mapping[str, Successor]) -> str:
    """Return the id of what is current in the place of a fact: what ends it, or what ends that, and so on."""
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


def take_memberships(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(MEMBERSHIPS.unit(answer.rows))


def ask_shelves(facts: Facts, view: View) -> Read | None:
    bodies = [row.body for rows in facts[MEMBERSHIPS] for row in rows]
    # Sorted: the question must be the same in each run with the same rows.
    keys = sorted({it.category_id for it in bodies if isinstance(it, Membership)})
    return Read(ByIds(tuple(address(view.scope, "category", key) for key in keys))) if keys else None


def take_shelves(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(SHELVES(answer.rows if answer is not None else ()))


ENDING_LAW: Final = Law(
    "facts that end by the verdicts", (DRAFTS, CANDIDATES, VERDICTS, ENDING),
    lambda facts, scope: all(it.id in successors(facts) for it in facts[ENDING]),
)  # fmt: skip
FIND_ENDING: Final = Step(
    "ending", requires=(DRAFTS, CANDIDATES, VERDICTS), produces=(ENDING,), otherwise=nothing(ENDING),
    take=take_ending,
)  # fmt: skip
READ_MEMBERSHIPS: Final = Step(
    "memberships", each=ENDING, produces=(MEMBERSHIPS,), otherwise=nothing(MEMBERSHIPS),
    **asks(Read, ask_memberships, take_memberships, retry(3)),
)  # fmt: skip
READ_SHELVES: Final = Step(
    "shelves", requires=(MEMBERSHIPS,), produces=(SHELVES,), otherwise=nothing(SHELVES),
    **asks(Read, ask_shelves, take_shelves, retry(3)),
)  # fmt: skip


# What is written.


def end_fact(fact: Entity, by: str, how: str, view: View) -> Iterator[Write]:
    """Yield the writes by which a current fact becomes an ended one; its memberships are not among them."""
    scope, key = view.scope, fact.id
    yield from (Write(address(scope, kind, key), None) for kind in ("entity", "vector", "access"))
    yield put_ended(fact, by, how, view)


def put_ended(fact: Entity, by: str, how: str, view: View) -> Write:
    return put(view.scope, "ended", fact.id, Ended(fact.id, fact, by, how, view.now_ms))


def ended_rows(after: Mapping[str, Entity], facts: Facts, view: View) -> Iterator[Write]:
    """Yield the writes that end facts; `after`: by id the facts as they are with their new relations."""
    by_id = successors(facts)
    ending, found, shelves = facts[ENDING], facts[MEMBERSHIPS], facts[SHELVES]
    for fact in ending:
        it = by_id[fact.id]
        yield from end_fact(after.get(fact.id, fact), it.entity.id, it.how, view)
    memberships = [row for rows in found for row in rows]
    # An ended fact is in no category: told again, it is linked again as a new one is.
    yield from (Write(row.address, None) for row in memberships)
    yield from unlink_members(memberships, shelves, view)


def expected_homes(facts: Facts, view: View) -> tuple[Expect, ...]:
    """Return what must still hold of the memberships of the facts that end."""
    ending, found = facts[ENDING], facts[MEMBERSHIPS]
    pairs = zip(ending, found, strict=True)
    return tuple(it for fact, rows in pairs for it in expect_memberships(fact.id, rows, view))
