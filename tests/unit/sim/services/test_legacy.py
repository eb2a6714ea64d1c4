"""Goal: an old server keeps to what a migration assumes: what was given up never lands after a later call."""

from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, Commit, Read, Write
from umi_core.migration.migrator import LEGACY
from umi_core.migration.rows import Moved
from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.services.calls import Call, Flush, Later
from umi_sim.services.legacy import WithLegacy

SCOPE = Scope("u", "a")
WHERE = Address(SCOPE, "moved", "blocks/r")


def services() -> WithLegacy:
    return WithLegacy({}, None, 0, ("main", LEGACY))


def call(effect: Read | Commit, life: int = 1, kind: str = "blocks") -> Call:
    return Call("e", "a", life, "o1", kind, "step", effect, 0)


def put(content: str, number: int, store: str = LEGACY) -> Commit:
    return Commit((Write(WHERE, Moved(WHERE.id, "blocks", content)),), (), "", store, number)


def read(number: int) -> Read:
    return Read(ByFilter(SCOPE, ("moved",)), LEGACY, number)


def contents(world: WithLegacy, number: int, life: int = 1) -> list[object]:
    handled = world.handle(call(read(number), life), 0)
    assert isinstance(handled, Later)
    assert isinstance(handled.answer, ReadDone)
    return [row.body.content for row in handled.answer.rows if isinstance(row.body, Moved)]


def begun(world: WithLegacy, asked: Call) -> Flush:
    flush = world.handle(asked, 0)
    assert isinstance(flush, Flush)
    return flush


def test_a_write_in_flight_is_gone_once_the_store_has_been_read() -> None:
    world, asked = services(), call(put("tea", 1))
    flush = begun(world, asked)
    assert contents(world, 2) == []
    assert world.flush(asked, flush, 1) is None
    assert contents(world, 3) == []


def test_a_call_that_comes_after_a_later_one_is_turned_away() -> None:
    for late in (call(put("tea", 1)), call(put("tea", 9), life=0)):
        world = services()
        assert contents(world, 2) == []
        assert world.flush(late, begun(world, late), 1) is None


def test_a_copy_of_the_last_call_and_other_kinds_and_main_are_served() -> None:
    world = services()
    assert contents(world, 5) == []
    for asked in (call(put("tea", 6)), call(put("tea", 6)), call(put("tea", 1), kind="archival")):
        assert world.flush(asked, begun(world, asked), 1) is not None
    assert contents(world, 7) == ["tea"]
    old = call(put("tea", 1, "main"))
    assert world.flush(old, begun(world, old), 1) is not None
