"""Mutants of scope: whose rows are read, accepted and named."""

from typing import Final

import attrs

from umi_core import answer_checks
from umi_core.engine.facts import Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Learned, Taken
from umi_core.messages.answers import Answer
from umi_core.messages.effects import ByIds, Read
from umi_core.rows import Address, Row
from umi_core.values import Scope
from umi_core.workflows import drafting, extracting
from umi_core.workflows.commits import PLAN, Plan
from umi_sim.mutants import Mutant, Original, Patch, row_of


def by_user(original: Original) -> Original:
    return lambda asked, rows: original(
        asked, tuple(as_own(row, asked, row.address.scope.user) for row in rows)
    )


def by_nobody(original: Original) -> Original:
    return lambda asked, rows: original(asked, tuple(as_own(row, asked, own_of(asked).user) for row in rows))


def own_of(asked: Read) -> Scope:
    query = asked.query
    return query.addresses[0].scope if isinstance(query, ByIds) else query.scope


def as_own(row: Row, asked: Read, user: str) -> Row:
    """The row as if it belonged to whoever asks, if that is the user."""
    own, of = own_of(asked), row.address
    return attrs.evolve(row, address=Address(own, of.kind, of.id)) if own.user == user else row


def anybodys(original: Original) -> Original:
    return lambda address, body: body is not None


def nobodys(original: Original) -> Original:
    return lambda scope, *rest: original(Scope("", ""), *rest)


def known_to_anybody(registry: Registry) -> Registry:
    row, told = row_of(registry, "remember", "plan"), dict[str, Scope]()

    def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
        taken, text = row.take(facts, answer, view), facts[extracting.REQUEST].text
        assert isinstance(taken, Learned)
        if told.setdefault(text, view.scope) == view.scope:
            return taken
        plan = taken.facts[PLAN.name]
        assert isinstance(plan, Plan)
        return Learned(PLAN(attrs.evolve(plan, writes=(), expects=())))

    return registry.replace("remember", "plan", attrs.evolve(row, take=take))


ROWS: Final = (
    Mutant("agent-half-ignored", "scope", "two agents of one user see each other's rows",
           ("scope-apart",), "neighbours", (Patch(answer_checks, "asked_for", by_user),)),
    Mutant("strangers-row-accepted", "scope", "a row of another scope in an answer is used like any other",
           ("scope-apart",), "all_faults", (Patch(answer_checks, "asked_for", by_nobody),),
           kind="storage_misdirected", settings={"agents.count": "2", "agents.users": "1"}),
    Mutant("body-of-another", "scope", "a row under the right address is believed, whoever's body it has",
           ("reference-agrees", "acknowledged-is-durable"), "all_faults",
           (Patch(answer_checks, "is_body_of", anybodys),),
           settings={"faults.storage_misdirected": "1/2", "workload.weights.get_entity": "20"}),
    Mutant("scope-left-out-of-ids", "scope", "equal names of two scopes get one id",
           ("equal-names-apart", "reference-agrees"), "calm", (Patch(drafting, "entity_id", nobodys),)),
    Mutant("duplicate-across-users", "scope", "a text that any scope has told is taken for known",
           ("equal-names-apart", "acknowledged-is-durable", "error-is-not-empty"), "conversation",
           tables=known_to_anybody),
)  # fmt: skip
