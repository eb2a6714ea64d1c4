"""The model of the API of an agent server: hears what one memory is asked and replies, and hands it on."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from umi_core import errors
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import RECEIPT_MS_MAX
from umi_core.kelpie import requests as api
from umi_core.kelpie.errors import LabelTaken, NotFound
from umi_core.messages.effects import Done, Failed, Refused, Unknown
from umi_core.messages.requests import RemoveBlock, SetBlock
from umi_core.values import Scope
from umi_sim.judge.oracle.api.blocks import Blocks, Chain, name_of
from umi_sim.judge.oracle.api.edits import EDITS, Slot
from umi_sim.judge.oracle.api.keys import Keys
from umi_sim.judge.oracle.api.logs import Log, Told, told_by, told_nobody
from umi_sim.judge.oracle.block_refusals import is_barred
from umi_sim.judge.oracle.model import Ending, Model, Surroundings
from umi_sim.judge.plain.ids import block_id
from umi_sim.judge.plain.requests import is_gone, wrong
from umi_sim.judge.plain.text import tidy
from umi_sim.record import rules

WRITES: Final = (*EDITS, api.AddMessages, api.AddArchival, api.DeleteArchival)
READS: Final = (
    api.ListBlocks, api.FindBlock, api.BlockHistory, api.ListMessages, api.GetArchival, api.ListArchival,
    api.SearchArchival, api.SearchMessages,
)  # fmt: skip
AuditRead = tuple[str, dict[str, object]]

OF_ROOM: Final = (errors.CoreFull, errors.TooManyBlocks, errors.BlockTooLarge)


class ApiModel(Model):
    """What one memory must answer to an agent server."""

    judges = (*WRITES, *READS)
    watches = (SetBlock, RemoveBlock)

    def __init__(self, scope: Scope, surroundings: Surroundings) -> None:
        self.scope, self.surroundings = scope, surroundings
        self.others: Callable[[], Iterator[ApiModel]] = lambda: iter(())
        self.told_fit: Callable[[str, str], tuple[int, int]] = told_nobody
        self.keys = Keys()
        self.asked: dict[str, tuple[int, Any]] = {}  # writes in flight, and since when in the world's time
        self.messages, self.records = Log("message", "msg"), Log("archival", "arc")
        self.begin_anew()

    def is_elsewhere(self, told: Told) -> bool:
        """Whether another agent has added just this."""
        return any(other.messages.has(told) or other.records.has(told) for other in self.others())

    def begin_anew(self) -> None:
        self.blocks = Blocks(self.scope)
        self.messages.is_elsewhere = self.records.is_elsewhere = self.is_elsewhere
        self.records.told_fit = lambda query, key: self.told_fit(query, key)

    def blocks_now(self) -> Mapping[Slot, Chain]:
        return self.blocks.chains

    def wiped(self) -> None:
        self.keys.asked.clear()
        self.asked.clear()
        self.messages, self.records = Log("message", "msg"), Log("archival", "arc")
        self.begin_anew()

    def emptied(self) -> None:
        """Numbers go on, and so does what was asked under which key."""
        self.messages, self.records = self.messages.emptied(), self.records.emptied()
        self.begin_anew()

    def crashed(self) -> None:
        """A day is over for what waited for it, answered or not."""
        for op_id, (asked_ms, request) in self.asked.items():
            self.waited(op_id, asked_ms, request)
        self.asked.clear()

    # What is asked. What a crash leaves without a reply stays open: it may have happened.

    def issued(self, op_id: str, request: Any, now_ms: int) -> None:
        if isinstance(request, SetBlock | RemoveBlock):
            if is_sound(request) and not is_barred(request):
                self.blocks.mark_foreign((request.kind, tidy(request.label)))
            return
        if not is_sound(request):
            return
        if isinstance(request, WRITES) and op_id not in self.asked:
            self.asked[op_id] = self.surroundings.world_ms(), request
            self.keys.begin(op_id, request.request_key, request)
        if isinstance(request, EDITS):
            self.blocks.begin_edit(op_id, request)
        elif isinstance(request, api.AddMessages):
            self.messages.begin_append(op_id, request)
        elif isinstance(request, api.AddArchival):
            self.records.begin_append(op_id, request)
        elif isinstance(request, api.DeleteArchival):
            self.records.begin_delete(op_id, request)
        elif isinstance(request, api.ListBlocks | api.FindBlock | api.BlockHistory):
            self.blocks.begin(op_id)
        else:
            is_of_messages = isinstance(request, api.ListMessages | api.SearchMessages)
            (self.messages if is_of_messages else self.records).begin(op_id)

    # How it ends.

    def replied(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        if isinstance(request, SetBlock | RemoveBlock) or not is_sound(request):
            return
        is_write = isinstance(request, WRITES)
        demand(is_write or not isinstance(outcome, Unknown), rules.ERROR_IS_NOT_EMPTY, "a read is Unknown")
        if isinstance(outcome, Done) and not ending.is_sure:
            return
        if is_gone(outcome):
            self.asked.pop(ending.op_id, None)
            self.drop(ending.op_id, request if is_write else None)
            return
        if is_write:
            self.waited(ending.op_id, *self.asked.pop(ending.op_id))
        if isinstance(outcome, Refused):
            self.judge_refused(ending, outcome.error)
        elif isinstance(outcome, Done):
            (self.judge_write if is_write else self.judge_read)(ending, outcome.value)
        if is_write and isinstance(outcome, Refused | Failed):
            self.drop(ending.op_id, request)

    def waited(self, op_id: str, asked_ms: int, request: Any) -> None:
        """If storage may have forgotten its key meanwhile, an attempt before the last one may count, too."""
        if self.surroundings.world_ms() - asked_ms < RECEIPT_MS_MAX:
            return
        twin = f"{op_id}~"
        if isinstance(request, EDITS) and op_id in self.blocks.begun:
            self.blocks.begun[twin] = self.blocks.begun[op_id]
            for chain in self.blocks.targets(request):
                chain.open[twin] = request
        elif isinstance(request, api.AddMessages | api.AddArchival):
            log = self.messages if isinstance(request, api.AddMessages) else self.records
            if op_id in log.begun:
                log.begun[twin] = log.begun[op_id]
                log.open[twin] = told_by(request)

    def drop(self, op_id: str, request: Any) -> None:
        for part in (self.blocks, self.messages, self.records):
            part.drop(op_id)
        if request is not None:
            self.keys.drop(op_id, request.request_key)

    def judge_refused(self, ending: Ending, error: errors.Error) -> None:
        op_id, request = ending.op_id, ending.request
        if isinstance(request, WRITES) and request.request_key is not None:
            self.keys.judge_refused(op_id, request.request_key, error, self.surroundings.world_ms())
        if isinstance(error, errors.KeyReused):
            self.keys.judge_reused(op_id, request.request_key)
        elif isinstance(error, NotFound) and isinstance(request, api.DeleteArchival | api.GetArchival):
            self.records.judge_missing(op_id, request.record_id)
        elif isinstance(error, NotFound) and isinstance(request, api.BlockHistory):
            chain = self.blocks.of_id(request.block_id)
            is_new = chain is None or chain.is_foreign or self.blocks.floor(op_id, chain) == 0
            demand(is_new, rules.HISTORY_REPLAYS, f"{request.block_id} has no history, and was written")
        elif isinstance(error, NotFound):
            self.blocks.judge_missing(op_id, request.block)
        elif isinstance(request, EDITS) and not isinstance(error, (errors.TooBusy, *OF_ROOM)):
            is_fair = self.blocks.is_fair(op_id, request) or isinstance(error, LabelTaken)
            demand(is_fair, rules.NO_SPURIOUS_REFUSAL, f"{op_id} is refused without a reason", "", error)

    def judge_write(self, ending: Ending, value: Any) -> None:
        op_id, request, key = ending.op_id, ending.request, ending.request.request_key
        plain, repeated, doer = attrs.evolve(value, repeated=False), value.repeated, op_id
        if key is not None:
            now_ms = self.surroundings.world_ms()
            found = self.keys.judge_done(op_id, key, plain, repeated=repeated, now_ms=now_ms)
            doer = found or ""
        else:
            demand(not repeated, rules.KEY_ONCE, f"{op_id} repeats something and has no key", "", value)
        if doer != op_id:
            for part in (self.blocks, self.messages, self.records):
                part.drop(op_id)
        if doer and any(doer in part.begun for part in (self.blocks, self.messages, self.records)):
            self.judge_first(doer, request, plain)  # else it was done before the agent was closed

    def judge_first(self, op_id: str, request: Any, value: Any) -> None:
        """What was done is told for the first time."""
        if isinstance(request, EDITS):
            self.blocks.judge_edit(op_id, request, value, is_new=True)
        elif isinstance(request, api.DeleteArchival):
            self.records.judge_delete(op_id, value.id)
        else:
            log = self.messages if isinstance(request, api.AddMessages) else self.records
            log.judge_append(op_id, value)

    def judge_read(self, ending: Ending, value: Any) -> None:
        op_id = ending.op_id
        match ending.request:
            case api.ListBlocks():
                self.blocks.judge_list(op_id, value.blocks)
            case api.FindBlock():
                self.blocks.judge_block(op_id, value)
            case api.BlockHistory() as request:
                self.blocks.judge_history(op_id, request, value)
            case api.ListMessages() as request:
                self.messages.judge_messages(op_id, request, value)
            case api.SearchMessages() as request:
                self.messages.judge_found(op_id, request, value)
            case api.GetArchival() as request:
                self.records.judge_get(op_id, request, value)
            case api.ListArchival() as request:
                self.records.judge_list(op_id, request, value)
            case api.SearchArchival() as request:
                self.records.judge_search(op_id, request, value)

    # For the workload and the audit.

    def record_ids(self) -> tuple[str, ...]:
        return tuple(f"arc_{seq:012}" for seq in self.records.rows)

    def blocks_there(self) -> tuple[tuple[str, str, str], ...]:
        """Id, label and text of each block that may be there; an empty text if nobody knows it."""
        there = [it for it in self.blocks.chains.values() if it.floor and it.may_be(it.floor, there=True)]
        known = {it.slot: it.text() or "" for it in there} | dict.fromkeys(self.blocks.foreign, "")
        return tuple((block_id(self.scope, *slot), name_of(slot), text) for slot, text in known.items())

    def audit(self) -> tuple[AuditRead, ...]:
        """The requests whose replies show all that there is; none for whoever asked nothing of this."""
        if not self.blocks.begun and not self.messages.begun and not self.records.begun:
            return ()
        heads: list[AuditRead] = [
            ("list_blocks", {}),
            ("list_messages", {}),
            ("list_archival", {"limit": 100}),
        ]
        histories: list[AuditRead] = [("block_history", {"block_id": key}) for key in self.block_ids()]
        seqs = range(1, max(self.messages.rows, default=0) + 1, 100)
        pages: list[AuditRead] = [("list_messages", {"after": seq, "limit": 100}) for seq in seqs]
        ends = self.record_ids()[99::100]
        walks: list[AuditRead] = [("list_archival", {"cursor": key, "limit": 100}) for key in ends]
        return (*heads, *histories, *pages, *walks)

    def block_ids(self) -> tuple[str, ...]:
        known = [slot for slot, it in self.blocks.chains.items() if it.floor and not it.is_foreign]
        return tuple(block_id(self.scope, *slot) for slot in known)


def is_sound(request: Any) -> bool:
    """What is wrong with itself is refused before anything is done (Promises judges that)."""
    return wrong(request) is None
