"""Mutants of what is written and read: commits, rows, recovery."""

from collections.abc import Iterable
from typing import Any, Final

import attrs

from umi_core.engine import attempts, lifecycle, paging
from umi_core.engine.engine import Engine
from umi_core.engine.facts import Facts, View
from umi_core.engine.questions import asks
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Learned, Step, degrade, nothing, retry
from umi_core.ids import derived_id
from umi_core.language import extraction
from umi_core.messages.answers import Answer, Committed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, Commit, Done, HookNote, Outcome, Reply, Write
from umi_core.state import Operation
from umi_core.tiers.core import CoreTier
from umi_core.values import Scope
from umi_core.workflows import commits, drafting, forget, remember
from umi_core.workflows.commits import CORE, LOST, PLAN, STORED, Plan
from umi_core.workflows.drafting import Drafted
from umi_sim.mutants import Mutant, Original, Patch, row_of

# Commits.


def key_of_attempt(original: Original) -> Original:
    def completed(engine: Engine, operation: Operation, row: Step, asked: Asked) -> object:
        request = original(engine, operation, row, asked)
        if isinstance(request, Commit) and request.key and operation.attempt > 1:
            return attrs.evolve(request, key=f"{request.key}.{operation.attempt}")
        return request

    return completed


def first_half(facts: Facts, view: View) -> Commit | None:
    """The rows of the first entity alone."""
    plan = facts[PLAN]
    writes = tuple(write for write in plan.writes if write.address.id.startswith(first_id(plan)))
    return Commit(writes, (), commits.key_of(facts, view) + ".1") if writes else None


def first_id(plan: Plan) -> str:
    return plan.accessed[0].id if plan.accessed else " "


def second_half(facts: Facts, view: View) -> Commit:
    whole, mine = commits.ask_commit(facts, view), first_id(facts[PLAN])
    return attrs.evolve(
        whole,
        writes=tuple(write for write in whole.writes if not write.address.id.startswith(mine)),
        expects=tuple(expect for expect in whole.expects if not expect.address.id.startswith(mine)),
    )


def go_on(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned()


def split_commit(registry: Registry) -> Registry:
    commit = Step(
        "commit", requires=(PLAN,), produces=(STORED, LOST), otherwise=nothing(STORED, LOST),
        **asks(Commit, second_half, commits.take_commit, retry(3)),
    )  # fmt: skip
    first = Step("commit_first", requires=(PLAN,), otherwise={}, **asks(Commit, first_half, go_on, retry(3)))
    return registry.replace("remember", "commit", commit).insert_before("remember", "commit", first)


TOLD: Final = HookNote("told early", "", "", "")


def told_when_asked(original: Original) -> Original:
    def send(engine: Engine, operation: Operation, row: Step) -> object:
        ending = original(engine, operation, row)
        plan = operation.facts.get("plan")
        is_asking = operation.waiting is not None and isinstance(operation.sent, Commit)
        if operation.op_id is None or TOLD in operation.notes:
            return ending
        if is_asking and isinstance(plan, Plan) and plan.spoken:
            engine.effects.append(Reply(operation.op_id, Done(plan.value, operation.degraded)))
            engine.state.noted(operation, (TOLD,))
        return ending

    return send


def not_told_twice(original: Original) -> Original:
    def finish(engine: Engine, operation: Operation, outcome: Outcome) -> None:
        original(engine, operation, outcome)
        if TOLD in operation.notes:
            engine.effects.pop()
            engine.state.count("hook failed", -len(operation.notes))

    return finish


def versions_not_expected(original: Original) -> Original:
    return lambda *args: ()


def never_gives_up(original: Original) -> Original:
    def may_retry(operation: Operation, row: Step, failure: Any) -> object:
        is_commit = isinstance(operation.asked, Commit) and failure.kind not in attempts.FINAL_KINDS
        return is_commit or original(operation, row, failure)

    return may_retry


ANSWERED_BY: Final = {"AskModel": ModelReplied, "Embed": Embedded, "Read": ReadDone, "Commit": Committed}


def late_is_welcome(original: Original) -> Original:
    def resume(engine: Engine, answer: Any) -> None:
        waiting = [op for op in engine.state.operations.values() if op.waiting is not None and op.attempt > 1]
        fitting = [op for op in waiting if isinstance(answer, ANSWERED_BY[type(op.asked).__name__])]
        if answer.request_id not in engine.state.waiting and fitting:
            answer = attrs.evolve(answer, request_id=fitting[0].waiting)
        original(engine, answer)

    return resume


COMMITS: Final = (
    Mutant("success-before-commit", "storage", "success is replied when the commit is asked for",
           ("acknowledged-is-durable", "no-lost-update"), "smoke",
           (Patch(attempts, "send", told_when_asked), Patch(lifecycle, "finish", not_told_twice))),
    Mutant("new-key-on-retry", "storage", "a commit whose outcome is unknown is tried again under a new key",
           ("once-only", "session-versions", "reference-agrees", "keys-differ"), "retries",
           (Patch(attempts, "completed", key_of_attempt),)),
    Mutant("one-commit-per-entity", "storage", "a remember of several entities commits them one by one",
           ("all-or-nothing", "acknowledged-is-durable", "reference-agrees", "once-only"), "answers",
           tables=split_commit),
    Mutant("commit-without-version", "storage", "an update expects no version, and another one vanishes",
           ("no-lost-update", "version-chain"), "retries",
           (Patch(remember, "expected", versions_not_expected),)),
    Mutant("retries-for-ever", "storage", "a commit that keeps failing is tried again without bound",
           ("backoff", "progress"), "answers", (Patch(attempts, "may_retry", never_gives_up),)),
    Mutant("late-answer-applied", "storage", "a late answer is taken for the answer to the next attempt",
           ("late-is-inert",), "retries", (Patch(lifecycle, "resume", late_is_welcome),)),
)  # fmt: skip


# Rows.


def vector_stays(original: Original) -> Original:
    def deletions(facts: Facts, view: View) -> tuple[Write, ...]:
        return tuple(write for write in original(facts, view) if write.address.kind != "vector")

    return deletions


def vector_kept(original: Original) -> Original:
    def rows_of(draft: Drafted, facts: Facts, view: View) -> Iterable[Write]:
        writes = tuple(original(draft, facts, view))
        return [write for write in writes if draft.old is None or write.address.kind != "vector"]

    return rows_of


def empty_if_unread(registry: Registry) -> Registry:
    row = row_of(registry, "recover", "load")
    empty = degrade("empty", CORE(CoreTier()))
    return registry.replace("recover", "load", attrs.evolve(row, on_failure=retry(1, then=empty)))


def made_up_ids(original: Original) -> Original:
    """Another id for each telling: the same text object is the same telling."""
    tellings: list[str] = []

    def entity_id(scope: Scope, entity_type: str, name: str) -> str:
        found = next((n for n, known in enumerate(tellings) if known is name), len(tellings))
        if found == len(tellings):
            tellings.append(name)
        return derived_id("ent", "random", scope, found)

    return entity_id


def trimmed(original: Original) -> Original:
    return lambda text: " ".join(text.split()) if original(text) else ""


def as_it_is_written(original: Original) -> Original:
    return lambda scope, kind, name: derived_id("ent", "entity", scope, kind, "name", name.casefold())


def damaged_unseen(original: Original) -> Original:
    def checked_rows(*asked: Any) -> object:
        *before, answer = asked
        rows = tuple(row for row in answer.rows if row.body is not None)
        return original(*before, attrs.evolve(answer, rows=rows))

    return checked_rows


KEPT: Final = (
    Mutant("forget-leaves-vector", "storage", "the vector of a forgotten entity stays in the index",
           ("deleted-stays-deleted",), "calm", (Patch(forget, "deletions", vector_stays),)),
    Mutant("update-keeps-old-vector", "storage", "a changed entity is found by the vector of its old text",
           ("index-follows-row",), "calm", (Patch(remember, "rows_of", vector_kept),)),
    Mutant("failed-recovery-starts-empty", "storage", "a core that is not read at restart is empty",
           ("no-defaults-over-data",), "crash_storm", tables=empty_if_unread),
    Mutant("random-ids", "storage", "remembering the same thing again makes a second entity",
           ("once-only", "reference-agrees"), "calm", (Patch(drafting, "entity_id", made_up_ids),)),
    Mutant("composed-name-twice", "storage", "one name, composed and decomposed, makes two entities",
           ("once-only", "reference-agrees"), "languages",
           (Patch(extraction, "clean_name", trimmed), Patch(drafting, "entity_id", as_it_is_written))),
    Mutant("damage-is-absence", "storage", "a row that is reported as damaged is replied as not found",
           ("error-is-not-empty", "acknowledged-is-durable", "no-defaults-over-data"), "all_faults",
           (Patch(paging, "checked_rows", damaged_unseen),), kind="storage_damaged"),
)  # fmt: skip

ROWS: Final = (*COMMITS, *KEPT)
