"""Failures: an operation that fails says of what, and the world did just that to it.

Law 1. What storage did is named by kind: an answer to this very operation was that failure, or it had rows
that are no answer (another's, or damaged: without a body, or with a field that no row may have), or no
answer came in time.
Law 2. What may pass is tried three times, and so is a plan that meets conflicts; what is final is said at
once.
Law 3. That nobody knows how it ended is said of a commit alone that was answered so, or not in time.
Law 4. A model or an embedder makes nothing fail; no workflow of the memory breaks; and the latest life
of a scope is never deposed (older ones: old_lives.py).
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import attrs

from umi_core import errors
from umi_core.config import Config
from umi_core.data import Owner, compared
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import PLAN_COUNT_MAX, PPM
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    Asked,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    Failed,
    Query,
    Read,
    Refused,
    Unknown,
)
from umi_core.messages.requests import OF_MEMORY, WorkingRequest
from umi_core.rows import Row
from umi_sim.judge.oracle.model import Ending, Model
from umi_sim.judge.plain.filters import HOLDS
from umi_sim.judge.plain.rows import is_fit
from umi_sim.record import rules
from umi_sim.services.calls import Call

STORAGE: Final = ("damaged", "timeout", "unavailable")
KINDS: Final[dict[type[errors.Error], tuple[str, ...]]] = {
    errors.StorageFailed: (*STORAGE, "refused"),  # a read is refused by interceptors alone
    errors.StorageFull: ("full",),
    errors.StorageRefused: ("refused",),
    errors.Conflict: ("conflict",),
}
"""What storage may have done to an operation that failed with this error."""
ATTEMPTS: Final = 3
"""How often a step is tried before its operation fails, if nothing can take its place."""
TOLD_CHARS: Final = 20
Causes = tuple[str, ...]


@attrs.define
class Heard(Owner):
    """When an operation was asked for, and what each answer may be taken for, by step; nothing: an answer."""

    began_ms: int
    answers: list[tuple[str, Causes]] = attrs.field(factory=list)

    def of(self, step: str) -> list[Causes]:
        return [it for name, it in self.answers if name == step]


class Failures(Model):
    """Watches every request to a memory that its working tier does not answer at once."""

    watches = tuple(cls for cls in OF_MEMORY.values() if not issubclass(cls, WorkingRequest))

    def __init__(self, config: Config) -> None:
        self.config = config
        self.heard: dict[str, Heard] = {}

    def issued(self, op_id: str, request: object, now_ms: int) -> None:
        self.heard[op_id] = Heard(now_ms)

    def answered(self, call: Call, request: object, answer: Answer, now_ms: int) -> None:
        self.heard[call.op_id].answers.append((call.step, tuple(causes(call.effect, answer))))

    def turned_away(self, op_id: str, step: str, came: Answer) -> None:
        self.heard[op_id].answers.append((step, (came.kind,) if isinstance(came, EffectFailed) else ()))

    def crashed(self) -> None:
        self.heard.clear()

    def replied(self, ending: Ending) -> None:
        heard, outcome = self.heard.pop(ending.op_id), ending.outcome
        is_late = ending.now_ms - heard.began_ms >= self.config.store_timeout_ms
        if isinstance(outcome, Failed) and isinstance(outcome.error, errors.ModelFailed | errors.EmbedFailed):
            return  # never right: whoever knows what must not be lost says so
        if isinstance(outcome, Failed) and isinstance(outcome.error, errors.StepFailed):
            self.judge_failed(ending, outcome.error, heard.of(outcome.error.step), is_late)
        elif isinstance(outcome, Failed):
            self.demand(False, ending, str(outcome.error), heard.answers)
        elif isinstance(outcome, Unknown):
            known = [kind for _, kinds in heard.answers for kind in kinds]
            holds = is_late or "unknown" in known or "timeout" in known
            self.demand(holds, ending, "nobody knows how it ended", known)

    def judge_failed(
        self, ending: Ending, error: errors.StepFailed, heard: list[Causes], is_late: bool
    ) -> None:
        allowed = KINDS.get(type(error), ())
        is_told = any(error.kind in kinds for kinds in heard)
        holds = is_told or (error.kind == "timeout" and is_late)
        self.demand(holds and error.kind in allowed, ending, str(error), heard)
        is_final, conflict_count = error.kind not in STORAGE, heard.count(("conflict",))
        is_patient = error.attempts == ATTEMPTS or (is_final and 1 <= error.attempts < ATTEMPTS)
        is_patient &= error.kind != "conflict" or conflict_count >= PLAN_COUNT_MAX
        self.demand(is_patient and (is_late or len(heard) >= error.attempts), ending, f"{error}", heard)

    def demand(self, holds: bool, ending: Ending, told: str, heard: object) -> None:
        message = f"{ending.op_id} {type(ending.request).__name__}: {told}"
        demand(holds, rules.FAILURE_HAS_A_CAUSE, message, "what befell it", heard)


def causes(effect: Asked, answer: Answer) -> Iterator[str]:
    """Why a memory may take an answer for none."""
    if isinstance(answer, EffectFailed):
        other = "unknown" if isinstance(effect, Commit) else "unavailable"
        yield answer.kind if answer.kind in effect.failures else other
    elif isinstance(effect, Commit) and isinstance(answer, Committed):
        if not is_receipt_of(effect, answer):
            yield "unknown"
    elif isinstance(effect, Read) and isinstance(answer, ReadDone):
        if any(is_foreign(effect.query, row) or is_left_out(effect.query, row) for row in answer.rows):
            yield "unavailable"
        if any(is_damaged(row) for row in answer.rows):
            yield "damaged"


def is_receipt_of(effect: Commit, answer: Committed) -> bool:
    """Whether it tells a version of each row that was put, under this plan."""
    told = dict(answer.versions)
    return all(told.get(write.address, 0) > 0 for write in effect.writes if write.body is not None)


def is_foreign(query: Query, row: Row) -> bool:
    """Whether this row was not asked for, as far as its address tells."""
    if isinstance(query, ByIds):
        return row.address not in query.addresses
    kinds = (query.kind,) if isinstance(query, ByVector | ByWords) else query.kinds
    return row.address.scope != query.scope or row.address.kind not in kinds


def is_left_out(query: Query, row: Row) -> bool:
    """Whether this row is not what was asked for, as far as its score and its fields tell."""
    where = () if isinstance(query, ByIds) or is_damaged(row) else query.where
    told = [(it, getattr(row.body, it.field)) for it in where if hasattr(row.body, it.field)]
    return is_misjudged(query, row) or any(not HOLDS[it.operator](found, it.value) for it, found in told)


def is_misjudged(query: Query, row: Row) -> bool:
    """Whether it has a score that no row may have, or none where that is what was asked for."""
    score, is_search = row.score_ppm, isinstance(query, ByVector | ByWords)
    if score is None:
        return is_search
    least = query.min_score_ppm if isinstance(query, ByVector | ByWords) else 0
    return type(score) is not int or not least <= score <= PPM


def is_damaged(row: Row) -> bool:
    """Whether its body is gone, that of another row, or one that nobody wrote."""
    body, address = row.body, row.address
    if body is None or body.row_kind != address.kind or body.own_id() not in (None, address.id):
        return True
    return not is_fit(body)


# What an error says.


@attrs.define
class Sentences(Owner):
    """The sentence of each kind of error that a run meets. `told`: kinds that were seen to tell all of it."""

    told: dict[type, None] = attrs.field(factory=dict)

    def check(self, op_id: str, outcome: Refused | Failed) -> None:
        """An error holds what it declares, and tells each of its values, unless a terminal cannot show it."""
        error: object = outcome.error
        cls: Any = type(error)
        strange = [name for name, kind in scalars(cls) if type(getattr(error, name)) is not kind]
        demand(not strange, rules.ERROR_SAYS_IT, f"{op_id}: what its error declares", "", strange)
        if error.__class__ in self.told:
            return
        message = f"{op_id} ended without an error"
        demand(isinstance(error, errors.Error), rules.ERROR_SAYS_IT, message, "an error", error)
        assert isinstance(error, errors.Error)
        sentence = str(error) if error.sentence else ""
        values = [str(getattr(error, name))[:TOLD_CHARS] for name in compared(type(error))]
        missing = [it for it in values if it not in sentence and it.isprintable()]
        wanted = "all of its values"
        demand(sentence and not missing, rules.ERROR_SAYS_IT, f"{op_id}: {sentence}", wanted, missing)
        if all(map(str.isprintable, values)):
            self.told[type(error)] = None


@cache
def scalars(cls: Any) -> tuple[tuple[str, type], ...]:
    """The fields of an error that hold a text or a number, with which of these."""
    fields = attrs.fields(cls) if attrs.has(cls) else ()
    return tuple((field.name, field.type) for field in fields if field.type in (str, int))
