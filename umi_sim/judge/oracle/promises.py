"""Promises about every reply, whatever was asked: it does not fail, and is not refused, without a reason.

Law 1. In a plain world without faults nothing fails, nothing is unknown, nothing degrades.
Law 2. In a healed world everything succeeds, but for what storage has lost: of that it is said that it is
damaged.
Law 3. What is wrong with a request alone is refused with the error for that; everything else has a reason
among what such a request can meet.
Law 4. Too busy is only who has as many requests without a reply as there may be.
"""

from collections.abc import Mapping
from typing import Final

from umi_core import errors
from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import OP_COUNT_MAX, PLAN_COUNT_MAX
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
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Unknown
from umi_core.messages.requests import (
    ALL,
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
)
from umi_core.migration import requests as moves
from umi_core.migration.requests import NotReady
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.degradations import OF_LIMITS
from umi_sim.judge.oracle.model import Ending, Model, Surroundings
from umi_sim.judge.oracle.sessions import Sessions
from umi_sim.judge.oracle.times import check_times
from umi_sim.judge.plain.ids import session_id
from umi_sim.judge.plain.requests import is_gone, is_same, wrong
from umi_sim.record import rules
from umi_sim.record.run_config import RunConfig

OF_THE_TEXT: Final = ("extract:uncovered", "contents:partial", "told:partial", *OF_LIMITS)
"""No failure: a model that is well passes over sentences, too, what is told without vectors has none, of a
long session the last texts are shown, and what has no room goes."""
NORMAL: Final = Config()
TIMEOUTS: Final = ("model_timeout_ms", "store_timeout_ms")
ROUND_TRIP_MS_MAX: Final = 2 * 2_047  # there and back, each message up to 2,047 ms, where latency is "spread"
PHASES: Final = ("drain:", "audit:")  # how the requests of a healed world are called
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
    **dict.fromkeys((moves.PutRow, moves.DropRow, moves.AddRow), (errors.KeyReused,)),
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
"""What a request may meet that is not wrong with itself; those of the archive are judged there."""


class Promises(Model):
    """Watches every request that a working tier does not answer at once.

    `begun`: by op_id, how many batches were durable when it was issued, and at which time.
    """

    watches = tuple(cls for cls in ALL if not issubclass(cls, WorkingRequest))

    def __init__(self, scope: Scope, run: RunConfig, surroundings: Surroundings, sessions: Sessions) -> None:
        self.scope, self.run, self.surroundings, self.sessions = scope, run, surroundings, sessions
        self.begun: dict[str, tuple[int, int]] = {}

    def issued(self, op_id: str, request: object, now_ms: int) -> None:
        self.begun[op_id] = self.surroundings.durable_count(), now_ms

    def crashed(self) -> None:
        self.begun.clear()

    def replied(self, ending: Ending) -> None:
        begun_count, begun_ms = self.begun.pop(ending.op_id)
        others_count = self.surroundings.durable_count() - begun_count
        check_times(ending.op_id, ending.outcome, begun_ms, ending.now_ms)
        if not (is_conflict(ending.outcome) and self.is_crowded(ending, others_count)):
            self.must_be_fair(ending)
        self.must_be_whole(ending)
        check_refusal(ending.request, ending.outcome, len(self.begun))

    def is_crowded(self, ending: Ending, others_count: int) -> bool:
        """Whether each plan may have met a conflict: others were first so often, or all its ids are taken.

        A create tries one id after the other, all of this millisecond.
        """
        if others_count >= PLAN_COUNT_MAX:
            return True
        ids = [session_id(self.scope, ending.now_ms, n) for n in range(PLAN_COUNT_MAX)]
        is_create = isinstance(ending.request, CreateSession)
        return is_create and all(key in self.sessions.sessions for key in ids)

    def must_be_fair(self, ending: Ending) -> None:
        """In a plain world nothing fails, nothing is unknown, and only what a model passes over is less."""
        run, outcome = self.run, ending.outcome
        if run.faults or run.mode != "plain" or ending.is_turned_away or may_time_out(run):
            return
        rule, where, end = rules.DEGRADATION_NAMED, "in a world without faults", type(outcome).__name__
        demand(not isinstance(outcome, Failed | Unknown), rule, f"{ending.op_id} ended as {end} {where}")
        for lack in outcome.degraded if isinstance(outcome, Done) else ():
            is_fair = lack.name in OF_THE_TEXT or (lack.name, lack.reason) == ("extract:partial", "too_many")
            demand(is_fair, rule, f"{ending.op_id} degraded {lack.name} {where}")

    def must_be_whole(self, ending: Ending) -> None:
        """In a healed world all succeeds, but for what is lost: of that it is said that it is damaged."""
        request, outcome = ending.request, ending.outcome
        if not ending.op_id.startswith(PHASES):
            return
        error = getattr(outcome, "error", None)
        is_damaged = isinstance(error, errors.SnapshotDamaged) or getattr(error, "kind", "") == "damaged"
        key = getattr(request, "entity_id", getattr(request, "session_id", ""))
        is_well = not (is_damaged or isinstance(outcome, Failed | Unknown))
        holds = is_well or (is_damaged and self.surroundings.atlas.explains(str(key)))
        message = f"{ending.op_id} {type(request).__name__} fails in a healed world"
        demand(holds, rules.ACKNOWLEDGED_IS_DURABLE, message, "an answer, or damage", outcome)


def may_time_out(run: RunConfig) -> bool:
    """Whether a service that only is far away may be given up as if it had failed."""
    timeouts = (run.memory.get(name, getattr(NORMAL, name)) for name in TIMEOUTS)
    return run.latency == "spread" and min(timeouts) <= ROUND_TRIP_MS_MAX


def is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and isinstance(outcome.error, errors.Conflict)


def check_refusal(request: Request, outcome: Outcome, others_count: int) -> None:
    """`others_count`: other requests of this memory that have no reply yet."""
    got = outcome.error if isinstance(outcome, Refused) else None
    if isinstance(got, errors.TooBusy):
        message = f"too busy with {others_count} requests"
        demand(others_count >= OP_COUNT_MAX, rules.NO_SPURIOUS_REFUSAL, message, OP_COUNT_MAX)
    if type(request) not in MET:
        return
    wanted = wrong(request)
    name = type(request).__name__
    if wanted is not None:
        demand(is_same(wanted, got), rules.REFERENCE_AGREES, f"{name} must be refused", wanted, outcome)
    elif got is not None:
        has_reason = isinstance(got, (errors.TooBusy, *MET[type(request)])) or is_gone(outcome)
        demand(has_reason, rules.REFERENCE_AGREES, f"{name} is refused without a reason", "", got)
