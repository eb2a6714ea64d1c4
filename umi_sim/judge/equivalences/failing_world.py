"""A small world in which chosen steps of one operation meet failures; and the kinds of failures."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from umi_core.data import Data, is_struct, list_compared
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, Value, Wake
from umi_core.messages.effects import Asked, AskModel, Commit, Embed, FailureKind, Outcome, Read
from umi_core.rows import Address
from umi_sim.judge.equivalences.afresh import BOOKKEEPING, Contents
from umi_sim.judge.equivalences.odd_replies import make_invalid_reply
from umi_sim.judge.small_world import SmallWorld
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.record.broken import demand

STEP_COUNT_MAX: Final = 2_000
PAGE_ROWS: Final = 1  # so that most reads have pages after the first
LATER_PAGES: Final = ", later pages"
ALWAYS: Final = 99  # a step with this many scripted failures always fails
SILENCE: Final = "silence"
DURABLE: Final = "durable"
INVALID: Final = "invalid"
LATER_MS: Final = {"soon": 1, "later": 7_321, "in_an_hour": 3_600_000, "even_later": 3_600_001}
LATE: Final = ("timeout", SILENCE)
AWAY: Final = ("unavailable",)
BUSY: Final = ("rate_limited", "refused", *LATER_MS)
KINDS: Final[Mapping[type[Asked], tuple[tuple[str, ...], ...]]] = {
    AskModel: (LATE, AWAY, BUSY, ("too_long",), *[(INVALID,)] * 3),
    Embed: (LATE, AWAY, BUSY, ("too_long", INVALID)),
    Read: (LATE, AWAY, BUSY),
    Commit: (LATE, AWAY, BUSY, ("refused",), ("full",), ("unknown",), (DURABLE,), *[("conflict",)] * 2),
}
"""Failures by question, in groups; a script takes one of a group. `silence`: no answer, so that the memory
gives up waiting. `durable`: the batch is stored, and the answer is lost. `invalid`: an answer of no use. A
rate limit may name a wait. Failures that lead to other steps (an invalid reply, a conflict) are listed more
than once, so that they are drawn more often."""

Script = Mapping[str, list[str]]  # by step, the failures of its next questions
Counting = Callable[[Any], Any]  # the part of a body, or of None, that is compared


class StepAttempt(Data):
    """One attempt of a step: for which unit and page of it, in which plan, and when."""

    workflow: str
    row: str
    of: type[Asked]
    unit: int
    page: int
    plan: int
    at_ms: int

    @property
    def step(self) -> str:
        """Return the name of the step as scripts use it: pages after the first fail separately."""
        return f"{self.row}{LATER_PAGES}" if self.page else self.row


class FailingWorld(SmallWorld):
    """A world in which the steps of one operation fail as the script says; all else is answered truly.

    `subject`: its op_id, None for recovery. `script`: by step, its failures. `asked`: its questions.
    `reply_seed`: the seed of invalid replies. `unanswered`: the last commit that met silence; it lands before
    the question number `lands_at` of the subject, or never.
    """

    subject: object = None
    script: Script = {}
    reply_seed: int = 0
    asked: list[StepAttempt] = []
    marks: list[str] = []
    unanswered: Commit | None = None
    lands_at: int | None = None

    def begin(self, request: Any, script: Script) -> Outcome:
        self.subject, self.asked = request.op_id, []
        self.script = {step: [*kinds] for step, kinds in script.items()}
        return self.ask(request)

    def step(self, value: Value) -> None:
        super().step(value)
        self.marks += self.memory.marks

    def settle(self) -> None:
        """Answer all questions, and wait as long as the subject waits."""
        for _ in range(STEP_COUNT_MAX):
            if self.pending:
                answer = self.answer_scripted(self.pending.pop(0))
                if answer is not None:
                    self.step(answer)
            elif self.has_ended():
                return
            else:
                self.now_ms = max(self.now_ms, self.memory.deadline_ms() or 0)
                self.step(Wake())
        demand(False, rules.FAILED_THEN_AGAIN, f"{self.subject} does not end with {self.script}")

    def has_ended(self) -> bool:
        if self.subject is None:
            return self.memory.state.phase != "recovering"
        return self.subject in self.outcomes

    def answer_scripted(self, effect: Asked) -> Answer | None:
        it = self.memory.in_flight.get(effect.request_id)
        if it is None or it.op_id != self.subject:
            return self.answer(effect)
        row, page = self.registry.at(it.workflow, it.revision).steps[it.row].id, it.page_count
        # Before the question is answered, so that it sees the committed rows.
        if self.lands_at == len(self.asked):
            self.land()
        asked = StepAttempt(it.workflow, row, type(effect), it.unit, page, it.plan_number, self.now_ms)
        self.asked.append(asked)
        failures = self.script.get(asked.step)
        if not failures:
            return self.answer(effect)
        # A list of ALWAYS entries is not used up: the step fails until its operation gives up.
        return self.failure(effect, failures[0] if len(failures) >= ALWAYS else failures.pop(0))

    def failure(self, effect: Asked, kind: str) -> Answer | None:
        number = effect.request_id
        if kind == SILENCE:
            self.unanswered = effect if isinstance(effect, Commit) else self.unanswered
            return None
        if kind == INVALID:
            return self.answer_invalid(effect)
        if kind == DURABLE:
            self.answer(effect)
        return EffectFailed(number, cast(FailureKind, name_failure(kind)), LATER_MS.get(kind, 0))

    def land(self) -> None:
        """Store the unanswered commit, if the rows still are as it expects."""
        if self.unanswered is not None:
            self.answer(self.unanswered)
        self.unanswered = self.lands_at = None

    def answer_invalid(self, effect: Asked) -> Answer:
        number = effect.request_id
        if not isinstance(effect, AskModel):
            return Embedded(number, ())
        return ModelReplied(
            number, make_invalid_reply(effect.task, effect.prompt, Stream(self.reply_seed, number))
        )

    def list_rows(self) -> dict[Address, Any]:
        """Return all rows except those of incarnations and commits."""
        return {where: body for where, body in self.rows() if where.kind not in BOOKKEEPING}

    def by_id(self) -> Contents:
        """Return the rows by kind and id, as archives are compared."""
        return {(where.kind, where.id): body for where, body in self.list_rows().items()}


def name_failure(kind: str) -> str:
    """Return the kind of failure that the memory reports for `kind`."""
    return {SILENCE: "timeout", DURABLE: "unknown", **dict.fromkeys(LATER_MS, "rate_limited")}.get(kind, kind)


def split_differences(
    expected: Contents, got: Contents, since: range, counts: Counting = lambda body: body
) -> tuple[Contents, Contents]:
    """Return the bodies in which two archives differ. `counts` returns the part of a body that is compared;
    all times of `since` count as one.

    Forked worlds share a body that neither has written, so identical bodies are skipped.
    """
    keys = [key for key in {**expected, **got} if expected.get(key) is not got.get(key)]
    first, second = ({key: hide_times(counts(it.get(key)), since) for key in keys} for it in (expected, got))
    return first, second


def hide_times(value: Any, since: range) -> Any:
    """Return the value with each time of `since` replaced by the first of them."""
    cls = type(value)
    # For `since` from 100 to 104, 103 becomes 100, and 99 stays.
    if cls is int:
        return since.start if value in since else value
    if isinstance(value, tuple):
        return tuple(hide_times(it, since) for it in value)
    if is_struct(cls):
        return cls, *(hide_times(getattr(value, name), since) for name in list_compared(cls))
    return value
