"""Old lives: what a memory may still do when a later life has its place and has claimed the next epoch.

Law 1. It writes nothing more: what it is told to be durable was so before it woke up, or is another's.
Law 2. It is deposed when a commit of it is told that the epoch has changed, or when it looks up what became
of one that closes or opens its agent, and not before: from then on all but its working tier ends as
`Deposed`, or as Unknown where a commit may have happened.
Law 3. What it says has failed is not stored.
Law 4. Its working tier goes on as if nothing had come to pass. What its reads show nobody judges: it may be
what was there before it lost its place, or what the later life has written.
"""

from typing import Final

import attrs

from umi_core.data import Owner
from umi_core.errors import Deposed, Error
from umi_core.invariants.broken import demand
from umi_core.kelpie.requests import AgentRequest
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import Commit, Done, Failed, Outcome, Reply, Unknown
from umi_core.messages.requests import Descent, Recall, Remember, Request, WorkingRequest
from umi_core.messages.results import SessionCreated, SessionLoaded, SessionSaved
from umi_core.rows import Receipt
from umi_sim.judge.oracle.failures import Failures
from umi_sim.judge.oracle.model import Ending, Surroundings
from umi_sim.judge.oracle.working import WorkingModel
from umi_sim.judge.plain.requests import is_same, wrong
from umi_sim.record import rules
from umi_sim.services.calls import Call

EPOCH: Final = "epoch"
OPENS: Final = (SessionCreated, SessionLoaded, SessionSaved)  # what changes a working tier as a whole


@attrs.define
class OldLife(Owner):
    """One of them. `keys`: of all batches that were durable when it woke up, after it was replaced.

    `working`: what its working tier must answer, as long as it opens no other session. `told`: it has heard
    that the epoch is another one. `is_purged`: rows may go, one page after the other, while it reads them.
    """

    agent: str
    surroundings: Surroundings
    epoch: int
    requests: dict[str, Request]
    failures: Failures
    working: WorkingModel | None
    seen_ms: int
    keys: frozenset[str] = frozenset()
    told: bool = False
    is_purged: bool = False
    is_switching: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """What closes or opens its agent may have raised the epoch, and it was not told."""
        self.is_switching = any(isinstance(it, AgentRequest) for it in self.requests.values())

    def woke(self) -> None:
        """It goes on, and a later life has claimed its epoch."""
        self.keys = self.surroundings.durable_keys()

    def read_clock(self, reading_ms: int) -> int:
        self.seen_ms = max(self.seen_ms, reading_ms)
        return self.seen_ms

    def issued(self, op_id: str, request: Request) -> None:
        self.requests[op_id] = request
        if not isinstance(request, WorkingRequest):
            self.failures.issued(op_id, request, self.seen_ms)

    def answered(self, call: Call, answer: Answer) -> None:
        request = self.requests.get(call.op_id)
        if isinstance(call.effect, Commit):
            self.judge_answer(call.op_id, call.effect, answer)
        elif call.workflow == "recover" and isinstance(answer, ReadDone):
            self.told |= any(row.address.kind == EPOCH for row in answer.rows)  # it looks up whose it is
        if request is not None:
            self.failures.answered(call, request, answer, self.seen_ms)
        if isinstance(request, Remember) and self.working is not None:
            self.working.answered(call, request, answer, self.seen_ms)

    def judge_answer(self, op_id: str, commit: Commit, answer: Answer) -> None:
        if isinstance(answer, EffectFailed):
            self.told |= any(address.kind == EPOCH for address, _ in answer.changed)
        elif isinstance(answer, Committed):
            receipt = answer.receipt
            is_others = isinstance(receipt, Receipt) and receipt.by[0] != self.epoch
            is_known = commit.key in self.keys or self.surroundings.atlas.has_struck(op_id)
            message = f"a life of epoch {self.epoch} wrote {commit.key} when a later one had begun"
            demand(is_known or is_others, rules.OLD_LIFE_FENCED, message)

    def replied(self, op_id: str, reply: Reply, reading_ms: int) -> None:
        request, outcome = self.requests.pop(op_id), reply.outcome
        ending = Ending(op_id, request, outcome, self.seen_ms, reading_ms)
        is_of_working = isinstance(request, WorkingRequest)
        if not is_of_working:
            self.judge_outcome(op_id, request, outcome)
            if self.told or (self.is_purged and is_unusable(outcome)):
                del self.failures.heard[op_id]
            else:
                self.failures.replied(ending)
        if isinstance(outcome, Done) and isinstance(outcome.value, OPENS):
            self.working = None
        if self.working is not None and (is_of_working or isinstance(request, Remember | Recall | Descent)):
            self.working.replied(ending)

    def judge_outcome(self, op_id: str, request: Request, outcome: Outcome) -> None:
        """Deposed, if it is, and only then."""
        error: Error | None = getattr(outcome, "error", None)
        message = f"{op_id} {type(request).__name__} of a life of epoch {self.epoch}"
        is_told_lost = isinstance(outcome, Failed) and self.surroundings.is_durable(op_id)
        demand(not is_told_lost, rules.OLD_LIFE_FENCED, f"{message} is stored", "Done or Unknown", outcome)
        if self.told:
            is_own = self.is_switching and isinstance(error, Deposed) and 0 < error.epoch <= self.epoch
            is_deposed = isinstance(outcome, Failed) and (is_own or is_same(Deposed(self.epoch), error))
            is_wrong = error is not None and is_same(wrong(request), error)
            holds = is_deposed or is_wrong or isinstance(outcome, Unknown)
            demand(holds, rules.OLD_LIFE_FENCED, f"{message}, which knows of a later one", "Deposed", outcome)
        else:
            message = f"{message}, which was never told of a later one"
            demand(not isinstance(error, Deposed), rules.OLD_LIFE_FENCED, message, "an answer", outcome)


def is_unusable(outcome: Outcome) -> bool:
    """Whether what was read does not belong together."""
    return isinstance(outcome, Failed) and getattr(outcome.error, "kind", "") == "unusable"
