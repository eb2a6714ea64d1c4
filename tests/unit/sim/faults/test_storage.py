"""Goal: each fault of storage does what its class says, from its arguments, and destroys what may go."""

import pytest
from msgspec import structs

from tests.unit.sim.faults.arrivals import AT_MS, DIMS, call, draw_and_inject, drawn, inject, services
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords, Commit, CountRows, Read, Write
from umi_core.rows import Address, Core, Entity, Row, SessionRow, Vector
from umi_core.values import Scope
from umi_sim.faults.kinds import KINDS
from umi_sim.record.items import Args
from umi_sim.services.atlas import Loss
from umi_sim.services.calls import Call, Flush, Handled, Later, Services
from umi_sim.services.embedder import embed

HOME = Scope("u1", "a1")


def store_names(*names: str, at_ms: int = 0, loss_max: int = 0) -> Services:
    """Storage with an entity of each name."""
    world = services(loss_max)
    for name in names:
        flushed(world, call(batch(name)), at_ms)
    return world


def batch(name: str, key: str = "") -> Commit:
    body = Entity(name, "person", name, f"{name} likes tea", 1, 0, 0, "human", 0, 0)
    vector = Vector(name, 1, embed(name, DIMS))
    writes = (Write(Address(HOME, "entity", name), body), Write(Address(HOME, "vector", name), vector))
    return Commit(writes, (), key or name)


def flushed(world: Services, asked: Call, at_ms: int = AT_MS) -> Answer | None:
    handled = world.handle(asked, at_ms)
    assert isinstance(handled, Flush)
    later = world.flush(asked, handled, at_ms)
    return None if later is None else later.answer


TEA = call(Read(ByWords(HOME, "tea", (), 9, 1)), "o2/by_words#1")


def hits(handled: Handled) -> list[str]:
    assert isinstance(handled, Later)
    assert isinstance(handled.answer, ReadDone)
    return [row.address.id for row in handled.answer.rows]


@pytest.mark.parametrize("at", [0, 1])
def test_a_full_storage_takes_nothing_for_a_while(at: int) -> None:
    world = store_names("Ann")
    asked = call(batch("Bob"))
    args = drawn(world, asked, "storage_full", at)
    assert args is not None
    spare_bytes = args["spare_bytes"]
    assert spare_bytes == (0, world.storage.growth_bytes(batch("Bob")) - 1)[at]
    window = {"for_ms": 10, "spare_bytes": spare_bytes}
    assert inject(world, asked, AT_MS, "storage_full", window) == Later(FULL, AT_MS)
    assert flushed(world, asked, AT_MS + 9) == FULL
    assert isinstance(flushed(world, asked, AT_MS + 10), Committed)


def test_full_strikes_only_a_batch_that_would_grow_the_store() -> None:
    world = store_names("Ann")
    assert drawn(world, call(batch("Ann")), "storage_full") is None
    assert drawn(world, call(batch("Ann", "other key")), "storage_full") is None


FULL = EffectFailed(7, "full")


def test_a_lag_hides_what_is_younger_for_a_while() -> None:
    world = store_names("Ann")
    flushed(world, call(batch("Bob")), 100)
    world.turn_to(150)
    args = drawn(world, TEA, "storage_index_lag", at=1)
    assert args is not None
    assert args["lag_ms"] == 51
    hidden = inject(world, TEA, 150, "storage_index_lag", {"for_ms": 2, "lag_ms": 51})
    assert hits(hidden) == ["Ann"]
    assert world.lag_since(151) == 51
    for at_ms, known in ((151, ["Ann", "Bob"]), (152, ["Ann", "Bob"])):
        world.turn_to(at_ms)
        assert hits(world.handle(TEA, at_ms)) == known
    assert world.lag_since(152) == 0


def test_healed_services_hide_nothing_and_have_room() -> None:
    world = Services({"a": DIMS}, capacity_bytes=1)
    assert flushed(world, call(batch("Ann"))) == FULL
    inject(world, TEA, AT_MS, "storage_index_lag", {"for_ms": 100, "lag_ms": 100})
    world.heal(AT_MS)
    assert isinstance(flushed(world, call(batch("Ann"))), Committed)
    assert hits(world.handle(TEA, AT_MS)) == ["Ann"]


def test_a_lag_needs_a_hit_that_is_young_enough() -> None:
    world = store_names("Ann")
    world.turn_to(10**9)
    assert drawn(world, TEA, "storage_index_lag") is None
    assert drawn(world, call(Read(CountRows(HOME, ("entity",)))), "storage_index_lag") is None


COMMITS = (call(batch("Ann")), call(batch("Bob")), call(Commit((), (), "")))
READS = (
    TEA, call(Read(ByIds(()))), call(Read(ByFilter(HOME, ("entity",), ()))),
    call(Read(CountRows(HOME, ("entity",)))), call(Read(ByVector(HOME, (), (), 9, 1))),
)  # fmt: skip
FAR = {"told": "unknown", "latent": True, "masked": False}


@pytest.mark.parametrize("loss_max", [0, 1])
@pytest.mark.parametrize("kind", [name for name, it in KINDS.items() if it.group == "storage"])
def test_any_args_that_a_file_may_hold_strike_any_call_of_the_verb(kind: str, loss_max: int) -> None:
    args = {name: FAR.get(name, 2**53 - 1) for name in KINDS[kind].arguments}
    for asked in (*COMMITS, *READS):
        if KINDS[kind].is_at(asked.verb):
            for world in (store_names("Ann", loss_max=loss_max), services(loss_max)):
                handled = inject(world, asked, AT_MS, kind, args)
                if isinstance(handled, Flush):
                    world.flush(asked, handled, AT_MS)
                world.storage.check()


# What is destroyed.

LOOK = call(Read(ByIds((Address(HOME, "entity", "Ann"), Address(HOME, "entity", "Bob")))), "o3/read#1")
BY_VECTOR = call(Read(ByVector(HOME, embed("Ann", DIMS), (), 9, 1)), "o3/by_vector#1")
SAVED = SessionRow("s", "u1", "a1", ("a1",), 1, "a1", b"saved")
SESSION = Address(Scope("u1", "s"), "session", "s")
LOAD = call(Read(ByIds((SESSION,))), "o4/read#1")


def bodies(handled: Handled) -> list[object]:
    assert isinstance(handled, Later)
    assert isinstance(handled.answer, ReadDone)
    return [row.body for row in handled.answer.rows]


def find_readable(handled: Handled) -> list[bool]:
    return [body is not None for body in bodies(handled)]


def test_transient_damage_is_in_one_answer_only() -> None:
    world = store_names("Ann", "Bob")
    for at in (0, 1):
        assert drawn(world, LOOK, "storage_damaged", at) == {"index": at, "latent": False}
    assert find_readable(draw_and_inject(world, LOOK, "storage_damaged", at=1)) == [True, False]
    assert find_readable(world.handle(LOOK, AT_MS)) == [True, True]


def test_a_row_comes_in_the_place_of_another_or_under_its_address() -> None:
    world = store_names("Ann", "Bob")
    look = call(Read(ByIds((Address(HOME, "entity", "Ann"),))), "o3/read#1")

    def read_other(other: int, *, masked: bool) -> tuple[str, str, str]:
        args: Args = {"index": 0, "other": other, "masked": masked}
        (row,) = rows_of(inject(world, look, AT_MS, "storage_misdirected", args))
        return row.address.kind, row.address.id, getattr(row.body, "id", "")

    others = [("entity", "Bob", "Bob"), ("vector", "Ann", ""), ("vector", "Bob", "")]
    assert sorted({read_other(other, masked=False) for other in range(20)}) == others
    under_ann = [("entity", "Ann", ""), ("entity", "Ann", "Bob")]
    assert sorted({read_other(other, masked=True) for other in range(20)}) == under_ann
    assert [drawn(world, look, "storage_misdirected", at) for at in (0, 1)] == [
        {"index": 0, "other": 0, "masked": False},
        {"index": 0, "other": 1, "masked": True},
    ]


def test_the_stray_row_is_the_same_one_when_others_have_gone() -> None:
    names = [f"N{n}" for n in range(9)]
    look = call(Read(ByIds((Address(HOME, "entity", "N0"),))), "o3/read#1")
    for other in range(20):
        args: Args = {"index": 0, "other": other, "masked": False}
        (stray,) = rows_of(inject(store_names(*names), look, AT_MS, "storage_misdirected", args))
        fewer = store_names("N0", stray.address.id, *names[other % 5 : other % 5 + 2])
        assert rows_of(inject(fewer, look, AT_MS, "storage_misdirected", args))[0].address == stray.address


def rows_of(handled: Handled) -> tuple[Row, ...]:
    assert isinstance(handled, Later)
    assert isinstance(handled.answer, ReadDone)
    return handled.answer.rows


def test_without_loss_a_file_cannot_make_a_promise_rot() -> None:
    world = store_names("Ann", "Bob")
    args: Args = {"index": 1, "latent": True}
    assert find_readable(inject(world, LOOK, AT_MS, "storage_damaged", args)) == [True, False]
    assert find_readable(world.handle(LOOK, AT_MS)) == [True, True]
    assert world.atlas.losses == []


def test_with_loss_damage_stays_and_is_listed() -> None:
    world = store_names("Ann", "Bob", loss_max=1)
    assert drawn(world, LOOK, "storage_damaged", at=1) == {"index": 1, "latent": True}
    draw_and_inject(world, LOOK, "storage_damaged", at=1)
    assert find_readable(world.handle(LOOK, AT_MS)) == [True, False]
    lost = Loss("storage_damaged", "o3/read#1", AT_MS, (Address(HOME, "entity", "Bob"),))
    assert world.atlas.losses == [lost]
    assert drawn(world, LOOK, "storage_damaged", at=1) == {"index": 0, "latent": False}


def test_a_vector_may_rot_without_loss_and_only_searches_by_it_see_that() -> None:
    world = store_names("Ann")
    assert find_readable(draw_and_inject(world, BY_VECTOR, "storage_damaged", at=1)) == [False]
    assert find_readable(world.handle(BY_VECTOR, AT_MS)) == [False]
    assert find_readable(world.handle(LOOK, AT_MS)) == [True]
    assert world.atlas.losses == []


@pytest.mark.parametrize(("loss_max", "stays"), [(0, False), (1, True)])
def test_a_field_is_unfit_once_or_under_loss_for_good(loss_max: int, stays: bool) -> None:
    world = store_names("Ann", loss_max=loss_max)
    (ann,) = bodies(world.handle(LOOK, AT_MS))
    assert isinstance(ann, Entity)
    (invalid,) = spoilt = bodies(draw_and_inject(world, LOOK, "storage_unfit", at=1))
    assert isinstance(invalid, Entity)
    assert invalid == structs.replace(ann, type=invalid.type) != ann
    assert bodies(world.handle(LOOK, AT_MS)) == (spoilt if stays else [ann])
    flushed(world, call(batch("Ann", "again")))
    assert bodies(world.handle(LOOK, AT_MS)) == [ann]


@pytest.mark.parametrize(("loss_max", "stays"), [(0, False), (1, True)])
def test_a_bit_of_a_session_flips_once_or_under_loss_for_good(loss_max: int, stays: bool) -> None:
    world = services(loss_max)
    flushed(world, call(Commit((Write(SESSION, SAVED),), (), "k")))
    spoilt = [structs.replace(SAVED, snapshot=b"scved")]
    assert bodies(draw_and_inject(world, LOAD, "storage_bit_flip", at=1)) == spoilt
    assert bodies(world.handle(LOAD, AT_MS)) == (spoilt if stays else [SAVED])


@pytest.mark.parametrize("kind", [name for name, it in KINDS.items() if it.is_at("storage.read")])
def test_any_fault_strikes_what_another_one_has_made_unfit_for_good(kind: str) -> None:
    """A session whose snapshot was a text stopped the run when a bit of it was to flip."""
    for choice in range(9):
        for at in (0, 1):
            world = store_names("Ann", loss_max=3)
            flushed(world, call(Commit((Write(SESSION, SAVED),), (), "k")))
            for asked in (LOOK, LOAD):
                invalid: Args = {"index": 0, "choice": choice, "latent": True}
                assert inject(world, asked, AT_MS, "storage_unfit", invalid) is not None
                args = drawn(world, asked, kind, at)
                if args is not None:
                    inject(world, asked, AT_MS, kind, args)


def test_what_is_acknowledged_early_is_not_there_and_listed() -> None:
    world = services(loss_max=1)
    handled = draw_and_inject(world, call(batch("Ann"), "o5/commit#1"), "storage_ack_early", at=5)
    addresses = [write.address for write in batch("Ann").writes]
    assert handled == Later(Committed(7, tuple((address, 1) for address in addresses)), AT_MS)
    assert world.is_away(LOOK, AT_MS) == "dead"
    world.heal(AT_MS)
    assert bodies(world.handle(LOOK, AT_MS)) == []
    assert world.atlas.losses == [Loss("storage_ack_early", "o5/commit#1", AT_MS, (addresses[0],))]
    assert world.atlas.may_have_lost("o5")


def test_nothing_is_acknowledged_early_that_core_shows_or_that_the_atlas_does_not_allow() -> None:
    core = Write(Address(HOME, "core", "core"), Core(()))
    with_core = structs.replace(batch("Ann"), writes=(*batch("Ann").writes, core))
    assert drawn(services(1), call(with_core), "storage_ack_early") is None
    assert drawn(services(0), call(batch("Ann")), "storage_ack_early") is None
    world = services(0)
    handled = inject(world, call(batch("Ann")), AT_MS, "storage_ack_early", {"for_ms": 9})
    assert isinstance(handled, Flush)


def test_a_wipe_leaves_nothing_and_all_begin_anew() -> None:
    world = store_names("Ann", loss_max=1)
    restarts: list[int] = []
    world.on_wipe = restarts.append
    assert inject(world, LOOK, AT_MS, "storage_wiped", {"for_ms": 3}) is None
    assert restarts == [3]
    assert world.storage.rows == {}
    assert world.atlas.losses == [Loss("storage_wiped", "o3/read#1", AT_MS)]


def test_what_was_on_its_way_to_a_wiped_store_never_arrives() -> None:
    world = store_names("Ann", loss_max=1)
    inject(world, LOOK, AT_MS, "storage_wiped", {"for_ms": 1})
    assert world.handle(call(batch("Bob")), AT_MS + 100) is None
    later = structs.replace(call(batch("Bob")), sent_ms=AT_MS + 1)
    assert isinstance(world.handle(later, AT_MS + 100), Flush)


def test_a_wipe_needs_loss_and_something_to_lose() -> None:
    assert drawn(store_names("Ann"), LOOK, "storage_wiped") is None
    assert drawn(services(1), LOOK, "storage_wiped") is None
    world = store_names("Ann")
    assert find_readable(inject(world, LOOK, AT_MS, "storage_wiped", {"for_ms": 3})) == [True]


def test_a_batch_without_a_key_that_could_be_missed_is_not_acknowledged_early() -> None:
    """A record may say so all the same; without a key the loss would stand for everything there was."""
    world = services(loss_max=2)
    known = call(Commit((Write(Address(HOME, "access", "ent_1"), None),), (), key="k"))
    assert drawn(world, known, "storage_ack_early") is None
    inject(world, known, AT_MS, "storage_ack_early", {"for_ms": 10})
    assert world.atlas.losses == []
