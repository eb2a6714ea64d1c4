"""The verdict of a run: its result, counts of what happened, and the record that replays it."""

from collections.abc import Mapping

from umi_core.data import Data
from umi_sim.record.exit_codes import FailureKind
from umi_sim.record.items import Item, RecordedReply
from umi_sim.record.run_config import RunConfig


class Failure(Data):
    """The first broken promise. `rule` is readable, `rule_id` goes into files; only a crash has a `frame`."""

    kind: FailureKind
    rule: str
    rule_id: str
    step: int
    world_ms: int
    item: str
    message: str
    expected: str = ""
    got: str = ""
    frame: str = ""
    traceback: str = ""

    @property
    def rule_and_id(self) -> str:
        """Return the rule as reports name it: its name, followed by its id."""
        return self.rule if self.rule == self.rule_id else f"{self.rule} ({self.rule_id})"

    @property
    def named(self) -> str:
        return name_failure(self.kind, self.rule_and_id)


def name_failure(kind: str, rule: str) -> str:
    """Return a failure as reports name it: its kind and its rule, which are the same word for a crash."""
    return kind if kind == rule else f"{kind} {rule}"


class Event(Data):
    """One line of the log of a run, for people: step, world time, event name, what happened."""

    step: int
    world_ms: int
    event: str
    what: str


class Verdict(Data):
    """The result of a run. Its counts are in order of names, as operations by kind, replies by outcome."""

    config: RunConfig
    items: tuple[Item, ...]
    failure: Failure | None
    trace_hash: str
    prefix: tuple[bytes, ...]
    prefix_every: int
    steps: int
    operations: Mapping[str, int]
    replies: Mapping[str, int]
    degraded: Mapping[str, int]
    fired: Mapping[str, int]
    without_effect: Mapping[str, int]
    skipped: Mapping[str, int]
    excused: Mapping[str, int]
    marks: Mapping[str, int]
    crashes: int
    virtual_ms: int
    healed_at_step: int
    audit_rows: int
    state_digest: str
    tail: tuple[Event, ...] = ()
    losses: tuple[str, ...] = ()  # data that storage destroyed, one line each
    changed: tuple[str, ...] = ()  # the failed step, or one shortly before it, and its changes
    model: tuple[RecordedReply, ...] = ()  # none if the run asked more than ASK_COUNT_MAX times
    before: str = ""  # digests of the memory around the step that failed
    after: str = ""
    rules: Mapping[str, int] = {}  # how often each rule had something to judge
