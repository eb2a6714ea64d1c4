"""A model of one row that moves between two stores: its possible next steps, with failures, and its rules.

Law 1. The possible next steps follow from the state alone, so that all runs can be tried (migration.py), or
a random one. Law 2. The judge of replies knows neither phases nor stores, only the last acknowledged value
and values in doubt. The same judge for all phases proves that clients notice none of them.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from msgspec import structs

from umi_core.data import Data
from umi_core.migration import machine
from umi_core.migration import steps as machine_steps
from umi_core.migration.machine import Ask, Key, Migration, MigrationReply, Once, StoreResult, VersionedValue
from umi_core.migration.requests import (
    AdvanceMigration,
    DropRow,
    MigrationRequest,
    Mirror,
    Purge,
    PutRow,
    ReadRow,
    Reconcile,
    RollBack,
)
from umi_sim.record import rules
from umi_sim.record.broken import demand

ID: Final = "r"
OF: Final = ("op", "blocks")  # the caller, and the kind of rows
KEYED: Final = PutRow(*OF, ID, "keyed", request_key="k")
ROW: Final[Key] = ("row", ID)
HEAL_STEPS_MAX: Final = 60
LEGACY_PHASES: Final = ("legacy", "dual_write")  # phases in which the legacy store is authoritative

# The order in which main returns its tables, page by page.
PAGE_ORDER: Final = ("row", "begun", "key", "outbox", "phase")

Main = tuple[tuple[Key, VersionedValue], ...]


class ClientKnowledge(Data):
    """The knowledge of a client: the current value, values of writes in doubt, and the use of its key.

    `asked`: the request in flight. `is_written`: the write with the key has reached the authoritative store.
    """

    value: str | None = None
    may_be: tuple[str | None, ...] = ()
    asked: MigrationRequest | None = None
    key: Literal["new", "in doubt", "used"] = "new"
    is_written: bool = False


class EventBudget(Data):
    """The number of events of each kind that may still happen."""

    writes: int = 2
    reads: int = 1
    works: int = 3  # reconcile, mirror, purge and switches
    crashes: int = 1
    failures: int = 1
    keyed: int = 0  # repetitions of one write with one key


NEW: Final = Migration()
NOTHING: Final = ClientKnowledge()
SMALL: Final = EventBudget()


class OneRowWorld(Data):
    """Both stores, the machine, its question in flight (`asked`), and a commit to main in doubt (`late`).

    `graves`: versions of deleted rows. `arrived`: the row in the memory itself, after it was handed over.
    """

    machine: Migration = NEW
    main: Main = ()
    graves: tuple[tuple[Key, int], ...] = ()
    legacy: str | None = None
    arrived: str | None = None
    asked: Ask | None = None
    late: Ask | None = None
    known: ClientKnowledge = NOTHING
    left: EventBudget = SMALL


# Stores.


def apply_batch(world: OneRowWorld, ask: Ask) -> OneRowWorld | None:
    """Return the world after main has applied a batch; None on a conflict."""
    main, graves = dict(world.main), dict(world.graves)
    if any(main.get(key, machine.NONE).version != version for key, version in ask.expects):
        return None
    for key, value in ask.writes:
        # Versions continue after a delete, so that an old expectation never matches a new row.
        version = main.pop(key, VersionedValue(graves.get(key, 0), None)).version + 1
        if value is None and (key[0] != "row" or ask.given is not None):
            graves[key] = version
        else:
            main[key] = (
                VersionedValue(version, None, value)
                if isinstance(value, Once)
                else VersionedValue(version, value)
            )
    arrived = dict(ask.given or ()).get(ID, world.arrived)
    return structs.replace(
        world, main=tuple(sorted(main.items())), graves=tuple(sorted(graves.items())), arrived=arrived
    )


def write_to_store(world: OneRowWorld, ask: Ask) -> OneRowWorld | None:
    """Return the world after the store of `ask` has applied its writes; None on a conflict. Raises Broken."""
    after, store = apply_to_store(world, ask), "legacy" if phase_of(world) in LEGACY_PHASES else "main"
    known, is_of_key = world.known, (ROW, KEYED.content) in ask.writes and world.known.asked == KEYED
    if after is None or not is_of_key or ask.store != store:
        return after
    message = "what came again with its key is written again"
    demand(not known.is_written, rules.KEY_ONCE_ACROSS_PHASES, message, "", ask)
    return structs.replace(after, known=structs.replace(known, is_written=True))


def apply_to_store(world: OneRowWorld, ask: Ask) -> OneRowWorld | None:
    if ask.store == "main":
        return apply_batch(world, ask)
    ((_, value),) = ask.writes
    assert not isinstance(value, Once)
    return structs.replace(world, legacy=value)


def rows_of(world: OneRowWorld, ask: Ask) -> Main:
    if ask.given is not None:
        return ()  # the memory lacks nothing for the rows that it is given
    if ask.store == "main":
        known = [key for key, _ in world.main if ask.with_keys or key[0] != "key"]
        return tuple(each for each in world.main if each[0] in ([ask.only] if ask.only else known))
    return () if world.legacy is None else ((ROW, VersionedValue(1, world.legacy)),)


# The possible next steps.

Step = tuple[str, OneRowWorld]


def list_steps(world: OneRowWorld) -> Iterator[Step]:
    if world.late is not None:
        yield "the late batch arrives", structs.replace(apply_batch(world, world.late) or world, late=None)
    if world.asked is None:
        yield from list_requests(world)
    else:
        yield from list_answers(world, world.asked)
        yield from list_crashes(world, world.asked)


def spend_one(world: OneRowWorld, name: str) -> OneRowWorld:
    """Return the world with the budget for this kind of event reduced by one."""
    left = world.left
    return structs.replace(world, left=structs.replace(left, **{name: getattr(left, name) - 1}))


def list_requests(world: OneRowWorld) -> Iterator[Step]:
    left, number = world.left, world.left.writes
    if left.writes:
        value = f"v{number}"
        yield f"client writes {value}", ask_machine(spend_one(world, "writes"), PutRow(*OF, ID, value))
        yield "client deletes", ask_machine(spend_one(world, "writes"), DropRow(*OF, ID))
    if left.keyed:
        yield "client writes with its key", ask_machine(spend_one(world, "keyed"), KEYED)
    if left.reads:
        yield "client reads", ask_machine(spend_one(world, "reads"), ReadRow(*OF, ID))
    if left.works:
        phase = world.machine.phase or phase_of(world)
        for to in filter(None, machine.SWITCHES[phase]):
            yield f"switch to {to}", ask_machine(spend_one(world, "works"), AdvanceMigration(*OF, to))
        if phase == "dual_write":
            yield "reconcile", ask_machine(spend_one(world, "works"), Reconcile(*OF))
        if phase in machine.MIRRORED:
            yield "mirror", ask_machine(spend_one(world, "works"), Mirror(*OF))
        if phase == "cleanup":
            yield "purge", ask_machine(spend_one(world, "works"), Purge(*OF))


def phase_of(world: OneRowWorld) -> str:
    return dict(world.main).get(machine.PHASE, machine.NONE).value or "legacy"


def ask_machine(world: OneRowWorld, request: MigrationRequest) -> OneRowWorld:
    known = structs.replace(world.known, asked=request)
    return take_output(structs.replace(world, known=known), machine_steps.begin(world.machine, request))


def take_output(world: OneRowWorld, produced: machine.Stepped) -> OneRowWorld:
    """Return the world with the next state of the machine, and its question, or after judging its reply."""
    stepped, out = produced
    after = structs.replace(world, machine=stepped, asked=None)
    return judge_reply(after, out) if isinstance(out, MigrationReply) else structs.replace(after, asked=out)


def list_answers(world: OneRowWorld, ask: Ask) -> Iterator[Step]:
    """Yield the world after each possible answer of a store: the true one, and failures within the budget."""
    where = f"{ask.store} {'writes' if ask.writes else 'reads'}"
    after = write_to_store(world, ask) if ask.writes else world
    if not ask.writes:
        yield where, give_answer(world, StoreResult("ok", rows_of(world, ask)))
        yield from list_torn_reads(world, ask)
    else:
        yield where, give_answer(after or world, StoreResult("ok" if after else "failed"))
    if not world.left.failures:
        return
    poorer = spend_one(world, "failures")
    yield f"{where}: fails", give_answer(poorer, StoreResult("failed"))
    if ask.writes:
        yield f"{where}: no answer, and it is not done", give_answer(poorer, StoreResult("unknown"))
        if after:
            yield (
                f"{where}: no answer, and it is done",
                give_answer(spend_one(after, "failures"), StoreResult("unknown")),
            )
        if ask.store == "main" and world.late is None:
            late = structs.replace(poorer, late=ask)
            yield f"{where}: no answer, and it is on its way", give_answer(late, StoreResult("unknown"))


def list_torn_reads(world: OneRowWorld, ask: Ask) -> Iterator[Step]:
    """Yield reads of main during which the late batch arrives, between any two of the pages."""
    after = apply_batch(world, world.late) if ask.store == "main" and world.late is not None else None
    if after is None or ask.only is not None or ask.given is not None:
        return
    for count in range(1, len(PAGE_ORDER)):
        first, second = PAGE_ORDER[:count], PAGE_ORDER[count:]
        rows = [it for it in rows_of(world, ask) if it[0][0] in first]
        rows += [it for it in rows_of(after, ask) if it[0][0] in second]
        text = f"main reads up to {first[-1]}, the late batch arrives, and it reads the rest"
        yield text, give_answer(structs.replace(after, late=None), StoreResult("ok", tuple(rows)))


def give_answer(world: OneRowWorld, answer: StoreResult) -> OneRowWorld:
    return take_output(world, machine_steps.handle_answer(world.machine, answer))


def list_crashes(world: OneRowWorld, ask: Ask) -> Iterator[Step]:
    """Yield a crash before the store applies `ask`, after it, and while the batch is still in flight."""
    if not world.left.crashes:
        return
    poorer = spend_one(world, "crashes")
    yield "crash", kill_process(poorer)
    after = write_to_store(poorer, ask) if ask.writes else None
    if after:
        yield f"crash, {ask.store} has written", kill_process(after)
    # One late batch at a time: two would multiply the states. Legacy
    # has none, as a call that was given up never lands later (K11.3).
    if ask.writes and ask.store == "main" and world.late is None:
        yield "crash, the batch is on its way", kill_process(structs.replace(poorer, late=ask))


def kill_process(world: OneRowWorld) -> OneRowWorld:
    known = world.known
    if isinstance(known.asked, PutRow | DropRow):
        known = add_doubt(known, known.asked)
    return structs.replace(world, machine=Migration(), asked=None, known=structs.replace(known, asked=None))


# The judge.


def content_of(request: PutRow | DropRow) -> str | None:
    return request.content if isinstance(request, PutRow) else None


def judge_reply(world: OneRowWorld, reply: MigrationReply) -> OneRowWorld:
    """Return the world after a reply, with the new knowledge of the client. Raises Broken."""
    known, request = world.known, world.known.asked
    known = structs.replace(known, asked=None)
    if isinstance(request, PutRow | DropRow) and reply.kind == "done":
        known = add_write(known, request)
        check_mirrored(world, request, reply)
    elif isinstance(request, PutRow | DropRow) and reply.kind == "unknown":
        known = add_doubt(known, request)
    elif isinstance(request, ReadRow) and reply.kind == "done":
        assert reply.value is None or isinstance(reply.value, str)
        known = take_read(known, reply.value)
    return structs.replace(world, known=known)


def check_mirrored(world: OneRowWorld, request: PutRow | DropRow, reply: MigrationReply) -> None:
    """Check that main has an acknowledged write, unless it has a key, since it may be an old repetition."""
    wanted, got = content_of(request), dict(world.main).get(ROW, machine.NONE).value
    is_excused = world.machine.phase != "dual_write" or request.request_key is not None or reply.degraded
    message = "a write is done, and main does not know"
    demand(is_excused or wanted == got, rules.MIRROR_TOLD, message, wanted, got)


def add_doubt(known: ClientKnowledge, request: PutRow | DropRow) -> ClientKnowledge:
    """Add the value to those in doubt, unless the key of the request was used before."""
    if request.request_key is not None and known.key == "used":
        return known
    key = known.key if request.request_key is None else "in doubt"
    return structs.replace(known, may_be=(*known.may_be, content_of(request)), key=key)


def add_write(known: ClientKnowledge, request: PutRow | DropRow) -> ClientKnowledge:
    """Return the knowledge after an acknowledged write; with a known key it may have happened earlier."""
    if request.request_key is None:
        return ClientKnowledge(content_of(request), key=known.key, is_written=known.is_written)
    if known.key == "new":
        return ClientKnowledge(content_of(request), key="used", is_written=known.is_written)
    return structs.replace(add_doubt(known, request), key="used")


def take_read(known: ClientKnowledge, value: str | None) -> ClientKnowledge:
    """Return the knowledge after a read. Raises Broken for a value that is neither current nor in doubt."""
    is_known = value == known.value or value in known.may_be
    is_deleted = known.value is None and not is_known
    rule = rules.NO_RESURRECTION if is_deleted else rules.READS_NEVER_GO_BACK
    demand(is_known, rule, "a read shows what is not there any more", (known.value, known.may_be), value)
    if value == known.value:
        return known
    at = known.may_be.index(value)
    key = "used" if value == KEYED.content else known.key  # only KEYED writes this content
    return ClientKnowledge(
        value, known.may_be[:at] + known.may_be[at + 1 :], key=key, is_written=known.is_written
    )


def check_stores(world: OneRowWorld, before: OneRowWorld) -> None:
    """Check the rules about both stores after each step, and at each switch of the phase. Raises Broken."""
    main, phase, was = dict(world.main), phase_of(world), phase_of(before)
    held = main.get(ROW, machine.NONE)
    if (was, phase) in (("dual_write", "dual_read"), ("rolling_back", "legacy")):
        message = f"from {was} to {phase} while the stores differ"
        demand(held.value == world.legacy, rules.SWITCH_WHEN_EQUAL, message, held.value, world.legacy)
    if phase == "done":
        demand([*main] == [machine.PHASE], rules.MIGRATION_ARRIVES, "a row of the move is left", "", [*main])
    if phase in machine.WITH_OUTBOX and ("outbox", ID) not in main:
        message = f"in {phase} legacy differs from main, and the outbox does not say so"
        demand(held.value == world.legacy, rules.OUTBOX_COMPLETE, message, held.value, world.legacy)


def check_way_back(world: OneRowWorld) -> None:
    """Check that without failures a migration rolls back, or from cleanup on ends, and loses nothing."""
    now = structs.replace(world, left=EventBudget(0, 0, 0, 0, 0), late=None)
    for _ in range(HEAL_STEPS_MAX):
        now = answer_truthfully(now)
        phase = phase_of(now)
        if phase in ENDS:
            break
        now = ask_machine(now, choose_way_back(now, phase))
    demand(phase_of(now) in ENDS, rules.MIGRATION_COMPLETE, "the way back does not end")
    if phase_of(now) == "done":
        known = now.known
        is_known = now.arrived in (known.value, *known.may_be)
        message = "the memory does not have the row as its client knows it"
        demand(is_known, rules.MIGRATION_ARRIVES, message, (known.value, known.may_be), now.arrived)
    else:
        answer_truthfully(ask_machine(now, ReadRow(*OF, ID)))


def choose_way_back(world: OneRowWorld, phase: str) -> MigrationRequest:
    """Return the next request of a roll-back, or, from cleanup on, of the way to the end."""
    if phase in ("cleanup", "handing_over"):
        return AdvanceMigration(*OF) if world.legacy is None else Purge(*OF)
    is_mirrored = phase != "rolling_back" or ("outbox", ID) not in dict(world.main)
    return RollBack(*OF) if is_mirrored else Mirror(*OF)


ENDS: Final = ("legacy", "done")


# Worlds to begin with.


def reach_phase(phase: str) -> OneRowWorld:
    """Return a world with one row, after a migration to this phase without failures."""
    world = answer_truthfully(ask_machine(OneRowWorld(), PutRow(*OF, ID, "v0")))
    for to in ROADS[phase]:
        while phase_of(world) != to:
            for work in (Reconcile(*OF), Purge(*OF), AdvanceMigration(*OF, to)):
                world = answer_truthfully(ask_machine(world, work))
    return world


ROADS: Final[Mapping[str, tuple[str, ...]]] = {
    "legacy": (), "dual_write": ("dual_write",), "dual_read": ("dual_write", "dual_read"),
    "umi_primary": ("dual_write", "dual_read", "umi_primary"),
    "cleanup": ("dual_write", "dual_read", "umi_primary", "cleanup"),
    "done": ("dual_write", "dual_read", "umi_primary", "cleanup", "done"),
    "rolling_back": ("dual_write", "dual_read", "rolling_back"),
}  # fmt: skip


def answer_truthfully(world: OneRowWorld) -> OneRowWorld:
    """Return the world after true answers to all questions of the current request."""
    now = world
    while now.asked is not None:
        now = next(list_answers(now, now.asked))[1]
    return now
