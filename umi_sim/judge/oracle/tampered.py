"""After tampering: what remains certain when somebody may have changed any stored row.

Law 1. What is wrong with a request alone is refused as ever, and whatever fails names a typed error.
Law 2. What is shown is of this scope: an id that only another scope ever had is a leak.
Law 3. Limits hold: as many hits as were asked for at most, in their order, each once; core within its bytes.
Law 4. Who is told that the epoch is another one is deposed, later or earlier, and nobody else.
Law 5. In a healed world nothing of all others fails: no row that is well formed keeps a memory from its work.
An epoch that went back is claimed twice, and so are commit keys: what storage answers then may be of an
earlier life, which nobody can use, and it stays unknown what came of the commit.
That no step raises, and that each request ends, the world sees by itself. Nothing else is demanded.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.errors import Deposed
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import OP_COUNT_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import Commit, Done, Failed, Outcome, Refused, Unknown
from umi_core.messages.requests import CoreBytes, Recall, Request, WorkingRequest
from umi_core.messages.results import Recalled
from umi_core.rows import Address, Entity
from umi_core.values import Scope
from umi_sim.judge.oracle.model import Surroundings
from umi_sim.judge.oracle.promises import PHASES, check_refusal
from umi_sim.record import rules
from umi_sim.services.calls import Call

EPOCH: Final = "epoch"


def is_of_epoch(changed: Iterable[tuple[Address, object]]) -> bool:
    return any(address.kind == EPOCH for address, _ in changed)


@attrs.define
class Tampered(Owner):
    """Judges all agents. `requests` are in flight; `old`: names of lives that others have replaced.

    `told`: whose life was told of another epoch; true if it recovered then, and may claim the next one until
    it has, or if it was told before anybody tampered.
    """

    config: Config
    surroundings: Surroundings
    requests: dict[str, Request]
    old: dict[str, None] = attrs.field(factory=dict)
    told: dict[str, bool] = attrs.field(factory=dict)
    ids: dict[str, dict[Scope, None]] = attrs.field(factory=dict)

    def answered(self, call: Call, answer: Answer) -> None:
        asker = call.old_asker if call.old_asker in self.old else call.agent
        is_recovering = call.workflow == "recover"
        match answer:
            case EffectFailed(changed=changed) if isinstance(call.effect, Commit) and is_of_epoch(changed):
                self.told[asker] = is_recovering
            case ReadDone(rows=rows) if is_recovering and is_of_epoch((row.address, 0) for row in rows):
                self.told.setdefault(asker, True)  # it claims that epoch, or leaves it to whoever holds it
            case Committed(versions=versions) if is_recovering and is_of_epoch(versions):
                if self.told.get(asker):  # who is deposed stays so, whatever comes
                    del self.told[asker]

    def replied(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        request = self.requests.pop(op_id)
        self.note_ids()
        check_refusal(request, outcome, OP_COUNT_MAX)
        value = outcome.value if isinstance(outcome, Done) else None
        if isinstance(request, CoreBytes) and isinstance(outcome, Done):
            most = self.config.core_bytes_max
            holds = type(value) is int and 0 <= value <= most
            demand(holds, rules.CORE_LIMITS, f"{value} bytes in core, at most {most}")
        if isinstance(value, Recalled) and isinstance(request, Recall):
            self.judge_hits(scope, request, value)
        if isinstance(value, Entity):
            self.must_be_of(scope, value.id)
        if not isinstance(request, WorkingRequest):
            self.judge_end(agent, op_id, type(request).__name__, outcome)

    def judge_end(self, agent: str, op_id: str, name: str, outcome: Outcome) -> None:
        is_deposed = isinstance(outcome, Failed) and isinstance(outcome.error, Deposed)
        was_recovering = self.told.get(agent)
        if was_recovering is False:
            message = f"{op_id} {name} of a life that was told of another epoch"
            holds = is_deposed or isinstance(outcome, Refused | Unknown)
            demand(holds, rules.OLD_LIFE_FENCED, message, "Deposed", outcome)
            return
        message = f"{op_id} {name} of a life that was never told of another epoch"
        demand(was_recovering or not is_deposed, rules.OLD_LIFE_FENCED, message, "an answer", outcome)
        is_well = is_deposed or isinstance(outcome, Done | Refused | Unknown) or not op_id.startswith(PHASES)
        demand(is_well, rules.ACKNOWLEDGED_IS_DURABLE, f"{op_id} {name} fails in a healed world", "", outcome)

    def judge_hits(self, scope: Scope, request: Recall, value: Recalled) -> None:
        limit = self.config.recall_limit_default if request.limit is None else request.limit
        order = [(-hit.score_ppm, hit.id) for hit in value.hits]
        is_once = len({hit.id: None for hit in value.hits}) == len(order) <= limit
        holds = is_once and order == sorted(order)
        demand(holds, rules.HITS_ORDERED, "hits are out of order, or too many", limit, order)
        for hit in value.hits:
            self.must_be_of(scope, hit.id)

    def must_be_of(self, scope: Scope, entity_id: str) -> None:
        owners = self.ids.get(entity_id, {})
        demand(not owners or scope in owners, rules.SCOPE_APART, f"{entity_id} is of others", scope, owners)

    def note_ids(self) -> None:
        """Who has ever had which entities, as far as rows and what is left of rows tell."""
        for address in self.surroundings.entities():
            self.ids.setdefault(address.id, {})[address.scope] = None

    def taken_over(self, agent: str, old: str) -> None:
        """A new life begins; the one that was there goes on under this name, and knows what it knew."""
        self.old[old] = None
        if agent in self.told:
            self.told[old] = self.told.pop(agent)

    def life_over(self, agent: str) -> None:
        self.told.pop(agent, None)
