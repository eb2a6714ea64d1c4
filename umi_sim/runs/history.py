"""The history of a recorded run of a memory, for checkers of linearizability (umi_sim/record/history.py).

The time of an event is the latest reading so far of the clock of its memory. Values are written as in the
protocol for processes in other languages (umi_sim/machines/wire.py). After a crash the working tier is empty.
"""

from umi_core.messages.answers import Value
from umi_core.messages.effects import Done, Outcome, Unknown
from umi_core.messages.requests import Request, arguments_of, request_name
from umi_sim.judge.inspector import Inspector
from umi_sim.machines import wire
from umi_sim.machines.protocol import Machine
from umi_sim.record.history import HistoryEvent, HistoryLog
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.seedfile.files import SeedFile


class HistoryInspector(Inspector):
    """An inspector that also writes requests and replies into a history."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        self.config = config
        self.log = HistoryLog()
        self.seen_ms: dict[str, int] = {}
        self.waiting: dict[str, dict[str, None]] = {}  # by agent, operations without an end

    def see(self, agent: str, reading_ms: int) -> int:
        """Note a reading of an agent's clock, and return the latest reading so far."""
        self.seen_ms[agent] = max(reading_ms, self.seen_ms.get(agent, reading_ms))
        return self.seen_ms[agent]

    def stepping(self, agent: str, machine: Machine, value: Value, reading_ms: int) -> None:
        self.see(agent, reading_ms)
        super().stepping(agent, machine, value, reading_ms)

    def observe_request(self, agent: str, op_id: str, request: Request, reading_ms: int) -> None:
        names = [argument.name for argument in arguments_of(type(request))]
        args = {name: wire.to_json(getattr(request, name)) for name in names}
        self.waiting.setdefault(agent, {})[op_id] = None
        self.log.begin(op_id, request_name(type(request)), args, self.see(agent, reading_ms), agent)
        super().observe_request(agent, op_id, request, reading_ms)

    def check_outcome(self, agent: str, op_id: str, outcome: Outcome) -> None:
        # Written before it is judged: a reply that breaks a promise ends the run and belongs to the history.
        now_ms = self.seen_ms[agent]
        del self.waiting[agent][op_id]
        if isinstance(outcome, Done):
            self.log.end(op_id, "ok", wire.to_json(outcome.value), now_ms)
        elif isinstance(outcome, Unknown):
            self.log.end(op_id, "info", None, now_ms, "Unknown")
        else:
            error = f"{type(outcome.error).__name__}: {outcome.error}"
            self.log.end(op_id, "fail", None, now_ms, error)
        super().check_outcome(agent, op_id, outcome)

    def observe_crash(self, agent: str) -> None:
        now_ms = self.seen_ms.pop(agent, self.config.start_ms)
        for op_id in self.waiting.pop(agent, {}):
            self.log.end(op_id, "info", None, now_ms, "crashed")
        self.log.happen("crash", None, now_ms, agent)
        super().observe_crash(agent)

    def observe_takeover(self, agent: str, old: str) -> None:
        # The replaced incarnation continues as "a~1" and keeps its open requests; "a" starts with none.
        self.waiting[old] = self.waiting.pop(agent, {})
        self.seen_ms[old] = self.seen_ms.pop(agent, self.config.start_ms)
        self.log.happen("takeover", None, self.seen_ms[old], agent)
        super().observe_takeover(agent, old)


def replay_history(seed: SeedFile) -> tuple[Verdict, list[HistoryEvent]]:
    """Replay a recorded run; return its verdict, and its history up to the end."""
    inspector = HistoryInspector(seed.config)
    replies = seed.model if seed.is_edited else ()
    verdict = run_once(seed.config, seed.items, inspector=inspector, replies=replies)[0]
    return verdict, inspector.log.events
