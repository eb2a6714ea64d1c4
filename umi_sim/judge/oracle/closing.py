"""Closing: whether an agent is open, and that it answers so.

Law 1. What closes or opens an agent runs alone: it ends after all that was asked before, and before all that
is asked later; what is refused for itself alone is refused at once.
Law 2. A closed agent refuses everything as not found; what is asked of an open one is never refused so.
Law 3. Of a request that nobody heard the end of storage knows whether it happened, once a later life, or the
same one anew, has claimed the row of the agent: then the next reply follows from that.
Law 4. What is closed has lost everything, and is opened with nothing: all other models begin anew.
"""

from collections.abc import Callable
from typing import Any

import attrs

from umi_core import errors
from umi_core.invariants.broken import demand
from umi_core.kelpie.requests import AgentRequest, DeleteAgent, OpenAgent
from umi_core.kelpie.results import AgentSwitched
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Unknown
from umi_core.messages.requests import OF_MEMORY, WorkingRequest
from umi_sim.judge.oracle.api.keys import Keys
from umi_sim.judge.oracle.model import Ending, Model, Surroundings
from umi_sim.judge.plain.requests import is_gone, wrong
from umi_sim.record import rules


class Closing(Model):
    """`flying`: requests without a reply, in order. `doubted`: those of them that close or open the agent,
    and nobody heard the end of. `deletes`: all that were ever asked for."""

    judges = (DeleteAgent, OpenAgent)
    watches = tuple(cls for cls in OF_MEMORY.values() if not issubclass(cls, WorkingRequest))

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.keys = Keys()  # those of the API, which it shares
        self.on_closed: Callable[[], None] = lambda: None
        self.is_closed = False
        self.deletes: list[str] = []
        self.flying: dict[str, Any] = {}
        self.doubted: dict[str, AgentRequest] = {}

    def issued(self, op_id: str, request: Any, now_ms: int) -> None:
        self.flying[op_id] = request
        if isinstance(request, DeleteAgent):
            self.deletes.append(op_id)
        if isinstance(request, AgentRequest) and wrong(request) is None:
            self.keys.begin(op_id, request.request_key, request)

    def crashed(self) -> None:
        self.doubted |= {key: it for key, it in self.flying.items() if isinstance(it, AgentRequest)}
        self.flying.clear()

    def wiped(self) -> None:
        self.is_closed = False
        self.doubted.clear()

    def was_closed(self) -> bool:
        """Whether it is, or was at some time."""
        return any(map(self.surroundings.is_durable, self.deletes))

    # How it ends.

    def replied(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        before = [key for key in self.flying if key != ending.op_id]
        before = before[: list(self.flying).index(ending.op_id)]
        earlier = [self.flying[key] for key in before]
        del self.flying[ending.op_id]
        error = getattr(outcome, "error", None)
        if isinstance(error, errors.TooBusy) or wrong(request) is not None:
            return
        self.settle()
        if isinstance(request, AgentRequest):
            self.judge_alone(
                ending.op_id, not earlier, "ended beside requests that were asked before", before
            )
            self.judge_switch(ending, request, outcome)
        else:
            switches = [it for it in earlier if isinstance(it, AgentRequest)]
            self.judge_alone(ending.op_id, not switches, "did not wait for the agent", switches)
            self.judge_other(ending, outcome)

    def settle(self) -> None:
        """What became of those that nobody heard the end of."""
        for op_id, request in self.doubted.items():
            if self.surroundings.is_durable(op_id):
                self.switch(is_closed=isinstance(request, DeleteAgent))
        self.doubted.clear()

    def switch(self, *, is_closed: bool) -> None:
        was_closed, self.is_closed = self.is_closed, is_closed
        if is_closed and not was_closed:
            self.on_closed()

    def judge_alone(self, op_id: str, holds: bool, what: str, got: object) -> None:
        demand(holds, rules.CLOSED_IS_CLOSED, f"{op_id} {what}", [], got)

    def judge_other(self, ending: Ending, outcome: Outcome) -> None:
        said = f"{ending.op_id} {type(ending.request).__name__} of "
        said += "a closed agent is answered" if self.is_closed else "an open agent finds none"
        due = "NotFound" if self.is_closed else "an answer"
        demand(is_gone(outcome) == self.is_closed, rules.CLOSED_IS_CLOSED, said, due, outcome)

    def judge_switch(self, ending: Ending, request: AgentRequest, outcome: Outcome) -> None:
        op_id, is_delete = ending.op_id, isinstance(request, DeleteAgent)
        if isinstance(outcome, Unknown):
            self.doubted[op_id] = request
        elif isinstance(outcome, Done):
            value = ending.value(AgentSwitched)
            if value is not None and self.is_news(op_id, request.request_key, value):
                self.judge_done(op_id, value, is_delete=is_delete)
            return
        elif is_gone(outcome):
            is_fair = is_delete and self.is_closed
            demand(is_fair, rules.CLOSED_IS_CLOSED, f"{op_id} finds no agent, and there is one", "", outcome)
        elif isinstance(outcome, Refused) and isinstance(outcome.error, errors.KeyReused):
            self.keys.judge_reused(op_id, str(request.request_key))
        elif isinstance(outcome, Failed):
            is_durable = self.surroundings.is_durable(op_id)
            demand(not is_durable, rules.CLOSED_IS_CLOSED, f"{op_id} has failed, and happened", "", outcome)
        if not isinstance(outcome, Unknown):
            self.keys.drop(op_id, request.request_key)

    def is_news(self, op_id: str, key: str | None, value: AgentSwitched) -> bool:
        """Whether the reply tells of what this very request did."""
        if key is None:
            demand(not value.repeated, rules.KEY_ONCE, f"{op_id} repeats something and has no key", "", value)
            return True
        plain, now_ms = attrs.evolve(value, repeated=False), self.surroundings.world_ms()
        self.keys.judge_done(op_id, key, plain, repeated=value.repeated, now_ms=now_ms)
        return not value.repeated

    def judge_done(self, op_id: str, value: AgentSwitched, *, is_delete: bool) -> None:
        due = "closed" if is_delete else "opened" if self.is_closed else "unchanged"
        demand(value.change == due, rules.CLOSED_IS_CLOSED, f"what {op_id} did", due, value)
        holds = not (is_delete and self.is_closed)
        demand(holds, rules.CLOSED_IS_CLOSED, f"{op_id} closed an agent that was closed", "NotFound", value)
        self.switch(is_closed=is_delete)
