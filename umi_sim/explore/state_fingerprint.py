"""State fingerprints: 16 bytes that are equal for two worlds if no future event can distinguish them.

Law 1. The fingerprint includes all that decides the future: memories, services, messages and calls in flight,
       and the oracle.
Law 2. Times are relative to now. Numbers of requests and operations are replaced by their order of first
       mention.
Law 3. Exchangeable keys, values and agents are renamed by first mention, so that only one of all worlds that
       differ by such an exchange is explored.
Law 4. In doubt, two worlds count as different: that costs time, while the opposite would miss failures.

Observers, counters, and the choice of the rule that names a broken promise are left out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import permutations
from types import FunctionType, MethodType
from typing import Any, Final

from umi_core.config import Config
from umi_core.data import is_struct
from umi_core.engine.registry import Registry
from umi_core.ids import pack
from umi_core.rows import SessionRow
from umi_core.tiers import session
from umi_core.tiers.archive import RowVersions
from umi_core.tiers.working import WorkingTier
from umi_sim.explore.play import Explored, inspector_of
from umi_sim.explore.symmetry import exchangeable, same_agents
from umi_sim.faults.kinds import KINDS
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.oracle.core_model import CoreModel, Register
from umi_sim.judge.oracle.judge import AgentModel
from umi_sim.judge.oracle.working import OpenSave, SavedTwin, Session, SessionsModel, WorkingTwin
from umi_sim.machines.umi import memory_of
from umi_sim.record.run_config import AgentConfig, RunConfig
from umi_sim.scenario.action_set import ActionSet, ValueOfRun
from umi_sim.services.calls import Call, Flush, Services
from umi_sim.services.storage import CommittedBatch, SimStorage
from umi_sim.world.agent import Agent

Plain = Any

DIGEST_BYTES: Final = 16
ERA_MS: Final = 10 * 365 * 86_400_000  # a number so close to now is a time; sizes and shares are far smaller
FAR_MS: Final = 86_400_000
DERIVED: Final = re.compile("[a-z]{3}_[0-9a-f]{24}")
OP_ID: Final = re.compile("~?(o[0-9]+|[a-d]:[a-z_]+:[0-9]+)")
NUMBERS: Final = {"request_id": "request", "waiting": "request", "number": "operation"}
COUNTED: Final = ("began", "ended", "tick")  # these count events that the oracle saw
# Fields that only count, name or cache, by class. A wrong entry would merge worlds that differ, and hide
# failures; a missing entry only costs time (law 4).
LEFT_OUT: Final[dict[str, frozenset[str]]] = {
    "State": frozenset({"counters", "operation_count", "request_count", "config"}),
    "Operation": frozenset({"calls", "notes"}),
    "Call": frozenset({"event", "incarnation"}),
    "NetworkMessage": frozenset({"event"}),
    "AccessTable": frozenset({"told_count"}),
    "Receipt": frozenset({"by"}),
    "Epoch": frozenset({"claimed_ms"}),  # nothing reads it
    "Context": frozenset(
        {"scope", "config", "off", "surroundings", "world_ms", "tick", "is_elsewhere", "may_turn_away"}
    ),
    "SimStorage": frozenset({"row_ids", "ticket_last", "index", "indexed_count_min"}),
}
CONSTANT: Final = (Config, RunConfig, AgentConfig, Registry, FunctionType, MethodType, partial)


class Fingerprinter:
    """Computes digests of the worlds of one exploration."""

    def __init__(self, config: RunConfig, action_set: ActionSet) -> None:
        self.config, self.action_set = config, action_set
        self.like = exchangeable(action_set.requests)
        names = [agent.name for agent in config.agents]
        self.orders = (
            list(permutations(names)) if same_agents(config, action_set.requests) else [tuple(names)]
        )
        asked = [name for name, _ in action_set.requests]
        has_keys = any("request_key" in args for _, args in action_set.requests)
        self.is_scanned = "rebalance" in asked or bool(config.memory.get("auto_rebalance", True))
        self.keeps_receipts = has_keys or self.is_scanned
        self.has_model = any(KINDS[kind].group == "model" for kind in action_set.faults)

    def digest(self, world: Explored) -> bytes:
        """Return the fingerprint of a world."""
        # Worlds that differ by an exchange of agents have the same encodings, one for each order of agents,
        # so the smallest encoding is the same.
        smallest = min(pack(StateWriter(self, world, order).write_world()) for order in self.orders)
        return blake2b(smallest, digest_size=DIGEST_BYTES).digest()


Rule = Callable[["StateWriter", Any], Plain]


class StateWriter:
    """Writes one world as plain data, with its agents in the given order.

    `like`: the group of each exchangeable value. `is_exact`: a clock may jump back, so past times count.
    `mentions`, `numbers`: the order in which values and numbers were first written (laws 2 and 3).
    `ranks`: the order of the events of a core model. `saves`: the saves written so far.
    """

    def __init__(self, fingerprinter: Fingerprinter, world: Explored, order: Sequence[str]) -> None:
        self.fingerprinter, self.world, self.order = fingerprinter, world, order
        self.like = fingerprinter.like
        self.is_exact = fingerprinter.action_set.may_jump_back
        self.now_ms = world.now_ms
        self.base_ms = world.config.start_ms + world.now_ms
        self.reading_ms = self.base_ms
        self.mentions: dict[object, int] = {}
        self.numbers: dict[tuple[str, object], int] = {}
        self.ranks: Mapping[int, int] = {}
        self.tick = 0
        self.saves: list[object] = []
        scopes = {agent.name: agent.scope.agent for agent in world.config.agents}
        self.agents = {name: f"agent {at}" for at, name in enumerate(order)}
        if len(fingerprinter.orders) > 1:
            self.agents |= {scopes[name]: f"scope {at}" for at, name in enumerate(order)}
        self.is_opaque = False

    def write_world(self) -> Plain:
        world = self.world
        agents = [self.agent(world.agents[name]) for name in self.order]
        queue = [[at_ms - self.now_ms, self.put(parts)] for at_ms, _, parts in sorted(world.network.queue)]
        sessions = self.put(inspector_of(world).oracle.sessions)
        services = self.services(world.services)
        # A search breaks ties by id, so the order of ids may decide the
        # hits; the mention numbers, sorted by id, represent it.
        order = sorted(it for it in self.mentions if isinstance(it, str) and it.startswith("fct_"))
        parts = [agents, queue, sessions, services, [self.mentions[it] for it in order]]
        if self.is_opaque:  # bytes that were not decoded may contain a name, so all names are included
            parts.append([[repr(token), number] for token, number in self.mentions.items()])
        return parts

    def name_of(self, saved: object) -> int:
        """Return the number of a save, by first mention, since several fields may refer to one save."""
        at = next((at for at, known in enumerate(self.saves) if known is saved), len(self.saves))
        if at == len(self.saves):
            self.saves.append(saved)
        return at

    def agent(self, agent: Agent) -> Plain:
        self.reading_ms = agent.clock.reading(self.now_ms)
        model = inspector_of(self.world).oracle.agents[agent.name]
        self.tick = model.archive.context.tick
        down = None if agent.restart_ms is None else agent.restart_ms - self.now_ms
        memory = memory_of(agent.machine)
        state = None if memory is None else self.put(memory.state)
        clock = [self.reading_ms - self.base_ms, agent.clock.num, agent.clock.den]
        return [state, clock, down, agent.spin_count, self.put(agent.in_flight), self.put(model)]

    def services(self, services: Services) -> Plain:
        away = [[name, ms - self.now_ms] for name, ms in services.away_until_ms.items() if ms > self.now_ms]
        expected = (
            [services.last_text, *map(list, services._attempts.items())]
            if self.fingerprinter.has_model
            else []
        )
        stores = [
            [name, self.put(store.storage), max(0, store.dead_until_ms - self.now_ms)]
            for name, store in services.stores.items()
        ]
        return [stores, away, self.put(expected)]

    # Values of any type.

    def put(self, value: Any) -> Plain:
        cls = value.__class__
        if cls is int:
            # A deadline in 300 ms is ["ms", 300] at any time of the world; a size of 300 bytes stays 300.
            from_now = value - self.base_ms
            return (
                ["ms", from_now]
                if -ERA_MS < from_now < ERA_MS
                else value
                if abs(value) < 2**63
                else str(value)
            )
        if cls is str:
            return self.text(value)
        rule = RULES.get(cls)
        if rule is None:
            rule = RULES[cls] = make_rule(cls)
        return rule(self, value)

    def text(self, value: str) -> Plain:
        if value in self.agents:
            return [self.agents[value]]
        if value in self.like:
            return ["like", self.like[value], self.mention(value)]
        if DERIVED.fullmatch(value):
            return [value[:3], self.mention(value)]
        if OP_ID.fullmatch(value):
            return [value[0] == "~", self.mention(value.removeprefix("~"))]
        return value if value.isascii() else value.encode(errors="surrogatepass")

    def mention(self, value: object) -> int:
        return self.mentions.setdefault(value, len(self.mentions))

    def number(self, family: str, value: object) -> int:
        return self.numbers.setdefault((family, value), len(self.numbers))

    def field(self, name: str, value: Any) -> Plain:
        if value.__class__ is int:
            if name in NUMBERS:
                return self.number(NUMBERS[name], value)
            if name in COUNTED:
                return value - self.tick
            if name == "ran_ms" and not self.fingerprinter.is_scanned:
                return None
            # Some values are times of the world, which begin at 0; others are readings of a clock, which
            # begin at start_ms.
            if name == "asked_ms":
                return value - (self.now_ms if value < self.base_ms // 2 else self.base_ms)
            if name in ("seen_ms", "latest_ms"):
                return self.put(value if self.is_exact else max(value, self.reading_ms))
        if name in KEYED and (value is None or isinstance(value, Mapping)):
            return KEYED[name](self, value)
        if name == "members":
            return sorted((self.put(each) for each in value), key=pack)
        if name.endswith("_digest"):
            return self.mention(value)
        return self.put(value)


def make_rule(cls: type) -> Rule:
    """Return the function that writes values of a class. Raises TypeError for an unknown class."""
    if issubclass(cls, CONSTANT) or cls is ValueOfRun:
        return lambda writer, value: None
    if issubclass(cls, Mapping):
        return lambda writer, value: [[writer.put(key), writer.put(each)] for key, each in value.items()]
    if cls in (tuple, list):
        return lambda writer, value: [writer.put(each) for each in value]
    out = LEFT_OUT.get(cls.__name__, frozenset())
    if is_struct(cls):
        names = [name for name in cls.__struct_fields__ if name not in out]
        write = write_fields(cls.__name__, names)
        return mentioned_once(write) if cls.__hash__ is object.__hash__ else write
    if cls.__module__.partition(".")[0] in ("umi_core", "umi_sim"):
        return lambda writer, value: [
            cls.__name__, *[writer.field(it, part) for it, part in vars(value).items() if it not in out]
        ]  # fmt: skip
    raise TypeError(f"{cls.__module__}.{cls.__qualname__} cannot be compared: say how in {__name__}")


def write_fields(tag: str, names: Sequence[str]) -> Rule:
    return lambda writer, value: [tag, *[writer.field(it, getattr(value, it)) for it in names]]


def mentioned_once(write: Rule) -> Rule:
    """Return a rule that writes an object at its first mention, and only its number at later ones."""

    def write_once(writer: StateWriter, value: Any) -> Plain:
        is_known = value in writer.mentions
        number = writer.mention(value)
        return number if is_known else [number, write(writer, value)]

    return write_once


def write_bytes(writer: StateWriter, value: bytes) -> Plain:
    return ["like", writer.like[value], writer.mention(value)] if value in writer.like else value


# The working tier, and its model in the oracle.


def write_expiry(writer: StateWriter, expires_ms: int) -> Plain:
    """Write a deadline. If no clock can jump back, all deadlines in the past are equal."""
    is_over = not writer.is_exact and expires_ms < writer.reading_ms
    return "over" if is_over else writer.put(expires_ms)


def write_entries(writer: StateWriter, given: Mapping[str, tuple[bytes, int]]) -> Plain:
    return [
        [writer.put(key), writer.put(value), write_expiry(writer, ms)] for key, (value, ms) in given.items()
    ]


def write_tier(writer: StateWriter, tier: WorkingTier) -> Plain:
    is_far = not tier.entries and tier.due_ms - writer.reading_ms > FAR_MS  # later than any other event
    due = "far" if is_far else write_expiry(writer, tier.due_ms)
    return [write_entries(writer, tier.entries), tier.used_bytes, tier.expired_count, due]


def write_twin(writer: StateWriter, twin: WorkingTwin) -> Plain:
    return [write_entries(writer, twin.entries), *describe_twin(writer, twin)]


def describe_twin(writer: StateWriter, twin: WorkingTwin) -> list[Plain]:
    fields = (twin.session_id, twin.started_ms, twin.interactions, twin.last_input, twin.last_query)
    origins = [[writer.name_of(it), it.is_refuted] for it in twin.origins if isinstance(it, SavedTwin)]
    return [twin.expired, twin.version, *map(writer.put, fields), origins]


def write_saved(writer: StateWriter, saved: SavedTwin) -> Plain:
    """Write a save, with the exact time to live of each entry at the time of the save."""
    rows = [[writer.put(key), writer.put(value), ms - saved.saved_ms]
            for key, (value, ms) in saved.twin.entries.items()]  # fmt: skip
    fields = [saved.is_refuted, writer.put(saved.saved_ms), rows, *describe_twin(writer, saved.twin)]
    return [writer.name_of(saved), *fields]


def write_session(writer: StateWriter, known: Session) -> Plain:
    """Write a session, without the versions that no load in flight can return."""
    oracle = inspector_of(writer.world).oracle
    musts = [save.must_at_issue.get(key, 0) for save in oracle.sessions.open for key in save.must_at_issue]
    musts += [load.must for agent in oracle.agents.values() for load in agent.sessions.loads.values()]
    oldest = min((known.must, *musts))
    versions = [[it, writer.put(saved) if it >= oldest else None] for it, saved in known.versions.items()]
    rest = (known.members, known.may_members, known.acknowledged, known.may)
    return [known.must, versions, *map(writer.put, rest)]


def write_open_save(writer: StateWriter, save: OpenSave) -> Plain:
    return [*map(writer.put, (save.must_at_issue, save.hand_to, save.candidates))]


def write_session_row(writer: StateWriter, row: SessionRow) -> Plain:
    fields = [row.id, row.user, row.creator, row.saved_ms, row.saved_by]
    return [
        *map(writer.put, fields),
        writer.field("members", row.members),
        write_snapshot(writer, row.snapshot),
    ]


def write_snapshot(writer: StateWriter, data: bytes) -> Plain:
    """Write the rows of a snapshot, in an order independent of names; a damaged snapshot as raw bytes."""
    outer = session.unpack_value(data)
    is_sealed = isinstance(outer, list) and len(outer) == 4 and isinstance(outer[2], bytes)
    if not is_sealed or data != session.seal_body(outer[2]):
        writer.is_opaque = True
        return data
    saved_ms, rows, info = session.unpack_value(outer[2])
    ordered = sorted(rows, key=lambda row: (row[2], row[1], row[0]))
    return [writer.put(saved_ms), writer.put(ordered), writer.put(info)]


# Storage.


def write_storage(writer: StateWriter, storage: SimStorage) -> Plain:
    """Write storage. Rows are sorted, because reads do not return them in the order of insertion."""
    pending = [[writer.number("ticket", it), writer.put(batch)] for it, batch in storage.pending.items()]
    rows = [
        [writer.put(where), row.version, writer.put(row.body)]
        for where, row in storage.rows.items()
        if where.kind != "receipt" or may_be_asked(writer, where.id)
    ]
    graves = [
        [writer.put(where), version]
        for where, version in storage.graves.items()
        if where.kind != "receipt" or may_be_asked(writer, where.id)
    ]
    receipts = [
        [writer.put(key), writer.put(it)] for key, it in storage.receipts.items() if may_be_asked(writer, key)
    ]
    return [pending, sorted(rows, key=pack), sorted(graves, key=pack), receipts]


def may_be_asked(writer: StateWriter, key: str) -> bool:
    """Return True if a request may still ask for the receipt of this key."""
    return writer.fingerprinter.keeps_receipts or key in writer.mentions


def write_committed(writer: StateWriter, batch: CommittedBatch) -> Plain:
    return [writer.put(batch.versions), writer.put(batch.receipt), batch.at_ms - writer.now_ms]


def write_flush(writer: StateWriter, flush: Flush) -> Plain:
    reported = flush.reported - writer.now_ms if isinstance(flush.reported, int) else flush.reported
    return [writer.number("ticket", flush.ticket), reported]


def write_call(writer: StateWriter, call: Call) -> Plain:
    is_expected = writer.world.agents[call.agent].incarnation == call.incarnation
    fields = [call.agent, call.op_id, call.workflow, call.step, call.effect]
    return [is_expected, call.sent_ms - writer.now_ms, *map(writer.put, fields)]


# Parts of the oracle that number events.


def write_log(writer: StateWriter, log: BatchLog) -> Plain:
    """Write the values of each row since the oldest request in flight, and the operations in flight."""
    calls = [message.call for _, _, message in writer.world.network.queue]
    going = dict.fromkeys((*log.flying, *(call.op_id for call in calls if call.op_id in log.ops)))
    oldest = min((it.position for it in log.flying.values()), default=log.position)
    fields = [
        [
            writer.put(key),
            [[at - log.position, writer.put(value)] for at, value in list_since(entries, oldest)],
        ]
        for timeline in (log.facts, log.resources, log.categories, log.reflections)
        for key, entries in timeline.entries.items()
    ]
    keys = [
        [
            writer.put(key),
            writer.put(it[-1].op.asked),
            writer.put(it[-1].applied),
            it[-1].at_ms - writer.now_ms,
        ]
        for key, it in log.by_key.items()
    ]
    operations = [[writer.put(op_id), write_operation(writer, log, log.ops[op_id])] for op_id in going]
    return [*map(writer.put, (log.known, log.relations, log.said)), fields, keys, operations]


def list_since(entries: list[tuple[int, Any]], oldest: int) -> list[tuple[int, Any]]:
    """Return the last entry up to this position, renumbered to it, and all later ones."""
    first = [(oldest, value) for at, value in entries if at <= oldest]
    return [*first[-1:], *(it for it in entries if it[0] > oldest)]


def write_operation(writer: StateWriter, log: BatchLog, op: ArchiveOperation) -> Plain:
    asked = [
        [it.step, writer.put(it.effect), writer.put(it.answer), writer.put(it.at_ms)] for it in op.attempts
    ]
    times = [
        writer.put(op.began_ms),
        op.asked_ms - writer.now_ms,
        writer.put(op.planned_ms),
        writer.put(op.first_ms),
    ]
    return [writer.put(op.asked), op.position - log.position, op.is_unasked, op.is_refuted, times, asked]


def write_core_model(writer: StateWriter, model: CoreModel) -> Plain:
    """Write the model with ranks instead of event counts, of which only the order matters."""
    registers = (*model.texts.values(), *model.importance.values())
    ats = sorted({at for it in registers for _, at in (*it.settled, *it.open.values())})
    writer.ranks = {at: rank for rank, at in enumerate(ats)}
    return [writer.put(model.texts), writer.put(model.importance), writer.put(model.most_bytes)]


def write_register(writer: StateWriter, register: Register) -> Plain:
    """Write the latest rank of each settled value, of each lost write, and all writes in flight."""
    latest: dict[bytes, int] = {}
    lost: dict[bytes, int] = {}
    for value, at in register.settled:
        packed = pack(writer.put(value))
        latest[packed] = max(writer.ranks[at], latest.get(packed, 0))
    for key, (value, at) in register.open.items():
        packed = pack(writer.put(value))
        if key.startswith("~"):
            lost[packed] = max(writer.ranks[at], lost.get(packed, 0))
    flying = [[writer.put(key), writer.put(value), writer.ranks[at]]
              for key, (value, at) in register.open.items() if not key.startswith("~")]  # fmt: skip
    return [sorted(latest.items()), sorted(lost.items()), flying]


def write_agent_model(writer: StateWriter, agent: AgentModel) -> Plain:
    working, saves, loads = agent.working, agent.sessions.saves, agent.sessions.loads
    fields = [working.twins, agent.core, agent.archive, agent.requests, saves, loads, working.counted]
    places = {twin.place: None for twin in working.twins}
    in_place = [[it.twin.place in places for it in save.candidates] for save in saves.values()]
    return [*map(writer.put, fields), in_place, writer.field("seen_ms", agent.seen_ms)]


def write_operations(writer: StateWriter, operations: Mapping[int, object]) -> Plain:
    return [writer.put(each) for each in operations.values()]  # each operation has its number as a field


def write_waiting(writer: StateWriter, waiting: Mapping[int, int] | None) -> Plain:
    pairs = waiting.items() if waiting is not None else ()
    return [[writer.number("request", it), writer.number("operation", number)] for it, number in pairs]


KEYED: Final[dict[str, Rule]] = {
    "operations": write_operations,
    "waiting": write_waiting,
}
RULES: Final[dict[type, Rule]] = {
    bool: lambda writer, value: value, type(None): lambda writer, value: None, bytes: write_bytes,
    WorkingTier: write_tier, WorkingTwin: write_twin, SavedTwin: write_saved, OpenSave: write_open_save,
    Session: write_session, SessionRow: write_session_row, SimStorage: write_storage,
    CommittedBatch: write_committed, Flush: write_flush, Call: write_call,
    CoreModel: write_core_model, BatchLog: write_log, Register: write_register, AgentModel: write_agent_model,
    SessionsModel: lambda writer, known: writer.put(known.sessions),
    RowVersions: lambda writer, rows: [[writer.put(key), version] for key, version in rows.pairs()],
}  # fmt: skip
