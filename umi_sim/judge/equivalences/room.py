"""A life that has no room for what is stored, and then one that has: the second finds everything (LIVE-5).

Law 1. All is lived apart, over a copy of what storage holds and in a world without faults: the run does not
       notice.
Law 2. What must stay in core is counted here, from the stored row: authored text, and entries of self.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from umi_core.config import Config
from umi_core.data import Data
from umi_core.engine.registry import Registry
from umi_core.errors import BadConfig
from umi_core.limits import CORE_BYTES_MIN
from umi_core.memory import Memory
from umi_core.messages import requests
from umi_core.messages.answers import Answer, EffectFailed, Value, Wake
from umi_core.messages.effects import Asked, Commit, Failed, Outcome, Read, Reply
from umi_core.rows import Address, Core
from umi_core.values import Scope
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.storage import SimStorage

Settings = Mapping[str, bool | int]
LEAST: Final = {"core_bytes_max": CORE_BYTES_MIN, "core_entry_count_max": 0}
SELF: Final = "persona"
SHOWN: Final[Sequence[requests.Request]] = (
    requests.Blocks("blocks"), requests.Render("xml", "xml"), requests.CoreBytes("bytes"),
)  # fmt: skip
# One request of each kind that needs core or storage: each must name the option that leaves no room.
BARRED: Final[Sequence[requests.Request]] = (
    *SHOWN, requests.GetBlock("get", "human"), requests.Remember("remember", "Alice likes tea"),
    requests.Recall("recall", "tea"), requests.GetEntity("entity", "ent_x"), requests.Count("count"),
    requests.SetBlock("set", "human", "x"), requests.Forget("forget", "ent_x"), requests.Rebalance("scan"),
    requests.CreateSession("session"),
)  # fmt: skip


class Lives(Data):
    """A place for lives: each is a new memory of this scope, over one storage, at one instant."""

    scope: Scope
    registry: Registry
    storage: SimStorage
    now_ms: int

    def list_replies(self, config: Config, asked: Sequence[requests.Request]) -> dict[object, Outcome] | None:
        """Return the replies of a life with these options; None if it cannot recover."""
        memory = Memory(self.scope, config, self.registry)
        self.settle(memory, Wake())
        if memory.state.phase == "recovering":
            return None
        replies = [reply for request in asked for reply in self.settle(memory, request)]
        return {reply.op_id: reply.outcome for reply in replies}

    def settle(self, memory: Memory, value: Value) -> Iterator[Reply]:
        replies, pending = list[Reply](), list(memory.step(self.now_ms, value))
        while pending:
            effect = pending.pop(0)
            if isinstance(effect, Reply):
                replies.append(effect)
            else:
                pending += memory.step(self.now_ms, self.answer(effect))
        return iter(replies)

    def answer(self, effect: Asked) -> Answer:
        if isinstance(effect, Read):
            return self.storage.read(effect.request_id, effect.query)
        if isinstance(effect, Commit):
            ticket = self.storage.arrive(effect, self.scope.agent)
            return self.storage.flush(ticket, self.now_ms) or EffectFailed(effect.request_id, "unknown")
        return EffectFailed(effect.request_id, "unavailable")


def compare_without_room(
    scope: Scope, memory: Settings, registry: Registry, storage: SimStorage, now_ms: int
) -> int:
    """Begin a life for each option under whose least value what must stay does not fit.

    Returns how many there were. `memory`: the options of the run. Raises Broken.
    """
    row = storage.rows.get(Address(scope, "core", "core"))
    needed = measure_needs(row.body) if row is not None and isinstance(row.body, Core) else {}
    options = {name: least for name, least in LEAST.items() if needed.get(name, 0) > least}
    if not options:
        return 0
    lives = Lives(scope, registry, copy_storage(storage, now_ms), now_ms)
    before = lives.list_replies(Config.of(memory), SHOWN)
    if before is None:
        return 0
    # enough room, too little, enough again: the last life must read core as the first one
    for name, least in options.items():
        rows = list_rows(lives.storage)
        must_be_barred(name, lives.list_replies(Config.of({**memory, name: least}), BARRED))
        what = f"a life without room ({name})"
        demand(list_rows(lives.storage) == rows, rules.ROOM_COMES_BACK, f"{what} has changed rows")
        after = lives.list_replies(Config.of(memory), SHOWN)
        demand(after == before, rules.ROOM_COMES_BACK, f"core reads otherwise after {what}", before, after)
    return len(options)


def must_be_barred(name: str, replies: Mapping[object, Outcome] | None) -> None:
    for request in BARRED:
        outcome = (replies or {}).get(request.op_id)
        error = outcome.error if isinstance(outcome, Failed) else None
        is_told = isinstance(error, BadConfig) and error.option == name
        message = f"{type(request).__name__} of a life without room"
        demand(is_told, rules.ROOM_COMES_BACK, message, f"BadConfig of {name}", outcome)


def measure_needs(core: Core) -> dict[str, int]:
    """Return bytes and number of what never leaves: authored text, and entries of self."""
    own = [entry for block in core.blocks if block.kind == SELF for entry in block.entries]
    texts = [text for block in core.blocks if block.text is not None for text in (block.label, block.text)]
    texts += [text for entry in own for text in (entry.name, entry.text)]
    return {"core_bytes_max": sum(len(text.encode()) for text in texts), "core_entry_count_max": len(own)}


def list_rows(storage: SimStorage) -> dict[Address, object]:
    """Return all rows but those of lives themselves."""
    return {where: row for where, row in storage.rows.items() if where.kind != "epoch"}


def copy_storage(storage: SimStorage, now_ms: int) -> SimStorage:
    copy = SimStorage()
    copy.put_back({**storage.rows}, now_ms)
    return copy
