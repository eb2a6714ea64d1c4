"""Judge every reply: failures and refusals have a reason, and times and values are right."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from umi_core import errors, limits
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.errors import Error
from umi_core.ids import session_id
from umi_core.kelpie import errors as kelpie_errors
from umi_core.kelpie import requests as api
from umi_core.kelpie.errors import (
    AboveLimit,
    LabelTaken,
    NotFound,
    ReadOnly,
    TextAmbiguous,
    TextNotFound,
    VersionConflict,
)
from umi_core.kelpie.results import AgentSwitched, Appended, BlockWritten
from umi_core.limits import OP_COUNT_MAX, PLAN_COUNT_MAX, PPM
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    Asked,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    Done,
    Failed,
    Outcome,
    Query,
    Read,
    Refused,
    Unknown,
)
from umi_core.messages.requests import (
    ALL,
    OF_MEMORY,
    CoreRead,
    CreateSession,
    LoadSession,
    Rebalance,
    RemoveBlock,
    Request,
    SaveSession,
    SetBlock,
    SetImportance,
    WorkingRequest,
    bad_request,
)
from umi_core.messages.results import RecordAdded, Remembered, SessionCreated, SessionSaved
from umi_core.migration import requests as moves
from umi_core.migration.requests import NotReady
from umi_core.rows import Row
from umi_core.text import norm, tidy
from umi_core.values import Scope
from umi_sim.judge.oracle.model import Ending, OracleModel, Surroundings
from umi_sim.judge.oracle.working import SessionsModel
from umi_sim.judge.plain.requests import HOLDS, is_damaged, is_no_agent
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.record.run_config import RunConfig
from umi_sim.services.calls import Call

# Failures: an operation that fails names a cause that occurs among the answers to it.
#
# Law 1. A storage failure is named by its kind: an answer to this operation was that failure, or had rows
# that were not requested or are damaged (without a body, or with a field out of range), or no answer came in
# time.
# Law 2. After a temporary failure a step is tried three times, and after a conflict a plan is made three
# times; a final failure is reported immediately.
# Law 3. Only a commit that was answered as unknown, or not in time, may end as Unknown.
# Law 4. Models and embedders make no operation fail, no workflow of the memory breaks, and the latest
# incarnation of a scope is never fenced (older ones: agents.py).


STORAGE: Final = ("damaged", "timeout", "unavailable")
KINDS: Final[dict[type[errors.Error], tuple[str, ...]]] = {
    errors.StorageFailed: (*STORAGE, "refused"),  # only interceptors refuse a read
    errors.StorageFull: ("full",),
    errors.StorageRefused: ("refused",),
    errors.Conflict: ("conflict",),
}
"""By error of an operation, the storage failures that may have caused it."""
ATTEMPTS: Final = 3
"""How often a step without a substitute is tried before its operation fails."""
Causes = tuple[str, ...]


class CallLog(Owner):
    """The time when an operation was issued, and for each answer its step and the failures in it."""

    began_ms: int
    answers: list[tuple[str, Causes]] = []

    def of(self, step: str) -> list[Causes]:
        return [it for name, it in self.answers if name == step]


class Failures(OracleModel):
    """Judges failures of requests that need an operation. `calls`: by op_id, the answers so far."""

    watches = tuple(cls for cls in OF_MEMORY.values() if not issubclass(cls, WorkingRequest))

    def __init__(self, config: Config) -> None:
        self.config = config
        self.calls: dict[str, CallLog] = {}

    def observe_request(self, op_id: str, request: object, now_ms: int) -> None:
        self.calls[op_id] = CallLog(now_ms)

    def observe_answer(self, call: Call, request: object, answer: Answer, now_ms: int) -> None:
        self.calls[call.op_id].answers.append((call.step, tuple(causes(call.effect, answer))))

    def turned_away(self, op_id: str, step: str, answer: Answer) -> None:
        self.calls[op_id].answers.append((step, (answer.kind,) if isinstance(answer, EffectFailed) else ()))

    def observe_crash(self) -> None:
        self.calls.clear()

    def observe_reply(self, ending: Ending) -> None:
        causes, outcome = self.calls.pop(ending.op_id), ending.outcome
        is_late = ending.now_ms - causes.began_ms >= self.config.store_timeout_ms
        if isinstance(outcome, Failed) and isinstance(outcome.error, errors.ModelFailed | errors.EmbedFailed):
            return  # always wrong; the model of the request reports it, with a better message
        if isinstance(outcome, Failed) and isinstance(outcome.error, errors.StepFailed):
            self.judge_failed(ending, outcome.error, causes.of(outcome.error.step), is_late)
        elif isinstance(outcome, Failed):
            self.demand(False, ending, str(outcome.error), causes.answers)
        elif isinstance(outcome, Unknown):
            known = [kind for _, kinds in causes.answers for kind in kinds]
            holds = is_late or "unknown" in known or "timeout" in known
            self.demand(holds, ending, "it ends as Unknown", known)

    def judge_failed(
        self, ending: Ending, error: errors.StepFailed, causes: list[Causes], is_late: bool
    ) -> None:
        allowed = KINDS.get(type(error), ())
        is_caused = any(error.kind in kinds for kinds in causes)
        holds = is_caused or (error.kind == "timeout" and is_late)
        self.demand(holds and error.kind in allowed, ending, str(error), causes)
        is_final, conflict_count = error.kind not in STORAGE, causes.count(("conflict",))
        # After a time-out a step is tried three times; a refusal is final and may come at any attempt.
        is_patient = error.attempts == ATTEMPTS or (is_final and 1 <= error.attempts < ATTEMPTS)
        # A conflict makes the whole plan fail, not an attempt. It is
        # reported after three plans, each with a conflict.
        is_patient &= error.kind != "conflict" or conflict_count >= PLAN_COUNT_MAX
        self.demand(is_patient and (is_late or len(causes) >= error.attempts), ending, f"{error}", causes)

    def demand(self, holds: bool, ending: Ending, what: str, causes: object) -> None:
        message = f"{ending.op_id} {type(ending.request).__name__}: {what}"
        demand(holds, rules.FAILURE_HAS_A_CAUSE, message, "a cause among its answers", causes)


def causes(effect: Asked, answer: Answer) -> Iterator[str]:
    """Yield the kinds of failure for which a memory may take an answer."""
    if isinstance(answer, EffectFailed):
        other = "unknown" if isinstance(effect, Commit) else "unavailable"
        # A kind that this effect cannot have (a commit is never
        # "damaged") counts as the most general one of the effect.
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
    """Return True if the answer has a version of each row that the batch has written."""
    versions = dict(answer.versions)
    return all(versions.get(write.address, 0) > 0 for write in effect.writes if write.body is not None)


def is_foreign(query: Query, row: Row) -> bool:
    """Return True if the query did not ask for the address of this row."""
    if isinstance(query, ByIds):
        return row.address not in query.addresses
    kinds = (query.kind,) if isinstance(query, ByVector | ByWords) else query.kinds
    return row.address.scope != query.scope or row.address.kind not in kinds


def is_left_out(query: Query, row: Row) -> bool:
    """Return True if the query excludes this row, by its score or its fields."""
    where = () if isinstance(query, ByIds) or is_damaged(row) else query.where
    fields = [(it, getattr(row.body, it.field)) for it in where if hasattr(row.body, it.field)]
    return is_misjudged(query, row) or any(not HOLDS[it.operator](found, it.value) for it, found in fields)


def is_misjudged(query: Query, row: Row) -> bool:
    """Return True if the query excludes the score of a row, or a row of a search has none."""
    score, is_search = row.score_ppm, isinstance(query, ByVector | ByWords)
    if score is None:
        return is_search
    least = query.min_score_ppm if isinstance(query, ByVector | ByWords) else 0
    return type(score) is not int or not least <= score <= PPM


# Times in a reply: between request and reply, by the clock of the incarnation.


TIMES: Final[Mapping[type, str]] = {
    SessionCreated: "started_ms", SessionSaved: "saved_ms", BlockWritten: "at_ms", Appended: "at_ms",
    RecordAdded: "at_ms", AgentSwitched: "at_ms",
}  # fmt: skip


def check_times(op_id: str, outcome: Outcome, begun_ms: int, now_ms: int) -> None:
    """Demand that times in a reply are between request and reply. Repeated replies are not checked."""
    value: Any = outcome.value if isinstance(outcome, Done) else None
    if getattr(value, "repeated", False):
        return
    for at_ms in times_of(value):
        holds, message = begun_ms <= at_ms <= now_ms, f"a time in the reply to {op_id}"
        demand(holds, rules.REFERENCE_AGREES, message, f"{begun_ms} to {now_ms}", at_ms)


def times_of(value: Any) -> Iterator[int]:
    if name := TIMES.get(type(value)):
        yield getattr(value, name)
    facts = value.facts if isinstance(value, RecordAdded) else value
    if isinstance(facts, Remembered):
        yield from (relation.at_ms for relation in facts.relations)


# The values of the error in a refusal.
#
# Law 1. An id, key, label or name in the error is that of the request; labels may be spelled differently.
# Law 2. A number in the error exceeds the limit in the error, and that limit is the valid one.
#
# The error of a malformed request is compared as a whole (umi_sim/judge/plain/requests.py). For a full
# working tier, the twins derive all numbers.


BY_ID: Final = "blk_"
NAMED: Final[Mapping[type[Error], Mapping[str, tuple[str, ...]]]] = {
    errors.SessionNotFound: {"session_id": ("session_id",)},
    errors.KeyReused: {"request_key": ("request_key",)},
    errors.KeyNotFound: {"key": ("key",)},
    kelpie_errors.ReadOnly: {"author": ("author",), "label": ("block",)},
    kelpie_errors.VersionConflict: {"expected": ("expected_version",)},
    kelpie_errors.TextNotFound: {"label": ("block",)},
    kelpie_errors.TextAmbiguous: {"label": ("block",)},
    kelpie_errors.LabelTaken: {"label": ("label",)},
}
"""By error and its field, the fields of requests that it may repeat; the first one of the request counts."""
NOT_FOUND: Final[Mapping[str, tuple[str, ...]]] = {
    "block": ("block", "block_id"), "entity": ("entity_id",), "archival": ("record_id",), "agent": (),
}  # fmt: skip
"""By kind of a missing thing, the request fields that may have its id; no request names its own agent."""
EXCEEDED: Final[Mapping[type[Error], tuple[str, str, int]]] = {
    errors.BlockTooLarge: ("size_bytes", "limit_bytes", 1),
    errors.SnapshotTooBig: ("size_bytes", "limit_bytes", 1),
    kelpie_errors.AboveLimit: ("size_bytes", "limit_bytes", 1),
    errors.TooManyMembers: ("member_count", "member_count_max", 1),
    errors.TooManyBlocks: ("block_count", "block_count_max", 0),
    errors.TooBusy: ("op_count", "op_count_max", 0),
}
"""By error, the fields of the number and the limit, and by how much the number must exceed the limit; 0 means
that one more would exceed it."""


def limits_in(config: Config) -> Mapping[type[Error], tuple[int, ...]]:
    """Return the limits that an error may name; for a full core, that of one block or that of all blocks."""
    return {
        errors.BlockTooLarge: (limits.BLOCK_BYTES_MAX,),
        errors.CoreFull: (limits.BLOCK_BYTES_MAX, config.core_bytes_max),
        errors.TooManyMembers: (limits.SESSION_MEMBER_COUNT_MAX,),
        errors.TooManyBlocks: (limits.BLOCK_COUNT_MAX,),
        errors.TooBusy: (limits.OP_COUNT_MAX,),
    }


def check_error(op_id: str, request: object, outcome: Refused, config: Config) -> None:
    """Raise Broken if an error does not fit the request, or its numbers are wrong."""
    error: Any = outcome.error
    if isinstance(error, kelpie_errors.NotFound):
        fields = NOT_FOUND.get(error.kind)
        # `get_block` never names an entity, so "no entity e1" is no answer to it.
        holds = fields == () or (fields is not None and any(hasattr(request, field) for field in fields))
        message = f"{op_id}: what '{error}' says is not found"
        demand(holds, rules.ERROR_SAYS_IT, message, request, error)
        named: Mapping[str, tuple[str, ...]] = {"id": fields or ()}
    else:
        named = NAMED.get(type(error), {})
    for name, of in named.items():
        asked = next((getattr(request, field) for field in of if hasattr(request, field)), None)
        got, message = getattr(error, name), f"{op_id}: the {name} in '{error}'"
        demand(is_named(asked, got, name), rules.ERROR_SAYS_IT, message, asked, got)
    # `over` 0: "32 blocks, at most 32" refuses one more block, since there are never 33.
    # `over` 1: a text of 16,384 bytes fits if 16,384 are allowed, and 16,385 are too many.
    number, most, over = EXCEEDED.get(type(error), ("", "", 0))
    if number:
        limit, got = getattr(error, most), getattr(error, number)
        message = f"{op_id}: the number in '{error}'"
        demand(got >= limit + over, rules.ERROR_SAYS_IT, message, f"{limit + over} or more", got)
    known = limits_in(config).get(type(error))
    if known:
        got = getattr(error, most or "limit_bytes")
        demand(got in known, rules.ERROR_SAYS_IT, f"{op_id}: the limit in '{error}'", known, got)


def is_named(asked: object, got: object, name: str) -> bool:
    """Return True if `got`, a field of an error, agrees with the request.

    If the request names a block by its id, or has no such field, any value is right.
    """
    if asked is None:
        return True
    if name != "label" or not isinstance(asked, str) or not isinstance(got, str):
        return asked == got
    return asked.startswith(BY_ID) or norm(tidy(asked)) == norm(got)


# Promises about every reply: no request fails or is refused without a reason.
#
# Law 1. In a plain world without faults no reply is a failure, Unknown or degraded.
# Law 2. In a healed world every request succeeds, except those about rows that storage has lost: these are
# reported as damaged.
# Law 3. A malformed request is refused with the error for its malformation; any other refusal has one of the
# errors that such a request can have.
# Law 4. A memory is too busy only if the maximum number of requests have no reply.


OF_THE_TEXT: Final = ("extract:uncovered", "compare:partial", "contents:partial", "texts:partial")
"""Degradations without a failure: a healthy model leaves out sentences, some facts of a long text are not
compared, members without a vector are in no group, and prompts have only the last texts of a long session."""
NORMAL: Final = Config()
TIMEOUTS: Final = ("model_timeout_ms", "store_timeout_ms")
ROUND_TRIP_MS_MAX: Final = 2 * 2_047  # two messages of up to 2,047 ms each, if latency is "spread"
PHASES: Final = ("drain:", "audit:")  # prefixes of op_ids in a healed world
OF_EDITS: Final = (
    errors.KeyReused, ReadOnly, AboveLimit, errors.BlockTooLarge, errors.TooManyBlocks, errors.CoreFull,
)  # fmt: skip
MET: Final[Mapping[type, tuple[type[errors.Error], ...]]] = {
    **dict.fromkeys((cls for cls in ALL if issubclass(cls, CoreRead)), ()),
    Rebalance: (),
    SetBlock: (errors.BlockTooLarge, errors.TooManyBlocks, errors.CoreFull, ReadOnly),
    SetImportance: (errors.BlockNotFound, ReadOnly),
    RemoveBlock: (errors.BlockNotFound, ReadOnly),
    CreateSession: (errors.TooManyMembers,),
    SaveSession: (errors.NoSession, errors.TooManyMembers, errors.SessionConflict),
    LoadSession: (
        errors.SessionNotFound, errors.SnapshotTooBig, errors.SnapshotDamaged, errors.SnapshotVersion,
        errors.SnapshotDoesNotFit,
    ),
    **dict.fromkeys((cls for cls in ALL if cls.served_by == "migrator"), (NotReady,)),
    **dict.fromkeys((moves.PutRow, moves.DropRow, moves.AddRow), (NotReady, errors.KeyReused)),
    api.BuildSystemPrompt: (),
    **dict.fromkeys((api.ListBlocks, api.ListMessages, api.SearchMessages), ()),
    **dict.fromkeys((api.ListArchival, api.SearchArchival), ()),
    **dict.fromkeys((api.FindBlock, api.BlockHistory, api.GetArchival), (NotFound,)),
    **dict.fromkeys((api.AddMessages, api.AddArchival), (errors.KeyReused,)),
    **dict.fromkeys((api.DeleteArchival, api.DeleteAgent), (errors.KeyReused, NotFound)),
    api.OpenAgent: (errors.KeyReused,),
    api.CreateBlock: (*OF_EDITS, LabelTaken),
    api.UpdateBlock: (*OF_EDITS, NotFound, VersionConflict),
    api.AppendToBlock: (*OF_EDITS, NotFound),
    api.ReplaceInBlock: (*OF_EDITS, NotFound, TextNotFound, TextAmbiguous),
    api.DeleteBlock: (errors.KeyReused, NotFound, ReadOnly, VersionConflict),
}  # fmt: skip
"""By request, the errors that may refuse a well formed one; the archive judges its own requests."""


class Promises(OracleModel):
    """Judges every request except those of the working tier.

    `begun`: by op_id, how many batches were durable when it was issued, and the time then.
    """

    watches = tuple(cls for cls in ALL if not issubclass(cls, WorkingRequest))

    def __init__(
        self, scope: Scope, run: RunConfig, surroundings: Surroundings, sessions: SessionsModel
    ) -> None:
        self.scope, self.run, self.surroundings, self.sessions = scope, run, surroundings, sessions
        self.begun: dict[str, tuple[int, int]] = {}

    def observe_request(self, op_id: str, request: object, now_ms: int) -> None:
        self.begun[op_id] = self.surroundings.durable_count(), now_ms

    def observe_crash(self) -> None:
        self.begun.clear()

    def observe_reply(self, ending: Ending) -> None:
        begun_count, begun_ms = self.begun.pop(ending.op_id)
        # Batches of all agents count, even if they write other rows: that is simpler, and less strict.
        others_count = self.surroundings.durable_count() - begun_count
        check_times(ending.op_id, ending.outcome, begun_ms, ending.now_ms)
        if not (is_conflict(ending.outcome) and self.is_crowded(ending, others_count)):
            self.must_be_fair(ending)
        self.check_complete(ending)
        check_refusal(ending.request, ending.outcome, len(self.begun))

    def is_crowded(self, ending: Ending, others_count: int) -> bool:
        """Return True if every plan may have met a conflict, with other batches or session ids.

        A create tries one id of this millisecond after the other.
        """
        if others_count >= PLAN_COUNT_MAX:
            return True
        ids = [session_id(self.scope, ending.now_ms, n) for n in range(PLAN_COUNT_MAX)]
        is_create = isinstance(ending.request, CreateSession)
        return is_create and all(key in self.sessions.sessions for key in ids)

    def must_be_fair(self, ending: Ending) -> None:
        """Demand that in a plain world no reply is a failure or Unknown, and few degradations occur."""
        run, outcome = self.run, ending.outcome
        if run.faults or run.mode != "plain" or ending.is_turned_away or may_time_out(run):
            return
        rule, where, end = rules.DEGRADATION_NAMED, "in a world without faults", type(outcome).__name__
        demand(not isinstance(outcome, Failed | Unknown), rule, f"{ending.op_id} ended as {end} {where}")
        for degradation in outcome.degraded if isinstance(outcome, Done) else ():
            is_right = degradation.name in OF_THE_TEXT or (degradation.name, degradation.reason) == (
                "extract:partial",
                "too_many",
            )
            demand(is_right, rule, f"{ending.op_id} is degraded ({degradation.name}) {where}")

    def check_complete(self, ending: Ending) -> None:
        """Demand that requests succeed in a healed world; lost rows are reported as damaged."""
        request, outcome = ending.request, ending.outcome
        if not ending.op_id.startswith(PHASES):
            return
        error = getattr(outcome, "error", None)
        is_damaged = isinstance(error, errors.SnapshotDamaged) or getattr(error, "kind", "") == "damaged"
        # Damage is accepted only if the atlas, which records every
        # row that the world has destroyed, explains it.
        key = getattr(request, "entity_id", getattr(request, "session_id", ""))
        is_well = not (is_damaged or isinstance(outcome, Failed | Unknown))
        holds = is_well or (is_damaged and self.surroundings.atlas.explains(str(key)))
        message = f"{ending.op_id} {type(request).__name__} in a healed world"
        demand(holds, rules.ACKNOWLEDGED_IS_DURABLE, message, "no failure, or damage", outcome)


def may_time_out(run: RunConfig) -> bool:
    """Return True if a call of a slow but working service may time out."""
    timeouts = (run.memory.get(name, getattr(NORMAL, name)) for name in TIMEOUTS)
    return run.latency == "spread" and min(timeouts) <= ROUND_TRIP_MS_MAX


def is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and isinstance(outcome.error, errors.Conflict)


def check_refusal(request: Request, outcome: Outcome, others_count: int) -> None:
    """Demand a reason for a refusal. `others_count`: other requests of this memory without a reply."""
    got = outcome.error if isinstance(outcome, Refused) else None
    if isinstance(got, errors.TooBusy):
        message = "requests without a reply of a memory that is too busy"
        demand(others_count >= OP_COUNT_MAX, rules.NO_SPURIOUS_REFUSAL, message, OP_COUNT_MAX, others_count)
    if type(request) not in MET:
        return
    wanted, name = bad_request(request), type(request).__name__
    if wanted is not None:
        demand(got == wanted, rules.REFERENCE_AGREES, f"the reply to a malformed {name}", wanted, outcome)
    elif got is not None:
        has_reason = isinstance(got, (errors.TooBusy, *MET[type(request)])) or is_no_agent(outcome)
        message = f"the error that {name} is refused with"
        demand(has_reason, rules.REFERENCE_AGREES, message, MET[type(request)], got)
