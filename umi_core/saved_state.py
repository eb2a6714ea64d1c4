"""Saved states: checks of a state that was read from bytes, before a memory goes on with it.

Law 1. A correct checksum proves nothing: a program that can write bytes can write a checksum, too.
Law 2. First every value is checked by its own declaration, then the parts against each other and against the
       workflows of the registry. A state that passes never raises an exception later, whatever its input.
Law 3. Nothing is repaired: a state with any error is refused as a whole, with the first reason.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeGuard

from msgspec import structs

from umi_core.answer_checks import asked_for
from umi_core.background import BACKGROUND
from umi_core.domains import bad_scope
from umi_core.engine.engine import Engine, facts_of, guard
from umi_core.engine.facts import Fact, bad_row, unit_of
from umi_core.engine.registry import Registry, followers_of_skipped
from umi_core.engine.workflow import Step, Workflow
from umi_core.errors import Rejected, StateDamaged
from umi_core.kelpie.requests import AgentRequest
from umi_core.messages.effects import ByFilter, Commit, Read
from umi_core.rows import Epoch
from umi_core.shapes import shape_of
from umi_core.state import ALONE, Operation, Running, State
from umi_core.state_checks import Requirements, check_cheap, check_core, check_tables, check_working
from umi_core.text import contrast_texts
from umi_core.tiers.core import CoreTier
from umi_core.tiers.session import bad_field
from umi_core.values import Scope


def check_saved(state: State) -> None:
    """Check each value by itself. Raises Rejected(StateDamaged) with the first error."""
    refuse_if(shape_of(State)(state))


def check_fitting(state: State, registry: Registry) -> None:
    """Check the parts against each other, and operations against workflows. Raises Rejected(StateDamaged)."""
    refuse_if(next(reasons(state, registry), ""))


def refuse_if(problem: str) -> None:
    if problem:
        raise Rejected(StateDamaged(problem.removeprefix(".").removeprefix(": ")))


def reasons(state: State, registry: Registry) -> Iterator[str]:
    """Yield the contradictions between the parts of a state, each of which is sound by itself."""
    if error := bad_scope(state.scope):
        yield f"scope: {error}"
    yield from wrong_phase(state)
    engine = Engine(state, registry)
    for operation in state.operations.values():
        table = registry.at(operation.workflow, operation.revision)
        for problem in wrong_operation(operation, table, engine):
            yield f"operations[{operation.number}]: {problem}"
    yield from broken_promises(state, registry)
    if name := bad_field(state.tiers.session):
        yield f"tiers.session.{name}: beyond its limits"


def broken_promises(state: State, registry: Registry) -> Iterator[str]:
    """Yield the first requirement that does not hold, of those that hold after every step."""
    it = next((it for it in list_requirements(state, registry) if not it.holds), None)
    if it is not None:
        expected, got = contrast_texts(str(it.expected), str(it.got))
        yield f"{it.promise}: {it.message}: expected {expected}, got {got}"


def list_requirements(state: State, registry: Registry) -> Requirements:
    """Yield the requirements that hold after every step.

    The limits of core are not among them: the stored core may be from before they were lowered.
    """
    yield from check_cheap(state)
    yield from check_working(state.tiers.working, state.seen_ms)
    for core in cores(state):
        yield from check_core(core)
    yield from check_tables(state, registry)


def cores(state: State) -> Iterator[CoreTier]:
    """Yield the core tier, and all core tiers that operations have read or planned."""
    yield state.tiers.core
    for fact in (fact for operation in state.operations.values() for fact in operation.facts.values()):
        # A plan has a core, or None; any other fact may be a core itself.
        core = getattr(fact, "core", fact)
        if isinstance(core, CoreTier):
            yield core


# The phase.

MAY_RUN: Final = {"over_limit": ALONE, "closed": (*ALONE, "purge")}  # workflows that run in these phases


def wrong_phase(state: State) -> Iterator[str]:
    phase, running = state.phase, [operation.workflow for operation in state.operations.values()]
    if phase == "recovering":
        if running != ["recover"]:
            yield f"phase: it recovers, and in flight are {' '.join(running) or 'no operations'}"
    elif "recover" in running or (state.queue and not is_queue_blocked(state)):
        yield f"phase: {phase}, and something recovers or waits for that"
    if len(running) > 1 and any(name in ALONE for name in running):
        yield f"phase: {phase}, and beside {' '.join(running)} nothing else may be in flight"
    if phase not in ("recovering", "ready") and not all(name in MAY_RUN.get(phase, ()) for name in running):
        yield f"phase: {phase}, and operations are in flight"
    if (state.epoch == 0) != (phase in ("new", "recovering")):
        yield f"epoch: {state.epoch} in the phase {phase}"
    for number, operation in state.operations.items():
        name, is_asked = operation.workflow, operation.op_id is not None
        if name == "recover" if is_asked else name not in BACKGROUND:
            yield f"operations[{number}]: {name} has {'a' if is_asked else 'no'} request"


def is_queue_blocked(state: State) -> bool:
    """Check whether the queue waits for an operation that runs alone, or begins with a request for one."""
    is_first = isinstance(state.queue[0], AgentRequest)
    return is_first or any(operation.workflow in ALONE for operation in state.operations.values())


# Operations in flight.


def wrong_operation(operation: Operation, table: Workflow, engine: Engine) -> Iterator[str]:
    if operation.row >= len(table.steps):
        yield f"row: {operation.row}, and its table has {len(table.steps)}"
        return
    row = table.steps[operation.row]
    yield from wrong_facts(operation, table, engine.state.scope)
    yield from wrong_units(operation, row)
    yield from wrong_question(operation, row)
    yield from wrong_commit(operation, row, engine)


def wrong_facts(operation: Operation, table: Workflow, scope: Scope) -> Iterator[str]:
    """Yield the errors of facts. A fact must be of its type, or the substitute of a skipped step."""
    done, row = table.steps[: operation.row], table.steps[operation.row]
    declared = [*table.given, *(fact for step in done for fact in step.produces)]
    if operation.facts.keys() != {fact.name for fact in declared}:
        yield f"facts: other ones than {operation.workflow} has at {row.id}"
        return
    yield from wrong_values(operation.facts, table.given)
    known: Mapping[str, Any] = operation.facts
    followers = followers_of_skipped(table)
    for step in done:
        # The substitute of a skipped step may have another type than the fact, if no later step needs it.
        if row not in followers.get(step.id, ()) or not may_be_skipped(operation.facts, step):
            yield from wrong_values(operation.facts, step.produces)
            for name in step.learns if step.each else ():
                if step.each and len(known[name]) != len(known[step.each.name] or ()):
                    yield f"facts[{name}]: not one for each of {step.each.name}"
    yield from (f"facts: {law.description}" for law in table.laws if not law.holds_of(operation.facts, scope))


def may_be_skipped(facts: Mapping[str, object], step: Step) -> bool:
    """Check whether the step may have been skipped: its facts equal the substitutes of a skipped step."""
    # Compared by class, too, because False == 0: the substitute may be one, and a produced fact the other.
    pairs = ((step.skipped_values[name], facts[name]) for name in step.learns)
    return all(one.__class__ is other.__class__ and one == other for one, other in pairs)


def wrong_values(facts: Mapping[str, object], declared: Iterable[Fact[Any]]) -> Iterator[str]:
    for fact in declared:
        if problem := wrong_value(facts[fact.name], fact, fact.kind):
            yield f"facts[{fact.name}]{problem}"


def wrong_value(value: object, fact: Fact[Any], kind: Any) -> str:
    """Return the error in the value of a fact or of a unit; empty if there is none."""
    bad_kind = bad_row(value, fact.rows) if fact.rows else ""
    return shape_of(kind)(value) or (f": a row of {bad_kind}" if bad_kind else "")


def wrong_units(operation: Operation, row: Step) -> Iterator[str]:
    """Yield the errors of the units that the step has done so far."""
    count = len(facts_of(operation)[row.each]) if row.each else 1
    if operation.unit >= count and operation.asked is not None:
        yield f"unit: {operation.unit}, and {row.id} has {count}"
    for unit in operation.learned:
        if unit.keys() != row.learns.keys() or row.each is None:
            yield f"learned: other facts than those of {row.id}"
            return
        for name, fact in row.learns.items():
            if problem := wrong_value(unit[name], fact, unit_of(fact.kind)):
                yield f"learned[{name}]{problem}"


def wrong_question(operation: Operation, row: Step) -> Iterator[str]:
    """Yield the errors of the current attempt: its question, sent effect, progress, reads and pages."""
    asked, sent = operation.asked, operation.sent
    if isinstance(operation.progress, Running):
        yield "progress: it runs, and no step does"
    if sent is not None and sent.__class__ is not asked.__class__:
        yield f"sent: another question than that of {row.id}"
    if operation.plan_count < 1 or (asked is not None and operation.attempt < 1):
        yield "attempt: it has asked, and made no attempt"
    if any(read.step > operation.row for read in operation.reads):
        yield f"reads: at a row of its table after {row.id}"
    if operation.pages and not (is_paged(asked) and asked_for(asked, operation.pages) == operation.pages):
        yield f"pages: rows that {row.id} has not asked for"


def wrong_commit(operation: Operation, row: Step, engine: Engine) -> Iterator[str]:
    """Yield the error of a batch that differs from the plan, from which the tiers will be updated."""
    asked, sent = operation.asked, operation.sent
    if not isinstance(asked, Commit) or row.ask is None:
        return
    # `ask` is pure, so it gives the same batch again from the same facts.
    planned = row.ask(facts_of(operation), engine.view(operation, row))
    planned = guard(engine, operation, planned) if isinstance(planned, Commit) else planned
    if not isinstance(planned, Commit) or batch_of(asked) != batch_of(planned):
        yield "asked: another batch than that of the plan"
    if isinstance(sent, Commit) and (sent.writes, sent.expects) != (asked.writes, asked.expects):
        yield "sent: another batch than what was asked for"


def batch_of(commit: Commit) -> object:
    """Return the batch without the time of an epoch's claim, which differs between attempts."""
    found = [write.body for write in commit.writes]
    bodies = [structs.replace(it, claimed_ms=0) if isinstance(it, Epoch) else it for it in found]
    return [write.address for write in commit.writes], bodies, commit.expects, commit.key


def is_paged(asked: object) -> TypeGuard[Read]:
    return isinstance(asked, Read) and isinstance(asked.query, ByFilter) and asked.query.limit is None
