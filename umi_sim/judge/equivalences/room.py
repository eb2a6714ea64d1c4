"""A memory that starts without room for its core, and then with room: the second finds everything (LIVE-5).

Law 1. These memories run on a copy of the storage, in a world without faults, so the run does not change.
Law 2. The bytes and entries that must stay in core are counted from its row: authored text, entries of self.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from umi_core.config import Config
from umi_core.engine.registry import Registry
from umi_core.errors import BadConfig
from umi_core.limits import CORE_BYTES_MIN
from umi_core.messages import requests
from umi_core.messages.answers import Answer, EffectFailed
from umi_core.messages.effects import Asked, AskModel, Embed, Failed, Outcome
from umi_core.rows import Address, Core
from umi_core.values import Scope
from umi_sim.judge.small_world import SmallWorld
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.storage import SimStorage

Settings = Mapping[str, bool | int]
LEAST: Final = {"core_bytes_max": CORE_BYTES_MIN, "core_entry_count_max": 0}
SELF: Final = "persona"
SHOWN: Final[Sequence[requests.Request]] = (
    requests.Blocks("blocks"), requests.Render("xml", "xml"), requests.CoreBytes("bytes"),
)  # fmt: skip
# One request of each kind that needs core or storage: each must fail and name the option that leaves no room.
FORBIDDEN: Final[Sequence[requests.Request]] = (
    *SHOWN, requests.GetBlock("get", "human"), requests.Remember("remember", "Alice likes tea"),
    requests.Recall("recall", "tea"), requests.GetEntity("entity", "ent_x"), requests.Count("count"),
    requests.SetBlock("set", "human", "x"), requests.Forget("forget", "ent_x"), requests.Rebalance("scan"),
    requests.CreateSession("session"),
)  # fmt: skip


class RoomWorld(SmallWorld):
    """A small world in which models and embedders are unavailable."""

    def answer(self, effect: Asked) -> Answer:
        if isinstance(effect, AskModel | Embed):
            return EffectFailed(effect.request_id, "unavailable")
        return super().answer(effect)

    def list_replies(self, asked: Sequence[requests.Request]) -> dict[object, Outcome] | None:
        """Return the outcomes of these requests; None if the memory has not recovered."""
        if self.memory.state.phase == "recovering":
            return None
        for request in asked:
            self.step(request)
            self.settle()
        return self.outcomes


def compare_without_room(
    scope: Scope, memory: Settings, registry: Registry, storage: SimStorage, now_ms: int
) -> int:
    """Start a memory for each option whose least value leaves no room for what must stay in core.

    Return the number of these options. `memory`: the options of the run. Raises Broken.
    """
    row = storage.rows.get(Address(scope, "core", "core"))
    needed = measure_needs(row.body) if row is not None and isinstance(row.body, Core) else {}
    options = {name: least for name, least in LEAST.items() if needed.get(name, 0) > least}
    if not options:
        return 0
    copy = copy_storage(storage, now_ms)

    def list_replies(options: Settings, asked: Sequence[requests.Request]) -> dict[object, Outcome] | None:
        config = Config.of({**memory, **options})
        return RoomWorld(scope, config, now_ms, registry, copy).list_replies(asked)

    before = list_replies({}, SHOWN)
    if before is None:
        return 0
    # Enough room, too little, enough again: the last memory must read the same core as the first.
    for name, least in options.items():
        rows, label = list_rows(copy), f"a life without room ({name})"
        check_refused(name, list_replies({name: least}, FORBIDDEN))
        demand(list_rows(copy) == rows, rules.ROOM_COMES_BACK, f"{label} has changed rows")
        after = list_replies({}, SHOWN)
        demand(after == before, rules.ROOM_COMES_BACK, f"core after {label}", before, after)
    return len(options)


def check_refused(name: str, replies: Mapping[object, Outcome] | None) -> None:
    for request in FORBIDDEN:
        outcome = (replies or {}).get(request.op_id)
        error = outcome.error if isinstance(outcome, Failed) else None
        is_right = isinstance(error, BadConfig) and error.option == name
        message = f"the reply to {type(request).__name__} in a life without room"
        demand(is_right, rules.ROOM_COMES_BACK, message, f"BadConfig of {name}", outcome)


def measure_needs(core: Core) -> dict[str, int]:
    """Return the bytes and the number of entries that never leave core: authored text, entries of self."""
    own = [entry for block in core.blocks if block.kind == SELF for entry in block.entries]
    texts = [text for block in core.blocks if block.text is not None for text in (block.label, block.text)]
    texts += [text for entry in own for text in (entry.name, entry.text)]
    return {"core_bytes_max": sum(len(text.encode()) for text in texts), "core_entry_count_max": len(own)}


def list_rows(storage: SimStorage) -> dict[Address, object]:
    """Return all rows except epochs."""
    return {where: row for where, row in storage.rows.items() if where.kind != "epoch"}


def copy_storage(storage: SimStorage, now_ms: int) -> SimStorage:
    copy = SimStorage()
    copy.put_back({**storage.rows}, now_ms)
    return copy
