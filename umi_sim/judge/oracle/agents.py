"""Judge an agent as a whole: commit keys, closing, older incarnations, tampering."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import structs

from umi_core import errors
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.errors import Error, Fenced
from umi_core.kelpie.requests import AgentRequest, DeleteAgent, OpenAgent
from umi_core.kelpie.results import AgentSwitched
from umi_core.limits import OP_COUNT_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import Commit, Done, Failed, Outcome, Refused, Reply, Unknown
from umi_core.messages.requests import (
    OF_MEMORY,
    CoreBytes,
    Descent,
    Recall,
    Remember,
    Request,
    WorkingRequest,
    bad_request,
)
from umi_core.messages.results import Recalled, SessionCreated, SessionLoaded, SessionSaved
from umi_core.rows import Address, Entity, Receipt
from umi_core.values import Scope
from umi_sim.judge.oracle.api_blocks import Keys
from umi_sim.judge.oracle.model import Ending, OracleModel, Surroundings
from umi_sim.judge.oracle.promises import PHASES, Failures, check_refusal
from umi_sim.judge.oracle.working import WorkingModel
from umi_sim.judge.plain.requests import is_no_agent
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call

# Commit keys: two operations may use one commit key only if their requests have the same request key.
#
# Storage keeps a receipt for each commit key, and treats a second batch under it as the first one sent again.
# So if an operation used the commit key of another one, it would be acknowledged without being stored.


class CommitKeys(Owner):
    """Commit keys of all memories of a run.

    `request_keys`: by agent and op_id, for operations with one. `committers`: by commit key, the operation
    that first sent a batch under it.
    """

    request_keys: dict[tuple[str, str], str] = {}
    committers: dict[str, str] = {}

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        key = getattr(request, "request_key", None)
        if isinstance(key, str):
            self.request_keys[agent, op_id] = key

    def observe_answer(self, call: Call) -> None:
        if not isinstance(call.effect, Commit) or not call.effect.key:
            return
        key, request_key = call.effect.key, self.request_keys.get((call.agent, call.op_id))
        # If two requests have one request key, the second may send the batch of the first again.
        committer = call.op_id if request_key is None else f"{call.agent}: request key {request_key}"
        first = self.committers.setdefault(key, committer)
        message = f"the commit key of {committer}, which {first} has used"
        demand(first == committer, rules.KEYS_DIFFER, message, "another key", key)

    def observe_wipe(self) -> None:
        """Forget all commit keys: storage has lost its receipts."""
        self.committers.clear()


# Closing: whether an agent is open, and replies that agree with that.
#
# Law 1. A request that closes or opens an agent runs alone: it ends after all earlier requests and before all
# later ones. A malformed request is refused immediately.
# Law 2. A closed agent refuses every request with NotFound; an open agent refuses none with that error.
# Law 3. If the outcome of such a request is unknown, its batch is in doubt until an incarnation claims the
# row of the agent again. From then on replies agree with what is durable.
# Law 4. A closed agent has lost everything and is opened empty, so all other models start again.


class Closing(OracleModel):
    """Judges requests that close or open the agent.

    `flying`: requests without a reply, in order. `doubted`: those that close or open the agent and whose
    outcome is unknown. `deletes`: all requests that close the agent. `keys`: the request keys of the API.
    """

    judges = (DeleteAgent, OpenAgent)
    watches = tuple(cls for cls in OF_MEMORY.values() if not issubclass(cls, WorkingRequest))

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.keys = Keys()
        self.on_closed: Callable[[], None] = lambda: None
        self.is_closed = False
        self.deletes: list[str] = []
        self.flying: dict[str, Any] = {}
        self.doubted: dict[str, AgentRequest] = {}

    def observe_request(self, op_id: str, request: Any, now_ms: int) -> None:
        self.flying[op_id] = request
        if isinstance(request, DeleteAgent):
            self.deletes.append(op_id)
        if isinstance(request, AgentRequest) and bad_request(request) is None:
            self.keys.begin(op_id, request.request_key, request)

    def observe_crash(self) -> None:
        self.doubted |= {key: it for key, it in self.flying.items() if isinstance(it, AgentRequest)}
        self.flying.clear()

    def observe_wipe(self) -> None:
        self.is_closed = False
        self.doubted.clear()

    def was_closed(self) -> bool:
        """Return True if the agent was ever closed."""
        return any(map(self.surroundings.is_durable, self.deletes))

    # Replies.

    def observe_reply(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        # `flying` is in the order of requests.
        before = list(self.flying)[: list(self.flying).index(ending.op_id)]
        switches = [key for key in before if isinstance(self.flying[key], AgentRequest)]
        del self.flying[ending.op_id]
        error = getattr(outcome, "error", None)
        if isinstance(error, errors.TooBusy) or bad_request(request) is not None:
            return
        # Settled before this reply is judged, since it may be the first to show the outcome of a doubted
        # request (law 3):
        #   delete_agent   no answer        crash, restart
        #   get_block                                       NotFound: right, since the delete is durable
        self.settle()
        is_alone = isinstance(request, AgentRequest)
        message = f"earlier requests that {ending.op_id} had to wait for"
        waiting = before if is_alone else switches
        demand(not waiting, rules.CLOSED_IS_CLOSED, message, [], waiting)
        if isinstance(request, AgentRequest):
            self.judge_switch(ending, request, outcome)
        else:
            state = "closed" if self.is_closed else "open"
            message = f"the reply to {ending.op_id} {type(request).__name__} by an agent that is {state}"
            expected = "NotFound" if self.is_closed else "no NotFound"
            demand(is_no_agent(outcome) == self.is_closed, rules.CLOSED_IS_CLOSED, message, expected, outcome)

    def settle(self) -> None:
        """Apply the doubted requests that are durable."""
        for op_id, request in self.doubted.items():
            if self.surroundings.is_durable(op_id):
                self.switch(is_closed=isinstance(request, DeleteAgent))
        self.doubted.clear()

    def switch(self, *, is_closed: bool) -> None:
        was_closed, self.is_closed = self.is_closed, is_closed
        if is_closed and not was_closed:
            self.on_closed()

    def judge_switch(self, ending: Ending, request: AgentRequest, outcome: Outcome) -> None:
        op_id, is_delete = ending.op_id, isinstance(request, DeleteAgent)
        if isinstance(outcome, Unknown):
            self.doubted[op_id] = request
        elif isinstance(outcome, Done):
            # The key is kept, since the same request may be sent again and gets the same reply.
            value = ending.value(AgentSwitched)
            if value is not None and self.is_news(op_id, request.request_key, value):
                self.judge_done(op_id, value, is_delete=is_delete)
            return
        elif is_no_agent(outcome):
            is_right = is_delete and self.is_closed
            message = f"{op_id} finds no agent, though there is one"
            demand(is_right, rules.CLOSED_IS_CLOSED, message, "another reply", outcome)
        elif isinstance(outcome, Refused) and isinstance(outcome.error, errors.KeyReused):
            self.keys.judge_reused(op_id, str(request.request_key))
        elif isinstance(outcome, Failed):
            is_durable = self.surroundings.is_durable(op_id)
            message = f"the reply to {op_id}, which is durable"
            demand(not is_durable, rules.CLOSED_IS_CLOSED, message, "no failure", outcome)
        if not isinstance(outcome, Unknown):
            self.keys.drop(op_id, request.request_key)

    def is_news(self, op_id: str, key: str | None, value: AgentSwitched) -> bool:
        """Return True if the reply reports a change by this request rather than by an earlier one."""
        if key is None:
            demand(not value.repeated, rules.KEY_ONCE, f"{op_id} is repeated, without a key", "", value)
            return True
        # The first reply under a key has `repeated=False`, later
        # ones have True; all other fields must be equal.
        plain, now_ms = structs.replace(value, repeated=False), self.surroundings.world_ms()
        self.keys.judge_done(op_id, key, plain, repeated=value.repeated, now_ms=now_ms)
        return not value.repeated

    def judge_done(self, op_id: str, value: AgentSwitched, *, is_delete: bool) -> None:
        expected = "closed" if is_delete else "opened" if self.is_closed else "unchanged"
        demand(
            value.change == expected,
            rules.CLOSED_IS_CLOSED,
            f"the change in the reply to {op_id}",
            expected,
            value,
        )
        holds = not (is_delete and self.is_closed)
        message = f"the reply to {op_id}, which closes a closed agent"
        demand(holds, rules.CLOSED_IS_CLOSED, message, "NotFound", value)
        self.switch(is_closed=is_delete)


# Old incarnations: what a memory may still do when a successor has replaced it and claimed the next epoch.
#
# Law 1. An old incarnation writes nothing: an acknowledged batch was durable before it resumed, or belongs to
# another incarnation.
# Law 2. It is fenced once the answer to one of its commits names another epoch, or once it reads the epoch to
# find out how its own request to close or open the agent ended. From then on every request except those of
# the working tier ends as `Fenced`, or as Unknown if a commit may be durable.
# Law 3. A request that it reports as failed is not stored.
# Law 4. Its working tier continues as before. Its reads are not judged: they may show rows from before the
# takeover, or rows written by the successor.


EPOCH: Final = "epoch"
OPENS: Final = (SessionCreated, SessionLoaded, SessionSaved)  # replies that change the whole working tier


class ReplacedIncarnation(Owner):
    """An incarnation that another one has replaced.

    `keys`: the commit keys of all batches that were durable when it resumed. `working`: the model of its
    working tier, until it opens another session. `is_fenced`: an answer to it named another epoch.
    `is_purged`: rows may be deleted page by page while it reads them. `is_switching`: an unanswered request
    of its own may have raised the epoch.
    """

    agent: str
    surroundings: Surroundings
    epoch: int
    requests: dict[str, Request]
    failures: Failures
    working: WorkingModel | None
    seen_ms: int
    keys: frozenset[str] = frozenset()
    is_fenced: bool = False
    is_purged: bool = False
    is_switching: bool = False

    def __post_init__(self) -> None:
        self.is_switching = any(isinstance(it, AgentRequest) for it in self.requests.values())

    def woke(self) -> None:
        """Record the durable keys: this incarnation resumes, and its successor has claimed the next epoch."""
        self.keys = self.surroundings.durable_keys()

    def read_clock(self, reading_ms: int) -> int:
        self.seen_ms = max(self.seen_ms, reading_ms)
        return self.seen_ms

    def observe_request(self, op_id: str, request: Request) -> None:
        self.requests[op_id] = request
        if not isinstance(request, WorkingRequest):
            self.failures.observe_request(op_id, request, self.seen_ms)

    def observe_answer(self, call: Call, answer: Answer) -> None:
        request = self.requests.get(call.op_id)
        if isinstance(call.effect, Commit):
            self.judge_answer(call.op_id, call.effect, answer)
        elif call.workflow == "recover" and isinstance(answer, ReadDone):
            # Without an answer to its own delete_agent or open_agent it recovers while it is running, and
            # then reads the epoch of its successor.
            self.is_fenced |= any(row.address.kind == EPOCH for row in answer.rows)
        if request is not None:
            self.failures.observe_answer(call, request, answer, self.seen_ms)
        if isinstance(request, Remember) and self.working is not None:
            self.working.observe_answer(call, request, answer, self.seen_ms)

    def judge_answer(self, op_id: str, commit: Commit, answer: Answer) -> None:
        if isinstance(answer, EffectFailed):
            self.is_fenced |= is_of_epoch(answer.changed)
        elif isinstance(answer, Committed):
            receipt = answer.receipt
            is_others = isinstance(receipt, Receipt) and receipt.by[0] != self.epoch
            # Committed is right for a batch that was durable before the takeover, or that storage has
            # acknowledged and lost. Any other batch of this epoch must have met a conflict.
            is_known = commit.key in self.keys or self.surroundings.atlas.may_have_lost(op_id)
            message = f"a life of epoch {self.epoch} wrote {commit.key} when a later one had begun"
            demand(is_known or is_others, rules.OLD_LIFE_FENCED, message)

    def observe_reply(self, op_id: str, reply: Reply, reading_ms: int) -> None:
        request, outcome = self.requests.pop(op_id), reply.outcome
        ending = Ending(op_id, request, outcome, self.seen_ms, reading_ms)
        is_of_working = isinstance(request, WorkingRequest)
        if not is_of_working:
            self.judge_outcome(op_id, request, outcome)
            # Being fenced, or rows deleted while it read them, is cause enough for a failure.
            is_unusable = isinstance(outcome, Failed) and getattr(outcome.error, "kind", "") == "unusable"
            if self.is_fenced or (self.is_purged and is_unusable):
                del self.failures.calls[op_id]
            else:
                self.failures.observe_reply(ending)
        if isinstance(outcome, Done) and isinstance(outcome.value, OPENS):
            self.working = None
        if self.working is not None and (is_of_working or isinstance(request, Remember | Recall | Descent)):
            self.working.observe_reply(ending)

    def judge_outcome(self, op_id: str, request: Request, outcome: Outcome) -> None:
        """Demand that a request ends as `Fenced` if the incarnation is fenced, and only then."""
        error: Error | None = getattr(outcome, "error", None)
        rule = rules.OLD_LIFE_FENCED
        message = f"{op_id} {type(request).__name__} of a life of epoch {self.epoch}"
        is_reported_lost = isinstance(outcome, Failed) and self.surroundings.is_durable(op_id)
        demand(not is_reported_lost, rule, f"{message}, which is durable", "Done or Unknown", outcome)
        if self.is_fenced:
            # Its own unanswered delete_agent may have raised the epoch
            # to 8, while its error still names epoch 7.
            is_own = self.is_switching and isinstance(error, Fenced) and 0 < error.epoch <= self.epoch
            is_fenced = isinstance(outcome, Failed) and (is_own or error == Fenced(self.epoch))
            is_wrong = error is not None and error == bad_request(request)
            holds = is_fenced or is_wrong or isinstance(outcome, Unknown)
            demand(holds, rule, f"{message}, which is fenced", "Fenced", outcome)
        else:
            message = f"{message}, to which no answer named a later one"
            demand(not isinstance(error, Fenced), rule, message, "not Fenced", outcome)


# After tampering: rules that hold even if any stored row may have been changed.
#
# Law 1. A malformed request is refused as always, and every failure names a typed error.
# Law 2. Replies show rows of this scope: an id that only another scope ever had is a leak.
# Law 3. Limits hold: at most the requested number of hits, in order, each once; core within its bytes.
# Law 4. An incarnation is fenced if and only if an answer names another epoch, earlier or later.
# Law 5. In a healed world no request of an incarnation that is not fenced fails, whatever valid rows it
# reads. After an epoch went back it is claimed twice and commit keys are used twice; an answer of storage may
# then be about a batch of an earlier incarnation, and the outcome of the commit stays unknown.
# Nothing else is demanded here. The world itself checks that no step raises and that each request ends.


def is_of_epoch(changed: Iterable[tuple[Address, object]]) -> bool:
    return any(address.kind == EPOCH for address, _ in changed)


class Tampered(Owner):
    """Judges all agents after tampering. `requests`: those in flight; `old`: names of replaced incarnations.

    `fenced`: the incarnations to which an answer named another epoch. True: during recovery, after which it
    may claim the next epoch, or before the tampering. `ids`: by id, the scopes that had it.
    """

    config: Config
    surroundings: Surroundings
    requests: dict[str, Request]
    old: dict[str, None] = {}
    fenced: dict[str, bool] = {}
    ids: dict[str, dict[Scope, None]] = {}

    def observe_answer(self, call: Call, answer: Answer) -> None:
        caller = call.old_asker if call.old_asker in self.old else call.agent
        is_recovering = call.workflow == "recover"
        match answer:
            case EffectFailed(changed=changed) if isinstance(call.effect, Commit) and is_of_epoch(changed):
                self.fenced[caller] = is_recovering
            case ReadDone(rows=rows) if is_recovering and is_of_epoch((row.address, 0) for row in rows):
                self.fenced.setdefault(caller, True)  # it claims the next epoch, or is fenced
            case Committed(versions=versions) if is_recovering and is_of_epoch(versions):
                # A claim counts only after a recovery:
                #   fenced[a] = False   a commit met another epoch: a stays fenced
                #   fenced[a] = True    a recovered, and this commit claims the next epoch: not fenced
                if self.fenced.get(caller):
                    del self.fenced[caller]

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        request = self.requests.pop(op_id)
        for address in self.surroundings.entities():
            # Ids are hashes that include the scope, so without tampering each id has one scope.
            self.ids.setdefault(address.id, {})[address.scope] = None
        check_refusal(request, outcome, OP_COUNT_MAX)
        value = outcome.value if isinstance(outcome, Done) else None
        if isinstance(request, CoreBytes) and isinstance(outcome, Done):
            most = self.config.core_bytes_max
            holds = type(value) is int and 0 <= value <= most
            demand(holds, rules.CORE_LIMITS, "the bytes of core", f"{most} at most", value)
        if isinstance(value, Recalled) and isinstance(request, Recall):
            self.judge_hits(scope, request, value)
        if isinstance(value, Entity):
            self.must_be_of(scope, value.id)
        if not isinstance(request, WorkingRequest):
            self.judge_end(agent, op_id, type(request).__name__, outcome)

    def judge_end(self, agent: str, op_id: str, name: str, outcome: Outcome) -> None:
        is_fenced = isinstance(outcome, Failed) and isinstance(outcome.error, Fenced)
        was_recovering = self.fenced.get(agent)
        if was_recovering is False:
            message = f"{op_id} {name} of a life that is fenced"
            holds = is_fenced or isinstance(outcome, Refused | Unknown)
            demand(holds, rules.OLD_LIFE_FENCED, message, "Fenced", outcome)
            return
        message = f"{op_id} {name} of a life that is not fenced"
        demand(was_recovering or not is_fenced, rules.OLD_LIFE_FENCED, message, "not Fenced", outcome)
        is_well = is_fenced or isinstance(outcome, Done | Refused | Unknown) or not op_id.startswith(PHASES)
        message = f"{op_id} {name} in a healed world"
        demand(is_well, rules.ACKNOWLEDGED_IS_DURABLE, message, "no failure", outcome)

    def judge_hits(self, scope: Scope, request: Recall, value: Recalled) -> None:
        limit = self.config.recall_limit_default if request.limit is None else request.limit
        order = [(-hit.score_ppm, hit.id) for hit in value.hits]
        is_once = len({hit.id: None for hit in value.hits}) == len(order) <= limit
        holds, message = is_once and order == sorted(order), "scores and ids of hits"
        demand(holds, rules.HITS_ORDERED, message, f"{limit} at most, in order, each once", order)
        strange = [hit for hit in value.hits if hit.agent not in ("", *request.shared)]
        demand(not strange, rules.SHARED_AS_GRANTED, "hits of archives that are not named", [], strange)
        for hit in value.hits:
            self.must_be_of(Scope(scope.user, hit.agent or scope.agent), hit.id)

    def must_be_of(self, scope: Scope, entity_id: str) -> None:
        owners, message = self.ids.get(entity_id, {}), f"the scopes that ever had {entity_id}"
        demand(not owners or scope in owners, rules.SCOPE_APART, message, scope, owners)

    def observe_takeover(self, agent: str, old: str) -> None:
        """Register the new name under which the replaced incarnation runs on."""
        self.old[old] = None
        if agent in self.fenced:
            self.fenced[old] = self.fenced.pop(agent)

    def end_incarnation(self, agent: str) -> None:
        self.fenced.pop(agent, None)
